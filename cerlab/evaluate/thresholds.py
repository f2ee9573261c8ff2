"""Sizes at which another evaluator is chosen, each with its measurement and date.

All were measured on two shared cores of about 2.5 GHz, with Python 3.11.
"""

from __future__ import annotations

SHORT = 4_000
"""Up to this many events no kernels are loaded: loading costs a third of a second (2026-11-22)."""

COLD = 16_000
"""`SHORT` if kernels must be compiled: 3 s, against 1.3 s at 80 us per event (2026-11-23)."""

TECS_ORDER = 20_000
"""Up to this many events, `auto` orders and numbers answers as the tECS does (2026-11-23)."""

FEW_ANSWERS = 1 << 20
"""Up to this many answers, skipping all of them to reach one is fast enough (2026-11-23)."""

WORTH_A_KERNEL = 70
"""From this many events on, loaded kernels are faster (2026-11-22)."""

WORTH_COLUMNS = 30
"""`WORTH_A_KERNEL` if the events are columns (``--lengths`` of the benchmarks, 2026-11-22)."""

FEWEST = 128
"""From this many events on, a session keeps columns; for fewer they cost more than they save."""
