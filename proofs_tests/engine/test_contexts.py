"""The table of a context has room for the kinds of events and states that there are, not more."""

from __future__ import annotations

from string import ascii_uppercase

from cerlab.compile.pattern import Pattern, any_pattern
from cerlab.engine.contexts import ContextColumns
from cerlab.model.event import Event
from cerlab.model.stream import Stream


def test_kinds_of_events_that_come_one_by_one_double_the_table_at_most() -> None:
    names = ascii_uppercase[:20]
    pattern = any_pattern(f"MAX({' OR '.join(names)}) ; Z")
    assert isinstance(pattern, Pattern)
    plan, contexts = pattern.in_context
    reader = ContextColumns(plan, contexts)
    for name in names:
        reader.read(Stream([Event(name, {})]).columns, 1)
    (walk,) = reader._walks
    states, kinds = walk._after.shape
    assert kinds <= 2 * (len(names) + 1)
    assert states <= 2 * len(contexts[0].machine.idle_states)
