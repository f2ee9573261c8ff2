"""Translation of row patterns to CEL, where CEL can express them.

CEL has contiguous sequences ``:``, OR, iterations ``:+`` and counts, and returns every way to
match; a row pattern returns, of the matches that begin at a row, the preferred one. CEL cannot
express anchors, empty matches, conditions on other rows, any skip except TO NEXT ROW, and the
preference among several ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, assert_never

from cerlab.display import drawable
from cerlab.errors import Unsupported
from cerlab.logic.cel import syntax as cel
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import On
from cerlab.rows import expressions as ex
from cerlab.rows import syntax as rp
from cerlab.rows.compile import prioritised_automaton
from cerlab.rows.machine import Accept, States, StepTable, step_table
from cerlab.rows.recognise import RowQuery, read_patterns
from cerlab.rows.table_graphs import Row, conditions_of, of_all, undecidable
from cerlab.rows.text import expression_text


@drawable
@dataclass(frozen=True, slots=True)
class InCel:
    """A row pattern as a CEL formula over events of type ``row``.

    Each match of the row pattern is an answer. If `exact`, the answers are the matches. Otherwise
    `table` is a shortest table on which two answers begin at the first row; CEL cannot express
    which one is preferred.
    """

    formula: str
    exact: bool
    table: list[dict[str, Any]] | None


def rows_to_cel(query: RowQuery) -> InCel:
    """Return a row pattern in CEL; its matches are found as with AFTER MATCH SKIP TO NEXT ROW.

    Raises `Unsupported` for parts that CEL cannot express: anchors, empty matches, conditions that
    do more than compare the row with constants, other skips.

    >>> clause = '''MATCH_RECOGNIZE (MEASURES 1 AS m AFTER MATCH SKIP TO NEXT ROW PATTERN ({})
    ...     DEFINE A AS x > 1, B AS x < 1)'''
    >>> rows_to_cel(clause.format("A+ B")).formula
    'row AS A FILTER A[x > 1]:+ : (row AS B FILTER B[x < 1])'
    >>> print(rows_to_cel(clause.format("A+ B")).exact, rows_to_cel(clause.format("A B*")).table)
    True [{'x': 2}, {'x': 0}]
    """
    (pattern,) = read_patterns(None, query)
    formula = formula_of(pattern)
    table = two_ends(pattern)
    return InCel(str(formula), table is None, table)


ROW = "row"
"""The event type of rows."""

MAX_NODES = 2_000
"""The limit on the nodes of a formula: each optional part is expanded into both choices."""


class Translation(NamedTuple):
    """The CEL formula of a pattern's nonempty matches, or None; and whether it has empty ones."""

    formula: cel.Formula | None
    empty: bool


def formula_of(query: rp.RowPattern) -> cel.Formula:
    """Return a CEL formula for the matches of a row pattern, ignoring the order of preference.

    Raises `Unsupported` for a pattern that CEL cannot express.
    """
    if not isinstance(query.skip, rp.ToNextRow):
        raise no_cel(
            "AFTER MATCH SKIP PAST LAST ROW consumes what CEL matches again", "TO NEXT ROW"
        )
    if query.within is not None:
        raise no_cel("WITHIN steers the preference", "leave it out")
    conditions = {d.variable: d.condition for d in query.define}
    atoms = {v: _atom(v, conditions.get(v)) for v in rp.variables(query.pattern)}
    translation = translate(query.pattern, atoms)
    if translation.empty or translation.formula is None:
        raise no_cel("an empty match is not a complex event", "a pattern that needs a row")
    return translation.formula


def no_cel(why: str, hint: str) -> Unsupported:
    """Return the error that CEL cannot express a row pattern, with the reason."""
    return Unsupported(
        "CER0454", f"CEL cannot express this row pattern: {why}", hint=f"{hint} is CEL"
    )


def _atom(v: str, condition: ex.Expression | None) -> cel.Formula:
    variable = cel.As(cel.Atom(ROW), v)
    if condition is None or condition == ex.Literal(True):
        return variable
    return cel.Filter(variable, On(v, _predicate(condition, v)))


_OPERATORS = {
    ex.ComparisonOperator.EQ: pred.Operator.EQ,
    ex.ComparisonOperator.NE: pred.Operator.NE,
    ex.ComparisonOperator.LT: pred.Operator.LT,
    ex.ComparisonOperator.LE: pred.Operator.LE,
    ex.ComparisonOperator.GT: pred.Operator.GT,
    ex.ComparisonOperator.GE: pred.Operator.GE,
}


def _predicate(e: ex.Expression, v: str) -> pred.Predicate:
    """Return the CEL predicate of a condition; false where the condition is NULL.

    A comparison with NULL is false.
    """
    match e:
        case ex.And(left, right):
            return pred.And(_predicate(left, v), _predicate(right, v))
        case ex.Or(left, right):
            return pred.Or(_predicate(left, v), _predicate(right, v))
        case ex.Comparison(operator, left, right):
            return pred.Comparison(_OPERATORS[operator], _operand(left, v), _operand(right, v))
        case ex.In(body, members):
            return pred.Member(_operand(body, v), tuple(_constant(member) for member in members))
        case ex.Between(body, low, high):
            return pred.Between(_operand(body, v), _constant(low), _constant(high))
        case _:
            raise no_cel(f"{expression_text(e)} is not a comparison", "a comparison")


def _operand(e: ex.Expression, v: str) -> pred.Expression:
    match e:
        case ex.Column(name, qualifier) if qualifier in (None, v):
            return pred.Attribute(name)
        case _:
            return _constant(e)


def _constant(e: ex.Expression) -> pred.Constant:
    if isinstance(e, ex.Literal) and e.value is not None:
        return pred.Constant(e.value)
    raise no_cel(
        f"{expression_text(e)} is neither a column of the row nor a constant", "one of them"
    )


def translate(p: rp.Pattern, atoms: dict[str, cel.Formula]) -> Translation:
    """Return the translation of a pattern; exclusions do not affect matches."""
    match p:
        case rp.Variable(v):
            return Translation(atoms[v], False)
        case rp.Empty():
            return Translation(None, True)
        case rp.PartitionStart() | rp.PartitionEnd():
            raise no_cel("an anchor", "a pattern without ^ and $")
        case rp.Concat(parts):
            whole = Translation(None, True)
            for part in parts:
                whole = then(whole, translate(part, atoms))
            return whole
        case rp.Alternation(parts):
            whole = Translation(None, False)
            for part in parts:
                each = translate(part, atoms)
                whole = Translation(_either(whole.formula, each.formula), whole.empty or each.empty)
            return whole
        case rp.Permute():
            return translate(rp.expand_permute(p), atoms)
        case rp.Exclusion(body):
            return translate(body, atoms)
        case rp.Repetition(body, lo, hi):
            return iterate(translate(body, atoms), lo, hi)
        case _:
            assert_never(p)


def iterate(body: Translation, lo: int, hi: int | None) -> Translation:
    """Return a translation repeated `lo` to `hi` times, without empty repetitions."""
    empty = lo == 0 or body.empty
    if body.formula is None or hi == 0:
        return Translation(None, empty)
    least = 1 if empty else lo
    return Translation(cel.times(body.formula, least, hi, gaps=False), empty)


def then(left: Translation, right: Translation) -> Translation:
    """Return the sequence of two translations."""
    both: cel.Formula | None = None
    if left.formula is not None and right.formula is not None:
        both = cel.Concat(left.formula, right.formula)
        if cel.size(both) > MAX_NODES:
            raise no_cel("the formula is too long", "smaller bounds")
    if left.empty:
        both = _either(both, right.formula)
    if right.empty:
        both = _either(both, left.formula)
    return Translation(both, left.empty and right.empty)


def _either(left: cel.Formula | None, right: cel.Formula | None) -> cel.Formula | None:
    if left is None or right is None:
        return left if right is None else right
    return cel.Or(left, right)


def two_ends(query: rp.RowPattern) -> list[Row] | None:
    """Return a shortest table with two matches of different length from row 0, or None.

    The pattern has no anchors. Raises `Unsupported` as `row_remarks`.
    """
    steps = step_table(prioritised_automaton(query.pattern, every=True))
    if steps is None:
        raise undecidable("the pattern has too many states")
    graph = of_all(conditions_of((query,)))
    level: list[tuple[tuple[States, bool], list[int]]] = [((1, False), [])]
    visited_states = set[tuple[States, bool, int]]()
    while level:
        after = []
        for (states, has_end), path in level:
            for node in graph.following[path[-1]] if path else graph.first:
                letter = frozenset(v for _, v in graph.letters[node])
                targets = _after(steps, states, letter)
                ends = _accepts(steps, targets)
                # CEL returns both matches, since they end at different rows
                if has_end and ends:
                    return graph.rows([*path, node])
                there = targets, has_end or ends
                if targets and (*there, node) not in visited_states:
                    visited_states.add((*there, node))
                    after.append((there, [*path, node]))
        level = after
    return None


def _after(steps: StepTable, states: States, letter: frozenset[str]) -> States:
    targets = 0
    for q, choices in enumerate(steps.steps[:-1]):
        if states >> q & 1:
            for step in choices:
                if not isinstance(step, Accept) and step.variable in letter:
                    targets |= 1 << step.target
    return targets


def _accepts(steps: StepTable, states: States) -> bool:
    return any(
        states >> q & 1 and any(isinstance(step, Accept) for step in choices)
        for q, choices in enumerate(steps.steps[:-1])
    )
