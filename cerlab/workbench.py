"""The facade: queries as objects, and the functions that users call (DESIGN 2.1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import Any, Literal, TypeAlias
from warnings import warn

from cerlab import io
from cerlab.automata.cea import IntervalCea
from cerlab.automata.determinise import DeterministicCea
from cerlab.automata.naming import Machine
from cerlab.automata.plan import Plan
from cerlab.automata.strategy import StrategyCea
from cerlab.automata.vcea import Vcea
from cerlab.compile.foundations import anchored_query
from cerlab.compile.pipeline import compile_query
from cerlab.display import shown
from cerlab.engine.reference import driver
from cerlab.engine.reference.evaluation import TecsEvaluation
from cerlab.engine.reference.lists import lists_recogniser
from cerlab.engine.reference.relabel import labels_of_answer
from cerlab.engine.reference.runs import CeaRuns, VceaRuns
from cerlab.errors import CerlabWarning, Unsupported, UsageError, nearest
from cerlab.logic.cel.semantics import valuations as cel_valuations
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.ceql.check import Remark, check_query, remarks
from cerlab.logic.ceql.parser import Source, parse_cel, parse_ceql, parse_schema
from cerlab.logic.ceql.semantics import query_answers, query_valuations
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.logic.ceql.text import query_text
from cerlab.logic.focel.semantics import fo_valuations
from cerlab.logic.focel.translate import unary_fo_to_so
from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.model.clauses import TimeWindow
from cerlab.model.clock import TimeAxis, clock_for, only_timestamp, time_axis
from cerlab.model.event import Event
from cerlab.model.order import by_end
from cerlab.model.schema import Schema
from cerlab.model.stream import Stream
from cerlab.session import Session

Evaluator: TypeAlias = Literal[
    "auto", "reference", "automaton", "tecs", "lists", "compiled", "registers"
]
Language: TypeAlias = Literal["ceql", "cel"]
Logic: TypeAlias = Literal["so", "fo"]

AVAILABLE = ("reference", "automaton", "tecs", "lists", "compiled")
"""The evaluators of this version, by name; ``"auto"`` is the best that takes the query."""

_ANNOUNCED = ("registers",)

SHORT = 20_000
"""Up to so many events ``"auto"`` is the tECS, which needs nothing compiled; beyond, the engine."""


@shown
class Query:
    """A CEQL query with everything that is made of it, each stage on first use."""

    def __init__(self, ast: CeqlQuery, *, schema: Schema | None = None, source: Source) -> None:
        self.ast = ast
        self.schema = schema
        self.source = source
        if schema is not None:
            check_query(ast, schema, source)
        self.remarks: tuple[Remark, ...] = tuple(remarks(ast, source))

    @property
    def formula(self) -> Formula:
        """The formula after WHERE."""
        return self.ast.formula

    @property
    def text(self) -> str:
        """The canonical text, one clause per line."""
        return query_text(self.ast)

    @cached_property
    def plan(self) -> Plan:
        """What engines run; raises `Unsupported` for what has no automaton."""
        return compile_query(self.ast)

    @cached_property
    def has_automaton(self) -> bool:
        """Whether the query compiles; if not, only the reference takes it."""
        try:
            return self.plan is not None
        except Unsupported:
            return False

    @property
    def vcea(self) -> Vcea:
        """The automaton with labels (CORE App. A.1)."""
        return self.plan.vcea

    @property
    def cea(self) -> IntervalCea:
        """The automaton with marks (CORE Sec. 3)."""
        return self.plan.cea

    @cached_property
    def det(self) -> DeterministicCea:
        """The I/O-deterministic automaton, as far as streams have needed it yet."""
        return DeterministicCea(self.cea)

    @cached_property
    def machine(self) -> Machine:
        """What the tECS steps through: `det`, or the automaton of the strategy in SELECT."""
        strategy = self.plan.strategy
        return self.det if strategy is None else StrategyCea(self.cea, strategy)

    def run(self, events: Any) -> Matches:
        """The answers on a stream, evaluated while they are iterated."""
        return Matches(self, io.as_stream(events))

    def open(
        self, *, time: str | None = None, unit: str | None = None, state: bytes | None = None
    ) -> Session:
        """A push interface: ``push(batch)`` gives the new answers, ``state()`` bytes to go on from.

        `time` and `unit` name the time attribute for windows in hours, minutes or seconds. With the
        `state` of an earlier session of the same query it goes on where that was; raises `BadData`
        for other bytes.

        >>> session = parse_query("SELECT * WHERE A ; B").open()
        >>> session.push([{"type": "A"}])
        []
        >>> session.push([{"type": "B"}])
        [ComplexEvent(start=0, end=1, positions=(0, 1))]
        """
        return Session(self.plan, self.machine, time_axis(time, unit) if time else None, state)

    def __repr__(self) -> str:
        return self.text


class Matches:
    """The answers of a query on a stream, lazily: by end, inside one end in a fixed order."""

    def __init__(self, query: Query, stream: Stream) -> None:
        self.query = query
        self.stream = stream

    def __iter__(self) -> Iterator[ComplexEvent]:
        return answers_of(self.query, self.stream)

    def __getitem__(self, k: int) -> ComplexEvent:
        """The k-th answer, from 0; raises IndexError."""
        if k < 0:
            raise IndexError("answers are counted from the first one")
        for answer in islice(self, k, None):
            return answer
        raise IndexError(f"there is no answer number {k}")

    def count(self) -> int:
        """How many answers there are, without listing them."""
        query = self.query
        if not query.has_automaton:
            return len(query_answers(query.ast, self.stream))
        return driver.count(query.plan, query.machine, self.stream, self.stream.time)

    def to_arrow(self) -> Any:
        """A pyarrow Table: ``start int64, end int64, positions list<int64>``."""
        return io.arrow_table(self)

    def to_pandas(self) -> Any:
        """The same as a pandas DataFrame."""
        return self.to_arrow().to_pandas()

    def __repr__(self) -> str:
        return f"<Matches of a query on {len(self.stream)} events>"


What: TypeAlias = str | Query | Formula
"""What can be evaluated: text (CEQL or a formula), a query, a formula."""

_CEQL = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:select|create|declare)\b", re.I | re.S)


def parse_query(text: str, schema: Schema | str | None = None) -> Query:
    """Read a CEQL query; ``CREATE STREAM`` before it, or `schema`, declares what it may use.

    Parts without effect give a `CerlabWarning`. Raises `QuerySyntaxError`, `IllFormed`,
    `TypeMismatch` and `ResourceLimit`, each with its place.

    >>> parse_query("select * where A as x; B within 3 events")
    SELECT *
    WHERE A AS x ; B
    WITHIN 3 EVENTS
    """
    query = _read_query(text, schema)
    _warn(query)
    return query


def _read_query(text: str, schema: Schema | str | None) -> Query:
    ast, declared, source = parse_ceql(text)
    given = parse_schema(schema) if isinstance(schema, str) else schema
    if declared and given:
        given = Schema(given.streams + declared.streams)
    return Query(ast, schema=given or declared, source=source)


def _warn(query: Query) -> None:
    for remark in query.remarks:
        warn(CerlabWarning(str(remark)), stacklevel=3)


def parse_formula(text: str) -> Formula:
    """Read a formula of the CEL family; raises as `parse_query`.

    >>> print(parse_formula("(A or B)+ as x filter x[v > 1]"))
    (A OR B)+ AS x FILTER x[v > 1]
    """
    formula, _ = parse_cel(text)
    return formula


def as_query(
    what: What,
    language: Language | None = None,
    schema: Schema | None = None,
    *,
    logic: Logic = "so",
) -> Query:
    """A query of anything that can be evaluated; a formula is ``SELECT *`` of it.

    Remarks on labels are of the meaning "so", and are warnings only there.
    """
    if isinstance(what, Query):
        return what
    if not isinstance(what, str):
        return Query(CeqlQuery(what), schema=schema, source=Source("", {}, ()))
    if language == "ceql" or (language is None and _CEQL.match(what)):
        query = _read_query(what, schema)
    else:
        formula, source = parse_cel(what)
        query = Query(CeqlQuery(formula), schema=schema, source=source)
    if not _is_fo(logic):
        _warn(query)
    return query


def evaluate(
    what: What,
    events: Any,
    *,
    evaluator: Evaluator = "auto",
    logic: Logic = "so",
    limit: int | None = None,
) -> list[ComplexEvent]:
    """The complex events of `what` on a stream, each once, sorted by (end, start, positions).

    `limit` caps the answers; which ones are given is then not specified. Raises `Unsupported`
    where the evaluator cannot take the query, and never gives another answer instead. `logic` is
    the meaning of its variables: sets of events ("so"), or one event each ("fo").

    >>> evaluate("A ; B", [{"type": "A"}, {"type": "C"}, {"type": "B"}])
    [ComplexEvent(start=0, end=2, positions=(0, 2))]
    """
    if limit is not None and limit < 0:
        raise UsageError("CER0804", f"limit is {limit}, a negative number")
    query, stream = as_query(what, logic=logic), io.as_stream(events)
    by = fo_answers_of if _is_fo(logic) else answers_of
    answers = by(query, stream, evaluator)
    return sorted(islice(answers, limit), key=by_end)


def answers_of(
    query: Query, stream: Stream, evaluator: Evaluator = "auto"
) -> Iterator[ComplexEvent]:
    """The answers by one evaluator, by end, as they are found.

    ``"auto"`` is the tECS on short streams and the compiled engine on others where there is an
    automaton, else the reference.
    """
    match evaluator:
        case "auto":
            if not query.has_automaton:
                return answers_of(query, stream, "reference")
            return answers_of(query, stream, "tecs" if len(stream) <= SHORT else "compiled")
        case "tecs":
            machine = query.machine
            return driver.run(query.plan, lambda: TecsEvaluation(machine), stream, stream.time)
        case "automaton":
            cea, strategy = query.cea, query.plan.strategy
            return driver.run(query.plan, lambda: CeaRuns(cea, strategy), stream, stream.time)
        case "compiled":
            return _compiled(query, stream)
        case "lists":
            return _by_lists(query, stream, first_order=False)
        case "reference":
            return iter(query_answers(query.ast, stream))
        case _ if evaluator in _ANNOUNCED:
            raise Unsupported(
                "CER0404",
                f'evaluator="{evaluator}" is not in this version',
                hint=f"use one of {', '.join(AVAILABLE)}",
            )
        case _:
            known = (*AVAILABLE, "auto")
            raise UsageError(
                "CER0805", f"unknown evaluator '{evaluator}'", hint=nearest(evaluator, known)
            )


def fo_answers_of(
    query: Query, stream: Stream, evaluator: Evaluator = "auto"
) -> Iterator[ComplexEvent]:
    """The answers of a query as FO-CEL, by one evaluator; the machines take unary formulas.

    ``"lists"`` runs the automaton of Foundations' Theorem 3, the others that of the SO-CEL formula
    with the same complex events. ``"auto"`` is the tECS where there is one, else the reference.
    """
    if evaluator == "reference":
        return iter(query_answers(query.ast, stream, fo_valuations))
    if evaluator == "lists":
        return _by_lists(query, stream, first_order=True)
    try:
        ast = replace(query.ast, formula=unary_fo_to_so(query.formula))
    except Unsupported:
        if evaluator == "auto":
            return fo_answers_of(query, stream, "reference")
        raise
    translated = Query(ast, schema=query.schema, source=query.source)
    return answers_of(translated, stream, evaluator)


def _compiled(query: Query, stream: Stream) -> Iterator[ComplexEvent]:
    """By the compiled engine; Numba and NumPy load here."""
    from cerlab.engine.run import compiled_answers

    time = stream.time
    if time is None and isinstance(query.plan.window, TimeWindow):
        time = only_timestamp(stream)
    for batch in compiled_answers(query.plan, query.machine, stream, time):
        yield from batch


def _by_lists(query: Query, stream: Stream, *, first_order: bool) -> Iterator[ComplexEvent]:
    cea, strategy = anchored_query(query.ast, first_order=first_order)
    return driver.run(query.plan, lambda: lists_recogniser(cea, strategy), stream, stream.time)


def live_answers(
    query: Query, events: Iterable[Event], time: TimeAxis | None = None
) -> Iterator[ComplexEvent]:
    """The answers on events that are still arriving, each as soon as its last event is there.

    A window in hours, minutes or seconds needs `time` here: it cannot be looked for in what has
    not come yet.
    """
    machine = query.machine
    if isinstance(query.plan.window, TimeWindow):
        clock_for(query.plan.window, time)
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
    for position, labels in labels_of_answer(query.plan, stream.events, answer).items():
        groups = [chosen[label] for label in labels if label in chosen]
        if groups and all(groups):
            shown[position] = frozenset[str]().union(*groups)
    return shown


def valuations(what: What, events: Any, *, logic: Logic = "so") -> set[Valuation]:
    """The valuations of `what` on a stream, from the reference semantics.

    Under ``"fo"`` a label that is a variable has the positions that its own atoms gave it.

    >>> valuations("A AS x", [{"type": "A"}])
    {Valuation(start=0, end=0, labels={'A': (0,), 'x': (0,)})}
    """
    meaning = fo_valuations if _is_fo(logic) else cel_valuations
    return set(query_valuations(as_query(what, logic=logic).ast, io.as_stream(events), meaning))


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


def count(query: What, events: Any) -> int:
    """Exactly ``len(evaluate(query, events))``, without listing.

    >>> count("A+", [{"type": "A"}] * 100) == 2**100 - 1
    True
    """
    return Matches(as_query(query), io.as_stream(events)).count()


def _is_fo(logic: str) -> bool:
    if logic not in ("so", "fo"):
        raise UsageError("CER0806", f"unknown logic '{logic}'", hint='use "so" or "fo"')
    return logic == "fo"
