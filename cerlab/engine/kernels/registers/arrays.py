"""The arrays of the register engine: rules, live configurations, and what an event makes of them.

Values are codes, int64: -1 compares with nothing; of others the bits from `KIND` on are the kind.
"""

from __future__ import annotations

from typing import NamedTuple

from cerlab.engine.kernels.arrays import REGISTERS, Ints

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

    jobs: Ints  # int32 (symbols + 1,)
    state: Ints  # int32 (jobs,)
    chain: Ints  # int32 (jobs,)
    value: Ints  # int32 (jobs,)
    leaves: Ints  # uint8 (jobs,)
    rules: Ints  # int32 (jobs + 1,)
    move: Ints  # int32 (rules,)
    clauses: Ints  # int32 (rules + 1,)
    literals: Ints  # int32 (clauses + 1,)
    negated: Ints  # uint8 (literals,)
    operator: Ints  # uint8 (literals,)
    left: Ints  # int32 (literals,)
    right: Ints  # int32 (literals,)
    marks: Ints  # uint8 (moves,)
    begins: Ints  # uint8 (moves,)
    accepts: Ints  # uint8 (moves,)
    target: Ints  # int32 (moves,), NONE for nowhere
    fill: Ints  # int32 (moves, slots): the operand that each slot gets, NONE for nothing


class Live(NamedTuple):
    """The live configurations, by number, in doubly linked lists; and the numbers that are free.

    `node` is the set of their matches in the tECS, NONE for the empty match alone; `latest` the
    node that was united with it last. List `chain` with bucket b begins at ``head[chain, b]``.
    """

    state: Ints  # int32 (room,)
    node: Ints  # int32 (room,)
    latest: Ints  # int32 (room,)
    slots: Ints  # int64 (room, slots)
    next: Ints  # int32 (chains, room)
    previous: Ints  # int32 (chains, room)
    head: Ints  # int32 (chains, buckets), a power of two and no fewer than states
    tail: Ints  # int32 (chains, buckets)
    free: Ints  # int32 (room,)
    asked: Ints  # int32 (chains, states): the slot of a list from BY_KEY on, NONE if there is none


class Pending(NamedTuple):
    """What an event does, before it is done: arrivals, and the configurations that leave."""

    move: Ints  # int32 (arrivals,)
    node: Ints  # int32 (arrivals,)
    slots: Ints  # int64 (arrivals, slots)
    leaving: Ints  # int32 (room of the configurations,)


class Made(NamedTuple):
    """What was made of each node at the attempt `of`, `joined` or `counted`, to be made once."""

    of: Ints  # int64 (nodes,)
    extended: Ints  # int32 (nodes,)
    joined: Ints  # int64 (nodes,)
    with_right: Ints  # int32 (nodes,)
    union: Ints  # int32 (nodes,)
    counted: Ints  # int64 (nodes,)
    count: Ints  # float64 (nodes,)


class Events(NamedTuple):
    """The events that may do something, in order."""

    symbol: Ints  # integer (events,)
    values: Ints  # int64 (events, values)
    position: Ints  # int64 (events,), in the stream
    order: Ints  # int64 (events,), as windows count
    lowest: Ints  # int64 (events,): the lowest order of a start inside the window
    constants: Ints  # int64 (constants,)


FREE, ARRIVED, LEFT, ATTEMPT, BEGUN, BOTTOM, VISITS, ALL = range(REGISTERS, REGISTERS + 8)
"""Registers besides those of `arrays`: free numbers, arrivals, configurations that leave, attempts
at events so far, head of the arena before this attempt, the bottom node of the event, visits of
configurations counted; how many registers there are."""
