"""The shape of a line of text: what stands between its cells, which other lines may share."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass

from cerlab.io import core_text

WORD, TEXT, CORE, CSV, JSON, CORE_TEXT = range(6)
"""Rules of cells: a word, text as it stands (in CSV), values as the three formats write them, and
what is text, or NULL, in CORE's."""

MAX_SHAPES = 16
"""So many shapes of lines are known at once; lines of others are read one by one."""

_PAIR_OF_JSON = re.compile(
    r'[ \t]*"([^"\\\x00-\x1f]*)"[ \t]*:[ \t]*("[^"\\\x00-\x1f]*"|[\w.+-]+)[ \t]*(,|\}[ \t]*$)'
)


@dataclass(frozen=True, slots=True)
class Shape:
    """``literals[0] cell literals[1] cell ..``: cell k is of the column `names[k]`, read by a rule.

    There is one literal more than cells; ``type`` and ``stream`` are names as others.
    """

    names: tuple[str, ...]
    rules: tuple[int, ...]
    literals: tuple[str, ...]


def of_core(line: str, texts: Container[str] = ()) -> Shape | None:
    """The shape of a line of CORE's text form; None if it is not of the plain form.

    Cells of the names in `texts` are text, whatever they look like; so in `of_csv`.
    """
    match = core_text.LINE.fullmatch(line)
    if match is None or "\r" in line:
        return None
    spans = [match.span(group) for group in (1, 2) if match.group(group) is not None]
    names = ["stream", "type"][-len(spans) :]
    rules = [WORD] * len(spans)
    at, end = match.span(3)
    more = bool(line[at:end].strip())
    while more:
        pair = core_text.PAIR.match(line, at, end)
        if pair is None or pair.group(1) in ("type", "stream") or pair.group(1)[0] == "`":
            return None
        names.append(pair.group(1))
        rules.append(CORE_TEXT if names[-1] in texts else CORE)
        spans.append(pair.span(2))
        at, more = pair.end(), pair.group(3) == ","
    return _shape(line, names, rules, spans)


def of_json(line: str) -> Shape | None:
    """The shape of an object of plain keys and values; None if it is another line."""
    at = len(line) - len(line.lstrip(" \t")) + 1
    if line[at - 1 : at] != "{":
        return None
    names, spans = [], []
    while at < len(line):
        pair = _PAIR_OF_JSON.match(line, at)
        if pair is None:
            return None
        names.append(pair.group(1))
        spans.append(pair.span(2))
        at = pair.end()
    return _shape(line, names, [JSON] * len(names), spans)


def of_csv(header: Sequence[str], texts: Container[str] = ()) -> Shape:
    """The shape of the rows under a header."""
    rules = tuple(TEXT if name in ("type", "stream") or name in texts else CSV for name in header)
    return Shape(tuple(header), rules, ("", *[","] * (len(header) - 1), ""))


def _shape(
    line: str, names: list[str], rules: list[int], spans: list[tuple[int, int]]
) -> Shape | None:
    """The shape with these cells; None where two have one name, and for cells without an end."""
    begins = [0, *(end for _, end in spans)]
    ends = [*(start for start, _ in spans), len(line)]
    literals = tuple(line[begin:end] for begin, end in zip(begins, ends, strict=True))
    if not names or len(set(names)) < len(names) or not all(literals[1:]):
        return None
    return Shape(tuple(names), tuple(rules), literals)
