"""Rules: the moves of configurations at each symbol, as tables for kernels.

A state in which every configuration stays unchanged, by a transition that is TRUE and does nothing,
costs nothing. In other states only the transitions that the symbol enables are tried. A transition
that requires a slot to equal a value of the event is tried only on the configurations with that
value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import NONE, Int32s, flat, row_offsets
from cerlab.engine.kernels.registers import BY_KEY, BY_STATE, EQ, GE, GT, LE, LT, NE, Rules
from cerlab.engine.registers.program import (
    DEAD,
    PARTITION,
    Clause,
    Literal,
    Move,
    RegisterProgram,
    Slot,
    clauses,
    residual,
    slot_of,
)
from cerlab.model.event import Value
from cerlab.predicates import syntax as pred
from cerlab.predicates.syntax import Atom, Operator, Predicate
from cerlab.predicates.truth import evaluate

SAME_PARTITION = Literal(
    pred.RegisterComparison(
        pred.Operator.EQ, PARTITION.value, pred.RegisterAttribute(PARTITION.register, "")
    ),
    is_negated=False,
)


class Job(NamedTuple):
    """Rules for all configurations of a state, or for those whose slot has the event's value."""

    state: int
    slot: int
    value: int
    leaves: bool
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Tables:
    """The rules for all symbols in arrays, with the slots for looking configurations up.

    `keep` (symbols,): whether the symbol can change anything. `unambiguous`: each match has one run
    (`cerlab.engine.registers.rules`).
    """

    rules: Rules
    key_slot: Int32s
    keep: NDArray[np.bool_]
    unambiguous: bool


def tables(
    program: RegisterProgram, names: Names, atoms: Sequence[Atom], vectors: Sequence[int]
) -> Tables:
    """Return the tables for symbols by truth vectors; bit k of a vector is for ``atoms[k]``.

    Raises `NotTaken`.
    """
    fill = [_fill(program, names, move) for move in program.moves]
    symbols = _rules(program, atoms, vectors)
    jobs = [
        [job for q in sorted(rules) for job in _jobs(program, names, fill, q, rules[q])]
        for rules in symbols
    ]
    key_slot = _key_slots(program, jobs)
    keep = np.array([bool(of_symbol) for of_symbol in jobs], np.bool_)
    arrays = _arrays(program, names, fill, jobs, key_slot)
    return Tables(arrays, key_slot, keep, unambiguous(program.moves, symbols))


def labelling_tables(
    program: RegisterProgram, names: Names, atoms: Sequence[Predicate], vectors: Sequence[int]
) -> tuple[Rules, NDArray[np.bool_]]:
    """Return the rules of a labelling program, one job for each symbol and state.

    Also return, by symbol and state, whether an event that is not taken leaves the state's
    configurations unchanged. Raises `NotTaken`.
    """
    fill = [_fill(program, names, move) for move in program.moves]
    symbols = _rules(program, atoms, vectors)
    every = range(program.states)
    jobs = [[Job(q, NONE, NONE, True, tuple(rules.get(q, ()))) for q in every] for rules in symbols]
    waits = np.zeros((len(symbols), program.states), np.bool_)
    for s, rules in enumerate(symbols):
        for q, of_state in rules.items():
            passing = [r for r in of_state if not program.moves[r.move].marks]
            waits[s, q] = passing == _waiting(program, names, fill, q, of_state) != []
    return _arrays(program, names, fill, jobs, np.empty((0, 0), np.int32)), waits


def _rules(
    program: RegisterProgram, atoms: Sequence[Predicate], vectors: Sequence[int]
) -> list[dict[int, list[Rule]]]:
    """Return, for each symbol and reachable state, the moves that are possible."""
    bit = {atom: k for k, atom in enumerate(atoms)}
    leaving: list[list[int]] = [[] for _ in range(program.states)]
    for n, move in enumerate(program.moves):
        leaving[move.source].append(n)
    reachable = sorted({0, *(move.target for move in program.moves)} - {DEAD})
    symbols = []
    for vector in vectors:
        by_move = _clauses_of_moves(program.moves, vector, bit)
        symbols.append(
            {q: [Rule(n, by_move[n]) for n in leaving[q] if by_move[n]] for q in reachable}
        )
    return symbols


def _clauses_of_moves(
    moves: Sequence[Move], vector: int, bit: Mapping[Predicate, int]
) -> list[tuple[Clause, ...]]:
    def holds(atom: Atom) -> bool:
        return bool(vector >> bit[atom] & 1)

    return [clauses(residual(move.guard, holds)) for move in moves]


def _fill(program: RegisterProgram, names: Names, move: Move) -> list[int]:
    """Return what a move stores in each slot: an operand's number, or NONE."""
    live = program.live[move.target] if move.target != DEAD else frozenset[Slot]()
    first = len(names.slots)
    return [
        NONE
        if slot not in live
        else first + names.values.index(slot.value)
        if slot.register in move.writes
        else n
        for n, slot in enumerate(names.slots)
    ]


def _jobs(
    program: RegisterProgram, names: Names, fill: Sequence[Sequence[int]], q: int, rules: list[Rule]
) -> list[Job]:
    """Return the jobs for the configurations of state q at a symbol.

    With substreams, configurations of other substreams stay, so they are not visited.
    """
    waiting = _waiting(program, names, fill, q, rules)
    rest = tuple(r for r in rules if r not in waiting)
    inside = program.is_partitioned and q != 0
    if inside:
        rest = tuple(
            Rule(r.move, tuple(clause | {SAME_PARTITION} for clause in r.clauses)) for r in rest
        )
    if not waiting and inside:
        slot, value = _sides(names, SAME_PARTITION)
        return [Job(q, slot, value - len(names.slots), True, rest)]
    if not waiting:
        return [Job(q, NONE, NONE, True, rest)]
    by_key: dict[tuple[int, int], list[Rule]] = {}
    for rule in rest:
        by_key.setdefault(_key(names, rule), []).append(rule)
    return [Job(q, slot, value, False, tuple(of)) for (slot, value), of in by_key.items()]


def _waiting(
    program: RegisterProgram, names: Names, fill: Sequence[Sequence[int]], q: int, rules: list[Rule]
) -> list[Rule]:
    """Return the rules that change no configuration of state q."""
    own = [n if slot in program.live[q] else NONE for n, slot in enumerate(names.slots)]
    return [
        r
        for r in rules
        if frozenset() in r.clauses and _waits(program.moves[r.move], fill[r.move], own)
    ]


def _waits(move: Move, fill: Sequence[int], own: Sequence[int]) -> bool:
    """Return whether a move changes no configuration."""
    same = move.source == move.target and list(fill) == list(own)
    return same and not (move.marks or move.begins or move.accepts)


def _key(names: Names, rule: Rule) -> tuple[int, int]:
    """Return a slot and an event value that a rule compares with ``=``, or NONE twice."""
    if len(rule.clauses) == 1:
        (clause,) = rule.clauses
        # sorted, since sets have no order: a query gets the same lists in every process
        for literal in sorted(clause, key=repr):
            if literal.comparison.operator is pred.Operator.EQ and not literal.is_negated:
                a, b = _sides(names, literal)
                if a < len(names.slots) <= b < len(names.slots) + len(names.values):
                    return a, b - len(names.slots)
    return NONE, NONE


def _sides(names: Names, literal: Literal) -> tuple[int, int]:
    """Return the numbers of a comparison's two operands, the lower one first."""
    left = names.number(literal.comparison.left)
    right = names.number(literal.comparison.right)
    return min(left, right), max(left, right)


def _key_slots(program: RegisterProgram, jobs: Sequence[Sequence[Job]]) -> Int32s:
    """Return the slot by which each list is indexed, for each state: (lists, states)."""
    slots: list[dict[int, None]] = [{} for _ in range(program.states)]
    for of_symbol in jobs:
        for job in of_symbol:
            if job.slot != NONE:
                slots[job.state][job.slot] = None
    key_slot = np.full((BY_KEY + max(map(len, slots)), program.states), NONE, np.int32)
    for q, of_state in enumerate(slots):
        key_slot[BY_KEY : BY_KEY + len(of_state), q] = list(of_state)
    return key_slot


def _arrays(
    program: RegisterProgram,
    names: Names,
    fill: Sequence[Sequence[int]],
    by_symbol: Sequence[Sequence[Job]],
    key_slot: Int32s,
) -> Rules:
    jobs = [job for of_symbol in by_symbol for job in of_symbol]
    rules = [rule for job in jobs for rule in job.rules]
    conjunctions = [clause for rule in rules for clause in rule.clauses]

    def columns_of_job(job: Job) -> tuple[int, int, int, bool]:
        return job.state, _chain(key_slot, job), job.value, job.leaves

    def columns_of_literal(each: Literal) -> tuple[bool, int, int, int]:
        sides = names.number(each.comparison.left), names.number(each.comparison.right)
        return each.is_negated, OPERATORS[each.comparison.operator], *sides

    literals = [[columns_of_literal(each) for each in sorted(c, key=repr)] for c in conjunctions]
    moves = [(move.marks, move.begins, move.accepts, move.target) for move in program.moves]
    of_jobs = [[*map(columns_of_job, of_symbol)] for of_symbol in by_symbol]
    ints, flags = np.int32, np.uint8
    return Rules._make(
        (
            *flat(of_jobs, ints, ints, ints, flags),
            *flat([[(rule.move,) for rule in job.rules] for job in jobs], ints),
            row_offsets([rule.clauses for rule in rules]),
            *flat(literals, flags, flags, ints, ints),
            *flat([moves], flags, flags, flags, ints)[1:],
            np.array(fill, np.int32).reshape(len(moves), len(names.slots)),
        )
    )


def _chain(key_slot: Int32s, job: Job) -> int:
    if job.slot == NONE:
        return BY_STATE
    slots: list[int] = key_slot[BY_KEY:, job.state].tolist()
    return BY_KEY + slots.index(job.slot)


OPERATORS = {
    pred.Operator.EQ: EQ,
    pred.Operator.NE: NE,
    pred.Operator.LT: LT,
    pred.Operator.LE: LE,
    pred.Operator.GT: GT,
    pred.Operator.GE: GE,
}


class Names(NamedTuple):
    """The operands of comparisons in a program: slots, then event values, then constants."""

    slots: tuple[Slot, ...]
    values: tuple[pred.Expression, ...]
    """The columns that events provide: attributes, and results computed from some."""
    constants: tuple[pred.Expression, ...]

    def number(self, side: pred.Expression) -> int:
        """Return the number of a side of a comparison."""
        if (slot := slot_of(side)) is not None:
            return self.slots.index(slot)
        if side in self.values:
            return len(self.slots) + self.values.index(side)
        return len(self.slots) + len(self.values) + self.constants.index(side)

    def of_constants(self) -> list[Value]:
        """Return the values of the constants."""
        return [evaluate(None, each) for each in self.constants]


def event_atoms(program: RegisterProgram) -> tuple[Atom, ...]:
    """Return the distinct conditions in guards that read only the current event."""
    distinct: dict[Atom, None] = {}
    for move in program.moves:
        for atom in pred.atoms(move.guard):
            if not isinstance(atom, pred.RegisterComparison | pred.Everything):
                distinct[atom] = None
    return tuple(distinct)


def names_of(program: RegisterProgram) -> Names:
    """Return the operands that comparisons with registers use, and the values stored in slots."""
    values = dict.fromkeys(slot.value for slot in program.slots)
    constants: dict[pred.Expression, None] = {}
    for move in program.moves:
        for atom in pred.register_comparisons(move.guard):
            for side in (atom.left, atom.right):
                if slot_of(side) is None:
                    is_constant = all(isinstance(x, pred.Constant) for x in pred.leaves_of(side))
                    (constants if is_constant else values)[side] = None
    return Names(program.slots, tuple(values), tuple(constants))


MAX_STEPS = 200_000
"""The most pairs of moves to check; beyond it, matches are assumed to have several runs."""


class Rule(NamedTuple):
    """A move, with the part of its guard that depends on registers."""

    move: int
    clauses: tuple[Clause, ...]


Symbols: TypeAlias = Sequence[Mapping[int, Sequence[Rule]]]
"""For each symbol the rules by the state that they leave."""


def unambiguous(moves: Sequence[Move], symbols: Symbols) -> bool:
    """Return True if every match has exactly one run; False if this is unknown.

    False may be wrong, because registers can distinguish runs that have parted; True is always
    right.
    """
    steps = 0
    pairs: set[tuple[int, int]] = set()
    pending: list[tuple[int, int]] = []

    def both_end(a: Rule, b: Rule) -> bool:
        """Add the targets of two moves with equal effects; return whether both end a match."""
        first, second = moves[a.move], moves[b.move]
        if (first.marks, first.begins) != (second.marks, second.begins):
            return False
        pair = min(first.target, second.target), max(first.target, second.target)
        # a pair with a dead run cannot produce a match twice
        if DEAD not in pair and pair not in pairs:
            pairs.add(pair)
            pending.append(pair)
        return first.accepts and second.accepts

    for rules in symbols:
        for of_state in rules.values():
            for a, b in combinations(of_state, 2):
                if _compatible(a, b) and both_end(a, b):
                    return False
    while pending:
        p, q = pending.pop()
        for rules in symbols:
            for a, b in product(rules.get(p, ()), rules.get(q, ())):
                steps += 1
                # False is always safe: it only costs a check of each answer
                if steps > MAX_STEPS or both_end(a, b):
                    return False
    return True


def _compatible(a: Rule, b: Rule) -> bool:
    """Return whether the guards of two moves can hold together."""
    return any(_consistent(one | other) for one, other in product(a.clauses, b.clauses))


_ORDERS = {
    Operator.LT: {-1},
    Operator.LE: {-1, 0},
    Operator.EQ: {0},
    Operator.GE: {0, 1},
    Operator.GT: {1},
    Operator.NE: {-1, 1},
}
"""The order of the two sides (-1, 0, 1) under which each comparison holds."""


def _consistent(clause: frozenset[Literal]) -> bool:
    """Return False if a simple test finds a contradiction in a clause."""
    orders: dict[object, set[int]] = {}
    for literal in clause:
        if Literal(literal.comparison, not literal.is_negated) in clause:
            return False
        if not literal.is_negated:
            sides = (literal.comparison.left, literal.comparison.right)
            orders.setdefault(sides, {-1, 0, 1}).intersection_update(
                _ORDERS[literal.comparison.operator]
            )
    return all(orders.values())
