"""What a search compared, as text: cases by way and by pairs of features, and where holes are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from cerlab.fuzz.features import KNOWN
from proofs_tests.pairs.search import Tally
from proofs_tests.pairs.ways import WAYS

ONE_OF = (
    frozenset(("STRICT", "NEXT", "LAST", "MAX")),
    frozenset(("EVENTS", "SECONDS", "[t]")),
)
"""Clauses of which a query has one at most."""

NO_PAIR = {
    "reference": {"spark keys", "spark ranges", "spark one"},
    "lists": {"ranges", "spark keys", "spark ranges"},
}
"""Ways that never meet: the reference takes short streams and tasks have long ones; lists take no
window and no key, and those others need one."""


def lines(tally: Tally, heading: str) -> Iterator[str]:
    """The report, a line each."""
    yield heading
    yield f"{tally.cases:,} cases, {tally.answered:,} with answers, {len(tally.failed)} that differ"
    yield from (f"  differs: {name}" for name in tally.failed)
    yield ""
    yield "cases that a way took, and the fewest that it shared with another way"
    for way in WAYS:
        shared = {
            other: tally.pairs[way, other] + tally.pairs[other, way]
            for other in WAYS
            if other not in {way, *NO_PAIR.get(way, ())} and way not in NO_PAIR.get(other, ())
        }
        least = min(shared, key=shared.__getitem__)
        yield f"  {way:13}{tally.ways[way]:>9,}   {shared[least]:>9,} with {least}"
    yield ""
    yield "cases by pairs of features"
    width = max(map(len, KNOWN))
    for k, feature in enumerate(KNOWN):
        after = [other for other in KNOWN[k + 1 :] if (feature, other) in possible()]
        counts = ", ".join(f"{other} {_count(tally, feature, other):,}" for other in after)
        yield f"  {feature:{width}}  {counts}".rstrip()
    yield ""
    empty = holes(tally)
    yield f"pairs of features that no case had: {len(empty)} of {len(possible())}"
    yield from (f"  {one} with {other}" for one, other in empty)


def possible() -> list[tuple[str, str]]:
    """The pairs that a query may have."""
    return [p for p in combinations(KNOWN, 2) if not any(frozenset(p) <= one for one in ONE_OF)]


def holes(tally: Tally) -> list[tuple[str, str]]:
    """The pairs that a query may have, and none had."""
    return [pair for pair in possible() if not _count(tally, *pair)]


def _count(tally: Tally, one: str, other: str) -> int:
    return tally.features[min(one, other), max(one, other)]
