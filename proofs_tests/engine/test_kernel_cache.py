"""No kernel on disk outlives a change of what it was compiled from, wherever that is."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree, ignore_patterns
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest

import cerlab
from cerlab.kernel_cache import RepeatedCalls, folder, native
from cerlab.kernel_cache.kernel import CompiledKernel
from proofs_tests.kernels import JIT

pytestmark = pytest.mark.skipif(not JIT, reason="nothing is compiled")

VALUES = """
from typing import NamedTuple

ONE = 1

class Pair(NamedTuple):
    a: int
    b: int
"""

PARTS = """
from cerlab.kernel_cache import jit
from functools import partial
from kernels_here import values
from kernels_here.values import ONE

@partial(jit, forceinline=True)
def least(x):
    return x + ONE

@partial(jit, forceinline=True)
def part(x):
    return 10 * least(x) + values.ONE
"""

WHOLE = """
from cerlab.kernel_cache import jit
from kernels_here.parts import part

@jit
def whole(x, pair):
    return 100 * part(x) + pair.a
"""

EDITS = [
    ("parts", "x + ONE", "x - ONE", 101),
    ("parts", "10 * ", "20 * ", 4101),
    ("values", "ONE = 1", "ONE = 2", 3201),
    ("values", "a: int\n    b: int", "b: int\n    a: int", 2102),
    ("parts", "forceinline=True", "boundscheck=True", 2101),
]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(CompiledKernel, "_calls", 0)
    return tmp_path / "cache" / "kernels"


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ModuleType]:
    """A package of three modules, imported as if for the first time, with some text replaced."""
    package = tmp_path / "kernels_here"
    package.mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    texts = {"__init__": "", "values": VALUES, "parts": PARTS, "whole": WHOLE}

    def import_anew(module: str = "whole", old: str = "", new: str = "") -> ModuleType:
        for name, text in texts.items():
            assert name != module or old in text
            here = text.replace(old, new) if name == module and old else text
            (package / f"{name}.py").write_text(here)
        for name in [name for name in sys.modules if name.startswith("kernels_here")]:
            del sys.modules[name]
        importlib.invalidate_caches()
        return importlib.import_module("kernels_here.whole")

    return import_anew


def answer(kernels: ModuleType) -> tuple[int, int]:
    """What the kernel returns, and whether it was on disk."""
    result = kernels.whole(1, sys.modules["kernels_here.values"].Pair(1, 2))
    return result, int(kernels.whole.loads > 0)


@pytest.mark.parametrize("calls", [0, sys.maxsize], ids=["machine code alone", "Numba"])
@pytest.mark.parametrize(("module", "old", "new", "expected"), EDITS)
def test_a_change_anywhere_below_a_kernel_is_seen(
    module: str,
    old: str,
    new: str,
    expected: int,
    calls: int,
    cache: Path,
    kernels: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Kernels on disk are called without Numba at first, and by Numba after many calls."""
    monkeypatch.setattr(CompiledKernel, "_calls", calls)
    assert answer(kernels()) == (2101, 0)
    assert answer(kernels()) == (2101, 1)
    assert answer(kernels(module, old, new)) == (expected, 0)
    assert answer(kernels(module, old, new)) == (expected, 1)
    assert answer(kernels()) == (2101, 1), "the one before is still there"


def test_a_comment_is_no_change(cache: Path, kernels: Any) -> None:
    assert answer(kernels()) == (2101, 0)
    assert answer(kernels("parts", "ONE\n", "ONE  # the least\n\n")) == (2101, 1)


def test_a_record_of_another_module_is_another(cache: Path, kernels: Any, tmp_path: Path) -> None:
    """An entry names the class of a record by its module, which may be without it by now."""
    assert answer(kernels()) == (2101, 0)
    _, record = VALUES.split("ONE = 1")
    (tmp_path / "kernels_here" / "records.py").write_text(
        f"from typing import NamedTuple\n{record}"
    )
    module = kernels("values", record, "\nfrom kernels_here.records import Pair\n")
    assert answer(module) == (2101, 0)


def test_an_entry_that_was_cut_off_is_compiled_again(cache: Path, kernels: Any) -> None:
    assert answer(kernels()) == (2101, 0)
    for entry in cache.iterdir():
        entry.write_bytes(entry.read_bytes()[:100])
    assert answer(kernels()) == (2101, 0)
    assert answer(kernels()) == (2101, 1)


@pytest.mark.parametrize("value", ["[1]", "{1: 2}", "object()", "(1, [2])"])
def test_what_could_change_unseen_is_refused(value: str, cache: Path, kernels: Any) -> None:
    module = kernels("values", "ONE = 1", f"ONE = {value}")
    with pytest.raises(TypeError, match="whose changes a cache could not see"):
        answer(module)


def test_entries_used_longest_ago_are_removed(
    cache: Path, kernels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(kernels())
    first = set(cache.iterdir())
    assert len(first) >= 3
    for n, entry in enumerate(sorted(first)):
        os.utime(entry, (n, n))
    sizes = [entry.stat().st_size for entry in first]
    room = sum(sizes) + min(sizes) // 2  # entries of the same kernels differ by some bytes
    monkeypatch.setattr(folder, "MOST_BYTES", room)
    answer(kernels())  # uses the entry of `whole`
    assert answer(kernels("parts", "x + ONE", "x - ONE")) == (101, 0)
    after = set(cache.iterdir())
    assert len(after) < len(first | after)
    assert [entry for entry in first & after if ".whole." not in entry.name] == []
    kernels().whole.by_numba()._cache.flush()
    assert not list(cache.glob("kernels_here.whole.*"))


def test_where_nothing_can_be_written_kernels_still_run(
    tmp_path: Path, kernels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR names another place"):
        assert answer(kernels()) == (2101, 0)


PROGRAM = """
from cerlab.engine.kernels.registers import LE
from cerlab.engine.kernels.registers import compare
from cerlab.kernel_cache import jit

@jit
def at_most(left, right):
    return compare(LE, left, right)

print(at_most(1, 1), at_most.loads)
"""


def test_an_inlined_kernel_of_a_copy_of_the_package(tmp_path: Path) -> None:
    """Changed as an editor would: the size of the file and the second of its time stay."""
    copy = tmp_path / "cerlab"
    copytree(Path(cerlab.__file__).parent, copy, ignore=ignore_patterns("__pycache__"))
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
    }

    def run() -> str:
        command = [sys.executable, str(tmp_path / "program.py")]
        return subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout

    assert run() == "True 0\n"
    source = copy / "engine" / "kernels" / "registers.py"
    text, status = source.read_text(), source.stat()
    assert "left <= right" in text
    source.write_text(text.replace("left <= right", "left <  right"))
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert run() == "False 0\n"
    beside = [each for kind in ("nbi", "nbc", "pickle") for each in copy.rglob(f"*.{kind}")]
    assert not beside, "nothing is written beside the source"


RECORD = """
from typing import NamedTuple
from cerlab.kernel_cache import jit

class Numbers(NamedTuple):
    first: object
    scale: float

@jit
def sums(numbers, table, pair, signed, plain):
    total = 0.0
    for i in range(numbers.first.shape[0]):
        total += numbers.scale * numbers.first[i] + table[i % table.shape[0], 1]
    return total, pair[0] // plain, signed and pair[1] > 0

@jit
def fill(out, value):
    for i in range(out.shape[0]):
        out[i] = value

@jit
def room(n):
    return np.zeros(n)

@jit
def first(x):
    return x[0]
"""


@pytest.fixture
def records(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Kernels over records, arrays and numbers, imported as if for the first time."""
    (tmp_path / "records_here.py").write_text(f"import numpy as np\n{RECORD}")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("records_here")
    del sys.modules["records_here"]


def test_machine_code_alone_gives_what_numba_gives(records: Any) -> None:
    """The first call compiles; the second, of another process as it were, takes what was kept."""
    for first in (np.arange(7, dtype=np.int32), np.arange(20, dtype=np.uint8)[::3]):
        arguments = (
            records.Numbers(first, 0.5),
            np.arange(12.0).reshape(4, 3).T,
            (np.int64(-7), True),
            np.bool_(True),
            2,
        )
        expected = records.sums.py_func(*arguments)
        assert expected[1:] == (-4, True)
        for kernel in (records.sums, fresh(records.sums), fresh(records.sums)):
            assert kernel(*arguments) == expected
        assert kernel.loads == 1


def fresh(kernel: Any) -> CompiledKernel:
    """The kernel as a new process has it."""
    return CompiledKernel(kernel.py_func, kernel.options)


def test_machine_code_writes_into_arrays_and_raises_what_numba_raises(records: Any) -> None:
    out = np.zeros(5, np.int16)
    for value in (3, 4):
        kernel = fresh(records.fill)
        assert kernel(out, value) is None
        assert out.tolist() == [value] * 5
    pair = (7, True)
    for kernel in (fresh(records.sums), fresh(records.sums)):
        with pytest.raises(ZeroDivisionError):
            kernel(records.Numbers(out, 1.0), np.ones((2, 2)), pair, True, 0)


def test_repeated_calls_see_what_is_written_and_what_is_another_array(records: Any) -> None:
    fresh(records.sums)(records.Numbers(np.ones(2), 1.0), np.ones((2, 2)), (7, True), True, 2)
    for kernel in (fresh(records.sums), records.sums.py_func):
        calls = RepeatedCalls(kernel)
        first: Any = np.ones(2)
        table = np.ones((2, 2))
        for change in ("nothing", "a cell", "the array", "its type", "an integer", "nothing"):
            match change:
                case "a cell":
                    first[1] = 5.0
                case "the array":
                    first = np.arange(3.0)
                case "its type":
                    first = np.arange(4)
            pair = (8 if change == "an integer" else 7, True)
            arguments = (records.Numbers(first, 1.0), table, pair, True, 2)
            assert calls(*arguments) == records.sums.py_func(*arguments), change


def test_records_that_stay_are_read_once_and_others_are_let_go(
    records: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stays = records.Numbers(np.ones(2), 1.0)
    fresh(records.sums)(stays, np.ones((2, 2)), (7, True), True, 2)
    records_read: list[int] = []
    right = native.unpack

    def unpack(arguments: Any, *rest: Any) -> Any:
        records_read.append(id(arguments))
        return right(arguments, *rest)

    monkeypatch.setattr(native, "unpack", unpack)
    run = RepeatedCalls(fresh(records.sums))
    for n in range(3):
        values = (stays, np.full((2, 2), float(n)), (7 + n, True), True, 2)
        assert run(*values) == records.sums.py_func(*values)
        assert [*run._records] == [id(stays), id(values[2])]
        assert records_read.count(id(stays)) == 1
    assert len(records_read) == 3 + 1 + 3, "all arguments, the record that stays, the pairs"


def test_a_kernel_that_allocates_stays_with_numba(records: Any, cache: Path) -> None:
    for _ in range(2):
        kernel = fresh(records.room)
        assert kernel(3).tolist() == [0.0, 0.0, 0.0]
        assert kernel._dispatcher is not None
    assert [each.stat().st_size for each in cache.glob("*.room-*.object")] in ([0], [])


@pytest.mark.parametrize("argument", [[1, 2], (2**63, 1), np.array(["a"]), np.zeros(1, ">i4")])
def test_what_numba_alone_knows_is_for_numba(argument: Any, records: Any) -> None:
    """Integers beyond 64 bits, lists, texts, another order of bytes: as without any of this."""

    def outcome(kernel: Any) -> object:
        try:
            return kernel(argument)
        except Exception as error:
            return type(error)

    assert outcome(fresh(records.first)) == outcome(numba.njit(records.first.py_func))
