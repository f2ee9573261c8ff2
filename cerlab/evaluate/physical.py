"""The only place that chooses an evaluator: by a pattern's machine and a stream's length."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar

from cerlab.automata.plan import CorrelatedPlan
from cerlab.budget import poll
from cerlab.compile.pattern import AnyPattern, Pattern
from cerlab.engine.random_access import Access, BatchAccess
from cerlab.engine.registers.program import LONG, warn_of_python
from cerlab.engine.run import Run
from cerlab.engine.subtree_counts import shown_number
from cerlab.errors import (
    BadData,
    IllFormed,
    ResourceLimit,
    Unsupported,
    UsageError,
    by_door,
    nearest,
)
from cerlab.evaluate import thresholds
from cerlab.evaluate.evaluators import (
    Automaton,
    Compiled,
    CompiledInContext,
    CompiledRuns,
    CompiledTecs,
    CompiledWaits,
    Lists,
    Reference,
    RegisterRuns,
    Tecs,
    WaitsByStep,
)
from cerlab.evaluate.labelled import has_labels, labelled_valuations
from cerlab.evaluate.protocol import Evaluator
from cerlab.evaluate.runs import Growing, Replay
from cerlab.evaluate.separation import warn_of_pairs
from cerlab.evaluate.tested import CompiledFilters, FilteredAnswers
from cerlab.evaluate.throttled import throttled
from cerlab.logic.cel.semantics import MAX_EVENTS
from cerlab.logic.cel.syntax import Filter, subformulas, waits
from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.model.stream import Stream, TimeAxis
from cerlab.predicates.condition import Correlation, atomics
from cerlab.predicates.text import predicate_text

EvaluatorName: TypeAlias = Literal[
    "auto", "reference", "automaton", "tecs", "lists", "compiled", "registers"
]

AUTO = "auto"
T = TypeVar("T")


def choose(pattern: AnyPattern, evaluator: str = AUTO) -> Evaluator:
    """Return an evaluator for a pattern, compiling only the machines that it needs.

    ``"auto"`` is the best one: with an automaton the tECS on short streams, and the compiled engine
    on long ones, and on others if it counts few answers; without one, as if filters compare labels,
    the transducer's runs; else the reference. Raise `Unsupported` if the evaluator does not support
    the pattern, `ResourceLimit` if its machine is too large, `UsageError` for another name.

    >>> from cerlab.compile.pattern import any_pattern
    >>> streams = [Stream.from_events([{"type": "A"}] * n) for n in (10, 5_000)]
    >>> few = choose(any_pattern("SELECT * WHERE A WITHIN 1 EVENTS"))
    >>> [few.on(stream).name for stream in streams]
    ['tecs', 'compiled']
    >>> choose(any_pattern("A+")).on(streams[1]).name
    'tecs'
    >>> texts = "<type = 'A'>^", "MAX(A+) ; B"
    >>> [choose(any_pattern(text)).on(streams[0]).name for text in texts]
    ['registers', 'tecs']
    """
    if evaluator not in WAYS:
        hint = nearest(evaluator, (*EVALUATORS, AUTO))
        raise UsageError("CER0805", f"unknown evaluator '{evaluator}'", hint=hint)
    is_tested = evaluator != "reference" and pattern.machine_kind == "listed"
    if is_tested and isinstance(pattern, Pattern):
        way = _tested(pattern, evaluator)
    else:
        way = WAYS[evaluator](pattern)
    throttle = pattern.ast.throttle if isinstance(pattern, Pattern) else None
    # the reference implements THROTTLE itself
    return way if throttle is None or isinstance(way, Reference) else throttled(way, throttle)


def _tested(pattern: Pattern, evaluator: str) -> Evaluator:
    """Return an evaluator that tests listed valuations; raise `Unsupported` if it has no labels."""
    assert pattern.tested is not None, "a machine lists valuations"
    listed = pattern.tested.query
    if evaluator in ("tecs", "lists"):
        condition = predicate_text(pattern.tested.plan.condition)
        raise Unsupported(
            "CER0403",
            f'{condition} is tested on listed answers with labels, which "{evaluator}" does '
            "not have",
            hint='use "auto", "compiled", or "automaton"',
        )
    listing = choose(listed, evaluator)
    if isinstance(listing, Compiled):
        return CompiledFilters(pattern, listing)
    return FilteredAnswers(pattern, listing)


def compiled(pattern: AnyPattern) -> Compiled:
    """Return the compiled engine for a pattern; raise as `choose`."""
    by = choose(pattern, "compiled")
    assert isinstance(by, Compiled)
    return by


def _compiled(pattern: AnyPattern) -> Compiled:
    if pattern.waits is not None:
        return CompiledWaits(pattern)
    if pattern.machine_kind is None and pattern.is_in_context:
        return CompiledInContext(pattern)
    if pattern.machine_kind is None and _compares_labels(pattern):
        # raises the reason why registers cannot help, which is better than the automaton's
        CompiledRuns(pattern)
    return CompiledRuns(pattern) if pattern.machine_kind == "registers" else CompiledTecs(pattern)


def _compares_labels(pattern: AnyPattern) -> bool:
    """Return whether a filter of a query compares two or more labels."""
    formula = pattern.ast.formula if isinstance(pattern, Pattern) else None
    filters = (psi for psi in subformulas(formula) if isinstance(psi, Filter)) if formula else ()
    tests = (each for psi in filters for each in atomics(psi.condition))
    return any(isinstance(each, Correlation) and len(each.labels) > 1 for each in tests)


def _tecs(pattern: AnyPattern) -> Evaluator:
    return Tecs(pattern) if pattern.waits is None else WaitsByStep(pattern, "tecs")


class BySize(Evaluator):
    """A pair of evaluators: one for streams of up to `SHORT` events, and one for longer streams."""

    def __init__(self, name: str, short: Evaluator, long: Evaluator) -> None:
        self.name, self.pattern = name, short.pattern
        self.short, self.long = short, long

    def on(self, stream: Stream, *, any_order: bool = False) -> Evaluator:
        """Return the evaluator for streams of this length."""
        return self.long if len(stream) > thresholds.SHORT else self.short

    def answers(self, stream: Stream) -> Iterator[ComplexEvent]:
        """Return the answers, in an order that depends only on query and stream."""
        return self.on(stream).answers(stream)

    def run(self, time: TimeAxis | None) -> Run[ComplexEvent]:
        """Return a run on arriving events, by the evaluator for short streams."""
        return self.short.run(time)

    def by_number(self, stream: Stream, *, threads: int = 1) -> Access:
        """Return access to answers by number, in the order of `answers`."""
        return self.on(stream).by_number(stream, threads=threads)

    def count(self, stream: Stream) -> int:
        """Return the number of answers, by the faster evaluator."""
        return self.on(stream, any_order=True).count(stream)

    def valuations(self, stream: Stream) -> Iterator[Valuation]:
        """Return the valuations, by the evaluator for a stream of this length."""
        return self.on(stream).valuations(stream)


class _Registers(BySize):
    """The evaluator ``"registers"``, which counts by kernels on streams of any length."""

    def count(self, stream: Stream) -> int:
        """Return the number of answers, by the kernels."""
        return self.long.count(stream)


def _registers(pattern: AnyPattern) -> Evaluator:
    if pattern.waits is None:
        return _Registers("registers", RegisterRuns(pattern), CompiledRuns(pattern))
    long = CompiledWaits(pattern, on_registers=True)
    return _Registers("registers", WaitsByStep(pattern, "registers"), long)


class _Auto(BySize):
    """The evaluator ``"auto"``: it labels answers by a machine if there is one."""

    def __init__(self, short: Evaluator, long: Evaluator, engine: Compiled | None = None) -> None:
        """Create the evaluator; after the first events of a session, `engine` continues the run."""
        super().__init__(AUTO, short, long)
        self._engine = engine
        self._runs = Automaton(self.pattern) if _is_in_context(self.pattern) else None

    def valuations(self, stream: Stream) -> Iterator[Valuation]:
        """Return the answers with their labels, by the reference if no machine has labels."""
        if isinstance(self.pattern, Pattern) and has_labels(self.pattern):
            return labelled_valuations(self.pattern, stream, self.answers(stream))
        return (self._runs or OnlyReference(self.pattern)).valuations(stream)

    def run(self, time: TimeAxis | None) -> Run[ComplexEvent]:
        """Return a run on arriving events, in Python until an engine continues it."""
        if self._engine is not None:
            return Growing(self.short.run(time), partial(self._grown, self._engine, time))
        if gives_when_known(self.pattern) or self._runs is not None:
            return self.short.run(time)
        return Replay(self.answers, self._count_of_waits(), time)

    def _grown(self, engine: Compiled, time: TimeAxis | None) -> Run[ComplexEvent] | None:
        """Return the engine's run; None, with a warning, if the engine does not support batches."""
        if engine.takes_batches:
            return engine.run(time)
        warn_of_pairs(self.pattern)
        if self.pattern.separated is None:
            warn_of_python(why_in_python(self.pattern), LONG)
        return None


def _is_in_context(pattern: AnyPattern) -> bool:
    """Return whether a pattern's automaton reads contexts, which few evaluators support."""
    return pattern.machine_kind is None and pattern.is_in_context


class OnlyReference(Reference):
    """The evaluator of a pattern that no machine supports; its error states the reason."""

    def answers(self, stream: Stream) -> Iterator[ComplexEvent]:
        """Return the answers; raise `Unsupported` on long streams."""
        return self._where_short(super().answers, stream)

    def valuations(self, stream: Stream) -> Iterator[Valuation]:
        """Return the valuations; raise `Unsupported` on long streams."""
        return self._where_short(super().valuations, stream)

    def _where_short(
        self, evaluate: Callable[[Stream], Iterator[T]], stream: Stream
    ) -> Iterator[T]:
        try:
            return evaluate(stream)
        except ResourceLimit as error:
            if error.code != "CER0603":
                raise
            message = f"{_refusal(self.pattern)}, and {error.message}"
            hint = f"use at most {MAX_EVENTS} events of each key of PARTITION BY at a time"
            refusal = Unsupported("CER0403", message, hint=hint)
            refusal.by_none = True
            raise refusal from None


class _AutoOfAutomaton(_Auto):
    """The evaluator ``"auto"`` of a query with an automaton: it may count answers in any order."""

    def on(self, stream: Stream, *, any_order: bool = False) -> Evaluator:
        """Return the evaluator for a stream; with `any_order`, the faster one."""
        is_short = self._is_short(stream) if any_order else not self._is_in_order_of_engine(stream)
        return self.short if is_short else self.long

    def _is_in_order_of_engine(self, stream: Stream) -> bool:
        """Return whether the order of answers is that of the compiled engine."""
        if not thresholds.SHORT < len(stream) <= thresholds.TECS_ORDER:
            return len(stream) > thresholds.TECS_ORDER
        access = self.long.by_number(stream)
        assert isinstance(access, BatchAccess), "the compiled engine lists batches"
        try:
            count = access.count_by_kernel()
        except BadData:  # some event is bad, and there may be answers before it
            return False
        return count is not None and count <= thresholds.FEW_ANSWERS

    def _is_short(self, stream: Stream) -> bool:
        """Return whether the tECS in Python is faster than kernels, including their loading."""
        if "cerlab.engine.whole_stream" in sys.modules:
            worth = thresholds.WORTH_COLUMNS if stream.is_columnar else thresholds.WORTH_A_KERNEL
            return len(stream) <= worth
        if not thresholds.SHORT < len(stream) <= thresholds.COLD:
            return len(stream) <= thresholds.SHORT
        # kernels on disk only have to be loaded; without any, the first run compiles them
        from cerlab.kernel_cache.entries import some_are_kept

        return not some_are_kept()


def why_in_python(pattern: AnyPattern) -> str | None:
    """Return why ``"auto"`` evaluates a pattern in Python even on long streams.

    Return None if kernels support it; with very many kinds of events they may still not.

    >>> from cerlab.compile.pattern import any_pattern
    >>> texts = "A ; B", "MAX(A WAIT 5 [t]) ; B", "A AS a ; A AS b FILTER a.v * b.v > 1"
    >>> for text in texts:
    ...     print(why_in_python(any_pattern(text)))
    None
    there is no transducer for waits and windows in time inside MAX
    one side of a comparison computes with values of two events
    """
    match pattern.machine_kind:
        case "automaton":
            return None
        case "registers":
            plans: Sequence[Any] = [pattern.registers]
        case "waits":
            assert pattern.waits is not None
            plans = [p for p in pattern.waits.plan.plans if isinstance(p, CorrelatedPlan)]
        case "listed":
            assert isinstance(pattern, Pattern)
            assert pattern.tested is not None
            return why_in_python(pattern.tested.query)
        case None:
            return None if pattern.has_kernels_in_context else _refusal(pattern)
    from cerlab.engine.registers.evaluation import why_not  # Numba loads here

    return next(filter(None, map(why_not, plans)), None)


def _refusal(pattern: AnyPattern) -> str:
    """Return why no machine supports a pattern."""
    try:
        _compiled(pattern)
    except (Unsupported, IllFormed, ResourceLimit) as error:
        poll()
        return error.message
    raise AssertionError("a pattern without a machine was compiled")


def _auto(pattern: AnyPattern) -> Evaluator:
    match pattern.machine_kind:
        case "automaton":
            kernels = CompiledTecs(pattern)
            return _AutoOfAutomaton(Tecs(pattern), kernels, kernels)
        case "waits":
            stages = pattern.waits
            by_runs = stages is not None and stages.plan.compares
            short = WaitsByStep(pattern, "registers" if by_runs else "tecs")
            return _Auto(short, CompiledWaits(pattern))
        case "registers":
            runs = _registers(pattern)
            return _Auto(runs, runs, CompiledRuns(pattern))
        case "listed" | None:
            if not _is_in_context(pattern):
                only = OnlyReference(pattern)
                return _Auto(only, only)
            by = Tecs(pattern)
            engine = CompiledInContext(pattern) if pattern.has_kernels_in_context else None
            return _Auto(by, engine or by, engine)


EVALUATORS: dict[str, Callable[[AnyPattern], Evaluator]] = {
    "reference": Reference,
    "automaton": Automaton,
    "tecs": _tecs,
    "lists": Lists,
    "compiled": _compiled,
    "registers": _registers,
}
"""Constructors of all evaluators except ``"auto"``, by name; each raises as `choose`."""

WAYS = {**EVALUATORS, AUTO: _auto}
"""Constructors of all evaluators, including ``"auto"``."""


def names_that_take(pattern: AnyPattern) -> tuple[str, ...]:
    """Return the names of all evaluators that support a pattern, including ``"reference"``.

    >>> from cerlab.compile.pattern import any_pattern
    >>> names_that_take(any_pattern("MAX(A+) ; B"))
    ('reference', 'automaton', 'tecs', 'compiled')
    >>> names_that_take(any_pattern("A AS x ; B AS y FILTER x.v < y.v"))
    ('reference', 'compiled', 'registers')
    """
    if pattern.machine_kind is None and not pattern.is_in_context:
        return ("reference",)
    return tuple(name for name in EVALUATORS if _takes(name, pattern))


def _takes(name: str, pattern: AnyPattern) -> bool:
    try:
        choose(pattern, name)
    except (Unsupported, IllFormed):
        return False
    except ResourceLimit:
        poll()
        return False
    return True


def gives_when_known(pattern: AnyPattern, evaluator: str = AUTO) -> bool:
    """Return whether an evaluator yields a waiting answer as soon as the clock makes it known."""
    if pattern.machine_kind != "waits" or pattern.waits is None or not pattern.waits.is_live:
        return False
    return evaluator == AUTO or (evaluator != "reference" and evaluator in names_that_take(pattern))


def labels_by_machine(pattern: AnyPattern, evaluator: str) -> bool:
    """Return whether a machine can label an evaluator's answers by reading their events."""
    has_machine = pattern.machine_kind in ("automaton", "registers")
    return has_machine and evaluator in (AUTO, "compiled", "registers")


def remarks_on_waits(
    pattern: AnyPattern, stream: Stream, way: Evaluator | None = None
) -> Iterator[str]:
    """Yield a remark if answers wait, or if `until` has no effect because no answer can wait.

    `way` is that of ``"auto"``, if it has already been chosen.
    """
    if isinstance(pattern, Pattern) and waits(pattern.ast.formula):
        if stream.until == "end":
            return
        by = (way or choose(pattern)).on(stream, any_order=True)
        # answers are never withdrawn, so as many wait as the end of the stream adds
        yield from remark_on_waiting(by.count(stream.up_to("end")) - by.count(stream))
    elif stream.until is not None:
        text = "CER0916: no part of the pattern waits, so"
        yield by_door(f"{text} until= has no effect", f"{text} --until has no effect")


def remark_on_waiting(many: int) -> Iterator[str]:
    """Yield a remark on the number of answers that wait, unless it is 0."""
    if many:
        answers = "1 answer waits" if many == 1 else f"{shown_number(many)} answers wait"
        text = f"CER0915: {answers} for the clock; to get them, give"
        yield by_door(f'{text} until="end"', f"{text} --until end")
