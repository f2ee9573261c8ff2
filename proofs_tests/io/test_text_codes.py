"""Columns of text numbered by their bytes are what pyarrow checks and codes, and refused alike."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from cerlab.io import text_codes
from cerlab.io.text_codes import coded_text
from proofs_tests.io.test_hostile_columns import UNSOUND
from proofs_tests.suite import Suite

LETTERS = ("a", "b", "\0", "é", "\U0001f600")


@pytest.fixture(autouse=True)
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_codes, "MANY", 1)
    monkeypatch.setattr(text_codes, "NUMBERED", 8)  # and 32 slots, so that texts meet in one


def drawn(rng: Random) -> Any:
    """A column in chunks: texts that begin alike, of up to three words of eight bytes."""
    stem = rng.choice(("", "12345678", "1234567", "x" * 16))
    pool = [
        stem + "".join(rng.choices(LETTERS, k=rng.randrange(9))) for _ in range(rng.randrange(1, 9))
    ]  # as many as are numbered
    kind = rng.choice((pa.string(), pa.large_string()))
    nulls = rng.choice((0, 0.3))
    chunks = []
    for _ in range(rng.randrange(4)):
        size = rng.randrange(20)
        values = [None if rng.random() < nulls else rng.choice(pool) for _ in range(size)]
        begin = rng.randrange(size + 1)
        chunks.append(pa.array(values, kind)[begin : rng.randrange(begin, size + 1)])
    return pa.chunked_array(chunks, kind)


def test_codes_are_those_of_arrow(suite: Suite) -> None:
    def case(rng: Random) -> bool:
        column = drawn(rng)
        if (made := coded_text(column)) is None:
            assert not len(column)
            return False
        made.validate(full=True)
        expected = column.dictionary_encode()
        assert made.type == expected.type
        assert made.to_pylist() == column.to_pylist()
        if column.num_chunks == 1:
            assert made.chunk(0).equals(expected.chunk(0))
        return bool(len(column) > column.null_count)

    suite.run(case, deep_count=4_000, needs_answers=0.5)


def test_many_texts_are_left_to_arrow() -> None:
    texts = [str(n) for n in range(9)]
    assert coded_text(pa.chunked_array([texts])) is None
    assert coded_text(pa.chunked_array([texts[:8] * 2])) is not None
    assert coded_text(pa.chunked_array([[1, 2]])) is None


@pytest.mark.parametrize("name", UNSOUND)
def test_what_is_not_sound_is_refused_as_before(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(cerlab.BadData, match="not sound") as caught:
        cerlab.Stream.from_arrow(UNSOUND[name])
    monkeypatch.setattr(text_codes, "MANY", 1 << 20)
    with pytest.raises(cerlab.BadData) as before:
        cerlab.Stream.from_arrow(UNSOUND[name])
    assert str(caught.value) == str(before.value)


@pytest.mark.parametrize("types", [["A", "", "B"], ["A", None], ["", "B"]])
def test_rows_without_a_type_are_refused(types: list[str | None]) -> None:
    with pytest.raises(cerlab.BadData, match="an event type is a text") as caught:
        cerlab.evaluate("A", pa.table({"type": types}))
    assert caught.value.row == 1 + types.index("" if "" in types else None)
    kept = pa.table({"type": types}).slice(types.index("A"), 1) if "A" in types else None
    assert kept is None or len(cerlab.evaluate("A", kept)) == 1
