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

from typing import Any

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
    """The predicate as dicts, lists, texts and numbers; `predicate_from_json` reads it back.

    Raises `ResourceLimit` above `MAX_DEPTH` and for integers that are too long, `BadData` for text
    that is not Unicode.

    >>> predicate_to_json(pred.Comparison(pred.Operator.GT, pred.Attribute("v"), pred.Constant(3)))
    {'kind': 'comparison', 'operator': '>', 'left': {'kind': 'attribute', 'name': 'v'},
     'right': {'kind': 'constant', 'value': {'int': 3}}}
    """
    check_depth(predicate)
    return _P.write(predicate)


def check_depth(predicate: pred.Predicate) -> None:
    """Raise `ResourceLimit` for a predicate deeper than `MAX_DEPTH`, without any recursion."""
    level: list[Any] = [predicate]
    depth = 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise too_deep(MAX_DEPTH)
        parts = (getattr(node, name) for node in level for name in type(node).__match_args__)
        # level by level: a tree that is too deep would end in RecursionError first
        level = [part for part in parts if type(part) in _NODES]


# -- reading -----------------------------------------------------------------------------------


def predicate_from_json(value: Any, path: str = "$") -> pred.Predicate:
    """The predicate that `predicate_to_json` wrote.

    Raises `BadData` at the place in the document, which `path` leads to, for all that is
    malformed, and `ResourceLimit` above `MAX_DEPTH`.

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
