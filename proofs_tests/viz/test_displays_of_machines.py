"""Machines, formulas, tables, tECS in a notebook: something is always shown, nothing raised."""

from __future__ import annotations

import subprocess
import sys
from random import Random
from typing import Any
from xml.etree import ElementTree

import pytest

import cerlab
from cerlab import display
from cerlab.automata.automaton import IntervalCea, Mark, Transition, Vcea
from cerlab.automata.deterministic import DeterministicCea
from cerlab.logic.cel.syntax import Atom, Plus
from cerlab.predicates.syntax import EVERYTHING, TypeIs
from cerlab.viz import render
from cerlab.viz.deterministic import MintermTable
from cerlab.viz.displays import MOST
from cerlab.viz.machines import MintermList
from proofs_tests.suite import random_suite
from proofs_tests.viz.values import KINDS, random_value

TABLES = (MintermTable, MintermList)
"""Values whose HTML is a table, which needs no Graphviz."""

PICTURES = {"text/plain", "text/html", "image/svg+xml"}


@pytest.fixture
def no_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    """pygraphviz as if it were not installed: None in sys.modules fails its import."""
    monkeypatch.setitem(sys.modules, "pygraphviz", None)


@random_suite(2_000)
def test_displays_with_graphviz_never_raise(rng: Random) -> bool:
    value = random_value(rng)
    bundle = display.mimebundle(value)
    assert set(bundle) == PICTURES
    assert bundle["text/plain"] == display.text(value)
    ElementTree.fromstring(bundle["image/svg+xml"])
    if not isinstance(value, TABLES):
        assert bundle["image/svg+xml"].split("<style>")[0] in bundle["text/html"]
    return True


@pytest.mark.usefixtures("no_graphviz")
@random_suite(2_000)
def test_displays_without_graphviz_never_raise(rng: Random) -> bool:
    value = random_value(rng)
    bundle = display.mimebundle(value)
    if isinstance(value, TABLES):
        assert set(bundle) == {"text/plain", "text/html"}
        return True
    assert set(bundle) == {"text/plain", display.GRAPH_TEXT}
    assert bundle[display.GRAPH_TEXT].startswith("digraph")
    return True


def test_what_has_no_text_is_still_shown() -> None:
    """A renderer that fails leaves the poorer mimetypes, in the worst case `repr`."""
    odd: Any = "no predicate"
    A: Any = IntervalCea(2, (Transition(0, odd, Mark.TAKE, 1),), frozenset({0}), frozenset({1}))
    assert A._repr_mimebundle_() == {"text/plain": repr(A)}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_text_of_its_own(kind: str) -> None:
    value = KINDS[kind](Random(3))
    assert display.text(value) != repr(value)
    assert "object at" not in display.text(value)


EMPTY: list[Any] = [
    Vcea(0, (), frozenset(), frozenset()),
    IntervalCea(1, (), frozenset({0}), frozenset()),
    DeterministicCea(IntervalCea(1, (), frozenset({0}), frozenset())),
    cerlab.parse_query("SELECT * WHERE A").table,
    cerlab.parse_formula("A"),
    cerlab.parse_sremo("EMPTY"),
]


@pytest.mark.parametrize("value", EMPTY, ids=lambda value: type(value).__name__)
def test_empty_values_are_shown(value: Any) -> None:
    assert set(value._repr_mimebundle_()) == PICTURES


def wide(states: int) -> IntervalCea:
    return IntervalCea(
        states,
        tuple(Transition(0, TypeIs(f"T{q}"), Mark.TAKE, q) for q in range(1, states)),
        frozenset({0}),
        frozenset({1}),
    )


def exploding(n: int) -> DeterministicCea:
    """Two to the n macro-states, of which a display looks at a few: the n-th event before an A."""
    Delta = [Transition(0, EVERYTHING, Mark.SKIP, 1), Transition(1, EVERYTHING, Mark.SKIP, 1)]
    Delta.append(Transition(1, TypeIs("A"), Mark.SKIP, 2))
    Delta += [Transition(q, EVERYTHING, Mark.SKIP, q + 1) for q in range(2, n)]
    return DeterministicCea(IntervalCea(n + 1, tuple(Delta), frozenset({0}), frozenset({n})))


def test_huge_values_are_cut_and_say_so() -> None:
    A: Any = wide(3_000)
    bundle = A._repr_mimebundle_()
    assert f"showing {MOST} of 3,000 lines" in bundle["text/plain"]
    assert "showing 50 of 3,000 nodes and 49 of 2,999 edges" in bundle["image/svg+xml"]
    det: Any = exploding(40)
    bundle = det._repr_mimebundle_()
    assert set(bundle) == PICTURES
    assert "there is more" in bundle["text/plain"] or "showing" in bundle["text/plain"]
    assert "were not explored" in bundle["image/svg+xml"]
    assert len(det.macro_states) < 200


def test_a_deep_formula_is_shown() -> None:
    phi: Any = Atom("A")
    for _ in range(20_000):
        phi = Plus(phi)
    bundle = display.mimebundle(phi)
    assert "showing 50 of 20,001 nodes" in bundle["image/svg+xml"]


def test_a_query_is_its_text_and_its_tree() -> None:
    query: Any = cerlab.parse_query("SELECT x WHERE A AS x ; B WITHIN 3 EVENTS")
    bundle = query._repr_mimebundle_()
    assert bundle["text/plain"] == query.text
    assert "WITHIN 3 EVENTS" in bundle["text/html"]
    assert "<title>CEL formula of 4 nodes" in bundle["image/svg+xml"]


def test_a_renderer_that_fails_hides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> str:
        raise RuntimeError("no fonts")

    monkeypatch.setattr(render, "svg", fail)
    value: Any = cerlab.parse_query("SELECT * WHERE A").cea
    assert set(value._repr_mimebundle_()) == {"text/plain", display.GRAPH_TEXT}


def test_values_show_themselves_in_a_fresh_process_that_imported_cerlab_alone() -> None:
    program = (
        "import sys, cerlab\n"
        "q = cerlab.parse_query('SELECT * WHERE A ; B')\n"
        "assert not {'pygraphviz', 'networkx', 'numba', 'matplotlib'} & set(sys.modules)\n"
        "print(q.cea)\n"
        "print(sorted(q.cea._repr_mimebundle_()))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    out = done.stdout.decode()
    assert "0 -> 1  type = 'A' / •" in out
    assert out.splitlines()[-1] == "['image/svg+xml', 'text/html', 'text/plain']"
