"""The evaluator extracted from the proofs in Coq agrees with the reference."""

from __future__ import annotations

import json
import re
import subprocess
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

import cerlab
from cerlab import CerlabWarning
from cerlab.compile.pattern import as_pattern
from cerlab.conformance import cases
from cerlab.conformance.replies import answer_json
from cerlab.conformance.run import FEATURES as OF_SUITE
from cerlab.conformance.run import ON_DEMAND, Mark, judge_engine
from cerlab.conformance.syntax import document
from cerlab.conformance.values import decode_row
from cerlab.decisions.certificate import certificates
from cerlab.fuzz import CEL, FEATURES, fuzz
from cerlab.logic.ceql.semantics import query_answers
from cerlab.model.stream import Stream
from cerlab.testing import ATTRIBUTES, SMALL, Shape, random_events, random_query
from proofs_tests.mechanised.build import build, needs_coq
from proofs_tests.mechanised.certificates import EQUIVALENT, is_bisimulation, with_fault
from proofs_tests.mechanised.hostile import hostile, random_document, read_document, with_faults
from proofs_tests.mechanised.judge import OF_FUZZ, Judge
from proofs_tests.suite import Suite, random_suite

LEAST = 200
"""The fewest cases of a run: the first ones show what the judge refuses."""


@random_suite(2_000)
def test_a_document_has_the_whole_query_and_all_events(rng: Random) -> bool:
    query = random_query(rng, replace(ATTRIBUTES, family=True, timed=True, temporal=True))
    stream = Stream.from_events(
        [{"type": e.type, **e.attributes} for e in random_events(rng, query.formula)], **OF_FUZZ
    )
    again, events = read_document(json.dumps(document(query, stream)))
    # by text, since NaN is not equal to itself
    found = (again, list(events), events.time)
    assert repr(found) == repr((query, list(stream), stream.time))
    return True


pytestmark = pytest.mark.filterwarnings("ignore::cerlab.errors.CerlabWarning")
of_judge = pytest.mark.services


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Extract the judge, which needs no proof."""
    return build(tmp_path_factory.mktemp("judge"), "judge") / "judge"


@contextmanager
def judge(program: Path, *mode: str) -> Iterator[Judge]:
    process = Judge(program, *mode, seconds=600)
    try:
        yield process
    finally:
        process.stop()


@needs_coq
@of_judge
@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("SELECT * WHERE A WAIT 5 SECONDS", "the operator Wait"),
        ("SELECT * WHERE A FILTER A[t LIKE 'a']", "the predicate Like"),
        ("SELECT S>x WHERE A AS x", "labels of a stream"),
        ("SELECT COUNT(*) WHERE A", "aggregates"),
        ("SELECT * WHERE A{3000}", "a count from 0, or one that is too large"),
        ("SELECT * WHERE A ; B WITHIN 1 [v]", "an event without its time"),
        ("SELECT * WHERE A FILTER A[t - t > 5 SECONDS]", ""),
    ],
)
def test_what_the_judge_does_not_read_is_refused_by_name(
    query: str, word: str, built: Path
) -> None:
    event: dict[str, Any] = {"type": "A", "t": 1}
    if not word:
        event["t"] = {"moment": "2024-01-31T10:00:00Z"}
        word = "arithmetic with times"
    with judge(built) as child:
        assert child.request({"query": query, "events": [event]}) == {"refused": word}


@needs_coq
@of_judge
@pytest.mark.parametrize(
    ("query", "events"),
    [
        ("A+ FILTER A.v < A.w", [{"type": "A", "v": v, "w": 2} for v in (1, 3, 0)]),
        ("SELECT * WHERE A -- no B\n", [{"type": "A"}]),
        ("SELECT * WHERE A ; B WITHIN 1 [t]", [{"type": "A", "t": 0.1}, {"type": "B", "t": 1.1}]),
        ("SELECT * WHERE A ; B WITHIN 1 [t]", [{"type": "A", "t": 0.5}, {"type": "B", "t": 1.5}]),
        ("SELECT * WHERE A PARTITION BY [type, stream]", [{"type": "A", "stream": "S"}]),
        ("A FILTER A[type = 'A' AND NOT stream = 'T']", [{"type": "A", "stream": "S"}]),
        ("A FILTER A[v > 9007199254740992.0]", [{"type": "A", "v": {"int": str(2**53 + 1)}}]),
        ("A FILTER A[v = 9007199254740992.0]", [{"type": "A", "v": {"int": str(2**53 + 1)}}]),
        ("A FILTER A[v + 1 > v]", [{"type": "A", "v": {"int": str(2**63 - 1)}}]),
        ("A FILTER A[-(v % -3) = 1]", [{"type": "A", "v": v} for v in (-7, -7.0, 5)]),
    ],
)
def test_the_judge_is_right_where_reading_is_delicate(
    query: str, events: list[dict[str, Any]], built: Path
) -> None:
    rows = [decode_row(event) for event in events]
    expected = cerlab.evaluate(query, rows, evaluator="reference")
    with judge(built) as child:
        reply = child.request({"query": query, "events": events})
    assert reply == {"answers": list(map(answer_json, expected))}


@needs_coq
@of_judge
@pytest.mark.parametrize(
    ("mode", "least"), [((), 900), (("tecs",), 450), (("strategies",), 380)], ids=str
)
def test_the_judge_is_right_in_each_case_of_the_suite_that_it_answers(
    mode: tuple[str, ...], least: int, built: Path
) -> None:
    takes = frozenset(OF_SUITE) - set(ON_DEMAND)
    with judge(built, *mode) as child:
        judged = list(judge_engine(list(cases()), child, takes, frozenset(("cel", "ceql"))))
    assert [(each.case.id, each.how) for each in judged if each.mark is Mark.WRONG] == []
    assert Counter(each.mark for each in judged)[Mark.PASSED] >= least


def replies_of(program: Path, lines: list[str], *mode: str) -> list[dict[str, Any]]:
    """Return the replies of the judge to some lines."""
    text = "".join(f"{line}\n" for line in lines)
    process = subprocess.run(
        [program, *mode], input=text, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in process.stdout.splitlines()]


@needs_coq
@of_judge
def test_hostile_documents_are_refused_or_answered_rightly(built: Path, suite: Suite) -> None:
    count = max(LEAST, suite.profile.cases(2_000))
    texts = [(hostile if n % 20 else random_document)(Random(n)) for n in range(count)]
    rights = 0
    for text, reply in zip(texts, replies_of(built, texts), strict=True):
        assert reply.keys() in ({"answers"}, {"refused"}), text
        if "answers" in reply:
            query, stream = read_document(text)
            answers = list(map(answer_json, query_answers(query, stream)))
            assert sorted(reply["answers"], key=str) == sorted(answers, key=str), text
            rights += 1
    assert rights >= count // 20


@needs_coq
@of_judge
def test_an_unknown_word_is_refused_wherever_a_node_has_it(built: Path) -> None:
    query = as_pattern("SELECT x WHERE A AS x ; B WITHIN 2 EVENTS LIMIT 1").ast
    text = json.dumps(document(query, Stream([])))
    words = sorted(set(re.findall(r'"node": "(\w+)"', text)))
    assert {"SelectItem", "Limit", "EventWindow", "As", "Seq"} <= set(words)
    lines = [text.replace(f'"node": "{word}"', '"node": "Other"') for word in words]
    replies = replies_of(built, lines)
    assert [reply["refused"].split()[-1] for reply in replies] == ["Other"] * len(words)


@needs_coq
@of_judge
def test_certificates_are_accepted_exactly_if_they_are_bisimulations(
    built: Path, suite: Suite
) -> None:
    right = [each for pair in EQUIVALENT for each in certificates(*map(as_pattern, pair))]
    wrong = []
    for n in range(max(LEAST, suite.profile.cases(5_000))):
        rng = Random(n)
        certificate = json.loads(json.dumps(rng.choice(right)))
        with_fault(rng, certificate)
        wrong.append(certificate)
    replies = replies_of(built, [json.dumps(each) for each in (*right, *wrong)], "certificate")
    expected = [{"accepted": is_bisimulation(each)} for each in (*right, *wrong)]
    assert replies == expected
    assert {"accepted": False} not in replies[: len(right)]
    assert replies.count({"accepted": False}) >= len(wrong) // 2


@needs_coq
@of_judge
def test_hostile_certificates_are_refused_or_judged(built: Path, suite: Suite) -> None:
    text = json.dumps(certificates(*map(as_pattern, EQUIVALENT[0]))[0])
    count = max(LEAST, suite.profile.cases(2_000))
    texts = [with_faults(Random(n), text) for n in range(count)]
    for text, reply in zip(texts, replies_of(built, texts, "certificate"), strict=True):
        if reply.keys() != {"refused"}:
            assert reply == {"accepted": is_bisimulation(json.loads(text))}, text


TAKING = (";", ":", "+", ":+", "OR", "AND", "AS", "FILTER", "RENAME", ">")
"""Operators whose answers take their first and their last event."""


@needs_coq
@of_judge
@pytest.mark.parametrize(
    ("mode", "takes", "shape"),
    [
        ((), FEATURES, SMALL),
        ((), FEATURES, replace(ATTRIBUTES, fractions=True)),
        (("tecs",), (*CEL, "SELECT", "EVENTS"), SMALL),
        (("tecs",), (*TAKING, "STRICT", "NEXT", "LAST", "MAX", "EVENTS"), SMALL),
        (("strategies",), (*TAKING, "STRICT", "NEXT", "LAST", "MAX"), SMALL),
    ],
    ids=["few values", "all values", "tecs", "strategies in a tecs", "strategies"],
)
def test_the_extracted_judge_agrees_with_the_reference(
    mode: tuple[str, ...], takes: tuple[str, ...], shape: Shape, built: Path, suite: Suite
) -> None:
    cases = max(LEAST, suite.profile.cases(50_000))
    with (
        judge(built, *mode) as child,
        warnings.catch_warnings(action="ignore", category=CerlabWarning),
    ):
        summary = fuzz(child, cases=cases, seed=7, takes=frozenset(takes), shape=shape)
    assert summary.difference is None, summary.difference
    assert not summary.doubt, summary.doubt
