"""Steps as users hold them: made of a query and a stream, shown, walked through, saved."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from cerlab.automata.machine import Machine
from cerlab.automata.plan import Plan
from cerlab.display import rich_display
from cerlab.errors import CerlabError, UsageError
from cerlab.io.output import whole_text
from cerlab.model.stream import Stream
from cerlab.predicates.text import predicate_text
from cerlab.viz.graph import Graph
from cerlab.viz.machines.deterministic import det_graph
from cerlab.viz.notebook.step_list import Step, StepList, steps_text
from cerlab.viz.render import Look
from cerlab.viz.tecs import tecs_snapshots

MOST_STATES = 24
"""Up to so many macro-states of a machine are drawn beside a step."""


@rich_display
@dataclass(frozen=True, slots=True)
class Steps(StepList):
    """The steps of a query on a stream, with the ways to see them.

    Pictures raise as `cerlab.viz.render.svg`.
    """

    def frame(self, k: int, theme: Look = "auto") -> str:
        """Step number k as an ``<svg>`` element."""
        from cerlab.viz.notebook.filmstrip import Frames

        return Frames(self, theme).one(k)

    def widget(self) -> Any:
        """A slider over the frames, as an anywidget; raises `Unsupported` without anywidget."""
        from cerlab.viz.notebook.stepper import widget

        return widget(self)

    def save(self, path: str | Path, theme: Look = "auto") -> None:
        """Write all steps: a filmstrip to ``.svg``, a page with a slider to ``.html``, else words.

        Raises `UsageError` for other names than ``.svg``, ``.html`` and ``.txt``.
        """
        from cerlab.viz.notebook.filmstrip import Frames
        from cerlab.viz.notebook.stepper import page

        match Path(path).suffix:
            case ".svg":
                text = Frames(self, theme).strip()
            case ".html":
                text = page(self, theme)
            case ".txt":
                text = steps_text(self)
            case other:
                raise UsageError(
                    "CER0849",
                    f"steps are saved as .svg, .html or .txt, not '{other}'",
                    hint="end the name of the file with one of them",
                )
        with whole_text(path) as file:
            file.write(f"{text}\n")


def steps_of(
    text: str, plan: Plan, machine: Machine, stream: Stream, *, first: int = 0, last: int | None
) -> Steps:
    """The steps at the events from `first` to before `last`; those before them are read as well.

    Raises as `cerlab.engine.reference.snapshot.snapshots`, and `UsageError` for an empty range.
    """
    if not 0 <= first < (len(stream) if last is None else min(last, len(stream))):
        raise UsageError(
            "CER0848",
            f"there are no events from {first} to {last} among {len(stream):,}",
            hint="positions count from 0",
        )
    tests = tuple(map(predicate_text, machine.predicates))
    read = islice(tecs_snapshots(plan, machine, stream), first, last)
    steps = tuple(
        Step(snapshot, tuple(text for bit, text in enumerate(tests) if snapshot.symbol >> bit & 1))
        for snapshot in read
    )
    return Steps(text, stream, steps, _picture(machine))


def _picture(machine: Machine) -> Graph | None:
    try:
        graph = det_graph(machine, MOST_STATES)
    except CerlabError:  # too many minterms to explore: the steps can be told without it
        return None
    return graph if len(graph.nodes) <= MOST_STATES else None
