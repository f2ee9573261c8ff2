"""The evaluation of a query step by step, as pictures and as a strip of pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice
from zlib import crc32

from cerlab import display
from cerlab.display import rich_display
from cerlab.engine.reference.snapshot import TecsSnapshot
from cerlab.model.stream import Stream
from cerlab.predicates.text import answer_text, count_text, cut, event_text
from cerlab.viz.graph import THEMES, Graph, Theme, ThemeName
from cerlab.viz.html import block, escape, items, note, pre, shaded
from cerlab.viz.render import Look, dark_where_dark, page_colours, svg
from cerlab.viz.render import html as picture_html
from cerlab.viz.tecs import Replay, snapshot_text

MOST_SENTENCES = 6
"""Most moves, and most answers, listed in the text of a step."""


@rich_display
@dataclass(frozen=True, slots=True)
class Step:
    """One step of an evaluation: the state after an event, and the tests that the event passes."""

    snapshot: TecsSnapshot
    passes: tuple[str, ...]

    @property
    def position(self) -> int:
        """The position of the event."""
        return self.snapshot.position

    @property
    def heading(self) -> str:
        """The event with its position, and its partition key if there are partitions."""
        key = f", partition {', '.join(map(str, self.snapshot.key))}" if self.snapshot.key else ""
        return f"event {self.position}: {event_text(self.snapshot.event)}{key}"

    @property
    def words(self) -> tuple[str, ...]:
        """A description of the step, one sentence each."""
        snapshot = self.snapshot
        if not snapshot.is_read:
            return ("The event is in no substream and has no effect.",)
        passes = ", ".join(self.passes) or "none"
        count = len(snapshot.new)
        unions = sum(n.kind == "union" for n in snapshot.nodes if n.number in snapshot.new)
        growth = (
            f"{count_text(count, 'new node')}, unions among them: {unions:,}"
            if count
            else "unchanged"
        )
        return (
            f"Tests passed: {passes}.",
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


def _first_few(sentences: list[str], noun: str) -> list[str]:
    if len(sentences) <= MOST_SENTENCES:
        return sentences
    return [*sentences[:MOST_SENTENCES], f"And {len(sentences) - MOST_SENTENCES:,} more {noun}."]


@dataclass(frozen=True, slots=True)
class StepList:
    """The steps of a query on a stream, shown as a strip of pictures.

    `machine` is the picture of the machine, None if it is too large.
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
    """Return the machine's picture with the active macro-states highlighted."""
    nodes = tuple(replace(node, is_new=node.label in active) for node in graph.nodes)
    return replace(graph, nodes=nodes, legend=())


def steps_text(steps: StepList) -> str:
    """Return all steps as text, each with its tECS."""
    parts = [steps.query]
    for step in steps:
        parts += ["", step_text(step)]
    return "\n".join(parts)


def step_text(step: Step) -> str:
    """Return one step as text, with its tECS."""
    lines = [step.heading, *(f"  {line}" for line in step.words)]
    if step.snapshot.is_read:
        lines += [f"  {line}" for line in snapshot_text(step.snapshot).splitlines()[1:-1]]
    return "\n".join(lines)


WIDTH = 736
"""Width of a frame in pixels: that of a column of text, so that text keeps its size."""

MOST_FRAMES = 12
"""Most frames that a display shows."""

LEAST = 0.65
"""Smallest scale of pictures, at which text is 9.5 pixels high; wider ones make a frame scroll."""

WIDEST = 2_000
"""Width in pixels of the widest machine that is drawn."""

TOGETHER = MOST_FRAMES
"""Number of steps that share a layout: all steps of a display."""

NEIGHBOURS = 9
"""Events shown before and after the current one."""

_MARGIN, _LINE, _STRIP, _GAP = 12, 18, 48, 12

_LONGEST = 116  # longest line, in characters

_CELLS = 3
"""Short sentences per line: a step may have sixteen, and all frames have one height."""

_POINT = 4 / 3  # pixels per point, Graphviz's unit

_CLASS = "cerlab-graph"


@dataclass(frozen=True, slots=True)
class _Picture:
    """A picture by Graphviz: its SVG text and its size in pixels."""

    text: str
    width: float
    height: float

    @classmethod
    def of(cls, graph: Graph, theme: ThemeName) -> _Picture:
        text = svg(graph, theme)
        width, height = (
            float(size) * _POINT for size in re.findall(r'(?:width|height)="([\d.]+)pt"', text)[:2]
        )
        return cls(text, width, height)

    def svg_at(self, x: float, y: float, width: float, height: float) -> str:
        """Return the picture as an SVG element with the given position and size."""
        box = re.search(r'viewBox="[^"]*"', self.text)
        inside = self.text[self.text.index(">") + 1 :]
        at = f'x="{x:g}" y="{y:g}" width="{width:.2f}" height="{height:.2f}"'
        return f"<svg {at} {box[0] if box else ''}>{inside}"


@dataclass(frozen=True, slots=True)
class _Layout:
    """The places and scales of the tECS and the machine in some frames.

    `way` is the direction of the machine, LR or TB. `machine` is its scale, 0 if it is omitted.
    `width` and `height` are those of the frame.
    """

    replays: Mapping[tuple[object, ...], Replay]
    way: str
    machine: float
    tecs: float
    x: float
    y: float
    width: float
    height: float


class Frames:
    """The pictures of all steps in one theme; equal pictures of the machine are drawn once.

    The methods raise as `cerlab.viz.render.svg`.
    """

    def __init__(self, steps: StepList, theme: Look = "auto") -> None:
        self._steps = steps
        self._theme = theme
        self._base_theme: ThemeName = "light" if theme == "auto" else theme
        self._colours: Theme = THEMES[self._base_theme]
        self._machines: dict[tuple[frozenset[str], str], _Picture] = {}
        self._layouts: dict[int, _Layout] = {}
        most = max((len(_lines(step.words)) for step in steps), default=0)
        self._head = _MARGIN + _STRIP + _LINE * most + _GAP

    def one(self, k: int) -> str:
        """Return the picture of step k as an SVG element."""
        step = self._steps[k]
        layout, body = self._frame(k)
        title = f"{step.heading}, step {k + 1} of {len(self._steps)}"
        return self._sheet(body, layout.width, layout.height, title, " ".join(step.words))

    def all(self) -> Iterator[str]:
        """Yield the picture of every step as an SVG element."""
        return map(self.one, range(len(self._steps)))

    def strip(self, first: int = 0, last: int | None = None) -> str:
        """Return the steps from `first` to before `last` as one SVG element."""
        numbers = range(len(self._steps))[first:last]
        steps = self._steps.steps[first:last]
        parts: list[str] = []
        top = width = 0.0
        for k in numbers:
            layout, body = self._frame(k)
            parts.append(f'<g transform="translate(0 {top:g})">{body}</g>')
            top += layout.height + _GAP
            width = max(width, layout.width)
        title = f"{self._steps.query}: {len(steps)} of {len(self._steps)} steps"
        says = " ".join(f"{step.heading}. {' '.join(step.words)}" for step in steps[:3])
        return self._sheet("\n".join(parts), width, max(top - _GAP, 1), title, says)

    def _frame(self, k: int) -> tuple[_Layout, str]:
        """Return the layout and the content of the picture of step k."""
        step, layout = self._steps[k], self._layout(k // TOGETHER)
        parts = [*self._stream(step)]
        y: float = _MARGIN + _STRIP
        parts.append(self._text(_MARGIN, y, step.heading, self._colours.ink, 'font-weight="bold"'))
        for line in _lines(step.words):
            y += _LINE
            for n, sentence in enumerate(line):
                x = _MARGIN + n * (WIDTH - 2 * _MARGIN) / _CELLS
                parts.append(self._text(x, y, sentence, self._colours.faint))
        if layout.machine:
            machine, scale = self._machine(step, layout.way), layout.machine
            size = (machine.width * scale, machine.height * scale)
            parts.append(machine.svg_at(_MARGIN, self._head, *size))
        tecs = layout.replays[step.snapshot.key].at(step.snapshot)
        place = f"translate({layout.x:.2f} {layout.y:.2f}) scale({layout.tecs:.4f})"
        border = (
            f'<rect x="0.5" y="0.5" width="{layout.width - 1:.2f}" '
            f'height="{layout.height - 1:.2f}" rx="8" fill="none" stroke="{self._colours.ghost}"/>'
        )
        return layout, "\n".join([border, *parts, f'<g transform="{place}">{tecs}</g>'])

    def _layout(self, number: int) -> _Layout:
        """Return the layout of a group of steps, cached."""
        if number not in self._layouts:
            first = number * TOGETHER
            self._layouts[number] = self._lay_out(self._steps.steps[first : first + TOGETHER])
        return self._layouts[number]

    def _lay_out(self, steps: Sequence[Step]) -> _Layout:
        """Return a layout: machine and tECS side by side, or stacked if that is too wide."""
        groups: dict[tuple[object, ...], list[TecsSnapshot]] = {}
        for step in steps:
            groups.setdefault(step.snapshot.key, []).append(step.snapshot)
        replays = {key: Replay(snapshots, self._base_theme) for key, snapshots in groups.items()}
        width: float = _POINT * max(replay.width for replay in replays.values())
        height = _POINT * max(replay.height for replay in replays.values())
        room = WIDTH - 2 * _MARGIN
        machines = {way: self._machine(steps[0], way) for way in self._ways()}
        scales = {w: (room - _GAP) / (each.width + width) for w, each in machines.items()}
        # if both directions fit, `max` returns the first, left to right
        way = max(scales, key=lambda w: min(1.0, scales[w]), default="")
        if way and scales[way] >= LEAST:
            scale, machine = min(1.0, scales[way]), machines[way]
            x, bottom = machine.width * scale + _GAP, scale * max(machine.height, height)
            frame = (float(WIDTH), self._head + bottom + _GAP)
            return _Layout(replays, way, scale, _POINT * scale, _MARGIN + x, self._head, *frame)
        scale, above = max(LEAST, min(1.0, room / width)), 0.0
        y, wide = float(self._head), width * scale
        if across := machines.get("LR"):
            above = max(LEAST, min(1.0, room / across.width))
            y += across.height * above + _GAP
            wide = max(wide, across.width * above)
        frame = (max(float(WIDTH), wide + 2 * _MARGIN), y + height * scale + _GAP)
        return _Layout(replays, "LR", above, _POINT * scale, _MARGIN, y, *frame)

    def _ways(self) -> tuple[str, ...]:
        """Return the directions in which the machine may be drawn; () if it is too wide."""
        if self._steps.machine is None or self._machine(self._steps[0], "LR").width > WIDEST:
            return ()
        return ("LR", "TB")

    def _machine(self, step: Step, way: str) -> _Picture:
        """Return the machine drawn in one direction, a step's active macro-states highlighted."""
        assert self._steps.machine is not None
        active = frozenset(state.name for state in step.snapshot.active)
        if (active, way) not in self._machines:
            graph = replace(highlight_states(self._steps.machine, active), direction=way)
            self._machines[active, way] = _Picture.of(graph, self._base_theme)
        return self._machines[active, way]

    def _stream(self, step: Step) -> Iterator[str]:
        """Yield the events around a step's event, which is highlighted."""
        colours, events = self._colours, self._steps.stream.events
        first = max(0, step.position - NEIGHBOURS)
        last = min(len(events), step.position + NEIGHBOURS + 1)
        width = (WIDTH - 2 * _MARGIN) / (2 * NEIGHBOURS + 1)
        for number, n in enumerate(range(first, last)):
            x = _MARGIN + number * width
            current = n == step.position
            fill = colours.highlight if current else "none"
            yield (
                f'<rect x="{x + 1:g}" y="10" width="{width - 2:g}" height="34" rx="4" '
                f'fill="{fill}" stroke="{colours.ink if current else colours.ghost}"/>'
            )
            colour = colours.ink if n <= step.position else colours.skip
            label = cut(events[n].type, 5)
            middle = 'text-anchor="middle"'
            yield self._text(x + width / 2, 24, label, colour, f'{middle} font-size="11"')
            yield self._text(x + width / 2, 38, str(n), colour, f'{middle} font-size="11"')

    def _text(self, x: float, y: float, text: str, colour: str, extra: str = "") -> str:
        words = escape(cut(text, _LONGEST))
        return f'<text x="{x:g}" y="{y:g}" fill="{colour}" {extra}>{words}</text>'

    def _sheet(self, body: str, width: float, height: float, title: str, says: str) -> str:
        style = dark_where_dark(body) + page_colours(body) if self._theme == "auto" else ""
        return (
            f'<svg class="{_CLASS}" role="img" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" xmlns="http://www.w3.org/2000/svg" '
            f'font-family="Helvetica,Arial,sans-serif" font-size="12">\n'
            f"<title>{escape(title)}</title>\n<desc>{escape(says)}</desc>\n{style}\n{body}\n</svg>"
        )


def _lines(sentences: Iterable[str]) -> list[list[str]]:
    """Return sentences in lines, several short ones per line.

    >>> _lines(["A.", "B.", "x" * 60, "C.", "D.", "E.", "F."])[2:]
    [['C.', 'D.', 'E.'], ['F.']]
    """
    lines: list[list[str]] = []
    for sentence in sentences:
        line = [*(lines[-1] if lines else ()), sentence]
        if lines and len(line) <= _CELLS and max(map(len, line)) <= _LONGEST // _CELLS:
            lines[-1] = line
        else:
            lines.append([sentence])
    return lines


_BUTTONS = (
    f"<style>{shaded('.cerlab-steps>.frame')}"
    + """
.cerlab-steps>input{position:absolute;opacity:0}
.cerlab-steps>label{display:inline-block;padding:.1em .6em;margin:.1em;cursor:pointer}
.cerlab-steps>label{border:1px solid rgba(128,128,128,.5);border-radius:4px}
.cerlab-steps>input:checked+label{font-weight:bold;border-color:currentColor}
.cerlab-steps>input:focus-visible+label{outline:2px solid #0072b2}
.cerlab-steps>.frame{display:none;margin-top:.4em}
</style>"""
)
"""CSS that shows a frame while the radio button of its number is selected."""


def _html(steps: StepList) -> str:
    frames = list(islice(Frames(steps).all(), MOST_FRAMES))
    name = f"steps{crc32(''.join(frames).encode()):08x}"
    rules, buttons = [], []
    for k, step in enumerate(steps.steps[:MOST_FRAMES]):
        button = f"{name}-{k}"
        rules.append(f"#{button}:checked~.frame.k{k}{{display:block}}")
        attribute = ' checked=""' if k == 0 else ""
        says = escape(f"{step.position} {cut(step.snapshot.event.type, 12)}")
        buttons.append(f'<input type="radio" name="{name}" id="{button}"{attribute}/>')
        buttons.append(f'<label for="{button}">{says}</label>')
    panes = [f'<div class="frame k{k}">{frame}</div>' for k, frame in enumerate(frames)]
    style = f"{_BUTTONS}<style>{''.join(rules)}</style>"
    walk = "\n".join([style, '<div class="cerlab-steps">', *buttons, *panes, "</div>"])
    says = f"showing {MOST_FRAMES} of {len(steps)} steps" if len(steps) > MOST_FRAMES else ""
    return block(pre(steps.query), walk, note(says))


def _step_html(step: Step) -> str:
    return block(items(step.heading, step.words), picture_html(step.snapshot))


display.register(Step, "text/plain", step_text)
display.register(Step, "text/html", _step_html)
display.register(Step, "image/svg+xml", lambda step: svg(step.snapshot))
display.register(StepList, "text/plain", steps_text)
display.register(StepList, "image/svg+xml", lambda steps: Frames(steps).strip(0, MOST_FRAMES))
display.register(StepList, "text/html", _html)
