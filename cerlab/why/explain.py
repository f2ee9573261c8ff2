"""The answer to a question: a derivation that proves it, or the nearest one and what it fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cerlab.errors import Unsupported, UsageError
from cerlab.logic.ceql.syntax import selected_formula
from cerlab.logic.focel.scope import check_first_order
from cerlab.logic.sremo.check import check_sremo
from cerlab.logic.sremo.semantics import check_times
from cerlab.model.answer import Valuation
from cerlab.model.clauses import Consume
from cerlab.why.answer import Why
from cerlab.why.candidates import Candidate, Region, candidates, nearest, regions
from cerlab.why.clauses import first_passing
from cerlab.why.confirm import confirm, confirm_sremo
from cerlab.why.deduction import CelDerivation, Reading, SremoDerivation
from cerlab.why.failure import Failure
from cerlab.why.question import Question, compares_with_all, other_interval, out_of_stream
from cerlab.why.sremo_candidates import SremoQuestion, exact, starts
from cerlab.why.sremo_candidates import nearest as nearest_reading


def explain_query(question: Question) -> Why:
    """Why the positions are an answer of the query on the stream, or why not."""
    if question.first_order:
        check_first_order(selected_formula(question.ast))
    if not question.positions and (question.start is None or question.end is None):
        raise UsageError(
            "CER0835", "no positions are given", hint="give start and end, for an empty answer"
        )
    if compares_with_all(question.formula) and question.ast.consume is not Consume.NONE:
        raise Unsupported(
            "CER0497",
            "why takes no CONSUME BY where a strategy stands inside the formula",
            hint="ask without CONSUME BY; cerlab.evaluate takes both",
        )
    if failures := out_of_stream(question.anchors, question.stream):
        return Why(False, question.positions, None, failures, None, {})
    searched_regions: list[Region] = []
    for region in regions(question):
        searched_regions.append(region)
        if whole := candidates(question, region, 0):
            confirm(question, whole)
            best, failures = first_passing(question, whole)
            return _of_query(question, best, failures, region)
    confirm(question, [])
    best = nearest(question, searched_regions[0])
    return _of_query(question, best, best.failures, searched_regions[0])


def _of_query(
    question: Question, best: Candidate, failures: tuple[Failure, ...], region: Region
) -> Why:
    derivation = _in_whole_stream(best.derivation, best.place.substream.positions)
    return _why(question, derivation, failures, region)


def _in_whole_stream(d: CelDerivation, at: Sequence[int]) -> CelDerivation:
    """A derivation of a substream in positions of the whole stream."""
    V = d.valuation
    if V is not None:
        labels = {X: tuple(at[i] for i in D) for X, D in V.labels.items()}
        V = Valuation(at[V.start], at[V.end], labels)
    return replace(
        d, valuation=V, children=tuple(_in_whole_stream(child, at) for child in d.children)
    )


def explain_sremo(question: SremoQuestion) -> Why:
    """Why the stream shows e with these marks, and no others, at the last of them; or why not.

    Raises as `cerlab.evaluate` with the reference does, except for the length of the stream.
    """
    check_sremo(question.e)
    check_times(question.e, question.stream.events)
    positions = question.positions
    if not positions:
        raise UsageError(
            "CER0835",
            "no positions are given",
            hint="a stream shows a SREMO at the last event that it marks, so there is one",
        )
    if failures := out_of_stream(positions, question.stream):
        return Why(False, positions, None, failures, None, {})
    lo = positions[0]
    for lo in starts(question):
        if (proof := exact(question, lo)) is not None:
            confirm_sremo(question, lo, holds=True)
            interval = other_interval(proof.interval, question.start, question.end)
            return _why(question, proof, interval, (lo, positions[-1]))
    confirm_sremo(question, lo, holds=False)
    best = nearest_reading(question)
    if isinstance(best, Failure):
        return Why(False, positions, None, (best,), None, {})
    lo = min(best.derivation.valuation.start, positions[0])
    return _why(question, best.derivation, best.failures, (lo, positions[-1]))


def _why(
    question: Question | SremoQuestion,
    derivation: CelDerivation | SremoDerivation,
    failures: tuple[Failure, ...],
    region: Region,
) -> Why:
    """The answer, with the events at the positions that are asked for or that a node names."""
    positions = {*question.positions}.union(*(_positions(n.valuation) for n in derivation))
    events = {p: question.stream[p] for p in sorted(positions)}
    return Why(not failures, question.positions, derivation, failures, region, events, question)


def _positions(value: Valuation | Reading | None) -> Iterator[int]:
    """The positions that a node names."""
    match value:
        case Valuation(start, end, labels):
            yield from (start, end)
            yield from (p for D in labels.values() for p in D)
        case Reading(_, _, marks, registers):
            yield from (*value.ends, *marks)
            yield from (p for _, p in registers if p is not None)
