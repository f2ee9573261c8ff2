"""States of buckets of keys, as a checkpoint of Spark has them: changed, and gone on from."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from random import Random

from cerlab.spark.stream.state import layout_of
from cerlab.spark.stream.step import BucketStep, empty_state, machine_of
from cerlab.testing import Shape
from proofs_tests.engine.hostile_states import edit_state
from proofs_tests.hostile.mutators import mutated_bytes
from proofs_tests.spark.buckets import buckets_of, job_of, plan_of
from proofs_tests.spark.cases import SparkCase, register_case, typed_case


def gone_on(rng: Random, draw: Callable[[Random, Shape], SparkCase] | None = None) -> None:
    """The state of a bucket after some rows, changed, and the rows that come then."""
    draw = draw or (typed_case if rng.random() < 0.6 else register_case)
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
    layout = layout_of(machine_of(job), empty_state(job))
    edit = rng.random() < 0.6
    state = edit_state(rng, state, layout) if edit else mutated_bytes(rng, state)
    after = BucketStep(job, state, rows.slice(half), rng.choice((None, 50)))
    for answers, ends in islice(after.answers(), 20):
        assert len(answers) == len(ends)
    after.state()
