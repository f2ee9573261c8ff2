"""Questions about two row patterns on all tables, each with a shortest table as witness.

They are asked of the scans of both (`cerlab.decisions.row_scans`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from cerlab.decisions.row_letters import Row, columns_of, conditions_of, of_rows, undecidable
from cerlab.decisions.row_regions import of_all
from cerlab.decisions.row_scans import Bad, Covers, Scans, ScanStep, Side, Starts, shortest_path
from cerlab.display import drawable
from cerlab.errors import UsageError, nearest
from cerlab.logic.rows import syntax as rp
from cerlab.logic.rows.text import pattern_text

Same: TypeAlias = Literal["labels", "matches", "rows"]
"""What has to be the same: matches with their labels (what CLASSIFIER says), matches whatever their
labels, or the rows that lie in some match."""


@drawable
@dataclass(frozen=True, slots=True)
class RowVerdict:
    """Whether it holds on all tables; where not, a shortest table on which it does not."""

    holds: bool
    table: list[Row] | None

    def __bool__(self) -> bool:
        return self.holds


def equivalent_rows(
    left: rp.RowPattern,
    right: rp.RowPattern,
    *,
    same: Same = "labels",
    rows: Sequence[Row] | None = None,
) -> RowVerdict:
    """Whether two row patterns find the same on every table, or on every table of these `rows`.

    Raises `Unsupported` where that is not decided, and `ResourceLimit`.
    """

    def bad(a: ScanStep, b: ScanStep) -> bool:
        return _observation(a, same) != _observation(b, same)

    return _decide(left, right, same, rows, bad)


def contained_rows(
    left: rp.RowPattern,
    right: rp.RowPattern,
    *,
    same: Same = "labels",
    rows: Sequence[Row] | None = None,
) -> RowVerdict:
    """Whether the right one finds everything that the left one finds; as `equivalent_rows`."""

    def bad(a: ScanStep, b: ScanStep) -> bool:
        if same == "rows":
            return a.label is not None and b.label is None
        if a.ends > b.ends or a.empty > b.empty or a.begins > b.begins:
            return True
        if a.label is None:
            return False
        return b.begins != a.begins or _observation(a, same)[-1] != _observation(b, same)[-1]

    return _decide(left, right, same, rows, bad)


def satisfiable_rows(query: rp.RowPattern, *, rows: Sequence[Row] | None = None) -> RowVerdict:
    """Whether a row pattern has a match that maps a row; the table is a shortest one with it."""
    none = rp.RowPattern(
        _NOTHING,
        measures=query.measures,
        order_by=query.order_by,
        partition_by=query.partition_by,
        skip=query.skip,
    )
    verdict = contained_rows(query, none, same="rows", rows=rows)
    return RowVerdict(not verdict.holds, verdict.table)


_NOTHING = rp.Concat((rp.Variable("A"), rp.PartitionStart()))
"""What no row matches."""


def row_remarks(query: rp.RowPattern, *, rows: Sequence[Row] | None = None) -> list[str]:
    """What a row pattern says to no effect, on all tables or on those of these `rows`.

    Conditions that never or always hold, quantifiers that may as well be greedy as reluctant, a
    pattern without matches.
    """
    conditions = conditions_of((query,))
    graph = of_all(conditions) if rows is None else of_rows(conditions, rows)
    remarks = []
    for definition in query.define:
        holds = {(0, definition.variable) in letter for letter in graph.letters}
        if len(holds) == 1:
            how = "always" if True in holds else "never"
            remarks.append(f"the condition of {definition.variable} {how} holds")
    if not satisfiable_rows(query, rows=rows):
        return [*remarks, "no table has a match"]
    for part, pattern in _reluctance_variants(query.pattern):
        if equivalent_rows(query, replace(query, pattern=pattern), rows=rows):
            words = "reluctant or greedy" if part.reluctant else "greedy or reluctant"
            remarks.append(f"{pattern_text(part)} is the same, {words}")
    return remarks


def _reluctance_variants(p: rp.Pattern) -> Iterator[tuple[rp.Repetition, rp.Pattern]]:
    """Each quantifier, and the pattern with it turned from greedy to reluctant or back."""
    if isinstance(p, rp.Repetition):
        yield p, replace(p, reluctant=not p.reluctant)
    below = rp.children(p)
    for i, part in enumerate(below):
        for quantifier, variant in _reluctance_variants(part):
            if isinstance(p, rp.Concat | rp.Alternation | rp.Permute):
                yield quantifier, type(p)((*below[:i], variant, *below[i + 1 :]))
            elif isinstance(p, rp.Repetition | rp.Exclusion):
                yield quantifier, replace(p, body=variant)


def _observation(step: ScanStep, same: Same) -> tuple[object, ...]:
    """What of a scan has to be the same."""
    is_mapped = step.label is not None
    if same == "rows":
        return (is_mapped,)
    return step.empty, step.begins, step.label if same == "labels" else is_mapped


def _decide(
    left: rp.RowPattern, right: rp.RowPattern, same: Same, rows: Sequence[Row] | None, bad: Bad
) -> RowVerdict:
    if same not in get_args(Same):
        hint = nearest(same, get_args(Same))
        raise UsageError("CER0858", f"same is '{same}'", hint=hint or "labels, matches or rows")
    _check_scans(left, right)
    conditions = conditions_of((left, right))
    _check_keys(left, {c.name.casefold() for e in conditions.values() for c in columns_of(e)})
    graph = of_all(conditions) if rows is None else of_rows(conditions, rows)
    sides = Side(left, 0, graph), Side(right, 1, graph)
    if isinstance(left.skip, rp.PastLastRow):
        both: Scans | Starts | Covers = Scans(sides, bad)
    else:
        both = (Covers if same == "rows" else Starts)(sides, bad)
    path = shortest_path(graph, both)
    if path is None:
        return RowVerdict(True, None)
    return RowVerdict(False, _with_keys(left, graph.rows(path)))


def _check_scans(left: rp.RowPattern, right: rp.RowPattern) -> None:
    """Raise `Unsupported` for clauses that scans are not compared under."""
    for name in ("partition_by", "order_by", "skip"):
        if getattr(left, name) != getattr(right, name):
            what = name.replace("_", " ").upper()
            raise undecidable(f"{what} is not the same in both", "make it the same")
    if not isinstance(left.skip, rp.PastLastRow | rp.ToNextRow):
        raise undecidable("SKIP TO a variable", "take PAST LAST ROW or TO NEXT ROW")
    if left.within is not None or right.within is not None:
        raise undecidable("WITHIN", "leave it out")


def _check_keys(query: rp.RowPattern, columns: set[str]) -> None:
    for column in (*query.partition_by, *(item.column for item in query.order_by)):
        if column.name.casefold() in columns:
            raise undecidable(f"a condition reads the key {column.name}", "read another column")


def _with_keys(query: rp.RowPattern, rows: list[Row]) -> list[Row]:
    """The rows of one partition, in the order that the query has."""
    keys: list[Row] = []
    for i in range(len(rows)):
        partition: Row = {column.name: 0 for column in query.partition_by}
        order: Row = {item.column.name: -i if item.descending else i for item in query.order_by}
        keys.append(partition | order)
    return [key | row for key, row in zip(keys, rows, strict=True)]
