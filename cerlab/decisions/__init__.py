"""Decisions over all streams (satisfiable, equivalent, contained), with a shortest witness.

A witness is checked before it is returned: by the reference, or if the reference refuses its size,
by a run of the automaton or another evaluator. Outside the decidable class, small streams are
searched; if they show no difference, the verdict is "not decided".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

from cerlab import io
from cerlab.automata.decide import Side
from cerlab.budget import poll, step_budget
from cerlab.compile.pattern import Pattern, QueryInput, as_pattern
from cerlab.decisions.question import Question, Verdict, Witness, keys_of, outside
from cerlab.decisions.search import bounded_search
from cerlab.engine.reference import driver
from cerlab.engine.reference.runs import RunsOfAnswer
from cerlab.errors import ResourceLimit, Unsupported
from cerlab.evaluate import EvaluatorName, answers_of
from cerlab.logic.cel.syntax import Formula, Or, children, part_at, with_child
from cerlab.model.answer import ComplexEvent
from cerlab.model.clauses import Consume
from cerlab.model.stream import Stream

__all__ = [
    "Verdict",
    "Witness",
    "confirm",
    "contained",
    "dead_branches",
    "equivalent",
    "satisfiable",
]


Checker: TypeAlias = Callable[[Pattern, Stream, ComplexEvent], bool]
"""Function that returns whether a query has an answer on a stream; may raise `ResourceLimit`."""


def _is_among(evaluator: EvaluatorName) -> Checker:
    """Return a check whether an answer is among the answers of an evaluator."""
    return lambda query, stream, answer: answer in answers_of(query, stream, evaluator)


def _is_of_a_run(query: Pattern, stream: Stream, answer: ComplexEvent) -> bool:
    """Return whether a run of the nondeterministic automaton has the answer, in linear time.

    Raises `ResourceLimit` if the answer depends on other answers.
    """
    plan = query.plan
    if plan.strategy or plan.limit or plan.throttle or plan.consume is not Consume.NONE:
        raise ResourceLimit("CER0605", "the answer depends on other answers", hint=HINT)
    runs = driver.run(plan, lambda: RunsOfAnswer(plan.cea, answer), stream, stream.time)
    return answer in set(runs)


CHECKERS: dict[str, Checker] = {
    "the reference": _is_among("reference"),
    "a run of the automaton": _is_of_a_run,
    "the runs of the automaton": _is_among("automaton"),
    "the tECS": _is_among("tecs"),
}
"""Checks of a witness by name, in the order in which they are tried."""


HINT = "ask about a smaller query, or about parts of it"


@step_budget("the decision", HINT)
def satisfiable(a: QueryInput) -> Verdict:
    """Decide whether a query has an answer on some stream; the witness is a shortest such stream.

    Raises `ResourceLimit` if a budget is exceeded inside the decidable class.

    >>> satisfiable("A ; B FILTER A[v = 1] AND A[v = 2]").holds
    False
    >>> satisfiable("A ; B").witness
    Witness(events=[{'type': 'A'}, {'type': 'B'}],
            complex_event=ComplexEvent(start=0, end=1, positions=(0, 1)), side=None)
    """
    query = as_pattern(a)
    # nothing is consumed before the first answer, so consumption does not affect its existence
    plain = _without_consumption(query)
    return _decide(plain, None, (Side.LEFT,), "no stream has an answer", query, None)


def equivalent(a: QueryInput, b: QueryInput) -> Verdict:
    """Decide whether two queries always have the same complex events.

    The witness is a shortest stream on which they differ, with an answer of one side only.

    Args:
        a: The query or formula on the left.
        b: The query or formula on the right.

    >>> equivalent("A ; (B OR C)", "A ; B OR (A ; C)").holds
    True
    >>> equivalent("A+", "A:+").witness
    Witness(events=[{'type': 'A'}, {'type': 'other'}, {'type': 'A'}],
            complex_event=ComplexEvent(start=0, end=2, positions=(0, 2)), side='left')
    """
    return _compare(a, b, tuple(Side), "the same answers on every stream")


def contained(a: QueryInput, b: QueryInput) -> Verdict:
    """Decide whether every complex event of `a` is one of `b`, on every stream.

    Args:
        a: The query or formula on the left.
        b: The query or formula on the right.

    >>> contained("A : B", "A ; B").holds, contained("A ; B", "A : B").holds
    (True, False)
    """
    return _compare(a, b, (Side.LEFT,), "every answer of the left is one of the right")


@step_budget("the decision", HINT)
def _compare(a: QueryInput, b: QueryInput, sides: tuple[Side, ...], claim: str) -> Verdict:
    left, right = as_pattern(a), as_pattern(b)
    _refuse_aggregates(left, right)
    clauses = (left.ast.limit, right.ast.limit, left.ast.throttle, right.ast.throttle)
    unlimited = not any(clauses)
    if unlimited and left.ast.consume is right.ast.consume is not Consume.NONE:
        return _consuming(left, right, sides, claim)
    return _decide(left, right, sides, claim, left, right)


def _refuse_aggregates(*queries: Pattern) -> None:
    """Raise `Unsupported` for SELECT with aggregates: answers are compared, not their totals.

    Equal answers may have different sums, by labels, and different answers equal ones.
    """
    if any(query.ast.aggregates for query in queries):
        raise Unsupported(
            "CER0421",
            "cannot compare queries with aggregates in SELECT",
            hint="compare the queries with SELECT *",
        )


def _consuming(left: Pattern, right: Pattern, sides: tuple[Side, ...], claim: str) -> Verdict:
    """Return the verdict for queries with equal CONSUME BY, first deciding without CONSUME BY.

    Equal answers without consumption stay equal with it, event by event.
    """
    plain = [_without_consumption(q) for q in (left, right)]
    verdict = _decide(plain[0], plain[1], tuple(Side), claim, left, right, trust=False)
    if verdict.holds:
        return verdict
    reason = "CONSUME BY may hide the difference that the queries have without it"
    return bounded_search(left, right, sides, reason, first=verdict.witness)


def _without_consumption(query: Pattern) -> Pattern:
    return query.replaced(consume=Consume.NONE, limit=None)


def _decide(
    left: Pattern,
    right: Pattern | None,
    sides: tuple[Side, ...],
    claim: str,
    left_query: Pattern,
    right_query: Pattern | None,
    *,
    trust: bool = True,
) -> Verdict:
    """Return the verdict by the product of the machines, or search small streams if undecidable."""
    queries = [left] if right is None else [left, right]
    if (reason := outside(queries)) is not None:
        return bounded_search(left_query, right_query, sides, reason)
    question = Question(queries, sides)
    is_open = False
    shortest: Witness | None = None
    for key in keys_of(queries):
        # another kind of key may have a shorter witness
        try:
            found = question.answer(key, len(shortest.events) if shortest else math.inf)
        except ResourceLimit:
            if shortest is None:
                raise
            poll()  # the witness refutes the claim, although a shorter witness may exist
            break
        if isinstance(found, Witness):
            shortest = found
        else:
            is_open |= found
    if shortest is not None:
        if trust:
            return confirm(shortest, left_query, right_query)
        return Verdict(False, shortest, "they differ before CONSUME BY")
    if is_open:
        return bounded_search(
            left_query, right_query, sides, "not every combination of the tests is decided"
        )
    holds = right is not None
    note = "; arithmetic is over the rationals" if question.arithmetic else ""
    return Verdict(holds, None, f"{claim}: {question.pairs} minterms{note}")


def confirm(witness: Witness, left: Pattern, right: Pattern | None) -> Verdict:
    """Return the verdict after another evaluator has confirmed the witness.

    Args:
        witness: The stream and the complex event.
        left: The query on the left.
        right: The query on the right; None for a question on one query.

    Raises:
        AssertionError: The witness is wrong.
    """
    # the reference refuses long streams, so other evaluators follow
    for by, checker in CHECKERS.items():  # noqa: B007 # the name of the last checker is part of the reason
        try:
            with step_budget("the check of the witness", HINT, own=4):
                agrees = _agrees(witness, left, right, checker)
            break
        except ResourceLimit:
            poll()
    else:
        raise ResourceLimit(
            "CER0605", f"a witness of {len(witness.events)} events is too long to check", hint=HINT
        )
    if not agrees:
        raise AssertionError(f"the witness is wrong: {witness}")
    claim = "has an answer" if right is None else "differ"
    holds = right is None
    length = len(witness.events)
    events = "1 event" if length == 1 else f"{length} events"
    return Verdict(holds, witness, f"{claim} on {events}; recomputed by {by}")


def _agrees(witness: Witness, left: Pattern, right: Pattern | None, has_answer: Checker) -> bool:
    stream = io.as_stream(witness.events)
    on_left = has_answer(left, stream, witness.complex_event)
    if right is None:
        return on_left
    on_right = has_answer(right, stream, witness.complex_event)
    return on_left != on_right and on_left == (witness.side == "left")


MAX_BRANCHES = 64
"""Most branches of OR to check, one decision each."""


def dead_branches(query: Pattern) -> list[str]:
    """Return the branches of OR that contribute to no answer on any stream, as text.

    Of nested branches, return the outermost. Return an empty list if no branch is dead, if all are,
    or if this is not decided.

    >>> from cerlab.compile.pattern import as_pattern
    >>> dead_branches(as_pattern("(A FILTER A[v = 1 AND v = 2] OR B) ; C"))
    ['A FILTER A[v = 1 AND v = 2]']
    """
    paths: list[tuple[int, ...]] = []
    for path in list(_branches(query.formula))[:MAX_BRANCHES]:
        if any(path[: len(dead)] == dead for dead in paths):
            continue
        through = query.replaced(formula=_through(query.formula, path))
        try:
            verdict = satisfiable(through)
        except ResourceLimit:
            poll()
            # a partial list would imply that all other branches are alive
            return []
        if verdict.holds is False:
            paths.append(path)
    dead = [str(part_at(query.formula, path)) for path in paths]
    return [] if len(dead) == len(list(_branches(query.formula))) else dead


def _branches(phi: Formula, path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Yield the paths of the branches of OR, outermost first."""
    below = children(phi)
    if isinstance(phi, Or):
        yield from ((*path, k) for k in range(2))
    for k, child in enumerate(below):
        yield from _branches(child, (*path, k))


def _through(phi: Formula, path: tuple[int, ...]) -> Formula:
    """Return the formula in which every OR along the path is replaced by its branch."""
    if not path:
        return phi
    k, *rest = path
    part = _through(children(phi)[k], tuple(rest))
    return part if isinstance(phi, Or) else with_child(phi, k, part)
