"""Faults of data, files and Spark, on the command line and in Python: one line with its hint."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cerlab
from proofs_tests.spark.over_faults import KEYED, QUERY, broken, folder, second, table

pytestmark = [pytest.mark.services, pytest.mark.filterwarnings("default")]

Said = dict[str, tuple[int, list[str]]]

MOST = 10
"""Lines on standard error at most."""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Said:
    """The status of each command, and its lines on standard error."""
    pytest.importorskip("pyspark", reason="PySpark is in the extra 'spark'")
    place = tmp_path_factory.mktemp("faults")
    words = [sys.executable, "-m", "proofs_tests.spark.over_faults", str(place)]
    process = subprocess.run(words, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr[-2000:]
    all_said = json.loads(process.stdout.splitlines()[-1])
    return {name: (status, text.splitlines()) for name, (status, text) in all_said.items()}


ERRORS = {
    "ties": ("CER0781", "t = 0"),
    "ties in tasks": ("CER0781", "k = 0"),
    "NULL": ("CER0780", "at position 7: 't'"),
    "a short row in CSV": ("CER0738", "text.csv, row 3, column 'id'"),
    "text as position": ("CER0875", "'id': it is string"),
    "no such column": ("CER0874", "'tt'"),
    "two types": ("CER0784", "1.parquet"),
    "broken": ("CER0742", "half/1.parquet"),
    "empty": ("CER0744", "empty/1.parquet"),
    "damaged": ("CER0742", "damaged/1.parquet"),
    "damaged by Spark": ("CER0742", "damaged/1.parquet"),
    "no input": ("CER0743", "nowhere"),
    "no files": ("CER0743", "nothing"),
    "output there": ("CER0889", "the output /"),
    "gone": ("CER0743", "gone/1.parquet"),
    "gone by Spark": ("CER0743", "gone by Spark/1.parquet"),
    "a repeated row in a stream": (
        "CER0782",
        "position 0: duplicate: two rows have t = 0 and this position",
    ),
    "a NULL in a stream": ("CER0780", "'t' is NULL or NaN"),
    "another output of a stream": ("CER0778", "lacks the answers of micro-batch 0"),
    "changed": ("CER0783", "changed/1.parquet"),
    "Java ends": ("CER0622", "memory"),
}
"""The code of each fault, and a text of its line."""


@pytest.mark.parametrize("name", ERRORS)
def test_a_fault_is_one_line_and_its_hint_last(said: Said, name: str) -> None:
    (code, text), (status, lines) = ERRORS[name], said[name]
    assert status == 2, lines
    *before, line, hint = lines
    assert line.startswith(f"{code}: ")
    assert text in line
    assert not name.endswith(" in a stream") or ".parquet)" in line
    assert hint.startswith("hint: ")
    assert all(each.startswith("warning: CER09") for each in before)
    assert len(lines) <= MOST
    assert code != "CER0742" or hint.startswith("hint: write or copy a damaged file again")


def test_another_output_is_told_to_give_the_first_one(said: Said) -> None:
    assert (
        "give the output that the checkpoint began with"
        in said["another output of a stream"][1][-1]
    )


def test_the_first_start_of_a_stream_is_one_line(said: Said) -> None:
    status, lines = said["the first start of a stream"]
    assert status == 0
    (line,) = lines
    assert line.startswith("80 events, ")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("column of one file", "warning: CER0952: 'v' is in 1 of 2 files"),
        ("no attribute", "warning: CER0905: no event has an attribute 'w'"),
    ],
)
def test_a_column_that_is_not_everywhere_is_said(said: Said, name: str, line: str) -> None:
    status, lines = said[name]
    assert status == 0
    assert any(each.startswith(line) for each in lines)
    assert len(lines) <= MOST


def frames(spark: Any, place: Path) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """A query, its options and a DataFrame with a fault that an action finds."""
    ties = spark.read.parquet(folder(place / "unsorted", second(), table()))
    yield "CER0781", {"order_by": "k"}, ties
    damage = spark.read.parquet(broken(place / "damaged", slice(600, None), bytes(600)))
    yield "CER0742", {"position": "id"}, damage
    yield "CER0742", {"position": "id", "mode": "keys"}, damage


def test_python_has_the_same_errors(spark: Any, tmp_path: Path) -> None:
    """Whether `match` finds them or an action, whose exception is one of Spark."""
    for code, options, frame in frames(spark, tmp_path):
        with pytest.raises(Exception) as caught:  # noqa: PT011  of Spark, or ours
            cerlab.spark.match(frame, KEYED, **options).collect()
        error = cerlab.spark.error_of(caught.value)
        assert (type(error), error.code) == (cerlab.BadData, code)
        assert error.hint
        assert "\tat " not in str(error)


def test_python_is_warned_as_by_evaluate(spark: Any, tmp_path: Path) -> None:
    frame = spark.read.parquet(folder(tmp_path / "lacks", table(), second(v=[])))
    with pytest.warns(cerlab.CerlabWarning, match=r"CER0952: 'v' is in 1 of 2 files"):
        cerlab.spark.match(frame, KEYED, position="id")
    query = QUERY.replace("[v", "[w")
    with pytest.warns(cerlab.CerlabWarning, match=r"CER0905: no event has an attribute 'w'"):
        cerlab.spark.match(frame, query, position="id")


def test_an_exception_that_no_code_has_is_said_in_its_last_line() -> None:
    pytest.importorskip("pyspark", reason="PySpark is in the extra 'spark'")
    lines = [
        "An exception was thrown from the Python worker:",
        "Traceback (most recent call last):",
    ]
    lines += ['  File "worker.py", line 7, in main', "KeyError: 'v'", ""]
    error = cerlab.spark.error_of(RuntimeError("\n".join(lines)))
    assert "KeyError: 'v'" in str(error)
