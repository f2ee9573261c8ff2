"""Plans, which are all that an engine needs to know of a query, and their JSON."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, assert_never

from cerlab.automata.automaton import IntervalCea, Vcea
from cerlab.automata.encoding import Machine, machine_from_value, machine_to_value
from cerlab.automata.registers import Srt
from cerlab.display import rich_display
from cerlab.errors import BadData, DataPlace, IllFormed
from cerlab.model.clauses import (
    AttributeWindow,
    Consume,
    EventWindow,
    Limit,
    Strategy,
    TimeWindow,
    Window,
)
from cerlab.model.documents import (
    JsonNode,
    check_head,
    read_json,
    unicode,
    value_from_json,
    value_to_json,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanClauses:
    """The clauses of a query beside its formula.

    `partition` is the flat list of key attributes, empty for none; `streams` is empty for all.
    """

    streams: tuple[str, ...] = ()
    partition: tuple[str, ...] = ()
    window: Window | None = None
    consume: Consume = Consume.NONE
    limit: Limit | None = None
    strategy: Strategy | None = None


@rich_display
@dataclass(frozen=True, slots=True)
class Plan(PlanClauses):
    """A query, compiled: its automaton (with and without labels) and its clauses.

    `vcea` gives valuations, `cea` complex events.
    """

    vcea: Vcea
    cea: IntervalCea


MarkWindow: TypeAlias = EventWindow | AttributeWindow
"""A bound on last minus first marked position, or on the time between the two."""


@rich_display
@dataclass(frozen=True, slots=True)
class RegisterPlan:
    """A transducer in its streaming form, and all windows on its matches (SRT Def. 32)."""

    srt: Srt
    windows: tuple[MarkWindow, ...] = ()


@rich_display
@dataclass(frozen=True, slots=True)
class CorrelatedPlan(PlanClauses):
    """A query whose filters compare labels, compiled: its transducer and its clauses.

    A run begins at any position i of a substream, in q0 and with empty registers. If it is in F
    after the event at j, it answers ``([i, j], the positions it marked)``. `strategy` selects among
    all answers of one end, before the window.
    """

    srt: Srt


FORMAT = "cerlab-plan"
VERSION = 1
_HEAD = ("format", "version", "digest")
_BODY = ("vcea", "cea", "streams", "partition", "window", "consume", "limit", "strategy")
_CONSUMES = {each.value: each for each in Consume}
_STRATEGIES = {each.value: each for each in Strategy}
_WINDOWS = {kind: kind for kind in ("events", "time", "attribute")}
M = TypeVar("M", Vcea, IntervalCea)


# -- writing -----------------------------------------------------------------------------------


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """The plan as dicts, lists, texts and numbers; `plan_from_json` reads it back.

    Raises `ResourceLimit` for predicates that are too deep, `BadData` for text that is not
    Unicode.
    """
    body = _body(plan)
    return {"format": FORMAT, "version": VERSION, "digest": _digest(body), **body}


def plan_to_bytes(plan: Plan) -> bytes:
    """The plan as UTF-8 JSON, the same bytes for the same plan; raises as `plan_to_json`."""
    return _canonical(plan_to_json(plan))


def plan_digest(plan: Plan) -> str:
    """A name for a plan: the same plan has the same digest in every process (sha256, hex)."""
    return _digest(_body(plan))


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(_canonical(body)).hexdigest()


def _canonical(document: dict[str, Any]) -> bytes:
    separators = (",", ":")
    text = json.dumps(
        document, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=separators
    )
    return text.encode()


def _body(plan: Plan) -> dict[str, Any]:
    """All that a plan says, without the head of the document."""
    return {
        "vcea": machine_to_value(plan.vcea),
        "cea": machine_to_value(plan.cea),
        "streams": [unicode(name) for name in plan.streams],
        "partition": [unicode(name) for name in plan.partition],
        "window": _window_value(plan.window),
        "consume": plan.consume.value,
        "limit": plan.limit.per_end if plan.limit else None,
        "strategy": plan.strategy.value if plan.strategy else None,
    }


def _window_value(window: Window | None) -> dict[str, Any] | None:
    match window:
        case None:
            return None
        case EventWindow(width):
            return {"kind": "events", "width": width}
        case TimeWindow(nanoseconds):
            return {"kind": "time", "nanoseconds": nanoseconds}
        case AttributeWindow(width, attribute):
            value = {"width": value_to_json(width), "attribute": unicode(attribute)}
            return {"kind": "attribute", **value}
        case _:
            assert_never(window)


# -- reading -----------------------------------------------------------------------------------


def plan_from_json(document: Any) -> Plan:
    """The plan that `plan_to_json` wrote.

    The same: equal, or differing only in that no NaN equals another. Raises `BadData` at the path
    in the document for all that is malformed, of another version, or does not fit its digest;
    `ResourceLimit` for automata and predicates that are too large.
    """
    return _plan(JsonNode(document))


def plan_from_bytes(document: bytes) -> Plan:
    """The plan that `plan_to_bytes` wrote; raises as `plan_from_json`."""
    try:
        text = bytes(document).decode("utf-8")
    except UnicodeDecodeError as error:
        place = DataPlace("$")
        raise BadData(
            "CER0750",
            f"this is no JSON: {error.reason}",
            place=place,
            hint="plans are UTF-8, as plan_to_bytes writes them",
        ) from None
    return _plan(read_json(text))


def _plan(root: JsonNode) -> Plan:
    check_head(root, "plan", FORMAT, VERSION)
    nodes = dict(zip((*_HEAD, *_BODY), root.keys(*_HEAD, *_BODY), strict=True))
    limit, strategy = nodes["limit"], nodes["strategy"]
    plan = Plan(
        vcea=_machine(nodes["vcea"], Vcea),
        cea=_machine(nodes["cea"], IntervalCea),
        streams=tuple([each.text() for each in nodes["streams"].items()]),
        partition=tuple([each.text() for each in nodes["partition"].items()]),
        window=_window(nodes["window"]),
        consume=nodes["consume"].one_of(_CONSUMES, "policy of CONSUME BY"),
        limit=None if limit.value is None else Limit(_at_least(1, limit)),
        strategy=None if strategy.value is None else strategy.one_of(_STRATEGIES, "strategy"),
    )
    if nodes["digest"].text() != (digest := plan_digest(plan)):
        message = "the digest is that of another plan"
        raise nodes["digest"].error("CER0758", message, f"that of this one is {digest}")
    return plan


def _machine(node: JsonNode, kind: type[M]) -> M:
    try:
        machine: Machine = machine_from_value(node)
    except IllFormed as error:  # of what a text says; here it is the data that is wrong
        raise BadData(
            "CER0756",
            error.message,
            place=error.place,
            hint="write the plan anew with plan_to_bytes",
        ) from None
    if not isinstance(machine, kind):
        raise node.key("kind").error("CER0756", "a plan has another kind of machine here")
    return machine


def _window(node: JsonNode) -> Window | None:
    if node.value is None:
        return None
    match node.key("kind").one_of(_WINDOWS, "kind of window"):
        case "events":
            _, width = node.keys("kind", "width")
            return EventWindow(_at_least(0, width))
        case "time":
            _, nanoseconds = node.keys("kind", "nanoseconds")
            return TimeWindow(_at_least(0, nanoseconds))
        case _:
            _, width, attribute = node.keys("kind", "width", "attribute")
            return AttributeWindow(_width(width), attribute.text())


def _at_least(least: int, node: JsonNode) -> int:
    if (value := node.of(int)) < least:
        raise node.error("CER0755", f"{value} is less than {least}")
    return value


def _width(node: JsonNode) -> int | float:
    value = value_from_json(node.value, node.path)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf:
        return value
    raise node.error("CER0755", "the width of a window is a number from 0")
