"""Comparisons of labels in their fast form, on streams where both forms have equal answers."""

from __future__ import annotations

from typing import Any
from warnings import warn

from cerlab.compile.pattern import AnyPattern
from cerlab.errors import AnswerWarning, stacklevel_of_caller
from cerlab.evaluate import thresholds
from cerlab.model.columns import is_arrow, is_duration, is_moment, is_text, nanoseconds
from cerlab.model.stream import Stream
from cerlab.predicates.separation import NOTHING, Range, agree
from cerlab.predicates.text import predicate_text


def fast_form(pattern: AnyPattern, stream: Stream, *, quietly: bool = False) -> AnyPattern:
    """Return the fastest query that has the answers of a pattern on a stream.

    It is `Pattern.separated` if the values in the stream ensure equal answers. Otherwise it is the
    pattern itself, with a warning for a long stream, unless `quietly`.
    """
    # registers refuse a query whatever the data, so support depends only on the query
    if pattern.separated is None or pattern.machine_kind is None:
        return pattern
    names = {x.attribute for C in pattern.separated.changed for x in C.attributes}
    found = {name: _range_of(stream.columns.get(name)) for name in names}
    ranges = {name: each for name, each in found.items() if each is not None}
    pairs = pattern.separated.changed.items()
    if len(ranges) == len(names) and all(agree(*pair, ranges) for pair in pairs):
        return pattern.separated.query
    if not quietly and len(stream) > thresholds.SHORT:
        warn_of_pairs(pattern)
    return pattern


def warn_of_pairs(pattern: AnyPattern) -> None:
    """Warn about comparisons that need each pair of events, and suggest the fast form."""
    for one, other in pattern.separated.changed.items() if pattern.separated else ():
        text = f"{predicate_text(one)} is computed for each pair of events, which is slow"
        hint = f"{predicate_text(other)} is fast; with decimals it may differ in the last bit"
        warn(AnswerWarning(f"CER0931: {text}: {hint}"), stacklevel=stacklevel_of_caller())


def written_fast(pattern: AnyPattern) -> str | None:
    """Return the hint to write comparisons in the fast form; None if they have this form."""
    if pattern.separated is None:
        return None
    return "write " + ", ".join(map(predicate_text, pattern.separated.changed.values()))


def _range_of(column: Any) -> Range | None:
    """Return the range of the values of a column; None if values have several kinds."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column is None:
        return NOTHING
    if not is_arrow(column):
        return None
    kind = column.type
    if column.null_count == len(column):
        return NOTHING
    if is_text(kind):
        return Range("text")
    if pa.types.is_dictionary(kind):
        return None
    if pa.types.is_boolean(kind):
        return Range("boolean")
    if pa.types.is_integer(kind):
        return Range("number", _ends(pc.min_max(column)))
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Range("number")
    if not (is_moment(kind) or is_duration(kind)):
        return None
    whole = nanoseconds(column)
    bounds = None if whole is None else _ends(pc.min_max(whole))
    return Range("timestamp" if is_moment(kind) else "duration", bounds)


def _ends(least_and_greatest: Any) -> tuple[int, int]:
    least, greatest = (each.as_py() for each in least_and_greatest.values())
    return least, greatest
