"""Random choices for generators, by `random.Random` or hypothesis, and the reduction of failures.

Generators are written once, against `Choices`. A ``random.Random`` drives them in suites of many
cases; `Draws` turns each choice into a draw, so that hypothesis shrinks it, replays it and finds
the parts of a value (`part`) that can replace the whole. Other failing cases are reduced by
`smallest`: fewer events, fewer clauses, a smaller formula, simpler values.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, MutableSequence, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from _typeshed import SupportsLenAndGetItem
    from hypothesis.strategies import DrawFn, SearchStrategy


import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from cerlab.errors import CerlabError
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.model.clauses import AttributeWindow, Consume, EventWindow, TimeWindow
from cerlab.model.event import Event
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Condition, On

T = TypeVar("T")
P = ParamSpec("P")

TYPES = ("A", "B", "C")
"""Event types in all random streams."""

LABELS = ("x", "y")
"""Labels that AS assigns."""

STREAMS = ("S", "T")
"""Streams that FROM names."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The size and the variety of random formulas, queries and streams."""

    depth: int = 3
    """Greatest nesting depth of operators."""
    events: int = 6
    """Length of the longest stream."""
    rich: bool = True
    """True if predicates and values go beyond ``v = 0`` and ``v = 1``."""
    family: bool = False
    """True if formulas may have AND, ALL, UNLESS, strategies and comparisons between labels."""
    contiguous: bool = True
    """True if formulas may have ``:``, ``:+`` and NOT."""
    sparse: bool = False
    """True if any attribute may be absent from any event."""
    timed: bool = False
    """True if formulas may have WITHIN and WAIT, which may read the attribute t."""
    temporal: bool = False
    """True if values may be timestamps and durations, and predicates compute with them."""
    fractions: bool = False
    """True if times may have fractions, which doubles round."""
    typed: bool = False
    """True if each event has each attribute, with values of one type: whole numbers or NULL."""
    takes: frozenset[str] | None = None
    """Features that queries may have, by the names of `cerlab fuzz`; None allows all."""

    def allows(self, *features: str) -> bool:
        """Return whether queries may have these features."""
        return self.takes is None or self.takes.issuperset(features)


SMALL = Shape(rich=False)
"""Shape of the small alphabet: three types and one attribute v that is 0 or 1."""

ATTRIBUTES = Shape()
"""Shape with attributes v and w of every kind of value, missing and NULL included."""


class Choices(Protocol):
    """The methods of ``random.Random`` that generators use."""

    def random(self) -> float:
        """Return a number in [0, 1)."""

    def randrange(self, stop: int, /) -> int:
        """Return a whole number in [0, stop)."""

    def choice(self, options: SupportsLenAndGetItem[T], /) -> T:
        """Return one of the options."""

    def sample(self, options: Sequence[T], count: int, /) -> list[T]:
        """Return `count` of the options, in random order."""

    def shuffle(self, items: MutableSequence[Any], /) -> None:
        """Shuffle a list in place."""


def likely(rng: Choices, probability: float) -> bool:
    """Return True with this probability; shrinking leads to False."""
    if isinstance(rng, Draws):
        return rng.chance(probability)
    return rng.random() >= 1 - probability


def nests(rng: Choices, depth: int, probability: float) -> bool:
    """Return whether a part gets operands: with this probability, and never at depth 0.

    Draws are equal at each depth, so that a part without operands can replace any other.
    """
    if isinstance(rng, Draws):
        return likely(rng, probability) and depth > 0
    return depth > 0 and likely(rng, probability)


class Draws:
    """Choices by hypothesis: each choice is a draw, which shrinks towards 0 and the first option.

    Draws come from the data behind ``draw``: a strategy for each would count as a part of the value
    for hypothesis, and shrink three times slower; there is also none for a biased Boolean.
    """

    def __init__(self, draw: DrawFn) -> None:
        self.draw = draw
        self._data: Any = draw.__self__  # type: ignore[attr-defined] # `draw` is a bound method

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return bool(self._data.draw_boolean(probability))

    def random(self) -> float:
        """Return a multiple of 0.01 in [0, 1)."""
        return self.randrange(100) / 100

    def randrange(self, stop: int, /) -> int:
        """Return a whole number in [0, stop)."""
        return int(self._data.draw_integer(0, stop - 1)) if stop > 1 else 0

    def choice(self, options: SupportsLenAndGetItem[T], /) -> T:
        """Return one of the options."""
        return options[self.randrange(len(options))]

    @contextmanager
    def unmutated(self) -> Iterator[None]:
        """Keep hypothesis from copying parts of the value that this block draws.

        Otherwise five of six examples are copies of the previous one, so 100 examples are 17.
        Unique collections are exempt in the same way; older versions of hypothesis exempt nothing.
        """
        from hypothesis.internal.conjecture import data

        self._data.start_span(getattr(data, "UNIQUE_COLLECTION_LABEL", 0))
        try:
            yield
        finally:
            self._data.stop_span()

    def sample(self, options: Sequence[T], count: int, /) -> list[T]:
        """Return `count` of the options; shrinking leads to the first options."""
        left = list(options)
        return [left.pop(self.randrange(len(left))) for _ in range(count)]

    def shuffle(self, items: MutableSequence[Any], /) -> None:
        """Shuffle a list in place; shrinking leads to the given order."""
        items[:] = self.sample(items, len(items))


def part(generate: Callable[Concatenate[Choices, P], T]) -> Callable[Concatenate[Choices, P], T]:
    """Return a generator whose value hypothesis may replace by a part of the same kind inside it.

    So ``(A ; B) OR C`` shrinks to ``B`` in one step. Arguments must be hashable.
    """
    # hypothesis validates each new strategy, at the cost of 20 draws
    cached = lru_cache(maxsize=1_000)(strategy)

    @wraps(generate)
    def generate_part(rng: Choices, /, *args: P.args, **kwargs: P.kwargs) -> T:
        if isinstance(rng, Draws):
            parts: SearchStrategy[T] = cached(generate, *args, **kwargs)  # type: ignore[arg-type] # arguments are hashable
            return rng.draw(parts)
        return generate(rng, *args, **kwargs)

    return generate_part


def strategy(
    generate: Callable[Concatenate[Choices, P], T], *args: P.args, **kwargs: P.kwargs
) -> SearchStrategy[T]:
    """Return the strategy of the values that a generator returns for given arguments."""
    from hypothesis import strategies as st

    return st.composite(_Definition(generate))(*args, **kwargs)


class _Definition:
    """A function for `composite`, with a hash by which hypothesis recognises parts of a value."""

    def __init__(self, generate: Callable[..., Any]) -> None:
        self._generate = generate
        self.__name__ = self.__qualname__ = generate.__name__

    def __hash__(self) -> int:
        return zlib.crc32(self.__name__.encode())

    def __call__(self, draw: DrawFn, *args: Any, **kwargs: Any) -> Any:
        return self._generate(Draws(draw), *args, **kwargs)


# reduction of failing cases

_SECOND = 10**9

Case: TypeAlias = tuple[CeqlQuery, tuple[Event, ...]]
Fails: TypeAlias = Callable[[CeqlQuery, tuple[Event, ...]], bool]


def smallest(query: CeqlQuery, events: Sequence[Event], fails: Fails) -> Case:
    """Return a minimal failing case, reduced step by step.

    The result is a local minimum: no single step of `smaller` fails.

    Args:
        query: The query of the case.
        events: The stream of the case.
        fails: A function called on smaller cases; one that raises a `CerlabError` passes.

    >>> from cerlab.logic.ceql.parser import parse_ceql
    >>> query, _, _ = parse_ceql("SELECT * WHERE (A ; B+ AS x) OR C FILTER A[v > 1]")
    >>> events = [Event(kind, {"v": 3}) for kind in "CABAB"]
    >>> def fails(query, events):  # an engine that cannot iterate
    ...     plus = any(isinstance(phi, cel.Plus) for phi in cel.subformulas(query.formula))
    ...     return plus and "B" in {event.type for event in events}
    >>> case = smallest(query, events, fails)
    >>> print(case[0].formula, case[1])
    B+ (Event(type='B', attributes={}, stream=None),)
    """
    case = (query, tuple(events))
    while (next_case := _next(case, fails)) is not None:
        case = next_case
    return case


def _next(case: Case, fails: Fails) -> Case | None:
    return next((each for each in smaller(*case) if _fails(fails, each)), None)


def _fails(fails: Fails, case: Case) -> bool:
    try:
        return fails(*case)
    except CerlabError:
        return False


def smaller(query: CeqlQuery, events: tuple[Event, ...]) -> Iterator[Case]:
    """Yield cases that are smaller in one way, the largest steps first."""
    for rest in fewer(events):
        yield query, rest
    for plainer in _plainer_queries(query):
        yield plainer, events
    for narrower in _narrower(query):
        yield narrower, events
        for n in range(len(events)):
            yield narrower, events[:n] + events[n + 1 :]
            yield narrower, events[:n] + tuple(_sooner(each) for each in events[n:])
    least = min((event.type for event in events), default="")
    for i, event in enumerate(events):
        # events of one type let `A OR B` become A
        of_least = [replace(event, type=least)] if event.type > least else []
        for less in (*of_least, *_plainer_events(event)):
            yield query, (*events[:i], less, *events[i + 1 :])


def fewer(events: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    """Yield the events without a half of them, without a quarter, and so on down to one event."""
    width = len(events)
    while width:
        for start in range(0, len(events), width):
            yield events[:start] + events[start + width :]
        width //= 2


def _plainer_queries(query: CeqlQuery) -> Iterator[CeqlQuery]:
    plain = CeqlQuery(query.formula)
    if query != plain:
        yield plain
    for name in (
        "items",
        "strategy",
        "streams",
        "partition",
        "window",
        "consume",
        "limit",
        "throttle",
    ):
        if getattr(query, name) != getattr(plain, name):
            yield replace(query, **{name: getattr(plain, name)})
    if query.consume is Consume.PARTITION:
        yield replace(query, consume=Consume.ANY)
    if len(query.partition) > 1:
        yield replace(query, partition=query.partition[:1])
    if isinstance(query.window, TimeWindow | AttributeWindow):
        yield replace(query, window=EventWindow(1))
    for formula in _plainer_formulas(query.formula):
        yield replace(query, formula=formula)


def _narrower(query: CeqlQuery) -> Iterator[CeqlQuery]:
    """Yield queries with half the window or one less, with events that are closer as well."""
    match query.window:
        case EventWindow(width):
            yield from (replace(query, window=EventWindow(n)) for n in _less(width))
        case TimeWindow(nanoseconds):
            seconds = -(-nanoseconds // _SECOND)
            yield from (replace(query, window=TimeWindow(n * _SECOND)) for n in _less(seconds))
        case AttributeWindow(width, attribute):
            smaller = (*_less(int(width)), *([int(width)] if width != int(width) else []))
            yield from (replace(query, window=AttributeWindow(n, attribute)) for n in smaller)
        case _:
            return


def _less(number: int) -> tuple[int, ...]:
    """Return numbers nearer to 0: zero, half of the number, and one less."""
    if number < 0:
        return (0, -number)
    return tuple(dict.fromkeys(n for n in (0, number // 2, number - 1) if 0 <= n < number))


def _sooner(event: Event) -> Event:
    """Return the event one unit of time earlier."""
    time = event.attributes.get("t")
    if isinstance(time, bool) or not isinstance(time, int | float) or time < 1:
        return event
    return replace(event, attributes={**event.attributes, "t": time - 1})


def _plainer_formulas(phi: cel.Formula) -> Iterator[cel.Formula]:
    """Yield a part in place of the whole formula, or a simpler formula in one place."""
    below = cel.children(phi)
    if not isinstance(phi, cel.Not):
        yield from below
    match phi:
        case cel.Filter(body, condition):
            yield from (cel.Filter(body, each) for each in _plainer_conditions(condition))
        case cel.Atom(name, stream) if stream is not None:
            yield cel.Atom(name)
        case _:
            pass
    for n, psi in enumerate(below):
        for plainer in _plainer_formulas(psi):
            if not isinstance(phi, cel.Not) or isinstance(plainer, cel.Atom | cel.Filter):
                yield cel.with_child(phi, n, plainer)


def _plainer_conditions(condition: Condition) -> Iterator[Condition]:
    match condition:
        case pred.And(left, right) | pred.Or(left, right):
            yield from (left, right)
            yield from (replace(condition, left=each) for each in _plainer_conditions(left))
            yield from (replace(condition, right=each) for each in _plainer_conditions(right))
        case On(label, predicate):
            if isinstance(predicate, pred.And | pred.Or):
                yield from (On(label, predicate.left), On(label, predicate.right))
            yield from (On(label, each) for each in _plainer_predicates(predicate))
        case _:
            return


def _plainer_predicates(P: pred.Predicate) -> Iterator[pred.Predicate]:
    """Yield predicates with a simpler constant in one place, or a set with one value less."""
    match P:
        case pred.And(left, right) | pred.Or(left, right):
            yield from (replace(P, left=each) for each in _plainer_predicates(left))
            yield from (replace(P, right=each) for each in _plainer_predicates(right))
        case pred.Not(inner):
            yield inner
            yield from (pred.Not(each) for each in _plainer_predicates(inner))
        case pred.Comparison(_, left, right):
            yield from (replace(P, left=each) for each in _plainer_constants(left))
            yield from (replace(P, right=each) for each in _plainer_constants(right))
        case pred.Member(_, values) if len(values) > 1:
            for n in range(len(values)):
                yield replace(P, values=values[:n] + values[n + 1 :])
        case _:
            return


def _plainer_constants(expression: pred.Expression) -> Iterator[pred.Expression]:
    match expression:
        case pred.Constant(bool()):
            return
        case pred.Constant(int(number)):
            yield from (pred.Constant(n) for n in _less(number))
        case pred.Constant(float(number)) if math.isfinite(number):
            yield from (pred.Constant(n) for n in dict.fromkeys((int(number), *_less(int(number)))))
        case pred.Constant(str(text)) if len(text) > 1:
            yield pred.Constant(text[:1])
        case _:
            return


def _plainer_events(event: Event) -> Iterator[Event]:
    """Yield the event without its stream, without an attribute, or with 0 in place of a value."""
    if event.stream is not None:
        yield replace(event, stream=None)
    for name, value in event.attributes.items():
        rest = {other: v for other, v in event.attributes.items() if other != name}
        yield replace(event, attributes=rest)
        if type(value) is not int or value > 1:
            yield replace(event, attributes={**event.attributes, name: 0})
