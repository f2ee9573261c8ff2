"""Machines as JSON text, and in the ``.mata`` format of libmata."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from cerlab.automata.automaton import AnchoredCea, IntervalCea, LabelTransition, Mark, Transition
from cerlab.automata.encoding import (
    Machine,
    check_depth,
    kind_of,
    machine_from_value,
    machine_to_value,
    predicate_to_json,
)
from cerlab.errors import CerlabError
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.parser import parse_cel
from cerlab.model.documents import check_head, read_json
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import On
from cerlab.predicates.text import predicate_text

FORMAT = "cerlab-machine"


VERSION = 1


def machine_to_json(A: Machine) -> str:
    """Return the machine as JSON text; `machine_from_json` reads back the same machine.

    The result equals the original, except that NaN never equals NaN.

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
    """Return the machine that `machine_to_json` wrote.

    Raises `BadData` with the path in the document for malformed input, `IllFormed` for a transition
    into the initial state of a ``cea``, `ResourceLimit` for an automaton that is too large.
    """
    root = read_json(text)
    check_head(root, "machine", FORMAT, VERSION)
    return machine_from_value(root, "format", "version")


Propositions: TypeAlias = dict[str, tuple[int, pred.Atom]]
"""Atoms and their numbers, by JSON, which separates 0.0 from -0.0 and makes NaN equal to itself."""


def machine_to_mata(A: Machine) -> str:
    """Return the machine as ``@NFA-bits``, with comments that explain the bits.

    Raises `ResourceLimit` for predicates that are too deep, `BadData` for text that is not
    Unicode.

    >>> P = pred.And(pred.TypeIs("A"), pred.Not(pred.StreamIs("S")))
    >>> Delta = (Transition(0, P, Mark.TAKE, 1),)
    >>> print(machine_to_mata(IntervalCea(2, Delta, frozenset({0}), frozenset({1}))))
    @NFA-bits
    %Alphabet-auto
    # cea
    # p0: type = 'A'
    # p1: stream = 'S'
    # take: the transition takes its event
    %Initial q0
    %Final q1
    q0 (p0 & !p1 & take) q1
    """
    Delta: tuple[Transition | LabelTransition, ...] = A.Delta
    labels = sorted({x for t in Delta if isinstance(t, LabelTransition) for x in t.labels})
    bits = {label: f"x{n}" for n, label in enumerate(labels)}
    propositions: Propositions = {}
    body = []
    for t in Delta:
        letter = _letter(t, propositions, bits)
        body.append(f"q{t.source} ({letter}) q{t.target}\n")
        if isinstance(A, AnchoredCea) and t.target in A.F and _takes(t):
            body.append(f"q{t.source} ({letter}) qend\n")
    final = ["qend"] if isinstance(A, AnchoredCea) else [f"q{q}" for q in sorted(A.F)]
    legend = [f"p{n}: {proposition_text(atom)}" for n, atom in propositions.values()]
    legend += [f"{bit}: the label {json.dumps(label)}" for label, bit in bits.items()]
    if isinstance(A, IntervalCea | AnchoredCea):
        legend.append("take: the transition takes its event")
    head = ["@NFA-bits\n", "%Alphabet-auto\n", f"# {kind_of(A)}\n"]
    head += [f"# {line}\n" for line in legend]
    head += _key("%Initial", [f"q{q}" for q in sorted(A.I)]) + _key("%Final", final)
    return "".join([*head, *body])


def _letter(
    t: Transition | LabelTransition, propositions: Propositions, bits: dict[str, str]
) -> str:
    """Return the bit vectors of a transition as a formula, numbering its new atoms."""
    check_depth(t.predicate)

    def bit_of(atom: pred.Atom) -> str:
        number, _ = propositions.setdefault(_json_text(atom), (len(propositions), atom))
        return f"p{number}"

    guard = _guard_text(t.predicate, bit_of, 1)
    if isinstance(t, LabelTransition):
        action = [bit if label in t.labels else f"!{bit}" for label, bit in bits.items()]
    else:
        action = ["take" if _takes(t) else "!take"]
    tests = [guard] if t.predicate != pred.EVERYTHING or not action else []
    return " & ".join([*tests, *action])


def _guard_text(P: pred.Predicate, name: Callable[[pred.Atom], str], level: int) -> str:
    """Return a predicate over names of atoms, in parentheses if it binds looser than `level`."""
    match P:
        case pred.Everything():
            return "\\true"
        case pred.Or(left, right):
            text = f"{_guard_text(left, name, 0)} | {_guard_text(right, name, 1)}"
            return f"({text})" if level > 0 else text
        case pred.And(left, right):
            text = f"{_guard_text(left, name, 1)} & {_guard_text(right, name, 2)}"
            return f"({text})" if level > 1 else text
        case pred.Not(operand):
            return f"!{_guard_text(operand, name, 2)}"
        case atom:
            return name(atom)


def proposition_text(atom: pred.Atom) -> str:
    """Return an atom in CEQL if this text reads back as the same atom, otherwise as JSON.

    >>> proposition_text(pred.TypeIs("A"))
    "type = 'A'"
    >>> proposition_text(pred.Comparison(pred.Operator.EQ, pred.Attribute("v"), pred.Negated(
    ...     pred.Constant(1))))  # in CEQL, -(1) is the constant -1
    '{"kind": "comparison", "operator": "=", "left": {"kind": "attribute", "name": "v"},
      "right": {"kind": "negated", "operand": {"kind": "constant", "value": {"int": 1}}}}'
    """
    as_json = _json_text(atom)
    try:
        text = predicate_text(atom)
        if text.isprintable() and _json_text(_ceql_atom(text)) == as_json:
            return text
    except (CerlabError, AssertionError, OverflowError):
        pass  # the atom has no CEQL text, or one that does not read back
    return as_json


def _json_text(P: pred.Predicate | None) -> str:
    return "" if P is None else json.dumps(predicate_to_json(P))


def _ceql_atom(text: str) -> pred.Predicate | None:
    """Return the predicate of a text in CEQL, None if it does not parse."""
    match parse_cel(f"A FILTER A[{text}]")[0]:
        case cel.Filter(cel.Atom("A", None), On("A", P)):
            pass
        case _:
            return None
    match P:
        case pred.Comparison(pred.Operator.EQ, pred.Attribute("type"), pred.Constant(str(name))):
            return pred.TypeIs(name)
        case pred.Comparison(pred.Operator.EQ, pred.Attribute("stream"), pred.Constant(str(name))):
            return pred.StreamIs(name)
        case _:
            return P


def _takes(t: Transition | LabelTransition) -> bool:
    return isinstance(t, Transition) and t.mark is Mark.TAKE


def _key(name: str, values: list[str]) -> list[str]:
    """Return a key-value line, or no line without values, because libmata could not read it."""
    return [" ".join([name, *values]) + "\n"] if values else []
