"""Texts that were read before the language had time mean what they meant; its words stay names.

`read_before.txt` has texts of the manual, the examples, the tests and CORE's queries, each with
what the reader of that time printed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from cerlab.evaluate import EvaluatorName

READERS: dict[str, Any] = {
    "ceql": lambda text: cerlab.parse_query(text).ast,
    "cel": cerlab.parse_formula,
    "sremo": cerlab.parse_sremo,
    "rows": cerlab.parse_rows,
}


def read_before() -> Iterator[Any]:
    """The language, the text and what it was printed as."""
    language = ""
    for line in Path(__file__).with_name("read_before.txt").read_text().splitlines():
        if line.startswith("["):
            language = line.strip("[]")
        elif line and not line.startswith("#"):
            text, _, printed = line.partition(" => ")
            yield pytest.param(language, text, printed or text, id=f"{language}-{text[:50]}")


def one_line(value: Any) -> str:
    return " ".join(str(value).split())


def printed(language: str, text: str) -> str:
    return one_line(cerlab.parse_query(text) if language == "ceql" else READERS[language](text))


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
@pytest.mark.parametrize(("language", "text", "before"), read_before())
def test_it_is_read_as_before(language: str, text: str, before: str) -> None:
    assert printed(language, text) == before
    read = READERS[language]
    assert read(before) == read(text)


WORDS = (
    *("WAIT", "TIMESTAMP", "DATE", "INTERVAL", "UNTIL", "DURATION", "MILLISECOND", "MILLISECONDS"),
    *("SECOND", "SECONDS", "MINUTE", "MINUTES", "HOUR", "HOURS", "DAY", "DAYS"),
)
"""Words of the literals and operators of time."""
CASES = [case for word in WORDS for case in (word, word.lower(), word.capitalize())]
USES = {
    "a type": "{w}",
    "a type in a sequence": "{w} ; {w}",
    "a label": "A AS {w}",
    "a filtered label": "A AS {w} FILTER {w}[v = 1]",
    "an attribute": "A FILTER A[{w} = 1]",
    "an attribute in arithmetic": "A FILTER A[{w} + 1 > {w} - 1 AND 2 * {w} > {w} / 3]",
    "attributes compared": "A AS {w} ; B AS y FILTER {w}.{w} + 1 > y.{w} - {w}.{w}",
    "an attribute in a set": "A FILTER A[{w} IN {{1, 2}} OR {w} LIKE 'x']",
    "a renamed label": "RENAME[A -> {w}](A)",
    "a projection": "PROJECT[{w}](A AS {w})",
    "after AND": "A FILTER A[v = 1] AND {w}[v = 1]",
    "a type after AND": "A AND {w}",
    "a window": "(A ; B WITHIN 3 [{w}]) ; C",
}


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
def test_words_of_time_are_names_in_cel(use: str) -> None:
    """The formula is that with another name, with the name replaced."""
    for word in CASES:
        bare = word if word.upper() != "WAIT" else f"`{word}`"
        phi = cerlab.parse_formula(use.format(w=bare))
        other = cerlab.parse_formula(use.format(w="name"))
        assert repr(phi) == repr(other).replace("'name'", repr(word)), word
        assert cerlab.parse_formula(str(phi)) == phi


@pytest.mark.parametrize("evaluator", ["reference", "automaton", "tecs", "compiled", "registers"])
def test_words_of_time_are_names_of_what_is_evaluated(evaluator: EvaluatorName) -> None:
    for word in WORDS:
        bare = word if word != "WAIT" else f"`{word}`"
        query = (
            f"SELECT {bare} FROM {bare} WHERE {bare} ; A AS {bare} FILTER {bare}[{bare} > 0]"
            f" PARTITION BY [{bare}] WITHIN 5 [{bare}]"
        )
        rows = [(word, word, 1), ("A", "S", 1), ("A", word, 1), ("A", word, 2)]
        stream = [{"type": kind, "stream": name, word: n} for kind, name, n in rows]
        answers = cerlab.evaluate(query, stream, evaluator=evaluator)
        assert [answer.positions for answer in answers] == [(0, 2)], word


def test_wait_is_a_name_without_quotes_where_no_wait_can_stand() -> None:
    assert cerlab.parse_formula("WAIT") == cerlab.parse_formula("`WAIT`")
    assert cerlab.parse_formula("A AS wait") == cerlab.parse_formula("A AS `wait`")


@pytest.mark.parametrize("word", CASES)
def test_words_of_time_are_names_in_sremo(word: str) -> None:
    text = f"<type = '{word}' AND {word} > 1>^ -> {word} . <{word} = {word}.{word}>^"
    e = cerlab.parse_sremo(text)
    assert cerlab.parse_sremo(str(e)) == e
    stream = [{"type": word, word: 2}, {"type": "B", word: 2}]
    assert cerlab.matches(e, stream) == {(0, 1)}


@pytest.mark.parametrize("word", CASES)
def test_words_of_time_are_names_in_row_patterns(word: str) -> None:
    text = (
        f"MATCH_RECOGNIZE (ORDER BY n MEASURES LAST({word}.{word}) AS {word}"
        f" PATTERN ({word}+) DEFINE {word} AS {word} > 1 AND {word}.{word} < 9)"
    )
    pattern = cerlab.parse_rows(text)
    assert cerlab.parse_rows(str(pattern)) == pattern
    table = pa.table({"n": [0, 1, 2], word: [1, 2, 3]})
    assert cerlab.match_recognize(pattern, table).column(0).to_pylist() == [3]
