"""The short commands: ``convert``, ``explain``, ``lab``, ``demo`` and ``completion``."""

from __future__ import annotations

import argparse
import sys
import webbrowser
from itertools import islice
from typing import TextIO

from cerlab.api import evaluate, parse_query
from cerlab.catalogue import CLASSES, entries, entry_of, entry_text
from cerlab.cli.command import OK
from cerlab.cli.options import whole_stream
from cerlab.evaluate import EvaluatorName
from cerlab.io.sink import open_sink
from cerlab.io.synthetic import STOCK_SCHEMA, stocks
from cerlab.lab.serve import Lab, build
from cerlab.model.stream import Stream
from cerlab.viz.deterministic import det_text
from cerlab.viz.formulas import tree_text


def convert(arguments: argparse.Namespace) -> int:
    """Run ``cerlab convert``."""
    stream = whole_stream(None, arguments)
    with open_sink(arguments.output, arguments.format) as out:
        out.events(stream)
    return OK


def explain(arguments: argparse.Namespace) -> int:
    """Run ``cerlab explain``: print cause, example and fix of codes.

    Without one, list all codes.
    """
    if arguments.codes:
        print("\n\n".join(entry_text(entry_of(code)) for code in arguments.codes))
        return OK
    last = ""
    for entry in entries().values():
        if (kind := entry.code[3:5]) != last:
            print(f"{CLASSES[kind]}")
            last = kind
        print(f"  {entry.code}  {entry.cause}")
    return OK


def lab(arguments: argparse.Namespace) -> int:
    """Serve the lab until it is interrupted, or build it."""
    if arguments.build is not None:
        build(arguments.build)
        print(f"{arguments.build}: serve it as static files", file=sys.stderr)
        return OK
    with Lab(arguments.port) as lab:
        url = f"{lab.url}#{arguments.page}" if arguments.page else lab.url
        print(url, flush=True)
        if not arguments.no_browser:
            webbrowser.open(url)
        lab.serve_forever()
    return OK


QUERY = """\
SELECT * FROM S
WHERE SELL AS T1 ; BUY AS T2 ; BUY AS T3
FILTER T1[name = 'INTC'] AND T2[name = 'RIMM'] AND T3[name = 'QQQ']
WITHIN 10000 [stock_time]
"""
_EVENTS = 20_000
_MOST_ANSWERS = 5
_PREFIX = 100


def show_tour(out: TextIO) -> None:
    """Parse, draw, evaluate, count and cross-check the paper's query S3 on a synthetic stream."""

    def say(text: str = "") -> None:
        print(text, file=out)

    query = parse_query(QUERY, STOCK_SCHEMA)
    say("A query: an INTC sale, then a RIMM purchase, then a QQQ purchase, within 10 seconds.\n")
    say(QUERY)
    say("1. Its formula, as a tree:\n")
    say(tree_text(query.formula))
    say("\n2. Its automaton, I/O-deterministic; • takes an event into the answer, ∘ skips it:\n")
    say(det_text(query.det))
    stream = Stream(stocks(_EVENTS), schema=STOCK_SCHEMA)
    say(f"\n3. Its first answers on {len(stream):,} synthetic stock events:\n")
    matches = query.run(stream)
    for answer in islice(matches, _MOST_ANSWERS):
        say(f"   {answer}")
        for position in answer.positions:
            event = stream[position]
            say(f"      {position}: {event.type} {dict(event.attributes)}")
    say(f"\n4. All of them, counted without listing: {matches.count():,}")
    say(f"\n5. The evaluators on the first {_PREFIX} events:\n")
    prefix = stream[:_PREFIX]
    reference = evaluate(query, prefix, evaluator="reference")
    names: tuple[EvaluatorName, ...] = ("reference", "automaton", "tecs", "compiled")
    for name in names:
        answers = evaluate(query, prefix, evaluator=name)
        verdict = "agrees" if answers == reference else "DISAGREES"
        say(f"   {name:<10} {len(answers)} answers, {verdict} with the reference")


def tour(_: argparse.Namespace) -> int:
    """Run ``cerlab demo``, the tour of the README: one query, from its text to its answers."""
    show_tour(sys.stdout)
    return OK


def completion(arguments: argparse.Namespace) -> int:
    """Run ``cerlab completion``: print the script."""
    from argcomplete.shell_integration import shellcode  # only completion by a shell needs it

    print(shellcode(["cerlab"], shell=arguments.shell))
    return OK
