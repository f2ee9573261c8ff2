"""The benchmark: the queries of the CORE paper on three kinds of streams, as ratios in one run.

Reading order: `sequences` and `queries` (what is asked), `streams` (of what), `timing` and
`measure` (one query), `pairs` (side by side), `memory` (in a fresh process), `peer` (CORE itself).
The SRT paper's patterns are in `register_patterns` and `registers`, FOUND's in `foundations`.
"""
