"""A process that meets hostile inputs one after the other, and says of each what became of it.

Standard input has a kind and a seed for each, standard output gets a line of JSON. A signal of the
kernel ends the process where an input takes too much CPU time: nothing can hold it up.
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

from cerlab.errors import CerlabError
from proofs_tests.hostile.kinds import KINDS, warm_up

CPU_SECONDS = 10.0
MEMORY = 1 << 30
"""Bytes that an input may take in a process that has read others before."""

WALL_SECONDS = 100
"""After so long without an end the process is taken to wait for something."""


def main() -> None:
    """Meet the inputs that standard input names; with an argument, bound their time and memory."""
    measured = len(sys.argv) > 1
    inputs = [line.split() for line in sys.stdin]
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        warm_up(Path(folder))
        if measured:
            size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (size + 3 * MEMORY, size + 3 * MEMORY))
        print("ready", flush=True)
        for kind, seed in inputs:
            print(json.dumps(verdict_on(kind, int(seed), Path(folder), measured)), flush=True)


def verdict_on(kind: str, seed: int, folder: Path, measured: bool) -> dict[str, Any]:
    """Return the verdict on the input of a seed; CPU time and memory count if `measured`."""
    Path("/proc/self/clear_refs").write_text("5")
    before, begin = memory("VmRSS"), time.process_time()
    if measured:
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        faulthandler.dump_traceback_later(WALL_SECONDS, exit=True)
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
    signal.setitimer(signal.ITIMER_PROF, 0)
    faulthandler.cancel_dump_traceback_later()
    seconds, peak = time.process_time() - begin, memory("VmHWM") - before
    if measured and verdict in ("taken", "refused") and peak > MEMORY:
        verdict = "memory"
    outcome = {"seed": seed, "kind": kind, "verdict": verdict, "detail": detail}
    return outcome | {"cpu": round(seconds, 3), "bytes": peak}


def memory(name: str) -> int:
    """A size that the kernel knows of this process, in bytes."""
    match = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert match is not None
    return int(match[1]) << 10


if __name__ == "__main__":
    main()
