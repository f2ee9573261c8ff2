"""``cerlab show``: every stage in every format that can say it, and the others refused by name."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree

import pytest

import cerlab
from cerlab.cli import main
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql import syntax as ceql
from cerlab.model import clauses
from cerlab.predicates import condition
from cerlab.predicates import syntax as pred
from cerlab.viz import svg
from cerlab.viz.graph import DARK, LIGHT
from cerlab.viz.tikz import machine_tikz
from proofs_tests.command import Cli

FOLDER = Path(__file__).parents[2] / "examples" / "core_figure3"
QUERY, EVENTS = str(FOLDER / "query.ceql"), str(FOLDER / "events.core")
SREMO = "<type = 'B'>^ -> r1 . <TRUE>* . <type = 'S' AND id = r1.id>^"

STAGES = [
    *("ast", "vcea", "cea", "blocks", "det", "strict", "nxt", "last", "max"),
    *("table", "minterms", "tecs"),
]


def arguments(what: str) -> list[str]:
    return ["show", QUERY, *events_of(what), "--what", what]


def events_of(what: str) -> list[str]:
    return [EVENTS] if what in ("tecs", "timeline") else []


@pytest.mark.parametrize("what", STAGES)
@pytest.mark.parametrize("form", ["text", "dot", "svg"])
def test_every_stage_as_text_dot_and_svg(what: str, form: str, cli: Cli) -> None:
    out = cli(*arguments(what), "--format", form).out
    assert ("AMZN" if what == "tecs" else "MSFT") in out
    if form == "dot":
        assert out.startswith("digraph ")
    if form == "svg":
        assert ElementTree.fromstring(out).get("role") == "img"


@pytest.mark.parametrize("what", [*STAGES, "srt", "timeline"])
def test_python_shows_what_the_command_draws(what: str, cli: Cli) -> None:
    text = Path(QUERY).read_text(encoding="utf-8")
    value = cerlab.show(text, *events_of(what), what=what)
    picture = value.svg("light") if what == "timeline" else svg(value, "light")
    assert cli(*arguments(what), "--format", "svg").out.strip() == picture.strip()


def test_without_a_name_it_is_the_formula_and_with_events_the_timeline(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for events, what in (([], "ast"), ([EVENTS], "timeline")):
        for more in ([], ["--what", what]):
            assert main(["show", QUERY, *events, *more]) == 0
        out = capsys.readouterr().out
        assert out[: len(out) // 2] == out[len(out) // 2 :]
        assert str(cerlab.show("A ; B", *events)) == str(cerlab.show("A ; B", *events, what=what))


@pytest.mark.parametrize("keyword", ["next", "NEXT", "Nxt", "STRICT", "Last", "max", "CEA"])
def test_stages_have_the_keywords_of_queries_in_either_case(keyword: str, cli: Cli) -> None:
    stage = {"next": "nxt"}.get(keyword.lower(), keyword.lower())
    out = cli("show", "A ; B", "--what", keyword).out
    assert cli("show", "A ; B", "--what", stage).out == out
    assert str(cerlab.show("A ; B", what=keyword)) == str(cerlab.show("A ; B", what=stage))


@pytest.mark.parametrize("what", ["vcea", "cea", "blocks", "det", "next", "table", "minterms"])
def test_compared_labels_have_a_transducer_which_the_hint_names(what: str, cli: Cli) -> None:
    query = "A AS a ; B AS b FILTER a.price > b.price"
    hint = cli("show", query, "--what", what, status=2).err.splitlines()[-1]
    assert hint == "hint: --what srt shows the transducer of this query"
    with pytest.raises(cerlab.CerlabError) as caught:
        cerlab.show(query, what=what)
    assert caught.value.hint == "query.srt is the transducer of this query"
    assert main(["show", query, "--what", "srt"]) == 0


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"query": "A", "what": "aste"}, "CER0822"),
        ({"query": "A", "what": "cea", "by": "name"}, "CER0823"),
        ({"query": "A", "what": "timeline"}, "CER0823"),
        ({"query": [], "events": [], "what": "cea"}, "CER0823"),
        ({"query": SREMO, "events": [], "what": "tecs"}, "CER0483"),
    ],
)
def test_python_refuses_by_name(options: dict[str, Any], code: str) -> None:
    with pytest.raises(cerlab.CerlabError) as caught:
        cerlab.show(**options)
    assert caught.value.code == code


@pytest.mark.parametrize("what", ["ast", "srt"])
@pytest.mark.parametrize("form", ["text", "dot", "svg"])
def test_an_expression_and_its_transducer(what: str, form: str, cli: Cli) -> None:
    assert "id = r1.id" in cli("show", SREMO, "--what", what, "--format", form).out


@pytest.mark.parametrize("what", STAGES)
@pytest.mark.parametrize(("form", "begins"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_pictures_go_to_files(what: str, form: str, begins: bytes, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main([*arguments(what), "--format", form, "-o", str(out)]) == 0
    assert out.read_bytes().startswith(begins)


def test_pictures_go_through_a_pipe() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cerlab", "show", "A ; B", "--what", "cea", "--format", "png"],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONUTF8": "0", "LC_ALL": "C"},
    )
    assert done.stdout.startswith(b"\x89PNG")


def test_a_terminal_is_sent_no_bytes(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert "CER0809" in cli("show", "A", "--format", "png", status=2).err


@pytest.mark.parametrize("form", ["svg", "dot"])
def test_themes(form: str, cli: Cli) -> None:
    for name, theme in (("light", LIGHT), ("dark", DARK)):
        options = ["--what", "cea", "--format", form, "--theme", name]
        assert theme.take in cli("show", "A ; B", *options).out
    assert "#" not in cli("show", "A ; B", "--what", "cea", "--format", "dot").out


@pytest.mark.parametrize("form", ["svg", "pdf", "png", "dot", "tikz"])
@pytest.mark.parametrize(
    ("given", "size"),
    [("3.3,6", (3.3, 6)), ("8.5cm", (8.5 / 2.54, 200)), ("50.8mm, 36pt", (2, 0.5)), (None, None)],
)
def test_the_command_lays_out_a_picture_as_python_does(
    form: str, given: str | None, size: Any, tmp_path: Path
) -> None:
    cea, out = cerlab.parse_query("SELECT * WHERE A ; B+ ; C").cea, tmp_path / f"a.{form}"
    options = ["--rankdir", "RL", "--theme", "print", *(["--size", given] if given else [])]
    assert main(["show", "A ; B+ ; C", "--what", "cea", *options, "-o", str(out)]) == 0
    if form == "tikz":
        assert out.read_text() == machine_tikz(cea, rankdir="RL", size=size)
        return
    drawn = cea.to_graphviz(rankdir="RL", size=size, monochrome=True)
    expected = drawn.source.encode() if form == "dot" else drawn.pipe(form)
    if form != "pdf":  # it contains the time
        assert out.read_bytes().strip() == expected.strip()
    else:
        assert re.findall(rb"/MediaBox.*", out.read_bytes()) == re.findall(
            rb"/MediaBox.*", expected
        )


@pytest.mark.parametrize("given", ["wide", "8.5km", "1,2,3", "", "0", "-1,2", "nan", "inf", "1,,"])
def test_a_size_that_is_none_is_refused(given: str, cli: Cli) -> None:
    error = cli("show", "A", "--format", "svg", f"--size={given}", status=2).err
    assert "expected a width, or a width and a height: 8.5cm" in error


@pytest.mark.parametrize("option", [["--size", "1"], ["--rankdir", "TB"]])
@pytest.mark.parametrize(
    "words",
    [
        ["A"],
        ["A", "--what", "cea", "--format", "mata"],
        ["A", "--format", "json"],
        ["A", EVENTS, "--format", "svg"],
    ],
)
def test_an_option_of_layouts_is_refused_where_nothing_is_laid_out(
    option: list[str], words: list[str], cli: Cli
) -> None:
    error = cli("show", *words, *option, status=2).err
    assert f"CER0820: {option[0]} does not apply to this picture" in error


def test_the_table_of_a_query_is_that_of_its_strategy(cli: Cli) -> None:
    out = cli("show", "SELECT MAX * WHERE A+", "--what", "table").lines
    assert out[0].startswith("I/O-deterministic CEA of MAX: ")
    assert out[1].split() == ["state", "0", "1"]
    assert out[2].split() == [">0", "idle", "∘0", "•2", "∘1"]


def test_the_minterms_of_a_schema(tmp_path: Path, cli: Cli) -> None:
    schema = tmp_path / "schema.txt"
    schema.write_text("CREATE STREAM S { EVENT A { v:int }, EVENT B { } }")
    options = ["--what", "minterms", "--schema", str(schema)]
    out = cli("show", "A FILTER A[v > 3] OR A", *options).lines
    assert out[0] == "3 minterms of 2 predicates"
    assert all("A(" in line or "B(" in line for line in out[2:])


def test_the_tecs_as_text_and_json(cli: Cli) -> None:
    assert "+ t10 output 6 -> t9" in cli(*arguments("tecs")).out
    assert len(json.loads(cli(*arguments("tecs"), "--format", "json").out)["nodes"]) == 11


def test_the_syntax_tree_as_json(cli: Cli, tmp_path: Path) -> None:
    tree = json.loads(cli("show", QUERY, "--format", "json").out)
    assert (tree["format"], tree["version"], tree["events"]) == ("cerlab-ast", 2, None)
    assert tree["query"]["node"] == "CeqlQuery"
    events = tmp_path / "events.csv"
    events.write_text("type,v,ts\nA,0.5,1\nB,2.0,9\n")
    options = ["--time", "ts:ms", "--what", "ast", "--format", "json"]
    tree = json.loads(cli("show", "A ; B", events, *options).out)
    assert tree["time"] == {"attribute": "ts", "unit": "ms"}
    values = [{"v": 0.5, "ts": 1}, {"v": {"double": "2.0"}, "ts": 9}]
    assert tree["events"] == [
        {"type": kind, "stream": None, "attributes": each}
        for kind, each in zip("AB", values, strict=True)
    ]


def test_the_page_of_the_syntax_tree_has_each_node() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/ast.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?) \| (.*) \|$", page, flags=re.M)
    documented = {
        name: set(re.findall(r"`([a-z_]+)`", re.sub(r"\(.*?\)", "", keys)))
        for names, keys in rows
        for name in re.findall(r"`([A-Z]\w+)`", names)
    }
    kinds = [
        *(cel.Seq, *get_args(cel.Formula)),
        *(condition.On, condition.Correlation, condition.Application, condition.SetOf),
        *(pred.Everything, *get_args(pred.Atom), pred.And, pred.Or, pred.Not),
        *(pred.Constant, pred.Attribute, pred.LabelAttribute, pred.OfGroup),
        *(pred.Previous, pred.Computed, pred.Negated),
        *(
            ceql.CeqlQuery,
            ceql.SelectItem,
            ceql.Aggregate,
            clauses.Limit,
            *get_args(clauses.Window),
        ),
    ]
    nodes = {kind.__name__: {field.name for field in fields(kind)} for kind in kinds}
    # "Not" is a formula and a predicate
    documented["Not"] = {"operand"}
    nodes["Not"] = {"operand"}
    assert documented == nodes


def test_the_tecs_of_events_on_standard_input(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    events = io.BytesIO(b'{"type": "A"}\n{"type": "B"}\n')
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(events))
    assert cli("show", "A ; B", "-", "--what", "tecs").out.startswith("tECS after event 1")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["A", "--what", "tecs"], "CER0823"),
        (["A", EVENTS, "--what", "cea"], "CER0823"),
        (["A", os.devnull, "--what", "tecs", "--type", "A"], "CER"),
        (["A", "--what", "ast", "--format", "tikz"], "CER0410"),
        (["A", "--what", "table", "--format", "json"], "CER0410"),
        (["A", EVENTS, "--what", "tecs", "--format", "tikz"], "CER0410"),
        (["A", EVENTS, "--what", "timeline", "--format", "png"], "CER0410"),
        ([SREMO, "--what", "ast", "--format", "json"], "CER0410"),
        ([SREMO, "--what", "table"], "CER0483"),
        (["MAX(A) ; B", "--what", "table"], "CER04"),
        (["A", "--theme", "sepia"], "theme"),
    ],
)
def test_what_is_not_drawn_is_refused_by_name(options: list[str], code: str, cli: Cli) -> None:
    assert code in cli("show", *options, status=2).err


def test_a_count_is_one_block(cli: Cli) -> None:
    """In the tree of the formula, and in a picture of the automaton, whatever it counts to."""
    text = "(A ; B){500} FILTER A[v = 1] ; C:{2,}"
    assert cli("show", text, "--what", "ast").out.count("{500}") == 1
    machine, *steps = cli("show", text, "--what", "blocks", "--format", "text").lines
    assert machine.startswith("VCEA: 3 states")
    assert [step.split("  ")[-1] for step in steps] == [
        "type = 'C:{2,}' / {C}",
        "TRUE / ∘",
        "type = '(A ; B){500}' AND v = 1 / {A, B}",
    ]
