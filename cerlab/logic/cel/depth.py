"""How deep formulas may nest that were built; of those that are read the parser sees to it."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from cerlab.errors import ResourceLimit
from cerlab.logic.cel.syntax import Filter, Formula, children

MAX_DEPTH = 200
"""How deep formulas may nest, and how deep a condition of FILTER may."""


def refuse_deep(phi: Formula) -> None:
    """Raise `ResourceLimit` for a formula too deep for what walks over it, without recursion."""
    pending = [(phi, 1)]
    while pending:
        psi, depth = pending.pop()
        _check(depth)
        pending.extend((below, depth + 1) for below in children(psi))
        if isinstance(psi, Filter):
            _refuse_deep_condition(psi.condition)


def _refuse_deep_condition(condition: object) -> None:
    pending: list[tuple[Any, int]] = [(condition, 0)]  # 0: what holds a predicate is no level
    while pending:
        part, depth = pending.pop()
        _check(depth)
        if isinstance(part, tuple):
            pending.extend((each, depth) for each in part)
        elif is_dataclass(part):
            pending.extend((getattr(part, field.name), depth + 1) for field in fields(part))


def _check(depth: int) -> None:
    if depth > MAX_DEPTH + 1:
        raise ResourceLimit(
            "CER0602",
            f"the formula nests or chains more than {MAX_DEPTH} operators",
            hint="use IN {..} for long lists of values",
        )
