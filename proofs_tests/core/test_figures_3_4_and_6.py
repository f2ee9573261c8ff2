"""The automaton of Figure 3 on its stream, step by step (CORE Fig. 3; CORE Fig. 6)."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import cerlab
from cerlab import Stream
from cerlab.automata.automaton import Mark
from cerlab.compile.pattern import as_pattern
from cerlab.engine.reference.tecs import TecsEvaluation
from cerlab.predicates.text import predicate_text
from proofs_tests.core.tecs_invariants import open_events

FOLDER = Path(__file__).parents[2] / "examples" / "core_figure3"
Q2, Q3, Q4 = 1, 2, 3

Open: TypeAlias = set[tuple[int, tuple[int, ...]]]

FIRST: Open = {(0, (0,))}
BOTH: Open = {(1, (1,)), (0, (0,))}
WITH_2: Open = {(1, (1, 2)), (0, (0, 2))}
WITH_5: Open = WITH_2 | {(1, (1, 5)), (0, (0, 5))}
# After each position: the active states in the order of Figure 6 (top down), with what they hold.
STEPS: list[dict[int, Open]] = [
    {Q2: FIRST},
    {Q2: BOTH},
    {Q3: WITH_2, Q2: BOTH},
    {Q3: WITH_2, Q2: BOTH},
    {Q4: {(1, (1, 2, 4)), (0, (0, 2, 4))}, Q3: WITH_2, Q2: BOTH},
    {Q3: WITH_5, Q2: BOTH},
    {Q4: {(start, (*D, 6)) for start, D in WITH_5}, Q3: WITH_5, Q2: BOTH},
]


def test_the_automaton_is_that_of_figure_3() -> None:
    cea = as_pattern((FOLDER / "query.ceql").read_text()).cea
    assert (cea.states, cea.q0, cea.F) == (4, 0, frozenset({3}))
    Delta = {(t.source, t.mark, t.target): predicate_text(t.predicate) for t in cea.Delta}
    assert len(Delta) == len(cea.Delta)
    assert Delta == {
        (0, Mark.TAKE, 1): "type = 'SELL' AND name = 'MSFT' AND price > 100",
        (1, Mark.SKIP, 1): "TRUE",
        (1, Mark.TAKE, 2): "type = 'SELL' AND name = 'INTL'",
        (2, Mark.SKIP, 2): "TRUE",
        (2, Mark.TAKE, 3): "type = 'SELL' AND name = 'AMZN' AND price < 2000",
    }


def test_the_tecs_holds_what_figure_6_shows() -> None:
    query = cerlab.parse_query((FOLDER / "query.ceql").read_text())
    stream = Stream.read(FOLDER / "events.core")
    evaluation = TecsEvaluation(query.det)
    for j, (event, expected) in enumerate(zip(stream, STEPS, strict=True)):
        evaluation.advance(event, j)
        names = {q: next(iter(query.det.macro_states[q])) for q in evaluation.T}
        assert [names[q] for q in evaluation.T] == list(expected), f"after {j}"
        for q, ul in evaluation.T.items():
            open_of_list = {(start, D) for node in ul for start, D in open_events(node)}
            assert open_of_list == expected[names[q]], f"after {j}"
