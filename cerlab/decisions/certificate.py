"""Certificates that two queries are equivalent, for a checker independent of the search.

A certificate is two complete machines over letters, and a bisimulation between their states. A
letter is a truth vector of the tests of both queries (a minterm). In one step a machine reads a
letter before the start of an answer, or with a mark. A window in events is a part of the machine.
PARTITION BY has a certificate for each kind of key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from cerlab.automata.decide import STUCK, Joint, WindowedMachine
from cerlab.budget import spend, step_budget
from cerlab.compile.pattern import Pattern
from cerlab.decisions.question import Question, keys_of, outside
from cerlab.errors import Unsupported
from cerlab.model.clauses import Consume
from cerlab.model.event import Value
from cerlab.predicates.text import predicate_text

FORMAT = "cerlab-certificate"
VERSION = 1


@step_budget("the certificate", "ask about a smaller query, or about parts of it")
def certificates(left: Pattern, right: Pattern) -> list[dict[str, Any]]:
    """Return the certificates of two equivalent queries, one for each kind of key.

    Raises `Unsupported` if the verdict depends on more than two machines, and `ResourceLimit` if
    they are too large.

    >>> from cerlab.compile.pattern import as_pattern
    >>> [certificate] = certificates(as_pattern("A OR A"), as_pattern("A"))
    >>> certificate["letters"], certificate["relation"]
    ([[False, False], [True, True]], [[0, 0], [1, 1], [2, 2]])
    """
    queries = [left, right]
    if left.ast.consume is right.ast.consume:
        # with equal CONSUME BY, queries with equal answers stay equivalent
        queries = [query.replaced(consume=Consume.NONE) for query in queries]
    reason = outside(queries)
    if reason is None:
        question = Question(queries, ())
        one, other = question.windowed
        if one.span == other.span:
            return [_certificate(question, key) for key in keys_of(queries)]
        reason = "the windows in time differ"
    raise Unsupported(
        "CER0424",
        f"there is no certificate: {reason}",
        hint="omit --certificate; the verdict is the same",
    )


def _certificate(question: Question, key: Mapping[str, Value]) -> dict[str, Any]:
    minterms = question.minterms(key)
    left, right = question.windowed
    joint = Joint(left.machine, right.machine, minterms)
    sides = [_Complete(left, [a for a, _ in joint.symbols])]
    sides.append(_Complete(right, [b for _, b in joint.symbols]))
    relation = [(0, 0)]
    met = {(0, 0)}
    for pair in relation:  # grows during the loop
        one, other = (side.moves(q) for side, q in zip(sides, pair, strict=True))
        for moves in zip(one, other, strict=True):
            for target in zip(*moves, strict=True):
                spend()
                if target not in met:
                    met.add(target)
                    relation.append(target)
    assert all(sides[0].accepts[p] == sides[1].accepts[q] for p, q in relation), "not equivalent"
    tests = question.predicates
    return {
        "format": FORMAT,
        "version": VERSION,
        "queries": [str(query) for query in question.queries],
        "tests": [predicate_text(P) for P in tests],
        "letters": [[bool(m.symbol >> k & 1) for k in range(len(tests))] for m in minterms],
        "left": sides[0].table(),
        "right": sides[1].table(),
        "relation": [list(pair) for pair in relation],
    }


_State: TypeAlias = tuple[int, int] | None
"""Length of an answer (0 before its start) and state; None if no answer can follow."""


class _Complete:
    """A machine with a move for each letter from each state, and states numbered from 0."""

    def __init__(self, windowed: WindowedMachine, symbols: list[int]) -> None:
        self._windowed = windowed
        self._symbols = symbols
        self._number: dict[_State, int] = {}
        self._states: list[_State] = []
        self._rows: dict[int, list[list[int]]] = {}
        self.accepts: list[bool] = []
        self._numbered((0, windowed.machine.idle))

    def _numbered(self, state: _State) -> int:
        if state not in self._number:
            self._number[state] = len(self._states)
            self._states.append(state)
            final = state is not None and state[0] > 0 and self._windowed.machine.final[state[1]]
            self.accepts.append(bool(final))
        return self._number[state]

    def moves(self, number: int) -> list[list[int]]:
        """Return three targets for each letter: without a start, after • and after ∘."""
        if number not in self._rows:
            state = self._states[number]
            self._rows[number] = [self._targets(state, symbol) for symbol in self._symbols]
        return self._rows[number]

    def _targets(self, state: _State, symbol: int) -> list[int]:
        machine = self._windowed.machine
        waiting: _State = None
        moves = STUCK
        length = 1
        if state is not None:
            before, q = state
            if before == 0:
                waiting = (0, machine.wait(q, symbol))
                moves = machine.begin(q, symbol)
            elif self._windowed.fits(before + 1):
                # the length of an answer matters only in a window of events
                length = before + 1 if self._windowed.events is not None else 1
                moves = machine.step(q, symbol)
        by_mark = [None if q is None else (length, q) for q in moves]
        return [self._numbered(target) for target in (waiting, *by_mark)]

    def table(self) -> dict[str, Any]:
        """Return the machine as JSON; state 0 is the initial one."""
        return {"next": [self.moves(q) for q in range(len(self.accepts))], "accepts": self.accepts}
