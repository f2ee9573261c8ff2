"""NDJSON: one object a line, with a ``type`` key."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

from cerlab.errors import BadData
from cerlab.io.conversion import (
    Reading,
    conform_event,
    duplicate_column,
    no_type_column,
    too_large,
    twice,
)
from cerlab.model.event import Event, TypeColumn, event_from_dict


def read_lines(lines: Iterable[str], reading: Reading, *, before: int = 0) -> Iterator[Event]:
    """The events of some lines after `before` others.

    Raises `BadData` with file, row and, if it is known, key.
    """
    for row, line in enumerate(lines, start=before + 1):
        if not line.strip():
            continue
        try:
            reading.check(line, row)
            yield conform_event(_event(line, reading, row), reading, row)
        except BadData as error:
            reading.reject(line, error)


def begins_array(line: str) -> bool:
    """Whether a text with this first line is one array of objects, and no line of its own."""
    return line.lstrip("\ufeff \t").startswith("[")


def read_array(lines: Iterable[str], reading: Reading) -> Iterator[Event]:
    """The events of a JSON array of objects, read as a whole; rows count its elements."""
    text = "".join(lines).lstrip("\ufeff")
    try:
        elements = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise BadData(
            "CER0733",
            f"this is no JSON: {error}",
            place=reading.place(),
            hint="an array of objects ends with ], and has a comma between two of them",
        ) from None
    except ValueError:  # Python reads integers of some thousands of digits only
        raise too_large("an integer", reading.place()) from None
    del elements  # each is read again as a line, which knows keys that stand twice
    decoder, at, row = json.JSONDecoder(), text.index("[") + 1, 0
    while text[at := _next(text, at)] != "]":
        end = decoder.raw_decode(text, at)[1]
        line = text[at:end].replace("\n", " ")
        yield from read_lines([line], reading, before=row)
        at, row = end, row + 1


def _next(text: str, at: int) -> int:
    """Where the next element of an array begins, or its end."""
    while text[at] in " \t\r\n,":
        at += 1
    return at


def _event(line: str, reading: Reading, row: int) -> Event:
    type_name = reading.type_name

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) < len(pairs):
            names = [name for name, _ in pairs]
            name = next(name for name in names if names.count(name) > 1)
            raise twice(name, reading.place(row, name))
        return fields

    try:
        read = json.loads(line, object_pairs_hook=once)
    except (json.JSONDecodeError, RecursionError) as error:
        where = f", column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise BadData(
            "CER0733",
            f"this line is no JSON{where}",
            place=reading.place(row),
            hint="one object a line; on the command line --quarantine FILE goes on without it",
        ) from None
    except ValueError:  # Python reads integers of some thousands of digits only
        raise too_large("an integer", reading.place(row)) from None
    if not isinstance(read, dict):
        raise BadData(
            "CER0734",
            "an event is a JSON object",
            place=reading.place(row),
            hint='for example {"type": "BUY", "price": 27.85}',
        )
    for name, value in read.items():
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise too_large("the integer", reading.place(row, name))
        if isinstance(value, float) and math.isinf(value) and "Infinity" not in line:
            raise too_large("the number", reading.place(row, name))
    if isinstance(type_name, TypeColumn):
        if type_name not in read:
            raise no_type_column(type_name, read, reading.place(row))
        names = type_name.renamed(read)
        if names.count("type") > 1:
            raise duplicate_column(names, reading.file, row)
        read = dict(zip(names, read.values(), strict=True))
    elif type_name is not None:
        read.setdefault("type", type_name)
    try:
        return event_from_dict(read)
    except BadData as error:
        error.place = reading.place(row, error.column)
        raise
