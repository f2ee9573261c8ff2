"""Columns of events to one small symbol per event: the truth vector of some predicates (CORE 4.4).

A second implementation of `cerlab.predicates.truth`, by columns. Reading order: `pieces` (what a
column holds), `cuts` (numbers against constants), `axes` (the atoms over the same attributes, as
one class per event), `stage` (the classes of all axes as one symbol), `kernels` (the loops) and
`twins` (what the loops compute, in NumPy).
"""

from cerlab.model.columns import Column
from cerlab.predicates.columns.arrays import relevant_indices
from cerlab.predicates.columns.stage import SymbolStage

__all__ = ["Column", "SymbolStage", "relevant_indices"]
