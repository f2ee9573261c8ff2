"""Partition keys: a small id for each combination of the values in PARTITION BY.

Keys are equal as in `cerlab.predicates.truth.partition_key`. A value is a kind and a
word of 64 bits, which a hash table numbers: numbers that are equal have one kind and word, whatever
their types. The word of a text is its number in a hash table of texts.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerlab.budget import poll
from cerlab.model.arrays import allocate
from cerlab.model.columns import Column, is_text
from cerlab.model.event import Duration, Event, Timestamp, Value, value_of
from cerlab.predicates.columns.pieces import (
    DictionaryCodes,
    Numbers,
    ValueList,
    columns_of,
    concatenate,
    look_up,
    pieces,
)
from cerlab.predicates.truth import kind_of

INTEGER, UNSIGNED, FLOAT, TIMESTAMP, DURATION, TEXT, BOOLEAN, OTHER = range(1, 9)
"""Kinds of values; UNSIGNED are the integers from 2^63 to 2^64, FLOAT other doubles by bits."""

_WORD = struct.Struct("<q")
_DOUBLE = struct.Struct("<d")
_LEAST_CELLS = 16
"""Cells of a new hash table, a power of two; it grows as it fills."""

LONG_TEXT = 64
"""Length in bytes above which kernels number a text: Python needs 0.1 us a byte (2026-11-28)."""


class KeyCodes:
    """Ids 0, 1, .. of partition keys, in order of first occurrence in a stream."""

    def __init__(self, attributes: Sequence[str]) -> None:
        self.attributes = tuple(attributes)
        self._values = [_Values() for _ in self.attributes]
        self._pairs = [_HashTable() for _ in self.attributes[1:]]
        """Numbers of the first attributes, each paired with the number of the next one."""
        self._ids = np.full(1, -1, np.int64)
        """Id of each number of all attributes, -1 before it has one."""
        self._order = np.zeros(0, np.uint32)
        """Number of each id."""
        self._count = np.zeros(1, np.int64)
        self._known: dict[tuple[int, ...], int] = {}
        """Ids of the keys of single events."""

    @property
    def count(self) -> int:
        """The number of keys so far."""
        return int(self._count[0])

    def keys(self) -> list[tuple[Value, ...]]:
        """Return the keys in order of their ids."""
        columns = (
            [values[n] for n in numbers.tolist()]
            for values, numbers in zip(
                (each.by_number() for each in self._values), self._numbers(), strict=True
            )
        )
        return [*zip(*columns, strict=True)] if self.attributes else [()] * self.count

    def _numbers(self, ids: Sequence[int] | None = None) -> list[NDArray[np.int64]]:
        """Return, for each attribute, the numbers of its values in all keys, or in some (`ids`)."""
        of_ids = self._order[: self.count] if ids is None else self._order[ids]
        rest = of_ids.astype(np.int64)
        columns = []
        for pairs in reversed(self._pairs):
            words = pairs.words()[0][rest]
            columns.append(words & 0xFFFF_FFFF)
            rest = words >> 32
        return [rest, *reversed(columns)] if self.attributes else []

    def only(self, ids: Sequence[int]) -> KeyCodes:
        """Return an object with only the keys of these ids, renumbered 0, 1, .. in this order."""
        result = KeyCodes(self.attributes)
        parts = []
        for n, numbers in enumerate(self._numbers(ids)):
            result._values[n], part = self._values[n].only(numbers)
            parts.append(part)
        result._codes(parts, len(ids))
        return result

    def codes(self, columns: Mapping[str, Column], length: int) -> NDArray[np.int64]:
        """Return the id of each event's key; -1 for events without a complete key.

        An event with a missing, NULL or NaN key attribute is in no partition. Raises ValueError for
        a column of another length, and `BadData` for types that are not values of events.
        """
        poll(8 * length * (1 + len(self.attributes)))
        present = columns_of(columns, self.attributes, length)
        if length == 0 or len(present) < len(set(self.attributes)):
            return np.full(length, -1, np.int64)
        parts = [
            values.of_column(present[name], name)
            for name, values in zip(self.attributes, self._values, strict=True)
        ]
        return self._codes(parts, length)

    def _codes(self, parts: Sequence[NDArray[np.uint32]], length: int) -> NDArray[np.int64]:
        """Return the id of each row of value numbers."""
        numbers = parts[0] if parts else np.ones(length, np.uint32)
        for pairs, part in zip(self._pairs, parts[1:], strict=True):
            words = (numbers.astype(np.int64) << 32) | part
            numbers = pairs.number(words, ((numbers > 0) & (part > 0)).view(np.uint8))
        self._make_room()
        out: NDArray[np.int64] = allocate(length, np.int64)
        _kernels().number_by_place(numbers, self._ids, self._order, self._count, out)
        return out

    def _make_room(self) -> None:
        """Enlarge the arrays so that each number can have an id."""
        tables = (*(values.table for values in self._values[:1]), *self._pairs)
        count = tables[-1].count if tables else 1
        if len(self._ids) <= count:
            more = 2 * count + 1 - len(self._ids)
            poll(12 * more)
            self._ids = np.concatenate((self._ids, np.full(more, -1, np.int64)))
            self._order = np.concatenate((self._order, np.zeros(more, np.uint32)))

    def code(self, event: Event) -> int:
        """Return the id of one event's key; -1 if the key is incomplete."""
        key = tuple(
            values.of_value(value_of(event, name))
            for name, values in zip(self.attributes, self._values, strict=True)
        )
        if (known := self._known.get(key)) is None:
            known = self._known[key] = self._code(key)
        return known

    def _code(self, key: Sequence[int]) -> int:
        """Return the id of one row of numbers, in Python: calling a kernel takes 10 us."""
        number = key[0] if key else 1
        for pairs, part in zip(self._pairs, key[1:], strict=True):
            number = pairs.number_one(number << 32 | part, int(number > 0 and part > 0))
        if number >= len(self._ids):
            self._make_room()
        if number and self._ids[number] < 0:
            self._ids[number] = count = self.count
            self._order[count] = number
            self._count[0] = count + 1
        return int(self._ids[number])


def rows_by_code(codes: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the row indices sorted by code; codes are below `count`.

    This is one pass over the rows, in a twentieth of the time of `order_of` (2026-11-28).

    >>> rows_by_code(np.array([2, 0, 2, 0]), 3).tolist()
    [1, 3, 0, 2]
    """
    poll(8 * (len(codes) + count))
    sizes = np.bincount(codes, minlength=count)
    out: NDArray[np.int64] = allocate(len(codes), np.int64)
    _kernels().place_by_code(codes, np.cumsum(sizes) - sizes, out)
    return out


def _kernels() -> Any:
    from cerlab.predicates.columns import kernels

    return kernels


class _HashTable:
    """A hash table that numbers pairs of a kind and a word, from 1 in order of first occurrence."""

    def __init__(self) -> None:
        self._cells = np.zeros((_LEAST_CELLS, 2), np.int64)
        self._count = np.zeros(1, np.int64)
        self._words, self._kinds = np.zeros(0, np.int64), np.zeros(0, np.uint8)
        """Word and kind of each number, filled on demand."""
        self._inverted = 0
        """Largest number in these arrays."""

    @property
    def count(self) -> int:
        """The largest number assigned so far."""
        return int(self._count[0])

    def number(self, words: NDArray[np.int64], kinds: NDArray[np.uint8]) -> NDArray[np.uint32]:
        """Return the number of each pair of a kind and a word; 0 for kind 0."""
        out: NDArray[np.uint32] = allocate(words.size, np.uint32)
        done, before = 0, self.count
        with np.errstate(over="ignore"):  # products may overflow, which NumPy reports as a warning
            while True:
                done = _kernels().number_words(
                    words, kinds, self._cells, self._most, self._count, done, out
                )
                if done == words.size:
                    break
                self._grow()
        if before < self.count and 0 < before == self._inverted:
            new = np.flatnonzero(out > before)
            self._note(words[new], kinds[new], out[new])
        return out

    def _note(self, words: Any, kinds: Any, numbers: Any) -> None:
        """Store the words and kinds of new numbers."""
        if (least := self.count + 1) > len(self._words):
            poll(18 * least)
            more = 2 * least - len(self._words)
            self._words = np.concatenate((self._words, np.zeros(more, np.int64)))
            self._kinds = np.concatenate((self._kinds, np.zeros(more, np.uint8)))
        self._words[numbers], self._kinds[numbers] = words, kinds
        self._inverted = self.count

    def number_one(self, word: int, kind: int) -> int:
        """Return the number of one pair."""
        if kind == 0:
            return 0
        cells, mask = self._cells, len(self._cells) - 1
        at = _kernels().first_cell(word, mask)
        while (tag := cells.item(at, 1)) and (tag & 255 != kind or cells.item(at, 0) != word):
            at = at + 1 & mask
        return tag >> 8 or self._add(at, word, kind)

    def number_text(self, texts: _Texts, data: bytes) -> int:
        """Return the number of one text, as `number_texts` would."""
        word = hash_of_text(data)
        cells, mask = self._cells, len(self._cells) - 1
        at = _kernels().first_cell(word, mask)
        while tag := cells.item(at, 1):
            if cells.item(at, 0) == word and texts.text(tag >> 8) == data:
                return int(tag >> 8)
            at = at + 1 & mask
        texts.make_room(self.count, 1, len(data))
        number = self._add(at, word, TEXT)
        first = int(texts.ends[number - 1])
        texts.ends[number] = first + len(data)
        texts.bytes[first : first + len(data)] = np.frombuffer(data, np.uint8)
        return number

    def _add(self, at: int, word: int, kind: int) -> int:
        """Put a pair into an empty cell, and return its number."""
        number = self.count + 1
        self._cells[at] = word, number << 8 | kind
        self._count[0] = number
        if number >= self._most:
            self._grow()
        return number

    def number_texts(self, texts: _Texts, offsets: Any, data: Any) -> NDArray[np.uint32]:
        """Return the numbers of texts; `words` are their hashes, `texts` resolves collisions."""
        size, done = len(offsets) - 1, 0
        words, out = np.empty(size, np.int64), np.empty(size, np.uint32)
        texts.make_room(self.count, size, int(offsets[-1] - offsets[0]))
        with np.errstate(over="ignore"):
            _kernels().hash_texts(offsets, data, words)
            while True:
                done = _kernels().number_texts(
                    *(words, offsets, data, self._cells, self._most, TEXT, self._count),
                    *(texts.ends, texts.bytes, done, out),
                )
                if done == size:
                    return out
                self._grow()

    @property
    def _most(self) -> int:
        """The number of values at which the table grows, so that searches stay short."""
        return len(self._cells) * 5 // 8

    def _grow(self) -> None:
        size = 4 * len(self._cells)
        poll(16 * size)
        larger = np.zeros((size, 2), np.int64)
        _kernels().move_cells(self._cells, larger)
        self._cells = larger

    def words(self) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Return views of the word and the kind of each number; entry 0 is unused."""
        if self._inverted < self.count or not len(self._words):
            cells = self._cells[self._cells[:, 1] != 0]
            self._note(cells[:, 0], cells[:, 1] & 255, cells[:, 1] >> 8)
        return self._words[: self.count + 1], self._kinds[: self.count + 1]


class _Texts:
    """Texts in UTF-8, concatenated; text n ends at ``ends[n]``, and text 0 is empty."""

    def __init__(self) -> None:
        self.ends = np.zeros(1, np.int64)
        self.bytes = np.zeros(0, np.uint8)

    def make_room(self, count: int, texts: int, size: int) -> None:
        """Enlarge the arrays for `texts` texts with `size` bytes behind the first `count` texts."""
        if (least := count + texts + 1) > len(self.ends):
            poll(16 * least)
            more = np.zeros(2 * least - len(self.ends), np.int64)
            self.ends = np.concatenate((self.ends, more))
        if (least := int(self.ends[count]) + size) > len(self.bytes):
            poll(2 * least)
            more_bytes = np.zeros(2 * least - len(self.bytes), np.uint8)
            self.bytes = np.concatenate((self.bytes, more_bytes))

    def text(self, number: int) -> bytes:
        """Return the text with the given number."""
        first, end = self.ends[number - 1 : number + 1].tolist()
        return self.bytes[first:end].tobytes()

    def of(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Return the texts with the given numbers, as offsets and bytes."""
        starts, lengths = self.ends[numbers - 1], self.ends[numbers] - self.ends[numbers - 1]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        return offsets, self.bytes[places]


class _Values:
    """Numbers for the values of one attribute, consistent in all batches; 0 for NULL and NaN."""

    def __init__(self) -> None:
        self.table = _HashTable()
        self._text_table, self._texts = _HashTable(), _Texts()
        self._others: dict[Value, int] = {}
        """Words of values that do not fit 64 bits."""
        self._known: dict[tuple[str, Value], int] = {}
        """Numbers of single values."""
        self._last: tuple[Any, NDArray[np.uint32]] | None = None

    def of_column(self, column: Column, name: str) -> NDArray[np.uint32]:
        """Return the number of the value in each event of a column."""
        parts: list[Any] = []
        for piece in pieces(column, name, numeric=True):
            match piece:
                case Numbers():
                    parts.append(self.table.number(*_words(piece)))
                case DictionaryCodes(codes, dictionary):
                    parts.append(look_up(codes, self._of_dictionary(dictionary, name)))
                case ValueList(values):
                    parts.append(np.array([self.of_value(v) for v in values], np.uint32))
        numbers: NDArray[np.uint32] = concatenate(parts)
        return numbers.astype(np.uint32, copy=False)

    def _of_dictionary(self, dictionary: Any, name: str) -> NDArray[np.uint32]:
        """Return the numbers of a dictionary's values and of NULL, cached for the next batch."""
        # compare contents: slices and batches of a file have distinct objects for one dictionary
        if self._last is not None and self._last[0].equals(dictionary):
            return self._last[1]
        if is_text(dictionary.type):
            numbers = self._of_texts(*_utf8(dictionary))
            if dictionary.null_count:
                numbers[dictionary.is_null().to_numpy(zero_copy_only=False)] = 0
        else:
            parts = [*pieces(dictionary, name, numeric=True)]
            if all(isinstance(part, Numbers) for part in parts):
                numbers = self.of_column(dictionary, name)
            else:
                from cerlab.model.columns import values_of

                values = values_of(dictionary, name)
                numbers = np.array([self.of_value(v) for v in values], np.uint32)
        table = np.append(numbers, np.uint32(0))
        self._last = (dictionary, table)
        return table

    def _of_texts(self, offsets: Any, data: Any) -> NDArray[np.uint32]:
        words = self._text_table.number_texts(self._texts, offsets, data).astype(np.int64)
        return self.table.number(words, np.full(len(words), TEXT, np.uint8))

    def of_value(self, value: Value) -> int:
        """Return the number of a value."""
        # 1 and 1.0 are one key but TRUE is another, so the kind is part of the key
        kind = "number" if type(value) is int else kind_of(value)
        if kind is None:
            return 0
        if (number := self._known.get((kind, value))) is None:
            number = self._known[kind, value] = self._of_new_value(value)
        return number

    def _of_new_value(self, value: Value) -> int:
        if isinstance(value, str):
            data = value.encode("utf-8", "surrogatepass")
            if len(data) > LONG_TEXT:
                array = np.frombuffer(data, np.uint8)
                return int(self._of_texts(np.array([0, len(data)], np.int64), array)[0])
            number = self._text_table.number_text(self._texts, data)
            return self.table.number_one(number, TEXT)
        kind, word = _word(value)
        if kind == OTHER:
            word = self._others.setdefault(value, len(self._others))
        return self.table.number_one(word, kind)

    def by_number(self) -> list[Value]:
        """Return the values in order of their numbers."""
        words, kinds = self.table.words()
        others = list(self._others)
        data, ends = self._texts.bytes.tobytes(), self._texts.ends.tolist()

        def value(kind: int, word: int) -> Value:
            match kind:
                case 1:
                    return word
                case 2:
                    return word + 2**64
                case 3:
                    return float(_DOUBLE.unpack(_WORD.pack(word))[0])
                case 4:
                    return Timestamp(word)
                case 5:
                    return Duration(word)
                case 6:
                    text = data[ends[word - 1] : ends[word]]
                    return text.decode("utf-8", "surrogatepass")
                case 7:
                    return bool(word)
                case 8:
                    return others[word]
                case _:
                    return None

        return [value(*pair) for pair in zip(kinds.tolist(), words.tolist(), strict=True)]

    def only(self, numbers: NDArray[np.int64]) -> tuple[_Values, NDArray[np.uint32]]:
        """Return an object with only the values of these numbers, and their new numbers."""
        result = _Values()
        every, kind_of_each = self.table.words()
        words, kinds = every[numbers], kind_of_each[numbers]
        if (at := np.flatnonzero(kinds == TEXT)).size:
            offsets, data = self._texts.of(words[at])
            words[at] = result._text_table.number_texts(result._texts, offsets, data)
        others = list(self._others)
        for n in np.flatnonzero(kinds == OTHER).tolist():
            value = others[words[n]]
            words[n] = result._others.setdefault(value, len(result._others))
        return result, result.table.number(words, kinds)


def _word(value: Value) -> tuple[int, int]:
    """Return the kind and the word of a value that is not text, NULL or NaN."""
    if isinstance(value, bool):
        return BOOLEAN, int(value)
    if isinstance(value, Timestamp | Duration):
        fits = -(2**63) <= value.nanoseconds < 2**63
        kind = TIMESTAMP if isinstance(value, Timestamp) else DURATION
        return (kind, value.nanoseconds) if fits else (OTHER, 0)
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        value = int(value)
    if isinstance(value, int):
        if -(2**63) <= value < 2**63:
            return INTEGER, value
        if 0 < value < 2**64:
            return UNSIGNED, value - 2**64
        try:
            double = float(value)
        except OverflowError:
            return OTHER, 0
        if int(double) != value:
            return OTHER, 0
        value = double
    assert isinstance(value, float), "values of events have these types"
    return FLOAT, int(_WORD.unpack(_DOUBLE.pack(value))[0])


def _words(piece: Numbers) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the words and kinds of a column's values; kind 0 for NULL and NaN."""
    values, nulls, of_time = piece
    kind = INTEGER if of_time is None else TIMESTAMP if of_time is Timestamp else DURATION
    kinds = np.full(values.size, kind, np.uint8)
    if values.dtype == np.float64:
        words = np.empty(values.size, np.int64)
        _kernels().words_of_doubles(values, values.view(np.int64), words, kinds)
        values = words
    elif values.dtype == np.uint64:
        kinds[values >= np.uint64(2**63)] = UNSIGNED
        values = values.view(np.int64)
    if nulls is not None:
        kinds[nulls] = 0
    return np.ascontiguousarray(values), kinds


def hash_of_text(data: bytes) -> int:
    """Return the FNV-1a hash of a text, equal to that of `kernels.hash_texts`."""
    word = 14695981039346656037
    for byte in data:
        word = (word ^ byte) * 1099511628211 & 2**64 - 1
    return word - (word >> 63 << 64)


def _utf8(texts: Any) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the offsets and the bytes of an Arrow array of texts."""
    import pyarrow as pa

    whole = texts.cast(pa.large_string())
    _, offsets, data = whole.buffers()
    ends = np.frombuffer(offsets, np.int64)[whole.offset : whole.offset + len(whole) + 1]
    return ends, np.frombuffer(data, np.uint8) if data else np.zeros(0, np.uint8)
