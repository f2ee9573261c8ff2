"""The comparison of a reply with the expectation of a case."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from cerlab.conformance import Case
from cerlab.conformance.values import decode
from cerlab.errors import CerlabError

SETS = ("answers", "valuations", "matches", "tuples", "groups")
"""Kinds whose expectation is a set, where each element occurs once."""


def difference(case: Case, reply: Mapping[str, Any], *, codes: bool = False) -> str:
    """Return how a reply differs from the expectation of a case; empty if it does not.

    An element of a set that is listed twice is a difference; the order of its elements is ignored.
    Valuations may be answered by complex events; then labels are not compared. Answers may omit
    intervals; then positions are compared. A count may be answered by the answers. With `codes`, an
    error must have the expected code; otherwise any refusal is right.

    >>> from cerlab.conformance import cases
    >>> case = next(cases("unless"))
    >>> difference(case, {"answers": [{"start": 0, "end": 2, "positions": [0, 2]}]})
    ''
    >>> difference(case, {"answers": []})
    'missing: {"start": 0, "end": 2, "positions": [0, 2]}'
    """
    if case.kind == "error":
        return _error(case.expected, reply, codes)
    if "refused" in reply:
        return f"refused: {reply['refused']}"
    kind, expected = case.kind, case.expected
    if kind not in reply and "answers" in reply:
        if kind == "count":
            reply = {"count": len(reply["answers"])}
        elif kind == "valuations":
            kind, expected = "answers", _complex_events(expected)
    if kind not in reply:
        return f"no {kind}: {json.dumps(reply)}"
    try:
        if kind in SETS:
            return _set(case, expected, reply[kind])
        if kind == "rows":
            return _rows(expected, reply[kind])
    except (TypeError, KeyError, AttributeError, CerlabError):
        return f"not {kind}: {json.dumps(reply[kind])}"
    if isinstance(expected, dict):
        is_right = isinstance(reply[kind], dict) and expected.items() <= reply[kind].items()
    else:
        is_right = expected == reply[kind]
    return "" if is_right else f"{kind}: {json.dumps(reply[kind])}, not {json.dumps(expected)}"


def _error(expected: Mapping[str, Any], reply: Mapping[str, Any], codes: bool) -> str:
    if "refused" not in reply:
        return f"not refused, but {json.dumps(reply)}"
    is_right = all(reply.get(key) == expected[key] for key in ("kind", "code"))
    if codes and not (is_right and _is_place(expected.get("at"), reply.get("at"))):
        return f"refused otherwise: {json.dumps(reply)}"
    return ""


def _is_place(expected: str | int | None, got: Any) -> bool:
    """Return whether a place is the expected row, or a text that begins as expected."""
    if isinstance(expected, str):
        return isinstance(got, str) and got.startswith(expected)
    return expected in (None, got)


def _complex_events(valuations: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the complex events of valuations, each once."""
    found = {
        (V["start"], V["end"], tuple(sorted({p for each in V["labels"].values() for p in each})))
        for V in valuations
    }
    return [{"start": i, "end": j, "positions": list(at)} for i, j, at in sorted(found)]


def _set(case: Case, expected: Sequence[Any], got: Sequence[Any]) -> str:
    by_positions = any(isinstance(each, dict) and "positions" in each for each in got) and not all(
        "start" in each and "end" in each for each in got
    )
    if by_positions:
        expected, got = ([each["positions"] for each in one] for one in (expected, got))
    keys = [*map(_key, expected)]
    wanted = dict(zip(keys, expected, strict=True))
    # without intervals, answers with equal positions share a key: each may be listed once
    most, counts = Counter(keys), Counter(map(_key, got))
    for key, each in wanted.items():
        if key not in counts:
            return f"missing: {json.dumps(each)}"
    for each in got:
        if _key(each) not in wanted:
            return f"wrong: {json.dumps(each)}"
        if counts[_key(each)] > most[_key(each)]:
            return f"more than once: {json.dumps(each)}"
    if case.in_order and not by_positions and any(a["end"] > b["end"] for a, b in pairwise(got)):
        return "not in order of ends"
    return ""


def _rows(expected: Mapping[str, Any], got: Mapping[str, Any]) -> str:
    if "columns" in expected and expected["columns"] != got["columns"]:
        return f"columns: {got['columns']}, not {expected['columns']}"
    for i, (one, other) in enumerate(zip(expected["values"], got["values"], strict=False)):
        if _key(one) != _key(other):
            return f"row {i}: {json.dumps(other)}, not {json.dumps(one)}"
    if len(expected["values"]) != len(got["values"]):
        return f"{len(got['values'])} rows, not {len(expected['values'])}"
    return ""


def _key(json: Any) -> Any:
    """Return a key that equal values share: 1 is 1.0, TRUE is not 1, and NaN is NaN."""
    match json:
        case {"start": start, "end": end, "positions": positions}:
            return start, end, tuple(positions)
        case {"start": start, "end": end, "labels": labels}:
            return start, end, _key(labels)
        case {"int": _} | {"double": _} | {"moment": _} | {"duration": _}:
            return _key(decode(json))
        case dict():
            # an event type or variable without positions is equivalent to an absent one
            return frozenset((name, _key(value)) for name, value in json.items() if value != [])
        case list() | tuple():
            return tuple(map(_key, json))
        case bool():
            return "TRUE" if json else "FALSE", bool
        case float() if json != json:
            return "NaN", float
    return json
