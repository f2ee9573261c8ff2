"""The threads of one evaluation: how many, their errors and limits, and files that they read."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cerlab
from cerlab import threads
from cerlab.budget import poll
from proofs_tests.suite import Suite


@pytest.mark.parametrize("number", [0, -1, True, 1.5, "two"])
def test_a_number_of_threads_is_positive(number: object) -> None:
    with pytest.raises(cerlab.UsageError, match="threads=") as error:
        cerlab.count("A", [{"type": "A"}], threads=number)  # type: ignore[arg-type]
    assert error.value.code == "CER0891"


@pytest.mark.parametrize("text", ["0", "-1", "many"])
def test_a_number_in_the_environment_is_positive(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(threads.VARIABLE, text)
    with pytest.raises(cerlab.UsageError, match=threads.VARIABLE):
        cerlab.parse_query("SELECT * WHERE A").run([{"type": "A"}])


def test_all_cores_are_used_but_in_children_and_beside_other_tests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert threads.unasked() == cores
    child = os.fork()
    if not child:
        os._exit(threads.unasked() != 1)
    assert os.waitpid(child, 0)[1] == 0
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    assert threads.unasked() == 1


def test_the_parameter_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    def number(given: int | None) -> int:
        with threads.using(given):
            return threads.count()

    monkeypatch.delenv(threads.VARIABLE, raising=False)
    monkeypatch.setattr(threads, "unasked", lambda: 1)
    assert [threads.count(), number(None), number(2)] == [1, 1, 2]
    monkeypatch.setenv(threads.VARIABLE, "3")
    assert [threads.count(), number(None), number(2)] == [1, 3, 2]


def test_results_are_in_the_order_of_the_items_and_items_start_no_threads() -> None:
    with threads.using(3):
        found = threads.in_threads(lambda n: (n, threads.count()), range(20))
    assert found == [(n, 1) for n in range(20)]


def test_the_error_of_the_first_item_is_raised() -> None:
    def fail(n: int) -> None:
        if n in (5, 6, 13):
            raise ValueError(n)

    for _ in range(20):
        with threads.using(4), pytest.raises(ValueError, match="5"):
            threads.in_threads(fail, range(20))


def test_an_error_ends_the_others_at_their_next_poll() -> None:
    ended = []

    def work(n: int) -> None:
        if n == 0:
            raise ValueError("first")
        while True:
            try:
                poll()
            except cerlab.ResourceLimit:
                ended.append(n)
                raise

    with threads.using(3), pytest.raises(ValueError, match="first"):
        threads.in_threads(work, range(3))
    assert set(ended) <= {1, 2}
    poll()  # the limit that ended them is over


@pytest.mark.parametrize("number", [1, 2, 7])
def test_the_next_item_is_read_while_one_is_used(number: int) -> None:
    reading, read = list[int](), list[int]()

    def slowly(item: int) -> None:
        reading.append(item)
        if item == 3:
            raise ValueError("the user of the item finds this, too")
        read.append(item)

    with threads.using(number):
        used = []
        for item in threads.ahead(iter(range(6)), slowly):
            assert number == 1 or item == 0 or item in reading  # its reading has ended
            used.append(item)
    assert used == [*range(6)]
    assert read == ([] if number == 1 else [1, 2, 4, 5])


def test_threads_see_the_limits_around_them() -> None:
    with cerlab.limits(seconds=100) as limit, threads.using(2):
        limit.end()
        with pytest.raises(cerlab.ResourceLimit) as error:
            threads.in_threads(lambda _: poll(), range(2))
    assert error.value.code == "CER0620"


def test_row_groups_are_read_by_threads_in_their_order(
    suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cerlab.io.parquet._ROWS_OF_THREAD", 3)

    def case(rng: Random) -> bool:
        rows = rng.randrange(30)
        kinds = [rng.choice("ABC") for _ in range(rows)]
        table = pa.table({"type": pa.array(kinds, pa.string()), "v": pa.array(range(rows))})
        path = tmp_path / "events.parquet"
        pq.write_table(table, path, row_group_size=rng.choice((1, 4, 100)))
        read = []
        for number in (1, 2, 7):
            with threads.using(number):
                stream = cerlab.Stream.read(path)
                read.append([stream.columns[name].to_pylist() for name in ("type", "v")])
        assert read == [[kinds, [*range(rows)]]] * 3
        return rows > 4

    suite.run(case, deep_count=300)
