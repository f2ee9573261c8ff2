"""phi_1 to phi_6 of the paper on its Figure 1 (FOUND Sec. 2).

The answers that its text names are in ``cerlab/conformance/cases/figure-1.json``. phi_5
(FOUND Sec. 5.1) has a free variable: its answer {2} rests on event 6. phi_6 is the formula
that local filter pushing cannot bring into LP-normal form.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import cerlab
from cerlab import parse_formula
from cerlab.logic.focel import semantics
from cerlab.logic.focel.rewrite import is_lp, lp_normal_form
from cerlab.logic.focel.semantics import complex_events

FIGURE_1 = cerlab.Stream.read(Path(__file__).parents[2] / "examples" / "fire_phi1" / "events.core")

FIRE = "x.tmp > 40 AND y.hum <= 25 AND x.id = 0 AND y.id = 0"
PHI = {
    1: f"(T AS x ; H AS y) FILTER {FIRE}",
    2: f"((T AS x ; H AS y) OR (H AS y ; T AS x)) FILTER {FIRE}",
    3: "(H AS x ; (T AS y FILTER y.id = 1)+ ; H AS z) "
    "FILTER x.hum < 30 AND z.hum > 60 AND x.id = 1 AND z.id = 1",
    4: "(H AS x ; (T AS y FILTER y.id = x.id)+ ; H AS z) "
    "FILTER x.hum < 30 AND z.hum > 60 AND x.id = z.id",
    5: "H AS x FILTER y.tmp <= 30",
    6: "T AS x ; ((T AS y FILTER x.tmp >= 40) OR (H AS y FILTER x.tmp < 40))",
}


def test_phi_5_depends_on_the_future() -> None:
    """{2} is in [[phi_5]](S) because of event 6, later than all of the answer."""
    phi = semantics.with_variables(parse_formula(PHI[5]))
    assert not semantics.well_formed(phi)
    events = FIGURE_1.events
    assert frozenset({2}) in complex_events(phi, events)
    assert frozenset({2}) not in complex_events(phi, events[:6])
    with pytest.raises(cerlab.IllFormed, match="'y'"):
        cerlab.evaluate(PHI[5], FIGURE_1, logic="fo")


def test_phi_6_splits_its_binder() -> None:
    """Both copies of T AS x get the filter of their branch (FOUND Sec. 5.2)."""
    phi = parse_formula(PHI[6])
    in_lp = lp_normal_form(phi)
    assert not is_lp(phi)
    assert is_lp(in_lp)
    after_heat = {(1, 4), (1, 5), (1, 6), (4, 5), (4, 6), (5, 6)}
    by_hand = after_heat | {(6, 7), (6, 8)}
    answers = cerlab.evaluate(in_lp, FIGURE_1, logic="fo")
    assert {m.positions for m in answers} == by_hand


def test_valuations_under_fo_say_which_variable_has_which_event() -> None:
    first = cerlab.valuations(PHI[1], FIGURE_1, logic="fo")
    assert {(V.labels["x"], V.labels["y"]) for V in first} == {
        ((i,), (j,)) for i, j in ((1, 2), (1, 8), (5, 8))
    }
    assert all(V.labels["T"] == V.labels["x"] for V in first)
    third = cerlab.valuations(PHI[3], FIGURE_1, logic="fo")
    assert {V.labels["y"] for V in third} == {(4, 6), (6,), (4,)}
