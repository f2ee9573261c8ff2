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
from cerlab.evaluate.aggregates import Aggregates, request_of
from cerlab.evaluate.evaluators import CompiledTecs
from cerlab.evaluate.labelled import answer_tables
from cerlab.evaluate.protocol import Evaluator
from cerlab.evaluate.totals import group_totals
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
"""Number of events that a `repr` evaluates, and of answers that it shows at most."""

_FRAME_ROW = 180
"""Bytes of an answer in a DataFrame, mostly the NumPy array of its positions; measured."""


class Matches(Drawable, Immutable):
    """The answers of a query on a stream, evaluated on demand and ordered by end.

    Threads may share the object: each iteration is independent. ``m[k]``, ``answer in m`` and ``m
    == other`` evaluate only what they need; `count` is the length.

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
        """Return the state for a copy, which evaluates its answers again."""
        return {name: vars(self)[name] for name in ("query", "stream", "_threads", "_warned")}

    def __iter__(self) -> Iterator[ComplexEvent]:
        answers: Iterator[ComplexEvent]
        several = (asked_number(self._threads) or 1) > 1
        if several and isinstance(self._way.on(self.stream), CompiledTecs):
            access: Access | None = self._access
        else:  # listing all answers first would lose the answers before an error
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
        """Warn once about names that the stream lacks, and about an empty result."""
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
        """Return the k-th answer of the iteration, from 0, or a list for a slice.

        The cost does not depend on k. Negative numbers count from the last answer; they and slices
        without an end count all answers first. The number of answers up to each end is cached, and
        so is the evaluation at the last end requested; with a window, a smaller end evaluates the
        stream again up to there. On streams that the compiled engine iterates, earlier answers are
        passed over in batches. Raises IndexError beyond the last answer, and `ResourceLimit` if the
        cached numbers exceed memory or too many answers precede; `count` still works then.

        >>> from cerlab import parse_query
        >>> matches = parse_query("SELECT * WHERE A+").run([{"type": "A"}] * 100)
        >>> matches[2**99 - 1]
        ComplexEvent(start=99, end=99, positions=(99,))
        """
        if isinstance(k, slice):
            return [self._access.answer(n) for n in range(*k.indices(self._count))]
        n = index(k)
        return self._access.answer(n if n >= 0 else self._from_the_end(n))

    # no __len__: list(m) would call it, and so count all answers before listing them

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None

    def __contains__(self, answer: object) -> bool:
        """Return whether a value is an answer, reading no event after its end."""
        if not isinstance(answer, ComplexEvent):
            return False
        for each in self:
            if each == answer:
                return True
            if each.end > answer.end:
                break
        return False

    def __eq__(self, other: object) -> bool:
        """Return whether two results have equal answers; the other may be a list of answers.

        The order of answers with equal ends is ignored: it differs between queries.
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

    __hash__ = None  # type: ignore[assignment] # equal to lists, which have no hash

    def _from_the_end(self, n: int) -> int:
        if self._count + n < 0:
            raise IndexError(f"there is no answer number {n}: there are {self._count:,}")
        return self._count + n

    @keywords_by_name
    def head(self, n: int = 5) -> pa.Table:
        """Return the rows of `table` for the first n answers; later answers are not evaluated.

        Args:
            n: The number of answers.

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
        """Return the exact number of answers, of any size, without listing them.

        Queries whose filters compare labels are counted up to 2^53; more raise `ResourceLimit`.

        >>> from cerlab import parse_query
        >>> parse_query("SELECT * WHERE A+").run([{"type": "A"}] * 100).count() == 2**100 - 1
        True
        """
        self._warn(self._count, as_list=False)
        return self._count

    @cached_property
    def _count(self) -> int:
        with using(self._threads):
            return self._way.count(self.stream)

    @keywords_by_name
    def sample(self, n: int, seed: int | None = None) -> list[ComplexEvent]:
        """Return n answers drawn independently and uniformly from all answers, in one pass.

        Args:
            n: The number of answers to draw, with replacement.
            seed: Equal seeds give equal samples (default: a random seed).

        Raises:
            IndexError: There are no answers.
            UsageError: `n` is negative.
            ResourceLimit: As for ``m[k]``.

        >>> from cerlab import parse_query
        >>> matches = parse_query("SELECT * WHERE A").run([{"type": "A"}])
        >>> matches.sample(2, seed=1)
        [ComplexEvent(start=0, end=0, positions=(0,)), ComplexEvent(start=0, end=0, positions=(0,))]
        """
        return sample(self._access, n, seed)

    def why(self, answer: ComplexEvent | int) -> Why:
        """Return the derivation of an answer, or why positions are not an answer.

        Args:
            answer: A complex event, or the number of an answer.

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
        """Return a pyarrow Table with columns ``start``, ``end`` (int64), ``positions`` (lists).

        >>> from cerlab import parse_query
        >>> matches = parse_query("SELECT * WHERE A ; B").run([{"type": "A"}, {"type": "B"}])
        >>> matches.to_arrow().to_pylist()
        [{'start': 0, 'end': 1, 'positions': [0, 1]}]
        """
        if isinstance(self._access, BatchAccess):
            table = table_of_batches(self._access.batches())
            self._warn(table.num_rows)
            return table
        return io.arrow_table(self)

    def to_pandas(self) -> pd.DataFrame:
        """Return the answers as a pandas DataFrame with the columns of `to_arrow`.

        >>> from cerlab import parse_query
        >>> matches = parse_query("SELECT * WHERE A ; B").run([{"type": "A"}, {"type": "B"}])
        >>> matches.to_pandas()
           start  end positions
        0      0    1    [0, 1]
        """
        with needed("pandas"):
            import pandas as pandas
        table = self.to_arrow()
        # checked before pandas allocates, where no limit could stop it
        poll(_FRAME_ROW * len(table))
        frame: pd.DataFrame = table.to_pandas()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return the answers as a polars DataFrame with the columns of `to_arrow`.

        >>> from cerlab import parse_query
        >>> matches = parse_query("SELECT * WHERE A ; B").run([{"type": "A"}, {"type": "B"}])
        >>> matches.to_polars().rows()
        [(0, 1, [0, 1])]
        """
        with needed("polars"):
            import polars
        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    @keywords_by_name
    def table(self, columns: Iterable[str] | None = None) -> pa.Table:
        """Return the attributes of the events in each answer as a pyarrow Table with named columns.

        The first columns are ``start``, ``end`` and the attributes of PARTITION BY. Rows are in the
        order of iteration, one per answer; an answer whose labels in `columns` can be assigned in
        several ways has a row for each. Timestamps keep the time zone and unit of the input; text
        is dictionary-encoded.

        Args:
            columns: Columns such as ``b.price``, ``b`` (positions), ``first(b.price)``,
                ``last(b.price)`` or ``count(b)``; a label that may hold several events gives lists.
                By default the columns of SELECT: the attributes in brackets, or all attributes of a
                label without brackets; ``*`` is every variable, or every event type if the query
                has no variables.

        Raises:
            UsageError: No answer has the label of a column, or no event has its attribute.

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
        """Return aggregates over all rows of `table`, as a pyarrow Table.

        Rows are not listed if the query has an automaton; if filters compare labels, batches of
        rows are listed one at a time. Counts and sums of integers are exact (decimals beyond 64
        bits); sums and averages of doubles are the doubles nearest to the exact values.

        Args:
            count: Include the number of rows (default: True).
            sum, avg, min, max: Attributes of labels, such as ``"b.price"``. All events of a label
                count, except those with NULL or NaN.
            group_by: ``"start"``, ``"end"``, ``"key"`` (or attributes of PARTITION BY) and
                attributes of labels that hold one event. Each group is a row, in the order of its
                first end (default: one row). NULL and NaN are groups.
            sliding: A window as after WITHIN, if ``"end"`` is among the groups: each row aggregates
                the answers that end within the window and agree with it on the other groups. EVENTS
                count in the whole stream.

        Without arguments, the aggregates are those of the query, ``SELECT COUNT(*), SUM(b.price) ..
        GROUP BY b.name``, whose answers are those of ``SELECT *``.

        Raises:
            Unsupported: The query has a LIMIT.
            UsageError: A column or group does not exist.
            TypeMismatch: The values of a sum are not numbers.
            ResourceLimit: A total has more than 76 digits.

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
        """Return the first answers on the first events as text."""
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
    """Yield the sorted answers of each end."""
    return (in_order(each) for _, each in groupby(answers, attrgetter("end")))


@rich_display
@dataclass(frozen=True, repr=False)
class Answers:
    """The answers of one evaluator on a stream, as a list sorted by end, start and positions."""

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

    Also warn if a query with aggregates in SELECT is listed (`as_list`); `way` is the parameter of
    `remarks_on_waits`.
    """
    if as_list and isinstance(pattern, Pattern) and pattern.ast.aggregates:
        message = (
            "CER0913: SELECT has aggregates, and this call lists the answers that they aggregate"
        )
        hint = "parse_query(..).run(events).aggregate() and cerlab run compute the aggregates"
        warn(AnswerWarning(f"{message}; {hint}"), stacklevel=stacklevel_of_caller())
    for remark in remarks_on_waits(pattern, stream, way):
        warn(AnswerWarning(remark), stacklevel=stacklevel_of_caller())
    whose = "cerlab.why_none(query, events)" if isinstance(pattern, Pattern) else "cerlab.why"
    # cached while pattern and stream live, so that a second call reads no event again
    known = missing_names.ABSENT.setdefault(pattern, WeakKeyDictionary())
    if (absent := known.get(stream)) is None:
        needs = missing_names.requirements_of(pattern, stream.time)
        absent = tuple(needs.read(stream).absent())
        known[stream] = absent
    missing_names.warn_of(absent, len(stream) > 0, answers, f"{whose} says why")
