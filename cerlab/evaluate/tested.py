"""Answers of queries whose outermost filters are tested on listed valuations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from cerlab.compile.pattern import Filtered, Pattern
from cerlab.display import Explanation
from cerlab.engine import codec
from cerlab.engine.codec import Layout
from cerlab.engine.run import Around, OpenRun, Run
from cerlab.engine.state_checks import expect, is_value, is_whole, reading_state
from cerlab.engine.tested import Filtering, ends_that_pass
from cerlab.errors import BadData, Unsupported
from cerlab.evaluate.evaluators import Compiled
from cerlab.evaluate.labelled import has_labels, in_batches, labelled_answers
from cerlab.evaluate.protocol import Evaluator, number_of
from cerlab.evaluate.recent import WithEvents
from cerlab.evaluate.runs import pattern_digest
from cerlab.model.answer import (
    ComplexEvent,
    Valuation,
    complex_event,
    latest_first,
    valuation_latest_first,
)
from cerlab.model.clauses import Consume, EventWindow, Limit
from cerlab.model.stream import Stream, TimeAxis, Until, axis_for
from cerlab.predicates.text import predicate_text
from cerlab.predicates.truth import Key

if TYPE_CHECKING:
    from cerlab.engine.answers import AnswerBatch, ListsAt
    from cerlab.engine.labels import LabelledAnswers


class FilteredAnswers(Evaluator):
    """An evaluator that filters the valuations listed by another evaluator."""

    def __init__(self, pattern: Pattern, listing: Evaluator) -> None:
        """Create the filters of a query; `listing` evaluates the query without them."""
        assert pattern.tested is not None, "no machine supports the outermost filters"
        self.pattern: Pattern = pattern
        self.name, self._listing = listing.name, listing
        self._tested: Filtered = pattern.tested
        self._condition = predicate_text(self._tested.plan.condition)

    def answers(self, stream: Stream) -> Iterator[ComplexEvent]:
        """Return the answers on a stream, by end."""
        return self._answers(stream, None)

    def answers_at(self, stream: Stream, lists: ListsAt) -> Iterator[ComplexEvent]:
        """Return the answers; ends for which `lists` is false are not listed."""
        return self._answers(stream, lists)

    def _answers(self, stream: Stream, lists: ListsAt | None) -> Iterator[ComplexEvent]:
        limit, listing = self.pattern.ast.limit, self._listing.on(stream)
        if isinstance(listing, Compiled) and self._has_no_clause and limit is None:
            from cerlab.engine.answers import BatchedAnswers  # Numba loads here
            from cerlab.engine.tested_rows import answers_of_rows

            return BatchedAnswers(map(answers_of_rows, self._rows(listing, stream, lists)))
        ends = self._ends(stream, lists)
        return (answer for ending in ends for answer in _answers_of_end(ending, limit))

    def count(self, stream: Stream) -> int:
        """Return the number of answers, by listing them."""
        return number_of(self.answers(stream))

    @property
    def _has_no_clause(self) -> bool:
        """True if the tests leave answers unchanged and no clause selects among them."""
        plan = self._tested.plan
        selects = plan.rivals is not None or plan.strategy is not None
        consumes = plan.consume is not Consume.NONE
        return not selects and not consumes and plan.labels is None and plan.window is None

    def _rows(
        self, listing: Compiled, stream: Stream, lists: ListsAt | None
    ) -> Iterator[LabelledAnswers]:
        """Yield the labelled answers of the compiled engine that pass the tests."""
        from cerlab.engine.tested_rows import RowTests  # Numba loads here

        query = self._tested.query
        tests = RowTests(self._tested.plan.condition, stream)
        listed = listing.answers(stream) if lists is None else listing.answers_at(stream, lists)
        rows = labelled_answers(query, stream, in_batches(listed))
        return map(tests.passing, rows)

    def valuations(self, stream: Stream) -> Iterator[Valuation]:
        """Yield the valuations that pass, by end."""
        limit = self.pattern.ast.limit
        for ending in self._ends(stream):
            order = valuation_latest_first
            yield from sorted(ending, key=order)[: limit.per_end] if limit else ending

    def _ends(self, stream: Stream, lists: ListsAt | None = None) -> Iterator[list[Valuation]]:
        plan, listing = self._tested.plan, self._listing.on(stream)
        time, is_tested = axis_for(plan.window, stream, stream.time), False
        listed: Iterable[Valuation] = self._listing.valuations(stream)
        if isinstance(listing, Compiled) and plan.rivals is None:
            from cerlab.engine.labels import valuations_of_rows  # Numba loads here

            rows, is_tested = self._rows(listing, stream, lists), True
            listed = chain.from_iterable(map(valuations_of_rows, rows))
        tests = Filtering(plan, time, is_tested=is_tested)
        for position, event in enumerate(stream):
            tests.read(event, position)
        return ends_that_pass(tests, listed, stream)


def _answers_of_end(ending: Iterable[Valuation], limit: Limit | None) -> list[ComplexEvent]:
    answers = list(dict.fromkeys(map(complex_event, ending)))
    return sorted(answers, key=latest_first)[: limit.per_end] if limit else answers


class CompiledFilters(FilteredAnswers, Compiled):
    """A filter on the answers that the compiled engine lists, also for arriving events."""

    def __init__(self, pattern: Pattern, listing: Compiled) -> None:
        """Create the filters of a query; `listing` evaluates the query without them."""
        FilteredAnswers.__init__(self, pattern, listing)
        self._engine, self.plan = listing, listing.plan

    def run(self, time: TimeAxis | None, state: bytes | None = None) -> OpenRun:
        """Return a run on arriving events; raise as the listing engine does."""
        return FilteredRun(self.pattern, self._tested, self._engine.run, time, state)

    def run_of_file(self, time: TimeAxis | None) -> Run[ComplexEvent] | None:
        """Return None, because filtered queries read a file as a whole."""
        return None

    @property
    def takes_batches(self) -> bool:
        """True if the listing engine reads events batch by batch."""
        return self._engine.takes_batches

    def explain(self, stream: Stream | None = None) -> Explanation:
        """Describe the listing engine, and the test of its answers."""
        inner = self._engine.explain(stream)
        last = f"tested on listed answers, with their labels: {self._condition}"
        return Explanation((*inner.lines, last))


LISTED = Layout("cerlab-tested", 1, {"consumed": tuple}, {"run": "|u1 bytes"})


class FilteredRun(Around):
    """A run that filters the answers of a run of the compiled engine."""

    def __init__(
        self,
        pattern: Pattern,
        tested: Filtered,
        opened: Callable[[TimeAxis | None, bytes | None], OpenRun],
        time: TimeAxis | None,
        state: bytes | None,
    ) -> None:
        """Open a run by the function `opened`; raise `Unsupported` if labels need later events."""
        if not has_labels(tested.query, live=True):
            raise Unsupported(
                "CER0403",
                "sessions do not support conditions on labels that depend on later events",
                hint="cerlab.evaluate supports the query, on streams that are read as a whole",
            )
        if tested.plan.counts or not isinstance(tested.plan.window, EventWindow | None):
            raise Unsupported(
                "CER0403",
                "after a filter that is tested on answers, sessions support no WITHIN in time, "
                "nor WITHIN and STRICT over substreams",
                hint="cerlab.evaluate supports the query, on streams that are read as a whole",
            )
        self._pattern, self._tested = pattern, tested
        self._by_columns, inner = tested.plan.rivals is None, None
        self._tests = Filtering(tested.plan, time, is_tested=self._by_columns)
        if state is not None:
            values, arrays = codec.read(LISTED, pattern_digest(pattern), state)
            with reading_state():
                for key, end in values["consumed"]:
                    expect(is_whole(end), "the end of a consumed answer")
                    self._tests.consumed[_key(key)] = end
            inner = arrays["run"].tobytes()
        self._run = WithEvents(tested.query, opened, time, inner)
        read = self._run.position
        consumed = self._tests.consumed.values()
        expect(all(end < read for end in consumed), "the end of a consumed answer")

    def push(self, events: Stream) -> Iterator[list[ComplexEvent]]:
        """Read more events; yield the answers that they complete and that pass."""
        batches: list[AnswerBatch] = []
        error = None
        try:
            for batch in self._run.push(events):
                batches.append(batch)
        except BadData as bad:
            error = bad
        yield self._passing(batches)
        if error is not None:
            raise error

    def advance(self, until: Until) -> Iterator[list[ComplexEvent]]:
        """Declare that all events before a time have arrived; yield the answers that pass."""
        yield self._passing(list(self._run.advance(until)))

    def _passing(self, batches: list[AnswerBatch]) -> list[ComplexEvent]:
        from cerlab.engine.answers import join_answers
        from cerlab.engine.labels import valuations_of_rows  # Numba loads here
        from cerlab.engine.tested_rows import RowTests

        answers, limit = list[ComplexEvent](), self._pattern.ast.limit
        listed = join_answers(batches)
        if len(listed):
            recent = self._run.recent
            part, offset = recent.part_of(self._tested.query, listed)
            near = [listed.shift_positions(-offset)]
            every = labelled_answers(self._tested.query, part, near)
            if self._by_columns:
                every = map(RowTests(self._tested.plan.condition, part).passing, every)
            rows = (
                each._replace(
                    start=each.start + offset,
                    end=each.end + offset,
                    positions=each.positions + offset,
                )
                for each in every
            )
            found = chain.from_iterable(map(valuations_of_rows, rows))
            for ending in ends_that_pass(self._tests, found, part, offset):
                answers += _answers_of_end(ending, limit)
        self._run.forget()
        return answers

    def finish(self) -> Iterator[list[ComplexEvent]]:
        """Return no answers, because waiting answers need `advance`."""
        return iter(())

    def waiting(self) -> int:
        """Return the number of listed answers that wait for the clock."""
        waiting: int = self._run.waiting()
        return waiting

    def state(self) -> bytes:
        """Return the state from which another session can continue, as bytes."""
        from numpy import frombuffer, uint8  # NumPy loads here

        consumed = [(key, end) for key, end in self._tests.consumed.items()]
        arrays = {"run": frombuffer(self._run.state(), uint8)}
        return codec.write(LISTED, pattern_digest(self._pattern), {"consumed": consumed}, arrays)


def _key(key: Any) -> Key | None:
    """Return the key of a substream in a saved state."""
    if key is None:
        return None
    pairs = tuple((kind, value) for kind, value in key)
    expect(all(isinstance(kind, str) and is_value(value) for kind, value in pairs), "a key")
    return pairs
