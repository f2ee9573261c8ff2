"""FROM, SELECT, PARTITION BY, WITHIN, CONSUME BY, LIMIT (CORE Sec. 2.2), by hand."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

import cerlab
from cerlab import BadData, UsageError
from proofs_tests.clauses.tables import EVALUATORS, word

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
