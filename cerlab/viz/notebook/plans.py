"""Plans, how the engine goes about them, and open queries, in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

from cerlab import display
from cerlab.automata.automaton import IntervalCea
from cerlab.automata.plan import Plan
from cerlab.automata.registers.plan import CorrelatedPlan, RegisterPlan
from cerlab.automata.registers.transducer import Srt
from cerlab.engine.explanation import Explanation
from cerlab.logic.ceql.text import window_text
from cerlab.model.clauses import Consume
from cerlab.predicates.words import count_text
from cerlab.viz.html import block, items, table

Facts: TypeAlias = Sequence[tuple[str, str]]
"""The name of each part, and its value."""


class SessionLike(Protocol):
    """A query that is open, as ``Query.open`` gives it."""

    plan: Plan
    pushed: int
    answered: int


def plan_facts(plan: Plan | CorrelatedPlan) -> list[tuple[str, str]]:
    """The facts of a query that engines use: its machine, and the clauses it has."""
    facts = [
        *_machine_facts(plan.cea if isinstance(plan, Plan) else plan.srt),
        ("streams", ", ".join(plan.streams)),
        ("partition by", ", ".join(plan.partition)),
        ("within", "" if plan.window is None else window_text(plan.window)),
        ("strategy", plan.strategy.value if plan.strategy else ""),
        ("consume by", "" if plan.consume is Consume.NONE else plan.consume.value),
        ("limit", "" if plan.limit is None else f"{plan.limit.per_end} answers of an end"),
    ]
    return [(name, text) for name, text in facts if text]


def register_plan_facts(plan: RegisterPlan) -> list[tuple[str, str]]:
    """The facts of a SREMO that engines use: its machine, and the windows on its matches."""
    return [*_machine_facts(plan.srt), *(("within", window_text(w)) for w in plan.windows)]


def _machine_facts(A: IntervalCea | Srt) -> list[tuple[str, str]]:
    size = f"{count_text(A.states, 'state')}, {count_text(len(A.Delta), 'transition')}"
    if isinstance(A, IntervalCea):
        return [("machine", size)]
    return [("machine", size), ("registers", ", ".join(sorted(A.R)) or "none")]


def facts_text(facts: Facts) -> str:
    """A fact a line."""
    return "\n".join(f"{name}: {text}" for name, text in facts)


def facts_html(facts: Facts) -> str:
    """The facts as a table."""
    return block(table("Plan", ("part", "value"), facts))


def explanation_html(explanation: Explanation) -> str:
    """A step of the engine an item."""
    return block(items("How the engine goes about it", explanation.lines))


def session_html(session: SessionLike) -> str:
    """How many events were pushed, how many answers they completed, and the plan."""
    done = [("events pushed", session.pushed), ("answers completed", session.answered)]
    return block(table("Open query", ("part", "value"), [*done, *plan_facts(session.plan)]))


for _kind in (Plan, CorrelatedPlan):
    display.register(_kind, "text/plain", lambda plan: facts_text(plan_facts(plan)))
    display.register(_kind, "text/html", lambda plan: facts_html(plan_facts(plan)))
display.register(RegisterPlan, "text/plain", lambda plan: facts_text(register_plan_facts(plan)))
display.register(RegisterPlan, "text/html", lambda plan: facts_html(register_plan_facts(plan)))
display.register(Explanation, "text/html", explanation_html)
