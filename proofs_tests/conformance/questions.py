"""The check of replies to questions about queries or one answer, by the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from unittest import mock

import cerlab
from cerlab import ComplexEvent, Verdict
from cerlab.conformance import Case
from cerlab.conformance.replies import reply_of
from cerlab.decisions import search

TRIED = 200
"""The small streams that a search tries; the default, 2,000, shows the same and takes longer."""

ASK: Mapping[str, Callable[..., Verdict]] = {
    "satisfiable": lambda query, _: cerlab.satisfiable(query),
    "contained": cerlab.contained,
    "equivalent": cerlab.equivalent,
}


def by_cerlab(case: Case) -> Mapping[str, Any]:
    """Return the reply to a question, after a search of few streams where there is no decision."""
    with mock.patch.object(search, "MAX_TRIED", TRIED):
        return reply_of(case)


def by_reference(case: Case) -> Mapping[str, Any]:
    """Return the reply to a question; raise `AssertionError` if the reference contradicts it."""
    if case.kind == "verdict":
        confirm(case, verdict_of(case))
    reply = by_cerlab(case)
    if case.kind == "why":
        assert reply["why"]["holds"] is is_answer(case), case.id
    return reply


def verdict_of(case: Case) -> Verdict:
    """Return the verdict on the question of a case."""
    ((name, other),) = case.question.items()
    with mock.patch.object(search, "MAX_TRIED", TRIED):
        return ASK[name](case.query, other)


def queries_of(case: Case) -> list[str]:
    """Return the queries that a question is about."""
    return [case.query, *(each for each in case.question.values() if isinstance(each, str))]


def confirm(case: Case, verdict: Verdict) -> None:
    """Check a verdict: its witness is an answer of one side, and no event of it can be left out."""
    if verdict.holds is None:
        assert verdict.reason.startswith("not decided: "), case.id
    witness = verdict.witness
    if witness is None:
        assert verdict.holds is not ("satisfiable" in case.question), case.id
        return
    sides = ["left", "right"] if witness.side else [None]
    assert [
        witness.complex_event in answers_of(query, witness.events) for query in queries_of(case)
    ] == [side == witness.side for side in sides], case.id
    assert not ("contained" in case.question and witness.side == "right"), case.id
    for k in range(len(witness.events)):
        rest = [*witness.events[:k], *witness.events[k + 1 :]]
        left, *others = (answers_of(query, rest) for query in queries_of(case))
        right = others[0] if others else set()
        assert not left - right, f"{case.id}: {rest} is a shorter witness"
        assert "contained" in case.question or left == right, case.id


def answers_of(query: str, events: list[dict[str, Any]]) -> set[ComplexEvent]:
    """Return the answers by the reference."""
    return set(cerlab.evaluate(query, events, evaluator="reference"))


def is_answer(case: Case) -> bool:
    """Return whether the positions of a question are those of an answer, by the reference."""
    positions, start, end = (case.question.get(name) for name in ("why", "start", "end"))
    query = cerlab.parse_sremo(case.query) if case.language == "sremo" else case.query
    logic = case.options.get("logic", "so")
    answers = cerlab.evaluate(query, case.stream, evaluator="reference", logic=logic)
    return any(
        list(m.positions) == positions and start in (m.start, None) and end in (m.end, None)
        for m in answers
    )
