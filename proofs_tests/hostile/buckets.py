"""States of buckets of keys, as a checkpoint of Spark has them: changed, and gone on from."""

from __future__ import annotations

import json
from itertools import accumulate, islice, pairwise
from random import Random
from typing import Any
from zlib import crc32

from cerlab.spark.stream.state import ENGINE, RUNS, SEQUENCES
from cerlab.spark.stream.step import BucketStep
from cerlab.testing import Shape
from proofs_tests.engine.hostile_states import NUMBERS, WRONG
from proofs_tests.hostile.mutators import mutated_bytes, mutated_value
from proofs_tests.spark.buckets import buckets_of, job_of, plan_of
from proofs_tests.spark.cases import register_case, typed_case

WORD = 8
KINDS = ENGINE | RUNS | SEQUENCES


def gone_on(rng: Random) -> None:
    """The state of a bucket after some rows, changed, and the rows that come then."""
    draw = typed_case if rng.random() < 0.6 else register_case
    case = draw(rng, Shape(depth=2, events=20))
    lag = rng.choice((None, 5))
    job = job_of(case, plan_of(case), rng.choice((0, 2)), lag, 1)
    rows = next(iter(buckets_of(case, plan_of(case), job).values()), None)
    if rows is None:
        return
    half = rows.num_rows // 2
    step = BucketStep(job, None, rows.slice(0, half))
    list(islice(step.answers(), 20))
    state, _ = step.state()
    if state is None:
        return
    state = edit_state(rng, state) if rng.random() < 0.6 else mutated_bytes(rng, state)
    after = BucketStep(job, state, rows.slice(half), rng.choice((None, 50)))
    for answers, ends in islice(after.answers(), 20):
        assert len(answers) == len(ends)
    after.state()


def edit_state(rng: Random, state: bytes) -> bytes:
    """A state with edits of its members or of its header, and the checksum of the result."""
    header, members = parts_of(state)
    for _ in range(rng.choice((1, 1, 2, 3))):
        if rng.random() < 0.25:
            name = rng.choice(sorted(set(header) - {"format", "version", "job", "checksum"}))
            header[name] = rng.choice((*NUMBERS, *WRONG, mutated_value(rng, header[name])))
        else:
            name = rng.choice(list(members))
            members[name] = edited_member(rng, name, members[name])
    body = b"".join(part + bytes(-len(part) % WORD) for part in members.values())
    if rng.random() < 0.9 and isinstance(header["sizes"], list):
        header["sizes"] = [len(part) for part in members.values()]
    header["checksum"] = crc32(body)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % WORD)
    return b"".join((len(text).to_bytes(WORD, "little"), text, body))


def parts_of(state: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The header and the members."""
    begin = WORD + int.from_bytes(state[:WORD], "little")
    header = json.loads(state[WORD:begin])
    ends = [begin, *accumulate((size + -size % WORD for size in header["sizes"]), initial=begin)][
        1:
    ]
    spans = zip(pairwise(ends), header["sizes"], strict=True)
    members = (ENGINE if "states" in header else RUNS) | SEQUENCES
    return header, {
        name: state[at : at + size] for name, ((at, _), size) in zip(members, spans, strict=True)
    }


def edited_member(rng: Random, name: str, part: bytes) -> bytes:
    """An array with a number changed, doubled or taken out; others as bytes."""
    size = int(KINDS[name][-1]) if KINDS[name][-1:].isdigit() else WORD
    count = len(part) // size
    if name in ("keys", "held", "runs") or not count or rng.random() < 0.1:
        return mutated_bytes(rng, part)
    at = size * rng.randrange(count)
    number = int.from_bytes(part[at : at + size], "little", signed=True)
    if rng.random() < 0.2:
        return part[:at] + part[at + size :] if rng.random() < 0.5 else part + part[at : at + size]
    number = rng.choice((*NUMBERS, number - 1, number + 1, count)) % (1 << 8 * size)
    return part[:at] + number.to_bytes(size, "little") + part[at + size :]
