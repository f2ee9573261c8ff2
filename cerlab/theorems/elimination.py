"""Elimination of states: an automaton becomes one expression (SOCEL Sec. 6; SRT Lemma S2).

Of which language the expression is, and how large, the caller says: it gives what stands on the
edges and how that is put together.
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
"""The ends: nothing leads into the first and out of the second, and neither is removed."""

E = TypeVar("E")
Edge: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Operations(Generic[E]):
    """One or the other; and through a state, with its loop none or more times if it has one."""

    either: Callable[[E, E], E]
    through: Callable[[E, E | None, E], E]


def eliminate(edges: Mapping[Edge, E], operations: Operations[E]) -> E | None:
    """Return the expression of all ways from `START` to `END`, None without any.

    An edge from p to q says what is read on the ways from p to q through the states removed so far.
    The state with the fewest ways through it goes first.

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
    """Join an edge with the one between the same two states."""
    edges[edge] = either(edges[edge], e) if edge in edges else e


def _ways_between(edges: Mapping[Edge, E], k: int) -> int:
    """Return the number of edges that the removal of a state makes."""
    into = sum(1 for p, q in edges if q == k != p)
    out = sum(1 for p, q in edges if p == k != q)
    return into * out


def _without(edges: Mapping[Edge, E], k: int, operations: Operations[E]) -> dict[Edge, E]:
    """Every way through k becomes an edge around it."""
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
"""The largest formula that is made."""

NEVER = pred.Comparison(pred.Operator.EQ, pred.Constant(0), pred.Constant(1))
"""FALSE as formulas have it."""


def vcea_to_cel(A: Vcea, types: Sequence[str] | None = None) -> cel.Formula:
    """A formula with the same valuations on streams of events of some types (SOCEL Sec. 6).

    The types are by default those that A's predicates name. The formula uses ``:``, ``:+``, OR,
    PROJECT, AS and FILTER, and may be exponentially larger, see `elimination_size`. Its valuations
    that start at 0 are what ordinary runs answer if A is read as a UCEA (SOCEL Sec. 5.1). Raises
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
    """A formula whose complex events are A's under the *-semantics (SOCEL Thm. 5).

    As `vcea_to_cel`, with ``;`` and ``+``, and without projection: an event has some label, and if
    that is not its type, RENAME moves it from there.

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
    """States and transitions of a trimmed automaton; operators and atoms of its formula."""

    states: int
    transitions: int
    formula: int


def elimination_size(A: Vcea, types: Sequence[str] | None = None) -> EliminationSize:
    """Return the size of `vcea_to_cel` without making it; at most exponential (SOCEL Sec. 6)."""
    A = trim(A)
    formulas = _edges(A, _types(A, types), _with_projection, cel.Or)
    edges = {edge: cel.size(phi) for edge, phi in formulas.items()}
    formula_size = eliminate(edges, _SIZES)
    return EliminationSize(
        A.states, len(A.Delta), cel.size(_nothing()) if formula_size is None else formula_size
    )


# -- From transitions to formulas ---------------------------------------------------------------

EventFormula: TypeAlias = Callable[[cel.Formula, str, frozenset[str]], cel.Formula]
"""One event of a type, as a formula that gives it just these labels."""


def _with_projection(one: cel.Formula, R: str, L: frozenset[str]) -> cel.Formula:
    """``PROJECT[L](.. AS ..)``; not needed where the type itself is a label."""
    phi = reduce(cel.As, sorted(L - {R}), one)
    return phi if R in L else cel.Project(L, phi)


def _with_renaming(one: cel.Formula, R: str, L: frozenset[str]) -> cel.Formula:
    """The same without projection, of one label or more."""
    phi = reduce(cel.As, sorted(L - {R}), one)
    return phi if R in L else cel.Rename(R, min(L), phi)


def _edges(
    A: Vcea,
    types: Sequence[str],
    event_formula: EventFormula,
    either: Callable[[cel.Formula, cel.Formula], cel.Formula],
) -> dict[Edge, cel.Formula]:
    """Formulas between states; first and last transitions have copies at fresh ends."""
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
    """One formula for each type of events that the transition may read."""
    for R in types:
        P = _of_type(t.predicate, R)
        if P != pred.FALSE:
            one = cel.Atom(R) if P == pred.EVERYTHING else cel.Filter(cel.Atom(R), On(R, P))
            yield event_formula(one, R, t.labels)


def _of_type(P: pred.Predicate, R: str) -> pred.Predicate:
    """Return the predicate as it is for events of type R."""

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


# -- Elimination --------------------------------------------------------------------------------


def _formula(
    A: Vcea,
    types: Sequence[str] | None,
    event_formula: EventFormula,
    operations: Operations[cel.Formula],
) -> cel.Formula:
    A = trim(A)
    edges = _edges(A, _types(A, types), event_formula, operations.either)
    # The sizes first, as numbers: the formula itself may not fit into memory.
    operators = eliminate({edge: cel.size(phi) for edge, phi in edges.items()}, _SIZES)
    if operators is not None and operators > MAX_SIZE:
        raise ResourceLimit(
            "CER0610",
            f"the formula has {operators:,} operators, more than {MAX_SIZE:,}",
            hint="eliminating states multiplies them: trim the automaton first",
        )
    whole = eliminate(edges, operations)
    return _nothing() if whole is None else whole


def _operations(
    either: Callable[[E, E], E], then: Callable[[E, E], E], again: Callable[[E], E]
) -> Operations[E]:
    """One or the other; one then the other; one or more times, so a loop is passed or not."""

    def through(first: E, loop: E | None, last: E) -> E:
        direct = then(first, last)
        return direct if loop is None else either(direct, then(first, then(again(loop), last)))

    return Operations(either, through)


_SIZES: Operations[int] = _operations(
    lambda m, n: m + n + 1, lambda m, n: m + n + 1, lambda n: n + 1
)


def srt_to_sremo(T: Transducer) -> sre.Sremo:
    """An expression with the same matches on every string (SRT Lemma S2).

    From given registers it leads to the same ones too. It has the operators of SRT Def. 15 alone,
    and may be exponentially larger. Raises `ResourceLimit` above `MAX_SIZE` operators and atoms,
    and for what is nested too deep (see `check_sremo`).

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
            hint="eliminating states multiplies them: take a transducer of fewer states",
        )
    check_sremo(ways.e)
    return ways.e


class _Ways(NamedTuple):
    """The expression of the ways between two states, its size, and whether that may be nothing.

    Parts are shared between expressions, so that to make one is cheap however large it is.
    """

    e: sre.Sremo
    size: int
    may_be_empty: bool


_NOTHING_READ = _Ways(sre.EPSILON, 1, True)


def _one_event(t: RegisterTransition) -> _Ways:
    return _Ways(sre.Terminal(t.guard, t.mark is Mark.TAKE, t.writes), 1, False)


def _either(a: _Ways, b: _Ways) -> _Ways:
    """``a | b``, and no EPS where it adds nothing."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one.e, sre.Epsilon):
            return _or_nothing(other)
    return _Ways(sre.Alternation(a.e, b.e), a.size + b.size + 1, a.may_be_empty or b.may_be_empty)


def _or_nothing(a: _Ways) -> _Ways:
    """``EPS | a``; of ``e . e*`` that is ``e*``, which is half as large."""
    match a.e:
        case _ if a.may_be_empty:
            return a
        # By identity: parts are shared, so to compare two expressions may take exponential time.
        case sre.Concat(first, sre.Star(body) as iteration) if body is first:
            return _Ways(iteration, a.size // 2, True)
        case _:
            return _Ways(sre.Alternation(sre.EPSILON, a.e), a.size + 2, True)


def _through(first: _Ways, loop: _Ways | None, last: _Ways) -> _Ways:
    return _then(first if loop is None else _then(first, _again(loop)), last)


def _then(a: _Ways, b: _Ways) -> _Ways:
    """``a . b``, and no EPS in it."""
    if isinstance(a.e, sre.Epsilon):
        return b
    if isinstance(b.e, sre.Epsilon):
        return a
    return _Ways(sre.Concat(a.e, b.e), a.size + b.size + 1, a.may_be_empty and b.may_be_empty)


def _again(a: _Ways) -> _Ways:
    """``a*``, which is EPS if nothing is read."""
    return a if isinstance(a.e, sre.Epsilon | sre.Star) else _Ways(sre.Star(a.e), a.size + 1, True)
