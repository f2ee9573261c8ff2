"""Answers in a notebook: complex events, valuations, and the lazy answers of a query.

Of many answers the first are shown, and how many there are is said where counting is cheap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol
from weakref import WeakKeyDictionary

from cerlab import display
from cerlab.errors import CerlabError
from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.model.event import Event
from cerlab.model.stream import Stream
from cerlab.predicates.words import SOME, count_text, cut, event_text, positions_text
from cerlab.viz.html import block, note, pre, table
from cerlab.viz.timeline import Row, Timeline, timeline
from cerlab.viz.timeline.svg import timeline_svg, within_page

MOST = 50
"""How many answers a notebook shows; a terminal shows fewer."""

IN_TEXT = 10

MOST_EVENTS = 20_000
"""Up to so many events answers are counted to say how many there are."""


class LazyAnswers(Protocol):
    """A query on a stream, as ``Query.run`` gives it."""

    stream: Stream

    def __iter__(self) -> Iterator[ComplexEvent]: ...

    def count(self) -> int:
        """How many answers there are."""
        ...


@dataclass(frozen=True, slots=True)
class Listing:
    """The first answers, and how many there are: None if that was not counted."""

    first: tuple[ComplexEvent, ...]
    total: int | None


_listings: WeakKeyDictionary[LazyAnswers, Listing] = WeakKeyDictionary()
"""A cache: a notebook asks for text, HTML and a picture, each time of the same answers."""


def listing(answers: LazyAnswers) -> Listing:
    """Look at no more answers than are shown, and one."""
    if answers not in _listings:
        first = tuple(islice(answers, MOST + 1))
        total: int | None = len(first)
        if len(first) > MOST:
            total = answers.count() if len(answers.stream) <= MOST_EVENTS else None
        _listings[answers] = Listing(first[:MOST], total)
    return _listings[answers]


def showing(excerpt: Listing) -> str:
    """``1,024 answers, showing 50``.

    >>> showing(Listing((ComplexEvent(0, 0, (0,)),) * 50, 10**12))
    'showing 50 of 1,000,000,000,000 answers'
    """
    count = len(excerpt.first)
    if excerpt.total is None:
        return f"showing the first {count} answers; count() says how many there are"
    if count == excerpt.total:
        return count_text(count, "answer")
    return f"showing {count} of {count_text(excerpt.total, 'answer')}"


def answers_text(answers: LazyAnswers) -> str:
    """The first answers, one a line."""
    head = f"Answers on {count_text(len(answers.stream), 'event')}"
    try:
        excerpt = listing(answers)
    except CerlabError as error:
        return f"{head}: {error}"
    excerpt = replace(excerpt, first=excerpt.first[:IN_TEXT])
    lines = [f"{head}: {showing(excerpt)}"]
    lines += [f"  [{a.start}, {a.end}] {positions_text(a.positions, SOME)}" for a in excerpt.first]
    return "\n".join(lines)


def answers_html(answers: LazyAnswers) -> str:
    """The first answers as a table with their events, under their timeline."""
    head = f"Answers on {count_text(len(answers.stream), 'event')}"
    try:
        excerpt = listing(answers)
    except CerlabError as error:
        return block(pre(f"{head}: {error}"))
    if not excerpt.first:
        return block(note(f"{head}: {showing(excerpt)}"))
    picture = within_page(_timeline(answers, excerpt))
    last = max(answer.end for answer in excerpt.first)
    rows = _rows(excerpt.first, answers.stream.head(last + 1))
    columns = ("start", "end", "positions", "events")
    return block(picture, table(f"{head}: {showing(excerpt)}", columns, rows))


def answers_svg(answers: LazyAnswers) -> str:
    """Their timeline."""
    return timeline_svg(_timeline(answers, listing(answers)))


def _timeline(answers: LazyAnswers, excerpt: Listing) -> Timeline:
    return timeline([Row("answers", excerpt.first, excerpt.total)], answers.stream)


def _rows(answers: Sequence[ComplexEvent], events: Sequence[Event]) -> list[list[object]]:
    return [
        [a.start, a.end, positions_text(a.positions, SOME), _events(a.positions, events)]
        for a in answers
    ]


def _events(positions: Sequence[int], events: Sequence[Event]) -> str:
    return cut(" · ".join(event_text(events[p], 40) for p in positions[:4]), 160)


def complex_event_text(answer: ComplexEvent) -> str:
    """As `repr`, unless it has very many positions."""
    if len(answer.positions) <= MOST:
        return repr(answer)
    positions = positions_text(answer.positions, MOST)
    return f"ComplexEvent(start={answer.start}, end={answer.end}, positions={positions})"


def complex_event_html(answer: ComplexEvent) -> str:
    """One answer as a table of one row."""
    row = [answer.start, answer.end, positions_text(answer.positions, SOME)]
    return block(table("Complex event", ("start", "end", "positions"), [row]))


def valuation_text(valuation: Valuation) -> str:
    """As `repr`, unless it is very long."""
    if sum(map(len, valuation.labels.values())) <= MOST:
        return repr(valuation)
    items = list(valuation.labels.items())
    labels = [f"{label!r}: {positions_text(positions, SOME)}" for label, positions in items[:MOST]]
    more = f", .. {len(items) - MOST:,} more" if len(items) > MOST else ""
    interval = f"start={valuation.start}, end={valuation.end}"
    return f"Valuation({interval}, labels={{{', '.join(labels)}{more}}})"


def valuation_html(valuation: Valuation) -> str:
    """A row for each label."""
    caption = f"Valuation on [{valuation.start}, {valuation.end}]"
    items = list(valuation.labels.items())
    rows = [[cut(label, 60), positions_text(positions, SOME)] for label, positions in items[:MOST]]
    more = f"showing {MOST} of {count_text(len(items), 'label')}" if len(items) > MOST else ""
    return block(table(caption, ("label", "positions"), rows), note(more))


display.register(ComplexEvent, "text/plain", complex_event_text)
display.register(ComplexEvent, "text/html", complex_event_html)
display.register(Valuation, "text/plain", valuation_text)
display.register(Valuation, "text/html", valuation_html)
