"""SRT-E5: a match consumes the whole string, not a prefix (SRT Def. 18).

The example after the definition calls {1, 4} a match of the pattern on a stream of six events. It
is a match of the first four events, and an answer in the stream.
"""

from __future__ import annotations

from random import Random

from cerlab import Event, Sremo, parse_sremo
from cerlab.logic.sremo import matches
from cerlab.testing import Shape, random_sremo, random_sremo_events
from proofs_tests.sremo.tables import Match

PATTERN = parse_sremo("<type = 'B'>^ -> r1 . <TRUE>* . <type = 'S' AND id = r1.id>^")
STREAM = [
    Event(kind, {"id": identifier})
    for kind, identifier in (("B", 1), ("B", 1), ("B", 2), ("S", 1), ("S", 1), ("B", 2))
]


def of_some_prefix(e: Sremo, S: list[Event]) -> Match:
    """The matches of a string as the example takes them."""
    of_prefixes = (matches(e, S[:k]) for k in range(len(S) + 1))
    return frozenset[tuple[int, ...]]().union(*of_prefixes)


def test_the_example_as_printed() -> None:
    assert (0, 3) in of_some_prefix(PATTERN, STREAM)
    assert matches(PATTERN, STREAM) == frozenset()


def test_random_expressions_meet_it() -> None:
    differ = 0
    for seed in range(400):
        rng = Random(seed)
        e = random_sremo(rng, Shape(events=5), "core")
        S = random_sremo_events(rng, e, Shape(events=5))
        assert matches(e, S) <= of_some_prefix(e, S)
        differ += matches(e, S) != of_some_prefix(e, S)
    assert differ > 20
