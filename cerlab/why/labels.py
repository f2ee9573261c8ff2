"""What a subformula has to know of the formula around it: which of its labels matter for what.

The labels that a projection drops mark nothing, so their events may be anywhere in the interval.
Of valuations that differ only in labels that no filter above reads, one is enough.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import assert_never

from cerlab.errors import Unsupported
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.syntax import Formula, subformulas
from cerlab.logic.cel.text import label_text
from cerlab.predicates.condition import labels_of
from cerlab.predicates.text import name_text


@dataclass(frozen=True, slots=True)
class Context:
    """What is above a subformula.

    `every` are all labels of the formula, `visible` those whose events are in the answer, `read`
    those that something above looks at. `leading` and `trailing`: it begins or ends the whole.
    `loose`: what it leaves out may be marked by the other side of an ALL.
    """

    every: frozenset[str]
    visible: frozenset[str]
    read: frozenset[str] = frozenset()
    leading: bool = True
    trailing: bool = True
    loose: bool = False


def refuse_streams(of_streams: Collection[tuple[str, str]]) -> None:
    """Raise `Unsupported` for a projection to the events of one stream.

    Whether a label's events are in the answer is here a question of the label alone.
    """
    for stream, label in sorted(of_streams):
        raise Unsupported(
            "CER0417",
            f"why does not follow {label_text(stream, label)} in SELECT and PROJECT",
            hint=f"leave {name_text(stream)}> out, or put FROM {name_text(stream)} instead",
        )


def labels_in(phi: Formula) -> frozenset[str]:
    """All labels that events have in valuations of a formula."""
    labels: set[str] = set()
    for psi in subformulas(phi):
        match psi:
            case cel.Atom(R, _):
                labels.add(R)
            case cel.As(_, X):
                labels.add(X)
            case cel.Rename(old, new, _):
                labels |= {old, new}
            case cel.Project():
                refuse_streams(psi.of_streams)
            case _:
                pass
    return frozenset(labels)


def contexts(phi: Formula, above: Context) -> tuple[Context, ...]:
    """The contexts of the children of a formula, from left to right."""
    match phi:
        case cel.Atom():
            return ()
        case cel.As(_, X):
            visible = above.every if X in above.visible else above.visible
            read = above.every if X in above.read else above.read
            return (replace(above, visible=visible, read=read),)
        case cel.Filter(_, condition):
            return (replace(above, read=above.read | labels_of(condition)),)
        case cel.Project(labels, _, _):
            return (replace(above, visible=above.visible & labels, read=above.read & labels),)
        case cel.Rename(old, new, _):
            visible, read = (_before_renaming(L, old, new) for L in (above.visible, above.read))
            return (replace(above, visible=visible, read=read),)
        case cel.Select():
            return (replace(above, read=above.every),)
        case cel.And():
            side = replace(above, read=above.every)
            return (side, side)
        case cel.All():
            side = replace(above, leading=False, trailing=False, loose=True)
            return (side, side)
        case cel.Or() | cel.Unless():
            return (above, above)
        case cel.Seq() | cel.Concat():
            return (replace(above, trailing=False), replace(above, leading=False))
        case cel.Plus() | cel.ConcatPlus():
            return (replace(above, leading=False, trailing=False),)
        case cel.Not():
            return (above,)
        case _:
            assert_never(phi)


def _before_renaming(labels: frozenset[str], old: str, new: str) -> frozenset[str]:
    """The labels below a renaming that end up in some labels above it."""
    return (labels - {old}) | ({old, new} if new in labels else frozenset())


def unmarked_ends(phi: Formula, context: Context) -> tuple[bool, bool]:
    """Whether a valuation may begin, and may end, with an event that is not in the answer."""
    match phi:
        case cel.Atom(R, _):
            is_hidden = R not in context.visible
            return is_hidden, is_hidden
        case cel.Not():
            return True, True
        case cel.Seq(left, right) | cel.Concat(left, right):
            before, after = contexts(phi, context)
            return unmarked_ends(left, before)[0], unmarked_ends(right, after)[1]
        case cel.Unless(left, _):
            return unmarked_ends(left, context)
        case cel.Or(left, right) | cel.And(left, right) | cel.All(left, right):
            first, second = (
                unmarked_ends(side, below)
                for side, below in zip((left, right), contexts(phi, context), strict=True)
            )
            return first[0] or second[0], first[1] or second[1]
        case _:
            (below,) = contexts(phi, context)
            return unmarked_ends(phi.body, below)
