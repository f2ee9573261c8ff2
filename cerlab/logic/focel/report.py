"""What can be said of a formula as one of FO-CEL, in a line."""

from __future__ import annotations

from cerlab.errors import ResourceLimit, Unsupported
from cerlab.logic.cel.syntax import Formula, size
from cerlab.logic.focel.rewrite import lp_normal_form
from cerlab.logic.focel.scope import safe, unary, unscoped, well_formed, with_variables


def describe_fo(phi: Formula) -> str:
    """Whether it is one; its scopes, safety, unarity, and the size of its LP-normal form.

    >>> from cerlab.logic.cel.syntax import Atom, Seq
    >>> describe_fo(Seq(Atom("A"), Atom("B")))
    'well-formed, scoped, safe, unary; LP-normal form of 5 operators and atoms'
    """
    try:
        named = with_variables(phi)
    except Unsupported as error:
        return f"no: {error.message}"
    if (variable := unscoped(named)) is not None:
        printed = "well-formed as printed" if well_formed(named) else "not well-formed"
        return f"{printed}, but '{variable}' is filtered outside its scope"
    parts = [
        "well-formed, scoped",
        "safe" if safe(named) else "not safe",
        "unary" if unary(named) else "not unary",
    ]
    try:
        normal = f"LP-normal form of {size(lp_normal_form(named))} operators and atoms"
    except ResourceLimit as error:
        normal = error.message
    return f"{', '.join(parts)}; {normal}"
