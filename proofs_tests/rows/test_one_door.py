"""One door for each question: verbs and commands take row patterns as they take queries."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

import cerlab
from cerlab import CerlabError
from cerlab.cli import main
from cerlab.testing import random_row_pattern
from cerlab.testing.rows import random_row_sequence
from proofs_tests.command import Cli
from proofs_tests.suite import Suite

FALL = "MATCH_RECOGNIZE (MEASURES LAST(x) AS low PATTERN (A B{}) DEFINE B AS x < PREV(x))"
TABLE = [{"x": 3}, {"x": 2}, {"x": 1}]


def either(pattern: str) -> str:
    conditions = {"A": "A AS x > 0", "B": "B AS x < 2"}
    define = ", ".join(condition for v, condition in conditions.items() if v in pattern)
    return f"MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN ({pattern}) DEFINE {define})"


@pytest.mark.parametrize("clause", [FALL, "select low from t match_recognize" + FALL[15:]])
@pytest.mark.parametrize(
    "verb",
    [
        lambda clause: cerlab.evaluate(clause, TABLE, type="row"),
        lambda clause: cerlab.count(clause, TABLE, type="row"),
        lambda clause: cerlab.valuations(clause, TABLE, type="row"),
        cerlab.parse_query,
        lambda clause: cerlab.timeline(clause, TABLE, type="row"),
        lambda clause: cerlab.evaluate(cerlab.parse_rows(clause), TABLE),  # type: ignore[arg-type]
    ],
)
def test_verbs_on_events_name_those_on_tables(verb: Callable[[str], object], clause: str) -> None:
    with pytest.raises(cerlab.Unsupported, match="CER0458") as caught:
        verb(clause.format("+"))
    assert "cerlab.match_recognize" in caught.value.hint
    assert "cerlab.sql" in caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "A FILTER A[name = 'MATCH_RECOGNIZE (']",
        "A -- MATCH_RECOGNIZE (\n",
        "A /* MATCH_RECOGNIZE ( */",
        "`MATCH_RECOGNIZE` ; MATCH_RECOGNIZE",
    ],
)
def test_the_word_elsewhere_is_no_clause(text: str) -> None:
    assert cerlab.satisfiable(text).holds


def test_a_text_and_its_value_are_one_question() -> None:
    text = FALL.format("+")
    for query in (text, cerlab.parse_rows(text)):
        verdict = cerlab.satisfiable(query)
        assert (verdict.holds, verdict.witness) == (
            True,
            cerlab.Witness([{"x": 0}, {"x": -1}], cerlab.ComplexEvent(0, 1, (0, 1))),
        )
        assert str(cerlab.why(query, TABLE, [0, 1])).startswith("no match: rows 0, 1")
        assert str(cerlab.why_none(query, TABLE)).startswith("a match: rows 0, 1, 2")
        assert cerlab.show(query) == cerlab.parse_rows(text)


def test_a_clause_finds_what_it_finds() -> None:
    """Also where its conditions are outside of what is decided."""
    clause = "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A B) DEFINE B AS x * x > 2)"
    other = clause.replace("x * x", "x * (x)")
    for ask in (cerlab.equivalent, cerlab.contained):
        assert (ask(clause, clause).holds, ask(clause, clause).reason) == (True, "the same clause")
        assert ask(clause, other.replace("2)", "3)")).holds is None


@pytest.mark.parametrize(
    ("left", "right", "same", "says"),
    [
        ("(A | B)*", "(B | A)*", "labels", "left [0, 0] (0,) row 0 is A on the left, B on the"),
        ("A B", "A B B", "labels", "left [0, 1] (0, 1) "),
        ("A B B", "A B", "matches", "right [0, 1] (0, 1) "),
        ("A*", "A+", "matches", "left [0, 0] () "),
        ("A", "A | B", "rows", "right [0, 0] (0,) "),
    ],
)
def test_the_witness_is_a_match_of_one_side(left: str, right: str, same: Any, says: str) -> None:
    verdict = cerlab.equivalent(either(left), either(right), same=same)
    assert verdict.holds is False
    assert verdict.witness is not None
    side, answer = verdict.witness.side, verdict.witness.complex_event
    words = verdict.reason.partition("recomputed by the search")[2].removeprefix(": ")
    found = f"{side} [{answer.start}, {answer.end}] {answer.positions} {words}"
    assert found.startswith(says)


def differ(rng: Random) -> bool:
    """Whether two drawn patterns differ; the reference finds the witness on its side alone."""
    clause = cerlab.parse_rows(
        "MATCH_RECOGNIZE (ORDER BY t MEASURES FIRST(t) AS first, COUNT(*) AS rows PATTERN (A))"
    )
    drawn = (random_row_pattern(rng, "row", pattern=random_row_sequence(rng)) for _ in range(2))
    a, b = (replace(clause, pattern=each.pattern, define=each.define) for each in drawn)
    verdict = cerlab.equivalent(a, b, same="matches")
    if verdict.witness is None:
        return False
    table, answer = verdict.witness.events, verdict.witness.complex_event
    ours, theirs = (
        [tuple(row.values()) for row in reference(query, table)]
        for query in ((a, b) if verdict.witness.side == "left" else (b, a))
    )
    extent = (table[answer.start]["t"] if answer.positions else None, len(answer.positions))
    assert extent in ours
    assert ours.count(extent) > theirs.count(extent)
    return True


def reference(query: cerlab.RowPattern, table: Any) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = cerlab.match_recognize(
        query, table, evaluator="reference"
    ).to_pylist()
    return result


def test_the_witness_of_a_drawn_pair_is_one_by_the_reference(suite: Suite) -> None:
    suite.run(differ, deep_count=2_000)


def test_undecided_is_a_verdict() -> None:
    clause = "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A B) DEFINE B AS x + 1 > 2)"
    verdict = cerlab.equivalent(clause, clause.replace("x + 1 > 2", "x + 1 > 3"))
    assert (verdict.holds, verdict.witness) == (None, None)
    assert verdict.reason.startswith("this is not decided: x + 1 is not a comparison")
    assert "rows=" in verdict.reason
    rows = [{"x": 1}, {"x": 2}]
    assert cerlab.equivalent(clause, clause, rows=rows).holds
    assert cerlab.contained(clause, clause, rows=rows).reason.endswith("of these rows")
    assert cerlab.satisfiable(clause, rows=rows).holds
    assert cerlab.satisfiable(clause, rows=[{"x": 0}]).reason == (
        "no table has a match of these rows"
    )


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        (lambda: cerlab.equivalent(FALL.format("+"), "A"), "CER0826"),
        (lambda: cerlab.contained("A", "A", same="rows"), "CER0826"),
        (lambda: cerlab.satisfiable("A", rows=TABLE), "CER0826"),
        (lambda: cerlab.why(FALL.format("+"), TABLE, [0], 0), "CER0451"),
        (lambda: cerlab.why(FALL.format("+"), TABLE, [0], logic="fo"), "CER0451"),
        (lambda: cerlab.why_none(FALL.format("+"), TABLE, time="x"), "CER0451"),
        (lambda: cerlab.show(FALL.format("+"), TABLE), "CER0451"),
        (lambda: cerlab.show(FALL.format("+"), what="cea"), "CER0451"),
    ],
)
def test_questions_of_one_kind_are_not_mixed(ask: Callable[[], object], code: str) -> None:
    with pytest.raises(CerlabError, match=code):
        ask()


def test_commands_read_the_clause_without_a_language(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, query = tmp_path / "falls.csv", tmp_path / "q.sql"
    table.write_text("x\n3\n2\n1\n")
    query.write_text(FALL.format("+"))
    sql = "SELECT low AS l FROM {} " + FALL.format("+")
    never, undecided = either("A $ A"), FALL.format("+").replace("x < PREV(x)", "x + 1 > 2")
    cases: list[tuple[int, str, list[str]]] = [
        (0, '{"low": 1}', ["run", str(query), str(table)]),
        (0, "satisfiable: yes: a match on 2 rows; recomputed", ["check", str(query)]),
        (1, "satisfiable: no: no table has a match", ["check", never]),
        (
            0,
            "yes: the same matches with the same labels on",
            ["equivalent", str(query), str(query)],
        ),
        (1, '  {"x": 0}', ["equivalent", str(query), FALL.format("")]),
        (0, "yes: the right finds all", ["contained", never, either("A")]),
        (3, "this is not decided: ", ["contained", undecided, undecided.replace("2)", "3)")]),
        (0, "a match: rows 0, 1, 2", ["why", str(query), str(table)]),
        (1, "no match: rows 0, 1", ["why", str(query), str(table), "--positions", "0,1"]),
        (0, "  PATTERN (A B+)", ["show", str(query)]),
        (0, "digraph", ["show", str(query), "--format", "dot"]),
        (2, "CER0451", ["show", str(query), str(table)]),
        (0, "  PATTERN (A B+)", ["fmt", str(query)]),
        (0, '{"l": 1}', ["sql", sql.format("falls"), str(table)]),
        (0, '{"l": 1}', ["sql", sql.format("t"), f"t={table}"]),
    ]
    for status, says, words in cases:
        assert main(words) == status, words
        output = capsys.readouterr()
        assert says in output.out + output.err, words


def test_sql_needs_a_file_for_parquet(cli: Cli) -> None:
    assert "CER0809" in cli("sql", FALL.format("+"), "--format", "parquet", status=2).err


def test_a_verdict_is_written_by_the_command(cli: Cli) -> None:
    out = cli("equivalent", either("(A | B)*"), either("(B | A)*"), status=1).out
    first, row, answer = out.splitlines()
    assert (
        first
        == "no: differ on 1 row; recomputed by the search: row 0 is A on the left, B on the right"
    )
    assert json.loads(row) == {"x": 1.0}
    assert answer == "  answer: [0, 0] at [0], on the left only"
