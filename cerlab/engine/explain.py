"""How the compiled engine goes about a query, in words."""

from __future__ import annotations

from cerlab.automata.plan import Plan
from cerlab.engine.explanation import Explanation
from cerlab.engine.learned import LearnedTables
from cerlab.engine.windowed.program import BUDGET, Program, Read
from cerlab.engine.windowed.scan import why_not_windowed
from cerlab.model.clauses import Consume
from cerlab.predicates.syntax import atoms, attributes_of


def explain(plan: Plan, tables: LearnedTables) -> Explanation:
    """What the engine does with the streams it reads, as far as it has seen symbols."""
    return Explanation((*_predicates(tables), *_machine(plan, tables), *_clauses(plan)))


def _predicates(tables: LearnedTables) -> list[str]:
    tests = list(dict.fromkeys(a for P in tables.machine.predicates for a in atoms(P)))
    columns = ", ".join(sorted(attributes_of(tests))) or "none"
    return [
        f"predicates: {len(tests)} tests on the columns {columns};"
        f" {tables.seen} different outcomes seen so far"
    ]


def _machine(plan: Plan, tables: LearnedTables) -> list[str]:
    reason = why_not_windowed(plan)
    if reason is not None:
        return [f"one phase, the general tECS: {reason}"]
    program = tables.program() if tables.seen else None
    if not tables.seen:
        return ["two phases: which ones is decided when a stream has been seen"]
    if program is None:
        return [
            f"one phase, the general tECS: the machine has more than {BUDGET:,} cells"
            " over the outcomes seen"
        ]
    states = program.moves.states
    return [
        _reading(program),
        f"phase one: the latest start in each of {states} states tells which events end an answer",
        "phase two: chains of records, as runs only gather"
        if program.is_chained
        else "phase two: the general tECS inside the windows of those events, as runs also leave"
        " states, or enter one from several",
    ]


def _reading(program: Program) -> str:
    def count(read: Read) -> int:
        return int((program.read == read).sum())

    text = f"events read: {count(Read.ALWAYS)} of {len(program.read)} outcomes"
    if count(Read.ONCE):
        text += f", and of {count(Read.ONCE)} others the first in a row"
    return text


def _clauses(plan: Plan) -> list[str]:
    lines = []
    if plan.partition:
        lines.append(f"partitions: by {', '.join(plan.partition)}, side by side in one loop")
    if plan.consume is not Consume.NONE:
        lines.append(f"consume by {plan.consume.value}: an answer empties the states it ends")
    if plan.limit:
        lines.append(f"limit: listing stops after {plan.limit.per_end} answers of an end")
    return lines
