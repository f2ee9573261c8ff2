"""One name for each way to evaluate a query; what an evaluator cannot take it refuses by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Literal, TypeAlias

from cerlab.automata.registers.plan import CorrelatedPlan
from cerlab.compile.foundations import anchored_query
from cerlab.engine.reference import driver
from cerlab.engine.reference.evaluation import TecsEvaluation
from cerlab.engine.reference.lists import lists_recogniser
from cerlab.engine.reference.recogniser import Clauses, Recogniser
from cerlab.engine.reference.registers.intervals import IntervalRuns
from cerlab.engine.reference.relabel import labels_of_answer, substream
from cerlab.engine.reference.runs import CeaRuns, VceaRuns
from cerlab.errors import ResourceLimit, Unsupported, UsageError, nearest
from cerlab.logic.cel.semantics import valuations
from cerlab.logic.cel.syntax import Formula, Select
from cerlab.logic.ceql.semantics import query_answers, query_valuations
from cerlab.logic.ceql.syntax import selected_formula
from cerlab.logic.focel.scope import check_first_order
from cerlab.logic.focel.semantics import fo_valuations
from cerlab.logic.focel.translate import fo_to_so, unary_fo_to_so
from cerlab.model.answer import ComplexEvent, Valuation, complex_event
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
    automaton; where filters compare labels, the transducer's runs; else the reference. Raises
    `Unsupported`, with the names of those that take the query, for an evaluator that does not.
    """
    try:
        return _answers_of(query, stream, evaluator)
    except Unsupported as error:
        error.hint = f"evaluators that take it: {', '.join(takers(query))}"
        raise


def takers(query: Query) -> tuple[str, ...]:
    """The names of the evaluators that take a query; the reference does, on small streams.

    >>> from cerlab.query import as_query
    >>> takers(as_query("MAX(A+) ; B")), takers(as_query("A AS x ; B AS y FILTER x.v < y.v"))
    (('reference',), ('reference', 'compiled', 'registers'))
    """
    taking = {"reference"}
    if query.has_automaton:
        taking |= {"automaton", "tecs", "compiled"}
    if query.has_registers:
        taking |= {"registers", "compiled"}
    with suppress(Unsupported):
        anchored_query(query.ast, first_order=False)
        taking.add("lists")
    return tuple(name for name in AVAILABLE if name in taking)


def _answers_of(query: Query, stream: Stream, evaluator: Evaluator) -> Iterator[ComplexEvent]:
    match evaluator:
        case "auto":
            if query.has_automaton:
                return _answers_of(query, stream, "tecs" if len(stream) <= SHORT else "compiled")
            return _answers_of(query, stream, "registers" if query.on_registers else "reference")
        case "compiled" if query.on_registers:
            return _by_registers(query.registers, stream, compiled=True)
        case "compiled":
            return _compiled(query, stream)
        case "reference":
            return iter(query_answers(query.ast, stream))
        case "registers":
            return _by_registers(query.registers, stream)
        case _:
            return driver.run(*_recogniser(query, evaluator), stream, stream.time)


def _recogniser(
    query: Query, evaluator: Evaluator
) -> tuple[Clauses, Callable[[], Recogniser[ComplexEvent]]]:
    """What reads the events one by one, and the clauses around it."""
    match evaluator:
        case "tecs":
            machine = query.machine
            return query.plan, lambda: TecsEvaluation(machine)
        case "automaton":
            cea, strategy = query.cea, query.plan.strategy
            return query.plan, lambda: CeaRuns(cea, strategy)
        case "lists":
            anchored, selected = anchored_query(query.ast, first_order=False)
            return query.plan, lambda: lists_recogniser(anchored, selected)
        case "registers":
            plan = query.registers
            return plan, lambda: IntervalRuns(plan)
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
        check_first_order(selected_formula(query.ast))
        return iter(query_answers(query.ast, stream, fo_valuations))
    if evaluator == "lists":
        cea, strategy = anchored_query(query.ast, first_order=True)
        return driver.run(query.plan, lambda: lists_recogniser(cea, strategy), stream, stream.time)
    if evaluator == "registers":
        return answers_of(_without_variables(query), stream, evaluator)
    try:
        ast = replace(query.ast, formula=unary_fo_to_so(selected_formula(query.ast)), items=None)
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
    check_first_order(phi)
    return fo_to_so(phi)


def _compiled(query: Query, stream: Stream) -> Iterator[ComplexEvent]:
    """By the compiled engine; Numba and NumPy load here."""
    from cerlab.engine.whole_stream import compiled_answers

    time = _time(query.plan, stream)
    batches = compiled_answers(query.plan, query.learned, stream, time)
    return (answer for batch in batches for answer in batch)


def _by_registers(
    plan: CorrelatedPlan, stream: Stream, *, compiled: bool = False
) -> Iterator[ComplexEvent]:
    """The runs of a transducer, as written; beyond `SHORT` events in the compiled engine."""
    if not compiled and len(stream) <= SHORT:
        return _as_written(plan, stream)
    from cerlab.engine.registers.evaluation import register_answers

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
    from cerlab.engine.registers.evaluation import register_count

    plan = query.registers
    return register_count(plan, stream, lambda: _as_written(plan, stream), _time(plan, stream))


def live_answers(
    query: Query,
    events: Iterable[Event],
    time: TimeAxis | None = None,
    evaluator: Evaluator = "auto",
) -> Iterator[ComplexEvent]:
    """The answers on events that are still arriving, each as soon as its last event is there.

    By an evaluator that reads them one by one (not ``"compiled"``, not ``"reference"``): ``"auto"``
    is the tECS where there is an automaton, else the runs of the transducer. A window in hours,
    minutes or seconds needs `time` here: it cannot be looked for in what has not come yet.
    """
    _check_clock(query, time)
    if evaluator == "auto":
        evaluator = "registers" if query.on_registers else "tecs"
    return driver.run(*_recogniser(query, evaluator), events, time)


def live_valuations(
    query: Query, events: Iterable[Event], time: TimeAxis | None = None
) -> Iterator[Valuation]:
    """The same for valuations, by the automaton; raises `Unsupported` where there is none."""
    _check_clock(query, time)
    vcea, strategy = query.vcea, query.plan.strategy
    return driver.run(query.plan, lambda: VceaRuns(vcea, strategy), events, time)


def _check_clock(query: Query, time: TimeAxis | None) -> None:
    if isinstance(query.ast.window, TimeWindow):
        clock_for(query.ast.window, time)


def shown_attributes(
    query: Query, events: Sequence[Event], answer: ComplexEvent
) -> dict[int, frozenset[str]]:
    """What ``SELECT x[attr, ..]`` chooses to show at the positions of an answer.

    A position of several labels shows what any of them chooses; one of a label without brackets
    shows everything and is left out.
    """
    chosen = {item.label: frozenset(item.attributes) for item in query.ast.items or ()}
    if not any(chosen.values()):
        return {}
    shown = {}
    for position, labels in _labels(query, events, answer).items():
        groups = [chosen[label] for label in labels if label in chosen]
        if groups and all(groups):
            shown[position] = frozenset[str]().union(*groups)
    return shown


def _labels(
    query: Query, events: Sequence[Event], answer: ComplexEvent
) -> dict[int, frozenset[str]]:
    """The labels that the positions of an answer have in some valuation.

    By the automaton; by the reference on the answer's events where filters compare labels; else by
    the reference on all events up to its end.
    """
    if query.has_automaton:
        return labels_of_answer(query.plan, events, answer)
    if not query.has_registers:
        whole = replace(query.ast, limit=None)
        return _labels_in(query_valuations(whole, Stream(events[: answer.end + 1])), answer)
    inside = substream(query.registers, events, answer)
    among = tuple(inside.index(p) for p in answer.positions)
    found = valuations(selected_formula(query.ast), [events[i] for i in inside])
    labels = _labels_in(found, ComplexEvent(0, len(inside) - 1, among))
    return {inside[i]: names for i, names in labels.items()}


def _labels_in(found: Iterable[Valuation], answer: ComplexEvent) -> dict[int, frozenset[str]]:
    """The labels of an answer's positions in those of some valuations that give it."""
    giving = [V for V in found if complex_event(V) == answer]
    return {
        i: frozenset(label for V in giving for label, D in V.labels.items() if i in D)
        for i in answer.positions
    }


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
