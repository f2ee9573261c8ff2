"""Invariants of the queue and the lists of Algorithms 5 and 6, from all runs (FOUND Thm. 6)."""

from __future__ import annotations

from cerlab import ComplexEvent
from cerlab.automata.compose import single_final
from cerlab.engine.reference.driver import Recogniser
from cerlab.engine.reference.lists import OrderedEvaluation
from cerlab.logic.cel.semantics import last_at_most, next_at_most
from cerlab.model.answer import Positions
from cerlab.model.clauses import Strategy
from proofs_tests.foundations.anchored_cases import Case, Run, Watch, extend_runs, paths

AT_MOST = {Strategy.NXT: next_at_most, Strategy.LAST: last_at_most}


def best_of_each_state(case: Case, strategy: Strategy) -> Watch:
    """Each list has one node, for the best run in its state; the classes are ordered by it.

    The runs are made here again, of the automaton with the single final state.
    """
    at_most = AT_MOST[strategy]
    cea = single_final(case.cea)
    runs_at: dict[int, set[Run]] = {-1: {(q, ()) for q in cea.I}}

    def watch(evaluation: Recogniser[ComplexEvent], runs: set[Run], n: int) -> None:
        assert isinstance(evaluation, OrderedEvaluation)
        runs_at[n] = extend_runs(cea, runs_at[n - 1], case.events[n], n)
        best: dict[int, Positions] = {}
        for state, answer in runs_at[n]:
            if state not in best or at_most(best[state], answer):
                best[state] = answer
        by_list = {q: paths(nodes) for q, nodes in evaluation.lists.items()}
        assert by_list == {
            q: [[tuple(case.positions[k] for k in answer)]] for q, answer in best.items()
        }
        assert sorted(q for A in evaluation.O for q in A) == sorted(best)
        classes = [{best[q] for q in A} for A in evaluation.O]
        assert all(len(answer) == 1 for answer in classes), "one class took different positions"
        values = [answer for each in classes for answer in each]
        for i, better in enumerate(values):
            assert all(better != worse and at_most(worse, better) for worse in values[i + 1 :])

    return watch
