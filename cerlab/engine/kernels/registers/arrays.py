"""The arrays of the register engine: rules, live configurations, and what an event makes of them.

Values are codes, int64: -1 compares with nothing; of others the bits from `KIND` on are the kind.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import REGISTERS, Bytes, Int32s, Int64s

Floats: TypeAlias = NDArray[np.float64]

KIND = 36
"""Codes of one kind differ in the bits below this one."""

EQ, NE, LT, LE, GT, GE = range(6)
"""Comparison operators."""

BY_STATE, BY_CONTENTS, BY_KEY = range(3)
"""The lists that each configuration is in: those of its state, those of equal contents, and from
`BY_KEY` on those of the slots that its state is asked by."""


class Rules(NamedTuple):
    """What configurations may do, by symbol: jobs of a symbol, rules of a job.

    A job visits the configurations of a state: all, oldest start first (`chain` is BY_STATE), or
    those in list `chain` of the event's value number `value`. Where it `leaves`, they do not stay.
    A rule is a disjunction of clauses, a clause a conjunction of literals: a comparison of two
    operands, or its negation. An operand is a slot; from ``slots`` on a value of the event; then a
    constant. `move` of a rule is a row of the arrays below.
    """

    jobs: Int32s  # (symbols + 1,)
    state: Int32s  # (jobs,)
    chain: Int32s  # (jobs,)
    value: Int32s  # (jobs,)
    leaves: Bytes  # (jobs,)
    rules: Int32s  # (jobs + 1,)
    move: Int32s  # (rules,)
    clauses: Int32s  # (rules + 1,)
    literals: Int32s  # (clauses + 1,)
    is_negated: Bytes  # (literals,)
    operator: Bytes  # (literals,)
    left: Int32s  # (literals,)
    right: Int32s  # (literals,)
    marks: Bytes  # (moves,)
    begins: Bytes  # (moves,)
    accepts: Bytes  # (moves,)
    target: Int32s  # (moves,), NONE for nowhere
    fill: Int32s  # (moves, slots): the operand that each slot gets, NONE for nothing


class Live(NamedTuple):
    """The live configurations, by number, in doubly linked lists; and the numbers that are free.

    `node` is the set of their matches in the tECS, NONE for the empty match alone; `latest` the
    node that was united with it last. List `chain` with bucket b begins at ``head[chain, b]``.
    """

    state: Int32s  # (room,)
    node: Int32s  # (room,)
    latest: Int32s  # (room,)
    slots: Int64s  # (room, slots)
    next: Int32s  # (chains, room)
    previous: Int32s  # (chains, room)
    head: Int32s  # (chains, buckets), a power of two and no fewer than states
    tail: Int32s  # (chains, buckets)
    free: Int32s  # (room,)
    key_slot: Int32s  # (chains, states): the slot of a list from BY_KEY on, NONE if there is none


class Arrivals(NamedTuple):
    """What an event is going to do: the configurations that arrive, and those that leave."""

    move: Int32s  # (arrivals,)
    node: Int32s  # (arrivals,)
    slots: Int64s  # (arrivals, slots)
    leaving: Int32s  # (room of the configurations,)


class NodeMemo(NamedTuple):
    """What each node became, and at which attempt at an event: once is enough."""

    extension_at: Int64s  # (nodes,)
    extension: Int32s  # (nodes,)
    union_at: Int64s  # (nodes,)
    with_right: Int32s  # (nodes,)
    union: Int32s  # (nodes,)
    matches_at: Int64s  # (nodes,)
    matches: Floats  # (nodes,)


class Configurations(NamedTuple):
    """The configurations, what the event being read does with them, and the sets of matches."""

    live: Live
    arrivals: Arrivals
    memo: NodeMemo
    empty: Int64s  # (1, slots): the slots of the first configuration


class Events(NamedTuple):
    """The events that may do something, in order."""

    symbol: NDArray[np.integer[Any]]  # (events,)
    values: Int64s  # (events, values)
    position: Int64s  # (events,), in the stream
    order: Int64s  # (events,), as windows count
    lowest: Int64s  # (events,): the lowest order of a start inside the window
    constants: Int64s  # (constants,)


FREE, ARRIVALS, DEPARTURES, ATTEMPT, HEAD_BEFORE, BOTTOM, VISITS, ALL = range(
    REGISTERS, REGISTERS + 8
)
"""Registers besides those of `arrays`: free numbers, arrivals, configurations that leave, attempts
at events so far, head of the arena before this attempt, the bottom node of the event, visits of
configurations counted; how many registers there are."""
