"""Files in unsupported formats: how to recognise them, and hints how to convert them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cerlab.errors import BadData, DataPlace, by_door, nearest
from cerlab.model.event import NAME_THE_TYPE
from cerlab.model.paths import path_name

_ZIP = "unpack it first, for example with unzip; gzip and zstd are read as they are"
_WORKBOOK = "save it as CSV, or read it by pandas.read_excel and give cerlab the frame"

BINARY: tuple[tuple[bytes, tuple[str, ...], str, str], ...] = (
    (b"PK\x03\x04", (".xlsx", ".xlsm", ".ods"), "a workbook", _WORKBOOK),
    (b"PK\x03\x04", (), "a ZIP archive", _ZIP),
    (b"\xd0\xcf\x11\xe0", (), "a workbook of Excel 97", _WORKBOOK),
    (b"Obj\x01", (), "an Avro file", "write it as Parquet, or as JSON lines by avro-tools tojson"),
    (
        b"SQLite format 3",
        (),
        "a database of SQLite",
        "export the table as CSV: sqlite3 -csv -header",
    ),
)
"""First bytes, suffixes (none: any), name and conversion of each unsupported format."""

TYPE_NAMES = (
    *("event", "event_type", "eventtype", "event_name", "eventname", "kind", "activity"),
    *("concept:name", "action"),
)
"""Names of columns that often contain event types, the likeliest first."""

_SYSLOG = re.compile(r"<\d{1,3}>|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d ")
"""The beginning of a syslog line, by RFC 5424 and by RFC 3164."""


def check_binary(head: bytes, file: str) -> None:
    """Raise `BadData` for the first bytes of an unsupported binary format."""
    for magic, suffixes, noun, hint in BINARY:
        if head.startswith(magic) and (not suffixes or file.lower().endswith(suffixes)):
            message = f"this is {noun}, which is not supported"
            raise BadData("CER0742", message, place=DataPlace(file), hint=hint)


_PM4PY = "import pm4py; pm4py.read_xes('log.xes').to_csv('log.csv', index=False)"


def check_xml(head: bytes, file: str) -> None:
    """Raise `BadData` for the first bytes of XML, such as a log in XES."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start.startswith((b"<?xml", b"<log ", b"<log>")):
        return
    is_xes = ".xes" in file.lower() or b"xes" in start[:4096] or b"<log" in start[:4096]
    noun, hint = "XML", "write its records as CSV or JSON lines, with names and a type"
    if is_xes:
        noun = "a log in XES"
        hint = f'convert it: python -c "{_PM4PY}"; then use --type-column concept:name'
    raise BadData(
        "CER0742", f"this is {noun}, which is not supported", place=DataPlace(file), hint=hint
    )


def hint_of_header(names: Iterable[str]) -> str:
    """Return the hint for a header without a column ``type``.

    >>> hint_of_header(["event", "t"])
    "use type_column='event', if it has the types"
    """
    header = list(names)
    line = ",".join(header)
    if "sep=" in [name.strip() for name in header] or line.lstrip().startswith("sep="):
        return "delete the line sep=.. above the header: it is for Excel alone"
    if _SYSLOG.match(line):
        return "this is syslog: write its fields as CSV or JSON lines, with names and a type"
    by_lower_case = {name.lower().replace(" ", "_"): name for name in header}
    found = next((by_lower_case[each] for each in TYPE_NAMES if each in by_lower_case), None)
    if found is not None:
        shown = f"'{found}'" if re.search(r"\W", found) else found
        return by_door(
            f"use type_column='{found}', if it has the types",
            f"use --type-column {shown}, if it has the types",
        )
    if len(header) == 1 and " " in line.strip():
        return f"is '{line[:40]}' a title? delete the lines above the header"
    near = nearest("type", header)
    return by_door(
        "use type='NAME' if all rows are of one type, type_column='NAME' if a column has it"
        f"; {near}",
        "use --type NAME if all rows are of one type, --type-column NAME if a column has it"
        f"; {near}",
    )


def hint_of_json(line: str, message: str) -> str:
    """Return the hint for a line that is not JSON, by the parser's message."""
    if message.startswith("Extra data"):
        return "several objects are in one line; jq -c . FILE writes one object a line"
    if line.lstrip().startswith(("{", "[")) and line.count("{") > line.count("}"):
        return "an object goes over several lines; jq -c . FILE writes one object a line"
    return by_door(
        "write one object a line; quarantine= goes on without it",
        "write one object a line; --quarantine FILE goes on without it",
    )


def hint_of_records(path: str) -> str:
    """Return the hint for an object around the list of events at a path."""
    shown = f"'{path}'" if re.search(r"[^\w.]", path) else path
    return by_door(
        f"use records='{path}', if the rows are in this list",
        f"use --records {shown}, if the rows are in this list",
    )


def lists_in(value: Any, depth: int = 4) -> Iterator[tuple[str, ...]]:
    """Yield the paths of lists of objects in an object, outermost first, up to `depth`."""
    if not isinstance(value, dict) or not depth:
        return
    inside = []
    for name, each in value.items():
        if isinstance(each, list) and each and all(isinstance(x, dict) for x in each):
            yield (name,)
            inside.append((name, each[0]))
        elif isinstance(each, dict):
            inside.append((name, each))
    for name, each in inside:
        yield from ((name, *fields) for fields in lists_in(each, depth - 1))


def hint_of_lists(value: Any) -> str:
    """Return the hint for an object around a list of events; an empty text for another object."""
    path = next(lists_in(value), None)
    return "" if path is None else hint_of_records(path_name(path))


def hint_of_object(row: Mapping[Any, Any]) -> str:
    """Return the hint for an object without a type."""
    if "ocel:events" in row:
        return "this is OCEL 1: write its events one a line, with a type and a time"
    names = [each for each in TYPE_NAMES if isinstance(row.get(each), str)]
    if names:
        return by_door(
            f"use type_column='{names[0]}', if it has the types",
            f"use --type-column {names[0]}, if it has the types",
        )
    return NAME_THE_TYPE
