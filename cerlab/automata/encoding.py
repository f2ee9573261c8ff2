"""Machines and predicates as plain JSON values, and back; reading executes no code.

    {"kind": "vcea", "states": 2, "initial": [0], "final": [1],
     "transitions": [{"source": 0, "predicate": {..}, "labels": ["x"], "target": 1}]}

``kind``         ``vcea``, ``cea`` (`IntervalCea`), ``anchored-cea`` (`AnchoredCea`) or ``ucea``
``states``       the number of states, called 0, 1, ..
``initial``      the initial states, each once, in any order; a ``cea`` has exactly one
``final``        the final states, each once, in any order
``transitions``  in the order of Delta, which reading keeps. ``predicate`` is a P below. One of a
                 ``vcea`` or ``ucea`` has ``labels``, each once, in any order; one of a ``cea`` or
                 ``anchored-cea`` has ``mark``, which is ``take`` (•) or ``skip`` (∘).

A predicate P, or an expression E in it, is an object, exact for every constant: ``kind`` names the
production, the other keys are its fields.

    P   {"kind": "everything"}
        {"kind": "type", "type": "BUY"}    {"kind": "stream", "stream": "S"}
        {"kind": "comparison", "operator": "<=", "left": E, "right": E}
        {"kind": "member", "operand": E, "values": [V, ..], "negated": false}
        {"kind": "between", "operand": E, "low": E or null, "high": E or null, "negated": false}
        {"kind": "like", "operand": E, "pattern": "^IN"}
        {"kind": "and", "left": P, "right": P}    {"kind": "or", "left": P, "right": P}
        {"kind": "not", "operand": P}
    E   {"kind": "constant", "value": V}    {"kind": "attribute", "name": "price"}
        {"kind": "computed", "operator": "+", "left": E, "right": E}
        {"kind": "negated", "operand": E}
    V   a value of an event, as `cerlab.model.documents` says: {"int": 3}, "text", null, ..

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
from cerlab.model.documents import (
    FLAG,
    TEXT,
    VALUE,
    Codec,
    JsonNode,
    Production,
    member_of,
    optional,
    tagged,
    too_deep,
    unicode,
    value_at,
    value_to_json,
)
from cerlab.predicates import syntax as pred
from cerlab.predicates.truth import search

MAX_DEPTH = 200
"""The deepest tree of predicates and expressions that is written or read."""

# -- writing -----------------------------------------------------------------------------------


def predicate_to_json(predicate: pred.Predicate) -> Any:
    """Return the predicate as dicts, lists, texts and numbers; `predicate_from_json` reads it back.

    Raises `ResourceLimit` above `MAX_DEPTH` and for integers that are too long, `BadData` for text
    that is not Unicode.

    >>> predicate_to_json(pred.Comparison(pred.Operator.GT, pred.Attribute("v"), pred.Constant(3)))
    {'kind': 'comparison', 'operator': '>', 'left': {'kind': 'attribute', 'name': 'v'},
     'right': {'kind': 'constant', 'value': {'int': 3}}}
    """
    check_depth(predicate)
    return _P.write(predicate)


def check_depth(predicate: pred.Predicate) -> None:
    """Raise `ResourceLimit` for a predicate that nests deeper than `MAX_DEPTH`."""
    level: list[Any] = [predicate]
    depth = 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise too_deep(MAX_DEPTH)
        parts = (getattr(node, name) for node in level for name in type(node).__match_args__)
        # level by level, since recursion would raise RecursionError on a deep tree
        level = [part for part in parts if type(part) in _NODES]


# -- reading -----------------------------------------------------------------------------------


def predicate_from_json(value: Any, path: str = "$") -> pred.Predicate:
    """Return the predicate that `predicate_to_json` wrote.

    Raises `BadData` with the place in the document, which begins with `path`, for malformed
    input, and `ResourceLimit` above `MAX_DEPTH`.

    >>> predicate_from_json({"kind": "type", "type": "BUY"})
    TypeIs(type='BUY')
    """
    predicate: pred.Predicate = _P.read(JsonNode(value, path), 1)
    return predicate


def _pattern(node: JsonNode, _depth: int) -> str:
    pattern = node.text()
    try:
        search(pattern, "")
    except (ValueError, OSError) as error:
        message = f"LIKE takes a regular expression in RE2 syntax: {error}"
        raise node.error("CER0755", message) from None
    return pattern


# -- productions -------------------------------------------------------------------------------


_P = Codec(lambda P: _PREDICATE.write(P), lambda node, depth: _PREDICATE.read(node, depth))
_E = Codec(lambda E: _EXPRESSION.write(E), lambda node, depth: _EXPRESSION.read(node, depth))
"""The codecs of parts, which the productions below define: predicates and expressions nest."""

_PATTERN = Codec(unicode, _pattern)
_VALUES = Codec(
    lambda constants: [value_to_json(each.value) for each in constants],
    lambda node, _: tuple([pred.Constant(value_at(each)) for each in node.items()]),
)
_COMPARISON = member_of(pred.Operator, "operator")
_ARITHMETIC = member_of(pred.Arithmetic, "arithmetic operator")

_PREDICATES = {
    "everything": Production(pred.Everything),
    "type": Production(pred.TypeIs, (TEXT,)),
    "stream": Production(pred.StreamIs, (TEXT,)),
    "comparison": Production(pred.Comparison, (_COMPARISON, _E, _E)),
    "member": Production(pred.Member, (_E, _VALUES, FLAG)),
    "between": Production(pred.Between, (_E, optional(_E), optional(_E), FLAG)),
    "like": Production(pred.Like, (_E, _PATTERN)),
    "and": Production(pred.And, (_P, _P)),
    "or": Production(pred.Or, (_P, _P)),
    "not": Production(pred.Not, (_P,)),
}
_EXPRESSIONS = {
    "constant": Production(pred.Constant, (VALUE,)),
    "attribute": Production(pred.Attribute, (TEXT,)),
    "computed": Production(pred.Computed, (_ARITHMETIC, _E, _E)),
    "negated": Production(pred.Negated, (_E,)),
}
_NODES = {each.make for each in (*_PREDICATES.values(), *_EXPRESSIONS.values())}
_PREDICATE: Codec = tagged(_PREDICATES, "kind of predicate", deepest=MAX_DEPTH)
_EXPRESSION: Codec = tagged(_EXPRESSIONS, "kind of expression", deepest=MAX_DEPTH)

Machine: TypeAlias = Vcea | IntervalCea | AnchoredCea | Ucea
"""The machines that the formats support."""

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
    """Return the name of a machine's kind in JSON."""
    return next(kind for kind, machine in KINDS.items() if type(A) is machine)


def machine_to_value(A: Machine) -> dict[str, Any]:
    """Return the machine as dicts, lists, texts and numbers; `machine_from_value` reads it back.

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
    """Return the machine that `machine_to_value` wrote; `more` are further keys that are permitted.

    Raises `BadData` with the path in the document for malformed input, `IllFormed` for a transition
    into the initial state of a ``cea``, `ResourceLimit` for an automaton that is too large.
    """
    kind_node, states_node, initial, final, transitions, *_ = root.keys(*KEYS, *more)
    kind_node.one_of(KINDS, "kind of machine")
    kind = kind_node.text()
    states = _states(states_node)
    I = _set(initial, lambda node: _state(node, states))
    F = _set(final, lambda node: _state(node, states))
    if kind == "cea" and len(I) != 1:
        raise initial.error("CER0756", f"expected one initial state of a cea, got {len(I)}")
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
        raise node.error("CER0756", f"expected a number of states, got {states}")
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
            raise each.error("CER0732", f"{member!r} occurs twice")
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
