"""``cerlab fuzz``: engines that are right, wrong in one place, refuse, crash, hang or babble."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

import cerlab
from cerlab import CerlabError, Event
from cerlab.cli import main
from cerlab.fuzz import (
    CEL,
    FAMILY,
    FEATURES,
    Difference,
    difference,
    engine,
    features,
    fuzz,
    reference,
    wanted,
)
from cerlab.fuzz.engines import AnswerRows, Failure, Outcome, Refusal
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.parser import parse_ceql
from cerlab.logic.ceql.syntax import query_text
from cerlab.testing import Shape, random_events, random_formula, random_query
from cerlab.testing.features import LIMITS, USUAL
from cerlab.trial.adapters import Absent
from cerlab.trial.adapters import _outcome as outcome_of
from cerlab.trial.adapters import _version as version_of
from proofs_tests.command import Cli

EXAMPLE = Path(__file__).parents[2] / "examples" / "fuzz_an_engine" / "engine.py"
TAKES = wanted(";, +, OR, EVENTS")

PATIENCE = 600
"""Seconds after which an engine that does not answer fails the test."""


@dataclass
class Inside:
    """cerlab's tECS as an engine, changed in one place."""

    wrong: str = ""

    def ask(self, query: str, events: Sequence[dict[str, Any]]) -> Outcome:
        stream = cerlab.Stream.from_events(events, time="t", unit="s")
        try:
            answers = cerlab.evaluate(query, stream, evaluator="tecs")
        except cerlab.Unsupported as error:
            return Refusal(str(error))
        rows: list[dict[str, Any]] = [
            {"start": m.start, "end": m.end, "positions": list(m.positions)} for m in answers
        ]
        match self.wrong:
            case "missing":
                rows = [row for row in rows if row["end"] - row["start"] < 2]
            case "extra":
                extra_row = {"start": 0, "end": 0, "positions": [0]}
                rows += [extra_row] if len(events) > 1 and extra_row not in rows else []
            case "extra positions" | "no positions":
                extra = [{"positions": [0] if self.wrong == "extra positions" else []}]
                rows = [{"positions": row["positions"]} for row in rows]
                rows += extra if len(events) > 1 and extra[0] not in rows else []
            case "twice":
                rows += rows[:1]
            case "positions" | "twice positions":
                rows = [{"positions": row["positions"]} for row in rows]
                rows *= 2 if self.wrong == "twice positions" else 1
            case "crash" if "+" in query:
                return Failure("exit status 139")
            case _:
                pass
        return AnswerRows(tuple(rows))


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
@pytest.mark.parametrize("wrong", ["", "positions"])
def test_an_engine_that_is_right(wrong: str) -> None:
    report = fuzz(Inside(wrong), cases=200)
    assert report.difference is None
    assert report.cases == 200
    assert report.answered > 100
    assert report.answered + report.refused <= 200


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
def test_what_differs_is_made_small_and_explained() -> None:
    report = fuzz(Inside("missing"), takes=TAKES)
    difference = report.difference
    assert difference is not None
    assert len(difference.events) == 3
    assert difference.missing[0].end - difference.missing[0].start == 2
    assert not difference.extra
    text = str(difference)
    assert 'missing: {"start": 0, "end": 2' in text
    assert "a match: " in text


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
@pytest.mark.parametrize(
    ("wrong", "row", "reasons"),
    [
        ("extra", '{"start": 0, "end": 0, "positions": [0]}', 1),
        ("extra positions", '{"positions": [0]}', 1),
        ("no positions", '{"positions": []}', 0),
    ],
)
def test_an_answer_too_many_is_explained(wrong: str, row: str, reasons: int) -> None:
    difference = fuzz(Inside(wrong), takes=TAKES).difference
    assert difference is not None
    assert len(difference.events) == 2
    assert f"too many: {row}" in str(difference)
    assert str(difference).count("no match: {0}") == reasons


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
@pytest.mark.parametrize("wrong", ["twice", "twice positions"])
def test_an_answer_that_is_listed_twice_is_a_difference(wrong: str) -> None:
    difference = fuzz(Inside(wrong), takes=TAKES).difference
    assert difference is not None
    assert len(difference.twice) == 1
    assert "more than once: {" in str(difference)


def test_rows_without_intervals_repeat_positions_as_often_as_the_answers() -> None:
    query = parse_ceql("SELECT A WHERE A ; B")[0]
    events = [cerlab.Event("A"), cerlab.Event("B"), cerlab.Event("B")]
    expected = reference(query, events)
    assert [m.positions for m in expected] == [(0,), (0,)]
    row = {"positions": [0]}
    assert difference(query, events, expected, [row]) is None
    assert difference(query, events, expected, [row] * 2) is None
    three_times = difference(query, events, expected, [row] * 3)
    assert three_times is not None
    assert three_times.twice == (row,)


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
def test_a_crash() -> None:
    difference = fuzz(Inside("crash"), takes=TAKES).difference
    assert difference is not None
    assert query_text(difference.query) == "SELECT *\nWHERE A+"
    assert not difference.events
    assert "the engine fails: exit status 139" in str(difference)


def test_the_same_seed_gives_the_same_cases() -> None:
    @dataclass
    class Noting:
        questions: list[tuple[str, str]]

        def ask(self, query: str, events: Sequence[dict[str, Any]]) -> Outcome:
            self.questions.append((query, json.dumps(events)))
            return Refusal("")

    first, again, other = Noting([]), Noting([]), Noting([])
    fuzz(first, cases=30, seed=1)
    fuzz(again, cases=30, seed=1)
    fuzz(other, cases=30, seed=2)
    assert first.questions == again.questions
    assert first.questions != other.questions
    assert all(features(parse_ceql(q)[0]) <= {*USUAL} for q, _ in first.questions)


def test_every_feature_is_drawn_and_only_those_that_are_asked_for() -> None:
    drawn_features: set[str] = set()
    shape = Shape(family=True, timed=True)
    for n in range(6_000):
        drawn_features |= features(random_query(Random(n), shape))
    assert drawn_features == set(FEATURES) - {*LIMITS}
    for n in range(300):
        drawn_features |= features(random_query(Random(n), replace(shape, takes=frozenset(LIMITS))))
    assert drawn_features == set(FEATURES)
    assert wanted("or, Partition By,AND") == {"OR", "PARTITION BY", "AND"}
    assert set(FAMILY).isdisjoint(CEL)
    with pytest.raises(cerlab.UsageError, match="no feature 'ORR'"):
        wanted("ORR")


def test_rows_without_an_interval_are_compared_by_positions() -> None:
    query, _, _ = parse_ceql("SELECT NONE WHERE A")
    events = [Event("A"), Event("A")]
    expected = reference(query, events)
    assert difference(query, events, expected, [{"positions": []}]) is None
    mismatch = difference(query, events, expected, [{"start": 0, "end": 0, "positions": []}])
    assert mismatch is not None
    assert [(m.start, m.end) for m in mismatch.missing] == [(1, 1)]


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("print('{\"answers\": []}')", AnswerRows(())),
        ("print('{\"refused\": 1}')", Refusal("1")),
        ("print('what?')", Failure("expected JSON, got 'what?'")),
        ("print('[]')", Failure("expected answers or refused, got '[]'")),
        ("sys.exit(3)", Failure("it ended with exit status 3")),
        ("import time; time.sleep(3600)", Failure("no answer in 0.5 s", hung=True)),
    ],
)
def test_an_engine_that_is_started_once(tmp_path: Path, code: str, outcome: Outcome) -> None:
    script = tmp_path / "engine.py"
    script.write_text(f"import sys\nfor line in sys.stdin:\n    {code}\n    sys.stdout.flush()\n")
    seconds = 0.5 if "sleep" in code else PATIENCE
    with engine(f'"{sys.executable}" "{script}"', seconds) as child:
        assert child.ask("SELECT * WHERE A", []) == outcome
        assert child.ask("SELECT * WHERE A", []) == outcome  # it is started again where it broke


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("print('')", AnswerRows(())),
        (
            "print('{}')",
            Failure("expected an answer with a list of positions, all whole numbers, got {}"),
        ),
        ("print('x')", Failure("expected JSON, got 'x'")),
        ("sys.exit('why not\\nhint')", Failure("exit status 1: hint")),
        ("print('no +', file=sys.stderr); sys.exit(2)", Refusal("no +")),
        ("import time; time.sleep(3600)", Failure("no answer in 0.5 s", hung=True)),
    ],
)
def test_an_engine_that_is_started_for_each_case(
    tmp_path: Path, code: str, outcome: Outcome
) -> None:
    script = tmp_path / "engine.py"
    script.write_text(f"import sys\nassert open(sys.argv[1]).read() == 'Q'\n{code}\n")
    seconds = 0.5 if "sleep" in code else PATIENCE
    with engine(f'"{sys.executable}" "{script}" {{query}} {{events}}', seconds) as child:
        assert child.ask("Q", [{"type": "A"}]) == outcome


def test_an_engine_that_ends_without_reading_is_quoted() -> None:
    """The question exceeds the buffer of a pipe, so writing it fails when the engine ends."""
    question = "Q" * 1_000_000
    with engine("echo hi", PATIENCE) as child:
        assert child.ask(question, []) == Failure("expected JSON, got 'hi'")
    with engine("true", PATIENCE) as child:
        assert child.ask(question, []) == Failure("it ended with exit status 0")


BABBLE = [
    b"\xff",
    b"\x00",
    b"\x1b]0;title\x07",
    b"\xef\xbb\xbf[]",
    b'{"answers": [{"positions": [0], "start": 0, "end": 0, "note": "\xff"}]}',
    b"[" * 100_000,
    b'{"positions": ' * 100_000,
    b'{"answers": ' + b"[" * 100_000,
    b'{"positions": [' + b"9" * 5_000 + b"]}",
    b"NaN",
    b"[]",
    b'{"positions": [0.0]}',
    b'{"answers": [0]}',
    b'{"answers": [{"positions": [[]]}]}',
    b'{"answers": [{"positions": [0], "start": [], "end": {}}]}',
    b'{"positions": [0], "start": null, "end": "0"}',
]
"""What no engine is to print, and one that is broken does."""


def test_every_babble_is_a_failure_by_each_way_to_ask(tmp_path: Path) -> None:
    script, said = tmp_path / "engine.py", tmp_path / "said"
    script.write_text(
        "import sys\n"
        f"for line, said in zip(sys.stdin, {BABBLE!r}):\n"
        "    sys.stdout.buffer.write(said + b'\\n')\n"
        "    sys.stdout.flush()\n"
    )
    once, each = f'"{sys.executable}" "{script}"', f"cat {said} {{query}}"
    with engine(once, PATIENCE) as serving, engine(each, PATIENCE) as started:
        for text in BABBLE:
            said.write_bytes(text + b"\n")
            for outcome in (serving.ask("Q", []), started.ask("", [])):
                assert isinstance(outcome, Failure), text[:80]
                assert len(outcome.how) < 600
            line = text.decode("utf-8", "backslashreplace")
            with suppress(Absent):
                version_of(line)
            assert isinstance(outcome_of("ceql", line), Failure)


@pytest.mark.parametrize("positions", [[-1], [10**30], [0, 0], [2, 0], [*range(100)], [0] * 2_000])
def test_impossible_positions_are_a_difference(positions: list[int]) -> None:
    query, _, _ = parse_ceql("SELECT * WHERE A ; A")
    events = [Event("A"), Event("A")]
    rows: list[dict[str, Any]] = [{"positions": positions}]
    intervals = [{"start": s, "end": e, **rows[0]} for s, e in [(0, 1), (1, 0), (-1, 10**30)]]
    for each in (rows, *([row] for row in intervals)):
        mismatch = difference(query, events, reference(query, events), each)
        assert mismatch is not None
        assert "too many" in str(mismatch)


@pytest.mark.long
def test_the_example_is_wrong_where_its_readme_says(cli: Cli, tmp_path: Path) -> None:
    patience = ["--timeout", str(PATIENCE)]
    command = f'"{sys.executable}" "{EXAMPLE}"'
    out, err = cli("fuzz", command, "--with", ";,+,OR", *patience, status=1)
    assert out.startswith("SELECT *\nWHERE A+\non 3 events:")
    assert 'missing: {"start": 0, "end": 2, "positions": [0, 2]}' in out
    assert "differs" in err
    printed = cli("fuzz", command, "--with", ";,OR,EVENTS", *patience, status=1).out
    assert "WITHIN 0 EVENTS\non 1 event:" in printed
    lines = EXAMPLE.read_text().splitlines()
    lines[93] = lines[93].replace("events, 1)", "events, len(events))")
    lines[77] = lines[77].replace("<", "<=", 1)
    right_engine = tmp_path / "mended.py"
    right_engine.write_text("\n".join(lines))
    command = f'"{sys.executable}" "{right_engine}"'
    error = cli("fuzz", command, "--with", ";,+,OR,EVENTS", "--cases", "300", *patience).err
    assert "no difference" in error


def test_the_command_line_says_what_is_wrong_with_it(
    capsys: pytest.CaptureFixture[str], cli: Cli
) -> None:
    error = cli("fuzz", "no-such-engine", status=2).err
    assert "CER0851: 'no-such-engine' cannot be started" in error
    assert main(["fuzz", "", "--with", ";"]) == 2
    for name in ("fuzz", "trial"):
        assert main([name, *(["--engine"] if name == "trial" else []), "command='"]) != 70
        assert "command cannot be read: no closing quotation" in capsys.readouterr().err
    assert main(["fuzz", "x", "--cases", "0"]) == 2
    assert main(["fuzz", "x", "--with", ";,#"]) == 2
    refusing = f'"{sys.executable}" -c "raise SystemExit(2)" {{query}}'
    error = cli("fuzz", refusing, "--cases", "3", "--timeout", PATIENCE, status=3).err
    assert "nothing was compared" in error


def test_a_difference_is_a_value() -> None:
    query, _, _ = parse_ceql("SELECT * WHERE A")
    value = Difference(query, (Event("A"),), broken="no")
    assert str(value) == 'SELECT *\nWHERE A\non 1 event:\n  {"type": "A"}\nthe engine fails: no'


def test_both_sides_of_a_drawn_and_matter() -> None:
    """An engine whose AND is one of its sides, or either, has other answers in a tenth of cases."""
    seen, differ = 0, dict.fromkeys(("left", "right", "either"), 0)
    for seed in range(3_000):
        rng = Random(seed)
        phi = random_formula(rng, Shape(depth=2, family=True))
        if not any(isinstance(psi, cel.And) for psi in cel.subformulas(phi)):
            continue
        stream = random_events(rng, phi)
        try:
            expected = valuations_of_formula(phi, stream)
            for name in differ:
                differ[name] += valuations_of_formula(without_and(phi, name), stream) != expected
        except CerlabError:
            continue
        seen += 1
    assert seen > 200
    assert all(count >= seen / 10 for count in differ.values()), (seen, differ)


def valuations_of_formula(phi: cel.Formula, stream: list[Event]) -> set[Any]:
    """Return the complex events, which engines are asked for."""
    return set(cerlab.evaluate(phi, stream, evaluator="reference"))


def without_and(phi: cel.Formula, side: str) -> cel.Formula:
    phi = cel.map_children(lambda psi: without_and(psi, side), phi)
    if not isinstance(phi, cel.And):
        return phi
    return cel.Or(phi.left, phi.right) if side == "either" else getattr(phi, side)
