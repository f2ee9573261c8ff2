"""E9: the printed construction for ``+`` loses answers (CORE App. A.1)."""

from __future__ import annotations

from random import Random

import pytest

from cerlab import Event, Valuation, parse_formula
from cerlab.automata import compose
from cerlab.automata.automaton import LabelTransition, Vcea
from cerlab.compile import cel_to_vcea as operators
from cerlab.compile.pattern import as_pattern
from cerlab.evaluate import valuations_of
from cerlab.logic.cel.semantics import valuations
from cerlab.model.stream import Stream
from cerlab.predicates.syntax import EVERYTHING
from cerlab.testing import Shape, random_events, random_formula

NO_LABELS: frozenset[str] = frozenset()


ITERATION = compose.iteration


def printed_iteration(
    A: Vcea,
    least: int = 1,
    most: int | None = None,
    *,
    gaps: bool,
    loop: bool = False,
    copies: bool = False,
) -> Vcea:
    """As printed: a fresh state, entered instead of F and left instead of I; nothing else.

    `loop` and `copies` add the two missing parts, one at a time. Counts are not in the paper.
    """
    if (least, most) != (1, None):
        return ITERATION(A, least, most, gaps=gaps)
    w = A.states
    leave = [t._replace(target=w) for t in A.Delta if t.target in A.F]
    enter = [t._replace(source=w) for t in A.Delta if t.source in A.I]
    wait = [LabelTransition(w, EVERYTHING, NO_LABELS, w)] if loop and gaps else []
    both = [t._replace(source=w) for t in leave if t.source in A.I] if copies else []
    return Vcea(w + 1, (*A.Delta, *wait, *leave, *enter, *both), A.I, A.F)


def by_automaton(text: str, word: str) -> set[Valuation]:
    stream = Stream([Event(letter) for letter in word])
    return set(valuations_of(as_pattern(text), stream))


def by_meaning(text: str, word: str) -> set[Valuation]:
    return set(valuations(parse_formula(text), [Event(letter) for letter in word]))


@pytest.mark.parametrize(
    ("word", "losses"),
    [("ABA", {(0, 2)}), ("AAA", {(0, 1, 2), (0, 2)})],
)
def test_the_printed_construction_loses_the_counterexamples(
    word: str, losses: set[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert by_automaton("A+", word) == by_meaning("A+", word)
    monkeypatch.setattr(operators, "iteration", printed_iteration)
    missing = by_meaning("A+", word) - by_automaton("A+", word)
    assert {V.labels["A"] for V in missing} == losses


@pytest.mark.parametrize("parts", [{"loop": True}, {"copies": True}])
def test_either_correction_alone_is_not_enough(
    parts: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        operators, "iteration", lambda A, gaps: printed_iteration(A, gaps=gaps, **parts)
    )
    word = "AAA" if "loop" in parts else "ABA"
    assert by_automaton("A+", word) != by_meaning("A+", word)


def test_random_search_finds_the_misprint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operators, "iteration", printed_iteration)
    wrong = 0
    for seed in range(400):
        rng = Random(seed)
        phi = random_formula(rng, Shape(rich=False))
        stream = Stream(random_events(rng, phi, Shape(rich=False)))
        wrong += set(valuations_of(as_pattern(phi), stream)) != valuations(phi, stream.events)
    assert wrong >= 20
