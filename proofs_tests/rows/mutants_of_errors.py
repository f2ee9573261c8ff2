"""Wrong versions of the errors, of the refusals by name, and of the SELECT around a pattern."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from cerlab import BadData, CerlabError, IllFormed, match_recognize, parse_rows
from cerlab.conformance import cases
from cerlab.rows import builder, parser, recognise, semantics, syntax, types
from cerlab.rows import kinds as kinds_of_values
from cerlab.rows import text as printed
from cerlab.rows.builder import ExpressionBuilder, _PatternBuilder
from cerlab.rows.syntax import CODES
from proofs_tests.mutants.driver import Judge, Mutant, Place, mutant, on_rows
from proofs_tests.rows import test_errors, test_text, test_types
from proofs_tests.rows.judges import SCAN, judge
from proofs_tests.rows.mutants_of_reading import keys_of_any_input


def hint_right(row: tuple[str, str]) -> bool:
    id, part = row
    (case,) = (case for case in cases() if case.id == f"rows-{id}")
    try:
        match_recognize(case.query, case.rows, evaluator="reference")
    except CerlabError as error:
        return part in error.hint
    return False


def type_right(row: Sequence[Any]) -> bool:
    measure, expected = row
    return bool(test_types.type_of(measure, test_types.ONE) == expected)


def printed_right(row: tuple[str, str]) -> bool:
    text, canonical = row
    return canonical in str(parse_rows(text))


SYNTAX, REFUSALS = judge("rows-syntax"), judge("rows-refused")
ILL_FORMED, ON_A_TABLE = judge("rows-ill-formed"), judge("rows-columns-and-types")
COLUMNS = judge("rows-clauses", "rows-results")
HINTS = on_rows(hint_right, test_errors.HINTS)
TYPES = on_rows(type_right, test_types.TYPES)
PRINTS = on_rows(
    printed_right,
    [
        *((test_text.of_pattern(text), canonical) for text, canonical in test_text.CANONICAL),
        *((test_text.of_measure(text), canonical) for text, canonical in test_text.EXPRESSIONS),
    ],
)

CHECK, BUILD = syntax.check_row_pattern, ExpressionBuilder._build
NAVIGATION, PLACE = ExpressionBuilder._navigation, ExpressionBuilder._place
RESOLVE, AGGREGATE, NEED = types._resolve, types._Scope._aggregate, types._Scope.need
RESUME, AS_TABLE = semantics.resume, recognise.as_table
PATTERN_TEXT, EXPRESSION_TEXT = printed.pattern_text, printed.expression_text


def unless(name: str) -> Mutant:
    """The check that passes over one error."""

    def wrong(query: syntax.RowPattern) -> None:
        try:
            CHECK(query)
        except IllFormed as error:
            if error.code != CODES[name]:
                raise

    return mutant(ILL_FORMED, parser, "check_row_pattern", wrong, id=f"no_{name}")


def any_bounds(self: Any, children: list[Any]) -> syntax.Repetition:
    body, (lo, hi), reluctant = children
    return syntax.Repetition(body, lo, hi, reluctant is not None)


def any_number_of_arguments(self: Any, node: Any, least: int, most: int | None) -> None:
    return None


def offsets_unread(self: Any, node: Any, kind: Any, final: bool) -> Any:
    if len(node.expressions) == 2:
        node.set("expressions", node.expressions[:1])
    return NAVIGATION(self, node, kind, final)


def modes_anywhere(self: Any, node: Any) -> bool:
    return True


def no_name_is_near(name: str, names: Any) -> str:
    return ""


def places_of_expressions(self: Any, node: Any) -> Any:
    """The caret stands under the first token of the expression."""
    return self._around or PLACE(self, node)


def the_first_column_for_an_unknown_one(query: Any, column: Any, columns: Any) -> str:
    try:
        return RESOLVE(query, column, columns)
    except IllFormed as error:
        if error.code == CODES["unknown-column"]:
            return str(next(iter(columns)))
        raise


def the_first_of_two(query: Any, column: Any, columns: Any) -> str:
    names = list(columns)
    alike = (name for name in names if name.casefold() == column.name.casefold())
    return (
        column.name if column.name in names else next(alike, None) or RESOLVE(query, column, names)
    )


def all_kinds_compare(at: int, left: Any, right: Any) -> None:
    return None


def numbers_are_conditions(self: Any, e: Any, kinds: Any, message: str) -> Any:
    """As DuckDB casts them (decision 20)."""
    return NEED(self, e, (*kinds, kinds_of_values.Kind.INTEGER), message)


def sums_are_doubles(self: Any, function: Any, body: Any) -> Any:
    result = AGGREGATE(self, function, body)
    return types.StaticType(kinds_of_values.Kind.DOUBLE) if function.value == "SUM" else result


def an_absent_variable_is_passed_over(S: Any, s: int, m: Any) -> int:
    try:
        return RESUME(S, s, m)
    except BadData as error:
        if error.code == CODES["skip-absent"]:
            return len(m)
        raise


def the_same_match_is_passed_over(S: Any, s: int, m: Any) -> int:
    try:
        return RESUME(S, s, m)
    except BadData as error:
        if error.code == CODES["skip-first"]:
            return 1
        raise


def drop(kind: type[exp.Expr]) -> Mutant:
    """A construct of SQL that is passed over instead of refused."""

    def wrong(self: Any, node: Any) -> Any:
        body = node.expressions[0] if isinstance(node, exp.Distinct) else node.this
        return BUILD(self, body if isinstance(node, kind) else node)

    name = f"{kind.__name__.lower()}_is_dropped"
    return mutant(REFUSALS, ExpressionBuilder, "_build", wrong, id=name)


def one_of_each_spelling() -> Mutant:
    """ONE ROW and ALL ROWS are two clauses."""
    wrong = {words: (words, reader) for words, (_, reader) in parser._CLAUSES.items()}
    return mutant(SYNTAX, parser, "_CLAUSES", wrong, id="one_of_each_spelling")


def items_unread(query: Any, output: Any) -> Any:
    return output


def items_keep_their_names(query: Any, output: Any) -> Any:
    if query.select is None or query.select.items is None:
        return output
    items = tuple(replace(item, name=None) for item in query.select.items)
    return SELECTION(replace(query, select=replace(query.select, items=items)), output)


SELECTION = types._select


def columns_by_name(table: Any) -> Any:
    return (pyarrow_table := AS_TABLE(table)).select(sorted(pyarrow_table.column_names))


def patterns_without_parentheses(p: Any, level: int = 0) -> str:
    return PATTERN_TEXT(p)


def expressions_without_parentheses(e: Any, level: int = 0) -> str:
    return EXPRESSION_TEXT(e)


def of_builder(judge: Judge, name: str, wrong: Any) -> Mutant:
    return mutant(judge, ExpressionBuilder, name, wrong)


OF_ERRORS = [
    *(
        unless(name)
        for name in (
            *("unknown-variable", "duplicate-variable", "mixed-variables", "nesting"),
            *("final-in-define", "exclusion-unmatched", "duplicate-column", "no-columns"),
            "within-order",
        )
    ),
    mutant(ILL_FORMED, _PatternBuilder, "repetition", any_bounds),
    of_builder(ILL_FORMED, "_count", any_number_of_arguments),
    of_builder(ILL_FORMED, "_navigation", offsets_unread),
    of_builder(ILL_FORMED, "_takes_mode", modes_anywhere),
    of_builder(ILL_FORMED, "key", keys_of_any_input),
    of_builder(ILL_FORMED, "_place", places_of_expressions),
    Mutant(
        "no_name_is_near",
        HINTS,
        tuple(Place(owner, "nearest", no_name_is_near) for owner in (builder, syntax, types)),
    ),
    mutant(ON_A_TABLE, types, "_resolve", the_first_column_for_an_unknown_one),
    mutant(ON_A_TABLE, types, "_resolve", the_first_of_two),
    mutant(ON_A_TABLE, kinds_of_values, "_check_comparable", all_kinds_compare),
    mutant(ON_A_TABLE, types._Scope, "need", numbers_are_conditions),
    mutant(SCAN, semantics, "resume", an_absent_variable_is_passed_over),
    mutant(SCAN, semantics, "resume", the_same_match_is_passed_over),
    one_of_each_spelling(),
    *(drop(kind) for kind in (exp.Distinct, exp.Filter, exp.Window)),
    mutant(REFUSALS, builder, "MAX_PERMUTE_PARTS", 9, id="permute_of_nine"),
    mutant(COLUMNS, types, "_select", items_unread),
    mutant(COLUMNS, types, "_select", items_keep_their_names),
    mutant(COLUMNS, recognise, "as_table", columns_by_name),
    mutant(TYPES, types._Scope, "_aggregate", sums_are_doubles),
    mutant(PRINTS, printed, "pattern_text", patterns_without_parentheses),
    mutant(PRINTS, printed, "expression_text", expressions_without_parentheses),
]
