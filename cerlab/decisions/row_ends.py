"""Whether all matches of a row pattern from one row end alike, whatever is preferred."""

from __future__ import annotations

from cerlab.automata.live import States, StepTable, step_table
from cerlab.automata.prioritised import Accept
from cerlab.compile.rows_to_prioritised import prioritised_automaton
from cerlab.decisions.row_letters import Row, conditions_of, undecidable
from cerlab.decisions.row_regions import of_all
from cerlab.logic.rows import syntax as rp


def two_ends(query: rp.RowPattern) -> list[Row] | None:
    """A shortest table with two matches of different length from its first row, None if none.

    The pattern has no anchors. Raises `Unsupported` as `equivalent_rows`.
    """
    steps = step_table(prioritised_automaton(query.pattern, every=True))
    if steps is None:
        raise undecidable("the pattern has too many states")
    graph = of_all(conditions_of((query,)))
    level: list[tuple[tuple[States, bool], list[int]]] = [((1, False), [])]
    visited_states = set[tuple[States, bool, int]]()
    while level:
        after = []
        for (states, has_end), path in level:
            for node in graph.following[path[-1]] if path else graph.first:
                letter = frozenset(v for _, v in graph.letters[node])
                targets = _after(steps, states, letter)
                ends = _accepts(steps, targets)
                if has_end and ends:
                    return graph.rows([*path, node])
                there = targets, has_end or ends
                if targets and (*there, node) not in visited_states:
                    visited_states.add((*there, node))
                    after.append((there, [*path, node]))
        level = after
    return None


def _after(steps: StepTable, states: States, letter: frozenset[str]) -> States:
    targets = 0
    for q, choices in enumerate(steps.steps[:-1]):
        if states >> q & 1:
            for step in choices:
                if not isinstance(step, Accept) and step.variable in letter:
                    targets |= 1 << step.target
    return targets


def _accepts(steps: StepTable, states: States) -> bool:
    return any(
        states >> q & 1 and any(isinstance(step, Accept) for step in choices)
        for q, choices in enumerate(steps.steps[:-1])
    )
