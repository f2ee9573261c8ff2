"""The hypothesis of determinisation: what a register holds depends on the string alone.

It does if all writes of a register are of the event at one depth, and no run reads it without a
write of it before. Registers that are never written are constants, and satisfy it (SRT Lemma S3).
"""

from __future__ import annotations

from cerlab.automata.registers.transducer import NONE, Srt, written_registers
from cerlab.errors import Unsupported
from cerlab.predicates.guards import registers_of


def check_single_use(T: Srt) -> None:
    """Raise `Unsupported` unless what each register holds depends on the string alone."""
    registers = written_registers(T)
    if not registers:
        return
    depth_of_state, certain = depths(T), certainly_written(T)
    depth_of_register: dict[str, int] = {}
    for t in T.Delta:
        if t.source not in depth_of_state:
            continue
        depth = depth_of_state[t.source]
        for r in t.writes:
            if depth is None or depth_of_register.setdefault(r, depth) != depth:
                raise _refusal(f"'{r}' is written at different depths")
        for r in registers_of(t.guard) & registers - certain[t.source]:
            raise _refusal(f"'{r}' is read where only some runs have written it")


def depths(T: Srt) -> dict[int, int | None]:
    """How many events every way from q0 to a state reads; None where ways differ.

    States that no way leads to are not in it.
    """
    depth_of: dict[int, int | None] = {T.q0: 0}
    has_changed = True
    while has_changed:
        has_changed = False
        for t in T.Delta:
            if t.source in depth_of:
                before = depth_of[t.source]
                after = None if before is None else before + 1
                if depth_of.get(t.target, after) != after:
                    after = None
                has_changed |= t.target not in depth_of or depth_of[t.target] != after
                depth_of[t.target] = after
    return depth_of


def certainly_written(T: Srt) -> dict[int, frozenset[str]]:
    """The registers that every way from q0 to a state writes; states without a way are left out."""
    certain = {T.q0: NONE}
    has_changed = True
    while has_changed:
        has_changed = False
        for t in T.Delta:
            if t.source in certain:
                registers = certain[t.source] | t.writes
                after = certain.get(t.target, registers) & registers
                has_changed |= certain.get(t.target) != after
                certain[t.target] = after
    return certain


def _refusal(why: str) -> Unsupported:
    return Unsupported(
        "CER0484",
        f"this transducer cannot be determinised or complemented: {why} (SRT Thm. 38)",
        hint="put a window [len<=w] on what writes registers; unrolled, it can be",
    )
