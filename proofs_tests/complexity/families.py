"""Growing families of formulas, automata and streams, each with its counted quantity."""

from __future__ import annotations

from random import Random

from cerlab import Event, parse_formula, parse_sremo
from cerlab.automata.automaton import AnchoredCea, LabelTransition, Mark, Transition, Vcea
from cerlab.automata.deterministic import DeterministicCea
from cerlab.automata.epsilon import without_epsilon
from cerlab.automata.registers import Srt
from cerlab.compile.foundations import focel_to_epsilon_cea
from cerlab.compile.pattern import as_pattern
from cerlab.compile.sremo_to_srt import register_plan, sremo_to_srt
from cerlab.engine.reference.dqe import WindowEvaluation, WindowQuery
from cerlab.engine.reference.list_nodes import Evaluation, Steps, enumerate_all_star
from cerlab.engine.reference.lists import OrderedEvaluation, next_order
from cerlab.engine.reference.registers import Runs, SharedRuns
from cerlab.engine.reference.tecs import TecsEvaluation
from cerlab.logic.focel.rewrite import rewriting_sizes
from cerlab.predicates.syntax import EVERYTHING, TypeIs
from proofs_tests.dqe.cases import window_stream


def choices(k: int) -> str:
    """``(A OR .. OR A) ; (A OR .. OR A)``, k each."""
    one = f"({' OR '.join('A' for _ in range(k))})"
    return f"{one} ; {one}"


def binders(n: int) -> str:
    return " ; ".join(f"(A AS x{k} OR B AS x{k})" for k in range(n))


def misplaced_filters(n: int) -> str:
    """n filters, each on a variable of another branch."""
    variables = " ; ".join(f"A AS x{k}" for k in range(n))
    return f"{variables} ; {' ; '.join(f'(B FILTER x{k}[v = 1] OR C)' for k in range(n))}"


def tecs(text: str, length: int, *, width: int | None = None, types: str = "AB") -> TecsEvaluation:
    """The tECS of a formula after so many random events."""
    running, rng = TecsEvaluation(DeterministicCea(as_pattern(text).cea)), Random(0)
    for j in range(length):
        if width is not None:
            running.forget(max(0, j - width))
        running.advance(Event(rng.choice(types)), j)
    return running


def ring(k: int) -> AnchoredCea:
    """Return a ring of k states: each goes to the next by • and to itself by ∘."""
    steps = [Transition(q, EVERYTHING, Mark.TAKE, (q + 1) % k) for q in range(k)]
    loops = [Transition(q, EVERYTHING, Mark.SKIP, q) for q in range(k)]
    return AnchoredCea(k, (*steps, *loops), frozenset({0}), frozenset({0}))


def last_but(k: int) -> AnchoredCea:
    """Whether the event k before the last was an A: a subset for each way k events can be."""
    loop = Transition(0, EVERYTHING, Mark.SKIP, 0)
    enter = Transition(0, TypeIs("A"), Mark.SKIP, 1)
    shift = [Transition(q, EVERYTHING, Mark.SKIP, q + 1) for q in range(1, k)]
    return AnchoredCea(k + 1, (loop, enter, *shift), frozenset({0}), frozenset({k}))


def lists_of(cea: AnchoredCea, length: int) -> Evaluation:
    evaluation, rng = Evaluation(cea), Random(0)
    for n in range(length):
        evaluation.advance(Event(rng.choice("AB")), n)
    return evaluation


def last_event(cea: AnchoredCea) -> int:
    """Steps of the hundredth event."""
    evaluation = lists_of(cea, 99)
    before = evaluation.steps.update
    evaluation.advance(Event("A"), 99)
    return evaluation.steps.update - before


def one_long_answer(k: int) -> int:
    """Steps to write down one complex event of k positions."""
    steps = [Transition(q, EVERYTHING, Mark.TAKE, q + 1) for q in range(k)]
    evaluation = lists_of(AnchoredCea(k + 1, tuple(steps), frozenset({0}), frozenset({k})), k)
    (nodes,) = evaluation.lists.values()
    steps_of = Steps()
    for _ in enumerate_all_star(next(iter(nodes)), 0, steps_of):
        pass
    return steps_of.enumeration


def complete(n: int) -> Vcea:
    """All transitions between n states, each with its own label."""
    A = TypeIs("A")
    Delta = [LabelTransition(p, A, frozenset({f"x{p}{q}"}), q) for p in range(n) for q in range(n)]
    return Vcea(n, tuple(Delta), frozenset({0}), frozenset({n - 1}))


def window_query(length: int) -> int:
    evaluation = WindowEvaluation(WindowQuery(window=5))
    for update in window_stream(Random(1), length, values=max(2, length // 100)):
        evaluation.process(update.relation, update.row)
    return evaluation.operations


def transducer(n: int) -> int:
    T = sremo_to_srt(parse_sremo(" . ".join("(<type = 'A'>^ | <type = 'B'>)*" for _ in range(n))))
    return T.states + len(T.Delta) + len(T.moves)


def configurations(k: int) -> int:
    runs = SharedRuns(
        register_plan(parse_sremo("#(<TRUE>^ -> r, <TRUE>^ -> s, <v = r.v AND w = s.v>^)"))
    )
    for n in range(k):
        runs.advance(Event("A", {"v": n, "w": -1}), n)
    return runs.live


def empty_moves(n: int) -> int:
    A = focel_to_epsilon_cea(parse_formula(binders(n)))
    return A.states + len(A.Delta) + len(A.moves)


def disjunctive(n: int) -> int:
    size = rewriting_sizes(parse_formula(binders(n))).disjunctive
    assert size is not None
    return size // n  # that many disjuncts of about n parts each


def lp_normal(n: int) -> int:
    """The size of an LP-normal form, by the disjunct."""
    size = rewriting_sizes(parse_formula(misplaced_filters(n))).lp
    assert size is not None
    return size // n


def strays(n: int) -> str:
    """n filters, each on a variable of another branch, in branches that share a variable."""
    variables = " ; ".join(f"A AS x{k}" for k in range(n))
    branches = (f"(B AS y FILTER x{k}[v = 1] OR C AS y{k})" for k in range(n))
    return f"{variables} ; {' ; '.join(branches)}"


def digits(size: int) -> list[int]:
    """The radices with that sum by which most vectors can be told: about 3^(size/3)."""
    threes = max(0, (size - 2) // 3)
    rest = size - 3 * threes
    return [3] * threes + ([2, 2] if rest == 4 else [rest])


def twice(radices: list[int]) -> str:
    """Two events with the same digits; one formula for each digit."""
    return " AND ".join(
        f"({' OR '.join(f'(X FILTER X[c{k} = {d}]) ; (X FILTER X[c{k} = {d}])' for d in range(r))})"
        for k, r in enumerate(radices)
    )


def rivals(k: int) -> AnchoredCea:
    """Return an automaton of k initial states, in which runs go any way.

    R and W permute the states, D ends the runs in state 0, and E is marked by those alone.
    """
    moves = {
        "R": [(q, Mark.SKIP, (q + 1) % k) for q in range(k)],
        "W": [(q, Mark.SKIP, {0: 1, 1: 0}.get(q, q)) for q in range(k)],
        "D": [(q, Mark.SKIP, q) for q in range(1, k)],
        "E": [(q, Mark.SKIP if q else Mark.TAKE, q) for q in range(k)],
    }
    Delta = [Transition(p, TypeIs(R), mark, q) for R in moves for p, mark, q in moves[R]]
    return AnchoredCea(k, tuple(Delta), frozenset(range(k)), frozenset({0}))


def ordered_event(k: int) -> int:
    """Steps of the hundredth event under NXT."""
    evaluation, rng = OrderedEvaluation(ring(k), next_order), Random(0)
    for n in range(100):
        before = evaluation.steps.update
        evaluation.advance(Event(rng.choice("AB")), n)
    return evaluation.steps.update - before


def transducer_of(text: str) -> Srt:
    """Return the transducer of a SREMO, without empty moves."""
    return without_epsilon(sremo_to_srt(parse_sremo(text)))


def any_register(k: int) -> Srt:
    """Each event is stored in one of k registers."""
    return transducer_of(f"({' | '.join(f'<TRUE> -> r{n}' for n in range(k))})*")


def rounds(k: int) -> Srt:
    """Any number of rounds of k events."""
    return transducer_of(f"({' . '.join(['<TRUE>'] * k)})*")


def runs_of(text: str, length: int) -> int:
    """The active runs of a SREMO after so many events."""
    runs = Runs(register_plan(parse_sremo(text)))
    for n in range(length):
        runs.advance(Event("A"), n)
    return runs.live
