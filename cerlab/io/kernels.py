"""Lines of text cut into typed cells: what is read at once where all lines have a known shape.

A shape is what stands between the cells of a line (`cerlab.io.shapes`). A line that is of no known
shape, or has a cell that is not decided here, ends a scan: the readers of single lines know what it
is. So nothing here says what is wrong with a line, and nothing is guessed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cerlab.engine.kernels.compiled import kernel
from cerlab.io.shapes import CORE, CSV, JSON, WORD
from cerlab.io.shapes import TEXT as AS_TEXT

NOTHING, INTEGER, DECIMAL, BOOLEAN, TEXT, UNSURE = 0, 1, 2, 4, 8, 16
"""Kinds of cells; what is `UNSURE` holds other characters than ASCII, and is text most likely."""

DIGITS = 18
"""So many digits are an int64 for certain."""

_NEWLINE, _RETURN, _SPACE, _QUOTE, _APOSTROPHE = b"\n\r \"'"
_OPEN, _CLOSE, _COMMA, _PLUS, _MINUS, _POINT, _BACKSLASH = b"(),+-.\\"
_ZERO, _NINE, _A, _Z, _E, _UNDERSCORE = b"09AZE_"
_LOWER_A, _LOWER_Z = b"az"
_TRUE, _FALSE, _NULL = tuple(b"TRUE"), tuple(b"FALSE"), tuple(b"NULL")


class Shapes(NamedTuple):
    """What stands around the cells of lines, for each shape that a line may have."""

    text: Any  # uint8, all literals one after the other
    begin: Any  # int32 (literals + 1,), where each begins in the text
    first: Any  # int32 (shapes + 1,), the first literal of each shape
    column: Any  # int32 (literals,), the column of the cell after each; -1 after the last
    rule: Any  # uint8 (literals,), the rule of that cell


class Cells(NamedTuple):
    """Where the cells of lines are; shape (columns, lines)."""

    start: Any  # int32
    stop: Any  # int32, -1 for NULL and for what a line does not have
    kind: Any  # uint8
    shape: Any  # uint8 (lines,)


@kernel
def scan(data: Any, begin: int, end: int, shapes: Shapes, cells: Cells) -> tuple[int, int]:
    """Read lines of `data`, uint8, from `begin` on, as long as they are of some shape.

    Returns how many, and where the next one begins: the first that is of no shape, or that `cells`
    has no room for. `end` is after a line's end, or the end of the text.
    """
    row, at, last = 0, begin, 0
    count = shapes.first.shape[0] - 1
    while at < end and row < cells.shape.shape[0]:
        after = -1
        for tried in range(count):
            s = (last + tried) % count
            for column in range(cells.stop.shape[0]):
                cells.stop[column, row] = -1
                cells.kind[column, row] = NOTHING
            after = _line(data, at, end, shapes, s, cells, row)
            if after >= 0:
                last = s
                break
        if after < 0:
            break
        cells.shape[row] = last
        row += 1
        at = after
    return row, at


@kernel
def _line(data: Any, at: int, end: int, shapes: Shapes, s: int, cells: Cells, row: int) -> int:
    """Where the next line begins if the one at `at` is of shape `s`, else -1."""
    if data[at] == _NEWLINE or data[at] == _RETURN:
        return -1
    for n in range(shapes.first[s], shapes.first[s + 1]):
        for i in range(shapes.begin[n], shapes.begin[n + 1]):
            if at >= end or data[at] != shapes.text[i]:
                return -1
            at += 1
        column = shapes.column[n]
        if column < 0:
            break
        following = shapes.begin[n + 1]
        until = shapes.text[following] if following < shapes.begin[n + 2] else np.uint8(_NEWLINE)
        at = _cell(data, at, end, shapes.rule[n], until, cells, row, column)
        if at < 0:
            return -1
    if at < end and data[at] == _RETURN:
        at += 1
        if at == end:
            return -1
    if at < end:
        return at + 1 if data[at] == _NEWLINE else -1
    return at


@kernel
def _cell(
    data: Any, at: int, end: int, rule: int, until: Any, cells: Cells, row: int, column: int
) -> int:
    """Note the cell at `at`; returns where it ends, or -1 if that is for another reader."""
    start, stop, after = at, at, at
    kind = TEXT
    quote = data[at] if at < end and rule != WORD else np.uint8(0)
    if quote == _QUOTE or (quote == _APOSTROPHE and rule == CORE):
        start += 1
        stop = _closing(data, start, end, quote, rule)
        if stop < 0:
            return -1
        after = stop + 1
        if rule == CSV:
            kind = _kind(data, start, stop)
        elif rule == AS_TEXT and start == stop:
            kind = NOTHING
    elif rule == WORD:
        stop = after = _word_end(data, start, end)
        if start == stop:
            return -1
    else:
        stop = after = _plain_end(data, start, end, rule, until)
        if stop < 0:
            return -1
        if rule == JSON:
            kind = _json_kind(data, start, stop)
        elif rule == AS_TEXT:
            kind = NOTHING if start == stop else TEXT
        else:
            kind = _kind(data, start, stop)
    if kind < 0:
        return -1
    cells.start[column, row] = start
    cells.stop[column, row] = -1 if kind == NOTHING else stop
    cells.kind[column, row] = kind
    return after


@kernel
def _closing(data: Any, at: int, end: int, quote: Any, rule: int) -> int:
    """Where the quote is closed on this line, without an escape of any kind before; else -1."""
    while at < end and data[at] >= _SPACE and (rule != JSON or data[at] != _BACKSLASH):
        if data[at] == quote:
            return -1 if at + 1 < end and data[at + 1] == quote else at
        at += 1
    return -1


@kernel
def _word_end(data: Any, at: int, end: int) -> int:
    while at < end and (_is_letter(data[at]) or _is_digit(data[at]) or data[at] == _UNDERSCORE):
        at += 1
    return at


@kernel
def _plain_end(data: Any, at: int, end: int, rule: int, until: int) -> int:
    """Where a cell without quotes ends: at `until` or at the line's end; -1 for odd characters."""
    start = at
    while at < end and data[at] != until and data[at] >= _SPACE:
        c = data[at]
        if c in (_QUOTE, _COMMA):
            return -1
        if rule == CORE and c in (_APOSTROPHE, _OPEN, _CLOSE):
            return -1
        at += 1
    if rule == CORE and at > start and (data[start] == _SPACE or data[at - 1] == _SPACE):
        return -1
    return at


@kernel
def _is_digit(c: int) -> bool:
    return _ZERO <= c <= _NINE


@kernel
def _is_letter(c: int) -> bool:
    return _A <= (c & 0xDF) <= _Z


@kernel
def _digits_end(data: Any, at: int, stop: int) -> int:
    while at < stop and _is_digit(data[at]):
        at += 1
    return at


@kernel
def _kind(data: Any, start: int, stop: int) -> int:
    """What a cell without a declared type is (`conversion.infer`); -1 for a long integer."""
    if start == stop:
        return NOTHING
    at = start + 1 if data[start] == _PLUS or data[start] == _MINUS else start
    whole = _digits_end(data, at, stop)
    if whole == stop and whole > at:
        return INTEGER if whole - at <= DIGITS else -1
    after = whole
    is_decimal = False
    if after < stop and data[after] == _POINT:
        after = _digits_end(data, whole + 1, stop)
        is_decimal = after - at > 1
    elif after > at and after < stop and (data[after] & 0xDF) == _E:
        is_decimal = True
    if is_decimal and (after == stop or _exponent_end(data, after, stop) == stop):
        return DECIMAL
    if _is_word(data, start, stop, _TRUE) or _is_word(data, start, stop, _FALSE):
        return BOOLEAN
    if _is_word(data, start, stop, _NULL):
        return NOTHING
    for i in range(start, stop):
        if data[i] >= 128:
            return UNSURE
    return TEXT


@kernel
def _exponent_end(data: Any, at: int, stop: int) -> int:
    """The end of an exponent at `at`; -1 if there is none."""
    if at >= stop or (data[at] & 0xDF) != _E:
        return -1
    at += 1
    if at < stop and (data[at] == _PLUS or data[at] == _MINUS):
        at += 1
    after = _digits_end(data, at, stop)
    return after if after > at else -1


@kernel
def _is_word(data: Any, start: int, stop: int, word: Any) -> bool:
    """Whether the cell is the word, which is in capitals, in any case."""
    if stop - start != len(word):
        return False
    for i in range(len(word)):
        if not _is_letter(data[start + i]) or (data[start + i] & 0xDF) != word[i]:
            return False
    return True


@kernel
def _json_kind(data: Any, start: int, stop: int) -> int:
    """What a value of JSON without quotes is; -1 for what is none, or a long integer."""
    if start == stop:
        return -1
    if _is_letter(data[start]):
        for i in range(start, stop):
            if not _LOWER_A <= data[i] <= _LOWER_Z:
                return -1
        if _is_word(data, start, stop, _NULL):
            return NOTHING
        is_boolean = _is_word(data, start, stop, _TRUE) or _is_word(data, start, stop, _FALSE)
        return BOOLEAN if is_boolean else -1
    at = start + 1 if data[start] == _MINUS else start
    whole = _digits_end(data, at, stop)
    if whole == at or (data[at] == _ZERO and whole > at + 1):
        return -1
    if whole == stop:
        return INTEGER if whole - at <= DIGITS else -1
    after = whole
    if data[after] == _POINT:
        after = _digits_end(data, whole + 1, stop)
        if after == whole + 1:
            return -1
    return DECIMAL if after == stop or _exponent_end(data, after, stop) == stop else -1


@kernel
def integers(data: Any, start: Any, stop: Any, out: Any) -> None:
    """The integers of some cells, int64; 0 for NULL."""
    for i in range(out.shape[0]):
        value, at = 0, start[i]
        negative = stop[i] > at and data[at] == _MINUS
        if stop[i] > at and (negative or data[at] == _PLUS):
            at += 1
        while at < stop[i]:
            value = 10 * value + (data[at] - _ZERO)
            at += 1
        out[i] = -value if negative else value


@kernel
def decimals(data: Any, start: Any, stop: Any, powers: Any, out: Any, hard: Any) -> int:
    """The decimals of some cells, float64, NaN for NULL; and integers as such.

    Exact where digits and power of ten are two floats without error, since one division or product
    of floats is rounded rightly. Others are listed in `hard`, by number; returns how many.
    `powers` are the powers of ten that are floats without error, 1 to 10^22.
    """
    found = 0
    for i in range(out.shape[0]):
        out[i] = np.nan
        if stop[i] < 0:
            continue
        at, end = start[i], stop[i]
        negative = data[at] == _MINUS
        if negative or data[at] == _PLUS:
            at += 1
        digits, count, point = 0, 0, -1
        while at < end and (_is_digit(data[at]) or data[at] == _POINT):
            if data[at] == _POINT:
                point = at
            else:
                digits = 10 * digits + (data[at] - _ZERO) if count < DIGITS else digits
                count += 1
            at += 1
        exponent = 0 if point < 0 else point + 1 - at
        if at < end:
            exponent += _exponent(data, at + 1, end)
        size = abs(exponent)
        if count > DIGITS or digits > 1 << 53 or size >= powers.shape[0]:
            hard[found] = i
            found += 1
            continue
        value = digits * powers[size] if exponent >= 0 else digits / powers[size]
        out[i] = -value if negative else value
    return found


@kernel
def _exponent(data: Any, at: int, stop: int) -> int:
    negative = data[at] == _MINUS
    if negative or data[at] == _PLUS:
        at += 1
    value = 0
    while at < stop:
        value = min(10 * value + (data[at] - _ZERO), 1 << 20)
        at += 1
    return -value if negative else value


@kernel
def text_ends(start: Any, stop: Any, offsets: Any) -> None:
    """Where the texts of some cells end when one follows the other: int32 (cells + 1,)."""
    offsets[0] = 0
    for i in range(start.shape[0]):
        offsets[i + 1] = offsets[i] + max(0, stop[i] - start[i])


@kernel
def texts(data: Any, start: Any, stop: Any, out: Any) -> None:
    """The texts of some cells one after the other, uint8."""
    at = 0
    for i in range(start.shape[0]):
        for k in range(start[i], stop[i]):
            out[at] = data[k]
            at += 1
