"""Kernels compiled by Numba on flat arrays; importing a module here loads Numba.

`tecs` has the operations of `engine.reference`, by the same names (CORE Alg. 1; CORE Alg. 2);
`windowed` finds ends and `chains` lists answers; `registers` moves configurations. Kernels allocate
nothing.
"""
