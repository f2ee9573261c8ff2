"""No kernel on disk outlives a change of what it was compiled from, wherever that is."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import copytree, ignore_patterns
from types import ModuleType
from typing import Any

import pytest
from numba.core import config

import cerlab
from cerlab import kernel_cache
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
from cerlab.kernel_cache import compiled
from functools import partial
from kernels_here import values
from kernels_here.values import ONE

@partial(compiled, forceinline=True)
def least(x):
    return x + ONE

@partial(compiled, forceinline=True)
def part(x):
    return 10 * least(x) + values.ONE
"""

WHOLE = """
from cerlab.kernel_cache import compiled
from kernels_here.parts import part

@compiled
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
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kernels"


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ModuleType]:
    """A package of three modules, imported as if for the first time, with some text replaced."""
    package = tmp_path / "kernels_here"
    package.mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    texts = {"__init__": "", "values": VALUES, "parts": PARTS, "whole": WHOLE}

    def imported(module: str = "whole", old: str = "", new: str = "") -> ModuleType:
        for name, text in texts.items():
            assert name != module or old in text
            here = text.replace(old, new) if name == module and old else text
            (package / f"{name}.py").write_text(here)
        for name in [name for name in sys.modules if name.startswith("kernels_here")]:
            del sys.modules[name]
        importlib.invalidate_caches()
        return importlib.import_module("kernels_here.whole")

    return imported


def answer(kernels: ModuleType) -> tuple[int, int]:
    """What the kernel returns, and how often it was on disk."""
    found = kernels.whole(1, sys.modules["kernels_here.values"].Pair(1, 2))
    return found, sum(kernels.whole.stats.cache_hits.values())


@pytest.mark.parametrize(("module", "old", "new", "expected"), EDITS)
def test_a_change_anywhere_below_a_kernel_is_seen(
    module: str, old: str, new: str, expected: int, cache: Path, kernels: Any
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
    moved = kernels("values", record, "\nfrom kernels_here.records import Pair\n")
    assert answer(moved) == (2101, 0)


def test_an_entry_that_was_cut_off_is_compiled_again(cache: Path, kernels: Any) -> None:
    assert answer(kernels()) == (2101, 0)
    for entry in cache.iterdir():
        entry.write_bytes(entry.read_bytes()[:100])
    assert answer(kernels()) == (2101, 0)
    assert answer(kernels()) == (2101, 1)


@pytest.mark.parametrize("value", ["[1]", "{1: 2}", "object()", "(1, [2])"])
def test_what_could_change_unseen_is_refused(value: str, cache: Path, kernels: Any) -> None:
    changed = kernels("values", "ONE = 1", f"ONE = {value}")
    with pytest.raises(TypeError, match="whose changes a cache could not see"):
        answer(changed)


def test_entries_used_longest_ago_are_removed(
    cache: Path, kernels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(kernels())
    first = set(cache.iterdir())
    assert len(first) == 3
    for n, entry in enumerate(sorted(first)):
        os.utime(entry, (n, n))
    sizes = [entry.stat().st_size for entry in first]
    room = sum(sizes) + min(sizes) // 2  # entries of the same kernels differ by some bytes
    monkeypatch.setattr(kernel_cache, "MOST_BYTES", room)
    answer(kernels())  # uses the entry of `whole`
    assert answer(kernels("parts", "x + ONE", "x - ONE")) == (101, 0)
    left = set(cache.iterdir())
    assert len(left) == 3
    assert [entry for entry in first & left if ".whole." not in entry.name] == []
    kernels().whole._cache.flush()
    assert not list(cache.glob("kernels_here.whole.*"))


def test_where_nothing_can_be_written_kernels_still_run(
    tmp_path: Path, kernels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "file"))
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR names another place"):
        assert answer(kernels()) == (2101, 0)


PROGRAM = """
from cerlab.engine.kernels.registers.arrays import LE
from cerlab.engine.kernels.registers.guards import compare
from cerlab.kernel_cache import compiled

@compiled
def at_most(left, right):
    return compare(LE, left, right)

print(at_most(1, 1), sum(at_most.stats.cache_hits.values()))
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
    guards = copy / "engine" / "kernels" / "registers" / "guards.py"
    text, status = guards.read_text(), guards.stat()
    assert "left <= right" in text
    guards.write_text(text.replace("left <= right", "left <  right"))
    os.utime(guards, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert run() == "False 0\n"
    beside = [each for kind in ("nbi", "nbc", "pickle") for each in copy.rglob(f"*.{kind}")]
    assert not beside, "nothing is written beside the source"
