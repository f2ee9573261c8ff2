"""Displays of answers, verdicts, events, streams and schemas in notebooks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol

from cerlab import display
from cerlab.decisions.question import Verdict, Witness
from cerlab.errors import CerlabError, printable
from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.model.event import Event, EventDeclaration, Schema, Value, shown
from cerlab.model.stream import Stream
from cerlab.predicates.text import (
    SOME,
    answer_text,
    count_text,
    cut,
    event_text,
    positions_text,
    value_in_words,
)
from cerlab.viz.html import bars, block, note, pre, strong, table
from cerlab.viz.timeline import Row, Timeline, timeline, timeline_text
from cerlab.viz.timeline_svg import timeline_svg, within_page

MOST = 50
"""Most answers that a notebook shows; a terminal shows fewer."""

IN_TEXT = 10
"""Most answers that a terminal shows, so that they fit a screen with the input."""

MOST_EVENTS = 20_000
"""Longest stream, in events, whose answers a display counts; counting more would delay it."""


class LazyAnswers(Protocol):
    """The answers of a query on a stream, as ``Query.run`` returns them."""

    stream: Stream

    def __iter__(self) -> Iterator[ComplexEvent]: ...

    def count(self) -> int:
        """Return the number of answers."""
        ...


@dataclass(frozen=True, slots=True)
class Listing:
    """The first answers of a query, and the number of all, None if not counted."""

    first: tuple[ComplexEvent, ...]
    total: int | None


def listing(answers: LazyAnswers) -> Listing:
    """Return the first answers, evaluating at most one more than a display shows.

    The result is cached: a notebook asks for text, HTML and a picture of one value.
    """
    kept: dict[str, Any] = vars(answers)
    if "_listing" not in kept:
        # one answer more shows whether there are further answers
        first = tuple(islice(answers, MOST + 1))
        total: int | None = len(first)
        if len(first) > MOST:
            total = answers.count() if len(answers.stream) <= MOST_EVENTS else None
        kept["_listing"] = Listing(first[:MOST], total)
    listed: Listing = kept["_listing"]
    return listed


def showing(excerpt: Listing) -> str:
    """Return a text with the number of answers and how many are shown.

    >>> showing(Listing((ComplexEvent(0, 0, (0,)),) * 50, 10**12))
    'showing 50 of 1,000,000,000,000 answers'
    """
    count = len(excerpt.first)
    if excerpt.total is None:
        return f"showing the first {count} answers; count() returns their number"
    if count == excerpt.total:
        return count_text(count, "answer")
    return f"showing {count} of {count_text(excerpt.total, 'answer')}"


def answers_text(answers: LazyAnswers) -> str:
    """Return the first answers as text, one per line."""
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
    """Return the first answers as HTML: their timeline, and a table with their events."""
    head = f"Answers on {count_text(len(answers.stream), 'event')}"
    try:
        excerpt = listing(answers)
    except CerlabError as error:
        return block(pre(f"{head}: {error}"))
    if not excerpt.first:
        return block(note(f"{head}: {showing(excerpt)}"))
    picture = within_page(_timeline(answers, excerpt))
    rows = _rows(excerpt.first, answers.stream)
    columns = ("start", "end", "positions", "events")
    return block(picture, table(f"{head}: {showing(excerpt)}", columns, rows))


def answers_svg(answers: LazyAnswers) -> str:
    """Return the timeline of the first answers as SVG."""
    return timeline_svg(_timeline(answers, listing(answers)))


def _timeline(answers: LazyAnswers, excerpt: Listing) -> Timeline:
    return timeline([Row("answers", excerpt.first, excerpt.total)], answers.stream)


def _rows(answers: Sequence[ComplexEvent], events: Stream) -> list[list[object]]:
    return [
        [a.start, a.end, positions_text(a.positions, SOME), _events(a.positions, events)]
        for a in answers
    ]


def _events(positions: Sequence[int], events: Stream) -> str:
    return cut(" · ".join(event_text(events[p], 40) for p in positions[:4]), 160)


def complex_event_text(answer: ComplexEvent) -> str:
    """Return the `repr` of an answer, abbreviated if it has many positions."""
    if len(answer.positions) <= MOST:
        return repr(answer)
    positions = positions_text(answer.positions, MOST)
    return f"ComplexEvent(start={answer.start}, end={answer.end}, positions={positions})"


def complex_event_html(answer: ComplexEvent) -> str:
    """Return an answer as an HTML table of one row."""
    row = [answer.start, answer.end, positions_text(answer.positions, SOME)]
    return block(table("Complex event", ("start", "end", "positions"), [row]))


def valuation_text(valuation: Valuation) -> str:
    """Return the `repr` of a valuation, abbreviated if it is long."""
    if sum(map(len, valuation.labels.values())) <= MOST:
        return repr(valuation)
    items = list(valuation.labels.items())
    labels = [f"{label!r}: {positions_text(positions, SOME)}" for label, positions in items[:MOST]]
    more = f", .. {len(items) - MOST:,} more" if len(items) > MOST else ""
    interval = f"start={valuation.start}, end={valuation.end}"
    return f"Valuation({interval}, labels={{{', '.join(labels)}{more}}})"


def valuation_html(valuation: Valuation) -> str:
    """Return a valuation as an HTML table with a row for each label."""
    caption = f"Valuation on [{valuation.start}, {valuation.end}]"
    items = list(valuation.labels.items())
    rows = [[cut(label, 60), positions_text(positions, SOME)] for label, positions in items[:MOST]]
    more = f"showing {MOST} of {count_text(len(items), 'label')}" if len(items) > MOST else ""
    return block(table(caption, ("label", "positions"), rows), note(more))


display.register(ComplexEvent, "text/plain", complex_event_text)
display.register(ComplexEvent, "text/html", complex_event_html)
display.register(Valuation, "text/plain", valuation_text)
display.register(Valuation, "text/html", valuation_html)

HOLDS = {True: "holds", False: "does not hold", None: "not decided"}


def verdict_text(verdict: Verdict) -> str:
    """Return a verdict as text: its reason and an example."""
    head = f"{HOLDS[verdict.holds]}: {_because(verdict)}"
    return head if verdict.witness is None else f"{head}\n{witness_text(verdict.witness)}"


def witness_text(witness: Witness) -> str:
    """Return an example of a verdict as text: its answer, its timeline and its events."""
    T = witness_timeline(witness)
    events = [f"  {tick.position}: {event_text(tick.event)}" for tick in T.ticks]
    return "\n".join([_witness_text(witness), timeline_text(T), *events])


def verdict_html(verdict: Verdict) -> str:
    """Return a verdict as HTML, with the timeline of an example."""
    witness = "" if verdict.witness is None else _witness(verdict.witness)
    return block(strong(HOLDS[verdict.holds]), note(_because(verdict)), witness)


def witness_html(witness: Witness) -> str:
    """Return an example of a verdict as HTML: a timeline and its events."""
    return block(_witness(witness))


def witness_timeline(witness: Witness) -> Timeline:
    """Return the timeline of an example; for a comparison, with a row for each side."""
    answer = [witness.complex_event]
    if witness.side is None:
        return timeline({"answer": answer}, witness.events)
    rows = {side: answer if side == witness.side else [] for side in ("left", "right")}
    return timeline(rows, witness.events)


def _because(verdict: Verdict) -> str:
    """Return the reason of a verdict without "not decided", which the heading says already."""
    return verdict.reason.removeprefix(f"{HOLDS[None]}: ")


def _witness(witness: Witness) -> str:
    T = witness_timeline(witness)
    events = "\n".join(f"{tick.position}: {event_text(tick.event)}" for tick in T.ticks)
    return f"{note(_witness_text(witness))}\n{within_page(T)}\n{pre(events)}"


def _witness_text(witness: Witness) -> str:
    stream = f"a stream of {count_text(len(witness.events), 'event')}"
    answer = answer_text(witness.complex_event)
    if witness.side is None:
        return f"{stream} with the answer {answer}"
    return f"{stream} on which only the {witness.side} side answers {answer}"


display.register(Verdict, "text/plain", verdict_text)
display.register(Verdict, "text/html", verdict_html)
display.register(Witness, "text/plain", witness_text)
display.register(Witness, "text/html", witness_html)
display.register(Witness, "image/svg+xml", lambda w: timeline_svg(witness_timeline(w)))

ROWS = 50
"""Most rows of a table."""

ATTRIBUTES = 12
"""Most attributes with a column."""

LONGEST = 2000
"""Longest event in a terminal, in characters."""

FEW = 10_000
"""Largest stream whose types are counted without Arrow, whose import takes longer than that."""

TYPES = 12
"""Most types in the histogram."""


def event_text_of(event: Event) -> str:
    """Return the `repr` of an event, shortened if it is long; never raises."""
    try:
        text = repr(event)
    except ValueError:  # Python refuses to print integers with more than 4,300 digits
        text = ""
    return text if 0 < len(text) <= LONGEST else event_text(event, LONGEST)


def event_html(event: Event) -> str:
    """Return an event as an HTML table with a row for each attribute."""
    caption = f"{event.stream}>{event.type}" if event.stream else event.type
    items = list(shown(event).items())
    rows = [[cut(name, 60), _value(value)] for name, value in items[:ROWS]]
    more = f"showing {ROWS} of {len(items):,} attributes" if len(items) > ROWS else ""
    return block(table(cut(caption, 80), ("attribute", "value"), rows), note(more))


def stream_text(stream: Stream) -> str:
    """Return the first events of a stream as text, one per line."""
    most = 20
    lines = [f"{count_text(len(stream), 'event')}"]
    for position, event in enumerate(stream.head(most)):
        values = ", ".join(f"{name}={value}" for name, value in shown(event).items())
        prefix = f"{event.stream}>" if event.stream else ""
        lines.append(f"  {position}: {prefix}{event.type}({values})")
    if len(stream) > most:
        lines.append(f"  .. showing {most} of {len(stream):,}")
    return printable("\n".join(lines))


def stream_html(stream: Stream) -> str:
    """Return the first events as an HTML table, with the number of events of each type."""
    first = stream.head(ROWS)
    names = list(dict.fromkeys(name for event in first for name in event.attributes))
    remarks = (
        [f"showing {len(first)} of {count_text(len(stream), 'event')}"]
        if len(first) < len(stream)
        else []
    )
    if len(names) > ATTRIBUTES:
        remarks.append(f"{ATTRIBUTES} of {count_text(len(names), 'attribute')}")
    caption = f"Stream of {count_text(len(stream), 'event')}{_time(stream)}"
    rows = [_row(n, event, names[:ATTRIBUTES]) for n, event in enumerate(first)]
    columns = ["position", "type", *(cut(name, 30) for name in names[:ATTRIBUTES])]
    if any(event.stream for event in first):
        columns.append("stream")
        rows = [[*row, cut(e.stream or "", 40)] for row, e in zip(rows, first, strict=True)]
    return block(table(caption, columns, rows), note("; ".join(remarks)), _histogram(stream))


def type_counts(stream: Stream) -> Counter[str]:
    """Return the number of events of each type, most frequent first, then by name.

    >>> type_counts(Stream.from_events([{"type": "B"}, {"type": "A"}, {"type": "B"}]))
    Counter({'B': 2, 'A': 1})
    """
    column: Any = None if len(stream) <= FEW else stream.columns["type"]
    if hasattr(column, "value_counts"):
        counts = {row["values"]: row["counts"] for row in column.value_counts().to_pylist()}
    else:
        counts = dict(Counter(event.type for event in stream))
    return Counter(dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))))


def _histogram(stream: Stream) -> str:
    if not len(stream):
        return ""
    counts = list(type_counts(stream).items())
    more = f"showing {TYPES} of {count_text(len(counts), 'type')}" if len(counts) > TYPES else ""
    return bars("Events by type", [(cut(name, 40), n) for name, n in counts[:TYPES]]) + note(more)


def _row(position: int, event: Event, names: Sequence[str]) -> list[object]:
    values = [_value(event.attributes.get(name)) for name in names]
    return [position, cut(event.type, 40), *values]


def _value(value: Value) -> object:
    """Return a value for a table cell: an integer, or text, empty for NULL."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) < 10**18 else value_in_words(value)
    return "" if value is None else cut(value_in_words(value), 60)


def _time(stream: Stream) -> str:
    if stream.time is None:
        return ""
    unit = f" in {stream.time.unit.name.lower()}" if stream.time.unit else ""
    return f", time: {cut(stream.time.attribute, 30)}{unit}"


def stream_svg(stream: Stream) -> str:
    """Return the first events of a stream on a time axis as SVG."""
    return timeline_svg(timeline([], stream))


def schema_html(schema: Schema) -> str:
    """Return a schema as an HTML table with a row for each event type."""
    types = [(stream.name, event) for stream in schema.streams for event in stream.events]
    rows = [[cut(s, 40), cut(event.name, 40), _attributes(event)] for s, event in types[:ROWS]]
    more = f"showing {ROWS} of {count_text(len(types), 'type')}" if len(types) > ROWS else ""
    columns = ("stream", "event type", "attributes")
    return block(table("Schema", columns, rows), note(more))


def _attributes(event: EventDeclaration) -> str:
    texts = (f"{a.name}: {a.type.value}{'?' if a.nullable else ''}" for a in event.attributes)
    return cut(", ".join(texts), 200)


display.register(Event, "text/plain", event_text_of)
display.register(Event, "text/html", event_html)
display.register(Stream, "text/plain", stream_text)
display.register(Stream, "text/html", stream_html)
display.register(Stream, "image/svg+xml", stream_svg)
display.register(Schema, "text/html", schema_html)
