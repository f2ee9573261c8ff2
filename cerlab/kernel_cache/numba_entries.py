"""Numba, where a kernel has to be compiled or is called often: dispatchers and their entries."""

from __future__ import annotations

import ctypes
import pickle
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding as llvm
from numba.core import compiler, types
from numba.core.caching import _Cache
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature

from cerlab.kernel_cache import native
from cerlab.kernel_cache.digest import Source, digest_of, fields_of
from cerlab.kernel_cache.folder import directory, read, write

_LETTERS = {
    types.boolean: "?",
    types.int8: "b",
    types.uint8: "B",
    types.int16: "h",
    types.uint16: "H",
    types.int32: "i",
    types.uint32: "I",
    types.int64: "q",
    types.uint64: "Q",
    types.float32: "f",
    types.float64: "d",
}
_LLVM = {"P": "ptr", "?": "i8", "f": "float", "d": "double"}
_LLVM |= {_LETTERS[each]: f"i{each.bitwidth}" for each in _LETTERS if each in types.integer_domain}

PREFIX = "packed."
"""The names of functions that take their arguments from memory begin so."""


class _Unknown(Exception):
    """A type whose parts are not known here."""


def dispatcher_of(kernel: Source, missing: str | None) -> Any:
    """Numba's dispatcher of a kernel; of the `missing` types machine code alone is to be kept."""
    dispatcher = numba.njit(**kernel.options)(kernel.py_func)
    dispatcher._cache = KernelCache(kernel, missing)
    return dispatcher


class KernelCache(_Cache):
    """The entries of one kernel, one for each signature; Numba asks it before it compiles."""

    def __init__(self, kernel: Source, missing: str | None) -> None:
        self._kernel = kernel
        self._missing = missing
        self._enabled = True

    @property
    def cache_path(self) -> str:
        """The directory of all kernels."""
        return str(directory())

    def enable(self) -> None:
        """Read and write entries."""
        self._enabled = True

    def disable(self) -> None:
        """Neither read nor write entries."""
        self._enabled = False

    def flush(self) -> None:
        """Remove the entries of this kernel, whatever their digest."""
        for entry in directory().glob(f"{self._kernel.name}-*"):
            entry.unlink(missing_ok=True)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel for a signature, or None where it has to be compiled."""
        missing = self._missing
        if missing is not None and native.is_refused(self._kernel, missing):
            missing = self._missing = None
        if not self._enabled or missing is not None:
            return None
        payload = read(self._entry(sig))
        try:
            parts = pickle.loads(payload or b"")
        except (EOFError, pickle.UnpicklingError):  # none, or one that was cut off
            return None
        _initialise(target_context)
        self._kernel.loads += 1
        return compiler.CompileResult._rebuild(target_context, *parts)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled; warns where the directory cannot be written to."""
        if not self._enabled or data.lifted or data.library.has_dynamic_globals:
            return
        write(self._entry(sig), dumps(data._reduce()))
        if self._missing is not None:
            keep_alone(self._kernel, self._missing, data)
            self._missing = None

    def _entry(self, sig: Any) -> Path:
        arguments, result = normalize_signature(sig)
        of_types = [part for each in (*arguments, result) for part in _of_type(each)]
        return directory() / f"{self._kernel.name}-{digest_of(self._kernel, of_types)}.pickle"


@cache
def _initialise(target_context: Any) -> None:
    """Let the context know Numba's own functions: slow, and once is enough.

    What is registered later is for kernels compiled later; Numba does this before each of those.
    """
    target_context.refresh()


def _of_type(argument: Any) -> Iterator[object]:
    """A Numba type by its name, and the fields of named tuples, which the name leaves out."""
    yield repr(argument)
    if isinstance(argument, types.BaseNamedTuple):
        yield fields_of(argument.instance_class)
    if isinstance(argument, types.BaseTuple):
        for each in argument.types:
            yield from _of_type(each)


def keep_alone(kernel: Source, type_text: str, data: Any) -> None:
    """Keep the machine code of what was compiled, if it needs nothing of Numba."""
    name = data.fndesc.llvm_func_name
    module = llvm.parse_bitcode(data.library._final_module.as_bitcode())
    try:
        arguments = "".join(map(_parts, data.signature.args))
        result, alone = _result(data.signature.return_type)
    except _Unknown:
        native.keep(kernel, type_text, b"")
        return
    as_llvm = [str(each.type) for each in module.get_function(name).arguments]
    code = b""
    if as_llvm == ["ptr", "ptr", *(_LLVM[letter] for letter in arguments)]:
        module.link_in(llvm.parse_assembly(_wrapper(name, as_llvm[2:])))
        machine = data.library._codegen._tm
        _only(module, PREFIX + name, machine)
        code = machine.emit_object(module) if _is_closed(module) else b""
    facts = {"name": PREFIX + name, "arguments": arguments, "result": result, "alone": alone}
    native.keep(kernel, type_text, code, **facts)


def _wrapper(name: str, types: list[str]) -> str:
    """A function that takes the arguments of another one from memory, eight bytes for each."""
    loads = [
        f"%p{n} = getelementptr i64, ptr %packed, i64 {n}\n%a{n} = load {each}, ptr %p{n}"
        for n, each in enumerate(types)
    ]
    arguments = ", ".join(
        ["ptr %result", "ptr %error", *(f"{t} %a{n}" for n, t in enumerate(types))]
    )
    return "\n".join(
        [
            f'declare i32 @"{name}"({", ".join(["ptr", "ptr", *types])})',
            f'define i32 @"{PREFIX}{name}"(ptr %result, ptr %error, ptr %packed) {{',
            *loads,
            f'%status = call i32 @"{name}"({arguments})',
            "ret i32 %status\n}",
        ]
    )


def _only(module: Any, name: str, machine: Any) -> None:
    """Leave nothing in a module but one function and what it needs."""
    for each in (*module.functions, *module.global_variables):
        if not each.is_declaration and each.name != name:
            each.linkage = "internal"
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)


def _is_closed(module: Any) -> bool:
    """Whether all that a module names from outside is of the C library."""
    outside = [
        each.name
        for each in (*module.functions, *module.global_variables)
        if each.is_declaration and not each.name.startswith("llvm.")
    ]
    return not outside or all(hasattr(ctypes.CDLL(None), name) for name in outside)


def _parts(argument: Any) -> str:
    """The letters of an argument."""
    if isinstance(argument, types.Array):
        return "PPqqP" + "qq" * argument.ndim
    if isinstance(argument, types.BaseTuple):
        return "".join(map(_parts, argument.types))
    if (letter := _LETTERS.get(argument)) is None:
        raise _Unknown
    return letter


def _result(result: Any) -> tuple[str, bool]:
    """The letters of a result, and whether it is no tuple."""
    if isinstance(result, types.BaseNamedTuple | types.Array):
        raise _Unknown
    if isinstance(result, types.NoneType):
        return "", True
    return _parts(result), not isinstance(result, types.BaseTuple)
