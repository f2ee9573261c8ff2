"""Sequence queries as the CORE paper makes them for each of its data sets (CORE App. D)."""

from __future__ import annotations

from dataclasses import dataclass

LENGTHS = (3, 6, 9, 12, 24)
FACTORS = (1, 2, 3, 4)
"""How many times the first window the measured windows are."""

STRATEGIES = ("NEXT", "LAST", "MAX", "STRICT")
FIRST = 1000
"""How many answers of one event the paper lists."""


@dataclass(frozen=True, slots=True)
class Step:
    """``type AS label`` and, in brackets after FILTER, the condition on it."""

    type: str
    label: str
    condition: str


@dataclass(frozen=True, slots=True)
class Sequences:
    """The steps of the longest sequence of a data set, and what all its sequences share.

    `never`: a step that no event takes. `window`: its width in the unit of the attribute `time`.
    `whole`: a label of all events and the condition on it, or None.
    """

    letter: str
    steps: tuple[Step, ...]
    never: Step
    window: int
    time: str
    whole: tuple[str, str] | None = None


def sequence(
    family: Sequences,
    length: int,
    *,
    output: bool = True,
    factor: int = 1,
    joint: str = ";",
    strategy: str = "",
    selection: str = "*",
    clauses: str = "",
) -> str:
    """``Pn``, or without `output` ``Pn'``, whose last event never occurs.

    What never occurs an engine may see in the columns; `streams.with_decoy` prevents that.

    >>> from cerlab.bench.queries import HOMES
    >>> print(sequence(HOMES, 1, factor=2))
    SELECT * FROM S
    WHERE (LOAD AS L1) AS L
    FILTER L[value > 76] AND L1[household_id = 0]
    WITHIN 20 [plug_timestamp]
    """
    steps = (*family.steps[:length], *(() if output else (family.never,)))
    pattern = f" {joint} ".join(f"{step.type} AS {step.label}" for step in steps)
    filters = [f"{step.label}[{step.condition}]" for step in steps]
    if family.whole is not None:
        label, condition = family.whole
        pattern = f"({pattern}) AS {label}"
        filters.insert(0, f"{label}[{condition}]")
    lines = [
        f"SELECT {strategy} {selection} FROM S" if strategy else f"SELECT {selection} FROM S",
        f"WHERE {pattern}",
        "FILTER " + " AND ".join(filters),
        f"WITHIN {factor * family.window} [{family.time}]",
        *([clauses] if clauses else []),
    ]
    return "\n".join(lines)


def sequences(family: Sequences) -> dict[str, str]:
    """All sequence queries of a data set by name, for letter P:

    ``P3`` to ``P24``; ``P3 ANY`` with CONSUME BY ANY and ``P3 ANY 1000`` with LIMIT besides;
    ``P3'`` without output; ``P3' x2`` in a window twice as wide; ``P3 NEXT`` with a strategy;
    ``P3' LAST``, ``P3' x2 LAST``; ``P3 contiguous`` with ``:``, ``P3 projected`` to its last label.
    """
    P = family.letter
    queries = {f"{P}{n}'": sequence(family, n, output=False) for n in LENGTHS}
    for k in FACTORS:
        wide = f"{P}3' x{k}" if k > 1 else f"{P}3'"
        queries[wide] = sequence(family, 3, output=False, factor=k)
        queries[f"{wide} LAST"] = sequence(family, 3, output=False, factor=k, strategy="LAST")
    queries |= {f"{P}{n}": sequence(family, n) for n in LENGTHS}
    queries |= {f"{P}3 {each}": sequence(family, 3, strategy=each) for each in STRATEGIES}
    queries[f"{P}3 contiguous"] = sequence(family, 3, joint=":")
    queries[f"{P}3 projected"] = sequence(family, 3, selection=family.steps[2].label)
    return queries | consuming({name: queries[name] for name in (f"{P}{n}" for n in LENGTHS)})


def consuming(queries: dict[str, str]) -> dict[str, str]:
    """The same with CONSUME BY ANY, all answers and the first of each event."""
    consuming_any = {f"{name} ANY": f"{text}\nCONSUME BY ANY" for name, text in queries.items()}
    return consuming_any | {
        f"{name} {FIRST}": f"{text}\nLIMIT {FIRST}" for name, text in consuming_any.items()
    }
