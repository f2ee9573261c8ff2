"""The compiled engine on streams that arrive: batches in, answers out, state kept.

The state of sessions that give rows or aggregates is bytes, and no code runs when they are read: a
line with the SHA-256 of the rest, then a JSON object: ``format``, ``version``, ``plan`` (the digest
of the plan), ``time`` (attribute and unit), what the session says of itself, and ``body``: lists of
values of events (`cerlab.model.documents`) and, of the same kind, ``{"hex": "ff"}`` for an integer
of any size, ``{"base64": ".."}``, ``{"ratio": [..]}`` and ``{"greatest": ..}``. A state that was
damaged is refused; the digest is no signature, and a state from somebody else decides which rows
come.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Protocol
from warnings import warn

from cerlab.automata.plan import RegisterPlan, plan_digest
from cerlab.compile.pattern import AnyPattern, Pattern, WaitStages
from cerlab.engine.answers import AnswerBatch, batched_answers
from cerlab.engine.reference.totals import Greatest
from cerlab.engine.reference.waiting import Waits
from cerlab.engine.state import axis_from_json, axis_of_state, axis_to_json
from cerlab.engine.state_checks import bad_state, expect
from cerlab.errors import (
    AnswerWarning,
    BadData,
    CerlabError,
    Unsupported,
    stacklevel_of_caller,
)
from cerlab.evaluate.protocol import check_clock
from cerlab.evaluate.separation import written_fast
from cerlab.logic.sremo.parser import sremo_text
from cerlab.model.answer import ComplexEvent, by_end
from cerlab.model.clauses import TimeWindow
from cerlab.model.documents import value_from_json, value_to_json
from cerlab.model.stream import Stream, TimeAxis, Until

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


class OpenRun(Protocol):
    """The compiled evaluation of a pattern on a stream that arrives, batch by batch."""

    @property
    def position(self) -> int:
        """The number of events read: the position of the next one."""

    @property
    def lowest(self) -> int:
        """Least start of answers to come; 0 if unknown."""

    def push_stream(self, stream: Stream) -> Iterator[AnswerBatch]:
        """Read more events; raises `BadData` after the answers on those before a bad one."""

    def state(self) -> bytes:
        """All that has to be known to go on."""


class Evaluation(Protocol):
    """The compiled evaluation of a pattern on a stream that is read to its end, batch by batch."""

    @property
    def lowest(self) -> int:
        """Least start of answers to come; 0 if unknown."""

    def push(self, columns: Mapping[str, Any], length: int) -> Iterator[AnswerBatch]:
        """Read more events; raises `BadData` after the answers on those before a bad one."""

    def finish(self) -> Iterator[AnswerBatch]:
        """The answers that were held back."""


class OpenRegisters:
    """The runs of a transducer on a stream that arrives; their state as bytes."""

    def __init__(self, pattern: AnyPattern, time: TimeAxis | None, state: bytes | None) -> None:
        from cerlab.engine.registers.evaluation import RegisterRun  # Numba loads here
        from cerlab.engine.registers.program import NotTaken

        self._digest, plan = pattern_digest(pattern), pattern.registers
        body = None
        if state is not None:
            stored_time, body = state_from_bytes("registers", self._digest, state)
            time = axis_of_state(time, stored_time)
        if not isinstance(plan, RegisterPlan):
            check_clock(plan, time)
        self._time = time if isinstance(getattr(plan, "window", None), TimeWindow) else None
        try:
            self._run = RegisterRun(plan, time)
        except NotTaken as refusal:
            raise not_taken(refusal, pattern) from None
        if body is not None:
            try:
                self._run.resume(body)
            except UNREADABLE as error:
                raise bad_state(str(error)) from None

    @property
    def position(self) -> int:
        """The number of events read."""
        return self._run.position

    @property
    def lowest(self) -> int:
        """Answers to come start here or later."""
        return self._run.lowest

    def push(self, columns: Mapping[str, Any], length: int) -> Iterator[AnswerBatch]:
        """Read more events."""
        return _all_taken(self._run.push(columns, length))

    def push_stream(self, stream: Stream) -> Iterator[AnswerBatch]:
        """The same for the events of a stream."""
        return _all_taken(self._run.push_stream(stream))

    def finish(self) -> Iterator[AnswerBatch]:
        """No-op: no answer is held back."""
        return iter(())

    def state(self) -> bytes:
        """All that has to be known to go on, as this module writes it."""
        return state_to_bytes("registers", self._digest, self._time, self._run.state())


class OpenWaits:
    """Answers that wait, on a stream that arrives; their state as bytes."""

    lowest = 0

    def __init__(
        self,
        pattern: AnyPattern,
        stages: WaitStages,
        time: TimeAxis | None,
        state: bytes | None,
    ) -> None:
        stages.check_live()
        self._digest, body = pattern_digest(pattern), None
        if state is not None:
            stored_time, body = state_from_bytes("waits", self._digest, state)
            time = axis_of_state(time, stored_time)
        self.waits = stages.plan.waits
        in_time = any(isinstance(window, TimeWindow) for window in stages.plan.windows)
        self.time = time if in_time else None
        self._run = Waits[ComplexEvent](stages.plan, stages.machines, time)
        if body is not None:
            try:
                self._run.resume(body)
            except UNREADABLE as error:
                raise bad_state(str(error)) from None

    @property
    def position(self) -> int:
        """The number of events read."""
        return self._run.position

    def push_stream(self, stream: Stream) -> Iterator[AnswerBatch]:
        """Read more events: what they make known, by end."""
        known: list[ComplexEvent] = []
        try:
            for event in stream.events:
                known += self._run.read(event)
        except BadData:
            yield from _sorted(known)
            raise
        yield from _sorted(known)

    def advance(self, until: Until) -> Iterator[AnswerBatch]:
        """The answers that a promise makes known, by end; raises as `Waits.advance`."""
        return _sorted(self._run.advance(until))

    def state(self) -> bytes:
        """All that has to be known to go on, as this module writes it."""
        return state_to_bytes("waits", self._digest, self.time, self._run.state())


def promised_answers(run: OpenRun, until: Until) -> Iterator[ComplexEvent]:
    """Yield the answers that a promise makes known; warn where nothing waits."""
    if isinstance(run, OpenWaits) and run.waits:
        for batch in run.advance(until):
            yield from batch
        return
    warn_of_no_wait()


def warn_of_no_wait() -> None:
    """Warn that a promise says nothing to a query of which no answer waits."""
    text = "CER0916: nothing in the pattern waits, so the clock changes nothing"
    warn(AnswerWarning(text), stacklevel=stacklevel_of_caller())


def _sorted(answers: list[ComplexEvent]) -> Iterator[AnswerBatch]:
    return batched_answers(sorted(answers, key=by_end), max(1, len(answers)))


def _all_taken(batches: Iterator[AnswerBatch]) -> Iterator[AnswerBatch]:
    """The same batches; raises `Unsupported` for events of too many kinds."""
    from cerlab.engine.registers.program import NotTaken

    try:
        yield from batches
    except NotTaken as refusal:
        raise not_taken(refusal) from None


def not_taken(refusal: Exception | str, pattern: AnyPattern | None = None) -> Unsupported:
    """The error for the transducer of a pattern that the engine does not run."""
    fast = None if pattern is None else written_fast(pattern)
    return Unsupported(
        "CER0403",
        f"registers are not run batch by batch here: {refusal}",
        hint=fast or "cerlab.evaluate takes the events as a whole",
    )
