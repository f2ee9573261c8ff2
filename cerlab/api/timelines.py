"""Pictures that need events: timelines, steps of an evaluation, and the stages of a query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack, overload

from cerlab import io
from cerlab.api.answers import Matches
from cerlab.api.questions import as_row_pattern, refuse_options
from cerlab.automata.epsilon import smaller
from cerlab.automata.strategy import StrategyCea
from cerlab.compile.cel_to_vcea import blocks, cel_to_vcea
from cerlab.compile.pattern import (
    SHOW_TRANSDUCER,
    AnyPattern,
    AnyQueryInput,
    Language,
    Pattern,
    QueryInput,
    SremoPattern,
    any_pattern,
    as_pattern,
)
from cerlab.compile.sremo_to_srt import sremo_to_srt
from cerlab.errors import Unsupported, UsageError, lists_options, nearest, refuse_misspelt
from cerlab.evaluate import EvaluatorName, answers_of, choose
from cerlab.logic.ceql.syntax import strategy_and_body
from cerlab.logic.sremo.syntax import Sremo
from cerlab.model.answer import ComplexEvent, Valuation, by_end
from cerlab.model.clauses import Strategy
from cerlab.model.stream import Stream, Until
from cerlab.rows.syntax import RowPattern
from cerlab.viz.deterministic import minterm_table
from cerlab.viz.machines import listed_minterms
from cerlab.viz.tecs import tecs_snapshot

if TYPE_CHECKING:
    from cerlab.automata.automaton import IntervalCea, Vcea
    from cerlab.automata.registers import Srt
    from cerlab.automata.strategy import Machine
    from cerlab.engine.reference.snapshot import TecsSnapshot
    from cerlab.viz.deterministic import MintermTable
    from cerlab.viz.machines import MintermList
    from cerlab.viz.steps import Steps
    from cerlab.viz.timeline import Row, Timeline


MOST_ANSWERS = 10_000
"""Most answers that a row of a timeline lists and compares with other rows."""


STRATEGIES: dict[str, Strategy | None] = {
    "ALL": None,
    "ANY": None,
    "STRICT": Strategy.STRICT,
    "NEXT": Strategy.NXT,
    "NXT": Strategy.NXT,
    "LAST": Strategy.LAST,
    "MAX": Strategy.MAX,
}


Answer: TypeAlias = ComplexEvent | Valuation


TimelineInput: TypeAlias = (
    AnyQueryInput | Matches | Mapping[str, Iterable[Answer]] | Iterable[Answer]
)
"""Input of a timeline: a query, a SREMO, its answers, or several lists of answers by name."""


@lists_options(io.HowToRead)
def step(
    query: QueryInput,
    events: Any,
    *,
    first: int = 0,
    last: int | None = None,
    **how: Unpack[io.HowToRead],
) -> Steps:
    """Follow Algorithm 1 event by event: runs, tECS and answers (CORE Alg. 1).

    Args:
        query: A query or formula.
        events: Anything that `cerlab.evaluate` accepts.
        first, last: The positions of the events to show; earlier ones are read too.
        type, type_column, time, unit, until, sort: How to read the events, as in `cerlab.evaluate`.

    Raises:
        Unsupported: The query has no automaton.
        ResourceLimit: The stream is too long to follow.
        UsageError: The range is empty.

    >>> steps = step("A ; B", [{"type": kind} for kind in "AB"])
    >>> print(steps[1].heading, *steps[1].words, sep="\\n")
    event 1: B()
    Tests passed: type = 'B'.
    Runs in {1} go by • to {2}.
    Runs in {1} go by ∘ to {1}.
    tECS: 1 new node, unions among them: 0; active macro-states: 2.
    Answer [0, 1] {0, 1}.
    """
    from cerlab.viz.steps import steps_of

    pattern, stream = as_pattern(query), io.as_stream(events, **how)
    return steps_of(pattern.text, pattern.plan, pattern.machine, stream, first=first, last=last)


def timeline(
    what: TimelineInput,
    events: Any = None,
    *,
    strategies: Sequence[str] = (),
    evaluators: Sequence[EvaluatorName] = (),
    type: str | None = None,
    time: str | None = None,
    unit: str | None = None,
    until: Until | None = None,
    **options: Any,
) -> Timeline:
    """Return the answers of a query drawn under the events, one row per strategy and evaluator.

    An answer that waited ends at the last event of its wait, after its own last event.

    Args:
        what: A query or SREMO; answers, or lists of answers by name, are drawn unchanged.
        events: Anything that `cerlab.evaluate` accepts; optional for `Matches`.
        strategies: Keywords of SELECT, each used in place of the strategy of the query.
        evaluators: Names of evaluators.
        type, time, unit, until: How to read the events, as in `cerlab.evaluate`.
        options: Those of `cerlab.viz.timeline.timeline`: `axis`, `shown_events`, `shown_answers`.

    Raises:
        UsageError: A strategy or option is unknown.

    >>> print(timeline("A ; B", [{"type": k} for k in "AAB"], strategies=["ALL", "LAST"]))
          0 1 2
          A A B
    ALL   ●━━━●
            ●─●
    LAST  ○╌╌╌○
            ●─●
    Not in every row: 1 of 2 answers.
    >>> seconds = [{"type": k, "t": t} for t, k in enumerate("ACCC")]
    >>> print(timeline("A WAIT 2 [t]", seconds))
             0 1 2 3
             A C C C
    answers  ●───┤
    """
    from cerlab.viz import timeline as drawing

    if isinstance(what, Matches):
        events = what.stream if events is None else events
        what = what.query
    refuse_misspelt(options, _options_of_timelines())
    stream = io.as_stream(events, type=type, time=time, unit=unit, until=until)
    if isinstance(what, Mapping):
        return drawing.timeline(what, stream, **options)
    if not isinstance(what, (str, AnyPattern, Sremo)) and isinstance(what, Iterable):
        return drawing.timeline({"answers": what}, stream, **options)
    pattern = any_pattern(what)
    patterns: list[tuple[str, AnyPattern]] = [("answers", pattern)]
    if strategies and isinstance(pattern, Pattern):
        patterns = [(name, _under(pattern, name)) for name in strategies]
    rows = [
        _row(_name(name, e, strategies, evaluators), each, stream, e)
        for name, each in patterns
        for e in evaluators or ["auto"]
    ]
    return drawing.timeline(rows, stream, **options)


def _options_of_timelines() -> set[str]:
    from cerlab.viz import timeline as drawing

    every = [p for f in (timeline, drawing.timeline) for p in signature(f).parameters.values()]
    return {p.name for p in every if p.kind is p.KEYWORD_ONLY}


def _under(pattern: Pattern, name: str) -> Pattern:
    """Return the query with another strategy."""
    if name.upper() not in STRATEGIES:
        hint = nearest(name, STRATEGIES)
        raise UsageError("CER0841", f"unknown strategy '{name}'", hint=hint)
    return pattern.replaced(strategy=STRATEGIES[name.upper()])


def _name(
    strategy: str, evaluator: str, strategies: Sequence[str], evaluators: Sequence[str]
) -> str:
    names = [strategy] if strategies or not evaluators else []
    return ", ".join([*names, *([evaluator] if evaluators else [])])


def _row(name: str, pattern: AnyPattern, stream: Stream, evaluator: EvaluatorName) -> Row:
    from cerlab.viz.timeline import Row

    answers = list(islice(answers_of(pattern, stream, evaluator), MOST_ANSWERS + 1))
    if len(answers) <= MOST_ANSWERS:
        return Row(name, tuple(sorted(answers, key=by_end)), len(answers))
    total = choose(pattern).count(stream) if pattern.machine_kind == "automaton" else None
    return Row(name, tuple(sorted(answers, key=by_end)), total, answers[-1].end)


_STRATEGIES = {s.name.lower(): s for s in Strategy}


_OF_EVENTS = ("tecs", "timeline")


STAGES = (
    *("ast", "vcea", "cea", "blocks", "det", *_STRATEGIES, "srt"),
    *("table", "minterms", *_OF_EVENTS),
)
"""Stages of a query that `show` draws; the last two need events."""


def stage_name(name: str) -> str:
    """Return the name of a stage as `STAGES` spells it: ``nxt`` for NEXT, otherwise in lower case.

    >>> stage_name("NEXT"), stage_name("cea")
    ('nxt', 'cea')
    """
    lower = name.lower()
    return "nxt" if lower == "next" else lower


@overload
def show(query: TimelineInput, events: Any, *, what: None = None, **how: Any) -> Timeline: ...
@overload
def show(
    query: TimelineInput, events: Any = None, *, what: Literal["timeline"], **how: Any
) -> Timeline: ...
@overload
def show(query: QueryInput, events: Any, *, what: Literal["tecs"], **how: Any) -> TecsSnapshot: ...
@overload
def show(query: QueryInput, *, what: Literal["vcea", "blocks"], **how: Any) -> Vcea: ...
@overload
def show(query: QueryInput, *, what: Literal["cea"], **how: Any) -> IntervalCea: ...
@overload
def show(query: AnyQueryInput, *, what: Literal["srt"], **how: Any) -> Srt: ...
@overload
def show(query: QueryInput, *, what: Literal["table"], **how: Any) -> MintermTable: ...
@overload
def show(query: QueryInput, *, what: Literal["minterms"], **how: Any) -> MintermList: ...
@overload
def show(
    query: QueryInput, *, what: Literal["det", "strict", "nxt", "last", "max"], **how: Any
) -> Machine: ...
@overload
def show(
    query: TimelineInput | RowPattern, events: Any = None, *, what: str | None = None, **how: Any
) -> Any: ...
def show(
    query: TimelineInput | RowPattern,
    events: Any = None,
    *,
    what: str | None = None,
    language: Language | None = None,
    type: str | None = None,
    time: str | None = None,
    unit: str | None = None,
    until: Until | None = None,
    **options: Any,
) -> Any:
    """Return a stage of a query as a value that a notebook draws, as ``cerlab show`` does.

    Args:
        query: A query, formula or SREMO; or answers, which are drawn under their events.
        events: The stream for ``"tecs"`` and ``"timeline"``.
        what: ``"ast"``; a machine: ``"vcea"``, ``"blocks"`` (the ``"vcea"`` with each counted
            iteration drawn as one event), ``"cea"``, ``"det"``, ``"strict"``, ``"nxt"`` or
            ``"next"``, ``"last"``, ``"max"`` or ``"srt"``; its ``"table"`` or ``"minterms"``;
            ``"tecs"`` after the last event; or ``"timeline"`` (default: ``"timeline"`` with events,
            otherwise ``"ast"``). Upper case is accepted.
        language, type, time, unit, until: As in `cerlab.evaluate`.
        options: Those of `cerlab.timeline`.

    Raises:
        UsageError: The stage is unknown, needs events, or does not accept events.

    >>> print(show("A", what="cea"))
    CEA: 2 states, initial 0, final {1}
      0 -> 1  type = 'A' / •
    >>> print(show("A ; B", [{"type": kind} for kind in "ACB"]))
             0 1 2
             A C B
    answers  ●───●
    """
    what = what and stage_name(what)
    if options:
        refuse_misspelt(options, _options_of_timelines())
    if (rows := as_row_pattern(query)) is not None:
        refuse_options({"events": events, "what": None if what == "ast" else what, **options})
        return rows
    assert not isinstance(query, RowPattern)
    if isinstance(query, Mapping) or (
        isinstance(query, Iterable) and not isinstance(query, (str, AnyPattern, Sremo))
    ):
        if what not in (None, "timeline"):
            raise UsageError(
                "CER0823", f"answers have no '{what}'", hint="give the query, or leave what= out"
            )
        how: Any = {"type": type, "time": time, "unit": unit, "until": until, **options}
        return timeline(query, events, **how)

    def read() -> Stream:
        return io.as_stream(events, type=type, time=time, unit=unit, until=until)

    pattern = any_pattern(query, language)
    return stage(pattern, what, None if events is None else read, **options)


def stage(
    pattern: AnyPattern,
    name: str | None = None,
    read: Callable[[], Stream] | None = None,
    **options: Any,
) -> Any:
    """Return the value that `show` draws for a parsed query, on the stream that `read` returns.

    Raises as `show`, before anything is read.
    """
    name = name or ("ast" if read is None else "timeline")
    if name not in STAGES:
        hint = nearest(name, STAGES)
        raise UsageError("CER0822", f"a query has no stage '{name}'", hint=hint)
    if options and name != "timeline":
        names = ", ".join(options)
        raise UsageError(
            "CER0823", f"the stage '{name}' does not accept {names}", hint="timeline accepts them"
        )
    if name not in _OF_EVENTS:
        if read:
            hint = f"{' and '.join(_OF_EVENTS)} take them"
            raise UsageError("CER0823", f"the stage '{name}' does not accept events", hint=hint)
        return _of_sremo(pattern, name) if isinstance(pattern, SremoPattern) else _of(pattern, name)
    if read is None:
        raise UsageError(
            "CER0823", f"the stage '{name}' needs events", hint="give the events after the query"
        )
    if name == "timeline":
        return timeline(pattern, read(), **options)
    if isinstance(pattern, SremoPattern):
        raise _not_of_sremo(name)
    return tecs_snapshot(pattern.plan, pattern.machine, read())


def _of(query: Pattern, name: str) -> Any:
    """Return a stage; an error for a missing automaton names the transducer if it exists."""
    try:
        return _stage_of(query, name)
    except Unsupported as error:
        if query.machine_kind == "registers":
            error.hint = SHOW_TRANSDUCER
        raise


def _stage_of(query: Pattern, name: str) -> Any:
    match name:
        case "ast":
            return query.formula
        case "vcea":
            return query.vcea
        case "cea":
            return query.cea
        case "blocks":
            return cel_to_vcea(blocks(strategy_and_body(query.ast)[1]))
        case "det":
            return query.det
        case "srt":
            return query.registers.srt
        case "table":
            return minterm_table(query.machine)
        case "minterms":
            return listed_minterms(query.machine.predicates, query.schema)
        case _:
            return StrategyCea(query.cea, _STRATEGIES[name])


def _of_sremo(e: SremoPattern, name: str) -> Any:
    """Return the expression, or its transducer without empty moves."""
    if name == "ast":
        return e.ast
    if name != "srt":
        raise _not_of_sremo(name)
    return smaller(sremo_to_srt(e.ast))


def _not_of_sremo(name: str) -> Unsupported:
    message = f"the stage '{name}' exists for CEQL and CEL formulas, and the text is a SREMO"
    return Unsupported("CER0483", message, hint="a SREMO has the stages ast, srt and timeline")
