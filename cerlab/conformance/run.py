"""The suite run on an engine: the choice of cases, and their marks.

An engine reads a request from each line of its standard input, an object with ``query``,
``events``, ``language``, ``options``, ``reply`` and perhaps a ``question``. It answers with one
line: an object whose key is the kind that ``reply`` names, ``{"answers": [..]}``, ``{"rows":
{..}}``, or ``{"refused": "why"}``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from cerlab.conformance import Case
from cerlab.conformance.judge import difference
from cerlab.conformance.replies import Reply, reply_of
from cerlab.fuzz.engines import Failure, OtherProcess
from cerlab.testing.features import FEATURES as OF_QUERIES
from cerlab.testing.features import GROUPS

ON_DEMAND = ("count", "warnings", "verdict", "why")
"""Kinds of replies that only engines that declare them are asked for.

Counts are among them because an engine that lists 2^40 answers reaches its time limit.
"""

FEATURES = (*OF_QUERIES, *GROUPS, "moments", *ON_DEMAND)
"""Features that an engine may lack: of queries, times in events, and kinds of replies."""

REPLIES = {
    "cel": "answers",
    "ceql": "answers",
    "fo-cel": "matches",
    "sremo": "matches",
    "rows": "rows",
    "gcq": "tuples",
    "flinkcep": "groups",
}
"""Kind of reply, by language, that a request for an invalid query names."""

LANGUAGES = tuple(REPLIES)


class Mark(Enum):
    """The result of a case; the value is its name in reports."""

    PASSED = "passed"
    WRONG = "wrong"
    REFUSED = "refused"
    UNASKED = "not asked"


@dataclass(frozen=True, slots=True)
class Judged:
    """A case with its mark; `how` is the difference, or the reason of a refusal."""

    case: Case
    mark: Mark
    how: str = ""
    reply: Reply | None = None


def judge_cerlab(cases: Iterable[Case]) -> Iterator[Judged]:
    """Judge cerlab itself; an error must have the expected code."""
    for case in cases:
        reply = reply_of(case)
        how = difference(case, reply, codes=True)
        yield Judged(case, Mark.WRONG if how else Mark.PASSED, how, reply)


def judge_engine(
    cases: Sequence[Case], child: OtherProcess, takes: frozenset[str], languages: frozenset[str]
) -> Iterator[Judged]:
    """Judge an engine in another process on the cases whose features it supports (`takes`).

    A refusal of an invalid query counts only if the engine answers other queries of the language.
    """
    judged = [_judged(_in_a_language(case, languages), child, takes, languages) for case in cases]
    answers = {
        each.case.language
        for each in judged
        if each.case.kind != "error" and each.mark in (Mark.PASSED, Mark.WRONG)
    }
    for each in judged:
        is_refusal = each.case.kind == "error" and each.mark is Mark.PASSED
        if is_refusal and each.case.language not in answers:
            yield replace(each, mark=Mark.REFUSED)
        else:
            yield each


def _in_a_language(case: Case, languages: frozenset[str]) -> Case:
    """Return the case; for an engine that reads only queries, a formula becomes a query."""
    if case.language == "cel" and "cel" not in languages and "ceql" in languages:
        other = {
            name: f"SELECT * WHERE {text}" if name in ("contained", "equivalent") else text
            for name, text in case.question.items()
        }
        query = f"SELECT * WHERE {case.query}"
        return replace(case, language="ceql", query=query, question=other)
    return case


def _judged(
    case: Case, child: OtherProcess, takes: frozenset[str], languages: frozenset[str]
) -> Judged:
    needs = {*case.needs, *_on_demand(case)}
    is_plain = not case.options and not case.question and case.language in ("cel", "ceql")
    if not needs <= takes or case.language not in languages or not (is_plain or child.is_told_all):
        return Judged(case, Mark.UNASKED)
    reply = child.request(request_of(case))
    if isinstance(reply, Failure):
        return Judged(case, Mark.WRONG, reply.how)
    if "refused" in reply and case.kind != "error":
        return Judged(case, Mark.REFUSED, str(reply["refused"]), reply)
    how = difference(case, reply)
    return Judged(case, Mark.WRONG if how else Mark.PASSED, how, reply)


def _on_demand(case: Case) -> frozenset[str]:
    """Return the kinds of `ON_DEMAND` that a case asks for, even if it expects an error."""
    asked = "why" if "why" in case.question else "verdict" if case.question else case.kind
    return frozenset((asked,)).intersection(ON_DEMAND)


def request_of(case: Case) -> dict[str, Any]:
    """Return the request for a case, as JSON."""
    request: dict[str, Any] = {
        "query": case.query,
        "events": list(case.events),
        "language": case.language,
        "options": dict(case.options),
        "reply": REPLIES[case.language] if case.kind == "error" else case.kind,
    }
    if case.question:
        request["question"] = dict(case.question)
    return request
