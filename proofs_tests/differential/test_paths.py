"""Paths in queries: every evaluator reads nested fields as it reads attributes of their own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import pytest

import cerlab
from cerlab.evaluate import answers_of, names_that_take
from cerlab.logic.ceql.semantics import query_answers
from cerlab.logic.ceql.syntax import CeqlQuery, query_text
from cerlab.model.answer import by_end
from cerlab.testing import Shape
from proofs_tests.differential.test_inside import random_case as random_case_inside
from proofs_tests.random_cases import Case, random_case
from proofs_tests.suite import random_suite

SHAPES = Shape(events=9, typed=True), Shape(events=9, typed=True, timed=True)


def nested(text: str) -> str:
    """Return a query whose attributes v, w and k are fields of o."""
    return re.sub(r"\b(?<!o\.)([vwk])\b", r"o.\1", text)


def drawn(rng: Random) -> Case:
    """Return a case that reads an attribute: of plain operators, of waits, or strategies inside."""
    while True:
        if rng.random() < 0.4:
            sample = random_case_inside(rng)
        else:
            sample = random_case(rng, rng.choice(SHAPES))
        text = query_text(sample.ast)
        if text != nested(text) and (
            rng.random() < 0.3 or query_answers(sample.ast, sample.stream)
        ):
            return sample


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
@random_suite(2_000)
def test_a_path_is_an_attribute_for_every_evaluator(rng: Random, tmp_path: Path) -> bool:
    path = tmp_path / "e.ndjson"
    sample = drawn(rng)
    text = query_text(sample.ast)
    rows = []
    for event in sample.stream:
        own = dict(event.attributes)
        fields = {name: own.pop(name) for name in ("v", "w", "k") if name in own}
        of_stream = {} if event.stream is None else {"stream": event.stream}
        rows.append({"type": event.type, **of_stream, **own, "o": fields})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    query = cerlab.parse_query(nested(text))
    assert isinstance(query.ast, CeqlQuery)
    expected = query_answers(sample.ast, sample.stream)
    stream = cerlab.Stream.read(path, time="t", unit="s")
    for evaluator in names_that_take(query):
        answers = sorted(answers_of(query, stream, evaluator), key=by_end)
        assert answers == expected, (evaluator, text, rows)
    return bool(expected)
