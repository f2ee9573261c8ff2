"""Verdicts in a notebook, with the stream of a witness and the answer on it."""

from __future__ import annotations

from cerlab import display
from cerlab.decisions.question import Verdict, Witness
from cerlab.predicates.words import answer_text, count_text, event_text
from cerlab.viz.html import block, note, pre, strong
from cerlab.viz.timeline import Timeline, timeline
from cerlab.viz.timeline.svg import timeline_svg, within_page
from cerlab.viz.timeline.text import timeline_text

HOLDS = {True: "holds", False: "does not hold", None: "not decided"}


def verdict_text(verdict: Verdict) -> str:
    """The verdict, why, and the witness."""
    head = f"{HOLDS[verdict.holds]}: {_because(verdict)}"
    return head if verdict.witness is None else f"{head}\n{witness_text(verdict.witness)}"


def witness_text(witness: Witness) -> str:
    """The stream with the answer, and its events."""
    T = witness_timeline(witness)
    events = [f"  {tick.position}: {event_text(tick.event)}" for tick in T.ticks]
    return "\n".join([_witness_text(witness), timeline_text(T), *events])


def verdict_html(verdict: Verdict) -> str:
    """The same, with the stream as a timeline."""
    witness = "" if verdict.witness is None else _witness(verdict.witness)
    return block(strong(HOLDS[verdict.holds]), note(_because(verdict)), witness)


def witness_html(witness: Witness) -> str:
    """The stream as a timeline, and its events."""
    return block(_witness(witness))


def witness_timeline(witness: Witness) -> Timeline:
    """A row for each side: the answer is in one of them."""
    answer = [witness.complex_event]
    if witness.side is None:
        return timeline({"answer": answer}, witness.events)
    rows = {side: answer if side == witness.side else [] for side in ("left", "right")}
    return timeline(rows, witness.events)


def _because(verdict: Verdict) -> str:
    """The reason; of what is not decided it begins by saying so, which the head does here."""
    return verdict.reason.removeprefix(f"{HOLDS[None]}: ")


def _witness(witness: Witness) -> str:
    T = witness_timeline(witness)
    events = "\n".join(f"{tick.position}: {event_text(tick.event)}" for tick in T.ticks)
    return f"{note(_witness_text(witness))}\n{within_page(T)}\n{pre(events)}"


def _witness_text(witness: Witness) -> str:
    stream = f"a stream of {count_text(len(witness.events), 'event')}"
    answer = answer_text(witness.complex_event)
    if witness.side is None:
        return f"{stream} with the answer {answer}"
    return f"{stream} on which only the {witness.side} side answers {answer}"


display.register(Verdict, "text/plain", verdict_text)
display.register(Verdict, "text/html", verdict_html)
display.register(Witness, "text/plain", witness_text)
display.register(Witness, "text/html", witness_html)
display.register(Witness, "image/svg+xml", lambda w: timeline_svg(witness_timeline(w)))
