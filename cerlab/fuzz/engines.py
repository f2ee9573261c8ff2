"""Engines in other processes, their protocol, and their replies.

A command with ``{query}`` and ``{events}`` is started for each case. It finds the query (CEQL) and
the events (a JSON object a line) in these files, and writes its answers to standard output as
``cerlab run`` does: on each line a JSON object with ``start``, ``end`` and ``positions``. Exit
status 2 means that it does not support the query.

Another command is started once. It reads a JSON object from each line of its standard input,
``{"query": "..", "events": [..]}``, and answers with one line: ``{"answers": [..]}`` or
``{"refused": "why"}``.
"""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from threading import Thread
from typing import IO, Any, Protocol, TypeAlias

from cerlab.errors import UsageError

REFUSAL_STATUS = 2
"""Exit status of an engine that does not support a query."""


@dataclass(frozen=True, slots=True)
class AnswerRows:
    """Answers of an engine: objects with positions, and perhaps an interval."""

    rows: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reply of an engine that does not support the query."""

    why: str


@dataclass(frozen=True, slots=True)
class Failure:
    """The failure of an engine: a crash, no reply in time (`hung`), or an unreadable reply."""

    how: str
    hung: bool = False


Outcome: TypeAlias = AnswerRows | Refusal | Failure


class Engine(Protocol):
    """An engine that answers queries on events."""

    def ask(self, query: str, events: Sequence[dict[str, Any]]) -> Outcome:
        """Return the engine's outcome for a query on events."""


Request: TypeAlias = Mapping[str, Any]
"""A query, events, and further keys of a request."""


Reply: TypeAlias = dict[str, Any] | Failure
"""The reply to a request: an object with answers or a refusal, or a failure."""


class OtherProcess(Engine, Protocol):
    """An engine in another process."""

    is_told_all: bool
    """True if the engine gets all keys of a request, not only query and events."""

    def request(self, request: Request) -> Reply:
        """Return the engine's reply to a request."""


# bytes that are not UTF-8 become escapes that JSON forbids: a failure of the engine
_ENCODING, _ERRORS = "utf-8", "backslashreplace"

_COMMAND = "write a shell command in quotes: cerlab fuzz 'python3 engine.py'"


@contextmanager
def engine(command: str, seconds: float) -> Iterator[OtherProcess]:
    """Start the engine of a command, with `seconds` for each case, and stop it after the block.

    Args:
        command: A shell command; with ``{query}`` and ``{events}`` it is started for each case.
        seconds: The time limit for each case.

    Raises:
        UsageError: The command cannot be started.
    """
    words = words_of(command)
    if "{query}" in command:
        with TemporaryDirectory(prefix="cerlab-fuzz-") as folder:
            yield ProcessPerCase(words, Path(folder), seconds)
        return
    serving = ServerProcess(words, seconds)
    try:
        yield serving
    finally:
        serving.stop()


def words_of(command: str) -> list[str]:
    """Return the words of a command; raises `UsageError` if it is empty or has an open quote."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        message = f"the command cannot be read: {str(error).lower()}"
        raise UsageError("CER0851", message, hint=_COMMAND) from None
    if not words:
        raise UsageError("CER0851", "the command is empty", hint=_COMMAND)
    return words


class ProcessPerCase:
    """An engine that is a new process for each case."""

    is_told_all = False

    def __init__(self, words: list[str], folder: Path, seconds: float) -> None:
        self._query, self._events = folder / "query.ceql", folder / "events.ndjson"
        self._words = [
            word.replace("{query}", str(self._query)).replace("{events}", str(self._events))
            for word in words
        ]
        self._seconds = seconds

    def ask(self, query: str, events: Sequence[dict[str, Any]]) -> Outcome:
        """Return the engine's outcome for a query on events."""
        return outcome_of(self.request({"query": query, "events": events}))

    def request(self, request: Request) -> Reply:
        """Return the engine's reply to a request."""
        self._query.write_text(request["query"], encoding="utf-8")
        self._events.write_text("".join(json.dumps(event) + "\n" for event in request["events"]))
        try:
            process = subprocess.run(
                self._words,
                capture_output=True,
                encoding=_ENCODING,
                errors=_ERRORS,
                timeout=self._seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return _timeout(self._seconds)
        except OSError as error:
            raise _no_such(self._words[0], error) from None
        if process.returncode == REFUSAL_STATUS:
            return {"refused": next(_lines(process.stderr), "")}
        if process.returncode:
            return Failure(
                f"exit status {process.returncode}: {' '.join(list(_lines(process.stderr))[-1:])}"
            )
        rows = []
        for line in _lines(process.stdout):
            if isinstance(row := json_of(line), Failure):
                return row
            rows.append(row)
        return {"answers": rows}


class ServerProcess:
    """An engine that is one process for all cases, restarted after a failure.

    It runs in `folder`, may use `memory` bytes, and its standard error is written to `log`.
    """

    is_told_all = True

    def __init__(
        self,
        words: list[str],
        seconds: float | None,
        *,
        memory: int | None = None,
        log: IO[str] | None = None,
        folder: Path | None = None,
    ) -> None:
        self._words, self._seconds, self._memory, self._log = words, seconds, memory, log
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None
        self._reader: Thread | None = None
        self._lines: SimpleQueue[str] = SimpleQueue()

    def ask(self, query: str, events: Sequence[dict[str, Any]]) -> Outcome:
        """Return the engine's outcome for a query on events."""
        return outcome_of(self.request({"query": query, "events": list(events)}))

    def request(self, request: Request) -> Reply:
        """Return the engine's reply to a request."""
        line = self.exchange(request, self._seconds)
        return line if isinstance(line, Failure) else _object(line)

    def exchange(self, question: object, seconds: float | None) -> str | Failure:
        """Return the line that answers a line of JSON, waiting at most `seconds`, if given."""
        process = self._process or self._start()
        assert process.stdin is not None
        # a process that ends before it reads the question may have written a line, which explains
        # more than its exit status
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
        try:
            line = next_line(self._lines, seconds)
        except Empty:
            self.stop()
            assert seconds is not None
            return _timeout(seconds)
        if not line:
            status = process.wait()
            self.stop()
            return Failure(_how_it_ended(status))
        return line

    def _start(self) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        limit = None if self._memory is None else partial(_limit, self._memory)
        try:
            process = subprocess.Popen(
                self._words,
                stdin=pipe,
                stdout=pipe,
                stderr=self._log,
                encoding=_ENCODING,
                errors=_ERRORS,
                cwd=self._folder,
                preexec_fn=limit,
            )
        except OSError as error:
            raise _no_such(self._words[0], error) from None
        assert process.stdout is not None
        # a new queue, so that a late line of the previous process cannot be its answer
        self._process, self._lines = process, SimpleQueue()
        self._reader = Thread(target=_read_lines, args=(process.stdout, self._lines), daemon=True)
        self._reader.start()
        return process

    def stop(self) -> None:
        """End the process, if it runs."""
        process, reader, self._process = self._process, self._reader, None
        if process is None or reader is None:
            return
        process.kill()
        reader.join()
        with suppress(BrokenPipeError), process:
            pass  # closes the pipes and waits


def next_line(lines: SimpleQueue[str], seconds: float | None) -> str:
    """Return the next line that an engine writes; raise `Empty` after `seconds` without one.

    Tests replace this function, so that timeouts do not depend on the load of the machine.
    """
    return lines.get(timeout=seconds)


def _read_lines(file: IO[str], lines: SimpleQueue[str]) -> None:
    """Put every line of a file into a queue, and an empty one at its end."""
    for line in file:
        lines.put(line)
    lines.put("")


def _limit(memory: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _how_it_ended(status: int) -> str:
    """Return how a process ended, as text; a negative status is the signal that killed it."""
    if status < 0:
        return f"it was killed by {signal.Signals(-status).name}"
    return f"it ended with exit status {status}"


def _timeout(seconds: float) -> Failure:
    return Failure(f"no answer in {seconds:g} s", hung=True)


def json_of(line: str) -> Any | Failure:
    """Return the value of a line of JSON, or a failure if it is invalid, too large or too deep."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):  # ValueError also for integers with too many digits
        return Failure(f"expected JSON, got {line[:80].rstrip()!r}")


def reply(line: str) -> Outcome:
    """Return the outcome that a line of JSON encodes."""
    return outcome_of(_object(line))


def _object(line: str) -> Reply:
    answer = json_of(line)
    if not isinstance(answer, dict | Failure):
        return Failure(f"expected answers or refused, got {line[:80].rstrip()!r}")
    return answer


def outcome_of(reply: Reply) -> Outcome:
    """Return the outcome that a reply encodes."""
    match reply:
        case Failure():
            return reply
        case {"answers": [*rows]}:
            return _outcome_of_rows(rows)
        case {"refused": why}:
            return Refusal(str(why))
    return Failure(f"expected answers or refused, got {', '.join(reply)[:80]!r}")


def _outcome_of_rows(rows: list[Any]) -> Outcome:
    for row in rows:
        match row:
            case {"positions": [*positions], **others}:
                ends = (others[name] for name in ("start", "end") if name in others)
                if all(type(p) is int for p in (*positions, *ends)):
                    continue
        return Failure(
            f"expected an answer with a list of positions, all whole numbers, got {row!r}"[:200]
        )
    return AnswerRows(tuple(rows))


def _lines(text: str) -> Iterator[str]:
    return filter(str.strip, text.splitlines())


def _no_such(word: str, error: OSError) -> UsageError:
    return UsageError("CER0851", f"'{word}' cannot be started: {error.strerror}", hint=_COMMAND)
