"""Whole streams by the fastest evaluation of the plan, in batches, on one core or several."""

from __future__ import annotations

from collections.abc import Iterator

from cerlab.automata.plan import Plan
from cerlab.automata.strategy import Machine
from cerlab.engine.answers import AnswerBatch
from cerlab.engine.batches import whole
from cerlab.engine.general.evaluation import FEW, GeneralEvaluation
from cerlab.engine.learned import LearnedTables, learned_tables
from cerlab.engine.windowed.evaluation import WindowedEvaluation
from cerlab.engine.windowed.ranges import ranged_answers, why_not_by_ranges
from cerlab.engine.windowed.scan import why_not_windowed
from cerlab.model.clauses import AttributeWindow
from cerlab.model.stream import Stream, TimeAxis
from cerlab.predicates.syntax import atoms, attributes_of


def attributes_read(plan: Plan, machine: Machine, time: TimeAxis | None) -> frozenset[str]:
    """The attributes that the evaluation of a plan reads, ``type`` and ``stream`` perhaps too."""
    attributes = attributes_of(atom for P in machine.predicates for atom in atoms(P))
    names = {*attributes, *plan.partition}
    if isinstance(plan.window, AttributeWindow):
        names.add(plan.window.attribute)
    if time is not None:
        names.add(time.attribute)
    return frozenset(names)


def stream_evaluation(
    plan: Plan, machine: Machine | LearnedTables, time: TimeAxis | None = None
) -> WindowedEvaluation | GeneralEvaluation:
    """The fastest evaluation of a plan on a stream that is read to its end.

    Its answers may be held back; after the last batch those that are come from ``finish``.
    """
    if why_not_windowed(plan) is None:
        return WindowedEvaluation(plan, learned_tables(machine), time)
    return GeneralEvaluation(plan, machine, time)


def compiled_answers(
    plan: Plan,
    machine: Machine | LearnedTables,
    stream: Stream,
    time: TimeAxis | None,
    *,
    workers: int = 1,
) -> Iterator[AnswerBatch]:
    """The answers of a plan on a stream, in batches, by end.

    With several `workers` by as many threads, for queries whose ranges do not depend on each other
    (`windowed.ranges`); others are evaluated by one.
    """
    if workers > 1 and len(stream) > 1 and why_not_by_ranges(plan) is None:
        yield from ranged_answers(plan, learned_tables(machine), stream, time, workers=workers)
        return
    evaluation = stream_evaluation(plan, machine, time)
    if isinstance(evaluation, GeneralEvaluation) and len(stream) <= FEW:
        yield from evaluation.push_stream(stream)
    else:
        yield from whole(evaluation, stream)
