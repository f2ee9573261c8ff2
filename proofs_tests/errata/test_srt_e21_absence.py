"""SRT-E21: ``!e`` is the complement of e, not its absence (SRT Sec. 5.2).

The report presents ``(A . !(B) . C)[1..w]`` as an A and a C without a B between them. The
expression accepts two Bs between them.
"""

from __future__ import annotations

from itertools import product

from proofs_tests.sremo.tables import match

COMPLEMENT = "(A^ . !(B) . C^)[1..9]"
ABSENCE = ("(A^ . !(_* . B . _*) . C^)[1..9]", "(A^ . <NOT type = 'B'>* . C^)[1..9]")


def test_absence_on_all_short_gaps() -> None:
    agree = differ = 0
    for n in range(5):
        for gap in map("".join, product("BX", repeat=n)):
            expected = frozenset() if "B" in gap else {(0, n + 1)}
            for text in ABSENCE:
                assert match(text, f"A{gap}C") == expected
            is_right = match(COMPLEMENT, f"A{gap}C") == expected
            agree += is_right
            differ += not is_right
    assert agree == 1 + 2 + 1 + 1 + 1
    assert differ == 3 + 7 + 15
