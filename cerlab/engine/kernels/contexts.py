"""The state of a deterministic machine in each substream, before each event."""

from __future__ import annotations

from cerlab.engine.kernels.arrays import NONE, Int64s, kernel


@kernel
def states_before(
    codes: Int64s, symbols: Int64s, after: Int64s, states: Int64s, begin: int, before: Int64s
) -> int:
    """Write the state before each event from `begin` on; return the event where this stopped.

    `codes`, `symbols` and `before` are int64 (events,); a code is the number of a substream, or
    `NONE` outside all of them. `after`, (states, symbols), is the next state, `NONE` if it is
    unknown: then reading stops. `states`, (substreams,), are updated by the events.
    """
    for i in range(begin, codes.shape[0]):
        if codes[i] == NONE:
            before[i] = NONE
            continue
        before[i] = states[codes[i]]
        following = after[states[codes[i]], symbols[i]]
        if following == NONE:
            return i
        states[codes[i]] = following
    return codes.shape[0]
