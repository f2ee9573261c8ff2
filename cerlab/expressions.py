"""SREMO as users call it: text that tells what it is, matches, and what a stream shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias, get_args

from cerlab import io
from cerlab.automata.registers.plan import RegisterPlan
from cerlab.compile.register_plan import register_plan
from cerlab.engine.reference import registers
from cerlab.errors import ResourceLimit, Unsupported, UsageError, nearest
from cerlab.evaluators import SHORT, Evaluator
from cerlab.logic.sremo import semantics
from cerlab.logic.sremo.parser import begins_sremo, parse_sremo
from cerlab.logic.sremo.syntax import Sremo
from cerlab.model.answer import ComplexEvent, Positions
from cerlab.model.event import Event
from cerlab.model.schema import Schema
from cerlab.model.stream import Stream
from cerlab.query import Language, Logic, Query, What, as_query, is_fo

AnyLanguage: TypeAlias = Language | Literal["sremo"]
LANGUAGES = (*get_args(Language), "sremo")

SREMO_EVALUATORS = ("reference", "registers", "compiled")
"""The evaluators that take a SREMO."""


def read(
    what: What | Sremo,
    language: AnyLanguage | None = None,
    schema: Schema | None = None,
    *,
    logic: Logic = "so",
) -> Query | Sremo:
    """A query or a SREMO; a text of no given language is a SREMO if it begins with one of ``<!#@``.

    No formula begins so, and of SREMO only ``EPS`` and ``EMPTY`` do not. Raises as `as_query` and
    `parse_sremo`.
    """
    if language is not None and language not in LANGUAGES:
        hint = nearest(language, LANGUAGES)
        raise UsageError("CER0806", f"unknown language '{language}'", hint=hint)
    if isinstance(what, Sremo):
        return what
    if isinstance(what, str) and (language == "sremo" or (not language and begins_sremo(what))):
        return parse_sremo(what)
    return as_query(what, None if language == "sremo" else language, schema, logic=logic)


def matches(sremo: str | Sremo, events: Any) -> frozenset[Positions]:
    """``Match(e, S)``: the positions that e marks when it consumes the whole stream (SRT Def. 18).

    Positions count from 0. It is the reference semantics, for short streams.

    >>> sorted(matches("<TRUE>^ . <TRUE>* . <type = 'B'>^", [{"type": "A"}, {"type": "B"}]))
    [(0, 1)]
    """
    e = parse_sremo(sremo) if isinstance(sremo, str) else sremo
    if not isinstance(e, Sremo):
        hint = "a text or a Sremo is; cerlab.evaluate takes queries and formulas"
        raise UsageError("CER0838", f"{type(e).__name__} is no SREMO", hint=hint)
    return semantics.matches(e, io.as_stream(events).events)


def sremo_answers(
    e: Sremo, stream: Stream, evaluator: Evaluator = "auto", logic: Logic = "so"
) -> Iterator[ComplexEvent]:
    """What a stream shows of a SREMO, each answer once, by one evaluator (SRT Def. 32).

    ``"registers"`` runs its transducer: on streams of up to `SHORT` events as written, on longer
    ones in the compiled engine, which ``"compiled"`` is on any. ``"auto"`` is ``"registers"`` where
    there is a transducer, else the reference. What the engine does not take runs as written.
    Raises `Unsupported` for evaluators that take none, and for FO-CEL's meaning.
    """
    if evaluator not in get_args(Evaluator):
        raise UsageError(
            "CER0805",
            f"unknown evaluator '{evaluator}'",
            hint=nearest(evaluator, get_args(Evaluator)),
        )
    if is_fo(logic):
        message = 'a SREMO has no variables, so no meaning under logic="fo"'
        raise Unsupported("CER0480", message, hint="leave logic= out")
    if evaluator not in ("auto", *SREMO_EVALUATORS):
        raise Unsupported(
            "CER0481",
            f'evaluator="{evaluator}" takes no SREMO',
            hint=f"use one of {', '.join(SREMO_EVALUATORS)}",
        )
    if evaluator == "reference":
        return iter(semantics.detected(e, stream.events))
    try:
        plan = register_plan(e)
    except (Unsupported, ResourceLimit):
        if evaluator == "auto":
            return sremo_answers(e, stream, "reference", logic)
        raise
    if evaluator != "compiled" and len(stream) <= SHORT:
        return registers.answers(plan, stream.events)
    return _compiled(plan, stream)


def live_sremo_answers(e: Sremo, events: Iterable[Event]) -> Iterator[ComplexEvent]:
    """What events that are still arriving show of a SREMO, by its transducer as written.

    Each answer comes as soon as its last marked event is there. Raises `Unsupported` and
    `ResourceLimit` where there is no transducer.
    """
    return registers.answers(register_plan(e), events)


def _compiled(plan: RegisterPlan, stream: Stream) -> Iterator[ComplexEvent]:
    """By the compiled engine; Numba and NumPy load here."""
    from cerlab.engine.registers.evaluation import register_answers

    return register_answers(plan, stream, lambda: registers.answers(plan, stream.events))


def sremo_count(e: Sremo, stream: Stream) -> int:
    """How many answers a stream shows, without listing them where there is a transducer.

    Raises `ResourceLimit` for 2^53 and more.
    """
    from cerlab.engine.registers.evaluation import register_count

    try:
        plan = register_plan(e)
    except (Unsupported, ResourceLimit):
        return sum(1 for _ in sremo_answers(e, stream, "reference"))
    return register_count(plan, stream, lambda: registers.answers(plan, stream.events))
