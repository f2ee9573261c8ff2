"""The k-th answer in the order of iteration, found in one of several ways.

Each access keeps its position, so that a later answer costs only the distance; an earlier answer,
or an interruption, restarts it. Increasing numbers are a single pass over the stream. Threads may
share an access: it looks up one answer at a time, since each lookup starts where the last ended.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from random import Random
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from cerlab.automata.plan import Plan, WaitPlan
from cerlab.automata.strategy import Machine
from cerlab.computed import cached_property
from cerlab.engine.reference import totals
from cerlab.engine.reference.tecs import Node
from cerlab.engine.subtree_counts import (
    TecsWalk,
    Weights,
    bytes_of,
    check_budget,
    fits,
    shown_number,
)
from cerlab.errors import ResourceLimit, UsageError
from cerlab.model.answer import ComplexEvent
from cerlab.model.stream import Stream, TimeAxis, axis_for, axis_of_windows

if TYPE_CHECKING:
    from cerlab.engine.answers import AnswerBatch, ListsAt
    from cerlab.engine.symbol_tables import LearnedTables


# 20 seconds at 50 million answers a second, the speed at which the compiled engine lists
MAX_PASSED = 10**9
"""The most answers to pass on the way to one, if no shorter way exists."""


class Ends:
    """The ends of answers with running sums of their counts, computed as far as needed.

    `counts` yields (end, count), by end. The sums are kept while they fit the budget; later ends
    are still counted, so that `find` can report how much memory it would need.
    """

    def __init__(self, counts: Callable[[], Iterator[tuple[int, int]]]) -> None:
        self._from_the_first = counts
        self._start()

    def _start(self) -> None:
        self._counts = self._from_the_first()
        self._ends: list[int] = []
        self._sums: list[int] = []
        self._size = 0
        self.total = 0

    def find(self, k: int) -> tuple[int, int] | None:
        """Return the end of the k-th answer and the answer's index there; None if k is too large.

        After None, `total` is the number of all answers. Raises `ResourceLimit`, and errors of
        counting, after which it starts again.
        """
        while self.total <= k:
            try:
                following = next(self._counts, None)
            except BaseException:
                # a generator that has raised is finished: start it again at the next lookup
                self._start()
                raise
            if following is None:
                return None
            end, count = following
            self.total += count
            self._size += bytes_of(self.total.bit_length())
            if fits(self._size):
                self._ends.append(end)
                self._sums.append(self.total)
        at = bisect_right(self._sums, k)
        if at == len(self._sums):
            check_budget(self._size, "the numbers of answers up to each end")
        return self._ends[at], k - (self._sums[at - 1] if at else 0)


class Access(Protocol):
    """Interface: the answers of a query on a stream, by number from 0."""

    @property
    def total(self) -> int:
        """Return the number of answers."""

    def answer(self, k: int) -> ComplexEvent:
        """Return the k-th answer in the order of iteration; raises IndexError, `ResourceLimit`."""


class ListAccess:
    """Access to answers that are already in a list."""

    def __init__(self, answers: Sequence[ComplexEvent]) -> None:
        self._answers = answers

    def __iter__(self) -> Iterator[ComplexEvent]:
        return iter(self._answers)

    @property
    def total(self) -> int:
        """Return the number of answers."""
        return len(self._answers)

    def answer(self, k: int) -> ComplexEvent:
        """Return the k-th answer of the list."""
        _check_natural(k)
        if k >= self.total:
            raise _no_answer(k, self.total)
        return self._answers[k]


class TecsAccess:
    """Access to answers of the reference engine, which finds the k-th one by counting.

    It keeps the number of answers up to each end, the evaluation at the end of the last lookup, and
    the counts below its nodes.
    """

    def __init__(
        self,
        plan: Plan,
        machine: Machine,
        stream: Stream,
        given: Callable[[], Callable[[int], bool]] | None = None,
    ) -> None:
        """Create the access; under THROTTLE, ``given()`` returns a new filter of ends."""
        self._given = given
        self._plan = plan
        self._machine = machine
        self._stream = stream
        self._looking = Lock()
        self._ends = Ends(self._counts)
        self._walk = TecsWalk(plan, machine, stream)
        self._weights: Weights[Node] = Weights()

    def _counts(self) -> Iterator[tuple[int, int]]:
        counts = totals.counts(self._plan, self._machine, self._stream, self._stream.time)
        if self._given is None:
            return counts
        gives = self._given()
        return ((end, count) for end, count in counts if gives(end))

    @cached_property
    def total(self) -> int:
        """Return the number of answers, adding up the counts of the ends."""
        return sum(count for _, count in self._counts())

    def answer(self, k: int) -> ComplexEvent:
        """Return the k-th answer; raise `ResourceLimit` if the counts need too much memory."""
        _check_natural(k)
        with self._looking:
            if (place := self._ends.find(k)) is None:
                raise _no_answer(k, self._ends.total)
            end, inside = place
            dag = self._walk.to(end)
            if self._plan.limit is not None:
                return next(islice(dag.latest_first(), inside, None))
            return self._weights.answer(dag, inside)


class BatchAccess:
    """Access to answers of the compiled engine, which lists batches up to the k-th one.

    A batch is passed as a whole. The access keeps the run, and the batch of the last lookup.
    """

    def __init__(
        self, plan: Plan, tables: LearnedTables, stream: Stream, *, threads: int = 1
    ) -> None:
        self._plan = plan
        self._tables = tables
        self._stream = stream
        self._threads = threads
        self._looking = Lock()
        self._start()

    def _start(self) -> None:
        self._running = self.batches()
        self._batch: AnswerBatch | None = None
        self._first = 0

    def batches(self) -> Iterator[AnswerBatch]:
        """Yield the batches of answers from the first one on."""
        from cerlab.engine.whole_stream import compiled_answers

        yield from compiled_answers(
            self._plan, self._tables, self._stream, self._time(), threads=self._threads
        )

    def _time(self) -> TimeAxis | None:
        return axis_for(self._plan.window, self._stream, self._stream.time)

    @cached_property
    def total(self) -> int:
        """The number of answers, counted by kernels if they can, otherwise in Python integers."""
        if (count := self.count_by_kernel()) is not None:
            return count
        return totals.count(self._plan, self._tables.machine, self._stream, self._time())

    def count_by_kernel(self) -> int | None:
        """Return the number of answers, counted by kernels; None if they cannot count."""
        from cerlab.engine.flat_program import TooLarge
        from cerlab.engine.totals import counts_of_ends, total_of

        try:
            parts = counts_of_ends(self._plan, self._tables, self._stream, self._time())
            return sum(total_of(counts) for _, counts in parts)
        except TooLarge:
            return None

    def answer(self, k: int) -> ComplexEvent:
        """Return the k-th answer.

        Raises `ResourceLimit` if more than `MAX_PASSED` come before it.
        """
        _check_natural(k)
        if k > MAX_PASSED:
            raise _too_far(k) if k < self.total else _no_answer(k, self.total)
        with self._looking:
            return self._answer(k)

    def _answer(self, k: int) -> ComplexEvent:
        if k < self._first:
            self._start()
        while k >= (after := self._first + (len(self._batch) if self._batch else 0)):
            try:
                following = next(self._running, None)
            except BaseException:
                self._start()
                raise
            if following is None:
                raise _no_answer(k, after)
            self._batch, self._first = following, after
        assert self._batch is not None
        return _complex_event(self._batch, k - self._first)


class WaitAccess(BatchAccess):
    """Access to answers that wait; `tables` are the compiled tables of the plan's automata."""

    def __init__(self, plan: WaitPlan, tables: Mapping[int, LearnedTables], stream: Stream) -> None:
        self._waits = plan, tables, stream, axis_of_windows(plan.windows, stream)
        self._looking = Lock()
        self._start()

    def batches(self, lists: ListsAt | None = None) -> Iterator[AnswerBatch]:
        """Yield the batches of answers from the first one on.

        Answers of ends that `lists` excludes may be missing.
        """
        from cerlab.engine.waits.whole import waited_answers

        yield from waited_answers(*self._waits, lists)

    @cached_property
    def total(self) -> int:
        """The number of answers, counted by kernels if 64 bits suffice, else by Python integers."""
        from cerlab.engine.waits.whole import waited_count

        return waited_count(*self._waits)


class OfBatches(BatchAccess):
    """Access to answers in batches from a function, which is called again to go back."""

    def __init__(self, batches: Callable[[], Iterator[AnswerBatch]], total: Callable[[], int]):
        self._from_the_first, self._count = batches, total
        self._looking = Lock()
        self._start()

    def batches(self) -> Iterator[AnswerBatch]:
        """Yield the batches of answers from the first one on."""
        return self._from_the_first()

    @cached_property
    def total(self) -> int:
        """The number of answers."""
        return self._count()


def sample(access: Access, n: int, seed: int | None) -> list[ComplexEvent]:
    """Return n independent answers drawn uniformly; equal seeds draw equal answers.

    The numbers are drawn first and looked up in increasing order, in one pass. Raises IndexError
    without answers, `UsageError` for a negative n, and as `Access.answer`.
    """
    if n < 0:
        message = f"expected a sample of at least 0 answers, got {n}"
        raise UsageError("CER0819", message, hint="0 is the least")
    if n == 0:
        return []
    if access.total == 0:
        raise IndexError("there are no answers to draw from")
    rng = Random(seed)
    numbers = [rng.randrange(access.total) for _ in range(n)]
    answers = {k: access.answer(k) for k in sorted(set(numbers))}
    return [answers[k] for k in numbers]


def _complex_event(batch: AnswerBatch, n: int) -> ComplexEvent:
    positions = batch.positions[int(batch.offsets[n]) : int(batch.offsets[n + 1])]
    return ComplexEvent(int(batch.start[n]), int(batch.end[n]), tuple(positions.tolist()))


def _check_natural(k: int) -> None:
    if k < 0:
        raise IndexError(f"there is no answer number {shown_number(k)}: numbers begin at 0")


def _no_answer(k: int, total: int) -> IndexError:
    last = f"the last one is {shown_number(total - 1)}" if total else "there are no answers"
    return IndexError(f"there is no answer number {shown_number(k)}: {last}")


def _too_far(k: int) -> ResourceLimit:
    return ResourceLimit(
        "CER0614",
        f"answer number {shown_number(k)} comes after more than {MAX_PASSED:,} others, which a "
        "stream of this length has to list first",
        hint="count() lists nothing; LIMIT and WITHIN leave fewer answers",
    )
