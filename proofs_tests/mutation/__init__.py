"""Mutants drawn by machine: is there a line of cerlab that may be wrong and no test sees it?

`mutants` draws one-line mutants of modules by a seed, `covering` knows which tests run a line, and
``python -m proofs_tests.mutation`` runs each mutant against them and reports who survived. Wrong
versions that somebody thought of are in `proofs_tests.mutants`.
"""
