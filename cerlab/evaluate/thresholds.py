"""The sizes at which a way to evaluate is left for another: each with what was measured, and when.

All were measured on two shared cores of about 2.5 GHz, with Python 3.11.
"""

from __future__ import annotations

SHORT = 4_000
"""Up to this many events no kernels are loaded: loading costs a third of a second (2026-11-22)."""

COLD = 16_000
"""The same where kernels have to be compiled: 1.3 s by 80 us an event, 3 s else (2026-11-23)."""

TECS_ORDER = 20_000
"""Up to this many events many answers come in the order of the tECS, by number (2026-11-23)."""

FEW_ANSWERS = 1 << 20
"""Up to this many answers, passing over all of them to reach one is fast enough (2026-11-23)."""

WORTH_A_KERNEL = 70
"""From this many events on kernels are faster, once they are loaded (2026-11-22)."""

WORTH_COLUMNS = 30
"""The same where the events are columns already (``--lengths`` of the benchmarks, 2026-11-22)."""

FEWEST = 128
"""From this many events on a session reads, and keeps, columns: these cost more to make before."""
