"""The events that a program has to read, out of many."""

from __future__ import annotations

from cerlab.engine.kernels.arrays import NONE, Bytes, Int32s, Symbols
from cerlab.engine.kernels.compiled import kernel


@kernel
def relevant(
    symbols: Symbols, read: Bytes, action: Symbols, index: Int32s, actions: Symbols
) -> int:
    """Write the indices of the events whose symbol is read, and their actions; how many.

    For programs without `Read.ONCE`. Without a branch: each event is written, and the next one
    overwrites it if it is not read; so `index` and `actions` have room for one more.
    """
    count = 0
    for i in range(symbols.shape[0]):
        s = symbols[i]
        index[count] = i
        actions[count] = action[s]
        count += read[s] != 0
    return count


@kernel
def relevant_once(
    symbols: Symbols,
    codes: Int32s,
    read: Bytes,
    action: Symbols,
    always: int,
    fresh: Bytes,
    index: Int32s,
    actions: Symbols,
) -> int:
    """The same with `Read.ONCE`: such an event only if the one before it in its partition was not.

    ``fresh[p]`` is 1 as long as the next such event of partition p has to be read; kept from batch
    to batch. `always` is `Read.ALWAYS`.
    """
    count = 0
    for i in range(symbols.shape[0]):
        p = codes[i]
        if p == NONE:
            continue
        s = symbols[i]
        index[count] = i
        actions[count] = action[s]
        every = read[s] == always
        count += every | (fresh[p] != 0)
        fresh[p] = every
    return count
