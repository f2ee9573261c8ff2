"""``cerlab show`` and ``fmt``: a query drawn, and in its canonical form."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from cerlab.api.timelines import stage
from cerlab.automata.automaton import AnchoredCea, IntervalCea, Ucea, Vcea
from cerlab.automata.deterministic import DeterministicCea
from cerlab.automata.registers import EpsilonSrt, Srt
from cerlab.automata.strategy import StrategyCea
from cerlab.cli.command import OK
from cerlab.cli.options import (
    read_any,
    read_query_or_rows,
    refuse_options,
    whole_stream,
)
from cerlab.compile.pattern import Pattern
from cerlab.conformance.syntax import document
from cerlab.engine.reference.snapshot import TecsSnapshot
from cerlab.errors import Unsupported, UsageError
from cerlab.io.machines import machine_to_json, machine_to_mata
from cerlab.io.output import whole_file, whole_text
from cerlab.rows.syntax import RowPattern
from cerlab.rows.text import row_pattern_text
from cerlab.viz.deterministic import MintermTable, as_cea, det_text, machine_text, table_grid
from cerlab.viz.dot import dot_text
from cerlab.viz.formulas import CEL_KINDS, SREMO_KINDS, sremo_tree_text, tree_text
from cerlab.viz.graph import graph_of, laid_out
from cerlab.viz.html import grid_text
from cerlab.viz.machines import MintermList, minterms_grid
from cerlab.viz.render import FORMS, drawing
from cerlab.viz.tecs import snapshot_json, snapshot_text
from cerlab.viz.tikz import machine_tikz
from cerlab.viz.timeline import Timeline

FORMATS = ("text", "dot", *FORMS, "tikz", "json", "mata")


_FILES: dict[str, Callable[[Vcea | IntervalCea | AnchoredCea | Ucea], str]] = {
    "json": machine_to_json,
    "mata": machine_to_mata,
}


def _by_exploration(write: Callable[[Any], str]) -> Callable[[Any], str]:
    """Return `write` for all machines; it explores a deterministic machine first."""
    return lambda machine: write(as_cea(machine))


_KINDS: list[tuple[tuple[type, ...], str, dict[str, Callable[[Any], str]]]] = [
    (CEL_KINDS, "a formula", {"text": tree_text}),
    (SREMO_KINDS, "a SREMO", {"text": sremo_tree_text}),
    ((Vcea, IntervalCea), "a machine", {"text": machine_text, "tikz": machine_tikz, **_FILES}),
    (
        (DeterministicCea, StrategyCea),
        "a deterministic machine",
        {
            "text": det_text,
            "tikz": machine_tikz,
            **{form: _by_exploration(write) for form, write in _FILES.items()},
        },
    ),
    ((Srt, EpsilonSrt), "a transducer", {"text": machine_text, "tikz": machine_tikz}),
    ((MintermTable,), "a table", {"text": lambda table: grid_text(table_grid(table))}),
    (
        (MintermList,),
        "a list of minterms",
        {"text": lambda m: grid_text(minterms_grid(m))},
    ),
    ((TecsSnapshot,), "a tECS", {"text": snapshot_text, "json": snapshot_json}),
    ((RowPattern,), "a row pattern", {"text": row_pattern_text}),
    ((Timeline,), "a timeline", {"text": str}),
]
"""Kinds of values, their names, and their writers by format; most are drawn too."""


def show(arguments: argparse.Namespace) -> int:
    """Run ``cerlab show``: write the result of `cerlab.show`."""
    if arguments.format not in ("dot", "tikz", *FORMS):
        _refuse_layout(arguments)
    pattern = read_any(arguments)
    if isinstance(pattern, RowPattern):
        return _show_rows(pattern, arguments)
    read = None if not arguments.events else partial(whole_stream, pattern, arguments)
    is_tree = arguments.what == "ast" or (arguments.what is None and read is None)
    if is_tree and arguments.format == "json" and isinstance(pattern, Pattern):
        text = json.dumps(document(pattern.ast, None if read is None else read()))
        return _write_text(text, arguments)
    value = stage(pattern, arguments.what, read)
    return _write(value, arguments)


def _refuse_layout(arguments: argparse.Namespace) -> None:
    """Raise `UsageError` if an option for the layout of a graph is given."""
    layout = {"--rankdir": arguments.rankdir, "--size": arguments.size}
    if option := next((name for name, given in layout.items() if given is not None), None):
        hint = "leave it out, or draw a formula or machine as svg, png, pdf, dot or tikz"
        raise UsageError("CER0820", f"{option} does not apply to this picture", hint=hint)


def _show_rows(query: RowPattern, arguments: argparse.Namespace) -> int:
    """Run ``cerlab show`` of a row pattern: write its text, or draw its automaton."""
    refuse_options(
        {
            "EVENTS": arguments.events,
            f"--what {arguments.what}": arguments.what not in (None, "ast"),
        }
    )
    return _write(query, arguments)


def _write(value: Any, arguments: argparse.Namespace) -> int:
    content = _render(value, arguments)
    if isinstance(content, bytes):
        _write_bytes(content, arguments)
        return OK
    return _write_text(content, arguments)


def _write_text(content: str, arguments: argparse.Namespace) -> int:
    with whole_text(arguments.output) as file:
        file.write(content if content.endswith("\n") else content + "\n")
    return OK


def _render(value: Any, arguments: argparse.Namespace) -> str | bytes:
    """Return the value in a format: text, or bytes for binary formats."""
    form, theme = arguments.format, arguments.theme
    if form == "svg" and isinstance(value, Timeline):
        _refuse_layout(arguments)
        return value.svg(theme or "light")
    name, writers = next((n, w) for kinds, n, w in _KINDS if isinstance(value, kinds))
    if form == "tikz" and form in writers:
        return machine_tikz(value, rankdir=arguments.rankdir, size=arguments.size)
    if form in writers:
        return writers[form](value)
    formats = ("svg",) if isinstance(value, Timeline) else ("dot", *FORMS)
    if form not in formats:
        hint = ", ".join([*writers, *formats])
        raise Unsupported("CER0410", f"cannot write {name} as {form}", hint=hint)
    graph = laid_out(graph_of(value), arguments.rankdir, arguments.size)
    if form == "dot":
        return dot_text(graph, theme)
    bytes_of = drawing(graph, form, theme or "light")
    return bytes_of.decode() if form == "svg" else bytes_of


def _write_bytes(data: bytes, arguments: argparse.Namespace) -> None:
    """Write to the file of ``-o``, otherwise to standard output unless it is a terminal."""
    if arguments.output is not None:
        with whole_file(arguments.output) as file:
            file.write(data)
        return
    if sys.stdout.isatty():
        raise UsageError(
            "CER0809",
            f"cannot write {arguments.format} to a terminal",
            hint="name a file: -o OUT",
        )
    # The text layer has a separate buffer, whose contents were printed before these bytes.
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


def fmt(arguments: argparse.Namespace) -> int:
    """Run ``cerlab fmt``: print the canonical form of a query."""
    query = read_query_or_rows(arguments)
    if query.source is not None and re.search(r"--|/\*", query.source.text):
        print("warning: comments are not part of the canonical form", file=sys.stderr)
    if isinstance(query, RowPattern):
        print(row_pattern_text(query))
        return OK
    if query.schema is not None and arguments.schema is None:
        print(query.schema)
    print(query if query.source.is_query else query.formula)
    return OK
