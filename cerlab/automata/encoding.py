"""Machines as plain JSON values and back; reading runs no code.

    {"kind": "vcea", "states": 2, "initial": [0], "final": [1],
     "transitions": [{"source": 0, "predicate": {..}, "labels": ["x"], "target": 1}]}

``kind``         ``vcea``, ``cea`` (`IntervalCea`), ``anchored-cea`` (`AnchoredCea`) or ``ucea``
``states``       how many; they are called 0, 1, ..
``initial``      the initial states, each once, in any order; a ``cea`` has exactly one
``final``        the final states, each once, in any order
``transitions``  in the order of Delta, which reading keeps. ``predicate`` is as
                 `cerlab.predicates.encoding` says. A transition of a ``vcea`` or ``ucea`` has
                 ``labels``, each once, in any order; of a ``cea`` or ``anchored-cea`` it has
                 ``mark``, which is ``take`` (•) or ``skip`` (∘).

All keys are required and no others are allowed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from cerlab.automata.automaton import (
    AnchoredCea,
    IntervalCea,
    LabelTransition,
    Mark,
    Transition,
    Ucea,
    Vcea,
)
from cerlab.errors import DataPlace, IllFormed, ResourceLimit
from cerlab.model.documents import JsonNode, unicode
from cerlab.predicates.encoding import predicate_from_json, predicate_to_json

Machine: TypeAlias = Vcea | IntervalCea | AnchoredCea | Ucea
"""The machines that the formats know."""

MAX_STATES = 1_000_000
"""The largest machine that is read."""

KINDS: dict[str, type[Machine]] = {
    "vcea": Vcea,
    "cea": IntervalCea,
    "anchored-cea": AnchoredCea,
    "ucea": Ucea,
}
"""The names of the kinds of machines in the formats."""

LABEL_KINDS = ("vcea", "ucea")
"""The kinds whose transitions have labels; those of the others have a mark."""

MARKS = {mark.name.lower(): mark for mark in Mark}
"""The names of the marks in the formats: ``take`` and ``skip``."""

KEYS = ("kind", "states", "initial", "final", "transitions")
"""The keys of a machine."""

T = TypeVar("T")


def kind_of(A: Machine) -> str:
    """Return the name of a machine's kind in the formats."""
    return next(kind for kind, machine in KINDS.items() if type(A) is machine)


def machine_to_value(A: Machine) -> dict[str, Any]:
    """The machine as dicts, lists, texts and numbers; `machine_from_value` reads it back.

    Raises `ResourceLimit` for predicates that are too deep, `BadData` for text that is not
    Unicode.
    """
    return {
        "kind": kind_of(A),
        "states": A.states,
        "initial": sorted(A.I),
        "final": sorted(A.F),
        "transitions": [_transition_value(t) for t in A.Delta],
    }


def _transition_value(t: Transition | LabelTransition) -> dict[str, Any]:
    action: dict[str, Any]
    if isinstance(t, LabelTransition):
        action = {"labels": sorted(map(unicode, t.labels))}
    else:
        action = {"mark": t.mark.name.lower()}
    predicate = predicate_to_json(t.predicate)
    return {"source": t.source, "predicate": predicate, **action, "target": t.target}


def machine_from_value(root: JsonNode, *more: str) -> Machine:
    """Read the machine that `machine_to_value` wrote; the object may also have the keys `more`.

    Raises `BadData` at the path in the document for all that is malformed, `IllFormed` for a
    transition into the initial state of a ``cea``, `ResourceLimit` for what is too large.
    """
    kind_node, states_node, initial, final, transitions, *_ = root.keys(*KEYS, *more)
    kind_node.one_of(KINDS, "kind of machine")
    kind = kind_node.text()
    states = _states(states_node)
    I = _set(initial, lambda node: _state(node, states))
    F = _set(final, lambda node: _state(node, states))
    if kind == "cea" and len(I) != 1:
        raise initial.error("CER0756", f"a cea has one initial state, not {len(I)}")
    nodes = transitions.items()
    machine: Callable[..., Machine] = KINDS[kind]
    Delta = tuple([_transition(node, kind, states) for node in nodes])
    try:
        return machine(states, Delta, I, F)
    except IllFormed as error:
        entering = next(node for node in nodes if node.key("target").value in I)
        error.place = DataPlace(entering.key("target").path)
        raise


def _states(node: JsonNode) -> int:
    states = node.of(int)
    if states < 0:
        raise node.error("CER0756", f"{states} is no number of states")
    if states > MAX_STATES:
        message = f"the machine has more than {MAX_STATES:,} states"
        raise ResourceLimit(
            "CER0662", message, place=DataPlace(node.path), hint="write and read smaller machines"
        )
    return states


def _state(node: JsonNode, states: int) -> int:
    state = node.of(int)
    if not 0 <= state < states:
        raise node.error("CER0756", f"state {state} is not in Q", f"states are 0 to {states - 1}")
    return state


def _set(node: JsonNode, read: Callable[[JsonNode], T]) -> frozenset[T]:
    members: set[T] = set()
    for each in node.items():
        member = read(each)
        if member in members:
            raise each.error("CER0732", f"{member!r} stands twice")
        members.add(member)
    return frozenset(members)


def _transition(node: JsonNode, kind: str, states: int) -> Any:
    has_labels = kind in LABEL_KINDS
    label = "labels" if has_labels else "mark"
    source, predicate, does, target = node.keys("source", "predicate", label, "target")
    action: Any = _set(does, JsonNode.text) if has_labels else does.one_of(MARKS, "mark")
    return KINDS[kind].step(
        _state(source, states),
        predicate_from_json(predicate.value, predicate.path),
        action,
        _state(target, states),
    )
