"""Patterns: a parsed query or expression with its machines, each compiled at its first use."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar, get_args
from warnings import warn

from cerlab.automata.automaton import AnchoredCea, IntervalCea, Vcea
from cerlab.automata.compose import relabel
from cerlab.automata.context import Context
from cerlab.automata.deterministic import DeterministicCea
from cerlab.automata.labelled import LabelledSrt
from cerlab.automata.plan import CorrelatedPlan, FilterPlan, Plan, RegisterPlan
from cerlab.automata.strategy import Machine, machine_of
from cerlab.budget import poll, step_budget
from cerlab.compile.cel_to_vcea import REFERENCE, cel_to_vcea, in_context, vcea_to_cea
from cerlab.compile.correlated_to_srt import correlated_plan, correlated_to_labelled_srt
from cerlab.compile.foundations import anchored_query
from cerlab.compile.sremo_to_srt import register_plan
from cerlab.compile.tested import listed_queries
from cerlab.compile.waiting import Labels, labels_of_body, labels_of_whole, wait_plan
from cerlab.computed import cached_property
from cerlab.display import Drawable
from cerlab.errors import (
    CerlabError,
    CerlabWarning,
    IllFormed,
    ResourceLimit,
    Unsupported,
    UsageError,
    by_door,
    nearest,
    refuse_misspelt,
    stacklevel_of_caller,
)
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.check import Remark, check_query, remarks
from cerlab.logic.ceql.parser import Source, parse_cel, parse_ceql
from cerlab.logic.ceql.syntax import (
    CeqlQuery,
    plan_clauses,
    query_text,
    selected_formula,
    strategy_and_body,
)
from cerlab.logic.focel.semantics import check_first_order
from cerlab.logic.focel.translate import fo_to_so, labelled_fo_to_so, unary_fo_to_so
from cerlab.logic.sremo.parser import parse_sremo
from cerlab.logic.sremo.syntax import Sremo
from cerlab.model.clauses import Consume, Strategy
from cerlab.model.event import Schema
from cerlab.predicates.condition import Atomic, Correlation, with_atomics
from cerlab.predicates.separation import separated

if TYPE_CHECKING:
    from cerlab.engine.labels import LabelMachine
    from cerlab.engine.symbol_tables import LearnedTables

SHOW_TRANSDUCER = by_door(
    "query.srt is the transducer of this query", "--what srt shows the transducer of this query"
)
"""Hint for a query with a transducer where an automaton is asked for."""


Logic: TypeAlias = Literal["so", "fo"]
"""The reading of the variables of a formula: sets of events (so), or one event each (fo)."""

MachineKind: TypeAlias = Literal["automaton", "registers", "waits", "listed"]
"""The kind of machine that gives the answers: an automaton, a transducer, stages that wait for the
answers of some, or tests of the valuations that one of these lists.
"""

LabelledMachine = TypeVar("LabelledMachine", Vcea, LabelledSrt)


def _is_there(stage: Callable[[], object]) -> bool:
    """Return whether a machine of a pattern exists: it compiles and is not too large."""
    try:
        return stage() is not None
    except (Unsupported, ResourceLimit, IllFormed):
        poll()
        return False


class Immutable:
    """An immutable object that may cache results computed from it."""

    def __setattr__(self, name: str, value: object) -> None:
        kind = type(self).__name__
        raise UsageError(
            "CER0854",
            f"cannot set '{name}': a {kind} is immutable",
            hint="create a new object from another text or other events",
        )


class WaitStages:
    """The machines of a query with WAIT, look-backs or windows in time."""

    def __init__(self, query: CeqlQuery, *, on_registers: bool = False) -> None:
        """Compile the plan; raise the errors of `wait_plan`."""
        self._query = query
        self.plan = wait_plan(query, on_registers=on_registers)

    @cached_property
    def on_registers(self) -> WaitStages:
        """The machines of the query with transducers in place of automata."""
        return WaitStages(self._query, on_registers=True)

    @cached_property
    def machines(self) -> tuple[Machine | CorrelatedPlan, ...]:
        """The machines that the plan runs: automata, and plans of transducers."""
        plans = self.plan.plans
        return tuple(machine_of(each) if isinstance(each, Plan) else each for each in plans)

    @cached_property
    def tables(self) -> dict[int, LearnedTables]:
        """The compiled engine's tables for each automaton in `machines`, by its index there."""
        from cerlab.engine.symbol_tables import LearnedTables  # NumPy loads here

        return {
            n: LearnedTables(each)
            for n, each in enumerate(self.machines)
            if not isinstance(each, CorrelatedPlan)
        }

    @cached_property
    def labels_of_body(self) -> Labels | None:
        """The machine that labels each answer up to its last position.

        None if an answer does not determine its body, or where the body ended.
        """
        return None if self.plan.repeats else labels_of_body(self._query)

    @cached_property
    def labels(self) -> Labels | None:
        """The machine that labels answers up to the end of their wait; None without one."""
        try:
            return labels_of_whole(self._query)
        except (Unsupported, ResourceLimit):
            poll()
            return None

    @cached_property
    def label_machine(self) -> LabelMachine:
        """The compiled machine that labels answers."""
        from cerlab.engine.labels import LabelMachine  # Numba loads here

        labels = self.labels_of_body or self.labels
        assert labels is not None, "a machine labels the answers"
        return LabelMachine(labels.machine)

    def check_live(self) -> None:
        """Raise `Unsupported` if a run depends on events that have not arrived."""
        if self.is_live:
            return
        reason = "selects, limits or consumes among answers of windows in time and waits"
        if not self.plan.selects:
            reason = "waits before other steps of a formula"
        raise Unsupported(
            "CER0403",
            f"no session {reason}",
            hint="cerlab.evaluate supports it, on streams that are read as a whole",
        )

    @property
    def is_live(self) -> bool:
        """True if each answer is returned as soon as the clock decides it."""
        return not self.plan.looks_ahead and not self.plan.selects


class Pattern(Drawable, Immutable):
    """A CEQL query with its machines, each compiled at its first use.

    Under ``"fo"`` they are those of SO-CEL formulas with the same complex events: automata for a
    unary formula (SOCEL Thm. 1), registers also for one with filters over two variables (SOCEL Thm.
    3).
    """

    ast: CeqlQuery
    schema: Schema | None
    source: Source
    logic: Logic

    def __init__(
        self,
        ast: CeqlQuery,
        *,
        schema: Schema | None = None,
        source: Source | None = None,
        logic: Logic = "so",
    ) -> None:
        """Create a pattern; errors point into `source`.

        Raise `TypeMismatch` if the schema does not fit.
        """
        if not isinstance(ast, CeqlQuery):
            hint = "cerlab.parse_query(text) returns the query of a text"
            message = f"expected the syntax tree of a query, got {type(ast).__name__}"
            raise UsageError("CER0838", message, hint=hint)
        source = source or Source("", {}, ())
        vars(self).update(ast=ast, schema=schema, source=source, logic=logic)
        if schema is not None:
            check_query(ast, schema, self.source)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to copy or pickle; the copy compiles its machines again."""
        return {name: vars(self)[name] for name in ("ast", "schema", "source", "logic")}

    @cached_property
    def first_order(self) -> Pattern:
        """The query, interpreted as FO-CEL."""
        return Pattern(self.ast, schema=self.schema, source=self.source, logic="fo")

    def replaced(self, **clauses: Any) -> Pattern:
        """Return this query with some clauses replaced."""
        refuse_misspelt(clauses, CeqlQuery.__dataclass_fields__)
        ast = replace(self.ast, **clauses)
        if ast == self.ast:
            return self
        return Pattern(ast, schema=self.schema, source=self.source, logic=self.logic)

    @cached_property
    def remarks(self) -> tuple[Remark, ...]:
        """Warnings about parts of the query that have no effect."""
        return tuple(remarks(self.ast, self.source))

    @cached_property
    def separated(self) -> Separated | None:
        """The query with one label on each side of every comparison; None if unchanged."""
        changed: dict[Correlation, Correlation] = {}

        def compared(condition: Atomic) -> Atomic:
            if isinstance(condition, Correlation) and (other := separated(condition)) is not None:
                changed[condition] = other
                return other
            return condition

        def rewritten(phi: cel.Formula) -> cel.Formula:
            psi = cel.map_children(rewritten, phi)
            if isinstance(psi, cel.Filter):
                return replace(psi, condition=with_atomics(psi.condition, compared))
            return psi

        ast = replace(self.ast, formula=rewritten(self.ast.formula))
        if not changed:
            return None
        return Separated(Pattern(ast, source=self.source, logic=self.logic), changed)

    @property
    def formula(self) -> cel.Formula:
        """The formula of WHERE."""
        return self.ast.formula

    @property
    def text(self) -> str:
        """The canonical text of the query, one clause per line."""
        return query_text(self.ast)

    @cached_property
    def plan(self) -> Plan:
        """The compiled plan; raises `Unsupported` if the query has no automaton."""
        plan, contexts = self.in_context
        if contexts:
            # raises `Unsupported` with the name of the strategy
            cel_to_vcea(strategy_and_body(self.ast)[1])
        return plan

    @cached_property
    def in_context(self) -> tuple[Plan, tuple[Context, ...]]:
        """The plan of a query with strategies inside the formula, and the contexts that it reads.

        Without such a strategy the plan is `plan`. Raises `Unsupported` without an automaton.
        """
        ast = self.ast
        # complex events have no variables: a formula in SO-CEL with equal complex events will do
        if self.logic == "fo":
            ast = replace(ast, formula=unary_fo_to_so(selected_formula(ast)), items=None)
        phi = strategy_and_body(ast)[1]
        with step_budget("the automaton of the formula", own=1):
            try:
                vcea, contexts = in_context(phi)
            except Unsupported as error:
                # machines that support the rest of the formula do not support a strategy inside it
                if cel.competes(phi):
                    error.hint = REFERENCE
                raise
            cea = vcea_to_cea(vcea)
        return Plan(vcea=vcea, cea=cea, **plan_clauses(ast)), contexts

    @property
    def is_in_context(self) -> bool:
        """True if a strategy inside the formula makes the automaton read contexts."""
        return _is_there(lambda: self.in_context[1] or None)

    @property
    def has_kernels_in_context(self) -> bool:
        """True if the compiled engine can run a query with strategies inside its formula.

        With CONSUME BY contexts restart at each answer, which kernels do not know beforehand.
        """
        reads = self.machine_kind is None and self.is_in_context
        return reads and self.ast.consume is Consume.NONE

    @cached_property
    def machine_kind(self) -> MachineKind | None:
        """The kind of machine that evaluates the query; None if only the reference evaluator can.

        Raises `ResourceLimit` for an automaton that is too large.
        """
        try:
            return "automaton" if self.plan is not None else None
        except Unsupported:
            pass
        if _is_there(lambda: self.waits):
            return "waits"
        if _is_there(lambda: self.registers):
            return "registers"
        return None if self.tested is None else "listed"

    @cached_property
    def tested(self) -> Filtered | None:
        """The query without its outermost filters, and the plan that tests them on its valuations.

        It is used if no machine supports the filters; None if no machine lists the valuations.
        """
        if self.logic == "so":
            for ast, plan in listed_queries(self.ast):
                listed = Pattern(ast, schema=self.schema, source=self.source)
                if listed.machine_kind in ("automaton", "registers", "waits"):
                    return Filtered(listed, plan)
        return None

    @cached_property
    def waits(self) -> WaitStages | None:
        """The machines of a query with waits or windows in time inside; None for other queries.

        Raises `Unsupported`, with the reason, if machines do not support the query, `ResourceLimit`
        for too large machines.
        """
        is_read = self.logic == "so" and cel.is_timed(self.ast.formula)
        return WaitStages(self.ast) if is_read else None

    @property
    def stages(self) -> WaitStages | None:
        """The stages that find the answers, or that list them before filters are tested.

        None for other queries; raises as `waits`.
        """
        if self.machine_kind == "listed" and self.tested is not None:
            return self.tested.query.stages
        return self.waits

    @cached_property
    def labelled(self) -> Vcea:
        """The automaton that assigns labels to the positions of answers.

        Under the logic "fo" labels are the event types and the variables of the text.
        """
        if self.logic == "so":
            return self.plan.vcea
        return self._first_order_labels(cel_to_vcea)

    def _first_order_labels(
        self, construct: Callable[[cel.Formula], LabelledMachine]
    ) -> LabelledMachine:
        """Return an FO-CEL formula's automaton; its labels are event types and variables."""
        formula = selected_formula(self.ast)
        so_formula, variable = labelled_fo_to_so(formula)
        names = cel.defined_labels(formula)
        return relabel(
            construct(so_formula),
            lambda L: names.intersection(variable.get(label, label) for label in L),
        )

    @property
    def vcea(self) -> Vcea:
        """The automaton of the formula, which labels events (CORE App. A.1)."""
        return self._shown.vcea

    @property
    def cea(self) -> IntervalCea:
        """The automaton of the formula, which marks events of answers (CORE Sec. 3)."""
        return self._shown.cea

    @property
    def _shown(self) -> Plan:
        """The compiled plan; the `Unsupported` error names the machine that exists instead."""
        try:
            return self.plan
        except Unsupported as error:
            if self.machine_kind == "registers":
                error.hint = SHOW_TRANSDUCER
            raise

    @cached_property
    def det(self) -> DeterministicCea:
        """The I/O-deterministic automaton, whose states are computed when a stream needs them."""
        cea = self.cea
        return self.machine if isinstance(self.machine, DeterministicCea) else DeterministicCea(cea)

    @cached_property
    def machine(self) -> Machine:
        """The machine of the whole query: `det`, or a `StrategyCea` for a strategy in SELECT.

        Raises `Unsupported` if a query has no automaton.
        """
        return machine_of(self.plan)

    @cached_property
    def learned(self) -> LearnedTables:
        """The compiled engine's transition tables for this query; streams extend them."""
        from cerlab.engine.symbol_tables import LearnedTables  # NumPy loads here

        return LearnedTables(self.machine)

    @cached_property
    def learned_in_context(self) -> LearnedTables:
        """The compiled engine's tables for the plan of `in_context`; streams extend them."""
        from cerlab.engine.symbol_tables import LearnedTables  # NumPy loads here

        return LearnedTables(machine_of(self.in_context[0]))

    @cached_property
    def anchored(self) -> tuple[AnchoredCea, Strategy | None]:
        """The anchored automaton of FOUND Thm. 3 and the query's strategy; raises `Unsupported`."""
        return anchored_query(self.ast, first_order=self.logic == "fo")

    @cached_property
    def registers(self) -> CorrelatedPlan:
        """The plan of the query as a transducer with registers, which can compare labels.

        Raises `Unsupported` for a query without a transducer, `ResourceLimit` for one too large.
        """
        if self.logic == "so":
            try:
                known = self.plan.vcea
            except Unsupported:
                known = None
            return correlated_plan(self.ast, known)
        formula = _without_variables(selected_formula(self.ast))
        return correlated_plan(replace(self.ast, formula=formula, items=None))

    @cached_property
    def labelled_registers(self) -> LabelledSrt:
        """The transducer with registers that labels answers; raises the errors of `registers`."""
        if self.logic == "so":
            return correlated_to_labelled_srt(strategy_and_body(self.ast)[1])
        return self._first_order_labels(correlated_to_labelled_srt)

    @cached_property
    def label_machine(self) -> LabelMachine:
        """The compiled machine that labels answers, from the automaton or else the transducer."""
        from cerlab.engine.labels import LabelMachine  # Numba loads here

        is_automaton = self.machine_kind == "automaton"
        return LabelMachine(self.labelled if is_automaton else self.labelled_registers)

    def __repr__(self) -> str:
        return self.text


class Filtered(NamedTuple):
    """A query without its outermost filters, and the plan that tests them on its valuations."""

    query: Pattern
    plan: FilterPlan


class Separated(NamedTuple):
    """A query with one label on each side of every comparison, and the comparisons it replaced.

    It has the answers of the original query if `cerlab.predicates.separation.agree` holds for each
    pair.
    """

    query: Pattern
    changed: dict[Correlation, Correlation]


class SremoPattern(Immutable):
    """A SREMO expression with its transducer."""

    schema = None
    separated = waits = stages = None
    is_in_context = has_kernels_in_context = False

    ast: Sremo

    def __init__(self, ast: Sremo) -> None:
        vars(self).update(ast=ast)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to copy or pickle; the copy compiles its transducer again."""
        return {"ast": self.ast}

    @cached_property
    def registers(self) -> RegisterPlan:
        """The transducer of the expression as a plan; raises `Unsupported` and `ResourceLimit`."""
        return register_plan(self.ast)

    @cached_property
    def machine_kind(self) -> MachineKind | None:
        """The kind of machine: ``registers``, or None without a transducer."""
        return "registers" if _is_there(lambda: self.registers) else None


AnyPattern: TypeAlias = Pattern | SremoPattern


def _without_variables(phi: cel.Formula) -> cel.Formula:
    """Return a formula in SO-CEL with the complex events of an FO-CEL formula."""
    if isinstance(phi, cel.Select):
        return cel.Select(phi.strategy, _without_variables(phi.body))
    check_first_order(phi)
    return fo_to_so(phi)


QueryInput: TypeAlias = str | Pattern | cel.Formula
"""A query: its text, a parsed query, or a formula alone."""

AnyQueryInput: TypeAlias = QueryInput | Sremo | SremoPattern
"""A query or a SREMO."""

Language: TypeAlias = Literal["ceql", "cel", "sremo"]
LANGUAGES: tuple[Language, ...] = get_args(Language)
_BLANK = r"\s|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/"
_CEQL = re.compile(rf"(?:{_BLANK})*(?:select|create|declare)\b", re.I)

_SREMO = re.compile(rf"(?:{_BLANK}|\()*(?:[<!]|[#@]\s*\()")
"""Pattern of the beginnings of SREMO that no formula has; ``EPS`` and ``EMPTY`` begin otherwise."""
_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|--[^\n]*|/\*.*?\*/""", re.S)
_CLAUSE = re.compile(r"\bmatch_recognize\s*\(", re.I)


def is_row_pattern(text: str) -> bool:
    """Return whether a text has a MATCH_RECOGNIZE clause, outside its quotes and comments.

    >>> is_row_pattern("match_recognize (..)"), is_row_pattern("A[name = 'match_recognize (']")
    (True, False)
    """
    return _CLAUSE.search(_QUOTED.sub(" ", text)) is not None


def _row_pattern_error() -> Unsupported:
    """Return the error for MATCH_RECOGNIZE text where a query on events is expected."""
    return Unsupported(
        "CER0458",
        "this is a row pattern, and MATCH_RECOGNIZE is evaluated on the rows of a table",
        hint=(
            "use cerlab.match_recognize(text, table) for the clause, cerlab.sql for the SQL "
            "around it"
        ),
    )


def is_formula(text: object) -> bool:
    """Return whether a text is a formula without SELECT.

    >>> is_formula("A ; B"), is_formula("SELECT * WHERE A"), is_formula("SELCT * WHERE A")
    (True, False, False)
    """
    if not isinstance(text, str) or _CEQL.match(text):
        return False
    try:
        parse_cel(text)
    except CerlabError:
        return False
    return True


def any_pattern(
    query: AnyQueryInput,
    language: Language | None = None,
    schema: Schema | None = None,
    *,
    logic: Logic = "so",
) -> AnyPattern:
    """Return the pattern of a query, a formula, an expression, or their text.

    A text without a language is a SREMO if it begins with ``<``, ``!``, ``#(`` or ``@(``, which no
    formula does, and CEQL if it begins with SELECT or a declaration; `schema` is used if the text
    declares none. Remarks on labels are for the logic "so", and are warnings only there. Raise
    `UsageError` for unknown languages and logics, and as `parse_query` and `parse_sremo`.
    """
    if language is not None and language not in LANGUAGES:
        hint = nearest(language, LANGUAGES)
        raise UsageError("CER0806", f"unknown language '{language}'", hint=hint)
    if logic not in get_args(Logic):
        raise UsageError("CER0806", f"unknown logic '{logic}'", hint='use "so" or "fo"')
    pattern = _pattern(query, language, schema)
    if isinstance(pattern, Pattern):
        if logic == "fo":
            check_first_order(selected_formula(pattern.ast))
            return pattern.first_order
        # the parser has already warned about a Pattern that is passed in
        for remark in pattern.remarks if isinstance(query, str) else ():
            warn(CerlabWarning(str(remark)), stacklevel=stacklevel_of_caller())
    elif logic == "fo":
        message = 'a SREMO has no variables, so no meaning under logic="fo"'
        raise Unsupported("CER0480", message, hint="omit logic=")
    return pattern


def _pattern(query: AnyQueryInput, language: Language | None, schema: Schema | None) -> AnyPattern:
    if isinstance(query, AnyPattern):
        return query
    if isinstance(query, Sremo):
        return SremoPattern(query)
    if isinstance(query, cel.Formula):
        cel.refuse_deep(query)
        return Pattern(CeqlQuery(query), schema=schema)
    if not isinstance(query, str):
        # by name: the class is in a higher layer, which cannot be imported here
        if type(query).__name__ == "RowPattern":
            raise _row_pattern_error()
        hint = "a text, a Query, a Formula or a Sremo; the query comes first, then the events"
        raise UsageError("CER0838", f"expected a query, got {type(query).__name__}", hint=hint)
    # test cheaply first: few texts are row patterns
    if "match_recognize" in query.lower() and is_row_pattern(query):
        raise _row_pattern_error()
    if language == "sremo" or (language is None and _SREMO.match(query)):
        return SremoPattern(parse_sremo(query))
    if language == "ceql" or (language is None and _CEQL.match(query)):
        ast, declarations, source = parse_ceql(query)
        if declarations and schema:
            declarations = Schema(schema.streams + declarations.streams)
        return Pattern(ast, schema=declarations or schema, source=source)
    formula, source = parse_cel(query)
    return Pattern(CeqlQuery(formula), schema=schema, source=source)


def as_pattern(
    query: QueryInput,
    language: Language | None = None,
    schema: Schema | None = None,
    *,
    logic: Logic = "so",
) -> Pattern:
    """Return the pattern of a query or a formula, but not of a SREMO."""
    pattern = any_pattern(query, language, schema, logic=logic)
    if isinstance(pattern, SremoPattern):
        raise Unsupported(
            "CER0483",
            "expected CEQL or a CEL formula, got a SREMO",
            hint="cerlab.evaluate and cerlab.matches support it",
        )
    return pattern
