"""Derivations: how a formula comes to a valuation, as a tree with a node for each subformula."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cerlab.display import shown
from cerlab.logic.cel.syntax import Formula
from cerlab.model.answer import Valuation
from cerlab.why.failure import Failure, Path


@shown
@dataclass(frozen=True, slots=True)
class Derivation:
    """One node: a subformula, the valuation that it contributes, and what that is made of.

    The children of an iteration are its rounds, of OR the side that was taken, of UNLESS the left
    side; of other operators one for each operand. `failures` are the obligations that the node and
    those below it do not meet: without any, `valuation` is one of the subformula by the semantics
    (CORE Table 2). `valuation` is None where no event is there for the subformula.
    """

    part: Formula
    path: Path
    valuation: Valuation | None
    children: tuple[Derivation, ...] = ()
    failures: tuple[Failure, ...] = ()

    @property
    def interval(self) -> tuple[int, int]:
        """From where to where it is; it has an event."""
        assert self.valuation is not None
        return self.valuation.start, self.valuation.end

    def __iter__(self) -> Iterator[Derivation]:
        """The nodes, outermost first, left to right."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(node.children))


def moved(derivation: Derivation, positions: Sequence[int]) -> Derivation:
    """The same in positions of the whole stream; `positions` has them for those of a substream."""
    V = derivation.valuation
    return replace(
        derivation,
        valuation=None if V is None else _moved(V, positions),
        children=tuple(moved(child, positions) for child in derivation.children),
    )


def _moved(V: Valuation, positions: Sequence[int]) -> Valuation:
    labels = {X: tuple(positions[i] for i in D) for X, D in V.labels.items()}
    return Valuation(positions[V.start], positions[V.end], labels)
