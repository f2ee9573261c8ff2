"""What a row pattern has to satisfy besides its grammar, on any table (rows.md 10.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cerlab.errors import SourcePlace, nearest
from cerlab.logic.rows import expressions as ex
from cerlab.logic.rows import syntax as rp
from cerlab.logic.rows.errors import ill_formed
from cerlab.logic.rows.syntax import RowPattern


def place_of(query: RowPattern, node: object) -> SourcePlace | None:
    """Where a part of a query stands in its text, None where it was not read from one."""
    return query.source.place(node) if query.source else None


def check_row_pattern(query: RowPattern) -> None:
    """Raise `IllFormed` for every query error of rows.md 10.1 that needs no schema."""
    _check_names(query)
    for definition in query.define:
        _check_expression(query, definition.condition)
        for each in ex.subexpressions(definition.condition):
            if isinstance(each, ex.First | ex.Last | ex.Aggregate) and each.final:
                message = "a condition does not see the rows after the one it tests"
                hint = "leave FINAL out"
                raise ill_formed("final-in-define", message, place_of(query, each), hint)
    for measure in query.measures:
        _check_expression(query, measure.expression)
    _check_output(query)
    _check_within(query)


def _check_names(query: RowPattern) -> None:
    """Variables of PATTERN, unions, definitions and SKIP TO (rows.md 2.3, 3.3, 3.4)."""
    V = rp.variables(query.pattern)
    unions = [union.name for union in query.subsets]
    for union in query.subsets:
        if union.name in V or unions.count(union.name) > 1:
            raise _twice(query, union, f"SUBSET {union.name}")
        for variable in union.variables:
            if variable not in V:
                raise _unknown(query, union, variable, V)
    definition_names = [definition.variable for definition in query.define]
    for definition in query.define:
        if definition.variable not in V:
            raise _unknown(query, definition, definition.variable, V)
        if definition_names.count(definition.variable) > 1:
            raise _twice(query, definition, f"DEFINE {definition.variable}")
    if isinstance(query.skip, rp.ToFirst | rp.ToLast) and query.skip.name not in (*V, *unions):
        raise _unknown(query, query.skip, query.skip.name, (*V, *unions))
    conditions = (definition.condition for definition in query.define)
    for e in (*conditions, *(measure.expression for measure in query.measures)):
        for name in ex.qualifiers(e):
            if name is not None and name not in (*V, *unions):
                raise _unknown(query, e, name, (*V, *unions))


def _unknown(query: RowPattern, at: object, name: str, names: Iterable[str]) -> Exception:
    message = f"'{name}' is no variable of PATTERN"
    return ill_formed("unknown-variable", message, place_of(query, at), nearest(name, names))


def _twice(query: RowPattern, at: object, what: str) -> Exception:
    message = f"{what}: the name is taken already"
    hint = "a variable has one definition, a union a name of its own"
    return ill_formed("duplicate-variable", message, place_of(query, at), hint)


def _check_expression(query: RowPattern, e: ex.Expression) -> None:
    """What navigation and aggregates may be applied to (rows.md 6.3, 6.9)."""
    for each in ex.subexpressions(e):
        match each:
            case ex.First(body) | ex.Last(body) | ex.Aggregate(_, body):
                _check_nesting(query, each, body)
            case ex.Prev(ex.First() | ex.Last()) | ex.Next(ex.First() | ex.Last()):
                continue  # the variable is that of the inner call, which is checked by itself
            case ex.Prev(body) | ex.Next(body):
                _check_nesting(query, each, body)
            case _:
                continue
        variables = ex.qualifiers(body)
        if len(variables) > 1:
            names = ", ".join(sorted(name or "no variable" for name in variables))
            raise ill_formed(
                "mixed-variables",
                f"one call reads rows of one variable, not of {names}",
                place_of(query, each),
                "navigate in each by itself: LAST(A.x) + LAST(B.x)",
            )


def _check_nesting(query: RowPattern, call: object, body: ex.Expression | ex.AllRows) -> None:
    for each in ex.subexpressions(body):
        if isinstance(each, ex.Navigation | ex.Aggregate):
            raise ill_formed(
                "nesting",
                "navigation and aggregates do not nest but for PREV and NEXT of FIRST or LAST",
                place_of(query, call),
                "PREV(LAST(x.c, 1), 2) steps from the row where LAST lands",
            )


def _check_output(query: RowPattern) -> None:
    """Columns of the result and what marks its rows (rows.md 8.3, 8.4)."""
    has_exclusion = any(isinstance(p, rp.Exclusion) for p in rp.subpatterns(query.pattern))
    if has_exclusion and query.rows is rp.Rows.WITH_UNMATCHED:
        message = "excluded rows and unmatched rows cannot be told apart"
        hint = "leave {- -} or WITH UNMATCHED ROWS out"
        raise ill_formed("exclusion-unmatched", message, _anywhere(query), hint)
    if query.rows is rp.Rows.ONE and not query.partition_by and not query.measures:
        message = "the result has no column"
        hint = "add MEASURES, PARTITION BY or ALL ROWS PER MATCH"
        raise ill_formed("no-columns", message, _anywhere(query), hint)
    names = {column.name.casefold() for column in _keys(query)}
    for measure in query.measures:
        if measure.name.casefold() in names:
            raise duplicate(measure.name, place_of(query, measure))
        names.add(measure.name.casefold())


def _keys(query: RowPattern) -> Iterator[ex.Column]:
    yield from query.partition_by
    if query.rows is not rp.Rows.ONE:
        yield from (item.column for item in query.order_by)


def duplicate(name: str, place: SourcePlace | None) -> Exception:
    """The error `duplicate-column`."""
    message = f"two columns of the result are called '{name}' (case aside)"
    return ill_formed("duplicate-column", message, place, "name the measure by another AS")


def _check_within(query: RowPattern) -> None:
    if query.within is None:
        return
    if not query.order_by or query.order_by[0].descending:
        message = "WITHIN measures along the first ORDER BY column, ascending"
        place = place_of(query, query.within) or _anywhere(query)
        raise ill_formed("within-order", message, place, "add ORDER BY, without DESC")


def _anywhere(query: RowPattern) -> SourcePlace | None:
    """The place of the pattern's first variable, for errors of the clause as a whole."""
    parts = (p for p in rp.subpatterns(query.pattern) if isinstance(p, rp.Variable))
    places = (place_of(query, p) for p in parts)
    return next((place for place in places if place is not None), None)
