"""The programs in `figures/` draw what is committed there, to the byte."""

from __future__ import annotations

import importlib.util
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
    assert drawn[0].read_bytes() == drawn[1].read_bytes()
    committed = program.with_suffix(".svg").read_text()
    made_by = f"Matplotlib v{matplotlib.__version__}"
    if made_by in committed:
        assert drawn[0].read_text() == committed
