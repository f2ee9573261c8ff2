"""Predicates as plain JSON values and back, exact for every constant; reading runs no code.

A predicate P, or an expression E in it, is an object: ``kind`` names the production, the other
keys are its fields, all of them and no others.

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
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from cerlab.errors import DataPlace, ResourceLimit
from cerlab.model.documents import JsonNode, unicode, value_at, value_to_json
from cerlab.predicates import syntax as pred
from cerlab.predicates.truth import search

MAX_DEPTH = 200
"""The deepest tree of predicates and expressions that is written or read."""

Node: TypeAlias = pred.Predicate | pred.Expression


# -- writing -----------------------------------------------------------------------------------


def predicate_to_json(predicate: pred.Predicate) -> Any:
    """The predicate as dicts, lists, texts and numbers; `predicate_from_json` reads it back.

    Raises `ResourceLimit` above `MAX_DEPTH` and for integers that are too long, `BadData` for text
    that is not Unicode.

    >>> predicate_to_json(pred.Comparison(pred.Operator.GT, pred.Attribute("v"), pred.Constant(3)))
    {'kind': 'comparison', 'operator': '>', 'left': {'kind': 'attribute', 'name': 'v'},
     'right': {'kind': 'constant', 'value': {'int': 3}}}
    """
    check_depth(predicate)
    return _json(predicate)


def check_depth(predicate: pred.Predicate) -> None:
    """Raise `ResourceLimit` for a predicate deeper than `MAX_DEPTH`, without any recursion."""
    level: list[Any] = [predicate]
    depth = 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise _too_deep()
        level = [part for node in level for _, part in _parts(node) if type(part) in _KIND_OF]


def _parts(node: Node) -> list[tuple[str, Any]]:
    return [(name, getattr(node, name)) for name in type(node).__match_args__]


def _too_deep(path: str = "") -> ResourceLimit:
    return ResourceLimit(
        "CER0602",
        f"the predicate nests or chains more than {MAX_DEPTH} operators",
        place=DataPlace(path[:80] + ".." * (len(path) > 80)) if path else None,
        hint="use IN {..} for long lists of values",
    )


def _json(node: Node) -> dict[str, Any]:
    kind = _KIND_OF[type(node)]
    parts = zip(_parts(node), _PRODUCTIONS[kind].fields, strict=True)
    return {"kind": kind, **{name: field.write(part) for (name, part), field in parts}}


# -- reading -----------------------------------------------------------------------------------


def predicate_from_json(value: Any, path: str = "$") -> pred.Predicate:
    """The predicate that `predicate_to_json` wrote.

    Raises `BadData` at the place in the document, which `path` leads to, for all that is
    malformed, and `ResourceLimit` above `MAX_DEPTH`.

    >>> predicate_from_json({"kind": "type", "type": "BUY"})
    TypeIs(type='BUY')
    """
    predicate: pred.Predicate = _predicate(JsonNode(value, path), 1)
    return predicate


def _read_node(node: JsonNode, productions: Mapping[str, Production], what: str, depth: int) -> Any:
    """The node of one of the known kinds."""
    if depth > MAX_DEPTH:
        raise _too_deep(node.path)
    make, fields = node.key("kind").one_of(productions, what)
    _, *parts = node.keys("kind", *make.__match_args__)
    return make(*[field.read(part, depth + 1) for field, part in zip(fields, parts, strict=True)])


def _predicate(node: JsonNode, depth: int) -> Any:
    return _read_node(node, _PREDICATES, "kind of predicate", depth)


def _expression(node: JsonNode, depth: int) -> Any:
    return _read_node(node, _EXPRESSIONS, "kind of expression", depth)


def _pattern(node: JsonNode, _depth: int) -> str:
    pattern = node.text()
    try:
        search(pattern, "")
    except (ValueError, OSError) as error:
        message = f"LIKE takes a regular expression in RE2 syntax: {error}"
        raise node.error("CER0755", message) from None
    return pattern


# -- productions -------------------------------------------------------------------------------


class Field(NamedTuple):
    """The codec of a part of a node: how to write it, and to read it at a depth."""

    write: Callable[[Any], Any]
    read: Callable[[JsonNode, int], Any]


class Production(NamedTuple):
    """A class of nodes, whose fields have the keys, and how each of these is written and read."""

    make: type[Any]
    fields: tuple[Field, ...] = ()


def _operator(kind: type[pred.Operator] | type[pred.Arithmetic], what: str) -> Field:
    operators = {each.value: each for each in kind}
    return Field(lambda op: op.value, lambda node, _: node.one_of(operators, what))


_P = Field(_json, _predicate)
_E = Field(_json, _expression)
_BOUND = Field(
    lambda end: None if end is None else _json(end),
    lambda node, depth: None if node.value is None else _expression(node, depth),
)
_TEXT = Field(unicode, lambda node, _: node.text())
_PATTERN = Field(unicode, _pattern)
_FLAG = Field(bool, lambda node, _: node.of(bool))
_VALUE = Field(value_to_json, lambda node, _: value_at(node))
_VALUES = Field(
    lambda values: [value_to_json(each.value) for each in values],
    lambda node, _: tuple([pred.Constant(value_at(each)) for each in node.items()]),
)
_COMPARISON = _operator(pred.Operator, "operator")
_ARITHMETIC = _operator(pred.Arithmetic, "arithmetic operator")

_PREDICATES: Mapping[str, Production] = {
    "everything": Production(pred.Everything),
    "type": Production(pred.TypeIs, (_TEXT,)),
    "stream": Production(pred.StreamIs, (_TEXT,)),
    "comparison": Production(pred.Comparison, (_COMPARISON, _E, _E)),
    "member": Production(pred.Member, (_E, _VALUES, _FLAG)),
    "between": Production(pred.Between, (_E, _BOUND, _BOUND, _FLAG)),
    "like": Production(pred.Like, (_E, _PATTERN)),
    "and": Production(pred.And, (_P, _P)),
    "or": Production(pred.Or, (_P, _P)),
    "not": Production(pred.Not, (_P,)),
}
_EXPRESSIONS: Mapping[str, Production] = {
    "constant": Production(pred.Constant, (_VALUE,)),
    "attribute": Production(pred.Attribute, (_TEXT,)),
    "computed": Production(pred.Computed, (_ARITHMETIC, _E, _E)),
    "negated": Production(pred.Negated, (_E,)),
}
_PRODUCTIONS = {**_PREDICATES, **_EXPRESSIONS}
_KIND_OF: Mapping[Any, str] = {each.make: kind for kind, each in _PRODUCTIONS.items()}
