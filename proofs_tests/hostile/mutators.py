"""Mutators: bytes, words of a text and parts of a JSON document, changed a little or a lot."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

NUMBERS = (
    *(0, 1, -1, 2, 7, 127, 255, 256, 65_535, 10**6, (1 << 31) - 1, 1 << 31, 1 << 32),
    *((1 << 62) - 1, 1 << 62, (1 << 63) - 1, 1 << 63, -(1 << 63), (1 << 64) - 1, 10**30),
)
"""Integers at the edges of what types hold."""

WORDS = (
    *("", " ", "\n", "\t", "\0", "\ufeff", "\u2028", "é", "\U0001d11e", "\ud800", "e\u0301"),
    *("'", '"', "`", "''", '"', "\\", "--", "/*", "*/", "(", ")", "[", "]", "{", "}", "<", ">"),
    *("0", "-1", "1e999", "-0.0", "1e-400", ".5", "5.", "nan", "inf", "NULL", "TRUE", "0x1F"),
    *("9" * 25, "9" * 5000, "a" * 300, "A", "B", "v", "x", "type", "stream", "t", "2026-03-29"),
    *(",", ";", ":", ":+", "+", "*", "?", "|", "&", "!", "=", "!=", "<=", "..", ".", "^", "->"),
)
"""Words that readers of texts may meet."""

KEYWORDS = [
    "SELECT",
    "ALL",
    "ANY",
    "STRICT",
    "NEXT",
    "NXT",
    "LAST",
    "MAX",
    "NONE",
    "FROM",
    "WHERE",
    "PARTITION",
    "BY",
    "WITHIN",
    "EVENTS",
    "HOURS",
    "MINUTES",
    "SECONDS",
    "CONSUME",
    "LIMIT",
    "FILTER",
    "AS",
    "OR",
    "AND",
    "UNLESS",
    "NOT",
    "PROJECT",
    "RENAME",
    "LIKE",
    "IN",
    "RANGE",
    "CREATE",
    "STREAM",
    "EVENT",
    "EPS",
    "EMPTY",
    "#",
    "@",
    "len",
    "within",
    "MATCH_RECOGNIZE",
    "ORDER",
    "MEASURES",
    "DEFINE",
    "PATTERN",
    "SUBSET",
    "AFTER",
    "MATCH",
    "SKIP",
    "TO",
    "PERMUTE",
    "FIRST",
    "PREV",
    "FINAL",
    "RUNNING",
    "SUM",
    "COUNT",
    "CLASSIFIER",
    "MATCH_NUMBER",
    "ONE",
    "ROW",
    "PER",
    "ALL",
    "ROWS",
    "{-",
    "-}",
    "{2,3}",
    "++",
    "*?",
    "??",
    "CASE",
    "WHEN",
    "THEN",
    "END",
    "CAST",
    "BETWEEN",
]

WRONG: tuple[Any, ...] = (
    *(None, True, False, "", "x", "\ud800", [], {}, [[]], [None], {"a": {}}, 1.5, float("nan")),
    *(float("inf"), [[0, 1]], {"type": "A"}, *NUMBERS),
)
"""Wrong values for any field of a document."""


def mutated_bytes(rng: Random, data: bytes) -> bytes:
    """Bytes with one to four changes: of bits, bytes, integers, and of stretches."""
    copy = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        rng.choice(_BYTES)(rng, copy)
    return bytes(copy)


def _bit(rng: Random, data: bytearray) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _byte(rng: Random, data: bytearray) -> None:
    if data:
        data[rng.randrange(len(data))] = rng.choice((0, 1, 10, 13, 34, 44, 127, 128, 195, 254, 255))


def _integer(rng: Random, data: bytearray) -> None:
    size = rng.choice((1, 2, 4, 8))
    if len(data) >= size:
        at = rng.randrange(len(data) - size + 1)
        at -= at % size if rng.random() < 0.7 else 0
        number = rng.choice(NUMBERS) % (1 << 8 * size)
        data[at : at + size] = number.to_bytes(size, "little")


def _stretch(rng: Random, data: bytearray) -> None:
    a, b = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    b = min(b, a + rng.choice((1, 4, 64, 1 << 20)))
    c = rng.randrange(len(data) + 1)
    rng.choice(
        (
            lambda: data.__delitem__(slice(a, b)),
            lambda: data.__setitem__(slice(c, c), data[a:b] * rng.choice((1, 2, 50))),
            lambda: data.__setitem__(slice(a, b), bytes(b - a)),
            lambda: data.__setitem__(slice(c, c), rng.randbytes(rng.randrange(9))),
            lambda: data.__delitem__(slice(c, None)),
        )
    )()


_BYTES: Sequence[Callable[[Random, bytearray], None]] = (_bit, _byte, _integer, _stretch)


def mutated_text(rng: Random, text: str) -> str:
    """A text with up to four words changed, or as bytes that are a text again."""
    if rng.random() < 0.1:
        return mutated_bytes(rng, text.encode("utf-8", "replace")).decode("utf-8", "replace")
    words = re.findall(r"\w+|\s+|[^\w\s]", text) or [""]
    for _ in range(rng.choice((0, 1, 1, 1, 2, 4))):
        a = rng.randrange(len(words) + 1)
        b = min(len(words), a + rng.choice((1, 1, 3, 9, 99)))
        part, other = words[a:b], rng.choice((*WORDS, *KEYWORDS, str(rng.choice(NUMBERS))))
        match rng.randrange(8):
            case 0:
                words[a : a + 1] = []
            case 1:
                words[a:b] = []
            case 2:
                words[a:a] = [" ", other, " "]
            case 3:
                words[a : a + 1] = [other]
            case 4:
                words[b:b] = part * rng.choice((1, 1, 3, 20))
            case 5:
                depth = rng.choice((1, 2, 30, 400))
                words[a:b] = ["(" * depth, *part, ")" * (depth if rng.random() < 0.8 else 1)]
            case 6:
                words[a:b] = reversed(part)
            case _:
                words[a : a + 1] = [rng.choice(words)] if words else []
        words = words or [""]
    return "".join(words)


def mutated_value(rng: Random, value: Any) -> Any:
    """A JSON document with one to four parts replaced, taken out, doubled or exchanged."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        value = _mutate(rng, value)
    return value


def _mutate(rng: Random, value: Any) -> Any:
    below = list(value.items()) if isinstance(value, dict) else []
    below = list(enumerate(value)) if isinstance(value, list) else below
    if below and rng.random() < 0.85:
        key, inner = rng.choice(below)
        result = value.copy()
        result[key] = _mutate(rng, inner)
        return result
    if isinstance(value, dict) and value and rng.random() < 0.5:
        removal = rng.choice(list(value))
        return {key: inner for key, inner in value.items() if key != removal}
    if isinstance(value, list) and value and rng.random() < 0.6:
        result, at = value.copy(), rng.randrange(len(value))
        rng.choice((lambda: result.pop(at), result.reverse, lambda: result.append(value[at])))()
        return result
    if isinstance(value, int) and rng.random() < 0.5:
        return value + rng.choice((-1, 1, 2))
    if isinstance(value, str) and rng.random() < 0.5:
        return mutated_text(rng, value)
    return rng.choice(WRONG)
