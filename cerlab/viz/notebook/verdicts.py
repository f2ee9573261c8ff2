"""Verdicts and their witnesses in a notebook: the stream, and the answer that makes the difference.

Verdicts come from a layer above, so what they are is said by protocols.
"""

from __future__ import annotations

from typing import Any, Protocol

from cerlab import display
from cerlab.model.answer import ComplexEvent
from cerlab.viz.html import block, note, pre, strong
from cerlab.viz.timeline import Timeline, timeline
from cerlab.viz.timeline.svg import timeline_svg
from cerlab.viz.timeline.text import timeline_text
from cerlab.viz.words import answer_text, counted, event_text


class WitnessLike(Protocol):
    """A stream, and a complex event that one side has and the other lacks."""

    events: list[dict[str, Any]]
    complex_event: ComplexEvent
    side: str | None


class VerdictLike(Protocol):
    """Whether something holds on all streams, and if not a witness."""

    holds: bool | None
    witness: WitnessLike | None
    reason: str


HOLDS = {True: "holds", False: "does not hold", None: "not decided"}


def verdict_text(verdict: VerdictLike) -> str:
    """The verdict, why, and the witness."""
    head = f"{HOLDS[verdict.holds]}: {_because(verdict)}"
    return head if verdict.witness is None else f"{head}\n{witness_text(verdict.witness)}"


def witness_text(witness: WitnessLike) -> str:
    """The stream with the answer, and its events."""
    T = witness_timeline(witness)
    listed = [f"  {tick.position}: {event_text(tick.event)}" for tick in T.ticks]
    return "\n".join([_said(witness), timeline_text(T), *listed])


def verdict_html(verdict: VerdictLike) -> str:
    """The same, with the stream as a timeline."""
    witness = "" if verdict.witness is None else _witness(verdict.witness)
    return block(strong(HOLDS[verdict.holds]), note(_because(verdict)), witness)


def witness_html(witness: WitnessLike) -> str:
    """The stream as a timeline, and its events."""
    return block(_witness(witness))


def witness_timeline(witness: WitnessLike) -> Timeline:
    """A row for each side: the answer is in one of them."""
    answer = [witness.complex_event]
    if witness.side is None:
        return timeline({"answer": answer}, witness.events)
    rows = {side: answer if side == witness.side else [] for side in ("left", "right")}
    return timeline(rows, witness.events)


def _because(verdict: VerdictLike) -> str:
    """The reason; of what is not decided it begins by saying so, which the head does here."""
    return verdict.reason.removeprefix(f"{HOLDS[None]}: ")


def _witness(witness: WitnessLike) -> str:
    T = witness_timeline(witness)
    listed = "\n".join(f"{tick.position}: {event_text(tick.event)}" for tick in T.ticks)
    return f"{note(_said(witness))}\n{timeline_svg(T)}\n{pre(listed)}"


def _said(witness: WitnessLike) -> str:
    stream = f"a stream of {counted(len(witness.events), 'event')}"
    answer = answer_text(witness.complex_event)
    if witness.side is None:
        return f"{stream} with the answer {answer}"
    return f"{stream} on which only the {witness.side} side answers {answer}"


_MODULE = "cerlab.decisions.verdict"
display.register(f"{_MODULE}.Verdict", "text/plain", verdict_text)
display.register(f"{_MODULE}.Verdict", "text/html", verdict_html)
display.register(f"{_MODULE}.Witness", "text/plain", witness_text)
display.register(f"{_MODULE}.Witness", "text/html", witness_html)
display.register(f"{_MODULE}.Witness", "image/svg+xml", lambda w: timeline_svg(witness_timeline(w)))
