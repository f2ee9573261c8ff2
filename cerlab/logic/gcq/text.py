"""Generalised conjunctive queries as text: what the parser reads back to the same query."""

from __future__ import annotations

from cerlab import display
from cerlab.logic.gcq.syntax import Atom, Gcq
from cerlab.predicates.text import name_text, predicate_text


def gcq_text(query: Gcq) -> str:
    """The canonical text of a query.

    >>> gcq_text(Gcq(("x",), (Atom("r", ("x", "y")), Atom("s", ()))))
    'x <- r(x, y), s()'
    """
    head = ", ".join(map(name_text, query.head))
    atoms = ", ".join(map(atom_text, query.atoms))
    predicates = ", ".join(map(predicate_text, query.predicates))
    return f"{head} <- {atoms}".lstrip() + (f" | {predicates}" if predicates else "")


def atom_text(atom: Atom) -> str:
    """``r(x, y)``."""
    return f"{name_text(atom.relation)}({', '.join(map(name_text, atom.variables))})"


display.register(Atom, "text/plain", atom_text)
display.register(Gcq, "text/plain", gcq_text)
