"""MATCH_RECOGNIZE inside SQL: where a clause and its input stand, and files of sqllogictest."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

import cerlab
from cerlab import CerlabError, UsageError
from cerlab.cli import main
from cerlab.errors import SourcePlace
from cerlab.rows.sql import SqlSession, first_clause, with_before
from cerlab.trial import Verdict
from cerlab.trial.report import (
    Record,
    check_files,
    compare_record,
    records,
    settlements_in,
    value_text,
)
from proofs_tests.command import Cli

MR = "MATCH_RECOGNIZE (ORDER BY t MEASURES {} AS m PATTERN (A+) DEFINE A AS x > 1)"
COUNT = MR.format("COUNT(*)")

INPUTS = [
    ("SELECT * FROM a {}", "a"),
    ("SELECT * FROM a AS b {} AS c", "a AS b"),
    ("SELECT * FROM a b {} c", "a b"),
    ("SELECT * FROM z, s.a {}", "s.a"),
    ("SELECT * FROM z JOIN s.a q {} c ON TRUE", "s.a q"),
    ("SELECT * FROM (SELECT (1) FROM y) {}", "(SELECT (1) FROM y)"),
    ("SELECT * FROM (SELECT 1) AS q {}", "(SELECT 1) AS q"),
    ("SELECT * FROM range(0, (5)) r {}", "range(0, (5)) r"),
    ("FROM (VALUES (1), (2)) t(x) {}", "(VALUES (1), (2)) t(x)"),
    ("SELECT * FROM z, s.a AS q(t, x) {}", "s.a AS q(t, x)"),
    ("SELECT * FROM z JOIN range(0, 5) {} c", "range(0, 5)"),
    ('SELECT * FROM "A b" {}', '"A b"'),
    ("WITH w AS (SELECT * FROM a {}) SELECT * FROM w", "a"),
]


@pytest.mark.parametrize(("text", "expected"), INPUTS)
def test_where_the_input_of_a_clause_begins(text: str, expected: str) -> None:
    place = first_clause(text.format(COUNT))
    assert place is not None
    assert (place.input, place.clause) == (expected, COUNT)


def test_what_of_with_is_in_scope() -> None:
    text = "WITH RECURSIVE a AS (SELECT 1), b(x) AS (SELECT 2) SELECT * FROM a, HERE"
    assert with_before(text, text.index("HERE")) == text[: text.index("SELECT *")]
    assert with_before(text, text.index("SELECT 2")) == "WITH RECURSIVE a AS (SELECT 1) "
    assert with_before("SELECT 1", 5) == ""


ROWS = [{"t": t, "x": x} for t, x in enumerate((2, 3, 1, 5, None, 7))]


def test_a_clause_alone_needs_no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    text = f"SELECT m FROM T {COUNT}"
    assert cerlab.sql(text, {"t": ROWS}).to_pylist() == [{"m": 2}, {"m": 1}, {"m": 1}]
    with pytest.raises(UsageError, match="pip install duckdb"):
        cerlab.sql(f"{text} WHERE m > 1", {"t": ROWS})


def needs_duckdb() -> None:
    pytest.importorskip("duckdb", reason="what is around a clause is run by DuckDB")


QUERIES = [
    (f"SELECT m FROM t {COUNT} WHERE m > 1", [(2,)]),
    (f"SELECT sum(m) FROM t {COUNT} AS c GROUP BY m ORDER BY 1", [(2,), (2,)]),
    (f"WITH w AS (SELECT * FROM t WHERE x > 1) SELECT count(*) FROM w {COUNT}", [(1,)]),
    (f"SELECT m FROM (SELECT t, x + 1 AS x FROM t) {COUNT} LIMIT 1", [(4,)]),
    (f"SELECT max(q.m) FROM t AS q {MR.format('LAST(q.t)')} AS q", [(5,)]),
    (
        f"SELECT a.m, b.m FROM t {COUNT} a, t {MR.format('LAST(x)')} b WHERE a.m = 2 ORDER BY 2",
        [(2, 3), (2, 5), (2, 7)],
    ),
    (
        "SELECT n FROM (SELECT m, m AS t FROM t "
        f"{COUNT}) MATCH_RECOGNIZE (MEASURES SUM(m) AS n PATTERN (A+))",
        [(4,)],
    ),
    ("SELECT count(*) AS n FROM t", [(6,)]),
    (f"FROM (VALUES (1, 5), (2, 0)) q(t, x) {COUNT.replace('x > 1', 'q.x > 1')}", [(1,)]),
    (f"SELECT m FROM range(2, 4) AS r(x) {COUNT.replace(' t ', ' x ')}", [(2,)]),
    ("FROM range(3) MATCH_RECOGNIZE (MEASURES LAST(range.range) AS m PATTERN (A+))", [(2,)]),
    ("FROM temp.t MATCH_RECOGNIZE (MEASURES SUM(t.x) AS m PATTERN (A+))", [(18,)]),
    ("FROM temp.t AS u MATCH_RECOGNIZE (MEASURES SUM(u.x) AS m PATTERN (A+))", [(18,)]),
    (f"SELECT count(*) FROM (t {COUNT} c JOIN t d ON c.m = d.x)", [(3,)]),
]


@pytest.mark.parametrize(("text", "expected"), QUERIES)
def test_queries_around_clauses(text: str, expected: Any) -> None:
    needs_duckdb()
    result = cerlab.sql(text, {"t": ROWS})
    assert list(zip(*(column.to_pylist() for column in result.columns), strict=True)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"FROM t a JOIN t b ON a.t = b.t {COUNT}", "a join as the input"),
        (f"FROM t a JOIN t b USING (t) {COUNT}", "a join as the input"),
        (f"FROM t {MR.format('f([1], lambda v: v + x)')}", "a lambda"),
        (f"SELECT nothing FROM t {COUNT} c", "nothing"),
        (f"SELECT * FROM absent {COUNT} c WHERE TRUE", "absent"),
        (f"SELECT * FROM t {COUNT.replace('x > 1', 'y > 1')} c WHERE TRUE", "column 'y'"),
        ("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A+ WHERE", "ends too early"),
    ],
)
def test_errors_say_whose_they_are(text: str, message: str) -> None:
    needs_duckdb()
    with pytest.raises(CerlabError, match=message):
        cerlab.sql(text, {"t": ROWS})


def test_a_clause_may_be_prepared() -> None:
    needs_duckdb()
    session = SqlSession()
    session.connection.execute("CREATE TABLE t AS SELECT * FROM range(3) t(x)")
    clause = "MATCH_RECOGNIZE (MEASURES SUM(x) AS m PATTERN (A+))"
    session.run(f"PREPARE p AS FROM t {clause}")
    assert session.run("EXECUTE p").to_pylist() == [{"m": 3}]


FILE = f"""# name: a
statement ok
create table n(t integer, x integer);

statement ok
insert into n values (1,2),(2,NULL),(3,3),(4,5);

query II rowsort
SELECT m, 1.50 FROM n {COUNT} WHERE TRUE
----
2	1.5
1	1.5

query II
SELECT m, NULL FROM n {COUNT}
----
1
NULL
3
NULL

query I
SELECT m FROM n {COUNT} ORDER BY m DESC
----
1
2

statement error
SELECT * FROM n MATCH_RECOGNIZE (PATTERN ())
----
Parser Error

statement error
SELECT m FROM n {COUNT}

query I
SELECT m FROM n {MR.format("cbrt(x)")}
----
1

query I
SELECT parameters FROM duckdb_functions() WHERE function_name = 'match_recognize'
----
[columns]

statement ok
SELECT m FROM absent {COUNT}

query I
SELECT m FROM n {COUNT} LIMIT 1
----
"""
VERDICTS = ["same", "missing", "order", "same", "extra", "refused", "crash", "extra"]


def test_files_of_sqllogictest(tmp_path: Path, cli: Cli) -> None:
    needs_duckdb()
    (tmp_path / "a.test").write_text(FILE)
    assert [each.verdict.value for each in check_files(tmp_path)] == VERDICTS
    output = cli("trial", "--sqllogictest", tmp_path, status=1).out
    assert "a.test:14: missing: missing [['3', 'NULL']], too many [['2', 'NULL']]" in output
    assert "refused: the function CBRT" in output
    assert output.endswith("2 same, 1 missing, 2 extra, 1 order, 1 crash, 1 refused\n")
    assert main(["trial", "--sqllogictest", str(tmp_path / "none")]) == 2


def test_settlements_that_are_no_text(tmp_path: Path, cli: Cli) -> None:
    settled = tmp_path / "settled.txt"
    settled.write_bytes(b"\xe9")
    assert "CER0715" in cli("trial", "--sqllogictest", tmp_path, "--settled", settled, status=2).err


def test_records_may_be_settled_by_a_clause(tmp_path: Path, cli: Cli) -> None:
    needs_duckdb()
    (tmp_path / "a.test").write_text("\n\n".join(FILE.split("\n\n")[:4]))
    command = ["trial", "--sqllogictest", str(tmp_path), "--settled", str(tmp_path / "list")]
    for text, code, end in (
        ("# nothing\n", 1, "1 same, 1 missing\n"),
        ("b.test 6.1 FROM n\na.test 6.1 ORDER BY m DESC", 1, "1 same, 1 missing\n"),
        ("a.test 6.10 m,NULL FROM n MATCH_RECOGNIZE(\n", 0, "1 same, 1 settled\n"),
        ("a.test 6.10\n", 2, ""),
    ):
        (tmp_path / "list").write_text(text)
        assert cli(*command, status=code).out.endswith(end)


NEEDING = f"""statement ok
CREATE TABLE n AS SELECT * FROM 'no/match_recognize/n.parquet'

query I
SELECT m FROM N {COUNT} WHERE TRUE
----
1

query I
SELECT m FROM another {COUNT} WHERE TRUE
----
1
"""


def test_a_record_may_need_a_file(tmp_path: Path, cli: Cli) -> None:
    """Itself, or for a table; a table of no statement is a fault."""
    needs_duckdb()
    (tmp_path / "a.test").write_text(NEEDING)
    output = cli("trial", "--sqllogictest", tmp_path, status=1).out
    lacking = "needs a file: no/match_recognize/n.parquet\n"
    assert f"a.test:1: {lacking}a.test:4: {lacking}a.test:9: crash: " in output
    assert output.endswith("1 crash, 2 needs a file\n")
    (tmp_path / "a.test").write_text("\n\n".join(NEEDING.split("\n\n")[:2]))
    assert main(["trial", "--sqllogictest", str(tmp_path)]) == 0


def test_records_are_read_as_they_stand() -> None:
    entries = list(records(FILE))
    assert len(entries) == 11
    assert entries[2] == Record(
        8,
        f"SELECT m, 1.50 FROM n {COUNT} WHERE TRUE",
        False,
        [["2", "1.5"], ["1", "1.5"]],
        "rowsort",
    )
    assert entries[3].rows == [["1", "NULL"], ["3", "NULL"]]
    assert [record.error for record in entries].count(True) == 2


def test_values_are_compared_by_their_meaning() -> None:
    assert [value_text(v) for v in (True, 1, 1.0, 0.1 + 0.2, None, "", "x")] == [
        *("1", "1", "1", "0.3", "NULL", "(empty)", "x"),
    ]
    assert compare_record([["1", "2"]], [["2", "1"]], "valuesort") == ([], [], True)


FOLDER = os.environ.get("CERLAB_SQLLOGICTEST")


@pytest.mark.night
@pytest.mark.skipif(FOLDER is None, reason="CERLAB_SQLLOGICTEST names no folder of test files")
def test_the_files_of_an_engine() -> None:
    """At most a tenth is refused; every difference is settled by a clause, or listed.

    A record that is in two files counts once.
    """
    needs_duckdb()
    path = Path(__file__).parents[2] / "examples" / "trial" / "duckdb" / "settled.txt"
    checks = list(check_files(Path(str(FOLDER)), settlements_in(path.read_text(encoding="utf-8"))))
    distinct = {each.record.sql: each.verdict for each in checks}
    refusals = [each for each in distinct.values() if each is Verdict.REFUSED]
    wrong = [
        f"{each.path.name}:{each.record.line}: {each.message}"
        for each in checks
        if each.verdict not in (Verdict.SAME, Verdict.REFUSED) and not (each.clause or each.lacks)
    ]
    assert len(refusals) <= len(distinct) / 10
    assert wrong == []


@pytest.mark.parametrize(
    "wrong", ["PATTERN (A B B\n", "PATTERN (A B)\n  DEFINE A AS n.o > 1", "PATTERN (A) DEFIN"]
)
@pytest.mark.parametrize(
    "before",
    [
        "SELECT *\nFROM t\nMATCH_RECOGNIZE (\n  ",
        "\n\nSELECT x.m FROM (SELECT * FROM t\n\tWHERE v > 0) AS x MATCH_RECOGNIZE (\n  ",
        "WITH a AS (\nSELECT * FROM t MATCH_RECOGNIZE (MEASURES FIRST(v) AS v PATTERN (C) "
        "DEFINE C AS v > 0))\nSELECT * FROM a MATCH_RECOGNIZE (\n  ",
    ],
)
def test_errors_have_places_in_the_text_as_it_was_written(before: str, wrong: str) -> None:
    pytest.importorskip("duckdb")
    query = f"{before}{wrong}\n) AS m"
    table = [{"v": 1}, {"v": 2}]
    with pytest.raises(CerlabError) as caught:
        cerlab.sql(query, {"t": table})
    place = caught.value.place
    assert isinstance(place, SourcePlace)
    assert place.text.strip() == query.strip()
    first = before.count("\n") + 1
    assert first <= place.span.line <= first + wrong.count("\n") + 2, place
    assert place.excerpt().split("\n")[0].strip() in query.split("\n")[place.span.line - 1].strip()
