"""One Spark session for all tests of a process."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cerlab import UsageError


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session on two cores; tests skip without PySpark or Java."""
    pytest.importorskip("pyspark", reason="PySpark is in the extra 'spark'")
    from cerlab.spark import session

    place: Path = tmp_path_factory.mktemp("spark")
    config = {
        "spark.sql.warehouse.dir": str(place / "warehouse"),
        "spark.local.dir": str(place),
        "spark.sql.shuffle.partitions": "3",
        "spark.log.level": "ERROR",
        "spark.executorEnv.AWS_ACCESS_KEY_ID": "nobody",  # for a store on this machine
        "spark.executorEnv.AWS_SECRET_ACCESS_KEY": "nothing",
    }
    with warnings.catch_warnings(action="ignore"):  # what PySpark itself warns of is not ours
        try:
            result = session("local[2]", config, short_lived=True)
        except UsageError as error:
            pytest.skip(str(error))
        yield result
        result.stop()
