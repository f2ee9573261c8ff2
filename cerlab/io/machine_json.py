"""Machines as JSON text, one transition a line, the same bytes for the same machine.

    {
      "format": "cerlab-machine",
      "version": 1,
      "kind": "vcea",
      "states": 2,
      "initial": [0],
      "final": [1],
      "transitions": [
        {"source": 0, "predicate": {..}, "labels": ["x"], "target": 1}
      ]
    }

``format``       always ``cerlab-machine``
``version``      of this schema: 1; a reader refuses versions that it does not know
``kind``         ``vcea``, ``cea`` (`IntervalCea`), ``anchored-cea`` (`AnchoredCea`) or ``ucea``
``states``       how many; they are called 0, 1, ..
``initial``      the initial states, each once, in any order; a ``cea`` has exactly one
``final``        the final states, each once, in any order
``transitions``  in the order of Delta, which reading keeps. ``predicate`` is as
                 `cerlab.predicates.encoding` says. A transition of a ``vcea`` or ``ucea`` has
                 ``labels``, each once, in any order; of a ``cea`` or ``anchored-cea`` it has
                 ``mark``, which is ``take`` (•) or ``skip`` (∘).

All keys are required and no others are allowed. The text is Unicode, to be stored as UTF-8.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from cerlab.automata.cea import AnchoredCea, IntervalCea, Mark, Transition
from cerlab.automata.ucea import Ucea
from cerlab.automata.vcea import LabelTransition, Vcea
from cerlab.errors import DataPlace, IllFormed, ResourceLimit
from cerlab.predicates.encoding import (
    JsonNode,
    predicate_from_json,
    predicate_to_json,
    read_json,
    unicode,
)

Machine: TypeAlias = Vcea | IntervalCea | AnchoredCea | Ucea
"""The machines that the text formats know."""

FORMAT = "cerlab-machine"
VERSION = 1
MAX_STATES = 1_000_000
"""The largest machine that is read."""

KINDS: dict[str, type[Machine]] = {
    "vcea": Vcea,
    "cea": IntervalCea,
    "anchored-cea": AnchoredCea,
    "ucea": Ucea,
}
"""What the formats call the machines."""

LABELLED = ("vcea", "ucea")
"""The kinds whose transitions have labels; those of the others have a mark."""

MARKS = {mark.name.lower(): mark for mark in Mark}
"""What the formats call the marks: ``take`` and ``skip``."""

T = TypeVar("T")


def kind_of(A: Machine) -> str:
    """What the formats call this machine."""
    return next(kind for kind, machine in KINDS.items() if type(A) is machine)


def initial_states(A: Machine) -> list[int]:
    """The initial states, sorted."""
    return [A.q0] if isinstance(A, IntervalCea) else sorted(A.I)


def machine_to_json(A: Machine) -> str:
    """The machine as JSON text; `machine_from_json` reads back the same machine.

    The same: equal, or differing only in that no NaN equals another.

    Raises `ResourceLimit` for predicates that are too deep, `BadData` for text that is not
    Unicode.

    >>> from cerlab.predicates.syntax import TypeIs
    >>> Delta = (Transition(0, TypeIs("A"), Mark.TAKE, 1),)
    >>> print(machine_to_json(IntervalCea(2, Delta, 0, frozenset({1}))), end="")
    {
      "format": "cerlab-machine",
      "version": 1,
      "kind": "cea",
      "states": 2,
      "initial": [0],
      "final": [1],
      "transitions": [
        {"source": 0, "predicate": {"kind": "type", "type": "A"}, "mark": "take", "target": 1}
      ]
    }
    """
    head = {
        "format": FORMAT,
        "version": VERSION,
        "kind": kind_of(A),
        "states": A.states,
        "initial": initial_states(A),
        "final": sorted(A.F),
    }
    lines = [f"  {_dumps(name)}: {_dumps(value)}," for name, value in head.items()]
    transitions = ",\n".join(f"    {_dumps(_transition_json(t))}" for t in A.Delta)
    inside = f"\n{transitions}\n  " if A.Delta else ""
    return "\n".join(["{", *lines, f'  "transitions": [{inside}]', "}", ""])


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _transition_json(t: Transition | LabelTransition) -> dict[str, Any]:
    action: dict[str, Any]
    if isinstance(t, LabelTransition):
        action = {"labels": sorted(map(unicode, t.labels))}
    else:
        action = {"mark": t.mark.name.lower()}
    predicate = predicate_to_json(t.predicate)
    return {"source": t.source, "predicate": predicate, **action, "target": t.target}


def machine_from_json(text: str) -> Machine:
    """The machine that `machine_to_json` wrote.

    Raises `BadData` at the path in the document for all that is malformed, `IllFormed` for a
    transition into the initial state of a ``cea``, `ResourceLimit` for what is too large.
    """
    return machine_of(read_json(text))


def machine_of(root: JsonNode) -> Machine:
    """The machine of a document; raises as `machine_from_json`."""
    if root.key("format").text() != FORMAT:
        raise root.key("format").bad("CER0754", "this is no machine", f"the format is '{FORMAT}'")
    if root.key("version").of(int) != VERSION:
        message = f"version {root.key('version').value} is not known"
        raise root.key("version").bad("CER0754", message, f"this cerlab reads version {VERSION}")
    names = ("format", "version", "kind", "states", "initial", "final", "transitions")
    _, _, kind_node, states_node, initial, final, transitions = root.keys(*names)
    kind_node.one_of(KINDS, "kind of machine")
    kind = kind_node.text()
    states = _states(states_node)
    I = _set(initial, lambda node: _state(node, states))
    F = _set(final, lambda node: _state(node, states))
    if kind == "cea" and len(I) != 1:
        raise initial.bad("CER0756", f"a cea has one initial state, not {len(I)}")
    nodes = transitions.items()
    if kind in LABELLED:
        labelled = tuple([_labelled(node, states) for node in nodes])
        return Vcea(states, labelled, I, F) if kind == "vcea" else Ucea(states, labelled, I, F)
    marked = tuple([_marked(node, states) for node in nodes])
    if kind == "anchored-cea":
        return AnchoredCea(states, marked, I, F)
    (q0,) = I
    try:
        return IntervalCea(states, marked, q0, F)
    except IllFormed as error:
        entering = next(node for node in nodes if node.key("target").value == q0)
        error.place = DataPlace(entering.key("target").path)
        raise


def _states(node: JsonNode) -> int:
    states = node.of(int)
    if states < 0:
        raise node.bad("CER0756", f"{states} is no number of states")
    if states > MAX_STATES:
        message = f"the machine has more than {MAX_STATES:,} states"
        raise ResourceLimit("CER0662", message, place=DataPlace(node.path))
    return states


def _state(node: JsonNode, states: int) -> int:
    state = node.of(int)
    if not 0 <= state < states:
        raise node.bad("CER0756", f"state {state} is not in Q", f"states are 0 to {states - 1}")
    return state


def _set(node: JsonNode, read: Callable[[JsonNode], T]) -> frozenset[T]:
    found: set[T] = set()
    for each in node.items():
        member = read(each)
        if member in found:
            raise each.bad("CER0732", f"{member!r} stands twice")
        found.add(member)
    return frozenset(found)


def _marked(node: JsonNode, states: int) -> Transition:
    source, predicate, mark, target = node.keys("source", "predicate", "mark", "target")
    return Transition(
        _state(source, states),
        predicate_from_json(predicate.value, predicate.path),
        mark.one_of(MARKS, "mark"),
        _state(target, states),
    )


def _labelled(node: JsonNode, states: int) -> LabelTransition:
    source, predicate, labels, target = node.keys("source", "predicate", "labels", "target")
    return LabelTransition(
        _state(source, states),
        predicate_from_json(predicate.value, predicate.path),
        _set(labels, JsonNode.text),
        _state(target, states),
    )
