"""Plans, how the engine goes about them, and open queries, in a notebook."""

from __future__ import annotations

from typing import Protocol

from cerlab import display
from cerlab.automata.plan import Plan
from cerlab.logic.ceql.text import window_text
from cerlab.model.clauses import Consume
from cerlab.viz.html import block, items, table
from cerlab.viz.words import counted


class ExplanationLike(Protocol):
    """Steps of the compiled engine, in words."""

    lines: tuple[str, ...]


class SessionLike(Protocol):
    """A query that is open, as ``Query.open`` gives it."""

    plan: Plan
    pushed: int
    answered: int


def plan_facts(plan: Plan) -> list[tuple[str, str]]:
    """What engines know of a query: its machine, and the clauses it has."""
    cea = plan.cea
    facts = [
        ("machine", f"{counted(cea.states, 'state')}, {counted(len(cea.Delta), 'transition')}"),
        ("streams", ", ".join(plan.streams)),
        ("partition by", ", ".join(plan.partition)),
        ("within", "" if plan.window is None else window_text(plan.window)),
        ("strategy", plan.strategy.value if plan.strategy else ""),
        ("consume by", "" if plan.consume is Consume.NONE else plan.consume.value),
        ("limit", "" if plan.limit is None else f"{plan.limit.per_end} answers of an end"),
    ]
    return [(name, said) for name, said in facts if said]


def plan_text(plan: Plan) -> str:
    """A fact a line."""
    return "\n".join(f"{name}: {said}" for name, said in plan_facts(plan))


def plan_html(plan: Plan) -> str:
    """The facts as a table."""
    return block(table("Plan", ("part", "value"), plan_facts(plan)))


def explanation_html(explanation: ExplanationLike) -> str:
    """A step of the engine an item."""
    return block(items("How the engine goes about it", explanation.lines))


def session_html(session: SessionLike) -> str:
    """What was pushed, what it completed, and the plan."""
    done = [("events pushed", session.pushed), ("answers completed", session.answered)]
    return block(table("Open query", ("part", "value"), [*done, *plan_facts(session.plan)]))


display.register(Plan, "text/plain", plan_text)
display.register(Plan, "text/html", plan_html)
display.register("cerlab.engine.explain.Explanation", "text/html", explanation_html)
display.register("cerlab.session.Session", "text/html", session_html)
