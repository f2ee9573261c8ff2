"""One name for each way to evaluate a query; what an evaluator cannot take it refuses by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal, TypeAlias

from cerlab.automata.srt.plan import CorrelatedPlan
from cerlab.compile.foundations import anchored_query
from cerlab.engine.reference import driver
from cerlab.engine.reference.evaluation import TecsEvaluation
from cerlab.engine.reference.lists import lists_recogniser
from cerlab.engine.reference.recogniser import Clauses
from cerlab.engine.reference.registers.intervals import IntervalRuns
from cerlab.engine.reference.relabel import labels_of_answer, substream
from cerlab.engine.reference.runs import CeaRuns, VceaRuns
from cerlab.errors import ResourceLimit, Unsupported, UsageError, nearest
from cerlab.logic.cel.semantics import valuations
from cerlab.logic.cel.syntax import Formula, Select
from cerlab.logic.ceql.semantics import query_answers, query_valuations
from cerlab.logic.ceql.syntax import selected_formula
from cerlab.logic.focel.scope import check_scopes, with_variables
from cerlab.logic.focel.semantics import fo_valuations
from cerlab.logic.focel.translate import fo_to_so, unary_fo_to_so
from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.model.clauses import TimeWindow
from cerlab.model.clock import TimeAxis, clock_for, only_timestamp
from cerlab.model.event import Event
from cerlab.model.stream import Stream
from cerlab.query import Query

Evaluator: TypeAlias = Literal[
    "auto", "reference", "automaton", "tecs", "lists", "compiled", "registers"
]
AVAILABLE = ("reference", "automaton", "tecs", "lists", "compiled", "registers")
"""The evaluators by name; ``"auto"`` is the best that takes the query."""

SHORT = 20_000
"""Up to so many events ``"auto"`` and ``"registers"`` compile no kernels; beyond, they do."""


def answers_of(
    query: Query, stream: Stream, evaluator: Evaluator = "auto"
) -> Iterator[ComplexEvent]:
    """The answers by one evaluator, by end, as they are found.

    ``"auto"`` is the tECS on short streams and the compiled engine on others where there is an
    automaton; where filters compare labels, the transducer's runs; else the reference.
    """
    match evaluator:
        case "auto":
            if query.has_automaton:
                return answers_of(query, stream, "tecs" if len(stream) <= SHORT else "compiled")
            return answers_of(query, stream, "registers" if query.on_registers else "reference")
        case "tecs":
            machine = query.machine
            return driver.run(query.plan, lambda: TecsEvaluation(machine), stream, stream.time)
        case "automaton":
            cea, strategy = query.cea, query.plan.strategy
            return driver.run(query.plan, lambda: CeaRuns(cea, strategy), stream, stream.time)
        case "compiled" if query.on_registers:
            return _by_registers(query.registers, stream, compiled=True)
        case "compiled":
            return _compiled(query, stream)
        case "lists":
            return _by_lists(query, stream, first_order=False)
        case "reference":
            return iter(query_answers(query.ast, stream))
        case "registers":
            return _by_registers(query.registers, stream)
        case _:
            known = (*AVAILABLE, "auto")
            raise UsageError(
                "CER0805", f"unknown evaluator '{evaluator}'", hint=nearest(evaluator, known)
            )


def fo_answers_of(
    query: Query, stream: Stream, evaluator: Evaluator = "auto"
) -> Iterator[ComplexEvent]:
    """The answers of a query as FO-CEL, by one evaluator; most machines take unary formulas.

    ``"lists"`` runs the automaton of Foundations' Theorem 3, the others that of the SO-CEL formula
    with the same complex events, which ``"registers"`` takes with filters over two variables as
    well. ``"auto"`` is the best of these that there is, else the reference.
    """
    if evaluator == "reference":
        return iter(query_answers(query.ast, stream, fo_valuations))
    if evaluator == "lists":
        return _by_lists(query, stream, first_order=True)
    if evaluator == "registers":
        return answers_of(_without_variables(query), stream, evaluator)
    try:
        ast = replace(query.ast, formula=unary_fo_to_so(query.formula))
    except Unsupported:
        if evaluator == "auto":
            return _binary_fo_answers(query, stream)
        raise
    translated = Query(ast, schema=query.schema, source=query.source)
    return answers_of(translated, stream, evaluator)


def _binary_fo_answers(query: Query, stream: Stream) -> Iterator[ComplexEvent]:
    """By registers if the translation of the formula has a transducer, else by the reference."""
    try:
        translated = _without_variables(query)
    except (Unsupported, ResourceLimit):
        return fo_answers_of(query, stream, "reference")
    if translated.has_registers:
        return answers_of(translated, stream, "registers")
    return fo_answers_of(query, stream, "reference")


def _without_variables(query: Query) -> Query:
    """The query in SO-CEL with the same complex events; raises as `fo_to_so` (SOCEL Thm. 3)."""
    formula = _translated(selected_formula(query.ast))
    return Query(replace(query.ast, formula=formula, items=None), source=query.source)


def _translated(phi: Formula) -> Formula:
    if isinstance(phi, Select):
        return Select(phi.strategy, _translated(phi.body))
    check_scopes(with_variables(phi))
    return fo_to_so(phi)


def _compiled(query: Query, stream: Stream) -> Iterator[ComplexEvent]:
    """By the compiled engine; Numba and NumPy load here."""
    from cerlab.engine.run import compiled_answers

    time = _time(query.plan, stream)
    for batch in compiled_answers(query.plan, query.prepared, stream, time):
        yield from batch


def _by_registers(
    plan: CorrelatedPlan, stream: Stream, *, compiled: bool = False
) -> Iterator[ComplexEvent]:
    """The runs of a transducer, as written; beyond `SHORT` events in the compiled engine."""
    if not compiled and len(stream) <= SHORT:
        return _as_written(plan, stream)
    from cerlab.engine.registers.run import register_answers

    return register_answers(plan, stream, lambda: _as_written(plan, stream), _time(plan, stream))


def _as_written(plan: CorrelatedPlan, stream: Stream) -> Iterator[ComplexEvent]:
    return driver.run(plan, lambda: IntervalRuns(plan), stream, stream.time)


def _time(plan: Clauses, stream: Stream) -> TimeAxis | None:
    """The stream's time axis, looked for where a window needs one."""
    if stream.time is None and isinstance(plan.window, TimeWindow):
        return only_timestamp(stream)
    return stream.time


def count_on_registers(query: Query, stream: Stream) -> int:
    """How many answers a query has that compares labels; raises as `register_count`."""
    from cerlab.engine.registers.run import register_count

    plan = query.registers
    return register_count(plan, stream, lambda: _as_written(plan, stream), _time(plan, stream))


def _by_lists(query: Query, stream: Stream, *, first_order: bool) -> Iterator[ComplexEvent]:
    cea, strategy = anchored_query(query.ast, first_order=first_order)
    return driver.run(query.plan, lambda: lists_recogniser(cea, strategy), stream, stream.time)


def live_answers(
    query: Query, events: Iterable[Event], time: TimeAxis | None = None
) -> Iterator[ComplexEvent]:
    """The answers on events that are still arriving, each as soon as its last event is there.

    A window in hours, minutes or seconds needs `time` here: it cannot be looked for in what has
    not come yet. By the tECS where there is an automaton, else by the runs of the transducer.
    """
    if isinstance(query.ast.window, TimeWindow):
        clock_for(query.ast.window, time)
    if query.on_registers:
        plan = query.registers
        return driver.run(plan, lambda: IntervalRuns(plan), events, time)
    machine = query.machine
    return driver.run(query.plan, lambda: TecsEvaluation(machine), events, time)


def shown_attributes(
    query: Query, stream: Stream, answer: ComplexEvent
) -> dict[int, frozenset[str]]:
    """What ``SELECT x[attr, ..]`` chooses to show at the positions of an answer.

    A position of several labels shows what any of them chooses; one of a label without brackets
    shows everything and is left out.
    """
    chosen = {item.label: frozenset(item.attributes) for item in query.ast.items or ()}
    if not any(chosen.values()):
        return {}
    shown = {}
    for position, labels in _labels(query, stream, answer).items():
        groups = [chosen[label] for label in labels if label in chosen]
        if groups and all(groups):
            shown[position] = frozenset[str]().union(*groups)
    return shown


def _labels(query: Query, stream: Stream, answer: ComplexEvent) -> dict[int, frozenset[str]]:
    """The labels that the positions of an answer have in some valuation.

    By the automaton, or by the reference on the answer's events where filters compare labels.
    """
    if not query.on_registers:
        return labels_of_answer(query.plan, stream.events, answer)
    inside = substream(query.registers, stream.events, answer)
    given = {inside.index(p) for p in answer.positions}
    labels: dict[int, set[str]] = {position: set() for position in answer.positions}
    for V in valuations(selected_formula(query.ast), [stream.events[i] for i in inside]):
        taken = {i for D in V.labels.values() for i in D}
        if (V.start, V.end, taken) == (0, len(inside) - 1, given):
            for label, D in V.labels.items():
                for i in D:
                    labels[inside[i]].add(label)
    return {position: frozenset(found) for position, found in labels.items()}


def valuations_of(
    query: Query, stream: Stream, evaluator: Evaluator = "auto"
) -> Iterator[Valuation]:
    """The valuations by one evaluator, by end, as they are found; the tECS keeps no labels."""
    match evaluator:
        case "auto":
            return valuations_of(query, stream, "automaton" if query.has_automaton else "reference")
        case "automaton":
            vcea, strategy = query.vcea, query.plan.strategy
            return driver.run(query.plan, lambda: VceaRuns(vcea, strategy), stream, stream.time)
        case "reference":
            return iter(query_valuations(query.ast, stream))
        case _:
            raise Unsupported(
                "CER0408",
                f'evaluator="{evaluator}" gives no labels',
                hint='evaluator="automaton" and "reference" do',
            )
