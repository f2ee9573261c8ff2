"""Sessions of queries with waits: an answer is returned when the clock decides it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf
from operator import lt
from typing import Any

import numpy as np

from cerlab.automata.plan import WaitPlan
from cerlab.budget import poll
from cerlab.engine.answers import (
    until_bad,
)
from cerlab.engine.codec import AXIS, Layout
from cerlab.engine.kernels.arrays import NONE
from cerlab.engine.state import TECS
from cerlab.engine.state_checks import expect, is_whole
from cerlab.engine.symbol_tables import LearnedTables
from cerlab.engine.tecs_run import FEW
from cerlab.engine.waits.bodies import AutomatonBody, TransducerBody, body_of
from cerlab.engine.waits.look_back import Source
from cerlab.engine.waits.reading import Arrival, EventReader
from cerlab.engine.waits.stage import NO_PLACES, SOME, Arrivals, Stage
from cerlab.errors import BadData
from cerlab.model.answer import ComplexEvent, by_end
from cerlab.model.columns import slice_columns
from cerlab.model.event import Event
from cerlab.model.stream import (
    Stream,
    TimeAxis,
    Until,
)

WAITS = Layout(
    "cerlab-waits",
    5,
    {
        "time": AXIS,
        "is_over": bool,
        "reader": tuple,
        "stage": tuple,
        "bodies": tuple,
        "nodes": tuple,
        "given": tuple,
    },
    TECS,
)
"""The saved values: the axis of waits in hours, minutes or seconds; whether events have ended; the
state of the reader and of the stage; the state of each body except arrays; the nodes of each
automaton; the given answers that may come again. The arrays are those of all automata, one
automaton after the other."""


class WaitRun:
    """A session of a query with waits; it returns each answer when the clock decides it."""

    lowest = 0

    def __init__(
        self, plan: WaitPlan, tables: Mapping[int, LearnedTables], time: TimeAxis | None
    ) -> None:
        """Create the session; `tables` are the compiled tables of the plan's automata.

        Raises `UsageError` without a time axis.
        """
        self._plan = plan
        self._waits = bool(plan.waits)
        self._reader = EventReader(plan, tables, time)
        self._stage = Stage(plan.branches, plan.waits)
        self._bodies = [
            body_of(plan.plans[branch.body], tables.get(branch.body)) for branch in plan.branches
        ]
        self._first_queues = [*map(self._stage.first_queue, range(len(plan.branches)))]
        self._compares = any(isinstance(body, TransducerBody) for body in self._bodies)
        self.is_over = False
        """True after the end of the events was declared."""
        self._given: dict[int, set[ComplexEvent]] = {}
        """The given answers, by end, if an answer may come twice."""
        self._many_ends = 64
        self._due = self._stage.due()
        """For each clock, the time after which some answer may become known."""
        self._rows: list[Arrival] = []
        """Events that the stage has not read yet, because no answer depends on them so far."""

    @property
    def position(self) -> int:
        """The number of events read."""
        return self._reader.position

    def push(self, stream: Stream) -> tuple[list[ComplexEvent], BadData | None]:
        """Read events; return the answers now decided, and the error of a bad event.

        A bad event, whose time is missing or goes back, and those after it are not read. No event
        may come after the end.
        """
        known, error = list[ComplexEvent](), None
        try:
            if self._compares or (not stream.is_columnar and len(stream) <= FEW):
                for event in stream.events:
                    poll()
                    known += self._read_event(event)
            else:
                known += self._known(flush=True)
                for some in until_bad(self._push, stream.columns, len(stream), slice_columns):
                    known += some
        except BadData as bad:
            error = bad
        known += self._known()
        if len(known) > 1:
            known.sort(key=by_end)
        return known, error

    def _read_event(self, event: Event) -> Sequence[ComplexEvent]:
        """Read one event; return the answers that it decides.

        Raises `BadData` before changing anything.
        """
        if (arrival := self._reader.read_event(event)) is None:
            return ()
        bounds = dict(zip(self._reader.sources, arrival.bounds, strict=True))
        if self._compares:
            for body, symbol in zip(self._bodies, arrival.symbols, strict=True):
                if symbol != NONE and isinstance(body, TransducerBody):
                    body.keep(event, arrival.position, bounds)
        if not self._waits:
            return self._at_once(arrival, bounds)
        self._rows.append(arrival)
        for queue, symbol in zip(self._first_queues, arrival.symbols, strict=True):
            if symbol != NONE:
                if queue is None:
                    self._due[0] = -inf
                else:
                    due = arrival.times[queue.axis] + queue.width
                    self._due[queue.axis] = min(self._due[queue.axis], due)
        return ()

    def _at_once(self, arrival: Arrival, bounds: Mapping[Source, int]) -> Sequence[ComplexEvent]:
        """Return the answers at an event that need no wait, without building columns."""
        position, key, _, _, symbols = arrival
        answers = list[ComplexEvent]()
        for n, symbol in enumerate(symbols):
            if symbol != NONE:
                lowest, given = self._stage.fate(n, position, bounds)
                body = self._bodies[n]
                looks = self._reader.look_backs[n]
                for some in body.read_one(position, key, symbol, position, lowest, given):
                    answers += some if looks is None else looks.move(some)
        self._forget_look_backs()
        return self._fresh(answers)

    def _push(self, columns: Mapping[str, Any], length: int) -> Iterator[list[ComplexEvent]]:
        """Return the answers decided by a batch; if it has a bad event, raise before reading any.

        Otherwise raise first.
        """
        arrivals = self._reader.read(columns, length)
        return iter([self._carried(arrivals)])

    def advance(self, until: Until) -> list[ComplexEvent]:
        """Record that all events before a time have arrived; return the answers now decided.

        Raises `UsageError` for an invalid time, `BadData` for one before the last event. A promise
        that is weaker than an earlier one has no effect.
        """
        if until == "end":
            self.is_over = True
        elif self._waits:
            self._reader.promise(until)
        return sorted(self._known(), key=by_end)

    def _known(self, *, flush: bool = False) -> list[ComplexEvent]:
        """Return the answers that are decided now.

        Rows are held back while they contain no due end.
        """
        now, rows = self._reader.now, self._rows
        is_due = self.is_over or any(map(lt, self._due, now))
        if not (is_due or (rows and (flush or len(rows) >= SOME))):
            return []
        self._rows = []
        return self._carried(self._reader.arrivals(rows))

    def _carried(self, arrivals: Arrivals) -> list[ComplexEvent]:
        """Read events; return the answers whose waits are then over."""
        known = self._stage.read(arrivals, None if self.is_over else self._reader.now)
        self._due = self._stage.due()
        answers = list[ComplexEvent]()
        every = zip(self._bodies, known, self._reader.look_backs, strict=True)
        for body, ends, looks in every:
            if len(ends.of):
                for some in body.read(ends, self._reader.keys):
                    answers += some if looks is None else looks.move(some)
        self._forget_look_backs()
        return self._fresh(answers)

    def _forget_look_backs(self) -> None:
        for looks in self._reader.look_backs:
            if looks is not None:
                looks.forget()

    def _fresh(self, answers: list[ComplexEvent]) -> list[ComplexEvent]:
        """Return the answers that this session has not returned before."""
        if not (answers and self._plan.repeats):
            return answers
        fresh = []
        for answer in answers:
            # a repeated answer has the same last event, which is still the last of its substream
            given = self._given.setdefault(answer.end, set())
            if answer not in given:
                given.add(answer)
                fresh.append(answer)
        if len(self._given) > self._many_ends:
            self._forget_given()
            self._many_ends = 64 + 2 * len(self._given)
        return fresh

    def _forget_given(self) -> None:
        """Forget returned answers unless they end at the last event of a substream."""
        last = set(self._stage.last(self._reader.keys))
        self._given = {end: given for end, given in self._given.items() if end in last}

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the values and arrays of a saved state (`WAITS`), except the time axis."""
        known = self._known(flush=True)
        assert not known, "a push gives what is known"
        self._forget_given()
        keys, bodies, parts = self._reader.keys, list[Any](), list[dict[str, Any]]()
        for body in self._bodies:
            if isinstance(body, AutomatonBody):
                of_body, arrays = body.state(keys)
                bodies.append(of_body)
                parts.append(arrays)
            else:
                bodies.append(body.state())
        values = {
            "is_over": self.is_over,
            "reader": self._reader.state(),
            "stage": self._stage.state([tests.vectors for tests in self._reader.tests], keys),
            "bodies": bodies,
            "nodes": [len(arrays["position"]) for arrays in parts],
            "given": [
                (answer.start, answer.end, answer.positions)
                for given in self._given.values()
                for answer in given
            ],
        }
        return values, {
            name: np.concatenate([NO_PLACES, *(arrays[name] for arrays in parts)]) for name in TECS
        }

    def resume(self, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Restore the result of `state`; damaged values raise `BadData` or another error."""
        self.is_over = values["is_over"]
        self._reader.resume(values["reader"])
        keys, read = self._reader.keys, self.position
        symbols = [tests.symbol_of for tests in self._reader.tests]
        waiting = self._stage.resume(values["stage"], symbols, self._reader.sources, keys, read)
        self._due = self._stage.due()
        parts = _split(arrays, values["nodes"], keys)
        for body, of_body, ends in zip(self._bodies, values["bodies"], waiting, strict=True):
            if isinstance(body, AutomatonBody):
                body.resume(of_body, next(parts), ends, read)
            else:
                body.resume(of_body, ends, keys, read)
        expect(next(parts, None) is None, "the number of automata")
        for start, end, positions in values["given"]:
            places = (start, *positions, end)
            expect(all(is_whole(p, 0, read) for p in places), "the places of an answer")
            expect(all(a <= b for a, b in pairwise(places)), "the places of an answer")
            self._given.setdefault(end, set()).add(ComplexEvent(start, end, tuple(positions)))


def _split(arrays: Mapping[str, Any], nodes: Sequence[Any], keys: int) -> Iterator[dict[str, Any]]:
    """Yield the saved arrays of each automaton; raise `BadData` if their sizes are wrong."""
    rest = dict(arrays)
    for count in nodes:
        expect(is_whole(count), "the number of nodes")
        sizes, part = {"nodes": count, "partitions": keys}, dict[str, Any]()
        for name, declared in TECS.items():
            dimension = declared.split()[1]
            if dimension == "pool":  # the lengths of the partitions determine the size of the pool
                sizes["pool"] = int(part["length"].sum())
            size = sizes[dimension]
            part[name], rest[name] = rest[name][:size], rest[name][size:]
            expect(len(part[name]) == size, "the sizes of its arrays")
        yield part
    expect(not any(map(len, rest.values())), "the sizes of its arrays")
