"""Faults made small and sorted: a cause is a verdict and the features of a smallest case.

A fault counts for a cause if it has the verdict and all of its features. That is a guess, as two
causes may meet in one case; what no cause explains is made small itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from cerlab.errors import CerlabError
from cerlab.trial.languages import LANGUAGES, Case
from cerlab.trial.process import Running
from cerlab.trial.verdicts import Judgement, Verdict, judgement_of

_AT_ONCE = 12
"""So many smaller cases are asked together of an engine that takes many, at about a second each."""


@dataclass(slots=True)
class Cause:
    """A verdict with the features that bring it about, and how many faults it explains."""

    verdict: Verdict
    features: frozenset[str]
    case: Case
    judgement: Judgement
    others: dict[str, Judgement]
    """What other engines of the language do on the case."""
    after: float
    """The second of the trial at which it was small."""
    count: int = 1

    def explains(self, verdict: Verdict, features: frozenset[str]) -> bool:
        """Whether a fault may have this cause."""
        return self.verdict is verdict and self.features <= features


def judge(engine: Running, cases: Sequence[Case]) -> list[tuple[Case, Judgement]]:
    """What an engine does on cases; those to which the reference has no answer are left out."""
    expected = [(case, answers) for case in cases if (answers := _answers(case)) is not None]
    outcomes = engine.ask([case for case, _ in expected])
    return [
        (case, judgement_of(case, answers, outcome, engine.adapter.orders(case)))
        for (case, answers), outcome in zip(expected, outcomes, strict=True)
    ]


def _answers(case: Case) -> Sequence[object] | None:
    try:
        return LANGUAGES[case.language].answers(case)
    except CerlabError:
        return None


def smallest_case(
    engine: Running, case: Case, judgement: Judgement, in_time: Callable[[], bool]
) -> tuple[Case, Judgement]:
    """A case with the same verdict that no single step of `smaller` leads on from, if in time."""
    while in_time():
        smaller = next(_failing(engine, case, judgement.verdict, in_time), None)
        if smaller is None:
            break
        case, judgement = smaller
    return case, judgement


def _failing(
    engine: Running, case: Case, verdict: Verdict, in_time: Callable[[], bool]
) -> Iterator[tuple[Case, Judgement]]:
    """Smaller cases with a verdict: of those that are asked together, the smallest first."""
    for together in _batches(LANGUAGES[case.language].smaller(case), engine.adapter.batch):
        if not in_time():
            return
        verdicts = judge(engine, together)
        yield from sorted(
            ((c, j) for c, j in verdicts if j.verdict is verdict), key=lambda each: size(each[0])
        )


def _batches(cases: Iterable[Case], batch: int) -> Iterator[list[Case]]:
    remaining = iter(cases)
    while together := list(islice(remaining, min(batch, _AT_ONCE))):
        yield together


def size(case: Case) -> tuple[int, int]:
    """The length of a query, and how much data there is."""
    return len(case.text), sum(len(row) for row in case.rows)
