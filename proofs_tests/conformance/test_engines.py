"""The suite on other engines: which cases they are asked, and what their replies count as."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import cerlab
from cerlab.cli import main
from cerlab.conformance import Case, cases
from cerlab.conformance.replies import reply_of
from cerlab.conformance.run import FEATURES, ON_DEMAND, Judged, Mark, judge_engine
from cerlab.fuzz.engines import Failure
from cerlab.trial import adapter, conformance
from cerlab.trial.languages import case_of_suite
from proofs_tests.command import Cli

EXAMPLE = Path(__file__).parents[2] / "examples" / "fuzz_an_engine" / "engine.py"
ALL = frozenset(FEATURES)
A_B = [{"type": "A"}, {"type": "B"}]
ANSWER = [{"start": 0, "end": 1, "positions": [0, 1]}]


@dataclass
class Stub:
    """An engine in this process."""

    reply: Callable[[Any], Any]
    is_told_all: bool = True
    requests: list[Any] = field(default_factory=list)

    def ask(self, query: str, events: Any) -> Any:
        raise AssertionError("the suite sends whole requests")

    def request(self, request: Any) -> Any:
        self.requests.append(request)
        return self.reply(request)


def case(kind: str, expected: Any, **parts: Any) -> Case:
    whole: dict[str, Any] = {
        "language": "ceql",
        "options": {},
        "question": {},
        "needs": (),
        **parts,
    }
    language, options, question, needs = whole.values()
    return Case("g/c", language, "A ; B", tuple(A_B), options, question, needs, kind, expected)


def marks(
    stub: Stub, *cases: Case, takes: frozenset[str] = ALL, reads: str = "ceql"
) -> list[tuple[Mark, str]]:
    judged = judge_engine(cases, stub, takes, frozenset(reads.split()))
    return [(each.mark, each.how) for each in judged]


RIGHT = case("answers", ANSWER)
SYNTAX_ERROR = {"kind": "QuerySyntaxError", "code": "CER0101"}
SYNTAX = case("error", SYNTAX_ERROR)


def test_a_reply_is_passed_wrong_or_refused() -> None:
    missing = 'missing: {"start": 0, "end": 1, "positions": [0, 1]}'
    assert marks(Stub(lambda request: {"answers": ANSWER}), RIGHT) == [(Mark.PASSED, "")]
    assert marks(Stub(lambda request: {"answers": []}), RIGHT) == [(Mark.WRONG, missing)]
    assert marks(Stub(lambda request: {"refused": "no"}), RIGHT) == [(Mark.REFUSED, "no")]
    assert marks(Stub(lambda request: Failure("it broke")), RIGHT) == [(Mark.WRONG, "it broke")]


def test_a_refusal_of_what_is_no_query_counts_only_if_other_queries_are_answered() -> None:
    def answers_once(request: Any) -> Any:
        return {"answers": ANSWER} if len(stub.requests) == 1 else {"refused": "no"}

    stub = Stub(answers_once)
    assert [mark for mark, _ in marks(stub, RIGHT, SYNTAX)] == [Mark.PASSED, Mark.PASSED]
    refusing = Stub(lambda request: {"refused": "no"})
    assert [mark for mark, _ in marks(refusing, RIGHT, SYNTAX)] == [Mark.REFUSED, Mark.REFUSED]
    answering = Stub(lambda request: {"answers": ANSWER})
    assert [mark for mark, _ in marks(answering, RIGHT, SYNTAX)] == [Mark.PASSED, Mark.WRONG]


@pytest.mark.parametrize(
    "unfit",
    [
        case("answers", ANSWER, needs=(";", "NOT")),
        case("answers", ANSWER, language="rows"),
        case("verdict", {"holds": True}, question={"satisfiable": True}),
        case("warnings", "CER0901"),
        case("count", 2**40),
        case("error", SYNTAX_ERROR, question={"contained": "A"}),
        case("error", SYNTAX_ERROR, question={"why": [0]}),
    ],
    ids=lambda case: "-".join((case.kind, *case.question)),
)
def test_an_engine_is_not_asked_what_it_lacks(unfit: Case) -> None:
    stub = Stub(lambda request: {"answers": []})
    takes = ALL - {"NOT", *ON_DEMAND}
    assert marks(stub, unfit, takes=takes) == [(Mark.UNASKED, "")]
    assert stub.requests == []


def test_an_engine_of_files_is_not_asked_what_stands_in_neither_file() -> None:
    stub = Stub(lambda request: {"answers": ANSWER}, is_told_all=False)
    timed = case("answers", ANSWER, options={"time": "t", "unit": "s"})
    assert [mark for mark, _ in marks(stub, RIGHT, timed)] == [Mark.PASSED, Mark.UNASKED]


def test_a_formula_is_a_query_for_an_engine_that_reads_queries_only() -> None:
    stub = Stub(lambda request: {"answers": ANSWER})
    formula = case("answers", ANSWER, language="cel")
    marks(stub, formula)
    marks(stub, formula, reads="cel ceql")
    assert [(r["language"], r["query"]) for r in stub.requests] == [
        ("ceql", "SELECT * WHERE A ; B"),
        ("cel", "A ; B"),
    ]


def test_an_engine_that_replies_as_cerlab_passes() -> None:
    """A request has all that the reply depends on."""
    some = list(cases())[::7]

    def of_cerlab(request: Any) -> Any:
        parts = (request[key] for key in ("language", "query", "events", "options"))
        language, query, events, options = parts
        question, kind = request.get("question", {}), request["reply"]
        return reply_of(Case("", language, query, tuple(events), options, question, (), kind, None))

    judged = judge_engine(some, Stub(of_cerlab), ALL, frozenset(each.language for each in some))
    assert {(each.mark, each.how) for each in judged} == {(Mark.PASSED, "")}
    assert {each.kind for each in some} >= {"answers", "rows", "matches", "warnings", "why"}


def test_the_example_is_wrong_twice(cli: Cli) -> None:
    command = shlex.join([sys.executable, str(EXAMPLE)])
    features = ["--with", ";,+,OR,EVENTS"]
    out = cli("conformance", command, *features, "--only", "iteration", status=1).out
    assert "iteration                                8         4         0         8" in out
    shown = shlex.join(["cerlab", "conformance", command, "--only", "iteration/skips-its-own"])
    assert f"  {shown}\n" in out
    printed = cli(
        "conformance", command, *features, "--only", "within/end-minus-start", status=1
    ).out
    assert 'reply:    {"answers": []}' in printed
    printed = cli("conformance", command, *features, "--only", "unless", status=3).out
    assert [line.split()[0] for line in printed.splitlines()] == ["group", "total"]


def test_the_example_is_not_asked_to_count_or_to_decide(cli: Cli) -> None:
    command = shlex.join([sys.executable, str(EXAMPLE)])
    for group in ("counting", "contained", "equivalent", "satisfiable", "why"):
        assert main(["conformance", command, "--with", ";,+,OR,EVENTS", "--only", group]) == 3, (
            group
        )
    error = cli("conformance", command, "--with", "; +", status=2).err
    assert "separate features by commas" in error


def test_cerlab_is_judged_without_a_command(cli: Cli) -> None:
    out = cli("conformance", "--only", "unless").out
    assert out.splitlines() == [
        "group                               passed     wrong   refused not asked",
        "unless                                   9         0         0         0",
        "total                                    9         0         0         0",
    ]
    assert "did you mean 'unless'?" in cli("conformance", "--only", "unles", status=2).err


SAYS = f"""
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    reply = {{"version": "1"}} if "hello" in request else {{"answers": {ANSWER}}}
    print(json.dumps(reply), flush=True)
"""


def test_an_engine_of_trials_is_judged_too(tmp_path: Path) -> None:
    program = tmp_path / "engine.py"
    program.write_text(SAYS)
    engine = adapter(f"ceql-command={shlex.join([sys.executable, str(program)])}")
    judged: list[Judged] = conformance(engine, cases("sequence", "unless"))
    counts = Counter((each.case.id.partition("/")[0], each.mark) for each in judged)
    assert counts["unless", Mark.UNASKED] == 9
    assert counts["sequence", Mark.PASSED] >= 1
    assert counts["sequence", Mark.WRONG] >= 5


@pytest.mark.services
@pytest.mark.parametrize(("name", "least"), [("cerlab", 80), ("cerlab-ceql", 450)])
def test_cerlab_in_a_trial_is_right_in_each_case_that_it_is_asked(name: str, least: int) -> None:
    judged = conformance(adapter(name), cases())
    assert [(each.case.id, each.how) for each in judged if each.mark is Mark.WRONG] == []
    assert sum(each.mark is Mark.PASSED for each in judged) >= least


def test_a_case_has_a_form_in_a_trial_where_events_can_be_completed() -> None:
    """An attribute that the query names is not made up."""
    plain = next(cases("sequence"))
    form = case_of_suite(plain)
    assert form is not None
    assert form.rows[0] == {"type": "A", "v": 0, "w": 0, "k": 0, "t": 0}
    assert case_of_suite(replace(plain, query="A FILTER A[v != 1]")) is None
    assert cerlab.evaluate(str(form.text), form.data) == list(plain.answers)
