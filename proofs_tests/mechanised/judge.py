"""The extracted judge as an engine for ``cerlab fuzz`` and ``cerlab conformance``.

    cerlab fuzz 'python -m proofs_tests.mechanised.judge' --with ';,+,OR,AND,LAST()'
    cerlab conformance 'python -m proofs_tests.mechanised.judge tecs'

The judge reads abstract syntax, so cerlab parses the queries and reads the events.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cerlab import CerlabError
from cerlab.compile.pattern import Pattern, any_pattern
from cerlab.conformance.replies import refusal
from cerlab.conformance.syntax import document
from cerlab.conformance.values import decode, decode_row
from cerlab.fuzz.engines import Failure, Outcome, Reply, Request, ServerProcess, json_of, outcome_of
from cerlab.model.stream import Stream

PROGRAM = Path(__file__).with_name("judge")
"""The program that ``make`` extracts and builds."""

OF_FUZZ = {"time": "t", "unit": "s"}
"""The time of the streams of ``cerlab fuzz``."""


def document_of(request: Request) -> dict[str, Any]:
    """Return the abstract syntax of a request; raises `CerlabError` if cerlab refuses it."""
    options: Mapping[str, Any] = request.get("options", OF_FUZZ)
    pattern = any_pattern(request["query"], request.get("language"))
    assert isinstance(pattern, Pattern)
    axis = {name: options[name] for name in ("time", "unit", "type") if name in options}
    stream = Stream.from_events([decode_row(event) for event in request["events"]], **axis)
    return document(pattern.ast, stream.up_to(decode(options.get("until"))))


class Judge:
    """The judge in a process of its own, which is asked as any engine."""

    is_told_all = True

    def __init__(self, program: Path, *mode: str, seconds: float | None = None) -> None:
        self._process = ServerProcess([str(program), *mode], seconds)
        self._seconds = seconds

    def ask(self, query: str, events: Sequence[dict[str, Any]]) -> Outcome:
        """Return the outcome for a query on events."""
        return outcome_of(self.request({"query": query, "events": events}))

    def request(self, request: Request) -> Reply:
        """Return the reply to a request."""
        if request.get("options", {}).get("logic", "so") != "so":
            return {"refused": "FO-CEL"}
        if "question" in request:
            return {"refused": "questions about queries and answers"}
        try:
            question = document_of(request)
        except CerlabError as error:
            return refusal(error)
        line = self._process.exchange(question, self._seconds)
        reply = line if isinstance(line, Failure) else json_of(line)
        assert isinstance(reply, dict | Failure)
        return reply

    def stop(self) -> None:
        """End the process."""
        self._process.stop()


def main() -> None:
    """Answer each line of standard input, as ``cerlab fuzz --help`` describes."""
    judge = Judge(PROGRAM, *sys.argv[1:])
    for line in sys.stdin:
        reply = judge.request(json.loads(line))
        assert isinstance(reply, dict), reply.how
        print(json.dumps(reply), flush=True)
    judge.stop()


if __name__ == "__main__":
    main()
