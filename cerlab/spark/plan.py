"""Plans on Spark: the distribution of a query over tasks, its order, and the columns it reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import Any, assert_never
from warnings import warn

import numpy as np

from cerlab.automata.plan import Plan, PlanClauses
from cerlab.automata.strategy import machine_of
from cerlab.errors import CerlabWarning, Unsupported, UsageError, nearest
from cerlab.model.arrays import array_from
from cerlab.model.clauses import AttributeWindow, Consume, EventWindow, Strategy, TimeWindow, Window
from cerlab.model.columns import engine_moments, is_moment
from cerlab.model.stream import TimeAxis
from cerlab.predicates import syntax as pred


class Mode(Enum):
    """A way to distribute events over tasks; users select it by its value."""

    KEYS = "keys"
    """One task has all events of a key."""
    RANGES = "ranges"
    """One task has a stretch of the stream, and the window before it."""
    ONE = "one"
    """One task has the whole stream, in order."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen mode, and the reason against each mode with more parallelism."""

    mode: Mode
    reasons: Mapping[Mode, str]
    is_default: bool = True
    """True if the user did not choose the mode."""


def warn_of_one_task(choice: Choice, stacklevel: int) -> None:
    """Warn that one task reads all events, unless the user requested that."""
    if choice.mode is Mode.ONE and choice.reasons:
        reasons = "; ".join(f"{mode.value}: {why}" for mode, why in choice.reasons.items())
        message = f"CER0950: all events go through one task, in order ({reasons})"
        warn(CerlabWarning(message), stacklevel=stacklevel + 1)


def why_not(plan: PlanClauses, mode: Mode) -> str | None:
    """Return why a plan is not exact in a mode; None if it is exact.

    `Mode.KEYS` cuts the stream between answers: an interval never has events of two keys, so only
    effects of answers on others (CONSUME BY ANY) can cross. In `Mode.RANGES` an answer belongs to
    the range in which it ends and depends only on its interval, which begins at most one window
    earlier; so nothing before the window may matter.
    """
    match mode:
        case Mode.KEYS:
            return _not_by_keys(plan)
        case Mode.RANGES:
            return _not_by_ranges(plan)
        case Mode.ONE:
            return None
        case _:
            assert_never(mode)


def _not_by_keys(plan: PlanClauses) -> str | None:
    if not plan.partition:
        return "there is no PARTITION BY"
    if plan.consume.crosses_partitions:
        policy = f"CONSUME BY {plan.consume.value}"
        return f"with {policy} an answer of one key ends what other keys have begun"
    return None


def _not_by_ranges(plan: PlanClauses) -> str | None:
    if plan.window is None:
        return "without WITHIN an answer may begin anywhere before its end"
    if plan.consume is not Consume.NONE:
        return "CONSUME BY depends on all answers before, not on those of one window"
    if plan.throttle is not None:
        return "THROTTLE depends on the answers given before the window"
    if plan.strategy not in (None, Strategy.STRICT):
        return f"{plan.strategy.value} compares also with answers that began before the window"
    if plan.partition and isinstance(plan.window, EventWindow):
        return "WITHIN n EVENTS counts the events of a key, however far apart they are"
    return None


def choose_mode(plan: PlanClauses, name: str | None = None) -> Choice:
    """Return the requested mode, or the first exact one of keys, ranges and one.

    Raises `Unsupported` if the requested mode is not exact, `UsageError` for an unknown name.
    """
    if name is None:
        reasons: dict[Mode, str] = {}
        for mode in Mode:
            reason = why_not(plan, mode)
            if reason is None:
                return Choice(mode, reasons)
            reasons[mode] = reason
    modes = {mode.value: mode for mode in Mode}
    if name not in modes:
        raise UsageError("CER0870", f"there is no mode '{name}'", hint=nearest(str(name), modes))
    if (reason := why_not(plan, modes[name])) is not None:
        exact = [mode.value for mode in Mode if why_not(plan, mode) is None]
        raise Unsupported(
            "CER0490",
            f"mode '{name}' is not exact for this query: {reason}",
            hint=f"exact modes: {', '.join(exact)}",
        )
    return Choice(modes[name], {}, is_default=False)


def attributes_read(plan: Plan, time: TimeAxis | None) -> tuple[str, ...]:
    """Return the attributes on which a plan's answers depend, ``type`` first."""
    return tuple(dict.fromkeys(("type", *attributes_tested(plan, time))))


def attributes_of_job(
    plan: Plan, time: TimeAxis | None, of_rows: Iterable[str] | None
) -> tuple[str, ...]:
    """Return the attributes that a task reads, which gets only events of streams in FROM.

    `of_rows` are those of rows with names or of aggregates, which need labels too; None if
    positions are the answers.
    """
    read = attributes_read(replace(plan, streams=()), time)
    if of_rows is None:
        return read
    return tuple(dict.fromkeys((*read, *attributes_labelled(plan), *of_rows)))


def attributes_tested(plan: Plan, time: TimeAxis | None) -> tuple[str, ...]:
    """Return the attributes on which the answers depend; ``type`` only if a test needs it."""
    groups = (pred.attributes_of(pred.atoms(P)) for P in machine_of(plan).predicates)
    names = [*(name for group in groups for name in group), *plan.partition]
    if plan.streams:
        names.append("stream")
    clocks = (time_attribute(length, time) for length in (plan.window, plan.throttle))
    names += [clock for clock in clocks if clock is not None]
    return tuple(dict.fromkeys(names))


def attributes_labelled(plan: Plan) -> tuple[str, ...]:
    """Return the attributes on which the labels of a plan's answers depend."""
    names = pred.attributes_of(atom for t in plan.vcea.Delta for atom in pred.atoms(t.predicate))
    return tuple(dict.fromkeys((*names, *plan.partition)))


def time_attribute(length: Window | None, time: TimeAxis | None) -> str | None:
    """Return the attribute that a window, or THROTTLE, is measured on; None if it has none."""
    match length:
        case AttributeWindow(_, attribute):
            return attribute
        case TimeWindow() if time is not None:
            return time.attribute
        case _:
            return None


def window_width(length: Window | None, time: TimeAxis | None, moment: int) -> Fraction:
    """Return the exact width of a window in time, or of THROTTLE, in units of its column.

    Moments are integers of `moment` nanoseconds.
    """
    if isinstance(length, AttributeWindow):
        return Fraction(length.width)
    assert isinstance(length, TimeWindow)
    unit = time.unit.value if time is not None and time.unit is not None else moment
    return Fraction(length.nanoseconds, unit)


def engine_column(column: Any, name: str, computed: Collection[str] = ()) -> Any:
    """Return a column for engines: moments as `engine_moments`, short decimals as doubles.

    An engine would read decimals as values: whole ones as integers, others as doubles. Only
    arithmetic distinguishes these, so the attributes in `computed` stay decimals. Raises as
    `engine_moments`.
    """
    import pyarrow as pa

    if is_moment(column.type):
        return engine_moments(column, name)
    if pa.types.is_decimal128(column.type) and name not in computed:
        return _doubles_of_decimals(column)
    return column


def engine_columns(rows: Any, attributes: Sequence[str]) -> dict[str, Any]:
    """Return the columns ``a0 a1 ..`` of rows by attribute, as `engine_column` does."""
    return {name: engine_column(rows.column(f"a{n}"), name) for n, name in enumerate(attributes)}


SHORT_DECIMALS = 15
"""Digits up to which decimals have distinct nearest doubles, and print unchanged."""


def _doubles_of_decimals(column: Any) -> Any:
    """Return decimals as the nearest doubles, or unchanged if some are too long.

    A quotient of an integer below 2^53 and a power of ten up to 10^22 is rounded once, so it is the
    nearest double. A million values take 6 ms, against 1.2 s as Python values.
    """
    import pyarrow as pa

    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    scale, doubles = column.type.scale, []
    for chunk in (each for each in chunks if len(each)):
        words = np.frombuffer(chunk.buffers()[1], np.int64)
        words = words[2 * chunk.offset : 2 * (chunk.offset + len(chunk))].reshape(-1, 2)
        missing = chunk.is_null().to_numpy(zero_copy_only=False)
        low, high = (np.where(missing, 0, words[:, n]) for n in (0, 1))
        is_short = (low < 10**SHORT_DECIMALS) & (low > -(10**SHORT_DECIMALS)) & (high == low >> 63)
        if not is_short.all() or not 0 <= scale <= SHORT_DECIMALS:
            return column
        doubles.append(array_from(low / float(10**scale), missing))
    return pa.chunked_array(doubles, pa.float64())


def attributes_computed(predicates: Iterable[pred.Predicate]) -> frozenset[str]:
    """Return the attributes with which some predicates compute."""
    compared = (
        operand for P in predicates for atom in pred.atoms(P) for operand in pred.operands(atom)
    )
    return frozenset(
        pred.attributes_in(each for each in compared if not isinstance(each, pred.Attribute))
    )
