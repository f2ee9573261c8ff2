"""`cerlab spark --stream`: a folder that files arrive in, run by run."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

import cerlab
from cerlab.cli import main

pytestmark = pytest.mark.filterwarnings("default")  # those of PySpark are not ours


@pytest.mark.parametrize("kind", ["csv", pytest.param("ndjson", marks=pytest.mark.long)])
def test_the_command_goes_on_with_files_that_are_new(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    header = "type,k,v,t,n\n"
    lines = [f"{'AB'[n % 2]},{'xy'[n % 3 % 2]},{n % 5 or ''},{n},{n}\n" for n in range(60)]
    options = ["--position", "n", "--lateness", "0", "--parts", "2", "--input-format", kind]
    query = "SELECT * WHERE A ; B FILTER B[v > 1] PARTITION BY [k] WITHIN 7 [t]"
    files = ["--input", str(folder), "--output", str(output)]
    counts: list[int] = []
    for part in (lines[:40], lines[40:]):
        name = folder / f"{len(counts)}.{kind}"
        text = header + "".join(part)
        name.write_text(text if kind == "csv" else objects(text))
        assert main(["spark", query, "--stream", *files, *options]) == 0, capsys.readouterr().err
        line = capsys.readouterr().err.strip().splitlines()[-1]
        assert line.startswith(f"{len(part)} events")
        assert "0 late rows, 2 or more rows that wait, in 1 micro-batches" in line
        assert line.endswith("; 2 buckets of keys have a state")
        counts.append(int(line.split(", ")[1].split()[0]))
    whole = tmp_path / "whole.csv"
    whole.write_text(header + "".join(lines))
    answers = {(r["end"], tuple(r["positions"])) for r in spark.read.parquet(str(output)).collect()}
    newest = {max(n for n in range(60) if n % 3 % 2 == key) for key in (0, 1)}
    expected = {
        (a.end, a.positions) for a in cerlab.evaluate(query, str(whole)) if a.end not in newest
    }
    assert answers == expected
    assert sum(counts) == len(answers) > 0
    assert min(counts) > 0


def objects(text: str) -> str:
    numbers = {"v", "t", "n"}
    lines = []
    for row in csv.DictReader(io.StringIO(text)):
        cells = {k: (int(c) if c else None) if k in numbers else c for k, c in row.items()}
        lines.append(json.dumps(cells) + "\n")
    return "".join(lines)


def test_options_of_the_other_kind_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    whole = ["spark", "A ; B", "--input", "in", "--output", "out", "--position", "n"]
    assert main([*whole, "--lateness", "3"]) == 2
    assert "--lateness has a meaning for --stream only" in capsys.readouterr().err
    assert main([*whole, "--quarantine"]) == 2
    assert "--quarantine is for --stream" in capsys.readouterr().err
    assert main([*whole, "--stream", "--order-by", "t", "--lateness", "3"]) == 2
    assert "--order-by has a meaning for a batch only" in capsys.readouterr().err
    assert main([*whole, "--stream"]) == 2
    assert "missing: --lateness" in capsys.readouterr().err
