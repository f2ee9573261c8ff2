"""CORE's text form, one event a line: ``BUY(id=8,name=INTC,price=27.8500)``.

A value is a word, which is NULL if it is empty or ``NULL``, or a text in quotes (``'it''s'``).
``S>BUY(..)`` names the stream. Blank lines and lines that begin with ``#`` or ``--`` are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from cerlab.errors import BadData, UsageError, by_door
from cerlab.io.cells import CellReader
from cerlab.io.conversion import RowReading, twice
from cerlab.io.formats import Format, Head, register
from cerlab.io.parts import Quoted, Refused, RowPart, TextRow, line_ends, lone_returns, one_array
from cerlab.io.written import cannot_hold, check_plain, checked_cells, place_of
from cerlab.model.arrays import array_from, order_of
from cerlab.model.columns import array_of, encode_text
from cerlab.model.event import Duration, Event, Timestamp, TypeColumn, Value

_HEAD = r"\s*(?:(\w+)\s*>\s*)?(\w+)\s*"
_LINE = re.compile(_HEAD + r"\((.*)\)\s*", re.DOTALL)
_PAIR = re.compile(
    r"""\s*(`(?:[^`]|``)+`|\w+)\s*=\s*('(?:[^']|'')*'|"(?:[^"]|"")*"|[^,'"]*?)\s*(,|$)""", re.DOTALL
)
_NULL_WORDS = ("NULL", "Null", "null")

_MOST_SHAPES = 64
"""Most event types that are read separately: each costs a call of pyarrow for every block."""

HEAD = ""
"""Name of the column of event types and streams, which no attribute can have."""


if TYPE_CHECKING:
    from cerlab.io.column_types import ColumnTypes
    from cerlab.model.stream import Stream


class LineColumns(NamedTuple):
    """The cells of some lines as Arrow arrays of text."""

    columns: dict[str, Any]
    """The cells by attribute; the column `HEAD` has the text before the bracket."""
    quoted: set[str]
    """The attributes with at least one quoted cell."""
    names: tuple[tuple[str, ...], ...]
    """The attribute names of the lines, for each shape of lines."""
    shape: Any = None
    """The shape of each line, as an integer; None if all lines have one shape."""


def line_columns(data: bytes) -> LineColumns:
    """Return the cells of whole lines, if all lines of one event type have one shape.

    Raises `Refused` for other lines, and for lines that `text_rows` might read differently.
    """
    if b"\0" in data or b'"' in data or lone_returns(data):
        raise Refused
    if not (data := _events_only(data)):
        raise Refused
    try:
        return _of_one_shape(data)
    except Refused:
        return _of_shapes(data[:-1].split(b"\n"))


def _events_only(data: bytes) -> bytes:
    """Return the lines that are not comments, each ending with ``\\n``."""
    import numpy as np

    if not data.endswith(b"\n"):
        data += b"\n"
    begins = np.frombuffer(data, np.uint8)[line_ends(data)[:-1] + 1]
    odd = b"\r\n#-"
    if data[:1] not in odd and not np.isin(begins, np.frombuffer(odd, np.uint8)).any():
        return data
    lines = data.split(b"\n")
    return b"".join(e + b"\n" for e in lines if e.strip() and not e.startswith((b"#", b"--")))


def _of_shapes(lines: list[bytes]) -> LineColumns:
    """Return the cells of lines whose event type determines their shape."""
    import numpy as np
    import pyarrow as pa

    rows: dict[bytes, list[int]] = {}
    for n, line in enumerate(lines):
        rows.setdefault(line[: line.find(b"(")], []).append(n)
    if not 1 < len(rows) <= _MOST_SHAPES:
        raise Refused
    groups = [_of_one_shape(b"\n".join([lines[n] for n in g]) + b"\n") for g in rows.values()]
    counts = [*map(len, rows.values())]
    order = order_of(np.concatenate([*map(np.array, rows.values())]))
    columns = {
        name: pa.concat_arrays(
            [
                group.columns.get(name, pa.nulls(count, pa.string()))
                for group, count in zip(groups, counts, strict=True)
            ]
        ).take(array_from(order))
        for name in dict.fromkeys(name for group in groups for name in group.columns)
    }
    quoted = set().union(*(group.quoted for group in groups))
    shape = np.repeat(np.arange(len(groups), dtype=np.uint8), counts)[order]
    return LineColumns(columns, quoted, tuple(group.names[0] for group in groups), shape)


def _of_one_shape(data: bytes) -> LineColumns:
    """Return the cells of lines that all have the attribute names of the first line, in its order.

    pyarrow reads a line as the cells of a CSV, each of which begins with its name.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    lines = len(line_ends(data))
    names, literals = _shape(data[: data.index(b"\n")].rstrip(b"\r"))
    head_end = literals[0] if names else b"()"
    cells = data.replace(head_end, b"," if names else b"")
    # each name must occur once in a line; otherwise a name differs, or a value contains the name
    if len(data) - len(cells) != lines * (len(head_end) - len(names[:1])):
        raise Refused
    columns = [HEAD, *names]
    try:
        table = csv.read_csv(
            pa.py_buffer(cells),
            read_options=csv.ReadOptions(
                column_names=columns, use_threads=False, block_size=len(cells) + 1
            ),
            # CORE's text doubles a quote as '', which is handled below
            parse_options=csv.ParseOptions(quote_char=False),
            convert_options=csv.ConvertOptions(column_types=dict.fromkeys(columns, pa.string())),
        )
    except pa.ArrowInvalid:
        raise Refused from None
    if table.num_rows != lines:
        raise Refused
    texts = {name: one_array(table.column(name)) for name in columns}
    for name, literal in zip(names[1:], literals[1:], strict=True):
        prefix = literal.partition(b",")[2].decode()
        if not pc.all(pc.starts_with(texts[name], prefix)).as_py():
            raise Refused
        texts[name] = pc.utf8_slice_codeunits(texts[name], len(prefix))
    if names:
        if not pc.all(pc.ends_with(last := texts[names[-1]], ")")).as_py():
            raise Refused
        texts[names[-1]] = pc.utf8_slice_codeunits(last, 0, -1)
    quoted = set()
    if b"'" in data:
        for name in names:
            texts[name], has_quotes = _without_quotes(texts[name])
            quoted |= {name} if has_quotes else set()
    words = b"ULL" in data or b"ull" in data
    nulls = array_of(["", *_NULL_WORDS])
    for name in names:
        if words or pc.min(pc.binary_length(texts[name])).as_py() == 0:
            is_null = pc.is_in(texts[name], nulls)
            if name in quoted and pc.any(is_null).as_py():  # a quoted NULL is text
                raise Refused
            texts[name] = pc.if_else(is_null, pa.nulls(lines, pa.string()), texts[name])
    return LineColumns(texts, quoted, (tuple(names),))


def _without_quotes(texts: Any) -> tuple[Any, bool]:
    """Return cells without their quotes, and whether some had quotes.

    Raises `Refused` for other quotes, which only the reader of single lines handles.
    """
    import pyarrow.compute as pc

    from cerlab.io.column_types import text_array

    if not pc.any(pc.match_substring(texts, "'")).as_py():
        return texts, False
    coded = encode_text(texts)
    cells = coded.dictionary.to_pylist()
    if not all(re.fullmatch("'[^']*'|[^']*", cell) for cell in cells):
        raise Refused
    return text_array([cell.strip("'") for cell in cells]).take(coded.indices), True


def _shape(first: bytes) -> tuple[list[str], list[bytes]]:
    """Return the attribute names of a line, and the text before the value of each."""
    try:
        line = first.decode()
    except UnicodeDecodeError:
        raise Refused from None
    match = _LINE.fullmatch(line)
    if match is None:
        raise Refused
    names, literals = [], []
    before, (at, end) = match.end(2), match.span(3)
    more = bool(line[at:end].strip())
    while more:
        pair = _PAIR.match(line, at, end)
        if pair is None:
            raise Refused
        names.append(_plain_name(pair.group(1)))
        literals.append(line[before : pair.start(2)].encode())
        before, at, more = pair.end(2), pair.end(), pair.group(3) == ","
    if len(set(names)) < len(names) or {"type", "stream"} & {*names}:
        raise Refused
    return names, literals


def heads(column: Any) -> tuple[list[str], list[str | None]]:
    """Return the event types and streams of some line heads; raises `Refused` for invalid heads."""
    matches = [re.fullmatch(_HEAD, head) for head in column.to_pylist()]
    if not all(matches):
        raise Refused
    return [m[2] for m in matches if m], [m[1] for m in matches if m]


def text_rows(lines: Iterable[str], reading: RowReading, *, before: int) -> Iterator[TextRow]:
    """Yield the rows of some lines, counted from `before` + 1; ``reading`` gets bad rows.

    Raises `BadData` with file, row and attribute.
    """
    for row, line in enumerate(lines, start=before + 1):
        text = line.strip()
        if not text or text.startswith(("#", "--")):
            continue
        try:
            reading.check(text, row)
            yield _text_row(text, line, reading, row)
        except BadData as error:
            reading.reject(line, error)


def _text_row(text: str, line: str, reading: RowReading, row: int) -> TextRow:
    match = _LINE.fullmatch(text)
    if match is None:
        raise BadData(
            "CER0730",
            f"expected an event, got {text[:60]!r}",
            place=reading.place(row),
            hint="an event is TYPE(name=value, ..), on one line",
        )
    stream, event_type, inside = match.groups()
    cells = _pairs(inside, reading, row)
    for name, key in reading.keys.items():
        if name in cells:
            raise twice(name, reading.place(row, name))
        cells[name] = key.text
    return TextRow(row, line, event_type, stream, cells)


def _pairs(inside: str, reading: RowReading, row: int) -> dict[str, str | None]:
    pairs: dict[str, str | None] = {}
    at, more = 0, bool(inside.strip())
    while more:
        match = _PAIR.match(inside, at)
        if match is None:
            raise BadData(
                "CER0731",
                f"expected name=value, got {inside[at : at + 60].strip()!r}",
                place=reading.place(row),
                hint="quote text that contains a comma or a quote",
            )
        name, raw, separator = match.groups()
        name = _plain_name(name)
        if name in pairs:
            raise twice(name, reading.place(row, name))
        pairs[name] = _cell(raw)
        at, more = match.end(), separator == ","
    return pairs


def _plain_name(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _cell(raw: str) -> str | None:
    if raw[:1] in ("'", '"'):
        return Quoted(raw[1:-1].replace(raw[0] * 2, raw[0]))
    return None if raw in ("", *_NULL_WORDS) else raw


def format_event(event: Event) -> str:
    """Return the event in CORE's text form, which reads back as an equal event.

    Durations are read back only with a schema.

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
    if isinstance(value, Timestamp | Duration):
        return str(value)
    if isinstance(value, str):
        return "'" + str(value).replace("'", "''") + "'"
    return repr(value)


class _CoreReader(CellReader):
    sparse = False

    def __init__(self, reading: RowReading, types: ColumnTypes) -> None:
        super().__init__(reading, types)
        if isinstance(reading.type_name, TypeColumn):
            message = "in CORE's text form types stand before the brackets, not in a column"
            raise UsageError(
                "CER0859",
                message,
                hint=by_door("leave type_column= out", "leave --type-column out"),
            )

    def may_be_cut(self, data: bytes) -> bool:
        return True

    def rows(self, data: bytes) -> RowPart:
        from cerlab.io.column_types import text_array

        read = line_columns(data)
        keys = self._reading.keys
        if not keys.keys().isdisjoint(read.columns):
            raise Refused
        head = encode_text(read.columns.pop(HEAD))
        types, streams = heads(head.dictionary)
        for name, key in keys.items():
            read.columns[name] = text_array([key.text] * len(head))
        names = tuple((*each, *keys) for each in read.names)
        with self._types.attempt():
            columns = self.with_types(read.columns, read.quoted)
            if any(map(_has_margin, columns.values())):
                raise Refused
            columns["type"] = encode_text(text_array(types).take(head.indices))
            if any(streams):
                columns["stream"] = encode_text(text_array(streams).take(head.indices))
            return RowPart(columns, len(head), names, read.shape)

    def _text_rows(self, lines: Iterable[str], before: int, *, last: bool) -> Iterator[TextRow]:
        return text_rows(lines, self._reading, before=before)


def _has_margin(column: Any) -> bool:
    """Return whether a text begins or ends with a space, which reading would strip."""
    from pyarrow import types

    texts = column.dictionary.to_pylist() if types.is_dictionary(column.type) else []
    return any(text != text.strip() for text in texts)


def _write(stream: Stream, file: TextIO) -> None:
    form, events = "CORE's text form", stream.events
    for n, event in enumerate(events):
        for name, text in (("type", event.type), ("stream", event.stream)):
            if text is not None and not re.fullmatch(r"\w+", text):
                raise cannot_hold(form, text, place_of(n, name))
    for name in dict.fromkeys(name for event in events for name in event.attributes):
        values = [event.attributes.get(name) for event in events]
        if not any(isinstance(value, str) for value in values):
            checked_cells(stream, name, form)
            continue
        for n, value in enumerate(values):
            if isinstance(value, str):
                check_plain(value, place_of(n, name), form)
            elif value is not None and stream.schema is None:
                raise cannot_hold(form, value, place_of(n, name))
    file.writelines(format_event(event) + "\n" for event in events)


def _open(head: Head, reading: RowReading, types: ColumnTypes) -> tuple[_CoreReader, bytes, int]:
    return _CoreReader(reading, types), head.data, head.before


_FIRST = re.compile(r"\s*(?:#|--|(?:\w+\s*>\s*)?\w+\s*\()")

register(
    Format(
        "core",
        (".core", ".stream"),
        begins=lambda line: _FIRST.match(line) is not None,
        has_cells=True,
        reader=_open,
        write=_write,
    )
)
