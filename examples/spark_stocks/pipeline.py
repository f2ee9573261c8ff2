"""Stock trades as text files to a table and a figure of where large sales are bought back.

    python pipeline.py --out trades                    # the sample beside this file, local[2]
    python pipeline.py --out trades --data stocks.stream
    spark-submit --master spark://.. pipeline.py --data s3a://.. --out s3a://..

Four tables of Parquet, each made of the one before: ``bronze`` (the lines as they are), ``silver``
(typed events), ``matches`` (the answers of ``query.ceql``), ``gold`` (their number by stock and
minute); lines that are no events are in ``rejected``. The figure goes where ``--figure`` says.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import cerlab.spark

HERE = Path(__file__).parent
MINUTE_MS = 60_000

EVENT = r"^\s*(\w+)\((.*)\)\s*$"
TYPES = {
    "id": "bigint",
    "name": "string",
    "volume": "bigint",
    "price": "double",
    "stock_time": "bigint",
}


def bronze(spark: Any, data: str) -> Any:
    """Return the lines of all files with their file, without blank lines and comments."""
    from pyspark.sql import functions as fn

    lines = spark.read.text(data).select("value", fn.col("_metadata.file_name").alias("file"))
    return lines.where(~fn.col("value").rlike(r"^\s*(#.*|--.*)?$"))


def silver(lines: Any) -> tuple[Any, Any]:
    """Return typed events, and the lines that are not events."""
    from pyspark.sql import functions as fn

    kind = fn.nullif(fn.regexp_extract("value", EVENT, 1), fn.lit(""))
    attributes = fn.regexp_extract("value", EVENT, 2)
    typed = [
        fn.regexp_extract(attributes, rf"(?:^|,)\s*{name}\s*=\s*([^,]*)", 1)
        .try_cast(spark_type)
        .alias(name)
        for name, spark_type in TYPES.items()
    ]
    read = lines.select("*", kind.alias("type"), *typed)
    whole = fn.lit(True)
    for name in ("type", *TYPES):
        whole = whole & fn.col(name).isNotNull()
    return read.where(whole).select("type", *TYPES), read.where(~whole).select("value", "file")


def matches(events: Any, query: str) -> Any:
    """Return the answers, each with its stock; the ids of events are their positions."""
    return cerlab.spark.match(events, query, position="id", partition=True)


def gold(found: Any, events: Any) -> Any:
    """Count the answers and the purchases that end in each minute, by stock."""
    from pyspark.sql import functions as fn

    ends = events.select(fn.col("id").alias("end"), "stock_time")
    minute = fn.floor(fn.col("stock_time") / MINUTE_MS).alias("minute")
    return (
        found.join(ends, "end")
        .groupBy(fn.col("partition.name").alias("name"), minute)
        .agg(
            fn.count("*").alias("answers"),
            fn.countDistinct("end").alias("purchases"),
        )
        .orderBy("minute", "name")
    )


def figure(rows: list[Any], path: Path) -> None:
    """Draw the answers by minute, with a colour for each stock."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    minutes = sorted({row["minute"] for row in rows})
    below = dict.fromkeys(minutes, 0)
    drawn = Figure(figsize=(8, 4), layout="constrained")
    axes = drawn.add_subplot()
    for name in sorted({row["name"] for row in rows}):
        heights = {row["minute"]: row["answers"] for row in rows if row["name"] == name}
        at = sorted(heights)
        axes.bar(at, [heights[m] for m in at], bottom=[below[m] for m in at], label=name)
        for m in at:
            below[m] += heights[m]
    axes.set_xlabel("minute of the day")
    axes.set_ylabel("answers")
    if rows:
        axes.legend(fontsize="small", ncols=2)
    FigureCanvasAgg(drawn).print_figure(path)


def main(arguments: list[str] | None = None) -> int:
    """Run the whole pipeline."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", default=str(HERE / "raw"), help="text files of events")
    parser.add_argument("--out", required=True, help="a folder for the tables")
    parser.add_argument("--figure", default="answers.svg", help="where the figure goes")
    parser.add_argument("--query", default=str(HERE / "query.ceql"), help="a file")
    parser.add_argument("--master", default=None, help="of Spark (default: local[2])")
    given = parser.parse_args(arguments)
    spark = cerlab.spark.session(given.master or default_master())

    def kept(table: Any, name: str) -> Any:
        place = f"{given.out.rstrip('/')}/{name}"
        table.write.mode("overwrite").parquet(place)
        return spark.read.parquet(place)

    lines = kept(bronze(spark, given.data), "bronze")
    events, rejected = silver(lines)
    events, rejected = kept(events, "silver"), kept(rejected, "rejected")
    found = kept(matches(events, Path(given.query).read_text(encoding="utf-8")), "matches")
    table = kept(gold(found, events), "gold")
    figure(table.collect(), Path(given.figure))
    counts = f"{lines.count():,} lines, {rejected.count():,} of them rejected"
    print(f"{counts}: {found.count():,} answers")
    return 0


def default_master() -> str | None:
    """Two cores here, unless ``spark-submit`` says where to run."""
    return None if "PYSPARK_GATEWAY_PORT" in os.environ else "local[2]"


if __name__ == "__main__":
    sys.exit(main())
