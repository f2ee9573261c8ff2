"""A function over arrays that is compiled at its first call with arguments of some types."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import update_wrapper
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast

from cerlab.kernel_cache.digest import Source

if TYPE_CHECKING:
    from cerlab.kernel_cache.native import Native, Records

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

MOST_CALLS = 1 << 14
"""After so many calls of machine code alone, each some 20 microseconds dearer, Numba is worth its
import."""


def jit(function: Kernel, **options: Any) -> Kernel:
    """A function under Numba: compiled at the first call with arguments of a type, kept on disk.

    `options` are those of ``numba.njit``. Under ``NUMBA_DISABLE_JIT=1`` the function itself.
    """
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return function
    return cast(Kernel, CompiledKernel(function, options))


class CompiledKernel(Source):
    """A function and its machine code: loaded where it is on disk, else compiled by Numba."""

    _calls = 0  # of machine code alone, in this process
    _loading = Lock()

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        super().__init__(function, options)
        update_wrapper(self, function)
        self._native: dict[object, Native] = {}
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """The result of the function; takes positional arguments alone."""
        if self._dispatcher is None and CompiledKernel._calls <= MOST_CALLS:
            if (call := self.alone(arguments, {}, {})) is not None:
                CompiledKernel._calls += 1
                native, buffer = call
                return native(buffer)
            from cerlab.kernel_cache.native import types_of

            return self.by_numba(types_of(arguments))(*arguments)
        return self.by_numba()(*arguments)

    def by_numba(self, missing: str | None = None) -> Any:
        """Numba's dispatcher of the function, which takes the calls from now on.

        What it compiles for the `missing` types is kept as machine code, too.
        """
        if self._dispatcher is None:
            from cerlab.kernel_cache.numba_entries import dispatcher_of

            with CompiledKernel._loading:
                self._dispatcher = self._dispatcher or dispatcher_of(self, missing)
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        """What Numba takes it for in a kernel that calls it."""
        return self.by_numba()._numba_type_

    def alone(
        self, arguments: tuple[Any, ...], before: Records, now: Records
    ) -> tuple[Native, bytes] | None:
        """The machine code for these arguments, if it is on disk, and what it is called on.

        `before` and `now` as `native.unpack` takes them.
        """
        from cerlab.kernel_cache.native import load, types_of, unpack

        _, kind_list, parts = unpack(arguments, before, now)
        kinds = tuple(kind_list)
        native = self._native.get(kinds)
        if native is None:
            if (types := types_of(arguments)) is None:
                return None
            with CompiledKernel._loading:
                native = self._native.get(types) or load(self, types)
            if native is None:
                return None
            self._native[kinds] = self._native[types] = native
        return native, native.pack(*parts)


class RepeatedCalls:
    """Calls of a kernel with mostly the same records of arrays, which are then not read again.

    A record is the same where it is the same object, whatever is written into its arrays.
    """

    def __init__(self, kernel: Callable[..., Any]) -> None:
        self._kernel = kernel
        self._last: tuple[Any, ...] = ()
        self._native: Native | None = None
        self._buffer = b""
        self._records: Records = {}

    def __call__(self, *arguments: Any) -> Any:
        """The result of the kernel."""
        if self._native is None or not _same(self._last, arguments):
            if not isinstance(self._kernel, CompiledKernel):
                return self._kernel(*arguments)
            now: Records = {}
            if (call := self._kernel.alone(arguments, self._records, now)) is None:
                self._native = None
                return self._kernel(*arguments)
            self._records = now
            self._last, (self._native, self._buffer) = arguments, call
        return self._native(self._buffer)


def _same(a: Any, b: Any) -> bool:
    """Whether two arguments are one object, equal integers, or records of what is the same."""
    if a is b:
        return True
    if isinstance(a, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(_same, a, b))
    return type(a) is int and type(b) is int and a == b
