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
    V   a value of an event, as `cerlab.model.json_values` says: {"int": 3}, "text", null, ..
"""

from __future__ import annotations

from typing import Any, TypeAlias, assert_never

from cerlab.errors import DataPlace, ResourceLimit
from cerlab.model.json_document import JsonNode, unicode
from cerlab.model.json_values import value_at, value_to_json
from cerlab.predicates import syntax as pred
from cerlab.predicates.truth import search

MAX_DEPTH = 200
"""The deepest tree of predicates and expressions that is written or read."""

_OPERATORS = {op.value: op for op in pred.Operator}
_ARITHMETIC = {op.value: op for op in pred.Arithmetic}
_ATOMS = ("type", "stream", "comparison", "member", "between", "like")
_PREDICATES = ("everything", *_ATOMS, "and", "or", "not")
_EXPRESSIONS = ("constant", "attribute", "computed", "negated")

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
    return _predicate_json(predicate)


def check_depth(predicate: pred.Predicate) -> None:
    """Raise `ResourceLimit` for a predicate deeper than `MAX_DEPTH`, without any recursion."""
    level: list[Node] = [predicate]
    depth = 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise _too_deep()
        level = [child for node in level for child in _children(node)]


def _children(node: Node) -> tuple[Node, ...]:
    match node:
        case pred.And(first, second) | pred.Or(first, second):
            return (first, second)
        case pred.Comparison(_, left, right) | pred.Computed(_, left, right):
            return (left, right)
        case pred.Between(operand, low, high):
            return (operand, *(bound for bound in (low, high) if bound is not None))
        case pred.Not(inner):
            return (inner,)
        case pred.Member(operand) | pred.Like(operand) | pred.Negated(operand):
            return (operand,)
        case _:
            return ()


def _too_deep(path: str = "") -> ResourceLimit:
    return ResourceLimit(
        "CER0602",
        f"the predicate nests or chains more than {MAX_DEPTH} operators",
        place=DataPlace(path[:80] + ".." * (len(path) > 80)) if path else None,
        hint="use IN {..} for long lists of values",
    )


def _predicate_json(P: pred.Predicate) -> dict[str, Any]:
    match P:
        case pred.Everything():
            return {"kind": "everything"}
        case pred.TypeIs(name):
            return {"kind": "type", "type": unicode(name)}
        case pred.StreamIs(name):
            return {"kind": "stream", "stream": unicode(name)}
        case pred.Comparison(op, left, right):
            sides = {"left": _expression_json(left), "right": _expression_json(right)}
            return {"kind": "comparison", "operator": op.value, **sides}
        case pred.Member(operand, values, negated):
            listed = [value_to_json(each.value) for each in values]
            fields = {"operand": _expression_json(operand), "values": listed, "negated": negated}
            return {"kind": "member", **fields}
        case pred.Between(operand, low, high, negated):
            bounds = [None if end is None else _expression_json(end) for end in (low, high)]
            fields = {"operand": _expression_json(operand), "low": bounds[0], "high": bounds[1]}
            return {"kind": "between", **fields, "negated": negated}
        case pred.Like(operand, pattern):
            fields = {"operand": _expression_json(operand), "pattern": unicode(pattern)}
            return {"kind": "like", **fields}
        case pred.And(first, second):
            return {"kind": "and", "left": _predicate_json(first), "right": _predicate_json(second)}
        case pred.Or(first, second):
            return {"kind": "or", "left": _predicate_json(first), "right": _predicate_json(second)}
        case pred.Not(inner):
            return {"kind": "not", "operand": _predicate_json(inner)}
        case _:
            assert_never(P)


def _expression_json(expression: pred.Expression) -> dict[str, Any]:
    match expression:
        case pred.Constant(value):
            return {"kind": "constant", "value": value_to_json(value)}
        case pred.Attribute(name):
            return {"kind": "attribute", "name": unicode(name)}
        case pred.Computed(op, left, right):
            sides = {"left": _expression_json(left), "right": _expression_json(right)}
            return {"kind": "computed", "operator": op.value, **sides}
        case pred.Negated(operand):
            return {"kind": "negated", "operand": _expression_json(operand)}
        case _:
            assert_never(expression)


# -- reading -----------------------------------------------------------------------------------


def predicate_from_json(value: Any, path: str = "$") -> pred.Predicate:
    """The predicate that `predicate_to_json` wrote.

    Raises `BadData` at the place in the document, which `path` leads to, for all that is
    malformed, and `ResourceLimit` above `MAX_DEPTH`.

    >>> predicate_from_json({"kind": "type", "type": "BUY"})
    TypeIs(type='BUY')
    """
    return _predicate(JsonNode(value, path), 1)


def _predicate(node: JsonNode, depth: int) -> pred.Predicate:
    kind = _kind(node, _PREDICATES, "kind of predicate", depth)
    below = depth + 1
    match kind:
        case "everything":
            node.keys("kind")
            return pred.EVERYTHING
        case "type":
            _, name = node.keys("kind", "type")
            return pred.TypeIs(name.text())
        case "stream":
            _, name = node.keys("kind", "stream")
            return pred.StreamIs(name.text())
        case "comparison":
            _, op, left, right = node.keys("kind", "operator", "left", "right")
            operator = op.one_of(_OPERATORS, "operator")
            return pred.Comparison(operator, _expression(left, below), _expression(right, below))
        case "member":
            _, operand, values, negated = node.keys("kind", "operand", "values", "negated")
            listed = tuple([pred.Constant(value_at(each)) for each in values.items()])
            return pred.Member(_expression(operand, below), listed, negated.of(bool))
        case "between":
            _, operand, *ends, negated = node.keys("kind", "operand", "low", "high", "negated")
            low, high = [None if e.value is None else _expression(e, below) for e in ends]
            return pred.Between(_expression(operand, below), low, high, negated.of(bool))
        case "like":
            _, operand, pattern = node.keys("kind", "operand", "pattern")
            return pred.Like(_expression(operand, below), _pattern(pattern))
        case "not":
            _, inner = node.keys("kind", "operand")
            return pred.Not(_predicate(inner, below))
        case _:
            _, left, right = node.keys("kind", "left", "right")
            make = pred.And if kind == "and" else pred.Or
            return make(_predicate(left, below), _predicate(right, below))


def _expression(node: JsonNode, depth: int) -> pred.Expression:
    below = depth + 1
    match _kind(node, _EXPRESSIONS, "kind of expression", depth):
        case "constant":
            _, value = node.keys("kind", "value")
            return pred.Constant(value_at(value))
        case "attribute":
            _, name = node.keys("kind", "name")
            return pred.Attribute(name.text())
        case "negated":
            _, operand = node.keys("kind", "operand")
            return pred.Negated(_expression(operand, below))
        case _:
            _, op, left, right = node.keys("kind", "operator", "left", "right")
            operator = op.one_of(_ARITHMETIC, "arithmetic operator")
            return pred.Computed(operator, _expression(left, below), _expression(right, below))


def _kind(node: JsonNode, known: tuple[str, ...], what: str, depth: int) -> str:
    if depth > MAX_DEPTH:
        raise _too_deep(node.path)
    return node.key("kind").one_of({name: name for name in known}, what)


def _pattern(node: JsonNode) -> str:
    pattern = node.text()
    try:
        search(pattern, "")
    except (ValueError, OSError) as error:
        message = f"LIKE takes a regular expression in RE2 syntax: {error}"
        raise node.bad("CER0755", message) from None
    return pattern
