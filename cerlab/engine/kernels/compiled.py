"""How kernels are compiled."""

from __future__ import annotations

from cerlab.kernel_cache import Kernel, jit


def kernel(function: Kernel) -> Kernel:
    """Compile a function over arrays that allocates nothing, once per machine.

    Without reference counts (``_nrt``): with them, handing a few dozen arrays from one kernel to
    the next costs five times what the kernels do. ``NUMBA_DISABLE_JIT=1`` leaves the Python.
    """
    return jit(function, nogil=True, _nrt=False)


def inline(function: Kernel) -> Kernel:
    """The same for a part of a kernel: an array is eight arguments, so a call would not be free."""
    return jit(function, nogil=True, _nrt=False, forceinline=True)
