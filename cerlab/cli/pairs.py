"""``cerlab equivalent`` and ``contained``: what holds of two queries on every stream."""

from __future__ import annotations

import argparse

from cerlab import io
from cerlab.cli.options import add_query, read_query
from cerlab.cli.status import NO, OK, UNDECIDED
from cerlab.decisions import Verdict, contained, equivalent


def add_options(parser: argparse.ArgumentParser) -> None:
    """A and B, and how to read them."""
    add_query(parser, "a", "b")


def compare(arguments: argparse.Namespace) -> int:
    """``cerlab equivalent`` and ``contained``: exit 0 yes, 1 no, 3 not decided."""
    decide = {"equivalent": equivalent, "contained": contained}[arguments.called]
    left, right = (read_query(arguments, text) for text in (arguments.a, arguments.b))
    verdict = decide(left, right)
    print({True: "yes: ", False: "no: ", None: ""}[verdict.holds] + verdict.reason)
    if verdict.witness is not None:
        print_witness(verdict)
    return {True: OK, False: NO, None: UNDECIDED}[verdict.holds]


def print_witness(verdict: Verdict) -> None:
    """The witness: its events as NDJSON, and the answer that one side has."""
    assert verdict.witness is not None
    for event in verdict.witness.events:
        print("  " + io.row_text(event))
    answer = verdict.witness.complex_event
    whose = f", on the {verdict.witness.side} only" if verdict.witness.side else ""
    print(f"  answer: [{answer.start}, {answer.end}] at {list(answer.positions)}{whose}")
