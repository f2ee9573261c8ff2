"""Words of other systems have a hint with a query that parses, and a recipe that the manual has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import cerlab
from cerlab.logic.ceql.hints_from_other_languages import FOREIGN_WORDS

RECIPES = "docs/how_to/recipes.md"
PAGES = {
    page: (Path(__file__).parents[2] / page).read_text(encoding="utf-8")
    for page in (RECIPES, "docs/coming_from.md")
}

TEXTS = {
    "One key, within ten minutes": (
        "sequence by user [login where true] [process where true]",
        "sequence by user with maxspan=5m [login] [process]",
        "SELECT * WHERE sequence by user [login] [process]",
        "SELECT * WHERE A ; B with maxspan 5 MINUTES",
        "SELECT * WHERE A ; B MAXSPAN 5m",
    ),
    "All events of a transaction": (
        "transaction user",
        "transaction user maxspan=5m",
        'sourcetype=web | transaction ip maxspan=30m startswith="A" endswith="B"',
        "SELECT * WHERE transaction user maxspan=5m",
    ),
    "B does not happen in between": (
        "SELECT * WHERE A ; B until C",
        "SELECT * WHERE A ; B UNTIL C",
        "A ; B UNTIL C",
    ),
    "No event in two answers": (
        "SELECT * WHERE A ; B SKIP PAST LAST EVENT",
        "SELECT * WHERE A ; B AFTER MATCH SKIP PAST LAST ROW",
        "SELECT * WHERE A ; B SKIP TO NEXT ROW",
    ),
    "The first event of each key": (
        "SELECT DISTINCT * WHERE A ; B",
        "SELECT DISTINCT a.user WHERE A AS a",
        "SELECT * WHERE FIRST(LOGIN) PARTITION BY [user]",
        "dedup user",
        "index=web | dedup user",
        "SELECT ROW_NUMBER() OVER (PARTITION BY user) WHERE A",
        "SELECT *, ROW_NUMBER() OVER (PARTITION BY user ORDER BY ts) AS rn FROM t",
        "SELECT * WHERE A AS a FILTER ROW_NUMBER() = 1",
    ),
    "One alarm for a burst": (
        "SELECT * WHERE A LIMIT 1 PER HOUR",
        "SELECT * WHERE A ; B SUPPRESS 1 HOUR",
        "SELECT * WHERE A OUTPUT FIRST EVERY 1 HOUR",
        "from A select * output first every 1 hour",
        "SELECT * WHERE A THROTTLE 1 PER HOUR",
    ),
    "Two of three kinds": ("SELECT * WHERE 2 OF (A, B, C)", "2 of (A, B, C)"),
    "A rising sequence": (
        "SELECT * WHERE A+ AS a FILTER a[i].v > a[i-1].v",
        "SELECT * WHERE A+ AS a FILTER a[i].v > a[i - 1].v",
        "SELECT * WHERE A+ a[] WITH a[i].v > a[i-1].v",
        "SELECT * WHERE A FILTER A[v > LAG(v)]",
        "SELECT * WHERE A AS a FILTER a.v > LAG(a.v)",
    ),
    "And then nothing for ten minutes": (
        "SELECT * WHERE NOT A FOR 10 MINUTES",
        "SELECT * WHERE A ; NOT B FOR 10 MINUTES",
        "NOT A FOR 10 MINUTES",
        "SELECT * WHERE A -> NOT B FOR 10 MINUTES",
    ),
    "No such event in the two minutes before": (
        "SELECT * WHERE NOT B FOR 2 MINUTES -> A",
        "every not B for 2 min -> A",
        "sequence by user ![MFA] [ADMIN]",
        "sequence by user with maxspan=2m ![mfa where true] [admin where true]",
    ),
    "Failed logins of different users": (
        "SELECT * WHERE A+ HAVING COUNT(*) > 3",
        "SELECT * WHERE A+ AS a PARTITION BY [u] HAVING COUNT(a) > 3",
        "SELECT host FROM s GROUP BY host HAVING COUNT(DISTINCT user) >= 3",
        "SELECT COUNT(DISTINCT u) WHERE A",
        "stats dc(user) by host",
        "index=auth | stats dc(user) AS users BY host | where users >= 3",
        "correlation:\n  type: value_count\n  group-by: [host]",
        "SELECT * WHERE A+ AS a FILTER DC(a.user) > 3",
        "SELECT COUNT(DISTINCT a.u) WHERE A AS a",
    ),
    "A, and later B": (
        "EVERY A",
        "every (A) -> B",
        "SELECT * WHERE EVERY A ; B",
        "SELECT * WHERE A -> B",
        "A -> B",
        "$a : A()",
        "rule x when $a : A() then end",
    ),
    "A five times, then B": (
        "sequence by user with runs=3 [A] [B]",
        "sequence [A] with runs=3 [B]",
        "SELECT * WHERE A WITH RUNS=3",
    ),
    "How far each user got": (
        "SELECT windowFunnel(600)(ts, type = 'A', type = 'B') FROM t",
        "windowFunnel(600)(ts, type = 'A', type = 'B')",
    ),
    "Sessions with gaps of thirty minutes at most": (
        "SELECT * WHERE A WINDOW SESSION (30 MINUTES)",
        "SELECT * WHERE A+ SESSION GAP 30 MINUTES",
        "from S#window.session(30 min) select *",
        "SELECT * FROM S#window.session(30 min) WHERE A",
        "SELECT * FROM t GROUP BY SESSION(ts, 30)",
    ),
    "Fewer than three in ten minutes": (
        "SELECT * WHERE PING HAVING COUNT(*) < 3",
        "SELECT host FROM t GROUP BY host HAVING COUNT(*) < 3",
        "SELECT * WHERE PING LESS THAN 3",
        "SELECT * WHERE FEWER THAN 3 PING",
    ),
    "More than half of the calls fail": (
        "SELECT RATIO(r) WHERE A+ AS r",
        "SELECT * WHERE A+ AS r FILTER RATIO(r) > 0.5",
        "SELECT SUM(CASE WHEN r.v THEN 1 END) WHERE A+ AS r",
        "SELECT * WHERE A+ AS r FILTER SUM(CASE WHEN r.v = 1 THEN 1 ELSE 0 END) > 1",
    ),
    "": (
        "SELECT * WHERE A FILTER A[x IN (SELECT y FROM z)]",
        "SELECT * WHERE A |> B",
        "SELECT * FROM s TIMESTAMP BY ts WHERE A",
        "SELECT * WHERE A ; B TIMESTAMP BY ts",
        "PATTERN (A B+) DEFINE B AS B.v > 1",
        "DEFINE A AS A.v > 1",
        "SELECT * FROM t PATTERN (A B)",
        "any where v == 1",
        "process where v == 1",
    ),
}
"""Texts of other systems, by the recipe that their hint names."""

CASES = [pytest.param(text, section, id=text) for section in TEXTS for text in TEXTS[section]]
HINT = re.compile(r"\bwrite (.*?)(?:; recipe '(.*?)' \(([\w/.]+)\))?(?:; expected .*)?$")


@pytest.mark.parametrize(("text", "section"), CASES)
@pytest.mark.filterwarnings("error")
def test_the_hint_names_a_query_that_parses_and_its_recipe(text: str, section: str) -> None:
    with pytest.raises(cerlab.CerlabError) as caught:
        cerlab.parse_query(text)
    found = HINT.search(caught.value.hint)
    assert found is not None, caught.value.hint
    assert (found[2] or "") == section, caught.value.hint
    parse = cerlab.parse_rows if "MATCH_RECOGNIZE" in found[1] else cerlab.parse_query
    parse(found[1])
    assert not section or f"\n## {section}\n" in PAGES[found[3]]


@pytest.mark.parametrize(
    ("text", "section"),
    [
        ("SELECT * WHERE PING{0,2}", "Fewer than three in ten minutes"),
        ("SELECT * WHERE PING:{,2}", "Fewer than three in ten minutes"),
        (
            "SELECT * WHERE A+ AS r FILTER COUNT(r.FAIL) / COUNT(r) > 0.5",
            "More than half of the calls fail",
        ),
    ],
)
def test_an_ill_formed_query_names_a_recipe(text: str, section: str) -> None:
    with pytest.raises(cerlab.IllFormed) as caught:
        cerlab.parse_query(text)
    assert caught.value.hint.endswith(f"see recipe '{section}' (docs/how_to/recipes.md)")
    assert f"\n## {section}\n" in PAGES[RECIPES]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * WHERE A EMIT CHANGES",
        "SELECT * FROM S EMIT CHANGES",
        "SELECT * WHERE A LESS THAN 3",
        "SELECT * WHERE LESS THAN 3 A",
    ],
)
def test_a_foreign_word_is_no_misspelled_keyword(text: str) -> None:
    with pytest.raises(cerlab.QuerySyntaxError) as caught:
        cerlab.parse_query(text)
    assert "did you mean" not in caught.value.hint
    assert re.match("answers appear|write ", caught.value.hint)


def test_each_foreign_word_is_tried() -> None:
    hints = set()
    for case in CASES:
        with pytest.raises(cerlab.CerlabError) as caught:
            cerlab.parse_query(str(case.values[0]))
        hints.add(caught.value.hint.partition("; expected ")[0])
    assert {word.hint for word in FOREIGN_WORDS} == hints


def test_the_page_of_recipes_lists_each_section_that_a_hint_names() -> None:
    words = PAGES[RECIPES].partition("\n## ")[0]
    assert [each for each in TEXTS if each and f"[{each}](" not in words] == []


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * WHERE A FILTER A[v = 'wait until noon] ; B",
        "SELECT * WHERE A -- every A -> B\n ; ; B",
        "SELECT * WHERE A FILTER A[v = 'A -> B' AND] ; B",
    ],
)
def test_quoted_texts_and_comments_hold_no_foreign_words(text: str) -> None:
    with pytest.raises(cerlab.QuerySyntaxError) as caught:
        cerlab.parse_query(text)
    assert "recipe" not in caught.value.hint


def test_the_advice_stands_before_what_is_expected() -> None:
    with pytest.raises(cerlab.QuerySyntaxError, match=r"write .* expected '"):
        cerlab.parse_query("SELECT * WHERE A -> B")
