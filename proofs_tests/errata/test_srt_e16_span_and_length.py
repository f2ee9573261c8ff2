"""SRT-E16: a window on the span of the marks does not bound the length (SRT Def. 39).

The definition bounds the span. Unrolling, determinisation and complement need a bound on the length
and are false for the span (SRT Lemma 46; SRT Thm. 41; SRT Cor. 43). cerlab has one operator for
each; they agree if the first and the last event are marked.
"""

from __future__ import annotations

from random import Random

from cerlab import Event, parse_sremo
from cerlab.logic.sremo import matches
from cerlab.logic.sremo import syntax as sre
from cerlab.testing import Shape, random_sremo, random_sremo_events


def test_a_span_window_that_bounds_nothing() -> None:
    """With one mark [1..1] leaves the language of SRT Thm. 38, which no deterministic one accepts.

    So a theorem that makes every windowed expression deterministic cannot be about the span.
    """
    e = parse_sremo("<TRUE>* . <type = 'B'> -> r . <TRUE>* . <type = 'S' AND id = r.id>^")
    for n in range(2, 12):
        for identifier in (n - 2, n):
            S = [*(Event("B", {"id": k}) for k in range(n - 1)), Event("S", {"id": identifier})]
            expected = {(n - 1,)} if identifier == n - 2 else frozenset()
            assert matches(e, S) == expected
            assert matches(sre.SpanWindow(e, 1), S) == expected
            assert matches(sre.LengthWindow(e, 1), S) == frozenset()


def test_random_expressions_meet_it() -> None:
    differ = 0
    for seed in range(400):
        rng = Random(seed)
        e = random_sremo(rng, Shape(events=5), "core")
        S = random_sremo_events(rng, e, Shape(events=5))
        w = rng.choice((1, 2, 3))
        span, length = (matches(kind(e, w), S) for kind in (sre.SpanWindow, sre.LengthWindow))
        assert length <= span
        differ += length != span
    assert differ > 10
