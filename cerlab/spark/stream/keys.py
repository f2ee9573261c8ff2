"""Numbers of keys that stay the same from one micro-batch to the next.

The columns of a stream have one type each, so keys are equal as values of one type are: the two
zeros are one, and NULL and NaN are in no key (`cerlab.predicates.keys`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cerlab.engine.general.state_check import expect


def number_keys(keys: Any, columns: Sequence[Any], length: int) -> tuple[Any, Any]:
    """The number of each row's key, -1 for none, and the table of all keys so far.

    `keys` is the table of those before, which are numbered by row and keep their numbers. New ones
    are numbered in the order in which they come. `columns` are those of the key, of `length` rows.
    Raises `BadData` where known keys are equal, or none.
    """
    import pyarrow as pa

    if not columns:
        return np.zeros(length, np.int64), keys
    before = keys.num_rows
    codes = None
    for name, column in zip(keys.column_names, columns, strict=True):
        part = _codes(pa.chunked_array([*keys.column(name).chunks, *_chunks(column)]))
        if codes is not None:
            absent = (codes < 0) | (part < 0)
            both = codes * (part.max(initial=0) + 1) + part
            part = _codes(pa.chunked_array([pa.array(both, mask=absent)]))
        codes = part
    assert codes is not None
    expect((codes[:before] == np.arange(before)).all(), "equal keys")
    fresh = codes[before:]
    values, first = np.unique(fresh, return_index=True)
    new = first[values >= before]  # numbers are in the order of the first rows, so these are too
    rows = pa.table(list(columns), names=keys.column_names).take(pa.array(new, pa.int64()))
    return fresh, pa.concat_tables([keys, rows]).combine_chunks()


def _codes(column: Any) -> Any:
    """A number for each value, in the order in which they come; -1 for NULL and NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        plain = pc.add(column, 0.0)  # the two zeros are one
        column = pc.if_else(pc.is_nan(plain), None, plain)
    whole = pa.chunked_array(_chunks(column), column.type).combine_chunks()
    if pa.types.is_null(whole.type):
        return np.full(len(whole), -1, np.int64)
    indices = whole.dictionary_encode().indices
    return indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)


def _chunks(column: Any) -> list[Any]:
    return column.chunks if hasattr(column, "chunks") else [column]
