"""FlinkCEP's pattern sequences, as values (Flink, documentation of FlinkCEP, "The Pattern API").

A sequence is one part after another. Each matches events of one type under one condition; a
negative part forbids events between two others.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from cerlab.display import rich_display, short_repr
from cerlab.errors import IllFormed, QuerySyntaxError, Unsupported, keywords_by_name
from cerlab.logic.cel.syntax import Atom, Filter
from cerlab.logic.ceql.parser import parse_cel
from cerlab.logic.parsing import place_at
from cerlab.model.event import Event
from cerlab.model.paths import fields_of
from cerlab.predicates.condition import Application, Condition, Correlation, On, atomics, labels_of
from cerlab.predicates.syntax import And, Or, Predicate, atoms, attributes_of
from cerlab.predicates.text import name_text, predicate_text
from cerlab.predicates.truth import satisfies


class Contiguity(Enum):
    """The kinds of events that may come before a matched event; values are FlinkCEP's words."""

    STRICT = "next"
    """No event may come before the matched event."""
    RELAXED = "followedBy"
    """Events between parts are ignored if they do not match the next part."""
    ANY = "followedByAny"
    """Any events may come before the matched event."""


class WithinType(Enum):
    """The event at which a window starts; each value is FlinkCEP's word."""

    FIRST_AND_LAST = "FIRST_AND_LAST"
    """The window starts at the first event of the match."""
    PREVIOUS_AND_CURRENT = "PREVIOUS_AND_CURRENT"
    """The window starts at the previous event of the match."""


@dataclass(frozen=True, slots=True)
class Within:
    """``within(width)``: less than `width` units of an attribute after an event.

    FlinkCEP ignores windows of width 0.
    """

    width: int
    attribute: str


class Candidate(NamedTuple):
    """The event at a position, and the events that a partial match took before.

    `path` has each event of the partial match with the name of its part.
    """

    stream: Sequence[Event]
    position: int
    path: tuple[tuple[str, int], ...] = ()

    @property
    def event(self) -> Event:
        """The event at the position."""
        return self.stream[self.position]

    def events_of(self, name: str) -> list[Event]:
        """Return the events that a part took."""
        return [self.stream[i] for part, i in self.path if part == name]


@dataclass(frozen=True, slots=True)
class EventTest:
    """The test of ``where``: an event type, and a condition on the event.

    `compared` is an iterative condition: it also reads earlier events of the match, and refers to
    the event itself by `name`, the name of the part.
    """

    type: str
    predicate: Predicate | None = None
    compared: Condition | None = None
    name: str = ""

    def holds(self, at: Candidate) -> bool:
        """Return whether an event satisfies the test."""
        return (
            at.event.type == self.type
            and (self.predicate is None or satisfies(at.event, self.predicate))
            and (self.compared is None or self._holds_of(self.compared, at))
        )

    def _holds_of(self, condition: Condition, at: Candidate) -> bool:
        match condition:
            case And(left, right):
                return self._holds_of(left, at) and self._holds_of(right, at)
            case Or(left, right):
                return self._holds_of(left, at) or self._holds_of(right, at)
            case On(name, predicate):
                return all(satisfies(t, predicate) for t in self._events_of(name, at))
            case Correlation():
                return condition.holds(lambda name: self._events_of(name, at))
            case Application():
                raise AssertionError("`where` refuses functions")

    def _events_of(self, name: str, at: Candidate) -> list[Event]:
        """Return the events that a part has taken; for the current part, also this event."""
        return at.events_of(name) + ([at.event] if name == self.name else [])


@dataclass(frozen=True, slots=True)
class Part:
    """A part such as ``followedBy("b").oneOrMore().greedy()``, which matches `lo` to `hi` events.

    `hi` is None without an upper bound. `contiguity` applies before its first event, `inner`
    between its events. `gap` is the window from the event before the part.
    """

    name: str
    test: EventTest
    contiguity: Contiguity
    lo: int = 1
    hi: int | None = 1
    quantified: bool = False
    optional: bool = False
    greedy: bool = False
    inner: Contiguity = Contiguity.RELAXED
    until: EventTest | None = None
    gap: Within | None = None


@dataclass(frozen=True, slots=True)
class NotPart:
    """A negative part: ``notNext("n")``, or, if `anywhere`, ``notFollowedBy("n")``."""

    name: str
    test: EventTest
    anywhere: bool
    gap: Within | None = None


AnyPart: TypeAlias = Part | NotPart


class SkipTo(Enum):
    """After-match skip strategies; the value is FlinkCEP's word."""

    NO_SKIP = "noSkip"
    NEXT = "skipToNext"
    PAST_LAST = "skipPastLastEvent"
    FIRST = "skipToFirst"
    LAST = "skipToLast"


@dataclass(frozen=True, slots=True)
class Skip:
    """An ``AfterMatchSkipStrategy``; `name` is the name of a part."""

    to: SkipTo = SkipTo.NO_SKIP
    name: str | None = None


EVERY_MATCH = Skip()


@short_repr
@rich_display
@dataclass(frozen=True, slots=True)
class FlinkPattern:
    """A pattern sequence; each method returns a new sequence with a part changed or added.

    The methods have FlinkCEP's names, and raise `IllFormed` for combinations that FlinkCEP refuses.
    A part matches events of the given type, or else of the type that is its name.
    """

    parts: tuple[AnyPart, ...]
    skip: Skip = EVERY_MATCH
    window: Within | None = None

    @keywords_by_name
    def next(self, name: str, type: str | None = None) -> FlinkPattern:
        """Add a part that matches the very next event."""
        return self._then(_part(name, type, Contiguity.STRICT))

    @keywords_by_name
    def followedBy(self, name: str, type: str | None = None) -> FlinkPattern:
        """Add a part that matches the first later event that satisfies its conditions."""
        return self._then(_part(name, type, Contiguity.RELAXED))

    @keywords_by_name
    def followedByAny(self, name: str, type: str | None = None) -> FlinkPattern:
        """Add a part that matches any later event that satisfies its conditions."""
        return self._then(_part(name, type, Contiguity.ANY))

    @keywords_by_name
    def notNext(self, name: str, type: str | None = None) -> FlinkPattern:
        """Add a condition that the very next event does not match."""
        return self._not(name, type, anywhere=False)

    @keywords_by_name
    def notFollowedBy(self, name: str, type: str | None = None) -> FlinkPattern:
        """Add a condition that no event matches this part before the next part takes an event."""
        return self._not(name, type, anywhere=True)

    def where(self, condition: str) -> FlinkPattern:
        """Add a condition, in CEL's syntax, on the event of the last part.

        All conditions must hold. ``where("v > 1")`` reads only the event. ``where("b.v > a.v")`` is
        FlinkCEP's iterative condition of a part `b`: it holds for the event and each event that
        part `a` took before. ``PREV(b.v)`` is the previous value in a loop.
        """
        return self._condition(condition, And)

    def or_(self, condition: str) -> FlinkPattern:
        """Add an alternative condition to those of the last part."""
        return self._condition(condition, Or)

    @keywords_by_name
    def oneOrMore(self, window: object = None) -> FlinkPattern:
        """Let the last part match one or more events; a `window` is refused, as in `times`."""
        return self._without_window(window)._with_quantifier(1, None)

    @keywords_by_name
    def timesOrMore(self, lo: int, window: object = None) -> FlinkPattern:
        """Let the last part match `lo` or more events; a `window` is refused, as in `times`."""
        return self._without_window(window)._with_quantifier(lo, None)

    @keywords_by_name
    def times(self, lo: int, hi: int | None = None, window: object = None) -> FlinkPattern:
        """Let the last part match `lo` events, or `lo` to `hi`; 0 also makes the part optional.

        FlinkCEP's window between the events raises `Unsupported`, with a hint.
        """
        self._without_window(hi if not isinstance(hi, int | None) else window)
        if lo == 0 and hi is not None:
            return self._with_quantifier(1, hi)._last(True, "", optional=True)
        return self._with_quantifier(lo, lo if hi is None else hi)

    def optional(self) -> FlinkPattern:
        """Make the last part optional."""
        before = self.parts[-2] if len(self.parts) > 1 else None
        if isinstance(before, Part) and before.greedy:
            raise _refusal("an optional part right after a greedy one")
        return self._last(not self._positive.optional, "it is optional already", optional=True)

    def greedy(self) -> FlinkPattern:
        """Let the last part match as many events as possible before the next part."""
        last = self._positive
        may = last.quantified and last.inner is not Contiguity.ANY
        return self._last(may, "greedy needs a quantifier without combinations", greedy=True)

    def consecutive(self) -> FlinkPattern:
        """Forbid other events between those of the last part."""
        return self._inner(Contiguity.STRICT)

    def allowCombinations(self) -> FlinkPattern:
        """Allow any events between those of the last part, even matching ones."""
        return self._inner(Contiguity.ANY)

    @keywords_by_name
    def until(self, type: str, condition: str | None = None) -> FlinkPattern:
        """Stop the last part at the first event of this type that satisfies the condition."""
        last = self._positive
        may = last.hi is None and last.until is None
        test = EventTest(type, None if condition is None else _predicate(type, condition))
        return self._last(may, "one until goes with oneOrMore or timesOrMore", until=test)

    @keywords_by_name
    def within(
        self, width: int, attribute: str, withinType: WithinType | str = WithinType.FIRST_AND_LAST
    ) -> FlinkPattern:
        """Limit the time from the first to the last event to less than `width`.

        Of several limits the least applies. ``within(5, "t", "PREVIOUS_AND_CURRENT")`` limits the
        time from the event before the last part to its event.
        """
        if WithinType(withinType) is WithinType.FIRST_AND_LAST:
            least = width if self.window is None else min(width, self.window.width)
            pattern = replace(self, window=Within(least, attribute))
        else:
            last = replace(self.parts[-1], gap=Within(width, attribute))
            pattern = replace(self, parts=(*self.parts[:-1], last))
        if len({each.attribute for each in windows(pattern)}) > 1:
            raise _refusal("windows on two attributes: its events have one time")
        whole = pattern.window
        if whole is not None and any(each.width > whole.width for each in windows(pattern)):
            raise _refusal("a window from the event before is longer than that of the match")
        return pattern

    @keywords_by_name
    def after(self, to: SkipTo | str, name: str | None = None) -> FlinkPattern:
        """Set the skip strategy, as in ``after("skipToLast", "b")``.

        FlinkCEP sets it in ``begin``.
        """
        skip = Skip(SkipTo(to), name)
        if (name is not None) is not (skip.to in (SkipTo.FIRST, SkipTo.LAST)):
            raise _refusal(f"{skip.to.value} with a name, or without one")
        if name is not None and name not in [part.name for part in self.parts]:
            raise _refusal(f"there is no part '{name}' to skip to")
        return replace(self, skip=skip)

    @property
    def _positive(self) -> Part:
        """The last part, which must not be negative."""
        last = self.parts[-1]
        if isinstance(last, NotPart):
            raise _refusal("a negative part has no quantifier")
        return last

    def _then(self, part: AnyPart) -> FlinkPattern:
        if part.name in [each.name for each in self.parts]:
            raise _refusal(f"two parts are called '{part.name}'")
        return replace(self, parts=(*self.parts, part))

    def _not(self, name: str, type: str | None, *, anywhere: bool) -> FlinkPattern:
        last = self.parts[-1]
        if isinstance(last, Part) and last.optional:
            raise _refusal("a negative part follows an optional one")
        return self._then(NotPart(name, _of_type(name, type), anywhere))

    def _condition(self, text: str, combine: Any) -> FlinkPattern:
        *rest, last = self.parts
        test, (predicate, compared) = last.test, self._read(text)
        if test.compared is None and compared is None:
            both = predicate if test.predicate is None else combine(test.predicate, predicate)
            test = EventTest(test.type, both)
        else:
            old = _as_condition(last.name, test.predicate, test.compared)
            new = _as_condition(last.name, predicate, compared)
            whole = new if old is None else old if new is None else combine(old, new)
            test = EventTest(test.type, None, whole, last.name)
        return replace(self, parts=(*rest, replace(last, test=test)))

    def _read(self, text: str) -> tuple[Predicate | None, Condition | None]:
        """Parse a condition on the event of the last part, which may also read earlier parts."""
        last = self.parts[-1]
        try:
            return _predicate(last.test.type, text), None
        except QuerySyntaxError as error:
            condition = _compared(last.name, text)
            if condition is None:
                error.hint = error.hint.replace("labels are compared outside brackets: ", "")
                error.hint = error.hint.replace("write FILTER ", "write ")
                raise
        names = {part.name for part in self.parts[:-1] if isinstance(part, Part)} | {last.name}
        if later := sorted(labels_of(condition) - names):
            raise _refusal(f"'{text}' reads {later[0]}, which is not an earlier part")
        return None, condition

    def _without_window(self, window: object) -> FlinkPattern:
        if window is not None:
            hint = "compare the times: FILTER b.t < a.t + 5 AND c.t < b.t + 5"
            words = (
                "a window between the events of a quantifier, times(n, Duration), is not supported"
            )
            raise Unsupported("CER0457", words, hint=hint)
        return self

    def _with_quantifier(self, lo: int, hi: int | None) -> FlinkPattern:
        may = not self._positive.quantified and lo >= 1 and (hi is None or hi >= lo)
        words = "one quantifier, of counts from 1 on"
        return self._last(may, words, lo=lo, hi=hi, quantified=True)

    def _inner(self, inner: Contiguity) -> FlinkPattern:
        last = self._positive
        may = last.quantified and last.inner is Contiguity.RELAXED
        return self._last(may, "a quantifier is consecutive or has combinations", inner=inner)

    def _last(self, may: bool, words: str, **changes: Any) -> FlinkPattern:
        """Return the sequence with its last part changed; raise `IllFormed` if this is invalid."""
        if not may:
            raise _refusal(words)
        return replace(self, parts=(*self.parts[:-1], replace(self._positive, **changes)))

    def __str__(self) -> str:
        return "".join(map(_text, range(len(self.parts)), self.parts)) + _clauses_text(self)


def windows(pattern: FlinkPattern) -> list[Within]:
    """Return all windows of a sequence: that of the match and those of parts."""
    each = [pattern.window, *(part.gap for part in pattern.parts)]
    return [window for window in each if window is not None]


@keywords_by_name
def begin(name: str, type: str | None = None) -> FlinkPattern:
    """Return a sequence of one part, which matches events of a type (default: the part's name).

    Args:
        name: The name of the part.
        type: The type of its events.

    >>> print(begin("A").followedBy("b", "B").where("v > 1").oneOrMore().greedy())
    begin("A").followedBy("b", "B").where("v > 1").oneOrMore().greedy()
    """
    return FlinkPattern((_part(name, type, Contiguity.STRICT),))


def parse_pattern(text: str) -> FlinkPattern:
    """Parse a chain of method calls, the inverse of ``str``.

    Arguments are texts and integers. Raises `IllFormed` for other texts, and the errors of the
    methods.

    Args:
        text: The calls, such as ``begin("A").followedBy("B")``.

    >>> str(parse_pattern('begin("A").followedBy("B").times(1, 2)'))
    'begin("A").followedBy("B").times(1, 2)'
    """
    try:
        return _called(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, TypeError, RecursionError):
        hint = 'write calls one after the other, as in begin("A").next("B")'
        raise IllFormed("CER0286", "expected a pattern of FlinkCEP", hint=hint) from None


def _called(tree: ast.expr) -> FlinkPattern:
    match tree:
        case ast.Call(ast.Name("begin"), arguments, []):
            return begin(*map(ast.literal_eval, arguments))
        case ast.Call(ast.Attribute(before, str(method)), arguments, []) if method in _METHODS:
            made = getattr(_called(before), method)(*map(ast.literal_eval, arguments))
            assert isinstance(made, FlinkPattern)
            return made
    raise ValueError(tree)


_METHODS = frozenset(
    name for name, each in vars(FlinkPattern).items() if name[0] != "_" and callable(each)
)
"""Method names that a chain may contain."""


def _part(name: str, type: str | None, contiguity: Contiguity) -> Part:
    return Part(name, _of_type(name, type), contiguity)


def _of_type(name: str, type: str | None) -> EventTest:
    """Return the type test of a part named so; raises `Unsupported` for a group."""
    if isinstance(name, FlinkPattern):
        hint = "write the parts of a group without a quantifier one after the other"
        raise Unsupported("CER0457", "groups of patterns of FlinkCEP are not supported", hint=hint)
    return EventTest(type or name)


def _predicate(type: str, text: str) -> Predicate:
    """Return a condition on one event.

    Raises `QuerySyntaxError`, and `Unsupported` for a function.
    """
    if callable(text):
        hint = (
            'write a text: where("v > 1"), or where("b.v > a.v") with events of an earlier part a'
        )
        message = "iterative conditions of FlinkCEP that are functions are not supported"
        raise Unsupported("CER0457", message, hint=hint)
    name = name_text(type)
    formula, _ = parse_cel(f"{name} FILTER {name}[{text}]")
    match formula:
        case Filter(_, On(_, predicate)):
            names = attributes_of(atoms(predicate))
            if dotted := [each for each in names if fields_of(each) and f"`{each}`" not in text]:
                at = max(text.find("."), 0)
                hint = f"write back-quotes around {dotted[0]} if it is one attribute"
                place = place_at(text, at, 1)
                raise QuerySyntaxError(
                    "CER0101", "unexpected '.'", place=place, expected=(), hint=hint
                )
            return predicate
        case _:
            raise _refusal(f"'{text}' is not a condition on one event")


def _compared(name: str, text: str) -> Condition | None:
    """Return a text as a condition on an event and on earlier events, or None."""
    try:
        formula, _ = parse_cel(f"{name_text(name)} FILTER {text}")
    except (QuerySyntaxError, IllFormed):
        return None
    match formula:
        case Filter(Atom(), condition):
            is_read = not any(isinstance(each, Application) for each in atomics(condition))
            return condition if is_read else None
        case _:
            return None


def _as_condition(
    name: str, predicate: Predicate | None, compared: Condition | None
) -> Condition | None:
    """Return a condition in either form; None without a condition."""
    return compared if predicate is None else On(name, predicate)


def _refusal(words: str) -> IllFormed:
    return IllFormed("CER0286", f"FlinkCEP refuses this: {words}", hint="remove it")


def _text(i: int, part: AnyPart) -> str:
    type_text = "" if part.test.type == part.name else f', "{part.test.type}"'
    match part:
        case NotPart(anywhere=anywhere):
            word, rest = ("notFollowedBy" if anywhere else "notNext"), ""
        case Part(contiguity=contiguity):
            word, rest = (contiguity.value if i else "begin"), _quantifier_text(part)
    tested = part.test.predicate or part.test.compared
    condition = "" if tested is None else f'.where("{predicate_text(tested)}")'
    gap = "" if part.gap is None else _within_text(part.gap, ', "PREVIOUS_AND_CURRENT"')
    return f'{"." if i else ""}{word}("{part.name}"{type_text}){condition}{rest}{gap}'


def _within_text(window: Within, of_type: str = "") -> str:
    return f'.within({window.width}, "{window.attribute}"{of_type})'


def _quantifier_text(part: Part) -> str:
    words = ""
    if part.quantified:
        bounds = f"{part.lo}" if part.hi == part.lo else f"{part.lo}, {part.hi}"
        many = "oneOrMore()" if part.lo == 1 else f"timesOrMore({part.lo})"
        words = f".{many if part.hi is None else f'times({bounds})'}"
    words += ".greedy()" * part.greedy + ".optional()" * part.optional
    inner = {
        Contiguity.STRICT: ".consecutive()",
        Contiguity.ANY: ".allowCombinations()",
    }
    words += inner.get(part.inner, "")
    if part.until is not None:
        u = part.until.predicate
        words += f'.until("{part.until.type}"' + ("" if u is None else f', "{predicate_text(u)}"')
        words += ")"
    return words


def _clauses_text(pattern: FlinkPattern) -> str:
    skip, window = pattern.skip, pattern.window
    argument = "" if skip.name is None else f', "{skip.name}"'
    words = "" if window is None else _within_text(window)
    return words + (f'.after("{skip.to.value}"{argument})' if skip.to is not SkipTo.NO_SKIP else "")
