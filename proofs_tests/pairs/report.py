"""Totals of all searches: as JSON for the next night, as text, and with their gaps."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TypeAlias

from cerlab.testing.features import CEL, CLAUSES, FAMILY, TIMED
from proofs_tests.pairs.search import Tally
from proofs_tests.pairs.ways import SECONDS, WAYS

Pair: TypeAlias = tuple[str, str]

FEATURES = (*CEL, *FAMILY, *TIMED, *CLAUSES)

ONE_OF = (
    frozenset(("STRICT", "NEXT", "LAST", "MAX")),
    frozenset(("EVENTS", "SECONDS", "[t]")),
)
"""Clauses of which a query has one at most."""

NEVER = {("lists", "ranges"), ("lists", "spark keys"), ("lists", "spark ranges")}
"""Ways that never meet: lists take no window and no key, and those others need one."""


@dataclass
class Totals:
    """All nights so far."""

    seeds: Counter[str] = field(default_factory=Counter)
    """Number of cases by seed; a seed counts once."""
    tally: Tally = field(default_factory=Tally)

    @classmethod
    def read(cls, path: Path) -> Totals:
        """Return the totals of a file, empty ones if it does not exist."""
        if not path.exists():
            return cls()
        document = json.loads(path.read_text(encoding="utf-8"))
        tally = document["tally"]
        for name in ("ways", "features"):
            counts = {tuple(pair.split(" | ")): n for pair, n in tally[name].items()}
            tally[name] = Counter(counts)
        tally["slow"] = Counter(tally.get("slow", {}))
        return cls(Counter(document["seeds"]), Tally(**tally))

    def add(self, seed: str, tally: Tally) -> None:
        """Count the comparisons of a seed."""
        self.seeds[seed] += tally.cases
        self.tally += tally

    def to_json(self) -> str:
        """As `read` reads it."""
        tally = dict(vars(self.tally))
        for name in ("ways", "features"):
            tally[name] = {" | ".join(pair): n for pair, n in sorted(tally[name].items())}
        return json.dumps({"seeds": self.seeds, "tally": tally}, indent=0) + "\n"


def lines(totals: Totals) -> Iterator[str]:
    """The report, a line each."""
    tally = totals.tally
    yield (
        f"{tally.cases:,} cases of {tally.queries:,} queries, {tally.answered:,} with answers, "
        f"{len(tally.failed)} that differ"
    )
    yield from (f"  differs: {name}" for name in tally.failed)
    slow = ", ".join(f"{way} {n:,}" for way, n in sorted(tally.slow.items())) or "none"
    yield f"ways that ran out of {SECONDS} seconds, of {tally.timed:,} cases: {slow}"
    yield f"seeds: {', '.join(f'{seed} ({n:,})' for seed, n in totals.seeds.items())}"
    yield ""
    yield "cases that a way took, and those that it shared with each other way"
    pairs = [pair for pair in combinations(WAYS, 2) if pair not in NEVER]
    yield from _table(tally.ways, tuple(WAYS), pairs)
    few = [(a, b) for a, b in pairs if 100 * _count(tally.ways, a, b) < tally.cases]
    yield f"pairs of ways that share less than 1 % of the cases: {len(few)} of {len(pairs)}"
    yield from (f"  {one} with {other}" for one, other in few)
    yield ""
    yield "cases that had a feature, and those that had each other feature too"
    yield from _table(tally.features, FEATURES, possible())
    empty = holes(tally)
    yield f"pairs of features that no case had: {len(empty)} of {len(possible())}"
    yield from (f"  {one} with {other}" for one, other in empty)


def _table(
    counts: Mapping[Pair, int], names: Sequence[str], pairs: Collection[Pair]
) -> Iterator[str]:
    width = max(map(len, names))
    for k, name in enumerate(names):
        after = [other for other in names[k + 1 :] if (name, other) in pairs]
        counts_of = ", ".join(f"{other} {_count(counts, name, other):,}" for other in after)
        yield f"  {name:{width}}{_count(counts, name, name):>11,}   {counts_of}".rstrip()


def possible() -> list[Pair]:
    """The pairs of features that a query may have."""
    return [p for p in combinations(FEATURES, 2) if not any(frozenset(p) <= one for one in ONE_OF)]


def holes(tally: Tally) -> list[Pair]:
    """The pairs that a query may have, and none had."""
    return [pair for pair in possible() if not _count(tally.features, *pair)]


def _count(counts: Mapping[Pair, int], one: str, other: str) -> int:
    """Return the count of a pair in either order; pairs are in the order of the ways."""
    return counts.get((one, other), 0) or counts.get((other, one), 0)
