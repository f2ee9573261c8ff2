"""Random queries and streams with answers, for testing an engine against the reference.

`cases` is a hypothesis strategy of queries as text with events as dicts. `Case.answers` are the
answers of the reference, so this is a complete test:

    from hypothesis import given

    from cerlab.testing import cases

    @given(cases())
    def test_my_engine(case):
        assert my_engine(case.query, case.events) == case.answers

To test an engine for one language, draw `formulas` of that language, and `streams` for each:

    @given(st.data())
    def test_my_sequences(data):
        phi = data.draw(formulas("so", SMALL))
        S = data.draw(streams(phi, SMALL))

Each choice is a draw of hypothesis, so failing cases shrink without further code, towards a single
``A`` and the empty stream. While an example runs, cerlab's warnings are off: random queries cause
many. The alphabet is small (types A, B, C; `SMALL` has one attribute v in 0, 1,
`ATTRIBUTES` values of every kind), because small cases reveal most faults. Most streams have
answers: a word of the formula is inserted, and noise added around its events.

The functions ``random_..`` make the same choices by a ``random.Random``. They need no hypothesis,
and `smallest` reduces their failing cases.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    TypeAlias,
    TypeVar,
    get_args,
)

from cerlab.errors import CerlabError, CerlabWarning, UsageError, keywords_by_name, nearest
from cerlab.io.synthetic import STOCK_SCHEMA, stock_batches, stocks
from cerlab.logic.cel.syntax import Atom, Formula, windows
from cerlab.logic.ceql.syntax import CeqlQuery, query_text
from cerlab.logic.sremo.syntax import Sremo
from cerlab.model.clauses import TimeWindow
from cerlab.model.event import Event
from cerlab.predicates.syntax import Predicate
from cerlab.testing import case
from cerlab.testing.cel import (
    any_fo_formula,
    on_one_axis,
    random_condition,
    random_fo_formula,
    random_formula,
    random_predicate,
    random_query,
    with_limit,
    with_parts_left_out,
)
from cerlab.testing.choices import (
    ATTRIBUTES,
    LABELS,
    SMALL,
    STREAMS,
    TYPES,
    Choices,
    Draws,
    Shape,
    likely,
    smallest,
    strategy,
)
from cerlab.testing.events import COLUMNS, columns_of, random_events
from cerlab.testing.features import FAMILY, TIMED, USUAL, wanted
from cerlab.testing.groups import random_group_condition
from cerlab.testing.rows import random_row_pattern, random_row_table
from cerlab.testing.sremo import (
    REGISTERS,
    SremoKind,
    random_correlated_events,
    random_correlated_formula,
    random_sremo,
    random_sremo_events,
)

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from cerlab.testing.case import Case as Case

__all__ = [
    "ATTRIBUTES",
    "LABELS",
    "REGISTERS",
    "SMALL",
    "STOCK_SCHEMA",
    "STREAMS",
    "TYPES",
    "Case",
    "Choices",
    "Shape",
    "SremoKind",
    "any_fo_formula",
    "as_dict",
    "cases",
    "formulas",
    "predicates",
    "queries",
    "random_condition",
    "random_correlated_events",
    "random_correlated_formula",
    "random_events",
    "random_fo_formula",
    "random_formula",
    "random_group_condition",
    "random_predicate",
    "random_query",
    "random_row_pattern",
    "random_row_table",
    "random_sremo",
    "random_sremo_events",
    "smallest",
    "sremo_streams",
    "sremos",
    "stock_batches",
    "stocks",
    "streams",
    "with_limit",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Return `Case`, and register `cases` as its strategy for ``from_type`` of hypothesis.

    Registration happens at first use: `cerlab fuzz` runs without hypothesis, which loads more
    slowly than everything else.
    """
    if name != "Case":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with suppress(ImportError):
        from hypothesis.strategies import register_type_strategy

        register_type_strategy(case.Case, cases())
    globals()["Case"] = case.Case
    return case.Case


Language: TypeAlias = Literal["cel", "family", "so", "fo", "fo-binary"]

LANGUAGES = ("cel", "family", "so", "fo", "fo-binary")

_A = Atom("A")

_EPOCH = datetime(1970, 1, 1)
"""Start of the times of a stream, in UTC."""


@keywords_by_name
def cases(
    shape: Shape = ATTRIBUTES,
    *,
    times: bool = False,
    with_: str | Iterable[str] = (),
    without: str | Iterable[str] = (),
) -> SearchStrategy[case.Case]:
    """Return a strategy of queries with events, for engines that share no types with cerlab.

    Four of five cases have answers, and at most one in fifty has no events. Events have the
    attributes that a query reads: v and w, k for PARTITION BY, and t for a window. `Case.answers`
    are the answers known at the last event.

    Args:
        shape: The size and the variety of queries and events; one that is `timed` has windows
            inside formulas, and WAIT.
        times: Draw windows in seconds too; t is then a ``datetime``.
        with_: Features that queries may have, by the names of ``cerlab fuzz --help``, as text with
            commas or as several names (default: those of the shape).
        without: Features that queries never have.

    Raises:
        UsageError: The name of a feature is unknown.

    >>> cases(with_=";, +, ORR")
    Traceback (most recent call last):
        ...
    cerlab.errors.UsageError: CER0850: there is no feature 'ORR' of queries
    hint: did you mean 'OR'?
    """
    family = FAMILY if shape.family else ()
    usual = (*USUAL, *family, *(TIMED if shape.timed else ()))
    takes = (wanted(with_) or frozenset(usual)) - wanted(without)
    any_case = _strategy(_case, replace(shape, sparse=not shape.typed, takes=takes), times=times)
    return _strategy(_useful_case, *(any_case.filter(each) for each in (_is_taken, *_GOALS)))


def _is_taken(drawn: case.Case) -> bool:
    """Return whether the reference supports a case; computes the answers during the draw."""
    try:
        return drawn.answers is not None
    except CerlabError:
        return False


def _has_events(drawn: case.Case) -> bool:
    return bool(drawn.events) and _is_taken(drawn)


def _has_answers(drawn: case.Case) -> bool:
    return _is_taken(drawn) and bool(drawn.answers)


_GOALS = (_has_events, _has_answers)


def _useful_case(
    rng: Choices,
    any_case: SearchStrategy[case.Case],
    with_events: SearchStrategy[case.Case],
    with_answers: SearchStrategy[case.Case],
) -> case.Case:
    """Return a random case that mostly has answers.

    Hypothesis mutates draws, which empties many streams. Therefore a goal is drawn before the case,
    and cases are drawn until one reaches it; draws shrink towards no goal.
    """
    assert isinstance(rng, Draws)
    goal = rng.randrange(100)
    with rng.unmutated():
        return rng.draw(any_case if goal < 1 else with_events if goal < 20 else with_answers)


def _case(rng: Choices, shape: Shape, *, times: bool) -> case.Case:
    whole = random_query(rng, shape, times=times)
    every = COLUMNS if shape.allows(">") or shape.allows("FROM") else COLUMNS - {"stream"}
    columns = every if shape.typed or likely(rng, 0.1) else columns_of(whole)
    query = with_parts_left_out(rng, whole)
    events = _stream(rng, whole, shape, columns, columns_of(query))
    rows = [as_dict(event) for event in events]
    # a stream has one time axis, so windows are not partly by t and partly in seconds
    lengths = (query.window, query.throttle, *windows(query.formula))
    if any(isinstance(each, TimeWindow) for each in lengths):
        query = on_one_axis(query, times=True)
        rows = [{**row, "t": _EPOCH + timedelta(seconds=row["t"])} for row in rows]
        if not rows:  # WAIT in seconds would need a time, which no event has
            query = on_one_axis(query, times=False)
    return case.Case(" ".join(query_text(query).split("\n")), rows)


_KEPT = 0.97
"""Probability that an event or a column of a stream is kept."""


def _stream(
    rng: Choices, query: CeqlQuery, shape: Shape, columns: frozenset[str], read: frozenset[str]
) -> list[Event]:
    """Return a random stream; irrelevant events, and columns outside `read`, shrink away.

    Events are drawn and then removed, so that removing one keeps the draws of the others unchanged.
    """
    drawn = random_events(rng, query.formula, shape, columns=columns, query=query)
    events = [each for each in drawn if likely(rng, _KEPT)]
    # one draw for each column, read or not: otherwise dropping a part of the query would add draws
    left_out = {name for name in sorted(columns) if not likely(rng, _KEPT)} - read
    if shape.typed:
        left_out = set()
    return [
        Event(
            each.type,
            {name: value for name, value in each.attributes.items() if name not in left_out},
            None if "stream" in left_out else each.stream,
        )
        for each in events
    ]


@keywords_by_name
def formulas(language: Language = "cel", shape: Shape = ATTRIBUTES) -> SearchStrategy[Formula]:
    """Return a strategy of the formulas of a language.

    Args:
        language: ``"cel"`` compiles to automata; ``"family"`` adds AND, ALL, UNLESS, strategies and
            comparisons between labels; ``"so"`` is SO-CEL (SOCEL Sec. 3); ``"fo"`` is scoped
            well-formed unary FO-CEL; ``"fo-binary"`` also compares two variables.
        shape: The size and the variety of the formulas.

    Raises:
        UsageError: The language is unknown.

    >>> from hypothesis import find
    >>> str(find(formulas(), lambda phi: "+" in str(phi)))
    'A+'
    """
    if language not in LANGUAGES:
        raise UsageError(
            "CER0806", f"unknown language '{language}'", hint=nearest(language, LANGUAGES)
        )
    if language in ("fo", "fo-binary"):
        return _strategy(random_fo_formula, shape, binary=language == "fo-binary")
    family = language == "family" or shape.family
    return _strategy(random_formula, replace(shape, family=family, contiguous=language != "so"))


@keywords_by_name
def predicates(shape: Shape = ATTRIBUTES) -> SearchStrategy[Predicate]:
    """Return a strategy of predicates over the attributes v and w.

    Args:
        shape: The size and the variety of the predicates.

    >>> from hypothesis import find
    >>> from cerlab.predicates.syntax import atoms, attributes_of
    >>> set(attributes_of(atoms(find(predicates(), lambda P: True)))) <= {"v", "w"}
    True
    """
    return _strategy(random_predicate, shape)


@keywords_by_name
def queries(shape: Shape = ATTRIBUTES, *, times: bool = False) -> SearchStrategy[CeqlQuery]:
    """Return a strategy of CEQL queries.

    Args:
        shape: The size and the variety of the queries.
        times: Windows may be in seconds.

    >>> from hypothesis import find
    >>> find(queries(), lambda query: bool(query.partition)).partition
    (('k',),)
    """
    return _strategy(random_query, shape, times=times)


@keywords_by_name
def streams(
    phi: Formula = _A, shape: Shape = ATTRIBUTES, *, times: bool = False
) -> SearchStrategy[list[Event]]:
    """Return a strategy of streams, most with an answer of the formula.

    Args:
        phi: The formula.
        shape: The size and the variety of the streams.
        times: Events have a time t, a whole number, besides the attributes v, w and k.

    >>> from hypothesis import find
    >>> from cerlab import evaluate
    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> phi, _ = parse_cel("A ; B")
    >>> [event.type for event in find(streams(phi), lambda events: bool(evaluate(phi, events)))]
    ['A', 'B']
    """
    query = CeqlQuery(phi)
    read = columns_of(query) | ({"t"} if times else frozenset())
    columns = COLUMNS if times else COLUMNS - {"t"}
    return _strategy(_stream, query, replace(shape, sparse=True), columns, read)


@keywords_by_name
def sremos(kind: SremoKind = "all", shape: Shape = ATTRIBUTES) -> SearchStrategy[Sremo]:
    """Return a strategy of SREMO.

    Args:
        kind: The part of SREMO: all of it, or a fragment.
        shape: The size and the variety of the expressions.

    >>> from hypothesis import find
    >>> from cerlab import parse_sremo
    >>> e = find(sremos(), lambda e: True)
    >>> parse_sremo(str(e)) == e
    True
    """
    return _strategy(random_sremo, shape, kind)


@keywords_by_name
def sremo_streams(e: Sremo, shape: Shape = ATTRIBUTES) -> SearchStrategy[list[Event]]:
    """Return a strategy of streams, most of which contain a match of the SREMO.

    Args:
        e: The expression.
        shape: The size and the variety of the streams.

    >>> from hypothesis import find
    >>> from cerlab import parse_sremo
    >>> e = parse_sremo("<v = 1>")
    >>> find(sremo_streams(e), lambda S: [each.attributes.get("v") for each in S] == [1])[0].type
    'A'
    """
    return _strategy(random_sremo_events, e, replace(shape, sparse=True))


def as_dict(event: Event) -> dict[str, Any]:
    """Return an event as a dictionary that `cerlab.evaluate` accepts.

    Args:
        event: The event.

    >>> as_dict(Event("A", {"v": 1}))
    {'type': 'A', 'v': 1}
    """
    stream = {"stream": event.stream} if event.stream else {}
    return {"type": event.type, **stream, **event.attributes}


P = ParamSpec("P")
T = TypeVar("T")


def _strategy(
    generate: Callable[Concatenate[Choices, P], T], *args: P.args, **kwargs: P.kwargs
) -> SearchStrategy[T]:
    from hypothesis.strategies import deferred

    def loaded() -> SearchStrategy[T]:
        _load()
        return strategy(_quietly, generate, args, kwargs)

    # `given` evaluates it before it measures the first draw, which may take a second
    return deferred(loaded)


def _quietly(rng: Choices, generate: Callable[..., T], args: Any, kwargs: Any) -> T:
    """Generate a value with cerlab's warnings off until the example of hypothesis ends."""
    from hypothesis.control import cleanup

    # the first draw of an example mutes warnings; hypothesis's cleanup restores the filters
    if ("ignore", None, CerlabWarning, None, 0) not in warnings.filters:
        catching = warnings.catch_warnings()
        catching.__enter__()
        warnings.simplefilter("ignore", CerlabWarning)
        cleanup(lambda: catching.__exit__(None, None, None))
    return generate(rng, *args, **kwargs)


@cache
def _load() -> None:
    """Load printers and libraries before the first example, whose time hypothesis limits."""
    from hypothesis.vendor.pretty import for_type_by_name

    from cerlab import evaluate

    def print_call(value: Any, printer: Any, cycle: bool) -> None:
        printer.text(_event_text(value) if isinstance(value, Event) else _formula_text(value))

    for kind in (*get_args(Formula), Event):
        for_type_by_name(kind.__module__, kind.__name__, print_call)
    example = case.Case(
        "SELECT * WHERE A FILTER A[v LIKE 'a'] LIMIT 1 THROTTLE 1 [t]",
        [{"type": "A", "v": "a", "t": 0}],
    )
    # evaluate once now: if cerlab is under test, its first call may exceed the deadline
    assert evaluate(example.query, example.events) == example.answers


def _formula_text(phi: Formula) -> str:
    """Return the Python call that parses a formula."""
    return f"parse_formula({str(phi)!r})"


def _event_text(event: Event) -> str:
    """Return the Python call that constructs an event."""
    stream = [] if event.stream is None else [repr(event.stream)]
    attributes = [repr(dict(event.attributes))] if event.attributes or stream else []
    return f"Event({', '.join([repr(event.type), *attributes, *stream])})"
