"""Certificates of equivalence for tests: equivalent queries, a second checker, and faults."""

from __future__ import annotations

from random import Random
from typing import Any, TypeAlias

Certificate: TypeAlias = dict[str, Any]

EQUIVALENT = (
    ("A ; (B OR C)", "(A ; B) OR (A ; C)"),
    ("A+", "A OR (A ; A+)"),
    ("(A:+)+", "A+"),
    ("A ALL B", "B ALL A"),
    ("(A ; A) UNLESS (B OR C)", "((A ; A) UNLESS B) UNLESS C"),
    ("(A ; B) FILTER A[v > 1] FILTER A[v < 3]", "(A ; B) FILTER A[v > 1 AND v < 3]"),
    ("SELECT * WHERE A ; B WITHIN 2 EVENTS", "SELECT * WHERE (A ; B WITHIN 2 EVENTS)"),
    ("SELECT NEXT * WHERE A+ ; B", "SELECT NEXT * WHERE A+ ; (B OR B)"),
    ("SELECT MAX * WHERE A+ ; B", "SELECT MAX * WHERE A+ ; B OR (A ; B)"),
)


def is_bisimulation(certificate: Certificate) -> bool:
    """Return whether the relation holds at the start, and wherever related states lead."""
    related = {(p, q) for p, q in certificate["relation"]}
    left, right = certificate["left"], certificate["right"]
    return (0, 0) in related and all(
        left["accepts"][p] == right["accepts"][q]
        and all(
            (to, other) in related
            for row, others in zip(left["next"][p], right["next"][q], strict=True)
            for to, other in zip(row, others, strict=True)
        )
        for p, q in related
    )


def with_fault(rng: Random, certificate: Certificate) -> None:
    """Change one target, one state or one pair, mostly to something that can be read."""
    side = certificate[rng.choice(("left", "right"))]
    state = rng.randrange(len(side["accepts"]))
    match rng.randrange(4):
        case 0:
            side["accepts"][state] = not side["accepts"][state]
        case 1:
            row = rng.choice(side["next"][state])
            row[rng.randrange(3)] = rng.randrange(len(side["accepts"]))
        case 2:
            del certificate["relation"][rng.randrange(len(certificate["relation"]))]
        case _:
            rng.choice(certificate["relation"])[rng.randrange(2)] = 0
