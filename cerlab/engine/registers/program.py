"""Register programs: a transducer's moves, the values that its registers store, and its ends.

Expressions and correlated queries differ only in this. A match of an expression begins at its first
mark, and is reported at its last. A run of a query begins at any event, and answers whenever it is
in F.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias
from warnings import warn

from cerlab.automata.automaton import Mark, outgoing
from cerlab.automata.epsilon import smaller
from cerlab.automata.explore import crawl, reachable, successors_by
from cerlab.automata.labelled import LabelledSrt
from cerlab.automata.plan import CorrelatedPlan, RegisterPlan
from cerlab.automata.registers import RegisterTransition, Srt, backward_union
from cerlab.errors import AnswerWarning, stacklevel_of_caller
from cerlab.predicates import syntax as pred
from cerlab.predicates.syntax import EVERYTHING, Atom, Guard

AnyPlan: TypeAlias = RegisterPlan | CorrelatedPlan


DEAD = -1
"""Sentinel: no state; a run that goes there can no longer answer."""


class Slot(NamedTuple):
    """A value stored in a register: an attribute of the event, or an expression on its attributes.

    Guards read nothing else of the event, so the value is computed when the event is written.
    """

    register: str
    value: pred.Expression

    @property
    def side(self) -> pred.Expression:
        """The expression in guards that reads this stored value."""

        def stored(leaf: pred.Leaf) -> pred.Leaf:
            if not isinstance(leaf, pred.Attribute):
                return leaf
            return pred.RegisterAttribute(self.register, leaf.name)

        return pred.with_leaves(self.value, stored)


PARTITION = Slot("", pred.Attribute(""))
"""The substream of a configuration under PARTITION BY; events have its number as an attribute of
the same name."""


def slot_of(side: pred.Expression) -> Slot | None:
    """Return the slot that a side of a comparison reads; None if it reads no register.

    >>> slot_of(pred.Negated(pred.RegisterAttribute("r", "v")))
    Slot(register='r', value=Negated(operand=Attribute(name='v')))
    """
    registers = [x.register for x in pred.leaves_of(side) if isinstance(x, pred.RegisterAttribute)]

    def of_the_event(leaf: pred.Leaf) -> pred.Leaf:
        return pred.Attribute(leaf.attribute) if isinstance(leaf, pred.RegisterAttribute) else leaf

    return Slot(registers[0], pred.with_leaves(side, of_the_event)) if registers else None


def mixes(guard: Guard) -> bool:
    """Return whether one side of a comparison computes with values of two events."""
    sides = (side for atom in pred.register_comparisons(guard) for side in (atom.left, atom.right))
    return any(len(_events_of(side)) > 1 for side in sides)


def _events_of(side: pred.Expression) -> set[str | None]:
    """Return the events that an expression reads: registers, and None for the current event."""
    return {
        leaf.register if isinstance(leaf, pred.RegisterAttribute) else None
        for leaf in pred.leaves_of(side)
        if not isinstance(leaf, pred.Constant)
    }


class Move(NamedTuple):
    """A move of the program: source, guard, target and effects.

    One that `begins` starts a partial match at the event; one that `accepts` ends a match there.
    """

    source: int
    guard: Guard
    marks: bool
    begins: bool
    accepts: bool
    writes: frozenset[str]
    target: int


@dataclass(frozen=True, slots=True)
class RegisterProgram:
    """A transducer as moves between numbered states; one empty configuration starts in state 0.

    `live` has, for each state, the slots that some way from there reads before writing. A
    configuration is a state with the values of its live slots, so runs are merged if no later guard
    can distinguish them. If it `is_partitioned`, configurations in states other than the first read
    the events of their substream only.
    """

    states: int
    moves: tuple[Move, ...]
    slots: tuple[Slot, ...]
    live: tuple[frozenset[Slot], ...]
    is_partitioned: bool


class _Does(NamedTuple):
    guard: Guard
    marks: bool
    begins: bool
    accepts: bool
    writes: frozenset[str]


_Key: TypeAlias = tuple[int, bool]


_Follow: TypeAlias = Callable[[_Key], Iterator[tuple[_Does, _Key]]]


def register_program(plan: AnyPlan) -> RegisterProgram:
    """Return the program of a plan, without moves that no match uses.

    For a query, equal transitions are merged first, so that fewer matches have several runs.

    >>> from cerlab.automata.registers import NONE
    >>> steps = [RegisterTransition(0, EVERYTHING, mark, NONE, 0) for mark in Mark]
    >>> T = Srt(1, tuple(steps), frozenset({0}), frozenset({0}))
    >>> program = register_program(RegisterPlan(T))
    >>> [(move.source, move.begins, move.target) for move in program.moves if move.accepts]
    [(0, True, 1), (1, False, 1)]
    """
    if isinstance(plan, CorrelatedPlan):
        T, is_partitioned = smaller(plan.srt), bool(plan.partition)
        follow = _of_intervals(T, frozenset({PARTITION.register} if is_partitioned else ()))
    else:
        T, is_partitioned = plan.srt, False
        follow = _of_marks(T)
    graph = crawl((T.q0, False), follow)
    moves = [Move(p, *does, q) for p, does, q in graph.edges]
    useful = _useful(moves)
    moves = [m if m.target in useful else m._replace(target=DEAD) for m in moves]
    useful_moves = dict.fromkeys(m for m in moves if m.accepts or m.target != DEAD)
    return _program(len(graph.states), tuple(useful_moves), is_partitioned)


class LabellingProgram(NamedTuple):
    """A register program that labels one answer, with the label set of each move.

    A run is in state 0 before the answer's interval, and accepts if it is in `final` after it; so
    no move begins or accepts.
    """

    program: RegisterProgram
    final: frozenset[int]
    mark: tuple[int, ...]
    """The number of the label set that each move assigns, increasing; -1 if it takes no event."""


def labelling_program(A: LabelledSrt, number: Mapping[frozenset[str], int]) -> LabellingProgram:
    """Return the program of a machine with labels; `number` holds the numbers of its label sets."""
    steps = sorted(A.Delta, key=lambda t: number.get(t.labels, -1))
    moves = [
        Move(t.source, t.guard, bool(t.labels), False, t.target in A.F, t.writes, t.target)
        for t in steps
    ]
    useful = _useful(moves)
    live = [n for n, m in enumerate(moves) if m.accepts or m.target in useful]
    program = _program(A.states, tuple(moves[n]._replace(accepts=False) for n in live), False)
    return LabellingProgram(program, A.F, tuple(number.get(steps[n].labels, -1) for n in live))


def _program(states: int, moves: tuple[Move, ...], is_partitioned: bool) -> RegisterProgram:
    """Return the program with the given moves and the slots that they read."""
    always = (PARTITION,) if is_partitioned else ()
    slots = dict.fromkeys((*always, *(slot for move in moves for slot in _slots_of(move.guard))))
    live = _live(states, moves, frozenset(always))
    return RegisterProgram(states, moves, tuple(slots), live, is_partitioned)


def _of_marks(T: Srt) -> _Follow:
    """Return a function from a state and whether a match has begun to the moves from there."""
    leaving, F = outgoing(T), T.F

    def follow(key: _Key) -> Iterator[tuple[_Does, _Key]]:
        q, in_match = key
        for t in leaving[q]:
            took = t.mark is Mark.TAKE
            does = _Does(t.guard, took, took and not in_match, took and t.target in F, t.writes)
            yield does, (t.target, in_match or took)

    return follow


def _of_intervals(T: Srt, first_writes: frozenset[str]) -> _Follow:
    """Return a function from a state and whether a run has started to the moves from there.

    The state before any run stays. A run that begins also writes `first_writes`.
    """
    leaving, F = outgoing(T), T.F

    def does(t: RegisterTransition, begins: bool) -> _Does:
        writes = t.writes | first_writes if begins else t.writes
        return _Does(t.guard, t.mark is Mark.TAKE, begins, t.target in F, writes)

    def follow(key: _Key) -> Iterator[tuple[_Does, _Key]]:
        q, in_run = key
        if not in_run:
            yield _Does(EVERYTHING, False, False, False, frozenset()), key
        for t in leaving[q]:
            yield does(t, not in_run), (t.target, True)

    return follow


def _useful(moves: Sequence[Move]) -> set[int]:
    """Return the states from which a path leads to acceptance."""
    ends = (m.source for m in moves if m.accepts)
    return set(reachable(ends, successors_by((m.target, m.source) for m in moves)))


def _slots_of(guard: Guard) -> Iterator[Slot]:
    """Yield the slots that a guard reads, from left to right.

    For a side that mixes events, attributes.
    """
    for atom in pred.register_comparisons(guard):
        for side in (atom.left, atom.right):
            whole = len(_events_of(side)) == 1
            yield from filter(None, map(slot_of, [side] if whole else pred.leaves_of(side)))


def _live(
    states: int, moves: Sequence[Move], always: frozenset[Slot]
) -> tuple[frozenset[Slot], ...]:
    """Return the slots that may be read later in each state; add `always` except in state 0."""

    def before(m: Move, after: frozenset[Slot]) -> frozenset[Slot]:
        unwritten = () if m.target == DEAD else (s for s in after if s.register not in m.writes)
        return frozenset((*_slots_of(m.guard), *unwritten))

    first, *others = backward_union(states, moves, before)
    return (first, *(slots | always for slots in others))


MAX_CLAUSES = 64
"""The most clauses of a guard; guards with more are left to the reference."""


class Literal(NamedTuple):
    """A comparison or its negation."""

    comparison: pred.RegisterComparison
    is_negated: bool


Clause: TypeAlias = frozenset[Literal]


class NotTaken(Exception):
    """Error: the compiled engine does not support a plan, or not on this stream."""


LONG = 10_000
"""The number of events from which evaluation in Python causes a warning."""


def warn_of_python(reason: object, length: int) -> None:
    """Warn that Python evaluates a long stream slowly, and why."""
    if length >= LONG:
        text = f"a long stream is evaluated in Python, event by event: {reason}"
        # measured: 0.1 to 1 ms an event where few runs are open
        cost = "100,000 events take a minute, and more where many answers are open"
        warn(AnswerWarning(f"CER0932: {text}; {cost}"), stacklevel=stacklevel_of_caller())


def residual(guard: Guard, holds: Callable[[Atom], bool]) -> Guard:
    """Return a guard with its atoms on the event replaced by true or false.

    >>> A, B = pred.TypeIs("A"), pred.TypeIs("B")
    >>> residual(pred.Or(A, B), lambda atom: atom == B)
    Everything()
    """

    def value(atom: Atom | pred.RegisterComparison) -> Guard:
        if isinstance(atom, pred.RegisterComparison):
            return atom
        return pred.EVERYTHING if holds(atom) else pred.FALSE

    return pred.with_atoms(guard, value)


def clauses(guard: Guard) -> tuple[Clause, ...]:
    """Return a guard as disjunctive clauses, omitting clauses that another clause implies.

    Raises `NotTaken` above `MAX_CLAUSES`.
    """
    distinct = tuple(dict.fromkeys(_clauses(guard, is_negated=False)))
    return tuple(clause for clause in distinct if not any(other < clause for other in distinct))


def _clauses(guard: Guard, *, is_negated: bool) -> list[Clause]:
    match guard:
        case pred.Everything():
            return [] if is_negated else [frozenset()]
        case pred.RegisterComparison():
            return [frozenset({Literal(guard, is_negated)})]
        case pred.Not(operand):
            return _clauses(operand, is_negated=not is_negated)
        case pred.And(left, right) | pred.Or(left, right):
            first, second = (_clauses(side, is_negated=is_negated) for side in (left, right))
            if isinstance(guard, pred.Or) != is_negated:
                return first + second
            return list(_pairs(first, second))
        case _:
            raise AssertionError(f"{guard} is not residual")


def _pairs(first: list[Clause], second: list[Clause]) -> Iterator[Clause]:
    # check before building the product, which doubles with each conjunct
    if len(first) * len(second) > MAX_CLAUSES:
        raise NotTaken("a guard has too many clauses")
    for left in first:
        for right in second:
            clause = left | right
            # omit clauses with a comparison and its negation: they are never true
            if not any(Literal(each.comparison, not each.is_negated) in clause for each in clause):
                yield clause
