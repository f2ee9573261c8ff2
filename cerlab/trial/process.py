"""An engine of a trial in a process of its own, with limits of time and memory.

It reads a line of JSON from standard input and answers with one. To ``{"hello": true}`` it says
``{"version": ".."}`` or ``{"absent": "why"}``; to ``{"query": "..", "rows": [..]}`` (``"events"``
in CEQL) ``{"answers": [..]}``, ``{"refused": "why"}`` or ``{"crash": "how"}``. One that takes many
at once reads ``{"batch": [question, ..]}`` and says ``{"batch": [reply, ..]}``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import IO, Any

from cerlab.errors import UsageError
from cerlab.fuzz.engines import AnswerRows, Failure, Outcome, Refusal, ServerProcess, reply
from cerlab.trial.adapters import Adapter
from cerlab.trial.languages import Case

HELLO_SECONDS = 120.0


class Absent(Exception):
    """An engine that is not there, and why."""


@dataclass(slots=True)
class Running:
    """An engine that has been started; it takes so many seconds for a batch at most."""

    adapter: Adapter
    version: str
    seconds: float
    serving: ServerProcess = field(repr=False)
    log: IO[str] = field(repr=False)

    def ask(self, cases: Sequence[Case]) -> list[Outcome]:
        """What it says of each case; those that it does not take are refused without asking."""
        outcomes: list[Outcome | None] = [
            None if (why := self.adapter.refuses(case)) is None else Refusal(why) for case in cases
        ]
        remaining = [i for i, each in enumerate(outcomes) if each is None]
        size = self.adapter.batch
        for start in range(0, len(remaining), size):
            chunk = remaining[start : start + size]
            for i, each in zip(chunk, self._exchange([cases[i] for i in chunk]), strict=True):
                outcomes[i] = each
        return [each for each in outcomes if each is not None]

    def _exchange(self, cases: list[Case]) -> list[Outcome]:
        """Replies to one batch; where it breaks, to each half of it."""
        questions = [self.adapter.question(case) for case in cases]
        question = questions[0] if self.adapter.batch == 1 else {"batch": questions}
        answer = self.serving.exchange(question, self.seconds)
        if isinstance(answer, str) and self.adapter.batch == 1:
            return [_outcome(cases[0].language, answer)]
        if isinstance(answer, str):
            match json.loads(answer):
                case {"batch": [*replies]} if len(replies) == len(cases):
                    pairs = zip(cases, replies, strict=True)
                    return [_outcome(case.language, json.dumps(each)) for case, each in pairs]
                case other:
                    answer = Failure(f"no reply to a batch: {str(other)[:200]}")
        if len(cases) == 1:
            return [Failure(" ".join((answer.how, self._last_line())).strip(), answer.hung)]
        half = len(cases) // 2
        return [*self._exchange(cases[:half]), *self._exchange(cases[half:])]

    def _last_line(self) -> str:
        """What it has written to standard error last."""
        end = self.log.tell()
        self.log.seek(max(0, end - 2_000))
        lines = self.log.read().strip().splitlines()
        self.log.seek(0, 2)
        return f"({lines[-1][:200]})" if lines else ""


@contextmanager
def running(adapter: Adapter, seconds: float) -> Iterator[Running]:
    """The engine of an adapter, started; raises `Absent`."""
    with TemporaryFile("w+", errors="replace") as log:
        try:
            serving = ServerProcess(adapter.command(), seconds, memory=adapter.memory, log=log)
            answer = serving.exchange({"hello": True}, HELLO_SECONDS)
        except UsageError as error:
            raise Absent(error.message) from None
        try:
            yield Running(adapter, _version(answer), seconds, serving, log)
        finally:
            serving.stop()


def _version(answer: str | Failure) -> str:
    if isinstance(answer, Failure):
        raise Absent(answer.how)
    try:
        hello = json.loads(answer)
    except json.JSONDecodeError:
        raise Absent(f"this is no JSON: {answer[:80]!r}") from None
    if "absent" in hello:
        raise Absent(hello["absent"])
    return str(hello.get("version", "unknown"))


def _outcome(language: str, line: str) -> Outcome:
    try:
        answer: Any = json.loads(line)
    except json.JSONDecodeError:
        return Failure(f"this is no JSON: {line[:80]!r}")
    match answer:
        case {"crash": how}:
            return Failure(str(how))
        case {"answers": [*rows]} if language == "rows" and all(isinstance(r, dict) for r in rows):
            return AnswerRows(tuple(rows))
        case _:
            return reply(line)
