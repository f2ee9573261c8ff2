"""`why` says of a SREMO what the reference says, and its derivations prove it (SRT Def. 17)."""

from __future__ import annotations

from random import Random
from typing import Any

from cerlab import ComplexEvent, ResourceLimit, Sremo, Why
from cerlab.logic.sremo import detections
from cerlab.logic.sremo.syntax import reads
from cerlab.model.stream import Stream
from cerlab.testing import Shape, random_sremo, random_sremo_events
from cerlab.why import Derivation, Reading, why
from proofs_tests.suite import Suite
from proofs_tests.why.sremo_checker import check

Question = tuple[Sremo, Stream, list[ComplexEvent]]


def random_question(rng: Random, shape: Shape) -> Question:
    """An expression, a stream, and what it shows; there is something, if it can be drawn."""
    for _ in range(12):
        e = random_sremo(rng, shape)
        stream = Stream(random_sremo_events(rng, e, shape))
        try:
            answers = detections(e, stream.events)
        except ResourceLimit:  # many registers and rounds: too much for the reference
            continue
        if answers:
            break
    return e, stream, sorted(answers, key=lambda m: (m.end, m.positions))


def agree(rng: Random, question: Question) -> bool:
    e, stream, answers = question
    candidates = {m.positions for m in rng.sample(answers, min(3, len(answers)))}
    for positions in sorted(candidates | some_positions(rng, len(stream))):
        explanation = why(e, stream, positions)
        answer = ComplexEvent(positions[0], positions[-1], positions)
        about = (
            f"{e}\non {[(t.type, dict(t.attributes)) for t in stream]}\n"
            f"at {positions}\n{explanation}"
        )
        assert explanation.holds == (answer in answers), about
        assert explanation.holds == (explanation.failure is None), about
        if explanation.holds:
            prove(e, stream, answer, explanation)
    return bool(answers)


def prove(e: Sremo, stream: Stream, answer: ComplexEvent, explanation: Why) -> None:
    """The derivation of a match follows rule by rule, and gives that match at its last event."""
    node: Any = explanation.derivation
    assert isinstance(node, Derivation)
    assert isinstance(node.valuation, Reading)
    assert node.part == e
    check(node, (), stream.events, reads(e))
    assert node.valuation.marks == answer.positions
    assert node.valuation.end == answer.end + 1
    assert node.interval == (answer.start, answer.end)


def some_positions(rng: Random, n: int) -> set[tuple[int, ...]]:
    """Return random positions, which are mostly no answer."""
    return {tuple(p for p in range(n) if rng.random() < 0.4)} - {()}


def test_expressions(suite: Suite) -> None:
    suite.run(
        lambda rng: agree(rng, random_question(rng, Shape(depth=3, events=6))), deep_count=2_000
    )


def test_deeper_expressions_on_longer_streams(suite: Suite) -> None:
    suite.run(
        lambda rng: agree(rng, random_question(rng, Shape(depth=4, events=9))), deep_count=2_000
    )
