"""Reading of JSON documents with the place of each error, and encoding of event values."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, TypeVar, assert_never

from cerlab.errors import BadData, DataPlace, ResourceLimit, SourcePlace, Span, nearest
from cerlab.model.event import Duration, Timestamp, Value

T = TypeVar("T")


class _RepeatedKey(NamedTuple):
    """A JSON object in which a key occurs twice."""

    key: str


_NAMES = {dict: "an object", list: "a list", str: "a text", int: "an integer", float: "a float"}


_NAMES |= {bool: "true or false", type(None): "null"}


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A value in a JSON document and its path, such as ``$.transitions[3].predicate.left``.

    Its methods raise `BadData` at this path for unexpected values.
    """

    value: Any
    path: str = "$"

    def error(self, code: str, message: str, hint: str = "") -> BadData:
        """Return an error at the path of this value."""
        return BadData(code, message, place=DataPlace(self.path), hint=hint)

    def of(self, kind: type[T]) -> T:
        """Return the value; raise `BadData` unless it is exactly of type `kind`."""
        if isinstance(self.value, _RepeatedKey):
            raise self.error("CER0732", f"'{self.value.key}' occurs twice")
        if type(self.value) is not kind:
            name = _NAMES.get(type(self.value), type(self.value).__name__)
            raise self.error("CER0751", f"expected {_NAMES[kind]}, found {name}")
        value: T = self.value
        return value

    def key(self, name: str) -> JsonNode:
        """Return the value under a key of this object."""
        if name not in self.of(dict):
            raise self.error("CER0752", f"the key '{name}' is missing")
        return JsonNode(self.value[name], f"{self.path}.{name}")

    def keys(self, *names: str) -> list[JsonNode]:
        """Return the values of all keys of this object; raise `BadData` for other keys."""
        for name in self.of(dict):
            if name not in names:
                raise self.error("CER0752", f"unknown key '{name}'", nearest(str(name), names))
        return [self.key(name) for name in names]

    def items(self) -> list[JsonNode]:
        """Return the items of this list."""
        return [JsonNode(v, f"{self.path}[{n}]") for n, v in enumerate(self.of(list))]

    def text(self) -> str:
        """Return this text; raise `BadData` for another type."""
        return unicode(self.of(str), self.path)

    def one_of(self, meanings: Mapping[str, T], noun: str) -> T:
        """Return the choice that this text names; errors call it `noun`."""
        if (name := self.text()) not in meanings:
            raise self.error("CER0753", f"unknown {noun} '{name}'", nearest(name, meanings))
        return meanings[name]


def check_head(root: JsonNode, name: str, form: str, version: int) -> None:
    """Raise `BadData` if a document has another format or version."""
    if root.key("format").text() != form:
        raise root.key("format").error("CER0754", f"this is no {name}", f"the format is '{form}'")
    if (node := root.key("version")).of(int) != version:
        message, hint = (
            f"version {node.value} is not known",
            f"this cerlab reads version {version}",
        )
        raise node.error("CER0754", message, hint)


def read_json(text: str) -> JsonNode:
    """Return the root of a JSON document; raise `BadData` with the place of an error."""
    try:
        return JsonNode(
            json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_no_constant)
        )
    except json.JSONDecodeError as error:
        span = Span(error.lineno, error.colno, error.lineno, error.colno + 1)
        place = SourcePlace(text, span)
        raise BadData(
            "CER0750",
            f"this is not JSON: {error.msg}",
            place=place,
            hint="use the file exactly as it was written",
        ) from None
    except RecursionError:
        raise ResourceLimit(
            "CER0602",
            "the JSON nests too deep",
            place=DataPlace("$"),
            hint="cerlab never writes documents that nest so deeply",
        ) from None
    except ValueError as error:  # NaN, Infinity, or an integer too long for Python to parse
        raise BadData(
            "CER0750",
            f"this is not JSON: {error}",
            place=DataPlace("$"),
            hint="use the file exactly as it was written",
        ) from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _RepeatedKey:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            # an error later, if a query reads this key: the json module would keep its last value
            return _RepeatedKey(name)
        members[name] = value
    return members


def _no_constant(name: str) -> Any:
    raise ValueError(f"write {name} as a text")


def unicode(text: str, path: str = "") -> str:
    """Return the text; raise `BadData` for half of a surrogate pair, which JSON cannot encode."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        place = DataPlace(path) if path else None
        raise BadData(
            "CER0704",
            f"the text {text!r} is not Unicode",
            place=place,
            hint="decode it again: half of a surrogate pair is not a character",
        ) from None
    return text


MAX_DIGITS = 4300
"""Longest integer that is written or read, in digits; Python's own limit for text."""

_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def value_to_json(value: Value) -> Any:
    """Return an attribute's value as JSON without loss.

    Raises `ResourceLimit` above `MAX_DIGITS`, `BadData` for text that is not Unicode.

    >>> value_to_json(2.0), value_to_json(2**60)
    ({'float': 2.0}, {'int': '1152921504606846976'})
    """
    match value:
        # before int, because True is an int in Python
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
        case Duration(nanoseconds):
            return {"duration": _integer_json(nanoseconds)}
        case _:
            assert_never(value)


def _integer_json(value: int) -> int | str:
    # other JSON readers use doubles, which are exact for integers up to this limit
    if abs(value) <= 2**53:
        return value
    if abs(value) >= 10**MAX_DIGITS:
        raise ResourceLimit(
            "CER0661",
            f"an integer has more than {MAX_DIGITS:,} digits",
            hint="values of events are never so large",
        )
    return str(value)


def value_from_json(value: Any, path: str = "$") -> Value:
    """Return the attribute's value that JSON encodes; raise `BadData` for anything else."""
    return value_at(JsonNode(value, path))


def value_at(node: JsonNode) -> Value:
    """Return the attribute's value at a node of a document; raise `BadData` at its path."""
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
            case "duration":
                return Duration(_integer(node.key("duration")))
    raise node.error(
        "CER0752", "expected a number with one of the keys 'int', 'float', 'timestamp', 'duration'"
    )


def _integer(node: JsonNode) -> int:
    if not isinstance(node.value, str):
        return node.of(int)
    # a sign adds one character to the digits
    if len(node.value) > MAX_DIGITS + 1 or not re.fullmatch("-?[0-9]+", node.value):
        raise node.error(
            "CER0755", f"{node.value[:40]!r} is not an integer of {MAX_DIGITS:,} digits"
        )
    return int(node.value)


def _float(node: JsonNode) -> float:
    if isinstance(node.value, str):
        return node.one_of(_FLOATS, "float")
    try:
        value = float(node.of(int)) if type(node.value) is int else node.of(float)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise node.error(
            "CER0755", "the float needs more than 64 bits", "write 'nan', 'inf', '-inf'"
        )
    return value


# codecs


class Codec(NamedTuple):
    """A pair of functions that write a part of a value as JSON and read it back."""

    write: Callable[[Any], Any]
    read: Callable[[JsonNode, int], Any]


class Production(NamedTuple):
    """A class with the codec of each field, for JSON objects with the fields as keys."""

    make: type[Any]
    fields: tuple[Codec, ...] = ()


TEXT = Codec(unicode, lambda node, _: node.text())
FLAG = Codec(bool, lambda node, _: node.of(bool))
VALUE = Codec(value_to_json, lambda node, _: value_at(node))


def member_of(kind: type[Enum], noun: str) -> Codec:
    """Return the codec of an enumeration, whose members are written by their values."""
    members = {each.value: each for each in kind}
    return Codec(lambda member: member.value, lambda node, _: node.one_of(members, noun))


def optional(codec: Codec) -> Codec:
    """Return the codec of optional values: null for None, otherwise as `codec`."""
    return Codec(
        lambda value: None if value is None else codec.write(value),
        lambda node, depth: None if node.value is None else codec.read(node, depth),
    )


def listed(codec: Codec) -> Codec:
    """Return the codec of tuples, which are lists in JSON."""
    return Codec(
        lambda values: [codec.write(each) for each in values],
        lambda node, depth: tuple([codec.read(each, depth) for each in node.items()]),
    )


def tagged(productions: Mapping[str, Production], noun: str, *, deepest: int = 1) -> Codec:
    """Return the codec of objects whose key ``kind`` names their class.

    Reading raises `ResourceLimit` below the depth `deepest`.
    """
    kind_of = {each.make: kind for kind, each in productions.items()}

    def write(value: Any) -> dict[str, Any]:
        kind = kind_of[type(value)]
        names = type(value).__match_args__
        fields = zip(names, productions[kind].fields, strict=True)
        return {"kind": kind, **{name: field.write(getattr(value, name)) for name, field in fields}}

    def read(node: JsonNode, depth: int) -> Any:
        if depth > deepest:
            raise too_deep(deepest, node.path)
        make, fields = node.key("kind").one_of(productions, noun)
        _, *parts = node.keys("kind", *make.__match_args__)
        pairs = zip(fields, parts, strict=True)
        return make(*[field.read(part, depth + 1) for field, part in pairs])

    return Codec(write, read)


def too_deep(deepest: int, path: str = "") -> ResourceLimit:
    """Return the error for a predicate that nests deeper than `deepest`."""
    return ResourceLimit(
        "CER0602",
        f"the predicate nests or chains more than {deepest} operators",
        place=DataPlace(path[:80] + ".." * (len(path) > 80)) if path else None,
        hint="use IN {..} for long lists of values",
    )
