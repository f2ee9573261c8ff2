"""Machines as lines of text, in the manner of the Hanoi Omega-Automata format.

    CERLAB: v1
    kind: vcea
    States: 2
    Start: 0
    AP: 0 type = 'A'
    AP: 1 price > 3
    --BODY--
    State: 0
    [0 & !1] {x, y} 1
    State: 1 {0}
    --END--

``kind:`` is one of ``vcea``, ``cea``, ``anchored-cea``, ``ucea``; there is one ``Start:`` for each
initial state; states are called 0, 1, ..

``AP:`` lines number the atomic propositions 0, 1, ..: comparisons, IN, LIKE as in CEQL, where
``type = 'A'`` is the set of events of type A (`TypeIs`) and ``stream = 'S'`` that of stream S
(`StreamIs`). An atom that CEQL cannot write (over NULL, NaN, infinities, moments, integers beyond
64 bits, attributes without a name) stands as a JSON object, as `cerlab.predicates.encoding` says.

A transition is ``[guard] action target`` under the ``State:`` it leaves. A guard has numbers of
propositions, ``t`` (TRUE), parentheses, and ``!``, ``&``, ``|``, tighter first, the last two
grouped from the left. The action of a ``vcea`` or ``ucea`` is its labels in braces, in any order,
as names ``[A-Za-z_][A-Za-z_0-9]*`` or JSON texts; of a ``cea`` or ``anchored-cea`` it is ``take``
(•) or ``skip`` (∘).

``State: 1 {0}`` marks a final state, as in HOA a member of acceptance set 0. The order of the lines
is the order of Delta; for that a state may have several ``State:`` blocks, and is final if one of
them is marked.

Writing and reading stand together here, beside the one description of the format.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import Any, NoReturn

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken, VisitError
from lark.visitors import Transformer_NonRecursive

from cerlab.automata.cea import Transition
from cerlab.automata.vcea import LabelTransition
from cerlab.errors import BadData, CerlabError, DataPlace, QuerySyntaxError, SourcePlace, Span
from cerlab.io import machine_json
from cerlab.io.machine_json import KINDS, LABELLED, Machine
from cerlab.io.machine_propositions import Propositions, guard_text, proposition_of
from cerlab.model import json_document
from cerlab.predicates import encoding

VERSION = "v1"

_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")

_GRAMMAR = r"""
start: _NEWLINE? version header* "--BODY--" _NEWLINE state* "--END--" _NEWLINE?
version: "CERLAB:" VERSION _NEWLINE
?header: "kind:" KIND _NEWLINE          -> kind
       | "States:" INT _NEWLINE         -> states
       | "Start:" INT _NEWLINE          -> initial
       | "AP:" INT ATOM _NEWLINE        -> ap
state: "State:" INT [FINAL] _NEWLINE edge*
edge: OPEN guard "]" action INT _NEWLINE
action: MARK                            -> mark
      | "{" [LABEL ("," LABEL)*] "}"    -> labels

?guard: conjunct | guard "|" conjunct       -> disjunction
?conjunct: literal | conjunct "&" literal   -> conjunction
?literal: INT                               -> proposition
        | "t"                               -> everything
        | "!" literal                       -> complement
        | "(" guard ")"

VERSION.-1: /\S+/
KIND: /[a-z-]+/
INT: /\d{1,9}(?!\d)/
ATOM.-1: /\S[^\r\n]*/
FINAL: /\{[ \t]*0[ \t]*\}/
OPEN: "["
MARK: "take" | "skip"
LABEL: /[A-Za-z_][A-Za-z_0-9]*|"(?:[^"\\\r\n]|\\.)*"/
_NEWLINE: /(?:\r?\n[ \t]*)+/
%ignore /[ \t]+/
"""

_WORDS = {
    "VERSION": VERSION,
    "KIND": "a kind of machine",
    "INT": "a number",
    "ATOM": "a predicate",
    "FINAL": "'{0}'",
    "MARK": "'take' or 'skip'",
    "LABEL": "a label",
    "_NEWLINE": "the end of the line",
    "$END": "the end",
}


# -- writing -----------------------------------------------------------------------------------


def machine_to_hoa(A: Machine) -> str:
    """The machine as lines of text; `machine_from_hoa` reads back the same machine.

    Raises `ResourceLimit` for predicates that are too deep, `BadData` for text that is not
    Unicode.

    >>> from cerlab.automata.cea import IntervalCea, Mark
    >>> from cerlab.predicates import syntax as pred
    >>> P = pred.Conjunction(pred.TypeIs("A"), pred.Complement(pred.StreamIs("S")))
    >>> A = IntervalCea(2, (Transition(0, P, Mark.TAKE, 1),), 0, frozenset({1}))
    >>> print(machine_to_hoa(A), end="")
    CERLAB: v1
    kind: cea
    States: 2
    Start: 0
    AP: 0 type = 'A'
    AP: 1 stream = 'S'
    --BODY--
    State: 0
    [0 & !1] take 1
    State: 1 {0}
    --END--
    """
    propositions = Propositions()
    body: list[str] = []
    for q, transitions in _blocks(A):
        body.append(f"State: {q} {{0}}" if q in A.F else f"State: {q}")
        body += [_transition_text(t, propositions) for t in transitions]
    head = [f"CERLAB: {VERSION}", f"kind: {machine_json.kind_of(A)}", f"States: {A.states}"]
    head += [f"Start: {q}" for q in machine_json.initial_states(A)]
    head += [f"AP: {number} {text}" for number, text in enumerate(propositions.texts)]
    return "\n".join([*head, "--BODY--", *body, "--END--", ""])


def _blocks(A: Machine) -> Iterator[tuple[int, list[Transition | LabelTransition]]]:
    """The transitions in their order, cut where the source changes; each state at least once."""
    silent = sorted(set(range(A.states)) - {t.source for t in A.Delta}, reverse=True)
    Delta: tuple[Transition | LabelTransition, ...] = A.Delta
    for source, block in groupby(Delta, lambda t: t.source):
        while silent and silent[-1] < source:
            yield silent.pop(), []
        yield source, list(block)
    for q in reversed(silent):
        yield q, []


def _transition_text(t: Transition | LabelTransition, propositions: Propositions) -> str:
    encoding.check_depth(t.predicate)
    guard = guard_text(t.predicate, lambda atom: str(propositions.number(atom)), "t", 0)
    if isinstance(t, LabelTransition):
        action = "{" + ", ".join(map(_label_text, sorted(t.labels))) + "}"
    else:
        action = t.mark.name.lower()
    return f"[{guard}] {action} {t.target}"


def _label_text(label: str) -> str:
    return label if _NAME.fullmatch(label) else json.dumps(json_document.unicode(label))


# -- reading -----------------------------------------------------------------------------------


def machine_from_hoa(text: str) -> Machine:
    """The machine that `machine_to_hoa` wrote.

    Raises `QuerySyntaxError` for what is not in the grammar, `BadData` for what makes no machine
    and `IllFormed` for a transition into the initial state of a ``cea``, all with line and column,
    and `ResourceLimit` for what is too large.
    """
    try:
        tree = _lark().parse(text)
    except UnexpectedInput as error:
        _explain(text, error)
    reader = _Reader(text)
    try:
        return machine_json.machine_of(json_document.JsonNode(reader.transform(tree)))
    except VisitError as error:  # lark wraps what the reader raises
        raise error.orig_exc from None
    except CerlabError as error:
        if isinstance(error.place, DataPlace):
            error.place = reader.place_of(error.place.file)
        raise


@cache
def _lark() -> Lark:
    return Lark(_GRAMMAR, parser="lalr", lexer="contextual", maybe_placeholders=True)


class _Reader(Transformer_NonRecursive[Token, Any]):
    """Makes the document of `machine_json` of a parse tree: one method per rule of the grammar.

    `where` knows which token stands for which path in the document, so that what is wrong with the
    document is shown in the text.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.where: dict[str, Token] = {}
        self.atoms: list[Any] = []
        self.final: set[int] = set()
        self.document: dict[str, Any] = {
            "format": machine_json.FORMAT,
            "version": machine_json.VERSION,
            "initial": [],
            "final": [],
            "transitions": [],
        }

    def place_of(self, path: str) -> SourcePlace:
        """The place of the nearest token on the way from a path to the root."""
        while path not in self.where:
            path = path[: max(path.rfind("."), path.rfind("["))]
        return _place(self.text, self.where[path])

    def bad(self, code: str, message: str, token: Token, hint: str = "") -> BadData:
        return BadData(code, message, place=_place(self.text, token), hint=hint)

    def start(self, children: list[Any]) -> dict[str, Any]:
        return self.document

    def version(self, children: list[Token]) -> None:
        (self.where["$"],) = children
        if children[0] != VERSION:
            message = f"version '{children[0]}' is not known"
            raise self.bad("CER0754", message, children[0], f"this cerlab reads {VERSION}")

    def header(self, name: str, token: Token, value: Any) -> None:
        if name in self.document:
            raise self.bad("CER0732", f"the header '{name}' stands twice", token)
        self.document[name] = value
        self.where[f"$.{name}"] = token

    def kind(self, children: list[Token]) -> None:
        self.header("kind", children[0], str(children[0]))

    def states(self, children: list[Token]) -> None:
        self.header("states", children[0], int(children[0]))

    def initial(self, children: list[Token]) -> None:
        self.member("initial", children[0])

    def member(self, name: str, state: Token) -> None:
        self.where[f"$.{name}[{len(self.document[name])}]"] = state
        self.document[name].append(int(state))

    def ap(self, children: list[Token]) -> None:
        number, text = children
        if int(number) != len(self.atoms):
            raise self.bad("CER0757", f"the next proposition is {len(self.atoms)}", number)
        try:
            atom = proposition_of(text)
        except CerlabError as error:
            _put(error, _place(self.text, text))
            raise
        self.atoms.append(encoding.predicate_to_json(atom))

    def state(self, children: list[Any]) -> None:
        q, mark, *edges = children
        if int(q) >= self.document.get("states", math.inf):
            raise self.bad("CER0756", f"state {q} is not in Q", q)
        if mark and int(q) not in self.final:
            self.final.add(int(q))
            self.member("final", q)
        for bracket, guard, action, target in edges:
            path = f"$.transitions[{len(self.document['transitions'])}]"
            self.where |= {path: bracket, f"{path}.source": q, f"{path}.target": target}
            transition = {"source": int(q), "predicate": guard, **action, "target": int(target)}
            self.document["transitions"].append(transition)

    def edge(self, children: list[Any]) -> list[Any]:
        kind = self.document.get("kind")
        if kind in KINDS and ("labels" in children[2]) != (kind in LABELLED):
            action = "labels in braces" if kind in LABELLED else "'take' or 'skip'"
            raise self.bad("CER0757", f"a transition of a {kind} has {action}", children[3])
        return children

    def mark(self, children: list[Token]) -> dict[str, Any]:
        return {"mark": str(children[0])}

    def labels(self, children: list[Token | None]) -> dict[str, Any]:
        found: list[str] = []
        for token in filter(None, children):
            try:
                label = (
                    json_document.read_json(token).text() if token.startswith('"') else str(token)
                )
            except BadData as error:
                _put(error, _place(self.text, token))
                raise
            if label in found:
                raise self.bad("CER0732", f"{label!r} stands twice", token)
            found.append(label)
        return {"labels": found}

    def proposition(self, children: list[Token]) -> Any:
        number = int(children[0])
        if number >= len(self.atoms):
            hint = f"there are {len(self.atoms)}"
            raise self.bad("CER0753", f"there is no proposition {number}", children[0], hint)
        return self.atoms[number]

    def everything(self, children: list[Any]) -> Any:
        return {"kind": "everything"}

    def complement(self, children: list[Any]) -> Any:
        return {"kind": "not", "operand": children[0]}

    def conjunction(self, children: list[Any]) -> Any:
        return {"kind": "and", "left": children[0], "right": children[1]}

    def disjunction(self, children: list[Any]) -> Any:
        return {"kind": "or", "left": children[0], "right": children[1]}


def _put(error: CerlabError, place: SourcePlace) -> None:
    """Put an error about a piece of the text, read by itself, to the place of the piece."""
    match error.place:
        case SourcePlace(_, Span(_, start, _, end)):
            line, shift, past = place.span.line, place.span.column - 1, place.span.end_column
            place = SourcePlace(place.text, Span(line, start + shift, line, end + shift))
            if place.span.column >= past:  # at the bracket that `proposition_of` puts behind
                error.message = "the predicate ends too early"
        case DataPlace(path) if path != "$":
            error.message = f"{error.message}, at {path}"
    error.place = place
    if isinstance(error, QuerySyntaxError):
        error.line, error.column = place.span.line, place.span.column
        error.caret = place.excerpt()


def _place(text: str, token: Token) -> SourcePlace:
    line, column = token.line or 1, token.column or 1
    return SourcePlace(text, Span(line, column, line, column + max(1, len(token.rstrip()))))


def _explain(text: str, error: UnexpectedInput) -> NoReturn:
    """Turn the parser's error into ours: place, what stands there, what could stand there."""
    lines = text.split("\n")
    token = Token("$END", "", line=len(lines), column=len(lines[-1]) + 1)
    names: set[str] = set()
    if isinstance(error, UnexpectedCharacters):
        token = Token("", error.char, line=error.line, column=error.column)
        names = error.allowed or names
    elif isinstance(error, UnexpectedToken):
        token = token if error.token.type == "$END" else error.token
        names = error.accepts or error.expected
    signs = {each.name: f"'{each.pattern.value}'" for each in _lark().terminals}
    raise QuerySyntaxError(
        "CER0131",
        "the text ends too early" if token.type == "$END" else f"unexpected {str(token)!r}",
        place=_place(text, token),
        expected=sorted({(signs | _WORDS)[name] for name in names}),
    ) from None
