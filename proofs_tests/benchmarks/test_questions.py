"""The questions of `questions` have one answer, whoever is asked."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as parquet
import pytest

from proofs_tests.benchmarks.question_child import answer
from proofs_tests.benchmarks.questions import QUESTIONS, engines_of, table_of

ROWS = 20_000


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("questions")
    names = dict.fromkeys(question.table for question in QUESTIONS.values())
    paths = {name: str(Path(folder, f"{name}.parquet")) for name in names}
    for name, path in paths.items():
        parquet.write_table(table_of(name, ROWS), path)
    return paths


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_engine_gives_the_same_answer(name: str, files: dict[str, str]) -> None:
    question = QUESTIONS[name]
    answers = {
        engine: answer(engine, question.ask, text, files[question.table])
        for engine, text in engines_of(question).items()
    }
    assert "duckdb" in answers
    assert len({*answers.values()}) == 1, answers
    # of two large sums in ten seconds a small table has none
    assert answers["cerlab"] != "0" or "ten seconds" in name
