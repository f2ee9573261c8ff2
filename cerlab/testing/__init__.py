"""Random formulas, queries and streams, for fuzzing an engine against the reference.

Everything is a function of a ``random.Random``; `strategies` has the same for hypothesis:

    from cerlab.testing import cases

    @given(cases())
    def test_my_engine(case):
        query, events = case
        assert my_engine(query, events) == cerlab.evaluate(query, events, evaluator="reference")

An engine for one language only takes `formulas` of that language and `streams` for each of them:

    @given(st.data())
    def test_my_sequences(data):
        phi = data.draw(formulas("so", SMALL))
        S = data.draw(streams(phi, SMALL))

The alphabet is small on purpose (types A, B, C; `SMALL` has one attribute v in 0, 1, `ATTRIBUTES`
values of every kind): what distinguishes two engines is nearly always tiny. Streams are biased
towards answers: a word of the formula's language is planted, and noise put between. Failing cases
shrink towards a single ``A`` and the empty stream.
"""

from cerlab.testing.conditions import random_condition, random_predicate
from cerlab.testing.correlated import random_correlated_events, random_correlated_formula
from cerlab.testing.fo import any_fo_formula, random_fo_formula
from cerlab.testing.formulas import random_formula
from cerlab.testing.queries import random_query, with_limit
from cerlab.testing.rows import random_row_pattern, random_row_table
from cerlab.testing.shape import ATTRIBUTES, LABELS, SMALL, STREAMS, TYPES, Shape
from cerlab.testing.smaller import smallest
from cerlab.testing.sremo import REGISTERS, SremoKind, random_sremo, random_sremo_events
from cerlab.testing.strategies import (
    as_dict,
    cases,
    formulas,
    predicates,
    queries,
    sremo_streams,
    sremos,
    streams,
)
from cerlab.testing.streams import random_events

__all__ = [
    "ATTRIBUTES",
    "LABELS",
    "REGISTERS",
    "SMALL",
    "STREAMS",
    "TYPES",
    "Shape",
    "SremoKind",
    "any_fo_formula",
    "as_dict",
    "cases",
    "formulas",
    "predicates",
    "queries",
    "random_condition",
    "random_correlated_events",
    "random_correlated_formula",
    "random_events",
    "random_fo_formula",
    "random_formula",
    "random_predicate",
    "random_query",
    "random_row_pattern",
    "random_row_table",
    "random_sremo",
    "random_sremo_events",
    "smallest",
    "sremo_streams",
    "sremos",
    "streams",
    "with_limit",
]
