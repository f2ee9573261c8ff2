"""Queries that tasks evaluate key by key: groups of keys have the answers of the whole."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from cerlab import Stream
from cerlab.compile.pattern import Pattern
from cerlab.evaluate.labelled import named_columns, repeatable_labels
from cerlab.evaluate.missing_names import requirements_of
from cerlab.logic.cel.syntax import Atom, Unless, Wait, defined_labels
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.model.clauses import AttributeWindow, EventWindow
from cerlab.predicates.truth import partition_key
from cerlab.spark import evaluation as groups
from cerlab.spark.evaluation import GroupJob, evaluate_groups
from cerlab.spark.task_outputs import RowNames
from cerlab.testing import Shape, random_correlated_events, random_correlated_formula
from proofs_tests.spark.test_any_split import fails
from proofs_tests.suite import Suite

SHAPE = Shape(depth=2, events=40)

pytestmark = pytest.mark.filterwarnings("ignore:CER0915")  # answers wait for the clock


def random_table(rng: Random, formula: Any) -> Any:
    """A stream of columns of one type each, of a few keys."""
    events = random_correlated_events(rng, formula, SHAPE)
    columns: dict[str, Any] = {
        "type": [event.type for event in events],
        "t": list(range(len(events))),
        "k": [rng.choice(("x", "y", None)) for _ in events],
    }
    for name in "vw":
        values = [event.attributes.get(name) for event in events]
        columns[name] = pa.array([v if type(v) is int else None for v in values], pa.int64())
    return pa.table(columns)


def random_query(rng: Random) -> tuple[Pattern, Any]:
    while True:
        formula = random_correlated_formula(rng, SHAPE)
        kind = rng.choice(("registers", "waits"))
        if kind == "waits":
            formula = Wait(formula, AttributeWindow(rng.choice((0, 2, 7)), "t"))
            if rng.random() < 0.3:
                formula = Unless(formula, Atom("B"))
        window = rng.choice((None, EventWindow(4), AttributeWindow(6, "t")))
        throttle = rng.choice((None, AttributeWindow(3, "t"), EventWindow(4)))
        ast = CeqlQuery(formula, partition=(("k",),), window=window, throttle=throttle)
        query = Pattern(ast)
        if query.machine_kind == kind:
            return query, random_table(rng, formula)


def group_batches(rng: Random, table: Any, attributes: tuple[str, ...], places: list[int]) -> Any:
    """The rows that have a key, in record batches of any length, as tasks get them."""
    columns = {f"a{n}": table.column(name) for n, name in enumerate(attributes)}
    keys = [partition_key(event, ("k",)) for event in Stream.from_arrow(table)]
    numbers = {key: n % 3 for n, key in enumerate(dict.fromkeys(keys)) if key is not None}
    group = [-1 if key is None else numbers[key] for key in keys]
    whole = pa.table({"group": group, "position": places, **columns})
    with_key = whole.filter(pa.array([n >= 0 for n in group]))
    rest = with_key.sort_by([("group", "ascending"), ("position", "ascending")]).combine_chunks()
    while rest.num_rows:
        rows = rng.randrange(1, 9)
        yield from rest.slice(0, rows).to_batches()
        rest = rest.slice(rows)


def check(rng: Random) -> bool:
    query, table = random_query(rng)
    stream = Stream.from_arrow(table)
    if cerlab.count(query, stream) > 2_000:
        return False
    labels = sorted(defined_labels(query.formula))
    texts = [f"{label}.{rng.choice('vwk')}" for label in labels]
    names = None
    if rng.random() < 0.5:
        columns = named_columns(query, texts, table.column_names)
        names = RowNames(tuple(columns), ("k",), repeatable_labels(query))
    every = ("type", "k", "t", *requirements_of(query).attributes, "v", "w")
    attributes = tuple(dict.fromkeys(every))
    places = [3 * n + 1 for n in range(table.num_rows)]
    job = GroupJob(query.text, None, attributes, names, table.num_rows - 1)
    size = rng.choice((1, 4, 100))
    rows = group_batches(rng, table, attributes, places)
    answers = [row for batch in evaluate_groups(rows, job, size) for row in batch.to_pylist()]
    if names is None:
        expected = cerlab.Query(query.ast).run(stream).to_arrow().to_pylist()
        for row in expected:
            row["positions"] = [places[p] for p in row["positions"]]
    else:
        expected = cerlab.Query(query.ast).run(stream).table(texts).to_pylist()
    for row in expected:
        row["start"], row["end"] = places[row["start"]], places[row["end"]]
    assert sorted(map(repr, answers)) == sorted(map(repr, expected)), f"{query.text}\n{table}"
    return bool(expected)


def test_groups_have_the_answers_of_the_whole(suite: Suite) -> None:
    suite.run(check, deep_count=500)


def test_a_key_that_is_cut_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = groups._together

    def halves(rows: Any, job: GroupJob) -> Any:
        half = rows.num_rows // 2
        yield from right(rows.slice(0, half), job)
        yield from right(rows.slice(half), job)

    monkeypatch.setattr(groups, "_together", halves)
    assert any(fails(check, seed) for seed in range(60))
