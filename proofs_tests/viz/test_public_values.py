"""Every value of a public name shows itself in a notebook, as words and as HTML."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

import cerlab
from cerlab import display
from cerlab.automata.explicit import table_of
from cerlab.compile.sremo_to_srt import register_plan
from cerlab.viz.machines import listed_minterms
from proofs_tests.viz.test_displays_of_answers import words

EVENTS = [{"type": kind, "v": n} for n, kind in enumerate("AACBBCAB")]
QUERY = cerlab.parse_query("SELECT * WHERE A ; B+ WITHIN 5 EVENTS")
CORRELATION = cerlab.parse_query("SELECT * WHERE A AS x ; B AS y FILTER x.v < y.v")
STEPS = cerlab.step(QUERY, EVENTS[:3])


def why_not() -> Any:
    return QUERY.why_not(EVENTS, [0, 2])


VALUES: dict[str, Callable[[], Any]] = {
    "parse_query": lambda: QUERY,
    "parse_query(..).ast": lambda: QUERY.ast,
    "parse_query(..).formula": lambda: QUERY.formula,
    "parse_query(..).plan": lambda: QUERY.plan,
    "parse_query(..).registers": lambda: CORRELATION.registers,
    "parse_query(..).registers.srt": lambda: CORRELATION.registers.srt,
    "parse_query(..).vcea": lambda: QUERY.vcea,
    "parse_query(..).cea": lambda: QUERY.cea,
    "parse_query(..).det": lambda: QUERY.det,
    "parse_query(..).det, written out": lambda: table_of(QUERY.det, range(4)),
    "parse_query(..).machine": lambda: cerlab.parse_query("SELECT MAX * WHERE A ; B").machine,
    "parse_query(..).table": lambda: QUERY.table,
    "parse_query(..).explain": lambda: QUERY.explain(EVENTS),
    "parse_query(..).open": lambda: QUERY.open(),
    "parse_query(..).run": lambda: QUERY.run(EVENTS),
    "parse_query(..).run(..)[0]": lambda: QUERY.run(EVENTS)[0],
    "parse_query(..).run(..).why": lambda: QUERY.run(EVENTS).why(0),
    "parse_query(..).run(..).why(..).derivation": lambda: QUERY.run(EVENTS).why(0).derivation,
    "parse_query(..).why_not": why_not,
    "parse_query(..).why_not(..).failure": lambda: why_not().failure,
    "why_none": lambda: cerlab.why_none("A ; Z", EVENTS),
    "why(parse_sremo(..))": lambda: cerlab.why(cerlab.parse_sremo("<type = 'A'>^"), EVENTS, [0]),
    "parse_formula": lambda: cerlab.parse_formula("A ; B"),
    "parse_sremo": lambda: cerlab.parse_sremo("<v = 1>^ -> r . <v > r.v>"),
    "register_plan(parse_sremo(..))": lambda: register_plan(cerlab.parse_sremo("<v = 1>^")),
    "parse_gcq": lambda: cerlab.parse_gcq("x <- r(x, y), s(y) | x < y"),
    "parse_gcq(..).atoms[0]": lambda: cerlab.parse_gcq("x <- r(x, y)").atoms[0],
    "parse_schema": lambda: cerlab.parse_schema("CREATE STREAM S { EVENT A { v:int } }"),
    "valuations": lambda: next(iter(cerlab.valuations("A AS x", EVENTS))),
    "equivalent": lambda: cerlab.equivalent("A ; B", "A : B"),
    "equivalent(..).witness": lambda: cerlab.equivalent("A ; B", "A : B").witness,
    "satisfiable": lambda: cerlab.satisfiable("A ; B"),
    "timeline": lambda: cerlab.timeline("A ; B", EVENTS, strategies=["ALL", "LAST"]),
    "step": lambda: STEPS,
    "step(..)[0]": lambda: STEPS[0],
    "step(..)[0].snapshot": lambda: STEPS[0].snapshot,
    "Stream": lambda: cerlab.Stream.from_events(EVENTS),
    "Event": lambda: cerlab.Event("A", {"v": 1}),
    "Timestamp": lambda: cerlab.Timestamp(10**30),
    "listed_minterms": lambda: listed_minterms(QUERY.det.predicates),
}


@pytest.mark.parametrize("name", VALUES)
def test_it_is_shown_in_words_and_in_html(name: str) -> None:
    value = VALUES[name]()
    bundle = value._repr_mimebundle_()
    assert {"text/plain", "text/html"} <= set(bundle)
    assert " at 0x" not in bundle["text/plain"]
    assert len(max(bundle["text/plain"].splitlines(), key=len)) < 200
    assert words(value)
    assert (
        re.findall(r"https?://(?!www\.w3\.org/)\S+", bundle["text/html"]) == []
    )  # nothing is fetched


def test_every_public_class_has_a_display() -> None:
    classes = [getattr(cerlab, name) for name in cerlab.__all__]
    kinds = [
        kind
        for kind in classes
        if inspect.isclass(kind) and not issubclass(kind, (BaseException, str))  # a text is words
    ]
    assert len(kinds) >= 10
    for kind in kinds:
        assert hasattr(kind, "_repr_mimebundle_"), kind


@pytest.mark.parametrize("name", ["parse_query", "parse_query(..).ast", "parse_gcq", "parse_sremo"])
def test_queries_and_expressions_are_graphs(name: str) -> None:
    value = VALUES[name]()
    assert value.to_networkx().number_of_nodes() >= 3
    assert value.to_graphviz().source.startswith("digraph ")


def test_a_query_is_the_graph_of_its_formula() -> None:
    graph: Any = QUERY.to_networkx()
    assert graph.graph["title"] == "CEL formula of 4 nodes: A ; B+"
    assert display.render(QUERY, "image/svg+xml") == display.render(QUERY.formula, "image/svg+xml")


def test_what_is_learnt_of_a_query_says_how_much() -> None:
    query = cerlab.parse_query("SELECT * WHERE A ; B")
    assert repr(query.learned) == "<LearnedTables: 0 outcomes of 2 tests seen>"
    query.explain(EVENTS)
    assert repr(query.learned) == "<LearnedTables: 2 outcomes of 2 tests seen>"


def test_plans_on_registers_say_what_they_run() -> None:
    correlation = cerlab.parse_query(
        "SELECT * WHERE A AS x ; B AS y FILTER x.v < y.v PARTITION BY [k] WITHIN 9 EVENTS"
    )
    assert display.text(correlation.registers) == (
        "machine: 3 states, 3 transitions\nregisters: x\npartition by: k\nwithin: 9 EVENTS"
    )
    in_a_window = register_plan(cerlab.parse_sremo("(<v = 1>^ . <v = 2>^)[1..3]"))
    assert display.text(in_a_window).splitlines()[1:] == ["registers: none", "within: 2 EVENTS"]
