"""NDJSON: one object a line, with a ``type`` key."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from cerlab.errors import BadData, DataPlace
from cerlab.io.conversion import OnBadRow, conformed
from cerlab.model.event import Event, event_from_dict
from cerlab.model.schema import Schema


def read_lines(
    lines: Iterable[str],
    file: str,
    schema: Schema | None = None,
    on_bad_row: OnBadRow | None = None,
    *,
    type_name: str | None = None,
) -> Iterator[Event]:
    """The events of some lines; raises `BadData` with file, row and, if it is known, key."""
    for row, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield conformed(_event(line, file, row, type_name), schema, file, row)
        except BadData as error:
            if on_bad_row is None:
                raise
            on_bad_row(line, error)


def _event(line: str, file: str, row: int, type_name: str | None) -> Event:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise BadData("CER0732", f"'{twice}' stands twice", place=DataPlace(file, row, twice))
        return found

    try:
        read = json.loads(line, object_pairs_hook=once)
    except (json.JSONDecodeError, RecursionError) as error:
        where = f", column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise BadData(
            "CER0733", f"this line is no JSON{where}", place=DataPlace(file, row)
        ) from None
    if not isinstance(read, dict):
        raise BadData(
            "CER0734",
            "an event is a JSON object",
            place=DataPlace(file, row),
            hint='for example {"type": "BUY", "price": 27.85}',
        )
    for name, value in read.items():
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            place = DataPlace(file, row, name)
            raise BadData("CER0720", "the integer needs more than 64 bits", place=place)
    if type_name is not None:
        read.setdefault("type", type_name)
    try:
        return event_from_dict(read)
    except BadData as error:
        error.place = DataPlace(file, row)
        raise
