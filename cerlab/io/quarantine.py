"""Rows that cannot be read, written aside and counted, so that reading can go on (DESIGN 2.7)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TypeAlias

from cerlab.errors import BadData
from cerlab.io.conversion import OnBadRow
from cerlab.io.output import AnyPath, refuse_same, whole_text

Quarantine: TypeAlias = AnyPath | OnBadRow
"""A file for rows that cannot be read, or what is called with each of them and its error."""


@contextmanager
def open_quarantine(to: Quarantine | None, source: AnyPath) -> Iterator[OnBadRow | None]:
    """A handler that writes the bad rows of a source into a file, as NDJSON; None without a file.

    The file is there at the end, and stderr says how many there were; after an error there is none.
    Bytes that are no text are written as the lone surrogates that stand for them (``\\udce9`` for
    0xe9). Raises `UsageError` where the file is the source.
    """
    if to is None or callable(to):
        yield to
        return
    refuse_same({"the quarantine": to}, {"the source": source})
    count = 0

    def on_bad_row(row: str, error: BadData) -> None:
        nonlocal count
        count += 1
        record = {"row": row.rstrip("\r\n"), "code": error.code, "error": str(error)}
        file.write(json.dumps(record, ensure_ascii=False) + "\n")

    with whole_text(to) as file, suppress(GeneratorExit):  # of a reader that had enough
        yield on_bad_row
    if count:
        print(f"{count:,} rows could not be read; they are in {to}", file=sys.stderr)
