"""A push that a limit or an interrupt stops: the session refuses, or is exactly where it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from cerlab.engine.symbol_tables import LearnedTables
from cerlab.engine.tecs_run import GeneralEvaluation, Tecs
from cerlab.engine.windows import WindowStarts
from cerlab.predicates.columns.key_codes import KeyCodes

TEXT = "SELECT * WHERE A ; B+ ; C PARTITION BY [k] WITHIN 9 [t]"
EVENTS = [{"type": kind, "t": n, "k": n // 11} for n, kind in enumerate("ABBCABACCBCBACCBBAACCB")]
BEFORE, BATCH, AFTER = EVENTS[:5], EVENTS[5:14], EVENTS[14:]

PLACES: list[tuple[type, str]] = [
    (GeneralEvaluation, "_forget_keys"),
    (KeyCodes, "codes"),
    (KeyCodes, "code"),
    (LearnedTables, "symbols"),
    (LearnedTables, "symbol"),
    (WindowStarts, "read"),
    (WindowStarts, "read_events"),
    (Tecs, "read"),
]
LIMIT = cerlab.ResourceLimit("CER0620", "too much", hint="ask for less")


def failing(real: Callable[..., Any], error: BaseException, *, late: bool) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        if not late:
            raise error
        result = real(*arguments)
        if not isinstance(result, Iterator):
            raise error
        return cut_off(result, error)

    return call


def cut_off(answers: Iterator[Any], error: BaseException) -> Iterator[Any]:
    yield from answers
    raise error


@pytest.mark.parametrize("columnar", [False, True])
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("error", [LIMIT, KeyboardInterrupt()])
@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place[0].__name__}.{place[1]}")
def test_a_stopped_session_refuses_or_is_where_it_was(
    place: tuple[type, str],
    error: BaseException,
    late: bool,
    columnar: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def batch(events: list[dict[str, Any]]) -> Any:
        return pa.Table.from_pylist(events) if columnar else events

    session = cerlab.parse_query(TEXT).open()
    answers = list(session.push(batch(BEFORE)))
    state = session.state()
    with monkeypatch.context() as patch:
        kind, name = place
        patch.setattr(kind, name, failing(getattr(kind, name), error, late=late))
        try:
            session.push(batch(BATCH))
        except type(error):
            pass
        else:
            return  # the other way of the two: this one is not called
    try:
        answers += session.push(batch(BATCH))
    except cerlab.UsageError as refusal:
        assert refusal.code == "CER0832"  # noqa: PT017
        with pytest.raises(cerlab.UsageError, match="CER0832"):
            session.state()
        session = cerlab.parse_query(TEXT).open(state=state)
        answers += session.push(batch(BATCH))
    answers += session.push(batch(AFTER))
    assert sorted(answers, key=str) == sorted(cerlab.evaluate(TEXT, EVENTS), key=str)


def test_what_is_no_events_stops_no_session() -> None:
    session = cerlab.parse_query(TEXT).open()
    nothing: Any = 3
    with pytest.raises(cerlab.UsageError, match="CER0812"):
        session.push(nothing)
    assert len(session.push(EVENTS)) == len(cerlab.evaluate(TEXT, EVENTS)) > 5
