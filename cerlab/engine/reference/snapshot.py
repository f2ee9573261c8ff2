"""Snapshots of Algorithm 1 after each event, for pictures and tests (CORE Fig. 6).

A snapshot contains the nodes that are still kept and that some active state has reached since the
start, in the order of their first appearance, children first. A node keeps its number from snapshot
to snapshot, so the nodes that an event adds can be identified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from cerlab.automata.deterministic import Moves
from cerlab.automata.plan import Plan
from cerlab.automata.strategy import Machine
from cerlab.display import Drawable
from cerlab.engine.reference.driver import Driver
from cerlab.engine.reference.tecs import Bottom, Node, Output, TecsEvaluation, Union
from cerlab.errors import ResourceLimit
from cerlab.model.answer import ComplexEvent
from cerlab.model.event import Event
from cerlab.model.stream import TimeAxis, axis_for
from cerlab.predicates.truth import partition_key

MOST_ANSWERS = 20
"""The maximum number of answers that a snapshot lists."""

MAX_EVENTS = 5_000
"""The longest stream with snapshots."""


@dataclass(frozen=True, slots=True)
class TecsNode:
    """A node of a snapshot: its number, and the numbers of its children.

    `position` is the label of a bottom or output node, and the event that created a union. A node
    is expired if the window contains no start below it; its children are then left out.
    """

    number: int
    kind: Literal["bottom", "output", "union"]
    position: int
    max_start: int
    next: int | None = None
    left: int | None = None
    right: int | None = None
    is_expired: bool = False


@dataclass(frozen=True, slots=True)
class ActiveState:
    """An active state of a snapshot: a macro-state, its name, and the nodes of its union-list."""

    state: int
    name: str
    union_list: tuple[int, ...]
    is_final: bool


@dataclass(frozen=True, slots=True)
class StateMove:
    """The transition of one macro-state at the event.

    `source` None is the run that starts here.
    """

    source: str | None
    take: str | None
    skip: str | None


@dataclass(frozen=True, slots=True, repr=False)
class TecsSnapshot(Drawable):
    """The state of Algorithm 1 after the event at `position` (CORE Alg. 1; CORE Fig. 6).

    `active` is T in the order of its keys; `new` are the nodes that this event added. `answers` are
    the answers that end here, in the order of enumeration, at most `MOST_ANSWERS`; `has_more` if
    there are others. Under PARTITION BY it is the substream of `key`. An event in no substream
    changes nothing, and `is_read` is false. `events` are those at the positions of the nodes, and
    the last one. `steps` are the moves of the runs, `symbol` is the truth vector of the event.
    """

    position: int
    event: Event
    nodes: tuple[TecsNode, ...] = ()
    active: tuple[ActiveState, ...] = ()
    new: frozenset[int] = frozenset()
    answers: tuple[ComplexEvent, ...] = ()
    has_more: bool = False
    key: tuple[object, ...] = ()
    is_read: bool = True
    events: tuple[tuple[int, Event], ...] = ()
    steps: tuple[StateMove, ...] = ()
    symbol: int = 0

    def __repr__(self) -> str:
        """Return a summary with the size; `str` also lists the nodes."""
        return f"<TecsSnapshot, {len(self.nodes)} nodes after event {self.position}>"


class _NumberedEvaluation(TecsEvaluation):
    """An evaluation by Algorithm 1 that numbers each node when an active state first reaches it."""

    def __init__(self, machine: Machine, name_of: Callable[[int], str]) -> None:
        super().__init__(machine)
        self._name_of = name_of
        self._numbers: dict[int, int] = {}
        self._nodes: list[tuple[Node, int]] = []
        self._events: dict[int, Event] = {}
        self._next = 0
        self._steps: tuple[StateMove, ...] = ()
        self._symbol = 0

    def advance(self, event: Event, position: int) -> None:
        symbol = self.automaton.symbol(event)
        moves: list[tuple[str | None, Moves]] = [(None, self.automaton.begin(self._idle, symbol))]
        moves += [(self._name_of(q), self.automaton.step(q, symbol)) for q in self.T]
        super().advance(event, position)
        self._symbol = symbol
        self._steps = tuple(
            StateMove(source, *(None if q is None else self._name_of(q) for q in goes))
            for source, goes in moves
        )

    def reset(self) -> None:
        super().reset()
        self._nodes, self._numbers = [], {}

    def snapshot(self, event: Event, position: int, lowest: int) -> TecsSnapshot:
        """Return a snapshot of the current state; `lowest` is the first start in the window."""
        self._events[position] = event
        before = self._next
        for ul in self.T.values():
            for node in ul:
                self._number_all(node, position)
        answers = tuple(islice(self.answers(lowest), MOST_ANSWERS + 1))
        nodes = self._live_nodes(lowest)
        columns = {node.position for node in nodes} | {position}
        return TecsSnapshot(
            position,
            event,
            nodes,
            tuple(
                ActiveState(
                    q,
                    self._name_of(q),
                    tuple(self._numbers[id(node)] for node in ul),
                    self.automaton.final[q],
                )
                for q, ul in self.T.items()
            ),
            frozenset(node.number for node in nodes if node.number >= before),
            answers[:MOST_ANSWERS],
            len(answers) > MOST_ANSWERS,
            events=tuple((p, self._events[p]) for p in sorted(columns)),
            steps=self._steps,
            symbol=self._symbol,
        )

    def _number_all(self, root: Node, position: int) -> None:
        """Assign numbers to a node and the unnumbered nodes below it, children before parents."""
        pending = [root]
        while pending:
            node = pending[-1]
            new = [child for child in _children(node) if id(child) not in self._numbers]
            if id(node) in self._numbers or not new:
                pending.pop()
                if id(node) not in self._numbers:
                    self._numbers[id(node)] = self._next
                    self._nodes.append((node, position))
                    self._next += 1
            else:
                pending += reversed(new)

    def _live_nodes(self, lowest: int) -> tuple[TecsNode, ...]:
        """Return the nodes with starts in the window, and the children of such nodes."""
        live = [(node, position) for node, position in self._nodes if node.max_start >= lowest]
        reachable = {id(child) for node, _ in live for child in _children(node)}
        reachable |= {id(node) for node, _ in live}
        self._nodes = [(node, position) for node, position in self._nodes if id(node) in reachable]
        self._numbers = {id(node): self._numbers[id(node)] for node, _ in self._nodes}
        return tuple(self._tecs_node(node, position, lowest) for node, position in self._nodes)

    def _tecs_node(self, node: Node, position: int, lowest: int) -> TecsNode:
        # a node outside the window may have lost its children already
        is_expired = node.max_start < lowest
        number, start = self._numbers[id(node)], node.max_start
        below = [None if is_expired else self._numbers[id(child)] for child in _children(node)]
        match node:
            case Bottom():
                return TecsNode(number, "bottom", node.position, start, is_expired=is_expired)
            case Output():
                after = below[0] if below else None
                place = node.position
                return TecsNode(number, "output", place, start, after, is_expired=is_expired)
            case _:
                left, right = below or (None, None)
                return TecsNode(number, "union", position, start, None, left, right, is_expired)


def _children(node: Node) -> tuple[Node, ...]:
    """Return the children of a node that are not dropped, a union's left child first."""
    if isinstance(node, Output):
        return () if node.next is None else (node.next,)
    if isinstance(node, Union):
        return () if node.left is None or node.right is None else (node.left, node.right)
    return ()


def snapshots(
    plan: Plan,
    machine: Machine,
    events: Iterable[Event],
    time: TimeAxis | None = None,
    *,
    name_of: Callable[[int], str] = str,
) -> Iterator[TecsSnapshot]:
    """Yield a snapshot after each event; `name_of` returns the name of a macro-state.

    Raises `BadData` as evaluation does, `ResourceLimit` for streams longer than `MAX_EVENTS`.
    """
    events = tuple(events)
    if len(events) > MAX_EVENTS:
        raise ResourceLimit(
            "CER0691",
            f"the stream has {len(events):,} events; snapshots are limited to {MAX_EVENTS:,}",
            hint="use a part of the stream, such as stream[:100]",
        )
    time = axis_for(plan.window, events, time)
    driver = Driver(plan, lambda: _NumberedEvaluation(machine, name_of), time)
    last: TecsSnapshot | None = None
    for position, event in enumerate(events):
        read = driver.read(event, position)
        if read is None:
            left = last or TecsSnapshot(position, event)
            yield replace(
                left,
                position=position,
                event=event,
                new=frozenset(),
                answers=(),
                has_more=False,
                is_read=False,
                steps=(),
            )
            continue
        evaluation, lowest = read
        key = tuple(value for _, value in partition_key(event, plan.partition) or ())
        last = replace(evaluation.snapshot(event, position, lowest), key=key)
        if last.answers:
            driver.consume(evaluation)
        yield last
