"""Every pair of evaluators that takes a query gives the same answers."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

import cerlab
from cerlab.api import count, evaluate
from cerlab.evaluate import EvaluatorName, answers_of, valuations_of
from cerlab.logic.cel.syntax import subformulas
from cerlab.logic.ceql.semantics import query_answers, query_valuations
from cerlab.model.clauses import Consume, Strategy
from cerlab.model.order import by_end
from cerlab.testing import Shape, random_query, with_limit
from proofs_tests.random_cases import Case, random_case
from proofs_tests.suite import Suite

LABELLED: tuple[EvaluatorName, ...] = ("compiled", "automaton")


def agree(case: Case) -> bool:
    """Oracle, all runs, tECS, compiled engine, the count, and the valuations by two of them."""
    query = case.query
    expected = query_answers(case.ast, case.stream)
    for evaluator in ("automaton", "tecs", "compiled"):
        found = list(answers_of(query, case.stream, evaluator))
        assert len(found) == len(set(found)), f"{evaluator} repeats\n{case.describe()}"
        require(sorted(found, key=by_end) == expected, evaluator, case)
        ends = [answer.end for answer in found]
        assert ends == sorted(ends)
    assert count(query, case.stream) == len(expected), case.describe()
    valuations = set(query_valuations(case.ast, case.stream))
    for by in LABELLED:
        try:
            labelled = list(valuations_of(query, case.stream, by))
        except cerlab.ResourceLimit:  # one case in ten thousand has too many labelled runs
            return False
        assert len(labelled) == len(set(labelled)), f"{by} repeats\n{case.describe()}"
        require(set(labelled) == valuations, f"labels of {by}", case)
    return bool(expected)


def require(agrees: bool, what: str, case: Case) -> None:
    """Fail with the case, not with a diff of two long lists, which may take minutes."""
    if not agrees:
        raise AssertionError(f"{what} differs\n{case.describe()}")


def test_reference_automaton_and_tecs_agree(suite: Suite) -> None:
    suite.run(lambda rng: agree(random_case(rng)), deep_count=20_000)


def test_they_agree_on_larger_formulas_and_longer_streams(suite: Suite) -> None:
    shape = Shape(depth=4, events=8)
    suite.run(lambda rng: agree(random_case(rng, shape)), deep_count=4_000)


def test_they_agree_on_the_whole_family(suite: Suite) -> None:
    """AND, ALL, UNLESS, STRICT(..); what has no automaton is refused by every evaluator."""
    shape = Shape(depth=3, events=6, family=True)

    def case(rng: Random) -> bool:
        drawn = random_case(rng, shape)
        if drawn.query.has_automaton:
            return agree(drawn)
        for evaluator in ("automaton", "tecs"):
            with pytest.raises(cerlab.Unsupported):
                evaluate(drawn.query, drawn.stream, evaluator=evaluator)
        return bool(query_answers(drawn.ast, drawn.stream))

    suite.run(case, deep_count=20_000)


def test_limit_gives_that_many_true_answers_for_each_end(suite: Suite) -> None:
    def case(rng: Random) -> bool:
        drawn = random_case(rng, Shape(depth=2))
        per_end = rng.choice((1, 2, 5))
        limited = Case(with_limit(drawn.ast, per_end), drawn.stream)
        every = query_answers(drawn.ast, drawn.stream)
        at_end = Counter(answer.end for answer in every)
        for evaluator in ("reference", "automaton", "tecs", "compiled"):
            some = evaluate(limited.query, drawn.stream, evaluator=evaluator)
            assert set(some) <= set(every), limited.describe()
            counts = Counter(answer.end for answer in some)
            assert counts == {end: min(n, per_end) for end, n in at_end.items()}
        assert count(limited.query, drawn.stream) == sum(min(n, per_end) for n in at_end.values())
        return bool(every)

    suite.run(case, deep_count=4_000)


def test_the_generator_covers_every_operator_and_clause() -> None:
    seen: Counter[str] = Counter()
    for seed in range(3_000):
        query = random_query(Random(seed))
        seen.update(type(phi).__name__ for phi in subformulas(query.formula))
        if query.strategy is not None:
            seen[query.strategy.name] += 1
        seen["items"] += query.items is not None
        seen["streams"] += bool(query.streams)
        seen["partition"] += bool(query.partition)
        seen[type(query.window).__name__] += 1
        seen[query.consume.name] += query.consume is not Consume.NONE
    operators = (
        "Atom",
        "Not",
        "As",
        "Filter",
        "Or",
        "Seq",
        "Concat",
        "Plus",
        "ConcatPlus",
        "Project",
    )
    strategies = tuple(strategy.name for strategy in Strategy)
    windows = ("EventWindow", "AttributeWindow", "TimeWindow", "NoneType")
    clauses = ("items", "streams", "partition", "ANY", "PARTITION")
    for name in (*operators, *strategies, *windows, *clauses):
        assert seen[name] >= 100, (name, seen[name])
