"""How kernels are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def kernel(function: Kernel) -> Kernel:
    """Compile a function over arrays that allocates nothing, once per machine.

    Without reference counts (``_nrt``): with them, handing a few dozen arrays from one kernel to
    the next costs five times what the kernels do. ``NUMBA_DISABLE_JIT=1`` leaves the Python.
    """
    made: Kernel = njit(cache=True, nogil=True, _nrt=False)(function)  # type: ignore[call-overload]
    return made


def inlined(function: Kernel) -> Kernel:
    """The same for a part of a kernel: an array is eight arguments, so a call would not be free."""
    made: Kernel = njit(cache=True, nogil=True, _nrt=False, forceinline=True)(function)  # type: ignore[call-overload]
    return made
