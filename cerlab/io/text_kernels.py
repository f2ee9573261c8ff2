"""Texts that are bytes from one place to another: numbered, and laid end to end."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import Bytes, Int32s, inline, kernel


class TextDictionary(NamedTuple):
    """The different texts of a column so far, and room for more."""

    slots: Int32s  # a hash table of their numbers full of -1; a power of two, more than `head`
    head: NDArray[np.uint64]  # the first eight bytes of each
    length: NDArray[np.uint64]
    ends: Int32s  # (as many and one,), where each begins in `text`, and where the next one will
    text: Bytes


@kernel
def number_texts(
    data: Bytes, start: Int32s, stop: Int32s, table: TextDictionary, count: int, number: Int32s
) -> int:
    """Number the texts of some cells, equal ones alike, as they appear; how many numbers there are.

    `count` texts are in `table` before. 0 for NULL, which stops at -1; -1 if there are more than
    `table` has room for, or one is not within `data`.
    """
    slots, heads, lengths, ends = table.slots, table.head, table.length, table.ends
    mask, one = np.uint64(slots.shape[0] - 1), np.uint64(1)
    for i in range(start.shape[0]):
        low, high = np.int64(start[i]), np.int64(stop[i])
        if high == -1:
            number[i] = 0
            continue
        if low < 0 or high < low or high > data.shape[0]:
            return -1
        length, head = np.uint64(high - low), _word(data, low, high)
        sign, at = _mix(length, head), low + 8
        while at < high:
            sign = _mix(sign, _word(data, at, high))
            at += 8
        slot = (sign ^ (sign >> np.uint64(24))) & mask
        entry = slots[slot]
        while entry >= 0:
            n = np.uintp(entry)
            alike = heads[n] == head and lengths[n] == length
            if alike and (high - low <= 8 or _same_rest(data, low, high, table.text, ends[n])):
                break
            slot = (slot + one) & mask
            entry = slots[slot]
        if entry < 0:
            if count == heads.shape[0] or high - low > table.text.shape[0] - ends[count]:
                return -1
            entry = np.int32(count)
            slots[slot], heads[count], lengths[count] = count, head, length
            for k in range(high - low):
                table.text[ends[count] + k] = data[low + k]
            ends[count + 1] = ends[count] + high - low
            count += 1
        number[i] = entry
    return count


@inline
def _mix(sign: np.uint64, word: np.uint64) -> np.uint64:
    bits = (sign ^ word ^ (word >> np.uint64(32))) & np.uint64(0x7FFFFFFF)
    return bits * np.uint64(0x5BD1E995)


@inline
def _same_rest(
    data: Bytes, start: np.int64, stop: np.int64, other_data: Bytes, other: np.int64
) -> bool:
    """Whether two texts that are as long are the same after their first eight bytes."""
    for at in range(8, stop - start, 8):
        word = _word(other_data, other + at, other + stop - start)
        if _word(data, start + at, stop) != word:
            return False
    return True


@inline
def _word(data: Bytes, at: np.int64, stop: np.int64) -> np.uint64:
    """The next eight bytes of a text that ends at `stop`, zeros after it: one load as a rule."""
    word, n, left = np.uint64(0), np.uintp(at), stop - at
    if at + 8 > data.shape[0]:
        for k in range(left):
            word |= np.uint64(data[n + np.uintp(k)]) << np.uint64(8 * k)
        return word
    for k in range(8):
        word |= np.uint64(data[n + np.uintp(k)]) << np.uint64(8 * k)
    if left < 8:
        word &= (np.uint64(1) << np.uint64(8 * left)) - np.uint64(1)
    return word


@kernel
def texts_in_views(views: NDArray[np.uint64], start: Int32s, stop: Int32s) -> bool:
    """Where the texts of some views are among the bytes of these; False if one is not in its view.

    A view is the length of its text in four bytes and, up to twelve of them, its bytes, then zeros.
    """
    eight, low = np.uint64(8), np.uint64(0xFFFFFFFF)
    for i in range(start.shape[0]):
        head, rest = views[2 * i], views[2 * i + 1]
        length = head & low
        if length > np.uint64(12):
            return False
        head >>= np.uint64(32)
        if length < np.uint64(4):
            rest |= head >> eight * length
        elif length < np.uint64(12):
            rest >>= eight * (length - np.uint64(4))
        else:
            rest = np.uint64(0)
        if rest != np.uint64(0):
            return False
        start[i] = 16 * i + 4
        stop[i] = start[i] + np.int64(length)
    return True


@kernel
def text_ends(start: Int32s, stop: Int32s, offsets: Int32s) -> None:
    """Where the texts of some cells end when one follows the other: (cells + 1,)."""
    offsets[0] = 0
    for i in range(start.shape[0]):
        offsets[i + 1] = offsets[i] + max(0, stop[i] - start[i])


@kernel
def texts(data: Bytes, start: Int32s, stop: Int32s, out: Bytes) -> None:
    """The texts of some cells one after the other."""
    at = 0
    for i in range(start.shape[0]):
        for k in range(start[i], stop[i]):
            out[at] = data[k]
            at += 1
