"""Compilation of a kernel with Numba, from a Python function to an object file.

A kernel and the kernels it calls are optimised once, together, and only the whole is translated to
machine code: Numba would optimise and translate each of them first, which costs twice as much.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from functools import cache
from itertools import count
from typing import Any

import numba
from llvmlite import binding as llvm
from numba.core import compiler, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import _FunctionCompiler
from numba.np.numpy_support import as_dtype

from cerlab.display import terminal
from cerlab.kernel_cache.entries import write

_numbers = count(1)


class _Library(JITCodeLibrary):
    """The code of one kernel, optimised together with the kernel that calls it."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


class _Compiler(_FunctionCompiler):  # type: ignore[misc] # the base class is untyped
    """A Numba compiler that produces a `_Library`, without wrappers for calls from Python or C."""

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        flags: Any = compiler.Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        context, typing = self.targetdescr.target_context, self.targetdescr.typing_context
        library = _Library(context.codegen(), self.py_func.__qualname__)
        given = (typing, context, self.py_func, args, return_type, flags, self.locals)
        result = compiler.compile_extra(*given, library=library)
        # Numba's typing looks the function up by this key
        result = result._replace(entry_point=object())
        context.insert_user_function(result.entry_point, result.fndesc, [library])
        return result


@cache
def dispatcher_of(kernel: Any) -> Any:
    """Return Numba's dispatcher of a kernel, so that other kernels can call it."""
    dispatcher = numba.njit(**kernel.options)(kernel.py_func)
    old = dispatcher._compiler
    parts = (old.py_func, old.targetdescr, old.targetoptions, old.locals, old.pipeline_class)
    dispatcher._compiler = _Compiler(*parts)
    template = dispatcher.get_call_template
    dispatcher.get_call_template = lambda args, kws: template(tuple(map(_widened, args)), kws)
    dispatcher.add_overload = lambda result: dispatcher.overloads.update(
        {tuple(result.signature.args): result}
    )
    return dispatcher


def _widened(argument: Any) -> Any:
    """Return an argument's type, widened to 64 bits and without a constant value, to share code."""
    argument = types.unliteral(argument)
    if isinstance(argument, types.Integer) and (argument.signed or argument.bitwidth < 32):
        return types.int64
    return argument


def compile_and_keep(kernel: Any, arguments: tuple[Any, ...], parts: int, name: str) -> bytes:
    """Compile a kernel; return its cache entry: the letters of the result's types, and the code.

    All arguments together are `parts` parts of eight bytes. Raise `TypeError` for a kernel whose
    code needs Numba when it runs: one that allocates.
    """
    _announce(next(_numbers), type(kernel).entry_points)
    # Numba creates millions of lasting objects: collecting garbage would add a tenth of the time
    collects = gc.isenabled()
    gc.disable()
    try:
        with global_compiler_lock:
            content = _content(kernel, tuple(map(numba.typeof, arguments)), parts, name)
    finally:
        if collects:
            gc.enable()
        _announce(None)
    write(name, content)
    return content


def _content(kernel: Any, arguments: tuple[Any, ...], parts: int, entry: str) -> bytes:
    dispatcher = dispatcher_of(kernel)
    dispatcher.compile(arguments)
    result = dispatcher.overloads[arguments]
    returned, library = result.signature.return_type, result.library
    library._ensure_finalized()
    module, name = library._final_module.clone(), result.fndesc.llvm_func_name
    _, _, *as_llvm = [str(each.type) for each in module.get_function(name).arguments]
    module.link_in(llvm.parse_assembly(_wrapper(entry, name, as_llvm)))
    named = (*module.functions, *module.global_variables)
    for each in named:
        if not each.is_declaration and each.name != entry:
            each.linkage = "internal"
    passes, builder = library.codegen._module_pass_manager()
    passes.run(module, builder)
    known = ctypes.CDLL(None)
    declared = [e.name for e in (*module.functions, *module.global_variables) if e.is_declaration]
    missing = [e for e in declared if not e.startswith("llvm.") and not hasattr(known, e)]
    several = isinstance(returned, types.BaseTuple)
    numbers = returned.types if several else [returned] if returned != types.none else []
    plain = all(isinstance(each, types.Number | types.Boolean) for each in numbers)
    if missing or len(as_llvm) != parts or not plain:
        raise TypeError(f"{kernel.name} cannot run without Numba: {missing or result.signature}")
    letters = "".join(as_dtype(each).char for each in numbers) + "*" * several
    return letters.encode() + b"\n" + bytes(library.codegen._tm.emit_object(module))


def _wrapper(entry: str, name: str, types: list[str]) -> str:
    """Return LLVM code of a function that unpacks its arguments from eight bytes each."""
    given = ", ".join(["ptr %r", "ptr %e", *(f"{each} %a{n}" for n, each in enumerate(types))])
    loads = "".join(
        f"%p{n} = getelementptr i64, ptr %m, i64 {n}\n%a{n} = load {each}, ptr %p{n}\n"
        for n, each in enumerate(types)
    )
    return f"""declare i32 @"{name}"({", ".join(["ptr", "ptr", *types])})
        define i32 @"{entry}"(ptr %r, ptr %e, ptr %m) {{
        {loads}%status = call i32 @"{name}"({given})
        ret i32 %status\n}}"""


def _announce(number: int | None, most: int = 0) -> None:
    """Print that a kernel is compiled: a counter on a terminal, otherwise one line."""
    text = "compiling kernels for this machine, once"
    if sys.stderr is not None and sys.stderr.isatty():
        # `number` may exceed `most`: arguments of new types compile a kernel again
        text = f"{text}: {number} of at most {max(number, most)}" if number else ""
        print(f"\r\x1b[K{text}", end="", file=terminal(sys.stderr), flush=True)
    elif number == 1 and _someone_waits():
        print(f"{text}: at most {most}", file=sys.stderr)


def _someone_waits() -> bool:
    """Return whether a person waits for this program or cell, unlike in a build of pages."""
    ipython = sys.modules.get("IPython")  # sys.modules also holds None, for a forbidden import
    shell: Any = ipython.get_ipython() if ipython else None
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return "cerlab.cli" in sys.modules
    return bool(kernel.get_parent("shell").get("content", {}).get("allow_stdin"))
