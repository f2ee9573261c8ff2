"""Readings of rows by a row pattern, in order of preference, and how far the nearest one comes.

A reading is what a derivation maps (rows.md 5.2). Conditions are those of the reference
(`cerlab.logic.rows.evaluation`); what can be read next says the prioritised automaton. Where no
reading takes the rows that are asked about, the nearest is the one that comes farthest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cerlab.automata.prioritised import Accept, PrioritisedAutomaton, Step
from cerlab.budget import poll
from cerlab.errors import ResourceLimit
from cerlab.logic.rows import expressions as ex
from cerlab.logic.rows import syntax as rp
from cerlab.logic.rows.evaluation import Context, Partition, value
from cerlab.logic.rows.text import expression_text
from cerlab.model.event import Value

MAX_STEPS = 100_000
"""How many steps the search for a reading tries."""

Labels = tuple[str, ...]


class Attempt(NamedTuple):
    """A row that a variable was tried for, and how it came out: True, False or NULL.

    `read` is what the condition reads there. Without `variable` the pattern is complete before the
    row, without `row` the partition, or what is asked about, ends before it; without both an anchor
    does not stand where it has to.
    """

    variable: str | None
    row: int | None
    holds: Value = None
    read: tuple[tuple[str, Value], ...] = ()


@dataclass(slots=True)
class Reader:
    """The pattern of a query on the rows of a partition from s on, as the N-th match.

    `until` is the row before which a reading has to end, None if it may end anywhere. `labels` are
    those of the nearest reading so far, `dead_ends` the attempts after it.
    """

    query: rp.RowPattern
    automaton: PrioritisedAutomaton[Any]
    T: Partition
    s: int
    N: int
    until: int | None = None
    labels: Labels = ()
    dead_ends: list[Attempt] = field(default_factory=list)
    _conditions: Mapping[str, ex.Expression] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._conditions = {d.variable: d.condition for d in self.query.define}

    def reading(self) -> Labels | None:
        """The preferred reading of the rows; None if there is none. Raises `ResourceLimit`."""
        labels: list[str] = []
        path = [self._steps(self.automaton.initial, labels)]
        for _ in range(MAX_STEPS):
            step = next(path[-1], None)
            if step is None:
                path.pop()
                if not path:
                    return None
                labels.pop()
            elif isinstance(step, Accept):
                if self.until in (None, self.s + len(labels)):
                    return tuple(labels)
                self._dead_end(labels, Attempt(None, self.s + len(labels)))
            else:
                attempt = self.attempt(labels, step.variable)
                if attempt.holds is True:
                    labels.append(step.variable)
                    path.append(self._steps(step.target, labels))
                else:
                    self._dead_end(labels, attempt)
        raise ResourceLimit(
            "CER0697",
            f"why a row pattern does not match tries up to {MAX_STEPS:,} steps from a row",
            hint="ask on a part of the table, or about a part of the pattern",
        )

    def _steps(self, q: int, labels: list[str]) -> Iterator[Step | Accept]:
        """What can be done in a state; where anchors leave nothing, that is a dead end."""
        poll()
        row = self.s + len(labels)
        steps = self.automaton.steps(q, row == 0, row == len(self.T.rows))
        if not steps:
            self._dead_end(labels, Attempt(None, None))
        return iter(steps)

    def attempt(self, labels: list[str], variable: str) -> Attempt:
        """What comes of the next row as a variable (rows.md 5.2 a)."""
        i = self.s + len(labels)
        if i >= (len(self.T.rows) if self.until is None else self.until):
            return Attempt(variable, None)
        if not self.admits(i):
            return Attempt(variable, i, False, self._times(i))
        condition = self._conditions.get(variable, ex.Literal(True))
        k = len(labels) + 1
        c = Context(self.T, self.s, [*labels, variable], k, k, self.N, rp.members(self.query))
        read = ((expression_text(e), value(e, c)) for e in _readings(condition))
        return Attempt(variable, i, value(condition, c), tuple(dict(read).items()))

    def admits(self, i: int) -> bool:
        """Whether WITHIN admits row i (rows.md 9.1)."""
        if self.query.within is None:
            return True
        now, then = (row for _, row in self._times(i))
        if now is None or then is None:
            return False
        width: Any = self.query.within
        span: Any = getattr(now, "nanoseconds", now)
        return bool(
            span - getattr(then, "nanoseconds", then) < getattr(width, "nanoseconds", width)
        )

    def _times(self, i: int) -> tuple[tuple[str, Value], ...]:
        """The time of row i, and when the match begins."""
        name = self.query.order_by[0].column.name
        return ((name, self.T.value(i, name)), (f"FIRST({name})", self.T.value(self.s, name)))

    def _dead_end(self, labels: list[str], attempt: Attempt) -> None:
        """Keep an attempt after the reading that comes farthest, of these the preferred."""
        if len(labels) > len(self.labels) or not self.dead_ends:
            self.labels, self.dead_ends = tuple(labels), []
        if tuple(labels) == self.labels and attempt not in self.dead_ends:
            self.dead_ends.append(attempt)


def _readings(e: ex.Expression | ex.AllRows) -> Iterator[ex.Expression]:
    """The parts of a condition that read rows, outermost ones."""
    match e:
        case ex.Column() | ex.Classifier() | ex.MatchNumber() | ex.First() | ex.Last():
            yield e
        case ex.Prev() | ex.Next() | ex.Aggregate():
            yield e
        case _:
            for child in ex.children(e):
                yield from _readings(child)
