"""Which format a file has: by its suffix, its first bytes, or the first line of its text."""

from __future__ import annotations

import re
from os import PathLike
from os.path import exists, isdir, isfile
from pathlib import Path

from cerlab.errors import BadData, DataPlace

FORMATS = {
    ".csv": "csv",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".json": "ndjson",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
    ".core": "core",
    ".stream": "core",
}
"""The format of a file by its suffix; other files have one by their first line."""

STREAM_MAGIC = b"\xff\xff\xff\xff"
"""What a message of Arrow's streaming format begins with."""

COLUMNAR = ("parquet", "arrow")
"""The formats that hold columns; the others are text."""

_CORE_LINE = re.compile(r"\s*(?:#|--|(?:\w+\s*>\s*)?\w+\s*\()")


def is_pipe(path: str | PathLike[str]) -> bool:
    """Whether a path is standard input (``-``), a FIFO or a device: read once, as it comes."""
    there = exists(path) and not isfile(path) and not isdir(path)
    return there or str(path) == "-"


def name_of(path: str | PathLike[str]) -> str:
    """The name of a file in errors."""
    return "standard input" if str(path) == "-" else str(path)


def existing(path: str | PathLike[str]) -> Path:
    """The path of a file that is there and holds something; raises `BadData` for others."""
    file = Path(path)
    if not isfile(path):
        raise BadData(
            "CER0743",
            "there is no such file",
            place=DataPlace(str(path)),
            hint="check the path",
        )
    if file.stat().st_size == 0:
        raise empty(str(path))
    return file


def empty(file: str) -> BadData:
    """The error that a source holds nothing at all."""
    return BadData(
        "CER0744",
        "the file is empty",
        place=DataPlace(file),
        hint="an empty stream is a header without rows",
    )


def format_of(file: Path, format: str | None = None) -> str | None:
    """The format of a file; None if the first line of its text has to tell.

    >>> format_of(Path("events.parquet"))
    'parquet'
    """
    return format or FORMATS.get(file.suffix.lower()) or _magic(file)


def _magic(file: Path) -> str | None:
    with file.open("rb") as raw:
        head = raw.read(6)
    if head.startswith(b"PAR1"):
        return "parquet"
    return "arrow" if head == b"ARROW1" or head.startswith(STREAM_MAGIC) else None


def looks_like(line: str) -> str:
    """The format of a text, by its first line that is not blank.

    >>> looks_like("BUY(price=3)"), looks_like('{"type": "BUY"}'), looks_like("type,price")
    ('core', 'ndjson', 'csv')
    """
    if line.lstrip("\ufeff \t").startswith(("{", "[")):
        return "ndjson"
    return "core" if _CORE_LINE.match(line) else "csv"
