"""CEQL under Pygments: every text is covered, and only invalid text is an error."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import cerlab
from cerlab.logic.ceql.syntax import query_text
from cerlab.testing import Shape, random_query
from proofs_tests.suite import random_suite

pytest.importorskip("pygments", reason="Pygments comes with Jupyter and rich")

from pygments.token import Error, Keyword, Name, Number, String

from cerlab.viz.lexer import CeqlLexer


@random_suite(400)
def test_random_queries_have_no_error(rng: Random) -> bool:
    lexer = CeqlLexer()
    text = query_text(random_query(rng, Shape(family=True)))
    tokens = list(lexer.get_tokens(text))
    assert "".join(value for _, value in tokens).strip() == text.strip()
    assert not [value for kind, value in tokens if kind is Error]
    return True


def test_the_kinds_of_words() -> None:
    text = "select * where BUY filter BUY[name = 'it''s' and v in {1..2.5}] -- end"
    kinds = {value: kind for kind, value in CeqlLexer().get_tokens(text)}
    assert (kinds["select"], kinds["BUY"], kinds["'it''s'"]) == (Keyword, Name, String)
    assert (kinds["1"], kinds["2.5"]) == (Number, Number)


def test_it_is_an_entry_point() -> None:
    project = Path(cerlab.__file__).parents[1] / "pyproject.toml"
    assert 'ceql = "cerlab.viz.lexer:CeqlLexer"' in project.read_text(encoding="utf-8")


def test_completion_offers_what_is_public() -> None:
    modules = {"cel", "flink", "fuzz", "spark", "testing", "theorems"}
    assert dir(cerlab) == sorted({*cerlab.__all__, *modules, "__version__"})


def test_units_of_time_are_words_only_after_a_number() -> None:
    text = "A[date > DATE '2024-01-31' AND t - s > 1 HOUR 2.5 minutes AND day = 3]"
    words = [value for kind, value in CeqlLexer().get_tokens(text) if kind is Keyword.Type]
    assert words == ["DATE", "HOUR", "minutes"]
