"""Warnings beside the answers of a batch: what no event has, and that there is no answer.

The first rows have what most queries need. If something is missing there, one more pass looks for
just that, in the columns where it could be.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

from cerlab.compile.pattern import Pattern
from cerlab.evaluate.requirements import Requirements, requirements_of
from cerlab.model.stream import Stream
from cerlab.spark.batch.frame import Source

if TYPE_CHECKING:
    from pyspark.sql import Column

FIRST = 1 << 12
"""How many rows are read before all are."""


def warn_about_answers(pattern: Pattern, source: Source, answers: int, ask: str) -> None:
    """Warn of what a stream lacks for a query, and that there is no answer; `ask` is how to ask."""
    requirements = requirements_of(pattern)
    requirements.note(source.names)
    columns = _relevant_columns(requirements, source)
    first = source.frame.select(*(source.column(n).alias(n) for n in columns)).limit(FIRST)
    rows = first.toArrow()
    requirements.read(_stream(rows))
    if requirements.open and rows.num_rows == FIRST:
        requirements.read(_stream(_examples(requirements, source, columns)))
    requirements.warn(rows.num_rows > 0, answers, ask)


def _relevant_columns(requirements: Requirements, source: Source) -> list[str]:
    """The columns that show what is needed; ``type`` first."""
    candidates = (
        *requirements.attributes,
        *(name for name, _ in (*requirements.kinds, *requirements.texts)),
    )
    columns = [name for name in dict.fromkeys(("stream", *candidates)) if name in source.names]
    return ["type", *columns]


def _stream(rows: Any) -> Stream:
    columns = dict(zip(rows.column_names, rows.columns, strict=True))
    return Stream.from_columns(columns, rows.num_rows, tuple)


def _examples(requirements: Requirements, source: Source, columns: list[str]) -> Any:
    """A few rows that have what is needed of all that the stream has, by one pass over it."""
    import pyarrow as pa

    arrays = source.frame.agg(*_aggregates(requirements, source, columns)).toArrow()
    rows = max(1, *(len(arrays.column(name)[0]) for name in columns))
    examples = {}
    for name in columns:
        values = arrays.column(name)[0].values
        fallback = list(requirements.names[name]) if name in ("type", "stream") else [None]
        cells = values.to_pylist() or fallback or [None]
        examples[name] = pa.array(islice(cycle(cells), rows), values.type)
    return pa.table(examples)


def _aggregates(requirements: Requirements, source: Source, columns: list[str]) -> Iterator[Column]:
    """For each column the values that are asked for, as an array."""
    from pyspark.sql import functions as fn

    for name in columns:
        column = source.column(name)
        if name in ("type", "stream"):
            values = requirements.types if name == "type" else requirements.streams
            yield fn.collect_set(fn.when(column.isin(*values), column)).alias(name)
            continue
        texts = [text.lower() for each, text in requirements.texts if each == name]
        if texts and source.kind(name) == "string":
            alike = fn.lower(column).isin(*texts)
            some = fn.array_compact(fn.array(fn.any_value(column, fn.lit(True))))
            yield fn.array_union(fn.collect_set(fn.when(alike, column)), some).alias(name)
        else:
            some = fn.array(fn.any_value(column, fn.lit(True)))
            yield fn.array_compact(some).alias(name)
