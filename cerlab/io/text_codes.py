"""Columns of text as codes of a dictionary, checked on the way.

pyarrow looks at each text twice for that, to see that it is UTF-8 and to number it. Of a column
with few different texts it is enough to number them by their bytes, and to check those few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from cerlab.model.columns import array_from, numbers_of, room

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cerlab.engine.kernels.arrays import Bytes, Int32s

T = TypeVar("T", bound="np.generic")

MANY = 1 << 14
"""From so many rows on a kernel saves more than it costs to load it."""

MOST_TEXTS = 1 << 10
"""So many different texts of a column are numbered at once; Arrow does it for more."""


def numbered_texts(data: Bytes, start: Int32s, stop: Int32s) -> tuple[Int32s, Int32s] | None:
    """The number of each text, and where each number is first; None for too many.

    The texts are bytes of `data` from `start` to before `stop`, which is -1 for NULL. None also
    where one stops before it starts.
    """
    import numpy as np

    from cerlab.io.text_kernels import TextDictionary, number_texts

    number, first = room(len(start), np.int32), np.empty(MOST_TEXTS, np.int32)
    slots = np.full(4 * MOST_TEXTS, -1, np.int32)
    dictionary = TextDictionary(
        slots, first, np.empty(MOST_TEXTS, np.uint64), np.empty(MOST_TEXTS, np.uint64)
    )
    arrays = _only_read(data), _only_read(start), _only_read(stop)
    count = number_texts(*arrays, dictionary, number)
    return None if count < 0 else (number, first[:count])


def _only_read(values: NDArray[T]) -> NDArray[T]:
    """The same array, not to be written to, as those of files: one kernel serves all."""
    view = values.view()
    view.flags.writeable = False
    return view


def coded_text(column: Any) -> Any | None:
    """A long column of text, a ChunkedArray, as dictionaries that are sound.

    None where that does not pay, for all other columns, and for one that is not sound.
    """
    import pyarrow as pa

    kind = column.type
    if len(column) < MANY or not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return None
    chunks = []
    for chunk in column.chunks:
        if (codes := _coded_chunk(chunk)) is None:
            return None
        chunks.append(codes)
    return pa.chunked_array(chunks).unify_dictionaries()


def _coded_chunk(chunk: Any) -> Any | None:
    import numpy as np
    import pyarrow as pa

    try:
        chunk.validate()
    except pa.ArrowInvalid:
        return None
    if not len(chunk):
        return chunk.dictionary_encode()
    wide = np.int64 if pa.types.is_large_string(chunk.type) else np.int32
    _, offsets, text = chunk.buffers()
    ends: Any = np.frombuffer(offsets, wide, len(chunk) + 1, chunk.offset * np.dtype(wide).itemsize)
    size = 0 if text is None else text.size
    in_order = not chunk.null_count or (ends[1:] >= ends[:-1]).all()  # else the kernel sees it
    if not in_order or ends.min() < 0 or ends.max() > min(size, np.iinfo(np.int32).max):
        return None
    data = np.frombuffer(text or b"\0", np.uint8)
    ends = np.require(ends, np.int32, "A")
    start, stop, nulls = ends[:-1], ends[1:], None
    if chunk.null_count:
        nulls = numbers_of(chunk.is_null().cast(pa.uint8())).view(np.bool_)
        stop = np.where(nulls, np.int32(-1), stop)
    if (numbering := numbered_texts(data, start, stop)) is None:
        return None
    number, first = numbering
    dictionary = chunk.take(array_from(first))
    try:
        dictionary.validate(full=True)
    except pa.ArrowInvalid:  # no UTF-8
        return None
    return pa.DictionaryArray.from_arrays(array_from(number, nulls), dictionary, safe=False)


def coded_frame(frame: Any) -> Any | None:
    """A long data frame of pandas as a table, the text of some columns as dictionaries.

    None where that does not pay, and for frames with other columns than those of NumPy.
    """
    import numpy as np
    import pyarrow as pa

    plain = all(isinstance(kind, np.dtype) for kind in frame.dtypes)
    if len(frame) < MANY or not plain or not all(isinstance(name, str) for name in frame.columns):
        return None
    columns = [frame.iloc[:, n] for n in range(frame.shape[1])]
    code_columns = [_coded_objects(c.to_numpy()) if c.dtype == object else None for c in columns]
    if not any(code_columns):
        return None
    arrays = [
        pa.array(column, from_pandas=True) if codes is None else codes
        for column, codes in zip(columns, code_columns, strict=True)
    ]
    return pa.Table.from_arrays(arrays, names=list(frame.columns))


def _coded_objects(values: Any) -> Any | None:
    """Texts and NULL as codes of a dictionary; None for other values, and for many objects.

    Few objects stand in a column that pandas has read; each is looked at once.
    """
    import numpy as np
    import pyarrow as pa

    addresses = np.frombuffer(values.tobytes(), np.int64)
    if len(np.unique(addresses[:MANY])) > MOST_TEXTS:
        return None
    numbering = array_from(addresses).dictionary_encode()
    number = numbers_of(numbering.indices)
    first = room(len(numbering.dictionary), np.int64)
    first[number[::-1]] = np.arange(len(number) - 1, -1, -1)
    objects = pa.array(values[first], from_pandas=True)
    if not pa.types.is_string(objects.type):
        return None
    texts = objects.dictionary_encode()
    codes = numbers_of(texts.indices.fill_null(0))[number]
    nulls = numbers_of(objects.is_null().cast(pa.uint8())).view(np.bool_)[number]
    return pa.DictionaryArray.from_arrays(array_from(codes, nulls), texts.dictionary)
