"""Constructions of the papers that no evaluator uses, with their machines and steps.

It is the public module for comparing a construction with the definition of its result.
"""

from cerlab.automata import epsilon
from cerlab.automata.automaton import (
    AnchoredCea,
    LabelTransition,
    Mark,
    Transition,
    Vcea,
    as_kind,
    outgoing,
)
from cerlab.automata.compose import single_final
from cerlab.automata.epsilon import merge, without_epsilon
from cerlab.automata.explore import explore
from cerlab.automata.registers import EpsilonSrt, Label, Srt
from cerlab.compile.cel_to_vcea import cel_to_vcea, vcea_to_cea
from cerlab.compile.sremo_to_srt import register_plan, sremo_to_srt
from cerlab.engine.reference.lists import OrderedEvaluation, next_order
from cerlab.engine.reference.runs import CeaRuns
from cerlab.predicates.syntax import EVERYTHING
from cerlab.theorems import srt

__all__ = [
    "EVERYTHING",
    "AnchoredCea",
    "CeaRuns",
    "EpsilonSrt",
    "Label",
    "LabelTransition",
    "Mark",
    "OrderedEvaluation",
    "Srt",
    "Transition",
    "Vcea",
    "as_kind",
    "cel_to_vcea",
    "dqe",
    "elimination",
    "epsilon",
    "explore",
    "foundations",
    "merge",
    "next_order",
    "outgoing",
    "register_plan",
    "single_final",
    "socel",
    "sremo_to_srt",
    "srt",
    "vcea_to_cea",
    "without_epsilon",
]
