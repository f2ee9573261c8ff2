"""Automata with ordered transitions, and the search for the preferred match.

States are built on demand. There are no empty moves: a step reads a row, or accepts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from cerlab.budget import poll
from cerlab.display import drawable
from cerlab.errors import ResourceLimit

State = TypeVar("State", bound=Hashable)


class ReadRow(NamedTuple):
    """A step that reads a row as a variable and continues in state `target`.

    `excluded` rows are hidden.
    """

    variable: str
    excluded: bool
    target: int


class Accept(NamedTuple):
    """The step that ends a match."""


ACCEPT: Final = Accept()

Steps: TypeAlias = tuple[ReadRow | Accept, ...]
"""Steps, the most preferred first; none follows `ACCEPT`, which never fails."""


class Open(NamedTuple, Generic[State]):
    """A step whose target state has no number yet."""

    variable: str
    excluded: bool
    target: State


@drawable
class PrioritisedAutomaton(Generic[State]):
    """An automaton whose steps have an order of preference, computed by the function `follow`.

    ``follow(w, at_start, at_end)`` returns the steps of the macro-state w, in order of preference;
    the flags are true before the first row of the partition and after its last row. States are
    numbered in the order of discovery, `initial` is 0.
    """

    initial: Final = 0

    def __init__(
        self,
        initial: State,
        follow: Callable[[State, bool, bool], tuple[Open[State] | Accept, ...]],
    ) -> None:
        self._follow = follow
        self._numbers = {initial: 0}
        self._states = [initial]
        self._steps: dict[tuple[int, bool, bool], Steps] = {}

    def __len__(self) -> int:
        """Return the number of states discovered so far."""
        return len(self._states)

    def steps(self, q: int, at_start: bool, at_end: bool) -> Steps:
        """Return the steps of a state, in order of preference."""
        key = (q, at_start, at_end)
        if key not in self._steps:
            open_steps = self._follow(self._states[q], at_start, at_end)
            self._steps[key] = tuple(
                ACCEPT
                if isinstance(step, Accept)
                else ReadRow(step.variable, step.excluded, self._number(step.target))
                for step in open_steps
            )
        return self._steps[key]

    def _number(self, w: State) -> int:
        if w not in self._numbers:
            self._numbers[w] = len(self._states)
            self._states.append(w)
        return self._numbers[w]


MAX_STATES = 1_000
"""The most states of a compiled automaton: live sets of larger ones need too much memory."""

States: TypeAlias = int
"""A set of states: bit q is state q."""

Letter: TypeAlias = frozenset[str]
"""The variables that hold at a row."""


class StepTable(NamedTuple):
    """All states of an automaton with their steps; a match begins in state 0.

    The last state is an alternative beginning, before the first row of a partition.
    """

    steps: tuple[Steps, ...]
    final: States
    """The states that accept after the last row."""

    @property
    def first_row(self) -> int:
        """The initial state for matches that begin at the first row of a partition."""
        return len(self.steps) - 1


def step_table(A: PrioritisedAutomaton[Any], at_most: int = MAX_STATES) -> StepTable | None:
    """Return all states of an automaton as a table; None if there are more than `at_most`."""
    # computing steps adds states to A: the loop ends when no new one appears
    at_start = A.steps(A.initial, True, False)
    steps: list[Steps] = []
    while len(steps) < len(A):
        if len(A) > at_most:
            return None
        steps.append(A.steps(len(steps), False, False))
    final = [q for q in range(len(steps)) if _accepts(A.steps(q, False, True))]
    return StepTable((*steps, at_start), sum(1 << q for q in final))


def _accepts(steps: Steps) -> bool:
    return any(isinstance(step, Accept) for step in steps)


class LiveSets:
    """The sets of live states, numbered; from a live state, some run accepts."""

    def __init__(self, table: StepTable) -> None:
        self.table = table
        self.sets: list[States] = [table.final]
        self._numbers = {table.final: 0}
        self._before: dict[tuple[int, Letter], int] = {}

    def before(self, following: int, letter: Letter) -> int:
        """Return the number of the live states at a row, given that of the next row."""
        key = (following, letter)
        if key not in self._before:
            live = live_before(self.table.steps, self.sets[following], letter)
            if live not in self._numbers:
                self._numbers[live] = len(self.sets)
                self.sets.append(live)
            self._before[key] = self._numbers[live]
        return self._before[key]

    def lives(self, number: int, q: int) -> bool:
        """Return whether a state is in a set of live states."""
        return bool(self.sets[number] >> q & 1)

    def step(self, q: int, letter: Letter, following: int) -> ReadRow | None:
        """Return the preferred step of a live state to another one; None to accept."""
        for step in self.table.steps[q]:
            if isinstance(step, Accept):
                return None
            if step.variable in letter and self.lives(following, step.target):
                return step
        raise AssertionError("a live state has no step to a live state")


def live_before(steps: Sequence[Steps], following: States, letter: Letter) -> States:
    """Return the states whose steps accept, or lead to a live state."""
    return sum(1 << q for q, choices in enumerate(steps) if leads(choices, following, letter))


def leads(steps: Iterable[ReadRow | Accept], following: States, letter: Letter) -> bool:
    """Return whether some step accepts or leads to a live state."""
    return any(
        isinstance(step, Accept) or (step.variable in letter and following >> step.target & 1)
        for step in steps
    )


MAX_STEPS = 2_000_000
"""The most steps that the search for one match may try, plus `STEPS_PER_ROW` for each row."""

STEPS_PER_ROW = 8
"""The extra steps for each row of the partition: a match may be that long."""

MOST_FAILURES = 500_000
"""The most failures that registers distinguish; beyond it, the next match starts with none."""

BETWEEN_POLLS = 4096
"""The number of steps between two checks of the limits."""


class Memory(Enum):
    """The period for which a failed search stays valid, depending on what conditions read."""

    PARTITION = "partition"
    """Conditions read the row under test and its neighbours."""
    MATCH = "match"
    """Conditions also read where the match begins, or its number."""
    NONE = "none"
    """Conditions read the mapping."""


class MissingRow(Exception):
    """Signal that the search needs a row that has not arrived."""


class Refused(Exception):
    """The signal that columns cannot hold the values of a batch, or evaluate its conditions."""


@dataclass(slots=True)
class OpenEnd:
    """The length of a partition that may still grow; comparing beyond it raises `MissingRow`.

    It is compared like an integer, as in ``row < length``.
    """

    rows: int = 0

    def __gt__(self, row: int) -> bool:
        if row < self.rows:
            return True
        raise MissingRow


@dataclass(slots=True)
class GrowingMapping:
    """A match in progress, which the search extends and shortens row by row."""

    columns: Mapping[Any, Sequence[Any]]
    """The values of columns; and, by a variable, what is known of its condition at each row."""
    length: int | OpenEnd
    names_of: Mapping[str, Sequence[str | None]]
    """The names under which the rows of a variable are looked up."""
    s: int = 0
    number: int = 0
    labels: list[str] = field(default_factory=list)
    is_excluded: list[bool] = field(default_factory=list)
    positions: defaultdict[str | None, list[int]] = field(default_factory=lambda: defaultdict(list))
    visible: int | None = None
    """The number of its rows that RUNNING sees; None for all."""
    folds: dict[int, tuple[str | None, list[Any]]] = field(default_factory=dict)
    """The states of each aggregate, by its identity, after each row of its name."""
    rows: int = field(init=False)
    """The number of rows that have come."""
    is_open: bool = field(init=False)
    """True if rows may be added."""

    def __post_init__(self) -> None:
        self.set_length(self.length)

    def set_length(self, length: int | OpenEnd) -> None:
        """Set the length of the partition."""
        self.length = length
        self.is_open = isinstance(length, OpenEnd)
        self.rows = length.rows if isinstance(length, OpenEnd) else length

    def begin(self, s: int, number: int) -> None:
        """Begin an empty match at row s, with number `number`."""
        self.s, self.number, self.visible = s, number, None
        self.labels, self.is_excluded, self.folds = [], [], {}
        self.positions = defaultdict(list)

    def push(self, variable: str, is_excluded: bool) -> None:
        """Add the next row to the match."""
        row = self.s + len(self.labels)
        self.labels.append(variable)
        self.is_excluded.append(is_excluded)
        for name in self.names_of[variable]:
            self.positions[name].append(row)

    def pop(self) -> None:
        """Remove the last row from the match."""
        variable = self.labels.pop()
        self.is_excluded.pop()
        for name in self.names_of[variable]:
            self.positions[name].pop()
        # drop aggregate states of the removed row; the state before the first row remains
        for name, states in self.folds.values():
            del states[len(self.positions[name]) + 1 :]

    def count_rows(self, name: str | None, final: bool) -> int:
        """Return the number of rows of a name: all (FINAL), or up to the current one (RUNNING)."""
        rows = self.positions[name]
        if final or self.visible is None:
            return len(rows)
        # rows of a name are ascending, so RUNNING sees the first ones
        return bisect_left(rows, self.s + self.visible)

    def fold(
        self, key: int, name: str | None, final: bool, empty: Any, step: Callable[[Any, int], Any]
    ) -> Any:
        """Return the state of an aggregate after the rows of a name, updated row by row.

        Each row is stepped through once.
        """
        _, states = self.folds.setdefault(key, (name, [empty]))
        count = self.count_rows(name, final)
        for i in range(len(states) - 1, count):
            states.append(step(states[i], self.positions[name][i]))
        return states[count]


Condition: TypeAlias = Callable[[GrowingMapping], bool]

RowCondition: TypeAlias = Callable[[GrowingMapping, int], bool]


class ScanResult(NamedTuple):
    """The result of the search at row s: the labels of the match and its number, or None."""

    s: int
    labels: Sequence[str] | None
    is_excluded: Sequence[bool]
    number: int


@dataclass(slots=True)
class Search:
    """The search for matches in one partition.

    `at_row` are the conditions that read a row and its neighbours only, `of_mapping` the others;
    a variable in neither is always true. ``within(s, i)`` returns whether row i may belong to a
    match from s on. ``resume(s, labels)`` returns the row where the scan continues after a match
    that is not empty.
    """

    automaton: PrioritisedAutomaton[Any]
    mapping: GrowingMapping
    at_row: Mapping[str, RowCondition]
    of_mapping: Mapping[str, Condition]
    within: Callable[[int, int], bool] | None
    resume: Callable[[int, Sequence[str]], int]
    memory: Memory
    registers: Callable[[GrowingMapping], Hashable] | None = None
    """The registers of the mapping that conditions read; None if registers do not suffice."""
    failures: set[tuple[int, int, Hashable]] = field(default_factory=set)
    attempts: int = 0
    """The number of tried steps, for tests of cost."""
    s: int = 0
    """The current row of the scan."""
    number: int = 0
    """The number of matches so far."""
    drop: Callable[[int], int] | None = None
    """A function that drops rows no match from a row on reads, and returns their number; or
    None."""
    dropped: int = 0
    """The number of rows dropped so far: row 0 is the first of the partition while it is 0."""

    def scan(self) -> Iterator[ScanResult]:
        """Yield the result at each row where the scan looks for a match.

        The match is in `mapping`, which changes when the scan continues.
        """
        return (result for result in self.live_scan() if result is not None)

    def live_scan(self) -> Iterator[ScanResult | None]:
        """Yield the results of `scan`, and None whenever the next one needs a row that is missing.

        The search continues at the step where it waits, so no step is tried again for a new row.
        """
        while True:
            self.s -= self._forget(self.s)
            while self.s >= self.mapping.rows:
                if not self.mapping.is_open:
                    return
                yield None
            s = self.s
            self.mapping.begin(s, self.number + 1)
            if not (yield from self.find_match(s)):
                yield ScanResult(s, None, (), self.number)
                self.s += 1
                continue
            labels = self.mapping.labels
            yield ScanResult(s, labels, self.mapping.is_excluded, self.number + 1)
            # after the yield, because a state saved before has to find this match again
            self.number += 1
            self.s = self.resume(s, labels) if labels else s + 1

    def _forget(self, s: int) -> int:
        """Drop rows that matches from row s on do not read; return their number."""
        count = 0 if self.drop is None else self.drop(s)
        if count:
            self.dropped += count
            self.failures.clear()
        return count

    def find_match(self, s: int) -> Generator[None, None, bool]:
        """Search for a match at row s, leaving it in `mapping`; return whether there is one.

        Yields whenever it waits for a row.
        """
        # failures depend on registers, which differ between matches
        many = self.registers is not None and len(self.failures) > MOST_FAILURES
        if many or self.memory is not Memory.PARTITION:
            self.failures.clear()
        mapping, look, before = self.mapping, self.attempts, self.attempts
        while (steps := self._steps(self.automaton.initial, s)) is None:
            yield
        path = [(self.automaton.initial, iter(steps))]
        while path:
            q, choices = path[-1]
            row = s + len(path) - 1
            for step in choices:
                self.attempts += 1
                if isinstance(step, Accept):
                    return True
                while (takes := self._takes(step.variable, step.excluded, s, row)) is None:
                    yield
                if takes:
                    # invariant: all steps from a state and row in `failures` were tried in vain
                    if self._place(step.target, row + 1) not in self.failures:
                        while (steps := self._steps(step.target, row + 1)) is None:
                            yield
                        path.append((step.target, iter(steps)))
                        break
                    mapping.pop()
            else:
                path.pop()
                if self.memory is not Memory.NONE:
                    self.failures.add(self._place(q, row))
                if path:
                    mapping.pop()
            # a check of limits takes 400 ns, about as long as a step
            if self.attempts > look:
                poll()
                look = self.attempts + BETWEEN_POLLS
                if self.attempts > before + MAX_STEPS + STEPS_PER_ROW * mapping.rows:
                    raise too_long()
        return False

    def _place(self, q: int, row: int) -> tuple[int, int, Hashable]:
        """Return the key of a failed search: state, row, and what conditions read of the match."""
        return q, row, None if self.registers is None else self.registers(self.mapping)

    def _steps(self, q: int, row: int) -> Steps | None:
        """Return the steps of a state at a row; None if `$` needs to know whether a row follows."""
        at_start, mapping = row + self.dropped == 0, self.mapping
        steps = self.automaton.steps(q, at_start, False)
        if row != mapping.rows:
            return steps
        at_end = self.automaton.steps(q, at_start, True)
        return None if mapping.is_open and at_end != steps else at_end

    def _takes(self, variable: str, is_excluded: bool, s: int, row: int) -> bool | None:
        """Add the row to the match as a variable if conditions permit; return whether it was added.

        None, without mapping the row, if this depends on a row that has not arrived.
        """
        mapping = self.mapping
        if row >= mapping.rows:
            return None if mapping.is_open else False
        if self.within is not None and not self.within(s, row):
            return False
        try:
            if variable in self.at_row and not self.at_row[variable](mapping, row):
                return False
        except MissingRow:
            return None
        mapping.push(variable, is_excluded)
        if variable not in self.of_mapping:
            return True
        try:
            if self.of_mapping[variable](mapping):
                return True
        except MissingRow:
            mapping.pop()
            return None
        mapping.pop()
        return False


def too_long() -> ResourceLimit:
    """Return the error that a search for a match takes too many steps."""
    return ResourceLimit(
        "CER0693",
        f"the search for the match at one row tries more than {MAX_STEPS:,} steps",
        hint="conditions that read other rows of the match have to backtrack; bound the "
        "quantifiers before them",
    )
