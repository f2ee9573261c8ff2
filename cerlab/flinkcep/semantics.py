"""The meaning of a pattern sequence on a stream: FlinkCEP's partial matches, event by event.

A partial match waits in a part. It may *take* an event, *ignore* it and wait, or *proceed* without
it to the next part, which then has the same choices for the event. These are the transitions of
`org.apache.flink.cep.nfa` (created in `NFACompiler`, executed in `NFA.computeNextStates`), stated
here as one relation. Differences from FlinkCEP's documentation are noted.

This is the oracle: it is written for clarity, not for speed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from cerlab.budget import poll
from cerlab.errors import BadData, ResourceLimit, Unsupported, keywords_by_name
from cerlab.flinkcep.pattern import (
    Candidate,
    Contiguity,
    EventTest,
    FlinkPattern,
    NotPart,
    Part,
    SkipTo,
    Within,
    windows,
)
from cerlab.model.answer import Valuation
from cerlab.model.clauses import AttributeWindow
from cerlab.model.event import Event
from cerlab.model.stream import clock_for
from cerlab.predicates.truth import Key, partition_key

MAX_PARTIAL = 20_000
"""Most simultaneous partial matches in the reference: 0.6 s to reach them (2026-11-29)."""


class Partial(NamedTuple):
    """A partial match that waits in part `k` and has taken `taken_here` events for it.

    `has_waited` is true if an event was ignored since. `free` is true if the previous greedy part
    ended at its ``until``. `last` is the part that took the last event, and `events` has each event
    with the name of its part.
    """

    k: int = 0
    taken_here: int = 0
    has_waited: bool = False
    free: bool = False
    last: int = -1
    events: tuple[tuple[str, int], ...] = ()

    @property
    def start(self) -> int:
        """The position of the first event."""
        return self.events[0][1]


class Action(Enum):
    """The reaction of a partial match to an event."""

    TAKE = "take"
    IGNORE = "ignore"
    STOP = "stop"
    FINISH = "finish"


class Edge(NamedTuple):
    """An action on an event, and the state of the partial match after it."""

    action: Action
    k: int = 0
    taken_here: int = 0
    has_waited: bool = False
    free: bool = False
    by: int = -1


@keywords_by_name
def flink_matches(
    pattern: FlinkPattern,
    events: Sequence[Event],
    key_by: tuple[str, ...] = (),
    until: int | str | None = None,
) -> list[Valuation]:
    """Return the matches in the order in which FlinkCEP returns them.

    A match has the events of each part, by name, from its first event to the event at which it was
    found, which need not be part of it. A sequence that ends with ``notFollowedBy`` is found
    when time has passed: its match ends at the last event before. Keys have separate partial
    matches and a common clock.

    Args:
        pattern: A pattern sequence.
        events: The stream.
        key_by: Attributes of the key.
        until: All events before this time have come; ``"end"`` means that no more will.

    Raises:
        BadData: An event lacks the attribute of `within`, or its time is before the previous one.
        ResourceLimit: There are too many partial matches.
    """
    check_ending(pattern)
    times, result = _times(pattern, events), list[Valuation]()
    by_key: dict[Key, _OfKey] = {}
    for i, t in enumerate(events):
        poll()
        for each in by_key.values() if times else ():
            result += each.expire(pattern, times, times[i])
        if (key := partition_key(t, key_by)) is not None:
            result += by_key.setdefault(key, _OfKey()).read(pattern, events, i)
        if sum(len(each.partials) for each in by_key.values()) > MAX_PARTIAL + len(by_key):
            raise ResourceLimit(
                "CER0698",
                f"the reference of FlinkCEP follows up to {MAX_PARTIAL:,} partial matches",
                hint="use a shorter stream",
            )
    if times and until is not None:
        for each in by_key.values():
            result += each.expire(pattern, times, math.inf if until == "end" else until)
    return result


@dataclass(slots=True)
class _OfKey:
    """The state of one key: partial matches, matches that await a skip strategy, last event."""

    partials: list[Partial] = field(default_factory=lambda: [Partial()])
    waiting: list[Valuation] = field(default_factory=list)
    last: int = -1

    def expire(self, pattern: FlinkPattern, times: Sequence[int], now: Any) -> list[Valuation]:
        """Drop partial matches that are too late; return the matches that time alone completes."""
        late = [p for p in self.partials if p.events and _is_timed_out(pattern, p, times, now)]
        self.partials = [partial for partial in self.partials if partial not in late]
        return [_valuation(p.events, self.last) for p in late if _is_pending(pattern, p)]

    def read(self, pattern: FlinkPattern, events: Sequence[Event], i: int) -> list[Valuation]:
        """Read an event of the key, and return the matches that become final."""
        successors: list[Partial] = []
        for partial in self.partials:
            more, matches = _advance(pattern, partial, Candidate(events, i, partial.events))
            successors += more
            self.waiting += matches
        self.last = i
        # skip strategies act after all partial matches have seen the event
        self.partials, output, self.waiting = _apply_skip(pattern, successors, self.waiting)
        return output


def _is_pending(pattern: FlinkPattern, at: Partial) -> bool:
    """Return whether a partial match waits for time to pass, without needing an event."""
    return _ends_by_time(pattern) and at.k == len(pattern.parts) - 1


def _ends_by_time(pattern: FlinkPattern) -> bool:
    last = pattern.parts[-1]
    return isinstance(last, NotPart) and last.anywhere


def check_ending(pattern: FlinkPattern) -> None:
    """Raise `Unsupported` for a final ``notFollowedBy`` in an unsupported place.

    FlinkCEP needs a window for it. After a loop or an optional part, its partial matches may be in
    another state than the one that waits, so that time passes without a match.

    Args:
        pattern: A pattern sequence.
    """
    if not _ends_by_time(pattern):
        return
    before = pattern.parts[-2]
    if pattern.window is None or pattern.window.width == 0:
        why, hint = "without a window it is never found", 'append .within(10, "t")'
    elif pattern.skip.to is not SkipTo.NO_SKIP:
        why, hint = "a skip strategy does not act on it", "leave the skip strategy out"
    elif pattern.parts[-1].gap is not None:
        why, hint = "its window counts from the first event", 'append .within(10, "t") alone'
    elif not isinstance(before, Part) or before.quantified or before.optional:
        why = "it must follow a part that matches one event"
        hint = "put a part of one event, without a quantifier, before it"
    else:
        return
    message = f"a sequence that ends with notFollowedBy is found when time has passed: {why}"
    raise Unsupported("CER0456", message, hint=hint)


def _is_timed_out(pattern: FlinkPattern, at: Partial, times: Sequence[int], now: Any) -> bool:
    """Return whether a partial match has timed out, which also happens at exactly the width."""
    whole, gap = pattern.window, _gap(pattern, at)
    return (whole is not None and 0 < whole.width <= now - times[at.start]) or (
        gap is not None and 0 < gap.width <= now - times[at.events[-1][1]]
    )


def _gap(pattern: FlinkPattern, at: Partial) -> Within | None:
    """Return the window that starts at the last event of a waiting partial match.

    FlinkCEP keeps it in the state of a part without a quantifier, but loses it in states that it
    copies: that of an optional part after an ignored event, those after an ``until`` of a greedy
    part, and those after an optional part that ended a ``notFollowedBy``.
    """
    k = at.k
    while isinstance(part := pattern.parts[k], NotPart) and part.anywhere:
        k += 1
        if k == len(pattern.parts):
            return None
    by = pattern.parts[at.last]
    is_copied = isinstance(by, Part) and by.optional and any(_nots_before(pattern, at.last))
    if at.free or is_copied or (isinstance(part, Part) and (part.quantified or at.has_waited)):
        return None
    return part.gap


def _times(pattern: FlinkPattern, events: Sequence[Event]) -> list[int]:
    """Return the times of the events, or an empty list if no window needs times."""
    attributes = {window.attribute for window in windows(pattern)}
    if not attributes:
        return []
    (attribute,) = attributes
    clock = clock_for(AttributeWindow(0, attribute), None)
    times: list[int] = []
    for i, t in enumerate(events):
        time = clock(t, i)
        if times:
            clock.check_order(times[-1], time, i)
        if not isinstance(time, int):
            message = f"expected whole numbers as {attribute}, got {time} in event {i}"
            raise BadData("CER0790", message, hint="use a smaller unit")
        times.append(time)
    return times


def _advance(
    pattern: FlinkPattern, partial: Partial, t: Candidate
) -> tuple[list[Partial], list[Valuation]]:
    """Return the partial matches and the matches that follow from one partial match at an event."""
    parts = pattern.parts
    partials: list[Partial] = []
    matches: list[Valuation] = []
    edges = list(_edges(pattern, partial, t))
    for edge in edges:
        if edge.action is Action.IGNORE and partial.events:
            _, k, count, has_waited, free, _ = edge
            partials.append(
                partial._replace(k=k, taken_here=count, has_waited=has_waited, free=free)
            )
        elif edge.action is Action.FINISH and partial.events:
            matches.append(_valuation(partial.events, t.position))
        elif edge.action is Action.TAKE:
            path = (*partial.events, (parts[edge.by].name, t.position))
            after = Partial(edge.k, edge.taken_here, last=edge.by, events=path)
            if edge.k < len(parts):
                partials.append(after)
            if _may_end(pattern, after, t):
                matches.append(_valuation(path, t.position))
    if any(edge.action is Action.STOP for edge in edges):
        partials = []
    return ([*partials, partial] if not partial.events else partials), matches


def _valuation(events: Sequence[tuple[str, int]], end: int) -> Valuation:
    labels: dict[str, tuple[int, ...]] = {}
    for name, i in events:
        labels[name] = (*labels.get(name, ()), i)
    return Valuation(events[0][1], end, labels)


def _edges(pattern: FlinkPattern, at: Partial, t: Candidate) -> Iterator[Edge]:
    """Yield the possible actions of a partial match at an event, nearest parts first."""
    if at.k == len(pattern.parts) or _is_withheld(pattern, at, t):
        return
    part = pattern.parts[at.k]
    following = at._replace(
        k=at.k + 1, taken_here=0, has_waited=False, free=_is_free(pattern, at, t)
    )
    if isinstance(part, NotPart):
        if part.anywhere and at.k + 1 == len(pattern.parts):
            yield Edge(Action.STOP) if part.test.holds(t) else Edge(Action.IGNORE, at.k)
        elif part.anywhere:  # this ``notFollowedBy`` is already among the stops of the next part
            yield from _edges(pattern, following, t)
        elif part.test.holds(t):
            yield Edge(Action.STOP)
        elif at.k + 1 == len(pattern.parts):
            yield Edge(Action.FINISH)
        else:
            yield from _edges(pattern, following, t)
        return
    if _takes(part, t):
        k, count = _after_taking(part, at.k, at.taken_here)
        yield Edge(Action.TAKE, k, count, by=at.k)
    enough = _may_leave(part, at.taken_here)
    if _ignores(part, at.taken_here, t):
        yield Edge(Action.IGNORE, at.k, at.taken_here, at.has_waited or enough, at.free)
    if any(test.holds(t) for test in _stops(pattern, at)):
        yield Edge(Action.STOP)
    if enough and not at.has_waited:  # otherwise the partial match has already left the part
        yield from _edges(pattern, following, t)


def _is_withheld(pattern: FlinkPattern, at: Partial, t: Candidate) -> bool:
    """Return whether a greedy part before withholds the event, because it could take the event."""
    if at.free or at.taken_here or at.has_waited:
        return False
    j = at.k - 1
    while j >= 0 and isinstance(each := pattern.parts[j], NotPart) and each.anywhere:
        j -= 1
    part = pattern.parts[j] if j >= 0 else None
    if not isinstance(part, Part) or not part.greedy or part.lo == part.hi:
        return False
    is_skipped = at.last != j and part.hi is None and part.optional
    return _takes(part, t) and not (is_skipped and any(_nots_before(pattern, j)))


def _is_free(pattern: FlinkPattern, at: Partial, t: Candidate) -> bool:
    """Return whether ``until`` ends a greedy part at the event, so that it withholds nothing."""
    part = pattern.parts[at.k]
    if isinstance(part, NotPart):
        return part.anywhere and at.free
    return part.greedy and part.until is not None and part.until.holds(t)


def _after_taking(part: Part, k: int, count: int) -> tuple[int, int]:
    """Return the part and count after taking an event; loops omit counts that have no effect."""
    if part.hi == count + 1:
        return k + 1, 0
    return k, count + 1 if part.hi is not None else min(count + 1, part.lo)


def _takes(part: Part, t: Candidate) -> bool:
    return part.test.holds(t) and not (part.until is not None and part.until.holds(t))


def _ignores(part: Part, count: int, t: Candidate) -> bool:
    """Return whether a part may ignore an event, by its contiguity and ``until``."""
    if count and part.until is not None and part.until.holds(t):
        return False
    match part.inner if count else part.contiguity:
        case Contiguity.STRICT:
            return False
        case Contiguity.RELAXED:
            return not part.test.holds(t)
        case Contiguity.ANY:
            return True


def _may_leave(part: Part, count: int) -> bool:
    """Return whether the part has enough events, or is optional and has none."""
    return count >= part.lo or (part.optional and count == 0)


def _stops(pattern: FlinkPattern, at: Partial) -> list[EventTest]:
    """Return the tests of ``notFollowedBy`` that end a waiting partial match.

    Before the first event of a part, these are the tests since the last event. Between its events,
    it is the test of the next part, which FlinkCEP applies there too. Once a part with an upper
    bound has ignored an event between two of its own, FlinkCEP uses the tests before the part
    instead.
    """
    part = pattern.parts[at.k]
    assert isinstance(part, Part)
    before = [(j, each.test) for j, each in _nots_before(pattern, at.k)]
    if not at.taken_here:
        return [test for j, test in before if j > at.last]
    if at.has_waited and part.hi is not None:
        return [test for _, test in before]
    after = pattern.parts[at.k + 1] if at.k + 1 < len(pattern.parts) else None
    return [after.test] if isinstance(after, NotPart) and after.anywhere else []


def _nots_before(pattern: FlinkPattern, k: int) -> Iterator[tuple[int, NotPart]]:
    """Yield each ``notFollowedBy`` before a part, back to a part that must take an event.

    A ``notNext`` in between makes FlinkCEP forget the ones before it.
    """
    for j in range(k - 1, -1, -1):
        each = pattern.parts[j]
        if isinstance(each, NotPart) and each.anywhere:
            yield j, each
        elif not (isinstance(each, Part) and each.optional):
            return


def _may_end(pattern: FlinkPattern, at: Partial, t: Candidate) -> bool:
    """Return whether the match may be complete; FlinkCEP decides at the last event taken."""
    if at.k == len(pattern.parts):
        return True
    if _is_withheld(pattern, at, t):
        return False
    part = pattern.parts[at.k]
    following = at._replace(k=at.k + 1, taken_here=0)
    if isinstance(part, NotPart):
        last = at.k + 1 == len(pattern.parts)
        passes = not last and (part.anywhere or not part.test.holds(t))
        return passes and _may_end(pattern, following, t)
    return _may_leave(part, at.taken_here) and _may_end(pattern, following, t)


def _apply_skip(
    pattern: FlinkPattern, partials: list[Partial], waiting: list[Valuation]
) -> tuple[list[Partial], list[Valuation], list[Valuation]]:
    """Return the remaining partial matches, completed matches and delayed matches after a skip.

    The match that begins first is returned as soon as no partial match began earlier; matches and
    partial matches that it prunes are dropped. Among matches with equal start and end, the first
    one found wins; FlinkCEP leaves this open.
    """
    if pattern.skip.to is SkipTo.NO_SKIP:
        return partials, waiting, []
    output: list[Valuation] = []
    while waiting:
        first = min(waiting, key=lambda match: match.start)
        if any(p.events and p.start < first.start for p in partials):
            break
        waiting.remove(first)
        output.append(first)
        before = _pruned_before(pattern, first)
        waiting = [match for match in waiting if match.start >= before]
        partials = [p for p in partials if not p.events or p.start >= before]
    return partials, output, waiting


def _pruned_before(pattern: FlinkPattern, match: Valuation) -> int:
    """Return the position before which matches are dropped; 0 if the named part has no events."""
    skip = pattern.skip
    if skip.name is not None:
        positions = match.labels.get(skip.name, (0,))
        return positions[0] if skip.to is SkipTo.FIRST else positions[-1]
    if skip.to is SkipTo.NEXT:
        return match.start + 1
    return max(i for D in match.labels.values() for i in D) + 1
