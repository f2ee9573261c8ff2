"""``b.v - a.v <= 5`` is evaluated as ``b.v <= a.v + 5`` exactly where both have one meaning."""

from __future__ import annotations

import io
import json
from datetime import date
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from cerlab import Duration, Event, Timestamp
from cerlab.evaluate import evaluators, thresholds
from cerlab.evaluate.separation import fast_form
from cerlab.logic.ceql.parser import parse_cel
from cerlab.model.event import Value
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Correlation
from cerlab.predicates.separation import Range, agree, separated
from cerlab.predicates.text import predicate_text
from cerlab.predicates.truth import kind_of
from proofs_tests.command import Cli
from proofs_tests.suite import random_suite

PAIR = "A AS a ; B AS b FILTER "
MOST = 2**63 - 1


@pytest.mark.parametrize(
    ("text", "fast"),
    [
        ("b.t - a.t <= 1 MINUTE", "b.t <= a.t + 1 MINUTE"),
        ("1 MINUTE >= b.t - a.t", "b.t <= a.t + 1 MINUTE"),
        ("a.t - b.t >= -1 SECOND", "a.t >= b.t - 1 SECOND"),
        ("-(a.v - b.v) != 3", "a.v != b.v - 3"),
        ("a.v + b.v < 10", "a.v < 10 - b.v"),
        ("b.v - 2 * a.v > b.w", "b.v - b.w > 2 * a.v"),
        ("0 - a.v - b.v = 0", "a.v = 0 - b.v - 0"),
        ("a.v - PREV(a.v) > 3", "a.v > PREV(a.v) + 3"),
        ("LAST(a.v) - FIRST(a.v) >= 0", "LAST(a.v) >= FIRST(a.v) + 0"),
        ("a.v - PREV(a.v) < FIRST(a.v)", None),
        ("a.v - FIRST(a.v) < COUNT(b)", None),
        ("b.v <= a.v + 5", None),
        ("b.v * a.v > 5", None),
        ("b.v - a.v * b.w > 5", None),
        ("b.v > 5 + 2 * a.v", None),
    ],
)
def test_the_fast_form(text: str, fast: str | None) -> None:
    condition: Any = parse_cel(PAIR + text)[0].condition  # type: ignore[union-attr]
    other = separated(condition)
    if fast is None or other is None:
        assert (fast, other) == (None, None)
        return
    read: Any = parse_cel(PAIR + predicate_text(other))[0].condition  # type: ignore[union-attr]
    assert predicate_text(other) == fast
    assert read == other, "the text that a warning names is what is evaluated"


POOLS: dict[str, list[Value]] = {
    "number": [0, 1, -1, 7, 2**62, -(2**62), MOST, -MOST, -(2**63), 2**63],
    "double": [0.5, -1.5, 0.1, 3.0, float("nan"), float("inf")],
    "timestamp": [Timestamp(n) for n in (0, 5, -(2**63), MOST, 2**62, -(2**62), 2**63)],
    "duration": [Duration(n) for n in (0, 5, -5, MOST, -(2**63), 2**62)],
    "text": ["a", "b"],
    "boolean": [True, False],
    "nothing": [None],
}


def drawn_operand(rng: Random, label: str, name: str) -> pred.LabelLeaf:
    """Return an operand that reads one event of a label."""
    if rng.random() < 0.8:
        return pred.LabelAttribute(label, name)
    function = rng.choice((pred.Group.FIRST, pred.Group.LAST, None))
    return pred.OfGroup(function, label, name) if function else pred.Previous(label, name)


def drawn_expression(rng: Random, depth: int, constants: list[Value]) -> pred.Expression:
    if not depth or rng.random() < 0.2:
        if rng.random() < 0.25:
            return pred.Constant(rng.choice(constants))
        return drawn_operand(rng, rng.choice("ab"), rng.choice("vw"))
    if rng.random() < 0.15:
        return pred.Negated(drawn_expression(rng, depth - 1, constants))
    ADD, SUB, MUL = pred.Arithmetic.ADD, pred.Arithmetic.SUB, pred.Arithmetic.MUL
    sides = (drawn_expression(rng, depth - 1, constants) for _ in range(2))
    return pred.Computed(rng.choice((ADD, SUB, SUB, SUB, MUL, pred.Arithmetic.DIV)), *sides)


@random_suite(4_000, needs_answers=0.15)
def test_forms_that_agree_hold_of_the_same_events(rng: Random) -> bool:
    """Of all values within the ranges: those at their ends among them, missing and of NULL."""
    constants: list[Value] = [1, 5, -3, 2**62, 0.5, Duration(3), Duration(-(2**62))]
    while True:
        sides = (drawn_expression(rng, rng.randrange(3), constants) for _ in range(2))
        C = Correlation(rng.choice(list(pred.Operator)), *sides)
        if (other := separated(C)) is not None:
            break
    kinds = {name: rng.choice(list(POOLS)) for name in "vw"}
    values = {n: rng.sample(POOLS[k], min(3, len(POOLS[k]))) for n, k in kinds.items()}
    ranges = {name: range_of(values[name]) for name in "vw"}
    is_same = agree(C, other, ranges)
    for a, b in product(product(*values.values()), repeat=2):
        two = [Event("A", dict(zip("vw", e, strict=True))) for e in (a, b)]
        for events in ({"a": two[:1], "b": two[1:]}, {"a": two, "b": two[::-1]}):
            verdicts = {each.holds(events.__getitem__) for each in (C, other)}
            assert not is_same or len(verdicts) == 1, (C, other, events)
    return is_same and any(kind in ("number", "timestamp") for kind in kinds.values())


def range_of(values: list[Value]) -> Range:
    kind = next((k for v in values if (k := kind_of(v)) is not None), None)
    whole: list[int] = []
    for value in values:
        if isinstance(value, Timestamp | Duration):
            whole.append(value.nanoseconds)
        elif isinstance(value, int) and not isinstance(value, bool):
            whole.append(value)
        else:
            return Range(kind)
    return Range(kind, (min(whole), max(whole)))


SECOND = 10**9


@pytest.mark.parametrize(
    ("text", "column", "is_fast"),
    [
        ("b.v - a.v <= 5", pa.array([1, 2, None]), True),
        ("b.v - a.v <= 5", pa.array([1, 2, None], pa.uint8()), True),
        ("b.v - a.v <= 5", pa.array([MOST - 5, 0]), True),
        ("b.v - a.v <= 5", pa.array([MOST - 4, 0]), False),
        ("b.v - a.v <= 5", pa.array([2**63, 0], pa.uint64()), False),
        ("b.v - a.v <= 5", pa.array([-5, MOST - 5]), True),
        ("b.v - a.v <= 5", pa.array([-6, MOST - 5]), False),
        ("b.v - a.v <= 5", pa.array([1.0, 2.0]), False),
        ("b.v - a.v <= 0.5", pa.array([1, 2]), False),
        ("b.v - a.v <= 5", pa.array(["x", "y"]), True),
        ("b.v - a.v <= 5", pa.nulls(2), True),
        ("b.v - a.v <= 5", None, True),
        ("b.v - a.v <= 5", pa.array([5, 6], pa.timestamp("s")), True),
        ("b.v - a.v <= 5 SECONDS", pa.array([5, 6], pa.timestamp("us", "UTC")), True),
        ("b.v - a.v <= 5 SECONDS", pa.array([MOST // SECOND - 6], pa.timestamp("s")), True),
        ("b.v - a.v <= 5 SECONDS", pa.array([MOST // SECOND - 4], pa.timestamp("s")), False),
        ("b.v - a.v <= 5 SECONDS", pa.array([-(2**62) - 1, 2**62], pa.timestamp("ns")), False),
        ("b.v - a.v <= 5 SECONDS", pa.array([date(2026, 1, 1)]), True),
        ("b.v - a.v <= 5 SECONDS", pa.array([-5, 6], pa.duration("ms")), True),
        ("b.v - a.v <= 5 SECONDS", pa.array([1, 2]), True),
    ],
)
def test_bounds_of_the_data(text: str, column: Any, is_fast: bool) -> None:
    columns = {"type": pa.array(["A"] * (2 if column is None else len(column)))}
    stream = cerlab.Stream.from_arrow(pa.table(columns | ({} if column is None else {"v": column})))
    pattern = cerlab.parse_query(f"SELECT * WHERE {PAIR}{text}")
    assert (fast_form(pattern, stream) is not pattern) == is_fast


@pytest.mark.parametrize(
    ("text", "fast", "a", "b", "counts"),
    [
        ("b.v - a.v <= 5", "b.v <= a.v + 5", MOST, MOST - 2, (1, 0)),
        ("b.v - a.v <= 5", "b.v <= a.v + 5", MOST - 5, MOST - 7, (1, 1)),
        ("a.v - b.v < 1", "a.v < b.v + 1", -MOST - 1, MOST - 1, (0, 1)),
        ("b.v - a.v = 0.1", "b.v = a.v + 0.1", 1.5, 1.6, (0, 1)),
    ],
)
@pytest.mark.parametrize("by", ["reference", "compiled", "registers"])
def test_the_text_that_is_written_has_its_own_answers(
    by: Any, text: str, fast: str, a: Value, b: Value, counts: tuple[int, int]
) -> None:
    """Beyond the bounds, and over doubles, the two forms have different answers."""
    events = [{"type": "A", "v": a}, {"type": "B", "v": b}]
    found = [len(cerlab.evaluate(PAIR + each, events, evaluator=by)) for each in (text, fast)]
    assert (found[0], found[1]) == counts


def long_table(values: Any) -> Any:
    return pa.table({"type": ["A", "B"] * 20, "k": [n // 4 for n in range(40)], "v": values})


@pytest.fixture
def long_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let 20 events be a long stream, of which none is evaluated by the runs as written."""

    def refuse(*_: object) -> Any:
        raise AssertionError("runs as written")

    monkeypatch.setattr(thresholds, "SHORT", 20)
    monkeypatch.setattr(evaluators.RegisterRuns, "answers", refuse)


QUERY = f"SELECT * WHERE {PAIR}b.v - a.v <= 1 PARTITION BY [k]"
FAST = f"SELECT * WHERE {PAIR}b.v <= a.v + 1 PARTITION BY [k]"


@pytest.mark.usefixtures("long_streams")
def test_no_way_to_answers_goes_pair_by_pair(tmp_path: Path) -> None:
    table = long_table(list(range(40)))
    count = len(cerlab.evaluate(FAST, table, evaluator="compiled"))
    matches = cerlab.parse_query(QUERY).run(table)
    assert count == cerlab.count(QUERY, table) == len(cerlab.evaluate(QUERY, table)) == 20
    assert len(cerlab.evaluate(QUERY, table, evaluator="registers")) == count
    assert matches.count() == matches.table(["a.v", "b.v"]).num_rows == len([*matches]) == count
    assert matches.aggregate(sum="a.v")["count"][0].as_py() == count
    assert len(cerlab.valuations(QUERY, table, evaluator="compiled")) == count


@pytest.mark.usefixtures("long_streams")
def test_tasks_of_spark(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="PySpark is in the extra 'spark'")
    from cerlab.spark.evaluation import GroupJob, evaluate_groups

    table = long_table(list(range(40)))
    names = {"group": "k", "position": "v", "a0": "type", "a1": "v", "a2": "k"}
    rows = pa.table({name: table.column(of) for name, of in names.items()})
    job = GroupJob(QUERY, None, ("type", "v", "k"), None)
    batches = evaluate_groups(rows.to_batches(), job)
    assert sum(batch.num_rows for batch in batches) == 20


def test_a_warning_and_hints_name_the_fast_form(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    table = long_table([float(n) for n in range(40)])
    assert cerlab.count(QUERY, table) == 20, "a short stream is not warned of"
    monkeypatch.setattr(thresholds, "SHORT", 20)
    for ask in (cerlab.count, cerlab.evaluate):
        with pytest.warns(
            cerlab.AnswerWarning, match=r"CER0931: b\.v - a\.v <= 1 .*: b\.v <= a\.v \+ 1"
        ):
            ask(QUERY, table)
    with pytest.raises(cerlab.Unsupported, match="CER0403") as refused:
        cerlab.parse_query(QUERY).open()
    assert refused.value.hint == "write b.v <= a.v + 1"
    with pytest.raises(cerlab.Unsupported, match="CER0491") as refused:
        cerlab.evaluate(
            "(A:+ AS a : B AS b FILTER b.v - a.v > 2) ; C", table, evaluator="registers"
        )
    monkeypatch.setattr(thresholds, "SHORT", 20)
    lines = "".join(json.dumps(row) + "\n" for row in table.to_pylist())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    out, err = cli("run", QUERY, "-")
    assert (len(out.splitlines()), err.count("CER0931")) == (20, 1)
