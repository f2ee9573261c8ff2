"""``cerlab show`` and ``fmt``: a query, and what is made of it, as text and drawings."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable

from cerlab.automata.cea import AnchoredCea, IntervalCea
from cerlab.automata.srt.reduce import smaller
from cerlab.automata.strategy import StrategyCea
from cerlab.automata.vcea import Vcea
from cerlab.cli.options import OK, output, read_pattern, read_query
from cerlab.compile.sremo_to_srt import sremo_to_srt
from cerlab.errors import Unsupported
from cerlab.io.machine_hoa import machine_to_hoa
from cerlab.io.machine_json import machine_to_json
from cerlab.io.mata import machine_to_mata
from cerlab.model.clauses import Strategy
from cerlab.viz import dot, text
from cerlab.viz.macro import written
from cerlab.viz.srt import srt_dot, srt_text, srt_tikz
from cerlab.viz.tikz import machine_tikz
from cerlab.workbench import Query, Sremo

WHAT = ("ast", "vcea", "cea", "det", "nxt", "last", "max", "strict", "srt")
FORMATS = ("text", "dot", "tikz", "json", "hoa", "mata")

_STRATEGIES = {s.name.lower(): s for s in Strategy}
_WRITERS: dict[str, Callable[[Vcea | IntervalCea | AnchoredCea], str]] = {
    "tikz": machine_tikz,
    "json": machine_to_json,
    "hoa": machine_to_hoa,
    "mata": machine_to_mata,
}

_SRT_WRITERS = {"text": srt_text, "dot": srt_dot, "tikz": srt_tikz}


def show(arguments: argparse.Namespace) -> int:
    """``cerlab show``."""
    if arguments.what == "srt":
        drawn = _transducer(read_pattern(arguments), arguments.format)
    else:
        drawn = _drawn(read_query(arguments), arguments.what, arguments.format)
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


def _transducer(e: Query | Sremo, form: str) -> str:
    """The transducer of a SREMO, without empty moves."""
    if not isinstance(e, Sremo):
        raise Unsupported(
            "CER0488",
            "a transducer is made of a SREMO",
            hint="--what cea draws the query's machine",
        )
    if form not in _SRT_WRITERS:
        hint = ", ".join(_SRT_WRITERS)
        raise Unsupported("CER0410", f"a transducer is not written as {form}", hint=hint)
    return _SRT_WRITERS[form](smaller(sremo_to_srt(e)))


def fmt(arguments: argparse.Namespace) -> int:
    """``cerlab fmt``."""
    query = read_query(arguments)
    if re.search(r"--|/\*", query.source.text):
        print("warning: comments are not part of the canonical form", file=sys.stderr)
    if query.schema is not None and arguments.schema is None:
        print(query.schema)
    print(query if query.source.is_query else query.formula)
    return OK
