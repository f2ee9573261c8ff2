"""PARTITION BY, WITHIN, CONSUME BY, LIMIT and ``limit=`` (CORE Sec. 2.2 and App. G), by hand."""

from __future__ import annotations

from datetime import datetime
from random import Random
from typing import Any

import pytest

import cerlab
from cerlab import BadData, UsageError
from cerlab.engine.tecs_run import CONSUMES
from cerlab.model.clauses import Consume
from cerlab.testing import random_query
from proofs_tests.clauses.tables import EVALUATORS, c, word

NAN = float("nan")


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize(
    ("times", "code"),
    [([3, 2], "CER0714"), ([1, None], "CER0712"), ([1, NAN], "CER0712"), ([1, "2"], "CER0712")],
)
def test_bad_times_are_errors(evaluator: str, times: list[Any], code: str) -> None:
    events = [{"type": "A", "t": t} for t in times]
    with pytest.raises(BadData) as caught:
        cerlab.evaluate("SELECT * WHERE A WITHIN 3 [t]", events, evaluator=evaluator)  # type: ignore[arg-type]  # literals
    assert caught.value.code == code


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_a_time_window_without_a_time_is_an_error(evaluator: str) -> None:
    with pytest.raises(UsageError, match="time attribute"):
        cerlab.evaluate("SELECT * WHERE A WITHIN 3 SECONDS", word("A"), evaluator=evaluator)  # type: ignore[arg-type]  # literals


def test_the_only_timestamp_column_is_that_of_the_whole_stream() -> None:
    noon = datetime(2020, 1, 1, 12)
    events = [
        {"type": "A", "stream": "S", "t": noon},
        {"type": "X", "stream": "T", "u": noon},
        {"type": "B", "stream": "S", "t": noon},
    ]
    for evaluator in EVALUATORS:
        with pytest.raises(UsageError, match="time attribute"):
            cerlab.evaluate("SELECT * FROM S WHERE A WITHIN 1 HOUR", events, evaluator=evaluator)  # type: ignore[arg-type]  # literals


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize(("limit", "counts"), [(1, [1, 1, 1]), (2, [1, 2, 2]), (9, [1, 2, 4])])
def test_limit_is_for_each_end(evaluator: str, limit: int, counts: list[int]) -> None:
    """On AAA, A+ has 1, 2 and 4 answers that end at 0, 1 and 2."""
    answers = cerlab.evaluate(f"SELECT * WHERE A+ LIMIT {limit}", word("AAA"), evaluator=evaluator)  # type: ignore[arg-type]  # literals
    assert [sum(answer.end == end for answer in answers) for end in range(3)] == counts
    assert set(answers) <= set(cerlab.evaluate("A+", word("AAA")))


PAIRS = [c(0, 2, 0, 2), c(1, 2, 1, 2), c(0, 3, 0, 3), c(1, 3, 1, 3)]
"""``A ; B`` on AABB."""

IN_ALL = [
    pytest.param("A ; B", 9, 4, id="more"),
    pytest.param("A ; B", 3, 3, id="less"),
    pytest.param("A ; B", 1, 1, id="one"),
    pytest.param("A ; B LIMIT 1", 9, 2, id="with-the-clause"),
    pytest.param("A ; B LIMIT 2", 1, 1, id="less-than-the-clause"),
]
"""A clause, a limit and the number of answers; ``limit=`` may take any answers of the last end."""


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize(("rest", "limit", "count"), IN_ALL)
def test_the_argument_limits_all_answers(rest: str, limit: int, count: int, evaluator: str) -> None:
    query, events = f"SELECT * WHERE {rest}", word("AABB")
    answers = cerlab.evaluate(query, events, evaluator=evaluator, limit=limit)  # type: ignore[arg-type]  # a literal
    assert answers == [answer for answer in PAIRS if answer in answers]  # true, once each, in order
    assert len(answers) == count
    assert [m.end for m in answers] == [m.end for m in cerlab.evaluate(query, events)[:count]]


@pytest.mark.parametrize("clause", ["", "FROM S "])
def test_labels_of_long_partitions_are_those_of_their_own_events(clause: str) -> None:
    """Events of one key keep their order, also where a sort by key may turn equal keys around."""
    rng = Random(5)
    rows = [(n, rng.choice("AAB"), rng.randrange(3), rng.choice("SST")) for n in range(300)]
    events = [{"type": t, "k": k, "n": n, "stream": s} for n, t, k, s in rows]
    query = f"SELECT x, y, z {clause}WHERE A AS x : B AS y : A AS z PARTITION BY [k]"
    expected = {
        (i, j, m)
        for key in range(3)
        for part in [[(n, t) for n, t, k, s in rows if k == key and not (clause and s == "T")]]
        for (i, first), (j, second), (m, third) in zip(part, part[1:], part[2:], strict=False)
        if (first, second, third) == ("A", "B", "A")
    }
    table = cerlab.parse_query(query).run(events).table(["x.n", "y.n", "z.n"])
    assert set(zip(*(table.column(f"{x}.n").to_pylist() for x in "xyz"), strict=True)) == expected
    assert table.num_rows == len(expected)


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
