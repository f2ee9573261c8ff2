"""How a query would run on a stream: its mode, what orders a key, what waits and what is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from cerlab.compile.text_to_pattern import What, as_pattern
from cerlab.spark.batch.explain import in_columns, of_plan
from cerlab.spark.batch.frame import MOMENTS
from cerlab.spark.plan.modes import Mode
from cerlab.spark.stream.durations import Length
from cerlab.spark.stream.request import StreamOptions, StreamRequest, stream_request_of
from cerlab.spark.stream.step import BUCKETS, reach

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def explain_stream(
    sdf: DataFrame,
    query: What,
    *,
    position: str,
    lateness: Length,
    **options: Unpack[StreamOptions],
) -> str:
    """What `match_stream` would do with the same arguments; nothing runs."""
    pattern = as_pattern(query)
    request = stream_request_of(sdf, pattern, position=position, lateness=lateness, **options)
    return stream_explanation(request, pattern.text)


def stream_explanation(request: StreamRequest, query: str) -> str:
    """The same of a request."""
    choice = request.choice
    lines = [*of_plan(request.plan, query), ("mode", choice.mode.value)]
    lines += [("not by", f"{mode.value}: {why}") for mode, why in choice.reasons.items()]
    time, position = request.job.labels.keys
    lines.append(("order", position if not request.is_ordered_by_time else f"{time}, {position}"))
    lines += [
        ("waits", _waits(request)),
        ("late", _late(request)),
        ("kept", _state_lifetime(request)),
    ]
    lines.append(("stage", f"read {', '.join(request.job.attributes)}"))
    if request.from_filter is not None:
        lines.append(("stage", f"events of {', '.join(request.plan.streams)}"))
    where, what = "in one task", "all rows"
    if request.choice.mode is Mode.KEYS:
        where, what = f"in {BUCKETS} buckets by a hash of the key", "each key"
    lines.append(("stage", f"{where}; {what} put in order, then the engine, from state to state"))
    return in_columns(lines)


def _unit(request: StreamRequest) -> str:
    time = request.job.labels.time
    moments = request.is_ordered_by_time and request.source.kind(time or "") in MOMENTS
    return " microseconds" if moments else f" [{time}]"


def _waits(request: StreamRequest) -> str:
    lateness = f"{request.job.lateness}{_unit(request)}"
    own = f"a row, for one of its key that is more than {lateness} after it"
    if request.job.lag is None:
        return own
    return f"{own}, or one of any key that is more than {request.job.lag} after it"


def _late(request: StreamRequest) -> str:
    own = "a row that belongs before one of its key that was read"
    if request.job.lag is None:
        return own
    return f"{own}, or is more than {request.job.lag} older than the newest of all keys"


def _state_lifetime(request: StreamRequest) -> str:
    if request.job.lag is None:
        return "the state of each key, for ever (lag= lets those go whose window has passed)"
    if (width := reach(request.plan, request.job.time)) is None:
        return "the state of each key, for ever: no window in time bounds what it needs"
    over = f"{float(request.job.lag + width):g}{_unit(request)}"
    return f"the state of a key, until one of any key is {over} after its last row"
