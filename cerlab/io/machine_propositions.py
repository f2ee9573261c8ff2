"""The atomic propositions of machines as text, and guards over their names.

An atom stands as in CEQL where that reads back as the same atom, else as a JSON object.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from cerlab.errors import BadData, CerlabError
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.parser import parse_cel
from cerlab.model import json_document
from cerlab.predicates import encoding
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import On
from cerlab.predicates.text import predicate_text


class Propositions:
    """The atoms of a machine's predicates, numbered as they are met.

    Atoms are told apart by their JSON, which knows 0.0 from -0.0 and finds NaN again.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.texts: list[str] = []

    def number(self, atom: pred.Atom) -> int:
        """The number of an atom, a new one for a new atom."""
        number = self._numbers.setdefault(_json_text(atom), len(self.texts))
        if number == len(self.texts):
            self.texts.append(proposition_text(atom))
        return number


def guard_text(P: pred.Predicate, name: Callable[[pred.Atom], str], true: str, level: int) -> str:
    """A predicate over names of its atoms, in parentheses where looser than `level` (``|`` 0)."""
    match P:
        case pred.Everything():
            return true
        case pred.Disjunction(left, right):
            text = f"{guard_text(left, name, true, 0)} | {guard_text(right, name, true, 1)}"
            return f"({text})" if level > 0 else text
        case pred.Conjunction(left, right):
            text = f"{guard_text(left, name, true, 1)} & {guard_text(right, name, true, 2)}"
            return f"({text})" if level > 1 else text
        case pred.Complement(operand):
            return f"!{guard_text(operand, name, true, 2)}"
        case atom:
            return name(atom)


def proposition_text(atom: pred.Atom) -> str:
    """An atom as CEQL writes it, if that reads back as the same atom, else as JSON.

    >>> proposition_text(pred.TypeIs("A"))
    "type = 'A'"
    >>> proposition_text(pred.Comparison(pred.Operator.EQ, pred.Attribute("v"), pred.Negated(
    ...     pred.Constant(1))))  # in CEQL, -(1) is the constant -1
    '{"kind": "comparison", "operator": "=", "left": {"kind": "attribute", "name": "v"},
      "right": {"kind": "negated", "operand": {"kind": "constant", "value": {"int": 1}}}}'
    """
    encoded = _json_text(atom)
    try:
        text = predicate_text(atom)
        if text.isprintable() and _json_text(_ceql_atom(text)) == encoded:
            return text
    except (CerlabError, AssertionError, OverflowError):
        pass  # it has no text, or one that does not read back
    return encoded


def proposition_of(text: str) -> pred.Atom:
    """The atom that `proposition_text` wrote, or another one in CEQL or JSON.

    Raises errors with places: for JSON a path, for CEQL in the second line of a formula.
    """
    return _json_atom(text) if text.startswith("{") else _ceql_atom(text)


def _json_text(atom: pred.Atom) -> str:
    return json.dumps(encoding.predicate_to_json(atom))


def _ceql_atom(text: str) -> pred.Atom:
    """An atom as CEQL writes it; places in errors are those in the second line of a formula."""
    match parse_cel(f"A FILTER A[\n{text}]")[0]:
        case cel.Filter(cel.Atom("A", None), On("A", P)) if isinstance(P, pred.Atom):
            pass
        case _:
            hint = "AND, OR and NOT are written in the guards, as &, | and !"
            raise BadData("CER0757", "this is no atomic proposition", hint=hint)
    match P:
        case pred.Comparison(pred.Operator.EQ, pred.Attribute("type"), pred.Constant(str(name))):
            return pred.TypeIs(name)
        case pred.Comparison(pred.Operator.EQ, pred.Attribute("stream"), pred.Constant(str(name))):
            return pred.StreamIs(name)
        case _:
            return P


def _json_atom(text: str) -> pred.Atom:
    P = encoding.predicate_from_json(json_document.read_json(text).value)
    if not isinstance(P, pred.Atom):
        raise BadData(
            "CER0757",
            "this is no atomic proposition",
            hint="an atomic proposition is a JSON predicate, as write_hoa writes it",
        )
    return P
