"""The conformance suite: cases as text, for every engine of complex event recognition.

Reading order: `README.md` (the format of a case), `values` (values of events as JSON), and here the
cases, how cerlab answers one, and the judge.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

from cerlab.api import evaluate, valuations
from cerlab.conformance.values import decode_row
from cerlab.evaluate import EvaluatorName
from cerlab.model.answer import ComplexEvent, Valuation, complex_event, in_order
from cerlab.model.stream import Stream

__all__ = ["Case", "Group", "answer_of", "cases", "difference", "digest", "groups"]

FOLDER = Path(__file__).parent / "cases"
"""One file for each group of clauses."""

VERSION = "0.1"
"""The version of the suite. `CHANGES.md` has an entry for each version."""


@dataclass(frozen=True, slots=True)
class Case:
    """A query, events, and what a right engine answers.

    `kind` names the expectation: ``"answers"`` are complex events, ``"valuations"`` have labels.
    `in_order` says that answers come in order of their ends.
    """

    id: str
    language: str
    query: str
    events: tuple[Mapping[str, Any], ...]
    options: Mapping[str, Any]
    kind: str
    expected: tuple[Any, ...]
    in_order: bool = False

    @property
    def answers(self) -> tuple[ComplexEvent, ...]:
        """The expected answers, each once, in order of (end, start, positions)."""
        found = {complex_event(V) if isinstance(V, Valuation) else V for V in self.expected}
        return tuple(in_order(found))

    @property
    def stream(self) -> Stream:
        """The events, with the time of the options."""
        options = {name: self.options[name] for name in ("time", "unit") if name in self.options}
        return Stream.from_events([dict(event) for event in self.events], **options)


@dataclass(frozen=True, slots=True)
class Group:
    """The cases of one clause.

    `sources` are the places that define the clause; `needs` are the features that an engine may
    lack, which then is not asked these cases.
    """

    name: str
    clause: str
    sources: tuple[str, ...]
    needs: tuple[str, ...]
    cases: tuple[Case, ...]


@cache
def groups() -> tuple[Group, ...]:
    """Return the groups of the suite, by name."""
    return tuple(_group(path) for path in sorted(FOLDER.glob("*.json")))


def cases(*names: str) -> Iterator[Case]:
    """Yield the cases of the named groups, of all without a name."""
    for group in groups():
        if not names or group.name in names:
            yield from group.cases


def _group(path: Path) -> Group:
    text = json.loads(path.read_text(encoding="utf-8"))
    found = tuple(_case(each, text["language"]) for each in text["cases"])
    return Group(path.stem, text["clause"], tuple(text["sources"]), tuple(text["needs"]), found)


def _case(text: Mapping[str, Any], language: str) -> Case:
    (kind,) = text.keys() & {"answers", "valuations"}
    return Case(
        text["id"],
        text.get("language", language),
        text["query"],
        tuple(decode_row(event) for event in text["events"]),
        text.get("options", {}),
        kind,
        tuple(_answer(each) for each in text[kind]),
        text.get("order") == "by end",
    )


def _answer(text: Mapping[str, Any]) -> ComplexEvent | Valuation:
    if "labels" in text:
        labels = {name: tuple(positions) for name, positions in text["labels"].items()}
        return Valuation(text["start"], text["end"], labels)
    return ComplexEvent(text["start"], text["end"], tuple(text["positions"]))


def answer_of(case: Case, evaluator: EvaluatorName = "auto") -> list[Any]:
    """Return what cerlab answers; only the reference gives valuations.

    Raises as `cerlab.evaluate`.
    """
    if case.kind == "valuations" and evaluator == "reference":
        return list(valuations(case.query, case.stream))
    return evaluate(case.query, case.stream, evaluator=evaluator)


def difference(case: Case, got: Sequence[ComplexEvent | Valuation]) -> str:
    """Return how an engine's answer differs from the expectation; empty if it does not.

    Complex events may be given where valuations are expected: then the labels are not compared.

    >>> case = next(cases("unless"))
    >>> difference(case, case.answers), difference(case, [])
    ('', 'missing: ComplexEvent(start=0, end=2, positions=(0, 2))')
    """
    labelled = any(isinstance(each, Valuation) for each in got)
    expected = case.expected if labelled else case.answers
    counts = Counter[object](got)
    for each in expected:
        if each not in counts:
            return f"missing: {each}"
    for other, count in counts.items():
        if other not in expected:
            return f"wrong: {other}"
        if count > 1:
            return f"more than once: {other}"
    if case.in_order and any(one.end > other.end for one, other in pairwise(got)):
        return "not in order of ends"
    return ""


def digest() -> str:
    """Return a digest of all cases, which `CHANGES.md` names: no case changes without an entry."""
    files = (path.read_bytes() for path in sorted(FOLDER.glob("*.json")))
    return sha256(b"".join(files)).hexdigest()[:16]
