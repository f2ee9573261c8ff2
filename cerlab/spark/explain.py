"""How a query would run on a DataFrame: its mode, where the stream is cut, what is read twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

from cerlab.automata.plan_json import plan_digest
from cerlab.query import What, as_query
from cerlab.spark.batch import Options, asked_of
from cerlab.spark.first_pass import FirstPass, first_pass, halo_of
from cerlab.spark.modes import Mode
from cerlab.spark.request import Request

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SHOWN = 8

_STAGES = {
    Mode.KEYS: "by group (a hash of the key), sorted by position; the engine on each task's keys",
    Mode.RANGES: "by range, with what its window reads before it; the engine on each range",
    Mode.ONE: "all rows in order, in one task",
}


def explain(
    df: DataFrame,
    query: What,
    order_by: str | Sequence[str] = (),
    position: str | None = None,
    **options: Unpack[Options],
) -> str:
    """What `match` would do with the same arguments; the first pass runs, nothing else."""
    made = as_query(query)
    asked = asked_of(df, made, order_by, position, **options)
    return explained(asked, first_pass(asked), made.text)


def explained(asked: Request, found: FirstPass, query: str) -> str:
    """The same of a request whose first pass has been made."""
    lines = [("query", " ".join(query.split()))]
    lines.append(("plan", _plan(asked)))
    lines.append(("mode", asked.choice.mode.value))
    lines += [("not by", f"{mode.value}: {why}") for mode, why in asked.choice.passed_over.items()]
    lines.append(("stream", f"{found.rows:,} events, {_order(asked)}"))
    lines.append(("parts", _parts(found)))
    if asked.choice.mode is Mode.RANGES:
        lines += [("cut", _cut(asked, cut)) for cut in _some(found.cuts)]
        lines.append(("overlap", _overlap(asked, found)))
    lines += [("stage", stage) for stage in _stages(asked)]
    return "\n".join(f"{name:8} {text}" for name, text in lines)


def _plan(asked: Request) -> str:
    cea = asked.plan.cea
    return f"{cea.states} states, {len(cea.Delta)} transitions, {plan_digest(asked.plan)[:12]}"


def _order(asked: Request) -> str:
    order = f"by {', '.join(asked.labels.keys)}"
    return order if asked.position is not None else f"{order}; positions are counted"


def _parts(found: FirstPass) -> str:
    sizes = sorted(each.rows for each in found.summaries)
    return f"{found.parts}, of {sizes[0]:,} to {sizes[-1]:,} rows"


def _cut(asked: Request, cut: tuple[Any, ...]) -> str:
    named = zip(asked.labels.keys, cut, strict=True)
    return ", ".join(f"{name} = {value!r}" for name, value in named)


def _some(cuts: tuple[tuple[Any, ...], ...]) -> list[tuple[Any, ...]]:
    step = max(1, -(-len(cuts) // _SHOWN))
    return list(cuts[::step])


def _overlap(asked: Request, found: FirstPass) -> str:
    again = halo_of(asked, found).rows
    share = again / found.rows if found.rows else 0.0
    return f"about {again:,} rows are read again ({share:.1%})"


def _stages(asked: Request) -> list[str]:
    first = [f"read {', '.join(asked.attributes)}"]
    if asked.is_numbered:
        first.append("by part, sorted: positions")
    if asked.kept is not None:
        first.append(f"events of {', '.join(asked.plan.streams)}")
    return [*first, _STAGES[asked.choice.mode]]
