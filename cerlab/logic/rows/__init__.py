"""Row patterns, the MATCH_RECOGNIZE clause of SQL (rows.md; ISO/IEC 9075-2).

Syntax, text, checks, and the semantics that everything else is tested against. The parser, which
loads sqlglot, is `cerlab.logic.rows.parser`.
"""

from cerlab.logic.rows.check import check_row_pattern
from cerlab.logic.rows.semantics import ResultRow, result_rows
from cerlab.logic.rows.syntax import RowPattern
from cerlab.logic.rows.text import row_pattern_text
from cerlab.logic.rows.types import Binding, Kind, bind

__all__ = [
    "Binding",
    "Kind",
    "ResultRow",
    "RowPattern",
    "bind",
    "check_row_pattern",
    "result_rows",
    "row_pattern_text",
]
