"""The lab: a page with fields for a query and events that shows answers, machines, steps and
reasons.

`answer` replies to the page, in this process (`serve`) or in the browser by Pyodide (`build`, a
folder of static files that needs no server).
"""

from __future__ import annotations

import re
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import cerlab
from cerlab.api.questions import as_row_pattern
from cerlab.api.timelines import STAGES, stage
from cerlab.compile.pattern import Pattern, SremoPattern, any_pattern
from cerlab.errors import BadData, CerlabError, SourcePlace, Unsupported, UsageError
from cerlab.io.conversion import RowReading
from cerlab.io.text_reader import plain_events
from cerlab.model.answer import by_end
from cerlab.model.stream import name_and_unit
from cerlab.rows.syntax import RowPattern
from cerlab.viz.filmstrip import Frames
from cerlab.viz.html import block, escape, table

__all__ = ["MOST_ANSWERS", "MOST_EVENTS", "MOST_STEPS", "PANELS", "answer", "stream_of", "view"]

Request: TypeAlias = Mapping[str, Any]


Reply: TypeAlias = dict[str, Any]


MOST_ANSWERS = 200
"""Most answers that the page lists; more are only counted."""


MOST_EVENTS = 60
"""Longest stream with a timeline; for longer ones the answers are only listed."""


MOST_STEPS = 40
"""Most events that the page follows step by step."""


def answer(request: Request) -> Reply:
    """Return the reply to a request of a panel of the page; errors become part of the reply.

    `request` has ``panel`` (a key of `PANELS`), ``query``, ``events``, ``time`` (see `stream_of`),
    ``end`` (True: no event comes after these) and the fields of the panel. The reply has ``html``
    or ``frames``, further fields of the panel, and ``warnings``; or ``error`` with ``message``,
    ``box`` and the place in a query.

    >>> answer({"panel": "answers", "query": "A ;", "events": "A B"})["error"]["message"]
    'CER0101: the text ends too early'

    """
    try:
        with warnings.catch_warnings(
            record=True, action="always", category=cerlab.CerlabWarning
        ) as records:
            reply = view(request)
        ours = (each.message for each in records if issubclass(each.category, cerlab.CerlabWarning))
        return {**reply, "warnings": list(dict.fromkeys(map(str, ours)))}
    except CerlabError as error:
        return {"error": _error(error, request)}
    except ImportError as error:
        missing = str(error.name or error)
        message = (
            f"this needs {missing}, which is missing here; `cerlab lab` on your machine has it"
        )
        return {"error": {"message": message}}
    except Exception as error:  # a fault of cerlab: the page shows it and stays usable
        traceback.print_exc()
        return {"error": {"message": f"internal error: {type(error).__name__}: {error}"}}


def view(request: Request) -> Reply:
    """Return a panel's reply; raises `CerlabError`, and `ImportError` for missing packages."""
    if not isinstance(request, Mapping):
        raise _unknown("request", request, ("objects",))
    panel, positions = request.get("panel"), request.get("positions", ())
    if not isinstance(panel, str) or panel not in PANELS:
        raise _unknown("panel", panel, PANELS)
    for name in ("query", "other" if panel == "compare" else "events"):
        text = request.get(name)
        if not isinstance(text, str) or re.search("[\ud800-\udfff]", text):
            raise _unknown(name, text, ("texts",))
    if not isinstance(request.get("time", ""), str):
        raise _unknown("time", request["time"], ("texts",))
    if not isinstance(request.get("end", False), bool):
        raise _unknown("end", request["end"], ("true", "false"))
    if not isinstance(positions, Sequence) or not all(type(n) is int for n in positions):
        raise _unknown("positions", positions, ("lists of integers",))
    return PANELS[panel](request)


def _unknown(kind: str, name: object, choices: Iterable[str]) -> UsageError:
    return UsageError(
        "CER0895", f"the lab has no {kind} {name!r}", hint=f"it has {', '.join(choices)}"
    )


def _error(error: CerlabError, request: Request) -> Reply:
    """Return the fields that the page shows for an error; ``box`` is the faulty input field."""
    reply: Reply = {"message": f"{error.code}: {error.message}", "hint": error.hint}
    reply["box"] = "events" if isinstance(error, BadData) else "query"
    if isinstance(error.place, SourcePlace):
        span = error.place.span
        if error.place.text == request.get("other") != request.get("query"):
            reply["box"] = "other"
        reply |= {"line": span.line, "column": span.column, "text": error.place.text}
        reply["end"] = span.end_column if span.end_line == span.line else span.column + 1
    elif error.place is not None:
        reply["message"] += f" ({error.place.describe()})"
    return reply


def stream_of(text: str, time: str = "") -> cerlab.Stream:
    """Return the events of a text: NDJSON, CSV, CORE's form, or bare types such as ``A B A C``.

    Args:
        text: The events.
        time: The attribute of their time and its unit, as in ``ts:ms`` (default: none).

    >>> [event.type for event in stream_of("A B A")]
    ['A', 'B', 'A']
    """
    name, unit = name_and_unit(time)
    text = text.strip()
    first = text.partition("\n")[0]
    if re.fullmatch(r"[A-Za-z_]\w*(\s+[A-Za-z_]\w*)*", text) and first != "type":
        return cerlab.Stream([cerlab.Event(word, {}) for word in text.split()])
    form = "ndjson" if text.startswith("{") else "csv"
    if re.match(r"\s*(\w+\s*>\s*)?\w+\s*\(", first):
        form, text = "core", "\n".join(re.split(r"(?<=\))[ \t]+", text))
    text = f"{text}\n" if text else "type\n"
    try:
        import pyarrow  # noqa: F401 # fails early: the readers of files need it
    except ImportError:
        events = plain_events(text.encode(), form, RowReading("events"))
        return cerlab.Stream(events, time=name, unit=unit)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"events.{form}"
        path.write_text(text, encoding="utf-8")
        stream = cerlab.Stream.read(path, time=name, unit=unit)
        list(islice(stream, 1))
    return stream


def _stream(request: Request) -> cerlab.Stream:
    stream = stream_of(request["events"], request.get("time", ""))
    return stream.up_to("end" if request.get("end") else None)


def _check(request: Request) -> Reply:
    """Return the event types that the page shows as a strip; raises for an invalid query."""
    if as_row_pattern(request["query"]) is None:
        any_pattern(request["query"])
    events = _stream(request)
    return {
        "events": [str(event.type) for event in islice(events, MOST_EVENTS)],
        "count": len(events),
    }


def _answers(request: Request) -> Reply:
    if (rows := as_row_pattern(request["query"])) is not None:
        return _rows_found(rows, _stream(request))
    pattern, stream = any_pattern(request["query"]), _stream(request)
    answers = sorted(cerlab.evaluate(request["query"], stream, limit=MOST_ANSWERS), key=by_end)
    # all answers are counted only if the list was cut
    total = len(answers) if len(answers) < MOST_ANSWERS else _count(pattern, stream)
    reply: Reply = {
        "total": str(total),
        "answers": [[a.start, a.end, list(a.positions)] for a in answers],
        "html": "",
    }
    if len(stream) <= MOST_EVENTS:
        reply["html"] = _html(cerlab.timeline(request["query"], stream))
    return reply


def _rows_found(rows: RowPattern, stream: cerlab.Stream) -> Reply:
    """Return the result of a row pattern on the events, as a table."""
    found = cerlab.match_recognize(rows, stream)
    first = found.slice(0, MOST_ANSWERS).to_pylist()
    cells = [["" if cell is None else str(cell) for cell in row.values()] for row in first]
    html = block(table("Rows", found.column_names, cells)) if first else ""
    return {"total": str(found.num_rows), "shown": len(first), "answers": [], "html": html}


def _count(pattern: Any, stream: cerlab.Stream) -> int | str:
    if isinstance(pattern, SremoPattern):
        return f"{MOST_ANSWERS} or more"
    return cerlab.count(pattern.text, stream)


def _machine(request: Request) -> Reply:
    if (rows := as_row_pattern(request["query"])) is not None:
        return {"html": _html(rows)}
    pattern, name = any_pattern(request["query"]), request.get("what", "cea")
    if name not in STAGES:
        raise _unknown("stage", name, STAGES)
    if isinstance(pattern, SremoPattern) and name != "ast":
        name = "srt"
    return {"html": _html(stage(pattern, name))}


def _steps(request: Request) -> Reply:
    if as_row_pattern(request["query"]) is not None:
        hint = "Why shows the variable of each row"
        raise Unsupported("CER0458", "steps exist for queries, not for row patterns", hint=hint)
    steps = cerlab.step(_as_query(request["query"]), _stream(request)[:MOST_STEPS])
    return {"frames": list(Frames(steps, "auto").all())}


def _why(request: Request) -> Reply:
    stream = _stream(request)
    positions = request.get("positions", ())
    if positions:
        why: Any = cerlab.why(request["query"], stream, positions)
    else:
        why = cerlab.why_none(request["query"], stream)
    return {"html": _html(why), "holds": bool(getattr(why, "holds", False))}


def _compare(request: Request) -> Reply:
    verdict = cerlab.equivalent(request["query"], request["other"])
    reply: Reply = {"html": _html(verdict), "holds": verdict.holds}
    if verdict.witness is not None:
        reply["witness"] = "\n".join(_core_text(event) for event in verdict.witness.events)
    return reply


def _core_text(event: Mapping[str, Any]) -> str:
    """Return an event in CORE's text form, as users type it into the page."""
    values = ",".join(f"{k}={v}" for k, v in event.items() if k != "type" and v is not None)
    return f"{event.get('type', 'ROW')}({values})"  # rows of a table have no event type


def _as_query(text: str) -> str:
    pattern = any_pattern(text)
    is_formula = isinstance(pattern, Pattern) and not re.match(r"\s*(SELECT|CREATE)\b", text, re.I)
    return f"SELECT * WHERE {text}" if is_formula else text


def _html(value: Any) -> str:
    """Return a value as HTML, as a notebook shows it."""
    bundle = value._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    for form in ("text/html", "image/svg+xml"):
        if form in data:
            return str(data[form])
    return f"<pre>{escape(data['text/plain'])}</pre>"


PANELS: dict[str, Callable[[Request], Reply]] = {
    "check": _check,
    "answers": _answers,
    "machine": _machine,
    "steps": _steps,
    "why": _why,
    "compare": _compare,
}
"""Function that replies to each panel of the page."""
