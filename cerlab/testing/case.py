"""A case for an engine: a query as text, events as dicts, and the answers of the reference."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, field
from typing import Any

from cerlab import io
from cerlab.compile.pattern import as_pattern
from cerlab.errors import CerlabError, CerlabWarning
from cerlab.evaluate import answers_of
from cerlab.model.answer import ComplexEvent, by_end
from cerlab.predicates.text import positions_text


@dataclass(frozen=True, slots=True)
class Case:
    """A query as text and events as dictionaries, both accepted by `cerlab.evaluate`.

    Cases are hashable; do not change the events of a case in a set or dict.

    >>> from cerlab.testing import Case
    >>> Case("SELECT * WHERE A+", [{"type": "A"}, {"type": "A"}])
    Case(
        "SELECT * WHERE A+",
        [
            {'type': 'A'},
            {'type': 'A'},
        ],
        # the reference: {0}, {0, 1}, {1}
    )
    """

    query: str
    events: list[dict[str, Any]]
    _answers: list[ComplexEvent] = field(default_factory=list, init=False, compare=False)
    _computed: bool = field(default=False, init=False, compare=False)

    @property
    def answers(self) -> list[ComplexEvent]:
        """The answers of the reference, sorted as by `cerlab.evaluate`, without warnings."""
        if not self._computed:
            with warnings.catch_warnings(action="ignore", category=CerlabWarning):
                pattern = as_pattern(self.query)
            answers = answers_of(pattern, io.as_stream(self.events), "reference")
            self._answers.extend(sorted(answers, key=by_end))
            object.__setattr__(self, "_computed", True)
        return list(self._answers)

    def __hash__(self) -> int:
        return hash((self.query, tuple(frozenset(event.items()) for event in self.events)))

    def __repr__(self) -> str:
        events = "".join(f"        {event!r},\n" for event in self.events)
        listed = f"[\n{events}    ]" if events else "[]"
        return f"Case(\n    {json.dumps(self.query)},\n    {listed},\n    # {_words(self)}\n)"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the case at the current indentation of the printer."""
        for n, line in enumerate(repr(self).split("\n")):
            if n:
                printer.break_()
            printer.text(line)


_MOST_ANSWERS = 8
"""Most answers that a printed case lists; a few show the fault of an engine."""


def _words(case: Case) -> str:
    """Return the answers of the reference, or its error, as one line of text."""
    try:
        answers = case.answers
    except CerlabError as error:
        return f"the reference: {error.message}"
    words = [_answer_text(answer) for answer in answers[:_MOST_ANSWERS]] or ["no answer"]
    more = [".."] if len(answers) > _MOST_ANSWERS else []
    return f"the reference: {', '.join((*words, *more))}"


def _answer_text(answer: ComplexEvent) -> str:
    """Return an answer's positions, and its interval if the positions do not show it."""
    positions = positions_text(answer.positions)
    if answer.positions and (answer.start, answer.end) == (
        answer.positions[0],
        answer.positions[-1],
    ):
        return positions
    return f"{positions} in [{answer.start}, {answer.end}]"
