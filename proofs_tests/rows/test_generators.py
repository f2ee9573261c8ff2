"""Random queries are well-formed, print and are read back, and half of them have answers."""

from __future__ import annotations

from collections import Counter
from itertools import product
from random import Random

import pyarrow as pa

from cerlab import CerlabError, Unsupported, match_recognize, parse_rows
from cerlab.rows import expressions as ex
from cerlab.rows import syntax as rp
from cerlab.rows.syntax import check_row_pattern
from cerlab.testing import random_row_pattern, random_row_table
from proofs_tests.rows.tables import EVALUATORS, typed_table
from proofs_tests.suite import random_suite

EXPECTED = ("CER0692", "CER0788", "CER0789")
"""Too many derivations, and a scan that cannot go on."""


@random_suite(4_000)
def test_random_queries_print_and_are_read_back(rng: Random) -> bool:
    query = random_row_pattern(rng)
    check_row_pattern(query)
    assert parse_rows(str(query)) == query
    return True


@random_suite(8_000)
def test_half_of_them_have_answers(rng: Random) -> bool:
    query, table = random_row_pattern(rng), random_row_table(rng)
    while not table:  # no query has an answer there
        table = random_row_table(rng)
    try:
        return bool(match_recognize(query, typed_table(table), evaluator="reference").num_rows)
    except CerlabError as error:
        if error.code not in EXPECTED:
            raise
        return False


@random_suite(20_000, needs_answers=0.3)
def test_every_evaluator_agrees_on_durations_and_moments(rng: Random) -> bool | None:
    query = random_row_pattern(rng, depth=2, temporal=True)
    assert parse_rows(str(query)) == query
    table = typed_table(random_row_table(rng))
    try:
        expected = match_recognize(query, table, evaluator="reference")
    except CerlabError as error:
        if error.code not in EXPECTED:
            raise
        return False
    for evaluator in (*EVALUATORS, "compiled"):
        try:
            found = match_recognize(query, table, evaluator=evaluator)
        except Unsupported:
            continue
        assert found.equals(expected), (evaluator, str(query), table.to_pylist())
    times = [f for f in expected.schema if pa.types.is_temporal(f.type)]
    return bool(times and expected.num_rows)


def test_all_pairs_of_features_come() -> None:
    """Pattern feature, skip clause and rows of the result, each with each."""
    counts: Counter[tuple[object, object]] = Counter()
    for seed in range(3_000):
        query = random_row_pattern(Random(seed))
        parts = {type(p) for p in rp.subpatterns(query.pattern)}
        conditions = [d.condition for d in query.define]
        calls = {type(e) for c in conditions for e in ex.subexpressions(c)}
        features = {*parts, *calls, type(query.skip), query.rows}
        counts.update(product(features, features))
    patterns = {*rp.Pattern.__args__, *ex.Navigation.__args__, ex.Aggregate, ex.Classifier}
    modes = {*rp.Skip.__args__, *rp.RowsPerMatch}
    missing = {
        pair
        for pair in (*product(patterns, modes), *product(rp.Skip.__args__, rp.RowsPerMatch))
        if not counts[pair]
    }
    assert missing == {(rp.Exclusion, rp.RowsPerMatch.WITH_UNMATCHED)}  # an error of its own
