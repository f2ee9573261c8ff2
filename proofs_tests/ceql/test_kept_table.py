"""The parser's table on disk: read again, and made anew where the file is foreign."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lark import lark as lark_module

from cerlab.logic import parsing
from cerlab.logic.ceql.parser import parse_ceql

TEXT = "SELECT S>A WHERE A ; B FILTER A[v > 1] LIMIT 0"


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    parsing.lark_of.cache_clear()
    yield
    parsing.lark_of.cache_clear()


def parsed_anew() -> object:
    parsing.lark_of.cache_clear()
    return parse_ceql(TEXT)[0]


def table_file(tmp_path: Path) -> Path:
    (file,) = tmp_path.rglob("*.table")
    return file


def test_a_table_that_is_kept_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = parsed_anew()
    assert table_file(tmp_path).exists()
    monkeypatch.setattr(lark_module, "load_grammar", None)  # what makes one
    assert parsed_anew() == expected


@pytest.mark.parametrize("size", [0, 10, 70, 500, -1])
def test_a_file_that_was_cut_off_or_is_another_is_replaced(size: int, tmp_path: Path) -> None:
    expected = parsed_anew()
    file = table_file(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(whole[:size] if size >= 0 else b"not a table\n" * 9)
    assert parsed_anew() == expected
    assert len(file.read_bytes()) > len(whole) // 2


def test_another_grammar_has_another_file() -> None:
    assert parsing.table_file("p", "a: b") != parsing.table_file("p", "a: c")
