"""Answers of a stream whose rows lie in order: what Spark moves are units of many rows.

The units are those of `cerlab.spark.tasks.shuffle_units`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cerlab.spark.batch.by_rows import answers_by_keys
from cerlab.spark.batch.columns import answer_schema, key_names, keys_of, values_of
from cerlab.spark.batch.first_pass import spread
from cerlab.spark.batch.request import Request
from cerlab.spark.plan.assignment import Dealing
from cerlab.spark.plan.modes import Mode
from cerlab.spark.tasks import shuffle_units as packs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def answers_by_packs(asked: Request, deal: Dealing) -> DataFrame:
    """The answers in the mode that is asked for; a task gets the packs of one part."""
    rows = _rows(asked)
    if asked.choice.mode is not Mode.KEYS:
        evaluate = partial(packs.evaluate_packs, job=asked.job, deal=deal)
        return packs_by_part(asked, deal).mapInArrow(evaluate, answer_schema(asked, rows))
    if asked.is_numbered:
        return answers_by_keys(asked, _numbered(asked, deal))
    return answers_by_keys(asked, rows if asked.kept is None else rows.where("kept"))


def packs_where_they_lie(asked: Request, deal: Dealing) -> DataFrame:
    """The packs, made in the tasks that read their rows (`cerlab.spark.tasks.shuffle_units`)."""
    from pyspark.sql.types import BinaryType, IntegerType, StructType

    rows = _rows(asked)
    schema = StructType().add("part", IntegerType()).add("run", IntegerType())
    for name in key_names(asked):
        schema.add(rows.schema[name])
    return rows.mapInArrow(partial(packs.packed, deal=deal), schema.add("pack", BinaryType()))


def packs_by_part(asked: Request, deal: Dealing) -> DataFrame:
    """The packs of each part in a task of its own, in order."""
    parts = deal.part[-1] + 1 if deal.part else 1
    made = spread(packs_where_they_lie(asked, deal), "part", parts, key_names(asked))
    return made.drop(*key_names(asked))


def _rows(asked: Request) -> DataFrame:
    """The rows where they lie: their keys, their positions where they are given, what is read."""
    positions = [] if asked.position is None else [asked.position.alias("position")]
    return asked.source.frame.select(*keys_of(asked), *positions, *values_of(asked))


def _numbered(asked: Request, deal: Dealing) -> DataFrame:
    """The kept rows with their positions."""
    from pyspark.sql.types import LongType, StructType

    dropped = {"kept", *key_names(asked)}
    schema = StructType([field for field in _rows(asked).schema if field.name not in dropped])
    number = partial(packs.number_packs, deal=deal)
    return packs_by_part(asked, deal).mapInArrow(number, schema.add("position", LongType()))
