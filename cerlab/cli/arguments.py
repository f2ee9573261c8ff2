"""The arguments of the command line, each declared once, and the commands that have them.

Reading this table loads no command: what an argument needs of another module is named here, and
looked up when a command with this argument is parsed.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from cerlab.model.event import TypeColumn


@dataclass(frozen=True)
class Values:
    """The value of a name in a module, looked up when it is asked for."""

    module: str
    name: str
    text: str | None = None
    """A text that holds the values, where ``{}`` stands."""

    def __call__(self) -> Any:
        """Import the module, and return the value, or the text with it."""
        value = getattr(import_module(self.module), self.name)
        return value if self.text is None else self.text.format(", ".join(value))


def text(argument: str) -> str:
    """Return an argument that is text; Python has bytes that are no UTF-8 as surrogates."""
    if not argument.isprintable() and any("\ud800" <= c <= "\udfff" for c in argument):
        raise ArgumentTypeError("this is not text in UTF-8")
    return argument


@dataclass(frozen=True)
class Argument:
    """An argument or an option: its names, and the parameters of ``add_argument``."""

    names: tuple[str, ...]
    parameters: Mapping[str, Any]
    group: str | None = None
    """The heading of ``--help`` that it stands under."""

    def add_to(self, parser: ArgumentParser, formats: Sequence[str]) -> None:
        """Add it to a command whose results have these `formats`."""
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
    """Return an argument; the parameters are those of ``add_argument``."""
    return Argument(names, parameters, group)


def switch(*names: str, help: str, **parameters: Any) -> Argument:
    """Return an option without a value."""
    return declared(*names, action="store_true", help=help, **parameters)


_QUERY: Mapping[str, Any] = {"metavar": "QUERY", "help": "a file or the text itself"}
_EVENTS: Mapping[str, Any] = {
    "metavar": "EVENTS",
    "help": "files, folders or patterns ('day-*.csv'), or - for standard input",
}
_FILE = "a file instead of standard output"

ARGUMENTS: dict[str, Argument] = {
    # what is asked
    "query": declared("query", **_QUERY),
    "query?": declared("query", nargs="?", **_QUERY),
    "a": declared("a", metavar="A", help=_QUERY["help"]),
    "b": declared("b", metavar="B", help=_QUERY["help"]),
    "language": declared(
        "--language",
        choices=("ceql", "cel", "sremo", "rows"),
        help="if the text does not tell",
    ),
    "schema": declared(
        "--schema",
        metavar="FILE",
        help="CREATE STREAM declarations for the query and the data",
    ),
    "certificate": declared(
        "--certificate",
        metavar="FILE",
        help="if the answer is yes, write there what a proved checker accepts",
    ),
    # of which events
    "events": declared("events", nargs="+", **_EVENTS),
    "events?": declared("events", nargs="*", **_EVENTS),
    "in": declared("events", nargs="+", metavar="IN", help=_EVENTS["help"]),
    "type": declared(
        "--type", type=text, metavar="NAME", help="the event type, if no column has it"
    ),
    "type-column": declared(
        "--type-column",
        dest="type",
        type=TypeColumn,
        metavar="COLUMN",
        help="the column of event types, if it is not called type",
    ),
    "time": declared(
        "--time",
        metavar="COLUMN[:UNIT]",
        help="the time; of numbers their unit: ns, us, ms, s, min, h or d",
    ),
    "records": declared(
        "--records",
        metavar="PATH",
        help="the list inside an object of JSON that holds the rows, such as Records",
    ),
    "sort": switch("--sort", help="sort the events by time first"),
    "quarantine": declared(
        "--quarantine",
        metavar="FILE",
        help="write rows that cannot be read there, and go on",
    ),
    "until": declared(
        "--until",
        metavar="TIME",
        help="all events before TIME have come; end: no more will come",
    ),
    # how, and which answers
    "evaluator": declared(
        "--evaluator",
        default="auto",
        metavar="E",
        help=Values("cerlab.evaluate", "EVALUATORS", "{} or auto"),
    ),
    "limit": declared("--limit", type=int, metavar="N", help="at most N answers in all"),
    "labels": switch("--labels", help="valuations instead of positions"),
    "with-events": switch("--events", dest="show_events", help="with the events"),
    "columns": declared(
        "--columns",
        metavar="A.PRICE,B.NAME",
        help="rows with these columns instead of positions; *: those of SELECT, as CSV has them",
    ),
    "positions": declared(
        "--positions",
        metavar="3,7,9",
        help="of the events of the answer, from 0 (default: why is there no answer at all?)",
    ),
    "start": declared("--start", type=int, metavar="I", help="where the answer's interval starts"),
    "end": declared("--end", type=int, metavar="J", help="where it ends"),
    "what": declared(
        "--what",
        choices=Values("cerlab.api.timelines", "STAGES"),
        help="timeline if there are EVENTS, else ast, if left out",
    ),
    "theme": declared(
        "--theme",
        choices=Values("cerlab.viz.graph", "THEMES"),
        help="colours of a drawing, and of DOT if given",
    ),
    # where to, and in which form
    "format": declared("--format", help="if OUT does not tell"),
    "output": declared("-o", "--output", metavar="OUT", help=_FILE),
    "out": declared("output", metavar="OUT", help="a file, or - for standard output"),
    "to": declared("--to", dest="format", help="the same as --format"),
    "quiet": switch("-q", "--quiet", help="no warnings"),
    "threads": declared(
        "--threads",
        type=int,
        metavar="N",
        help="threads that total SELECT COUNT(*) .. by key and read Parquet as a whole "
        "(default: CERLAB_THREADS, or all cores)",
    ),
    # all commands have these two
    "time-limit": declared(
        "--time-limit", type=float, metavar="SECONDS", help="stop after so many seconds, exit 2"
    ),
    "memory-limit": declared(
        "--memory-limit", metavar="SIZE", help="stop beyond so much memory, like 500MB or 2GiB"
    ),
    # sql, explain, lab, completion
    "tables": declared(
        "tables",
        nargs="*",
        metavar="TABLE",
        help="NAME=FILE for FROM NAME; without NAME= it is the file's name without its ending",
    ),
    "codes": declared("codes", metavar="CODE", nargs="*", help="as CER0802 (default: list all)"),
    "port": declared("--port", type=int, default=0, help="a free one by default"),
    "no-browser": switch("--no-browser", help="only print the address"),
    "page": declared(
        "--page", metavar="TEXT", default="", help='what "Copy link" copied: a query and events'
    ),
    "build": declared(
        "--build",
        metavar="DIR",
        type=Path,
        help="write the lab as static files that run in any browser, without a server",
    ),
    "shell": declared("shell", choices=("bash", "zsh", "fish")),
    # other engines
    "command": declared("engine", metavar="COMMAND", help="how the engine is started"),
    "command?": declared(
        "engine", metavar="COMMAND", nargs="?", help="how the engine is started (default: cerlab)"
    ),
    "engine": declared(
        "--engine",
        action="append",
        metavar="ENGINE",
        help=Values(
            "cerlab.trial.adapters", "DEFAULT", "may be given more than once (default: {})"
        ),
    ),
    "cases": declared("--cases", type=int, default=1_000, help="how many (default: 1000)"),
    "seed": declared("--seed", type=int, default=0, help="other cases (default: 0)"),
    "minutes": declared("--minutes", type=float, default=5.0, help="at most (default: 5)"),
    "timeout": declared("--timeout", type=float, default=60.0, help="seconds for a case"),
    "with": declared(
        "--with",
        dest="takes",
        metavar="F,G",
        help="the features that the engine has (default: see below)",
    ),
    "without": declared("--without", default="", metavar="F,G", help="features that it does not"),
    "depth": declared("--depth", type=int, default=3, help="of formulas, at most (default: 3)"),
    "length": declared("--events", type=int, default=6, help="of streams, at most (default: 6)"),
    "values": declared(
        "--values", choices=("few", "all"), default="few", help="0 and 1, or of every kind"
    ),
    "languages": declared(
        "--languages", default="ceql", metavar="L,M", help="the languages it reads (default: ceql)"
    ),
    "only": declared(
        "--only", metavar="NAME", help="a group, or one case, which is shown with the reply"
    ),
    "report": declared("--report", metavar="FOLDER", help="a page, and files to run again"),
    "conformance": switch(
        "--conformance",
        help="no random cases: judge each engine by the cases of `cerlab conformance`",
    ),
    "sqllogictest": declared(
        "--sqllogictest",
        metavar="DIR",
        help="no trial: run an engine's test files, MATCH_RECOGNIZE by cerlab, the rest by DuckDB",
    ),
    "settled": declared(
        "--settled", metavar="FILE", help="with it: records that differ by a clause, one a line"
    ),
    # spark
    "input": declared(
        "--input",
        nargs="+",
        action="extend",
        metavar="PATH",
        help="files, folders, patterns such as 'day-*.csv', or addresses such as s3://bucket/folder",
    ),
    "input-format": declared(
        "--input-format", choices=("parquet", "arrow", "csv", "ndjson", "core"), metavar="FORMAT"
    ),
    "folder": declared(
        "-o", "--output", metavar="PATH", help="a folder of Parquet, which is not there"
    ),
    "overwrite": switch("--overwrite", help="replace the output"),
    "order-by": declared("--order-by", metavar="C1,C2", default="", help="what orders the events"),
    "position": declared("--position", metavar="C", help="a column of positions"),
    "mode": declared("--mode", choices=("keys", "ranges", "one"), help="not the first exact one"),
    "parts": declared("--parts", type=int, metavar="N", help="how many parts to cut into"),
    "partition": switch("--partition", help="with the key of each answer"),
    "master": declared("--master", metavar="URL", help="of Spark (default: local[*])"),
    "plan": switch("--explain", help="show the plan, do not run it"),
    "stream": switch("--stream", help="the input is files that arrive", group="streams"),
    "lateness": declared(
        "--lateness",
        metavar="T",
        help="how late events may come: '10 seconds', 500",
    ),
    "lag": declared(
        "--lag", metavar="T", help="how far a key may be behind all others", group="streams"
    ),
    "checkpoint": declared(
        "--checkpoint", metavar="PATH", help="default: OUTPUT/_checkpoint", group="streams"
    ),
    "files": declared(
        "--files", type=int, default=16, metavar="N", help="of a micro-batch", group="streams"
    ),
    "with-quarantine": switch(
        "--quarantine",
        dest="with_quarantine",
        help="rows without position, time or type, and repeated ones, go to a column, not an error",
        group="streams",
    ),
    "buckets": declared(
        "--buckets", type=int, metavar="N", help="of keys: N tasks at most (16)", group="streams"
    ),
    "follow": switch("--follow", help="wait for files until interrupted", group="streams"),
    "verbose": switch("--verbose", help="say at the end where the time went"),
    "debug": switch("--debug", help="show all that Java says"),
    "doctor": switch("--doctor", help="show what Spark needs and finds"),
}

_ANY_QUERY = "query language schema"
_HOW_TO_READ = "type type-column time records sort quarantine"
_ROWS = ("ndjson", "csv", "table", "parquet")


@dataclass(frozen=True)
class Command:
    """A command: the module of ``cerlab.cli`` and its function, the purpose, and the arguments."""

    module: str
    function: str
    purpose: str
    arguments: str = ""
    """Names in `ARGUMENTS`, in the order of ``--help``."""
    formats: Sequence[str] | Values = ()
    """What ``--format`` may be; the first where neither it nor the name of OUT tells."""
    has_default_format: bool = True
    examples: str | Values = ""
    about: str | Values | None = None
    prints: bool = False
    """Whether all that it prints goes to the file of ``-o``."""
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

    def format_of(self, arguments: Namespace) -> str | None:
        """Return the format that the name of OUT tells, else the default, if there is one."""
        from cerlab.io.formats import format_by_suffix

        formats = tuple(_value(self.formats))
        suffix = Path(arguments.output or "").suffix.lower()
        for name in (suffix.removeprefix("."), format_by_suffix(arguments.output or "")):
            if name in formats:
                return name
        return formats[0] if self.has_default_format else None


def _value(value: Any) -> Any:
    return value() if isinstance(value, Values) else value


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
        "what can be said of a query without events",
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
        f"{_ANY_QUERY} events? what format theme output until {_HOW_TO_READ}",
        formats=Values("cerlab.cli.show", "FORMATS"),
        examples="""
  cerlab show "BUY ; SELL" --what cea
  cerlab show "BUY+ ; SELL" --what det -o machine.svg
  cerlab show "BUY ; SELL" trades.csv
""",
    ),
    "equivalent": Command(
        "decide",
        "compare",
        "decide: have A and B the same answers on every stream",
        "a b language schema certificate output",
        prints=True,
        examples="""
  cerlab equivalent "(A ; B) ; C" "A ; (B ; C)"
""",
    ),
    "contained": Command(
        "decide",
        "compare",
        "decide: is each answer of A one of B, on every stream",
        "a b language schema output",
        prints=True,
        examples="""
  cerlab contained "A : B" "A ; B"
""",
    ),
    "why": Command(
        "why",
        "run",
        "why positions are an answer, or why not",
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
        "compare another engine with the reference",
        "command cases seed with without depth length values timeout",
        about=Values("cerlab.cli.comparisons", "ABOUT_FUZZ"),
        examples=Values("cerlab.cli.comparisons", "HOW_FUZZ"),
    ),
    "conformance": Command(
        "comparisons",
        "run_conformance",
        "judge an engine by cases whose answers are known",
        "command? with without languages only timeout",
        about=Values("cerlab.cli.comparisons", "ABOUT_CONFORMANCE"),
        examples=Values("cerlab.cli.comparisons", "HOW_CONFORMANCE"),
    ),
    "trial": Command(
        "comparisons",
        "run_trial",
        "compare many engines side by side",
        "engine cases minutes seed timeout report conformance sqllogictest settled",
        about=Values("cerlab.cli.comparisons", "ABOUT_TRIAL"),
        examples=Values("cerlab.cli.comparisons", "HOW_TRIAL"),
    ),
    "sql": Command(
        "rows",
        "run_sql",
        "evaluate SQL that has MATCH_RECOGNIZE on files",
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
        "evaluate a query on files by Spark",
        "query? language schema input input-format folder overwrite order-by position type time "
        "mode parts partition columns master plan stream lateness lag checkpoint files "
        "with-quarantine buckets follow quiet verbose debug doctor",
        about=Values("cerlab.cli.spark", "DESCRIPTION"),
        examples=Values("cerlab.cli.spark", "EPILOG"),
    ),
    "convert": Command(
        "tools",
        "convert",
        "events from one format to another",
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
        "what an error code means, with an example and its mend",
        "codes output",
        prints=True,
        examples="""
  cerlab explain CER0802
""",
    ),
    "lab": Command(
        "tools",
        "lab",
        "a page to try queries on, in the browser",
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
        "the tour that the README starts with",
        examples="""
  cerlab demo
""",
    ),
    "completion": Command(
        "tools",
        "completion",
        "a script by which a shell completes what is typed",
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
