"""JSON documents, read with the place of all that is not as it should be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from cerlab.errors import BadData, DataPlace, ResourceLimit, SourcePlace, Span, nearest

T = TypeVar("T")


class _RepeatedKey(NamedTuple):
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

    def error(self, code: str, message: str, hint: str = "") -> BadData:
        """The error that something is wrong here."""
        return BadData(code, message, place=DataPlace(self.path), hint=hint)

    def of(self, kind: type[T]) -> T:
        """The value, which has to be of this type (a boolean is no integer)."""
        if isinstance(self.value, _RepeatedKey):
            raise self.error("CER0732", f"'{self.value.key}' stands twice")
        if type(self.value) is not kind:
            name = _NAMES.get(type(self.value), type(self.value).__name__)
            raise self.error("CER0751", f"expected {_NAMES[kind]}, found {name}")
        value: T = self.value
        return value

    def key(self, name: str) -> JsonNode:
        """What this object has under a key."""
        if name not in self.of(dict):
            raise self.error("CER0752", f"the key '{name}' is missing")
        return JsonNode(self.value[name], f"{self.path}.{name}")

    def keys(self, *names: str) -> list[JsonNode]:
        """What this object has under these keys, which are all its keys."""
        for name in self.of(dict):
            if name not in names:
                raise self.error("CER0752", f"unknown key '{name}'", nearest(str(name), names))
        return [self.key(name) for name in names]

    def items(self) -> list[JsonNode]:
        """The items of this list."""
        return [JsonNode(v, f"{self.path}[{n}]") for n, v in enumerate(self.of(list))]

    def text(self) -> str:
        """This text."""
        return unicode(self.of(str), self.path)

    def one_of(self, meanings: Mapping[str, T], what: str) -> T:
        """What this text stands for; `what` says what it should name."""
        if (name := self.text()) not in meanings:
            raise self.error("CER0753", f"'{name}' is no {what}", nearest(name, meanings))
        return meanings[name]


def check_head(root: JsonNode, name: str, form: str, version: int) -> None:
    """Raise `BadData` where a document is none of this format (``no plan``) or another version."""
    if root.key("format").text() != form:
        raise root.key("format").error("CER0754", f"this is no {name}", f"the format is '{form}'")
    if (node := root.key("version")).of(int) != version:
        message, hint = (
            f"version {node.value} is not known",
            f"this cerlab reads version {version}",
        )
        raise node.error("CER0754", message, hint)


def read_json(text: str) -> JsonNode:
    """The root of a JSON document; raises `BadData` with line and column where it is none."""
    try:
        return JsonNode(
            json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_no_constant)
        )
    except json.JSONDecodeError as error:
        span = Span(error.lineno, error.colno, error.lineno, error.colno + 1)
        place = SourcePlace(text, span)
        raise BadData(
            "CER0750",
            f"this is no JSON: {error.msg}",
            place=place,
            hint="it is to be kept as it was written",
        ) from None
    except RecursionError:
        raise ResourceLimit(
            "CER0602",
            "the JSON nests too deep",
            place=DataPlace("$"),
            hint="nothing that cerlab writes is so deep",
        ) from None
    except ValueError as error:  # NaN, Infinity, or an integer too long for Python to read
        raise BadData(
            "CER0750",
            f"this is no JSON: {error}",
            place=DataPlace("$"),
            hint="it is to be kept as it was written",
        ) from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _RepeatedKey:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            return _RepeatedKey(name)
        members[name] = value
    return members


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is written as a text")


def unicode(text: str, path: str = "") -> str:
    """The text, if it is one: half of a surrogate pair is no character, and JSON would lose it."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        place = DataPlace(path) if path else None
        raise BadData(
            "CER0704",
            f"the text {text!r} is not Unicode",
            place=place,
            hint="decode it anew: half of a surrogate pair is no character",
        ) from None
    return text
