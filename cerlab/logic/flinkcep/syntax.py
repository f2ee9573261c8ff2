"""FlinkCEP's pattern sequences, as values (Flink, documentation of FlinkCEP, "The Pattern API").

A sequence is one part after another. Each takes events of one type under one condition; a negative
part keeps events away from between two others.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from cerlab.model.event import Event
from cerlab.predicates.syntax import Predicate
from cerlab.predicates.truth import satisfies


class Contiguity(Enum):
    """Which events may stand before an event that is taken; the value is FlinkCEP's word."""

    STRICT = "next"
    """None."""
    RELAXED = "followedBy"
    """Those that could not be taken."""
    ANY = "followedByAny"
    """Any."""


@dataclass(frozen=True, slots=True)
class EventTest:
    """``where``: a type, and a condition on the event itself."""

    type: str
    predicate: Predicate | None = None

    def holds(self, t: Event) -> bool:
        """Whether an event passes."""
        return t.type == self.type and (self.predicate is None or satisfies(t, self.predicate))


@dataclass(frozen=True, slots=True)
class Part:
    """``next("b")``, ``followedBy("b").oneOrMore().greedy()``: takes from `lo` to `hi` events.

    `hi` is None without a bound. `contiguity` is that before its first event, `inner` that between
    its events; both are strict or more relaxed as FlinkCEP's words say.
    """

    name: str
    test: EventTest
    contiguity: Contiguity
    lo: int = 1
    hi: int | None = 1
    quantified: bool = False
    optional: bool = False
    greedy: bool = False
    inner: Contiguity = Contiguity.RELAXED
    until: EventTest | None = None


@dataclass(frozen=True, slots=True)
class NotPart:
    """``notNext("n")``, or, if `anywhere`, ``notFollowedBy("n")``."""

    name: str
    test: EventTest
    anywhere: bool


AnyPart: TypeAlias = Part | NotPart


class SkipTo(Enum):
    """After-match skip strategies; the value is FlinkCEP's word."""

    NO_SKIP = "noSkip"
    NEXT = "skipToNext"
    PAST_LAST = "skipPastLastEvent"
    FIRST = "skipToFirst"
    LAST = "skipToLast"


@dataclass(frozen=True, slots=True)
class Skip:
    """``AfterMatchSkipStrategy``; `name` is that of a part."""

    to: SkipTo = SkipTo.NO_SKIP
    name: str | None = None


EVERY_MATCH = Skip()


@dataclass(frozen=True, slots=True)
class Within:
    """``within(width)``, in units of an attribute: less than that from the first event on."""

    width: int
    attribute: str
