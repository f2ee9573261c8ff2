"""A process that meets hostile inputs one after the other, and says of each what became of it.

Standard input has a kind and a seed for each, standard output gets a line of JSON. The calls of an
input are counted. With ``--measured`` its CPU time and memory are measured instead: a signal of the
kernel ends the process where an input takes too much time, and nothing can hold it up.
"""

from __future__ import annotations

import faulthandler
import json
import os
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from random import Random
from typing import Any

from cerlab import CerlabError
from proofs_tests.hostile.kinds import KINDS, warm_up
from proofs_tests.limits.calls import at_most_calls

CALLS = 10_000_000
"""Calls of Python or C that an input may make; the most that one made is a tenth of it."""

CPU_SECONDS = 10.0
MEMORY = 1 << 30
"""Bytes that an input may take in a process that has read others before."""

WALL_SECONDS = 100
"""After so long without an end the process is taken to wait for something."""


def main() -> None:
    """Meet the inputs that standard input names."""
    judge = measured_verdict if "--measured" in sys.argv else counted_verdict
    inputs = [line.split() for line in sys.stdin]
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        warm_up(Path(folder))
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + 3 * MEMORY, size + 3 * MEMORY))
        print("ready", flush=True)
        for kind, seed in inputs:
            print(json.dumps(judge(kind, int(seed), Path(folder))), flush=True)


def counted_verdict(kind: str, seed: int, folder: Path) -> dict[str, Any]:
    """Return the verdict on the input of a seed; too many calls are an error that escapes."""
    with at_most_calls(CALLS) as calls:
        outcome = verdict_on(kind, seed, folder)
    return outcome | {"calls": calls.count}


def measured_verdict(kind: str, seed: int, folder: Path) -> dict[str, Any]:
    """Return the verdict on the input of a seed, its CPU time and its memory."""
    Path("/proc/self/clear_refs").write_text("5")
    before, begin = memory("VmRSS"), time.process_time()
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    faulthandler.dump_traceback_later(WALL_SECONDS, exit=True)
    outcome = verdict_on(kind, seed, folder)
    signal.setitimer(signal.ITIMER_PROF, 0)
    faulthandler.cancel_dump_traceback_later()
    seconds, peak = time.process_time() - begin, memory("VmHWM") - before
    if outcome["verdict"] in ("taken", "refused") and peak > MEMORY:
        outcome["verdict"] = "memory"
    return outcome | {"cpu": round(seconds, 3), "bytes": peak}


def verdict_on(kind: str, seed: int, folder: Path) -> dict[str, Any]:
    """Return whether the input of a seed is taken, refused, or at fault."""
    verdict, detail = "taken", ""
    try:
        KINDS[kind](Random(seed), folder)
    except CerlabError as error:
        verdict, detail = "refused", error.code
        str(error), error._repr_html_()
    except MemoryError:
        verdict, detail = "memory", traceback.format_exc()
    except BaseException:
        verdict, detail = "escaped", traceback.format_exc()
    return {"seed": seed, "kind": kind, "verdict": verdict, "detail": detail}


def memory(name: str) -> int:
    """A size that the kernel knows of this process, in bytes."""
    match = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert match is not None
    return int(match[1]) << 10


if __name__ == "__main__":
    main()
