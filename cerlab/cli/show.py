"""``cerlab show`` and ``fmt``: a query, and what is made of it, as text and drawings."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from cerlab import io
from cerlab.automata.automaton import AnchoredCea, IntervalCea, Ucea, Vcea
from cerlab.automata.determinise import DeterministicCea
from cerlab.automata.registers.reduce import smaller
from cerlab.automata.registers.transducer import EpsilonSrt, Srt, Transducer
from cerlab.automata.strategy import StrategyCea
from cerlab.cli.options import (
    add_input,
    add_query,
    input_options,
    output,
    read_pattern,
    read_query,
    time_option,
)
from cerlab.cli.status import OK
from cerlab.compile.pattern import AnyPattern, Pattern, SremoPattern
from cerlab.compile.sremo_to_srt import sremo_to_srt
from cerlab.engine.reference.snapshot import TecsSnapshot
from cerlab.errors import Unsupported, UsageError
from cerlab.io.machine_json import machine_to_json
from cerlab.io.mata import machine_to_mata
from cerlab.io.output import whole_file
from cerlab.model.clauses import Strategy
from cerlab.model.stream import Stream
from cerlab.viz.dot import dot_text
from cerlab.viz.formulas import CEL_KINDS, SREMO_KINDS, sremo_tree_text, tree_text
from cerlab.viz.machines.deterministic import MintermTable, minterm_table, table_grid
from cerlab.viz.machines.exploration import as_cea
from cerlab.viz.machines.grid import grid_text
from cerlab.viz.machines.minterms import MintermList, listed_minterms, minterms_grid
from cerlab.viz.machines.text import det_text, machine_text
from cerlab.viz.machines.tikz import machine_tikz
from cerlab.viz.render import FORMS, drawing
from cerlab.viz.tecs import snapshot_json, snapshot_text, tecs_snapshot
from cerlab.viz.theme import THEMES

_STRATEGIES = {s.name.lower(): s for s in Strategy}
WHAT = (
    *("ast", "vcea", "cea", "det", *_STRATEGIES, "srt"),
    *("table", "minterms", "tecs"),
)
FORMATS = ("text", "dot", *FORMS, "tikz", "json", "mata")

_WRITERS: dict[str, Callable[[Vcea | IntervalCea | AnchoredCea | Ucea], str]] = {
    "tikz": machine_tikz,
    "json": machine_to_json,
    "mata": machine_to_mata,
}


def _of_written(write: Callable[[Any], str]) -> Callable[[Any], str]:
    """The same of a deterministic machine, which is explored and written out for it."""
    return lambda machine: write(as_cea(machine))


_SAID: list[tuple[tuple[type, ...], str, dict[str, Callable[[Any], str]]]] = [
    (CEL_KINDS, "a formula", {"text": tree_text}),
    (SREMO_KINDS, "a SREMO", {"text": sremo_tree_text}),
    ((Vcea, IntervalCea), "a machine", {"text": machine_text, **_WRITERS}),
    (
        (DeterministicCea, StrategyCea),
        "a deterministic machine",
        {"text": det_text, **{form: _of_written(write) for form, write in _WRITERS.items()}},
    ),
    ((Srt, EpsilonSrt), "a transducer", {"text": machine_text, "tikz": machine_tikz}),
    ((MintermTable,), "a table", {"text": lambda table: grid_text(table_grid(table))}),
    (
        (MintermList,),
        "a list of minterms",
        {"text": lambda m: grid_text(minterms_grid(m))},
    ),
    ((TecsSnapshot,), "a tECS", {"text": snapshot_text, "json": snapshot_json}),
]
"""What is shown, what it is called, and how it is written; everything is drawn as well."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """QUERY, EVENTS, and how to show what."""
    add_query(parser)
    parser.add_argument(
        "events", nargs="?", metavar="EVENTS", help="a file, or - for standard input; for a tECS"
    )
    parser.add_argument("--what", default="ast", choices=WHAT)
    parser.add_argument("--format", default="text", choices=FORMATS)
    parser.add_argument(
        "--theme", choices=tuple(THEMES), help="colours of a drawing, and of DOT if given"
    )
    parser.add_argument("-o", "--output", metavar="OUT", help="a file instead of standard output")
    add_input(parser)


def show(arguments: argparse.Namespace) -> int:
    """``cerlab show``."""
    if arguments.events is not None and arguments.what != "tecs":
        raise UsageError("CER0823", f"--what {arguments.what} takes no EVENTS", hint="--what tecs")
    value = _value(arguments)
    if arguments.format in ("png", "pdf"):
        _write_bytes(drawing(value, arguments.format, arguments.theme or "light"), arguments)
        return OK
    written = _text(value, arguments.format, arguments.theme)
    with output(arguments.output) as file:
        file.write(written if written.endswith("\n") else written + "\n")
    return OK


def _value(arguments: argparse.Namespace) -> Any:
    """What is to be shown."""
    what = arguments.what
    if what == "srt":
        return _transducer(read_pattern(arguments))
    if what == "ast":
        pattern = read_pattern(arguments)
        return pattern.formula if isinstance(pattern, Pattern) else pattern.ast
    query = read_query(arguments)
    match what:
        case "vcea":
            return query.vcea
        case "cea":
            return query.cea
        case "det":
            return query.det
        case "table":
            return minterm_table(query.machine)
        case "minterms":
            return listed_minterms(query.machine.predicates, query.schema)
        case "tecs":
            return tecs_snapshot(query.plan, query.machine, _stream(query, arguments))
        case _:
            return StrategyCea(query.cea, _STRATEGIES[what])


def _stream(query: Pattern, arguments: argparse.Namespace) -> Stream:
    if arguments.events is None:
        raise UsageError("CER0823", "--what tecs needs EVENTS", hint="a file, or -")
    time, unit = time_option(arguments)
    return io.read(
        arguments.events,
        time=time,
        unit=unit,
        sort=arguments.sort,
        **input_options(arguments, query),
    )


def _transducer(e: AnyPattern) -> Transducer:
    """The transducer of a SREMO or of a query, without empty moves."""
    return smaller(sremo_to_srt(e.ast)) if isinstance(e, SremoPattern) else e.registers.srt


def _text(value: Any, form: str, theme: Any) -> str:
    if form == "dot":
        return dot_text(value, theme)
    if form == "svg":
        return drawing(value, "svg", theme or "light").decode()
    name, writers = next((n, w) for kinds, n, w in _SAID if isinstance(value, kinds))
    if form not in writers:
        hint = ", ".join([*writers, "dot", *FORMS])
        raise Unsupported("CER0410", f"{name} is not written as {form}", hint=hint)
    return writers[form](value)


def _write_bytes(drawn: bytes, arguments: argparse.Namespace) -> None:
    """To the file of ``-o``, else to standard output where that is no terminal."""
    if arguments.output is not None:
        with whole_file(arguments.output) as file:
            file.write(drawn)
        return
    if sys.stdout.isatty():
        raise UsageError(
            "CER0809",
            f"{arguments.format} is not written to a terminal",
            hint="name a file: -o OUT",
        )
    sys.stdout.flush()
    sys.stdout.buffer.write(drawn)
