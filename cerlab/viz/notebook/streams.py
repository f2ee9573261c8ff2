"""Events, streams and schemas in a notebook: tables of their first parts, and how many of what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from cerlab import display
from cerlab.model.event import Event, Value
from cerlab.model.schema import EventDeclaration, Schema
from cerlab.model.stream import Stream
from cerlab.predicates.words import count_text, cut, event_text, value_text
from cerlab.viz.html import bars, block, note, table
from cerlab.viz.timeline import timeline
from cerlab.viz.timeline.svg import timeline_svg

ROWS = 50
"""How many rows a table has."""

ATTRIBUTES = 12
"""How many attributes have a column."""

LONGEST = 2000
"""How many characters of an event a terminal shows."""

FEW = 10_000
"""Up to so many events types are counted without Arrow, which takes longer to load."""

TYPES = 12
"""How many types the histogram shows."""


def event_text_of(event: Event) -> str:
    """As `repr`, unless that is very long or cannot be."""
    try:
        text = repr(event)
    except ValueError:  # an integer of very many digits
        text = ""
    return text if 0 < len(text) <= LONGEST else event_text(event, LONGEST)


def event_html(event: Event) -> str:
    """A row for each attribute."""
    caption = f"{event.stream}>{event.type}" if event.stream else event.type
    items = list(event.attributes.items())
    rows = [[cut(name, 60), _value(value)] for name, value in items[:ROWS]]
    more = f"showing {ROWS} of {len(items):,} attributes" if len(items) > ROWS else ""
    return block(table(cut(caption, 80), ("attribute", "value"), rows), note(more))


def stream_text(stream: Stream) -> str:
    """The first events of a stream, one a line."""
    most = 20
    lines = [f"{count_text(len(stream), 'event')}"]
    for position, event in enumerate(stream.head(most)):
        values = ", ".join(f"{name}={value}" for name, value in event.attributes.items())
        prefix = f"{event.stream}>" if event.stream else ""
        lines.append(f"  {position}: {prefix}{event.type}({values})")
    if len(stream) > most:
        lines.append(f"  .. showing {most} of {len(stream):,}")
    return "\n".join(lines)


def stream_html(stream: Stream) -> str:
    """The first events in columns, and how many there are of each type."""
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
    """How many events there are of each type, most frequent first, then by name.

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
    """Integers as they are, so that they stand to the right; nothing for NULL."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) < 10**18 else value_text(value)
    return "" if value is None else cut(value_text(value), 60)


def _time(stream: Stream) -> str:
    if stream.time is None:
        return ""
    unit = f" in {stream.time.unit.name.lower()}" if stream.time.unit else ""
    return f", time: {cut(stream.time.attribute, 30)}{unit}"


def stream_svg(stream: Stream) -> str:
    """The first events on their axis."""
    return timeline_svg(timeline([], stream))


def schema_html(schema: Schema) -> str:
    """A row for each event type."""
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
