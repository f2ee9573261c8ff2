"""Row patterns on a table of Arrow: compiled, or by the search (rows.md 12)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cerlab.compile.rows_to_search import Machine, machine, result_positions
from cerlab.errors import Unsupported
from cerlab.io.tables import column_kinds, result_table, value_columns
from cerlab.logic.rows.types import Binding
from cerlab.logic.rows.syntax import RowPattern
from cerlab.logic.rows.types import bind

if TYPE_CHECKING:
    from cerlab.compile.rows_to_walk import CompiledScan, Result

SHORT = 1_000
"""Tables with fewer rows are searched unless it is asked for, which has less to begin with."""


def recognise(pattern: RowPattern, rows: Any, *, compiled: bool | None = None) -> Any:
    """The result of a clause on a pyarrow Table; raises as `cerlab.match_recognize`.

    Whether it is to be `compiled`; None for what is sooner done.
    """
    binding = bind(pattern, column_kinds(rows))
    M = machine(pattern, binding)
    if compiled or (compiled is None and rows.num_rows >= SHORT):
        result = _compiled_result(M, binding, rows, is_needed=bool(compiled))
        if result is not None:
            return result_table(rows, binding, *result)
    columns = value_columns(rows, binding.names.values())
    positions, values = result_positions(M, columns, rows.num_rows)
    return result_table(rows, binding, positions, values)


def _compiled_result(M: Machine, binding: Binding, rows: Any, *, is_needed: bool) -> Result | None:
    """The result by what is compiled; None, or `Unsupported`, where it does not take a query."""
    scan = compiled_scan(M, binding, rows)
    if not isinstance(scan, str):
        return scan[1]
    if is_needed:
        hint = 'evaluator="search" takes it'
        raise Unsupported("CER0452", f"no compiled evaluator takes this: {scan}", hint=hint)
    return None


def compiled_scan(M: Machine, binding: Binding, rows: Any) -> tuple[CompiledScan, Result] | str:
    """What is compiled for a table and its result; a text is why a query is not."""
    from cerlab.compile import rows_to_walk as walk  # loads Numba

    steps = walk.step_table_of(M)
    if isinstance(steps, str):
        return steps
    try:
        scan = walk.scan_of(M, steps, binding, rows)
        return scan, walk.result_of_scan(scan)
    except walk.NotTaken as error:
        return str(error)
