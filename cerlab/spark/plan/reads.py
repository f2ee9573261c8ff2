"""What a plan reads of an event, and how columns of Spark become columns of an engine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from cerlab.automata.machine import machine_of
from cerlab.automata.plan import Plan
from cerlab.model.clauses import AttributeWindow, TimeWindow
from cerlab.model.clock import TimeAxis
from cerlab.model.columns import nanoseconds
from cerlab.predicates.mentions import attributes_of
from cerlab.predicates.syntax import atoms

MICROSECOND = 1_000
"""Moments that Spark moves are integers of so many nanoseconds."""


def attributes_read(plan: Plan, time: TimeAxis | None) -> tuple[str, ...]:
    """The attributes that decide the answers of a plan, ``type`` first; ``stream`` may be one."""
    return tuple(dict.fromkeys(("type", *attributes_tested(plan, time))))


def attributes_of_job(
    plan: Plan, time: TimeAxis | None, of_rows: Iterable[str] | None
) -> tuple[str, ...]:
    """The attributes that a task reads of the streams in FROM, which are all that it gets.

    `of_rows` are those of rows with names or of aggregates, for which answers are labelled too;
    None where positions are the answers.
    """
    read = attributes_read(replace(plan, streams=()), time)
    if of_rows is None:
        return read
    return tuple(dict.fromkeys((*read, *attributes_labelled(plan), *of_rows)))


def attributes_tested(plan: Plan, time: TimeAxis | None) -> tuple[str, ...]:
    """The same without ``type`` where nothing asks for it."""
    groups = (attributes_of(atoms(P)) for P in machine_of(plan).predicates)
    names = [*(name for group in groups for name in group), *plan.partition]
    if plan.streams:
        names.append("stream")
    if (clock := time_attribute(plan, time)) is not None:
        names.append(clock)
    return tuple(dict.fromkeys(names))


def attributes_labelled(plan: Plan) -> tuple[str, ...]:
    """The attributes that decide the labels of an answer of a plan."""
    names = attributes_of(atom for t in plan.vcea.Delta for atom in atoms(t.predicate))
    return tuple(dict.fromkeys((*names, *plan.partition)))


def time_attribute(plan: Plan, time: TimeAxis | None) -> str | None:
    """The attribute that the window of a plan is measured on, None for none."""
    match plan.window:
        case AttributeWindow(_, attribute):
            return attribute
        case TimeWindow() if time is not None:
            return time.attribute
        case _:
            return None


def window_width(plan: Plan, time: TimeAxis | None, moment: int) -> Fraction:
    """How far the window of a plan in time reaches back, exactly, in units of its column.

    Moments are taken as integers of `moment` nanoseconds.
    """
    if isinstance(plan.window, AttributeWindow):
        return Fraction(plan.window.width)
    assert isinstance(plan.window, TimeWindow)
    unit = time.unit.value if time is not None and time.unit is not None else moment
    return Fraction(plan.window.nanoseconds, unit)


def engine_column(column: Any, name: str) -> Any:
    """A column as engines take it: moments in nanoseconds, without a time zone.

    Raises `BadData` for moments that 64 bits of nanoseconds do not hold.
    """
    import pyarrow as pa

    kind = column.type
    if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        return column
    return nanoseconds(column, name).cast(pa.timestamp("ns"))
