"""The arguments of the command line, each declared once, and the commands that use them.

Reading this table imports no command. An argument names the values that it needs from another
module; they are looked up when a command with this argument is parsed.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from cerlab.errors import UsageError
from cerlab.model.event import TypeColumn


@dataclass(frozen=True)
class Values:
    """A value of a module, given by name; the first use imports the module."""

    module: str
    name: str
    text: str | None = None
    """A text that contains the values in place of ``{}``."""

    def __call__(self) -> Any:
        """Import the module and return the value, inserted into `text` if there is one."""
        value = getattr(import_module(self.module), self.name)
        return value if self.text is None else self.text.format(", ".join(value))


def text(argument: str) -> str:
    """Return an argument unchanged if it is text; Python passes invalid UTF-8 as surrogates."""
    if not argument.isprintable() and any("\ud800" <= c <= "\udfff" for c in argument):
        raise ArgumentTypeError("expected text in UTF-8")
    return argument


def output_file(argument: str) -> str | None:
    """Return the name of an output file; None for ``-``, which is standard output."""
    return None if argument == "-" else argument


def output_folder(argument: str) -> str:
    """Return the name of an output folder, which cannot be standard output."""
    if argument == "-":
        raise ArgumentTypeError("expected a folder, got - for standard output")
    return argument


_LENGTH = re.compile(r"(\d+(?:\.\d*)?|\.\d+) *(in|cm|mm|pt)?")
_PER_INCH = {None: 1.0, "in": 1.0, "cm": 2.54, "mm": 25.4, "pt": 72.0}
_TALLEST = 200.0
"""Height in inches of a picture whose width alone is given: the tallest page of a PDF."""


def size(argument: str) -> tuple[float, float]:
    """Return the maximal width and height in inches; without a height, 200 inches.

    >>> size("3.3,6"), size("2.54cm, 72pt"), size("25.4mm")
    ((3.3, 6.0), (1.0, 1.0), (1.0, 200.0))
    """
    lengths = [_LENGTH.fullmatch(part.strip()) for part in argument.split(",")]
    inches = [float(m[1]) / _PER_INCH[m[2]] for m in lengths if m is not None]
    if len(inches) != len(lengths) or len(inches) > 2 or not all(inches):
        raise ArgumentTypeError("expected a width, or a width and a height: 8.5cm, or 3.3in,6in")
    return inches[0], (*inches, _TALLEST)[1]


@dataclass(frozen=True)
class Argument:
    """An argument or an option: its names, and the parameters of ``add_argument``."""

    names: tuple[str, ...]
    parameters: Mapping[str, Any]
    group: str | None = None
    """The heading of the argument in ``--help``."""

    def add_to(self, parser: ArgumentParser, formats: Sequence[str]) -> None:
        """Add the argument to a command whose results have these `formats`."""
        values = {k: v() if isinstance(v, Values) else v for k, v in self.parameters.items()}
        if "format" in (values.get("dest"), self.names[0].lstrip("-")):
            values["choices"] = formats
        (parser if self.group is None else _group(parser, self.group)).add_argument(
            *self.names, **values
        )


def _group(parser: ArgumentParser, title: str) -> Any:
    groups = (group for group in parser._action_groups if group.title == title)
    return next(groups, None) or parser.add_argument_group(title)


def declared(*names: str, group: str | None = None, **parameters: Any) -> Argument:
    """Return an argument with the parameters of ``add_argument``."""
    return Argument(names, parameters, group)


def switch(*names: str, help: str, **parameters: Any) -> Argument:
    """Return an option without a value."""
    return declared(*names, action="store_true", help=help, **parameters)


_QUERY: Mapping[str, Any] = {"metavar": "QUERY", "help": "query file, or the query as text"}
_EVENTS: Mapping[str, Any] = {
    "metavar": "EVENTS",
    "help": "files, folders or patterns ('day-*.csv'); - is standard input",
}
_FILE = "output file; - is standard output"

ARGUMENTS: dict[str, Argument] = {
    # the query
    "query": declared("query", **_QUERY),
    "query?": declared("query", nargs="?", **_QUERY),
    "a": declared("a", metavar="A", help=_QUERY["help"]),
    "b": declared("b", metavar="B", help=_QUERY["help"]),
    "language": declared(
        "--language",
        choices=("ceql", "cel", "sremo", "rows"),
        help="query language (default: detected from the text)",
    ),
    "schema": declared(
        "--schema",
        metavar="FILE",
        help="file of CREATE STREAM declarations, for the query and the events",
    ),
    "certificate": declared(
        "--certificate",
        metavar="FILE",
        help="file for a proof of the answer yes, which a verified checker accepts",
    ),
    # of which events
    "events": declared("events", nargs="+", **_EVENTS),
    "events?": declared("events", nargs="*", **_EVENTS),
    "in": declared("events", nargs="+", metavar="IN", help=_EVENTS["help"]),
    "type": declared(
        "--type", type=text, metavar="NAME", help="type of all events, if no column contains it"
    ),
    "type-column": declared(
        "--type-column",
        dest="type",
        type=TypeColumn,
        metavar="COLUMN",
        help="column of event types (default: type)",
    ),
    "time": declared(
        "--time",
        metavar="COLUMN[:UNIT]",
        help="time column; UNIT of a numeric time: ns, us, ms, s, min, h or d",
    ),
    "records": declared(
        "--records",
        metavar="PATH",
        help="path of the list of rows inside a JSON object, such as Records",
    ),
    "sort": switch("--sort", help="sort the events by time"),
    "quarantine": declared(
        "--quarantine",
        metavar="FILE",
        help="write unreadable rows to FILE and continue (default: stop at the first)",
    ),
    "until": declared(
        "--until",
        metavar="TIME",
        help="declare that all events before TIME have arrived; end: all events have",
    ),
    # how, and which answers
    "evaluator": declared(
        "--evaluator",
        default="auto",
        metavar="E",
        help=Values("cerlab.evaluate", "EVALUATORS", "{} or auto (default: auto)"),
    ),
    "limit": declared("--limit", type=int, metavar="N", help="write at most N answers"),
    "labels": switch("--labels", help="write the positions of each label"),
    "with-events": switch("--events", dest="show_events", help="write the events of each answer"),
    "columns": declared(
        "--columns",
        metavar="A.PRICE,B.NAME",
        help="columns to write instead of positions; *: those in SELECT (CSV default: *)",
    ),
    "positions": declared(
        "--positions",
        metavar="3,7,9",
        help="positions to explain, counted from 0 (default: explain why no answer exists)",
    ),
    "start": declared(
        "--start", type=int, metavar="I", help="first position of the answer's interval"
    ),
    "end": declared("--end", type=int, metavar="J", help="last position of the answer's interval"),
    "what": declared(
        "--what",
        type=Values("cerlab.api.timelines", "stage_name"),
        choices=Values("cerlab.api.timelines", "STAGES"),
        help="stage to draw (default: timeline with EVENTS, ast without)",
    ),
    "theme": declared(
        "--theme",
        choices=Values("cerlab.viz.graph", "THEMES"),
        help="colours of the picture (default: light; DOT: no colours)",
    ),
    "rankdir": declared(
        "--rankdir",
        choices=Values("cerlab.viz.graph", "DIRECTIONS"),
        help="direction of the picture (default: by its kind); TB makes wide machines narrower",
    ),
    "size": declared(
        "--size",
        type=size,
        metavar="WIDTH[,HEIGHT]",
        help="greatest size of the picture, in inches or with a unit (8.5cm); larger ones shrink",
    ),
    # the place and the format of the output
    "format": declared("--format", help="output format (default: by the suffix of OUT)"),
    "output": declared(
        "-o", "--output", type=output_file, metavar="OUT", help=f"{_FILE}, the default"
    ),
    "out": declared("output", type=output_file, metavar="OUT", help=_FILE),
    "to": declared("--to", dest="format", help="alias of --format"),
    "quiet": switch("-q", "--quiet", help="suppress warnings"),
    "threads": declared(
        "--threads",
        type=int,
        metavar="N",
        help="number of threads, for aggregates by key and for Parquet files "
        "(default: CERLAB_THREADS, or all cores)",
    ),
    # arguments of all commands
    "time-limit": declared(
        "--time-limit", type=float, metavar="SECONDS", help="stop after SECONDS with exit status 2"
    ),
    "memory-limit": declared(
        "--memory-limit",
        metavar="SIZE",
        help="stop above SIZE of memory (500MB, 2GiB) with exit status 2",
    ),
    # sql, explain, lab, completion
    "tables": declared(
        "tables",
        nargs="*",
        metavar="TABLE",
        help="NAME=FILE defines the table NAME (default: the file name without suffix)",
    ),
    "codes": declared(
        "codes",
        metavar="CODE",
        nargs="*",
        help="error code, such as CER0802 (default: list all codes)",
    ),
    "port": declared(
        "--port", type=int, default=0, help="port of the server (default: a free port)"
    ),
    "no-browser": switch("--no-browser", help="print the address without opening a browser"),
    "page": declared(
        "--page",
        metavar="TEXT",
        default="",
        help='query and events to open, as copied by "Copy link"',
    ),
    "build": declared(
        "--build",
        metavar="DIR",
        type=Path,
        help="write the lab to DIR as static files, which run in a browser without a server",
    ),
    "shell": declared("shell", choices=("bash", "zsh", "fish")),
    # other engines
    "command": declared("engine", metavar="COMMAND", help="command that starts the engine"),
    "command?": declared(
        "engine",
        metavar="COMMAND",
        nargs="?",
        help="command that starts the engine (default: cerlab)",
    ),
    "engine": declared(
        "--engine",
        action="append",
        metavar="ENGINE",
        help=Values("cerlab.trial.adapters", "DEFAULT", "engine to test; repeatable (default: {})"),
    ),
    "cases": declared("--cases", type=int, default=1_000, help="number of cases (default: 1000)"),
    "seed": declared("--seed", type=int, default=0, help="seed of the random cases (default: 0)"),
    "minutes": declared(
        "--minutes", type=float, default=5.0, help="time limit in minutes (default: 5)"
    ),
    "timeout": declared(
        "--timeout", type=float, default=60.0, help="time limit of a case in seconds (default: 60)"
    ),
    "with": declared(
        "--with",
        dest="takes",
        metavar="F,G",
        help="features that the engine supports (default: see below)",
    ),
    "without": declared(
        "--without", default="", metavar="F,G", help="features that the engine does not support"
    ),
    "depth": declared(
        "--depth", type=int, default=3, help="maximal depth of formulas (default: 3)"
    ),
    "length": declared(
        "--events", type=int, default=6, help="maximal length of streams (default: 6)"
    ),
    "values": declared(
        "--values",
        choices=("few", "all"),
        default="few",
        help="attribute values: only 0 and 1 (few, the default), or every kind (all)",
    ),
    "languages": declared(
        "--languages",
        default="ceql",
        metavar="L,M",
        help="languages that the engine supports (default: ceql)",
    ),
    "only": declared(
        "--only", metavar="NAME", help="run one group, or one case with its request and reply"
    ),
    "report": declared(
        "--report",
        metavar="FOLDER",
        help="write an HTML page, and files to repeat each case, to FOLDER",
    ),
    "conformance": switch(
        "--conformance",
        help="run the cases of `cerlab conformance` instead of random cases",
    ),
    "sqllogictest": declared(
        "--sqllogictest",
        metavar="DIR",
        help="run test files of another engine instead: cerlab evaluates MATCH_RECOGNIZE, "
        "DuckDB the rest",
    ),
    "settled": declared(
        "--settled", metavar="FILE", help="for --sqllogictest: expected differences, one per line"
    ),
    # spark
    "input": declared(
        "--input",
        nargs="+",
        action="extend",
        metavar="PATH",
        help="files, folders, patterns ('day-*.csv') or addresses (s3://bucket/folder)",
    ),
    "input-format": declared(
        "--input-format",
        choices=("parquet", "arrow", "csv", "ndjson", "core"),
        metavar="FORMAT",
        help="parquet, arrow, csv, ndjson or core (default: by suffix)",
    ),
    "folder": declared(
        "-o",
        "--output",
        type=output_folder,
        metavar="PATH",
        help="output folder of Parquet files; it must not exist",
    ),
    "overwrite": switch("--overwrite", help="replace the output folder"),
    "order-by": declared(
        "--order-by", metavar="C1,C2", default="", help="columns that order the events"
    ),
    "position": declared("--position", metavar="C", help="column of positions"),
    "mode": declared(
        "--mode", choices=("keys", "ranges", "one"), help="partitioning mode (default: first exact)"
    ),
    "parts": declared("--parts", type=int, metavar="N", help="number of parts"),
    "partition": switch("--partition", help="write the key of each answer"),
    "ends-in": declared(
        "--ends-in",
        nargs=2,
        metavar=("FROM", "TO"),
        help="list only answers that end at FROM or later and before TO",
    ),
    "master": declared("--master", metavar="URL", help="Spark master (default: local[*])"),
    "plan": switch("--explain", help="print the plan without running it"),
    "stream": switch(
        "--stream", help="read files as they arrive in the input folder", group="streams"
    ),
    "lateness": declared(
        "--lateness",
        metavar="T",
        help="maximal delay of an event: '10 seconds', or 500 in the unit of the time",
    ),
    "lag": declared(
        "--lag", metavar="T", help="maximal delay of a key behind the newest event", group="streams"
    ),
    "checkpoint": declared(
        "--checkpoint",
        metavar="PATH",
        help="checkpoint folder (default: OUTPUT/_checkpoint)",
        group="streams",
    ),
    "files": declared(
        "--files",
        type=int,
        default=16,
        metavar="N",
        help="files per micro-batch (default: 16)",
        group="streams",
    ),
    "with-quarantine": switch(
        "--quarantine",
        dest="with_quarantine",
        help="write rows that are repeated or lack position, time or type to a column "
        "(default: raise an error)",
        group="streams",
    ),
    "buckets": declared(
        "--buckets",
        type=int,
        metavar="N",
        help="maximal number of tasks (default: 16)",
        group="streams",
    ),
    "follow": switch("--follow", help="wait for new files until interrupted", group="streams"),
    "verbose": switch("--verbose", help="print CPU times by stage at the end"),
    "debug": switch("--debug", help="print the log of Java"),
    "doctor": switch("--doctor", help="check the installation of Spark and Java"),
}

_ANY_QUERY = "query language schema"
_HOW_TO_READ = "type type-column time records sort quarantine"
_ROWS = ("ndjson", "csv", "table", "parquet")


@dataclass(frozen=True)
class Command:
    """A command: its module in ``cerlab.cli``, its function, its purpose, and its arguments."""

    module: str
    function: str
    purpose: str
    arguments: str = ""
    """Names in `ARGUMENTS`, in the order of ``--help``."""
    formats: Sequence[str] | Values = ()
    """The choices of ``--format``; the first is the default if the name of OUT has no format."""
    has_default_format: bool = True
    examples: str | Values = ""
    about: str | Values | None = None
    prints: bool = False
    """True if the output of ``-o`` is everything the command prints."""
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", (*self.arguments.split(), "time-limit", "memory-limit"))

    def add_to(self, parser: ArgumentParser) -> None:
        """Add the arguments, the examples and the function to the parser of the command."""
        formats = tuple(_value(self.formats))
        for name in self.names:
            ARGUMENTS[name].add_to(parser, formats)
        examples = _value(self.examples)
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.description = _value(self.about)
        parser.epilog = f"examples:{examples}" if isinstance(self.examples, str) else examples
        run = Values(f"cerlab.cli.{self.module}", self.function)()
        parser.set_defaults(command=run, prints=self.prints)

    def format_of(self, arguments: Namespace) -> str:
        """Return the format for the suffix of OUT, or the default for standard output.

        Names without a suffix and names in ``.txt`` have the default format too. Raises
        `UsageError` for other suffixes, and if the command has no default format.
        """
        formats: tuple[str, ...] = tuple(_value(self.formats))
        out = arguments.output or ""
        suffix = Path(out).suffix.lower()
        by_suffix = {".txt": formats[0]} if self.has_default_format else {}
        by_suffix |= dict(_suffixes(formats))
        if suffix in by_suffix:
            return by_suffix[suffix]
        if self.has_default_format and not suffix:
            return formats[0]
        raise UsageError(
            "CER0867",
            f"expected an output name that ends in {', '.join(by_suffix)}, got '{out or '-'}'",
            hint=f"or add --format {', '.join(formats)}",
        )


def _value(value: Any) -> Any:
    return value() if isinstance(value, Values) else value


_SUFFIXES = {"dot": (".dot", ".gv"), "tikz": (".tex", ".tikz")}
"""Suffixes of formats that cerlab only writes; other such formats have their name as suffix."""


def _suffixes(formats: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each suffix of an output file, with its format."""
    from cerlab.io.formats import FORMATS

    for name in formats:
        own = FORMATS[name].suffixes if name in FORMATS else _SUFFIXES.get(name, (f".{name}",))
        yield from ((suffix, name) for suffix in own)


COMMANDS: dict[str, Command] = {
    "run": Command(
        "run",
        "run",
        "evaluate a query on events",
        "query language schema events evaluator limit until labels with-events columns "
        f"format output {_HOW_TO_READ} lateness threads quiet",
        formats=_ROWS,
        examples="""
  cerlab run "BUY ; SELL" trades.csv
  cerlab run "SELECT * WHERE BUY AS b ; SELL AS s WITHIN 10 SECONDS" trades.csv --time t:s \\
      --columns b.price,s.price --format csv
  cerlab run "SELECT COUNT(*), MAX(s.price) WHERE BUY ; SELL AS s GROUP BY end" trades.csv
  tail -f trades.ndjson | cerlab run "BUY ; SELL" -
""",
    ),
    "check": Command(
        "decide",
        "check",
        "analyse a query without events",
        f"{_ANY_QUERY} output",
        prints=True,
        examples="""
  cerlab check "BUY ; SELL FILTER SELL[price > 3 AND price < 2]"
""",
    ),
    "show": Command(
        "show",
        "show",
        "draw a query and its automata",
        f"{_ANY_QUERY} events? what format theme rankdir size output until {_HOW_TO_READ}",
        formats=Values("cerlab.cli.show", "FORMATS"),
        examples="""
  cerlab show "BUY ; SELL" --what cea
  cerlab show "BUY+ ; SELL" --what det -o machine.svg
  cerlab show "BUY+ ; SELL" --what det -o machine.pdf --rankdir TB --size 8.5cm --theme print
  cerlab show "BUY ; SELL" trades.csv
""",
    ),
    "equivalent": Command(
        "decide",
        "compare",
        "decide whether A and B always have the same answers",
        "a b language schema certificate output",
        prints=True,
        examples="""
  cerlab equivalent "(A ; B) ; C" "A ; (B ; C)"
""",
    ),
    "contained": Command(
        "decide",
        "compare",
        "decide whether every answer of A is always an answer of B",
        "a b language schema output",
        prints=True,
        examples="""
  cerlab contained "A : B" "A ; B"
""",
    ),
    "why": Command(
        "why",
        "run",
        "explain why positions are an answer, or are not",
        f"{_ANY_QUERY} events positions start end format output until {_HOW_TO_READ}",
        formats=("text", "json"),
        prints=True,
        examples="""
  cerlab why "BUY ; SELL" trades.csv
  cerlab why "BUY ; SELL" trades.csv --positions 0,1
""",
    ),
    "fuzz": Command(
        "comparisons",
        "run_fuzz",
        "compare an engine with the reference on random queries",
        "command cases seed with without depth length values timeout",
        about=Values("cerlab.cli.comparisons", "ABOUT_FUZZ"),
        examples=Values("cerlab.cli.comparisons", "HOW_FUZZ"),
    ),
    "conformance": Command(
        "comparisons",
        "run_conformance",
        "test an engine on cases with known answers",
        "command? with without languages only timeout",
        about=Values("cerlab.cli.comparisons", "ABOUT_CONFORMANCE"),
        examples=Values("cerlab.cli.comparisons", "HOW_CONFORMANCE"),
    ),
    "trial": Command(
        "comparisons",
        "run_trial",
        "compare several engines on random queries",
        "engine cases minutes seed timeout report conformance sqllogictest settled",
        about=Values("cerlab.cli.comparisons", "ABOUT_TRIAL"),
        examples=Values("cerlab.cli.comparisons", "HOW_TRIAL"),
    ),
    "sql": Command(
        "rows",
        "run_sql",
        "run SQL with MATCH_RECOGNIZE on files",
        "query tables format output",
        formats=_ROWS,
        examples="""
  cerlab sql "SELECT low FROM trades MATCH_RECOGNIZE (MEASURES FIRST(price) AS low \\
      PATTERN (A B+) DEFINE B AS price > PREV(price))" trades.csv
""",
    ),
    "spark": Command(
        "spark",
        "run",
        "evaluate a query on files with Spark",
        "query? language schema input input-format folder overwrite order-by position type "
        "type-column time ends-in mode parts partition columns master plan stream lateness lag "
        "checkpoint files with-quarantine buckets follow quiet verbose debug doctor",
        about=Values("cerlab.cli.spark", "DESCRIPTION"),
        examples=Values("cerlab.cli.spark", "EPILOG"),
    ),
    "convert": Command(
        "tools",
        "convert",
        "convert events to another format",
        f"in out format to schema {_HOW_TO_READ}",
        formats=("csv", "ndjson", "core", "parquet", "arrow"),
        has_default_format=False,
        examples="""
  cerlab convert trades.csv trades.parquet
  cerlab convert trades.csv - --format ndjson
""",
    ),
    "explain": Command(
        "tools",
        "explain",
        "explain an error code, with an example and the fix",
        "codes output",
        prints=True,
        examples="""
  cerlab explain CER0802
""",
    ),
    "lab": Command(
        "tools",
        "lab",
        "open a page for experiments in the browser",
        "port no-browser page build",
        examples="""
  cerlab lab --no-browser
""",
    ),
    "fmt": Command(
        "show",
        "fmt",
        "print a query in its canonical form",
        f"{_ANY_QUERY} output",
        prints=True,
        examples="""
  cerlab fmt "select * where A as x within 3 events"
""",
    ),
    "demo": Command(
        "tools",
        "tour",
        "run a short tour",
        examples="""
  cerlab demo
""",
    ),
    "completion": Command(
        "tools",
        "completion",
        "print a completion script for a shell",
        "shell output",
        prints=True,
        examples="""
  eval "$(cerlab completion bash)"
  cerlab completion zsh -o ~/.zsh/completions/_cerlab
  cerlab completion fish -o ~/.config/fish/completions/cerlab.fish
""",
    ),
}
"""All commands, in the order of ``cerlab --help``."""
