"""Truth vectors of atoms that share attributes, by z3: arithmetic, several attributes, LIKE.

An attribute is a tagged value: a kind (0: nothing that compares), and for each kind a variable.
Numbers are real variables, exact for comparisons and the rationals' arithmetic; a solution that is
no rational is never found as an event, so it leaves its vector undecided. Texts are variables over
places in the order of texts: the constants have a place each, and each gap between them as many
as it has texts, but no more than there are attributes to tell apart.

Where there is LIKE, a text also has a cell: an interval between constants and a truth vector of the
patterns that some text in that interval has, which z3 decides by intersecting regular languages.
Only if such texts are compared with each other too are texts themselves asked for.

Each atom is a formula by the rules of DESIGN 3.3. One that is outside what can be encoded is an
unknown bit: then a vector is listed with an event that has it, or as undecided. So it is where z3
reaches its limit, which is counted in steps, so that the outcome seldom depends on the clock.

`languages` has regular languages, `questions` one question to z3, `places` the order of texts and
their cells, `encoding` the variables, `terms` and `formulas` what atoms say of them, `values` the
events of solutions, `search` the listing of all vectors.
"""

from cerlab.predicates.smt.search import by_solver

__all__ = ["by_solver"]
