"""Whose a checkpoint is, written into it before a query begins: another one is refused at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cerlab.errors import BadData, DataPlace
from cerlab.spark.stream.state import ANOTHER, GO_ON

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLAIM = "cerlab-query"
"""A folder in a checkpoint that says whose it is."""


def claim(spark: SparkSession, checkpoint: str, job: str) -> None:
    """Write into a checkpoint whose it is, unless it says so already.

    `job` is `cerlab.spark.stream.step.digest`. Raises `BadData` for a checkpoint of another query
    or other settings, before anything of it is used.
    """
    from pyspark.errors import AnalysisException

    place = f"{checkpoint.rstrip('/')}/{CLAIM}"
    try:
        owners = [row[0] for row in spark.read.text(place).collect()]
    except AnalysisException:
        owners = []
    if not owners:
        claimed = spark.createDataFrame([(job,)], "job string").coalesce(1)
        claimed.write.mode("overwrite").text(place)
    elif owners != [job]:
        raise BadData("CER0776", ANOTHER, place=DataPlace(checkpoint), hint=GO_ON)
