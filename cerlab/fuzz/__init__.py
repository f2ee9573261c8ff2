"""Any engine against the reference: random queries and streams, and the smallest difference.

    cerlab fuzz "my_engine {query} {events}" --with ';,+,OR,FILTER,AS,EVENTS'

Reading order: `features` (what a query is made of), `engines` (how an engine in another process is
asked), `difference` (what two sets of answers do not share, and why), and here the search.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from cerlab.errors import CerlabError, UsageError
from cerlab.fuzz.difference import Difference, difference, reference
from cerlab.fuzz.engines import AnswerRows, Engine, Failure, Outcome, Refusal, engine
from cerlab.fuzz.features import CEL, CLAUSES, COMPOSITE, FAMILY, features, wanted
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.logic.ceql.text import query_text
from cerlab.model.answer import ComplexEvent
from cerlab.model.event import Event
from cerlab.testing import SMALL, Shape, as_dict, random_events, random_query
from cerlab.testing.smaller import smallest

__all__ = ["Difference", "Summary", "engine", "fuzz", "wanted"]

Progress = Callable[[int], None]

_ATOMIC = 0.1
"""So large a part of the queries may have one type alone."""

_OFTEN = 8
"""A feature that was refused so often, and never taken, is drawn no more."""

_DRAWS = 20_000
"""So many queries are drawn before the features that are asked for are too few."""


@dataclass(frozen=True, slots=True)
class Summary:
    """How many cases there were, and the first difference, made as small as it can be.

    Of the cases `answered` had answers by the reference and were compared, of which `composite` had
    an operator that joins or repeats parts; the engine refused `refused`, the last one for a
    `reason`, and every one with a feature of `shunned`, which were drawn no more. `case` is the
    number of the one that differed.
    """

    cases: int
    answered: int
    refused: int
    reason: str = ""
    difference: Difference | None = None
    case: int | None = None
    composite: int = 0
    shunned: tuple[str, ...] = ()

    @property
    def doubt(self) -> str:
        """Why no difference says little here; empty if enough was compared."""
        if not self.answered:
            return "nothing was compared"
        if 2 * self.refused > self.cases:
            return "most of the queries were refused"
        if 4 * self.answered < self.cases:
            return "most of the cases had no answers"
        if 2 * self.composite < self.answered:
            return "most of the queries were atomic"
        return ""


def fuzz(
    child: Engine,
    *,
    cases: int = 1_000,
    seed: int = 0,
    takes: frozenset[str] = frozenset((*CEL, *CLAUSES)),
    shape: Shape = SMALL,
    watch: Progress = lambda n: None,
) -> Summary:
    """Ask an engine and the reference the same, until they differ or there were so many cases.

    The same `seed` gives the same cases. Queries have no features but those that the engine
    `takes`. Streams have types A, B, C, attributes v, w, k, and t, which is the time in seconds.
    Raises `UsageError` where hardly any query has only these features.
    """
    outcome = Summary(0, 0, 0)
    replies, refusals = Counter[str](), Counter[str]()
    for n in range(cases):
        watch(n)
        choice = takes - set(outcome.shunned)
        query, events, expected = _case(Random(f"{seed} {n}"), choice, shape)
        here = features(query)
        reply = _compare(child, query, events, expected)
        outcome = replace(outcome, cases=n + 1)
        if isinstance(reply, Refusal):
            refusals.update(here)
            outcome = replace(outcome, refused=outcome.refused + 1, reason=reply.why)
        else:
            replies.update(here)
            some = bool(expected)
            is_composite = some and bool(here & COMPOSITE)
            outcome = replace(
                outcome,
                answered=outcome.answered + some,
                composite=outcome.composite + is_composite,
            )
        if isinstance(reply, Difference):
            smaller = _smallest(child, query, events, reply)
            return replace(outcome, difference=smaller, case=n)
        unsupported = (f for f in sorted(refusals) if refusals[f] >= _OFTEN and not replies[f])
        outcome = replace(
            outcome, shunned=tuple(unsupported) if outcome.cases > outcome.refused else ()
        )
    return outcome


def _case(
    rng: Random, takes: frozenset[str], shape: Shape
) -> tuple[CeqlQuery, tuple[Event, ...], list[ComplexEvent]]:
    """A query that the reference takes, a stream that can be written as JSON, and the answers."""
    shape = Shape(shape.depth, shape.events, shape.rich, family=bool(takes & set(FAMILY)))
    atomic = not takes & COMPOSITE or rng.random() < _ATOMIC
    for _ in range(_DRAWS):
        query = random_query(rng, shape)
        if not (here := features(query)) <= takes or not (atomic or here & COMPOSITE):
            continue
        events = tuple(random_events(rng, query.formula, shape))
        if any(value != value for event in events for value in event.attributes.values()):
            continue  # JSON has no NaN
        try:
            return query, events, reference(query, events)
        except CerlabError:
            continue
    raise UsageError(
        "CER0852",
        f"none of {_DRAWS:,} random queries has only these features",
        hint="give more of them with --with",
    )


def _compare(
    child: Engine, query: CeqlQuery, events: Sequence[Event], expected: list[ComplexEvent]
) -> Difference | Refusal | None:
    reply: Outcome = child.ask(query_text(query), [as_dict(event) for event in events])
    match reply:
        case Refusal():
            return reply
        case Failure(how):
            return Difference(query, tuple(events), broken=how)
        case AnswerRows(rows):
            return difference(query, events, expected, rows)


def _smallest(
    child: Engine, query: CeqlQuery, events: tuple[Event, ...], one: Difference
) -> Difference:
    """The same kind of difference on a case of which nothing can be left out."""
    best = one

    def fails(query: CeqlQuery, events: tuple[Event, ...]) -> bool:
        nonlocal best
        again = _compare(child, query, events, reference(query, events))
        if isinstance(again, Difference) and bool(again.broken) is bool(one.broken):
            best = again
            return True
        return False

    smallest(query, events, fails)
    return best
