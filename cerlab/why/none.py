"""Explanations of why a query has no answer on a stream, and changes that would give one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, Unpack, assert_never

from cerlab import display, io
from cerlab.budget import poll
from cerlab.compile.pattern import QueryInput, as_pattern
from cerlab.display import drawable
from cerlab.errors import ResourceLimit, Unsupported, lists_options, printable
from cerlab.evaluate.missing_names import Absent, requirements_of
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.syntax import Formula, children, waits
from cerlab.logic.cel.text import formula_text, node_text, window_text
from cerlab.logic.ceql.inner_window import compared_inside
from cerlab.logic.ceql.syntax import CeqlQuery, query_text
from cerlab.model.answer import ComplexEvent
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow, Window
from cerlab.model.stream import Stream
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Condition, On
from cerlab.predicates.syntax import Predicate
from cerlab.predicates.text import name_text, positions_text, predicate_text
from cerlab.why.clauses import answers
from cerlab.why.failure import End, Inside, Path, Relax, Widen, Without
from cerlab.why.repairs import repaired

_MILLISECOND = 10**6


_FINE = 1024
"""Number of steps per unit width, when searching for a fractional window."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the query that gives an answer, and the first such answer."""

    words: str
    repair: Relax | Widen | Without | End | Inside
    answer: ComplexEvent


@drawable
@dataclass(frozen=True, slots=True, repr=False)
class WhyNone:
    """An explanation of why a query has no answer on a stream of `events` events.

    If there is an answer, `answer` is one and the other fields are empty. Each of `changes` alone
    gives an answer; `untried` has the changes that no evaluator supports, with reasons.
    """

    events: int
    answer: ComplexEvent | None = None
    absent: tuple[Absent, ...] = ()
    changes: tuple[Change, ...] = ()
    untried: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        """Return the verdict; `str` adds the changes."""
        verdict = "no answer" if self.answer is None else f"an answer, {self.answer}"
        return f"<WhyNone, {verdict} on {self.events:,} events>"


@lists_options(io.HowToRead)
def why_none(query: QueryInput, events: Any, **how: Unpack[io.HowToRead]) -> WhyNone:
    """Explain why a query has no answer on a stream: missing names, and changes that help.

    A change drops a clause, a condition or a wait, permits gaps, promises ``until="end"`` for
    answers that wait, or widens a window to the smallest sufficient width, in events, milliseconds
    or whole units of its attribute. Operands are dropped only if no other change suffices.

    Args:
        query: A query or formula.
        events: Anything that `cerlab.evaluate` accepts.
        type, type_column, time, unit, until, sort: How to read the events, as in `cerlab.evaluate`.

    Raises:
        Unsupported, ResourceLimit: As for `cerlab.evaluate`.

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
    changes, untried = _enough(pattern.ast, weaker(pattern.ast), stream)
    changes = [*_at_the_end(pattern.ast, stream), *_wider(pattern.ast, stream), *changes]
    if not changes:
        changes, more = _enough(pattern.ast, shorter(pattern.ast), stream)
        untried += more
    absent = tuple(requirements_of(pattern).read(stream).absent())
    return WhyNone(len(stream), None, absent, tuple(changes), tuple(untried))


Weaker: TypeAlias = tuple[str, Relax | Without | Inside]
"""Words and data of a repair that makes a query weaker."""


def _enough(
    ast: CeqlQuery, weaker: Iterator[Weaker], stream: Stream
) -> tuple[list[Change], list[tuple[str, str]]]:
    """Return the changes that give an answer, and unsupported ones with reasons."""
    changes, untried = [], []
    for words, repair in weaker:
        try:
            answer = _first(repaired(ast, repair), stream)
        except (Unsupported, ResourceLimit) as error:
            poll()
            untried.append((words, error.message))
            continue
        if answer is not None:
            changes.append(Change(words, repair, answer))
    return changes, untried


def _first(ast: CeqlQuery, stream: Stream) -> ComplexEvent | None:
    return next(answers(ast, stream), None)


def _at_the_end(ast: CeqlQuery, stream: Stream) -> Iterator[Change]:
    """Yield the change ``until="end"`` if it gives an answer."""
    if waits(ast.formula) and (answer := _first(ast, stream.up_to("end"))) is not None:
        yield Change('until="end"', End(), answer)


def _wider(ast: CeqlQuery, stream: Stream) -> Iterator[Change]:
    """Yield the narrowest window that gives an answer, for each window of the query."""

    def first(repair: WindowRepair) -> ComplexEvent | None:
        return _first(repaired(ast, repair), stream)

    if ast.window is not None:
        yield from _narrowest(ast.window, first, Without("window"), Widen)
    for path, phi in _windows(ast.formula, ()):

        def wide(window: Window, path: Path = path, phi: cel.Within = phi) -> Relax:
            return Relax(path, replace(phi, window=window))

        yield from _narrowest(phi.window, first, Relax(path, phi.body), wide)


WindowRepair: TypeAlias = Relax | Widen | Without


def _narrowest(
    own: Window,
    first: Callable[[WindowRepair], ComplexEvent | None],
    without: WindowRepair,
    wide: Callable[[Window], Widen | Relax],
) -> Iterator[Change]:
    """Yield the narrowest window with an answer, found by bisection.

    Wider windows keep some answer, so bisection is exact. With a strategy inside the formula,
    answers may vanish in wider windows; then the result is sufficient, but may not be the
    narrowest.
    """
    if first(without) is None:
        return
    width, window_of = _steps(own)
    # doubling terminates, because the query without a window has an answer
    low, high = width, max(1, 2 * width)
    while (found := first(wide(window_of(high)))) is None:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        answer = first(wide(window_of(middle)))
        low, high, found = (middle, high, found) if answer is None else (low, middle, answer)
    window = window_of(high)
    words = f"WITHIN {window_text(window)} for {window_text(own)}"
    yield Change(words, wide(window), found)


def _windows(phi: Formula, path: Path) -> Iterator[tuple[Path, cel.Within]]:
    """Yield the windows inside a formula that give more answers if wider."""
    if isinstance(phi, cel.Within):
        yield path, phi
    for n, psi in _weakening(phi):
        yield from _windows(psi, (*path, n))


def _steps(window: Window) -> tuple[int, Callable[[int], Window]]:
    """Return a window's width in whole steps, and a function from steps to a window."""
    match window:
        case EventWindow(width):
            return width, EventWindow
        case TimeWindow(nanoseconds):
            step = 1 if nanoseconds % _MILLISECOND else _MILLISECOND
            return nanoseconds // step, lambda n: TimeWindow(n * step)
        case AttributeWindow(int(width), attribute):
            return width, lambda n: AttributeWindow(n, attribute)
        case AttributeWindow(width, attribute):
            # dividing a width of 0 gives 0, which is no step
            part = width / _FINE or 1.0
            return int(width / part), lambda n: AttributeWindow(n * part, attribute)
        case _:
            assert_never(window)


def why_none_text(why: WhyNone) -> str:
    """Return the explanation as text, one reason per line."""
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
    return printable("\n".join(lines))


def _answer(answer: ComplexEvent) -> str:
    return positions_text(answer.positions)


display.register(WhyNone, "text/plain", why_none_text)


def weaker(query: CeqlQuery) -> Iterator[Weaker]:
    """Yield weaker queries, each without one clause or one condition of its formula.

    >>> from cerlab.logic.ceql.parser import parse_ceql
    >>> query, _, _ = parse_ceql("SELECT LAST * WHERE A AS x : B FILTER x[v > 1]")
    >>> [words for words, _ in weaker(query)]
    ['leave out SELECT LAST', 'leave out x[v > 1]', "';' for ':' before B"]
    """
    yield from _clauses(query)
    yield from _weaker_queries(query, _here)


def shorter(query: CeqlQuery) -> Iterator[Weaker]:
    """Yield shorter queries, each without one operand of its formula.

    >>> from cerlab.logic.ceql.parser import parse_ceql
    >>> [words for words, _ in shorter(parse_ceql("SELECT * WHERE A AS x ; B : C")[0])]
    ['leave out C', 'leave out A AS x', 'leave out B']
    """
    yield from _weaker_queries(query, _without_an_operand)


def _weaker_queries(
    query: CeqlQuery, changes: Callable[[Formula], Iterator[tuple[str, Formula]]]
) -> Iterator[Weaker]:
    for path, words, into in _places(query.formula, (), changes):
        yield words, Relax(path, into)


def _clauses(query: CeqlQuery) -> Iterator[Weaker]:
    if (inside := compared_inside(query)) is not None:
        compares, other = inside
        text = " ".join(query_text(other).splitlines())
        yield f"{compares.value} inside the window: {text}", Inside()
    names = ", ".join(map(name_text, query.streams))
    strategy = "" if query.strategy is None else query.strategy.value
    for clause, words in (
        ("from", f"FROM {names}"),
        ("partition", "PARTITION BY"),
        ("strategy", f"SELECT {strategy}"),
    ):
        if repaired(query, Without(clause)) != query:
            yield f"leave out {words}", Without(clause)


def _places(
    phi: Formula, path: Path, changes: Callable[[Formula], Iterator[tuple[str, Formula]]]
) -> Iterator[tuple[Path, str, Formula]]:
    """Yield each subformula that can be replaced, with its replacements, outermost first."""
    yield from ((path, words, into) for words, into in changes(phi))
    for n, psi in _weakening(phi):
        yield from _places(psi, (*path, n), changes)


def _weakening(phi: Formula) -> Iterator[tuple[int, Formula]]:
    """Yield the subformulas that give the formula more answers if weaker."""
    if not isinstance(phi, cel.Not):
        for n, psi in enumerate(children(phi)):
            if not (isinstance(phi, cel.Unless) and n == 1):
                yield n, psi


def _here(phi: Formula) -> Iterator[tuple[str, Formula]]:
    match phi:
        case cel.Filter(body, condition):
            for words, rest in _weaker_conditions(condition):
                yield f"leave out {words}", body if rest is None else cel.Filter(body, rest)
        case cel.Concat(left, right):
            yield f"';' for ':' before {formula_text(right)}", cel.Seq(left, right)
        case cel.And(left, right):
            yield f"ALL for AND before {formula_text(right)}", cel.All(left, right)
        case cel.Unless(left, right):
            yield f"leave out UNLESS {formula_text(right)}", left
        case cel.ConcatPlus(body):
            yield f"'+' for ':+' after {formula_text(body)}", cel.Plus(body)
        case cel.Count(body, _, _, gaps):
            any_number: Formula = cel.Plus(body) if gaps else cel.ConcatPlus(body)
            for weaker in (any_number,) if gaps else (cel.with_gaps(phi), any_number):
                words = f"'{node_text(weaker)}' for '{node_text(phi)}'"
                yield f"{words} after {formula_text(body)}", weaker
        case cel.Within(body) | cel.Wait(body) | cel.Lookback(body):
            yield f"leave out {node_text(phi)} after {formula_text(body)}", body
        case cel.Select(strategy, body):
            yield f"leave out {strategy.value}(..)", body
        case cel.Atom(name, stream) if stream is not None:
            yield f"leave out {name_text(stream)}> before {name_text(name)}", cel.Atom(name)
        case _:
            return


def _without_an_operand(phi: Formula) -> Iterator[tuple[str, Formula]]:
    """Yield each operand that can be omitted, with the formula that is left."""
    if not isinstance(phi, cel.Seq | cel.Concat | cel.All):
        return
    for operand, rest in ((phi.left, phi.right), (phi.right, phi.left)):
        if not isinstance(operand, cel.Seq | cel.Concat | cel.All):
            yield f"leave out {formula_text(operand)}", rest


def _weaker_conditions(condition: Condition) -> Iterator[tuple[str, Condition | None]]:
    """Yield the text of each conjunct, and the condition without it (None if empty)."""
    match condition:
        case pred.And(left, right):
            for text, rest in _weaker_conditions(left):
                yield text, right if rest is None else pred.And(rest, right)
            for text, rest in _weaker_conditions(right):
                yield text, left if rest is None else pred.And(left, rest)
        case On(label, predicate):
            for part, left_over in _conjuncts(predicate):
                text = predicate_text(On(label, part))
                yield text, None if left_over is None else On(label, left_over)
        case _:
            yield predicate_text(condition), None


def _conjuncts(predicate: Predicate) -> Iterator[tuple[Predicate, Predicate | None]]:
    """Yield each conjunct of a predicate, and the predicate without it."""
    if not isinstance(predicate, pred.And):
        yield predicate, None
        return
    left, right = predicate.left, predicate.right
    for part, rest in _conjuncts(left):
        yield part, right if rest is None else pred.And(rest, right)
    for part, rest in _conjuncts(right):
        yield part, left if rest is None else pred.And(left, rest)
