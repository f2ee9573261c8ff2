"""The programs in `figures/` draw what is committed there, to the byte."""

from __future__ import annotations

import importlib.util
from itertools import zip_longest
from pathlib import Path

import pytest

FIGURES = Path(__file__).parents[1] / "figures"
PROGRAMS = sorted(FIGURES.glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_figure_is_redrawn_to_the_byte(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib draws the figures")
    spec = importlib.util.spec_from_file_location(program.stem, program)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    drawn = [tmp_path / "first.svg", tmp_path / "again.svg"]
    for path in drawn:
        monkeypatch.setattr(module, "OUT", path)
        module.main()
    first, again = (path.read_text() for path in drawn)
    assert first_difference(first, again) is None
    committed = program.with_suffix(".svg").read_text()
    made_by = f"Matplotlib v{matplotlib.__version__}"
    if made_by in committed:
        assert first_difference(first, committed) is None


def first_difference(one: str, other: str) -> tuple[str, str] | None:
    """The first lines that differ; a diff of whole drawings takes minutes."""
    pairs = zip_longest(one.splitlines(), other.splitlines(), fillvalue="")
    return next(((a, b) for a, b in pairs if a != b), None)
