"""The conformance suite: cases as text, for every engine of complex event recognition.

Reading order: `README.md` (the format of a case), `values` (values of events as JSON), here the
cases, `replies` (how cerlab answers one), `judge` (how a reply differs from what is expected), and
`run` (the suite on another engine).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from cerlab.conformance.values import decode, decode_row
from cerlab.model.answer import ComplexEvent, Valuation, complex_event, in_order
from cerlab.model.stream import Stream

__all__ = [
    "AXIS",
    "FOLDER",
    "KINDS",
    "Case",
    "Group",
    "case_of",
    "cases",
    "digest",
    "groups",
    "judge",
    "replies",
    "run",
]

FOLDER = Path(__file__).parent / "cases"
"""Folder of the cases, one file for each group of clauses."""

VERSION = "0.3"
"""Version of the suite; `CHANGES.md` has an entry for each version."""

KINDS = (
    *("answers", "valuations", "matches", "rows", "tuples", "groups", "count"),
    *("error", "warnings", "verdict", "why"),
)
"""Kinds of expectations; `README.md` describes their values."""

AXIS = ("time", "unit", "type")
"""Options that determine how events are read."""


@dataclass(frozen=True, slots=True)
class Case:
    """A query, events, and the reply of a correct engine.

    `kind` is the kind of expectation, and `expected` its value as JSON. `question` asks about
    queries or about one answer; it is empty if answers are asked for. `needs` are the features of
    the query that an engine may lack. With `in_order`, answers must come in the order of their
    ends.
    """

    id: str
    language: str
    query: str
    events: tuple[Mapping[str, Any], ...]
    options: Mapping[str, Any]
    question: Mapping[str, Any]
    needs: tuple[str, ...]
    kind: str
    expected: Any
    in_order: bool = False

    @property
    def answers(self) -> tuple[ComplexEvent, ...]:
        """The expected answers, each once, in order of (end, start, positions)."""
        found = map(_answer, self.expected)
        return tuple(in_order({complex_event(V) if isinstance(V, Valuation) else V for V in found}))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The events, with their values decoded."""
        return [decode_row(event) for event in self.events]

    @property
    def stream(self) -> Stream:
        """The events as a stream, with the time of the options, up to `until`."""
        axis = {name: self.options[name] for name in AXIS if name in self.options}
        return Stream.from_events(self.rows, **axis).up_to(decode(self.options.get("until")))


@dataclass(frozen=True, slots=True)
class Group:
    """The cases of one clause; `sources` are the places that define it."""

    name: str
    clause: str
    sources: tuple[str, ...]
    cases: tuple[Case, ...]


@cache
def groups() -> tuple[Group, ...]:
    """Return the groups of the suite, by name."""
    return tuple(_group(path) for path in sorted(FOLDER.glob("*.json")))


def cases(*names: str) -> Iterator[Case]:
    """Yield the cases of the named groups, or all cases if no group is named.

    Args:
        names: Names of `groups`.

    >>> next(cases("and")).query.count("AND") > 0
    True
    """
    for group in groups():
        if not names or group.name in names:
            yield from group.cases


def case_of(id: str) -> Case:
    """Return the case with an id.

    Args:
        id: The id of a case: its group, a slash and its name.

    Raises:
        ValueError: No case has this id.
    """
    (found,) = (case for case in cases(id.partition("/")[0]) if case.id == id)
    return found


def _group(path: Path) -> Group:
    text = json.loads(path.read_text(encoding="utf-8"))
    found = tuple(_case(each, text["language"]) for each in text["cases"])
    return Group(path.stem, text["clause"], tuple(text["sources"]), found)


def _case(text: Mapping[str, Any], language: str) -> Case:
    (kind,) = text.keys() & set(KINDS)
    return Case(
        text["id"],
        text.get("language", language),
        text["query"],
        tuple(text.get("events", ())),
        text.get("options", {}),
        text.get("question", {}),
        tuple(text.get("needs", ())),
        kind,
        text[kind],
        text.get("order") == "by end",
    )


def _answer(text: Mapping[str, Any]) -> ComplexEvent | Valuation:
    if "labels" in text:
        labels = {name: tuple(positions) for name, positions in text["labels"].items()}
        return Valuation(text["start"], text["end"], labels)
    return ComplexEvent(text["start"], text["end"], tuple(text["positions"]))


def digest() -> str:
    """Return a digest of all cases, which `CHANGES.md` names: no case changes without an entry."""
    files = (path.read_bytes() for path in sorted(FOLDER.glob("*.json")))
    return sha256(b"".join(files)).hexdigest()[:16]
