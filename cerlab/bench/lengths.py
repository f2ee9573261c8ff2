"""What ``"auto"`` costs beside the evaluators it chooses from, by the length of the stream.

Each call of `cerlab.evaluate` reads events anew, a list of dicts or a table; so does
``query.run(..).to_arrow()``, whose order does not depend on what is loaded. All ways take turns, so
that a busy machine slows them alike, and kernels are loaded before, as where something was
evaluated.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

from cerlab.api import Query, evaluate
from cerlab.bench.path_files import plain
from cerlab.bench.timing import SHORTEST, once
from cerlab.errors import AnswerWarning
from cerlab.evaluate import EvaluatorName
from cerlab.model.stream import Stream

LENGTHS = (10, 30, 100, 200, 400, 700, 1_000, 2_000, 4_000, 10_000, 19_000, 30_000, 100_000)

HOPELESS = 10
"""Where the tECS in Python costs so many times the best it is not measured at longer ones."""

_ENOUGH = 0.02
"""Seconds of CPU that one measurement lasts; short calls are done again and again."""


def measure_lengths(name: str, query: Query, stream: Stream, runs: int) -> Iterator[dict[str, Any]]:
    """A row for each length and form of events: median CPU seconds, and auto's over the least."""
    with warnings.catch_warnings(action="ignore", category=AnswerWarning):  # of short streams
        yield from _measure_lengths(name, query, plain(stream), runs)


def _measure_lengths(name: str, query: Query, table: Any, runs: int) -> Iterator[dict[str, Any]]:
    ways: list[EvaluatorName] = ["auto", "tecs", "compiled"]
    evaluate(query, table.slice(0, 1), evaluator="compiled")  # kernels are loaded
    forms: dict[str, Callable[[Any], Any]] = {
        "dicts": lambda rows: rows.to_pylist(),
        "table": _same,
    }
    for form, form_of in forms.items():
        remaining = list(ways)
        for length in (n for n in LENGTHS if n <= table.num_rows):
            events = form_of(table.slice(0, length))
            calls: dict[str, Callable[[], Any]] = {
                way: partial(evaluate, query, events, evaluator=way) for way in remaining
            }
            seconds = _median_seconds({**calls, "run": partial(_table, query, events)}, runs)
            least = max(min(seconds[way] for way in remaining), SHORTEST)
            head = {"query": name, "events": length, "form": form}
            row: dict[str, Any] = {**head, **dict.fromkeys(ways), **seconds}
            yield {**row, "auto_of_best": seconds["auto"] / least}
            if "tecs" in remaining and seconds["tecs"] > HOPELESS * least:
                remaining.remove("tecs")


def _table(query: Query, events: Any) -> Any:
    return query.run(events).to_arrow()


def _repeat(call: Callable[[], Any], times: int) -> None:
    for _ in range(times):
        call()


def _same(table: Any) -> Any:
    return table


def _median_seconds(calls: dict[str, Callable[[], Any]], runs: int) -> dict[str, float]:
    """Median CPU seconds of each call, in turns."""
    times = {way: 1 + int(_ENOUGH / max(once(call)[0], SHORTEST)) for way, call in calls.items()}
    seconds: dict[str, list[float]] = {way: [] for way in calls}
    for _ in range(runs):
        for way, call in calls.items():
            total = once(partial(_repeat, call, times[way]))[0]
            seconds[way].append(total / times[way])
    return {way: median(each) for way, each in seconds.items()}
