"""Machines as mata text mean the same words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from itertools import product
from random import Random

import pytest

from cerlab import ResourceLimit
from cerlab.automata.automaton import (
    AnchoredCea,
    LabelTransition,
    Mark,
    Transition,
    Ucea,
    Vcea,
)
from cerlab.automata.encoding import Machine, predicate_from_json
from cerlab.io.machines import machine_to_mata, proposition_text
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.parser import parse_cel
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import On
from cerlab.predicates.text import predicate_text
from proofs_tests.io.machine_cases import random_machine, rich_predicate, tower
from proofs_tests.suite import random_suite

A_OR_B: pred.Predicate = pred.Or(pred.TypeIs("A"), pred.Not(pred.TypeIs("B")))
LARGE = pred.Comparison(pred.Operator.GT, pred.Attribute("v_1"), pred.Constant(3))


def test_the_mata_text_of_a_small_vcea() -> None:
    Delta = (
        LabelTransition(0, pred.And(A_OR_B, LARGE), frozenset({"x"}), 1),
        LabelTransition(1, pred.EVERYTHING, frozenset(), 1),
        LabelTransition(1, LARGE, frozenset({"two words", "x"}), 2),
    )
    assert machine_to_mata(Vcea(3, Delta, frozenset({0, 1}), frozenset({1, 2}))) == (
        "@NFA-bits\n"
        "%Alphabet-auto\n"
        "# vcea\n"
        "# p0: type = 'A'\n"
        "# p1: type = 'B'\n"
        "# p2: v_1 > 3\n"
        '# x0: the label "two words"\n'
        '# x1: the label "x"\n'
        "%Initial q0 q1\n"
        "%Final q1 q2\n"
        "q0 ((p0 | !p1) & p2 & !x0 & x1) q1\n"
        "q1 (!x0 & !x1) q1\n"
        "q1 (p2 & x0 & x1) q2\n"
    )


def test_the_mata_text_of_machines_with_nothing_in_them() -> None:
    nothing = "@NFA-bits\n%Alphabet-auto\n# ucea\n"
    assert machine_to_mata(Ucea(0, (), frozenset(), frozenset())) == nothing
    silent = (LabelTransition(0, pred.EVERYTHING, frozenset(), 0),)
    text = machine_to_mata(Ucea(1, silent, frozenset({0}), frozenset()))
    assert text == nothing + "%Initial q0\nq0 (\\true) q0\n"


def test_an_anchored_run_ends_with_a_transition_that_takes() -> None:
    Delta = (
        Transition(0, pred.EVERYTHING, Mark.SKIP, 1),
        Transition(0, pred.EVERYTHING, Mark.TAKE, 1),
    )
    text = machine_to_mata(AnchoredCea(2, Delta, frozenset({0}), frozenset({1})))
    assert text.endswith("%Final qend\nq0 (!take) q1\nq0 (take) q1\nq0 (take) qend\n")


def test_every_line_is_one_line_and_no_comment_ends_with_a_backslash() -> None:
    names = ("a\nb", "\\", "\u2028", "#", '"')
    Delta = tuple(LabelTransition(0, pred.TypeIs(name), frozenset({name}), 0) for name in names)
    text = machine_to_mata(Vcea(1, Delta, frozenset({0}), frozenset({0})))
    lines = text.splitlines()
    assert len(lines) == 3 + 2 * len(names) + 2 + len(names)
    assert not any(line.endswith("\\") for line in lines)


def test_the_set_of_a_type_and_the_comparison_with_it_are_two_propositions() -> None:
    comparison = pred.Comparison(pred.Operator.EQ, pred.Attribute("type"), pred.Constant("A"))
    Delta = tuple(
        LabelTransition(0, P, frozenset(), 0)
        for P in (pred.TypeIs("A"), comparison, pred.TypeIs(""))
    )
    text = machine_to_mata(Vcea(1, Delta, frozenset({0}), frozenset()))
    assert "# p0: type = 'A'\n# p1: {" in text


@random_suite(20_000)
def test_the_text_of_a_proposition_reads_back_as_it(rng: Random) -> bool:
    """As CEQL, where the text does not begin a JSON object; type and stream name sets there."""
    atoms = list(pred.atoms(rich_predicate(rng, 2)))
    for atom in atoms:
        text = proposition_text(atom)
        if text.startswith("{"):
            again = predicate_from_json(json.loads(text, parse_constant=pytest.fail))
        else:
            formula, _ = parse_cel(f"A FILTER A[{text}]")
            assert isinstance(formula, cel.Filter)
            assert isinstance(formula.condition, On)
            again = set_of_a_name(formula.condition.predicate)
        assert repr(again) == repr(atom), text
    return bool(atoms)


def set_of_a_name(P: pred.Predicate) -> pred.Predicate:
    match P:
        case pred.Comparison(pred.Operator.EQ, pred.Attribute("type"), pred.Constant(str(name))):
            return pred.TypeIs(name)
        case pred.Comparison(pred.Operator.EQ, pred.Attribute("stream"), pred.Constant(str(name))):
            return pred.StreamIs(name)
        case _:
            return P


Letter = Mapping[str, bool]
Guard = Callable[[Letter], bool]


def read_guard(text: str) -> Guard:
    """A formula of mata over bits, by recursive descent: ! before & before |."""
    tokens = re.findall(r"\\true|\w+|[()!&|]", text)
    assert "".join(tokens) == text.replace(" ", "")

    def disjunction() -> Guard:
        parts = [conjunction()]
        while tokens and tokens[0] == "|":
            tokens.pop(0)
            parts.append(conjunction())
        return lambda letter: any(part(letter) for part in parts)

    def conjunction() -> Guard:
        parts = [literal()]
        while tokens and tokens[0] == "&":
            tokens.pop(0)
            parts.append(literal())
        return lambda letter: all(part(letter) for part in parts)

    def literal() -> Guard:
        token = tokens.pop(0)
        if token == "!":
            inner = literal()
            return lambda letter: not inner(letter)
        if token == "(":
            inside = disjunction()
            assert tokens.pop(0) == ")"
            return inside
        if token == "\\true":
            return lambda letter: True
        return lambda letter: letter[token]

    guard = disjunction()
    assert not tokens
    return guard


class MataReader:
    """An NFA over bit vectors, read from mata text, and the legend of its bits."""

    def __init__(self, text: str) -> None:
        first, second, *lines = text.splitlines()
        assert (first, second) == ("@NFA-bits", "%Alphabet-auto")
        self.initial: set[str] = set()
        self.final: set[str] = set()
        self.legend: dict[str, str] = {}
        self.moves: list[tuple[str, Guard, str]] = []
        for line in lines:
            if line.startswith("%Initial "):
                self.initial = set(line.split()[1:])
            elif line.startswith("%Final "):
                self.final = set(line.split()[1:])
            elif line.startswith("# "):
                bit, colon, meaning = line[2:].partition(": ")
                self.legend |= {bit: meaning} if colon else {}
            else:
                source, rest = line.split(" ", 1)
                guard, target = rest.rsplit(" ", 1)
                self.moves.append((source, read_guard(guard), target))

    def accepts(self, word: list[Letter]) -> bool:
        states = self.initial
        for letter in word:
            states = {q for p, guard, q in self.moves if p in states and guard(letter)}
        return bool(states & self.final)


def holds(P: pred.Predicate, truth: Mapping[str, bool]) -> bool:
    """A predicate, where the truth of its atoms is given by their text."""
    match P:
        case pred.Everything():
            return True
        case pred.And(left, right):
            return holds(left, truth) and holds(right, truth)
        case pred.Or(left, right):
            return holds(left, truth) or holds(right, truth)
        case pred.Not(operand):
            return not holds(operand, truth)
        case atom:
            return truth[predicate_text(atom)]


def accepts(A: Machine, word: list[Letter], legend: Mapping[str, str]) -> bool:
    """Whether the machine has an accepting run over events and answers that look like this."""

    def may(t: Transition | LabelTransition, letter: Letter) -> bool:
        if not holds(t.predicate, {text: letter[bit] for bit, text in legend.items()}):
            return False
        if isinstance(t, Transition):
            return letter["take"] is (t.mark is Mark.TAKE)
        label_bits = [bit for bit, meaning in legend.items() if meaning.startswith("the label ")]
        labels = {legend[bit][len("the label ") :].strip('"') for bit in label_bits if letter[bit]}
        return labels == t.labels

    Delta: tuple[Transition | LabelTransition, ...] = A.Delta
    states = set(A.I)
    for letter in word:
        states = {t.target for t in Delta if t.source in states and may(t, letter)}
    answers = not isinstance(A, AnchoredCea) or (bool(word) and word[-1]["take"])
    return bool(states & A.F) and answers


def small_predicate(rng: Random, depth: int = 2) -> pred.Predicate:
    match rng.randrange(7 if depth else 3):
        case 0:
            return pred.TypeIs("A")
        case 1:
            return LARGE
        case 2:
            return pred.EVERYTHING
        case 3 | 4:
            return pred.Not(small_predicate(rng, depth - 1))
        case 5:
            return pred.And(*(small_predicate(rng, depth - 1) for _ in range(2)))
        case _:
            return pred.Or(*(small_predicate(rng, depth - 1) for _ in range(2)))


def with_few_labels(A: Machine) -> Machine:
    if not isinstance(A, Vcea | Ucea):
        return A
    moves = [t._replace(labels=frozenset("xy"[len(x) % 2] for x in t.labels)) for t in A.Delta]
    return type(A)(A.states, tuple(moves), A.I, A.F)


@random_suite(10_000, needs_answers=0.3)
def test_mata_text_accepts_the_words_of_the_machine(rng: Random) -> bool:
    A = with_few_labels(random_machine(rng, small_predicate))
    mata = MataReader(machine_to_mata(A))
    bits = list(mata.legend)
    letters: list[Letter] = [
        dict(zip(bits, values, strict=True)) for values in product((False, True), repeat=len(bits))
    ]
    words = [[], *([letter] for letter in letters)]
    words += [[rng.choice(letters) for _ in range(rng.randrange(2, 5))] for _ in range(20)]
    language = [word for word in words if accepts(A, word, mata.legend)]
    assert [word for word in words if mata.accepts(word)] == language
    return bool(language)


def test_deep_predicates_are_refused() -> None:
    with pytest.raises(ResourceLimit, match="CER0602"):
        machine_to_mata(tower(100_000))
