"""Conversions between NumPy's and Arrow's arrays without a copy, and without importing pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

_DTYPES = {"halffloat": "float16", "float": "float32", "double": "float64"}
"""Arrow's names of types whose names in NumPy differ."""


def numbers_of(array: Any) -> NDArray[Any]:
    """Return the numbers of an Arrow array without NULL as a NumPy array, without copying.

    pyarrow's own conversion imports pandas if installed, which takes longer than most queries;
    before pyarrow 26, its ``to_pandas_dtype`` needs pandas.
    """
    import numpy as np

    dtype = np.dtype(_DTYPES.get(str(array.type), str(array.type)))
    if not len(array):
        return np.zeros(0, dtype)
    buffer, begin = array.buffers()[1], array.offset * dtype.itemsize
    return np.frombuffer(buffer, dtype, len(array), begin)


def nulls_of(array: Any) -> NDArray[Any]:
    """Return the NULL mask of an Arrow array, bool (values,)."""
    import numpy as np
    import pyarrow as pa

    return numbers_of(array.is_null().cast(pa.uint8())).astype(np.bool_)


_FEW = 1 << 10
"""Number of integers up to which comparison sorting is used."""


def order_of(*keys: NDArray[Any]) -> NDArray[int64]:
    """Return the indices that sort rows stably by several keys, the first one first: int64 (rows,).

    NumPy sorts 16 bits by radix: many integers are sorted by their highest bits, and then the few
    that are not yet in place, at a third to half of the cost of comparing all.

    >>> import numpy as np
    >>> order_of(np.array([2, 1, 2]), np.array([5, 9, 4])).tolist()
    [1, 2, 0]
    """
    import numpy as np

    order = np.arange(len(keys[0]))
    for key in reversed(keys):
        numbers = key[order]
        if numbers.dtype == np.int64 and len(numbers) > _FEW:
            least, greatest = int(numbers.min()), int(numbers.max())
            shift = np.uint64(max(0, (greatest - least).bit_length() - 16))
            above = numbers.view(np.uint64) - np.uint64(least % (1 << 64))  # without overflow
            by_bits = np.argsort((above >> shift).astype(np.uint16), kind="stable")
            order, numbers = order[by_bits], numbers[by_bits]
        order = order[np.argsort(numbers, kind="stable")]
    return order


def array_from(numbers: NDArray[Any], nulls: NDArray[Any] | None = None) -> Any:
    """Return a NumPy array as an Arrow array without a copy, with NULL where `nulls` is true."""
    import numpy as np
    import pyarrow as pa

    validity = None
    if nulls is not None and nulls.any():
        # Arrow keeps booleans and masks as bits, the first value in the lowest bit
        validity = pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    kind = pa.from_numpy_dtype(numbers.dtype)
    data = np.packbits(numbers, bitorder="little") if numbers.dtype.kind == "b" else numbers
    return pa.Array.from_buffers(kind, len(numbers), [validity, pa.py_buffer(data)])


def allocate(size: int, dtype: Any) -> NDArray[Any]:
    """Return an uninitialised array in memory from Arrow's pool.

    NumPy's memory is zeroed by the system each time, which costs more than most writes into it.
    """
    import numpy as np
    import pyarrow as pa

    kind = np.dtype(dtype)
    return np.frombuffer(pa.allocate_buffer(size * kind.itemsize), kind)
