"""No kernel on disk outlives a change of its sources, and none that another wrote is loaded."""

from __future__ import annotations

import importlib
import os
import random
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree, ignore_patterns
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numba.core.errors import NumbaError

import cerlab
from cerlab import kernel_cache
from cerlab.compile.pattern import any_pattern
from cerlab.evaluate import choose
from cerlab.evaluate.thresholds import COLD, SHORT
from cerlab.kernel_cache import CompiledKernel, RepeatedCalls, entries
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
    (tmp_path / "cache").mkdir()
    return tmp_path / "cache" / "machine-code"


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
    """Return the kernel's result, and whether it was loaded from disk."""
    result = kernels.whole(1, sys.modules["kernels_here.values"].Pair(1, 2))
    return result, int(kernels.whole.loads > 0)


@pytest.mark.parametrize(("module", "old", "new", "expected"), EDITS)
def test_a_change_anywhere_below_a_kernel_is_seen(
    module: str,
    old: str,
    new: str,
    expected: int,
    cache: Path,
    kernels: Any,
) -> None:
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


@pytest.mark.parametrize("value", ["[1]", "{1: 2}", "object()", "(1, [2])"])
def test_what_could_change_unseen_is_refused(value: str, cache: Path, kernels: Any) -> None:
    module = kernels("values", "ONE = 1", f"ONE = {value}")
    with pytest.raises(TypeError, match="whose changes the cache cannot see"):
        answer(module)


def test_entries_used_longest_ago_are_removed(
    cache: Path, kernels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n, old in enumerate(("", "x + 0", "x + 1", "x + 2")):
        answer(kernels(*(("parts", "x + ONE", old) if old else ())))
        for entry in set(cache.iterdir()):
            if entry.stat().st_mtime > 1_000:
                os.utime(entry, (n, n))
    first, *_, last = sorted(cache.iterdir(), key=lambda entry: entry.stat().st_mtime)
    monkeypatch.setattr(entries, "MAX_BYTES", 4 * last.stat().st_size + 100)
    assert answer(kernels()) == (2101, 1), "now the first one is the one used last"
    assert answer(kernels("parts", "x + ONE", "x - ONE")) == (101, 0)
    assert first.exists()
    assert len([*cache.iterdir()]) == 4


def test_where_nothing_can_be_written_kernels_still_run(
    tmp_path: Path, kernels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR names another place"):
        assert answer(kernels()) == (2101, 0)


@pytest.fixture
def entry(cache: Path, kernels: Any) -> Path:
    """An entry that was kept."""
    assert answer(kernels()) == (2101, 0)
    (entry,) = cache.iterdir()
    assert entries.read(entry.name) is not None
    return entry


def test_flipped_bits_and_cut_ends_are_seen_before_code_is_loaded(
    entry: Path, kernels: Any
) -> None:
    content, generator = entry.read_bytes(), random.Random(1)
    for n in range(500):
        damaged = bytearray(content)
        place = generator.randrange(8 * len(content))
        damaged[place // 8] ^= 1 << place % 8
        entry.write_bytes(damaged)
        assert entries.read(entry.name) is None, place
        if n % 100 == 0:
            assert answer(kernels()) == (2101, 0)
            assert answer(kernels()) == (2101, 1), "kept anew"
    for length in {*range(100), *generator.sample(range(len(content)), 100), len(content) - 1}:
        entry.write_bytes(content[:length])
        assert entries.read(entry.name) is None, length
    entry.write_bytes(content + b"\0")
    assert answer(kernels()) == (2101, 0)


def test_entries_that_were_swapped_are_compiled_again(entry: Path, kernels: Any) -> None:
    assert answer(kernels("parts", "x + ONE", "x - ONE")) == (101, 0)
    (other,) = set(entry.parent.iterdir()) - {entry}
    ours = entry.read_bytes()
    entry.write_bytes(other.read_bytes())
    other.write_bytes(ours)
    assert answer(kernels()) == (2101, 0)
    assert answer(kernels("parts", "x + ONE", "x - ONE")) == (101, 0)
    assert answer(kernels()) == (2101, 1)


UNSAFE: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a file that all may write": ("other users may write", lambda entry: entry.chmod(0o606)),
    "a file of a group": ("other users may write", lambda entry: entry.chmod(0o660)),
    "a folder that all may write": (
        "other users may write",
        lambda entry: entry.parent.chmod(0o777),
    ),
    "a folder of a group": ("other users may write", lambda entry: entry.parent.chmod(0o770)),
}
if hasattr(os, "getuid") and os.getuid() == 0:
    UNSAFE |= {
        "a file of another": ("another user", lambda entry: os.chown(entry, 4321, -1)),
        "a folder of another": ("another user", lambda entry: os.chown(entry.parent, 4321, -1)),
        "a place of another": (
            "another user",
            lambda entry: os.chown(entry.parent.parent, 4321, -1),
        ),
    }


@pytest.mark.parametrize("how", UNSAFE)
def test_what_another_user_may_have_written_is_not_loaded(
    how: str, entry: Path, kernels: Any
) -> None:
    why, change = UNSAFE[how]
    change(entry)
    before = entry.read_bytes()
    with pytest.warns(RuntimeWarning, match=f"are not used: .*{why}.*NUMBA_CACHE_DIR"):
        assert answer(kernels()) == (2101, 0)
    if "folder" in how or "place" in how:
        assert entry.read_bytes() == before, "and nothing is written there"
    else:
        assert answer(kernels()) == (2101, 1), "the file is another now, of the user"


def test_all_is_of_another_user(entry: Path, kernels: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4321)
    with pytest.warns(RuntimeWarning, match="it belongs to another user"):
        assert answer(kernels()) == (2101, 0)


def test_links_pipes_and_folders_are_no_entries(entry: Path, kernels: Any, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(entry.read_bytes())
    for make in (entry.mkdir, lambda: os.mkfifo(entry), lambda: entry.symlink_to(elsewhere)):
        entry.unlink()
        make()  # type: ignore[no-untyped-call]
        assert entries.read(entry.name) is None
        if entry.is_dir():
            with pytest.warns(RuntimeWarning, match="cannot be kept"):
                assert answer(kernels()) == (2101, 0)
            entry.rmdir()
            entry.touch()
        else:
            assert answer(kernels()) == (2101, 0)
            assert answer(kernels()) == (2101, 1)


def test_a_full_disk_leaves_no_part_of_an_entry(cache: Path, kernels: Any) -> None:
    """As a limit of the size of files does it: a write fails in the middle."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400, limits[1]))
    try:
        with pytest.warns(RuntimeWarning, match="compiled kernels cannot be kept"):
            assert answer(kernels()) == (2101, 0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert [*cache.iterdir()] == []
    assert answer(kernels()) == (2101, 0)
    assert answer(kernels()) == (2101, 1)


def test_a_full_tmpfs_leaves_no_part_of_an_entry(cache: Path, kernels: Any, tmp_path: Path) -> None:
    place = tmp_path / "cache"
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k,mode=700", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        (place / "much").write_bytes(bytes(16_384))
        with pytest.warns(RuntimeWarning, match="No space left"):
            assert answer(kernels()) == (2101, 0)
        assert not cache.exists() or not [*cache.iterdir()]
        (place / "much").unlink()
        assert answer(kernels()) == (2101, 0)
        assert answer(kernels()) == (2101, 1)
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.long
def test_four_processes_at_first_use(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "records_here.py").write_text(f"import numpy as np\n{RECORD}")
    program = """
import numpy as np, records_here as r
for n in range(2):
    numbers = r.Numbers(np.arange(5.0), 2.0)
    print(r.sums(numbers, np.ones((2, 2)), (9, True), True, 2), r.first(np.arange(3)))
"""
    path = os.pathsep.join([str(tmp_path), str(Path(cerlab.__file__).parents[1])])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-W", "error", "-c", program]
    options: Any = {"env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    running = [subprocess.Popen(command, text=True, **options) for _ in range(4)]
    for process in running:
        assert process.communicate() == (2 * "(25.0, 4, True) 0\n", "")
    assert sorted(entry.name[0] for entry in cache.iterdir()) == ["r", "r"]


def test_auto_does_not_compile_for_what_python_does_in_less(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = cerlab.Stream.from_events([{"type": "A"}] * (SHORT + 1))
    pattern = any_pattern("SELECT * WHERE A WITHIN 1 EVENTS")
    monkeypatch.delitem(sys.modules, "cerlab.engine.whole_stream", raising=False)
    assert choose(pattern).on(stream, any_order=True).name == "tecs"
    cache.mkdir(mode=0o700)
    (cache / "cerlab.engine.kernels.chains.list_chains-0").touch()
    assert choose(pattern).on(stream, any_order=True).name == "compiled"
    long = cerlab.Stream.from_events([{"type": "A"}] * (COLD + 1))
    (cache / "cerlab.engine.kernels.chains.list_chains-0").unlink()
    assert choose(pattern).on(long, any_order=True).name == "compiled"


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
    """The first call compiles; the second, as in another process, loads the kept machine code."""
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


NUMBERS = [
    *(2.5, -0.0, 2**63 - 1, -(2**63), True, np.float32(1.5), np.float64(1e300)),
    *(np.uint64(2**63 + 1), np.int8(-3), np.uint8(200), np.int32(-7), np.bool_(False)),
]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda each: f"{type(each).__name__} {each}")
def test_numbers_of_all_widths_arrive_whole(number: Any, records: Any) -> None:
    """Each is handed over in eight bytes, narrow and unsigned ones and halves of doubles too."""
    for kernel in (records.first, fresh(records.first)):
        assert str(kernel((number, 3))) == str(number.item() if hasattr(number, "item") else number)
    assert kernel.loads == 1


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


def test_a_table_of_one_row_has_the_type_of_one_of_several(records: Any, cache: Path) -> None:
    """NumPy calls them contiguous either way; a table by columns alone is another type."""
    arguments = (records.Numbers(np.ones(1), 1.0), (7, True), True, 2)
    for table in (np.ones((2, 3)), np.ones((1, 3)), np.ones((3, 1)).T):
        values = (arguments[0], table, *arguments[1:])
        assert records.sums(*values) == records.sums.py_func(*values)
    assert len(list(cache.glob("*sums*"))) == 1
    values = (arguments[0], np.arange(6.0).reshape(3, 2).T, *arguments[1:])
    assert records.sums(*values) == records.sums.py_func(*values)
    assert len(list(cache.glob("*sums*"))) == 2


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
    right = kernel_cache.unpack

    def unpack(arguments: Any, *rest: Any) -> Any:
        records_read.append(id(arguments))
        return right(arguments, *rest)

    monkeypatch.setattr(kernel_cache, "unpack", unpack)
    run = RepeatedCalls(fresh(records.sums))
    for n in range(3):
        values = (stays, np.full((2, 2), float(n)), (7 + n, True), True, 2)
        assert run(*values) == records.sums.py_func(*values)
        assert [*run._records] == [id(stays), id(values[2])]
        assert records_read.count(id(stays)) == 1
        read_before = len(records_read)
        again = (*values[:2], (7 + n, True), *values[3:])
        assert run(*again) == records.sums.py_func(*again)
        assert len(records_read) == read_before, "a pair of equal integers is the same record"
    assert len(records_read) == 3 + 1 + 3, "all arguments, the record that stays, the pairs"


def test_a_kernel_that_allocates_is_refused(records: Any, cache: Path) -> None:
    with pytest.raises(TypeError, match="room cannot run without Numba"):
        records.room(3)
    assert not list(cache.glob("*room*"))


@pytest.mark.parametrize("argument", [[1, 2], 2**63, np.array(["a"]), np.zeros(1, ">i4"), "a"])
def test_other_arguments_than_numbers_and_arrays_are_errors(argument: Any, records: Any) -> None:
    """Integers beyond 64 bits, lists, texts, another order of bytes."""
    for _ in range(2):
        with pytest.raises((TypeError, ValueError, OverflowError, NumbaError)):
            records.first((argument,))
    assert records.first((2**63 - 1,)) == 2**63 - 1
    with pytest.raises(OverflowError):
        records.first((2**63,))


def test_a_terminal_and_a_program_are_told_that_kernels_are_compiled(
    records: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from cerlab.kernel_cache import compiler

    def in_notebook(person: bool) -> object:
        kernel = SimpleNamespace(get_parent=lambda _: {"content": {"allow_stdin": person}})
        return SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=kernel))

    most = CompiledKernel.entry_points
    said = f"compiling kernels for this machine, once: at most {most}\n"
    monkeypatch.setattr(compiler, "_numbers", iter([1, 1, 1, 1, 2, 3]))
    monkeypatch.delitem(sys.modules, "cerlab.cli", raising=False)
    records.first(np.arange(3))
    assert capsys.readouterr().err == "", "a library is silent"
    monkeypatch.setitem(sys.modules, "cerlab.cli", cerlab)
    records.first(np.arange(3.0))
    assert capsys.readouterr().err == said
    for number, person in enumerate([False, True]):
        monkeypatch.setitem(sys.modules, "IPython", in_notebook(person))
        records.first((1,) * (3 + number))
        assert capsys.readouterr().err == said * person, "the build of a page is silent"
    records.first((1, 2))
    assert capsys.readouterr().err == "", "once"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    records.first((1, 2.0))
    assert capsys.readouterr().err.split("\r\x1b[K") == [
        "",
        f"compiling kernels for this machine, once: 3 of at most {most}",
        "",
    ]
