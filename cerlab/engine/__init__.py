"""Evaluators: they read plans and events and yield answers. No module here knows a query language.

`reference` has the papers' algorithms as written; `kernels` the same operations compiled over flat
arrays. `tecs_run` evaluates every plan of an automaton; `windowed`, faster, the plans whose answers
lie inside a window; `registers` the plans of a transducer. `whole_stream` chooses between the first
two, `random_access` returns single answers by number.
"""

__all__ = ["answers", "labels", "run"]
