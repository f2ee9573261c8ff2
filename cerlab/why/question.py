"""The question whether positions are an answer of a query, and its substreams (DESIGN 3.1)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from cerlab.logic.cel.syntax import Formula, Select, subformulas
from cerlab.logic.ceql.semantics import Substream
from cerlab.logic.ceql.syntax import CeqlQuery, partition_attributes
from cerlab.model.answer import Positions
from cerlab.model.clauses import Strategy
from cerlab.model.clock import TimeAxis, axis_for
from cerlab.model.event import Event, is_of_streams, value_of
from cerlab.model.stream import Stream
from cerlab.predicates.keys import Key, partition_key
from cerlab.predicates.text import name_text, value_text
from cerlab.predicates.truth import kind_of
from cerlab.why.failure import Alter, Failure, Kind, Path, Reach, Relax, Repair, Without
from cerlab.why.filters import value_words
from cerlab.why.labels import Context, labels_in, refuse_streams


@dataclass(frozen=True)
class Question:
    """Positions of a stream, and an interval as far as it is given: are they an answer of a query?

    With `first_order` the formula has the meaning of FO-CEL.
    """

    ast: CeqlQuery
    stream: Stream
    positions: Positions
    start: int | None = None
    end: int | None = None
    first_order: bool = False

    @cached_property
    def _root_strategy(self) -> Select | None:
        """A strategy that is the root of the formula: the same as one in SELECT."""
        ast, phi = self.ast, self.ast.formula
        outside = ast.strategy is not None or ast.items is not None
        return phi if isinstance(phi, Select) and not outside else None

    @property
    def formula(self) -> Formula:
        """The formula below the strategy that compares its answers, at `path` in the query's."""
        return self._root_strategy.body if self._root_strategy else self.ast.formula

    @property
    def path(self) -> Path:
        """Where `formula` is in the query's formula."""
        return (0,) if self._root_strategy else ()

    @property
    def strategy(self) -> Strategy | None:
        """The strategy around `formula`."""
        return self._root_strategy.strategy if self._root_strategy else self.ast.strategy

    @property
    def without_strategy(self) -> Repair:
        """Leave out the strategy around `formula`, where it stands."""
        return Relax((), self.formula) if self.path else Without("strategy")

    @cached_property
    def time(self) -> TimeAxis | None:
        """The axis that a window in hours, minutes or seconds measures."""
        return axis_for(self.ast.window, self.stream, self.stream.time)

    @property
    def context(self) -> Context:
        """What the formula has above it: SELECT, which chooses labels."""
        every = labels_in(self.ast.formula)
        if self.ast.items is None:
            return Context(every, every)
        refuse_streams([(i.stream, i.label) for i in self.ast.items if i.stream is not None])
        return Context(every, every & {item.label for item in self.ast.items})

    @property
    def anchors(self) -> Positions:
        """The positions that have to be in one substream: the ends too, if they are given."""
        ends = {p for p in (self.start, self.end) if p is not None}
        return tuple(sorted({*self.positions, *ends}))

    def passes(self, event: Event) -> bool:
        """Whether FROM lets an event in."""
        return is_of_streams(event, self.ast.streams)


def out_of_stream(positions: Positions, stream: Stream) -> tuple[Failure, ...]:
    """The positions that the stream does not have."""
    n = len(stream)
    return tuple(
        Failure(
            Kind.POSITION,
            f"position {p} is out of the stream, which has {n:,} events",
            positions=(p,),
        )
        for p in positions
        if not 0 <= p < n
    )


def other_interval(
    real: tuple[int, int], start: int | None, end: int | None
) -> tuple[Failure, ...]:
    """Another interval than the one that was asked for."""
    goal = (real[0] if start is None else start, real[1] if end is None else end)
    if goal == real:
        return ()
    words = f"it starts at {real[0]} and ends at {real[1]}, not [{goal[0]}, {goal[1]}]"
    return (Failure(Kind.INTERVAL, words, positions=real, repairs=(Reach(*real),)),)


@dataclass(frozen=True, slots=True)
class Place:
    """A substream in which the positions are looked for, as if those that are not in it were.

    `failures` are the clauses that keep some of the positions out.
    """

    substream: Substream
    key: Key
    failures: tuple[Failure, ...]

    def local(self, position: int) -> int:
        """The place in the substream of a position of the stream; -1 if it is not there."""
        i = bisect_left(self.substream.positions, position)
        there = i < len(self.substream.positions) and self.substream.positions[i] == position
        return i if there else -1


def places(question: Question, lo: int, hi: int) -> Iterator[Place]:
    """The substreams that some of the positions are in, with the events from lo to hi."""
    stream = question.stream
    outside = _left_out(question)
    attributes = partition_attributes(question.ast)
    keys = {p: partition_key(stream[p], attributes) for p in question.anchors}
    distinct = dict.fromkeys(key for key in keys.values() if key is not None)
    for key in distinct or {(): None}:
        failures = outside
        for p, own in keys.items():
            failures += _key_failures(stream[p], p, attributes, own, key)
        rows = (
            (i, t)
            for i, t in enumerate(stream.events[lo : hi + 1], lo)
            if i in keys or (question.passes(t) and partition_key(t, attributes) == key)
        )
        yield Place(Substream.of(rows), key, failures)


def _left_out(question: Question) -> tuple[Failure, ...]:
    """What FROM leaves out."""
    streams = ", ".join(map(name_text, question.ast.streams))
    return tuple(
        Failure(
            Kind.FROM,
            f"FROM {streams} leaves out event {p}, which is of stream {question.stream[p].stream}",
            f"FROM {streams}",
            positions=(p,),
            repairs=(Without("from"), Alter(p)),
        )
        for p in question.anchors
        if not question.passes(question.stream[p])
    )


def _key_failures(
    event: Event, p: int, attributes: tuple[str, ...], own: Key | None, key: Key
) -> tuple[Failure, ...]:
    """Why an event is not in the partition of a key."""
    if own == key:
        return ()
    part = f"PARTITION BY [{', '.join(map(name_text, attributes))}]"
    repairs = (Without("partition"), Alter(p))
    if own is None:
        name = next(a for a in attributes if kind_of(value_of(event, a)) is None)
        words = f"{name_text(name)} is {value_words(event, name)} at {p}, so in no partition"
    else:
        differing = [
            n for n, (here, there) in enumerate(zip(own, key, strict=True)) if here != there
        ]
        name = attributes[differing[0]]
        words = (
            f"event {p} is in another partition: {name_text(name)} is {value_words(event, name)}, "
            f"not {value_text(key[differing[0]][1])}"
        )
    return (Failure(Kind.PARTITION, words, part, positions=(p,), repairs=repairs),)


def compares_with_all(phi: Formula) -> bool:
    """Whether a strategy inside a formula compares answers from the substream's beginning on."""
    return any(
        isinstance(psi, Select) and psi.strategy is not Strategy.STRICT for psi in subformulas(phi)
    )
