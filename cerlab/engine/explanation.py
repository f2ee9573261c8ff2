"""What an engine says of how it goes about a query."""

from __future__ import annotations

from dataclasses import dataclass

from cerlab.display import rich_display


@rich_display
@dataclass(frozen=True, slots=True)
class Explanation:
    """Steps of the engine, one a line: what is done, and why so."""

    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def __repr__(self) -> str:
        return str(self)
