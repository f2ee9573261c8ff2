"""The answer to "why": a derivation of a match, or what is nearest to one and fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cerlab.display import drawable
from cerlab.model.answer import Positions
from cerlab.model.event import Event
from cerlab.why.deduction import Derivation
from cerlab.why.failure import Failure, Repair
from cerlab.why.question import Question
from cerlab.why.repairs import right_repairs
from cerlab.why.sremo_candidates import SremoQuestion


@drawable
@dataclass(frozen=True, slots=True)
class Why:
    """Whether some positions are an answer of a query or a SREMO, and why or why not.

    `derivation` proves a match by the semantics; of what is no match it is the attempt that needs
    the least to be mended, with its `failures` in the order of the clauses and of the formula, and
    None where the positions are not in the stream, or far from any match. `searched` is the stretch
    of the stream that was looked at, and `events` are the ones at the positions that the derivation
    names.
    """

    holds: bool
    positions: Positions
    derivation: Derivation[Any, Any] | None
    failures: tuple[Failure, ...]
    searched: tuple[int, int] | None
    events: Mapping[int, Event]
    question: Question | SremoQuestion | None = field(default=None, repr=False, compare=False)

    @property
    def failure(self) -> Failure | None:
        """The first obligation that is not met; None of a match."""
        return self.failures[0] if self.failures else None

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """What, alone, makes the positions an answer; none where one repair is not enough.

        Each has been carried out, and the positions are an answer then. Where it is another event,
        or one more, some event does it; one is not offered if none is found soon.
        """
        return () if self.question is None else right_repairs(self.question, self.failures)
