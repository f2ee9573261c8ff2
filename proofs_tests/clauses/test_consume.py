"""CONSUME BY: after an answer at j, as if the stream began after j (CORE App. G)."""

from __future__ import annotations

from random import Random

import pytest

import cerlab
from cerlab.engine.tecs_run import CONSUMES
from cerlab.model.clauses import Consume
from cerlab.testing import random_query
from proofs_tests.clauses.tables import word


@pytest.mark.parametrize("policy", Consume)
def test_a_policy_crosses_partitions_or_answers_key_by_key(policy: Consume) -> None:
    query = f"SELECT * WHERE A ; B PARTITION BY [k] CONSUME BY {policy.value}"
    events = word("AABB", k="1212")
    answers = cerlab.evaluate(query, events, evaluator="reference")
    of_a_key = f"SELECT * WHERE A ; B FILTER A[k = {{}}] AND B[k = {{}}] CONSUME BY {policy.value}"
    by_keys = [a for k in (1, 2) for a in cerlab.evaluate(of_a_key.format(k, k), events)]
    assert policy.crosses_partitions == (answers != by_keys)


def test_random_queries_and_engines_have_every_policy() -> None:
    assert {random_query(Random(seed)).consume for seed in range(200)} == set(Consume)
    assert CONSUMES.keys() == set(Consume)
