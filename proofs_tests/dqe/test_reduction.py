"""The reduction of the lower bound runs, on random streams and matrices (DQE Lemma 1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from random import Random

import pytest

from cerlab import BadData, CerlabError, UsageError, parse_gcq
from cerlab.engine.reference.dqe import WindowEvaluation
from cerlab.logic.gcq import Delete, Gcq, Insert, Row, Update, answers_after_each
from cerlab.theorems.dqe import (
    MATRIX_QUERY,
    WINDOW_QUERY,
    Evaluator,
    image_of,
    through_the_window_query,
    vectors_times_matrix,
)
from proofs_tests.dqe.cases import random_updates, updates, window_gcq
from proofs_tests.suite import random_suite

SCHEMA = {"u": 1, "v": 2, "w": 1}


def by_counting(Q: Gcq, S: Iterable[Update]) -> Iterator[frozenset[Row]]:
    """Another evaluator of the window query, for three fixed timestamps: a count for each y."""
    assert Q == WINDOW_QUERY
    r, t = set[Row](), set[Row]()
    s: dict[Row, set[Row]] = defaultdict(set)
    for update in S:
        key, add = update.row[:-1], isinstance(update, Insert)
        table, member = {"r": (r, key), "s": (s[key[1:]], key[:1]), "t": (t, key)}[update.relation]
        (table.add if add else table.discard)(member)
        yield frozenset((*y, 3) for y in t if s[y] & r)


EVALUATORS = (answers_after_each, by_counting)


def test_the_queries_are_those_of_the_paper() -> None:
    assert parse_gcq("y <- u(x), v(x, y), w(y)") == MATRIX_QUERY
    assert window_gcq() == WINDOW_QUERY


@pytest.mark.parametrize("evaluate", EVALUATORS)
@random_suite(5_000)
def test_updates_of_u_v_w_through_r_s_t(evaluate: Evaluator, rng: Random) -> bool:
    S = random_updates(rng, SCHEMA, 12)
    answers = list(through_the_window_query(S, evaluate))
    assert answers == list(answers_after_each(MATRIX_QUERY, S)), S
    return any(answers)


@pytest.mark.parametrize("evaluate", EVALUATORS)
@random_suite(2_000)
def test_products_are_those_computed_directly(evaluate: Evaluator, rng: Random) -> bool:
    rows, columns = rng.randint(1, 4), rng.randint(1, 4)

    def bits(length: int) -> list[bool]:
        return [rng.random() < 0.5 for _ in range(length)]

    M = [bits(columns) for _ in range(rows)]
    pairs = [(bits(rows), bits(columns)) for _ in range(3)]
    expected = [
        tuple(b[y] and any(a[x] and M[x][y] for x in range(rows)) for y in range(columns))
        for a, b in pairs
    ]
    assert list(vectors_times_matrix(M, pairs, evaluate)) == expected, (M, pairs)
    return any(map(any, expected))


def test_products_come_before_the_next_pair_is_asked_for() -> None:
    """Online, as the conjecture is about."""
    bits = []

    def pairs() -> Iterator[tuple[list[bool], list[bool]]]:
        for bit in (True, False, True):
            bits.append(bit)
            yield [bit], [True]

    for n, product in enumerate(vectors_times_matrix([[True]], pairs()), start=1):
        assert len(bits) == n
        assert product == (bits[-1],)


def test_each_update_becomes_one_update() -> None:
    S = updates("+u(4) +v(4, 5) +w(5) -u(4) -v(4, 5) -w(5)")
    image = updates("+r(4, 1) +s(4, 5, 2) +t(5, 3) -r(4, 1) -s(4, 5, 2) -t(5, 3)")
    assert list(map(image_of, S)) == image


@pytest.mark.parametrize("wrong", [Insert("x", (1,)), Insert("v", (1,)), Delete("u", (1, 2))])
def test_what_is_no_tuple_of_the_matrix_query_is_refused(wrong: Update) -> None:
    with pytest.raises(BadData, match="not a tuple of the matrix query"):
        image_of(wrong)


@pytest.mark.parametrize(
    ("M", "pair"),
    [([], ([], [])), ([[]], ([True], [])), ([[True], []], ([True], [True])), ([[True]], ([], []))],
)
def test_sizes_that_do_not_fit_are_refused(
    M: list[list[bool]], pair: tuple[list[bool], list[bool]]
) -> None:
    with pytest.raises(UsageError):
        list(vectors_times_matrix(M, [pair]))


@pytest.mark.parametrize("stream", ["+u(1) -u(1)", "+u(1) +u(2)", "+w(1) +u(1)"])
def test_the_images_break_the_assumptions_that_algorithm_1_needs(stream: str) -> None:
    """Hence no contradiction with its constant time: it refuses these streams."""
    evaluation = WindowEvaluation()
    first, second = map(image_of, updates(stream))
    evaluation.process(first.relation, first.row)
    with pytest.raises(CerlabError, match="Algorithm 1 assumes"):
        evaluation.process(second.relation, second.row, insertion=isinstance(second, Insert))
