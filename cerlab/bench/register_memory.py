"""How much memory a register pattern takes: its run alone in a fresh process, as `memory` has it.

    python -m cerlab.bench.register_memory STREAM.arrow < RUN

where the run is a JSON object: the SREMO of the pattern, and whether its answers are listed
or only counted.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from cerlab.bench.memory import Memory, measure_run
from cerlab.compile.sremo_to_srt import register_plan
from cerlab.engine.registers.evaluation import RegisterEvaluation
from cerlab.logic.sremo.parser import parse_sremo
from cerlab.model.stream import Stream

PROGRAM = "cerlab.bench.register_memory"
"""This module, for `MemoryOf`."""


def run_text(expression: str, *, is_listed: bool) -> str:
    """What the process reads.

    >>> run_text("<TRUE>^", is_listed=True)
    '{"expression": "<TRUE>^", "listed": true}'
    """
    return json.dumps({"expression": expression, "listed": is_listed})


def measure_text(path: str, text: str) -> Memory:
    """Run the pattern on the stream of a file, in this process."""
    what = json.loads(text)
    plan = register_plan(parse_sremo(what["expression"]))

    def run(stream: Stream) -> None:
        evaluation = RegisterEvaluation(plan, stream)
        if what["listed"]:
            sum(map(len, evaluation.answers()))
        else:
            evaluation.estimate()

    return measure_run(path, run)


if __name__ == "__main__":
    print(json.dumps(asdict(measure_text(sys.argv[1], sys.stdin.read()))))
