"""Whether each match has one run, so that answers can be counted and listed without comparing them.

Two runs of one match begin and mark at the same events. They are followed as a pair of states: as
long as they are one run, their registers are the same, so that of two moves whose comparisons
exclude each other one at most goes on; once they have parted, nothing is assumed of registers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import NamedTuple, TypeAlias

from cerlab.engine.registers.program import DEAD, Move
from cerlab.engine.registers.residual import Clause, Literal
from cerlab.predicates.syntax import Operator

MAX_STEPS = 200_000
"""Pairs of moves that are looked at; beyond, matches are taken to have several runs."""


class Rule(NamedTuple):
    """A move where its residual guard holds."""

    move: int
    clauses: tuple[Clause, ...]


Symbols: TypeAlias = Sequence[Mapping[int, Sequence[Rule]]]
"""For each symbol the rules by the state that they leave."""


def unambiguous(moves: Sequence[Move], symbols: Symbols) -> bool:
    """Whether no two runs over the same symbols have the same match.

    A "no" may be wrong, where registers tell runs apart that have parted; a "yes" never is.
    """
    steps = 0
    pairs: set[tuple[int, int]] = set()
    pending: list[tuple[int, int]] = []

    def both_end(a: Rule, b: Rule) -> bool:
        """Go on with a pair of moves that do the same; whether both end the match."""
        first, second = moves[a.move], moves[b.move]
        if (first.marks, first.begins) != (second.marks, second.begins):
            return False
        pair = min(first.target, second.target), max(first.target, second.target)
        if DEAD not in pair and pair not in pairs:
            pairs.add(pair)
            pending.append(pair)
        return first.accepts and second.accepts

    for rules in symbols:
        for of_state in rules.values():
            for a, b in combinations(of_state, 2):
                if _compatible(a, b) and both_end(a, b):
                    return False
    while pending:
        p, q = pending.pop()
        for rules in symbols:
            for a, b in product(rules.get(p, ()), rules.get(q, ())):
                steps += 1
                if steps > MAX_STEPS or both_end(a, b):
                    return False
    return True


def _compatible(a: Rule, b: Rule) -> bool:
    """Whether the registers of one run may let both moves go on."""
    return any(_consistent(one | other) for one, other in product(a.clauses, b.clauses))


_ORDERS = {
    Operator.LT: {-1},
    Operator.LE: {-1, 0},
    Operator.EQ: {0},
    Operator.GE: {0, 1},
    Operator.GT: {1},
    Operator.NE: {-1, 1},
}
"""How the left side may stand to the right one where a comparison holds."""


def _consistent(clause: frozenset[Literal]) -> bool:
    """Whether nothing in a clause excludes something else in it, as far as this can be seen."""
    orders: dict[object, set[int]] = {}
    for literal in clause:
        if Literal(literal.comparison, not literal.is_negated) in clause:
            return False
        if not literal.is_negated:
            sides = (literal.comparison.left, literal.comparison.right)
            orders.setdefault(sides, {-1, 0, 1}).intersection_update(
                _ORDERS[literal.comparison.operator]
            )
    return all(orders.values())
