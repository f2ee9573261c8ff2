"""A clock and a gauge of memory that tests set, and a gauge that counts what is allocated."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa


class Dial:
    """A number that tests set, and that each reading raises by `step`."""

    def __init__(self) -> None:
        self.value = self.step = 0.0
        self.readings = 0

    def __call__(self) -> float:
        self.readings += 1
        self.value += self.step
        return self.value


class Allocated:
    """The bytes that a block allocates: objects of Python, arrays of NumPy and of Arrow."""

    def __init__(self, pool: pa.MemoryPool) -> None:
        self._pool = pool

    def __call__(self) -> int:
        return tracemalloc.get_traced_memory()[0] + int(self._pool.bytes_allocated())

    @property
    def most(self) -> int:
        """The peaks of the two, which need not be at the same time."""
        return tracemalloc.get_traced_memory()[1] + int(self._pool.max_memory() or 0)


_POOLS: list[pa.MemoryPool] = []
"""Pools stay: what was allocated from one may be freed after its block."""


@contextmanager
def counted_allocations() -> Iterator[Allocated]:
    """Count what a block allocates. The size of the process depends on its past; this does not."""
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    _POOLS.append(pool)
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        yield Allocated(pool)
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)
