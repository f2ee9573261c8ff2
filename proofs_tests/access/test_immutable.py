"""Public values do not change: whatever is set is refused, by name where they are ours."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import cerlab

EVENTS = [{"type": "A"}, {"type": "B"}]
QUERY = cerlab.parse_query("SELECT * WHERE A ; B")

OURS = {
    "query": QUERY,
    "matches": QUERY.run(EVENTS),
    "expression": cerlab.parse_query("SELECT * WHERE A").first_order,
}
OTHERS = {
    "stream": cerlab.Stream(EVENTS),
    "formula": QUERY.formula,
    "automaton": QUERY.cea,
    "event": cerlab.Event("A"),
    "answer": cerlab.ComplexEvent(0, 1, (0, 1)),
    "verdict": cerlab.satisfiable(QUERY),
    "why": cerlab.why(QUERY, EVENTS, [0, 1]),
}


@pytest.mark.parametrize("name", ["limit", "text", "logic", "query", "_warned"])
@pytest.mark.parametrize("value", OURS.values(), ids=OURS)
def test_a_query_and_its_matches_refuse_by_name(value: Any, name: str) -> None:
    before = repr(value)
    with pytest.raises(cerlab.UsageError, match=f"CER0854: cannot set '{name}': a"):
        setattr(value, name, 3)
    assert repr(value) == before


@pytest.mark.parametrize("name", ["states", "whatever"])
@pytest.mark.parametrize("value", OTHERS.values(), ids=OTHERS)
def test_nothing_else_takes_it(value: Any, name: str) -> None:
    with pytest.raises((AttributeError, TypeError)):
        setattr(value, name, 3)


@pytest.mark.parametrize("value", OURS.values(), ids=OURS)
def test_they_are_copied_and_pickled_all_the_same(value: Any) -> None:
    for again in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert repr(again) == repr(value)
        with pytest.raises(cerlab.UsageError):
            again.limit = 3


def test_what_is_computed_is_kept() -> None:
    query = cerlab.parse_query("SELECT * WHERE A ; B")
    assert query.cea is query.cea
    assert query.run(EVENTS).count() == 1
