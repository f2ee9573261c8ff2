"""What can be said of a formula as one of FO-CEL, in a line; sizes of its rewritings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cerlab.budget import poll
from cerlab.errors import ResourceLimit, Unsupported
from cerlab.logic.cel.syntax import Formula, size
from cerlab.logic.focel.rewrite import disjunctive_normal_form, lp_normal_form, safe_form
from cerlab.logic.focel.scope import safe, unary, unscoped_variable, well_formed, with_variables


@dataclass(frozen=True, slots=True)
class Sizes:
    """Operators and atoms of a formula and of its rewritings; None where one is too large."""

    original: int
    disjunctive: int | None
    safe: int | None
    lp: int | None


def rewriting_sizes(phi: Formula) -> Sizes:
    """The growth by each rewriting, at most exponential (FOUND Thm. 1; FOUND Thm. 2).

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> rewriting_sizes(parse_cel("(A AS x OR B AS x) ; (A AS y OR B AS y)")[0])
    Sizes(original=11, disjunctive=23, safe=23, lp=11)
    """
    core = with_variables(phi)

    def size_after(rewriting: Callable[[Formula], Formula]) -> int | None:
        try:
            return size(rewriting(core))
        except ResourceLimit:
            poll()
            return None

    sizes = map(size_after, (disjunctive_normal_form, safe_form, lp_normal_form))
    return Sizes(size(core), *sizes)


def describe_fo(phi: Formula) -> str:
    """Whether it is one; its scopes, safety, unarity, and the size of its LP-normal form.

    >>> from cerlab.logic.cel.syntax import Atom, Seq
    >>> describe_fo(Seq(Atom("A"), Atom("B")))
    'well-formed, scoped, safe, unary; of size 5, disjunctive 5, safe 5, LP-normal form 5'
    """
    try:
        core = with_variables(phi)
    except Unsupported as error:
        return f"no: {error.message}"
    if (variable := unscoped_variable(core)) is not None:
        verdict = "well-formed as printed" if well_formed(core) else "not well-formed"
        return f"{verdict}, but '{variable}' is filtered outside its scope"
    parts = [
        "well-formed, scoped",
        "safe" if safe(core) else "not safe",
        "unary" if unary(core) else "not unary",
    ]
    sizes = rewriting_sizes(phi)
    forms = {"disjunctive": sizes.disjunctive, "safe": sizes.safe, "LP-normal form": sizes.lp}
    growth = (f"{name} {n or 'too large'}" for name, n in forms.items())
    return f"{', '.join(parts)}; of size {sizes.original}, {', '.join(growth)}"
