"""Plans: compiled queries, which contain all that an engine needs, and their JSON."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, TypeAlias

from cerlab.automata.automaton import IntervalCea, Mark, Vcea
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
    TEXT,
    Codec,
    JsonNode,
    Production,
    check_head,
    listed,
    member_of,
    optional,
    read_json,
    tagged,
    value_at,
    value_to_json,
)
from cerlab.predicates.condition import Condition


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PlanClauses:
    """The clauses of a query besides its formula.

    `partition` is the flat list of key attributes, empty for none; `streams` is empty for all.
    """

    streams: tuple[str, ...] = ()
    partition: tuple[str, ...] = ()
    window: Window | None = None
    consume: Consume = Consume.NONE
    limit: Limit | None = None
    throttle: Window | None = None
    strategy: Strategy | None = None

    def __repr__(self) -> str:
        """Return a summary: the machine and the clauses that are set."""
        values = [(f, getattr(self, f.name)) for f in fields(self)]
        said = [f"{f.name}={value!r}" for f, value in values if value != f.default]
        return f"{type(self).__name__}({', '.join(said)})"


@rich_display
@dataclass(frozen=True, slots=True, repr=False)
class Plan(PlanClauses):
    """A compiled query: its automaton, with and without labels, and its clauses.

    `vcea` gives valuations, `cea` complex events.
    """

    vcea: Vcea
    cea: IntervalCea


MarkWindow: TypeAlias = EventWindow | AttributeWindow
"""A bound on last minus first marked position, or on the time between the two."""


@rich_display
@dataclass(frozen=True, slots=True)
class RegisterPlan:
    """A compiled SREMO: its transducer for streams, and windows on its matches (SRT Def. 32)."""

    srt: Srt
    windows: tuple[MarkWindow, ...] = ()


@dataclass(frozen=True, slots=True)
class Delay:
    """``WAIT d``: moves the end of an answer to the last event within d."""

    length: TimeWindow | AttributeWindow


@dataclass(frozen=True, slots=True)
class HoldWithin:
    """``WITHIN w``: keeps an answer if its start is at most w before its present last event.

    With `of_last`, the last event that the body took must be within w instead of the first.
    """

    window: Window
    of_last: bool = False


@dataclass(frozen=True, slots=True)
class LookBack:
    """``LOOKBACK d``: moves the start of an answer to the first event at most d before it."""

    length: TimeWindow | AttributeWindow


@rich_display
@dataclass(frozen=True, slots=True, repr=False)
class CorrelatedPlan(PlanClauses):
    """A compiled query whose filters compare labels: its transducer and its clauses.

    A run begins at any position i of a substream, in q0 and with empty registers. If it is in F
    after the event at j, it answers ``([i, j], the positions it marked)``. `strategy` selects among
    all answers of one end, before the window. `timed` are the windows in time and the waits inside
    its formula: the guards read places of them (`cerlab.automata.labelled`).
    """

    srt: Srt
    timed: tuple[Delay | HoldWithin, ...] = ()


@dataclass(frozen=True, slots=True)
class ExceptIf:
    """``UNLESS g``: drops an answer if its interval contains an answer of g, plan number `rival`.

    The search begins at the start of the answer; with `of_last`, at the last event that the body
    took.
    """

    rival: int
    of_last: bool = False


WaitStep: TypeAlias = Delay | HoldWithin | ExceptIf | LookBack


@dataclass(frozen=True, slots=True)
class FilterPlan:
    """Filters and clauses to apply to valuations that a query without the filters lists.

    `rivals` is the strategy of the formula below the filters, if consumption decides which
    valuations compete; otherwise the machine that lists them applies it. `labels` None keeps all
    labels.
    """

    rivals: Strategy | None
    condition: Condition
    labels: frozenset[str] | None
    of_streams: frozenset[tuple[str, str]]
    strategy: Strategy | None
    window: Window | None
    consume: Consume
    partition: tuple[str, ...]
    streams: tuple[str, ...]

    @property
    def counts(self) -> bool:
        """True if a clause needs the numbers of events in their substream."""
        counts = isinstance(self.window, EventWindow)
        counts = counts or Strategy.STRICT in (self.rivals, self.strategy)
        return counts and bool(self.partition or self.streams)


class WaitBranch(NamedTuple):
    """The index of the plan that runs before the waits, and the steps to apply to its answers."""

    body: int
    steps: tuple[WaitStep, ...]

    @property
    def waits(self) -> bool:
        """True if a WAIT of the branch moves the ends of answers."""
        return any(isinstance(step, Delay) for step in self.steps)

    @property
    def back(self) -> tuple[TimeWindow | AttributeWindow, ...]:
        """The lengths of the branch's look-backs, the innermost first."""
        return tuple(step.length for step in self.steps if isinstance(step, LookBack))


@dataclass(frozen=True, slots=True, repr=False)
class WaitPlan(PlanClauses):
    """A compiled query with waits: branches whose answers are united.

    `plans` are automata without clauses, or transducers if filters compare labels or a wait is
    inside. If the query `selects`, a single transducer has all its clauses. A plan's own strategy
    selects among the answers that the steps of its branch leave.
    """

    plans: tuple[Plan | CorrelatedPlan, ...]
    branches: tuple[WaitBranch, ...]

    @property
    def repeats(self) -> bool:
        """True if an answer may be found twice: in two branches, or with two ends before a wait.

        If the last event of a body is always marked, its answers determine where they ended;
        likewise for the first event in a look-back.
        """
        waiting = [self._machine(branch) for branch in self.branches if branch.waits]
        looking = [self._machine(branch) for branch in self.branches if branch.back]
        marks = [t.mark for A in waiting for t in A.Delta if t.target in A.F]
        marks += [t.mark for A in looking for t in A.Delta if t.source == A.q0]
        return len(self.branches) > 1 or Mark.SKIP in marks

    def takes_one_event(self, branch: WaitBranch) -> bool:
        """Return whether every answer of a branch, before its steps, is one event long."""
        A = self._machine(branch)
        return all(t.source == A.q0 and t.target in A.F for t in A.Delta)

    def _machine(self, branch: WaitBranch) -> IntervalCea | Srt:
        body = self.plans[branch.body]
        return body.cea if isinstance(body, Plan) else body.srt

    @property
    def selects(self) -> bool:
        """True if a strategy, LIMIT or CONSUME BY may drop an answer because of another."""
        chosen = self.strategy is not None or self.limit is not None
        return chosen or self.consume is not Consume.NONE

    @property
    def is_carried(self) -> bool:
        """True if some branch moves the ends of answers."""
        return any(branch.waits for branch in self.branches)

    @property
    def compares(self) -> bool:
        """True if some branch runs on a transducer."""
        return any(isinstance(each, CorrelatedPlan) for each in self.plans)

    @property
    def looks_ahead(self) -> bool:
        """True if a wait inside a transducer makes runs depend on later events."""
        timed = (step for n, _ in self.branches for step in self.timed_of(n))
        return any(isinstance(step, Delay) for step in timed)

    def timed_of(self, body: int) -> tuple[Delay | HoldWithin, ...]:
        """Return the waits and windows in time inside plan number `body`."""
        plan = self.plans[body]
        return plan.timed if isinstance(plan, CorrelatedPlan) else ()

    @property
    def windows(self) -> tuple[Window, ...]:
        """The windows of all steps, and the lengths of waits and look-backs, each once."""
        held = [step.window for step in self._steps() if isinstance(step, HoldWithin)]
        if self.window is not None:
            held.append(self.window)
        return tuple(dict.fromkeys((*held, *self.waits, *self.look_backs)))

    @property
    def look_backs(self) -> tuple[TimeWindow | AttributeWindow, ...]:
        """The lengths of look-backs, each once."""
        lengths = (step.length for step in self._steps() if isinstance(step, LookBack))
        return tuple(dict.fromkeys(lengths))

    @property
    def waits(self) -> tuple[TimeWindow | AttributeWindow, ...]:
        """The lengths of waits, each once."""
        lengths = (step.length for step in self._steps() if isinstance(step, Delay))
        return tuple(dict.fromkeys(lengths))

    def _steps(self) -> Iterator[WaitStep]:
        """Yield the steps of all branches, and those inside transducers."""
        for body, steps in self.branches:
            yield from (*self.timed_of(body), *steps)


FORMAT = "cerlab-plan"
VERSION = 2
_HEAD = ("format", "version", "digest")


# -- writing -----------------------------------------------------------------------------------


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """Return the plan as dicts, lists, texts and numbers; `plan_from_json` reads it back.

    Raises `ResourceLimit` for predicates that are too deep, `BadData` for text that is not
    Unicode.
    """
    body = _body(plan)
    return {"format": FORMAT, "version": VERSION, "digest": _digest(body), **body}


def plan_to_bytes(plan: Plan) -> bytes:
    """Return the plan as UTF-8 JSON, equal bytes for equal plans; raises as `plan_to_json`."""
    return _canonical(plan_to_json(plan))


def plan_digest(plan: Plan) -> str:
    """Return the sha256 digest of a plan, equal for equal plans in every process."""
    return _digest(_body(plan))


def _digest(body: dict[str, Any]) -> str:
    # saved states contain this digest, so without THROTTLE it has to stay that of version 1
    said = {name: value for name, value in body.items() if (name, value) != ("throttle", None)}
    return hashlib.sha256(_canonical(said)).hexdigest()


def _canonical(document: dict[str, Any]) -> bytes:
    separators = (",", ":")
    text = json.dumps(
        document, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=separators
    )
    return text.encode()


def _body(plan: Plan) -> dict[str, Any]:
    """Return the contents of a plan's JSON document, without its head."""
    return {name: codec.write(getattr(plan, name)) for name, codec in _BODY.items()}


# -- reading -----------------------------------------------------------------------------------


def plan_from_json(document: Any) -> Plan:
    """Return the plan that `plan_to_json` wrote.

    The result equals the original, except that NaN never equals NaN. Raises `BadData` with the path
    in the document for malformed input, another version or a wrong digest; `ResourceLimit` for
    automata and predicates that are too large.
    """
    return _plan(JsonNode(document))


def plan_from_bytes(document: bytes) -> Plan:
    """Return the plan that `plan_to_bytes` wrote; raises as `plan_from_json`."""
    try:
        text = bytes(document).decode("utf-8")
    except UnicodeDecodeError as error:
        place = DataPlace("$")
        raise BadData(
            "CER0750",
            f"this is not JSON: {error.reason}",
            place=place,
            hint="read the bytes that plan_to_bytes wrote",
        ) from None
    return _plan(read_json(text))


def _plan(root: JsonNode) -> Plan:
    check_head(root, "plan", FORMAT, VERSION)
    nodes = dict(zip((*_HEAD, *_BODY), root.keys(*_HEAD, *_BODY), strict=True))
    plan = Plan(**{name: codec.read(nodes[name], 1) for name, codec in _BODY.items()})
    if nodes["digest"].text() != (digest := plan_digest(plan)):
        message = "the digest is that of another plan"
        raise nodes["digest"].error("CER0758", message, f"that of this one is {digest}")
    return plan


def _machine(node: JsonNode, kind: type[Machine]) -> Machine:
    try:
        machine = machine_from_value(node)
    except IllFormed as error:  # raise `BadData`, because the error is in the document
        raise BadData(
            "CER0756",
            error.message,
            place=error.place,
            hint="write the plan again with plan_to_bytes",
        ) from None
    if not isinstance(machine, kind):
        raise node.key("kind").error("CER0756", "this kind of machine cannot be here in a plan")
    return machine


def _at_least(least: int, node: JsonNode) -> int:
    if (value := node.of(int)) < least:
        raise node.error("CER0755", f"expected a number from {least}, got {value}")
    return value


def _width(node: JsonNode) -> int | float:
    value = value_at(node)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf:
        return value
    raise node.error("CER0755", "expected a window width from 0")


_LENGTH = Codec(int, lambda node, _: _at_least(0, node))
_WINDOWS = {
    "events": Production(EventWindow, (_LENGTH,)),
    "time": Production(TimeWindow, (_LENGTH,)),
    "attribute": Production(
        AttributeWindow, (Codec(value_to_json, lambda node, _: _width(node)), TEXT)
    ),
}
_LIMIT = Codec(lambda limit: limit.per_end, lambda node, _: Limit(_at_least(0, node)))
_BODY: dict[str, Codec] = {
    "vcea": Codec(machine_to_value, lambda node, _: _machine(node, Vcea)),
    "cea": Codec(machine_to_value, lambda node, _: _machine(node, IntervalCea)),
    "streams": listed(TEXT),
    "partition": listed(TEXT),
    "window": optional(tagged(_WINDOWS, "kind of window")),
    "consume": member_of(Consume, "policy of CONSUME BY"),
    "limit": optional(_LIMIT),
    "throttle": optional(tagged(_WINDOWS, "kind of window")),
    "strategy": optional(member_of(Strategy, "strategy")),
}
"""The codec of each field of a plan, in the order of the document."""
