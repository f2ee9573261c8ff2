"""Parts of a query that can never matter."""

from __future__ import annotations

from collections.abc import Iterator

from cerlab.budget import poll
from cerlab.compile.pattern import Pattern
from cerlab.decisions import satisfiable
from cerlab.errors import ResourceLimit
from cerlab.logic.cel.syntax import Formula, Or, children, part_at, with_child

MAX_BRANCHES = 64
"""How many branches are looked at."""


def dead_branches(query: Pattern) -> list[str]:
    """The branches of OR through which no stream leads to an answer, as text.

    Of nested ones the outermost. Empty where nothing is dead, where all is, or where it is not
    decided.

    >>> from cerlab.compile.text_to_pattern import as_pattern
    >>> dead_branches(as_pattern("(A FILTER A[v = 1 AND v = 2] OR B) ; C"))
    ['A FILTER A[v = 1 AND v = 2]']
    """
    paths: list[tuple[int, ...]] = []
    for path in list(_branches(query.formula))[:MAX_BRANCHES]:
        if any(path[: len(dead)] == dead for dead in paths):
            continue
        through = query.replaced(formula=_through(query.formula, path))
        try:
            verdict = satisfiable(through)
        except ResourceLimit:
            poll()
            return []
        if verdict.holds is False:
            paths.append(path)
    dead = [str(part_at(query.formula, path)) for path in paths]
    return [] if len(dead) == len(list(_branches(query.formula))) else dead


def _branches(phi: Formula, path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Where the branches of OR stand, outermost first."""
    below = children(phi)
    if isinstance(phi, Or):
        yield from ((*path, k) for k in range(2))
    for k, child in enumerate(below):
        yield from _branches(child, (*path, k))


def _through(phi: Formula, path: tuple[int, ...]) -> Formula:
    """The formula in which every OR on the way takes the branch of the path."""
    if not path:
        return phi
    k, *rest = path
    part = _through(children(phi)[k], tuple(rest))
    return part if isinstance(phi, Or) else with_child(phi, k, part)
