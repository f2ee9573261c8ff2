"""The pipeline of ``examples/spark_stocks``, on its sample and on lines that are not events."""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import cerlab

pytestmark = pytest.mark.filterwarnings("default")

FOLDER = Path(__file__).parents[2] / "examples" / "spark_stocks"


@pytest.fixture
def pipeline() -> Any:
    pytest.importorskip("matplotlib", reason="matplotlib is in the extra 'viz'")
    spec = importlib.util.spec_from_file_location("stock_pipeline", FOLDER / "pipeline.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_sample_has_the_answers_of_the_local_engine(
    spark: Any, pipeline: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "raw"
    data.mkdir()
    for path in (FOLDER / "raw").iterdir():
        (data / path.name).write_text(path.read_text())
    (data / "2.core").write_text("# a comment\n\nBUY(id=1,name=,volume=x)\nno event\n")
    picture = tmp_path / "answers.svg"
    out = tmp_path / "tables"
    assert pipeline.main(["--data", str(data), "--out", str(out), "--figure", str(picture)]) == 0
    assert capsys.readouterr().out == "1,602 lines, 2 of them rejected: 187 answers\n"

    events = [
        event
        for path in sorted((FOLDER / "raw").iterdir())
        for event in cerlab.Stream.read(path, type=None)
    ]
    ids = [event.attributes["id"] for event in events]
    names = [event.attributes["name"] for event in events]
    minutes = [int(str(event.attributes["stock_time"])) // 60_000 for event in events]
    answers = cerlab.evaluate((FOLDER / "query.ceql").read_text(), cerlab.Stream(events))
    rows = spark.read.parquet(str(out / "matches")).collect()
    assert {(r["start"], r["end"], tuple(r["positions"])) for r in rows} == {
        (ids[a.start], ids[a.end], tuple(ids[p] for p in a.positions)) for a in answers
    }
    gold = spark.read.parquet(str(out / "gold")).collect()
    expected = Counter((names[a.end], minutes[a.end]) for a in answers)
    assert {(r["name"], r["minute"]): r["answers"] for r in gold} == expected
    assert "<svg" in picture.read_text()
