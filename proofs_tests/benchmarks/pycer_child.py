"""The other end of `peers.Core`: runs in an interpreter that has the package ``pycer``.

    python3.13 pycer_child.py FOLDER

FOLDER has ``declaration.txt`` and ``events.csv``; each line of standard input is a JSON object
with ``query`` and ``runs``, and each line of the answer one with ``seconds`` (CPU and wall time of
each run) and ``answers``, or with ``error``; the first says ``ready``, or ``error``, whatever it
was asked. Nothing of cerlab is imported here.
"""

from __future__ import annotations

import csv
import json
import os
import sys
import time
from pathlib import Path
from typing import Any


def events_of(pycer: Any, folder: Path) -> list[Any]:
    """The events as the package has them, made before anything is timed."""
    server = pycer.PyOfflineServer()
    declaration = server.declare_stream((folder / "declaration.txt").read_text())
    of_name = {event.name: event for event in declaration.events_info}
    make = {
        pycer.PyValueTypes.INT64: lambda text: pycer.PyIntValue(int(text)),
        pycer.PyValueTypes.DOUBLE: lambda text: pycer.PyDoubleValue(float(text)),
        pycer.PyValueTypes.STRING_VIEW: pycer.PyStringValue,
    }
    events = []
    with open(folder / "events.csv", newline="") as file:
        for kind, *texts in csv.reader(file):
            event = of_name[kind]
            values = [
                make[attribute.value_type](text)
                for attribute, text in zip(event.attributes_info, texts, strict=True)
            ]
            events.append(pycer.PyEvent(event.id, values))
    server.get_output()
    return events


def run(pycer: Any, declaration: str, query: str, events: list[Any]) -> tuple[float, float, int]:
    """CPU and wall seconds of one run, and the number of its answers."""
    server = pycer.PyOfflineServer()
    server.declare_stream(declaration)
    server.add_query(query)
    cpu, wall = time.process_time(), time.perf_counter()
    server.send_events(events)
    output = server.get_output()  # returns when all events are done
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return cpu, wall, output.count("\n")


def main(folder: Path) -> None:
    """Answer until standard input ends."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the package logs to standard output

    def say(**message: object) -> None:
        print(json.dumps(message), file=out, flush=True)

    sys.stdin.readline()
    try:
        import pycer  # type: ignore[import-not-found]
    except ImportError as error:
        say(error=str(error))
        return
    events = events_of(pycer, folder)
    declaration = (folder / "declaration.txt").read_text()
    say(ready=len(events))
    for line in sys.stdin:
        question = json.loads(line)
        try:
            runs = [
                run(pycer, declaration, question["query"], events) for _ in range(question["runs"])
            ]
        except Exception as error:
            say(error=f"{type(error).__name__}: {error}")
        else:
            say(seconds=[each[:2] for each in runs], answers=runs[-1][2])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
