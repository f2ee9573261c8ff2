"""The search by a prioritised automaton against the reference, and its cost."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from random import Random
from typing import Any, get_args

import pytest

from cerlab import CerlabError, ResourceLimit, match_recognize, parse_rows
from cerlab.rows import compile as row_compile
from cerlab.rows import interpreter as row_expressions
from cerlab.rows import machine as row_search
from cerlab.rows import syntax as rp
from cerlab.rows.compile import Loop, Stack, Todo, machine, prioritised_automaton
from cerlab.rows.machine import ACCEPT, GrowingMapping, Memory, ReadRow, Search
from cerlab.rows.recognise import RowEvaluator, as_table, column_kinds, value_columns
from cerlab.rows.types import bind
from cerlab.testing import random_row_pattern, random_row_table
from cerlab.testing.rows import Reach
from proofs_tests.mutants.driver import Judge, kills, mutant, on_seeds
from proofs_tests.rows.judges import OF_VALUES, judge
from proofs_tests.rows.tables import rows_of, typed_table
from proofs_tests.suite import Suite

TOO_MANY = "CER0692"
"""The reference's budget of derivations."""


def outcome(query: rp.RowPattern, table: Any, evaluator: RowEvaluator) -> tuple[Any, ...]:
    """The columns and rows of a result, or the error and its row."""
    try:
        result = match_recognize(query, table, evaluator=evaluator)
    except CerlabError as error:
        return (error.code, getattr(error.place, "row", None))
    return (result.schema, repr(result.to_pylist()))


def agree(rng: Random) -> bool:
    """Whether there was something to agree on: rows of a result."""
    reach: Reach = rng.choice(get_args(Reach))
    query, table = random_row_pattern(rng, reach), typed_table(random_row_table(rng))
    expected = outcome(query, table, "reference")
    if expected[0] == TOO_MANY:
        return False
    assert outcome(query, table, "search") == expected, f"{query}\n{table.to_pylist()}"
    return expected[1] != "[]" and not isinstance(expected[0], str)


def test_the_search_agrees_with_the_reference(suite: Suite) -> None:
    suite.run(agree, deep_count=20_000)


def steps_tried(clause: str, table: Sequence[dict[str, Any]]) -> int:
    """Return the number of steps that the search of a whole scan tries."""
    query, rows = parse_rows(f"MATCH_RECOGNIZE ({clause})"), as_table(list(table))
    binding = bind(query, column_kinds(rows))
    M, columns = machine(query, binding), value_columns(rows, binding.names.values())
    search = row_compile.search_of(M, columns, range(len(table)))
    for _ in search.scan():
        pass
    return search.attempts


HARD = [
    pytest.param("(A | B)* C", id="alternation"),
    pytest.param("(A* B*)* C", id="nested-iterations"),
    pytest.param("A* A* B* C", id="three-runs"),
    pytest.param("(A | A B | B)*? C", id="overlapping-sides"),
    pytest.param("A{2,9} B{2,9} C", id="bounds"),
    pytest.param("^ (A | B)* $ | C", id="anchors"),
]


@pytest.mark.parametrize("pattern", HARD)
def test_it_is_linear_where_conditions_read_rows(pattern: str) -> None:
    """No C comes, so every search fails; twice the rows are at most about twice the steps."""
    define = "DEFINE A AS x < 3, B AS x > PREV(x) OR x < 3, C AS x > 99"
    clause = f"MEASURES COUNT(*) AS n PATTERN ({pattern}) {define}"
    steps = [steps_tried(clause, [{"x": i % 3} for i in range(n)]) for n in (200, 400, 800)]
    assert steps[2] <= 2.2 * steps[1] <= 2.2**2 * steps[0]


REGISTERS = ["FIRST(x) > 99", "C.x > LAST(A.x) + 99", "LAST(B.x, 1) > 99", "CLASSIFIER(B) = 'A'"]


@pytest.mark.parametrize("condition", REGISTERS)
def test_registers_hold_failures(condition: str) -> None:
    """No C comes: the rows that are read tell runs apart, so there are cubes and no powers of 2."""
    clause = f"MEASURES COUNT(*) AS n PATTERN ((A | B)* C) DEFINE C AS {condition}"
    steps = [steps_tried(clause, [{"x": i % 3} for i in range(n)]) for n in (10, 20, 40)]
    assert steps[2] <= 8.5 * steps[1] <= 8.5**2 * steps[0]


@pytest.mark.parametrize("condition", REGISTERS)
def test_failures_of_registers_are_bounded(condition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failures of one match come on top of the bound; forgetting them changes no answer."""
    table = [{"x": i * i % 7} for i in range(40)]
    clause = f"MEASURES COUNT(*) AS n PATTERN ((A | B)* C) DEFINE A AS x < 6, C AS {condition}"
    rows = rows_of(f"MATCH_RECOGNIZE ({clause})", table, "search")
    monkeypatch.setattr(row_search, "MOST_FAILURES", 100)
    sizes = list[int]()
    match = Search.find_match

    def counting(search: Search, s: int) -> Generator[None, None, bool]:
        before = search.attempts
        has_match = yield from match(search, s)
        sizes.append(len(search.failures) - (search.attempts - before))
        return has_match

    monkeypatch.setattr(Search, "find_match", counting)
    assert rows_of(f"MATCH_RECOGNIZE ({clause})", table, "search") == rows
    assert max(sizes) <= 100


def test_long_tables_are_no_problem() -> None:
    table = [{"x": i % 10} for i in range(20_000)]
    clause = "MATCH_RECOGNIZE (MEASURES COUNT(*) AS n PATTERN (A+ B) DEFINE A AS x > PREV(x))"
    rows = rows_of(clause, table, "search")
    assert sum(n for (n,) in rows) == 19_999
    long = "MATCH_RECOGNIZE (MEASURES COUNT(*) AS n PATTERN ((A | B)+))"
    assert rows_of(long, table, "search") == [(20_000,)]


def test_aggregates_step_through_each_row_once() -> None:
    """Running sums of 20,000 rows, in MEASURES and in DEFINE."""
    table = [{"x": i % 7 + 0.1} for i in range(20_000)]
    clause = """MATCH_RECOGNIZE (MEASURES SUM(x) AS s, AVG(A.x) AS a, MAX(x) AS m, FIRST(x) AS f
        ALL ROWS PER MATCH PATTERN (A+) DEFINE A AS SUM(A.x) > 0)"""
    rows = rows_of(clause, table, "search")
    assert len(rows) == 20_000
    assert rows[-1][0] == pytest.approx(sum(row["x"] for row in table), rel=1e-12)


def test_sums_of_doubles_are_exact() -> None:
    table = [{"x": x} for x in (1e100, 1.0, -1e100, 1e-5, float("inf"))]
    clause = "MATCH_RECOGNIZE (MEASURES SUM(x) AS s ALL ROWS PER MATCH PATTERN (A+))"
    sums = [row[0] for row in rows_of(clause, table, "search")]
    assert sums == [row[0] for row in rows_of(clause, table)]
    assert sums == [1e100, 1e100, 1.0, 1.00001, float("inf")]


def test_what_has_to_backtrack_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_search, "MAX_STEPS", 1_000)
    clause = "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN ((A | B)* C) DEFINE C AS SUM(x) > 99)"
    with pytest.raises(ResourceLimit, match="CER0693"):
        rows_of(clause, [{"x": 1}] * 20, "search")


@pytest.mark.long
def test_choices_that_map_no_row_are_bounded() -> None:
    pattern = "(((A?){700}){700}){3}"
    with pytest.raises(ResourceLimit, match="the automaton of a row pattern"):
        rows_of(f"MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN ({pattern}))", [{"x": 1}], "search")


MEMORIES = [
    ("x > 1 AND B.x < PREV(B.x) + NEXT(x)", Memory.PARTITION),
    ("U.x > 1", Memory.PARTITION),
    ("A.x > 1", Memory.PARTITION),
    ("PREV(A.x) > 1 OR COUNT(*) > 2", Memory.PARTITION),
    ("FIRST(x) > MATCH_NUMBER()", Memory.MATCH),
    ("SUM(x) > 1", Memory.NONE),
    ("CLASSIFIER(A) = 'B' AND CLASSIFIER() = 'B'", Memory.PARTITION),
    ("PREV(CLASSIFIER()) = 'B'", Memory.NONE),
    ("x > MATCH_NUMBER()", Memory.MATCH),
]


@pytest.mark.parametrize(("condition", "memory"), MEMORIES)
def test_conditions_decide_how_long_a_failure_holds(condition: str, memory: Memory) -> None:
    """5.7."""
    query = parse_rows(
        f"""MATCH_RECOGNIZE (ORDER BY x MEASURES 1 AS m PATTERN (A B) SUBSET U = (A, B)
        DEFINE B AS {condition})"""
    )
    binding = bind(query, column_kinds(as_table([{"x": 1}])))
    assert machine(query, binding).memory is memory


def test_an_automaton_has_its_steps_in_order_of_preference() -> None:
    """``A*? B``: first B, then A; nothing after B."""
    A, B = rp.Variable("A"), rp.Variable("B")
    automaton = prioritised_automaton(rp.Concat((rp.Repetition(A, 0, None, True), B)))
    b, a = automaton.steps(0, True, False)
    assert isinstance(b, ReadRow)
    assert isinstance(a, ReadRow)
    assert (b.variable, a.variable) == ("B", "A")
    assert automaton.steps(b.target, False, True) == (ACCEPT,)
    assert automaton.steps(a.target, False, False) == (b, a._replace(target=a.target))
    assert len(automaton) == 3


# -- wrong versions ------------------------------------------------------------------------------

ITERATIONS = row_compile.iterations_of
CHOICES = row_compile.choices_of


def empty_iterations_rejected(loop: Loop, rest: Stack) -> list[Stack]:
    """JavaScript's rule."""
    return ITERATIONS(loop, rest) if loop.has_mapped or loop.iterations < loop.pattern.lo else []


def always_greedy(loop: Loop, rest: Stack) -> list[Stack]:
    return sorted(ITERATIONS(loop, rest), key=len, reverse=True)


def one_too_many(loop: Loop, rest: Stack) -> list[Stack]:
    p = loop.pattern
    hi = None if p.hi is None else p.hi + 1
    return ITERATIONS(loop._replace(pattern=rp.Repetition(p.body, p.lo, hi, p.reluctant)), rest)


def loops_forget_rows(w: Stack) -> Stack:
    return w


def right_before_left(head: Todo | Loop, rest: Stack, start: bool, end: bool) -> list[Stack]:
    choices = CHOICES(head, rest, start, end)
    alternation = isinstance(head, Todo) and isinstance(head.pattern, rp.Alternation)
    return choices[::-1] if alternation else choices


def exclusion_ends_early(head: Todo | Loop, rest: Stack, start: bool, end: bool) -> list[Stack]:
    is_nested = isinstance(head, Todo) and isinstance(head.pattern, rp.Concat)
    return CHOICES(head._replace(is_excluded=False) if is_nested else head, rest, start, end)


def always_for_the_partition(query: Any, read: Any, registers: Any) -> Memory:
    """Merges states although conditions read the mapping (5.7)."""
    return Memory.PARTITION


def one_row_too_few(r: row_expressions.Register, m: GrowingMapping) -> Any:
    return REGISTER(r._replace(rows=max(0, r.rows - 1)), m)


REGISTER = row_expressions.register_value


def first_by_the_other_end(e: Any) -> Any:
    from cerlab.rows import expressions as ex

    mirror = ex.Last(e.body, e.offset, e.final) if isinstance(e, ex.First) else e
    return LANDING(mirror)


LANDING = row_expressions.landing_of


def final_rows(self: GrowingMapping, name: str | None, final: bool) -> int:
    return len(self.positions.get(name, []))


def folds_forget_to_shrink(self: GrowingMapping) -> None:
    folds, self.folds = self.folds, {}
    POP(self)
    self.folds = folds


POP = GrowingMapping.pop


AGREEMENT: Judge = on_seeds(agree, 3_000)
BY_HAND = judge(*OF_VALUES, evaluator="search")
MUTANTS = [
    mutant(AGREEMENT, row_compile, "iterations_of", empty_iterations_rejected),
    mutant(AGREEMENT, row_compile, "iterations_of", always_greedy),
    mutant(AGREEMENT, row_compile, "iterations_of", one_too_many),
    mutant(AGREEMENT, row_compile, "_after_row", loops_forget_rows),
    mutant(AGREEMENT, row_compile, "choices_of", right_before_left),
    mutant(AGREEMENT, row_compile, "choices_of", exclusion_ends_early),
    mutant(AGREEMENT, row_compile, "_memory", always_for_the_partition),
    mutant(BY_HAND, row_expressions, "register_value", one_row_too_few),
    mutant(AGREEMENT, row_expressions, "landing_of", first_by_the_other_end),
    mutant(AGREEMENT, GrowingMapping, "count_rows", final_rows),
    mutant(BY_HAND, GrowingMapping, "pop", folds_forget_to_shrink),
]


test_the_reference_kills = kills(MUTANTS)
