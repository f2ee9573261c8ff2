"""Recipes of the manual have the answers that they state, by every evaluator that takes them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import cerlab
from cerlab.compile.pattern import any_pattern
from cerlab.evaluate import names_that_take
from cerlab.io.source import text_events

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```\{query\} (.*)\n((?::.*\n)*)((?:.*\n)*?)```", re.MULTILINE)


def _recipes() -> list[object]:
    """Return events, options and text of each block that states its answers."""
    text = (DOCS / "how_to" / "recipes.md").read_text(encoding="utf-8")
    return [
        pytest.param(events, dict(re.findall(r"^:(\w+): (.*)$", options, re.M)), query, id=query)
        for events, options, query in BLOCK.findall(text)
    ]


@pytest.mark.parametrize(("events", "options", "query"), _recipes())
@pytest.mark.filterwarnings("error")
def test_a_recipe_has_the_answers_that_it_states(
    events: str, options: dict[str, str], query: str
) -> None:
    read = text_events("\n".join(events.split()), "core")
    stream = cerlab.Stream(read, time="t" if "time" in options else None, unit=options.get("time"))
    stated = [
        tuple(map(int, each.split(","))) for each in re.findall(r"{(.*?)}", options["answers"])
    ]
    for evaluator in ("auto", *names_that_take(any_pattern(query))):
        answers = cerlab.evaluate(query, stream, evaluator=evaluator)  # type: ignore[arg-type]  # a literal
        assert [answer.positions for answer in answers] == stated, evaluator
