"""Elimination of states: an automaton becomes one expression (SOCEL Sec. 6; SRT Lemma S2).

The caller determines the language and the size of the expression, by the labels of edges and the
operations on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from cerlab.automata.automaton import LabelTransition, Mark, Ucea, Vcea
from cerlab.automata.explore import trim
from cerlab.automata.registers import RegisterTransition, Transducer
from cerlab.errors import ResourceLimit
from cerlab.logic.cel import syntax as cel
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.syntax import check_sremo
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import On

START, END = -1, -2
"""Added start and end states: no edge enters the first or leaves the second."""

E = TypeVar("E")
Edge: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Operations(Generic[E]):
    """The operations on labels: alternation, and passing through a state with an optional loop."""

    either: Callable[[E, E], E]
    through: Callable[[E, E | None, E], E]


def eliminate(edges: Mapping[Edge, E], operations: Operations[E]) -> E | None:
    """Return the expression of all paths from `START` to `END`, or None without a path.

    The label of an edge from p to q describes the paths from p to q through removed states. States
    are removed in order of the number of paths through them, the fewest first.

    >>> regex = Operations("({}|{})".format, lambda a, o, b: f"{a}({o})*{b}" if o else a + b)
    >>> eliminate({(START, 0): "a", (0, 0): "b", (0, END): "c", (START, END): "d"}, regex)
    '(d|a(b)*c)'
    """
    rest = dict(edges)
    states = {q for edge in edges for q in edge} - {START, END}
    while states:
        k = min(states, key=lambda q: (_ways_between(rest, q), q))
        states.remove(k)
        rest = _without(rest, k, operations)
    return rest.get((START, END))


def add_edge(
    edges: dict[Edge, E],
    edge: Edge,
    e: E,
    either: Callable[[E, E], E],
) -> None:
    """Add an edge, combining it with an existing one between the same states."""
    edges[edge] = either(edges[edge], e) if edge in edges else e


def _ways_between(edges: Mapping[Edge, E], k: int) -> int:
    """Return the number of edges that removing a state creates."""
    into = sum(1 for p, q in edges if q == k != p)
    out = sum(1 for p, q in edges if p == k != q)
    return into * out


def _without(edges: Mapping[Edge, E], k: int, operations: Operations[E]) -> dict[Edge, E]:
    """Return the edges after removing state k; each path through k becomes an edge."""
    rest = {edge: e for edge, e in edges.items() if k not in edge}
    into = [(p, e) for (p, q), e in edges.items() if q == k != p]
    out = [(q, e) for (p, q), e in edges.items() if p == k != q]
    loop = edges.get((k, k))
    for p, first in into:
        for q, last in out:
            through = operations.through(first, loop, last)
            add_edge(rest, (p, q), through, operations.either)
    return rest


MAX_SIZE = 20_000
"""Largest formula that is built, in number of operators."""

NEVER = pred.Comparison(pred.Operator.EQ, pred.Constant(0), pred.Constant(1))
"""The predicate FALSE, as formulas write it."""


def vcea_to_cel(A: Vcea, types: Sequence[str] | None = None) -> cel.Formula:
    """Return a formula with the same valuations on streams of events of some types (SOCEL Sec. 6).

    By default, the types are those in A's predicates. The formula uses ``:``, ``:+``, OR, PROJECT,
    AS and FILTER, and may be exponentially larger, see `elimination_size`. Its valuations that
    start at 0 are the answers of ordinary runs if A is read as a UCEA (SOCEL Sec. 5.1). Raises
    `ResourceLimit` above `MAX_SIZE` operators.

    >>> Delta = (
    ...     LabelTransition(0, pred.TypeIs("A"), frozenset({"x"}), 1),
    ...     LabelTransition(1, pred.TypeIs("B"), frozenset(), 1),
    ...     LabelTransition(1, pred.TypeIs("B"), frozenset({"B"}), 2),
    ... )
    >>> print(vcea_to_cel(Vcea(3, Delta, frozenset({0}), frozenset({2}))))
    PROJECT[x](A AS x) : B OR PROJECT[x](A AS x) : (PROJECT[](B):+ : B)
    """
    return _formula(A, types, _with_projection, _operations(cel.Or, cel.Concat, cel.ConcatPlus))


def ucea_to_socel(A: Ucea, types: Sequence[str] | None = None) -> cel.Formula:
    """Return a formula with the complex events of A under the *-semantics (SOCEL Thm. 5).

    It differs from `vcea_to_cel` in using ``;`` and ``+`` and no projection: every event has a
    label, and RENAME moves it from its type to that label if they differ.

    >>> step = LabelTransition(0, pred.TypeIs("A"), frozenset({"x"}), 1)
    >>> print(ucea_to_socel(Ucea(2, (step,), frozenset({0}), frozenset({1}))))
    RENAME[A -> x](A AS x)
    """
    steps = tuple(t for t in A.Delta if t.labels)
    return _formula(
        Vcea(A.states, steps, A.I, A.F),
        types,
        _with_renaming,
        _operations(cel.Or, cel.Seq, cel.Plus),
    )


class EliminationSize(NamedTuple):
    """Sizes of a trimmed automaton (states, transitions) and its formula (operators, atoms)."""

    states: int
    transitions: int
    formula: int


def elimination_size(A: Vcea, types: Sequence[str] | None = None) -> EliminationSize:
    """Return the size of `vcea_to_cel` without building it; at most exponential (SOCEL Sec. 6).

    >>> from cerlab import parse_query
    >>> elimination_size(parse_query("SELECT * WHERE A ; B").vcea, ["A", "B"]).states
    3
    """
    A = trim(A)
    formulas = _edges(A, _types(A, types), _with_projection, cel.Or)
    edges = {edge: cel.size(phi) for edge, phi in formulas.items()}
    formula_size = eliminate(edges, _SIZES)
    return EliminationSize(
        A.states, len(A.Delta), cel.size(_nothing()) if formula_size is None else formula_size
    )


# from transitions to formulas

EventFormula: TypeAlias = Callable[[cel.Formula, str, frozenset[str]], cel.Formula]
"""A function that returns a formula for an event of a type with exactly these labels."""


def _with_projection(one: cel.Formula, R: str, L: frozenset[str]) -> cel.Formula:
    """Return ``PROJECT[L](.. AS ..)``, without the projection if the event type is in L."""
    phi = reduce(cel.As, sorted(L - {R}), one)
    return phi if R in L else cel.Project(L, phi)


def _with_renaming(one: cel.Formula, R: str, L: frozenset[str]) -> cel.Formula:
    """Return a formula with AS and RENAME for one or more labels, without projection."""
    phi = reduce(cel.As, sorted(L - {R}), one)
    return phi if R in L else cel.Rename(R, min(L), phi)


def _edges(
    A: Vcea,
    types: Sequence[str],
    event_formula: EventFormula,
    either: Callable[[cel.Formula, cel.Formula], cel.Formula],
) -> dict[Edge, cel.Formula]:
    """Return formulas between states; the first and last transitions lead to added states."""
    edges: dict[Edge, cel.Formula] = {}
    for t in dict.fromkeys(A.Delta):
        ways = list(_ways(t, types, event_formula))
        if not ways:
            continue
        phi = reduce(either, ways)
        for source in (t.source, *([START] if t.source in A.I else [])):
            for target in (t.target, *([END] if t.target in A.F else [])):
                add_edge(edges, (source, target), phi, either)
    return edges


def _ways(
    t: LabelTransition, types: Sequence[str], event_formula: EventFormula
) -> Iterable[cel.Formula]:
    """Yield a formula for each type of events that the transition may read."""
    for R in types:
        P = _of_type(t.predicate, R)
        if P != pred.FALSE:
            one = cel.Atom(R) if P == pred.EVERYTHING else cel.Filter(cel.Atom(R), On(R, P))
            yield event_formula(one, R, t.labels)


def _of_type(P: pred.Predicate, R: str) -> pred.Predicate:
    """Return a predicate simplified for events of type R."""

    def value(atom: pred.Atom) -> pred.Predicate:
        if isinstance(atom, pred.TypeIs):
            return pred.EVERYTHING if atom.type == R else pred.FALSE
        return atom

    return pred.with_atoms(P, value)


def _types(A: Vcea, types: Sequence[str] | None) -> tuple[str, ...]:
    own = (a.type for t in A.Delta for a in pred.atoms(t.predicate) if isinstance(a, pred.TypeIs))
    return tuple(dict.fromkeys(own if types is None else types))


def _nothing() -> cel.Formula:
    return cel.Filter(cel.Atom("R"), On("R", NEVER))


# elimination


def _formula(
    A: Vcea,
    types: Sequence[str] | None,
    event_formula: EventFormula,
    operations: Operations[cel.Formula],
) -> cel.Formula:
    A = trim(A)
    edges = _edges(A, _types(A, types), event_formula, operations.either)
    # sizes are computed first: the formula itself may exceed memory
    operators = eliminate({edge: cel.size(phi) for edge, phi in edges.items()}, _SIZES)
    if operators is not None and operators > MAX_SIZE:
        raise ResourceLimit(
            "CER0610",
            f"the formula has {operators:,} operators, more than {MAX_SIZE:,}",
            hint="eliminating states multiplies operators: trim the automaton first",
        )
    whole = eliminate(edges, operations)
    return _nothing() if whole is None else whole


def _operations(
    either: Callable[[E, E], E], then: Callable[[E, E], E], again: Callable[[E], E]
) -> Operations[E]:
    """Return the operations of state elimination, built from the three regular operators."""

    def through(first: E, loop: E | None, last: E) -> E:
        direct = then(first, last)
        return direct if loop is None else either(direct, then(first, then(again(loop), last)))

    return Operations(either, through)


_SIZES: Operations[int] = _operations(
    lambda m, n: m + n + 1, lambda m, n: m + n + 1, lambda n: n + 1
)


def srt_to_sremo(T: Transducer) -> sre.Sremo:
    """Return an expression with the same matches on every string (SRT Lemma S2).

    From any registers, it leads to the same registers too. It uses only operators of SRT Def. 15,
    and may be exponentially larger. Raises `ResourceLimit` above `MAX_SIZE` operators and atoms,
    and if nested too deeply (see `check_sremo`).

    >>> from cerlab.compile.sremo_to_srt import sremo_to_srt
    >>> from cerlab.logic.sremo.parser import parse_sremo
    >>> T = sremo_to_srt(parse_sremo("<v < 1>^ -> r . (<v = r.v>^ -> r)+"))
    >>> print(srt_to_sremo(T))
    <v < 1>^ -> r . <v = r.v>^ -> r . (<v = r.v>^ -> r)*
    """
    edges: dict[Edge, _Ways] = {(START, T.q0): _NOTHING_READ}
    for t in dict.fromkeys(T.Delta):
        add_edge(edges, (t.source, t.target), _one_event(t), _either)
    for p, q in T.moves:
        add_edge(edges, (p, q), _NOTHING_READ, _either)
    for q in sorted(T.F):
        add_edge(edges, (q, END), _NOTHING_READ, _either)
    ways = eliminate(edges, Operations(_either, _through))
    if ways is None:
        return sre.Empty()
    if ways.size > MAX_SIZE:
        raise ResourceLimit(
            "CER0687",
            f"the expression has {ways.size:,} operators and atoms, more than {MAX_SIZE:,}",
            hint="eliminating states multiplies operators: use a transducer with fewer states",
        )
    check_sremo(ways.e)
    return ways.e


class _Ways(NamedTuple):
    """The expression of all paths between two states, its size, and whether it may be empty.

    Expressions share parts, so building one is cheap even if it is large.
    """

    e: sre.Sremo
    size: int
    may_be_empty: bool


_NOTHING_READ = _Ways(sre.EPSILON, 1, True)


def _one_event(t: RegisterTransition) -> _Ways:
    return _Ways(sre.Terminal(t.guard, t.mark is Mark.TAKE, t.writes), 1, False)


def _either(a: _Ways, b: _Ways) -> _Ways:
    """Return ``a | b``, omitting EPS where it has no effect."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one.e, sre.Epsilon):
            return _or_nothing(other)
    return _Ways(sre.Alternation(a.e, b.e), a.size + b.size + 1, a.may_be_empty or b.may_be_empty)


def _or_nothing(a: _Ways) -> _Ways:
    """Return ``EPS | a``; of ``e . e*`` return ``e*``, which is half as large."""
    match a.e:
        case _ if a.may_be_empty:
            return a
        # by identity: parts are shared, so comparing two expressions may take exponential time
        case sre.Concat(first, sre.Star(body) as iteration) if body is first:
            return _Ways(iteration, a.size // 2, True)
        case _:
            return _Ways(sre.Alternation(sre.EPSILON, a.e), a.size + 2, True)


def _through(first: _Ways, loop: _Ways | None, last: _Ways) -> _Ways:
    return _then(first if loop is None else _then(first, _again(loop)), last)


def _then(a: _Ways, b: _Ways) -> _Ways:
    """Return ``a . b`` without EPS."""
    if isinstance(a.e, sre.Epsilon):
        return b
    if isinstance(b.e, sre.Epsilon):
        return a
    return _Ways(sre.Concat(a.e, b.e), a.size + b.size + 1, a.may_be_empty and b.may_be_empty)


def _again(a: _Ways) -> _Ways:
    """Return ``a*``, or EPS if `a` reads nothing."""
    return a if isinstance(a.e, sre.Epsilon | sre.Star) else _Ways(sre.Star(a.e), a.size + 1, True)
