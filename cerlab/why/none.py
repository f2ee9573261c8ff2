"""Why a query has no answer at all on a stream: what the stream lacks, and what would give one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Unpack, assert_never

from cerlab import display, io
from cerlab.budget import poll
from cerlab.compile.text_to_pattern import What, as_pattern
from cerlab.display import drawable
from cerlab.errors import ResourceLimit, Unsupported
from cerlab.evaluate.requirements import Absent, requirements_of
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.logic.ceql.text import window_text
from cerlab.model.answer import ComplexEvent
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow, Window
from cerlab.model.stream import Stream
from cerlab.predicates.words import positions_text
from cerlab.why.evaluation import answers
from cerlab.why.failure import Relax, Widen, Without
from cerlab.why.weaker import Weaker, shorter, weaker

_MILLISECOND = 10**6
_FINE = 1024
"""Windows that are fractions are tried in steps of so small a part of themselves."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the query that is enough for an answer, with the first such answer."""

    words: str
    repair: Relax | Widen | Without
    answer: ComplexEvent


@drawable
@dataclass(frozen=True, slots=True)
class WhyNone:
    """Why a query has no answer on a stream of so many events.

    `answer` is one if there is one, and all else is then empty. Each of `changes` alone gives an
    answer; `untried` are those that no evaluator takes, each with the reason.
    """

    events: int
    answer: ComplexEvent | None = None
    absent: tuple[Absent, ...] = ()
    changes: tuple[Change, ...] = ()
    untried: tuple[tuple[str, str], ...] = ()


def why_none(query: What, events: Any, **how: Unpack[io.HowToRead]) -> WhyNone:
    """Why a query has no answer on a stream: names that it lacks, and single changes that suffice.

    A change leaves out a clause or a condition, lets gaps be where none may, or widens the window
    to the least width that is enough, in events, milliseconds, or whole units of its attribute.
    Only where none of these is enough, operands are left out. Events are read, and `Unsupported`
    and `ResourceLimit` raised, as by `cerlab.evaluate`.

    >>> events = [{"type": "A", "v": 1}, {"type": "C"}, {"type": "B", "v": 2}]
    >>> print(why_none("SELECT * WHERE A : B FILTER A[v > 0]", events))
    no answer on 3 events; each of these changes alone gives one:
      ';' for ':' before B: {0, 2}
    >>> print(why_none("SELECT * WHERE A ; B ; c FILTER A[x > 0]", events))
    no answer on 3 events, and no single change gives one
    no event has type 'c': did you mean 'C'?
    no event has an attribute 'x': known: v
    """
    pattern, stream = as_pattern(query), io.as_stream(events, **how)
    if (answer := _first(pattern.ast, stream)) is not None:
        return WhyNone(len(stream), answer)
    wider = _wider(pattern.ast, stream)
    changes, untried = _enough(weaker(pattern.ast), stream)
    if wider is None and not changes:
        changes, more = _enough(shorter(pattern.ast), stream)
        untried += more
    changes = changes if wider is None else [wider, *changes]
    absent = tuple(requirements_of(pattern).read(stream).absent())
    return WhyNone(len(stream), None, absent, tuple(changes), tuple(untried))


def _enough(
    candidates: Iterator[Weaker], stream: Stream
) -> tuple[list[Change], list[tuple[str, str]]]:
    """The changes that give an answer, and those that cannot be tried, with the reason."""
    changes, untried = [], []
    for words, repair, query in candidates:
        try:
            answer = _first(query, stream)
        except (Unsupported, ResourceLimit) as error:
            poll()
            untried.append((words, error.message))
            continue
        if answer is not None:
            changes.append(Change(words, repair, answer))
    return changes, untried


def _first(ast: CeqlQuery, stream: Stream) -> ComplexEvent | None:
    return next(answers(ast, stream), None)


def _wider(ast: CeqlQuery, stream: Stream) -> Change | None:
    """The narrowest window that gives an answer; a wider one never takes the last answer away."""
    if ast.window is None or _first(replace(ast, window=None), stream) is None:
        return None
    width, window_of = _steps(ast.window)

    def attempt(steps: int) -> ComplexEvent | None:
        return _first(replace(ast, window=window_of(steps)), stream)

    low, high = width, max(1, 2 * width)
    while (wide := attempt(high)) is None:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        answer = attempt(middle)
        low, high, wide = (middle, high, wide) if answer is None else (low, middle, answer)
    window = window_of(high)
    words = f"WITHIN {window_text(window)} for {window_text(ast.window)}"
    return Change(words, Widen(window), wide)


def _steps(window: Window) -> tuple[int, Callable[[int], Window]]:
    """The width in whole steps, rounded down, and the window of so many steps."""
    match window:
        case EventWindow(width):
            return width, EventWindow
        case TimeWindow(nanoseconds):
            step = 1 if nanoseconds % _MILLISECOND else _MILLISECOND
            return nanoseconds // step, lambda n: TimeWindow(n * step)
        case AttributeWindow(int(width), attribute):
            return width, lambda n: AttributeWindow(n, attribute)
        case AttributeWindow(width, attribute):
            part = width / _FINE or 1.0
            return int(width / part), lambda n: AttributeWindow(n * part, attribute)
        case _:
            assert_never(window)


def why_none_text(why: WhyNone) -> str:
    """What there is to say, a line each."""
    count = f"{why.events:,} event{'' if why.events == 1 else 's'}"
    if why.answer is not None:
        return f"there is an answer on {count}: {_answer(why.answer)}"
    none = f"no answer on {count}"
    lines = [
        f"{none}; each of these changes alone gives one:"
        if why.changes
        else f"{none}, and no single change gives one"
    ]
    lines += [f"  {change.words}: {_answer(change.answer)}" for change in why.changes]
    lines += map(str, why.absent)
    lines += [f"not tried: {words}: {reason}" for words, reason in why.untried]
    return "\n".join(lines)


def _answer(answer: ComplexEvent) -> str:
    return positions_text(answer.positions)


display.register(WhyNone, "text/plain", why_none_text)
