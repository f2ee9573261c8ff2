"""The stages of a query by their names: for `cerlab.show`, ``cerlab show`` and the lab."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cerlab import io
from cerlab.api.timelines import TimelineInput, timeline
from cerlab.automata.registers.reduce import smaller
from cerlab.automata.strategy import StrategyCea
from cerlab.compile.pattern import AnyPattern, Pattern, SremoPattern
from cerlab.compile.sremo_to_srt import sremo_to_srt
from cerlab.compile.text_to_pattern import Language, any_pattern
from cerlab.errors import Unsupported, UsageError, nearest
from cerlab.logic.sremo.syntax import Sremo
from cerlab.model.clauses import Strategy
from cerlab.model.stream import Stream
from cerlab.viz.machines.deterministic import minterm_table
from cerlab.viz.machines.minterms import listed_minterms
from cerlab.viz.tecs import tecs_snapshot

_STRATEGIES = {s.name.lower(): s for s in Strategy}
_OF_EVENTS = ("tecs", "timeline")
WHAT = (
    *("ast", "vcea", "cea", "det", *_STRATEGIES, "srt"),
    *("table", "minterms", *_OF_EVENTS),
)
"""What is shown of a query; the last two are of a query and events."""


def show(
    query: TimelineInput,
    events: Any = None,
    *,
    what: str | None = None,
    language: Language | None = None,
    type: str | None = None,
    time: str | None = None,
    unit: str | None = None,
    **options: Any,
) -> Any:
    """A stage of a query as a value that a notebook draws, the one that ``cerlab show`` writes.

    `what` is ``"ast"``, a machine (``"vcea"``, ``"cea"``, ``"det"``, ``"strict"``, ``"nxt"``,
    ``"last"``, ``"max"``, ``"srt"``), its ``"table"`` or ``"minterms"``; with `events` it is
    ``"tecs"``, as the last event leaves it, or ``"timeline"``. Left out it is the timeline where
    there are events, else the syntax tree. Answers, as `cerlab.evaluate` lists them, are drawn
    under the events that they are answers on. `language` is as of `cerlab.evaluate`, and so are
    `type`, `time` and `unit`; `options` are those of `cerlab.timeline`. Raises `UsageError` for
    another name, for events where none are needed, and without them where they are; else as what
    makes the stage.

    >>> print(show("A", what="cea"))
    CEA: 2 states, initial 0, final {1}
      0 -> 1  type = 'A' / •
    >>> print(show("A ; B", [{"type": kind} for kind in "ACB"]))
             0 1 2
             A C B
    answers  ●───●
    """
    if isinstance(query, Mapping) or (
        isinstance(query, Iterable) and not isinstance(query, (str, AnyPattern, Sremo))
    ):
        if what not in (None, "timeline"):
            raise UsageError(
                "CER0823", f"answers have no '{what}'", hint="give the query, or leave what= out"
            )
        return timeline(query, events, type=type, time=time, unit=unit, **options)

    def read() -> Stream:
        return io.as_stream(events, type=type, time=time, unit=unit)

    pattern = any_pattern(query, language)
    return stage(pattern, what, None if events is None else read, **options)


def stage(
    pattern: AnyPattern,
    what: str | None = None,
    read: Callable[[], Stream] | None = None,
    **options: Any,
) -> Any:
    """What `show` gives of a query that has been read; `read` gives its events, if there are any.

    Raises as `show`, before anything is read.
    """
    what = what or ("ast" if read is None else "timeline")
    if what not in WHAT:
        hint = nearest(what, WHAT)
        raise UsageError("CER0822", f"nothing of a query is called '{what}'", hint=hint)
    if what not in _OF_EVENTS:
        if read or options:
            names = ", ".join(options) or "events"
            hint = f"{' and '.join(_OF_EVENTS)} take them"
            raise UsageError("CER0823", f"'{what}' takes no {names}", hint=hint)
        return _of_sremo(pattern, what) if isinstance(pattern, SremoPattern) else _of(pattern, what)
    if read is None:
        raise UsageError("CER0823", f"'{what}' needs events", hint="they stand after the query")
    if what == "timeline":
        return timeline(pattern, read(), **options)
    if isinstance(pattern, SremoPattern):
        raise _not_of_sremo(what)
    return tecs_snapshot(pattern.plan, pattern.machine, read())


def _of(query: Pattern, what: str) -> Any:
    match what:
        case "ast":
            return query.formula
        case "vcea":
            return query.vcea
        case "cea":
            return query.cea
        case "det":
            return query.det
        case "srt":
            return query.registers.srt
        case "table":
            return minterm_table(query.machine)
        case "minterms":
            return listed_minterms(query.machine.predicates, query.schema)
        case _:
            return StrategyCea(query.cea, _STRATEGIES[what])


def _of_sremo(e: SremoPattern, what: str) -> Any:
    """The expression, or its transducer without empty moves."""
    if what == "ast":
        return e.ast
    if what != "srt":
        raise _not_of_sremo(what)
    return smaller(sremo_to_srt(e.ast))


def _not_of_sremo(what: str) -> Unsupported:
    message = f"'{what}' is of CEQL and CEL formulas, and the text is a SREMO"
    return Unsupported("CER0483", message, hint="ast, srt and timeline are of a SREMO, too")
