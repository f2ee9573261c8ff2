"""Waits at the end of a formula: the answers of an automaton, each carried on to a later event.

``f WAIT d`` carries an answer of f on to the last event not after d. ``UNLESS g`` and ``WITHIN w``
around it are then bounds on where the answer began, known at the event that it was carried to. So
no machine has to wait: an automaton, or a transducer where filters compare labels, gives the
answers of f, and `WaitPlan` says what each goes through. What may stand around a wait, and the law
that moves it:

* OR: the answers of both sides;
* AS, FILTER, PROJECT, RENAME, STRICT say something of labels and positions, which no step changes;
* ``f ; (g WAIT d)`` is ``(f ; g) WAIT d``, and so for ``:``. A bound on g is one on the last event
  of ``f ; g`` if g is one event.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple, NoReturn

from cerlab.automata.automaton import Vcea
from cerlab.automata.labelled import LabelledSrt
from cerlab.automata.plan import (
    CorrelatedPlan,
    Held,
    Plan,
    Spared,
    WaitBranch,
    Waiting,
    WaitPlan,
    WaitStep,
)
from cerlab.budget import step_budget
from cerlab.compile.cel_to_vcea import REFERENCE, cel_to_vcea, vcea_to_cea
from cerlab.compile.correlated_to_srt import (
    correlated_to_labelled_srt,
    correlated_to_srt,
    correlates,
)
from cerlab.errors import Unsupported
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.text import node_text
from cerlab.logic.ceql.syntax import CeqlQuery, plan_clauses, strategy_and_body
from cerlab.model.clauses import Consume, EventWindow, Strategy


class _Branch(NamedTuple):
    """A formula with an automaton, and steps whose rivals are formulas."""

    body: cel.Formula
    steps: tuple[Waiting | Held | _Rival, ...] = ()


class _Rival(NamedTuple):
    formula: cel.Formula
    of_last: bool = False


def wait_plan(query: CeqlQuery, *, on_registers: bool = False) -> WaitPlan:
    """The plan of a query with a wait, or a window in time, at the end of its formula.

    Answers that wait are those of transducers where filters compare labels, with `on_registers`
    all of them. Raises `Unsupported` for a query that waits elsewhere, or that selects, consumes or
    limits.
    """
    branches = _branches_of(query)
    if query.consume is not Consume.NONE:
        _refuse(f"CONSUME BY {query.consume.value} over answers that wait")
    if query.limit is not None:
        _refuse("LIMIT over answers that wait")
    plans: dict[tuple[cel.Formula, bool], int] = {}
    machines: list[Plan | CorrelatedPlan] = []

    def number(phi: cel.Formula, *, registers: bool) -> int:
        if (phi, registers) not in plans:
            machines.append(_on_registers(phi) if registers else _plain(phi))
            plans[phi, registers] = len(machines) - 1
        return plans[phi, registers]

    def step(each: Waiting | Held | _Rival) -> WaitStep:
        if not isinstance(each, _Rival):
            return each
        return Spared(number(each.formula, registers=False), each.of_last)

    clause = () if query.window is None else (Held(query.window),)
    numbered = tuple(
        WaitBranch(
            number(body, registers=on_registers or correlates(body)),
            tuple(map(step, (*steps, *clause))),
        )
        for body, steps in branches
    )
    clauses = plan_clauses(query) | {"strategy": None, "window": None}
    return WaitPlan(plans=tuple(machines), branches=numbered, **clauses)


def _plain(phi: cel.Formula) -> Plan:
    vcea = cel_to_vcea(phi)
    return Plan(vcea=vcea, cea=vcea_to_cea(vcea))


def _on_registers(phi: cel.Formula) -> CorrelatedPlan:
    with step_budget("the transducer of the formula", "compare fewer labels with each other"):
        return CorrelatedPlan(srt=correlated_to_srt(phi))


def labelled_body(query: CeqlQuery) -> Vcea | LabelledSrt:
    """The machine that labels the answers of a query with one branch, up to where they wait."""
    ((body, _),) = _branches_of(query)
    return correlated_to_labelled_srt(body) if correlates(body) else cel_to_vcea(body)


def _branches_of(query: CeqlQuery) -> tuple[_Branch, ...]:
    strategy, formula = strategy_and_body(query)
    if strategy is Strategy.STRICT:
        formula = cel.Select(strategy, formula)
    elif strategy is not None:
        _refuse(f"{strategy.value} over answers that wait")
    return tuple(_branches(formula))


def is_timed(phi: cel.Formula) -> bool:
    """Whether a formula has a wait, or a window that no automaton counts."""
    return any(
        isinstance(psi, cel.Wait)
        or (isinstance(psi, cel.Within) and not isinstance(psi.window, EventWindow))
        for psi in cel.subformulas(phi)
    )


def _branches(phi: cel.Formula) -> Iterator[_Branch]:
    """Yield the branches of a formula; raises `Unsupported` for a wait that is not at its end."""
    if not is_timed(phi):
        yield _Branch(phi)
        return
    match phi:
        case cel.Or(left, right):
            yield from _branches(left)
            yield from _branches(right)
        case cel.Wait(body, length):
            yield from _then(body, Waiting(length))
        case cel.Within(body, window):
            yield from _then(body, Held(window))
        case cel.Unless(left, right):
            if is_timed(right):
                _refuse("a wait, or a window in time, right of UNLESS")
            if correlates(right):
                _refuse("a comparison of labels right of UNLESS after a wait")
            yield from _then(left, _Rival(right))
        case cel.Seq(left, right) | cel.Concat(left, right):
            if is_timed(left):
                _refuse(f"{_timed_part(left)} before {node_text(phi)}")
            for branch in _branches(right):
                body = replace(phi, right=branch.body)
                yield _Branch(body, tuple(_of_last(step, branch.body) for step in branch.steps))
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
            _refuse(f"{_timed_part(phi)} inside {node_text(phi)}")


def _then(phi: cel.Formula, step: Waiting | Held | _Rival) -> Iterator[_Branch]:
    for branch in _branches(phi):
        yield branch._replace(steps=(*branch.steps, step))


def _of_last(step: Waiting | Held | _Rival, body: cel.Formula) -> Waiting | Held | _Rival:
    """The step of the right side of a sequence, as one of the sequence."""
    if isinstance(step, Waiting) or step.of_last:
        return step
    if not _is_one_event(body):
        kind = "UNLESS" if isinstance(step, _Rival) else "WITHIN"
        _refuse(f"{kind} over more than one event at the end of a sequence")
    return replace(step, of_last=True) if isinstance(step, Held) else step._replace(of_last=True)


def _is_one_event(phi: cel.Formula) -> bool:
    """Whether a formula takes one event, whatever comes."""
    match phi:
        case cel.Atom() | cel.Not():
            return True
        case cel.Or(left, right):
            return _is_one_event(left) and _is_one_event(right)
        case cel.As() | cel.Filter() | cel.Project() | cel.Rename() | cel.Select() | cel.Within():
            return _is_one_event(phi.body)
        case _:
            return False


def _timed_part(phi: cel.Formula) -> str:
    """A wait, or a window in time, in a formula, as it is written."""
    timed = (
        psi
        for psi in cel.subformulas(phi)
        if isinstance(psi, cel.Wait)
        or (isinstance(psi, cel.Within) and not isinstance(psi.window, EventWindow))
    )
    return node_text(next(timed))


def _refuse(what: str) -> NoReturn:
    raise Unsupported("CER0403", f"there is no automaton for {what}", hint=REFERENCE)
