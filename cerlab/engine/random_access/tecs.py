"""The tECS of the reference, end by end, as DAGs (CORE Alg. 1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cerlab.automata.deterministic import Deterministic
from cerlab.automata.plan import Plan
from cerlab.engine.random_access.dag import Parts
from cerlab.engine.reference import driver
from cerlab.engine.reference.evaluation import TecsEvaluation
from cerlab.engine.reference.tecs import Node, Output, Union, enumerate_latest_first
from cerlab.model.answer import ComplexEvent
from cerlab.model.stream import Stream


class TecsDag:
    """The answers of the final active states at an end: a `Dag`.

    Inside the window nodes never change. So what is below them depends on the lowest start alone,
    and without a window on nothing, for as long as one evaluation goes on.
    """

    __slots__ = ("_lowest", "end", "roots", "scope")

    def __init__(self, roots: tuple[Node, ...], end: int, lowest: int, evaluation: int) -> None:
        self.roots = roots
        self.end = end
        self.scope = (evaluation, lowest)
        self._lowest = lowest

    def latest_first(self) -> Iterator[ComplexEvent]:
        """Its answers in the order in which LIMIT takes them."""
        return enumerate_latest_first(self.roots, self.end, self._lowest)

    def parts(self, node: Node) -> Parts[Node]:
        """The right side of a union only if the window allows some of it."""
        if isinstance(node, Union):
            right = node.right
            inside = right is not None and right.max_start >= self._lowest
            return Parts(None, node.left, right if inside else None)
        if isinstance(node, Output):
            return Parts(node.position, node.next, None)
        return Parts(node.position, None, None)


class TecsWalk:
    """The evaluation of a stream, forward from end to end.

    An earlier end starts it again if there is a window, which cuts off what is behind it; without
    one the DAGs of all ends passed are kept.
    """

    def __init__(self, plan: Plan, machine: Deterministic, stream: Stream) -> None:
        self._plan = plan
        self._machine = machine
        self._stream = stream
        self._dags: Iterator[TecsDag] = iter(())
        self._dag: TecsDag | None = None
        self._dag_of: dict[int, TecsDag] = {}
        self.evaluations = 0

    def to(self, end: int) -> TecsDag:
        """The DAG of an end that has answers."""
        if end in self._dag_of:
            return self._dag_of[end]
        dag, self._dag = self._dag, None  # kept again only if nothing interrupts the way
        if dag is None or end < dag.end:
            self._dags, dag = self._from_the_first(), None
        while dag is None or dag.end < end:
            dag = next(self._dags)
            if self._plan.window is None:
                self._dag_of[dag.end] = dag
        assert dag.end == end
        self._dag = dag
        return dag

    def _from_the_first(self) -> Iterator[TecsDag]:
        self.evaluations += 1
        self._dag_of.clear()
        machine, stream, number = self._machine, self._stream, self.evaluations
        results = driver.ends(
            self._plan, lambda: TecsEvaluation(machine), stream, stream.time, _final
        )
        for end, final in results:
            yield TecsDag(final.roots, end, final.lowest, number)


class _Final(NamedTuple):
    """The nodes that ``Output`` enumerates, in its order, and the lowest start."""

    roots: tuple[Node, ...]
    lowest: int


def _final(running: TecsEvaluation, lowest: int) -> _Final | None:
    roots = tuple(
        running.tecs.merge(ul)
        for q, ul in running.T.items()
        if running.automaton.final[q] and ul[0].max_start >= lowest
    )
    return _Final(roots, lowest) if roots else None
