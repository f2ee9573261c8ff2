"""``pycer`` in an interpreter that has it. Nothing of cerlab is imported here."""

from __future__ import annotations

import os
import re
import tempfile
from importlib.metadata import version
from pathlib import Path

if __package__:
    from cerlab.trial.children.line import Reply, serve
else:  # a program of its own
    from line import Reply, serve  # type: ignore[import-not-found,no-redef]

ATTRIBUTES = ("id", "v", "w", "k", "t")
ATTRIBUTE_TYPES = ", ".join(f"{name}:int" for name in ATTRIBUTES)
EVENTS = ", ".join(f"EVENT {kind} {{ {ATTRIBUTE_TYPES} }}" for kind in "ABC")
DECLARATION = f"CREATE STREAM S {{ {EVENTS} }}"


def reply(question: Reply) -> Reply:
    """Answers by their positions: the first attribute of an event is its number."""
    import pycer  # type: ignore[import-not-found]

    server = pycer.PyOfflineServer()
    kinds = {event.name: event.id for event in server.declare_stream(DECLARATION).events_info}
    try:
        server.add_query(question["query"])
    except Exception as error:
        return {"refused": f"{type(error).__name__}: {error}"[:400]}
    events = []
    for i, event in enumerate(question["events"]):
        values = [i, *(event[name] for name in ATTRIBUTES[1:])]
        numbers = [pycer.PyIntValue(value) for value in values]
        time = pycer.PyIntValue(event["t"] * 10**9 if question["timed"] else i)
        events.append(pycer.PyEvent(kinds[event["type"]], numbers, time))
    server.send_events(events)
    return {"answers": [{"positions": positions(line)} for line in answers(server.get_output())]}


def answers(text: str) -> list[str]:
    """The lines of an output that are answers."""
    return [line for line in text.splitlines() if line.strip()]


def positions(line: str) -> list[int]:
    """The numbers of the events of a line like ``[0,2], ((id: 0 attributes: [0 1 ]) ..)``."""
    return [int(number) for number in re.findall(r"attributes: \[(-?\d+)", line)]


def package_version() -> str:
    """The version; raises where the package cannot be imported."""
    import pycer  # noqa: F401

    return version("pycer")


if __name__ == "__main__":
    folder = Path(tempfile.gettempdir(), "cerlab-pycer")
    folder.mkdir(exist_ok=True)
    os.chdir(folder)  # the package writes its log files where it runs
    serve(package_version, reply)
