"""The tests of the kernels once more, a slice of them, as plain Python: in one process for all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from proofs_tests.kernels import JIT
from proofs_tests.suite import Suite

TESTS = Path(__file__).parents[1]

SLICES = {
    "engine/test_compiled.py": "without_jit or columns or limit",
    "engine/test_kernel_steps.py": "",
    "engine/test_parts_by_hand.py": "",
    "engine/test_windowed.py": "still_count or moves_runs or learnt or ring or forgotten",
    "engine/test_aggregates.py": "kernel and listed",
    "engine/test_labelled_answers.py": "table and reference or limit_gives or compiled_transducer",
    "laws/test_columns.py": "",
    "laws/test_column_kernels.py": "",
    "laws/test_key_codes.py": "",
    "srt/test_compiled_registers.py": "without_jit or table or arrow or exact or ambiguity",
}
"""Files, and which tests of each, as ``-k`` has it; nothing for all."""

LONG = ("engine/test_kernel_steps.py", "laws/test_columns.py")
"""Files that only the deep profile runs: half of the time."""


@pytest.mark.long
@pytest.mark.skipif(not JIT, reason="this is that run")
def test_kernels_without_the_compiler(suite: Suite) -> None:
    slices = {file: names for file, names in SLICES.items() if suite.deep or file not in LONG}
    files = {Path(file).name: names for file, names in slices.items()}
    selection = " or ".join(f"({f} and ({names}))" if names else f for f, names in files.items())
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"),
            *("--profile", "smoke", "-k", selection, *(str(TESTS / file) for file in slices)),
        ],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4_000:]
