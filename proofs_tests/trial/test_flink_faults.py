"""The faults in the report on Flink (`examples/trial/flink`): each is one of FlinkCEP's matching.

The planner of Flink makes pattern sequences of FlinkCEP. What the reference of these finds on the
rows of a case is not the match of the standard, and that says why Flink's answer is another.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cerlab import flinkcep as flink
from cerlab import match_recognize, parse_rows
from cerlab.flinkcep import FlinkPattern
from cerlab.rows import expressions as ex
from cerlab.rows import syntax as rp
from cerlab.trial import adapter
from cerlab.trial.languages import Case, arrow

REPORT = Path(__file__).parents[2] / "examples" / "trial" / "flink" / "trial.json"
SKIPS = {
    rp.PastLastRow: "skipPastLastEvent",
    rp.ToNextRow: "skipToNext",
    rp.ToFirst: "skipToFirst",
    rp.ToLast: "skipToLast",
}
Row = dict[str, Any]
MatchRows = frozenset[tuple[str, int]]
"""The variable and the row of each row of a match."""


def faults() -> list[tuple[rp.RowPattern, list[Row]]]:
    """The cases of the report, smallest ones first."""
    (engine,) = json.loads(REPORT.read_text())["engines"]
    causes = [*engine["causes"], *engine["unsorted"]]
    return [(parse_rows(each["query"]), each["data"]) for each in causes]


def parts(p: rp.Pattern) -> list[rp.Pattern]:
    return [q for part in p.parts for q in parts(part)] if isinstance(p, rp.Concat) else [p]


def sequence(query: rp.RowPattern) -> FlinkPattern:
    """The pattern sequence: each part right after the one before, loops without gaps, greedy ones
    unless they are reluctant, ``?`` or of one count.
    """
    pattern: FlinkPattern | None = None
    for p in parts(query.pattern):
        q = p if isinstance(p, rp.Repetition) else rp.Repetition(p, 1, 1, False)
        assert isinstance(q.body, rp.Variable)
        name = q.body.name
        pattern = pattern.next(name, "row") if pattern else flink.begin(name, "row")
        pattern = pattern.where(f"{name} = 1")
        if (q.lo, q.hi) == (0, 1):
            pattern = pattern.optional()
        elif q is p:
            pattern = (
                pattern.timesOrMore(max(1, q.lo)) if q.hi is None else pattern.times(q.lo, q.hi)
            )
            pattern = pattern.consecutive() if q.lo else pattern.consecutive().optional()
            pattern = pattern if q.reluctant or q.lo == q.hi else pattern.greedy()
    assert pattern is not None
    return pattern.after(SKIPS[type(query.skip)], getattr(query.skip, "name", None))


def truths_of(query: rp.RowPattern, rows: list[Row]) -> list[Row]:
    """Return for each row the variables that may take it, as 0 and 1."""
    truths: list[Row] = [{} for _ in rows]
    conditions = {each.variable: each for each in query.define}
    for v in rp.variables(query.pattern):
        define = (conditions[v],) if v in conditions else ()
        alone = rp.RowPattern(rp.Variable(v), define, rows=rp.RowsPerMatch.ALL)
        rows_of_v = match_recognize(alone, arrow(rows)).column("t").to_pylist()
        for row, truth in zip(rows, truths, strict=True):
            truth[v] = int(row["t"] in rows_of_v)
    return truths


def of_flinkcep(query: rp.RowPattern, truths: list[Row]) -> set[MatchRows]:
    matches = flink.matches(sequence(query), [{"type": "row", **truth} for truth in truths])
    return {frozenset((v, i) for v, rows in m.labels.items() for i in rows) for m in matches}


def of_the_standard(query: rp.RowPattern, truths: list[Row]) -> set[MatchRows]:
    V = rp.variables(query.pattern)
    is_one = {v: ex.Comparison(ex.ComparisonOperator.EQ, ex.Column(v), ex.Literal(1)) for v in V}
    labels = (
        rp.Measure(ex.MatchNumber(), "number"),
        rp.Measure(ex.Classifier(), "label"),
        rp.Measure(ex.Column("row"), "at"),
    )
    define = tuple(rp.Definition(v, condition) for v, condition in is_one.items())
    plain = rp.RowPattern(query.pattern, define, labels, rows=rp.RowsPerMatch.ALL, skip=query.skip)
    matches: dict[int, set[tuple[str, int]]] = {}
    table = [{**truth, "row": i} for i, truth in enumerate(truths)]
    for row in match_recognize(plain, table, evaluator="reference").to_pylist():
        matches.setdefault(row["number"], set()).add((row["label"], row["at"]))
    return set(map(frozenset, matches.values()))


def why(query: rp.RowPattern, rows: list[Row]) -> str:
    """In which way FlinkCEP finds something else."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.get("g") if query.partition_by else None, []).append(row)
    truths = [truths_of(query, group) for group in groups.values()]
    flinkcep = [of_flinkcep(query, each) for each in truths]
    standard = [of_the_standard(query, each) for each in truths]
    assert flinkcep != standard
    fewer = all(of_flink < right for of_flink, right in zip(flinkcep, standard, strict=True))
    return "greedy loops give nothing back" if fewer else "the match that is complete first"


def test_every_fault_has_a_cause() -> None:
    cases = faults()
    for query, rows in cases:
        assert adapter("flink").refuses(Case("rows", query, tuple(rows))) is None
    causes = Counter(why(query, rows) for query, rows in cases)
    assert causes == {"greedy loops give nothing back": 12, "the match that is complete first": 1}


SMALLEST = [
    ("(A* B)", 1, "greedy loops give nothing back"),
    ("(A+ B)", 2, "greedy loops give nothing back"),
    ("(A{1,2} B)", 2, "greedy loops give nothing back"),
    ("(A{2,} B)", 3, "greedy loops give nothing back"),
    ("(A? B)", 2, "the match that is complete first"),
    ("(A? B{2})", 3, "the match that is complete first"),
]


@pytest.mark.parametrize(("pattern", "rows", "cause"), SMALLEST)
def test_the_smallest_case_of_a_cause(pattern: str, rows: int, cause: str) -> None:
    query = parse_rows(f"MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN {pattern})")
    table = [{"g": 0, "t": t, "x": 0, "s": "a"} for t in range(rows)]
    assert why(query, table) == cause
