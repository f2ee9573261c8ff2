"""Paths to fields of nested values: ``user.id`` is field `id` of the objects in column `user`.

A path is the name of an attribute. A field whose name has a dot is back-quoted, as in
``annotations.`authorization.k8s.io/decision` ``. A column with the name of a path takes precedence.
A path that ends at an object or a list reads NULL; one into a list is an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeAlias

from cerlab.errors import BadData, DataPlace, by_door
from cerlab.model.event import Event, PartlyReadable, Value, to_value

Fields: TypeAlias = tuple[str, ...]
"""Names of a column and of the fields below it."""

_FIELD = r"(?:[^.`]+|`(?:[^`]|``)+`)"
_PATH = re.compile(rf"{_FIELD}(?:\.{_FIELD})+")


def path_name(fields: Sequence[str]) -> str:
    """Return a path as an attribute's name; a path of one field is a column's name.

    >>> path_name(["user", "id"]), path_name(["labels", "app.name"]), path_name(["user.id"])
    ('user.id', 'labels.`app.name`', 'user.id')
    """
    if len(fields) == 1:
        return fields[0]
    return ".".join(_quoted(field) if set(field) & set(".`") else field for field in fields)


def _quoted(field: str) -> str:
    doubled = field.replace("`", "``")
    return f"`{doubled}`"


@lru_cache(1 << 12)
def fields_of(name: str) -> Fields | None:
    """Return the fields of a path; None for a name that is not a path.

    >>> fields_of("user.id"), fields_of("labels.`app.name`"), fields_of("user"), fields_of("a..b")
    (('user', 'id'), ('labels', 'app.name'), None, None)
    """
    if "." not in name or _PATH.fullmatch(name) is None:
        return None
    return tuple(
        field[1:-1].replace("``", "`") if field.startswith("`") else field
        for field in re.findall(_FIELD, name)
    )


def column_of_path(name: str) -> str:
    """Return the column where a path begins; a name that is not a path is returned unchanged."""
    fields = fields_of(name)
    return name if fields is None else fields[0]


def into_list(name: str, field: str, noun: str = "a list") -> BadData:
    """Return the error that a path goes through a field that is not an object."""
    return BadData(
        "CER0741",
        f"the path '{name}' goes into {noun}: '{field}' is not an object",
        place=DataPlace("the events", None, name),
        hint=by_door(
            "a path reads fields of objects; records= reads the rows of a list",
            "a path reads fields of objects; --records reads the rows of a list",
        ),
    )


class RepeatedKey(dict[str, Any]):
    """A JSON object with a duplicate key, which cannot be read."""

    repeated: str


def field_value(value: Any, fields: Fields, name: str) -> Value:
    """Return the value at the end of a path, from the JSON value of its first field.

    An object or a list there becomes None. Raises KeyError if no object has the field, and
    `BadData` for a list on the way, a duplicate key, and a number beyond 64 bits.
    """
    for n, field in enumerate(fields[1:]):
        if isinstance(value, list):
            raise into_list(name, fields[n])
        if not isinstance(value, Mapping):
            raise KeyError(name)
        if isinstance(value, RepeatedKey) and value.repeated == field:
            hint = "remove one of the two"
            place = DataPlace("the events", None, name)
            raise BadData("CER0732", f"'{name}' occurs twice", place=place, hint=hint)
        value = value[field]
    if isinstance(value, list | Mapping):
        return None
    is_int = isinstance(value, int) and not -(2**63) <= value < 2**63
    if is_int or (isinstance(value, float) and math.isinf(value)):
        message = f"the number at '{name}' needs more than 64 bits"
        place = DataPlace("the events", None, name)
        raise BadData("CER0720", message, place=place, hint="write the number as a text, in quotes")
    return to_value(value, name)


def field_places(kind: Any, fields: Fields, name: str) -> tuple[list[int], Any]:
    """Return the field indices of a path in an Arrow type, and the type at its end.

    Raises KeyError if no object has the field, and `BadData` as `field_value`.
    """
    from pyarrow import types

    places = []
    for n, field in enumerate(fields[1:]):
        if not types.is_struct(kind):
            if not types.is_nested(kind):
                raise KeyError(name)
            raise into_list(name, fields[n], "a map" if types.is_map(kind) else "a list")
        at = kind.get_field_index(field)
        if at < 0:
            if field in [each.name for each in kind]:
                hint = "rename or drop one of the two fields"
                raise BadData("CER0732", f"'{name}' occurs twice", hint=hint)
            raise KeyError(name)
        places.append(at)
        kind = kind.field(at).type
    return places, kind


def has_field(kind: Any, fields: Fields, name: str) -> bool:
    """Return whether an Arrow type has the fields of a path."""
    try:
        field_places(kind, fields, name)
    except KeyError:
        return False
    except BadData:
        return True
    return True


def field_column(column: Any, fields: Fields, name: str) -> Any:
    """Return the values at the end of a path as an Arrow column; objects and lists become NULL.

    Raises as `field_places`.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    places, kind = field_places(column.type, fields, name)
    if pa.types.is_nested(kind):
        return pa.nulls(len(column))
    return pc.struct_field(column, places)


def nested_column(name: str, kind: object, field: str | None = None) -> BadData:
    """Return the error that a query reads a column of an unsupported `kind`, such as lists.

    `field` is a field of the column, for the hint.
    """
    hint = "cast it to numbers, text, booleans, moments or durations, or drop it"
    if field is not None:
        hint = f"write a path to one of its fields, such as {path_name([name, field])}"
    message = f"column '{name}' of {kind} holds no values of events"
    return BadData("CER0741", message, place=DataPlace("the events", None, name), hint=hint)


class ObjectPaths:
    """The nested values of one event, read by paths."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __call__(self, name: str) -> Value:
        """Return the value at the end of a path; raises the errors of `field_value`."""
        fields = fields_of(name)
        if fields is None or fields[0] not in self._values:
            raise KeyError(name)
        return field_value(self._values[fields[0]], fields, name)

    def whole(self, name: str) -> Any:
        """Return the object or list of a column."""
        return self._values[name]


def with_nested(
    event: Event, nested: Mapping[str, Any], place: Callable[[str], DataPlace] | None = None
) -> Event:
    """Return an event with nested JSON objects and lists as further attributes."""
    values = {name: value for name, value in event.attributes.items() if name not in nested}
    errors = {}
    for name, value in nested.items():
        field = next(iter(value), None) if isinstance(value, dict) else None
        kind = "objects" if isinstance(value, dict) else "lists"
        errors[name] = nested_column(name, kind, field)
        if place is not None:
            errors[name].place = place(name)
    names = list(dict.fromkeys((*event.attributes, *nested)))
    return replace(event, attributes=PartlyReadable(names, values, errors, ObjectPaths(nested)))


def has_repeated_key(value: Any) -> bool:
    """Return whether some object in a JSON value has a duplicate key."""
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, RepeatedKey):
            return True
        pending += (
            each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        )
    return False


def with_objects(event: Event) -> Mapping[str, Any]:
    """Return the attributes of an event, with nested values as Python dictionaries and lists."""
    attributes = event.attributes
    if not isinstance(attributes, PartlyReadable):
        return attributes
    paths, errors = attributes.paths, attributes.errors
    return {name: paths.whole(name) if name in errors else attributes[name] for name in attributes}
