"""``cerlab show`` and ``fmt``: a query, and what is made of it, as text and drawings."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable

from cerlab.automata.cea import AnchoredCea, IntervalCea
from cerlab.automata.strategy import StrategyCea
from cerlab.automata.vcea import Vcea
from cerlab.cli.options import OK, output, read_query
from cerlab.errors import Unsupported
from cerlab.io.machine_hoa import machine_to_hoa
from cerlab.io.machine_json import machine_to_json
from cerlab.io.mata import machine_to_mata
from cerlab.model.clauses import Strategy
from cerlab.viz import dot, text
from cerlab.viz.macro import written
from cerlab.viz.tikz import machine_tikz
from cerlab.workbench import Query

WHAT = ("ast", "vcea", "cea", "det", "nxt", "last", "max", "strict")
FORMATS = ("text", "dot", "tikz", "json", "hoa", "mata")

_STRATEGIES = {s.name.lower(): s for s in Strategy}
_WRITERS: dict[str, Callable[[Vcea | IntervalCea | AnchoredCea], str]] = {
    "tikz": machine_tikz,
    "json": machine_to_json,
    "hoa": machine_to_hoa,
    "mata": machine_to_mata,
}


def show(arguments: argparse.Namespace) -> int:
    """``cerlab show``."""
    query = read_query(arguments)
    drawn = _drawn(query, arguments.what, arguments.format)
    with output(arguments.output) as file:
        file.write(drawn if drawn.endswith("\n") else drawn + "\n")
    return OK


def _drawn(query: Query, what: str, form: str) -> str:
    if what == "ast":
        if form not in ("text", "dot"):
            raise Unsupported("CER0410", f"a formula is not written as {form}", hint="text, dot")
        return text.tree_text(query.formula) if form == "text" else dot.formula_dot(query.formula)
    if what in ("vcea", "cea"):
        machine = query.vcea if what == "vcea" else query.cea
        if form in _WRITERS:
            return _WRITERS[form](machine)
        if isinstance(machine, Vcea):
            return text.vcea_text(machine) if form == "text" else dot.vcea_dot(machine)
        return text.cea_text(machine) if form == "text" else dot.cea_dot(machine)
    det = query.det if what == "det" else StrategyCea(query.cea, _STRATEGIES[what])
    if form in _WRITERS:
        return _WRITERS[form](written(det))
    return text.det_text(det) if form == "text" else dot.det_dot(det)


def fmt(arguments: argparse.Namespace) -> int:
    """``cerlab fmt``."""
    query = read_query(arguments)
    if re.search(r"--|/\*", query.source.text):
        print("warning: comments are not part of the canonical form", file=sys.stderr)
    if query.schema is not None and arguments.schema is None:
        print(query.schema)
    print(query if query.source.is_query else query.formula)
    return OK
