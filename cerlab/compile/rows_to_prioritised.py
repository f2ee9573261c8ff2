"""Row patterns to prioritised automata (rows.md 5.2, 5.7).

A macro-state is what is still to be read: a stack of patterns, and of loops that are under way,
each with how many of its iterations are done and whether the last one has mapped a row. Two runs in
one macro-state at one row have the same future, and the one met first is preferred.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple, TypeAlias, assert_never

from cerlab.automata.prioritised import ACCEPT, Accept, Open, PrioritisedAutomaton
from cerlab.budget import TRANSITION, spend, step_budget
from cerlab.logic.rows import syntax as rp


class Todo(NamedTuple):
    """A pattern that is to be read, and whether its rows are excluded."""

    pattern: rp.Pattern
    is_excluded: bool


class Loop(NamedTuple):
    """A quantifier after `iterations`, as many as matter; `has_mapped`: the last has a row."""

    pattern: rp.Repetition
    is_excluded: bool
    iterations: int
    has_mapped: bool


Stack: TypeAlias = tuple[Todo | Loop, ...]


def prioritised_automaton(p: rp.Pattern, *, every: bool = False) -> PrioritisedAutomaton[Stack]:
    """The automaton whose preferred accepting run from a row is the match there (rows.md 5.4).

    With `every` it has the steps that are preferred less than to accept, too.
    """
    return PrioritisedAutomaton((Todo(p, False),), partial(follow, every=every))


def follow(
    w: Stack, at_start: bool, at_end: bool, *, every: bool = False
) -> tuple[Open[Stack] | Accept, ...]:
    """What can be done in a macro-state, in order of preference.

    Choices that map no row are taken in order, depth first; a macro-state that was met before is
    left out, as its future is the same and its choices come later.
    """
    with step_budget("the automaton of a row pattern", "make bounds smaller", own=1):
        return _steps(w, at_start, at_end, every=every)


def _steps(
    w: Stack, at_start: bool, at_end: bool, *, every: bool
) -> tuple[Open[Stack] | Accept, ...]:
    steps: list[Open[Stack] | Accept] = []
    visited_stacks = set[Stack]()
    pending = [w]
    while pending:
        spend(TRANSITION)
        w = pending.pop()
        if w in visited_stacks:
            continue
        visited_stacks.add(w)
        if not w:
            steps.append(ACCEPT)
            if not every:
                break
            continue
        head, rest = w[0], w[1:]
        if isinstance(head, Todo) and isinstance(head.pattern, rp.Variable):
            steps.append(Open(head.pattern.name, head.is_excluded, _after_row(rest)))
        else:
            pending.extend(reversed(_choices(head, rest, at_start, at_end)))
    return tuple(steps)


def _after_row(w: Stack) -> Stack:
    """The stack after a row: every loop under way has mapped one."""
    return tuple(each._replace(has_mapped=True) if isinstance(each, Loop) else each for each in w)


def _choices(head: Todo | Loop, rest: Stack, at_start: bool, at_end: bool) -> list[Stack]:
    """The stacks that the head may be replaced by, in order of preference (rows.md 5.2 b to f)."""
    if isinstance(head, Loop):
        return _iterations(head, rest)
    p, is_excluded = head
    match p:
        case rp.Variable():
            raise AssertionError("a variable reads a row")
        case rp.Empty():
            return [rest]
        case rp.PartitionStart():
            return [rest] if at_start else []
        case rp.PartitionEnd():
            return [rest] if at_end else []
        case rp.Concat(parts):
            return [(*(Todo(part, is_excluded) for part in parts), *rest)]
        case rp.Alternation(parts):
            return [(Todo(part, is_excluded), *rest) for part in parts]
        case rp.Permute():
            return [(Todo(rp.expand_permute(p), is_excluded), *rest)]
        case rp.Exclusion(body):
            return [(Todo(body, True), *rest)]
        case rp.Repetition():
            return [(Loop(p, is_excluded, 0, True), *rest)]
        case _:
            assert_never(p)


def _iterations(loop: Loop, rest: Stack) -> list[Stack]:
    """Stop or more, at the end of an iteration and before the first (rows.md 5.2 f)."""
    p, is_excluded, n, has_mapped = loop
    if n >= p.lo and (not has_mapped or n == p.hi):
        return [rest]
    iterations = n + 1 if p.hi is not None else min(n + 1, p.lo)
    more: Stack = (Todo(p.body, is_excluded), Loop(p, is_excluded, iterations, False), *rest)
    if n < p.lo:
        return [more]
    return [rest, more] if p.reluctant else [more, rest]
