"""The tour that the README starts with: one query, from its text to its answers."""

from __future__ import annotations

from itertools import islice
from typing import TextIO

from cerlab.api import evaluate, parse_query
from cerlab.evaluate import EvaluatorName
from cerlab.io.synthetic import STOCK_SCHEMA, stocks
from cerlab.model.stream import Stream
from cerlab.viz.deterministic import det_text
from cerlab.viz.formulas import tree_text

QUERY = """\
SELECT * FROM S
WHERE SELL AS T1 ; BUY AS T2 ; BUY AS T3
FILTER T1[name = 'INTC'] AND T2[name = 'RIMM'] AND T3[name = 'QQQ']
WITHIN 10000 [stock_time]
"""
_EVENTS = 20_000
_MOST_ANSWERS = 5
_PREFIX = 100


def run(out: TextIO) -> None:
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
