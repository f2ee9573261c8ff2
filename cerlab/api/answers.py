"""The answers of a query on a stream, evaluated on demand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby, islice, zip_longest
from operator import attrgetter, index
from typing import TYPE_CHECKING, Any, Unpack, overload
from warnings import warn
from weakref import WeakKeyDictionary

from cerlab import io
from cerlab.budget import poll
from cerlab.compile.pattern import AnyPattern, Immutable, Pattern
from cerlab.computed import cached_property
from cerlab.display import Drawable, rich_display
from cerlab.engine.random_access import Access, BatchAccess, ListAccess, sample
from cerlab.errors import (
    AnswerWarning,
    CerlabError,
    keywords_by_name,
    lists_options,
    needed,
    stacklevel_of_caller,
)
from cerlab.evaluate import choose, missing_names, remarks_on_waits
from cerlab.evaluate.aggregates import Aggregates, group_totals, request_of
from cerlab.evaluate.evaluators import CompiledTecs
from cerlab.evaluate.labelled import answer_tables
from cerlab.evaluate.protocol import Evaluator
from cerlab.io.answers import ROWS, table_of_batches
from cerlab.model.answer import ComplexEvent, in_order
from cerlab.model.stream import Stream
from cerlab.threads import asked_number, using

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from cerlab.engine.answers import AnswerBatch
    from cerlab.why import Why


_SEEN, _SHOWN = 100, 5
"""Events whose answers a `repr` shows, and how many of these."""

_FRAME_ROW = 180
"""Bytes of an answer in a DataFrame, mostly of the NumPy array of its positions: measured."""


class Matches(Drawable, Immutable):
    """The answers of a query on a stream, lazily: by end, inside one end in a fixed order.

    Threads may share it; each iterates by an iterator of its own. ``m[k]``, ``answer in m`` and
    ``m == other`` evaluate what they need; `count` is the length.

    >>> from cerlab import evaluate, parse_query
    >>> query, events = parse_query("SELECT * WHERE A ; B"), [{"type": kind} for kind in "AAB"]
    >>> matches = query.run(events)
    >>> matches.count(), matches[0] in matches, matches == evaluate(query, events)
    (2, True, True)
    """

    query: Pattern
    stream: Stream
    _threads: int | None
    _warned: bool

    def __init__(self, query: Pattern, stream: Stream, *, threads: int | None = None) -> None:
        asked_number(threads)
        vars(self).update(query=query, stream=stream, _threads=threads, _warned=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy is made of; its answers are evaluated anew."""
        return {name: vars(self)[name] for name in ("query", "stream", "_threads", "_warned")}

    def __iter__(self) -> Iterator[ComplexEvent]:
        answers: Iterator[ComplexEvent]
        several = (asked_number(self._threads) or 1) > 1
        if several and isinstance(self._way.on(self.stream), CompiledTecs):
            access: Access | None = self._access
        else:  # an access that lists all answers would lose those before an error
            access = vars(self).get("_access")
        if several and isinstance(access, BatchAccess):
            answers = chain.from_iterable(access.batches())
        elif isinstance(access, ListAccess):
            answers = iter(access)
        else:
            answers = self._way.answers(self.stream)
        first = next(answers, None)
        if first is not None:
            yield first
            yield from answers
        self._warn(0 if first is None else None)

    def _warn(self, answers: int | None, *, as_list: bool = True) -> None:
        """Warn, once, of names that the stream lacks, and of an empty result."""
        if not self._warned:
            vars(self)["_warned"] = True
            way = vars(self).get("_way")
            warn_about_answers(self.query, self.stream, answers, as_list=as_list, way=way)

    @cached_property
    def _way(self) -> Evaluator:
        return choose(self.query)

    @cached_property
    def _access(self) -> Access:
        return self._way.by_number(self.stream, threads=asked_number(self._threads) or 1)

    @overload
    def __getitem__(self, k: int) -> ComplexEvent: ...
    @overload
    def __getitem__(self, k: slice) -> list[ComplexEvent]: ...
    def __getitem__(self, k: int | slice) -> ComplexEvent | list[ComplexEvent]:
        """The k-th answer of the iteration, from 0; its cost does not depend on k.

        ``m[-1]`` is the last one, and ``m[2:5]`` a list; both count the answers where they have to.

        The numbers of answers up to each end are kept, and the evaluation at the end last asked
        for; with a window, an earlier end evaluates the stream up to there again. Streams that the
        compiled engine iterates pass over the answers before, batch by batch. Raises IndexError,
        and `ResourceLimit` where the numbers on the way would not fit into memory or too many
        answers come before; `count` still works there.

        >>> from cerlab import parse_query
        >>> matches = parse_query("SELECT * WHERE A+").run([{"type": "A"}] * 100)
        >>> matches[2**99 - 1]
        ComplexEvent(start=99, end=99, positions=(99,))
        """
        if isinstance(k, slice):
            return [self._access.answer(n) for n in range(*k.indices(self._count))]
        n = index(k)
        return self._access.answer(n if n >= 0 else self._from_the_end(n))

    # no __len__: list(m) would ask for it, and so count all answers before it lists them

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None

    def __contains__(self, answer: object) -> bool:
        """Return whether something is an answer; no event after its end is read."""
        if not isinstance(answer, ComplexEvent):
            return False
        for each in self:
            if each == answer:
                return True
            if each.end > answer.end:
                break
        return False

    def __eq__(self, other: object) -> bool:
        """Return whether both have the same answers: other matches, or a list of answers.

        The order inside one end does not count, which differs from query to query.
        """
        if not isinstance(other, Matches | list | tuple):
            return NotImplemented
        if isinstance(other, Matches):
            if self.query == other.query and self.stream is other.stream:
                return True
        elif not all(isinstance(each, ComplexEvent) for each in other):
            return False
        else:
            other = in_order(other)
        return all(a == b for a, b in zip_longest(_by_end(self), _by_end(other)))

    __hash__ = None  # type: ignore[assignment]

    def _from_the_end(self, n: int) -> int:
        if self._count + n < 0:
            raise IndexError(f"there is no answer number {n}: there are {self._count:,}")
        return self._count + n

    @keywords_by_name
    def head(self, n: int = 5) -> pa.Table:
        """The rows of `table` of the first n answers; no further one is evaluated.

        >>> from cerlab import parse_query
        >>> query = parse_query("SELECT a[v] WHERE A AS a ; B")
        >>> events = [{"type": "A", "v": 1}, {"type": "B"}, {"type": "B"}]
        >>> query.run(events).head(1).to_pylist()
        [{'start': 0, 'end': 1, 'a.v': 1}]
        """
        from cerlab.engine.answers import batched_answers

        first = batched_answers(islice(iter(self), max(n, 0)), ROWS)
        return self._rows_of(first, None)

    def count(self) -> int:
        """Return the number of answers, without listing them: exact, of any size.

        Where filters compare labels up to 2^53, and `ResourceLimit` beyond.
        """
        self._warn(self._count, as_list=False)
        return self._count

    @cached_property
    def _count(self) -> int:
        with using(self._threads):
            return self._way.count(self.stream)

    @keywords_by_name
    def sample(self, n: int, seed: int | None = None) -> list[ComplexEvent]:
        """n answers, each uniform over all of them and independent of the others.

        Equal seeds give equal samples; without one they differ. One pass over the stream. Raises
        IndexError if there are no answers, `UsageError` for a negative n, `ResourceLimit` as
        ``m[k]`` does.
        """
        return sample(self._access, n, seed)

    def why(self, answer: ComplexEvent | int) -> Why:
        """The derivation of an answer, or of the k-th one (`cerlab.why`); of others why not.

        >>> from cerlab import parse_query
        >>> matches = parse_query("SELECT * WHERE A ; B").run([{"type": "A"}, {"type": "B"}])
        >>> print(matches.why(0))
        a match: {0, 1} in [0, 1]
        ; [0, 1]  A {0}  B {1}
        ├─ A 0: A()
        └─ B 1: B()
        """
        from cerlab.why import why

        match = answer if isinstance(answer, ComplexEvent) else self[answer]
        return why(self.query, self.stream, match.positions, match.start, match.end)

    def to_arrow(self) -> pa.Table:
        """A pyarrow Table: ``start int64, end int64, positions list<int64>``."""
        if isinstance(self._access, BatchAccess):
            table = table_of_batches(self._access.batches())
            self._warn(table.num_rows)
            return table
        return io.arrow_table(self)

    def to_pandas(self) -> pd.DataFrame:
        """The same as a pandas DataFrame."""
        with needed("pandas"):
            import pandas as pandas
        table = self.to_arrow()
        # Before pandas takes the memory, in which no limit could stop it.
        poll(_FRAME_ROW * len(table))
        frame: pd.DataFrame = table.to_pandas()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """The same as a polars DataFrame."""
        with needed("polars"):
            import polars
        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    @keywords_by_name
    def table(self, columns: Iterable[str] | None = None) -> pa.Table:
        """Rows with names: a pyarrow Table of what the answers' events hold, by label.

        First ``start``, ``end`` and the attributes of PARTITION BY, then `columns`: ``b.price``, or
        ``b`` for positions, each a list where the label may hold several events;
        ``first(b.price)``, ``last(b.price)``, ``count(b)``. By default what SELECT names: the
        attributes in brackets, all attributes of a label without; ``*`` is every variable, or every
        event type where there are no variables.

        Moments have the zone and the unit that they were read with; text is coded in a dictionary.
        In the order of iteration, one row an answer; one that can have the labels of `columns` in
        several ways has a row for each. Raises `UsageError` for a column whose label no answer has,
        or whose attribute no event has.

        >>> from cerlab import parse_query
        >>> query = parse_query("SELECT a[price], b[price] WHERE BUY AS a ; SELL+ AS b")
        >>> prices = [("BUY", 3), ("SELL", 4), ("SELL", 5)]
        >>> events = [{"type": kind, "price": price} for kind, price in prices]
        >>> query.run(events).table().to_pylist()[-1]
        {'start': 0, 'end': 2, 'a.price': 3, 'b.price': [5]}
        """
        table = self._rows_of(self._batches(), columns)
        self._warn(table.num_rows)
        return table

    def _rows_of(self, batches: Iterator[AnswerBatch], columns: Iterable[str] | None) -> pa.Table:
        import pyarrow as pa

        tables = answer_tables(self.query, self.stream, batches, columns)
        return pa.concat_tables(list(tables))

    @lists_options(Aggregates)
    def aggregate(self, **aggregates: Unpack[Aggregates]) -> pa.Table:
        """Aggregates over all rows of `table`: a pyarrow Table.

        No row is listed where the query has an automaton; where filters compare labels, batches of
        them are, one at a time.

        ``count``                   False leaves the number of rows out
        ``sum``, ``avg``, ``min``, ``max``  attributes of labels, as ``"b.price"``; of a label that
                                    holds several events all of these count, NULL and NaN do not
        ``group_by``                ``"start"``, ``"end"``, ``"key"`` (or attributes of PARTITION
                                    BY), and attributes of labels that hold one event: a row for
                                    each group, in the order of their first ends; without, one
                                    row. NULL is a group, and NaN is another
        ``sliding``                 a window as after WITHIN, with ``"end"`` among the groups: each
                                    row is over the answers of the rest of its group that end so
                                    far back at most; EVENTS count in the whole stream

        Without arguments they are those of the query, ``SELECT COUNT(*), SUM(b.price) .. GROUP BY
        b.name``, which else asks for the answers of ``SELECT *``.

        Nothing is rounded on the way: counts and sums of integers are exact, as decimals where 64
        bits are too few; sums and averages of doubles are the doubles nearest to the exact ones.
        Raises `Unsupported` under LIMIT, `UsageError` for columns and groups that there are not,
        `TypeMismatch` for sums of what is no number, `ResourceLimit` for totals of more than 76
        digits.

        >>> from cerlab import parse_query
        >>> events = [{"type": "A", "v": n} for n in range(100)]
        >>> matches = parse_query("SELECT * WHERE A+").run(events)
        >>> matches.aggregate(sum="A.v", max="A.v").to_pylist()[0]["count"] == 2**100 - 1
        True
        """
        request = request_of(self.query, **aggregates)
        with using(self._threads):
            totals = group_totals(self.query, self.stream, request)
        self._warn(None if totals.some else 0, as_list=False)
        return totals.table()

    def _batches(self) -> Iterator[AnswerBatch]:
        from cerlab.engine.answers import batched_answers

        if isinstance(self._access, BatchAccess):
            return self._access.batches()
        return batched_answers(self, ROWS)

    def __repr__(self) -> str:
        """Return the first answers, as far as the first events have some."""
        read = self.stream[:_SEEN]
        try:
            first = list(islice(self._way.answers(read), _SHOWN + 1))
        except CerlabError as error:
            return f"matches on {len(self.stream):,} events: {error.code}"
        lines = [f"  {each}" for each in first[:_SHOWN]]
        if len(first) > _SHOWN or len(read) < len(self.stream):
            lines.append("  ..")
        known = vars(self).get("_count")
        some = "matches" if known is None else f"{known:,} matches"
        return "\n".join([f"{some} on {len(self.stream):,} events", *lines])


def _by_end(answers: Iterable[ComplexEvent]) -> Iterator[list[ComplexEvent]]:
    """Yield the answers of each end in order."""
    return (in_order(each) for _, each in groupby(answers, attrgetter("end")))


@rich_display
@dataclass(frozen=True, repr=False)
class Answers:
    """The answers of one evaluator on a stream, as a list: by end, then start, then positions."""

    stream: Stream
    answers: tuple[ComplexEvent, ...]

    def __iter__(self) -> Iterator[ComplexEvent]:
        return iter(self.answers)

    def __getitem__(self, k: int) -> ComplexEvent:
        return self.answers[k]

    def __len__(self) -> int:
        return len(self.answers)

    def __repr__(self) -> str:
        return f"<{len(self.answers):,} answers on {len(self.stream):,} events>"

    def count(self) -> int:
        """Return the number of answers."""
        return len(self.answers)


def warn_about_answers(
    pattern: AnyPattern,
    stream: Stream,
    answers: int | None,
    *,
    as_list: bool = True,
    way: Evaluator | None = None,
) -> None:
    """Warn of names that a pattern needs and a stream lacks, and of an empty result.

    And that aggregates in SELECT say nothing of answers that come `as_list`; `way` is as in
    `remarks_on_waits`.
    """
    if as_list and isinstance(pattern, Pattern) and pattern.ast.aggregates:
        message = (
            "CER0913: SELECT asks for aggregates, and these are the answers that they are over"
        )
        hint = "parse_query(..).run(events).aggregate() and cerlab run have the aggregates"
        warn(AnswerWarning(f"{message}; {hint}"), stacklevel=stacklevel_of_caller())
    for remark in remarks_on_waits(pattern, stream, way):
        warn(AnswerWarning(remark), stacklevel=stacklevel_of_caller())
    whose = "cerlab.why_none(query, events)" if isinstance(pattern, Pattern) else "cerlab.why"
    # As long as both live, so that a second verb on them reads no event again.
    known = missing_names.ABSENT.setdefault(pattern, WeakKeyDictionary())
    if (absent := known.get(stream)) is None:
        needs = missing_names.requirements_of(pattern, stream.time)
        absent = tuple(needs.read(stream).absent())
        known[stream] = absent
    missing_names.warn_of(absent, len(stream) > 0, answers, f"{whose} says why")
