"""All pairs of evaluators on fresh random cases, for as long as one likes.

`ways` are the ways to answers that are compared, `search` draws cases and compares, `report` counts
them by pairs of features, so that holes show. ``python -m proofs_tests.pairs --minutes 60`` keeps
each failing case as a file.
"""
