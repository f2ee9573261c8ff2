"""The compiled engine: Algorithm 1 and 2 of CORE over flat arrays (CORE Alg. 1; CORE Alg. 2).

The same operations as `engine.reference`, by the same names. Numba loads when this is imported.

Kernels allocate nothing; see `compiled`.
"""
