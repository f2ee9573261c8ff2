"""Answers by number against the list of all, in the order of the iteration (CORE Alg. 2)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random

import pytest

import cerlab
from cerlab import ComplexEvent
from cerlab.api import as_query
from cerlab.engine import subtree_counts
from cerlab.engine.subtree_counts import CountedNode
from cerlab.evaluate import choose, thresholds
from cerlab.evaluate.evaluators import Reference
from cerlab.io import arrow_table
from cerlab.io.answers import arrow_schema
from cerlab.model.stream import Stream
from cerlab.testing import Shape, with_limit
from proofs_tests.access.cases import ANY_QUERY, agrees_with_iteration, all_of, matches_of
from proofs_tests.random_cases import Case, random_case
from proofs_tests.suite import Suite, random_suite


@random_suite(10_000)
def test_answers_by_number_are_those_of_the_iteration(rng: Random) -> bool | None:
    """Every clause, strategy and policy, also queries that only the reference takes."""
    example = random_case(rng, ANY_QUERY)
    try:
        return agrees_with_iteration(example, rng)
    except cerlab.ResourceLimit:  # one query in ten thousand is too large for the oracle
        return None


@random_suite(4_000)
def test_a_limit_leaves_the_first_answers_of_each_end(rng: Random) -> bool:
    example = random_case(rng, ANY_QUERY)
    limited = Case(with_limit(example.ast, rng.choice((1, 2, 5))), example.stream)
    return agrees_with_iteration(limited, rng)


@random_suite(4_000)
def test_longer_streams(rng: Random) -> bool:
    example = random_case(rng, Shape(depth=2, events=40))
    matches = matches_of(example)
    n = matches.count()
    if n <= 2_000:
        return agrees_with_iteration(example, rng)
    first = list(islice(matches, 500))
    assert [matches[k] for k in range(500)] == first, example.describe()
    return True


def test_streams_that_the_compiled_engine_iterates(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thresholds, "SHORT", -1)

    def case(rng: Random) -> bool:
        monkeypatch.setattr(thresholds, "FEW_ANSWERS", rng.choice((0, 3, 1 << 20)))
        return agrees_with_iteration(random_case(rng, ANY_QUERY), rng)

    suite.run(case, deep_count=1_000)


def test_the_order_is_of_the_engine_where_it_lists_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """By query and stream alone, so iteration, numbers and tables have one order."""
    for length, few, by in (
        (4, 1, "tecs"),
        (5, 5, "compiled"),
        (5, 4, "tecs"),
        (9, 0, "compiled"),
    ):
        monkeypatch.setattr(thresholds, "SHORT", 4)
        monkeypatch.setattr(thresholds, "TECS_ORDER", 8)
        monkeypatch.setattr(thresholds, "FEW_ANSWERS", few)
        matches = as_query("SELECT * WHERE A WITHIN 0 EVENTS").run(all_of("A" * length))
        assert choose(matches.query).on(matches.stream).name == by
    backwards = [{"type": "A", "t": -t} for t in range(6)]
    matches = as_query("SELECT * WHERE A WITHIN 1 [t]").run(backwards)
    assert choose(matches.query).on(matches.stream).name == "tecs"


def test_a_long_stream_of_the_compiled_engine() -> None:
    rng = Random(4)
    types = "".join(rng.choices("AABC", k=thresholds.TECS_ORDER + 10_000))
    matches = as_query("SELECT * WHERE A ; B+ ; C WITHIN 8 EVENTS").run(all_of(types))
    every = list(matches)
    assert matches.count() == len(every) > 1 << 15, "more than one batch"
    for k in (0, 32_700, 3, len(every) - 1, *rng.sample(range(len(every)), 3)):
        assert matches[k] == every[k]
    numbers = Random(5)
    assert matches.sample(50, seed=5) == [every[numbers.randrange(len(every))] for _ in range(50)]
    table = matches.to_arrow()
    assert table.num_rows == len(every)
    assert table.slice(32_000, 9).to_pylist() == arrow_table(every[32_000:32_009]).to_pylist()


def test_arrow_from_batches_is_arrow_from_answers(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thresholds, "SHORT", -1)

    def case(rng: Random) -> bool:
        matches = matches_of(random_case(rng, ANY_QUERY))
        table, expected = matches.to_arrow(), arrow_table(matches)
        assert table.schema.equals(arrow_schema())
        assert table.equals(expected)
        table.validate(full=True)
        return bool(table.num_rows)

    suite.run(case, deep_count=400)


def test_what_is_no_number_of_an_answer() -> None:
    matches = as_query("SELECT * WHERE A").run(all_of("ABA"))
    none = as_query("SELECT * WHERE C").run(all_of("ABA"))
    pairs = as_query("A AS x ; A AS y FILTER x.v = y.v").run([{"type": "A", "v": 1}] * 3)
    assert pairs.query.machine_kind != "automaton"
    assert [pairs[k] for k in range(pairs.count())] == list(pairs)
    assert set(pairs.sample(20, seed=0)) == set(pairs)
    for each, last in ((matches, 1), (pairs, 2)):
        with pytest.raises(IndexError, match=f"no answer number 7: the last one is {last}"):
            each[7]
        with pytest.raises(IndexError, match=f"no answer number -7: there are {last + 1}"):
            each[-7]
    with pytest.raises(IndexError, match="there are no answers"):
        none[0]
    with pytest.raises(IndexError, match="no answers to draw from"):
        none.sample(1, seed=0)
    with pytest.raises(cerlab.UsageError, match="at least 0 answers, got -1"):
        matches.sample(-1, seed=0)
    assert none.sample(0, seed=0) == matches.sample(0) == []
    with pytest.raises(TypeError):
        matches["0"]  # type: ignore[call-overload]


@pytest.mark.parametrize("short", [thresholds.SHORT, -1])
def test_an_interrupted_pass_starts_again(short: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream whose time goes back at its end: known answers stay, the error does too."""
    monkeypatch.setattr(thresholds, "SHORT", short)
    events = [{"type": "A", "t": t} for t in (1, 2, 3, 0)]
    matches = as_query("SELECT * WHERE A WITHIN 0 [t]").run(events)
    for _ in range(2):
        with pytest.raises(cerlab.BadData):
            matches[9]
    for _ in range(2):
        with pytest.raises(cerlab.BadData):
            matches.count()


def test_a_wrong_turn_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite's comparison fails if the search stops one right edge early."""
    right = subtree_counts._last_with

    def one_early(node: CountedNode, answers: int) -> CountedNode:
        last = right(node, answers)
        while node is not last and node.right is not last:
            assert node.right is not None
            node = node.right
        return node

    monkeypatch.setattr(subtree_counts, "_last_with", one_early)
    wrong = 0
    for seed in range(300):
        rng = Random(seed)
        try:
            agrees_with_iteration(random_case(rng, ANY_QUERY), rng)
        except AssertionError:
            wrong += 1
    assert wrong > 20


def test_what_only_the_reference_takes_is_listed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    answers = Reference.answers

    def record(self: Reference, stream: Stream) -> Iterator[ComplexEvent]:
        names.append(self.name)
        return answers(self, stream)

    monkeypatch.setattr(Reference, "answers", record)
    text = "SELECT * WHERE MAX(A AS x) ; B AS y FILTER x.v <= y.v"
    matches = cerlab.parse_query(text).run([{"type": "A", "v": 1}, {"type": "B", "v": 2}])
    assert matches.table().num_rows == matches.to_arrow().num_rows == len(list(matches)) == 1
    assert names == ["reference"]
