"""Searches for the events at which waits end, in all substreams together."""

from __future__ import annotations

from cerlab.engine.kernels.arrays import NONE, Int64s, kernel


@kernel
def last_before(keys: Int64s, limits: Int64s, wanted: Int64s, seen: Int64s, last: Int64s) -> None:
    """Write, for each `wanted` key, the index of its last event before a limit, or NONE.

    `limits` do not decrease. `seen` has a cell for each key, NONE before and after the call.
    """
    n = 0
    for r in range(wanted.shape[0]):
        while n < limits[r]:
            if keys[n] != NONE:
                seen[keys[n]] = n
            n += 1
        last[r] = seen[wanted[r]]
    for m in range(n):
        if keys[m] != NONE:
            seen[keys[m]] = NONE


@kernel
def bounds_of_rivals(keys: Int64s, starts: Int64s, latest: Int64s, bounds: Int64s) -> None:
    """Write, for each event, the least start that is later than the starts of all rival answers.

    ``starts[n]`` is the latest start of an answer that ends at event n, NONE without one; `latest`,
    (keys,), is that of each key so far.
    """
    for n in range(keys.shape[0]):
        if keys[n] != NONE:
            latest[keys[n]] = max(latest[keys[n]], starts[n])
            bounds[n] = latest[keys[n]] + 1
