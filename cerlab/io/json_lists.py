"""JSON texts with lists of objects: a text that is an array, and lists inside objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from cerlab.errors import BadData, by_door, nearest
from cerlab.io.conversion import RowReading, conform_event, too_large
from cerlab.io.foreign_files import hint_of_lists, lists_in
from cerlab.io.ndjson import DECODER, event_of, read_json, read_lines
from cerlab.model.event import Event
from cerlab.model.paths import Fields, fields_of, path_name

_SPACE = " \t\r\n"


def begins_array(line: str) -> bool:
    """Return whether a text with this first line is an array of objects, not objects by line."""
    return line.lstrip("\ufeff \t").startswith("[")


def read_array(text: str, reading: RowReading) -> Iterator[Event]:
    """Yield the events of a JSON array of objects; row numbers count its elements.

    Raises `BadData` as `read_lines`, also for a truncated array.
    """
    decoder, at, row = json.JSONDecoder(), text.index("[") + 1, 0
    at = _next(text, at)
    while text[at : at + 1] != "]":
        try:
            end = decoder.raw_decode(text, at)[1]
        except (json.JSONDecodeError, RecursionError) as error:
            raise _no_array(str(error), reading, row + 1) from None
        except ValueError:  # Python reads integers of up to some thousands of digits only
            raise too_large("an integer", reading.place(row + 1)) from None
        line = text[at:end].replace("\n", " ")
        yield from read_lines([line], reading, before=row)
        at, row = _next(text, end), row + 1
        if text[at : at + 1] == ",":
            at = _next(text, at + 1)
            if text[at : at + 1] != "]":
                continue
        elif text[at : at + 1] == "]":
            continue
        raise _no_array(f"expected a comma or ] at character {at}", reading, row)
    if text[at + 1 :].strip():
        raise _no_array(f"more text after the array, at character {at + 1}", reading, row)


def read_records(text: str, reading: RowReading) -> Iterator[Event]:
    """Yield the events of the lists at the path `reading.records` inside the objects of a text.

    The path continues through lists on the way. Rows count the elements. Raises `BadData` as
    `read_lines`, and for a text without such a list.
    """
    path = reading.records or ""
    fields = fields_of(path) or (path,)
    row, at, found = 0, _next(text.lstrip("\ufeff"), 0), False
    text = text.lstrip("\ufeff")
    keys: dict[str, None] = {}
    while at < len(text):
        try:
            value, at = DECODER.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError) as error:
            raise BadData(
                "CER0733",
                f"this is not JSON: {error}",
                place=reading.place(row + 1),
                hint=by_door(
                    "records= reads one object, or objects one after the other",
                    "--records reads one object, or objects one after the other",
                ),
            ) from None
        except ValueError:  # Python reads integers of up to some thousands of digits only
            raise too_large("an integer", reading.place(row + 1)) from None
        at = _next(text, at)
        keys.update(dict.fromkeys(map(path_name, lists_in(value))))
        own = (path,) if isinstance(value, dict) and path in value else fields
        for elements in _lists_at(value, own):
            found = True
            for element in elements:
                row += 1
                line = json.dumps(element, ensure_ascii=False)
                try:
                    reading.check(line, row)
                    event = event_of(element, line, reading, row)
                    yield conform_event(event, reading, row)
                except BadData as error:
                    reading.reject(line, error)
    if not found:
        hint = nearest(path, keys) if keys else "no object here holds a list of objects"
        message = f"there is no list '{path}' of records"
        raise BadData("CER0734", message, place=reading.place(), hint=hint)


def _lists_at(value: Any, fields: Fields) -> Iterator[list[Any]]:
    """Yield the lists at the end of a path in a JSON value; the path may pass through lists."""
    if isinstance(value, list):
        if not fields:
            yield value
        for each in value if fields else ():
            yield from _lists_at(each, fields)
    elif isinstance(value, dict) and fields and fields[0] in value:
        yield from _lists_at(value[fields[0]], fields[1:])


def begins_object_of_lines(line: str) -> bool:
    """Return whether a text with this first line may be one object over several lines."""
    return line.lstrip("\ufeff \t").startswith("{") and not line.rstrip().endswith("}")


def refuse_one_object(text: str, reading: RowReading) -> None:
    """Raise `BadData` for a text that is one object with lists of records, naming the option."""
    try:
        value = read_json(text.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return
    if hint := hint_of_lists(value):
        message = "this is one object of JSON over several lines, not an object a line"
        raise BadData("CER0733", message, place=reading.place(1), hint=hint)


def _no_array(reason: str, reading: RowReading, row: int) -> BadData:
    return BadData(
        "CER0733",
        f"this is not JSON: {reason}",
        place=reading.place(row),
        hint="an array of objects needs a comma between two objects, and ] at the end",
    )


def _next(text: str, at: int) -> int:
    """Return the index of the next character other than a space."""
    while text[at : at + 1] and text[at] in _SPACE:
        at += 1
    return at
