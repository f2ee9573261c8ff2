"""The direct evaluators of Foundations, with linked lists (FOUND Sec. 7.2; FOUND Thm. 5)."""

from __future__ import annotations

from typing import assert_never

from cerlab.automata.automaton import AnchoredCea
from cerlab.engine.reference.lists.evaluation import Evaluation
from cerlab.engine.reference.lists.maximal import MaxEvaluation
from cerlab.engine.reference.lists.ordered import OrderedEvaluation, last_order, next_order
from cerlab.engine.reference.lists.strict import StrictEvaluation
from cerlab.engine.reference.recogniser import Recogniser
from cerlab.model.answer import ComplexEvent
from cerlab.model.clauses import Strategy


def lists_recogniser(cea: AnchoredCea, strategy: Strategy | None) -> Recogniser[ComplexEvent]:
    """What recognises the complex events of an automaton that a strategy selects (FOUND Thm. 6).

    An answer's interval is from its first position to its last. STRICT asks for events read one
    after the other, whatever their positions. Without a strategy and for STRICT, `advance` raises
    `ResourceLimit` if determinisation meets too many macro-states.
    """
    match strategy:
        case None:
            return Evaluation(cea)
        case Strategy.NXT:
            return OrderedEvaluation(cea, next_order)
        case Strategy.LAST:
            return OrderedEvaluation(cea, last_order)
        case Strategy.MAX:
            return MaxEvaluation(cea)
        case Strategy.STRICT:
            return StrictEvaluation(cea)
        case _:
            assert_never(strategy)
