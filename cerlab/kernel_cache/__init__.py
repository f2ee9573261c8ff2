"""Compiled kernels on disk, each under a digest of all that its machine code is made from.

Numba compiles a kernel at its first call with arguments of some types. What it makes is kept in two
forms: as machine code alone (`native`), which is loaded and called without Numba, whose import
costs more than most queries; and as Numba's own entry (`numba_entries`), whose calls cost less, for
processes that call kernels often.

The digest (`digest`) is of the code and constants of the kernel and of every kernel it reaches, how
each is compiled, the types of the arguments and the fields of named tuples among them, the versions
of Python, Numba, llvmlite and NumPy, and the processor. What changes any of these has another
entry, so no entry is ever out of date.

Entries are in the user's cache directory (``~/.cache/cerlab`` on Linux), or under
``NUMBA_CACHE_DIR``, never beside the source: it may be read-only. Above `folder.MOST_BYTES` in all,
those used longest ago are removed.
"""

from __future__ import annotations

from cerlab.kernel_cache.kernel import Kernel, RepeatedCalls, jit

__all__ = ["Kernel", "RepeatedCalls", "jit"]
