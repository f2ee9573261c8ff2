"""``cerlab bench``: the queries of CORE on a stock stream, measured as ratios."""

from __future__ import annotations

import argparse
import json
from typing import Any

from cerlab.cli.options import OK, output
from cerlab.errors import UsageError, nearest
from cerlab.model.stream import Stream
from cerlab.workbench import parse_query


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--data", metavar="PATH", help="a stock stream (default: synthetic)")
    parser.add_argument("--queries", metavar="S3,Q1", help="names, or all (default: a dozen)")
    parser.add_argument("--events", type=int, default=200_000, help="of the synthetic stream")
    parser.add_argument("--runs", type=int, default=11, help="measured runs of each query")
    parser.add_argument("--against", choices=("tecs",), help="another evaluator, on a prefix")
    parser.add_argument("--prefix", type=int, default=2_000, help="events for --against")
    parser.add_argument("--format", default="table", choices=("table", "ndjson"))
    parser.add_argument("-o", "--output", metavar="OUT", help="a file instead of standard output")


def bench(arguments: argparse.Namespace) -> int:
    """Measure, query by query."""
    from cerlab.bench.measure import measure

    texts = _chosen(arguments.queries)
    stream = _stream(arguments)
    rows = []
    for name, text in texts.items():
        prefix = arguments.prefix if arguments.against else 0
        made = measure(name, parse_query(text), stream, runs=arguments.runs, prefix=prefix)
        rows.append(made.row())
    with output(arguments.output) as file:
        if arguments.format == "ndjson":
            for row in rows:
                file.write(json.dumps(row) + "\n")
        else:
            _table(rows, file)
    return OK


def _chosen(names: str | None) -> dict[str, str]:
    from cerlab.bench.queries import QUICK, catalogue

    known = catalogue()
    if names == "all":
        return known
    listed = QUICK if names is None else tuple(name.strip() for name in names.split(","))
    for name in listed:
        if name not in known:
            raise UsageError("CER0816", f"no query is called '{name}'", hint=nearest(name, known))
    return {name: known[name] for name in listed}


def _stream(arguments: argparse.Namespace) -> Stream:
    """The stream as columns, texts as dictionaries, which is how columnar files have them."""
    import pyarrow as pa

    from cerlab.io.synthetic import stocks

    stream = Stream.read(arguments.data) if arguments.data else Stream(stocks(arguments.events))
    columns = {}
    for name, column in stream.columns.items():
        if name == "stream":
            continue
        array = column if hasattr(column, "type") else pa.array(column)
        columns[name] = array.dictionary_encode() if pa.types.is_string(array.type) else array
    return Stream.from_arrow(pa.table(columns))


def _table(rows: list[dict[str, Any]], file: Any) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("query", "answers", "M events/s", "M answers/s", "CPU ms", "spread")
    table.add_column("of predicate stage")
    table.add_column("of columns")
    table.add_column("times the tECS")
    for row in rows:
        against = row["against_tecs"]
        table.add_row(
            row["query"],
            f"{row['answers']:,}",
            f"{row['events_per_second'] / 1e6:.2f}",
            f"{row['answers_per_second'] / 1e6:.1f}",
            f"{row['cpu'] * 1e3:.2f}",
            f"{row['spread']:.2f}",
            f"{row['of_predicate_stage']:.3f}",
            f"{row['of_columns']:.3f}",
            "" if against is None else f"{against:.0f}",
        )
    Console(file=file, width=120).print(table)
