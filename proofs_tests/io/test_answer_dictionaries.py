"""Text of answers is coded: a dictionary has the texts of answers alone, as pandas groups by it."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from cerlab.model.columns import only_used
from proofs_tests.suite import random_suite


def events(count: int) -> list[dict[str, Any]]:
    names = ["buyer", "seller", None, "nobody"]
    return [{"type": "AB"[n % 2], "n": names[n % 4], "k": f"k{n % 2}"} for n in range(count)]


@pytest.mark.parametrize("is_table", [False, True])
def test_groups_are_of_answers(is_table: bool) -> None:
    """Of an event that is in no answer no text is shown, with 0 or without."""
    rows = events(40)
    stream = pa.Table.from_pylist(rows) if is_table else rows
    matches = cerlab.parse_query("SELECT a[n], a[k] WHERE A AS a PARTITION BY [k]").run(stream)
    for table in (matches.table(), matches.head(30)):
        frame = table.to_pandas()
        assert frame.groupby("a.n", observed=False).size().to_dict() == {"buyer": 10}
        assert frame.groupby("k", observed=False).size().to_dict() == {"k0": 20}
    by_name = matches.aggregate(group_by=["key", "a.n"]).to_pandas()
    assert by_name.groupby("a.n", observed=False)["count"].sum().to_dict() == {"buyer": 10}
    lists = cerlab.parse_query("SELECT a[n] WHERE A:+ AS a").run(stream).table()
    assert sorted(lists["a.n"].chunk(0).values.dictionary.to_pylist()) == ["buyer"]


@random_suite(1_000)
def test_random_dictionaries(rng: Random) -> bool:
    texts = [f"t{n}" for n in range(rng.randrange(1, 9))]
    codes = [rng.choice((None, *range(len(texts)))) for _ in range(rng.randrange(12))]
    kind = rng.choice((pa.int8(), pa.int32()))
    array = pa.DictionaryArray.from_arrays(pa.array(codes, kind), pa.array(texts))
    start = rng.randrange(len(codes) + 1)
    array = array.slice(start)
    result = only_used(array)
    assert result.to_pylist() == array.to_pylist()
    used = {text for text in array.to_pylist() if text is not None}
    assert set(result.dictionary.to_pylist()) == used
    return bool(used) and used != set(texts)
