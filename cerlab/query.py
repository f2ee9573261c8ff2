"""Queries as objects, with every stage that is made of them (DESIGN 2.1)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from warnings import warn

from cerlab import io
from cerlab.automata.automaton import IntervalCea, Vcea
from cerlab.automata.determinise import DeterministicCea
from cerlab.automata.machine import Machine, machine_of
from cerlab.automata.plan import Plan
from cerlab.automata.registers.plan import CorrelatedPlan
from cerlab.compile.correlated_to_srt import correlated_plan
from cerlab.compile.pipeline import compile_query
from cerlab.display import shown
from cerlab.errors import CerlabWarning, ResourceLimit, Unsupported, UsageError
from cerlab.logic.cel.depth import refuse_deep
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.ceql.check import Remark, check_query, remarks
from cerlab.logic.ceql.parser import Source, parse_cel, parse_ceql, parse_schema
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.logic.ceql.text import query_text
from cerlab.logic.sremo.parser import begins_sremo
from cerlab.logic.sremo.syntax import Sremo
from cerlab.matches import Matches
from cerlab.model.clock import axis_of_options
from cerlab.model.schema import Schema
from cerlab.session import Session

if TYPE_CHECKING:
    from cerlab.engine.explain import Explanation
    from cerlab.engine.learned import LearnedTables
    from cerlab.viz.machines.deterministic import MintermTable
    from cerlab.why.answer import Why
    from cerlab.why.none import WhyNone

Language: TypeAlias = Literal["ceql", "cel"]
Logic: TypeAlias = Literal["so", "fo"]


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
        """Whether the query compiles to an automaton; what does not may have `registers`."""
        try:
            return self.plan is not None
        except Unsupported:
            return False

    @cached_property
    def registers(self) -> CorrelatedPlan:
        """What runs on registers, filters that compare labels included.

        Raises `Unsupported` for what has no transducer, `ResourceLimit` for one too large.
        """
        return correlated_plan(self.ast)

    @cached_property
    def has_registers(self) -> bool:
        """Whether the query compiles to a transducer."""
        try:
            return self.registers is not None
        except (Unsupported, ResourceLimit):
            return False

    @property
    def on_registers(self) -> bool:
        """Whether it is a transducer that runs it, since there is no automaton."""
        return not self.has_automaton and self.has_registers

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
        machine = self.machine
        return machine if isinstance(machine, DeterministicCea) else DeterministicCea(self.cea)

    @cached_property
    def machine(self) -> Machine:
        """What the tECS steps through: `det`, or the automaton of the strategy in SELECT."""
        return machine_of(self.plan)

    @property
    def table(self) -> MintermTable:
        """What `machine` does on each kind of event, explored; raises `ResourceLimit`."""
        from cerlab.viz.machines.deterministic import minterm_table

        return minterm_table(self.machine)

    @cached_property
    def learned(self) -> LearnedTables:
        """What the compiled engine has learnt of the query; it grows with the streams it reads."""
        from cerlab.engine.learned import LearnedTables

        return LearnedTables(self.machine)

    def explain(self, events: Any = None) -> Explanation:
        """How the compiled engine goes about the query, on streams such as `events`.

        Raises `Unsupported` for what has no automaton.

        >>> events = [{"type": kind} for kind in "ABC"]
        >>> print(parse_query("SELECT * WHERE A ; B WITHIN 9 EVENTS").explain(events))
        predicates: 2 tests on the columns type; 2 different outcomes seen so far
        events read: 2 of 3 outcomes
        phase one: the latest start in each of 1 states tells which events end an answer
        phase two: chains of records, as runs only gather
        """
        from cerlab.engine.explain import explain

        if events is not None:
            stream = io.as_stream(events)
            self.learned.symbols(stream.columns, len(stream))
        return explain(self.plan, self.learned)

    def run(self, events: Any, *, workers: int = 1) -> Matches:
        """The answers on a stream, evaluated while they are iterated.

        With several `workers`, streams that are long enough for the compiled engine are evaluated
        by as many threads, where answers depend on one window only; others by one.
        """
        return Matches(self, io.as_stream(events), workers=workers)

    def why_not(
        self,
        events: Any,
        positions: Iterable[int],
        start: int | None = None,
        end: int | None = None,
        *,
        logic: Logic = "so",
    ) -> Why:
        """Which obligation the positions fail to be an answer on a stream (`cerlab.why`).

        >>> query = parse_query("SELECT * WHERE A : B")
        >>> print(query.why_not([{"type": kind} for kind in "ACB"], [0, 2]).failure)
        gap of 1 event at ':', between 0 and 2
        """
        from cerlab.why import why

        return why(self, events, positions, start, end, logic=logic)

    def why_none(self, events: Any) -> WhyNone:
        """Why there is no answer on a stream, and what would give one (`cerlab.why_none`).

        >>> print(parse_query("SELECT * WHERE A : B").why_none([{"type": kind} for kind in "ACB"]))
        no answer on 3 events; each of these changes alone gives one:
          ';' for ':' before B: {0, 2}
        """
        from cerlab.why.none import why_none

        return why_none(self, events)

    def open(
        self, *, time: str | None = None, unit: str | None = None, state: bytes | None = None
    ) -> Session:
        """A push interface: ``push(batch)`` gives the new answers, ``state()`` bytes to go on from.

        `time` and `unit` name the time attribute for windows in hours, minutes or seconds; without
        them it is the only timestamp that the query's schema declares. With the `state` of an
        earlier session of the same query it goes on where that was, on the same time; raises
        `BadData` for other bytes, `UsageError` for another time.

        >>> session = parse_query("SELECT * WHERE A ; B").open()
        >>> session.push([{"type": "A"}])
        []
        >>> session.push([{"type": "B"}])
        [ComplexEvent(start=0, end=1, positions=(0, 1))]
        """
        axis = axis_of_options(time, unit)
        if axis is None and state is None:
            axis = io.time_of_schema(self.schema)
        return Session(self.plan, self.learned, axis, state)

    def __repr__(self) -> str:
        return self.text


What: TypeAlias = str | Query | Formula
"""What can be evaluated: text (CEQL or a formula), a query, a formula."""

_CEQL = re.compile(r"(?:\s|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*(?:select|create|declare)\b", re.I)


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


def query_of(ast: CeqlQuery, schema: Schema | None = None) -> Query:
    """A query of a tree alone, without a text that errors could point into."""
    return Query(ast, schema=schema, source=Source("", {}, ()))


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
    if isinstance(what, Sremo) or (
        isinstance(what, str) and language is None and begins_sremo(what)
    ):
        raise Unsupported(
            "CER0483",
            "this takes CEQL and CEL formulas, not a SREMO",
            hint="cerlab.evaluate and cerlab.matches take it",
        )
    if not isinstance(what, str):
        if not isinstance(what, Formula):
            hint = "a text, a Query, a Formula or a Sremo is"
            raise UsageError("CER0838", f"{type(what).__name__} is no query", hint=hint)
        refuse_deep(what)
        return query_of(CeqlQuery(what), schema)
    if language == "ceql" or (language is None and _CEQL.match(what)):
        query = _read_query(what, schema)
    else:
        formula, source = parse_cel(what)
        query = Query(CeqlQuery(formula), schema=schema, source=source)
    if not is_fo(logic):
        _warn(query)
    return query


def is_fo(logic: str) -> bool:
    """Whether a name of a logic is that of FO-CEL; raises `UsageError` for others than the two."""
    if logic not in ("so", "fo"):
        raise UsageError("CER0806", f"unknown logic '{logic}'", hint='use "so" or "fo"')
    return logic == "fo"
