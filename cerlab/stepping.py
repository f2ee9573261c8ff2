"""``cerlab.step``: a query at work on a stream, event by event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cerlab import io
from cerlab.query import What, as_query

if TYPE_CHECKING:
    from cerlab.viz.notebook.steps import Steps


def step(query: What, events: Any, *, first: int = 0, last: int | None = None) -> Steps:
    """What Algorithm 1 does at each event: runs, tECS, answers (CORE Alg. 1).

    With `first` and `last`, at those events only; the ones before them are read too. Raises
    `Unsupported` for a query without an automaton, `ResourceLimit` for streams too long to follow,
    `UsageError` for an empty range.

    >>> steps = step("A ; B", [{"type": kind} for kind in "AB"])
    >>> print(steps[1].heading, *steps[1].words, sep="\\n")
    event 1: B()
    It passes: type = 'B'.
    Runs in {1} go by • to {2}.
    Runs in {1} go by ∘ to {1}.
    tECS: 1 new node, unions among them: 0; active macro-states: 2.
    Answer [0, 1] {0, 1}.
    """
    from cerlab.viz.notebook.steps import steps_of

    asked, stream = as_query(query), io.as_stream(events)
    return steps_of(asked.text, asked.plan, asked.machine, stream, first=first, last=last)
