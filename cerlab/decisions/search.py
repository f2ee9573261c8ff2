"""Small streams, for questions outside the decidable class; by the reference, shortest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product
from random import Random
from typing import NamedTuple

from cerlab import io
from cerlab.automata.decide import Side
from cerlab.budget import poll, step_budget
from cerlab.compile.pattern import Pattern
from cerlab.decisions.fragment import timestamp_of
from cerlab.decisions.pool import Pool, Row, pool_of
from cerlab.decisions.verdict import Verdict, Witness
from cerlab.errors import CerlabError
from cerlab.evaluate import answers_of
from cerlab.logic.cel.syntax import Atom, subformulas
from cerlab.model.clauses import AttributeWindow, TimeWindow
from cerlab.model.event import Timestamp
from cerlab.model.order import by_end
from cerlab.model.schema import Schema

MAX_TRIED = 2_000
"""How many small streams are searched outside the decidable class."""

MAX_LENGTH = 7
"""The longest of them: the reference lists what an iteration has, which doubles with each event."""


def bounded_search(
    left: Pattern,
    right: Pattern | None,
    sides: tuple[Side, ...],
    reason: str,
    first: Witness | None = None,
) -> Verdict:
    """Small streams, by the reference, shortest first; a witness is made as short as it goes.

    `first` is a shortest stream on which the queries differ without their consumption, so that a
    shorter one cannot differ with it.
    """
    question = _Question(left, right, sides)
    count = 0
    try:
        if first is not None and (witness := question.witness(first.events)) is not None:
            return _by_example(witness, right, reason)
        for events in _small_streams([q for q in (left, right) if q is not None]):
            count += 1
            if (witness := question.witness(events)) is not None:
                return _by_example(_shortest_part(question, witness), right, reason)
    except CerlabError as error:
        poll()
        return Verdict(None, None, f"not decided: {reason}; {error.message}")
    return Verdict(None, None, f"not decided: {reason}; {count} small streams show nothing")


def _by_example(witness: Witness, right: Pattern | None, reason: str) -> Verdict:
    return Verdict(right is None, witness, f"found by search among small streams: {reason}")


class _Question(NamedTuple):
    """What is asked of a stream: an answer of one of `sides` that the other side lacks."""

    left: Pattern
    right: Pattern | None
    sides: tuple[Side, ...]

    @step_budget("the search among small streams", own=1)
    def witness(self, events: list[Row]) -> Witness | None:
        """An answer on these events that one side has alone, by the reference; None if none."""
        stream = io.as_stream(events)
        ours = set(answers_of(self.left, stream, "reference"))
        theirs = set(answers_of(self.right, stream, "reference")) if self.right else set()
        for side, extra in ((Side.LEFT, ours - theirs), (Side.RIGHT, theirs - ours)):
            if side in self.sides and extra:
                return Witness(events, min(extra, key=by_end), side.value if self.right else None)
        return None


def _shortest_part(question: _Question, witness: Witness) -> Witness:
    """The witness on the shortest part of its stream that is still one, in the order of the stream.

    Long streams are drawn at random, so a witness may hold events that do not matter.
    """
    for length in range(1, len(witness.events)):
        for part in combinations(witness.events, length):
            if (shorter := question.witness(list(part))) is not None:
                return shorter
    return witness


def _small_streams(queries: Sequence[Pattern]) -> Iterator[list[Row]]:
    """All short streams of events that the tests tell apart, then some longer ones at random."""
    pool = pool_of(queries)
    rng = Random(0)
    length, count = 0, 0
    while count + len(pool.events) ** (length + 1) <= MAX_TRIED // 2 and length + 1 < MAX_LENGTH:
        length += 1
        for rows in product(pool.events, repeat=length):
            count += 1
            yield _with_clauses(rows, pool, queries, rng)
    longest = min(length + 3, MAX_LENGTH)
    for size in sorted(rng.randint(length + 1, longest) for _ in range(MAX_TRIED - count)):
        events = [pool.random_variant(row, rng) for row in rng.choices(pool.events, k=size)]
        yield _with_clauses(events, pool, queries, rng)


def _with_clauses(
    events: Iterable[Row], pool: Pool, queries: Sequence[Pattern], rng: Random
) -> list[Row]:
    """The events with what queries as a whole read of them: streams, keys and times."""
    windows = [
        q.ast.window for q in queries if isinstance(q.ast.window, AttributeWindow | TimeWindow)
    ]
    keys = dict.fromkeys(a for q in queries for bracket in q.ast.partition for a in bracket)
    moment = (pool.schema and timestamp_of(pool.schema)) or "time"
    time = 0
    rows = []
    for event in events:
        time += rng.choice((0, 1, 2))
        row = dict(event)
        if streams := _streams(queries, row, pool.schema):
            row["stream"] = rng.choice(streams)
        for key in keys:
            if key not in ("type", "stream") and (values := pool.values(row, key)):
                row[key] = rng.choice((values[0], values[0], values[-1]))
        for window in windows:
            if isinstance(window, AttributeWindow):
                row[window.attribute] = time
            else:
                row[moment] = Timestamp(time * 10**9)
        rows.append(row)
    return rows


def _streams(queries: Sequence[Pattern], row: Row, schema: Schema | None) -> list[str]:
    """The streams that an event may come from, where the queries name any; others too."""
    names = {name for q in queries for name in q.ast.streams} | {
        atom.stream
        for q in queries
        for atom in subformulas(q.formula)
        if isinstance(atom, Atom) and atom.stream is not None
    }
    if not names:
        return []
    if schema is None:
        return [*sorted(names), "other"]
    return [s.name for s in schema.streams if schema.event(row["type"], s.name) is not None]
