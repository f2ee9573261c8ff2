"""A research workbench for complex event recognition.

>>> import cerlab
>>> events = [{"type": "A"}, {"type": "C"}, {"type": "B"}]
>>> cerlab.evaluate("A ; B", events)
[ComplexEvent(start=0, end=2, positions=(0, 2))]
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cerlab import display

if TYPE_CHECKING:
    from cerlab.api import Matches as Matches
    from cerlab.api import Query as Query
    from cerlab.api import count as count
    from cerlab.api import evaluate as evaluate
    from cerlab.api import matches as matches
    from cerlab.api import parse_formula as parse_formula
    from cerlab.api import parse_query as parse_query
    from cerlab.api import parse_sremo as parse_sremo
    from cerlab.api import session as session
    from cerlab.api import step as step
    from cerlab.api import timeline as timeline
    from cerlab.api import valuations as valuations
    from cerlab.api.questions import contained as contained
    from cerlab.api.questions import equivalent as equivalent
    from cerlab.api.questions import satisfiable as satisfiable
    from cerlab.api.questions import why as why
    from cerlab.api.questions import why_none as why_none
    from cerlab.api.timelines import show as show
    from cerlab.budget import limits as limits
    from cerlab.decisions import Verdict as Verdict
    from cerlab.decisions import Witness as Witness
    from cerlab.errors import AnswerWarning as AnswerWarning
    from cerlab.errors import BadData as BadData
    from cerlab.errors import CerlabError as CerlabError
    from cerlab.errors import CerlabWarning as CerlabWarning
    from cerlab.errors import IllFormed as IllFormed
    from cerlab.errors import QuerySyntaxError as QuerySyntaxError
    from cerlab.errors import ResourceLimit as ResourceLimit
    from cerlab.errors import TypeMismatch as TypeMismatch
    from cerlab.errors import Undecided as Undecided
    from cerlab.errors import Unsupported as Unsupported
    from cerlab.errors import UsageError as UsageError
    from cerlab.io import Stream as Stream
    from cerlab.logic.cel.syntax import Formula as Formula
    from cerlab.logic.ceql.parser import parse_schema as parse_schema
    from cerlab.logic.gcq import parse_gcq as parse_gcq
    from cerlab.logic.sremo.syntax import Sremo as Sremo
    from cerlab.model.answer import ComplexEvent as ComplexEvent
    from cerlab.model.answer import Valuation as Valuation
    from cerlab.model.event import Duration as Duration
    from cerlab.model.event import Event as Event
    from cerlab.model.event import Schema as Schema
    from cerlab.model.event import Timestamp as Timestamp
    from cerlab.model.event import TypeColumn as TypeColumn
    from cerlab.predicates.condition import predicate as predicate
    from cerlab.predicates.truth import satisfies as satisfies
    from cerlab.rows.cel import InCel as InCel
    from cerlab.rows.cel import rows_to_cel as rows_to_cel
    from cerlab.rows.decide import row_remarks as row_remarks
    from cerlab.rows.recognise import RowPattern as RowPattern
    from cerlab.rows.recognise import explain_rows as explain_rows
    from cerlab.rows.recognise import match_recognize as match_recognize
    from cerlab.rows.recognise import parse_rows as parse_rows
    from cerlab.rows.sql import sql as sql
    from cerlab.rows.why import WhyRows as WhyRows
    from cerlab.viz import from_networkx as from_networkx
    from cerlab.why import Why as Why
    from cerlab.why.none import WhyNone as WhyNone

    cel: ModuleType
    """Module of the syntax trees of formulas (`cerlab.logic.cel.syntax`), imported at first use."""
    flink: ModuleType
    """Module of FlinkCEP's pattern API (`cerlab.flinkcep`), imported at first use."""
    spark: ModuleType
    """Module of the pipeline on Spark (`cerlab.spark`), imported at first use."""

__version__ = "0.1.0"

_HOMES = {
    "cerlab.api": (
        "Matches Query count evaluate matches parse_formula parse_query parse_sremo "
        "session step timeline valuations"
    ),
    "cerlab.api.questions": "contained equivalent satisfiable why why_none",
    "cerlab.budget": "limits",
    "cerlab.decisions": "Verdict Witness",
    "cerlab.errors": (
        "AnswerWarning BadData CerlabError CerlabWarning IllFormed QuerySyntaxError ResourceLimit "
        "TypeMismatch Undecided Unsupported UsageError"
    ),
    "cerlab.logic.cel.syntax": "Formula",
    "cerlab.logic.ceql.parser": "parse_schema",
    "cerlab.logic.gcq": "parse_gcq",
    "cerlab.logic.sremo.syntax": "Sremo",
    "cerlab.model.answer": "ComplexEvent Valuation",
    "cerlab.model.event": "Duration Event Schema Timestamp TypeColumn",
    "cerlab.io": "Stream",
    "cerlab.predicates.condition": "predicate",
    "cerlab.predicates.truth": "satisfies",
    "cerlab.viz": "from_networkx",
    "cerlab.rows.recognise": "RowPattern explain_rows match_recognize parse_rows",
    "cerlab.rows.cel": "InCel rows_to_cel",
    "cerlab.rows.decide": "row_remarks",
    "cerlab.rows.sql": "sql",
    "cerlab.api.timelines": "show",
    "cerlab.why": "Why",
    "cerlab.why.none": "WhyNone",
    "cerlab.rows.why": "WhyRows",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}
"""Module of each public name, imported when the name is first used."""

_MODULES = {
    "cel": "cerlab.logic.cel.syntax",
    "flink": "cerlab.flinkcep",
    "fuzz": "cerlab.fuzz",
    "spark": "cerlab.spark",
    "testing": "cerlab.testing",
    "theorems": "cerlab.theorems",
}
"""Public modules, imported when they are first used."""

__all__ = sorted(_HOME)


class _FrontDoor(ModuleType):
    """The module `cerlab`, whose functions keep their names when submodules load.

    Importing ``cerlab.evaluate`` or ``cerlab.why`` would replace the function of that name with the
    package; `__setattr__` keeps the function.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in _HOME):
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the module `cerlab` as its import, since Spark's workers need the module."""
        return import_module, (__name__,)


sys.modules[__name__].__class__ = _FrontDoor


def _register_pictures() -> None:
    from cerlab.api import displays as displays


display.load_with(_register_pictures)


if not TYPE_CHECKING:  # mypy reads the imports above, and reports names that no longer exist

    def __getattr__(name: str) -> Any:
        """Return a public name or module, importing it at first use (PEP 562)."""
        if name in _MODULES:
            return import_module(_MODULES[name])
        if name not in _HOME:
            raise AttributeError(f"module 'cerlab' has no attribute '{name}'")
        value = globals()[name] = getattr(import_module(_HOME[name]), name)
        return value


def __dir__() -> list[str]:
    # `dir` omits packages that only implement public names
    return sorted({*__all__, *_MODULES, "__version__"})


def load_ipython_extension(shell: object) -> None:
    """Register the magics ``%%ceql`` and ``%ceql`` for ``%load_ext cerlab`` (`cerlab.magic`)."""
    from cerlab.magic import register

    register(shell)
