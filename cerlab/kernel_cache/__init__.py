"""Compiled kernels: Numba compiles a function once per machine, and its machine code is kept.

An entry on disk is an object file under a digest of all that its code is made from: code and
constants of the kernel and of every kernel it reaches, types of the arguments, versions, and the
processor. A change of any of these names another entry, so none is ever out of date. A kernel that
is on disk is called without Numba, whose import costs more than most queries.

Machine code runs with the rights of the user. So it is loaded only from a file that belongs to the
user, that nobody else may write to, and that has its own digest and name in it. Entries are in the
user's cache directory (``~/.cache/cerlab`` on Linux), or under ``NUMBA_CACHE_DIR``.
"""

from __future__ import annotations

from cerlab.kernel_cache.kernel import Kernel, RepeatedCalls, jit

__all__ = ["Kernel", "RepeatedCalls", "jit"]
