"""Conditions of FILTER, including predicates over sets of events (SOCEL Sec. 2; SOCEL Sec. 3).

According to the paper, a language of patterns should not fix the predicates on sets of events: it
is parametrised by predicates, which users write in Python. Since these are opaque, only the
reference supports them; the compiler raises an error that names them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias, TypeVar, overload

from cerlab.budget import spend
from cerlab.errors import UsageError, keywords_by_name
from cerlab.model.event import Event, Value, value_of
from cerlab.predicates import syntax as pred
from cerlab.predicates.groups import group_value
from cerlab.predicates.truth import compare, evaluate

Function: TypeAlias = Callable[..., Any]
F = TypeVar("F", bound=Function)


@dataclass(frozen=True, slots=True)
class UserPredicate:
    """A registered Python function; with `each` it tests single events, and all must pass."""

    name: str
    function: Function
    each: bool = False


@dataclass(frozen=True, slots=True)
class SetOf:
    """An argument of a predicate: the events of label ``x``, or their attribute ``x.attr``."""

    label: str
    attribute: str | None = None


_registry: dict[str, UserPredicate] = {}


@overload
def predicate(function: F) -> F: ...


@overload
def predicate(*, name: str | None = None, each: bool = False) -> Callable[[F], F]: ...


@keywords_by_name
def predicate(
    function: F | None = None, *, name: str | None = None, each: bool = False
) -> F | Callable[[F], F]:
    """Register a Python function for filters: ``FILTER increasing(x.price)`` (SOCEL Sec. 2).

    For each argument, the function receives a list in stream order: the events of a label (``x``)
    or their values (``x.attr``, None where missing); a constant is passed unchanged. It must return
    a bool. An empty label is an empty list. Formulas keep the function that had the name when their
    text was parsed. Under ``logic="fo"``, each variable is one event, so the lists have one
    element.

    Args:
        function: The function.
        name: The name in formulas (default: that of the function).
        each: Call the function on single events or values; the predicate holds if it does so for
            all combinations (the universal extension, SOCEL Sec. 4), so always for empty lists.

    Raises:
        UsageError: `function` is not a function, or has no name.

    >>> @predicate
    ... def rising(values):
    ...     return all(a < b for a, b in zip(values, values[1:]))
    >>> import cerlab
    >>> events = [{"type": "H", "value": v} for v in (20, 27, 25)]
    >>> answers = cerlab.evaluate("H+ AS x FILTER rising(x.value)", events)
    >>> [answer.positions for answer in answers]
    [(0,), (0, 1), (1,), (0, 2), (2,)]
    """
    if function is None:
        return lambda given: predicate_named(given, _name_of(given, name), each=each)
    return predicate_named(function, _name_of(function, name), each=each)


def _name_of(function: object, name: str | None) -> str:
    """Return the name of a predicate in formulas; raise as `predicate`."""
    if not callable(function):
        given = f"the text {function!r}" if isinstance(function, str) else type(function).__name__
        hint = "decorate a function with it; a condition is text in a query: A AS x FILTER x[v > 1]"
        message = f"expected a Python function that returns a bool, got {given}"
        raise UsageError("CER0816", message, hint=hint)
    own: str = getattr(function, "__name__", "") if name is None else name
    # a lambda is named <lambda>, which no formula can write
    if name is None and not own.isidentifier():
        hint = 'give it a name: predicate(name="rising")(function)'
        raise UsageError("CER0816", "this function has no name for formulas", hint=hint)
    return own


def predicate_named(function: F, name: str, *, each: bool) -> F:
    """Register a function under a name, replacing an earlier one."""
    _registry[name] = UserPredicate(name, function, each)
    return function


def user_predicates() -> dict[str, UserPredicate]:
    """Return all registered predicates by name."""
    return dict(_registry)


def holds_of(
    P: UserPredicate, arguments: Sequence[SetOf | Value], events: Callable[[str], Sequence[Event]]
) -> bool:
    """Return whether a registered predicate holds; `events` returns the events of a label.

    Raises `UsageError` if the function raises, or returns a value other than a bool.
    """
    sets = [
        [_argument(t, a) for t in events(a.label)] if isinstance(a, SetOf) else a for a in arguments
    ]
    if not P.each:
        return _call(P, sets)
    labels = list(dict.fromkeys(a.label for a in arguments if isinstance(a, SetOf)))
    for combination in product(*(events(label) for label in labels)):
        t = dict(zip(labels, combination, strict=True))
        if not _call(
            P, [_argument(t[a.label], a) if isinstance(a, SetOf) else a for a in arguments]
        ):
            return False
    return True


def _argument(t: Event, argument: SetOf) -> Event | Value:
    return t if argument.attribute is None else value_of(t, argument.attribute)


def _call(P: UserPredicate, arguments: list[Any]) -> bool:
    try:
        result = P.function(*arguments)
    except Exception as error:
        raise UsageError(
            "CER0814",
            f"the predicate '{P.name}' raised {type(error).__name__}: {error}",
            hint="the function receives the values of its arguments, None for missing ones",
        ) from error
    if not isinstance(result, bool):
        raise UsageError(
            "CER0815",
            f"expected a bool from the predicate '{P.name}', got {result!r}",
            hint="wrap the result in bool(..)",
        )
    return result


@dataclass(frozen=True, slots=True)
class On:
    """A condition ``X[P]``: all events of label X satisfy P; true if X is empty."""

    label: str
    predicate: pred.Predicate


@dataclass(frozen=True, slots=True)
class Correlation:
    """A comparison over labels, such as ``x.attr > 2 * y.attr2`` or ``COUNT(x) > 2``."""

    operator: pred.Operator
    left: pred.Expression
    right: pred.Expression

    @property
    def operands(self) -> tuple[pred.LabelLeaf, ...]:
        """The operands that mention a label, each once, from left to right."""
        leaves = (leaf for side in (self.left, self.right) for leaf in pred.leaves_of(side))
        own = pred.LabelAttribute | pred.Previous | pred.OfGroup
        return tuple(dict.fromkeys(x for x in leaves if isinstance(x, own)))

    @property
    def attributes(self) -> tuple[pred.LabelAttribute, ...]:
        """The attributes of labels in this comparison, each once, from left to right."""
        read = (pred.LabelAttribute(x.label, x.attribute) for x in self.operands if x.attribute)
        return tuple(dict.fromkeys(read))

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in this comparison, each once, from left to right."""
        return tuple(dict.fromkeys(each.label for each in self.operands))

    @property
    def variables(self) -> tuple[str, ...]:
        """The labels whose events are compared one by one, from left to right."""
        one_by_one = (x.label for x in self.operands if not isinstance(x, pred.OfGroup))
        return tuple(dict.fromkeys(one_by_one))

    @property
    def of_group(self) -> pred.OfGroup | pred.Previous | None:
        """The first operand that reads all events of a label, such as SUM(x.v), or None."""
        return next((x for x in self.operands if not isinstance(x, pred.LabelAttribute)), None)

    def holds(self, events: Callable[[str], Sequence[Event]]) -> bool:
        """Return whether the comparison holds for every combination of events of its labels."""
        if self.of_group is None:
            choices = product(*map(events, self.labels))
            return all(self.holds_of(dict(zip(self.labels, each, strict=True))) for each in choices)
        one = self.with_group_values(events)
        return all(
            one.with_previous(events, each).holds_of({x: events(x)[n] for x, n in each.items()})
            for each in self.choices(lambda label: len(events(label)))
        )

    def holds_of(self, event: Mapping[str, Event]) -> bool:
        """Return whether the comparison holds for one given event of each label."""
        left, right = (evaluate(None, side, event) for side in (self.left, self.right))
        return compare(self.operator, left, right)

    def choices(self, count: Callable[[str], int]) -> Iterator[dict[str, int]]:
        """Yield each combination of events to compare, as the index of an event for each label.

        `count` returns the number of events of a label. The first event of a label under PREV has
        no previous one, and is in no combination.
        """
        with_previous = {x.label for x in self.operands if isinstance(x, pred.Previous)}
        numbers = [range(int(x in with_previous), count(x)) for x in self.variables]
        for each in product(*numbers):
            yield dict(zip(self.variables, each, strict=True))

    def with_group_values(self, events: Callable[[str], Sequence[Event]]) -> Correlation:
        """Return the comparison with the values of operands such as COUNT and SUM put in."""

        def known(x: pred.Leaf) -> pred.Leaf:
            if not isinstance(x, pred.OfGroup):
                return x
            return pred.Constant(group_value(x, events(x.label)))

        return self.with_operands(known)

    def with_previous(
        self, events: Callable[[str], Sequence[Event]], numbers: Mapping[str, int]
    ) -> Correlation:
        """Return the comparison with the values of PREV put in, for one combination of events."""

        def known(x: pred.Leaf) -> pred.Leaf:
            if not isinstance(x, pred.Previous):
                return x
            return pred.Constant(value_of(events(x.label)[numbers[x.label] - 1], x.attribute))

        return self.with_operands(known)

    def with_operands(self, change: Callable[[pred.Leaf], pred.Leaf]) -> Correlation:
        """Return the comparison with each operand replaced by a function."""
        left, right = (pred.with_leaves(side, change) for side in (self.left, self.right))
        return Correlation(self.operator, left, right)


@dataclass(frozen=True, slots=True)
class Application:
    """A predicate over sets of events, registered from Python: ``increasing(x.price, 5)``."""

    predicate: UserPredicate
    arguments: tuple[SetOf | Value, ...]


Atomic: TypeAlias = On | Correlation | Application

Condition: TypeAlias = Atomic | pred.And["Condition"] | pred.Or["Condition"]
"""A condition of FILTER; AND nests filters, OR is the OR of two copies of the filtered formula."""


def atomics(condition: Condition) -> Iterator[Atomic]:
    """Yield the atomic conditions of a condition, from left to right."""
    match condition:
        case pred.And(left, right) | pred.Or(left, right):
            yield from atomics(left)
            yield from atomics(right)
        case atomic:
            yield atomic


def with_atomics(condition: Condition, change: Callable[[Atomic], Atomic]) -> Condition:
    """Return the condition with each atomic condition replaced by a function."""
    if isinstance(condition, pred.And | pred.Or):
        sides = (with_atomics(side, change) for side in (condition.left, condition.right))
        return type(condition)(*sides)
    return change(condition)


def labels_of(condition: Condition) -> frozenset[str]:
    """Return the labels that a condition mentions."""
    match condition:
        case On(label, _):
            return frozenset({label})
        case Correlation():
            return frozenset(condition.labels)
        case Application(_, arguments):
            return frozenset(a.label for a in arguments if isinstance(a, SetOf))
        case pred.And(first, second) | pred.Or(first, second):
            return labels_of(first) | labels_of(second)


def alternatives(condition: Condition) -> tuple[tuple[Atomic, ...], ...]:
    """Return the ways to satisfy a condition, each a tuple of atomic conditions."""
    match condition:
        case pred.And(left, right):
            first, second = alternatives(left), alternatives(right)
            spend(len(first) * len(second))
            return tuple(a + b for a in first for b in second)
        case pred.Or(left, right):
            return alternatives(left) + alternatives(right)
        case atomic:
            return ((atomic,),)
