"""`cerlab spark`: files in, Parquet out, the answers of `cerlab run` on the same file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import cerlab
from cerlab.cli import main
from cerlab.spark import batch as answer_warnings
from cerlab.spark import time_spent
from proofs_tests.command import Cli

pytestmark = pytest.mark.filterwarnings("default")

QUERY = "SELECT * WHERE A ; B ; C FILTER A[v >= 1] AND C[name = 'x'] WITHIN 6 [t]"


def events(count: int = 120) -> list[dict[str, Any]]:
    rng = Random(7)
    return [
        {
            "type": rng.choice("ABC"),
            "v": rng.choice((0, 1, 2.5, None)),
            "name": rng.choice(("x", "y, 'z'", None)),
            "flag": rng.choice((True, False)),
            "t": n // 2,
            "n": n,
        }
        for n in range(count)
    ]


def write(folder: Path, kind: str) -> Path:
    rows, path = events(), folder / f"events.{kind}"
    if kind == "parquet":
        parquet.write_table(pa.Table.from_pylist(rows), path)
    elif kind == "ndjson":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        cells = [[_cell(value) for value in row.values()] for row in rows]
        path.write_text("".join(",".join(row) + "\n" for row in [list(rows[0]), *cells]))
    return path


def _cell(value: Any) -> str:
    if isinstance(value, str) and "," in value:
        return f'"{value}"'
    return "" if value is None else str(value)


def run_locally(path: Path, cli: Cli) -> list[dict[str, Any]]:
    return sorted(cli("run", QUERY, path).rows, key=lambda row: (row["end"], row["positions"]))


@pytest.mark.parametrize("kind", ["parquet", "csv", "ndjson"])
def test_a_file_has_the_answers_of_run(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], cli: Cli, kind: str
) -> None:
    path = write(tmp_path, kind)
    expected = run_locally(path, cli)
    assert expected
    output = tmp_path / "answers"
    options = ["--order-by", "t, n", "--parts", "2"]
    command = ["spark", QUERY, "--input", str(path), "--output", str(output), *options]
    before = time_spent(spark)
    assert main([*command, "--verbose"]) == 0
    after = time_spent(spark)
    rows = parquet.read_table(output).to_pylist()
    assert sorted(rows, key=lambda row: (row["end"], row["positions"])) == expected
    said = re.findall(r"^(\w+) +[\d.]+  ", capsys.readouterr().err, re.MULTILINE)
    assert said == ["reading", "shuffle", "python", "writing", "java"]
    assert all(after[name] > before[name] for name in ("reading", "python", "writing"))


def test_an_output_that_is_there_is_replaced_if_that_is_asked(
    spark: Any, tmp_path: Path, cli: Cli
) -> None:
    path, output = write(tmp_path, "parquet"), tmp_path / "answers"
    output.mkdir()
    (output / "of others").write_text("kept")
    paths = ["--input", str(path), "--output", str(output)]
    command = ["spark", QUERY, *paths, "--position", "n", "--parts", "1"]
    assert "already exists" in cli(*command, status=2).err
    assert (output / "of others").exists()
    assert main([*command, "--overwrite"]) == 0
    assert len(parquet.read_table(output)) == len(run_locally(path, cli))


SCHEMA = """
CREATE STREAM S {
    EVENT A { v:double?, name:string?, flag:boolean, t:int, n:int },
    EVENT B { v:double?, name:string?, flag:boolean, t:int, n:int },
    EVENT C { v:double?, name:string?, flag:boolean, t:int, n:int }
}
"""


def test_a_schema_says_what_text_is(spark: Any, tmp_path: Path, cli: Cli) -> None:
    path, output = write(tmp_path, "csv"), tmp_path / "answers"
    schema = tmp_path / "schema"
    schema.write_text(SCHEMA)
    expected = run_locally(path, cli)
    command = ["spark", QUERY, "--input", str(path), "--output", str(output), "--position", "n"]
    cli(*command, "--schema", schema)
    assert len(parquet.read_table(output)) == len(expected)
    schema.write_text(SCHEMA.replace("v:double?", "v:int?"))
    assert "CER0721" in cli(*command, "--schema", schema, "--overwrite", status=2).err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("e.ndjson", '{"type":"A","v":1,"n":1}\n{"type":"B","v":"one","n":2}\n', "CER0784"),
        ("e.ndjson", '{"type":"A","v":{"w":1},"n":1}\n', "CER0741.*column 'v'"),
        ("e.ndjson", "[1]\n", "CER0734"),
        ("e.csv", "kind,n\nA,1\n", "CER0736"),
        ("e.csv", "type,t,n\nA,2,1\nB,1,2\n", "CER0714.*position 2"),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(
    spark: Any, tmp_path: Path, cli: Cli, name: str, text: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    query = "SELECT * WHERE A ; B WITHIN 5 [t]" if ",t," in text else "SELECT * WHERE A ; B"
    options = ["--output", str(tmp_path / "answers"), "--position", "n"]
    assert re.search(message, cli("spark", query, "--input", path, *options, status=2).err)


def test_explain_runs_nothing(spark: Any, tmp_path: Path, cli: Cli) -> None:
    path = write(tmp_path, "parquet")
    command = ["spark", QUERY, "--input", str(path), "--position", "n", "--explain"]
    out = cli(*command).out
    assert "mode     ranges" in out
    assert "overlap" in out


@pytest.mark.parametrize(
    ("query", "codes"),
    [
        ("SELECT * WHERE A ; B FILTER A[pric >= 1] WITHIN 6 [t]", ["CER0905", "CER0910"]),
        ("SELECT * WHERE A ; Z WITHIN 6 [t]", ["CER0904", "CER0910"]),
        ("SELECT * WHERE A FILTER A[v = 'x'] WITHIN 6 [t]", ["CER0907", "CER0910"]),
        ("SELECT * WHERE A FILTER A[name = 'X'] WITHIN 6 [t]", ["CER0909", "CER0910"]),
        ("SELECT * WHERE A OR Z WITHIN 6 [t]", ["CER0904"]),
        (QUERY, []),
    ],
)
def test_it_says_what_no_event_has_as_run_does(
    spark: Any,
    tmp_path: Path,
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    query: str,
    codes: list[str],
) -> None:
    """By a look at the first rows, or at all of them."""
    path = write(tmp_path, "parquet")
    local = re.findall(r"CER09[01]\d: [^\n]*", cli("run", query, path).err)
    assert [line[:7] for line in local] == codes
    for first in (answer_warnings.FIRST, 5):
        monkeypatch.setattr(answer_warnings, "FIRST", first)
        output = ["--output", str(tmp_path / f"answers{first}"), "--parts", "1"]
        command = ["spark", query, "--input", str(path), *output, "--position", "n"]
        lines = re.findall(r"CER09[01]\d: [^\n]*", cli(*command).err)
        assert lines == local
    assert "CER09" not in cli(*command, "--overwrite", "-q").err


def test_a_file_system_that_spark_does_not_know_is_named(
    spark: Any, tmp_path: Path, cli: Cli
) -> None:
    path = str(write(tmp_path, "parquet"))
    for name in ("nowhere", "s3a"):
        place = f"{name}://x/y"
        for paths in ((place, "out"), (path, place)):
            options = ["--input", paths[0], "--output", paths[1], "--position", "n"]
            message = cli("spark", QUERY, *options, status=2).err
            assert f"CER0898: Spark knows no file system '{name}:'" in message


def test_what_is_missing_is_named(cli: Cli) -> None:
    assert "missing: --input, --output" in cli("spark", "SELECT * WHERE A", status=2).err


@pytest.mark.parametrize(
    ("option", "code"),
    [
        (["--position", "n", "--parts", "0"], "CER0877"),
        ([], "CER0871"),
        (["--position", "n", "--time", "t:x"], "CER0801"),
        (["--position", "n", "--mode", "keys"], "CER0490"),
        (["--position", "n", "--partition"], "CER0876"),
        (["--stream", "--position", "n", "--lateness", "1", "--buckets", "0"], "CER0877"),
        (["--stream", "--position", "n", "--lateness", "1", "--files", "0"], "CER0877"),
    ],
)
def test_what_the_command_shows_is_said_before_spark_starts(
    option: list[str], code: str, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cerlab.spark.session", lambda *_, **__: pytest.fail("Spark is started"))
    path = write(tmp_path, "parquet")
    command = ["spark", QUERY, "--input", str(path), "--output", str(tmp_path / "out"), *option]
    assert code in cli(*command, status=2).err


def answers_of(
    folder: Path, query: str, cli: Cli, *options: str, status: int = 0
) -> tuple[list[dict[str, Any]], str]:
    """The rows that ``cerlab spark`` writes for a folder, and what it says."""
    output = folder.parent / "answers of it"
    paths = "--input", folder, "--output", output, "--overwrite", "--parts", "2"
    said = cli("spark", query, *paths, "--position", "n", *options, status=status).err
    rows = parquet.read_table(output).to_pylist() if status == 0 else []
    return sorted(rows, key=str), said


def write_all(folder: Path, tables: list[Any], names: list[str] | None = None) -> list[Any]:
    folder.mkdir()
    for n, table in enumerate(tables):
        parquet.write_table(table, folder / (names[n] if names else f"{n:03}.parquet"))
    whole = pa.concat_tables(tables, promote_options="default")
    return sorted(cerlab.parse_query(PAIRS).run(whole).to_arrow().to_pylist(), key=str)


PAIRS = "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 3 [t]"


def pairs(first: int, **more: Any) -> Any:
    columns = {
        "type": ["A", "B"],
        "k": ["x", "x"],
        "t": [first, first + 1],
        "n": [first, first + 1],
    }
    return pa.table(columns | more)


@pytest.mark.parametrize("name", ["day[1]", "a{b,c}", "what*?", "with blanks", "b\\c"])
def test_a_place_is_what_has_its_name(spark: Any, name: str, tmp_path: Path, cli: Cli) -> None:
    expected = write_all(tmp_path / name, [pairs(0), pairs(2)])
    (tmp_path / "day1").mkdir(exist_ok=True)
    parquet.write_table(pairs(0).slice(0, 1), tmp_path / "day1" / "0.parquet")
    assert answers_of(tmp_path / name, PAIRS, cli)[0] == expected


def test_a_file_whose_name_spark_cannot_read_is_read_by_tasks(
    spark: Any, tmp_path: Path, cli: Cli
) -> None:
    expected = write_all(tmp_path / "in", [pairs(0)], ["2024-01-01T10:00.parquet"])
    assert answers_of(tmp_path / "in", PAIRS, cli)[0] == expected


@pytest.mark.parametrize("mode", ["keys", "ranges"])
def test_a_column_that_the_first_of_many_files_lacks(
    spark: Any, mode: str, tmp_path: Path, cli: Cli
) -> None:
    tables = [pairs(2 * n) for n in range(70)]
    expected = write_all(tmp_path / "in", [tables[0].drop(["k"]), *tables[1:]])
    rows, said = answers_of(tmp_path / "in", PAIRS, cli, "--mode", mode)
    assert rows == expected
    assert "CER0952: 'k' is in 69 of 70 files" in said
    assert "CER0905" not in said
    lacking = spark.read.schema("type string, t bigint, n bigint").parquet(str(tmp_path / "in"))
    with pytest.warns(cerlab.CerlabWarning, match="CER0952: 'k' is in 69 of 70 .* mergeSchema"):
        cerlab.spark.match(lacking, PAIRS, position="n", mode="keys")


def test_nanoseconds_are_read_by_tasks_and_refused_by_spark(
    spark: Any, tmp_path: Path, cli: Cli
) -> None:
    at = [pa.array([2 * n, 2 * n + 1], pa.timestamp("ns")) for n in range(3)]
    expected = write_all(tmp_path / "in", [pairs(2 * n, at=at[n]) for n in range(3)])
    assert answers_of(tmp_path / "in", PAIRS, cli)[0] == expected
    in_time = "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 0.000000003 SECONDS"
    assert answers_of(tmp_path / "in", in_time, cli, "--time", "at")[0] == expected
    _, said = answers_of(tmp_path / "in", in_time, cli, "--time", "at", "--mode", "keys", status=2)
    assert re.search(r"CER0784: .*column 'at'\)\nhint: write moments in microseconds", said)


def test_columns_are_told_apart_by_case_and_refused_if_they_are_not(
    spark: Any, tmp_path: Path, cli: Cli
) -> None:
    expected = write_all(tmp_path / "in", [pairs(0, v=[1, 2], V=[3, 4])])
    text = PAIRS.replace("PARTITION", "FILTER A[v = 1] AND B[V = 4] PARTITION")
    assert answers_of(tmp_path / "in", text, cli)[0] == expected
    (tmp_path / "twice").mkdir()
    names = [*pairs(0).column_names, "t"]
    twice = pa.Table.from_arrays([*pairs(0).columns, pa.array([5, 6])], names)
    parquet.write_table(twice, tmp_path / "twice" / "0.parquet")
    assert "CER0732: 't' occurs twice" in answers_of(tmp_path / "twice", PAIRS, cli, status=2)[1]


def test_an_aggregate_that_is_asked_for_twice_is_one_column(
    spark: Any, tmp_path: Path, cli: Cli
) -> None:
    write_all(tmp_path / "in", [pairs(0), pairs(2)])
    text = PAIRS.replace("*", "COUNT(*), SUM(B.t), SUM(B.t)")
    assert answers_of(tmp_path / "in", text, cli)[0] == [{"count": 3, "sum(B.t)": 7}]
