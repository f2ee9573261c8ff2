"""Questions about all tables, against all small tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, product
from random import Random
from typing import Any, get_args

import pytest

from cerlab import ResourceLimit, Unsupported, UsageError, parse_rows, row_remarks
from cerlab.rows import decide, table_graphs
from cerlab.rows import syntax as rp
from cerlab.rows.decide import Same, contained, equivalent, satisfiable
from cerlab.rows.expression_semantics import Partition
from cerlab.rows.semantics import Scan, scan
from cerlab.testing import random_row_pattern
from cerlab.testing.rows import random_row_regex
from proofs_tests.mutants.driver import Judge, kills, mutant, on_seeds
from proofs_tests.suite import Suite, random_suite

VALUES: tuple[Any, ...] = (0, 1, 2, None)
LONGEST = 4


def matches_of(query: rp.RowPattern, table: Sequence[dict[str, Any]]) -> list[tuple[int, Any]]:
    """The matches of a scan by the reference: where each begins, and its labels."""
    names = {name: name for name in ("x", "s")}
    plain = replace(query, order_by=(), partition_by=())
    whole = Scan(plain, Partition(list(table), names), range(len(table)))
    return [
        (at.s, tuple(m.variable for m in at.match)) for at in scan(whole) if at.match is not None
    ]


def aspect(matches: Sequence[tuple[int, Any]], same: Same) -> frozenset[Any]:
    """Return the part of the matches that has to be the same."""
    if same == "rows":
        return frozenset(s + i for s, labels in matches for i in range(len(labels)))
    if same == "matches":
        return frozenset((s, len(labels)) for s, labels in matches)
    return frozenset(matches)


def differ(a: rp.RowPattern, b: rp.RowPattern, table: Any, same: Same, is_contained: bool) -> bool:
    left, right = (aspect(matches_of(each, table), same) for each in (a, b))
    return not left <= right if is_contained else left != right


def pair(rng: Random) -> tuple[rp.RowPattern, rp.RowPattern]:
    """Two queries that differ in a little, so that about half of the pairs are equivalent."""
    skip = rng.choice((rp.PastLastRow(), rp.ToNextRow()))
    whole = random_row_pattern(rng, rng.choice(("row", "row", "partition")), depth=2)
    left = replace(whole, skip=skip, within=None, subsets=(), partition_by=(), order_by=())
    variants = [p for _, p in decide.reluctance_variants(left.pattern)]
    other = random_row_regex(rng, 2)
    pattern = rng.choice((*variants, *variants, rp.Alternation((left.pattern, other)), other))
    names = rp.variables(pattern)
    right = replace(left, pattern=pattern)
    return left, replace(right, define=tuple(d for d in left.define if d.variable in names))


def tables(rows: Sequence[dict[str, Any]], longest: int) -> Iterator[list[dict[str, Any]]]:
    for n in range(1, longest + 1):
        yield from (list(table) for table in product(rows, repeat=n))


def agree(rng: Random, longest: int = LONGEST) -> bool:
    """Whether the two are different; by the decider and by all small tables."""
    a, b = pair(rng)
    values = rng.sample(VALUES, 3)
    rows = [{"x": x, "s": "a"} for x in values]
    same, is_contained = rng.choice(get_args(Same)), rng.random() < 0.4
    verdict = (contained if is_contained else equivalent)(a, b, same=same, rows=rows)
    size = len(verdict.table) if verdict.table is not None else longest + 1
    if verdict.table is not None:
        assert differ(a, b, verdict.table, same, is_contained), (str(a), str(b), verdict)
    for table in tables(rows, min(longest, size - 1)):
        assert not differ(a, b, table, same, is_contained), (str(a), str(b), table, verdict)
    return not verdict.holds


@random_suite(2_000, needs_answers=0.3)
def test_deciders_agree_with_all_small_tables(rng: Random, suite: Suite) -> bool:
    return agree(rng, LONGEST if suite.deep else rng.choice((2, 2, 3)))


@random_suite(2_000)
def test_over_all_rows_they_agree_too(rng: Random) -> bool:
    """No table over three values differs where none at all does, and witnesses are true."""
    a, b = pair(rng)
    same = rng.choice(get_args(Same))
    try:
        verdict = equivalent(a, b, same=same)
    except Unsupported:
        return False
    if verdict.table is not None:
        assert differ(a, b, verdict.table, same, False), (str(a), str(b), verdict)
    size = len(verdict.table) if verdict.table is not None else 99
    rows = [{"x": x, "s": "a"} for x in rng.sample(VALUES, 3)]
    for table in tables(rows, min(size - 1, 2)):
        assert not differ(a, b, table, same, False), (str(a), str(b), table, verdict)
    return True


def query(pattern: str, define: str = "", clauses: str = "") -> rp.RowPattern:
    return parse_rows(f"MATCH_RECOGNIZE (MEASURES 1 AS m {clauses} PATTERN ({pattern}) {define})")


def test_the_order_of_alternatives_shows_in_the_labels_alone() -> None:
    a, b = query("(A | B)*"), query("(B | A)*")
    assert equivalent(a, b, same="matches")
    assert equivalent(a, b, same="rows")
    verdict = equivalent(a, b)
    assert not verdict
    assert verdict.table == [{}]
    assert (matches_of(a, [{}]), matches_of(b, [{}])) == ([(0, ("A",))], [(0, ("B",))])


AB = "DEFINE A AS x > 0, B AS x < 2"
EQUIVALENT = [
    ("(A B)+ | A B", "(A B)+", "", "labels"),
    ("A A*", "A+", AB, "labels"),
    ("(A*)*", "A*", AB, "labels"),
    ("A{2,3}", "A A A?", AB, "labels"),
    ("PERMUTE(A, B)", "(A B | B A)", AB, "labels"),
    ("A+ B", "A+? B", "DEFINE A AS x > 1, B AS x < 1", "labels"),
    ("A B?? $", "A B? $", "", "labels"),
    ("(A | B)+", "A{1,}", "", "matches"),
    ("A", "A+", "", "rows"),
    ("A B", "B A", "DEFINE A AS x IS NULL, B AS x IS NULL", "matches"),
    ("A B", "A C B", "DEFINE B AS x > PREV(x) AND x < PREV(x)", "labels"),
    ("A (B | C)", "A B", "DEFINE B AS x > PREV(x), C AS x > PREV(x) AND PREV(x) > 3", "labels"),
]
DIFFERENT = [
    ("A", "A+", "", "matches", 2),
    ("A+ B", "A+? B", AB, "labels", 3),
    ("(A??)* B", "A* B", AB, "matches", 2),
    ("A B", "B A", AB, "matches", 2),
    ("^ A", "A", "", "rows", 2),
    ("A $", "A", AB, "matches", 2),
    ("A B B", "A B", "DEFINE B AS x > PREV(x)", "matches", 2),
    ("A B{3}", "A B{3} C?", "DEFINE B AS x < PREV(x), C AS x < PREV(x)", "rows", 5),
    ("A", "B", "DEFINE A AS s = 'a', B AS s <> 'b'", "matches", 1),
    ("A", "B", "DEFINE A AS b, B AS NOT b IS FALSE", "matches", 1),
    ("A", "B", "DEFINE A AS NOT b IS FALSE", "matches", 1),
]


@pytest.mark.parametrize(("left", "right", "define", "same"), EQUIVALENT)
def test_equivalent(left: str, right: str, define: str, same: Same) -> None:
    a, b = (query(each, only(define, each)) for each in (left, right))
    assert equivalent(a, b, same=same)
    assert contained(a, b, same=same)


@pytest.mark.parametrize(("left", "right", "define", "same", "length"), DIFFERENT)
def test_different_with_a_shortest_table(
    left: str, right: str, define: str, same: Same, length: int
) -> None:
    a, b = (query(each, only(define, each)) for each in (left, right))
    verdict = equivalent(a, b, same=same)
    assert verdict.table is not None
    assert len(verdict.table) == length


def only(define: str, pattern: str) -> str:
    """The definitions of variables that a pattern has."""
    every = define.removeprefix("DEFINE ").split(", ")
    some = [each for each in every if each and each[0] in pattern]
    return "DEFINE " + ", ".join(some) if some else ""


def test_overlapping_matches() -> None:
    skip = "AFTER MATCH SKIP TO NEXT ROW"
    a, b = query("A+", AB[:17], skip), query("A A?", AB[:17], skip)
    assert equivalent(a, b, same="rows")
    verdict = equivalent(a, b, same="matches")
    assert verdict.table is not None
    assert len(verdict.table) == 3
    assert contained(query("A B", "", skip), query("A B C?", "", skip), same="rows")
    assert not contained(query("A B", "", skip), query("A B C?", "", skip))
    assert contained(query("A B", "DEFINE A AS x > 1", skip), query("A B", "", skip))


def test_one_is_in_the_other() -> None:
    a, b = query("A B", AB), query("A B | B A", AB)
    assert not contained(b, a)
    assert contained(query("A B", "DEFINE A AS x > 1"), query("A B", "DEFINE A AS x > 1"))
    assert contained(query("A A"), query("A | A A"), same="rows")


def test_a_pattern_without_matches() -> None:
    verdict = satisfiable(query("A B", "DEFINE B AS x > PREV(x) AND PREV(x) >= 1 AND x < 1"))
    assert (verdict.holds, verdict.table) == (False, None)
    shortest = satisfiable(query("A+ B", "DEFINE A AS x > PREV(x), B AS x = PREV(x)"))
    assert shortest.table is not None
    assert len(shortest.table) == 3
    assert not satisfiable(query("$"))
    assert satisfiable(query("A", "DEFINE A AS x + 1 = 3"), rows=[{"x": 1}, {"x": 2}])


def test_witnesses_have_keys() -> None:
    keys = "PARTITION BY g ORDER BY t DESC"
    clause = "MATCH_RECOGNIZE ({} MEASURES 1 AS m PATTERN ({}) DEFINE A AS x = 1)"
    a, b = (parse_rows(clause.format(keys, p)) for p in ("A B", "A B??"))
    verdict = equivalent(a, b)
    assert verdict.table == [{"g": 0, "t": 0, "x": 1}]


def test_what_has_no_effect() -> None:
    define = "DEFINE A AS x > 1, B AS x < 1, C AS x = 1 AND x > 1, D AS x = 1 OR TRUE"
    remarks = row_remarks(query("A+? B* (C | D)", define))
    assert remarks == [
        "the condition of C never holds",
        "the condition of D always holds",
    ]
    assert row_remarks(query("A+? B*? C", "DEFINE A AS x > 1, B AS x < 1, C AS x = 1")) == [
        "A+? is the same, reluctant or greedy",
        "B*? is the same, reluctant or greedy",
    ]
    assert row_remarks(query("A $ A", "DEFINE A AS x > 1")) == ["no table has a match"]


REFUSALS = [
    ("A B", "DEFINE B AS x > A.x", "", "other rows of the match"),
    ("A", "DEFINE A AS x + 1 > 2", "", "not a comparison"),
    ("A", "DEFINE A AS x < y", "", "the columns"),
    ("A", "DEFINE A AS s < 'b'", "", "their order"),
    ("A", "DEFINE A AS x = 1 OR x = 'b'", "", "different kinds"),
    ("A", "DEFINE A AS x > PREV(x, 2)", "", "not a comparison"),
    ("A", "DEFINE A AS x > 1", "ORDER BY x", "reads the key"),
    ("A", "", "AFTER MATCH SKIP TO A", "SKIP TO a variable"),
]


@pytest.mark.parametrize(("pattern", "define", "clauses", "why"), REFUSALS)
def test_what_is_not_decided(pattern: str, define: str, clauses: str, why: str) -> None:
    order = clauses if clauses.startswith("ORDER") else ""
    after = clauses if not order else ""
    text = f"MATCH_RECOGNIZE ({order} MEASURES 1 AS m {after} PATTERN ({pattern}) {define})"
    each = parse_rows(text)
    with pytest.raises(Unsupported, match=why):
        equivalent(each, each)


def test_other_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    a = query("A+ B", AB)
    with pytest.raises(UsageError, match="label"):
        equivalent(a, a, same="label")  # type: ignore[arg-type]
    with pytest.raises(Unsupported, match="SKIP"):
        equivalent(a, query("A+ B", AB, "AFTER MATCH SKIP TO NEXT ROW"))
    monkeypatch.setattr(decide, "MAX_NODES", 2)
    with pytest.raises(ResourceLimit, match="more than 2"):
        equivalent(a, query("A+? B", AB))


# -- wrong versions ------------------------------------------------------------------------------

SCAN = decide.Side.scan
OBSERVATION, LETTER_AT = decide.observation, table_graphs.letter_at


def matches_end_for_good(self: Any, q: Any, R: Any) -> Any:
    did, target = SCAN(self, q, R)
    return (decide.ScanStep(ends=True), None) if did.ends else (did, target)


def the_first_row_is_any(self: Any, R: Any) -> Any:
    return BEGIN(self, R._replace(first=False))


BEGIN = decide.Side.begin


def empty_matches_unseen(did: Any, same: Same) -> Any:
    return OBSERVATION(did._replace(empty=False), same)


def only_the_best_start(sides: Any, bad: Any, config: Any, at: Any) -> Any:
    moves: list[Any] = list(decide.starts(sides, bad, config, at))
    return iter(moves[1:] if config is None and len(moves) > 1 and moves[1][1][0] else moves)


def no_neighbours(conditions: Any, rows: Any, i: int) -> Any:
    return LETTER_AT(conditions, rows[i : i + 1], 0)


BEST_START = decide.Joint(None, only_the_best_start)
AGREEMENT: Judge = on_seeds(lambda rng: agree(rng, 2), 1_500)
MUTANTS = [
    mutant(AGREEMENT, decide.Side, "scan", matches_end_for_good),
    mutant(AGREEMENT, decide.Side, "begin", the_first_row_is_any),
    mutant(AGREEMENT, decide, "observation", empty_matches_unseen),
    mutant(AGREEMENT, decide, "STARTS", BEST_START, id="only_the_best_start"),
    mutant(AGREEMENT, table_graphs, "letter_at", no_neighbours),
]


test_all_small_tables_kill = kills(MUTANTS)


def test_regions_are_all_the_rows_there_are() -> None:
    """Two constants: below, at, between, at, above, and NULL; with PREV each with each."""
    one = table_graphs.conditions_of((query("A", "DEFINE A AS x BETWEEN 1 AND 3"),))
    assert len(table_graphs.of_all(one).letters) == 2  # those with equal letters are one
    both = table_graphs.conditions_of((query("A B", "DEFINE A AS x > PREV(x), B AS x < PREV(x)"),))
    assert {frozenset(v for _, v in each) for each in table_graphs.of_all(both).letters} == {
        frozenset(),
        frozenset("A"),
        frozenset("B"),
    }


@pytest.mark.parametrize(
    "define",
    [
        "DEFINE A AS x = 1, B AS x = 0",
        "DEFINE A AS x > PREV(x)",
        "DEFINE A AS x < NEXT(x), B AS x = 1",
        "DEFINE A AS PREV(x) < NEXT(x), B AS NEXT(x) IS NULL",
        "DEFINE A AS x = PREV(x, 2), B AS PREV(x) = 0",
        "DEFINE A AS x = NEXT(x, 2)",
    ],
)
def test_the_paths_of_rows_that_are_given_are_their_tables(define: str) -> None:
    conditions = table_graphs.conditions_of((query("A B", define),))
    rows: list[dict[str, Any]] = [{"x": 0}, {"x": 1}]
    G = table_graphs.of_rows(conditions, rows)

    def letters(table: Any) -> tuple[Any, ...]:
        return tuple(table_graphs.letter_at(conditions, table, i) for i in range(len(table)))

    nodes = range(len(G.letters))
    for n in (1, 2, 3):
        paths = [
            path
            for path in product(nodes, repeat=n)
            if path[0] in G.first and path[-1] in G.last
            if all(b in G.following[a] for a, b in pairwise(path))
        ]
        words = {tuple(G.letters[k] for k in path) for path in paths}
        assert words == {letters(table) for table in product(rows, repeat=n)}
        for path in paths:
            assert letters(G.rows(path)) == tuple(G.letters[k] for k in path)


@pytest.mark.parametrize(
    "define",
    [
        "DEFINE A AS x > 3, B AS x < PREV(x) AND x > 3",
        "DEFINE A AS x < 3, B AS x > PREV(x) AND x < 3",
        "DEFINE A AS x > 1 AND x < 2, B AS x > PREV(x) AND x < 2",
        "DEFINE A AS x > 1 AND x < 2, B AS x < PREV(x) AND x > 1",
        "DEFINE A AS x > 1, B AS x > PREV(x)",
        "DEFINE A AS x < 1, B AS x < PREV(x)",
        "DEFINE A AS s <> 'a', B AS s <> PREV(s) AND s <> 'a'",
    ],
)
def test_between_any_two_values_is_a_third(define: str) -> None:
    """Four rows that go up or down on one side of a constant; the reference finds them."""
    falls = query("A B B B", define)
    verdict = satisfiable(falls)
    assert verdict.table is not None
    table = [{"x": 0, "s": ""} | row for row in verdict.table]
    assert matches_of(falls, table) == [(0, ("A", "B", "B", "B"))]
