"""Columns of text as codes of a dictionary, checked on the way.

pyarrow looks at each text twice for that, to see that it is UTF-8 and to number it. Of a column
with few different texts it is enough to number them by their bytes, and to check those few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from cerlab.model.columns import array_from, is_text, numbers_of, room

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cerlab.engine.kernels.arrays import Bytes, Int32s

T = TypeVar("T", bound="np.generic")

MANY = 1 << 14
"""From so many rows on a kernel saves more than it costs to load it."""

MOST_TEXTS = 1 << 10
"""So many different texts of a column are numbered at once; Arrow does it for more."""

MOST_BYTES = 1 << 20
"""So many bytes they have in all."""


class TextNumbers:
    """The numbers of different texts, in order of appearance, over all batches."""

    def __init__(self) -> None:
        import numpy as np

        from cerlab.io.text_kernels import TextDictionary, number_texts
        from cerlab.kernel_cache import RepeatedCalls

        self._count = 0
        self._number_texts = RepeatedCalls(number_texts)
        self._table = TextDictionary(
            np.full(4 * MOST_TEXTS, -1, np.int32),
            np.empty(MOST_TEXTS, np.uint64),
            np.empty(MOST_TEXTS, np.uint64),
            np.zeros(MOST_TEXTS + 1, np.int32),
            np.empty(MOST_BYTES, np.uint8),
        )

    def read(self, data: Bytes, start: Int32s, stop: Int32s, number: Int32s) -> bool:
        """Write the number of each text, as `number_texts`; False for too many texts.

        The texts are bytes of `data` from `start` to before `stop`, which is -1 for NULL. False
        also where one is not within `data`.
        """
        arrays = _only_read(data), _only_read(start), _only_read(stop)
        self._count = self._number_texts(*arrays, self._table, self._count, number)
        return self._count >= 0

    def texts(self) -> Any:
        """The text of each number, as Arrow; it may be no UTF-8."""
        import pyarrow as pa

        ends, text = self._table.ends[: self._count + 1], self._table.text
        buffers = pa.py_buffer(ends), pa.py_buffer(text[: ends[-1]].copy())
        return pa.StringArray.from_buffers(self._count, *buffers)


def _only_read(values: NDArray[T]) -> NDArray[T]:
    """The same array, not to be written to, as those of files: one kernel serves all."""
    if not values.flags.writeable:
        return values
    view = values.view()
    view.flags.writeable = False
    return view


def coded_text(column: Any) -> Any | None:
    """A long column of text, a ChunkedArray, as one array in a dictionary, which is sound.

    None where that does not pay, for all other columns, and for one that is not sound.
    """
    import numpy as np
    import pyarrow as pa

    if (
        not len(column)
        or len(column) < MANY
        or pa.types.is_dictionary(column.type)
        or not is_text(column.type)
    ):
        return None
    numbers, number, begin = TextNumbers(), room(len(column), np.int32), 0
    try:
        column.validate()
        if len(column) < MANY * column.num_chunks:
            column = column.combine_chunks()
        chunks = getattr(column, "chunks", [column])
        for chunk in chunks:
            end = begin + len(chunk)
            if end > begin and not _number_chunk(numbers, chunk, number[begin:end]):
                return None
            begin = end
        is_string = pa.types.is_string(column.type)
        dictionary = numbers.texts().cast(pa.string() if is_string else pa.large_string())
        dictionary.validate(full=True)
    except pa.ArrowInvalid:  # no UTF-8, among others
        return None
    nulls = None
    if column.null_count:
        nulls = np.concatenate([_nulls(chunk) for chunk in chunks])
    codes = pa.DictionaryArray.from_arrays(array_from(number, nulls), dictionary, safe=False)
    return pa.chunked_array([codes])


def _nulls(chunk: Any) -> NDArray[np.bool_]:
    import numpy as np
    import pyarrow as pa

    return numbers_of(chunk.is_null().cast(pa.uint8())).view(np.bool_)


def _number_chunk(numbers: TextNumbers, chunk: Any, number: Int32s) -> bool:
    """Write the number of each text of an Arrow array; False as `TextNumbers.read`.

    Raises ``pa.ArrowInvalid`` for views of text that are not sound.
    """
    import numpy as np
    import pyarrow as pa

    if pa.types.is_string_view(chunk.type):
        if (cells := _in_views(chunk)) is not None:
            return numbers.read(*cells, number)
        chunk.validate(full=True)
        chunk = chunk.cast(pa.large_string())
    wide = np.int64 if pa.types.is_large_string(chunk.type) else np.int32
    _, offsets, text = chunk.buffers()
    ends: Any = np.frombuffer(offsets, wide, len(chunk) + 1, chunk.offset * np.dtype(wide).itemsize)
    if wide is np.int64 and not 0 <= ends.min() <= ends.max() <= np.iinfo(np.int32).max:
        return False
    ends = np.require(ends, np.int32, "A")
    start, stop = ends[:-1], ends[1:]
    if chunk.null_count:
        if ends[0] < 0 or (stop < start).any():  # of NULL the kernel sees nothing
            return False
        stop = np.where(_nulls(chunk), np.int32(-1), stop)
    return numbers.read(np.frombuffer(text or b"\0", np.uint8), start, stop, number)


def _in_views(chunk: Any) -> tuple[Bytes, Int32s, Int32s] | None:
    """Views of short texts as `TextNumbers.read` takes them; None if one is longer."""
    import numpy as np

    from cerlab.io.text_kernels import texts_in_views

    if len(chunk) > np.iinfo(np.int32).max // 16:
        return None
    views: Any = np.frombuffer(chunk.buffers()[1], np.uint64, 2 * len(chunk), 16 * chunk.offset)
    views = np.require(views, None, "A")
    start, stop = room(len(chunk), np.int32), room(len(chunk), np.int32)
    if not texts_in_views(_only_read(views), start, stop):
        return None
    if chunk.null_count:
        stop[_nulls(chunk)] = -1
    return views.view(np.uint8), start, stop


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
