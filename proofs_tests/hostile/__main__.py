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
    options = parser.parse_args()
    counts, faults = Counter[tuple[str, str]](), 0
    codes = {kind: Counter[str]() for kind in KINDS}
    slowest, largest, begin = (0.0, ""), (0, ""), time.monotonic()
    seeds = range(options.seed, options.seed + options.inputs)
    inputs = [(options.kind or kind_of(seed), seed) for seed in seeds]
    for judgement in verdicts(inputs, measured=True):
        name = f"seed {judgement.seed}, {judgement.kind}"
        counts[judgement.kind, "fault" if judgement.is_fault else judgement.verdict] += 1
        slowest = max(slowest, (judgement.cpu, name))
        largest = max(largest, (judgement.bytes, name))
        if judgement.verdict == "refused":
            codes[judgement.kind][judgement.detail] += 1
        if judgement.is_fault:
            faults += 1
            last = judgement.detail.strip().splitlines()[-options.lines :]
            print("\n".join([f"{name}: {judgement.verdict}", *last]), flush=True)
    for kind in KINDS:
        columns = (f"{counts[kind, v]:6} {v}" for v in ("taken", "refused", "fault"))
        common = (f"{code} {n}" for code, n in codes[kind].most_common(4))
        print(f"{kind:9} {''.join(columns)}   {', '.join(common)}")
    total = sum(counts.values())
    print(f"{total:,} inputs, {faults} faults, {time.monotonic() - begin:.0f} s")
    print(f"slowest {slowest[0]:.1f} CPU s ({slowest[1]})")
    print(f"largest {largest[0] >> 20} MB ({largest[1]})")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
