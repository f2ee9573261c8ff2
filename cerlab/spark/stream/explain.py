"""How a query would run on a stream: its mode, what orders a key, what waits and what is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from cerlab.automata.plan_json import plan_digest
from cerlab.compile.text_to_pattern import What, as_pattern
from cerlab.spark.plan.modes import Mode
from cerlab.spark.stream.durations import Length
from cerlab.spark.stream.match_stream import StreamOptions, asked_of_stream
from cerlab.spark.stream.request import StreamRequest
from cerlab.spark.stream.step import BUCKETS, reach

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_MOMENTS = ("timestamp", "timestamp_ntz", "date")


def explain_stream(
    sdf: DataFrame,
    query: What,
    *,
    position: str,
    lateness: Length,
    **options: Unpack[StreamOptions],
) -> str:
    """What `match_stream` would do with the same arguments; nothing runs."""
    made = as_pattern(query)
    asked = asked_of_stream(sdf, made, position=position, lateness=lateness, **options)
    return explained_stream(asked, made.text)


def explained_stream(asked: StreamRequest, query: str) -> str:
    """The same of a request."""
    cea = asked.plan.cea
    size = f"{cea.states} states, {len(cea.Delta)} transitions, {plan_digest(asked.plan)[:12]}"
    lines = [("query", " ".join(query.split())), ("plan", size), ("mode", asked.choice.mode.value)]
    lines += [("not by", f"{mode.value}: {why}") for mode, why in asked.choice.passed_over.items()]
    time, position = asked.job.labels.keys
    lines.append(("order", position if not asked.is_ordered_by_time else f"{time}, {position}"))
    lines += [("waits", _waits(asked)), ("late", _late(asked)), ("kept", _kept(asked))]
    lines.append(("stage", f"read {', '.join(asked.job.attributes)}"))
    if asked.kept is not None:
        lines.append(("stage", f"events of {', '.join(asked.plan.streams)}"))
    where, what = "in one task", "all rows"
    if asked.choice.mode is Mode.KEYS:
        where, what = f"in {BUCKETS} buckets by a hash of the key", "each key"
    lines.append(("stage", f"{where}; {what} put in order, then the engine, from state to state"))
    return "\n".join(f"{name:8} {text}" for name, text in lines)


def _unit(asked: StreamRequest) -> str:
    time = asked.job.labels.time
    moments = asked.is_ordered_by_time and asked.source.kind(time or "") in _MOMENTS
    return " microseconds" if moments else f" [{time}]"


def _waits(asked: StreamRequest) -> str:
    own = f"a row, for one of its key that is more than {asked.job.lateness}{_unit(asked)} after it"
    if asked.job.lag is None:
        return own
    return f"{own}, or one of any key that is more than {asked.job.lag} after it"


def _late(asked: StreamRequest) -> str:
    own = "a row that belongs before one of its key that was read"
    if asked.job.lag is None:
        return own
    return f"{own}, or is more than {asked.job.lag} older than the newest of all keys"


def _kept(asked: StreamRequest) -> str:
    if asked.job.lag is None:
        return "the state of each key, for ever (lag= lets those go whose window has passed)"
    if (width := reach(asked.plan, asked.job.time)) is None:
        return "the state of each key, for ever: no window in time bounds what it needs"
    over = float(asked.job.lag + width)
    return f"the state of a key, until one of any key is {over:g}{_unit(asked)} after its last row"
