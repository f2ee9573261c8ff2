"""The conformance suite on Spark: by key where a query has one, and in order."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import cerlab
import cerlab.spark
from cerlab.conformance import AXIS, Case, cases
from cerlab.conformance.judge import difference
from cerlab.spark.plan import Mode, why_not
from cerlab.testing import as_dict
from proofs_tests.conformance.ways import FAMILY, query_of
from proofs_tests.suite import Suite

pytestmark = pytest.mark.filterwarnings("default")  # those of PySpark are not ours

SHARE = 24
"""One case of so many runs, all in the deep profile: a job takes most of a second."""


def has_frame(case: Case) -> bool:
    """Return whether each column of the events has one type, which is one of Spark's."""
    if case.language not in FAMILY or case.kind not in ("answers", "valuations"):
        return False
    columns: dict[str, set[type]] = {}
    for row in case.rows:
        for name, value in row.items():
            columns.setdefault(name, set()).update(() if value is None else {type(value)})
    plain = ({int}, {float}, {str}, {bool})
    return (
        bool(case.events)
        and case.options.keys() <= {*AXIS}
        and all(kinds in plain for kinds in columns.values())
        # a column of texts is no column of times to Spark
        and columns.get(str(case.options.get("time"))) != {str}
    )


def modes_of(query: cerlab.Query) -> list[Mode]:
    # THROTTLE runs by key, with positions, and has its own tests
    if query.machine_kind != "automaton" or query.ast.throttle is not None:
        return []
    return [mode for mode in Mode if why_not(query.plan, mode) is None][:2]


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
def test_cases_have_their_answers_on_spark(spark: Any, suite: Suite) -> None:
    fitting = [(case, query_of(case)) for case in cases() if has_frame(case)]
    taken = [(case, query, mode) for case, query in fitting for mode in modes_of(query)]
    assert len(taken) > len(fitting) / 2
    for case, query, mode in taken[:: 1 if suite.deep else SHARE]:
        rows = [as_dict(event) for event in case.stream.events]
        names = list(dict.fromkeys(name for row in rows for name in row))
        columns = {name: [row.get(name) for row in rows] for name in names}
        table = pa.table({**columns, "place": range(len(rows))})
        time = {**case.options}
        found = cerlab.spark.match(
            spark.createDataFrame(table), query, order_by="place", mode=mode.value, **time
        )
        answers = [
            {"start": row["start"], "end": row["end"], "positions": list(row["positions"])}
            for row in found.collect()
        ]
        assert not (wrong := difference(case, {"answers": answers})), f"{case.id}: {wrong}"
