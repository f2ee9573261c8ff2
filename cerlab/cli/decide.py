"""``cerlab check``, ``equivalent`` and ``contained``: decisions about queries, without events."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from cerlab import io
from cerlab.automata.decide import growth_of
from cerlab.budget import poll
from cerlab.cli.command import NO, OK, UNDECIDED
from cerlab.cli.options import read_query_or_rows
from cerlab.compile.pattern import AnyPattern, Pattern
from cerlab.decisions import Verdict, contained, dead_branches, equivalent, satisfiable
from cerlab.decisions.certificate import certificates
from cerlab.errors import ResourceLimit, Unsupported
from cerlab.evaluate import names_that_take
from cerlab.evaluate.physical import why_in_python
from cerlab.io.output import whole_text
from cerlab.logic.cel.syntax import defined_labels, size
from cerlab.logic.focel.rewrite import describe_fo
from cerlab.predicates.minterms import minterms
from cerlab.predicates.text import predicate_text

if TYPE_CHECKING:
    from cerlab.rows.syntax import RowPattern


def check(arguments: argparse.Namespace) -> int:
    """Run ``cerlab check``; return 1 if no stream has an answer."""
    query = read_query_or_rows(arguments)
    if not isinstance(query, AnyPattern):
        return _check_rows(query)
    lines = [
        ("text", f"{size(query.formula)} operators and atoms"),
        ("schema", "checked" if query.schema else "none given: names and types are not checked"),
        ("labels", ", ".join(sorted(defined_labels(query.formula))) or "none"),
    ]
    try:
        lines += [
            ("automaton", f"{query.cea.states} states, {len(query.cea.Delta)} transitions"),
            ("growth", _growth(query)),
        ]
    except Unsupported as error:
        lines += [("automaton", error.message), ("transducer", _transducer(query))]
    if query.machine_kind == "listed" and query.tested is not None:
        condition = predicate_text(query.tested.plan.condition)
        lines.append(("tested", f"on listed answers, with their labels: {condition}"))
    lines.append(("evaluators", ", ".join(names_that_take(query))))
    if (reason := why_in_python(query)) is not None:
        lines.append(("in Python", f"event by event, on streams of any length: {reason}"))
    lines.append(("fo-cel", describe_fo(query.formula)))
    try:
        verdict = satisfiable(query)
    except ResourceLimit as error:
        poll()
        verdict = Verdict(None, None, f"not decided: {error.message}")
    lines += [("dead", branch) for branch in dead_branches(query)]
    _print_check(lines, verdict)
    return NO if verdict.holds is False else OK


def _check_rows(query: RowPattern) -> int:
    """Run ``cerlab check`` of a row pattern; return 1 if no table has a match."""
    from cerlab.api import questions  # this import loads columns, which a query does not need
    from cerlab.rows.compile import prioritised_automaton
    from cerlab.rows.decide import row_remarks
    from cerlab.rows.machine import step_table
    from cerlab.rows.syntax import variables
    from cerlab.rows.text import pattern_text

    table = step_table(prioritised_automaton(query.pattern))
    states = "too many" if table is None else str(len(table.steps) - 1)
    lines = [
        ("pattern", pattern_text(query.pattern)),
        ("variables", ", ".join(variables(query.pattern)) or "none"),
        ("automaton", f"{states} states"),
    ]
    try:
        verdict = questions.satisfiable(query)
        if verdict.holds:
            lines += [("remark", remark) for remark in row_remarks(query)]
    except ResourceLimit as error:
        poll()
        verdict = Verdict(None, None, f"not decided: {error.message}")
    _print_check(lines, verdict)
    return NO if verdict.holds is False else OK


def _print_check(lines: list[tuple[str, str]], verdict: Verdict) -> None:
    yes = {True: "yes: ", False: "no: ", None: ""}[verdict.holds]
    for name, value in (*lines, ("satisfiable", yes + verdict.reason)):
        print(f"{name + ':':<13}{value}")
    if verdict.witness is not None:
        print_witness(verdict)


def _transducer(query: Pattern) -> str:
    """Return a line on the transducer of a query without an automaton, or why it is missing."""
    try:
        T = query.registers.srt
    except (Unsupported, ResourceLimit) as error:
        poll()
        return error.message
    return f"{T.states} states, {len(T.Delta)} transitions, {len(T.R)} registers"


def _growth(query: Pattern) -> str:
    """Return a line that states how the number of answers per event grows with the stream."""
    plan = query.plan
    try:
        symbols = [m.symbol for m in minterms(query.machine.predicates, schema=query.schema)]
        growth = growth_of(query.machine, symbols)
    except ResourceLimit as error:
        poll()
        return f"not computed: {error.message}"
    if growth is None:
        return "not computed: the automaton is too large"
    if plan.window is None or growth.degree == 0:
        return f"{growth} in the events before"
    return f"bounded by the window; {growth} in the events inside it"


def compare(arguments: argparse.Namespace) -> int:
    """Run ``cerlab equivalent`` and ``contained``; return 0 for yes, 1 for no, 3 for undecided."""
    left, right = (read_query_or_rows(arguments, text) for text in (arguments.a, arguments.b))
    if isinstance(left, AnyPattern) and isinstance(right, AnyPattern):
        verdict = {"equivalent": equivalent, "contained": contained}[arguments.called](left, right)
        if verdict.holds and getattr(arguments, "certificate", None) is not None:
            _write_certificates(arguments.certificate, left, right)
    else:
        from cerlab.api import questions  # this import loads columns, which queries do not need

        verb = getattr(questions, arguments.called)
        verdict = verb(left, right)
    print({True: "yes: ", False: "no: ", None: ""}[verdict.holds] + verdict.reason)
    if verdict.witness is not None:
        print_witness(verdict)
    return {True: OK, False: NO, None: UNDECIDED}[verdict.holds]


def _write_certificates(path: str, left: Pattern, right: Pattern) -> None:
    """Write the certificates, a line of JSON for each kind of key."""
    lines = [json.dumps(each) for each in certificates(left, right)]
    with whole_text(path) as file:
        file.writelines(f"{line}\n" for line in lines)


def print_witness(verdict: Verdict) -> None:
    """Print a witness: its events as NDJSON, and the answer that only one side has."""
    assert verdict.witness is not None
    for event in verdict.witness.events:
        print("  " + io.row_text(event))
    answer = verdict.witness.complex_event
    whose = f", on the {verdict.witness.side} only" if verdict.witness.side else ""
    print(f"  answer: [{answer.start}, {answer.end}] at {list(answer.positions)}{whose}")
