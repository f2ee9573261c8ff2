"""Errors and queries in other processes: pickled and copied they say the same."""

from __future__ import annotations

import copy
import inspect
import pickle
from multiprocessing import get_context
from typing import Any

import pytest

import cerlab
from cerlab import errors

CALLS: list[tuple[str, Any]] = [
    ("SELECT * WHERE A ;; B", [{"type": "A"}]),
    ("SELECT * WHERE A FILTER A[v <", [{"type": "A"}]),
    ("SELECT b WHERE A AS a ; b+ WITHIN 3 [", [{"type": "A"}]),
    ("SELECT * WHERE A WITHIN 3 [t]", [{"type": "A", "t": 2}, {"type": "A", "t": 1}]),
    ("SELECT * WHERE A", [{"v": 1}]),
    ("SELECT * WHERE A", 3),
]


def error_of(call: tuple[str, Any]) -> cerlab.CerlabError:
    with pytest.raises(cerlab.CerlabError) as caught:
        cerlab.evaluate(*call)
    return caught.value


@pytest.mark.parametrize("call", CALLS)
def test_an_error_is_the_same_elsewhere(call: tuple[str, Any]) -> None:
    error = error_of(call)
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(other) is type(error)
        assert str(other) == str(error)
        assert other.args == error.args
        assert vars(other) == vars(error)


def test_every_class_of_errors_is_pickled() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
    for kind in kinds:
        if issubclass(kind, cerlab.CerlabError):
            error = kind.__new__(kind, "CER0000", "a message")
            vars(error).update(code="CER0000", message="a message", place=None, hint="a hint")
            assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_worker_gives_its_error_back() -> None:
    with get_context("spawn").Pool(1) as pool, pytest.raises(cerlab.QuerySyntaxError):
        pool.apply_async(cerlab.evaluate, CALLS[0]).get(timeout=60)


def test_a_used_query_is_pickled_and_copied() -> None:
    query = cerlab.parse_query("SELECT * WHERE A AS a ; B AS b FILTER a.v < b.v")
    events = [{"type": "A", "v": 1}, {"type": "B", "v": 2}]
    answers = list(query.run(events))
    assert len(query.open().push(events)) == 1
    for other in (pickle.loads(pickle.dumps(query)), copy.copy(query), copy.deepcopy(query)):
        assert other.text == query.text
        assert list(other.run(events)) == answers
