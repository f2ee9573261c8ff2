"""Lines of JSON between a trial and the engine in this process; what engines print is put aside."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

Reply = dict[str, Any]


def serve(version: Callable[[], str], reply: Callable[[Reply], Reply]) -> None:
    """Answer until standard input ends.

    `version` raises whatever it likes where the engine is not there. An error of `reply` is a crash
    of the engine.
    """
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        question = json.loads(line)
        try:
            message = {"version": version()} if "hello" in question else reply(question)
        except Exception as error:
            how = f"{type(error).__name__}: {error}".splitlines()[0][:400]
            message = {"absent" if "hello" in question else "crash": how}
        print(json.dumps(message, default=str), file=out, flush=True)
