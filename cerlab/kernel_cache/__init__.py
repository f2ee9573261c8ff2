"""Compiled kernels: Numba compiles a function once per machine; its code is kept on disk.

A kernel that is on disk is called without Numba, whose import costs more than most queries. Numba's
own cache would save most of these lines. It would cost half a second at each start and twice the
time of compiling, since it optimises every kernel before those that call it. Machine code receives
the addresses of its result and its error, and of its arguments, in parts of eight bytes: seven or
more for an array, those of its fields for a tuple. It returns 0, -2 for None, another number for an
error.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Callable, Iterable
from functools import cache, update_wrapper
from threading import Lock
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from cerlab.errors import Unsupported
from cerlab.kernel_cache.entries import entry_name, read

__all__ = ["CompiledKernel", "Kernel", "RepeatedCalls", "jit", "unpack"]

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_BY_ROWS, _BY_COLUMNS = 0x1, 0x2
_LAYOUT = _BY_ROWS | _BY_COLUMNS | 0x100 | 0x400
"""The flags of an array on which its type depends: contiguous either way, aligned, writeable."""

_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_address_at = ctypes.c_void_p.from_address
_DATA = 40 if ctypes.sizeof(ctypes.c_void_p) == 8 else 28
"""The offset of the data pointer in ``__array_struct__`` (NumPy's array interface, version 3)."""


class MachineCode:
    """Machine code loaded from the cache, callable with the bytes of its arguments."""

    def __init__(self, name: str, content: bytes) -> None:
        from llvmlite import binding as llvm

        head, _, code = content.partition(b"\n")
        engine, pointer = _engine(), ctypes.c_void_p
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        form = ctypes.CFUNCTYPE(ctypes.c_int32, pointer, pointer, pointer)
        self._call = form(engine.get_function_address(name))
        self._result = struct.Struct(head.decode().removesuffix("*"))
        self._alone = not head.endswith(b"*")

    def __call__(self, buffer: bytes) -> Any:
        """Call the machine code without holding the GIL."""
        result, error = ctypes.create_string_buffer(self._result.size), ctypes.c_void_p()
        status = self._call(ctypes.addressof(result), ctypes.addressof(error), buffer)
        if status not in (0, -2):  # kernels on numbers and arrays have no other error
            raise ZeroDivisionError("division by zero in a kernel")
        values = self._result.unpack(result)
        return values if not self._alone else values[0] if values else None


@cache
def _engine() -> Any:
    from llvmlite import binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


def jit(function: Kernel, **options: Any) -> Kernel:
    """Return a function that Numba compiles at its first call and that the cache keeps.

    `options` are those of ``numba.njit``. Under ``NUMBA_DISABLE_JIT=1`` the result is the function
    itself.
    """
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return function
    return cast(Kernel, CompiledKernel(function, options))


class CompiledKernel:
    """A kernel: a Python function and its machine code; `loads` counts reads from disk."""

    _loading = Lock()
    entry_points = 0
    """The number of kernels in the loaded modules that Python calls, each compiled separately."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.py_func, self.options = function, options
        CompiledKernel.entry_points += not options.get("forceinline")
        self.name = f"{function.__module__}.{function.__qualname__}"
        self._code: dict[object, MachineCode] = {}
        self.loads = 0

    def __call__(self, *arguments: Any) -> Any:
        """Call the kernel with positional arguments."""
        code, buffer = self.prepare(arguments, {}, {})
        return code(buffer)

    def prepare(
        self, arguments: tuple[Any, ...], before: Records, now: Records
    ) -> tuple[MachineCode, bytes]:
        """Return the machine code for these arguments, and the arguments as bytes.

        `before` and `now` are as in `unpack`. Arguments are numbers of 64 bits, arrays of them, and
        tuples of these; any other argument raises an error.
        """
        _, kind_list, parts = unpack(arguments, before, now)
        kinds, buffer = tuple(kind_list), struct.pack(f"={len(parts)}q", *parts)
        code = self._code.get(kinds)
        if code is None:
            # a thread that waited for the lock finds the code here and does not compile it again
            with CompiledKernel._loading:
                code = self._code.get(kinds) or self._load(kinds, arguments, len(parts))
                self._code[kinds] = code
        return code, buffer

    def _load(self, kinds: object, arguments: tuple[Any, ...], parts: int) -> MachineCode:
        try:
            name = entry_name(self, kinds)
            content = read(name)
            self.loads += content is not None
            if content is None:
                from cerlab.kernel_cache.compiler import compile_and_keep

                content = compile_and_keep(self, arguments, parts, name)
            return MachineCode(name, content)
        except ImportError as error:
            raise Unsupported(
                "CER0422",
                f"the compiled engine needs Numba, which is not installed: {error}",
                hint='pip install numba; evaluator="tecs" runs without it',
            ) from None

    @property
    def _numba_type_(self) -> Any:
        """Numba's type of the kernel, for kernels that call it."""
        from cerlab.kernel_cache.compiler import dispatcher_of

        return dispatcher_of(self)._numba_type_


def _unlock() -> None:
    """Replace the lock in a forked child, where the thread that held it does not exist."""
    CompiledKernel._loading = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)


Parts: TypeAlias = tuple[Iterable[Any], list[Any], list[int]]
"""Arguments, their properties on which types depend, and their parts, in order."""

Records: TypeAlias = dict[int, Parts]
"""The unpacked records of the last call, by their identity; they are kept alive here."""


def unpack(arguments: Iterable[Any], before: Records, now: Records) -> Parts:
    """Return a kernel's arguments as integers; reuse records in `before`, add all to `now`."""
    kinds: list[object] = []
    parts: list[int] = []
    for each in arguments:
        kind = type(each)
        if kind is np.ndarray:
            shape, layout = each.shape, each.flags.num & _LAYOUT
            # arrays with at most one row or column are contiguous in both orders
            if layout & _BY_ROWS:
                layout &= ~_BY_COLUMNS
            kinds += (each.dtype, len(shape), layout)
            capsule = each.__array_struct__  # the capsule keeps the array's memory alive
            address = _address_at(_pointer(capsule, None) + _DATA).value
            parts += (0, 0, each.size, each.itemsize, address or 0, *shape, *each.strides)
            continue
        kinds.append(kind)
        match each:
            case tuple():
                record = before.get(id(each)) or unpack(each, before, now)
                now[id(each)] = record
                kinds += (len(each), *record[1])
                parts += record[2]
            case int():
                if not -(1 << 63) <= each < 1 << 63:
                    raise OverflowError(f"{each} has more than 64 bits")
                parts.append(each)
            case np.generic() | float():  # the bits of the number, padded to eight bytes
                bits = np.asarray(each).tobytes().ljust(8, b"\0")
                parts.append(int.from_bytes(bits, sys.byteorder, signed=True))
            case None:
                parts.append(0)
            case _:
                raise TypeError(f"expected numbers, arrays and tuples of them, got {each!r}")
    return arguments, kinds, parts


class RepeatedCalls:
    """A kernel for repeated calls: argument records that do not change are converted to bytes once.

    A record is the same if it is the same object, even if its arrays have been written to.
    """

    def __init__(self, kernel: Callable[..., Any]) -> None:
        self._kernel = kernel
        self._last: tuple[Any, ...] | None = None
        self._code: Any = None
        self._buffer = b""
        self._records: Records = {}

    def __call__(self, *arguments: Any) -> Any:
        """Call the kernel."""
        if not isinstance(self._kernel, CompiledKernel):
            return self._kernel(*arguments)
        if self._last is None or not _same(self._last, arguments):
            now: Records = {}
            self._code, self._buffer = self._kernel.prepare(arguments, self._records, now)
            self._last, self._records = arguments, now
        return self._code(self._buffer)


def _same(a: Any, b: Any) -> bool:
    """Return whether two arguments are one object, equal integers, or tuples of such pairs."""
    if a is b:
        return True
    if isinstance(a, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(_same, a, b))
    return type(a) is int and type(b) is int and a == b
