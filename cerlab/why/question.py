"""Questions of `why`: are positions an answer; with the substreams and windows to search."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar, assert_never, cast

from cerlab.computed import cached_property
from cerlab.errors import Unsupported, UsageError
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import NO_CLOCKS, Clocks, axis_name
from cerlab.logic.cel.syntax import Formula, Select, competes, subformulas, waits, windows
from cerlab.logic.cel.text import label_text, window_text
from cerlab.logic.cel.text import node_text as formula_node_text
from cerlab.logic.ceql.semantics import Substream, check_consumption
from cerlab.logic.ceql.syntax import CeqlQuery, partition_attributes, selected_formula
from cerlab.logic.focel.semantics import check_first_order
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.parser import node_text
from cerlab.logic.sremo.semantics import check_times, duration
from cerlab.logic.sremo.syntax import Sremo, check_sremo
from cerlab.model.answer import Positions
from cerlab.model.clauses import AttributeWindow, Consume, EventWindow, Strategy, TimeWindow, Window
from cerlab.model.event import Event, Timestamp, is_of_streams, value_of
from cerlab.model.stream import (
    Clock,
    Instant,
    Stream,
    TimeAxis,
    axis_of_windows,
    clock_for,
    promised,
    width_of,
)
from cerlab.predicates.condition import labels_of
from cerlab.predicates.text import name_text, value_text
from cerlab.predicates.truth import Key, kind_of, partition_key
from cerlab.why import failure as fail
from cerlab.why.conditions import value_words
from cerlab.why.deduction import Part, Reading
from cerlab.why.failure import Failure, Path, Relax, Repair, Widen, Without


@dataclass(frozen=True)
class Question:
    """The question of whether positions, with an optional interval, are an answer of a query.

    With `first_order`, the formula has the meaning of FO-CEL.
    """

    ast: CeqlQuery
    stream: Stream
    positions: Positions
    start: int | None = None
    end: int | None = None
    first_order: bool = False

    @cached_property
    def _root_strategy(self) -> Select | None:
        """The strategy around the whole formula, which acts as if in SELECT, or None."""
        ast, phi = self.ast, self.ast.formula
        outside = ast.strategy is not None or ast.items is not None
        return phi if isinstance(phi, Select) and not outside else None

    @property
    def formula(self) -> Formula:
        """The formula without the strategy around it."""
        return self._root_strategy.body if self._root_strategy else self.ast.formula

    @property
    def path(self) -> Path:
        """The path from the query's formula to `formula`."""
        return (0,) if self._root_strategy else ()

    @property
    def strategy(self) -> Strategy | None:
        """The strategy around the formula, in SELECT or at its root, or None."""
        return self._root_strategy.strategy if self._root_strategy else self.ast.strategy

    @property
    def without_strategy(self) -> Repair:
        """The repair that removes the strategy around the formula."""
        return Relax((), self.formula) if self.path else Without("strategy")

    @cached_property
    def time(self) -> TimeAxis | None:
        """The time axis of windows and waits."""
        clause = () if self.ast.window is None else (self.ast.window,)
        return axis_of_windows((*clause, *windows(self.ast.formula)), self.stream)

    @cached_property
    def clocks(self) -> Clocks:
        """The time that the stream has reached on each axis, by its events or its promise."""
        lengths, stream = waits(self.ast.formula), self.stream
        last = next((p for p in reversed(range(len(stream))) if self.passes(stream[p])), None)
        if stream.until == "end" or not lengths or last is None:
            return NO_CLOCKS
        now = {axis_name(each): clock_for(each, self.time)(stream[last], last) for each in lengths}
        if stream.until is not None:
            now = {name: promised(stream.until, lengths, self.time, [t]) for name, t in now.items()}
        return now

    def last_waited(self, position: int) -> int:
        """Return the last position that a wait from an event up to `position` may reach."""
        stream = self.stream
        every = [psi.length for psi in subformulas(self.ast.formula) if isinstance(psi, cel.Wait)]
        if not every:
            return position
        if len({axis_name(each) for each in every}) > 1:
            return len(stream) - 1
        read, longest = clock_for(every[0], self.time), sum(map(width_of, every))
        until: Instant | None = None
        for p in range(position, len(stream)):
            if self.passes(stream[p]):
                now = read(stream[p], p)
                # FROM may exclude the event at `position`
                until = now + longest if until is None else until
                if now > until:
                    return p
        return len(stream) - 1

    @property
    def context(self) -> Context:
        """The context of the whole formula: all its labels, and those in SELECT."""
        every = labels_in(self.ast.formula)
        if self.ast.items is None:
            return Context(every, every)
        refuse_streams([(i.stream, i.label) for i in self.ast.items if i.stream is not None])
        return Context(every, every & {item.label for item in self.ast.items})

    @property
    def anchors(self) -> Positions:
        """The positions that one substream must contain, including given ends."""
        ends = {p for p in (self.start, self.end) if p is not None}
        return tuple(sorted({*self.positions, *ends}))

    @property
    def compares(self) -> bool:
        """True if an answer may depend on other answers: by a strategy or a later clause."""
        ast = self.ast
        bare = CeqlQuery(
            ast.formula, ast.items, None, ast.streams, ast.partition, window=ast.window
        )
        return ast != bare or self.strategy is not None or competes(ast.formula)

    def passes(self, event: Event) -> bool:
        """Return whether FROM includes an event."""
        return is_of_streams(event, self.ast.streams)

    def check(self) -> None:
        """Raise an error for an invalid question, or one that `why` does not support."""
        if self.first_order:
            check_first_order(selected_formula(self.ast))
        if not self.positions and (self.start is None or self.end is None):
            raise UsageError(
                "CER0835", "no positions are given", hint="for an empty answer, give start and end"
            )
        if competes(self.formula) and self.ast.consume is not Consume.NONE:
            raise Unsupported(
                "CER0497",
                "why does not support CONSUME BY with a strategy inside the formula",
                hint="ask without CONSUME BY; cerlab.evaluate supports both",
            )
        check_consumption(self.ast)
        refuse_later_doubt(self.formula)


@dataclass(frozen=True, slots=True)
class SremoQuestion:
    """The question of whether a SREMO matches a stream at some positions."""

    e: Sremo
    stream: Stream
    positions: Positions
    start: int | None = None
    end: int | None = None

    @property
    def events(self) -> Sequence[Event]:
        """The events of the stream, each built from columns when it is read."""
        return cast("Sequence[Event]", self.stream)

    @property
    def anchors(self) -> Positions:
        """The given positions, which must be in the stream."""
        return self.positions

    def check(self) -> None:
        """Raise an error for an invalid question."""
        check_sremo(self.e)
        check_times(self.e, self.events)
        if not self.positions:
            raise UsageError(
                "CER0835",
                "no positions are given",
                hint="give at least one: a SREMO is detected at the last event that it marks",
            )


AnyQuestion: TypeAlias = Question | SremoQuestion


def out_of_stream(positions: Positions, stream: Stream) -> tuple[Failure, ...]:
    """Return the failures of positions outside the stream."""
    n = len(stream)
    outside = (p for p in positions if not 0 <= p < n)
    return tuple(fail.POSITION.failure(positions=(p,), n=n) for p in outside)


def other_interval(
    real: tuple[int, int], start: int | None, end: int | None
) -> tuple[Failure, ...]:
    """Return the failure of an interval that differs from the requested `start` or `end`."""
    goal = (real[0] if start is None else start, real[1] if end is None else end)
    if goal == real:
        return ()
    return (fail.INTERVAL.failure(positions=real, asked=[*goal]),)


@dataclass(frozen=True, slots=True)
class Place:
    """A substream to search, with failures for given positions that it lacks.

    `failures` are the clauses that exclude some of the positions.
    """

    substream: Substream
    key: Key
    failures: tuple[Failure, ...]
    nowhere: frozenset[int] = frozenset()
    """Given positions that are in no substream."""

    def local(self, position: int) -> int:
        """Return the index in the substream of a position in the stream, or -1."""
        i = bisect_left(self.substream.positions, position)
        there = i < len(self.substream.positions) and self.substream.positions[i] == position
        return i if there else -1


def places(question: Question, lo: int, hi: int) -> Iterator[Place]:
    """Yield the substreams to search, with the events from position lo to hi."""
    stream = question.stream
    outside = _left_out(question)
    attributes = partition_attributes(question.ast)
    keys = {p: partition_key(stream[p], attributes) for p in question.anchors}
    distinct = dict.fromkeys(key for key in keys.values() if key is not None)
    # without any key, search one place, whose failures name the missing attributes
    for key in distinct or {(): None}:
        failures = outside
        for p, own in keys.items():
            failures += _key_failures(stream[p], p, attributes, own, key)
        rows = (
            (i, t)
            for i, t in enumerate(stream.events_between(lo, hi + 1), lo)
            if i in keys or (question.passes(t) and partition_key(t, attributes) == key)
        )
        nowhere = frozenset(p for p, own in keys.items() if own is None)
        yield Place(Substream.of(rows), key, failures, nowhere)


def _left_out(question: Question) -> tuple[Failure, ...]:
    """Return the failures of positions whose events FROM excludes."""
    part, stream = f"FROM {', '.join(map(name_text, question.ast.streams))}", question.stream
    return tuple(
        fail.FROM.failure(part, positions=(p,), clause="from", stream=stream[p].stream)
        for p in question.anchors
        if not question.passes(stream[p])
    )


def _key_failures(
    event: Event, p: int, attributes: tuple[str, ...], own: Key | None, key: Key
) -> tuple[Failure, ...]:
    """Return the failure of an event that is not in the partition of `key`."""
    if own == key:
        return ()
    part = f"PARTITION BY [{', '.join(map(name_text, attributes))}]"
    n, row, other = 0, fail.NO_KEY, ""
    if own is None:
        n = next(n for n, a in enumerate(attributes) if kind_of(value_of(event, a)) is None)
    else:
        row = fail.OTHER_KEY
        n = next(n for n, (a, b) in enumerate(zip(own, key, strict=True)) if a != b)
        other = value_text(key[n][1])
    name, value = name_text(attributes[n]), value_words(event, attributes[n])
    failure = row.failure(
        part, positions=(p,), clause="partition", name=name, value=value, other=other
    )
    return (failure,)


@dataclass(frozen=True, slots=True)
class Context:
    """The context of a subformula: its labels that matter, and the ends of a match that it forms.

    `every` are all labels of the formula, `visible` those whose events are in the answer, `read`
    those that parts above read. `leading` and `trailing` are true if the subformula begins or ends
    the whole. `loose` is true if the other side of an ALL may mark the events that it leaves out.
    """

    every: frozenset[str]
    visible: frozenset[str]
    read: frozenset[str] = frozenset()
    leading: bool = True
    trailing: bool = True
    loose: bool = False


def refuse_streams(of_streams: Collection[tuple[str, str]]) -> None:
    """Raise `Unsupported` if SELECT keeps a label only for events of one stream.

    `why` decides by the label alone whether an event is in the answer.
    """
    for stream, label in sorted(of_streams):
        raise Unsupported(
            "CER0417",
            f"why does not support {label_text(stream, label)} in SELECT and PROJECT",
            hint=f"leave {name_text(stream)}> out, or use FROM {name_text(stream)} instead",
        )


def labels_in(phi: Formula) -> frozenset[str]:
    """Return all labels that a formula may give to events."""
    labels: set[str] = set()
    for psi in subformulas(phi):
        match psi:
            case cel.Atom(R, _):
                labels.add(R)
            case cel.As(_, X):
                labels.add(X)
            case cel.Rename(old, new, _):
                labels |= {old, new}
            case cel.Project():
                refuse_streams(psi.of_streams)
            case _:
                pass
    return frozenset(labels)


def refuse_later_doubt(phi: Formula) -> None:
    """Raise `Unsupported` for a wait that can remove an answer when it ends.

    All other waits only add answers, so an answer of the formula stays an answer.
    """
    for psi in subformulas(phi):
        part: Formula | None = None
        match psi:
            case cel.Unless(_, right):
                part, place = right, "right of UNLESS"
            case Select(strategy, body) if strategy is not Strategy.STRICT:
                part, place = body, f"inside {strategy.value}(..)"
            case _:
                continue
        for wait in subformulas(part):
            if isinstance(wait, cel.Wait):
                raise Unsupported(
                    "CER0414",
                    f"why does not support {formula_node_text(wait)} {place}",
                    hint="ask without the wait; cerlab.evaluate supports it",
                )


def contexts(phi: Formula, above: Context) -> tuple[Context, ...]:
    """Return the contexts of a formula's children, from left to right."""
    match phi:
        case cel.Atom():
            return ()
        case cel.As(_, X):
            visible = above.every if X in above.visible else above.visible
            read = above.every if X in above.read else above.read
            return (replace(above, visible=visible, read=read),)
        case cel.Filter(_, condition):
            return (replace(above, read=above.read | labels_of(condition)),)
        case cel.Project(labels, _, _):
            return (replace(above, visible=above.visible & labels, read=above.read & labels),)
        case cel.Rename(old, new, _):
            visible, read = (_before_renaming(L, old, new) for L in (above.visible, above.read))
            return (replace(above, visible=visible, read=read),)
        case cel.Select():
            return (replace(above, read=above.every),)
        case cel.And():
            side = replace(above, read=above.every)
            return (side, side)
        case cel.All():
            side = replace(above, leading=False, trailing=False, loose=True)
            return (side, side)
        case cel.Or() | cel.Unless():
            return (above, above)
        case cel.Seq() | cel.Concat():
            return (replace(above, trailing=False), replace(above, leading=False))
        case cel.Plus() | cel.ConcatPlus() | cel.Count():
            return (replace(above, leading=False, trailing=False),)
        case cel.Wait():  # WAIT moves the end past the last event of its body
            return (replace(above, trailing=False),)
        case cel.Lookback():
            return (replace(above, leading=False),)
        case cel.Not() | cel.Within():
            return (above,)
        case _:
            assert_never(phi)


def _before_renaming(labels: frozenset[str], old: str, new: str) -> frozenset[str]:
    """Return the labels that a renaming maps to the given ones."""
    return (labels - {old}) | ({old, new} if new in labels else frozenset())


def unmarked_ends(phi: Formula, context: Context) -> tuple[bool, bool]:
    """Return whether a match of a formula may start, and may end, with an unmarked event."""
    match phi:
        case cel.Atom(R, _):
            is_hidden = R not in context.visible
            return is_hidden, is_hidden
        case cel.Not():
            return True, True
        case cel.Seq(left, right) | cel.Concat(left, right):
            before, after = contexts(phi, context)
            return unmarked_ends(left, before)[0], unmarked_ends(right, after)[1]
        case cel.Unless(left, _):
            return unmarked_ends(left, context)
        case cel.Lookback(body):
            (below,) = contexts(phi, context)
            return True, unmarked_ends(body, below)[1]
        case cel.Or(left, right) | cel.And(left, right) | cel.All(left, right):
            first, second = (
                unmarked_ends(side, below)
                for side, below in zip((left, right), contexts(phi, context), strict=True)
            )
            return first[0] or second[0], first[1] or second[1]
        case _:
            (below,) = contexts(phi, context)
            return unmarked_ends(phi.body, below)


class Meter:
    """A measure of intervals in a substream, in the unit of a window."""

    def __init__(self, window: Window | None, time: TimeAxis | None, substream: Substream) -> None:
        self.window = window
        self._axis = time
        self._substream = substream
        self._clock: Clock | None = None
        if isinstance(window, AttributeWindow | TimeWindow):
            self._clock = clock_for(window, time)

    def instant(self, i: int) -> Instant:
        """Return the time of an event, or its index if the window counts events."""
        if self._clock is None:
            return i
        return self._clock(self._substream.events[i], self._substream.positions[i])

    def span(self, start: int, end: int) -> Instant:
        """Return ``end - start`` in the window's unit."""
        return self.instant(end) - self.instant(start)

    def fits(self, start: int, end: int) -> bool:
        """Return whether an interval fits the window; True without a window."""
        return self.window is None or self.span(start, end) <= width_of(self.window)

    def over(self, i: int) -> Instant:
        """Return the time at which a wait from the i-th event ends."""
        assert self.window is not None
        return self.instant(i) + width_of(self.window)

    def last_until(self, i: int) -> int:
        """Return the index of the last event that a wait from the i-th event covers."""
        n = len(self._substream.events)
        return bisect_right(range(n), self.over(i), lo=i, key=self.instant) - 1

    def first_since(self, i: int) -> int:
        """Return the index of the first event that a look-back from the i-th event covers."""
        return bisect_left(range(i), self.since(i), key=self.instant)

    def since(self, i: int) -> Instant:
        """Return the time at which a look-back from the i-th event starts."""
        assert self.window is not None
        return self.instant(i) - width_of(self.window)

    def text(self, instant: Instant, like: int) -> str:
        """Return a time as text, in the form that the events have."""
        event, axis = self._substream.events[like], self._axis
        if isinstance(self.window, TimeWindow) and axis is not None:
            if isinstance(value_of(event, axis.attribute), Timestamp | str):
                return str(Timestamp(int(instant)))
            instant = Fraction(instant) / (axis.unit.value if axis.unit else 1)
        return number_text(instant).replace(",", "")

    def failures(
        self, start: int, end: int, inside: tuple[Path, cel.Within] | None = None
    ) -> tuple[Failure, ...]:
        """Return the failure of an interval that exceeds the window, with the excess.

        `inside` is the path and node of a window inside the formula; None means the query's window.
        """
        if self.window is None or self.fits(start, end):
            return ()
        at, span = self._substream.positions, self.span(start, end)
        part, wide = f"WITHIN {window_text(self.window)}", wider(self.window, span)
        more, ends = _amount(self.window, span), (at[start], at[end])
        if inside is None:
            return (_outside(part, (), more, ends, Widen(wide)),)
        path, phi = inside
        return (_outside(part, path, more, ends, Relax(path, replace(phi, window=wide))),)


def out_of_window(part: Part[Any, Any], e: sre.Window, d: Reading) -> Iterator[Failure]:
    """Yield the failure of a SREMO window that its body exceeds."""
    extent = _extent(e, d, part.goal.events)
    if extent > e.width:
        ends = d.ends if isinstance(e, sre.LengthWindow) else (d.marks[0], d.marks[-1])
        more = number_text(extent - (e.width if isinstance(e.width, int) else Fraction(e.width)))
        yield _outside(node_text(e), part.path, more, ends, Relax(part.path, wider(e, extent)))


def _outside(part: str, path: Path, more: str, ends: Positions, repair: Repair) -> Failure:
    ends = tuple(dict.fromkeys(ends))
    return fail.WINDOW.failure(part, path, ends, more=(repair,), excess=more)


def _extent(e: sre.Window, d: Reading, S: Sequence[Event]) -> Instant:
    match e:
        case sre.SpanWindow():
            return d.marks[-1] - d.marks[0] + 1 if d.marks else 0
        case sre.LengthWindow():
            return d.end - d.start
        case sre.Within(_, _, attribute):
            return duration(d.marks, S, attribute)
        case _:
            assert_never(e)


def _amount(window: Window, span: Instant) -> str:
    """Return as text how much a span exceeds the window."""
    more = span - width_of(window)
    match window:
        case EventWindow():
            return f"{more:,} event{'' if more == 1 else 's'}"
        case AttributeWindow():
            return number_text(more)
        case TimeWindow():
            for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
                if more % size == 0:
                    return f"{number_text(more / Fraction(size))} {unit}"
            return f"{number_text(more)} ns"
        case _:
            assert_never(window)


def number_text(amount: Instant) -> str:
    """Return a number as text, such as ``1,200`` or ``2.5``."""
    whole = Fraction(amount)
    return f"{int(whole):,}" if whole.denominator == 1 else f"{float(whole):,}"


W = TypeVar("W", bound=Window | sre.Window)


def wider(window: W, span: Instant) -> W:
    """Return a window of equal kind just wide enough for a span."""
    match window:
        case TimeWindow():
            return replace(window, nanoseconds=math.ceil(span))
        case AttributeWindow() | sre.Within():
            return replace(window, width=_number(span))
        case _:
            return replace(window, width=int(span))


def _number(span: Instant) -> int | float:
    """Return the smallest number at least as large as the span, as an integer if possible."""
    whole = Fraction(span)
    if whole.denominator == 1:
        return int(whole)
    # the nearest double may be smaller than the fraction
    near = float(whole)
    return near if near >= whole else math.nextafter(near, math.inf)
