"""Patterns: what is evaluated, with the stages that are compiled of it, each on first use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from cerlab.automata.automaton import AnchoredCea, IntervalCea, Vcea
from cerlab.automata.compose import relabel
from cerlab.automata.determinise import DeterministicCea
from cerlab.automata.machine import Machine, machine_of
from cerlab.automata.plan import Plan
from cerlab.automata.registers.labelled import LabelledSrt
from cerlab.automata.registers.plan import CorrelatedPlan, RegisterPlan
from cerlab.budget import poll, step_budget
from cerlab.compile.cel_to_vcea import cel_to_vcea
from cerlab.compile.correlated_to_srt import correlated_plan, correlated_to_labelled_srt
from cerlab.compile.foundations import anchored_query
from cerlab.compile.register_plan import register_plan
from cerlab.compile.vcea_to_cea import vcea_to_cea
from cerlab.display import drawable
from cerlab.errors import ResourceLimit, Unsupported
from cerlab.logic.cel.syntax import Formula, Select, defined_labels
from cerlab.logic.ceql.check import Remark, check_query, remarks
from cerlab.logic.ceql.parser import Source
from cerlab.logic.ceql.syntax import (
    CeqlQuery,
    plan_clauses,
    selected_formula,
    strategy_and_body,
)
from cerlab.logic.ceql.text import query_text
from cerlab.logic.focel.scope import check_first_order
from cerlab.logic.focel.translate import fo_to_so, labelled_fo_to_so, unary_fo_to_so
from cerlab.logic.sremo.syntax import Sremo
from cerlab.model.clauses import Strategy
from cerlab.model.schema import Schema

if TYPE_CHECKING:
    from cerlab.engine.learned import LearnedTables

Logic: TypeAlias = Literal["so", "fo"]
"""What the variables of a formula are: sets of events, or one event each."""

LabelledMachine = TypeVar("LabelledMachine", Vcea, LabelledSrt)


def _has_registers(pattern: AnyPattern) -> bool:
    """Whether what is evaluated compiles to a transducer."""
    try:
        return pattern.registers is not None
    except (Unsupported, ResourceLimit):
        poll()
        return False


@drawable
class Pattern:
    """A CEQL query under a logic, with its stages.

    Under ``"fo"`` they are those of SO-CEL formulas with the same complex events: for the automata
    of a unary formula (SOCEL Thm. 1), for registers also of one with filters over two variables
    (SOCEL Thm. 3).
    """

    def __init__(
        self,
        ast: CeqlQuery,
        *,
        schema: Schema | None = None,
        source: Source | None = None,
        logic: Logic = "so",
    ) -> None:
        """`source` is the text, if there is one, that errors point into; raises `TypeMismatch`."""
        self.ast = ast
        self.schema = schema
        self.source = source or Source("", {}, ())
        self.logic = logic
        if schema is not None:
            check_query(ast, schema, self.source)

    @cached_property
    def first_order(self) -> Pattern:
        """The same query read as FO-CEL."""
        return Pattern(self.ast, schema=self.schema, source=self.source, logic="fo")

    def replaced(self, **clauses: Any) -> Pattern:
        """The query with other clauses, of the same schema, source and logic."""
        ast = replace(self.ast, **clauses)
        return Pattern(ast, schema=self.schema, source=self.source, logic=self.logic)

    @cached_property
    def remarks(self) -> tuple[Remark, ...]:
        """What the query says without effect."""
        return tuple(remarks(self.ast, self.source))

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
        ast = self.ast
        if self.logic == "fo":
            ast = replace(ast, formula=unary_fo_to_so(selected_formula(ast)), items=None)
        with step_budget("the automaton of the formula", own=1):
            vcea = cel_to_vcea(strategy_and_body(ast)[1])
            cea = vcea_to_cea(vcea)
        return Plan(vcea=vcea, cea=cea, **plan_clauses(ast))

    @cached_property
    def has_automaton(self) -> bool:
        """Whether the query compiles to an automaton; what does not may have `registers`."""
        try:
            return self.plan is not None
        except Unsupported:
            return False

    @cached_property
    def labelled(self) -> Vcea:
        """What labels the answers of `plan`.

        Under the logic "fo" labels are the event types and the variables of the text.
        """
        if self.logic == "so":
            return self.plan.vcea
        return self._first_order_labels(cel_to_vcea)

    def _first_order_labels(
        self, construct: Callable[[Formula], LabelledMachine]
    ) -> LabelledMachine:
        """The automaton of a formula with variables as labels, those that the text has."""
        formula = selected_formula(self.ast)
        so_formula, variable = labelled_fo_to_so(formula)
        names = defined_labels(formula)
        return relabel(
            construct(so_formula),
            lambda L: names.intersection(variable.get(label, label) for label in L),
        )

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

    @cached_property
    def learned(self) -> LearnedTables:
        """What the compiled engine has learnt of the query; it grows with the streams it reads."""
        from cerlab.engine.learned import LearnedTables  # NumPy loads here

        return LearnedTables(self.machine)

    @cached_property
    def anchored(self) -> tuple[AnchoredCea, Strategy | None]:
        """Foundations' automaton and the strategy (FOUND Thm. 3); raises `Unsupported`."""
        return anchored_query(self.ast, first_order=self.logic == "fo")

    @cached_property
    def registers(self) -> CorrelatedPlan:
        """What runs on registers, filters that compare labels included.

        Raises `Unsupported` for what has no transducer, `ResourceLimit` for one too large.
        """
        if self.logic == "so":
            return correlated_plan(self.ast)
        formula = _without_variables(selected_formula(self.ast))
        return correlated_plan(replace(self.ast, formula=formula, items=None))

    @cached_property
    def labelled_registers(self) -> LabelledSrt:
        """The transducer with labels, which are as in `labelled`; raises as `registers`."""
        if self.logic == "so":
            return correlated_to_labelled_srt(strategy_and_body(self.ast)[1])
        return self._first_order_labels(correlated_to_labelled_srt)

    has_registers = cached_property(_has_registers)

    def __repr__(self) -> str:
        return self.text


class SremoPattern:
    """A SREMO with its transducer, the one stage that it has."""

    schema = None
    has_automaton = False

    def __init__(self, ast: Sremo) -> None:
        self.ast = ast

    @cached_property
    def registers(self) -> RegisterPlan:
        """What a stream shows of it; raises `Unsupported` and `ResourceLimit`."""
        return register_plan(self.ast)

    has_registers = cached_property(_has_registers)


AnyPattern: TypeAlias = Pattern | SremoPattern


def _without_variables(phi: Formula) -> Formula:
    """The formula in SO-CEL with the same complex events; raises as `fo_to_so`."""
    if isinstance(phi, Select):
        return Select(phi.strategy, _without_variables(phi.body))
    check_first_order(phi)
    return fo_to_so(phi)
