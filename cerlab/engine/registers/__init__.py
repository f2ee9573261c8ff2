"""Register patterns on streams of millions: runs that share, compiled (SRT Alg. 1).

The readable twin is `cerlab.engine.reference.registers`: there, too, runs that differ in
their marks alone are one configuration. Here the marks of a configuration are a node of a tECS, the
values that guards will read are small numbers, and configurations are found by the key that an
event brings. Reading order: `program` (where runs begin, what they keep, what ends an answer),
`codes` (values as numbers), `rules` (what each symbol may do),
`kernels.registers` (the loops), `configurations` (room and growth), `evaluation` (a stream from end
to end, and each answer once).
"""
