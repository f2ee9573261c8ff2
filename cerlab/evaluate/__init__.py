"""Answers and valuations by the evaluator that `choose` selects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from cerlab.compile.pattern import AnyPattern, Pattern
from cerlab.errors import ResourceLimit, Unsupported
from cerlab.evaluate.physical import (
    AUTO,
    EVALUATORS,
    EvaluatorName,
    choose,
    names_that_take,
    remark_on_waiting,
    remarks_on_waits,
    why_in_python,
)
from cerlab.evaluate.protocol import Evaluator
from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.model.stream import Stream

__all__ = [
    "AUTO",
    "EVALUATORS",
    "EvaluatorName",
    "aggregates",
    "answers_of",
    "choose",
    "labelled",
    "missing_names",
    "names_that_take",
    "physical",
    "remark_on_waiting",
    "remarks_on_waits",
    "valuations_of",
]

T = TypeVar("T")


def answers_of(
    pattern: AnyPattern, stream: Stream, way: str | Evaluator = AUTO, *, any_order: bool = False
) -> Iterator[ComplexEvent]:
    """Yield the answers of one evaluator as they are found, by end unless `any_order`.

    `way` is the name of the evaluator, or a result of `choose`. If the evaluator does not support
    the pattern, raise `Unsupported` with the names of the evaluators that support it.
    """

    def takers() -> Sequence[str]:
        return names_that_take(pattern)

    name = way if isinstance(way, str) else way.name
    try:
        by = choose(pattern, way) if isinstance(way, str) else way
        if name == AUTO:
            by = by.on(stream, any_order=any_order)
            name = by.name
        answers = by.answers(stream)
    except Unsupported as error:
        if not error.by_none:
            error.hint = f"evaluators that support it: {', '.join(takers())}"
        raise
    except ResourceLimit as error:
        _name_takers(pattern, error, takers(), name)
        raise
    if name in _FAST:  # wrapping the answers in a generator would cost a step for each
        return answers
    if hasattr(answers, "batches"):
        from cerlab.engine.answers import BatchedAnswers  # NumPy loads here

        return BatchedAnswers(_each(pattern, answers.batches(), takers, name))
    return _each(pattern, answers, takers, name)


def valuations_of(pattern: AnyPattern, stream: Stream, name: str = AUTO) -> Iterator[Valuation]:
    """Yield the valuations of one evaluator by end, as they are found.

    If the evaluator has no labels, raise `Unsupported` with the names of evaluators with labels.
    """

    def givers() -> Sequence[str]:
        return [each for each in names_that_take(pattern) if each in _LABELLING]

    try:
        answers = choose(pattern, name).valuations(stream)
    except Unsupported as error:
        if isinstance(pattern, Pattern) and name not in givers() and not error.by_none:
            error.hint = f"evaluators that give its labels: {', '.join(givers())}"
        raise
    except ResourceLimit as error:
        _name_takers(pattern, error, givers(), name)
        raise
    return answers if name in _FAST else _each(pattern, answers, givers, name)


_LABELLING = ("reference", "automaton", "compiled", "registers")
"""Names of the evaluators that return labels."""

_FAST = ("tecs", "compiled")
"""Evaluators whose errors about limits suggest no other evaluator."""


def _each(
    pattern: AnyPattern, answers: Iterable[T], takers: Callable[[], Sequence[str]], name: str
) -> Iterator[T]:
    try:
        yield from answers
    except ResourceLimit as error:
        _name_takers(pattern, error, takers(), name)
        raise


def _name_takers(
    pattern: AnyPattern, error: ResourceLimit, takers: Sequence[str], name: str
) -> None:
    """Change the hint of a limit so that it names only evaluators that support the pattern."""
    named = set(re.findall(r'evaluator="(\w+)"', error.hint))
    if named - {*takers, "auto"} or name in named:
        others = [each for each in takers if each not in ("reference", name)]
        error.hint = f'use evaluator="{others[0]}"' if others else "use a shorter stream"
        if not others and error.code == "CER0603" and (why := why_in_python(pattern)):
            error.hint = f"no other evaluator supports the query: {why}; use a shorter stream"
