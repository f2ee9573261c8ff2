"""States that were edited and given a digest again: refused, or resumed without harm.

Run as a program (``python -m proofs_tests.engine.hostile_states SEEDS``) it prints how many edits
were refused and how many were not; with ``NUMBA_BOUNDSCHECK=1`` an index out of range is an error.
"""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from itertools import islice
from random import Random
from typing import Any

import numpy as np

import cerlab
from cerlab.api import Query
from cerlab.engine.general import GeneralEvaluation
from cerlab.engine.state import MEMBERS, archive
from cerlab.model.stream import Stream

TEXTS = (
    "SELECT * WHERE A ; B+ ; C WITHIN 6 EVENTS LIMIT 20",
    "SELECT MAX * WHERE A ; (B OR C)+ ; C WITHIN 9 [t] LIMIT 20",
    "SELECT * WHERE A ; B ; C PARTITION BY [k] WITHIN 5 EVENTS LIMIT 20",
    "SELECT * WHERE A ; (B OR C)+ PARTITION BY [k] WITHIN 4 SECONDS LIMIT 20",
    "SELECT LAST * WHERE A ; B ; C CONSUME BY ANY LIMIT 20",
)
BATCHES = 20
"""Batches of answers that a test reads; LIMIT keeps them short."""

NUMBERS = (-(1 << 63), -(1 << 31), -3, -2, -1, 0, 1, 2, 3, 7, 50, (1 << 31) - 1, 1 << 40)

WRONG: tuple[Any, ...] = (
    *([], None, "x", [[]], [[1], [2]], [[0, 1]], {}, [[[3, 0]], [1]], 1e300),
    [[5], [True]],
)
"""Wrong values for any field of a header."""


def random_events(rng: Random, length: int, first: int) -> list[dict[str, Any]]:
    return [
        {"type": rng.choice("ABC"), "t": first + n, "k": rng.choice("xy")} for n in range(length)
    ]


def members_of(state: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    with np.load(io.BytesIO(state), allow_pickle=False) as archive_file:
        arrays = {name: archive_file[name] for name in MEMBERS if name != "header"}
        return arrays, json.loads(archive_file["header"].tobytes())


def edit_state(rng: Random, state: bytes) -> bytes:
    """A state with up to three edits of its arrays or its header, and the digest of the result."""
    arrays, header = members_of(state)
    for _ in range(rng.randrange(1, 4)):
        if rng.random() < 0.25:
            edit_header(rng, header)
        else:
            name = rng.choice(sorted(arrays))
            arrays[name] = edited_array(rng, arrays[name])
    try:
        return archive(arrays, header)
    except OverflowError:
        return state


def edited_array(rng: Random, array: Any) -> Any:
    if not len(array) or rng.random() < 0.1:
        return rng.choice((array[:-1], np.append(array, array[-1:]), np.zeros(3, array.dtype)))
    result = array.copy()
    at = rng.randrange(len(array))
    if rng.random() < 0.3:
        other = rng.randrange(len(array))
        result[at], result[other] = array[other], array[at]
    else:
        bits = np.iinfo(array.dtype)
        near = int(array[at]) + rng.choice((-2, -1, 1, 2))
        number = rng.choice((*NUMBERS, near, len(array)))
        result[at] = min(max(number, bits.min), bits.max)
    return result


def edit_header(rng: Random, header: dict[str, Any]) -> None:
    name = rng.choice(("read", "keys", "states", "idle", "window", "time"))
    value = header[name]
    if isinstance(value, list) and value and rng.random() < 0.7:
        value = list(value)
        rng.choice((value.pop, value.reverse, lambda: value.append(value[0])))()
        header[name] = value
    else:
        header[name] = rng.choice((*NUMBERS, *WRONG))


def outcome_of_resume(query: Query, state: bytes, events: list[dict[str, Any]]) -> str:
    """Return the effect of a state: "refused", or "answers" within the stream."""
    try:
        run = GeneralEvaluation(query.plan, query.machine, None, state=state)
    except cerlab.BadData:
        return "refused"
    first = run.position
    try:
        batches = list(islice(run.push(Stream.from_events(events).columns, len(events)), BATCHES))
    except cerlab.BadData:  # the time that the state claims is after that of the events
        return "answers"
    for answer in (answer for batch in batches for answer in batch):
        inside = (answer.start, *answer.positions, answer.end)
        assert list(inside) == sorted(inside), answer
        assert len(set(answer.positions)) == len(answer.positions), answer
        assert answer.start >= 0
        assert first <= answer.end < first + len(events), answer
    return "answers"


def outcomes(seeds: range) -> Counter[str]:
    counts = Counter[str]()
    for seed in seeds:
        rng = Random(seed)
        query = cerlab.parse_query(rng.choice(TEXTS))
        session = query.open(time="t", unit="s")
        session.push(random_events(rng, rng.randrange(1, 30), 0))
        state = session.state()
        events = random_events(rng, 12, 40)
        for _ in range(10):
            query = cerlab.parse_query(query.text)
            try:
                counts[outcome_of_resume(query, edit_state(rng, state), events)] += 1
            except Exception as error:
                error.add_note(f"seed {seed}")
                raise
    return counts


if __name__ == "__main__":
    print(json.dumps(outcomes(range(int(sys.argv[1])))))
