"""Functions over arrays that are compiled at their first call with arguments of some types.

Machine code takes where its result and its error are to go, and where its arguments are, in parts
of eight bytes: seven or more of an array, of a tuple those of its fields. It returns 0, -2 for
None, another number for an error.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
from collections.abc import Callable, Iterable
from functools import cache, update_wrapper
from threading import Lock
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from cerlab.errors import Unsupported
from cerlab.kernel_cache.entries import entry_name, fields_of, read

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_BY_ROWS, _BY_COLUMNS = 0x1, 0x2
_LAYOUT = _BY_ROWS | _BY_COLUMNS | 0x100 | 0x400
"""The flags of an array that its type depends on: contiguous either way, aligned, writeable."""

_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_address_at = ctypes.c_void_p.from_address
_DATA = 40 if ctypes.sizeof(ctypes.c_void_p) == 8 else 28
"""The offset of the data pointer in ``__array_struct__`` (NumPy's array interface, version 3)."""


class MachineCode:
    """Machine code in memory: `pack` makes of parts the bytes that it is called on."""

    def __init__(self, content: bytes) -> None:
        from llvmlite import binding as llvm

        head, _, code = content.partition(b"\n")
        facts, engine = json.loads(head), _engine()
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        pointer = ctypes.c_void_p
        form = ctypes.CFUNCTYPE(ctypes.c_int32, pointer, pointer, pointer)
        self._call = form(engine.get_function_address(facts["name"]))
        # "=" is without padding: each part is eight bytes, as the wrapper reads them.
        self.pack = struct.Struct("=" + facts["arguments"]).pack
        fields = [(f"f{n}", np.ctypeslib.as_ctypes_type(t)) for n, t in enumerate(facts["result"])]
        self._result = type("Result", (ctypes.Structure,), {"_fields_": fields})
        self._names, self._alone = [name for name, _ in fields], facts["alone"]

    def __call__(self, buffer: bytes) -> Any:
        """Return the result of the function, without the GIL."""
        result, error = self._result(), ctypes.c_void_p()
        status = self._call(ctypes.addressof(result), ctypes.addressof(error), buffer)
        if status not in (0, -2):  # nothing else can fail over numbers and arrays
            raise ZeroDivisionError("division by zero in a kernel")
        values = tuple([getattr(result, name) for name in self._names])
        return values if not self._alone else values[0] if values else None


@cache
def _engine() -> Any:
    from llvmlite import binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


def jit(function: Kernel, **options: Any) -> Kernel:
    """Return a function under Numba: compiled at the first call with arguments of a type, and kept.

    `options` are those of ``numba.njit``. Under ``NUMBA_DISABLE_JIT=1`` it is the function itself.
    """
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return function
    return cast(Kernel, CompiledKernel(function, options))


class CompiledKernel:
    """A function and its machine code; `loads` counts how often that was on disk."""

    _loading = Lock()
    entry_points = 0
    """How many kernels of the modules loaded so far are called from Python, each compiled alone."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.py_func, self.options = function, options
        CompiledKernel.entry_points += not options.get("forceinline")
        self.name = f"{function.__module__}.{function.__qualname__}"
        self._code: dict[object, MachineCode] = {}
        self.loads = 0

    def __call__(self, *arguments: Any) -> Any:
        """Return the result of the function; takes positional arguments alone."""
        code, buffer = self.prepare(arguments, {}, {})
        return code(buffer)

    def prepare(
        self, arguments: tuple[Any, ...], before: Records, now: Records
    ) -> tuple[MachineCode, bytes]:
        """Return the machine code for these arguments, and the bytes that it is called on.

        `before` and `now` as `unpack` takes them. Arguments are numbers of 64 bits, arrays of them,
        and tuples of these; any other one raises an error.
        """
        _, kind_list, parts = unpack(arguments, before, now)
        kinds = tuple(kind_list)
        code = self._code.get(kinds)
        if code is None:
            types = str([fields_of(each) if isinstance(each, type) else each for each in kinds])
            # Threads that come to wait here find the code, and do not compile it again.
            with CompiledKernel._loading:
                # By their text as well: equal dtypes need not be one object.
                code = self._code.get(types) or self._load(types, arguments)
                self._code[kinds] = self._code[types] = code
        return code, code.pack(*parts)

    def _load(self, types: str, arguments: tuple[Any, ...]) -> MachineCode:
        try:
            return self._compiled(entry_name(self, types), arguments)
        except ImportError as error:
            raise Unsupported(
                "CER0422",
                f"the compiled engine needs Numba, which is not installed: {error}",
                hint='pip install numba; evaluator="tecs" runs without it',
            ) from None

    def _compiled(self, name: str, arguments: tuple[Any, ...]) -> MachineCode:
        if (content := read(name)) is not None:
            self.loads += 1
            return MachineCode(content)
        from cerlab.kernel_cache.compiler import compile_and_keep

        return MachineCode(compile_and_keep(self, arguments, name))

    @property
    def _numba_type_(self) -> Any:
        """The type that Numba gives it in a kernel that calls it."""
        from cerlab.kernel_cache.compiler import dispatcher_of

        return dispatcher_of(self)._numba_type_


Parts: TypeAlias = tuple[Iterable[Any], list[Any], list[Any]]
"""Some arguments, what their types depend on, and their parts, in order."""

Records: TypeAlias = dict[int, Parts]
"""Records of the last call, taken apart, by their identity; they are kept alive here."""


def unpack(arguments: Iterable[Any], before: Records, now: Records) -> Parts:
    """Take arguments apart; records as `before` they are known, and are so `now`."""
    kinds: list[object] = []
    parts: list[Any] = []
    for each in arguments:
        kind = type(each)
        if kind is np.ndarray:
            shape, layout = each.shape, each.flags.num & _LAYOUT
            if layout & _BY_ROWS:  # one row, one column or nothing is contiguous either way
                layout &= ~_BY_COLUMNS
            kinds += (each.dtype, len(shape), layout)
            capsule = each.__array_struct__  # keeps what it says alive
            address = _address_at(_pointer(capsule, None) + _DATA).value
            parts += (0, 0, each.size, each.itemsize, address or 0, *shape, *each.strides)
            continue
        kinds.append(kind)
        if isinstance(each, tuple):
            record = before.get(id(each)) or unpack(each, before, now)
            now[id(each)] = record
            kinds += (len(each), *record[1])
            parts += record[2]
        elif kind is int and not -(1 << 63) <= each < 1 << 63:
            raise OverflowError(f"{each} has more than 64 bits")
        else:
            value = each.item() if isinstance(each, np.generic) else each
            parts.append(0 if value is None else value)
    return arguments, kinds, parts


class RepeatedCalls:
    """Calls of a kernel with mostly the same records of arrays, which are then not read again.

    A record is the same where it is the same object, whatever is written into its arrays.
    """

    def __init__(self, kernel: Callable[..., Any]) -> None:
        self._kernel = kernel
        self._last: tuple[Any, ...] | None = None
        self._code: Any = None
        self._buffer = b""
        self._records: Records = {}

    def __call__(self, *arguments: Any) -> Any:
        """Return the result of the kernel."""
        if not isinstance(self._kernel, CompiledKernel):
            return self._kernel(*arguments)
        if self._last is None or not _same(self._last, arguments):
            now: Records = {}
            self._code, self._buffer = self._kernel.prepare(arguments, self._records, now)
            self._last, self._records = arguments, now
        return self._code(self._buffer)


def _same(a: Any, b: Any) -> bool:
    """Return whether two arguments are one object, equal integers, or records of the same."""
    if a is b:
        return True
    if isinstance(a, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(_same, a, b))
    return type(a) is int and type(b) is int and a == b
