"""The match at a row, and the scan of a partition, by a prioritised automaton (rows.md 5.5, 7).

Steps are tried in order of preference, depth first. Where conditions do not read the mapping, what
failed once in a state at a row fails there for ever, so no state is entered at a row in vain twice
and the search is linear in the rows. Where they read it by FIRST, LAST and COUNT(*), it fails for
the same registers: the rows and counts that are read. Else the search backtracks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from cerlab.automata.prioritised import Accept, PrioritisedAutomaton, Steps
from cerlab.budget import poll
from cerlab.errors import ResourceLimit

MAX_STEPS = 2_000_000
"""How many steps the search for the match at one row may try, and more on long partitions."""

STEPS_PER_ROW = 8
"""So many more for each row of the partition, as a match may be as long."""

MOST_FAILURES = 500_000
"""With more that registers tell apart, the search for the next match begins with none."""

BETWEEN_POLLS = 4096
"""Steps between two looks at the limits."""


class Memory(Enum):
    """For how long a failed search holds: what conditions read decides."""

    PARTITION = "partition"
    """Conditions read the row under test and its neighbours."""
    MATCH = "match"
    """They read where the match begins, or its number, besides."""
    NONE = "none"
    """They read the mapping."""


@dataclass(slots=True)
class GrowingMapping:
    """A mapping that grows and shrinks, as conditions and measures see it."""

    columns: Mapping[str, Sequence[Any]]
    length: int
    names_of: Mapping[str, Sequence[str | None]]
    """The names under which the rows of a variable are looked up."""
    s: int = 0
    number: int = 0
    labels: list[str] = field(default_factory=list)
    is_excluded: list[bool] = field(default_factory=list)
    positions: dict[str | None, list[int]] = field(default_factory=dict)
    visible: int | None = None
    """How many of its rows RUNNING sees; None for all."""
    folds: dict[int, tuple[str | None, list[Any]]] = field(default_factory=dict)
    """Of each aggregate, by its identity, the states after each row of its name so far."""

    def begin(self, s: int, number: int) -> None:
        """The empty mapping from s on."""
        self.s, self.number, self.visible = s, number, None
        self.labels, self.is_excluded, self.folds = [], [], {}
        self.positions = {name: [] for names in self.names_of.values() for name in names}

    def push(self, variable: str, is_excluded: bool) -> None:
        """Map the next row."""
        row = self.s + len(self.labels)
        self.labels.append(variable)
        self.is_excluded.append(is_excluded)
        for name in self.names_of[variable]:
            self.positions[name].append(row)

    def pop(self) -> None:
        """Map the last row no more."""
        variable = self.labels.pop()
        self.is_excluded.pop()
        for name in self.names_of[variable]:
            self.positions[name].pop()
        for name, states in self.folds.values():
            del states[len(self.positions.get(name, ())) + 1 :]

    def count_rows(self, name: str | None, final: bool) -> int:
        """How many rows of a name there are: of those that RUNNING sees, or of all."""
        rows = self.positions.get(name, [])
        if final or self.visible is None:
            return len(rows)
        return bisect_left(rows, self.s + self.visible)

    def fold(
        self, key: int, name: str | None, final: bool, empty: Any, step: Callable[[Any, int], Any]
    ) -> Any:
        """The state of an aggregate after the rows of a name, each stepped through once."""
        _, states = self.folds.setdefault(key, (name, [empty]))
        count = self.count_rows(name, final)
        for i in range(len(states) - 1, count):
            states.append(step(states[i], self.positions[name][i]))
        return states[count]


Condition: TypeAlias = Callable[[GrowingMapping], bool]
RowCondition: TypeAlias = Callable[[GrowingMapping, int], bool]


class ScanResult(NamedTuple):
    """What the scan meets at s: the labels and marks of the match and its number, or None."""

    s: int
    labels: Sequence[str] | None
    is_excluded: Sequence[bool]
    number: int


@dataclass(slots=True)
class Search:
    """The search for matches in one partition.

    `at_row` are the conditions that read a row and its neighbours only, `of_mapping` the others;
    a variable in neither is always true. ``within(s, i)`` is whether row i may belong to a match
    from s on. ``resume(s, labels)`` is where the scan goes on after a match that is not empty.
    """

    automaton: PrioritisedAutomaton[Any]
    mapping: GrowingMapping
    at_row: Mapping[str, RowCondition]
    of_mapping: Mapping[str, Condition]
    within: Callable[[int, int], bool] | None
    resume: Callable[[int, Sequence[str]], int]
    memory: Memory
    registers: Callable[[GrowingMapping], Hashable] | None = None
    """What conditions read of the mapping, None if nothing or not only registers."""
    failures: set[tuple[int, int, Hashable]] = field(default_factory=set)
    truths: dict[tuple[str, int], bool] = field(default_factory=dict)
    attempts: int = 0
    """How many steps were tried, for tests of cost."""

    def scan(self) -> Iterator[ScanResult]:
        """The result at each row where the scan stands (rows.md 7.1).

        A match is given as it stands in `mapping`, which changes when the scan goes on.
        """
        s = number = 0
        while s < self.mapping.length:
            self.mapping.begin(s, number + 1)
            if not self._match(s):
                yield ScanResult(s, None, (), number)
                s += 1
                continue
            number += 1
            labels = self.mapping.labels
            yield ScanResult(s, labels, self.mapping.is_excluded, number)
            s = self.resume(s, labels) if labels else s + 1

    def _match(self, s: int) -> bool:
        """Whether there is a match at s; it is what is mapped then (rows.md 5.4)."""
        many = self.registers is not None and len(self.failures) > MOST_FAILURES
        if many or self.memory is not Memory.PARTITION:
            self.failures.clear()
        length, mapping, look = self.mapping.length, self.mapping, self.attempts
        budget = self.attempts + MAX_STEPS + STEPS_PER_ROW * length
        path = [(self.automaton.initial, iter(self._steps(self.automaton.initial, s)))]
        while path:
            q, choices = path[-1]
            row = s + len(path) - 1
            for step in choices:
                self.attempts += 1
                if isinstance(step, Accept):
                    return True
                if row < length and self._takes(step.variable, step.excluded, s, row):
                    if self._place(step.target, row + 1) not in self.failures:
                        steps = self._steps(step.target, row + 1)
                        path.append((step.target, iter(steps)))
                        break
                    mapping.pop()
            else:
                path.pop()
                if self.memory is not Memory.NONE:
                    self.failures.add(self._place(q, row))
                if path:
                    mapping.pop()
            if self.attempts > look:
                poll()
                look = self.attempts + BETWEEN_POLLS
            if self.attempts > budget:
                raise too_long()
        return False

    def _place(self, q: int, row: int) -> tuple[int, int, Hashable]:
        """What a failure depends on: the state, the row, and what of the mapping is read."""
        return q, row, None if self.registers is None else self.registers(self.mapping)

    def _steps(self, q: int, row: int) -> Steps:
        return self.automaton.steps(q, row == 0, row == self.mapping.length)

    def _takes(self, variable: str, is_excluded: bool, s: int, row: int) -> bool:
        """Map the row to the variable, if its condition holds and WITHIN admits it."""
        if self.within is not None and not self.within(s, row):
            return False
        if variable in self.at_row and not self._holds_at(variable, row):
            return False
        self.mapping.push(variable, is_excluded)
        if variable in self.of_mapping and not self.of_mapping[variable](self.mapping):
            self.mapping.pop()
            return False
        return True

    def _holds_at(self, variable: str, row: int) -> bool:
        key = (variable, row)
        if key not in self.truths:
            self.truths[key] = self.at_row[variable](self.mapping, row)
        return self.truths[key]


def too_long() -> ResourceLimit:
    """The error of a search that tries too many steps."""
    return ResourceLimit(
        "CER0693",
        f"the search for the match at one row tries more than {MAX_STEPS:,} steps",
        hint="conditions that read other rows of the match have to backtrack; bound the "
        "quantifiers before them",
    )
