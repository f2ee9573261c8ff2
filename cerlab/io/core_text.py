"""CORE's text form, one event a line: ``BUY(id=8,name=INTC,price=27.8500)``.

Values are integers, decimals, TRUE, FALSE, NULL, quoted text (``'it''s'``), else the text as it
stands. ``S>BUY(..)`` names the stream. Blank lines and lines that begin with ``#`` or ``--`` are
skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial

from cerlab.errors import BadData
from cerlab.io.conversion import Place, Reading, convert, infer, twice, typed_event
from cerlab.model.event import AttributeType, Event, Timestamp, Value

LINE = re.compile(r"\s*(?:(\w+)\s*>\s*)?(\w+)\s*\((.*)\)\s*", re.DOTALL)
PAIR = re.compile(
    r"""\s*(`(?:[^`]|``)+`|\w+)\s*=\s*('(?:[^']|'')*'|"(?:[^"]|"")*"|[^,'"]*?)\s*(,|$)""", re.DOTALL
)


def read_lines(lines: Iterable[str], reading: Reading, *, before: int = 0) -> Iterator[Event]:
    """The events of some lines after `before` others.

    Raises `BadData` with file, row and attribute.
    """
    for row, line in enumerate(lines, start=before + 1):
        text = line.strip()
        if not text or text.startswith(("#", "--")):
            continue
        try:
            reading.check(text, row)
            yield _event(text, reading, row)
        except BadData as error:
            reading.reject(line, error)


def _event(text: str, reading: Reading, row: int) -> Event:
    match = LINE.fullmatch(text)
    if match is None:
        raise BadData(
            "CER0730",
            f"this is no event: {text[:60]!r}",
            place=reading.place(row),
            hint="an event is TYPE(name=value, ..), on one line",
        )
    stream, event_type, inside = match.groups()
    pairs = _pairs(inside, reading, row)
    if reading.schema is not None:
        return typed_event(event_type, stream, pairs, _value_of, reading, row)
    attributes = {
        name: _without_quotes(raw)
        if _is_quoted(raw)
        else infer(raw, partial(reading.place, row, name))
        for name, raw in pairs.items()
    }
    return Event(event_type, attributes, stream)


def _is_quoted(raw: str) -> bool:
    return raw[:1] in ("'", '"')


def _without_quotes(raw: str) -> str:
    return raw[1:-1].replace(raw[0] * 2, raw[0]) if _is_quoted(raw) else raw


def _value_of(raw: str, kind: AttributeType, place: Place) -> Value:
    missing = raw.upper() in ("", "NULL")
    return None if missing else convert(_without_quotes(raw), kind, place)


def _pairs(inside: str, reading: Reading, row: int) -> dict[str, str]:
    pairs: dict[str, str] = {}
    if not inside.strip():
        return pairs
    at = 0
    more = True
    while more:
        match = PAIR.match(inside, at)
        if match is None:
            raise BadData(
                "CER0731",
                f"this is no name=value: {inside[at : at + 60].strip()!r}",
                place=reading.place(row),
                hint="quote text that holds a comma or a quote",
            )
        name, raw, separator = match.groups()
        name = name[1:-1].replace("``", "`") if name.startswith("`") else name
        if name in pairs:
            raise twice(name, reading.place(row, name))
        pairs[name] = raw
        at = match.end()
        more = separator == ","
    return pairs


def format_event(event: Event) -> str:
    """The event in CORE's text form; `read_lines` reads it back to an equal event.

    Moments are written as text, so a schema must declare them to read them back.

    >>> format_event(Event("BUY", {"name": "INTC", "price": 27.5}))
    "BUY(name='INTC',price=27.5)"
    """
    values = ",".join(f"{_name(name)}={_value(value)}" for name, value in event.attributes.items())
    prefix = f"{event.stream}>" if event.stream else ""
    return f"{prefix}{event.type}({values})"


def _name(name: str) -> str:
    return name if re.fullmatch(r"\w+", name) else "`" + name.replace("`", "``") + "`"


def _value(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str | Timestamp):
        return "'" + str(value).replace("'", "''") + "'"
    if isinstance(value, float) and "e" in (text := repr(value)) and "." not in text:
        return text.replace("e", ".0e")
    return repr(value)
