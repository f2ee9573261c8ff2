"""What was asked, and the substreams in which it is looked for (DESIGN 3.1)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from cerlab.logic.cel.syntax import Formula, Select, subformulas
from cerlab.logic.ceql.semantics import Substream
from cerlab.logic.ceql.syntax import CeqlQuery, partition_attributes
from cerlab.model.answer import Positions
from cerlab.model.clauses import Strategy, TimeWindow
from cerlab.model.clock import TimeAxis, only_timestamp
from cerlab.model.event import Event, value_of
from cerlab.model.stream import Stream
from cerlab.predicates.keys import Key, partition_key
from cerlab.predicates.text import name_text, value_text
from cerlab.predicates.truth import kind_of
from cerlab.why.conditions import value_said
from cerlab.why.context import Context, labels_in
from cerlab.why.failure import Alter, Failure, Kind, Path, Relax, Repair, Without


@dataclass(frozen=True, slots=True)
class Asked:
    """Positions of a stream, and whether they are an answer of a query.

    `time` is the axis that a window in hours, minutes or seconds measures. `formula` is at `path`
    in the query's formula, and `strategy` compares its answers: a strategy that is the root of the
    formula is the same as one in SELECT. With `first_order` it has the meaning of FO-CEL.
    """

    ast: CeqlQuery
    stream: Stream
    positions: Positions
    start: int | None
    end: int | None
    time: TimeAxis | None
    formula: Formula
    path: Path
    strategy: Strategy | None
    first_order: bool

    @property
    def needed(self) -> Positions:
        """The positions that have to be in one substream: the ends too, if they are given."""
        ends = {p for p in (self.start, self.end) if p is not None}
        return tuple(sorted({*self.positions, *ends}))

    def passes(self, event: Event) -> bool:
        """Whether FROM lets an event in."""
        streams = self.ast.streams
        return not streams or event.stream is None or event.stream in streams

    @property
    def without_strategy(self) -> Repair:
        """Leave out the strategy around the formula, where it stands."""
        return Relax((), self.formula) if self.path else Without("strategy")

    @property
    def context(self) -> Context:
        """What the formula has above it: SELECT, which chooses labels."""
        every = labels_in(self.ast.formula)
        if self.ast.items is None:
            return Context(every, every)
        return Context(every, every & {item.label for item in self.ast.items})


def asked(
    ast: CeqlQuery,
    stream: Stream,
    positions: Positions,
    start: int | None,
    end: int | None,
    *,
    first_order: bool = False,
) -> Asked:
    """The question about a query, a stream and positions."""
    time = stream.time
    if time is None and isinstance(ast.window, TimeWindow):
        time = only_timestamp(stream)
    formula, path, strategy = _without_root_strategy(ast)
    return Asked(
        ast, stream, positions, start, end, time, formula, path, strategy, first_order=first_order
    )


def _without_root_strategy(ast: CeqlQuery) -> tuple[Formula, Path, Strategy | None]:
    """The formula below the strategy around it, where that is, and the strategy."""
    match ast.formula:
        case Select(strategy, body) if ast.strategy is None and ast.items is None:
            return body, (0,), strategy
        case formula:
            return formula, (), ast.strategy


def out_of_stream(question: Asked) -> tuple[Failure, ...]:
    """The positions and ends that the stream does not have."""
    n = len(question.stream)
    ends = [p for p in (question.start, question.end) if p is not None]
    return tuple(
        Failure(
            Kind.POSITION,
            f"position {p} is out of the stream, which has {n:,} events",
            positions=(p,),
        )
        for p in sorted({*question.positions, *ends})
        if not 0 <= p < n
    )


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


def places(question: Asked, lo: int, hi: int) -> Iterator[Place]:
    """The substreams that some of the positions are in, with the events from lo to hi."""
    stream = question.stream
    outside = _left_out(question)
    attributes = partition_attributes(question.ast)
    keys = {p: partition_key(stream[p], attributes) for p in question.needed}
    found = dict.fromkeys(key for key in keys.values() if key is not None)
    for key in found or {(): None}:
        failures = outside
        for p, own in keys.items():
            failures += _key_failures(stream[p], p, attributes, own, key)
        rows = (
            (i, t)
            for i, t in enumerate(stream.events[lo : hi + 1], lo)
            if i in keys or (question.passes(t) and partition_key(t, attributes) == key)
        )
        yield Place(Substream.of(rows), key, failures)


def _left_out(question: Asked) -> tuple[Failure, ...]:
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
        for p in question.needed
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
        words = f"{name_text(name)} is {value_said(event, name)} at {p}, so in no partition"
    else:
        differing = [
            n for n, (here, there) in enumerate(zip(own, key, strict=True)) if here != there
        ]
        name = attributes[differing[0]]
        words = (
            f"event {p} is in another partition: {name_text(name)} is {value_said(event, name)}, "
            f"not {value_text(key[differing[0]][1])}"
        )
    return (Failure(Kind.PARTITION, words, part, positions=(p,), repairs=repairs),)


def compares_with_all(phi: Formula) -> bool:
    """Whether a strategy inside the formula looks at the substream from its beginning."""
    return any(
        isinstance(psi, Select) and psi.strategy is not Strategy.STRICT for psi in subformulas(phi)
    )
