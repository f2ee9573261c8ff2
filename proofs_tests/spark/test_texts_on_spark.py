"""CSV and NDJSON on Spark: the events and errors that `cerlab.io.read` has of the same files."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pytest

from cerlab import CerlabError
from cerlab.io import read as read_here
from cerlab.logic.ceql.parser import as_schema
from cerlab.model.event import to_value
from cerlab.spark import read, read_stream
from cerlab.spark.failures import failures
from cerlab.spark.inputs import Inputs, frame_of, inputs_of

CSV = {
    "blanks": "type, v ,w\nA, 1,TRUE\nB,2 , true\n",
    "text with blanks": "type,v\nA, x\nB,y \n",
    "a line break in quotes": 'type,v,note\nA,1,"hello\nB,2,world"\nB,3,x\n',
    "quotes": 'type,v,w\nA,"a""b,c",\\\nB,"x\\",""\n',
    "upper and lower case": "type,v,V,a b,\nA,1,5,x,7\nB,2,6,y,8\n",
    "a name that occurs twice": "type,v,v\nA,1,5\n",
    "a row cut short": "type,v,w\nA,1,2\nB,2\n",
    "a row too long": "type,v\nA,1\nB,2,3\n",
    "a quote that stays open": 'type,v\nA,1\nB,"2\n',
    "a header alone": "type,v,t\n",
    "nothing": "",
    "beyond 64 bits": "type,v\nA,9223372036854775808\nB,2\n",
    "beyond 64 bits, one with decimals": "type,v\nA,18446744073709551617\nB,0.5\n",
    "moments far away": "type,t,z\nA,9999-12-31,0001-01-01T00Z\nB,2024-01-01,2024-01-01T00Z\n",
    "no number in 64 bits": "type,v\nA,1e400\nB,2\n",
    "NaN and infinity": "type,v\nA,1.5\nB,NaN\nB,-inf\n",
    "integers and text": "type,v\nA,1\nB,one\n",
    "truths and integers": "type,v\nA,1\nB,true\n",
    "integers and doubles": "type,v\nA,1\nB,2.5\n",
    "spellings": "type,v,w\nA,007,1e3\nB,+5,.5\n",
    "moments": "type,t,d\nA,2024-01-02T03:04:05.000001Z,2024-01-02\nB,,2024-01-03\n",
    "some zones": "type,t\nA,2024-01-02T03:04:05Z\nB,2024-01-02T03:04:05\n",
    "a semicolon": "type;v\nA;1,5\nB;2\n",
    "a comment": "# of today\ntype,v\n#A,1\nB,2\n",
    "the mark of the byte order": "\ufefftype,v\r\nA,1\r\n\r\nB,2\r\n",
    "streams": "type,stream,v\nA,S,1\nB,,2\n",
    "Latin-1": "type,k\nA,é\nB,ü\n".encode("latin-1"),
    "UTF-16": "type,k\nA,1\n".encode("utf-16"),
}
A = '{"type":"A","v":1}\n'
DOUBLE = '{"type":"A","v":1.0}\n'
NDJSON = {
    "a key more": A + '\n{"type":"B","v":2,"w":"x"}\n',
    "NULL": A + '{"type":"B","v":null,"w":null}\n',
    "beyond a double": A + '{"type":"B","v":1e400}\n',
    "beyond 64 bits": A + '{"type":"B","v":9223372036854775808}\n',
    "many digits": DOUBLE + '{"type":"B","v":123456789012345678901234567890.5}\n',
    "NaN": DOUBLE + '{"type":"B","v":NaN}\n{"type":"B","v":Infinity}\n',
    "upper and lower case": '{"type":"A","v":1,"V":7,"a b":true,"c.d":"e\'f","g\\"h":0.5,"":4}\n',
    "a key that occurs twice": A + '{"type":"B","v":2,"v":3}\n',
    "a line cut short": A + '{"type":"B","v":2\n',
    "nested": A + '{"type":"B","v":{"w":1}}\n',
    "half a character": A + '{"type":"B","v":"\\ud800"}\n',
    "no object": "1\n",
    "an array": '[{"type":"A","v":1},\n {"type":"B","v":2}]',
    "nothing": " \n",
    "dates as text": '{"type":"A","v":"2024-01-01"}\n',
    "Latin-1": '{"type":"A","v":"é"}\n'.encode("latin-1"),
}
TEXTS = [
    pytest.param(kind, text, id=f"{kind}: {name}")
    for kind, texts in (("csv", CSV), ("ndjson", NDJSON))
    for name, text in texts.items()
]


def rows_of(spark: Any, path: Path, *, by_spark: bool = False) -> list[Any]:
    """The events that Spark has of a path, or the first line of the error."""
    try:
        with failures():
            found = Inputs((str(path),), (), {}, "ndjson") if by_spark else inputs_of(str(path))
            rows = frame_of(spark, found).toArrow().to_pylist()
    except CerlabError as error:
        return [str(error).splitlines()[0]]
    return [
        repr((row.pop("type"), row.pop("stream", None), sorted(cells(row).items()))) for row in rows
    ]


def cells(row: dict[str, Any]) -> dict[str, Any]:
    return {name: to_value(value) for name, value in row.items() if value is not None}


def rows_of_here(*paths: Path) -> list[Any]:
    try:
        events = list(read_here([str(path) for path in paths]))
        # a nested value is an error where it is read
        return [repr((e.type, e.stream, sorted(cells(dict(e.attributes)).items()))) for e in events]
    except CerlabError as error:
        return [str(error).splitlines()[0]]


@pytest.mark.filterwarnings("ignore:CER092")
@pytest.mark.parametrize(("kind", "text"), TEXTS)
def test_a_text_has_the_events_and_the_errors_that_it_has_here(
    spark: Any, tmp_path: Path, kind: str, text: str | bytes
) -> None:
    path = tmp_path / f"e.{kind}"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert rows_of(spark, path) == rows_of_here(path)


def test_integers_among_doubles_are_doubles_if_they_stay_what_they_are(
    spark: Any, tmp_path: Path
) -> None:
    path = tmp_path / "e.ndjson"
    path.write_text(A + DOUBLE + '{"type":"B","v":3}\n{"type":"B","v":2.5}\n')
    assert [row["v"] for row in read(spark, str(path)).collect()] == [1.0, 1.0, 3.0, 2.5]
    path.write_text('{"type":"A","v":9007199254740993}\n' + DOUBLE)
    (said,) = rows_of(spark, path)
    assert said.startswith("CER0784")
    assert f"{path}, column 'v'" in said


def test_files_of_a_folder_have_their_columns_by_name_and_one_type_a_column(
    spark: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "day[1].csv"  # no pattern, since it is there
    folder.mkdir()
    texts = ["type,v,w,x\nA,1,50,1\n", "type,w,v\nB,60,2\n", "type,v,w\n", "w,type,x\n7.5,B,x\n"]
    paths = [folder / f"{n}.csv" for n in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    (folder / "_SUCCESS").write_text("")
    (folder / "nothing.csv").write_text("")
    packed = tmp_path / "day1.csv.gz"
    packed.write_bytes(gzip.compress(b"type,v\nA,1\n"))
    expected = rows_of_here(*paths)
    assert len(expected) == 3
    assert "'v', 2" in expected[1]
    assert rows_of(spark, folder) == expected
    packed_frame = read(spark, str(tmp_path / "*.gz"), format="csv")
    assert [tuple(row) for row in packed_frame.collect()] == [("A", 1)]


def test_a_place_that_only_spark_knows(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text(A)
    (tmp_path / "b.ndjson").write_text('{"type":"B","v":2,"w":0.5}\n')
    expected = rows_of(spark, tmp_path / "*.ndjson")
    assert len(expected) == 2
    assert sorted(rows_of(spark, tmp_path / "*.ndjson", by_spark=True)) == sorted(expected)
    (tmp_path / "b.ndjson").write_text('{"type":"B","v":"one"}\n')
    (said,) = rows_of(spark, tmp_path / "*.ndjson", by_spark=True)
    assert said.startswith("CER0784")
    (said,) = rows_of(spark, tmp_path / "none.ndjson", by_spark=True)
    assert said.startswith("CER0743")


def arrived(spark: Any, folder: Path, kind: str, schema: str | None = None) -> list[Any]:
    """The events of two files of a folder as they arrive, or the first line of the error."""
    declared = None if schema is None else as_schema(schema)
    try:
        with failures():
            frame = read_stream(spark, str(folder), format=kind, schema=declared, files=1)
            rows: list[Any] = []
            (folder.parent / "later").rename(folder / f"later.{kind}")
            writer = frame.writeStream.foreachBatch(lambda batch, _: rows.extend(batch.collect()))
            writer.trigger(availableNow=True).start().awaitTermination()
    except CerlabError as error:
        return [str(error).splitlines()[0]]
    return sorted(tuple(row) for row in rows)


@pytest.mark.parametrize(
    ("kind", "later", "expected"),
    [
        ("csv", 'w,type,v\n"2\nB,3",B, 4\n', [("A", 1, "x"), ("B", 4, "2\nB,3")]),
        ("csv", "type,v\nB,2\n", "CER0742: expected the columns type, v, w, got type, v (FILE)"),
        ("csv", "type,v,w\nB,2\n", "CER0738.*(FILE, row 2, column 'w')"),
        ("csv", "type,v,w\nB,one,y\n", "CER0725: 'one' is no int.*(FILE, row 2, column 'v')"),
        ("csv", "type,v,w\nB,true,y\n", "CER0725.*(FILE, row 2, column 'v')"),
        ("csv", "type,v,w\nB,2.5,y\n", "CER0784.*(FILE, column 'v')"),
        ("csv", "type,v,w\nB,2,é\n", "CER0745.*(FILE, row 2)"),
        ("ndjson", '{"w":"y","type":"B"}\n\n', [("A", 1, "x"), ("B", None, "y")]),
        ("ndjson", '{"type":"B","v":1e400}\n', "CER0720.*(FILE, row 1, column 'v')"),
        ("ndjson", '{"type":"B","v":true}\n', "CER0784.*(FILE, column 'v')"),
        ("ndjson", '{"type":"B","v":2\n', "CER0733.*(FILE, row 1)"),
    ],
)
def test_a_stream_of_texts_has_the_same_values_and_errors(
    spark: Any, tmp_path: Path, kind: str, later: str, expected: Any
) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    first = "type,v,w\nA,1,x\n" if kind == "csv" else '{"type":"A","v":1,"w":"x"}\n'
    (folder / f"e.{kind}").write_text(first)
    (tmp_path / "later").write_bytes(later.encode("latin-1"))
    got = arrived(spark, folder, kind)
    if isinstance(expected, str):
        parts = expected.replace("FILE", str(folder / f"later.{kind}")).split(".*")
        assert re.search(".*".join(map(re.escape, parts)), got[0]), got
    else:
        assert sorted(got, key=repr) == sorted(expected, key=repr)


def test_a_stream_of_declared_texts(spark: Any, tmp_path: Path) -> None:
    attributes = "{ v:string, V:int, w:double? }"
    schema = f"CREATE STREAM S {{ EVENT A {attributes}, EVENT B {attributes} }}"
    folder = tmp_path / "events"
    folder.mkdir()
    (folder / "e.csv").write_text("type,v,V,w\nA,007,1,1\n")
    (tmp_path / "later").write_text("type,v,V,w\nB,x,2,\n")
    assert arrived(spark, folder, "csv", schema) == [
        ("A", "007", 1, 1.0),
        ("B", "x", 2, None),
    ]


def test_rows_of_a_stream_of_texts_do_not_name_a_file_that_they_are_not_of(
    spark: Any, tmp_path: Path
) -> None:
    from pyspark.sql import functions as fn

    for n in range(6):
        (tmp_path / f"{n}.csv").write_text(f"type,v\nA,{n}\n")
    frame = read_stream(spark, str(tmp_path), format="csv").select("v", fn.input_file_name())
    rows: list[Any] = []
    writer = frame.writeStream.foreachBatch(lambda batch, _: rows.extend(batch.collect()))
    writer.trigger(availableNow=True).start().awaitTermination()
    assert sorted(tuple(row) for row in rows) == [(n, "") for n in range(6)]
