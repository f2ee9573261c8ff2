"""A deterministic automaton, explored over its minterms, with readable guards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from cerlab.automata.cea import Mark
from cerlab.automata.determinise import DeterministicCea
from cerlab.automata.explore import explore
from cerlab.predicates.minterms import minterms
from cerlab.predicates.text import predicate_text


class GuardedMove(NamedTuple):
    """``source -- guard / mark --> target``; the guard is a set of truth vectors as text."""

    source: int
    guard: str
    mark: Mark
    target: int


@dataclass(frozen=True, slots=True)
class ExploredCea:
    """All of a deterministic automaton: macro-states, moves, and the legend of the guards.

    A guard is a list of bit strings, bit k (from the left) for ``legend[k]``; ``TRUE`` is all of
    them. `exact` says that every listed vector is had by some event.
    """

    macro_states: tuple[frozenset[int], ...]
    moves: tuple[GuardedMove, ...]
    final: frozenset[int]
    legend: tuple[str, ...]
    exact: bool


def explored(det: DeterministicCea) -> ExploredCea:
    """Explore every macro-state on every minterm; raises `ResourceLimit` where that is too much."""
    every = minterms(det.predicates)

    def follow(state: int) -> list[tuple[tuple[int, Mark], int]]:
        moves = []
        for minterm in every:
            take, skip = det.step(state, minterm.symbol)
            moves += [((minterm.symbol, Mark.TAKE), take)] if take is not None else []
            moves += [((minterm.symbol, Mark.SKIP), skip)] if skip is not None else []
        return moves

    found = explore(det.q0, follow, lambda q: det.final[q])
    number = {q: n for n, q in enumerate(found.states)}
    grouped: dict[tuple[int, Mark, int], list[int]] = {}
    for source, (symbol, mark), target in found.moves:
        grouped.setdefault((number[source], mark, number[target]), []).append(symbol)
    width = len(det.predicates)
    moves = tuple(
        GuardedMove(source, _guard(symbols, len(every), width), mark, target)
        for (source, mark, target), symbols in grouped.items()
    )
    return ExploredCea(
        macro_states=tuple(det.macro_states[q] for q in found.states),
        moves=moves,
        final=frozenset(number[q] for q in found.final),
        legend=tuple(map(predicate_text, det.predicates)),
        exact=all(minterm.example is not None for minterm in every),
    )


def shortest_answer(A: ExploredCea) -> int | None:
    """The fewest events that an answer spans, None if no final macro-state is reached.

    A lower bound where `A` is not exact.
    """
    after: dict[int, set[int]] = {}
    for move in A.moves:
        after.setdefault(move.source, set()).add(move.target)
    frontier, seen, length = {0}, {0}, 0
    while frontier:
        frontier = {q for p in frontier for q in after.get(p, ())} - seen
        seen |= frontier
        length += 1
        if frontier & A.final:
            return length
    return None


def _guard(symbols: list[int], of: int, width: int) -> str:
    if len(symbols) == of:
        return "TRUE"
    return " ".join(format(symbol, f"0{width}b")[::-1] for symbol in sorted(symbols))
