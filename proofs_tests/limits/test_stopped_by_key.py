"""Queries by key on several threads that an error, a limit or an interrupt stops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cerlab
from cerlab import CerlabError, budget
from cerlab.engine import totals
from cerlab.evaluate import answers_of, names_that_take, thresholds
from cerlab.evaluate.physical import why_in_python
from cerlab.io.read import as_stream
from cerlab.model import stream
from proofs_tests.differential.test_keys import IN_PYTHON, SMALL, drawn, rows_of, texts
from proofs_tests.suite import Suite, random_suite

MOST_KEYS = 2_000

Verb = Callable[[cerlab.Matches], Any]


def listed(matches: Iterable[cerlab.ComplexEvent]) -> Any:
    """Return the answers before an error, and the error."""
    answers: list[cerlab.ComplexEvent] = []
    try:
        answers.extend(matches)
    except CerlabError as error:
        return rows_of(answers), str(error)
    return rows_of(answers)


VERBS: dict[str, Verb] = {
    "list": listed,
    "count": lambda m: m.count(),
    "total": lambda m: m.aggregate(sum="A.v").to_pylist(),
    "by key": lambda m: m.aggregate(group_by="key").to_pylist(),
    "by end": lambda m: m.aggregate(group_by="end").to_pylist(),
}


def outcome(verb: Verb, matches: cerlab.Matches) -> Any:
    """Return what a verb gives, or the text of its error."""
    try:
        return verb(matches)
    except CerlabError as error:
        return str(error)


@contextmanager
def cut(rng: Random, table: pa.Table, folder: Path) -> Iterator[Any]:
    """A block in which a table, or its file, is read in small parts and shared among threads."""
    part = max(1 + rng.randrange(table.num_rows), table.num_rows // 10)
    short = rng.choice((0, totals.SHORT))
    with ExitStack() as patches:
        for owner, name, value in (
            (totals, "SHORT", short),
            (thresholds, "SHORT", short and thresholds.SHORT),
            (totals, "SHARE", rng.choice((3, 40, totals.SHARE))),
            (stream, "PART", part),
        ):
            patches.enter_context(patch.object(owner, name, value))
        if rng.random() < 0.5:
            yield table
        else:
            pq.write_table(table, folder / "e.parquet", row_group_size=rng.choice((1, 7, part)))
            yield folder / "e.parquet"


def drawn_query(rng: Random) -> tuple[cerlab.Query, pa.Table]:
    """Return a query by key that kernels take, with a window in time, and its events."""
    while True:
        table = drawn(rng, MOST_KEYS).table
        names = [name for name in ("k", "l") if name in table.column_names]
        text, _ = texts(rng, names)
        if "[ts]" not in text:
            before, consume, scope = text.split(" WITHIN")[0].partition(" CONSUME")
            text = f"{before} WITHIN 3 [ts]{consume}{scope}"
        query = cerlab.parse_query(text)
        if table.num_rows <= IN_PYTHON or why_in_python(query) is None:
            return query, table


def spoilt(rng: Random, table: pa.Table) -> pa.Table:
    """Return events some of whose times are missing or go back."""
    times = table["ts"].to_pylist()
    for _ in range(rng.choice((1, 1, 3))):
        n = rng.randrange(len(times))
        times[n] = None if rng.random() < 0.5 else -1
    return table.set_column(table.column_names.index("ts"), "ts", pa.array(times, pa.int64()))


@pytest.mark.filterwarnings("ignore:CER09")
@random_suite(1_000)
def test_the_first_error_wins_with_any_number_of_threads(rng: Random, tmp_path: Path) -> bool:
    query, table = drawn_query(rng)
    table = spoilt(rng, table)
    with cut(rng, table, tmp_path) as events:
        for name, verb in VERBS.items():
            results = [outcome(verb, query.run(events, threads=n)) for n in (1, 2, 7)]
            assert results[0] == results[1] == results[2], (name, query.text)
        found = outcome(listed, query.run(events))
        if table.num_rows <= SMALL and "tecs" in names_that_take(query):
            read = as_stream(table)
            assert found == listed(answers_of(query, read, "tecs")), query.text
    return isinstance(found, tuple)


@pytest.mark.filterwarnings("ignore:CER09")
def test_a_stop_at_any_step_leaves_a_query_that_answers(suite: Suite, tmp_path: Path) -> None:
    def case(rng: Random) -> bool:
        query, table = drawn_query(rng)
        name = rng.choice(sorted(VERBS))
        steps, last = 0, 0

        def clock() -> float:
            """Count the calls; end the limit or interrupt at the last."""
            nonlocal steps
            steps += 1
            if steps == last and rng.random() < 0.5:
                raise KeyboardInterrupt
            return float(steps >= last > 0)

        with cut(rng, table, tmp_path) as events, patch.object(budget, "clock", clock):

            def result(threads: int) -> Any:
                with cerlab.limits(seconds=0.5):
                    return VERBS[name](query.run(events, threads=threads))

            expected = result(1)
            last, steps = 1 + rng.randrange(steps), 0
            stopped = False
            try:
                found = result(rng.choice((1, 2, 7)))
            except (KeyboardInterrupt, cerlab.ResourceLimit):
                stopped = True
            else:
                stopped = found != expected  # answers before an error
                assert not stopped or isinstance(found, tuple), query.text
            last = 0
            assert result(rng.choice((1, 2, 7))) == expected, query.text
        return stopped

    suite.run(case, deep_count=1_000)
