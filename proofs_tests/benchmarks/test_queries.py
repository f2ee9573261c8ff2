"""The queries of the benchmark are those of the paper, and mean the same to every evaluator.

(CORE App. D; CORE App. E; CORE App. F; CORE App. G)
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest

from cerlab import ComplexEvent, Event, Query, io, parse_query
from cerlab.evaluate import answers_of
from cerlab.io.synthetic import homes
from cerlab.logic.cel.syntax import Atom, subformulas
from cerlab.model.event import Value
from cerlab.model.stream import Stream
from proofs_tests.benchmarks.queries import FAMILIES, QUICK, Sequences, Step, catalogue, of_figures
from proofs_tests.benchmarks.streams import synthetic

pytestmark = pytest.mark.night

TECH = """
SELECT * FROM S
WHERE (SELL as msft; BUY as oracle; BUY as csco; SELL as amat)
FILTER msft[name = 'MSFT'] AND oracle[name = 'ORCL'] AND
       csco[name = 'CSCO'] AND amat[name = 'AMAT']
WITHIN 30000 [stock_time]"""
WITH_PRICES = """
SELECT * FROM S
WHERE (SELL as msft; BUY as oracle; BUY as csco; SELL as amat)
FILTER msft[name = 'MSFT'] AND msft[price > 26.0] AND
       oracle[name = 'ORCL'] AND oracle[price > 11.14] AND
       csco[name = 'CSCO'] AND amat[name = 'AMAT'] AND amat[price >= 18.92]
WITHIN 30000 [stock_time]"""
WITH_PARTITIONS = """
SELECT * FROM S
WHERE (SELL as msft; BUY as oracle; BUY as csco; SELL as amat)
FILTER msft[name = 'MSFT'] AND oracle[name = 'ORCL'] AND
       csco[name = 'CSCO'] AND amat[name = 'AMAT']
PARTITION BY [volume]
WITHIN 30000 [stock_time]
CONSUME BY ANY"""


def either(text: str) -> str:
    """As Q4 to Q6 are printed, which differ from Q1 to Q3 in the types of their middle."""
    middle = "BUY as oracle; BUY as csco", "(BUY OR SELL) as oracle; (BUY OR SELL) as csco"
    return text.replace(*middle)


IN_APPENDIX_G = {
    "Q1": TECH,
    "Q2": WITH_PRICES,
    "Q3 ANY": WITH_PARTITIONS,
    "Q4": either(TECH),
    "Q5": either(WITH_PRICES),
    "Q6 ANY": either(WITH_PARTITIONS),
    "Q7": """
SELECT * FROM S
WHERE (SELL as msft; (BUY OR SELL)+ as qqq; SELL as amat)
FILTER msft[name = 'MSFT'] AND qqq[name = 'QQQ'] and
       qqq[volume=4000] AND amat[name = 'AMAT']
WITHIN 30000 [stock_time]""",
}
"""As Appendix G prints them, with straight quotes."""

PLACES = {
    "East Harlem North": "E",
    "Midwood": "M",
    "Gravesend": "G",
    "West Brighton": "W",
    "Lincoln Square West": "L",
    "Sutton Place/Turtle Bay North": "S",
    "East Concourse/Concourse Village": "C",
}
PRINTED_T24 = "EM MG GW WL LS SC CE EE EG GM MM MG GM MG GW WL LS SC CE EE EG GM MM MG"

QUERIES = [(stream, name) for stream in FAMILIES for name in catalogue(stream)]


@pytest.mark.parametrize("name", IN_APPENDIX_G)
def test_a_query_is_the_printed_one(name: str) -> None:
    (text,) = [catalogue(s)[name] for s in FAMILIES if name in catalogue(s)]
    assert parse_query(text).ast == parse_query(IN_APPENDIX_G[name]).ast


NAMES = ("INTC", "RIMM", "QQQ", "IPIX", "AMAT", "CSCO", "YHOO", "DELL", "ORCL", "MSFT")
HOUSEHOLDS = (0, 2, 4, 6, 9, 10, 12, 14, 15, 4, 9, 10)
ZONES = {letter: zone for zone, letter in PLACES.items()}
STEPS = {
    "stocks": [
        f"{kind} as T# [name = '{name}']"
        for kind, name in zip(("SELL", "BUY", "BUY") * 8, (*NAMES, *NAMES[:2]) * 2, strict=True)
    ],
    "homes": [f"LOAD as L# [household_id = {n}]" for n in HOUSEHOLDS * 2],
    "taxi": [
        f"TRIP as loc# [pickup_loc = '{ZONES[step[0]]}' and dropoff_loc = '{ZONES[step[1]]}']"
        for step in PRINTED_T24.split()
    ],
}
"""The sequences of 24 of Appendices D, E and F; the shorter ones are their beginnings."""
NEVER = {
    "stocks": "BUY as NE [name = 'NotExists']",
    "homes": "LOAD as NE [household_id = 1000]",
    "taxi": "TRIP as NE [pickup_loc = 'NotExists']",
}
WINDOWS = {
    "stocks": (10_000, "stock_time"),
    "homes": (10, "plug_timestamp"),
    "taxi": (10_000, "dropoff_datetime"),
}
LENGTHS = [(n, prime, 1) for n in (3, 6, 9, 12, 24) for prime in ("", "'")]


@pytest.mark.parametrize("stream", FAMILIES)
def test_every_sequence_is_the_printed_one(stream: str) -> None:
    whole, of_all = (" as L", "L[value > 76] AND ") if stream == "homes" else ("", "")
    width, time = WINDOWS[stream]
    for n, prime, wider in (*LENGTHS, (3, "'", 2), (3, "'", 3), (3, "'", 4)):
        texts = [text.replace("#", str(k)) for k, text in enumerate(STEPS[stream][:n], 1)]
        steps = [text.split(" ", 3) for text in texts + [NEVER[stream]] * bool(prime)]
        body = "; ".join(f"{kind} as {x}" for kind, _, x, _ in steps)
        filters = " AND ".join(f"{x}{condition}" for *_, x, condition in steps)
        text = f"SELECT * FROM S WHERE ({body}){whole} FILTER {of_all}{filters}"
        query = parse_query(f"{text} WITHIN {width * wider} [{time}]")
        name = f"{FAMILIES[stream].letter}{n}{prime}{f' x{wider}' if wider > 1 else ''}"
        assert parse_query(catalogue(stream)[name]).ast == query.ast, name


def test_the_catalogue_has_every_form() -> None:
    for stream, family in FAMILIES.items():
        P, names = family.letter, catalogue(stream)
        assert set(QUICK[stream]) | set(of_figures(stream)) <= set(names)
        for n in (3, 6, 9, 12, 24):
            for name, steps in ((f"{P}{n}", n), (f"{P}{n}'", n + 1), (f"{P}{n} ANY 1000", n)):
                phi = query_of(stream, name).formula
                assert sum(isinstance(psi, Atom) for psi in subformulas(phi)) == steps
        assert {f"{P}3 {s}" for s in ("NEXT", "LAST", "MAX", "STRICT")} <= set(names)
        assert {f"{P}3' x{k}{s}" for k in (2, 3, 4) for s in ("", " LAST")} <= set(names)
    for n in range(1, 8):
        query = parse_query(catalogue("stocks")[f"Q{n}"])
        assert bool(query.ast.partition) is (n in (3, 6))


ROUTES = {
    tuple(zone for place in step for zone, letter in PLACES.items() if letter == place)
    for step in PRINTED_T24.split()
}


@cache
def short(stream: str) -> Stream:
    """Some hundreds of events; of the taxi stream those trips that some query asks for."""
    match stream:
        case "stocks":
            table = pa.table(dict(long(stream).columns))
            return io.from_arrow(table.slice(0, 1_200))
        case "homes":
            return Stream(homes(900, seed=12))
    columns = long(stream).columns
    routes = zip(columns["pickup_loc"].to_pylist(), columns["dropoff_loc"].to_pylist(), strict=True)
    mask = [route in ROUTES for route in routes]
    return io.from_arrow(pa.table(dict(columns)).filter(pa.array(mask)))


@cache
def long(stream: str) -> Stream:
    return synthetic(stream, LONG[stream])


@cache
def query_of(stream: str, name: str) -> Query:
    return parse_query(catalogue(stream)[name])


WITH_OUTPUT = [(stream, name) for stream, name in QUERIES if "'" not in name]


@pytest.mark.parametrize(("stream", "name"), WITH_OUTPUT, ids=lambda each: each)
def test_compiled_and_tecs_give_the_same_answers(stream: str, name: str) -> None:
    query, events = query_of(stream, name), short(stream)
    ours = list(answers_of(query, events, "compiled"))
    theirs = list(answers_of(query, events, "tecs"))
    assert agree(ours, theirs, 1000 if name.endswith("1000") else None)


def event_of(step: Step, family: Sequences, time: int) -> Event:
    """An event that takes the step; of homes also one of a high load."""
    values: dict[str, Value] = {family.time: time, "value": 100.0}
    for name, text, number in re.findall(r"(\w+) = (?:'([^']*)'|(\d+))", step.condition):
        values[name] = int(number) if number else text
    return Event(step.type, values)


def stream_of_steps(family: Sequences) -> Stream:
    """All steps in their order, the fourth twice, then the step that never occurs."""
    steps = [*family.steps[:4], family.steps[3], *family.steps[4:], family.never]
    return Stream(event_of(step, family, time=k // 4) for k, step in enumerate(steps))


SEQUENCES = [(stream, name) for stream, name in QUERIES if not name.startswith("Q")]


@pytest.mark.parametrize(("stream", "name"), SEQUENCES, ids=lambda each: each)
def test_every_sequence_has_answers_where_its_steps_are_played(stream: str, name: str) -> None:
    """Includes sequences without answers on the streams, where agreement would prove nothing."""
    query, events = query_of(stream, name), stream_of_steps(FAMILIES[stream])
    ours = list(answers_of(query, events, "compiled"))
    assert ours
    assert agree(ours, list(answers_of(query, events, "tecs")), None)


@pytest.mark.parametrize("stream", FAMILIES)
def test_the_answers_where_the_steps_are_played_are_those_counted_by_hand(stream: str) -> None:
    """Steps 1 to 6 occur once each before the others, but for the fourth, which is there twice.

    So ``P6`` has two answers that end at its sixth event. The event that never occurs is last: an
    answer of ``P3'`` may take any later event of a kind instead, and one takes the first three.
    """
    P, events = FAMILIES[stream].letter, stream_of_steps(FAMILIES[stream])
    six = answers_of(query_of(stream, f"{P}6"), events, "compiled")
    first = sorted(answer.positions for answer in six if answer.end == 6)
    assert first == [(0, 1, 2, 3, 5, 6), (0, 1, 2, 4, 5, 6)]
    three = answers_of(query_of(stream, f"{P}3'"), events, "compiled")
    assert (0, 1, 2, 25) in {answer.positions for answer in three}


def agree(ours: list[ComplexEvent], theirs: list[ComplexEvent], limit: int | None) -> bool:
    """Equal sets, each answer once; where LIMIT cut, as many of one end."""
    by_end, theirs_by_end = (Counter(answer.end for answer in each) for each in (ours, theirs))
    whole = {end for end, n in by_end.items() if limit is None or n < limit}
    sets = [{answer for answer in each if answer.end in whole} for each in (ours, theirs)]
    return by_end == theirs_by_end and sets[0] == sets[1] and len(set(ours)) == len(ours)


WITH_ANSWERS = {
    "stocks": ("S3", "S6", "S9", *(f"Q{n}" for n in range(1, 8)), "S3 LAST", "S3 STRICT"),
    "homes": ("H3", "H6", "H9", "H12", "H3 LAST", "H3 MAX"),
    "taxi": ("T3", "T6", "T9", "T3 LAST", "T3 MAX"),
}
LONG = {"stocks": 150_000, "homes": 100_000, "taxi": 120_000}


@pytest.mark.parametrize("stream", FAMILIES)
def test_the_generated_streams_have_answers_where_the_paper_has(stream: str) -> None:
    events, P = long(stream), FAMILIES[stream].letter
    for name in WITH_ANSWERS[stream]:
        assert any(answers_of(query_of(stream, name), events, "compiled")), name
    for name in (f"{P}3'", f"{P}24'", f"{P}3' x4"):
        assert not any(answers_of(query_of(stream, name), events, "compiled")), name


LOADS = """
107693 8162 125.03 1 0|107980 8166 768.878 3 2|108010 8166 139.52 1 4|108087 8168 95.01 0 6
108095 8168 126.793 2 0|108100 8168 121.752 2 2|108108 8168 125.351 1 0|108132 8169 125.281 1 4
108171 8170 113.208 2 2|108183 8170 89.306 0 6|108189 8170 126.16 2 4|108199 8171 128.117 2 2
108215 8171 89.083 0 6|108303 8172 89.675 0 4|108305 8172 116.055 2 6|108312 8172 732.916 3 2
108619 8178 135.408 1 9|108649 8178 100.508 0 10"""


def test_answers_at_the_edge_of_the_window_where_core_loses_some() -> None:
    """H6 on 18 loads; pycer 0.1.6 gives 9 of the 14 answers, asked for a strict window of 11.

    By hand: the event of household 10 is last, those of 9, 6, 4 and 2 before it, and one of
    household 0 at 8168 begins, since 8162 is too early. There are 10 choices of households 2, 4, 6
    after position 4, and 4 after position 6.
    """
    names = ("id", "plug_timestamp", "value", "plug_id", "household_id")
    rows = [line.split() for line in LOADS.replace("|", "\n").split("\n") if line]
    stream = Stream(
        Event(
            "LOAD",
            {n: float(v) if n == "value" else int(v) for n, v in zip(names, row, strict=True)},
        )
        for row in rows
    )
    expected = {
        (start, two, four, six, 16, 17)
        for start in (4, 6)
        for two in (5, 8, 11, 15)
        for four in (2, 7, 10, 13)
        for six in (3, 9, 12, 14)
        if start < two < four < six
    }
    assert len(expected) == 14
    for evaluator in ("reference", "tecs", "compiled"):
        answers = answers_of(query_of("homes", "H6"), stream, evaluator)
        assert {answer.positions for answer in answers} == expected


def test_the_committed_measurement_has_every_query_that_the_figure_draws() -> None:
    path = Path(__file__).parents[2] / "figures" / "data" / "core_throughput.ndjson"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(row["stream"], row["query"]) for row in rows] == [
        (stream, name) for stream in FAMILIES for name in of_figures(stream)
    ]
    for row in rows:
        assert row["events_per_second"] > 0
        assert row["memory_peak"] > 0
