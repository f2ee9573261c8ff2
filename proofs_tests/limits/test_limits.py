"""`cerlab.limits`, its options on the command line, and interrupts: where and how soon they act."""

from __future__ import annotations

import _thread
import asyncio
import mmap
import os
import re
import signal
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable
from threading import Event, Thread, Timer
from time import sleep
from typing import Any

import numpy as np
import pytest

import cerlab
from cerlab import budget
from cerlab.cli import main
from cerlab.cli.command import BETWEEN_ALARMS, within_limits
from cerlab.engine.answers import Buffer, double_room, join_arrays, whole
from cerlab.engine.learned import LearnedTables
from cerlab.engine.windowed import EndCounts
from cerlab.evaluate import EvaluatorName
from cerlab.logic.cel import semantics as so
from cerlab.logic.focel import semantics as fo
from cerlab.predicates.columns import SymbolStage
from cerlab.predicates.columns.key_codes import KeyCodes
from cerlab.predicates.smt.texts import check_sat

EVENTS = [{"type": "A"}, {"type": "B"}]
SECONDS = {"time_limit": 0.3, "memory_limit": None}
FOREVER = "(A OR B)+ : A" + " : (A OR B)" * 30


def code_within(**limits: float | str | None) -> str | None:
    """The code of what an evaluation raises inside limits, None if it has its answers."""
    with cerlab.limits(**limits):  # type: ignore[arg-type]
        return code()


def code() -> str | None:
    """The code of what an evaluation raises, None if it has its answers."""
    try:
        assert cerlab.count("A ; B", EVENTS) == 1
    except cerlab.ResourceLimit as error:
        return error.code
    return None


def test_what_fits_is_answered() -> None:
    assert code_within() is code_within(seconds=60, memory="4GB") is None


def test_seconds_are_of_the_wall() -> None:
    with cerlab.limits(seconds=0.01):
        sleep(0.02)
        with pytest.raises(
            cerlab.ResourceLimit, match=r"CER0620: the limit of 0.01 seconds"
        ) as error:
            cerlab.count("A ; B", EVENTS)
    assert "cerlab.limits(seconds=0.02)" in error.value.hint
    assert code_within() is None


@pytest.mark.parametrize(("outer", "inner"), [(0.01, 60), (60, 0.01), (0.01, None)])
def test_the_tighter_limit_holds(outer: float, inner: float | None) -> None:
    with cerlab.limits(seconds=outer), cerlab.limits(seconds=inner):
        sleep(0.02)
        assert code_within(memory="4GB") == "CER0620"


def test_a_limit_ends_with_its_block() -> None:
    with cerlab.limits(seconds=60):
        with cerlab.limits(seconds=0.001):
            sleep(0.002)
        assert code_within() is None


def test_memory_is_what_grows() -> None:
    with cerlab.limits(memory="20MB"):
        assert code() is None
        with mmap.mmap(-1, 200_000_000) as memory:  # new pages, whatever the heap has free
            memory.write(b"." * len(memory))
            assert code() == "CER0621"
        assert code() == "CER0621"  # what was reached stays reached
    assert code_within() is None


def test_room_is_refused_before_it_is_taken() -> None:
    with cerlab.limits(memory="100MB"):
        before = budget.resident_bytes()
        with pytest.raises(cerlab.ResourceLimit, match="CER0621"):
            budget.poll(10**9)
        assert budget.resident_bytes() - before < 10**7


def count_answers(starts: int) -> None:
    query = cerlab.parse_query("SELECT * WHERE A ; B WITHIN 9 EVENTS")
    stream = cerlab.Stream.from_events(EVENTS)
    list(whole(EndCounts(query.plan, LearnedTables(query.machine), starts=starts), stream))


ROOM: dict[str, Callable[[int], object]] = {
    "symbols": lambda n: SymbolStage([]).symbols({}, n),
    "keys": lambda n: KeyCodes(("k",)).codes({}, n),
    "counts": count_answers,
    "tables of an engine": lambda n: double_room((np.zeros(n, np.int64),)),
    "tables laid end to end": lambda n: join_arrays(
        (np.zeros(n, np.int64),), (np.zeros(1, np.int64),)
    ),
    "answers": lambda n: Buffer(n).lengthen(),
}


@pytest.mark.parametrize("name", ROOM)
def test_columns_and_tables_ask_for_room(name: str) -> None:
    """Sixteen million rows need more than 50 MB; a thousand do not."""
    ROOM[name](1 << 10)
    with cerlab.limits(memory="50MB"):
        ROOM[name](1 << 10)
        before = budget.resident_bytes()
        with pytest.raises(cerlab.ResourceLimit, match="CER0621"):
            ROOM[name](1 << 24)
        assert budget.resident_bytes() - before < 50_000_000


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), True])
def test_what_is_no_limit(wrong: float) -> None:
    with pytest.raises(cerlab.UsageError, match="CER0830"), cerlab.limits(seconds=wrong):
        pass


def test_a_thread_has_limits_of_its_own() -> None:
    codes: list[str | None] = []
    with cerlab.limits(seconds=0.001):
        sleep(0.002)
        other = Thread(target=lambda: codes.append(code_within()))
        other.start()
        other.join()
    assert codes == [None]


def test_a_task_has_those_of_who_started_it() -> None:
    async def within(seconds: float) -> str | None:
        with cerlab.limits(seconds=seconds):
            await asyncio.sleep(0.02)
            return await asyncio.create_task(asyncio.to_thread(code_within))

    async def both() -> list[str | None]:
        return list(await asyncio.gather(within(0.01), within(60)))

    assert asyncio.run(both()) == ["CER0620", None]


def test_a_limit_is_not_taken_for_a_query_that_is_too_large() -> None:
    """Code with a second way for large queries does not take it at a limit."""
    query = cerlab.parse_query("SELECT * WHERE (A AS a ; B AS b) FILTER a.v < b.v")
    events = [{"type": "A", "v": 1}, {"type": "B", "v": 2}]
    with cerlab.limits(seconds=0.001):
        sleep(0.002)
        with pytest.raises(cerlab.ResourceLimit, match="CER0620"):
            cerlab.evaluate(query, events)
    assert len(cerlab.evaluate(query, events)) == 1


def test_the_error_says_what_was_being_done(monkeypatch: pytest.MonkeyPatch) -> None:
    with cerlab.limits(seconds=0.001), budget.step_budget("the search of all"):
        sleep(0.002)
        with pytest.raises(cerlab.ResourceLimit, match=r"reached during the search of all"):
            budget.spend()
    monkeypatch.setattr(budget, "STEPS", 100)
    with pytest.raises(cerlab.ResourceLimit, match=r"CER0605: the automaton of the formula takes"):
        _ = cerlab.parse_query(f"SELECT * WHERE {FOREVER}").cea


def hard_question() -> object:
    """Integers that z3 does not find in ten seconds."""
    import z3

    solver = z3.Solver(ctx=z3.Context())
    x, y, z = (z3.Int(name, solver.ctx) for name in "xyz")
    solver.add(x * x * x + y * y * y + z * z * z == 42, x > 100, y < -100, z > 100)
    solver.set("timeout", 10_000)
    return solver


class SolverOfTime:
    """A solver that keeps how many milliseconds it was given."""

    milliseconds = 10_000

    def set(self, _: str, milliseconds: int) -> None:
        self.milliseconds = milliseconds

    def check(self) -> None:
        """Answer nothing."""

    def reason_unknown(self) -> str:
        return "timeout"


def test_the_solver_has_the_time_that_is_left() -> None:
    with pytest.raises(cerlab.ResourceLimit, match="CER0620"), cerlab.limits(seconds=0.2):
        check_sat(hard_question())
    solver = SolverOfTime()
    with cerlab.limits(seconds=0.2):
        check_sat(solver)
    assert solver.milliseconds <= 201


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_of_the_solver_is_one() -> None:
    timer = Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        check_sat(hard_question())


def command(*arguments: str) -> subprocess.Popen[str]:
    """A command that reads a pipe on which nothing comes."""
    return subprocess.Popen(
        [sys.executable, "-m", "cerlab", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_command_that_waits_sees_its_limit() -> None:
    with command("run", "A ; B", "-", "--time-limit", "0.5") as process:
        assert process.wait(timeout=60) == 2
        assert process.stderr is not None
        assert "CER0620" in process.stderr.read()


@pytest.fixture
def no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows."""
    for name in ("setitimer", "SIGALRM", "ITIMER_REAL", "SIGHUP"):
        monkeypatch.delattr(signal, name, raising=False)


@pytest.mark.usefixtures("no_timer")
def test_without_a_timer_a_thread_sees_the_limit() -> None:
    forever = iter(lambda: sleep(0.01), 0)
    with pytest.raises(cerlab.ResourceLimit, match="CER0620"), within_limits(Namespace(**SECONDS)):
        list(forever)


@pytest.mark.usefixtures("no_timer")
def test_without_a_timer_an_interrupt_is_one_and_the_end_is_no_limit() -> None:
    options = Namespace(time_limit=60.0, memory_limit=None)
    with pytest.raises(KeyboardInterrupt), within_limits(options):
        signal.raise_signal(signal.SIGINT)
    with within_limits(Namespace(**SECONDS)):
        pass
    sleep(2 * BETWEEN_ALARMS)  # the thread has gone


@pytest.mark.usefixtures("no_timer")
def test_a_limit_at_the_very_end_is_no_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread is about to interrupt when the work is done: that is still the limit."""
    looking, done = Event(), Event()

    def interrupt() -> None:
        looking.set()
        assert done.wait(60)
        _thread.interrupt_main()

    def work() -> None:
        assert looking.wait(60)
        Timer(0.1, done.set).start()

    monkeypatch.setattr(sys.modules[within_limits.__module__], "interrupt_main", interrupt)
    with pytest.raises(cerlab.ResourceLimit, match="CER0620"), within_limits(Namespace(**SECONDS)):
        work()


@pytest.mark.usefixtures("no_timer")
def test_without_a_timer_a_command_ends_at_its_limit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work that does not poll is interrupted, and the error names the limit."""

    def forever(_: Namespace) -> None:
        while True:
            sleep(0.01)

    monkeypatch.setattr("cerlab.cli.decide.check", forever)
    assert main(["check", "A ; B", "--time-limit", "0.3"]) == 2
    assert "CER0620" in capsys.readouterr().err


@pytest.mark.usefixtures("no_timer")
def test_a_command_runs_without_the_signals_of_posix(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "A ; B", "--time-limit", "60"]) == 0
    assert main(["run", "A", "no/such/file", "--time-limit", "60"]) == 2
    assert "CER" in capsys.readouterr().err


def test_every_command_has_the_options() -> None:
    from cerlab.cli import COMMANDS, parser_of

    for name in COMMANDS:
        help_text = next(
            action.choices[name].format_help()  # type: ignore[index]
            for action in parser_of([name])._actions
            if action.dest == "called"
        )
        assert re.search(r"--time-limit", help_text), name
        assert re.search(r"--memory-limit", help_text), name


@pytest.mark.parametrize("evaluator", ["automaton", "registers"])
def test_answers_that_a_strategy_compares_are_counted(
    evaluator: EvaluatorName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are listed before one is chosen: 2^29 of them that end at the thirtieth event."""
    monkeypatch.setattr(budget, "STEPS", 20_000)
    query, events = "SELECT MAX * WHERE A+", [{"type": "A"}] * 30
    assert cerlab.count(query, events) == 30
    with pytest.raises(cerlab.ResourceLimit, match=r"selection of a strategy|runs"):
        cerlab.evaluate(query, events, evaluator=evaluator)


def test_the_reference_counts_all_rounds_of_an_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    """A+ on five A: 31 valuations, of which no round adds more than ten."""
    events = [{"type": "A"}] * 5
    monkeypatch.setattr(so, "MAX_VALUATIONS", 31)
    assert len(cerlab.evaluate("A+", events, evaluator="reference")) == 31
    monkeypatch.setattr(so, "MAX_VALUATIONS", 30)
    with pytest.raises(cerlab.ResourceLimit, match="CER0604"):
        cerlab.evaluate("A+", events, evaluator="reference")


@pytest.mark.parametrize(("formula", "logic"), [("A+ ; B+", "so"), ("(A AS x)+ ; (B AS y)+", "fo")])
def test_the_reference_joins_as_many_as_it_says(
    formula: str, logic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seven of the three A with seven of the three B."""
    events = [{"type": kind} for kind in "AAABBB"]
    for semantics in (so, fo):
        monkeypatch.setattr(semantics, "MAX_VALUATIONS", 49)
    assert len(cerlab.evaluate(formula, events, evaluator="reference", logic=logic)) == 49
    for semantics in (so, fo):
        monkeypatch.setattr(semantics, "MAX_VALUATIONS", 48)
    with pytest.raises(cerlab.ResourceLimit, match="CER0604"):
        cerlab.evaluate(formula, events, evaluator="reference", logic=logic)


def test_references_take_as_many_valuations_as_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs of an A and a B; of FO-CEL pairs of any events, ten times as many."""
    monkeypatch.setattr(so, "MAX_VALUATIONS", 100)
    monkeypatch.setattr(fo, "MAX_VALUATIONS", 40)
    few, many = ([{"type": kind} for kind in "A" * n + "B" * n] for n in (10, 11))
    assert len(cerlab.evaluate("A ; B", few, evaluator="reference")) == 100
    with pytest.raises(cerlab.ResourceLimit, match="CER0604"):
        cerlab.evaluate("A ; B", many, evaluator="reference")
    pair = "(A AS x ; B AS y) FILTER x.v = y.v"
    assert not cerlab.evaluate(pair, few, evaluator="reference", logic="fo")
    with pytest.raises(cerlab.ResourceLimit, match="CER0609"):
        cerlab.evaluate(pair, many, evaluator="reference", logic="fo")
