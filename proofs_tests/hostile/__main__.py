"""``python -m proofs_tests.hostile``: hostile inputs, and what became of them."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from proofs_tests.hostile.kinds import KINDS, kind_of
from proofs_tests.hostile.watchdog import verdicts


def main() -> int:
    """Exit 0 without a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--kind", choices=KINDS, help="one kind (default: all in turn)")
    parser.add_argument("--lines", type=int, default=5, help="of a traceback, at most")
    given = parser.parse_args()
    counts, faults = Counter[tuple[str, str]](), 0
    codes = {kind: Counter[str]() for kind in KINDS}
    slowest, largest, started = (0.0, ""), (0, ""), time.monotonic()
    seeds = range(given.seed, given.seed + given.inputs)
    for found in verdicts([(given.kind or kind_of(seed), seed) for seed in seeds]):
        name = f"seed {found.seed}, {found.kind}"
        counts[found.kind, "fault" if found.is_fault else found.verdict] += 1
        slowest = max(slowest, (found.cpu, name))
        largest = max(largest, (found.bytes, name))
        if found.verdict == "refused":
            codes[found.kind][found.detail] += 1
        if found.is_fault:
            faults += 1
            last = found.detail.strip().splitlines()[-given.lines :]
            print("\n".join([f"{name}: {found.verdict}", *last]), flush=True)
    for kind in KINDS:
        shown = (f"{counts[kind, v]:6} {v}" for v in ("taken", "refused", "fault"))
        common = (f"{code} {n}" for code, n in codes[kind].most_common(4))
        print(f"{kind:9} {''.join(shown)}   {', '.join(common)}")
    total = sum(counts.values())
    print(f"{total:,} inputs, {faults} faults, {time.monotonic() - started:.0f} s")
    print(f"slowest {slowest[0]:.1f} CPU s ({slowest[1]})")
    print(f"largest {largest[0] >> 20} MB ({largest[1]})")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
