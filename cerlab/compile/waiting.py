"""Plans of queries with waits and windows in time, applied to answers or inside transducers.

``f WAIT d`` extends an answer of f to the last event within d of it. ``UNLESS g`` and ``WITHIN w``
around it are then bounds on where the answer began, known at the event to which it was extended. So
at the end of a formula no machine has to wait: an automaton gives the answers of f, and `WaitPlan`
lists the steps that each goes through. These operators are allowed around a wait, by these laws:

* OR: the answers of both sides;
* AS, FILTER, PROJECT, RENAME, STRICT depend on labels and positions, which no step changes;
* ``f ; (g WAIT d)`` is ``(f ; g) WAIT d``, and so for ``:``. A bound on g is a bound on the last
event of ``f ; g`` if g is one event.

``f LOOKBACK d`` moves the start of an answer back; bounds around it are on the moved start. Since
``(f LOOKBACK d) ; g`` is ``(f ; g) LOOKBACK d``, it is also allowed at the beginning of a sequence.
If other steps follow, as in ``(A ; B WITHIN 30 SECONDS) ; C``, f is a transducer, and so it is if
filters compare labels. A strategy over such bounds, as in ``MAX(A+ WITHIN 30 SECONDS)``, selects
among the answers of an end that start late enough; it is part of the automaton's plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple, NoReturn, TypeAlias, assert_never

from cerlab.automata.automaton import Vcea
from cerlab.automata.labelled import LabelledSrt
from cerlab.automata.plan import (
    CorrelatedPlan,
    Delay,
    ExceptIf,
    HoldWithin,
    LookBack,
    Plan,
    WaitBranch,
    WaitPlan,
    WaitStep,
)
from cerlab.budget import step_budget
from cerlab.compile.cel_to_vcea import REFERENCE, cel_to_vcea, vcea_to_cea
from cerlab.compile.correlated_to_srt import (
    correlated_to_labelled_srt,
    correlated_to_srt,
    needs_registers,
)
from cerlab.errors import Unsupported
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.semantics import check_consumption
from cerlab.logic.ceql.syntax import CeqlQuery, plan_clauses, strategy_and_body
from cerlab.model.clauses import AttributeWindow, Consume, Strategy, TimeWindow


class _Branch(NamedTuple):
    """A part of a formula, and the waits, windows and rivals to apply to its answers."""

    body: cel.Formula
    steps: tuple[_Step, ...] = ()


class _Rival(NamedTuple):
    formula: cel.Formula
    of_last: bool = False


_Step: TypeAlias = Delay | HoldWithin | LookBack | _Rival


def wait_plan(query: CeqlQuery, *, on_registers: bool = False) -> WaitPlan:
    """Return the plan of a query with a wait or a window in time.

    Answers that wait are those of transducers if filters compare labels, if a wait or a window is
    not at the end, or if a clause selects, limits or consumes, except for a strategy alone; with
    `on_registers` all of them are.
    Raise `Unsupported` for strategies and LIMIT over waits, and as `correlated_to_srt`, `IllFormed`
    as `check_consumption`.
    """
    check_consumption(query)
    formula, clauses = _formula_and_clauses(query)
    strategy = _strategy_inside(formula, clauses)
    if _selects(clauses):
        if on_registers or strategy is None:
            return _selecting_plan(formula, clauses)
        clauses["strategy"] = None
    plans: dict[tuple[cel.Formula, bool, Strategy | None], int] = {}
    machines: list[Plan | CorrelatedPlan] = []

    def number(phi: cel.Formula, *, registers: bool, strategy: Strategy | None = None) -> int:
        key = phi, registers, strategy
        if key not in plans:
            machines.append(_on_registers(phi) if registers else _plain(phi, strategy))
            plans[key] = len(machines) - 1
        return plans[key]

    def step(each: _Step) -> WaitStep:
        if not isinstance(each, _Rival):
            return each
        return ExceptIf(number(each.formula, registers=False), each.of_last)

    clause = () if query.window is None else (HoldWithin(query.window),)
    numbered = tuple(
        WaitBranch(
            number(body, registers=on_registers or needs_registers(body), strategy=strategy),
            tuple(map(step, (*steps, *clause))),
        )
        for body, steps in _branches(formula)
    )
    return WaitPlan(plans=tuple(machines), branches=numbered, **clauses | {"window": None})


def _formula_and_clauses(query: CeqlQuery) -> tuple[cel.Formula, dict[str, Any]]:
    """Return the formula and the other clauses; STRICT in SELECT becomes part of the formula."""
    strategy, formula = strategy_and_body(query)
    clauses = plan_clauses(query)
    if strategy is Strategy.STRICT:
        return cel.Select(strategy, formula), clauses | {"strategy": None}
    return formula, clauses


def _selects(clauses: Mapping[str, Any]) -> bool:
    """Return whether a strategy, LIMIT or CONSUME BY can remove an answer because of another."""
    chosen = clauses["strategy"] is not None or clauses["limit"] is not None
    return chosen or clauses["consume"] is not Consume.NONE


def _strategy_inside(formula: cel.Formula, clauses: Mapping[str, Any]) -> Strategy | None:
    """Return a strategy that an automaton's plan can have; None if it takes a transducer.

    The answers that compete have to be those of one automaton, with bounds on their starts only.
    """
    strategy: Strategy | None = clauses["strategy"]
    if strategy is None or clauses["window"] is not None or _selects({**clauses, "strategy": None}):
        return None
    branches = [*_branches(formula)]
    moves = (isinstance(step, Delay | LookBack) for each in branches for step in each.steps)
    if len(branches) > 1 or any(moves) or needs_registers(branches[0].body):
        return None
    return strategy


def _selecting_plan(formula: cel.Formula, clauses: Mapping[str, Any]) -> WaitPlan:
    """Return the plan, as one transducer, of a query with a strategy, LIMIT or CONSUME BY."""
    strategy, limit = clauses["strategy"], clauses["limit"]
    if cel.waits(formula) and (strategy is not None or limit is not None):
        _refuse(f"{'LIMIT' if strategy is None else strategy.value} over answers that wait")
    if cel.look_backs(formula):
        _refuse("a strategy, LIMIT or CONSUME BY over answers that look back")
    body = replace(_on_registers(formula), **clauses)
    return WaitPlan(plans=(body,), branches=(WaitBranch(0, ()),), **clauses)


def _plain(phi: cel.Formula, strategy: Strategy | None) -> Plan:
    vcea = cel_to_vcea(phi)
    return Plan(vcea=vcea, cea=vcea_to_cea(vcea), strategy=strategy)


def _on_registers(phi: cel.Formula) -> CorrelatedPlan:
    with step_budget("the transducer of the formula", "compare fewer labels with each other"):
        srt = correlated_to_srt(phi, timed=True)
    return CorrelatedPlan(srt=srt, timed=tuple(_timed_parts(phi)))


def _timed_parts(phi: cel.Formula) -> Iterator[Delay | HoldWithin]:
    """Yield each wait and each window in time of a formula."""
    for psi in cel.subformulas(phi):
        match psi:
            case cel.Wait(_, length):
                yield Delay(length)
            case cel.Within(_, TimeWindow() | AttributeWindow() as window):
                yield HoldWithin(window)


class Labels(NamedTuple):
    """A machine that labels answers, and the waits and windows in time that it contains."""

    machine: Vcea | LabelledSrt
    timed: tuple[Delay | HoldWithin, ...] = ()


def labels_of_body(query: CeqlQuery) -> Labels:
    """Return the machine that labels answers of a formula with one branch, without their wait."""
    formula, clauses = _formula_and_clauses(query)
    body = formula
    if not _selects(clauses) or _strategy_inside(formula, clauses) is not None:
        ((body, _),) = _branches(formula)
    return _labels(body) if needs_registers(body) else Labels(cel_to_vcea(body))


def labels_of_whole(query: CeqlQuery) -> Labels:
    """Return the machine that labels answers including their wait; raise `Unsupported`."""
    return _labels(strategy_and_body(query)[1])


def _labels(phi: cel.Formula) -> Labels:
    return Labels(correlated_to_labelled_srt(phi, timed=True), tuple(_timed_parts(phi)))


def _branches(phi: cel.Formula) -> Iterator[_Branch]:
    """Yield parts of a formula, with the waits and windows that apply to their answers."""
    if not cel.is_timed(phi):
        yield _Branch(phi)
        return
    match phi:
        case cel.Or(left, right):
            yield from _branches(left)
            yield from _branches(right)
        case cel.Wait(body, length):
            yield from _then(body, Delay(length))
        case cel.Lookback(body, length):
            yield from _then(body, LookBack(length))
        case cel.Within(body, window):
            yield from _then(body, HoldWithin(window))
        case cel.Unless(left, right) if not needs_registers(right):
            yield from _then(left, _Rival(right))
        case cel.Seq(left, right) | cel.Concat(left, right):
            begins, ends = [*_branches(left)], [*_branches(right)]
            if not all(map(_may_be_first, begins)):
                begins = [_Branch(left)]
            if not all(map(_may_be_last, ends)):
                ends = [_Branch(right)]
            for begin, end in product(begins, ends):
                body = replace(phi, left=begin.body, right=end.body)
                yield _Branch(body, (*begin.steps, *map(_of_last, end.steps)))
        case (
            cel.As(body)
            | cel.Filter(body)
            | cel.Project(_, body)
            | cel.Rename(_, _, body)
            | cel.Select(Strategy.STRICT, body)
        ):
            for branch in _branches(body):
                yield branch._replace(body=replace(phi, body=branch.body))
        case cel.Count(body, 1, 1):
            yield from _branches(body)
        case _:
            yield _Branch(phi)


def _then(phi: cel.Formula, step: _Step) -> Iterator[_Branch]:
    for branch in _branches(phi):
        yield branch._replace(steps=(*branch.steps, step))


def _may_be_last(branch: _Branch) -> bool:
    """Return whether steps of the right side of ``;`` can be applied to the whole sequence.

    A bound on the start of the right side has to be a bound on the last event.
    """
    steps = [step for step in branch.steps if not isinstance(step, Delay)]
    if any(isinstance(step, LookBack) for step in steps):
        return False  # the look-back would begin before the sequence ends
    bounds = (step for step in steps if not isinstance(step, LookBack) and not step.of_last)
    return _is_one_event(branch.body) or not any(bounds)


def _may_be_first(branch: _Branch) -> bool:
    """Return whether the left side of ``;`` has look-backs as its only steps."""
    return all(isinstance(step, LookBack) for step in branch.steps)


def _of_last(step: _Step) -> _Step:
    """Return a step of the right side of ``;`` as a step on answers of the whole sequence."""
    match step:
        case HoldWithin():
            return replace(step, of_last=True)
        case _Rival():
            return step._replace(of_last=True)
        case Delay() | LookBack():
            return step
        case _:
            assert_never(step)


def _is_one_event(phi: cel.Formula) -> bool:
    """Return whether every answer of a formula is exactly one event."""
    match phi:
        case cel.Atom() | cel.Not():
            return True
        case cel.Or(left, right):
            return _is_one_event(left) and _is_one_event(right)
        case cel.As() | cel.Filter() | cel.Project() | cel.Rename() | cel.Select() | cel.Within():
            return _is_one_event(phi.body)
        case _:
            return False


def _refuse(construct: str) -> NoReturn:
    raise Unsupported("CER0403", f"there is no automaton for {construct}", hint=REFERENCE)
