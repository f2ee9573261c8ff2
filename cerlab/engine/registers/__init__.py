"""Queries on registers, compiled: runs with equal states and values are one (SRT Alg. 1).

The readable twin is `cerlab.engine.reference.registers`, where runs that differ only in their marks
are one configuration too. Here the marks of a configuration are a node of a tECS, the values that
guards will read are small numbers, and configurations are found by the key of an event. Reading
order: `program` (where runs begin, what they store, what ends an answer), `codes` (values as
numbers), `rules` (the moves at each symbol), `kernels.registers` (the loops), `configurations`
(room and growth), `evaluation` (a stream from end to end, and each answer once).
"""
