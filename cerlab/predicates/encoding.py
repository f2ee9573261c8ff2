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
    V   null    true    false    "text"    {"int": 3}    {"float": 1.5}    {"timestamp": 0}

Numbers say which kind they are: 1, 1.0 and TRUE are three constants, and JSON tools turn 1.0 into
1. Integers beyond 2^53, which such tools would round, are texts of digits; the floats that JSON
lacks are ``"nan"``, ``"inf"`` and ``"-inf"``; a timestamp counts nanoseconds since 1970.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar, assert_never

from cerlab.errors import BadData, DataPlace, ResourceLimit, SourcePlace, Span, nearest
from cerlab.model.event import Timestamp, Value
from cerlab.predicates import syntax as pred
from cerlab.predicates.truth import search

MAX_DEPTH = 200
"""The deepest tree of predicates and expressions that is written or read."""

MAX_DIGITS = 4300
"""The longest integer that is written or read; Python's own limit for integers as text."""

_OPERATORS = {op.value: op for op in pred.Operator}
_ARITHMETIC = {op.value: op for op in pred.Arithmetic}
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_ATOMS = ("type", "stream", "comparison", "member", "between", "like")
_PREDICATES = ("everything", *_ATOMS, "and", "or", "not")
_EXPRESSIONS = ("constant", "attribute", "computed", "negated")

Node: TypeAlias = pred.Predicate | pred.Expression
T = TypeVar("T")


# -- writing -----------------------------------------------------------------------------------


def predicate_to_json(predicate: pred.Predicate) -> Any:
    """The predicate as dicts, lists, texts and numbers; `predicate_from_json` reads it back.

    Raises `ResourceLimit` above `MAX_DEPTH` and `MAX_DIGITS`, `BadData` for text that is not
    Unicode.

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
        case pred.Conjunction(first, second) | pred.Disjunction(first, second):
            return (first, second)
        case pred.Comparison(_, left, right) | pred.Computed(_, left, right):
            return (left, right)
        case pred.Between(operand, low, high):
            return (operand, *(bound for bound in (low, high) if bound is not None))
        case pred.Complement(inner):
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
            listed = [_value_json(each.value) for each in values]
            fields = {"operand": _expression_json(operand), "values": listed, "negated": negated}
            return {"kind": "member", **fields}
        case pred.Between(operand, low, high, negated):
            bounds = [None if end is None else _expression_json(end) for end in (low, high)]
            fields = {"operand": _expression_json(operand), "low": bounds[0], "high": bounds[1]}
            return {"kind": "between", **fields, "negated": negated}
        case pred.Like(operand, pattern):
            fields = {"operand": _expression_json(operand), "pattern": unicode(pattern)}
            return {"kind": "like", **fields}
        case pred.Conjunction(first, second):
            return {"kind": "and", "left": _predicate_json(first), "right": _predicate_json(second)}
        case pred.Disjunction(first, second):
            return {"kind": "or", "left": _predicate_json(first), "right": _predicate_json(second)}
        case pred.Complement(inner):
            return {"kind": "not", "operand": _predicate_json(inner)}
        case _:
            assert_never(P)


def _expression_json(expression: pred.Expression) -> dict[str, Any]:
    match expression:
        case pred.Constant(value):
            return {"kind": "constant", "value": _value_json(value)}
        case pred.Attribute(name):
            return {"kind": "attribute", "name": unicode(name)}
        case pred.Computed(op, left, right):
            sides = {"left": _expression_json(left), "right": _expression_json(right)}
            return {"kind": "computed", "operator": op.value, **sides}
        case pred.Negated(operand):
            return {"kind": "negated", "operand": _expression_json(operand)}
        case _:
            assert_never(expression)


def value_to_json(value: Value) -> Any:
    """A value of an event as JSON, exactly; see the table at the top."""
    return _value_json(value)


def value_from_json(value: Any, path: str = "$") -> Value:
    """The value again; raises `BadData` with its place in the document."""
    return _value(JsonNode(value, path))


def _value_json(value: Value) -> Any:
    match value:
        case None | bool():
            return value
        case str():
            return unicode(value)
        case int():
            return {"int": _integer_json(value)}
        case float():
            return {"float": value if math.isfinite(value) else repr(value)}
        case Timestamp(nanoseconds):
            return {"timestamp": _integer_json(nanoseconds)}
        case _:
            assert_never(value)


def _integer_json(value: int) -> int | str:
    if abs(value) <= 2**53:
        return value
    if abs(value) >= 10**MAX_DIGITS:
        raise ResourceLimit("CER0661", f"an integer has more than {MAX_DIGITS:,} digits")
    return str(value)


def unicode(text: str, path: str = "") -> str:
    """The text, if it is one: half of a surrogate pair is no character, and JSON would lose it."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        place = DataPlace(path) if path else None
        raise BadData("CER0704", f"the text {text!r} is not Unicode", place=place) from None
    return text


# -- reading -----------------------------------------------------------------------------------


class _Repeated(NamedTuple):
    """An object with a key that stands twice."""

    key: str


_NAMES = {dict: "an object", list: "a list", str: "a text", int: "an integer", float: "a float"}
_NAMES |= {bool: "true or false", type(None): "null"}


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A value in a JSON document and the path to it: ``$.transitions[3].predicate.left``.

    All that is not as asked for is `BadData` at this path.
    """

    value: Any
    path: str = "$"

    def bad(self, code: str, message: str, hint: str = "") -> BadData:
        """The error that something is wrong here."""
        return BadData(code, message, place=DataPlace(self.path), hint=hint)

    def of(self, kind: type[T]) -> T:
        """The value, which has to be of this type (a boolean is no integer)."""
        if isinstance(self.value, _Repeated):
            raise self.bad("CER0732", f"'{self.value.key}' stands twice")
        if type(self.value) is not kind:
            found = _NAMES.get(type(self.value), type(self.value).__name__)
            raise self.bad("CER0751", f"expected {_NAMES[kind]}, found {found}")
        value: T = self.value
        return value

    def key(self, name: str) -> JsonNode:
        """What this object has under a key."""
        if name not in self.of(dict):
            raise self.bad("CER0752", f"the key '{name}' is missing")
        return JsonNode(self.value[name], f"{self.path}.{name}")

    def keys(self, *names: str) -> list[JsonNode]:
        """What this object has under these keys, which are all its keys."""
        for name in self.of(dict):
            if name not in names:
                raise self.bad("CER0752", f"unknown key '{name}'", nearest(str(name), names))
        return [self.key(name) for name in names]

    def items(self) -> list[JsonNode]:
        """The items of this list."""
        return [JsonNode(v, f"{self.path}[{n}]") for n, v in enumerate(self.of(list))]

    def text(self) -> str:
        """This text."""
        return unicode(self.of(str), self.path)

    def one_of(self, known: Mapping[str, T], what: str) -> T:
        """What this text stands for; `what` says what it should name."""
        if (name := self.text()) not in known:
            raise self.bad("CER0753", f"'{name}' is no {what}", nearest(name, known))
        return known[name]


def read_json(text: str) -> JsonNode:
    """The root of a JSON document; raises `BadData` with line and column where it is none."""
    try:
        return JsonNode(json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant))
    except json.JSONDecodeError as error:
        span = Span(error.lineno, error.colno, error.lineno, error.colno + 1)
        place = SourcePlace(text, span)
        raise BadData("CER0750", f"this is no JSON: {error.msg}", place=place) from None
    except RecursionError:
        raise ResourceLimit("CER0602", "the JSON nests too deep", place=DataPlace("$")) from None
    except ValueError as error:  # NaN, Infinity, or an integer too long for Python to read
        raise BadData("CER0750", f"this is no JSON: {error}", place=DataPlace("$")) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Repeated:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            return _Repeated(name)
        found[name] = value
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is written as a text")


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
            listed = tuple([pred.Constant(_value(each)) for each in values.items()])
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
            return pred.Complement(_predicate(inner, below))
        case _:
            _, left, right = node.keys("kind", "left", "right")
            make = pred.Conjunction if kind == "and" else pred.Disjunction
            return make(_predicate(left, below), _predicate(right, below))


def _expression(node: JsonNode, depth: int) -> pred.Expression:
    below = depth + 1
    match _kind(node, _EXPRESSIONS, "kind of expression", depth):
        case "constant":
            _, value = node.keys("kind", "value")
            return pred.Constant(_value(value))
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


def _value(node: JsonNode) -> Value:
    value = node.value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return node.text()
    if len(node.of(dict)) == 1:
        match next(iter(value)):
            case "int":
                return _integer(node.key("int"))
            case "float":
                return _float(node.key("float"))
            case "timestamp":
                return Timestamp(_integer(node.key("timestamp")))
    raise node.bad("CER0752", "a number has one of the keys 'int', 'float', 'timestamp'")


def _integer(node: JsonNode) -> int:
    if not isinstance(node.value, str):
        return node.of(int)
    if len(node.value) > MAX_DIGITS + 1 or not re.fullmatch("-?[0-9]+", node.value):
        raise node.bad("CER0755", f"{node.value[:40]!r} is no integer of {MAX_DIGITS:,} digits")
    return int(node.value)


def _float(node: JsonNode) -> float:
    if isinstance(node.value, str):
        return node.one_of(_FLOATS, "float")
    try:
        value = float(node.of(int)) if type(node.value) is int else node.of(float)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise node.bad("CER0755", "the float needs more than 64 bits", "write 'nan', 'inf', '-inf'")
    return value
