"""The programs in `figures/` draw the committed pictures, to the byte."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any
from unittest.mock import patch
from xml.etree import ElementTree

import pytest

from cerlab import parse_query, parse_sremo
from cerlab.compile.sremo_to_srt import register_plan
from cerlab.engine.registers.evaluation import RegisterEvaluation
from cerlab.viz.timeline_value import own_numbers
from proofs_tests.benchmarks.foundations import QUERIES, process, random_stream
from proofs_tests.benchmarks.registers import OF_FIGURES, PATTERNS, sremo
from proofs_tests.benchmarks.streams import from_file

FIGURES = Path(__file__).parents[1] / "figures"
PROGRAMS = [path for path in sorted(FIGURES.glob("*.py")) if path.with_suffix(".svg").exists()]
PAPERS = sorted((FIGURES / "papers").glob("*.svg"))


@pytest.mark.services
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_figure_is_redrawn_to_the_byte(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib draws the figures")
    module = load(program)
    paths = [tmp_path / "first.svg", tmp_path / "again.svg"]
    for path in paths:
        monkeypatch.setattr(module, "OUT", path)
        with own_numbers():  # as in a process of its own
            module.main()
    first, again = (path.read_text() for path in paths)
    assert first_difference(first, again) is None
    check_committed(first, program.with_suffix(".svg").read_text())


@pytest.mark.services
@pytest.mark.parametrize("figure", PAPERS, ids=lambda path: path.stem)
def test_a_figure_of_a_paper_is_redrawn_to_the_byte(figure: Path) -> None:
    first, again = (redrawn(figure.stem) for _ in range(2))
    assert first_difference(first, again) is None
    check_committed(first, figure.read_text(encoding="utf-8"))


def test_every_figure_is_committed_and_listed() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib draws the figures")
    names = load(FIGURES / "papers.py").FIGURES.keys()
    assert names == {path.stem for path in PAPERS}
    readme = (FIGURES / "README.md").read_text(encoding="utf-8")
    series = {re.sub(r"_(after_\d|q\d|[a-e])$", "", name) for name in names}
    assert all(name in readme for name in series | {f"{path.stem}.py" for path in PROGRAMS})


SHAPES = {
    "a": {"u": ("n1", "n2"), "n2": ("l2", "r2")},
    "b": {"u": ("n2", "n1"), "n1": ("l1", "r1")},
    "c": {"u": ("l1", "u1"), "u1": ("l2", "u2"), "u2": ("r1", "r2")},
    "d": {"u": ("l1", "u1"), "u1": ("l2", "u2"), "u2": ("r2", "r1")},
    "e": {"u": ("n0", "u1"), "u1": ("n1", "u2"), "u2": ("n2", "n3")},
}
"""The gadgets as the text of the paper describes them: unions with their left and right node."""


@pytest.mark.parametrize("case", SHAPES)
def test_a_gadget_of_union_is_that_of_the_paper(case: str) -> None:
    """(CORE Fig. 5): from live nodes, where the nodes given stay as they were."""
    gadgets = load(FIGURES / "gadgets.py")
    graph = gadgets.gadget(case)
    name = {node.id: node.under for node in graph.nodes}
    left = {name[e.source]: name[e.target] for e in graph.edges if e.label == "L"}
    right = {name[e.source]: name[e.target] for e in graph.edges if e.label == "R"}
    assert {union: (left[union], right[union]) for union in SHAPES[case]} == SHAPES[case]
    assert {node.under for node in graph.nodes if node.is_new} == set(SHAPES[case]) - {"n1", "n2"}
    faint = {node.under for node in graph.nodes if node.is_faded}
    assert faint == ({"n1", "n2"} if case in "cd" else set())
    start = {node.under: node.aside for node in graph.nodes}
    assert all(start[one] >= start[other] for one, other in SHAPES[case].values())


def rows_of(name: str) -> list[dict[str, Any]]:
    lines = (FIGURES / "data" / f"{name}.ndjson").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_the_data_has_what_is_drawn_of_registers() -> None:
    rows = rows_of("srt_throughput")
    measurements = [(name, window) for name, windows in OF_FIGURES.items() for window in windows]
    assert [(row["query"], row["window"]) for row in rows] == measurements


def test_the_answers_in_the_data_are_those_of_the_stream(stock_file: Path) -> None:
    stream = from_file(str(stock_file))
    rows = {(row["query"], row["window"]): row for row in rows_of("srt_throughput")}
    for name in ("reg_1", "k_1", "kn_1"):
        plan = register_plan(parse_sremo(sremo(PATTERNS[name], 500)))
        assert RegisterEvaluation(plan, stream).estimate() == rows[name, 500]["answers"] > 0


def test_the_visits_in_the_data_are_those_of_the_engine() -> None:
    rows = [row for row in rows_of("foundations_throughput") if "visits" in row]
    assert len(rows) == 2 * 4 * len(QUERIES)
    row = next(row for row in rows if (row["query"], row["strategy"]) == ("Q6", "LAST"))
    query = parse_query(f"SELECT LAST * WHERE {QUERIES['Q6']}")
    visits, _ = process(query, random_stream(row["stream"], row["events"]))
    assert visits / row["events"] == row["visits"]


@cache
def load(program: Path) -> Any:
    """Import a program as a module that finds the files beside it."""
    spec = importlib.util.spec_from_file_location(program.stem, program)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with patch.object(sys, "path", [str(FIGURES), *sys.path]):
        spec.loader.exec_module(module)
    return module


def redrawn(name: str) -> str:
    """A figure of a paper as its program draws it now."""
    pytest.importorskip("matplotlib", reason="matplotlib draws the figures")
    pytest.importorskip("pygraphviz", reason="pygraphviz lays machines out")
    program = load(FIGURES / "papers.py")
    with program.settings():
        svg: str = program.FIGURES[name]()
    return svg


def check_committed(now: str, before: str) -> None:
    """The same bytes, or the same words where another version or other fonts did the layout."""
    matplotlib = pytest.importorskip("matplotlib")
    other_version = "Matplotlib v" in before and (
        f"Matplotlib v{matplotlib.__version__}" not in before
    )
    measured_otherwise = "cerlab-graph" in now and size(now) != size(before)
    if other_version:
        return
    if measured_otherwise:
        assert words(now) == words(before)
        return
    assert first_difference(now, before) is None


def size(svg: str) -> str | None:
    return ElementTree.fromstring(svg).get("viewBox")


def words(svg: str) -> list[str]:
    return sorted(node.text or "" for node in ElementTree.fromstring(svg).iter() if node.text)


def first_difference(one: str, other: str) -> tuple[str, str] | None:
    """The first lines that differ; a diff of whole drawings takes minutes."""
    pairs = zip_longest(one.splitlines(), other.splitlines(), fillvalue="")
    return next(((a, b) for a, b in pairs if a != b), None)
