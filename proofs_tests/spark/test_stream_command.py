"""`cerlab spark --stream`: a folder that files arrive in, run by run."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

import cerlab
from proofs_tests.command import Cli

pytestmark = pytest.mark.filterwarnings("default")  # those of PySpark are not ours


@pytest.mark.parametrize("kind", ["csv", pytest.param("ndjson", marks=pytest.mark.long)])
def test_the_command_goes_on_with_files_that_are_new(
    spark: Any, tmp_path: Path, cli: Cli, kind: str
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
        said = cli("spark", query, "--stream", *files, *options).err
        line = said.strip().splitlines()[-1]
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


def test_options_of_the_other_kind_are_refused(cli: Cli) -> None:
    whole = ["spark", "A ; B", "--input", "in", "--output", "out", "--position", "n"]
    error = cli(*whole, "--lateness", "3", status=2).err
    assert "--lateness has a meaning for --stream only" in error
    assert "--quarantine is for --stream" in cli(*whole, "--quarantine", status=2).err
    error = cli(*whole, "--stream", "--order-by", "t", "--lateness", "3", status=2).err
    assert "--order-by has a meaning for a batch only" in error
    assert "missing: --lateness" in cli(*whole, "--stream", status=2).err
