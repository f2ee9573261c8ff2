"""Machines in the ``.mata`` format of the libmata library, as automata over bit vectors.

    @NFA-bits
    %Alphabet-auto
    # p0: type = 'A'
    # take: the transition takes its event
    %Initial q0
    %Final q1
    q0 (p0 & take) q1

A letter is a bit vector: a bit for each atom of the predicates, and a bit ``take`` for the mark or,
where transitions have labels, a bit for each label. So a word is what an event stream looks like to
the machine together with what a run answers, and the automaton accepts exactly the words of the
accepting runs. Bits are free of each other: a vector that no event has (``v = 1`` and ``v = 2``) is
a letter too. An inclusion of two such automata, if they name their bits alike, holds for the
machines; one that fails may fail only on vectors that no event has.

The empty word stands for no answer. A run of an `AnchoredCea` has to end with a transition that
takes, so these, where they enter F, lead to a state ``qend`` as well, which alone is final.
"""

from __future__ import annotations

import json

from cerlab.automata.cea import AnchoredCea, IntervalCea, Mark, Transition
from cerlab.automata.vcea import LabelTransition
from cerlab.io.machine_json import Machine, initial_states, kind_of
from cerlab.io.machine_propositions import Propositions, guard_text
from cerlab.predicates import syntax as pred
from cerlab.predicates.encoding import check_depth


def machine_to_mata(A: Machine) -> str:
    """The machine as ``@NFA-bits``, with comments that say what the bits mean.

    Raises `ResourceLimit` for predicates that are too deep, `BadData` for text that is not
    Unicode.

    >>> P = pred.Conjunction(pred.TypeIs("A"), pred.Complement(pred.StreamIs("S")))
    >>> print(machine_to_mata(IntervalCea(2, (Transition(0, P, Mark.TAKE, 1),), 0, frozenset({1}))))
    @NFA-bits
    %Alphabet-auto
    # cea
    # p0: type = 'A'
    # p1: stream = 'S'
    # take: the transition takes its event
    %Initial q0
    %Final q1
    q0 (p0 & !p1 & take) q1
    """
    Delta: tuple[Transition | LabelTransition, ...] = A.Delta
    labels = sorted({x for t in Delta if isinstance(t, LabelTransition) for x in t.labels})
    bits = {label: f"x{n}" for n, label in enumerate(labels)}
    propositions = Propositions()
    body = []
    for t in Delta:
        letter = _letter(t, propositions, bits)
        body.append(f"q{t.source} ({letter}) q{t.target}\n")
        if isinstance(A, AnchoredCea) and t.target in A.F and _takes(t):
            body.append(f"q{t.source} ({letter}) qend\n")
    final = ["qend"] if isinstance(A, AnchoredCea) else [f"q{q}" for q in sorted(A.F)]
    legend = [f"p{n}: {text}" for n, text in enumerate(propositions.texts)]
    legend += [f"{bit}: the label {json.dumps(label)}" for label, bit in bits.items()]
    if isinstance(A, IntervalCea | AnchoredCea):
        legend.append("take: the transition takes its event")
    head = ["@NFA-bits\n", "%Alphabet-auto\n", f"# {kind_of(A)}\n"]
    head += [f"# {line}\n" for line in legend]
    head += _key("%Initial", [f"q{q}" for q in initial_states(A)]) + _key("%Final", final)
    return "".join([*head, *body])


def _letter(
    t: Transition | LabelTransition, propositions: Propositions, bits: dict[str, str]
) -> str:
    """The bit vectors of a transition, as a formula."""
    check_depth(t.predicate)
    guard = guard_text(t.predicate, lambda atom: f"p{propositions.number(atom)}", "\\true", level=1)
    if isinstance(t, LabelTransition):
        action = [bit if label in t.labels else f"!{bit}" for label, bit in bits.items()]
    else:
        action = ["take" if _takes(t) else "!take"]
    tests = [guard] if t.predicate != pred.EVERYTHING or not action else []
    return " & ".join([*tests, *action])


def _takes(t: Transition | LabelTransition) -> bool:
    return isinstance(t, Transition) and t.mark is Mark.TAKE


def _key(name: str, values: list[str]) -> list[str]:
    """A key-value line, none for no values, which libmata could not read."""
    return [" ".join([name, *values]) + "\n"] if values else []
