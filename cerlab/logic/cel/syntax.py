"""Formulas of the CEL family, one dataclass per production (CORE Sec. 2.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeAlias

from cerlab.display import drawable
from cerlab.errors import ResourceLimit
from cerlab.model.clauses import AttributeWindow, EventWindow, Strategy, TimeWindow, Window
from cerlab.predicates.condition import Condition as Condition
from cerlab.predicates.condition import On as On


@drawable
@dataclass(frozen=True, slots=True)
class Atom:
    """An atom ``R`` or ``S>R``: one event of type R (in stream S), which gets label R."""

    type: str
    stream: str | None = None


@drawable
@dataclass(frozen=True, slots=True)
class Not:
    """A negation ``NOT(R)`` or ``NOT(R FILTER ..)``: one event that does not match.

    `body` is an `Atom`, possibly under `Filter`.
    """

    body: Formula


@drawable
@dataclass(frozen=True, slots=True)
class As:
    """A label: ``body AS label``."""

    body: Formula
    label: str


@drawable
@dataclass(frozen=True, slots=True)
class Filter:
    """A filter: ``body FILTER condition``."""

    body: Formula
    condition: Condition


@drawable
@dataclass(frozen=True, slots=True)
class Or:
    """A choice: ``left OR right``."""

    left: Formula
    right: Formula


@drawable
@dataclass(frozen=True, slots=True)
class And:
    """A conjunction ``left AND right``: the valuations of both sides."""

    left: Formula
    right: Formula


@drawable
@dataclass(frozen=True, slots=True)
class All:
    """A formula ``left ALL right``: both sides in any order, possibly overlapping."""

    left: Formula
    right: Formula


@drawable
@dataclass(frozen=True, slots=True)
class Unless:
    """A formula ``left UNLESS right``: answers of left that contain no answer of right."""

    left: Formula
    right: Formula


@drawable
@dataclass(frozen=True, slots=True)
class Seq:
    """A sequence ``left ; right``: right comes after left, with any events between."""

    left: Formula
    right: Formula


@drawable
@dataclass(frozen=True, slots=True)
class Concat:
    """A sequence ``left : right``: right comes directly after left."""

    left: Formula
    right: Formula


@drawable
@dataclass(frozen=True, slots=True)
class Plus:
    """An iteration ``body+``: body once or more, with any events between."""

    body: Formula


@drawable
@dataclass(frozen=True, slots=True)
class ConcatPlus:
    """An iteration ``body:+``: body once or more, each directly after the previous one."""

    body: Formula


@drawable
@dataclass(frozen=True, slots=True)
class Count:
    """A repetition ``body{least,most}``, or ``body:{least,most}`` without gaps.

    `most` is None for ``body{least,}``.
    """

    body: Formula
    least: int
    most: int | None
    gaps: bool = True


@drawable
@dataclass(frozen=True, slots=True)
class Project:
    """A projection ``PROJECT[x, S>y](body)``: it removes all other labels and keeps the interval.

    `of_streams` holds pairs of a stream and a label; of that label, only events of that stream are
    kept.
    """

    labels: frozenset[str]
    body: Formula
    of_streams: frozenset[tuple[str, str]] = frozenset()


@drawable
@dataclass(frozen=True, slots=True)
class Rename:
    """A renaming ``RENAME[old -> new](body)``: the events of `old` are added to those of `new`."""

    old: str
    new: str
    body: Formula


@drawable
@dataclass(frozen=True, slots=True)
class Select:
    """A strategy: ``STRICT(body)``, ``NEXT(body)``, ``LAST(body)`` or ``MAX(body)``."""

    strategy: Strategy
    body: Formula


@drawable
@dataclass(frozen=True, slots=True)
class Within:
    """A window ``(body WITHIN w)``: the valuations of the body whose interval fits the window."""

    body: Formula
    window: Window


@drawable
@dataclass(frozen=True, slots=True)
class Wait:
    """A wait ``body WAIT d``: each valuation of the body, extended to the last event within d.

    The answer is given once d has passed. `length` is d: a duration, or ``n [attr]``.
    """

    body: Formula
    length: TimeWindow | AttributeWindow


@drawable
@dataclass(frozen=True, slots=True)
class Lookback:
    """A look-back ``body LOOKBACK d``: each valuation, extended to the first event within d before.

    It starts at the first event at most d before it. `length` is d: a duration, or ``n [attr]``.
    """

    body: Formula
    length: TimeWindow | AttributeWindow


Binary: TypeAlias = Or | And | All | Unless | Seq | Concat
Unary: TypeAlias = (
    Not
    | As
    | Filter
    | Plus
    | ConcatPlus
    | Count
    | Project
    | Rename
    | Select
    | Within
    | Wait
    | Lookback
)
Formula: TypeAlias = Atom | Unary | Binary


def children(phi: Formula) -> tuple[Formula, ...]:
    """Return the direct subformulas, from left to right."""
    match phi:
        case Atom():
            return ()
        case Or() | And() | All() | Unless() | Seq() | Concat():
            return (phi.left, phi.right)
        case _:
            return (phi.body,)


def map_children(change: Callable[[Formula], Formula], phi: Formula) -> Formula:
    """Return the formula with `change` applied to each of its direct subformulas."""
    match phi:
        case Atom():
            return phi
        case Or() | And() | All() | Unless() | Seq() | Concat():
            return replace(phi, left=change(phi.left), right=change(phi.right))
        case _:
            return replace(phi, body=change(phi.body))


def with_child(phi: Formula, n: int, psi: Formula) -> Formula:
    """Return the formula with its n-th direct subformula replaced."""
    match phi:
        case Atom():
            raise IndexError(f"{phi} has no subformula {n}")
        case Or() | And() | All() | Unless() | Seq() | Concat():
            return replace(phi, left=psi) if n == 0 else replace(phi, right=psi)
        case _:
            return replace(phi, body=psi)


def part_at(phi: Formula, path: Sequence[int]) -> Formula:
    """Return the subformula at a path of child numbers."""
    for n in path:
        phi = children(phi)[n]
    return phi


def with_part(phi: Formula, path: Sequence[int], psi: Formula) -> Formula:
    """Return the formula with the subformula at a path of child numbers replaced."""
    if not path:
        return psi
    n, *below = path
    return with_child(phi, n, with_part(children(phi)[n], below, psi))


def subformulas(phi: Formula) -> Iterator[Formula]:
    """Yield the formula and all its subformulas, outermost first, left to right."""
    pending = [phi]
    while pending:
        psi = pending.pop()
        yield psi
        pending.extend(reversed(children(psi)))


def windows(phi: Formula) -> tuple[Window, ...]:
    """Return the windows and the lengths of waits and look-backs inside a formula, each once."""
    inside = (psi.window for psi in subformulas(phi) if isinstance(psi, Within))
    return tuple(dict.fromkeys((*inside, *waits(phi), *look_backs(phi))))


def waits(phi: Formula) -> tuple[TimeWindow | AttributeWindow, ...]:
    """Return the lengths of the waits inside a formula, each once."""
    inside = (psi.length for psi in subformulas(phi) if isinstance(psi, Wait))
    return tuple(dict.fromkeys(inside))


def look_backs(phi: Formula) -> tuple[TimeWindow | AttributeWindow, ...]:
    """Return the lengths of the look-backs inside a formula, each once."""
    inside = (psi.length for psi in subformulas(phi) if isinstance(psi, Lookback))
    return tuple(dict.fromkeys(inside))


def is_timed(phi: Formula) -> bool:
    """Return whether a formula contains a wait, a look-back or a window in time."""
    return any(
        isinstance(psi, Wait | Lookback)
        or (isinstance(psi, Within) and not isinstance(psi.window, EventWindow))
        for psi in subformulas(phi)
    )


def competes(phi: Formula) -> bool:
    """Return whether a formula contains NEXT, LAST or MAX, which compare valuations."""
    return any(
        isinstance(psi, Select) and psi.strategy is not Strategy.STRICT for psi in subformulas(phi)
    )


def size(phi: Formula) -> int:
    """Return the number of nodes of a formula, not counting conditions."""
    return sum(1 for _ in subformulas(phi))


def times(body: Formula, least: int, most: int | None, *, gaps: bool = True) -> Formula:
    """Return the shortest formula for `body` repeated `least` to `most` times (None: no limit)."""
    if least == most == 1:
        return body
    if least == 1 and most is None:
        return Plus(body) if gaps else ConcatPlus(body)
    return Count(body, least, most, gaps)


def with_gaps(phi: Formula) -> Formula:
    """Return a sequence, iteration or count with gaps allowed, and other formulas unchanged."""
    match phi:
        case Concat(left, right):
            return Seq(left, right)
        case ConcatPlus(body):
            return Plus(body)
        case Count():
            return replace(phi, gaps=True)
        case _:
            return phi


def kept_labels(phi: Project) -> frozenset[str]:
    """Return the labels that a projection keeps, for events of all or of some streams."""
    return phi.labels | {label for _, label in phi.of_streams}


def projection(items: Iterable[tuple[str | None, str]], body: Formula) -> Project:
    """Return a projection to pairs of a stream (None: all streams) and a label."""
    pairs = frozenset(items)
    labels = frozenset(label for stream, label in pairs if stream is None)
    return Project(
        labels, body, frozenset((S, x) for S, x in pairs if S is not None and x not in labels)
    )


def defined_labels(phi: Formula) -> frozenset[str]:
    """Return the labels that a formula may set: event types, AS and renamings."""
    match phi:
        case Atom(type_name):
            return frozenset({type_name})
        case Not():
            return frozenset()
        case As(body, label):
            return defined_labels(body) | {label}
        case Project():
            return defined_labels(phi.body) & kept_labels(phi)
        case Rename(old, new, body):
            inner = defined_labels(body)
            return (inner - {old}) | {new} if old in inner else inner
        case Unless(left, _):
            return defined_labels(left)
        case _:
            return frozenset[str]().union(*map(defined_labels, children(phi)))


MAX_DEPTH = 200
"""The limit on the depth of formulas and of conditions; Python's recursion limit is 1000."""


def refuse_deep(phi: Formula) -> None:
    """Raise `ResourceLimit` for a formula that nests too deep for recursive functions."""
    pending = [(phi, 1)]
    while pending:
        psi, depth = pending.pop()
        _check(depth)
        pending.extend((below, depth + 1) for below in children(psi))
        if isinstance(psi, Filter):
            _refuse_deep_condition(psi.condition)


def _refuse_deep_condition(condition: object) -> None:
    # depth 0: the node with the predicate is not counted
    pending: list[tuple[Any, int]] = [(condition, 0)]
    while pending:
        part, depth = pending.pop()
        _check(depth)
        if isinstance(part, tuple):
            pending.extend((each, depth) for each in part)
        elif is_dataclass(part):
            pending.extend((getattr(part, field.name), depth + 1) for field in fields(part))


def _check(depth: int) -> None:
    if depth > MAX_DEPTH + 1:
        raise ResourceLimit(
            "CER0602",
            f"the formula nests or chains more than {MAX_DEPTH} operators",
            hint="use IN {..} for long lists of values",
        )
