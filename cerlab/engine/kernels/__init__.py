"""The compiled operations over flat arrays. Numba loads when one is imported.

`tecs` has those of `engine.reference`, by the same names (CORE Alg. 1; CORE Alg. 2); `windowed`
finds ends and lists chains; `registers` follows configurations. Kernels allocate nothing.
"""
