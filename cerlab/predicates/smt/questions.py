"""One question to z3: its limits, connectives of any number of parts, and a text as an answer."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import z3

from cerlab.budget import seconds_left, spend
from cerlab.predicates.smt.languages import characters, every_text

STEPS = 1_000_000
"""How many steps z3 takes for one question before the answer is "unknown"."""

SOLVER_STEPS = 4_000
"""What a question to z3 counts for in a budget: putting it takes some milliseconds."""

SOLVER_STEPS_PER_SECOND = 700_000
"""What the time of its answer counts for: most have none, and some take all they may."""

MILLISECONDS = 1_000
"""How long it takes at most: a second limit, for the few questions that take time but no steps."""


def with_step_limit(solver: Any) -> Any:
    """The solver, which gives up after `STEPS` steps."""
    solver.set("rlimit", STEPS)
    solver.set("timeout", MILLISECONDS)
    return solver


def check_sat(solver: Any) -> Any:
    """What z3 answers within the time that is left; raises `ResourceLimit` when there is none.

    While it works z3 takes the interrupts of the keyboard to itself: it gives up, with a reason.
    """
    if (seconds := seconds_left()) < math.inf:
        solver.set("timeout", min(MILLISECONDS, 1 + int(1000 * seconds)))
    before = time.thread_time()
    answer = solver.check()
    spend(SOLVER_STEPS + int(SOLVER_STEPS_PER_SECOND * (time.thread_time() - before)))
    if "keyboard" in solver.reason_unknown():
        raise KeyboardInterrupt
    return answer


def every_of(parts: Sequence[Any], context: Any) -> Any:
    """The conjunction of formulas."""
    return z3.And(*parts) if parts else z3.BoolVal(True, context)


def some_of(parts: Sequence[Any], context: Any) -> Any:
    """The disjunction of formulas."""
    return z3.Or(*parts) if parts else z3.BoolVal(False, context)


class OneText(NamedTuple):
    """Whether a language may have a text, and one if z3 found one."""

    possible: bool
    text: str | None


def member(language: Any, context: Any) -> OneText:
    """A text of a language, of printable ASCII characters where there is one."""
    x = z3.String("x", context)
    plain = z3.Star(characters(((32, 126),), context))
    for languages in ((language, plain), (language, every_text(context))):
        solver = with_step_limit(z3.Solver(ctx=context))
        solver.add(z3.InRe(x, z3.Intersect(*languages)))
        answer = check_sat(solver)
        if answer == z3.sat:
            return OneText(True, text_in(solver.model(), x))
    return OneText(answer == z3.unknown, None)


def text_in(model: Any, x: Any) -> str:
    """The value of a text variable."""
    text = model.eval(x, model_completion=True).as_string()
    return re.sub(r"\\u\{([0-9a-fA-F]+)\}", lambda code: chr(int(code[1], 16)), text)
