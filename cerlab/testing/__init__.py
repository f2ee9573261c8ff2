"""Random queries and streams with answers, for testing an engine against the reference.

`cases` is a hypothesis strategy: a query as text, and events as dicts. What the reference answers
is `Case.answers`, so this is a whole test:

    from hypothesis import given

    from cerlab.testing import cases

    @given(cases())
    def test_my_engine(case):
        assert my_engine(case.query, case.events) == case.answers

An engine for one language takes `formulas` of that language, and `streams` for each of them:

    @given(st.data())
    def test_my_sequences(data):
        phi = data.draw(formulas("so", SMALL))
        S = data.draw(streams(phi, SMALL))

Each choice is a draw of hypothesis, so failing cases shrink without more ado, towards a single
``A`` and the empty stream. While an example runs, cerlab's warnings are off: random queries deserve
many. The alphabet is small on purpose (types A, B, C; `SMALL` has one attribute v in 0, 1,
`ATTRIBUTES` values of every kind), because a small case tells most engines apart. Most streams have
answers: a word of the formula is planted, and noise put between.

The functions ``random_..`` make the same choices by a ``random.Random``. They need no hypothesis,
and `smallest` makes their failing cases small.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Literal,
    NamedTuple,
    ParamSpec,
    TypeAlias,
    TypeVar,
    get_args,
)

from cerlab import io
from cerlab.compile.pattern import as_pattern
from cerlab.errors import CerlabError, CerlabWarning, UsageError, keywords_by_name, nearest
from cerlab.evaluate import answers_of
from cerlab.io.synthetic import STOCK_SCHEMA, stock_batches, stocks
from cerlab.logic.cel.syntax import Atom, Formula, windows
from cerlab.logic.ceql.syntax import CeqlQuery, query_text
from cerlab.logic.sremo.syntax import Sremo
from cerlab.model.answer import ComplexEvent, by_end
from cerlab.model.clauses import TimeWindow
from cerlab.model.event import Event
from cerlab.predicates.syntax import Predicate
from cerlab.predicates.text import positions_text
from cerlab.testing.cel import (
    COLUMNS,
    any_fo_formula,
    columns_of,
    on_one_axis,
    random_condition,
    random_events,
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
    Shape,
    likely,
    smallest,
    strategy,
)
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


Language: TypeAlias = Literal["cel", "family", "so", "fo", "fo-binary"]

LANGUAGES = ("cel", "family", "so", "fo", "fo-binary")

_A = Atom("A")

_EPOCH = datetime(1970, 1, 1)
"""The moment from which the times of a stream count, in UTC."""


class Case(NamedTuple):
    """A query as text and events as dicts, which `cerlab.evaluate` takes as they are.

    >>> Case("SELECT * WHERE A+", [{"type": "A"}, {"type": "A"}])
    Case(
        "SELECT * WHERE A+",
        [
            {'type': 'A'},
            {'type': 'A'},
        ],
        # the reference: {0}, {0, 1}, {1}
    )
    """

    query: str
    events: list[dict[str, Any]]

    @property
    def answers(self) -> list[ComplexEvent]:
        """The answers of the reference, as `cerlab.evaluate` sorts them, and without warnings."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CerlabWarning)
            pattern = as_pattern(self.query)
        return sorted(answers_of(pattern, io.as_stream(self.events), "reference"), key=by_end)

    def __repr__(self) -> str:
        events = "".join(f"        {event!r},\n" for event in self.events)
        listed = f"[\n{events}    ]" if events else "[]"
        return f"Case(\n    {json.dumps(self.query)},\n    {listed},\n    # {_words(self)}\n)"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the representation at the current indentation."""
        for n, line in enumerate(repr(self).split("\n")):
            if n:
                printer.break_()
            printer.text(line)


_MOST_ANSWERS = 8
"""Answers that a printed case lists; the first few show what an engine does wrong."""


def _words(case: Case) -> str:
    """Return what the reference says of a case, in one line."""
    try:
        answers = case.answers
    except CerlabError as error:
        return f"the reference: {error.message}"
    words = [_answer_text(answer) for answer in answers[:_MOST_ANSWERS]] or ["no answer"]
    more = [".."] if len(answers) > _MOST_ANSWERS else []
    return f"the reference: {', '.join((*words, *more))}"


def _answer_text(answer: ComplexEvent) -> str:
    """Return the positions, and the interval where it does not follow from them."""
    positions = positions_text(answer.positions)
    if answer.positions and (answer.start, answer.end) == (
        answer.positions[0],
        answer.positions[-1],
    ):
        return positions
    return f"{positions} in [{answer.start}, {answer.end}]"


@keywords_by_name
def cases(shape: Shape = ATTRIBUTES, *, times: bool = False) -> SearchStrategy[Case]:
    """Return a strategy of queries with events, for engines that share no types with cerlab.

    Events have the attributes that a query reads: v and w, k for PARTITION BY, and t for a window.
    With `times`, windows may be in seconds, and t is then a ``datetime``. A shape that is `timed`
    has windows inside formulas, and WAIT; `Case.answers` are those known at the last event.
    """
    return _strategy(_case, replace(shape, sparse=True), times=times)


def _case(rng: Choices, shape: Shape, *, times: bool) -> Case:
    whole = random_query(rng, shape, times=times)
    columns = COLUMNS if likely(rng, 0.1) else columns_of(whole)
    query = with_parts_left_out(rng, whole)
    events = _stream(rng, whole.formula, shape, columns, columns_of(query))
    rows = [as_dict(event) for event in events]
    # a stream has one axis of time, so windows are not partly by t and partly in seconds
    lengths = (query.window, query.throttle, *windows(query.formula))
    if any(isinstance(each, TimeWindow) for each in lengths):
        query = on_one_axis(query, times=True)
        rows = [{**row, "t": _EPOCH + timedelta(seconds=row["t"])} for row in rows]
        if not rows:  # no event has the time
            query = on_one_axis(query, times=False)
    return Case(" ".join(query_text(query).split("\n")), rows)


_KEPT = 0.97
"""The chance that an event or a column of a stream is kept."""


def _stream(
    rng: Choices, phi: Formula, shape: Shape, columns: frozenset[str], read: frozenset[str]
) -> list[Event]:
    """Return a random stream; events that do not matter, and columns not `read`, shrink away.

    They are drawn and then left out, so that leaving out one leaves the draws of the others alone.
    """
    events = [
        each for each in random_events(rng, phi, shape, columns=columns) if likely(rng, _KEPT)
    ]
    # A draw for each column, read or not: else leaving out a part of the query would add draws.
    left_out = {name for name in sorted(columns) if not likely(rng, _KEPT)} - read
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

    ``"cel"`` is what compiles to automata, ``"family"`` has AND, ALL, UNLESS, strategies and
    comparisons between labels too, ``"so"`` is SO-CEL (SOCEL Sec. 3), ``"fo"`` scoped well-formed
    unary FO-CEL, ``"fo-binary"`` compares two variables too. Raises `UsageError` for another name.
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
    """Return a strategy of predicates over the attributes v and w."""
    return _strategy(random_predicate, shape)


@keywords_by_name
def queries(shape: Shape = ATTRIBUTES, *, times: bool = False) -> SearchStrategy[CeqlQuery]:
    """Return a strategy of CEQL queries; with `times` windows may be in seconds."""
    return _strategy(random_query, shape, times=times)


@keywords_by_name
def streams(
    phi: Formula = _A, shape: Shape = ATTRIBUTES, *, times: bool = False
) -> SearchStrategy[list[Event]]:
    """Return a strategy of streams, most with an answer of the formula.

    Events have attributes v, w and k, with `times` also t, which is a whole number.
    """
    read = columns_of(CeqlQuery(phi)) | ({"t"} if times else frozenset())
    columns = COLUMNS if times else COLUMNS - {"t"}
    return _strategy(_stream, phi, replace(shape, sparse=True), columns, read)


@keywords_by_name
def sremos(kind: SremoKind = "all", shape: Shape = ATTRIBUTES) -> SearchStrategy[Sremo]:
    """Return a strategy of expressions."""
    return _strategy(random_sremo, shape, kind)


@keywords_by_name
def sremo_streams(e: Sremo, shape: Shape = ATTRIBUTES) -> SearchStrategy[list[Event]]:
    """Return a strategy of streams, most of which show a match of the expression."""
    return _strategy(random_sremo_events, e, replace(shape, sparse=True))


def as_dict(event: Event) -> dict[str, Any]:
    """Return an event as `cerlab.evaluate` takes it."""
    stream = {"stream": event.stream} if event.stream else {}
    return {"type": event.type, **stream, **event.attributes}


P = ParamSpec("P")
T = TypeVar("T")


def _strategy(
    generate: Callable[Concatenate[Choices, P], T], *args: P.args, **kwargs: P.kwargs
) -> SearchStrategy[T]:
    return strategy(_quietly, generate, args, kwargs)


def _quietly(rng: Choices, generate: Callable[..., T], args: Any, kwargs: Any) -> T:
    """Generate a value, and turn cerlab's warnings off until the example of hypothesis ends."""
    from hypothesis.control import cleanup

    _load()
    # The first draw of an example sets the filter, and its cleanup restores the ones before.
    if ("ignore", None, CerlabWarning, None, 0) not in warnings.filters:
        catching = warnings.catch_warnings()
        catching.__enter__()
        warnings.simplefilter("ignore", CerlabWarning)
        cleanup(lambda: catching.__exit__(None, None, None))
    return generate(rng, *args, **kwargs)


@cache
def _load() -> None:
    """Load printers and libraries before the first example, lest it miss its deadline."""
    from hypothesis.vendor.pretty import for_type_by_name

    from cerlab import evaluate

    def print_call(value: Any, printer: Any, cycle: bool) -> None:
        printer.text(_event_text(value) if isinstance(value, Event) else _formula_text(value))

    for kind in (*get_args(Formula), Event):
        for_type_by_name(kind.__module__, kind.__name__, print_call)
    case = Case("A FILTER A[v LIKE 'a']", [{"type": "A", "v": "a"}])
    # An engine under test may be cerlab itself, whose first call loads for up to two deadlines.
    assert evaluate(case.query, case.events) == case.answers


def _formula_text(phi: Formula) -> str:
    """Return the call that reads a formula."""
    return f"parse_formula({str(phi)!r})"


def _event_text(event: Event) -> str:
    """Return the call that makes an event."""
    stream = [] if event.stream is None else [repr(event.stream)]
    attributes = [repr(dict(event.attributes))] if event.attributes or stream else []
    return f"Event({', '.join([repr(event.type), *attributes, *stream])})"
