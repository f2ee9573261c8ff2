"""The walk from `cerlab.evaluate` to its answer stays short (`walk`)."""

from __future__ import annotations

import pytest

from cerlab.evaluate import EvaluatorName
from proofs_tests.complexity.walk import walk


@pytest.mark.parametrize(("evaluator", "most"), [("tecs", 86), ("compiled", 128)])
def test_what_stands_between_a_text_and_its_answer(evaluator: EvaluatorName, most: int) -> None:
    functions = walk(evaluator).functions
    assert len(functions) <= most, "\n".join(functions)
