"""The evaluators by name, and ``"auto"``, which chooses one of them for a pattern and a stream."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, TypeAlias, TypeVar

from cerlab.compile.pattern import AnyPattern, Pattern, compares_waits, has_waits
from cerlab.engine.by_number import Access, BatchAccess
from cerlab.engine.weights import shown_number
from cerlab.errors import BadData, ResourceLimit, Unsupported, UsageError, nearest
from cerlab.evaluate import protocol
from cerlab.evaluate.evaluators import (
    Automaton,
    CompiledEvaluator,
    Lists,
    Reference,
    Registers,
    TecsEvaluator,
)
from cerlab.evaluate.labelled import has_labels, labelled_valuations
from cerlab.evaluate.protocol import Evaluator
from cerlab.logic.cel.syntax import waits
from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.model.event import Event
from cerlab.model.stream import Stream, TimeAxis

EvaluatorName: TypeAlias = Literal[
    "auto", "reference", "automaton", "tecs", "lists", "compiled", "registers"
]

T = TypeVar("T")

EVALUATORS: dict[str, Evaluator] = {
    each.name: each
    for each in (
        Reference(),
        Automaton(),
        TecsEvaluator(),
        Lists(),
        CompiledEvaluator(),
        Registers(),
    )
}
"""All but ``"auto"``, by name."""


def remarks_on_waits(pattern: AnyPattern, stream: Stream) -> Iterator[str]:
    """Yield that answers wait, and that nothing does though the stream says until when it is."""
    if isinstance(pattern, Pattern) and waits(pattern.ast.formula):
        if stream.until == "end":
            return
        by = quickest(pattern, stream)
        # an answer that is given stays one, so those that wait are as many as the end adds
        many = by.count(pattern, stream.up_to("end")) - by.count(pattern, stream)
        yield from remark_on_waiting(many)
    elif stream.until is not None:
        yield "CER0916: nothing in the pattern waits, so until= changes nothing"


def remark_on_waiting(many: int) -> Iterator[str]:
    """Yield that so many answers wait, unless none does."""
    if many:
        answers = "1 answer waits" if many == 1 else f"{shown_number(many)} answers wait"
        yield f'CER0915: {answers} for the clock; until="end" (--until end) gives what waits'


_LABELLING = ("reference", "automaton", "compiled", "registers")
"""Names of the evaluators that give labels."""


class Auto(Evaluator):
    """The best evaluator that takes the pattern."""

    name = "auto"

    def takes(self, pattern: AnyPattern) -> bool:
        """Everything, as the reference does."""
        return True

    def answers(self, pattern: AnyPattern, stream: Stream) -> Iterator[ComplexEvent]:
        """Yield the answers of the evaluator that `evaluator_for` chooses."""
        return evaluator_for(pattern, stream).answers(pattern, stream)

    def live(
        self, pattern: AnyPattern, events: Iterable[Event], time: TimeAxis | None
    ) -> Iterator[ComplexEvent]:
        """The answers of the one for a short stream."""
        return evaluator_for(pattern).live(pattern, events, time)

    def by_number(self, pattern: AnyPattern, stream: Stream, *, workers: int = 1) -> Access:
        """Return the access by number of the evaluator that `evaluator_for` chooses."""
        return evaluator_for(pattern, stream).by_number(pattern, stream, workers=workers)

    def count(self, pattern: AnyPattern, stream: Stream) -> int:
        """The count of the quickest one."""
        return quickest(pattern, stream).count(pattern, stream)

    def valuations(
        self, pattern: AnyPattern, events: Iterable[Event], time: TimeAxis | None
    ) -> Iterator[Valuation]:
        """The answers of a stream with their labels; of events that still arrive by the automaton.

        By the reference where there is no machine, or no automaton for events that arrive.
        """
        if not isinstance(pattern, Pattern):
            return EVALUATORS["reference"].valuations(pattern, events, time)
        if isinstance(events, Stream) and has_labels(pattern):
            return labelled_valuations(pattern, events, self.answers(pattern, events))
        name = "automaton" if pattern.has_automaton else "reference"
        return EVALUATORS[name].valuations(pattern, events, time)


AUTO = Auto()


def evaluator_for(pattern: AnyPattern, stream: Stream | None = None) -> Evaluator:
    """The evaluator that ``"auto"`` is, for a stream; without one for events that arrive.

    Where there is an automaton the tECS on short streams, and the compiled engine on long ones and
    where it counts few answers on others; where there is none, as where filters compare labels, the
    transducer's runs; else the reference.

    >>> from cerlab.compile.pattern import any_pattern
    >>> streams = [Stream.from_events([{"type": "A"}] * n) for n in (10, 5_000)]
    >>> [evaluator_for(any_pattern("SELECT * WHERE A WITHIN 1 EVENTS"), s).name for s in streams]
    ['tecs', 'compiled']
    >>> evaluator_for(any_pattern("A+"), streams[1]).name
    'tecs'
    >>> [evaluator_for(any_pattern(text)).name for text in ("<type = 'A'>^", "MAX(A+) ; B")]
    ['registers', 'reference']
    """
    if isinstance(pattern, Pattern) and pattern.has_automaton:
        by_engine = stream is not None and _in_order_of_engine(pattern, stream)
        return EVALUATORS["compiled" if by_engine else "tecs"]
    if has_waits(pattern):
        is_long = stream is not None and len(stream) > protocol.SHORT
        step_by_step = "registers" if compares_waits(pattern) else "tecs"
        return EVALUATORS["compiled" if is_long else step_by_step]
    return EVALUATORS["registers" if pattern.has_registers else "reference"]


def _in_order_of_engine(pattern: Pattern, stream: Stream) -> bool:
    """Whether answers are iterated, and numbered, as the compiled engine lists them."""
    if not protocol.SHORT < len(stream) <= protocol.TECS_ORDER:
        return len(stream) > protocol.TECS_ORDER
    try:
        count = BatchAccess(pattern.plan, pattern.learned, stream).count_by_kernel()
    except BadData:  # at some event, up to which there may be answers
        return False
    return count is not None and count <= protocol.FEW_ANSWERS


def quickest(pattern: AnyPattern, stream: Stream) -> Evaluator:
    """The evaluator that is done first, where the order inside an end does not matter.

    `evaluator_for` depends on query and stream alone, this one also on whether kernels are loaded.
    """
    has_kernels = "cerlab.engine.whole_stream" in sys.modules
    worth = protocol.WORTH_COLUMNS if stream.is_columnar else protocol.WORTH_A_KERNEL
    if pattern.has_automaton:
        short = len(stream) <= (worth if has_kernels else protocol.SHORT)
        # kernels that are on disk only load; without any the first run would compile them
        if not (short or has_kernels) and len(stream) <= protocol.COLD:
            from cerlab.kernel_cache.entries import some_are_kept

            short = not some_are_kept()
        return EVALUATORS["tecs" if short else "compiled"]
    return evaluator_for(pattern, stream)


def evaluator_of(name: str) -> Evaluator:
    """The evaluator of a name; raises `UsageError` for others."""
    if name == AUTO.name:
        return AUTO
    if name not in EVALUATORS:
        hint = nearest(name, (*EVALUATORS, AUTO.name))
        raise UsageError("CER0805", f"unknown evaluator '{name}'", hint=hint)
    return EVALUATORS[name]


def evaluators_for(pattern: AnyPattern) -> tuple[str, ...]:
    """The names of the evaluators that take a pattern; the reference does, on small streams.

    >>> from cerlab.compile.pattern import any_pattern
    >>> evaluators_for(any_pattern("MAX(A+) ; B"))
    ('reference',)
    >>> evaluators_for(any_pattern("A AS x ; B AS y FILTER x.v < y.v"))
    ('reference', 'compiled', 'registers')
    """
    return tuple(name for name, each in EVALUATORS.items() if each.takes(pattern))


def answers_of(pattern: AnyPattern, stream: Stream, name: str = "auto") -> Iterator[ComplexEvent]:
    """Yield the answers by one evaluator, by end, as they are found.

    Raises `Unsupported`, with the names of those that take the pattern, for one that does not.
    """

    def takers() -> Sequence[str]:
        return evaluators_for(pattern)

    try:
        answers = (EVALUATORS.get(name) or evaluator_of(name)).answers(pattern, stream)
    except Unsupported as error:
        error.hint = f"evaluators that take it: {', '.join(takers())}"
        raise
    except ResourceLimit as error:
        _name_takers(error, takers(), name)
        raise
    # a generator around the answers costs a step for each of them
    return answers if name in _FAST else _each(answers, takers, name)


def valuations_of(pattern: AnyPattern, stream: Stream, name: str = "auto") -> Iterator[Valuation]:
    """Yield the valuations by one evaluator, by end, as they are found.

    Raises `Unsupported`, with the names of those that give the labels, for one that does not.
    """

    def givers() -> Sequence[str]:
        return [each for each in evaluators_for(pattern) if each in _LABELLING]

    try:
        answers = evaluator_of(name).valuations(pattern, stream, stream.time)
    except Unsupported as error:
        if isinstance(pattern, Pattern) and name not in givers():
            error.hint = f"evaluators that give its labels: {', '.join(givers())}"
        raise
    except ResourceLimit as error:
        _name_takers(error, givers(), name)
        raise
    return answers if name in _FAST else _each(answers, givers, name)


_FAST = ("tecs", "compiled")
"""The evaluators whose limits name no other one."""


def _each(answers: Iterable[T], takers: Callable[[], Sequence[str]], name: str) -> Iterator[T]:
    try:
        yield from answers
    except ResourceLimit as error:
        _name_takers(error, takers(), name)
        raise


def _name_takers(error: ResourceLimit, takers: Sequence[str], name: str) -> None:
    """Let the hint of a limit name only evaluators that take the pattern, and another one."""
    named = set(re.findall(r'evaluator="(\w+)"', error.hint))
    if named - {*takers, "auto"} or name in named:
        others = [each for each in takers if each not in ("reference", name)]
        error.hint = f'use evaluator="{others[0]}"' if others else "use a shorter stream"
