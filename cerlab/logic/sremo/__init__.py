"""SREMO, regular expressions over events with registers and marks (SRT Def. 15).

Syntax, text, and the semantics that everything else is tested against.
"""

from cerlab.logic.sremo.parser import parse_sremo, sremo_text
from cerlab.logic.sremo.semantics import Derivation, derivations, detections, matches
from cerlab.logic.sremo.syntax import Sremo, check_sremo

__all__ = [
    "Derivation",
    "Sremo",
    "check_sremo",
    "derivations",
    "detections",
    "matches",
    "parse_sremo",
    "parser",
    "semantics",
    "sremo_text",
    "syntax",
]
