"""What an engine does on a case, beside the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from cerlab.fuzz.engines import Failure, Outcome, Refusal
from cerlab.trial.languages import LANGUAGES, Case


class Verdict(Enum):
    """The value is how it is written."""

    SAME = "same"
    MISSING = "missing"
    """Answers are missing; others may stand in their place."""
    EXTRA = "extra"
    """No answer is missing, but there are more, or some more often than once."""
    ORDER = "order"
    """The answers, in another order than is specified."""
    CRASH = "crash"
    """An error that is none of the query, an end of the process, or no answer that can be read."""
    HANG = "hang"
    """No answer in time."""
    REFUSED = "refused"
    """The engine does not take the query, and says so."""


FAULTS = frozenset(Verdict) - {Verdict.SAME, Verdict.REFUSED}


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, the answers that it is about, and the message of an engine that gave none."""

    verdict: Verdict
    missing: tuple[Any, ...] = ()
    extra: tuple[Any, ...] = ()
    message: str = ""


def judgement_of(
    case: Case, expected: Sequence[Any], outcome: Outcome, has_order: bool
) -> Judgement:
    """What an outcome is worth; `has_order` says whether the order of answers counts."""
    match outcome:
        case Refusal(why):
            return Judgement(Verdict.REFUSED, message=why)
        case Failure(how, hung):
            return Judgement(Verdict.HANG if hung else Verdict.CRASH, message=how)
    comparison = LANGUAGES[case.language].compare(case, expected, outcome.rows, has_order)
    missing, extra, in_order = tuple(comparison[0]), tuple(comparison[1]), comparison[2]
    if missing:
        return Judgement(Verdict.MISSING, missing, extra)
    if extra:
        return Judgement(Verdict.EXTRA, missing, extra)
    return Judgement(Verdict.SAME if in_order else Verdict.ORDER)
