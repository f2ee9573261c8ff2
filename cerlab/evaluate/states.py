"""The state of runs as bytes: no code runs when they are read.

A line with the SHA-256 of the rest, then a JSON object: ``format``, ``version``, ``plan`` (the
digest of the plan), ``time`` (attribute and unit), what the session says of itself, and ``body``:
lists of values of events (`cerlab.model.documents`) and, of the same kind, ``{"hex": "ff"}`` for an
integer of any size, ``{"base64": ".."}``, ``{"ratio": [..]}`` and ``{"greatest": ..}``. A state
that was damaged is refused; the digest is no signature, and a state from somebody else decides
which rows come.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from fractions import Fraction
from typing import Any

from cerlab.automata.plan import plan_digest
from cerlab.compile.pattern import AnyPattern, Pattern
from cerlab.engine.reference.totals import Greatest
from cerlab.engine.state import axis_from_json, axis_to_json
from cerlab.engine.state_checks import bad_state, expect
from cerlab.errors import BadData, CerlabError
from cerlab.logic.sremo.parser import sremo_text
from cerlab.model.documents import value_from_json, value_to_json
from cerlab.model.stream import TimeAxis

VERSION = 2
"""The version of bodies: 2 has the kinds of events that a run over compared labels has read."""


UNREADABLE = (
    *(ValueError, TypeError, KeyError, IndexError, AttributeError),
    *(RecursionError, ArithmeticError),
)
"""Exceptions that a damaged body may raise."""


def state_to_bytes(kind: str, plan: str, time: TimeAxis | None, body: Any, **about: str) -> bytes:
    """The bytes of a session of a kind; `body` is nested tuples and lists of values and bytes."""
    header = {"format": f"cerlab-{kind}", "version": VERSION, "plan": plan}
    document = {**header, "time": axis_to_json(time), **about, "body": _to_json(body)}
    text = json.dumps(document).encode()
    return _digest(text) + b"\n" + text


def state_from_bytes(
    kind: str, plan: str, state: bytes, **about: str
) -> tuple[TimeAxis | None, Any]:
    """The time axis and the body, whose lists are tuples.

    Raises `BadData` for bytes that are no such state, of another version, or of another query.
    """
    try:
        digest, _, text = bytes(state).partition(b"\n")
        document = json.loads(text)
        has_format = isinstance(document, dict) and document.get("format") == f"cerlab-{kind}"
        expect(has_format, "another format")
        if document["version"] != VERSION:
            raise BadData(
                "CER0772",
                f"a state of version {document['version']!r}, this session reads {VERSION}",
                hint="start again from the events",
            )
        expect(digest == _digest(text), "its digest is another one")
        if {"plan": plan, **about}.items() - _texts(document).items():
            raise BadData(
                "CER0773",
                "this state is of another query",
                hint="open the query that it was taken from",
            )
        return axis_from_json(document["time"]), _from_json(document["body"])
    except BadData:
        raise
    except (*UNREADABLE, CerlabError) as error:
        raise bad_state(str(error)) from None


def _texts(document: dict[str, Any]) -> dict[str, str]:
    return {name: text for name, text in document.items() if isinstance(text, str)}


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()


def _to_json(value: Any) -> Any:
    match value:
        case list() | tuple():
            return [_to_json(each) for each in value]
        case bytes():
            return {"base64": b64encode(value).decode()}
        case Fraction():
            return {"ratio": [_to_json(value.numerator), _to_json(value.denominator)]}
        case Greatest():
            return {"greatest": _to_json(value.value)}
        # sums have any size, and Python refuses decimals of more than 4,300 digits
        case int() if type(value) is int:
            return {"hex": format(value, "x")}
        case _:
            return value_to_json(value)


def _from_json(value: Any) -> Any:
    match value:
        case list():
            return tuple(_from_json(each) for each in value)
        case {"base64": text}:
            return b64decode(text, validate=True)
        case {"ratio": [above, below]}:
            return Fraction(_from_json(above), _from_json(below))
        case {"greatest": inner}:
            return Greatest(_from_json(inner))
        case {"hex": text}:
            return int(text, 16)
        case _:
            return value_from_json(value)


def pattern_digest(pattern: AnyPattern) -> str:
    """A name for all that decides what a state of a pattern means."""
    if not isinstance(pattern, Pattern):
        text = sremo_text(pattern.ast)
    elif pattern.machine_kind == "automaton":
        return plan_digest(pattern.plan)
    else:
        text = f"{pattern.logic} {pattern.text}"
    return hashlib.sha256(text.encode()).hexdigest()
