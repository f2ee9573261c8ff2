"""The transducers that the report draws, as values.

(SRT Fig. 4; SRT Fig. 5; SRT Fig. 12; SRT Fig. 14)
"""

from __future__ import annotations

from dataclasses import replace

from cerlab.automata.registers import EpsilonSrt, Srt
from cerlab.automata.unrolled import determinise, unroll
from cerlab.compile.sremo_to_srt import sremo_to_srt
from proofs_tests.sremo.tables import sre
from proofs_tests.srt.cases import step

R1 = frozenset({"r1"})
B, SAME = "type = 'B'", "type = 'S' AND id = r1.id"

FIG_1 = Srt(
    3,
    (step(0, f"{B} ^ -> r1", 1), step(1, "TRUE", 1), step(1, f"{SAME} ^", 2)),
    frozenset({0}),
    frozenset({2}),
    R=R1,
)
"""A B, and later an S with its id: of Example 16."""

CHEAP_OR_DEAR = (
    "(<type = 'B' AND price < 10>^ -> r1 | <type = 'B' AND NOT price <= 500>^ -> r1)"
    " . <type = 'S' AND id = r1.id>^"
)
FIG_3: EpsilonSrt = sremo_to_srt(sre(CHEAP_OR_DEAR))
"""The transducer of Example 28 as compiled, with its empty moves."""

FIG_4 = Srt(3, (step(0, "TRUE", 0), *FIG_1.Delta), frozenset({0}), frozenset({2}), R=R1)
"""The same after any events; no deterministic transducer has its language."""

FIG_5A = unroll(FIG_4, 3)
"""Fig. 4 unrolled to a window of 3; the figure's r2 is b1, its r1 is b2."""

FIG_5B = determinise(FIG_5A)
"""That, determinised, with the empty set as a state."""

FIG_12 = Srt(
    3,
    (
        step(0, "TRUE", 0),
        step(0, "TRUE ^ -> r", 1),
        step(1, "TRUE", 1),
        step(1, "type = r.type ^", 2),
    ),
    frozenset({0}),
    frozenset({2}),
    R=frozenset("r"),
)
"""The last event repeats an earlier type."""

FIG_12_CORRECTED = replace(FIG_12, Delta=(*FIG_12.Delta, step(2, "TRUE", 2)))
"""Some type occurs twice: any events may follow (erratum SRT-E13)."""

FIG_14 = Srt(
    6,
    (
        step(0, "TRUE", 1),
        step(0, "TRUE", 4),
        step(1, "v = 1", 2),
        step(1, "v > 0", 3),
        step(4, "v < 2", 5),
    ),
    frozenset({0}),
    frozenset({2, 3, 5}),
    R=frozenset(),
)
"""Two states, 1 and 4, with three guards on what leaves them."""
