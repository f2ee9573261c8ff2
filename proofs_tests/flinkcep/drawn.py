"""Random pattern sequences of FlinkCEP and streams with matches, also as FlinkNfa reads them."""

from __future__ import annotations

from random import Random
from typing import Any

from cerlab import IllFormed
from cerlab.flinkcep import FlinkPattern, begin
from cerlab.flinkcep.pattern import AnyPart, EventTest, NotPart, Part, SkipTo
from cerlab.predicates.syntax import Comparison, Constant

TYPES = "ABC"


def random_flink_pattern(rng: Random, *, skips: bool = True) -> FlinkPattern:
    """Two to four parts, some negative, some with quantifiers."""
    while True:
        try:
            pattern = _with_next_parts(
                rng, _with_quantifier(rng, _where(rng, begin("p0", rng.choice(TYPES))))
            )
            if rng.random() < 0.2:
                pattern = pattern.within(rng.randrange(0, 8), "t")
        except IllFormed:
            continue
        last = pattern.parts[-1]
        if isinstance(last, NotPart) and last.anywhere:
            continue
        if skips and rng.random() < 0.4:
            to = rng.choice(list(SkipTo))
            has_name = to in (SkipTo.FIRST, SkipTo.LAST)
            taking = [part.name for part in pattern.parts if isinstance(part, Part)]
            pattern = pattern.after(to, rng.choice(taking) if has_name else None)
        return pattern


def _with_next_parts(rng: Random, pattern: FlinkPattern) -> FlinkPattern:
    for i in range(1, rng.choice((2, 2, 3, 4))):
        if rng.random() < 0.2:
            no = rng.choice((pattern.notNext, pattern.notFollowedBy, pattern.notFollowedBy))
            pattern = _with_gap(rng, _where(rng, no(f"n{i}", rng.choice("ABCN"))))
            if rng.random() < 0.1:
                continue
        how = rng.choice(
            (pattern.next, pattern.followedBy, pattern.followedBy, pattern.followedByAny)
        )
        pattern = _with_quantifier(rng, _where(rng, how(f"p{i}", rng.choice(TYPES))))
    return pattern


def random_compared_pattern(rng: Random) -> FlinkPattern:
    """A part and one or two more, with conditions on earlier events; or a part and then no event.

    FlinkNfa does not read these.
    """
    pattern = _where(rng, begin("p0", rng.choice(TYPES)))
    if rng.random() < 0.2:
        absent = pattern.notFollowedBy("n1", rng.choice(TYPES))
        return _where(rng, absent).within(rng.choice((1, 2, 2, 3, 4)), "t")
    pattern = _with_loop(rng, pattern)
    for i in range(1, rng.choice((2, 2, 3))):
        before = rng.choice([part.name for part in pattern.parts])
        how = rng.choice(
            (pattern.next, pattern.followedBy, pattern.followedByAny, pattern.followedByAny)
        )
        pattern = how(f"p{i}", rng.choice(TYPES))
        own = f"p{i}.v {rng.choice(('<', '<=', '>=', '!='))} {before}.v"
        pattern = pattern.where(own)
        if rng.random() < 0.3:
            pattern = pattern.or_(f"p{i}.v = {before}.v")
        is_loop = rng.random() < 0.5
        if is_loop and rng.random() < 0.5:
            pattern = pattern.where(f"p{i}.v >= PREV(p{i}.v)")
        pattern = _with_loop(rng, pattern) if is_loop else pattern
    return pattern.within(rng.randrange(2, 8), "t") if rng.random() < 0.2 else pattern


def _with_loop(rng: Random, pattern: FlinkPattern) -> FlinkPattern:
    if rng.random() < 0.4:
        return pattern
    many = pattern.oneOrMore() if rng.random() < 0.5 else pattern.times(1, rng.choice((2, 3)))
    if rng.random() < 0.9:  # the rest is refused where a condition reads earlier events
        many = many.consecutive() if rng.random() < 0.4 else many.allowCombinations()
    return many.optional() if rng.random() < 0.15 else many


def with_keys(rng: Random, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events with one of two keys, few of them without one."""
    for event in events:
        event["v"] = rng.choice((0, 1, 1, 2, 3))
        if rng.random() < 0.95:
            event["k"] = rng.choice((1, 1, 2))
    return events


def _where(rng: Random, pattern: FlinkPattern) -> FlinkPattern:
    return pattern.where("v > 0") if rng.random() < 0.25 else pattern


def _with_quantifier(rng: Random, pattern: FlinkPattern) -> FlinkPattern:
    if rng.random() < 0.5:
        lo = rng.choice((1, 1, 2))
        is_bounded = rng.choice((True, False))
        pattern = (
            pattern.times(lo, lo + rng.choice((0, 1, 2))) if is_bounded else pattern.timesOrMore(lo)
        )
        if rng.random() < 0.3:
            pattern = pattern.greedy()
        inner = rng.random()
        if inner < 0.2:
            pattern = pattern.consecutive()
        elif inner < 0.4:
            pattern = pattern.allowCombinations()
        if not is_bounded and rng.random() < 0.2:
            pattern = pattern.until(rng.choice("ABCN"))
    return _with_gap(rng, pattern.optional() if rng.random() < 0.2 else pattern)


def _with_gap(rng: Random, pattern: FlinkPattern) -> FlinkPattern:
    """A window from the event before, more often where FlinkCEP keeps to it."""
    last = pattern.parts[-1]
    keeps = len(pattern.parts) > 1 and isinstance(last, Part) and not last.quantified
    if rng.random() > (0.3 if keeps else 0.04):
        return pattern
    return pattern.within(rng.choice((0, 1, 2, 2, 3, 3, 4)), "t", "PREVIOUS_AND_CURRENT")


def random_flink_stream(
    rng: Random, pattern: FlinkPattern, length: int = 8
) -> list[dict[str, Any]]:
    """Events of the parts one after the other, and others between; times do not go back."""
    t, events = 0, list[dict[str, Any]]()
    for part in pattern.parts:
        if isinstance(part, Part):
            takes = rng.randrange(part.lo, part.lo + 3) if part.quantified else 1
            kinds = [part.test.type] * takes
        else:
            kinds = [part.test.type] if rng.random() < 0.2 else []
        for kind in kinds:
            while rng.random() < 0.25:
                events.append({"type": rng.choice("ABCN"), "v": rng.choice((0, 1))})
            events.append({"type": kind, "v": rng.choice((0, 1, 1, 1))})
    for event in (events := [*events, {"type": rng.choice("ABC"), "v": 1}][:length]):
        event["t"] = t
        t += rng.choice((0, 0, 1, 1, 2))
    return events


def case_line(pattern: FlinkPattern, events: list[dict[str, Any]]) -> str:
    """A case as FlinkNfa reads it."""
    calls = [call for i, part in enumerate(pattern.parts) for call in _calls(i, part)]
    if pattern.window is not None:
        calls.append(f"within {pattern.window.width}")
    if pattern.skip.to is not SkipTo.NO_SKIP:
        calls.insert(0, f"{pattern.skip.to.value} {pattern.skip.name or ''}")
    rows = " ".join(f"{e['type']}{e['v']}@{e['t']}" for e in events)
    return f"{';'.join(calls)} | {rows}"


def _calls(i: int, part: AnyPart) -> list[str]:
    if isinstance(part, NotPart):
        word = "notFollowedBy" if part.anywhere else "notNext"
        return [f"{word} {part.name} {_test(part.test)}", *_gap(part)]
    calls = [f"{part.contiguity.value if i else 'begin'} {part.name} {_test(part.test)}"]
    if part.quantified:
        many = part.hi is None
        calls.append(f"timesOrMore {part.lo}" if many else f"times {part.lo} {part.hi}")
    calls += ["greedy"] * part.greedy + ["optional"] * part.optional
    calls += {"next": ["consecutive"], "followedByAny": ["allowCombinations"]}.get(
        part.inner.value, []
    )
    return calls + ([] if part.until is None else [f"until {_test(part.until)}"]) + _gap(part)


def _gap(part: AnyPart) -> list[str]:
    return [] if part.gap is None else [f"gap {part.gap.width}"]


def _test(test: EventTest) -> str:
    match test.predicate:
        case None:
            return test.type
        case Comparison(_, _, Constant(above)):
            return f"{test.type}>{above}"
        case _:
            raise AssertionError("cases compare with one constant")
