"""Answers and totals of ``cerlab run`` on their way from the evaluator to the output.

A form determines the contents of a line: positions, labels, events, or columns. Forms that show
events read them from the kept columns of the stream: the current batch and the window before it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from cerlab.cli.options import columns_of, in_columns
from cerlab.compile.pattern import AnyPattern, Pattern
from cerlab.errors import UsageError
from cerlab.evaluate.labelled import (
    event_texts,
    labelled_answers,
    labelled_valuations,
    named_columns,
    rows_of_part,
)
from cerlab.evaluate.recent import Recent
from cerlab.io.answers import (
    ROWS,
    arrow_table,
    line_of,
    record,
    table_of_batches,
    table_of_rows,
)
from cerlab.io.named_columns import attributes_named, one_table
from cerlab.io.sink import Sink
from cerlab.model.answer import ComplexEvent, Valuation, complex_event
from cerlab.model.event import has_path
from cerlab.model.stream import Stream

if TYPE_CHECKING:
    from cerlab.engine.answers import AnswerBatch
    from cerlab.evaluate.aggregates import Request

PENDING_POSITIONS = 1 << 20
"""Answers with this many positions are labelled together, so that their window is read only
once."""


class Enough(Exception):
    """The signal that the output has as many answers as ``--limit`` allows."""


class Totals:
    """The tables of totals by end, which are written as they arrive.

    Raises `Enough` as soon as the number of rows reaches ``--limit``.
    """

    def __init__(self, query: Pattern, request: Request, limit: int | None, out: Sink) -> None:
        self._query, self._request, self._left, self._out = query, request, limit, out
        self._names = set[str]()
        self.count = 0

    def read(self, part: Stream) -> None:
        """Record the attributes of the next events."""
        named = [column.attribute for column in self._request.columns if column.attribute]
        if part.is_columnar:
            self._names.update(name for name in part.columns if name not in ("type", "stream"))
            self._names.update(name for name in named if name in part.columns)
        else:
            self._names.update(*(event.attributes for event in part.events))
            self._names.update(name for name in named if has_path(part.events, name))

    def take(self, results: Any) -> None:
        """Write a table of totals."""
        table = results.slice(0, self._left)
        self._out.table(table)
        self.count += table.num_rows
        if self._left is not None:
            self._left -= table.num_rows
            if not self._left:
                raise Enough

    def flush(self) -> None:
        """Flush the output, so that readers see the rows so far."""
        self._out.flush()

    def finish(self) -> None:
        """Raise `UsageError` for an attribute that no event has."""
        from cerlab.evaluate.aggregates import check_attributes

        if self._names:
            check_attributes(self._request, self._query, self._names)


class Answers:
    """Writer of answers by end, singly or in batches, in the requested form.

    Raises `Enough` as soon as the number of answers reaches ``--limit``.
    """

    def __init__(
        self,
        query: AnyPattern,
        arguments: argparse.Namespace,
        out: Sink,
        *,
        by_columns: bool = False,
        types_grow: bool = False,
    ) -> None:
        """Prepare the output; with `by_columns`, every event has all attributes of its columns.

        `types_grow`: parts of the stream have attributes and types that other parts lack.
        """
        self._query = query
        self._types_grow = types_grow
        self._names = set[str]()
        self._types: Any = None
        self._out = out
        self._labels, self._events = arguments.labels, arguments.show_events
        self._columns: list[str] | None = None
        self._with_columns = in_columns(arguments)
        if (columns := columns_of(arguments)) is not None:
            self._columns = columns
        self._in_lines = arguments.format == "ndjson" and not self._with_columns
        self._by_columns = by_columns
        self._left = arguments.limit
        self._single: list[ComplexEvent] = []
        self._pending: list[AnswerBatch] = []
        self._positions = self._settled = 0
        self._has_begun = False
        self.recent = Recent() if self.needs_events else None
        self.count = 0
        if not self._with_columns and not self._in_lines:  # an empty table has a header too
            self._out.table(arrow_table((), labels=self._labels))
        if self._left == 0 and not self._with_columns:
            raise Enough

    @property
    def needs_events(self) -> bool:
        """True if answers show attributes of their events, not only positions."""
        return self._labels or self._events or self._with_columns

    def read(self, part: Stream) -> None:
        """Keep the next events, whose attributes the answers may show."""
        if self.recent is not None:
            self.recent.append(part)
            if self._with_columns:
                if self._types_grow:
                    paths = attributes_named(self._columns or ())
                    self._names.update(part.columns, (n for n in paths if n in part.columns))
                if not self._has_begun:
                    self._begin(part)

    def _begin(self, part: Stream) -> None:
        """Check the names of columns, and write the head of the table."""
        from cerlab.engine.answers import join_answers

        assert isinstance(self._query, Pattern)
        assert self.recent is not None
        self._has_begun = True
        named_columns(self._query, self._columns, part.columns, empty=self._types_grow)
        part = self.recent.timed(part)
        self._write(rows_of_part(self._query, part, 0, join_answers(()), self._columns), 0)
        if self._left == 0:
            raise Enough

    def _one(self, answer: ComplexEvent | Valuation) -> None:
        """Add one answer to the output."""
        if isinstance(answer, Valuation):
            if self._in_lines:
                self._out.text(self._line(answer))
            else:
                self._out.table(arrow_table([answer], labels=True))
            self._count_down(1)
        elif self._in_lines and not self.needs_events:
            self._out.text(line_of(answer.start, answer.end, list(answer.positions)))
            self._count_down(1)
        else:
            if len(self._single) >= ROWS and answer.end != self._single[-1].end:
                self._gather()
            self._single.append(answer)
            if self._left is not None and len(self._single) >= self._left and not self._labels:
                self.settle(final=True)

    def _line(self, answer: Valuation) -> str:
        fields = record(answer)
        if self._events and self.recent is not None:
            from cerlab.engine.answers import batched_answers

            (batch,) = batched_answers([complex_event(answer)], 1)
            part = self.recent.part_of(self._query, batch)
            (objects,) = self._event_objects(batch, *part).to_pylist()
            fields["events"] = [json.loads(text) for text in objects]
        return json.dumps(fields, ensure_ascii=False) + "\n"

    def take(self, results: Any) -> None:
        """Add the results of a run: a batch of the compiled engine, or single answers."""
        if isinstance(results, list | Iterator):
            for answer in results:
                self._one(answer)
        else:
            self._batch(results)

    def _batch(self, answers: AnswerBatch) -> None:
        """Add answers of the compiled engine to the output."""
        self._gather()
        if not len(answers):
            return
        if not self.needs_events:
            answers = answers if self._left is None else answers.first(self._left)
            self._write(table_of_batches([answers]), len(answers))
            return
        self._pending.append(answers)
        self._positions += len(answers.positions)
        # LIMIT counts the rows of one end, so an end must not be split over two writes.
        if self._positions >= PENDING_POSITIONS and self._per_end is None:
            self._give_out()

    def settle(self, lowest: int = 0, *, final: bool = False) -> None:
        """Write the answers that the events so far complete.

        Later answers start at `lowest` or after.

        If later answers may start anywhere, writing is delayed: it costs time for all kept events,
        so it happens when their number has doubled.
        """
        self._gather()
        if self.recent is None:
            return
        kept = self.recent.length - self.recent.offset
        if final or lowest > self.recent.offset or self.recent.length - self._settled >= kept // 2:
            self._give_out()
            self._settled = self.recent.length
        if not self._pending:
            self.recent.forget(lowest)

    def finish(self) -> None:
        """Write the remaining answers; raises `UsageError` for a column that no event has."""
        if self._with_columns and not self._has_begun:
            self._begin(Stream(()))
        if self._names:
            assert isinstance(self._query, Pattern)
            named_columns(self._query, self._columns, self._names)
        self.settle(final=True)

    def flush(self) -> None:
        """Flush the output, so that readers see the answers so far."""
        self.settle(final=True)
        self._out.flush()

    @property
    def _per_end(self) -> int | None:
        limit = self._query.ast.limit if isinstance(self._query, Pattern) else None
        return None if limit is None else limit.per_end

    def _gather(self) -> None:
        """Collect the single answers into a batch."""
        if not self._single:
            return
        from cerlab.engine.answers import batched_answers  # NumPy loads here

        some, self._single = self._single, []
        for batch in batched_answers(some, len(some)):
            self._batch(batch)

    def _lacks_names(self) -> bool:
        """Return whether a column names an attribute that no event so far has.

        Its rows are delayed, because a name that no event has at all is an error without output.
        """
        if not (self._types_grow and self._with_columns and self._columns):
            return False
        assert isinstance(self._query, Pattern)
        try:
            named_columns(self._query, self._columns, self._names)
        except UsageError:
            return True
        return False

    def _give_out(self) -> None:
        if self._pending and self._lacks_names():
            return
        pending, self._pending, self._positions = self._pending, [], 0
        if not pending:
            return
        from cerlab.engine.answers import join_answers

        answers = join_answers(pending)
        if self._left is not None and not self._labels:
            answers = answers.first(self._left)
        assert self.recent is not None
        stream, at = self.recent.part_of(self._query, answers)
        for table, count in self._tables(answers, stream, at):
            self._write(table, count)

    def _event_objects(self, answers: AnswerBatch, stream: Stream, at: int) -> Any:
        return event_texts(self._query, stream, at, answers, self._attributes(stream))

    def _tables(self, answers: AnswerBatch, stream: Stream, at: int) -> Iterator[tuple[Any, int]]:
        """Yield the tables of some answers, with the number of answers in each."""
        query = self._query
        if self._events and not self._labels:
            texts = self._event_objects(answers, stream, at)
            yield table_of_batches([answers]).append_column("events", texts), len(answers)
            return
        assert isinstance(query, Pattern)
        if self._with_columns:
            yield rows_of_part(query, stream, at, answers, self._columns), len(answers)
            return
        near = answers.shift_positions(-at)
        (rows,) = labelled_answers(query, stream, [near])
        table = table_of_rows(rows, at)
        if self._per_end is not None and _most_at_an_end(rows.end) > self._per_end:
            table = _shifted(arrow_table(labelled_valuations(query, stream, near), labels=True), at)
        if self._events:
            table = table.append_column("events", self._event_objects(_answers(table), stream, at))
        yield table, table.num_rows

    def _attributes(self, stream: Stream) -> list[str] | None:
        """Return the attributes of all events, or None if events differ in their attributes."""
        names = ("type", "stream")
        return [n for n in stream.columns if n not in names] if self._by_columns else None

    def _write(self, table: Any, count: int) -> None:
        # Counted after labelling, since an answer may have several rows.
        if self._labels and self._left is not None:
            table = table.slice(0, self._left)
            count = table.num_rows
        if self._types_grow and self._with_columns:
            rowless = table.slice(0, 0)
            self._types = rowless if self._types is None else one_table([self._types, rowless])
        self._out.table(table)
        self._count_down(count)

    def _count_down(self, count: int) -> None:
        self.count += count
        if self._left is not None and count:
            self._left -= count
            if not self._left:
                raise Enough


Results: TypeAlias = Answers | Totals
"""A consumer of the results of a run."""


def _answers(table: Any) -> AnswerBatch:
    """Return the answers in the rows of a table."""
    import numpy as np

    from cerlab.engine.answers import AnswerBatch

    lists = table.column("positions").combine_chunks()
    offsets = lists.offsets.to_numpy().astype(np.int64)
    start, end = (table.column(name).to_numpy() for name in ("start", "end"))
    return AnswerBatch(start, end, offsets, lists.values.to_numpy())


def _most_at_an_end(ends: Any) -> int:
    """Return the largest number of rows with one end; `ends` do not decrease."""
    import numpy as np

    return int(np.unique(ends, return_counts=True)[1].max(initial=0))


def _shifted(table: Any, by: int) -> Any:
    """Return the answers with positions shifted by `by` events."""
    if not by:
        return table
    return arrow_table(
        [
            Valuation(
                row["start"] + by,
                row["end"] + by,
                {label: tuple(p + by for p in D) for label, D in row["labels"]},
            )
            for row in table.to_pylist()
        ],
        labels=True,
    )
