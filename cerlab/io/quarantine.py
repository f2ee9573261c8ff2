"""Rows that cannot be read, written aside and counted, so that reading can go on (DESIGN 2.7)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

from cerlab.errors import BadData
from cerlab.io.conversion import OnBadRow


@contextmanager
def quarantined(path: str | PathLike[str] | None) -> Iterator[OnBadRow | None]:
    """What takes rows that cannot be read into a file, as NDJSON; None where there is no file.

    At the end it says on stderr how many there were. Bytes that are no text are written as the lone
    surrogates that stand for them (``\\udce9`` for 0xe9).
    """
    if path is None:
        yield None
        return
    written = 0

    def on_bad_row(row: str, error: BadData) -> None:
        nonlocal written
        written += 1
        record = {"row": row.rstrip("\r\n"), "code": error.code, "error": str(error)}
        file.write(json.dumps(record, ensure_ascii=False) + "\n")

    with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
        yield on_bad_row
    if written:
        print(f"{written:,} rows could not be read; they are in {path}", file=sys.stderr)
