"""Row patterns, the MATCH_RECOGNIZE clause of SQL (ISO/IEC 9075-2).

The clause: `syntax`, `expressions`, `text`, `types` (on a table's columns), and its reading:
`tokens`, `builder`, `parser`. The meaning: `evaluation`, `semantics`; everything else is tested
against it. Machines: `machine` (prioritised automata and their search), `engine` and its kernels.
From clauses to machines: `compile`, `functions`, `columns`, `measures`, `programs`, `scan`. Verbs:
`recognise`, `session`, `decide`, `cel`, `why`, `sql`. A meaning imports no machine, a machine no
meaning.
"""

__all__ = ["decide", "expressions", "parser", "recognise", "session", "sql", "syntax", "why"]
