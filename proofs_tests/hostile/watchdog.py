"""Hostile inputs under a watchdog: processes that may crash, each with many inputs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

INPUTS = 4_000
"""After so many inputs there is a new process."""


Input: TypeAlias = tuple[str, int]
"""A kind, and a seed."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on the input of a seed: ``taken``, ``refused``, or a fault."""

    seed: int
    kind: str
    verdict: str
    detail: str = ""
    calls: int = 0
    cpu: float = 0.0
    bytes: int = 0

    @property
    def is_fault(self) -> bool:
        """Whether the verdict is a fault."""
        return self.verdict not in ("taken", "refused")


def verdicts(inputs: Sequence[Input], *, measured: bool = False) -> Iterator[Verdict]:
    """Yield the verdicts on some inputs, in order: by calls, or by measured time and memory."""
    at = 0
    while at < len(inputs):
        for verdict in _of_process(inputs[at : at + INPUTS], ["--measured"] * measured):
            yield verdict
            at += 1


def _of_process(inputs: Sequence[Input], options: list[str]) -> Iterator[Verdict]:
    """The verdicts of one process; the last one is its end, where that was too early."""
    at = 0
    with subprocess.Popen(
        [sys.executable, "-m", "proofs_tests.hostile.child", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        text=True,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.writelines(f"{kind} {seed}\n" for kind, seed in inputs)
        child.stdin.close()
        if child.stdout.readline() != "ready\n":
            raise RuntimeError("the process that meets the inputs does not start")
        for line in child.stdout:
            at += 1
            yield Verdict(**json.loads(line))
    if at < len(inputs):
        code = child.returncode
        name = signal.Signals(-code).name if code < 0 else f"exit {code}"
        yield Verdict(inputs[at][1], inputs[at][0], f"died: {name}")
