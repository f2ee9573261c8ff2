"""Columns of text numbered by their bytes are what pyarrow checks and codes, and refused alike."""

from __future__ import annotations

from random import Random
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import cerlab
from cerlab.io import text_codes
from cerlab.io.text_codes import coded_frame, coded_text
from proofs_tests.io.test_hostile_columns import UNSOUND
from proofs_tests.suite import Suite

LETTERS = ("a", "b", "\0", "é", "\U0001f600")


@pytest.fixture(autouse=True)
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_codes, "MANY", 1)
    monkeypatch.setattr(text_codes, "MOST_TEXTS", 8)  # and 32 slots, so that texts meet in one


def random_column(rng: Random) -> Any:
    """A column in chunks: texts that begin alike, of up to three words of eight bytes."""
    stem = rng.choice(("", "12345678", "1234567", "x" * 16))
    pool = [
        stem + "".join(rng.choices(LETTERS, k=rng.randrange(9))) for _ in range(rng.randrange(1, 9))
    ]  # as many as are numbered
    kind = rng.choice((pa.string(), pa.large_string(), pa.string_view()))
    nulls, is_cut = rng.choice((0, 0.3)), rng.random() < 0.3
    chunks = []
    for _ in range(rng.randrange(4)):
        size = rng.randrange(20)
        values = [None if rng.random() < nulls else rng.choice(pool) for _ in range(size)]
        begin = rng.randrange(size + 1) if is_cut else 0
        end = rng.randrange(begin, size + 1) if is_cut else size
        chunks.append(pa.array(values, kind)[begin:end])
    return pa.chunked_array(chunks, kind)


def check_codes(rng: Random) -> bool:
    """Whether a column has texts; fails if its codes are not those of Arrow."""
    column = random_column(rng)
    many = rng.choice((1, len(column) or 1))  # chunks are read one by one, or joined
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_codes, "MANY", many)
        codes = coded_text(column)
    if codes is None:
        assert not len(column)
        return False
    codes.validate(full=True)
    kind = pa.large_string() if column.type == pa.string_view() else column.type
    whole = pa.concat_arrays([chunk.cast(kind) for chunk in column.chunks])
    assert codes.num_chunks == 1
    assert codes.chunk(0).equals(whole.dictionary_encode())
    return bool(len(column) > column.null_count)


def test_codes_are_those_of_arrow(suite: Suite) -> None:
    suite.run(check_codes, deep_count=4_000, needs_answers=0.5)


ATOMS = ("n = '{}'", "n <> '{}'", "n < '{}'", "n >= '{}'", "n LIKE '^{}'", "n LIKE '.{}$'")


def test_predicates_hold_in_the_events_of_a_list(suite: Suite) -> None:
    """A table with text of any type has the answers of its rows, read one by one."""

    def case(rng: Random) -> bool:
        column = random_column(rng)
        texts = [text for text in column.to_pylist() if text] or ["a"]
        pieces = [rng.choice(texts)[: rng.choice((8, 40, 40))] for _ in range(2)]
        first, last = (rng.choice(ATOMS).format(text) for text in pieces)
        query = f"SELECT * WHERE A AS x ; A AS y FILTER x[{first}] AND y[{last}] WITHIN 9 EVENTS"
        types = rng.choice((pa.string(), pa.large_string()))
        table = pa.table({"type": pa.array(["A"] * len(column), types), "n": column})
        answers = cerlab.evaluate(query, table, evaluator="compiled")
        assert answers == cerlab.evaluate(query, table.to_pylist(), evaluator="tecs")
        return bool(answers)

    suite.run(case, deep_count=2_000, needs_answers=0.2)


def test_many_texts_are_left_to_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [str(n) for n in range(9)]
    assert coded_text(pa.chunked_array([texts])) is None
    assert coded_text(pa.chunked_array([texts[:5], texts[5:]])) is None
    assert coded_text(pa.chunked_array([texts[:8] * 2])) is not None
    assert coded_text(pa.chunked_array([[1, 2]])) is None
    monkeypatch.setattr(text_codes, "MOST_BYTES", 11)
    assert coded_text(pa.chunked_array([["12345678", "abc", "abc"]])) is not None
    assert coded_text(pa.chunked_array([["12345678", "abcd"]])) is None


@pytest.mark.parametrize("chunks", [1, 2])
@pytest.mark.parametrize("name", UNSOUND)
def test_what_is_not_sound_is_refused_as_before(
    name: str, chunks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.concat_tables([UNSOUND[name]] * chunks)
    monkeypatch.setattr(text_codes, "MANY", len(table))  # so that two chunks are joined
    with pytest.raises(cerlab.BadData, match="not sound") as caught:
        cerlab.Stream.from_arrow(table)
    monkeypatch.setattr(text_codes, "MANY", 1 << 20)
    with pytest.raises(cerlab.BadData) as before:
        cerlab.Stream.from_arrow(table)
    assert str(caught.value) == str(before.value)


VIEWS = {
    "padding": b"\1\0\0\0A" + b"\0" * 10 + b"B",
    "padding of some": b"\5\0\0\0ABCDE" + b"\0" * 6 + b"B",
    "length": b"\xff\xff\xff\xffABCD" + b"\0" * 8,
    "unicode": b"\3\0\0\0A\xffB" + b"\0" * 9,
    "buffer": b"\x0d\0\0\0ABCD\7\0\0\0\0\0\0\0",
    "offset": b"\x0d\0\0\0ABCD\0\0\0\0\7\0\0\0",
}
"""Views of text that are not sound, sixteen bytes each."""


@pytest.mark.parametrize("many", [1, 4, 1 << 20])
@pytest.mark.parametrize("name", VIEWS)
def test_views_that_are_not_sound_are_refused(
    name: str, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_codes, "MANY", many)
    views = b"\1\0\0\0A" + b"\0" * 11 + VIEWS[name]
    buffers = [None, pa.py_buffer(views), pa.py_buffer(b"ABCDEFGHIJKLM")]
    chunk = pa.Array.from_buffers(pa.string_view(), 2, buffers)
    with pytest.raises(cerlab.BadData, match="not sound"):
        cerlab.Stream.from_arrow(pa.table({"type": pa.chunked_array([chunk, chunk])}))


@pytest.mark.parametrize("types", [["A", "", "B"], ["A", None], ["", "B"]])
def test_rows_without_a_type_are_refused(types: list[str | None]) -> None:
    with pytest.raises(cerlab.BadData, match="an event type is a text") as caught:
        cerlab.evaluate("A", pa.table({"type": types}))
    assert caught.value.row == 1 + types.index("" if "" in types else None)
    slice_with_type = pa.table({"type": types}).slice(types.index("A"), 1) if "A" in types else None
    assert slice_with_type is None or len(cerlab.evaluate("A", slice_with_type)) == 1


def test_frames_of_pandas_are_the_tables_of_pyarrow(suite: Suite) -> None:
    def case(rng: Random) -> bool:
        odd = rng.choice((0, 0, 0.1))
        pool: list[Any] = ["A", "B", "".join(("A", "")), None, float("nan"), pd.NA, "é"]
        strange: list[Any] = [1, b"A", 0.5, True, "\ud800"]
        size = rng.randrange(12)
        frame = pd.DataFrame(
            {
                "type": [rng.choice(("A", "B", "".join(("B", "")))) for _ in range(size)],
                "n": [rng.choice(strange if rng.random() < odd else pool) for _ in range(size)],
                "v": [rng.choice((0.5, float("nan"))) for _ in range(size)],
                "k": range(size),
            }
        ).astype({"n": object})
        try:
            table = coded_frame(frame)
        except (pa.ArrowException, UnicodeEncodeError) as error:
            with pytest.raises(type(error)):
                pa.Table.from_pandas(frame)
            return False
        if table is None:
            return False
        expected = pa.Table.from_pandas(frame, preserve_index=False)
        table.validate(full=True)
        assert table.column_names == expected.column_names
        assert table.to_pylist() == expected.to_pylist()
        return True

    suite.run(case, deep_count=4_000, needs_answers=0.5)


def test_frames_of_mixed_objects_are_read_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"type": ["A", "B"] * 4, "n": ["x", 1] * 4})
    answers = cerlab.evaluate("A FILTER A[n = 'x']", frame)
    assert len(answers) == 4
    monkeypatch.setattr(text_codes, "MANY", 1 << 20)
    assert cerlab.evaluate("A FILTER A[n = 'x']", frame) == answers


@pytest.mark.parametrize("many", [1, 1 << 20])
def test_half_a_surrogate_pair_is_refused_with_its_row(
    many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_codes, "MANY", many)
    frame = pd.DataFrame({"type": ["A", "A"], "n": ["x", "\ud800"]})
    with pytest.raises(cerlab.BadData, match="not Unicode") as caught:
        cerlab.evaluate("A", frame)
    assert caught.value.row == 2
