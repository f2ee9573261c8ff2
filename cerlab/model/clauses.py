"""The values of query clauses: windows, consumption, limits and strategies."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class Strategy(Enum):
    """A selection strategy, by its keyword: it keeps some answers of each end (FOUND Sec. 4)."""

    STRICT = "STRICT"
    NXT = "NEXT"
    LAST = "LAST"
    MAX = "MAX"


class Consume(Enum):
    """CONSUME BY: the events that an answer discards: none, those of its partition, or all."""

    NONE = "NONE"
    PARTITION = "PARTITION"
    ANY = "ANY"

    @property
    def crosses_partitions(self) -> bool:
        """True if an answer discards events of other partitions."""
        return self not in (Consume.NONE, Consume.PARTITION)


@dataclass(frozen=True, slots=True)
class Limit:
    """LIMIT: the number of answers kept at each end, in the order `latest_first`."""

    per_end: int


@dataclass(frozen=True, slots=True)
class EventWindow:
    """A window ``WITHIN n EVENTS``: end - start <= n, counting events of the substream."""

    width: int


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """A window ``WITHIN h HOURS m MINUTES s SECONDS``, in nanoseconds."""

    nanoseconds: int

    @property
    def width(self) -> int:
        """The nanoseconds: the width in the unit of its times, as other windows have."""
        return self.nanoseconds


@dataclass(frozen=True, slots=True)
class AttributeWindow:
    """A window ``WITHIN n [attribute]``, in the unit of the attribute."""

    width: int | float
    attribute: str


Window: TypeAlias = EventWindow | TimeWindow | AttributeWindow
