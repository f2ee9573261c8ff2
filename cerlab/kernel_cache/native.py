"""Machine code alone: what Numba compiled, called by its address.

An entry is a line of JSON (the name of the function, the parts of its arguments and of its result)
and an object file, which LLVM loads. The function takes where its result and its error are to go,
and where its arguments are, in parts of eight bytes: seven or more of an array, of a tuple those of
its fields. It returns 0, -2 for None, another number for an error.
"""

from __future__ import annotations

import ctypes
import json
import pickle
import struct
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from llvmlite import binding as llvm

from cerlab.kernel_cache.digest import Source, digest_of, fields_of
from cerlab.kernel_cache.folder import directory, read, write

PARTS: dict[str, tuple[str, Any]] = {
    "P": ("Q", ctypes.c_void_p),
    "?": ("q", ctypes.c_bool),
    "b": ("q", ctypes.c_int8),
    "B": ("q", ctypes.c_uint8),
    "h": ("q", ctypes.c_int16),
    "H": ("q", ctypes.c_uint16),
    "i": ("q", ctypes.c_int32),
    "I": ("q", ctypes.c_uint32),
    "q": ("q", ctypes.c_int64),
    "Q": ("Q", ctypes.c_uint64),
    "f": ("f4x", ctypes.c_float),
    "d": ("d", ctypes.c_double),
}
"""The parts of arguments and results by the letters of `struct`: as eight bytes, and for ctypes."""

FORM = "packed 1"
"""How the function in an entry is called: another one would mistake its arguments."""

DONE, NOTHING = 0, -2

_LAYOUT = 0x1 | 0x2 | 0x100 | 0x400
"""Of the flags of an array: contiguous either way, aligned, writeable."""

_BEYOND = 2**63
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_address_at = ctypes.c_void_p.from_address


class _ArrayInterface(ctypes.Structure):
    """What ``__array_struct__`` of an array points to (the array interface of NumPy, version 3)."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("two", "dimensions")),
        ("kind", ctypes.c_char),
        *((name, ctypes.c_int) for name in ("itemsize", "flags")),
        *((name, ctypes.c_void_p) for name in ("shape", "strides", "data", "descr")),
    )


_DATA = _ArrayInterface.data.offset


class _Error(ctypes.Structure):
    """How Numba says what a kernel raises: the class and its arguments, as a pickle of its own."""

    _fields_ = (("pickle", ctypes.c_void_p), ("length", ctypes.c_int32))


class Native:
    """Machine code that takes `arguments` and gives `result`, both as letters of `PARTS`."""

    def __init__(self, address: int, arguments: str, result: str, *, alone: bool) -> None:
        parts = [(f"f{n}", PARTS[letter][1]) for n, letter in enumerate(result)]
        self._result = type("Result", (ctypes.Structure,), {"_fields_": parts})
        self._names = [name for name, _ in parts]
        self._alone = alone
        self.pack = struct.Struct("=" + "".join(PARTS[letter][0] for letter in arguments)).pack
        pointer = ctypes.c_void_p
        self._call = ctypes.CFUNCTYPE(ctypes.c_int32, pointer, pointer, pointer)(address)

    def __call__(self, buffer: bytes) -> Any:
        """Call it, without the GIL, on the packed parts; raises what the kernel raises."""
        result, error = self._result(), ctypes.POINTER(_Error)()
        status = self._call(ctypes.addressof(result), ctypes.addressof(error), buffer)
        if status not in (DONE, NOTHING):
            raise _exception_of(error)
        values = tuple([getattr(result, name) for name in self._names])
        if not self._alone:
            return values
        return values[0] if values else None


def types_of(arguments: Iterable[Any]) -> str | None:
    """The types of some arguments, finer than Numba's; None where only Numba knows them."""
    types = [_type_of(each) for each in arguments]
    return None if None in types else ", ".join(map(str, types))


def load(kernel: Source, types: str) -> Native | None:
    """The machine code of a kernel for some types; None where there is none on disk."""
    payload = read(_entry(kernel, types))
    if not payload:
        return None
    head, _, code = payload.partition(b"\n")
    try:
        facts = json.loads(head)
        if len(code) != facts["length"]:
            return None
    except (ValueError, KeyError, TypeError):  # an entry that was cut off
        return None
    engine = _engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    kernel.loads += 1
    address = engine.get_function_address(facts["name"])
    return Native(address, facts["arguments"], facts["result"], alone=facts["alone"])


def is_refused(kernel: Source, types: str) -> bool:
    """Whether it is known that the machine code for these types cannot be called alone."""
    return read(_entry(kernel, types)) == b""


def keep(kernel: Source, types: str, code: bytes, **facts: object) -> None:
    """Keep machine code, and the `facts` of it; no code says that it cannot be called alone."""
    head = json.dumps({"length": len(code), **facts}).encode() + b"\n"
    write(_entry(kernel, types), head + code if code else b"")


def _entry(kernel: Source, types: str) -> Path:
    return directory() / f"{kernel.name}-{digest_of(kernel, (FORM, types))}.object"


@cache
def _engine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


def _type_of(value: Any) -> object:
    kind = type(value)
    if kind is np.ndarray:
        flags, dtype = value.flags, value.dtype
        if dtype.kind not in "biuf" or not dtype.isnative:
            return None
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return dtype.str, value.ndim, layout, flags.writeable, flags.aligned
    if kind is int:
        return "int64" if -_BEYOND <= value < _BEYOND else None
    if kind in (bool, float):
        return "float64" if kind is float else "bool"
    if isinstance(value, np.generic):
        return value.dtype.name if value.dtype.kind in "biuf" else None
    if isinstance(value, tuple):
        fields = [_type_of(each) for each in value]
        record = None if kind is tuple else fields_of(kind)
        return None if None in fields else (record, *fields)
    return None


class ArgumentParts(NamedTuple):
    """Some arguments taken apart: what `types_of` depends on, and their parts, in order.

    Arguments with equal kinds have equal types; what takes no machine code has a kind that nothing
    has that does.
    """

    arguments: Iterable[Any]
    kinds: list[object]
    parts: list[Any]


Records: TypeAlias = dict[int, ArgumentParts]
"""Records of the last call, taken apart, by their identity; they are kept alive here."""


def unpack(arguments: Iterable[Any], before: Records, now: Records) -> ArgumentParts:
    """Take arguments apart; records as `before` they are known, and are so `now`."""
    kinds: list[object] = []
    parts: list[Any] = []
    for each in arguments:
        kind = type(each)
        if kind is np.ndarray:
            shape = each.shape
            kinds += (each.dtype, len(shape), each.flags.num & _LAYOUT)
            capsule = each.__array_struct__  # keeps what it says alive
            address = _address_at(_pointer(capsule, None) + _DATA).value
            parts += (0, 0, each.size, each.itemsize, address or 0, *shape, *each.strides)
            continue
        kinds.append(kind)
        if isinstance(each, tuple):
            record = before.get(id(each)) or unpack(each, before, now)
            now[id(each)] = record
            kinds += (len(each), *record.kinds)
            parts += record.parts
        elif kind is int and not -_BEYOND <= each < _BEYOND:
            kinds.append(None)
        else:
            parts.append(each.item() if isinstance(each, np.generic) else each)
    return ArgumentParts(arguments, kinds, parts)


def _exception_of(error: Any) -> BaseException:
    """The exception of a kernel."""
    if not error:
        return MemoryError()
    kind, arguments, *_ = pickle.loads(ctypes.string_at(error[0].pickle, error[0].length))
    exception: BaseException = kind(*(arguments or ()))
    return exception
