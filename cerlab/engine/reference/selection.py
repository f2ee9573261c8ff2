"""Selection strategies by definition, on all answers of one end (FOUND Sec. 4; DESIGN 3.7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar, assert_never

from cerlab.budget import ANSWER, COMPARISONS, spend_over, step_budget
from cerlab.model.answer import Positions
from cerlab.model.clauses import Strategy

A = TypeVar("A")


@step_budget("the selection of a strategy")
def select_answers(
    strategy: Strategy | None, answers: Iterable[A], positions: Callable[[A], Positions]
) -> set[A]:
    """The answers whose position sets the strategy keeps; all of them without one.

    `answers` are all that end at one event, whatever window is to follow; `positions` count the
    events of the substream. Raises `ResourceLimit` where there are too many to list.
    """
    by_positions: dict[Positions, list[A]] = {}
    for answer in spend_over(answers, ANSWER):
        by_positions.setdefault(positions(answer), []).append(answer)
    return {answer for D in _select(strategy, list(by_positions)) for answer in by_positions[D]}


def _select(strategy: Strategy | None, sets: list[Positions]) -> list[Positions]:
    match strategy:
        case None:
            return sets
        case Strategy.STRICT:
            return [D for D in sets if not D or D[-1] - D[0] == len(D) - 1]
        case Strategy.NXT:
            return [max(sets, key=_oldest_first)] if sets else []
        case Strategy.LAST:
            return [max(sets, key=_newest_first)] if sets else []
        case Strategy.MAX:
            each = spend_over(sets, 1 + len(sets) // COMPARISONS)
            return [D for D in each if not any(set(D) < set(other) for other in sets)]
        case _:
            assert_never(strategy)


def _oldest_first(D: Positions) -> list[float]:
    """A key in which the set with the first position that the other lacks is greater."""
    return [*(-p for p in D), float("-inf")]


def _newest_first(D: Positions) -> list[int]:
    """A key in which the set with the last position that the other lacks is greater."""
    return sorted(D, reverse=True)
