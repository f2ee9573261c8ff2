"""Evaluators: plans and events in, answers out. They know machines, not languages.

`reference` has the papers' algorithms as written; `kernels` the same operations over flat arrays,
compiled. `tecs_run` evaluates every plan of an automaton, `windowed` those whose answers lie inside
a window, faster, `registers` those of a transducer. `whole_stream` chooses between the first two,
`random_access` gives single answers by number.
"""

__all__ = ["answers", "labels", "run"]
