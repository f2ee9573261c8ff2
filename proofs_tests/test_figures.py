"""The programs in `figures/` draw what is committed there, to the byte."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

FIGURES = Path(__file__).parents[1] / "figures"
PROGRAMS = [path for path in sorted(FIGURES.glob("*.py")) if path.with_suffix(".svg").exists()]
PAPERS = sorted((FIGURES / "papers").glob("*.svg"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_figure_is_redrawn_to_the_byte(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib draws the figures")
    module = loaded(program)
    drawn = [tmp_path / "first.svg", tmp_path / "again.svg"]
    for path in drawn:
        monkeypatch.setattr(module, "OUT", path)
        module.main()
    first, again = (path.read_text() for path in drawn)
    assert first_difference(first, again) is None
    check_committed(first, program.with_suffix(".svg").read_text())


@pytest.mark.parametrize("committed", PAPERS, ids=lambda path: path.stem)
def test_a_figure_of_a_paper_is_redrawn_to_the_byte(committed: Path) -> None:
    first, again = (redrawn(committed.stem) for _ in range(2))
    assert first_difference(first, again) is None
    check_committed(first, committed.read_text(encoding="utf-8"))


def test_every_figure_is_committed_and_listed() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib draws the figures")
    names = loaded(FIGURES / "papers.py").FIGURES.keys()
    assert names == {path.stem for path in PAPERS}
    listed = (FIGURES / "README.md").read_text(encoding="utf-8")
    series = {re.sub(r"_(after_\d|q\d)$", "", name) for name in names}
    assert all(name in listed for name in series)


@cache
def loaded(program: Path) -> Any:
    """A program as a module."""
    spec = importlib.util.spec_from_file_location(program.stem, program)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def redrawn(name: str) -> str:
    """A figure of a paper as its program draws it now."""
    pytest.importorskip("matplotlib", reason="matplotlib draws the figures")
    pytest.importorskip("pygraphviz", reason="pygraphviz lays machines out")
    program = loaded(FIGURES / "papers.py")
    with program.settings():
        drawn: str = program.FIGURES[name]()
    return drawn


def check_committed(drawn: str, committed: str) -> None:
    """The same bytes, or the same words where another version or other fonts did the layout."""
    matplotlib = pytest.importorskip("matplotlib")
    other_version = "Matplotlib v" in committed and (
        f"Matplotlib v{matplotlib.__version__}" not in committed
    )
    measured_otherwise = "cerlab-graph" in drawn and size(drawn) != size(committed)
    if other_version:
        return
    if measured_otherwise:
        assert words(drawn) == words(committed)
        return
    assert first_difference(drawn, committed) is None


def size(svg: str) -> str | None:
    return ElementTree.fromstring(svg).get("viewBox")


def words(svg: str) -> list[str]:
    return sorted(node.text or "" for node in ElementTree.fromstring(svg).iter() if node.text)


def first_difference(one: str, other: str) -> tuple[str, str] | None:
    """The first lines that differ; a diff of whole drawings takes minutes."""
    pairs = zip_longest(one.splitlines(), other.splitlines(), fillvalue="")
    return next(((a, b) for a, b in pairs if a != b), None)
