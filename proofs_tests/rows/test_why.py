"""Why rows are a match of a row pattern, and why not."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from cerlab import CerlabError, WhyRows
from cerlab.cli import main
from cerlab.rows import syntax as rp
from cerlab.rows import why as why_module
from cerlab.rows.compile import prioritised_automaton
from cerlab.rows.expression_semantics import Partition
from cerlab.rows.recognise import column_kinds, value_rows
from cerlab.rows.semantics import Scan, ScanResult, Start, derivations, partitions, scan
from cerlab.rows.types import bind
from cerlab.rows.why import RowKind, why_rows_to_json
from cerlab.testing import random_row_pattern, random_row_table
from proofs_tests.command import Cli
from proofs_tests.mutants.driver import Judge, kills, mutant, on_seeds
from proofs_tests.rows.tables import letters, typed_table
from proofs_tests.suite import Suite, random_suite


def why_rows(query: Any, table: Any, rows: Any = None) -> WhyRows:
    """Ask by the verbs that users have."""
    answer: object = (
        cerlab.why_none(query, table) if rows is None else cerlab.why(query, table, rows)
    )
    assert isinstance(answer, WhyRows)
    return answer


ABC = "DEFINE A AS a, B AS b, C AS c"


def clause(pattern: str, clauses: str = "", define: str = ABC) -> str:
    conditions = ", ".join(part for part in define[7:].split(", ") if part.split()[0] in pattern)
    define_clause = f"DEFINE {conditions}" if conditions else ""
    return f"MATCH_RECOGNIZE (MEASURES 1 AS m {clauses} PATTERN ({pattern}) {define_clause})"


def case(pattern: str, text: str, rows: str, kind: RowKind | None, says: str, **more: str) -> Any:
    return pytest.param(pattern, text, rows, kind, says, more.get("clauses", ""), id=more["id"])


TO_NEXT, FIRST = "AFTER MATCH SKIP TO NEXT ROW", "AFTER MATCH SKIP TO FIRST B"
CASES = [
    case("A+ B", "a a b", "0 1 2", None, "2 B: b, b is TRUE", id="a-match"),
    case("A+ B", "a b", "1", RowKind.CONDITION, "A cannot take row 1: a does not", id="A-fails"),
    case("A+ B", "a ~b", "0 1", RowKind.CONDITION, "B cannot take row 1: b is NULL", id="a-NULL"),
    case(
        "A B", "a b", "0", RowKind.CONDITION, "B has to take one more row, and none is", id="more"
    ),
    case("A B", "a", "0", RowKind.CONDITION, "one more row, and none is left", id="no-more"),
    case("A", "a a", "0 1", RowKind.CONDITION, "complete before row 1", id="fewer"),
    case("A $", "a a", "0", RowKind.CONDITION, "an anchor, ^ or $, is not", id="end"),
    case("^ A", "a a", "1", RowKind.CONDITION, "an anchor", id="start", clauses=TO_NEXT),
    case("A B+", "a b b", "0 1", RowKind.PREFERRED, "it continues with row 2", id="greedy"),
    case("A B+?", "a b b", "0 1 2", RowKind.PREFERRED, "ends before row 2", id="reluctant"),
    case("A B | A C", "a bc", "0 1", None, "1 B: b, b is TRUE", id="alternative"),
    case("(A | A B) C?", "a b", "0 1", RowKind.PREFERRED, "ends before row 1", id="first-side"),
    case("A | A B $", "a b", "0 1", RowKind.PREFERRED, "ends before row 1", id="to-the-end"),
    case("A+ B", "a a b", "1 2", RowKind.SKIPPED, "SKIP PAST LAST ROW does not", id="skipped"),
    case("A+ B", "a a b", "1 2", None, "a match", id="not-skipped", clauses=TO_NEXT),
    case("A A B B?", "a a ab b", "1 2 3", RowKind.SKIPPED, "FIRST B", id="to-first", clauses=FIRST),
    case("A", "a b a", "0 2", RowKind.GAP, "row 1 lies between them", id="a-gap"),
    case("A", "a", "0 3", RowKind.ROW, "row 3 is out of the table, which has 1 rows", id="no-row"),
]


@pytest.mark.parametrize(("pattern", "text", "rows", "kind", "says", "clauses"), CASES)
def test_each_reason_by_hand(
    pattern: str, text: str, rows: str, kind: RowKind | None, says: str, clauses: str
) -> None:
    explanation = why_rows(clause(pattern, clauses), letters(text), map(int, rows.split()))
    assert (explanation.holds, explanation.kind) == (kind is None, kind)
    assert says in str(explanation)
    assert why_rows_to_json(explanation)["kind"] == (None if kind is None else kind.value)


def test_rows_of_several_partitions() -> None:
    text = "MATCH_RECOGNIZE (PARTITION BY g MEASURES 1 AS m PATTERN (A A))"
    explanation = why_rows(text, [{"g": 1}, {"g": 2}, {"g": 1}], [0, 1])
    assert explanation.reasons == ("rows 0 and 1 are in different partitions: g is 1 and 2",)
    assert why_rows(text, [{"g": 1}, {"g": 2}, {"g": 1}], [0, 2]).holds


def test_rows_are_in_the_order_of_the_partition() -> None:
    text = "MATCH_RECOGNIZE (ORDER BY t MEASURES 1 AS m PATTERN (A B) DEFINE B AS x > PREV(x))"
    explanation = why_rows(text, [{"t": 2, "x": 5}, {"t": 1, "x": 4}], [0, 1])
    assert [(row.row, row.variable) for row in explanation.taken] == [(1, "A"), (0, "B")]
    assert explanation.taken[1].read == (("x", 5), ("PREV(x)", 4))


def test_the_number_that_the_match_would_get() -> None:
    text = "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A) DEFINE A AS MATCH_NUMBER() = 1)"
    assert why_rows(text, [{"x": 1}] * 2, [0]).holds
    assert why_rows(text, [{"x": 1}] * 2, [1]).taken == ()
    (reason,) = why_rows(text, [{"x": 1}] * 2, [1]).reasons
    assert reason.endswith("MATCH_NUMBER() = 1 does not hold, MATCH_NUMBER() is 2")


def test_within_ends_before_a_row() -> None:
    text = "MATCH_RECOGNIZE (ORDER BY t MEASURES 1 AS m PATTERN (A B) WITHIN 2)"
    explanation = why_rows(text, [{"t": 1}, {"t": 3}], [0, 1])
    assert explanation.reasons == (
        "B cannot take row 1: WITHIN ends before it, t is 3, FIRST(t) is 1",
    )
    (reason,) = why_rows(text, [{"t": 1}, {"t": None}], [0, 1]).reasons
    assert reason == "B cannot take row 1: WITHIN ends before it, t is NULL, FIRST(t) is 1"


def test_why_there_is_no_match_at_all() -> None:
    explanation = why_rows(clause("A B C"), letters("a a b a"))
    assert [row.row for row in explanation.taken] == [1, 2]
    assert explanation.reasons == ("C cannot take row 3: c does not hold, c is FALSE",)
    assert [tuple(change) for change in explanation.changes] == [("C", (1, 2, 3))]
    assert why_rows(clause("A B"), letters("a a b")).rows == (1, 2)
    empty = pa.table({"a": pa.array([], pa.bool_())})
    assert why_rows(clause("A"), empty).reasons == ("the table has no rows",)
    assert why_rows(clause("A*?"), letters("a")).reasons == ("every match is empty",)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], cli: Cli) -> None:
    table = tmp_path / "table.csv"
    table.write_text("x\n3\n2\n")
    text = "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A B) DEFINE B AS x < PREV(x))"
    command = ["why", text, str(table)]
    assert main([*command, "--positions", "0,1"]) == main(command) == 0
    capsys.readouterr()
    document = json.loads(cli(*command, "--positions", "0", "--format", "json", status=1).out)
    assert document["reasons"] == ["B has to take one more row, and none is given"]
    assert main([*command, "--start", "0", "--positions", "0"]) == 2


def test_no_rows_are_no_question() -> None:
    with pytest.raises(cerlab.UsageError, match="expected at least one row"):
        why_rows(clause("A"), letters("a"), [])


def random_scan(rng: Random) -> tuple[rp.RowPattern, pa.Table, list[int], list[ScanResult]]:
    """A query, a table, one of its partitions, and what the scan finds there; mostly a match."""
    while True:
        query = random_row_pattern(rng, depth=rng.choice((1, 2, 2)))
        table = typed_table(random_row_table(rng, rows=5))
        binding = bind(query, column_kinds(table))
        rows = value_rows(table, binding.names.values())
        for part in partitions(query, binding, rows):
            try:
                results = list(scan(Scan(query, _T(rows, part, binding), part)))
            except CerlabError:
                continue
            if any(each.match for each in results) or rng.random() < 0.1:
                return query, table, part, results


def agrees(rng: Random) -> bool:
    """On random rows in a row: it is a match iff the scan has it, and it can be read iff D has it.

    D are the derivations of the reference.
    """
    query, table, positions, results = random_scan(rng)
    s = rng.randrange(len(positions))
    binding = bind(query, column_kinds(table))
    rows = value_rows(table, binding.names.values())
    matches = [f for f in results if f.match]
    if matches and rng.random() < 0.8:
        s = rng.choice(matches).s
    length = rng.randrange(1, len(positions) - s + 1)
    here = next((f for f in results if f.s == s), None)
    if here is not None and here.match and rng.random() < 0.5:
        length = len(here.match)
    why = why_rows(query, table, positions[s : s + length])
    is_match = here is not None and here.match is not None and len(here.match) == length
    assert why.holds == is_match
    labels = tuple(row.variable for row in why.taken)
    N = here.number + (here.match is None) if here is not None else _next_number(results, s)
    readings = {m for m in _readings(query, _T(rows, positions, binding), s, N) if len(m) == length}
    if why.holds:
        assert here is not None
        assert labels == tuple(m.variable for m in here.match or ())
    elif why.kind is RowKind.CONDITION:
        assert not readings
        assert why.reasons
    else:
        assert why.kind is (RowKind.SKIPPED if here is None else RowKind.PREFERRED)
        assert labels in readings
        assert why.others or (here is not None and here.match == ())
    return bool(matches)


def _T(rows: Any, positions: Any, binding: Any) -> Partition:
    return Partition([rows[i] for i in positions], binding.names)


def _next_number(results: list[ScanResult], s: int) -> int:
    return max((f.number for f in results if f.s < s), default=0) + 1


def _readings(query: rp.RowPattern, T: Partition, s: int, N: int) -> set[tuple[str, ...]]:
    conditions = {d.variable: d.condition for d in query.define}
    within = None if query.within is None else (query.within, query.order_by[0].column.name)
    start = Start(T, s, N, rp.members(query), conditions, within)
    D = derivations(query.pattern, start, (), excluded=False)
    return {tuple(m.variable for m in d.mapping) for d in D}


def test_the_reference_agrees(suite: Suite) -> None:
    suite.run(agrees, deep_count=3_000)


@random_suite(1_000)
def test_why_there_is_none_agrees(rng: Random) -> bool | None:
    """Without rows it is the first match of the table; a change that is said gives one."""
    query = random_row_pattern(rng, depth=rng.choice((1, 2, 2)))
    table = typed_table(random_row_table(rng, rows=4))
    binding = bind(query, column_kinds(table))
    try:
        rows = value_rows(table, binding.names.values())
        matches = [
            [part[f.s + j] for j in range(len(f.match))]
            for part in partitions(query, binding, rows)
            for f in scan(Scan(query, _T(rows, part, binding), part))
            if f.match
        ]
        why = why_rows(query, table)
    except CerlabError:
        return None
    assert why.holds == bool(matches)
    if matches:
        assert list(why.rows) == matches[0]
    return why.holds or bool(why.reasons)


AGREEMENT: Judge = on_seeds(agrees, 2_000)


def stops_where_it_may(pattern: Any, *, every: bool) -> Any:
    return prioritised_automaton(pattern)


def admits_all(self: Any, i: int) -> bool:
    return True


MUTANTS = [
    mutant(AGREEMENT, why_module, "prioritised_automaton", stops_where_it_may),
    mutant(AGREEMENT, why_module.Reader, "admits", admits_all),
]


test_the_reference_kills = kills(MUTANTS)
