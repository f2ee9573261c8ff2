"""Kinds of values in row expressions, and rules for the kinds of function results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import TypeAlias

from cerlab.predicates import syntax as pred
from cerlab.predicates.truth import kind_of_result


class Kind(Enum):
    """The kind of an expression's values; columns of kind `OTHER` cannot be read."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    DOUBLE = "double"
    TEXT = "text"
    MOMENT = "moment"
    DURATION = "duration"
    LIST = "list"
    NULL = "NULL"
    OTHER = "no scalar"


class WrongKind(Exception):
    """Error: an argument has an unsupported kind.

    `at` is its index, None for all.
    """

    def __init__(self, at: int | None, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.at, self.message, self.hint = at, message, hint


TypeRule: TypeAlias = Callable[[str, Sequence[Kind]], Kind]
"""The kind of the result, by the function's name and the arguments' kinds; raises `WrongKind`."""

NUMBERS = (Kind.INTEGER, Kind.DOUBLE, Kind.NULL)

TIMES = (Kind.MOMENT, Kind.DURATION)

_NAMES = {Kind.MOMENT: "timestamp", Kind.DURATION: "duration"}
_NAMES |= {Kind.INTEGER: "number", Kind.DOUBLE: "number"}
"""Kinds as `cerlab.predicates.truth` names them."""

_KINDS = {"timestamp": Kind.MOMENT, "duration": Kind.DURATION, "number": Kind.DOUBLE, None: None}

_LITERALS = {Kind.MOMENT: "TIMESTAMP '2024-01-31 10:00'", Kind.DURATION: "INTERVAL '5' SECOND"}
"""A literal of each kind, for hints."""


def accepting(noun: str, *accepted: tuple[Kind, ...], result: Kind | None = None) -> TypeRule:
    """Return a rule that requires one of the given kinds for each argument.

    The last entry of `accepted` applies to all further arguments. The result has the kind of the
    first argument unless `result` is given.
    """

    def rule(name: str, kinds: Sequence[Kind]) -> Kind:
        for i, kind in enumerate(kinds):
            if kind not in accepted[min(i, len(accepted) - 1)]:
                is_time = kind is Kind.TEXT and Kind.MOMENT in accepted[0]
                hint = "write CAST(.. AS TIMESTAMP)" if is_time else ""
                raise WrongKind(i, f"{name} expects {noun}, got {kind.value}", hint)
        return kinds[0] if result is None else result

    return rule


def _check_comparable(at: int, left: Kind, right: Kind) -> None:
    both = {left, right} - {Kind.NULL}
    if len(both) > 1 and both != {Kind.INTEGER, Kind.DOUBLE}:
        kind_names = " and ".join(sorted(kind.value for kind in both))
        literals = [_LITERALS[kind] for kind in both if kind in _LITERALS]
        hint = f"write {literals[0]}" if literals else "compare values of one kind"
        raise WrongKind(at, f"{kind_names} do not compare", hint)


def comparable(name: str, kinds: Sequence[Kind]) -> Kind:
    """Return Boolean, after checking that all values compare with the first."""
    for i, kind in enumerate(kinds):
        _check_comparable(i, kinds[0], kind)
    return Kind.BOOLEAN


def common(name: str, kinds: Sequence[Kind]) -> Kind:
    """Return the common kind of values that compare; integers and doubles give double."""
    for i, kind in enumerate(kinds):
        for before in kinds[:i]:
            _check_comparable(i, before, kind)
    present = set(kinds) - {Kind.NULL}
    return Kind.DOUBLE if Kind.DOUBLE in present else next(iter(present), Kind.NULL)


def kind_of_first(name: str, kinds: Sequence[Kind]) -> Kind:
    """Return the kind of the first value, after checking that all others compare with it."""
    comparable(name, kinds)
    return kinds[0]


def number(name: str, kinds: Sequence[Kind]) -> Kind:
    """Return the kind of an arithmetic operation on numbers."""
    accepting("numbers", NUMBERS)(name, kinds)
    return Kind.DOUBLE if name == "/" or Kind.DOUBLE in kinds else Kind.INTEGER


def number_or_time(name: str, kinds: Sequence[Kind]) -> Kind:
    """Return the kind of an arithmetic operation on numbers, timestamps and durations."""
    if not set(kinds) & set(TIMES):
        return number(name, kinds)
    if Kind.NULL in kinds:
        return Kind.NULL
    result = _KINDS[kind_of_result(pred.Arithmetic(name), *map(_NAMES.get, kinds))]
    if result is None:
        hint = "a moment and a duration, INTERVAL '30' MINUTE, give a moment"
        text = " and ".join(kind.value for kind in kinds)
        raise WrongKind(None, f"{name} does not accept {text}", hint)
    return result
