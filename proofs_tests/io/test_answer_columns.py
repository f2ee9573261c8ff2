"""Answers by columns: the same bytes, the same values and the same order as one by one."""

from __future__ import annotations

import io
import json
from random import Random

import numpy as np
import pytest

from cerlab import ComplexEvent
from cerlab.engine.answers import AnswerBatch, BatchedAnswers, join_answers
from cerlab.io import record, text_writer
from cerlab.io.answers import line_of, table_of_batches
from cerlab.model.answer import by_end, in_order
from proofs_tests.suite import random_suite


def random_answers(rng: Random) -> list[ComplexEvent]:
    """Answers by end, as engines give them, with ties of all kinds."""
    largest = rng.choice((3, 12, 10**9, 2**62))
    lengths = rng.choice(((3,), (0,), (0, 1, 2), (1, 5, 200)))
    answers = []
    for _ in range(rng.randrange(12)):
        start = rng.randrange(largest)
        end = rng.randrange(start, largest)
        places = {rng.randrange(start, end + 1) for _ in range(rng.choice(lengths))}
        answers.append(ComplexEvent(start, end, tuple(sorted(places))))
    return sorted(set(answers), key=lambda answer: answer.end)


def batch_of(answers: list[ComplexEvent], rng: Random) -> AnswerBatch:
    """The answers as arrays, which may lie behind others in a longer buffer."""
    before = rng.choice((0, 0, 5))
    positions = [7] * before + [p for answer in answers for p in answer.positions]
    offsets = np.cumsum([before, *(len(answer.positions) for answer in answers)])
    return AnswerBatch(
        np.array([answer.start for answer in answers], np.int64),
        np.array([answer.end for answer in answers], np.int64),
        offsets.astype(np.int32),
        np.array(positions, np.int64),
    )


def cut(answers: list[ComplexEvent], rng: Random) -> list[AnswerBatch]:
    places = sorted(rng.randrange(len(answers) + 1) for _ in range(rng.randrange(4)))
    bounds = zip([0, *places], [*places, len(answers)], strict=True)
    return [batch_of(answers[begin:end], rng) for begin, end in bounds]


@random_suite(2_000)
def test_answers_by_columns_are_those_one_by_one(rng: Random) -> bool:
    answers = random_answers(rng)
    batches = cut(answers, rng)
    assert [answer for batch in batches for answer in batch] == answers
    assert list(BatchedAnswers(batches)) == answers
    assert list(join_answers(batches)) == answers
    assert in_order(BatchedAnswers(batches)) == sorted(answers, key=by_end)
    limit = rng.randrange(6)
    assert in_order(BatchedAnswers(batches), limit) == sorted(answers[:limit], key=by_end)
    some = BatchedAnswers(batches)
    assert [next(some, None) for _ in range(len(answers) + 1)] == [*answers, None]
    return bool(answers)


@random_suite(2_000)
def test_lines_are_the_same_bytes(rng: Random, monkeypatch: pytest.MonkeyPatch) -> bool:
    answers = random_answers(rng)
    by_batch, by_one = io.StringIO(), io.StringIO()
    monkeypatch.setattr(text_writer, "SOME_LINES", rng.choice((1, 3, 1 << 15)))
    for batch in cut(answers, rng):
        text_writer.ndjson_rows(table_of_batches([batch]), by_batch)
    for answer in answers:
        by_one.write(line_of(answer.start, answer.end, list(answer.positions)))
    expected = "".join(json.dumps(record(answer)) + "\n" for answer in answers)
    assert by_batch.getvalue() == by_one.getvalue() == expected
    return bool(answers)
