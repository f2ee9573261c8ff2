"""States that were edited and given a digest again: refused, or resumed without harm.

Of the compiled engine, and of sessions of registers, rows and aggregates. Run as a program
(``python -m proofs_tests.engine.hostile_states SEEDS``) it prints how many edits were refused and
how many were not; with ``NUMBA_BOUNDSCHECK=1`` an index out of range is an error.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import cerlab
from cerlab import Query
from cerlab.engine.codec import Layout
from cerlab.engine.contexts import CONTEXTS
from cerlab.engine.late_events import ORDER
from cerlab.engine.registers.evaluation import REGISTERS
from cerlab.engine.state import ENGINE
from cerlab.engine.tecs_run import GeneralEvaluation
from cerlab.engine.throttle import THROTTLE
from cerlab.engine.waits.session import WAITS
from cerlab.evaluate.recent import ROWS
from cerlab.evaluate.running import TOTALS
from cerlab.evaluate.tested import LISTED
from cerlab.model.stream import Stream
from proofs_tests.hostile.mutators import mutated_bytes

STAGES = (THROTTLE, LISTED, ORDER, CONTEXTS)
LAYOUTS = {each.format: each for each in (ENGINE, REGISTERS, WAITS, ROWS, TOTALS, *STAGES)}

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
"""Wrong values for any part of a header."""


def random_events(rng: Random, length: int, first: int) -> list[dict[str, Any]]:
    return [
        {"type": rng.choice("ABC"), "t": first + n, "k": rng.choice("xy")} for n in range(length)
    ]


def states_before() -> dict[str, bytes]:
    """States of the versions before, each of the form that its kind had then."""
    path = Path(__file__).with_name("states_before.json")
    return {name: b64decode(text) for name, text in json.loads(path.read_text()).items()}


def parts_of(state: bytes, layout: Layout | None = None) -> tuple[Layout, Any, dict[str, Any]]:
    """The layout, the header and the arrays of a state, read as `cerlab.engine.codec` says."""
    begin = 8 + int.from_bytes(state[:8], "little")
    header = json.loads(state[8:begin])
    layout, arrays = layout or LAYOUTS[header["format"]], {}
    for name, declared in layout.arrays.items():
        kind, *dimensions = declared.split()
        shape = [header["sizes"][dimension] for dimension in dimensions]
        arrays[name] = np.frombuffer(state, kind, math.prod(shape), begin).reshape(shape)
        begin += arrays[name].nbytes + -arrays[name].nbytes % 8
    assert state[begin:] == hashlib.sha256(state[:begin]).digest()
    return layout, header, arrays


def with_digest(header: Any, arrays: Mapping[str, Any]) -> bytes:
    """The bytes of a header and of arrays, and their digest."""
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    body = [array.tobytes() + bytes(-array.nbytes % 8) for array in arrays.values()]
    content = b"".join((len(text).to_bytes(8, "little"), text, *body))
    return content + hashlib.sha256(content).digest()


def edit_state(rng: Random, state: bytes, layout: Layout | None = None) -> bytes:
    """A state with up to three edits of its arrays or its values, and the digest of the result."""
    layout, header, arrays = parts_of(state, layout)
    for _ in range(rng.randrange(1, 4)):
        if arrays and rng.random() < 0.6:
            name = rng.choice(sorted(arrays))
            if rng.random() < 0.1:
                edit_size(rng, layout, header, arrays, rng.choice(sorted(header["sizes"])))
            elif arrays[name].dtype == np.uint8:
                edited = edit_bytes(rng, arrays[name].tobytes())
                arrays[name] = np.frombuffer(edited, np.uint8)
                header["sizes"][layout.arrays[name].split()[1]] = len(edited)
            else:
                arrays[name] = edited_array(rng, arrays[name])
        else:
            places = list(places_of(header["values"]))
            at = rng.choice(places)
            with suppress(ValueError):  # of a text that an edit before has made no number
                edit_place(rng, *at, other=rng.choice(places))
    if rng.random() < 0.05:
        edit_place(rng, header, "sizes", other=(header, "sizes"))
    return with_digest(header, arrays)


def edit_size(
    rng: Random, layout: Layout, header: Any, arrays: dict[str, Any], dimension: str
) -> None:
    """Cut the last row of all arrays of a dimension, or repeat it."""
    count = header["sizes"][dimension]
    rows = rng.choice(([*range(count - 1)], [*range(count), *range(count)[-1:]]))
    header["sizes"][dimension] = len(rows)
    for name, declared in layout.arrays.items():
        dimensions = declared.split()[1:]
        if dimension in dimensions:
            arrays[name] = arrays[name].take(rows, axis=dimensions.index(dimension))


def edit_bytes(rng: Random, content: bytes) -> bytes:
    """An edited state inside another one, or other bytes where it is none or is damaged."""
    with suppress(AssertionError, LookupError, TypeError, ValueError):
        return edit_state(rng, content)
    return mutated_bytes(rng, content)


def edited_array(rng: Random, array: Any) -> Any:
    """An array with another number, or with two numbers exchanged."""
    result = array.flatten()
    if not len(result):
        return array
    numbers = result.view(f"<i{array.itemsize}")
    at = rng.randrange(len(numbers))
    if rng.random() < 0.3:
        other = rng.randrange(len(numbers))
        numbers[[at, other]] = numbers[[other, at]]
    else:
        bits = np.iinfo(numbers.dtype)
        near = int(numbers[at]) + rng.choice((-2, -1, 1, 2))
        number = rng.choice((*NUMBERS, near, len(numbers)))
        numbers[at] = min(max(number, bits.min), bits.max)
    return result.reshape(array.shape)


def outcome_of_resume(query: Query, state: bytes, events: list[dict[str, Any]]) -> str:
    """Return the effect of a state: "refused", or "answers" within the stream."""
    try:
        run = GeneralEvaluation(query.plan, query.machine, None, state=state)
    except cerlab.BadData:
        return "refused"
    first = run.position
    try:
        batches = list(islice(run.push(Stream.from_events(events)), BATCHES))
    except cerlab.BadData:  # the time that the state claims is after that of the events
        return "answers"
    for answer in (answer for batch in batches for answer in batch):
        check_answer(answer, first, first + len(events))
    return "answers"


def check_answer(answer: cerlab.ComplexEvent, first: int, end: int) -> None:
    inside = (answer.start, *answer.positions, answer.end)
    assert list(inside) == sorted(inside), answer
    assert len(set(answer.positions)) == len(answer.positions), answer
    assert answer.start >= 0
    assert first <= answer.end < end, answer


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


SESSIONS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("open", "SELECT * WHERE (A AS a ; (B OR C) AS b+) FILTER a.t < b.t LIMIT 20", {}),
    (
        "open",
        "SELECT * WHERE (A AS a ; B AS b ; C) FILTER a.k = b.k WITHIN 9 SECONDS LIMIT 20",
        {"time": "t", "unit": "s"},
    ),
    (
        "open",
        "SELECT * WHERE (A AS a ; B AS b) FILTER a.t < b.t PARTITION BY [k] WITHIN 9 [t] LIMIT 20",
        {},
    ),
    ("open", "SELECT * WHERE (A AS a ; B AS b) FILTER a.t < b.t WITHIN 6 EVENTS LIMIT 20", {}),
    ("open", "SELECT * WHERE ((A ; B+) WAIT 3 [t] WITHIN 9 [t]) UNLESS C PARTITION BY [k]", {}),
    (
        "open",
        "SELECT * WHERE A OR (B OR C)+ WAIT 2 SECONDS WITHIN 6 EVENTS",
        {"time": "t", "unit": "s"},
    ),
    ("open", "SELECT * WHERE (A+ AS a ; B AS b FILTER a.t < b.t WITHIN 6 [t]) WAIT 3 [t]", {}),
    ("open", "SELECT * WHERE A ; B+ PARTITION BY [k] LIMIT 9 THROTTLE 3 [t]", {}),
    (
        "open",
        "SELECT * WHERE ((A ; B) LOOKBACK 4 [t]) UNLESS C PARTITION BY [k] THROTTLE 2 EVENTS",
        {},
    ),
    ("open", "SELECT * WHERE ((A LOOKBACK 2 [t]) LOOKBACK 2 [t]) WAIT 2 [t] WITHIN 9 [t]", {}),
    ("open", "SELECT * WHERE A ; NEXT(B ; C) PARTITION BY [k] WITHIN 9 [t] LIMIT 20", {}),
    (
        "tabulating",
        "SELECT * WHERE A AS a ; B+ AS b PARTITION BY [k] WITHIN 9 [t] LIMIT 20",
        {"columns": ["a.t", "b.t"]},
    ),
    (
        "tabulating",
        "SELECT * WHERE (A AS a ; B AS b) FILTER a.t < b.t WITHIN 9 [t] LIMIT 20",
        {"columns": ["a.k", "b.t"]},
    ),
    ("aggregating", "SELECT * WHERE A AS a ; B+ AS b", {"sum": "b.t", "avg": "b.t"}),
    (
        "aggregating",
        "SELECT * WHERE A AS a ; B+ AS b PARTITION BY [k] WITHIN 9 SECONDS",
        {
            "sum": ["b.t", "a.t"],
            "max": ["a.t", "b.k"],
            "min": "b.t",
            "group_by": ["end", "k"],
            "sliding": "5 SECONDS",
            "time": "t",
            "unit": "s",
        },
    ),
    (
        "aggregating",
        "SELECT * WHERE A AS a ; B+ AS b WITHIN 9 EVENTS CONSUME BY ANY",
        {"max": "a.k", "group_by": ["end", "start", "a.t"], "sliding": "4 EVENTS"},
    ),
    (
        "aggregating",
        "SELECT LAST * WHERE A AS a ; B AS b WITHIN 9 [t]",
        {"count": True, "group_by": ["b.k", "a.t"]},
    ),
    (
        "aggregating",
        "SELECT * WHERE (A WAIT 3 [t]) UNLESS C PARTITION BY [k]",
        {"sum": "A.t", "group_by": ["end", "k"]},
    ),
)
"""Doors of a query, its text and arguments: each kind of state but that of the engine."""

_HUGE = "f" * 5_000


def places_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the places of a document: a list or an object, and an index or a key of it."""
    if isinstance(value, list | dict):
        for at in range(len(value)) if isinstance(value, list) else value:
            yield value, at
            yield from places_of(value[at])


def edit_place(rng: Random, inside: Any, key: Any, other: tuple[Any, Any]) -> None:
    value = inside[key]
    wrong = (*WRONG, True, {"hex": _HUGE}, {"int": 3}, {"float": "nan"}, {"ratio": [1, 0]}, "text")
    if rng.random() < 0.15:
        inside[key] = deepcopy(rng.choice(wrong))
    elif rng.random() < 0.15:
        inside[key] = deepcopy(other[0][other[1]])
    elif isinstance(value, list) and value:
        value = [*value]
        rng.choice(
            (value.pop, value.reverse, lambda: value.append(value[-1]), lambda: rng.shuffle(value))
        )()
        inside[key] = value
    elif type(value) is int:
        inside[key] = rng.choice((*NUMBERS, value + rng.choice((-1, 1))))
    elif not isinstance(value, str):
        inside[key] = deepcopy(rng.choice((*wrong, *NUMBERS)))
    elif key == "hex":
        inside[key] = format(int(value, 16) + rng.choice((-1, 1)), "x")
    elif key == "base64":
        inside[key] = b64encode(edit_bytes(rng, b64decode(value))).decode()
    else:
        inside[key] = deepcopy(rng.choice((*wrong, value + "x")))


def outcome_of_session(
    query: Query, door: str, arguments: dict[str, Any], state: bytes, events: list[dict[str, Any]]
) -> str:
    """Return the effect of a state on a session: "refused", "late" in a push, or "answers".

    "over" is that of a state which claims that no event will come.
    """
    waits = " WAIT " in query.text
    given = {name: v for name, v in arguments.items() if name not in ("time", "unit")}
    try:
        session = getattr(query, door)(**given, state=state)
    except cerlab.BadData:
        return "refused"
    except cerlab.UsageError as error:  # the state has lost the time axis
        if error.code != "CER0802":
            raise
        return "refused"
    for batch in ([events[0]], events[1:]):
        try:
            results = session.push(batch)
        except cerlab.BadData:  # the time that the state claims is after that of the events
            return "late"
        except cerlab.UsageError as error:
            if error.code != "CER0829":
                raise
            return "over"
        if door == "open":
            for answer in results:  # a wait that began before may end before
                first = 0 if waits else session._before
                check_answer(answer, first, session._before + session.pushed)
        session.state()
    if waits:
        known = session.advance("end")
        for answer in known if door == "open" else ():
            check_answer(answer, 0, session._before + session.pushed)
    return "answers"


def outcomes_of_sessions(seeds: range) -> Counter[str]:
    counts = Counter[str]()
    for seed in seeds:
        rng = Random(seed)
        door, text, arguments = SESSIONS[seed % len(SESSIONS)]
        session = getattr(cerlab.parse_query(text), door)(**arguments)
        session.push(random_events(rng, rng.randrange(1, 30), 0))
        state = session.state()
        events = random_events(rng, 12, 40)
        for n in range(20):
            edited, query = edit_state(rng, state), cerlab.parse_query(text)
            try:
                counts[outcome_of_session(query, door, arguments, edited, events)] += 1
            except Exception as error:
                error.add_note(f"session {seed}, edit {n}: {door} {text}")
                raise
    return counts


if __name__ == "__main__":
    count = int(sys.argv[1])
    print(json.dumps([outcomes(range(count)), outcomes_of_sessions(range(count))]))
