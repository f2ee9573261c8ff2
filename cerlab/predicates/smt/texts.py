"""Texts in z3: regular languages, their order, and questions with a limit of steps."""

from __future__ import annotations

import math
import re
import string
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, assert_never

import z3

from cerlab.budget import seconds_left, spend
from cerlab.predicates import like
from cerlab.predicates.domains import text_after
from cerlab.predicates.like import parse
from cerlab.predicates.truth import search


def _forgive_the_unmade() -> None:
    """Make z3 delete values silently that an interrupt has left half initialised."""
    for kind in vars(z3.z3).values():
        if isinstance(kind, type) and "__del__" in vars(kind):
            kind.__del__ = _delete_if_made(kind.__del__)  # type: ignore[attr-defined] # any class of z3


def _delete_if_made(delete: Callable[[Any], None]) -> Callable[[Any], None]:
    def quietly(value: Any) -> None:
        try:  # noqa: SIM105 # `suppress` is slower, and these calls are many
            delete(value)
        # `__getattr__` of an uninitialised value recurses without end
        except (AttributeError, RecursionError):
            pass

    return quietly


_forgive_the_unmade()


def literal(text: str, context: Any) -> Any:
    """Return a text constant of z3, whose parser reads ``\\u{..}`` as an escape."""
    plain = string.ascii_letters + string.digits
    return z3.StringVal("".join(c if c in plain else f"\\u{{{ord(c):x}}}" for c in text), context)


def characters(ranges: like.Ranges, context: Any) -> Any:
    """Return the language of single characters in some ranges."""
    parts = [z3.Range(literal(chr(a), context), literal(chr(b), context)) for a, b in ranges]
    return z3.Union(*parts) if parts else z3.Empty(z3.ReSort(z3.StringSort(context)))


def every_text(context: Any) -> Any:
    """Return the language of all texts."""
    return z3.Star(characters(like.EVERY, context))


def search_language(tree: like.Regex, context: Any) -> Any:
    """Return the language of texts in which a search for the pattern succeeds.

    A match from i to j in a text of length n is split by whether i = 0 and whether j = n, since
    ``^`` and ``$`` depend only on these.
    """
    some = z3.Plus(characters(like.EVERY, context))
    words = _Words(context)
    ways = [
        _concatenation([some] * (not s) + [_nonempty(tree, s, t, words)] + [some] * (not t))
        for s in (True, False)
        for t in (True, False)
    ]
    if _nullable(tree, True, False) or _nullable(tree, False, True):
        ways.append(some)
    if _nullable(tree, True, True):
        ways.append(z3.Re(literal("", context)))
    language = _either(ways)
    return z3.Empty(z3.ReSort(z3.StringSort(context))) if language is None else language


class _Words:
    """A z3 context with a cache of the languages of pattern trees."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self.languages: dict[tuple[like.Regex, bool, bool], Any] = {}


def _nullable(tree: like.Regex, at_start: bool, at_end: bool) -> bool:
    """Return whether a pattern matches the empty text at a start or an end, or inside a text."""
    match tree:
        case like.Characters():
            return False
        case like.Start():
            return at_start
        case like.End():
            return at_end
        case like.Empty():
            return True
        case like.Then(first, second):
            return _nullable(first, at_start, at_end) and _nullable(second, at_start, at_end)
        case like.Or(left, right):
            return _nullable(left, at_start, at_end) or _nullable(right, at_start, at_end)
        case like.Repetition(body, optional, _):
            return optional or _nullable(body, at_start, at_end)
        case _:
            assert_never(tree)


def _nonempty(tree: like.Regex, at_start: bool, at_end: bool, words: _Words) -> Any:
    """Return the nonempty texts that a pattern matches, given the anchors that hold; or None."""
    key = (tree, at_start, at_end)
    if key not in words.languages:
        words.languages[key] = _build(tree, at_start, at_end, words)
    return words.languages[key]


def _build(tree: like.Regex, s: bool, t: bool, words: _Words) -> Any:
    match tree:
        case like.Characters(ranges):
            return characters(ranges, words.context) if ranges else None
        case like.Start() | like.End() | like.Empty():
            return None
        case like.Then(first, second):
            # if neither part is empty, the point between them is inside the text
            ways = [
                _concatenation(
                    [_nonempty(first, s, False, words), _nonempty(second, False, t, words)]
                )
            ]
            if _nullable(first, s, False):
                ways.append(_nonempty(second, s, t, words))
            if _nullable(second, False, t):
                ways.append(_nonempty(first, s, t, words))
            return _either(ways)
        case like.Or(left, right):
            ways = [_nonempty(left, s, t, words), _nonempty(right, s, t, words)]
            return _either(ways)
        case like.Repetition(body, _, many):
            once = _nonempty(body, s, t, words)
            if not many:
                return once
            inner = _nonempty(body, False, False, words)
            between = [] if inner is None else [z3.Star(inner)]
            first_of, last_of = _nonempty(body, s, False, words), _nonempty(body, False, t, words)
            return _either([once, _concatenation([first_of, *between, last_of])])
        case _:
            assert_never(tree)


def _concatenation(parts: Sequence[Any]) -> Any:
    if any(part is None for part in parts):
        return None
    return z3.Concat(*parts) if len(parts) > 1 else parts[0]


def _either(ways: Iterable[Any]) -> Any:
    some: list[Any] = []
    for way in ways:
        if way is not None and not any(way.eq(other) for other in some):
            some.append(way)
    return z3.Union(*some) if some else None


def between(low: str, high: str | None, context: Any) -> Any:
    """Return the language of texts greater than `low` and less than `high`."""
    rest = every_text(context)
    after = [z3.Concat(z3.Re(literal(low, context)), z3.Plus(characters(like.EVERY, context)))]
    after += _departing(low, context, rest, above=True)
    if high is None:
        return z3.Union(*after)
    before = [z3.Re(literal(high[:n], context)) for n in range(len(high))]
    before += _departing(high, context, rest, above=False)
    return z3.Intersect(z3.Union(*after), z3.Union(*before))


def _departing(text: str, context: Any, rest: Any, *, above: bool) -> list[Any]:
    """Return a language for each prefix of `text`: the texts that differ right after it."""
    ways = []
    for n, character in enumerate(text):
        code = ord(character)
        bound = ((0, code),) if above else ((code, like.EVERY[-1][1]),)
        others = characters(like.complement(bound), context)
        prefix = [z3.Re(literal(text[:n], context))] if n else []
        ways.append(z3.Concat(*prefix, others, rest))
    return ways


STEPS = 1_000_000
"""Most z3 steps for one call before its answer is "unknown"."""

SOLVER_STEPS = 4_000
"""Steps charged to the budget for a call of z3, which takes some milliseconds to set up."""

SOLVER_STEPS_PER_SECOND = 700_000
"""Steps charged per second of z3: most answers are instant, some use the whole limit."""

MILLISECONDS = 1_000
"""Time limit of a call, for the few that take time but no steps."""


def with_step_limit(solver: Any) -> Any:
    """Return the solver with a limit of steps and time."""
    solver.set("rlimit", STEPS)
    solver.set("timeout", MILLISECONDS)
    return solver


def check_sat(solver: Any) -> Any:
    """Return z3's answer; raise `ResourceLimit` if the caller's time is used up.

    While z3 works, it handles keyboard interrupts itself, and gives up with a reason.
    """
    if (seconds := seconds_left()) < math.inf:
        solver.set("timeout", min(MILLISECONDS, 1 + int(1000 * seconds)))
    before = time.thread_time()
    answer = solver.check()
    spend(SOLVER_STEPS + int(SOLVER_STEPS_PER_SECOND * (time.thread_time() - before)))
    if "keyboard" in solver.reason_unknown():
        raise KeyboardInterrupt
    return answer


def every_of(parts: Sequence[Any], context: Any) -> Any:
    """Return the conjunction of formulas."""
    return z3.And(*parts) if parts else z3.BoolVal(True, context)


def some_of(parts: Sequence[Any], context: Any) -> Any:
    """Return the disjunction of formulas."""
    return z3.Or(*parts) if parts else z3.BoolVal(False, context)


class OneText(NamedTuple):
    """The answer whether a language may contain a text, with one if z3 found it."""

    possible: bool
    text: str | None


def member(language: Any, context: Any) -> OneText:
    """Return a text of a language, preferably of printable ASCII characters."""
    x = z3.String("x", context)
    plain = z3.Star(characters(((32, 126),), context))
    # first printable ASCII, since people read the example
    for languages in ((language, plain), (language, every_text(context))):
        solver = with_step_limit(z3.Solver(ctx=context))
        solver.add(z3.InRe(x, z3.Intersect(*languages)))
        answer = check_sat(solver)
        if answer == z3.sat:
            return OneText(True, text_in(solver.model(), x))
    return OneText(answer == z3.unknown, None)


def text_in(model: Any, x: Any) -> str:
    """Return the value of a text variable in a model."""
    text = model.eval(x, model_completion=True).as_string()
    return re.sub(r"\\u\{([0-9a-fA-F]+)\}", lambda code: chr(int(code[1], 16)), text)


class Places(NamedTuple):
    """Integers for constant texts in their order, with room between them."""

    texts: tuple[str, ...]
    """Constants in order; the first is the empty text, at place 0."""
    at: tuple[int, ...]
    last: int

    def of(self, text: str) -> int:
        """Return the integer of a constant text."""
        return self.at[self.texts.index(text)]

    def text(self, place: int) -> str:
        """Return a text for an integer; greater integers have greater texts."""
        n = max(n for n, start in enumerate(self.at) if start <= place)
        following = self.texts[n + 1] if n + 1 < len(self.texts) else None
        nth = place - self.at[n]
        return self.texts[n] if nth == 0 else text_after(self.texts[n], following, nth - 1)


def places(texts: Iterable[str], room: int) -> Places:
    """Return integers for texts, with room for `room` more texts in each gap.

    >>> places(["a", "a\\0"], 2)
    Places(texts=('', 'a', 'a\\x00'), at=(0, 3, 4), last=6)
    """
    line = sorted({"", *texts})
    at = [0]
    for low, high in pairwise(line):
        # between a text and its extension by zeros, only texts with fewer zeros fit
        zeros = len(high) - len(low)
        finite = high == low + "\0" * zeros
        at.append(at[-1] + 1 + (min(zeros - 1, room) if finite else room))
    return Places(tuple(line), tuple(at), at[-1] + room)


class Cell(NamedTuple):
    """A set of texts: an interval, in which some patterns match and the others do not."""

    first: int
    last: int
    bits: tuple[bool, ...]
    language: Any
    text: str | None
    """One of the texts, or None if z3 did not decide whether there is one."""


def cells(order: Places, patterns: Sequence[str], context: Any) -> tuple[Cell, ...]:
    """Return all cells that are not empty."""
    languages = [
        search_language(tree, context) for tree in map(parse, patterns) if tree is not None
    ]
    result: list[Cell] = []

    def split(
        interval: tuple[int, int], bits: tuple[bool, ...], language: Any, one: OneText
    ) -> None:
        if not one.possible:
            return
        if len(bits) == len(patterns):
            result.append(Cell(*interval, bits, language, one.text))
            return
        n = len(bits)
        inside = None if one.text is None else search(patterns[n], one.text)
        for bit in (True, False):
            part = z3.Intersect(language, languages[n] if bit else z3.Complement(languages[n]))
            # the known text shows that one of the two parts is not empty; z3 decides the other
            split(interval, (*bits, bit), part, one if inside is bit else member(part, context))

    for n, (text, at) in enumerate(zip(order.texts, order.at, strict=True)):
        bits = tuple(search(pattern, text) for pattern in patterns)
        result.append(Cell(at, at, bits, z3.Re(literal(text, context)), text))
        following = order.texts[n + 1] if n + 1 < len(order.texts) else None
        last = order.at[n + 1] - 1 if following is not None else order.last
        if at < last:
            gap = between(text, following, context)
            split((at + 1, last), (), gap, member(gap, context))
    return tuple(result)
