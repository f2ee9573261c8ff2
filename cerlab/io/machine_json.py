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

``format``   always ``cerlab-machine``
``version``  of this schema: 1; a reader refuses versions that it does not know

The other keys are those of `cerlab.automata.encoding`. The text is Unicode, to be stored as UTF-8.
"""

from __future__ import annotations

import json
from typing import Any

from cerlab.automata.encoding import Machine, machine_from_value, machine_to_value
from cerlab.model.json_document import check_head, read_json

FORMAT = "cerlab-machine"
VERSION = 1


def machine_to_json(A: Machine) -> str:
    """The machine as JSON text; `machine_from_json` reads back the same machine.

    The same: equal, or differing only in that no NaN equals another.

    Raises `ResourceLimit` for predicates that are too deep, `BadData` for text that is not
    Unicode.

    >>> from cerlab.automata.automaton import IntervalCea, Mark, Transition
    >>> from cerlab.predicates.syntax import TypeIs
    >>> Delta = (Transition(0, TypeIs("A"), Mark.TAKE, 1),)
    >>> A = IntervalCea(2, Delta, frozenset({0}), frozenset({1}))
    >>> print(machine_to_json(A), end="")
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
    head = {"format": FORMAT, "version": VERSION, **machine_to_value(A)}
    transitions = head.pop("transitions")
    lines = [f"  {_dumps(name)}: {_dumps(value)}," for name, value in head.items()]
    rows = ",\n".join(f"    {_dumps(transition)}" for transition in transitions)
    inside = f"\n{rows}\n  " if rows else ""
    return "\n".join(["{", *lines, f'  "transitions": [{inside}]', "}", ""])


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def machine_from_json(text: str) -> Machine:
    """The machine that `machine_to_json` wrote.

    Raises `BadData` at the path in the document for all that is malformed, `IllFormed` for a
    transition into the initial state of a ``cea``, `ResourceLimit` for what is too large.
    """
    root = read_json(text)
    check_head(root, "machine", FORMAT, VERSION)
    return machine_from_value(root, "format", "version")
