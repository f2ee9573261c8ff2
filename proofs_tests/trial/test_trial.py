"""`cerlab trial`: faults that are made on purpose are found, made small, and sorted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import StringIO
from itertools import combinations
from pathlib import Path
from queue import Empty, SimpleQueue
from random import Random
from typing import Any, cast

import pytest

import cerlab.trial
from cerlab import UsageError, match_recognize, parse_rows
from cerlab.fuzz import engines
from cerlab.fuzz.engines import AnswerRows, Failure, Refusal
from cerlab.rows import syntax as rp
from cerlab.testing import random_row_pattern
from cerlab.testing.rows import smaller_rows
from cerlab.trial import ADAPTERS, Trial, Verdict, adapter, judgement_of, size, trial
from cerlab.trial.adapters import Running, running
from cerlab.trial.languages import (
    CEQL,
    LANGUAGES,
    OUTPUT,
    PATTERN,
    ROWS,
    SKIP,
    Case,
    arrow,
    row_features,
)
from cerlab.trial.report import write_report
from proofs_tests.command import Cli

Answers = list[dict[str, Any]]

HOURS = 36_000
"""Seconds that no trial here takes, so that the number of cases ends it and not the clock."""


@dataclass(frozen=True)
class Wrong:
    """An engine with a fault on purpose, in the place of a process."""

    fault: str

    def exchange(self, question: Any, seconds: float) -> str | Failure:
        """Return the reference's answers, or wrong ones where the fault shows."""
        query = parse_rows(question["query"].partition("FROM T ")[2])
        parts = list(rp.subpatterns(query.pattern))
        rows: Answers = match_recognize(query, arrow(question["rows"])).to_pylist()
        match self.fault:
            case "possessive" if any(map(_loses, parts)):
                rows = []
            case "backwards":
                rows = rows[::-1]
            case "crash" if any(isinstance(p, rp.Permute) for p in parts):
                return json.dumps({"crash": "no such method"})
            case "hang" if query.subsets:
                return Failure("no answer", hung=True)
            case "refuse" if any(isinstance(p, rp.Alternation) for p in parts):
                return json.dumps({"refused": "no alternation"})
        return json.dumps({"answers": rows})


def _loses(p: rp.Pattern) -> bool:
    """``A* B``: a greedy loop before something else."""
    parts = p.parts[:-1] if isinstance(p, rp.Concat) else ()
    return any(isinstance(q, rp.Repetition) and (q.hi, q.reluctant) == (None, False) for q in parts)


def trial_of(monkeypatch: pytest.MonkeyPatch, fault: str, queries: int = 8) -> Trial:
    """The trial of an engine with a fault."""

    @contextmanager
    def running(engine: Any, seconds: float) -> Iterator[Running]:
        yield Running(engine, "0", seconds, cast(Any, Wrong(fault)), StringIO())

    monkeypatch.setattr("cerlab.trial.running", running)
    monkeypatch.setattr("cerlab.trial._ROUND", queries)
    return trial([adapter("command=it")], cases=1, seconds=HOURS)


def test_a_possessive_quantifier_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two variables on at most two rows."""
    (tally,) = trial_of(monkeypatch, "possessive", 15).tallies
    assert tally.causes
    for cause in tally.causes:
        assert cause.verdict is Verdict.MISSING
        assert cause.features & {"*", "+", "?", "{n}"}
        assert "A B" in cause.features
        assert len(rp.variables(cause.case.query.pattern)) <= 2
        assert len(cause.case.data) <= 2


FAULTS = [
    pytest.param("backwards", Verdict.ORDER, frozenset(), id="order"),
    pytest.param("crash", Verdict.CRASH, {"PERMUTE"}, id="crash"),
    pytest.param("hang", Verdict.HANG, {"SUBSET"}, id="hang"),
]


@pytest.mark.parametrize(("fault", "verdict", "features"), FAULTS)
def test_faults_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, fault: str, verdict: Verdict, features: frozenset[str]
) -> None:
    (tally,) = trial_of(monkeypatch, fault).tallies
    assert {cause.verdict for cause in tally.causes} == {verdict}
    assert all(features <= cause.features for cause in tally.causes)
    assert sum(cause.count for cause in tally.causes) == tally.verdicts[verdict]
    assert not tally.unsorted_faults


def test_a_refusal_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    (tally,) = trial_of(monkeypatch, "refuse").tallies
    assert tally.verdicts[Verdict.REFUSED] > 0
    assert not tally.causes
    assert tally.reasons["no alternation"] == tally.verdicts[Verdict.REFUSED]


PROCESS = """import json, os, pathlib, sys, time
for line in sys.stdin:
    if "hello" in line:
        print(json.dumps({"version": "7"}), flush=True)
    elif "PERMUTE" in line:
        os.kill(os.getpid(), 8)
    elif "SUBSET" in line:
        pathlib.Path("hangs").touch()
        time.sleep(36_000)
    else:
        print(json.dumps({"answers": []}), flush=True)
"""


def test_a_process_that_dies_or_hangs_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process makes a file when it hangs; only then has its time run out."""

    def next_line(lines: SimpleQueue[str], seconds: float | None) -> str:
        while not (tmp_path / "hangs").exists():
            with suppress(Empty):
                return lines.get(timeout=0.01)
        (tmp_path / "hangs").unlink()
        raise Empty

    monkeypatch.setattr(engines, "next_line", next_line)
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "engine.py"
    program.write_text(PROCESS)
    queries = ("(PERMUTE(A, B))", "(A) SUBSET U = (A)", "(A)")
    clauses = (f"MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN {query})" for query in queries)
    cases = [Case("rows", parse_rows(clause), ({"x": 1},)) for clause in clauses]
    with running(adapter(f"command={sys.executable} {program}"), 1.0) as engine:
        assert engine.version == "7"
        crash, hung, answer = engine.ask(cases)
    assert crash == Failure("it was killed by SIGFPE")
    assert hung == Failure("no answer in 1 s", hung=True)
    assert answer == AnswerRows(())


def test_ours_have_no_fault() -> None:
    outcome = trial(
        [adapter("cerlab"), adapter("cerlab-ceql")], cases=60, seconds=HOURS, case_seconds=HOURS
    )
    for tally in outcome.tallies:
        assert set(tally.verdicts) == {Verdict.SAME}
    assert outcome.with_answers >= outcome.cases / 2


def test_the_same_seed_gives_the_same_cases() -> None:
    for language in LANGUAGES.values():
        first, again = (language.draw(Random("0 1"), language.features) for _ in "12")
        assert first == again != ()


def test_an_engine_that_is_not_there_is_left_out() -> None:
    """No interpreter, no package, no program of that name."""
    here = [name for name in ADAPTERS if "cerlab" not in name]
    with pytest.raises(UsageError, match="CER0856") as caught:
        trial([adapter(f"{name}=/no/such/python") for name in here], cases=1, seconds=1)
    assert all(f"{name}: " in str(caught.value) for name in here)


def test_an_unknown_engine_is_an_error() -> None:
    with pytest.raises(UsageError, match="CER0855"):
        adapter("flunk")


def test_the_page_and_the_files_to_run_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cli: Cli
) -> None:
    write_report(trial_of(monkeypatch, "backwards"), tmp_path)
    report = json.loads((tmp_path / "trial.json").read_text())
    assert report["engines"][0]["verdicts"]["order"] > 0
    assert "<h3>1. <span class=fault>order" in (tmp_path / "index.html").read_text()
    case = tmp_path / "command" / "1"
    words = [str(case / "query.sql"), str(case / "events.ndjson"), "--language", "rows"]
    assert cli("run", *words).out == (case / "expected.ndjson").read_text() != ""


def test_the_command(cli: Cli) -> None:
    """No fault of ours, and a report of absent engines."""
    words = ["--engine", "cerlab-ceql", "--engine", "flink=/no/such/python"]
    patience = ["--minutes", str(HOURS // 60), "--timeout", str(HOURS)]
    assert "not there: flink: " in cli("trial", *words, "--cases", "20", *patience).err


def test_bad_numbers(cli: Cli) -> None:
    assert "CER0857" in cli("trial", "--cases", "0", status=2).err


# -- verdicts by hand ----------------------------------------------------------------------------

CASE = Case(
    "rows",
    parse_rows("MATCH_RECOGNIZE (MEASURES A.x AS m AFTER MATCH SKIP TO NEXT ROW PATTERN (A))"),
    ({"x": 1}, {"x": 2}),
)
VERDICTS = [
    pytest.param([1, 2], "same", [], [], id="same"),
    pytest.param([1.0, 2.0], "same", [], [], id="floats-of-the-same-value"),
    pytest.param([2, 1], "order", [], [], id="order"),
    pytest.param([1], "missing", [2], [], id="missing"),
    pytest.param([1, 3], "missing", [2], [3], id="another-in-its-place"),
    pytest.param([1, 2, 2], "extra", [], [2], id="twice"),
    pytest.param([1, 2, None], "extra", [], [None], id="extra"),
]


@pytest.mark.parametrize(("values", "verdict", "missing", "extra"), VERDICTS)
def test_verdicts(
    values: Sequence[Any], verdict: str, missing: Sequence[Any], extra: Sequence[Any]
) -> None:
    outcome = AnswerRows(tuple({"m": value} for value in values))
    judgement = judgement_of(CASE, ROWS.answers(CASE), outcome, has_order=True)
    assert judgement.verdict is Verdict(verdict)
    assert [row["m"] for row in judgement.missing] == list(missing)
    assert [row["m"] for row in judgement.extra] == list(extra)


def test_verdicts_without_answers() -> None:
    expected = ROWS.answers(CASE)
    of = {outcome: judgement_of(CASE, expected, outcome, True).verdict for outcome in OUTCOMES}
    assert list(of.values()) == [Verdict.REFUSED, Verdict.CRASH, Verdict.HANG]
    other_order = AnswerRows(({"m": 2}, {"m": 1}))
    assert judgement_of(CASE, expected, other_order, has_order=False).verdict is Verdict.SAME
    nameless = AnswerRows(({"n": 1}, {"n": 2}))
    assert judgement_of(CASE, expected, nameless, has_order=True).verdict is Verdict.MISSING


OUTCOMES = (Refusal("no"), Failure("it ended"), Failure("no answer", hung=True))


# -- cases ---------------------------------------------------------------------------------------


def test_all_pairs_of_features_are_drawn() -> None:
    """Pairs of pattern, SKIP and output modes, all that are compatible."""
    pairs = {
        frozenset((a, b))
        for first, second in combinations((PATTERN, SKIP, OUTPUT), 2)
        for a in first
        for b in second
    } - {frozenset(("{- -}", "WITH UNMATCHED"))}
    for n in range(10_000):
        features = row_features(random_row_pattern(Random(n)), ())
        pairs -= {pair for pair in pairs if pair <= features}
        if not pairs:
            break
    assert not pairs


def test_steps_of_the_shrinker_are_smaller_and_end() -> None:
    for n in range(40):
        (case, *_) = ROWS.draw(Random(n), ROWS.features)
        for _ in range(400):
            step = next(iter(ROWS.smaller(case)), None)
            if step is None:
                break
            assert size(step) != size(case) or step != case
            case = step
        else:
            pytest.fail(f"no end: {case.text}")


def test_a_local_minimum_has_one_variable() -> None:
    query = parse_rows("MATCH_RECOGNIZE (PATTERN ((A | B){2,3}? {- C -}) ALL ROWS PER MATCH)")
    patterns = {str(each.pattern) for each, _ in smaller_rows(query, ({"x": 2, "t": 4},))}
    assert len(patterns) > 8
    tables = [rows for each, rows in smaller_rows(query, ({"x": 2, "t": 4},)) if each == query]
    assert ({"x": 1, "t": 4},) in tables
    assert ({"x": 2, "t": 0},) in tables
    assert ({"x": 2},) in tables


def test_ceql_cases_have_whole_events_and_arithmetic() -> None:
    cases = [case for n in range(200) for case in CEQL.draw(Random(n), CEQL.features)]
    assert any("v / w" in CEQL.features_of(case) for case in cases)
    assert all(type(row["v"]) is int for case in cases for row in case.rows)


def test_what_ours_is_asked_is_what_users_ask() -> None:
    for n in range(20):
        for case in ROWS.draw(Random(n), ROWS.features):
            rows = match_recognize(case.text, arrow(case.data)).to_pylist()
            assert judgement_of(
                case, ROWS.answers(case), AnswerRows(tuple(rows)), True
            ).verdict is (Verdict.SAME)


def test_pycer_runs_in_a_folder_of_its_own(tmp_path: Path) -> None:
    """Its log files go where it runs: to no folder that another user may have made."""
    (tmp_path / "pycer.py").write_text("import os\nraise ImportError(os.getcwd())\n")
    program = Path(cerlab.trial.__file__).with_name("children.py")
    folders = [
        json.loads(
            subprocess.run(
                [sys.executable, program, "pycer"],
                input='{"hello": true}\n',
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": str(tmp_path)},
            ).stdout
        )["absent"].removeprefix("ImportError: ")
        for _ in range(2)
    ]
    assert len(set(folders)) == 2
    assert not any(Path(folder).exists() for folder in folders)
