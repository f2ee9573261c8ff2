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
import time
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from threading import Event, Thread, active_count
from time import sleep
from typing import Any

import numpy as np
import pytest

import cerlab
from cerlab import budget
from cerlab.cli import main
from cerlab.cli.command import within_limits
from cerlab.engine.answers import Buffer, double_room, join_arrays
from cerlab.engine.array_totals import ArrayTotals
from cerlab.engine.kernels.totals import Options
from cerlab.evaluate import EvaluatorName
from cerlab.logic.cel import semantics as so
from cerlab.logic.focel import semantics as fo
from cerlab.predicates.columns import SymbolStage
from cerlab.predicates.columns.key_codes import KeyCodes
from cerlab.predicates.smt.texts import check_sat
from proofs_tests.command import Cli
from proofs_tests.dials import Dial, counted_allocations

EVENTS = [{"type": "A"}, {"type": "B"}]
ONE_SECOND = Namespace(time_limit=1.0, memory_limit=None)
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


def test_what_fits_is_answered(clock: Dial, gauge: Dial) -> None:
    clock.step = gauge.step = 0
    assert code_within() is code_within(seconds=60, memory="4GB") is None


def test_seconds_are_of_the_wall() -> None:
    """That clock goes on while a process waits."""
    assert budget.clock is time.monotonic


def test_a_limit_of_time_is_reached_after_its_seconds(clock: Dial) -> None:
    with cerlab.limits(seconds=0.5):
        clock.value += 0.5
        assert code() is None
        clock.value += 0.01
        with pytest.raises(
            cerlab.ResourceLimit, match=r"CER0620: the limit of 0.5 seconds"
        ) as error:
            cerlab.count("A ; B", EVENTS)
    assert "cerlab.limits(seconds=1)" in error.value.hint
    assert code_within() is None


@pytest.mark.parametrize(("outer", "inner"), [(1, 60), (60, 1), (1, None)])
def test_the_tighter_limit_holds(outer: float, inner: float | None, clock: Dial) -> None:
    with cerlab.limits(seconds=outer), cerlab.limits(seconds=inner):
        assert code_within(memory="4GB") is None
        clock.value += 2
        assert code_within(memory="4GB") == "CER0620"


def test_a_limit_ends_with_its_block(clock: Dial) -> None:
    with cerlab.limits(seconds=60):
        with cerlab.limits(seconds=1):
            clock.value += 2
            assert code() == "CER0620"
        assert code_within() is None


def test_memory_is_what_grows(gauge: Dial) -> None:
    gauge.value = 500_000_000
    with cerlab.limits(memory="20MB"):
        gauge.value += 20_000_000
        assert code() is None
        gauge.value += 1
        assert code() == "CER0621"
        gauge.value = 0
        assert code() == "CER0621"  # what was reached stays reached
    assert code_within() is None


@pytest.mark.night
def test_memory_is_what_the_process_keeps_resident() -> None:
    with cerlab.limits(memory="20MB"):
        assert code() is None
        with mmap.mmap(-1, 200_000_000) as memory:  # new pages, whatever the heap has free
            memory.write(b"." * len(memory))
            assert code() == "CER0621"


def test_memory_is_looked_at_fifty_times_a_second(clock: Dial, gauge: Dial) -> None:
    clock.step = 0.001
    with cerlab.limits(memory="20MB"):
        before = gauge.readings
        for _ in range(1_000):
            budget.poll()
    assert 48 <= gauge.readings - before <= 50


@pytest.mark.usefixtures("gauge")
def test_room_is_refused_before_it_is_taken() -> None:
    with cerlab.limits(memory="100MB"):
        budget.poll(10**8)
        with pytest.raises(cerlab.ResourceLimit, match="CER0621"):
            budget.poll(10**8 + 1)


ROOM: dict[str, Callable[[int], Callable[[], object]]] = {
    "symbols": lambda n: partial(SymbolStage([]).symbols, {}, n),
    "keys": lambda n: partial(KeyCodes(("k",)).codes, {}, n),
    "counts": lambda n: partial(ArrayTotals(Options(0, False, False))._make_room, n),
    "tables of an engine": lambda n: partial(double_room, (np.zeros(n, np.int64),)),
    "tables laid end to end": lambda n: partial(
        join_arrays, (np.zeros(n, np.int64),), (np.zeros(1, np.int64),)
    ),
    "answers": lambda n: Buffer(n).lengthen,
}


@pytest.mark.parametrize("name", ROOM)
@pytest.mark.usefixtures("gauge")
def test_columns_and_tables_ask_for_room(name: str) -> None:
    """Sixteen million rows need more than 50 MB; a thousand do not."""
    few, many = ROOM[name](1 << 10), ROOM[name](1 << 24)
    with cerlab.limits(memory="50MB"), counted_allocations() as allocated:
        few()
        with pytest.raises(cerlab.ResourceLimit, match="CER0621"):
            many()
        assert allocated.most < 50_000_000


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), True])
def test_what_is_no_limit(wrong: float) -> None:
    with pytest.raises(cerlab.UsageError, match="CER0830"), cerlab.limits(seconds=wrong):
        pass


def test_a_thread_has_limits_of_its_own(clock: Dial) -> None:
    codes: list[str | None] = []
    with cerlab.limits(seconds=1):
        clock.value += 2
        other = Thread(target=lambda: codes.append(code_within()))
        other.start()
        other.join()
    assert codes == [None]


def test_a_task_has_those_of_who_started_it(clock: Dial) -> None:
    async def within(seconds: float, late: asyncio.Event) -> str | None:
        with cerlab.limits(seconds=seconds):
            await late.wait()
            return await asyncio.create_task(asyncio.to_thread(code_within))

    async def both() -> list[str | None]:
        late = asyncio.Event()
        tasks = [asyncio.create_task(within(seconds, late)) for seconds in (1, 60)]
        await asyncio.sleep(0)  # both of them have their limits and wait
        clock.value += 2
        late.set()
        return list(await asyncio.gather(*tasks))

    assert asyncio.run(both()) == ["CER0620", None]


def test_a_limit_is_not_taken_for_a_query_that_is_too_large(clock: Dial) -> None:
    """Code with a second way for large queries does not take it at a limit."""
    query = cerlab.parse_query("SELECT * WHERE (A AS a ; B AS b) FILTER a.v < b.v")
    events = [{"type": "A", "v": 1}, {"type": "B", "v": 2}]
    with cerlab.limits(seconds=1):
        clock.value += 2
        with pytest.raises(cerlab.ResourceLimit, match="CER0620"):
            cerlab.evaluate(query, events)
    assert len(cerlab.evaluate(query, events)) == 1


def test_the_error_says_what_was_being_done(clock: Dial, monkeypatch: pytest.MonkeyPatch) -> None:
    with cerlab.limits(seconds=1), budget.step_budget("the search of all"):
        clock.value += 2
        with pytest.raises(cerlab.ResourceLimit, match=r"reached during the search of all"):
            budget.spend()
    monkeypatch.setattr(budget, "STEPS", 100)
    with pytest.raises(cerlab.ResourceLimit, match=r"CER0605: the automaton of the formula takes"):
        _ = cerlab.parse_query(f"SELECT * WHERE {FOREVER}").cea


def hard_question() -> Any:
    """Return a question about integers that z3 does not answer."""
    import z3

    solver = z3.Solver(ctx=z3.Context())
    x, y, z = (z3.Int(name, solver.ctx) for name in "xyz")
    solver.add(x * x * x + y * y * y + z * z * z == 42, x > 100, y < -100, z > 100)
    return solver


class SolverOfTime:
    """A solver that takes all the milliseconds that it has, and a little more."""

    def __init__(self, clock: Dial) -> None:
        self.clock = clock
        self.milliseconds = 10_000

    def set(self, _: str, milliseconds: int) -> None:
        self.milliseconds = milliseconds

    def check(self) -> None:
        """Find no answer."""
        self.clock.value += self.milliseconds / 1_000 + 0.001

    def reason_unknown(self) -> str:
        return "timeout"


def test_the_solver_has_the_time_that_is_left(clock: Dial) -> None:
    solver = SolverOfTime(clock)
    with cerlab.limits(seconds=0.2):
        with pytest.raises(cerlab.ResourceLimit, match="CER0620"):
            check_sat(solver)
        assert solver.milliseconds == 201


@pytest.mark.usefixtures("clock")
def test_the_solver_gives_up_after_the_time_that_it_was_given() -> None:
    """The clock of the limit stands still; z3 has one of its own."""
    solver = hard_question()
    with cerlab.limits(seconds=0.2):
        assert str(check_sat(solver)) == "unknown"
    assert solver.reason_unknown() in ("timeout", "canceled")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_of_the_solver_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python leaves the signals alone, so that z3 alone can see one."""
    solver, done = hard_question(), Event()
    check = solver.check

    def interrupt() -> None:
        # z3 may not yet listen when the first one comes
        while not done.wait(0.01):
            os.kill(os.getpid(), signal.SIGINT)

    def check_and_interrupt() -> object:
        sender.start()
        try:
            return check()
        finally:
            done.set()
            sender.join()

    sender = Thread(target=interrupt)
    monkeypatch.setattr(solver, "check", check_and_interrupt)
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        with pytest.raises(KeyboardInterrupt):
            check_sat(solver)
    finally:
        signal.signal(signal.SIGINT, before)


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
        assert process.wait() == 2
        assert process.stderr is not None
        assert "CER0620" in process.stderr.read()


@pytest.fixture
def no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows."""
    for name in ("pthread_kill", "setitimer", "SIGALRM", "ITIMER_REAL", "SIGHUP"):
        monkeypatch.delattr(signal, name, raising=False)


@pytest.mark.usefixtures("no_timer")
def test_without_a_timer_a_thread_sees_the_limit(clock: Dial) -> None:
    clock.step = 1
    forever = iter(lambda: sleep(0.01), 0)
    with pytest.raises(cerlab.ResourceLimit, match="CER0620"), within_limits(ONE_SECOND):
        list(forever)


@pytest.mark.usefixtures("no_timer", "clock")
def test_without_a_timer_an_interrupt_is_one_and_the_end_is_no_limit() -> None:
    with pytest.raises(KeyboardInterrupt), within_limits(ONE_SECOND):
        signal.raise_signal(signal.SIGINT)
    threads = active_count()
    with within_limits(ONE_SECOND):
        assert active_count() == threads + 1
    assert active_count() == threads


@pytest.mark.usefixtures("no_timer")
def test_a_limit_at_the_very_end_is_no_interrupt(
    clock: Dial, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread is about to interrupt when the work is done: then it is done."""
    looking, joining = Event(), Event()

    class Joined(Thread):
        def join(self, timeout: float | None = None) -> None:
            joining.set()
            super().join(timeout)

    def interrupt(number: signal.Signals) -> None:
        looking.set()
        joining.wait()
        _thread.interrupt_main(number)

    clock.step = 1
    module = sys.modules[within_limits.__module__]
    monkeypatch.setattr(module, "interrupt_main", interrupt)
    monkeypatch.setattr(module, "Thread", Joined)
    with within_limits(ONE_SECOND):
        looking.wait()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no timers that send signals")
def test_a_limit_leaves_the_timer_of_the_host_alone(clock: Dial) -> None:
    """It rings while a command runs, and rings on; signals have the handlers that they had."""
    rings: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda *_: rings.append(1))
    handlers = [signal.getsignal(each) for each in signal.valid_signals()]
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        with within_limits(ONE_SECOND):
            while len(rings) < 3:
                signal.pause()
        clock.step = 1
        with pytest.raises(cerlab.ResourceLimit, match="CER0620"), within_limits(ONE_SECOND):
            list(iter(signal.pause, 0))
        assert signal.getitimer(signal.ITIMER_REAL)[1] == pytest.approx(0.01, rel=0.5)
        assert [signal.getsignal(each) for each in signal.valid_signals()] == handlers
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("no_timer")
def test_without_a_timer_a_command_ends_at_its_limit(
    clock: Dial, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work that does not poll is interrupted, and the error names the limit."""

    def forever(_: Namespace) -> None:
        clock.step = 1
        while True:
            sleep(0.01)

    monkeypatch.setattr("cerlab.cli.decide.check", forever)
    assert "CER0620" in cli("check", "A ; B", "--time-limit", "0.3", status=2).err


@pytest.mark.usefixtures("no_timer", "clock")
def test_a_command_runs_without_the_signals_of_posix(cli: Cli) -> None:
    assert main(["check", "A ; B", "--time-limit", "60"]) == 0
    assert "CER" in cli("run", "A", "no/such/file", "--time-limit", "60", status=2).err


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
