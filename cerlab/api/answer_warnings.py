"""Warnings about answers: what no event has, and how to ask why there are none."""

from __future__ import annotations

from warnings import warn

from cerlab.compile.pattern import AnyPattern, Pattern
from cerlab.errors import AnswerWarning, stacklevel_of_caller
from cerlab.evaluate.requirements import requirements_of
from cerlab.model.stream import Stream


def warn_about_answers(
    pattern: AnyPattern, stream: Stream, answers: int | None, *, as_list: bool = True
) -> None:
    """Warn of what a stream lacks for a pattern, and that there are no answers on it.

    And that aggregates in SELECT say nothing of answers that come `as_list`.
    """
    if as_list and isinstance(pattern, Pattern) and pattern.ast.aggregates:
        message = (
            "CER0913: SELECT asks for aggregates, and these are the answers that they are over"
        )
        hint = "parse_query(..).run(events).aggregate() and cerlab run have the aggregates"
        warn(AnswerWarning(f"{message}; {hint}"), stacklevel=stacklevel_of_caller())
    whose = "cerlab.why_none(query, events)" if isinstance(pattern, Pattern) else "cerlab.why"
    requirements = requirements_of(pattern).read(stream)
    requirements.warn(len(stream) > 0, answers, f"{whose} says why")
