"""Events of a text, line by line as they are read; what is wrong has its row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from cerlab.errors import DataPlace, UsageError
from cerlab.io import core_text, delimited, ndjson
from cerlab.io.conversion import OnBadRow, check_text, not_utf_8
from cerlab.io.formats import FORMATS, empty, looks_like
from cerlab.model.event import Event
from cerlab.model.schema import Schema


def text_events(
    lines: Iterable[str],
    file: str,
    kind: str | None,
    schema: Schema | None,
    on_bad_row: OnBadRow | None,
    type_name: str | None,
) -> Iterator[Event]:
    """The events of some lines of CSV, NDJSON or CORE's text form, whichever it is.

    Raises `BadData` with file, row and column; `UsageError` for a `kind` that there is not.
    """
    numbered = _decoded(lines, file, strict=on_bad_row is None)
    first: list[str] = []
    for line in numbered:
        first.append(line)
        if line.strip():
            break
    else:
        raise empty(file)
    rest = _again(first, numbered)
    match kind or looks_like(first[-1]):
        case "ndjson":
            yield from ndjson.read_lines(rest, file, schema, on_bad_row, type_name=type_name)
        case "core":
            yield from core_text.read_lines(rest, file, schema, on_bad_row)
        case "csv":
            yield from delimited.read_lines(rest, file, schema, on_bad_row, type_name=type_name)
        case unknown:
            known = ", ".join(sorted(set(FORMATS.values())))
            raise UsageError("CER0811", f"unknown format '{unknown}'", hint=f"known: {known}")


def _again(first: list[str], rest: Iterator[str]) -> Iterator[str]:
    yield from first
    yield from rest


def _decoded(lines: Iterable[str], file: str, *, strict: bool) -> Iterator[str]:
    """The lines; if `strict` what is no UTF-8, or holds NUL, is an error with its row.

    Else it is left to the readers, who know which lines are one row.
    """
    row = 0
    iterator = iter(lines)
    while True:
        row += 1
        try:
            line = next(iterator)
        except StopIteration:
            return
        except UnicodeDecodeError as error:
            raise not_utf_8(error.reason, DataPlace(file, _row_of_bad_byte(file, row))) from None
        if strict and "\0" in line:
            check_text(line, DataPlace(file, row))
        yield line


def _row_of_bad_byte(file: str, after: int) -> int:
    """The row of the first bytes that are no UTF-8 (files are decoded ahead, in blocks)."""
    if not Path(file).is_file():
        return after
    with open(file, "rb") as raw:
        for row, line in enumerate(raw, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return row
    return after
