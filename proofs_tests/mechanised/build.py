"""Builds the proofs and the extracted judge in a folder of their own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MISSING = [tool for tool in ("coqc", "ocamlfind", "make") if shutil.which(tool) is None]
needs_coq = pytest.mark.skipif(
    bool(MISSING), reason=f"not installed: {', '.join(MISSING)} (Debian: apt-get install coq)"
)
IGNORED = [line for line in (HERE / ".gitignore").read_text().split() if "/" not in line]


def build(folder: Path, target: str) -> Path:
    """Make a target from a copy of the sources alone; return the folder of the copy."""
    copy = folder / "mechanised"
    shutil.copytree(HERE, copy, ignore=shutil.ignore_patterns(*IGNORED))
    made = subprocess.run(["make", "-C", copy, target], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return copy
