"""Columns of decimals with up to 15 digits, represented by doubles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cerlab.computed import cached_property
from cerlab.model.arrays import array_from, nulls_of, numbers_of
from cerlab.model.event import Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_UNITS = 10**15
"""Decimals of fewer units of their last place are quotients of two doubles, rounded once, and
distinct decimals become distinct doubles, since doubles have 15 digits."""


class Decimals(Sequence[Value]):
    """A column of decimals as doubles; whole numbers become Python integers."""

    def __init__(self, doubles: Any) -> None:
        self.doubles = doubles
        """A float64 Array, NULL where the decimals are."""

    @property
    def numbers(self) -> Any:
        """The column as an Arrow array: int64 if all values are whole, otherwise float64."""
        import pyarrow as pa

        return self.doubles.cast(pa.int64()) if self._wholes()[1].all() else self.doubles

    def _wholes(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the doubles, with 0 for NULL, and which of them are whole."""
        import numpy as np

        numbers = np.where(nulls_of(self.doubles), 0.0, numbers_of(self.doubles))
        return numbers, numbers == np.rint(numbers)

    @cached_property
    def values(self) -> list[Value]:
        """The column as Python values, created at first use."""
        import numpy as np

        numbers, whole = self._wholes()
        objects, nulls = numbers.astype(object), nulls_of(self.doubles)
        objects[whole] = numbers[whole].astype(np.int64).astype(object)
        objects[nulls] = None
        values: list[Value] = objects.tolist()
        return values

    def take(self, positions: Any) -> Decimals:
        """Return the values at some positions."""
        import numpy as np

        return Decimals(self.doubles.take(array_from(np.ascontiguousarray(positions, np.int64))))

    def __iter__(self) -> Iterator[Value]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.doubles)

    def __getitem__(self, index: Any) -> Any:
        return Decimals(self.doubles[index]) if isinstance(index, slice) else self.values[index]


def decimals_of(column: Any) -> Decimals | None:
    """Return an Arrow column of decimals as `Decimals`; None if a value has more than 15 digits."""
    import pyarrow as pa

    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    doubles = [_doubles(chunk) for chunk in chunks]
    if None in doubles:
        return None
    return Decimals(pa.concat_arrays(doubles) if doubles else pa.array([], pa.float64()))


def _doubles(decimals: Any) -> Any | None:
    """Return a chunk of decimals as doubles; None if a value has more than 15 digits."""
    import numpy as np

    width, scale = decimals.type.bit_width // 64, decimals.type.scale
    if width < 2 or not 0 <= scale <= 22:  # 10^22 is exact as a double, 10^23 is not
        return None
    units = np.frombuffer(decimals.buffers()[1], np.int64).reshape(-1, width)
    units = units[decimals.offset : decimals.offset + len(decimals)]
    nulls, lowest = nulls_of(decimals), units[:, 0]
    fits = (np.abs(lowest) < MOST_UNITS) & (lowest != np.iinfo(np.int64).min)
    fits &= (units[:, 1:] == (lowest >> 63)[:, np.newaxis]).all(axis=1)
    if not (fits | nulls).all():
        return None
    return array_from(lowest / 10.0**scale, nulls)
