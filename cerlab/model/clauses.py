"""The clauses of a query as values: windows, consumption, limits, strategies."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class Strategy(Enum):
    """A strategy, which keeps some complex events of one end (FOUND Sec. 4), by its keyword."""

    STRICT = "STRICT"
    NXT = "NEXT"
    LAST = "LAST"
    MAX = "MAX"


class Consume(Enum):
    """The effect of an answer on partial matches: it ends none, its partition's, or all."""

    NONE = "NONE"
    PARTITION = "PARTITION"
    ANY = "ANY"

    @property
    def crosses_partitions(self) -> bool:
        """True if an answer in one partition ends partial matches in others."""
        return self not in (Consume.NONE, Consume.PARTITION)


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of `per_end` answers for each end position: the first in the order `latest_first`."""

    per_end: int


@dataclass(frozen=True, slots=True)
class EventWindow:
    """A window ``WITHIN n EVENTS``: end - start <= n, counted in the substream."""

    width: int


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """A window ``WITHIN h HOURS m MINUTES s SECONDS``, in nanoseconds of the stream's time."""

    nanoseconds: int


@dataclass(frozen=True, slots=True)
class AttributeWindow:
    """A window ``WITHIN n [attribute]``, in the attribute's own unit."""

    width: int | float
    attribute: str


Window: TypeAlias = EventWindow | TimeWindow | AttributeWindow
