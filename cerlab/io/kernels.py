"""Lines of text cut into typed cells: what is read at once where all lines have a known shape.

A shape is what stands between the cells of a line (`cerlab.io.shapes`). A line that is of no known
shape, or has a cell that is not decided here, ends a scan: the readers of single lines know what it
is. So nothing here says what is wrong with a line, and nothing is guessed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import Bytes, Int32s, Int64s, inline, kernel
from cerlab.io.shapes import CORE, CORE_TEXT, CSV, JSON, WORD
from cerlab.io.shapes import TEXT as AS_TEXT

NOTHING, INTEGER, DECIMAL, BOOLEAN, TEXT, UNSURE, HARD = 0, 1, 2, 4, 8, 16, 32
"""Kinds of cells; what is `UNSURE` holds other characters than ASCII, and is text most likely, and
a `HARD` one is a decimal whose value is not known yet."""

DIGITS = 18
"""So many digits are an int64 for certain."""

EXACT_POWER = 22
"""The powers of ten up to this one are floats without error."""

_LONG = 64  # the kind of an integer with more digits

_NEWLINE, _RETURN, _SPACE, _QUOTE, _APOSTROPHE = b"\n\r \"'"
_OPEN, _CLOSE, _COMMA, _PLUS, _MINUS, _POINT, _BACKSLASH = b"(),+-.\\"
_ZERO, _NINE, _A, _Z, _E, _UNDERSCORE = b"09AZE_"
_LOWER_A, _LOWER_Z = b"az"
_TRUE, _FALSE, _NULL = tuple(b"TRUE"), tuple(b"FALSE"), tuple(b"NULL")


class Shapes(NamedTuple):
    """What stands around the cells of lines, for each shape that a line may have."""

    text: Bytes  # all literals one after the other
    begin: Int32s  # (literals + 1,), where each begins in the text
    first: Int32s  # (shapes + 1,), the first literal of each shape
    column: Int32s  # (literals,), the column of the cell after each; -1 after the last
    rule: Bytes  # (literals,), the rule of that cell


class Cells(NamedTuple):
    """Where the cells of lines are; shape (columns, lines)."""

    start: Int32s  # 0 for what a line does not have
    stop: Int32s  # -1 for NULL and for what a line does not have
    kind: Bytes
    whole: Int64s  # the values of integers
    real: NDArray[np.float64]  # those of decimals, in the same memory
    shape: Bytes  # (lines,)


@kernel
def scan(data: Bytes, begin: int, end: int, shapes: Shapes, cells: Cells) -> tuple[int, int]:
    """Read lines of `data` from `begin` on, as long as they are of some shape.

    Returns how many, and where the next one begins: the first that is of no shape, or that `cells`
    has no room for. `end` is after a line's end, or the end of the text.
    """
    row, at, last = 0, begin, 0
    count = shapes.first.shape[0] - 1
    while at < end and row < cells.shape.shape[0]:
        after = -1
        for turn in range(count):
            s = (last + turn) % count
            columns = cells.stop.shape[0]
            if shapes.first[s + 1] - shapes.first[s] <= columns:  # it lacks some of them
                for column in range(columns):
                    cells.start[column, row] = 0
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


@inline
def _line(data: Bytes, at: int, end: int, shapes: Shapes, s: int, cells: Cells, row: int) -> int:
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


@inline
def _cell(
    data: Bytes, at: int, end: int, rule: int, until: np.uint8, cells: Cells, row: int, column: int
) -> int:
    """Note the cell at `at`; returns where it ends, or -1 if that is for another reader."""
    start, stop, after = at, at, at
    kind = TEXT
    quote = data[at] if at < end and rule != WORD else np.uint8(0)
    of_core = rule in (CORE, CORE_TEXT)
    if quote == _QUOTE or (quote == _APOSTROPHE and of_core):
        start += 1
        stop = _closing(data, start, end, quote, rule)
        if stop < 0:
            return -1
        after = stop + 1
        if rule == CSV:
            number_end, kind = _number(data, start, stop, rule, cells, row, column)
            if number_end < stop or kind == NOTHING:
                kind = _kind_of_text(data, start, stop)
        elif rule == AS_TEXT and start == stop:
            kind = NOTHING
    elif rule == WORD:
        stop = after = _word_end(data, start, end)
        if start == stop:
            return -1
    else:
        kind = NOTHING
        if rule not in (AS_TEXT, CORE_TEXT):
            after, kind = _number(data, start, end, rule, cells, row, column)
        if kind != NOTHING and (after == end or data[after] == until or data[after] < _SPACE):
            stop = after
        else:
            stop = after = _plain_end(data, start, end, of_core, until)
            if stop < 0:
                return -1
            if rule == JSON:
                kind = _kind_of_word(data, start, stop)
            elif rule == AS_TEXT:
                kind = NOTHING if start == stop else TEXT
            else:
                kind = _kind_of_text(data, start, stop)
                if rule == CORE_TEXT and kind == BOOLEAN:
                    kind = TEXT
    if kind < 0 or kind == _LONG:
        return -1
    cells.start[column, row] = start
    cells.stop[column, row] = -1 if kind == NOTHING else stop
    cells.kind[column, row] = kind
    return after


@inline
def _closing(data: Bytes, at: int, end: int, quote: np.uint8, rule: int) -> int:
    """Where the quote is closed on this line, without an escape of any kind before; else -1."""
    while at < end and data[at] >= _SPACE and (rule != JSON or data[at] != _BACKSLASH):
        if data[at] == quote:
            return -1 if at + 1 < end and data[at + 1] == quote else at
        at += 1
    return -1


@inline
def _word_end(data: Bytes, at: int, end: int) -> int:
    while at < end and (_is_letter(data[at]) or _is_digit(data[at]) or data[at] == _UNDERSCORE):
        at += 1
    return at


@inline
def _plain_end(data: Bytes, at: int, end: int, of_core: bool, until: np.uint8) -> int:
    """Where a cell without quotes ends: at `until` or at the line's end; -1 for odd characters."""
    start = at
    while at < end and data[at] != until and data[at] >= _SPACE:
        c = data[at]
        if c in (_QUOTE, _COMMA):
            return -1
        if of_core and c in (_APOSTROPHE, _OPEN, _CLOSE):
            return -1
        at += 1
    if of_core and at > start and (data[start] == _SPACE or data[at - 1] == _SPACE):
        return -1
    return at


@inline
def _is_digit(c: int) -> bool:
    return _ZERO <= c <= _NINE


@inline
def _is_letter(c: int) -> bool:
    return _A <= (c & 0xDF) <= _Z


@inline
def _number(
    data: Bytes, at: int, end: int, rule: int, cells: Cells, row: int, column: int
) -> tuple[int, int]:
    """Where the number at `at` ends, and its kind, `NOTHING` if there is none; notes its value.

    A decimal is exact where its digits and its power of ten are two floats without error, since one
    division or product of floats is rounded rightly. Others are `HARD`.
    """
    negative = at < end and data[at] == _MINUS
    if negative or (at < end and data[at] == _PLUS and rule != JSON):
        at += 1
    begin, digits, kind = at, np.int64(0), INTEGER
    while at < end and _is_digit(data[at]):
        digits = 10 * digits + (data[at] - _ZERO)
        at += 1
    count, exponent = at - begin, 0
    if rule == JSON and (count == 0 or (count > 1 and data[begin] == _ZERO)):
        return at, NOTHING
    if at < end and data[at] == _POINT:
        kind = DECIMAL
        at += 1
        point = at
        while at < end and _is_digit(data[at]):
            digits = 10 * digits + (data[at] - _ZERO)
            at += 1
        exponent = point - at
        count -= exponent
        if rule == JSON and exponent == 0:
            return at, NOTHING
    if count == 0:
        return at, NOTHING
    after = _exponent_end(data, at, end)
    if after > 0:
        kind = DECIMAL
        exponent += _exponent(data, at + 1, after)
        at = after
    if kind == INTEGER:
        cells.whole[column, row] = -digits if negative else digits
        return at, INTEGER if count <= DIGITS else _LONG
    if count > DIGITS or digits > 1 << 53 or abs(exponent) > EXACT_POWER:
        return at, HARD
    power = 1.0
    for _ in range(abs(exponent)):
        power *= 10.0
    value = digits * power if exponent >= 0 else digits / power
    cells.real[column, row] = -value if negative else value
    return at, DECIMAL


@inline
def _exponent_end(data: Bytes, at: int, stop: int) -> int:
    """The end of an exponent at `at`; -1 if there is none."""
    if at >= stop or (data[at] & 0xDF) != _E:
        return -1
    at += 1
    if at < stop and (data[at] == _PLUS or data[at] == _MINUS):
        at += 1
    after = at
    while after < stop and _is_digit(data[after]):
        after += 1
    return after if after > at else -1


@inline
def _exponent(data: Bytes, at: int, stop: int) -> int:
    negative = data[at] == _MINUS
    if negative or data[at] == _PLUS:
        at += 1
    value = 0
    while at < stop:
        value = min(10 * value + (data[at] - _ZERO), 1 << 20)
        at += 1
    return -value if negative else value


@kernel
def _kind_of_text(data: Bytes, start: int, stop: int) -> int:
    """What a cell without a declared type is that is no number (`conversion.infer`)."""
    if start == stop or _is_word(data, start, stop, _NULL):
        return NOTHING
    if _is_word(data, start, stop, _TRUE) or _is_word(data, start, stop, _FALSE):
        return BOOLEAN
    for i in range(start, stop):
        if data[i] >= 128:
            return UNSURE
    return TEXT


@inline
def _is_word(data: Bytes, start: int, stop: int, word: tuple[int, ...]) -> bool:
    """Whether the cell is the word, which is in capitals, in any case."""
    if stop - start != len(word):
        return False
    for i in range(len(word)):
        if not _is_letter(data[start + i]) or (data[start + i] & 0xDF) != word[i]:
            return False
    return True


@kernel
def _kind_of_word(data: Bytes, start: int, stop: int) -> int:
    """What a value of JSON without quotes is that is no number; -1 for what is none."""
    for i in range(start, stop):
        if not _LOWER_A <= data[i] <= _LOWER_Z:
            return -1
    kind = _kind_of_text(data, start, stop)
    return kind if start < stop and kind != TEXT else -1
