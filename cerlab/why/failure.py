"""Failures: unmet obligations between positions and a match, and the repairs that meet them.

A failure is one obligation of a query that the positions do not meet. It carries its words, with
the values that decide, and as data the repairs each of which meets it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import TypeAlias, assert_never

from cerlab.display import drawable, register
from cerlab.errors import ResourceLimit
from cerlab.logic.cel.semantics import MAX_EVENTS, last_at_most, next_at_most
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.ceql.semantics import Meaning
from cerlab.logic.sremo.syntax import Sremo, Terminal
from cerlab.model.answer import ComplexEvent, Positions, Valuation, complex_event
from cerlab.model.clauses import Strategy, Window
from cerlab.model.event import Event
from cerlab.model.stream import TimeAxis
from cerlab.predicates.text import positions_text

Path: TypeAlias = tuple[int, ...]
"""Place of a part of a formula: the number of the child at each step down from the root."""


class Kind(Enum):
    """Which obligation is not met; the value is its name in JSON."""

    POSITION = "position"
    FROM = "from"
    PARTITION = "partition"
    TYPE = "type"
    STREAM = "stream"
    NOT = "not"
    GUARD = "guard"
    NEGATION = "negation"
    EMPTY = "empty"
    FILTER = "filter"
    VARIABLE = "variable"
    GAP = "gap"
    COUNT = "count"
    MISSING = "missing"
    UNMARKED = "unmarked"
    LEFTOVER = "leftover"
    AND = "and"
    UNLESS = "unless"
    INTERVAL = "interval"
    WINDOW = "window"
    CLOCK = "clock"
    CONSUME = "consume"
    STRATEGY = "strategy"
    LIMIT = "limit"
    FAR = "far"


@dataclass(frozen=True, slots=True)
class Retype:
    """Let the event at a position have another type."""

    position: int
    type: str


@dataclass(frozen=True, slots=True)
class Alter:
    """Let the event at a position be another one, with values that do.

    In a failure it says which event is in the way; `Why.repairs` has it if there are such values.
    """

    position: int


@dataclass(frozen=True, slots=True)
class Insert:
    """Put an event for a part of the formula between two positions; None is an end of the match."""

    path: Path
    after: int | None = None
    before: int | None = None


@dataclass(frozen=True, slots=True)
class Remove:
    """Take the events at these positions out of the stream."""

    positions: Positions


@dataclass(frozen=True, slots=True)
class Give:
    """Ask for one position more."""

    position: int


@dataclass(frozen=True, slots=True)
class Drop:
    """Ask without this position."""

    position: int


@dataclass(frozen=True, slots=True)
class Reach:
    """Ask for another interval."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Relax:
    """Write a weaker formula or expression in the place of the part at a path."""

    path: Path
    into: Formula | Sremo = field(compare=False)


@dataclass(frozen=True, slots=True)
class Remark:
    """Toggle the mark of the terminal at a path."""

    path: Path
    into: Terminal


@dataclass(frozen=True, slots=True)
class Widen:
    """The smallest window that holds."""

    window: Window


@dataclass(frozen=True, slots=True)
class Without:
    """Leave a clause out: from, partition, strategy, consume, limit."""

    clause: str


@dataclass(frozen=True, slots=True)
class End:
    """Let no event come after those of the stream: ``until="end"``."""


Repair: TypeAlias = (
    Retype | Alter | Insert | Remove | Give | Drop | Reach | Relax | Remark | Widen | Without | End
)


@drawable
@dataclass(frozen=True, slots=True)
class Failure:
    """An obligation that is not met.

    `part` is the text of the subformula or clause that asks for it, and `path` says where the
    subformula is; `positions` are those of the events that it is about; `rival` is the answer that
    another clause prefers. Each of `repairs` alone meets this obligation.
    """

    kind: Kind
    words: str
    part: str = ""
    path: Path = ()
    positions: Positions = ()
    repairs: tuple[Repair, ...] = ()
    rival: ComplexEvent | None = None


CHANGES_THE_QUESTION = (Kind.MISSING, Kind.UNMARKED, Kind.LEFTOVER, Kind.INTERVAL)
"""Failures whose repair asks for other positions; they are blamed last."""


LIGHT, HEAVY = 2, 3
"""Costs of a repair: LIGHT changes an event or the query, HEAVY the positions asked for."""


FURTHER_AWAY = {Kind.MISSING: 2, Kind.GAP: 1}
"""Events to add to a failure's count when two failures cost the same to repair."""


def weight(failure: Failure) -> int:
    """Return the cost of repairing one failure."""
    return HEAVY if failure.kind in CHANGES_THE_QUESTION else LIGHT


def cost(failures: Sequence[Failure]) -> int:
    """Return the cost of repairing all: greedily, the repair of most failures first.

    >>> both = [Failure(Kind.TYPE, "", repairs=(Retype(4, "A"), Alter(4))),
    ...         Failure(Kind.FILTER, "", repairs=(Alter(4),))]
    >>> cost(both)
    2
    """
    total = 0
    left = list(failures)
    while len(left) > 1:
        counts = Counter(repair for failure in left for repair in failure.repairs)
        # The least set of repairs that mends all is a hitting set, which is NP-hard to find.
        best = counts.most_common(1)[0][0] if counts else None
        group = [f for f in left if not f.repairs or best in f.repairs]
        total += max(map(weight, group))
        left = [f for f in left if f.repairs and best not in f.repairs]
    return total + sum(map(weight, left))


def blame(failures: Sequence[Failure]) -> int:
    """Return the number of events that the failures are about; it breaks ties of cost.

    An event that is not there is further than one that is, and a gap blames what is in it too.
    """
    return sum(FURTHER_AWAY.get(f.kind, 0) + len(f.positions) for f in failures)


def single_repairs(failures: Sequence[Failure]) -> tuple[Repair, ...]:
    """Return the repairs that each repair all failures; empty if no single one does."""
    if not failures:
        return ()
    return tuple(r for r in failures[0].repairs if all(r in f.repairs for f in failures))


def missing(path: Path, part: str, others: tuple[Repair, ...] = ()) -> Failure:
    """Return the failure of a part without an event; `others` are further repairs of it."""
    words = missing_words(part, None, None)
    return Failure(Kind.MISSING, words, part, path, repairs=(Insert(path), *others))


def missing_words(part: str, after: int | None, before: int | None) -> str:
    """That no event is there for a part, between two positions as far as known."""
    where = [f" after {after}" if after is not None else ""]
    where.append(f" before {before}" if before is not None else "")
    return f"no event is there for {part}{' and'.join(filter(None, where))}"


register(Failure, "text/plain", lambda failure: failure.words)


def prefers(strategy: Strategy, rival: Positions, C: Positions) -> bool:
    """Whether a strategy drops C where `rival` ends at the same event."""
    match strategy:
        case Strategy.STRICT:
            return False
        case Strategy.NXT:
            return not next_at_most(rival, C)
        case Strategy.LAST:
            return not last_at_most(rival, C)
        case Strategy.MAX:
            return set(C) < set(rival)
        case _:
            assert_never(strategy)


def first_preferred(
    strategy: Strategy, rivals: Iterable[ComplexEvent], C: Positions
) -> ComplexEvent | None:
    """The first of some answers with the same end that a strategy puts in the place of C."""
    return next((rival for rival in rivals if prefers(strategy, rival.positions, C)), None)


def ending_at(
    phi: Formula, S: Sequence[Event], end: int, meaning: Meaning, axis: TimeAxis | None
) -> list[ComplexEvent]:
    """The complex events of a formula that end there, by the reference; shortest stream first.

    Raises `ResourceLimit` where the stream before is too long for the reference.
    """
    if end >= MAX_EVENTS:
        raise ResourceLimit(
            "CER0696",
            f"a strategy inside the formula is compared on up to {MAX_EVENTS} events of its "
            f"substream, and {end + 1:,} come before the end",
            hint="write the strategy after SELECT",
        )
    answers = {complex_event(V) for V in meaning(phi, S[: end + 1], axis) if V.end == end}
    return sorted(answers, key=lambda m: (len(m.positions), m.positions, -m.start))


def moved_answer(answer: ComplexEvent, at: Sequence[int]) -> ComplexEvent:
    """An answer of a substream in positions of the whole stream."""
    return ComplexEvent(at[answer.start], at[answer.end], tuple(at[p] for p in answer.positions))


def inside(rivals: Iterable[Valuation], V: Valuation) -> Valuation | None:
    """The first of some valuations that lies in the interval of V."""
    return next((W for W in rivals if V.start <= W.start and W.end <= V.end), None)


def dropped_by_strict(
    C: Positions, at: Sequence[int], part: str, path: Path, repairs: tuple[Repair, ...]
) -> tuple[Failure, ...]:
    """STRICT drops positions that do not follow each other."""
    hole = next((pair for pair in pairwise(C) if pair[1] != pair[0] + 1), None)
    if hole is None:
        return ()
    ends = (at[hole[0]], at[hole[1]])
    words = f"STRICT: there are events between {ends[0]} and {ends[1]} that are left out"
    return (Failure(Kind.STRATEGY, words, part, path, ends, repairs),)


def dropped_for(
    strategy: Strategy,
    rival: ComplexEvent | None,
    at: Sequence[int],
    part: str,
    path: Path,
    repairs: tuple[Repair, ...],
) -> tuple[Failure, ...]:
    """Another strategy drops an answer for a rival, if there is one."""
    if rival is None:
        return ()
    rival = moved_answer(rival, at)
    words = _rival_words(strategy, rival)
    return (Failure(Kind.STRATEGY, words, part, path, (), repairs, rival),)


def _rival_words(strategy: Strategy, rival: ComplexEvent) -> str:
    """Return the words for an answer that a strategy drops in favour of a rival."""
    positions = positions_text(rival.positions)
    match strategy:
        case Strategy.MAX:
            return f"a larger answer contains it (MAX): {positions}"
        case Strategy.NXT:
            return f"NEXT takes {positions}, which has the earlier event where the two first differ"
        case Strategy.LAST:
            return f"LAST takes {positions}, which has the event where the two last differ"
        case Strategy.STRICT:
            return "STRICT takes positions without a hole only"
        case _:
            assert_never(strategy)
