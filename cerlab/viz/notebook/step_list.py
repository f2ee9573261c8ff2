"""A query at work, event by event: what the event is, where runs go, what the tECS gains, answers.

The words of a step are here; `filmstrip` draws it, `stepper` lets one walk through.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace

from cerlab.display import rich_display
from cerlab.engine.reference.snapshot import TecsSnapshot
from cerlab.model.stream import Stream
from cerlab.predicates.words import answer_text, count_text, event_text
from cerlab.viz.graph import Graph
from cerlab.viz.tecs import snapshot_text

MOST_SENTENCES = 6
"""How many moves, and how many answers, the words of a step tell one by one."""


@rich_display
@dataclass(frozen=True, slots=True)
class Step:
    """One event of a run: the state after it, and the tests that it passes."""

    snapshot: TecsSnapshot
    passes: tuple[str, ...]

    @property
    def position(self) -> int:
        """That of its event."""
        return self.snapshot.position

    @property
    def heading(self) -> str:
        """The event, with its position and its key if there are several."""
        key = f", partition {', '.join(map(str, self.snapshot.key))}" if self.snapshot.key else ""
        return f"event {self.position}: {event_text(self.snapshot.event)}{key}"

    @property
    def words(self) -> tuple[str, ...]:
        """The step in words, a sentence a line."""
        snapshot = self.snapshot
        if not snapshot.is_read:
            return ("The event is in no substream, and changes nothing.",)
        passes = ", ".join(self.passes) or "none of the tests"
        count = len(snapshot.new)
        unions = sum(n.kind == "union" for n in snapshot.nodes if n.number in snapshot.new)
        growth = (
            f"{count_text(count, 'new node')}, unions among them: {unions:,}"
            if count
            else "unchanged"
        )
        return (
            f"It passes: {passes}.",
            *_first_few([_move_text(*move) for move in self._moves()], "moves"),
            f"tECS: {growth}; active macro-states: {len(snapshot.active):,}.",
            *_first_few(self._answers(), "answers"),
        )

    def _moves(self) -> Iterator[tuple[str | None, str, str]]:
        for step in self.snapshot.steps:
            for mark, target in (("•", step.take), ("∘", step.skip)):
                if target is not None:
                    yield step.source, mark, target

    def _answers(self) -> list[str]:
        sentences = [f"Answer {answer_text(x)}." for x in self.snapshot.answers]
        return [*sentences, "Answers: more end here."] if self.snapshot.has_more else sentences


def _move_text(source: str | None, mark: str, target: str) -> str:
    begins = "A run begins" if source is None else f"Runs in {source} go"
    return f"{begins} by {mark} to {target}."


def _first_few(sentences: list[str], what: str) -> list[str]:
    if len(sentences) <= MOST_SENTENCES:
        return sentences
    return [*sentences[:MOST_SENTENCES], f"And {len(sentences) - MOST_SENTENCES:,} more {what}."]


@dataclass(frozen=True, slots=True)
class StepList:
    """A query on a stream, event by event; `machine` is its picture, None if that is too large.

    A sequence of `Step`, shown as a filmstrip.
    """

    query: str
    stream: Stream
    steps: tuple[Step, ...]
    machine: Graph | None

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, k: int) -> Step:
        return self.steps[k]

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __str__(self) -> str:
        return steps_text(self)


def highlight_states(graph: Graph, active: Set[str]) -> Graph:
    """The machine with those macro-states brought forward that have one of these names."""
    nodes = tuple(replace(node, is_new=node.label in active) for node in graph.nodes)
    return replace(graph, nodes=nodes, legend=())


def steps_text(steps: StepList) -> str:
    """Every step in words, with its tECS."""
    parts = [steps.query]
    for step in steps:
        parts += ["", step_text(step)]
    return "\n".join(parts)


def step_text(step: Step) -> str:
    """One step in words, with its tECS."""
    lines = [step.heading, *(f"  {line}" for line in step.words)]
    if step.snapshot.is_read:
        lines += [f"  {line}" for line in snapshot_text(step.snapshot).splitlines()[1:-1]]
    return "\n".join(lines)
