"""Verdicts on questions about all streams, and their witnesses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from cerlab.display import drawable
from cerlab.model.answer import ComplexEvent

SideName: TypeAlias = Literal["left", "right"]


@drawable
@dataclass(frozen=True)
class Witness:
    """A stream, and a complex event on it that `side` answers and the other does not.

    For `satisfiable` there is no other side: `side` is None.
    """

    events: list[dict[str, Any]]
    complex_event: ComplexEvent
    side: SideName | None = None


@drawable
@dataclass(frozen=True)
class Verdict:
    """The answer to a question about all streams; `holds` is None where it is not decided."""

    holds: bool | None
    witness: Witness | None
    reason: str
