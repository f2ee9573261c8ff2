"""Trials of engines: many engines compared on random cases, and the causes of their faults.

    cerlab trial --engine cerlab --engine flink=env/bin/python --minutes 5 --report report

Reading order: `languages` (features of cases, random cases, right answers),
`adapters` and `children` (how engines are started and asked), here the trial itself, its verdicts
and the causes of faults, and `report`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice
from random import Random
from typing import Any, NamedTuple

from cerlab.conformance import Case as SuiteCase
from cerlab.conformance.run import Judged, Mark
from cerlab.conformance.values import decode
from cerlab.errors import CerlabError, UsageError
from cerlab.fuzz.engines import Failure, Outcome, Refusal
from cerlab.trial.adapters import ADAPTERS, Absent, Adapter, Running, adapter, running
from cerlab.trial.languages import LANGUAGES, Case, case_of_suite

__all__ = ["ADAPTERS", "Cause", "Tally", "Trial", "Verdict", "adapter", "conformance", "trial"]


_ROUND = 25
"""Queries per round, drawn together so that engines with batches are asked efficiently."""


@dataclass(slots=True)
class Tally:
    """The counted verdicts on an engine, and the causes of its faults.

    `unsorted_faults` are faults that were not sorted in time; `reasons` are the reasons of
    refusals.
    """

    name: str
    language: str
    version: str
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    causes: list[Cause] = field(default_factory=list)
    unsorted_faults: list[tuple[Case, Judgement]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a trial: a tally of each engine, and the missing engines with reasons."""

    tallies: tuple[Tally, ...]
    absent: tuple[tuple[str, str], ...]
    seed: int
    cases: int
    with_answers: int
    seconds: float


class _Entrant(NamedTuple):
    """An engine in the trial, its tally, and the other engines of its language."""

    engine: Running
    tally: Tally
    others: tuple[Running, ...]


def trial(
    adapters: Sequence[Adapter],
    *,
    cases: int = 1_000,
    seconds: float = 300.0,
    case_seconds: float = 60.0,
    seed: int = 0,
    watch: Callable[[int, float], None] = lambda cases, seconds: None,
) -> Trial:
    """Ask engines and the reference the same cases, until a number of cases or seconds is reached.

    Starting the engines counts. At most a third of the remaining time is spent on cases, the rest
    on sorting faults: the smallest after each round, the others at the end. Each round has cases of
    every feature and, for each engine with fewer features, cases within those. Cases with
    unsupported features are not asked, and count as refused.

    Args:
        adapters: The engines.
        cases: The number of cases.
        seconds: The time limit of the trial.
        case_seconds: The time limit for each case.
        seed: Equal seeds give equal cases.
        watch: A function called with the number of cases and the seconds so far.

    Raises:
        UsageError: No engine is available.
    """
    start = time.monotonic()
    until = start + seconds
    absent: list[tuple[str, str]] = []
    with ExitStack() as stack:
        engines: list[Running] = []
        for each in adapters:
            try:
                engines.append(stack.enter_context(running(each, case_seconds)))
            except Absent as why:
                absent.append((each.name, str(why)))
        if not engines:
            reasons = "; ".join(f"{name}: {why}" for name, why in absent)
            message = f"no engine is available ({reasons})"
            raise UsageError("CER0856", message, hint="see cerlab trial --help")
        entrants = [_entrant(engine, engines) for engine in engines]
        share, asking, case_count, with_answers = (until - time.monotonic()) / 3, 0.0, 0, 0
        for batch in _rounds(engines, seed):
            round_start = time.monotonic()
            for entrant in entrants:
                _count(entrant, batch)
            asking += time.monotonic() - round_start
            case_count += len(batch)
            with_answers += sum(bool(LANGUAGES[case.language].answers(case)) for case in batch)
            watch(case_count, time.monotonic() - start)
            for entrant in entrants:
                _sort(entrant, start, until, most=1)
            if case_count >= cases or asking > share or time.monotonic() > until:
                break
        faulty = [entrant for entrant in entrants if entrant.tally.unsorted_faults]
        for n, entrant in enumerate(faulty):
            now = time.monotonic()
            part = max(0.0, until - now) / (len(faulty) - n)
            _sort(entrant, start, now + part)
            watch(case_count, time.monotonic() - start)
    total = time.monotonic() - start
    tallies = tuple(entrant.tally for entrant in entrants)
    return Trial(tallies, tuple(absent), seed, case_count, with_answers, total)


def conformance(
    each: Adapter, cases: Iterable[SuiteCase], case_seconds: float = 60.0
) -> list[Judged]:
    """Judge an engine by cases of the conformance suite.

    Cases without a form in a trial, and unsupported features, are not asked.

    Args:
        each: The adapter of the engine.
        cases: Cases of the suite.
        case_seconds: The time limit for each case.

    Raises:
        Absent: The engine is missing.
    """
    judged: list[Judged] = []
    with running(each, case_seconds) as engine:
        forms = [(case, case_of_suite(case)) for case in cases]
        asked = {
            n: form
            for n, (_, form) in enumerate(forms)
            if form is not None
            and form.language == each.language
            and not (_lack(engine, form) or each.refuses(form))
        }
        replies = dict(zip(asked, engine.ask(list(asked.values())), strict=True))
        for n, (case, form) in enumerate(forms):
            if form is None or n not in replies:
                judged.append(Judged(case, Mark.UNASKED))
            else:
                judged.append(_judged(case, form, replies[n], each.orders(form)))
    return judged


def _judged(case: SuiteCase, form: Case, reply: Outcome, has_order: bool) -> Judged:
    match reply:
        case Refusal(why):
            return Judged(case, Mark.REFUSED, why)
        case Failure(how):
            return Judged(case, Mark.WRONG, how)
    if form.language == "rows":
        # without column names, values are compared by position
        names = case.expected.get("columns") or (list(reply.rows[0]) if reply.rows else ())
        values = map(decode, case.expected["values"])
        expected: Sequence[Any] = [dict(zip(names, row, strict=False)) for row in values]
    else:
        expected = case.answers
    missing, extra, in_order = LANGUAGES[form.language].compare(
        form, expected, reply.rows, has_order
    )
    how = f"missing: {missing[0]}" if missing else f"wrong: {extra[0]}" if extra else ""
    if not how and not in_order:
        how = "another order"
    return Judged(case, Mark.WRONG if how else Mark.PASSED, how, {form.language: list(reply.rows)})


def _entrant(engine: Running, engines: Sequence[Running]) -> _Entrant:
    name, language = engine.adapter.name, engine.adapter.language
    others = (e for e in engines if e is not engine and e.adapter.language == language)
    return _Entrant(engine, Tally(name, language, engine.version), tuple(others))


def _rounds(engines: Sequence[Running], seed: int) -> Iterator[list[Case]]:
    """Yield endless rounds; each has cases for the language and features of every engine."""
    pairs = {(e.adapter.language, e.adapter.takes) for e in engines}
    fragments = sorted(pairs, key=lambda each: (each[0], -len(each[1]), sorted(each[1])))
    n = 0
    while True:
        batch: list[Case] = []
        for language, takes in fragments:
            for k in range(n, n + _ROUND):
                batch += LANGUAGES[language].draw(Random(f"{seed} {k} {len(takes)}"), takes)
        n += _ROUND
        yield batch


def _count(entrant: _Entrant, cases: Sequence[Case]) -> None:
    """Count the verdicts of an engine on cases in its language."""
    engine, tally, _ = entrant
    own_cases = [case for case in cases if case.language == engine.adapter.language]
    askable = []
    for case in own_cases:
        if lack := _lack(engine, case):
            tally.verdicts[Verdict.REFUSED] += 1
            tally.reasons[lack] += 1
        else:
            askable.append(case)
    for case, judgement in judge(engine, askable):
        tally.verdicts[judgement.verdict] += 1
        if judgement.verdict is Verdict.REFUSED:
            tally.reasons[" ".join(judgement.message.split())[:160]] += 1
        if judgement.verdict in FAULTS:
            tally.unsorted_faults.append((case, judgement))


def _sort(entrant: _Entrant, start: float, until: float, most: int | None = None) -> None:
    """Group faults by cause while time is left, the smallest first.

    At most `most` of them are reduced, if it is given.
    """

    def in_time() -> bool:
        return time.monotonic() < until

    engine, tally, others = entrant
    language = LANGUAGES[tally.language]
    # small ones first: a cause with few features explains faults with more
    tally.unsorted_faults.sort(key=lambda each: (len(each[0].data), size(each[0])))
    remaining: list[tuple[Case, Judgement]] = []
    small_count = 0
    for case, judgement in tally.unsorted_faults:
        if _explain(tally, case, judgement):
            continue
        if not in_time() or small_count == most:
            remaining.append((case, judgement))
            continue
        small_count += 1
        small, why = smallest_case(engine, case, judgement, in_time)
        after = time.monotonic() - start
        cause = Cause(why.verdict, language.features_of(small), small, why, {}, after)
        alike = (
            c for c in tally.causes if (c.verdict, c.features) == (why.verdict, cause.features)
        )
        if (same := next(alike, None)) is not None:
            same.count += 1
            continue
        cause.others = {e.adapter.name: _on(e, small) for e in others}
        tally.causes.append(cause)
    tally.unsorted_faults = remaining
    tally.causes.sort(key=lambda cause: -cause.count)


def _explain(tally: Tally, case: Case, judgement: Judgement) -> bool:
    """Count a fault for the cause that explains the most of it, and return whether there is one."""
    features = LANGUAGES[case.language].features_of(case)
    explaining = [c for c in tally.causes if c.explains(judgement.verdict, features)]
    if explaining:
        max(explaining, key=lambda cause: len(cause.features)).count += 1
    return bool(explaining)


def _lack(engine: Running, case: Case) -> str:
    """Return why an engine is not asked a case; empty if it is asked."""
    lacking = LANGUAGES[case.language].features_of(case) - engine.adapter.takes
    return f"not asked: {min(lacking)}" if lacking else ""


def _on(engine: Running, case: Case) -> Judgement:
    """Return the judgement of another engine on the same case."""
    if lack := _lack(engine, case):
        return Judgement(Verdict.REFUSED, message=lack)
    return judge(engine, [case])[0][1]


_AT_ONCE = 12
"""Smaller cases in one batch, for engines that need about a second per batch."""


@dataclass(slots=True)
class Cause:
    """A verdict with the features that cause it, and the number of faults that it explains."""

    verdict: Verdict
    features: frozenset[str]
    case: Case
    judgement: Judgement
    others: dict[str, Judgement]
    """Judgements of the other engines of the language on the same case."""
    after: float
    """Seconds from the start of the trial until the case was reduced."""
    count: int = 1

    def explains(self, verdict: Verdict, features: frozenset[str]) -> bool:
        """Return whether a fault may have this cause."""
        return self.verdict is verdict and self.features <= features


def judge(engine: Running, cases: Sequence[Case]) -> list[tuple[Case, Judgement]]:
    """Return an engine's judgements on the cases that the reference can answer."""
    expected = [(case, answers) for case in cases if (answers := _answers(case)) is not None]
    outcomes = engine.ask([case for case, _ in expected])
    return [
        (case, judgement_of(case, answers, outcome, engine.adapter.orders(case)))
        for (case, answers), outcome in zip(expected, outcomes, strict=True)
    ]


def _answers(case: Case) -> Sequence[object] | None:
    try:
        return LANGUAGES[case.language].answers(case)
    except CerlabError:
        return None


def smallest_case(
    engine: Running, case: Case, judgement: Judgement, in_time: Callable[[], bool]
) -> tuple[Case, Judgement]:
    """Return a case with the same verdict, reduced as far as `smaller` and the time allow."""
    while in_time():
        smaller = next(_failing(engine, case, judgement.verdict, in_time), None)
        if smaller is None:
            break
        case, judgement = smaller
    return case, judgement


def _failing(
    engine: Running, case: Case, verdict: Verdict, in_time: Callable[[], bool]
) -> Iterator[tuple[Case, Judgement]]:
    """Yield smaller cases with the same verdict; within a batch, the smallest first."""
    # in batches, since an engine may need a second for each request rather than each case
    for together in _batches(LANGUAGES[case.language].smaller(case), engine.adapter.batch):
        if not in_time():
            return
        verdicts = judge(engine, together)
        yield from sorted(
            ((c, j) for c, j in verdicts if j.verdict is verdict), key=lambda each: size(each[0])
        )


def _batches(cases: Iterable[Case], batch: int) -> Iterator[list[Case]]:
    remaining = iter(cases)
    while together := list(islice(remaining, min(batch, _AT_ONCE))):
        yield together


def size(case: Case) -> tuple[int, int]:
    """Return the size of a case: the length of the query plus the number of values."""
    return len(case.text), sum(len(row) for row in case.rows)


class Verdict(Enum):
    """The result of comparing an engine's reply with the reference; values appear in reports."""

    SAME = "same"
    MISSING = "missing"
    """Answers are missing; wrong answers may replace them."""
    EXTRA = "extra"
    """No answer is missing, but there are extra or repeated answers."""
    ORDER = "order"
    """The right answers in a wrong order."""
    CRASH = "crash"
    """A crash: an error not caused by the query, an exit, or an unreadable reply."""
    HANG = "hang"
    """No reply within the time limit."""
    REFUSED = "refused"
    """A refusal: the engine reports that it does not support the query."""


FAULTS = frozenset(Verdict) - {Verdict.SAME, Verdict.REFUSED}


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with the wrong answers, or the message of an engine that failed."""

    verdict: Verdict
    missing: tuple[Any, ...] = ()
    extra: tuple[Any, ...] = ()
    message: str = ""


def judgement_of(
    case: Case, expected: Sequence[Any], outcome: Outcome, has_order: bool
) -> Judgement:
    """Return the judgement of an outcome; with `has_order` the order of answers counts."""
    match outcome:
        case Refusal(why):
            return Judgement(Verdict.REFUSED, message=why)
        case Failure(how, hung):
            return Judgement(Verdict.HANG if hung else Verdict.CRASH, message=how)
    comparison = LANGUAGES[case.language].compare(case, expected, outcome.rows, has_order)
    missing, extra, in_order = tuple(comparison[0]), tuple(comparison[1]), comparison[2]
    if missing:
        return Judgement(Verdict.MISSING, missing, extra)
    if extra:
        return Judgement(Verdict.EXTRA, missing, extra)
    return Judgement(Verdict.SAME if in_order else Verdict.ORDER)
