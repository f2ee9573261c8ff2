"""Steps as frames: the stream, the machine and the tECS at one event, as one SVG; and as a strip.

A frame is what a step says, above the machine with its active macro-states and the tECS with its
new nodes. A filmstrip is frames below each other, for where no JavaScript runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from cerlab import display
from cerlab.predicates.words import cut
from cerlab.viz.graph import Graph
from cerlab.viz.html import block, escape, items, note, pre
from cerlab.viz.notebook.step_list import Step, StepList, highlighted, step_text, steps_text
from cerlab.viz.render import Look, dark_where_dark, page_colours, svg
from cerlab.viz.render import html as drawn
from cerlab.viz.tecs import tecs_graph
from cerlab.viz.theme import THEMES, Theme, ThemeName

WIDTH = 860
"""The width of a frame, in pixels."""

SHOWN = 8
"""How many frames a display shows."""

LEAST = 0.5
"""How small a machine is drawn; a wider one is left to the words."""

NEIGHBOURS = 12
"""How many events before the one that is read are shown, and how many after it."""

_MARGIN, _LINE, _STRIP, _GAP = 14, 18, 44, 16
_LONGEST = 130  # characters of a line
_POINT = 4 / 3  # pixels in a point, which Graphviz measures in
_CLASS = "cerlab-graph"


@dataclass(frozen=True, slots=True)
class _Picture:
    """What Graphviz drew: an SVG of so many pixels."""

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

    def placed(self, x: float, y: float, width: float, height: float) -> str:
        """It inside another SVG, in a box there."""
        box = re.search(r'viewBox="[^"]*"', self.text)
        inside = self.text[self.text.index(">") + 1 :]
        at = f'x="{x:g}" y="{y:g}" width="{width:.2f}" height="{height:.2f}"'
        return f"<svg {at} {box[0] if box else ''}>{inside}"


class Frames:
    """The frames of some steps, in one theme; a machine is drawn once for each set of states.

    All raise as `cerlab.viz.render.svg`.
    """

    def __init__(self, steps: StepList, theme: Look = "auto") -> None:
        self._steps = steps
        self._theme = theme
        self._drawn: ThemeName = "light" if theme == "auto" else theme
        self._colours: Theme = THEMES[self._drawn]
        self._machines: dict[frozenset[str], _Picture] = {}

    def one(self, k: int) -> str:
        """Step number k as an ``<svg>`` element."""
        step = self._steps[k]
        body, height = self._frame(step)
        title = f"{step.heading}, step {k + 1} of {len(self._steps)}"
        return self._sheet(body, height, title, " ".join(step.words))

    def all(self) -> Iterator[str]:
        """Every step as an ``<svg>`` element."""
        return map(self.one, range(len(self._steps)))

    def strip(self, first: int = 0, last: int | None = None) -> str:
        """The steps from number `first` to before `last` as one ``<svg>``."""
        chosen = self._steps.steps[first:last]
        parts: list[str] = []
        top = 0.0
        for step in chosen:
            body, height = self._frame(step)
            parts.append(f'<g transform="translate(0 {top:g})">{body}</g>')
            top += height + _GAP
        title = f"{self._steps.query}: {len(chosen)} of {len(self._steps)} steps"
        says = " ".join(f"{step.heading}. {' '.join(step.words)}" for step in chosen[:3])
        return self._sheet("\n".join(parts), max(top - _GAP, 1), title, says)

    def _frame(self, step: Step) -> tuple[str, float]:
        """What is in a frame, and its height."""
        parts = [*self._stream(step)]
        y: float = _MARGIN + _STRIP
        parts.append(self._text(_MARGIN, y, step.heading, self._colours.ink, 'font-weight="bold"'))
        for line in step.words:
            y += _LINE
            parts.append(self._text(_MARGIN, y, line, self._colours.faint))
        y += _GAP
        for picture in self._pictures(step):
            scale = min(1.0, (WIDTH - 2 * _MARGIN) / picture.width)
            width, height = picture.width * scale, picture.height * scale
            parts.append(picture.placed(_MARGIN, y, width, height))
            y += height + _GAP
        border = (
            f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{y - 1:.2f}" rx="8" '
            f'fill="none" stroke="{self._colours.ghost}"/>'
        )
        return "\n".join([border, *parts]), y

    def _pictures(self, step: Step) -> Iterator[_Picture]:
        if self._steps.machine is not None:
            active = frozenset(state.name for state in step.snapshot.active)
            if active not in self._machines:
                graph = highlighted(self._steps.machine, active)
                self._machines[active] = _Picture.of(graph, self._drawn)
            if self._machines[active].width * LEAST <= WIDTH:
                yield self._machines[active]
        if step.snapshot.nodes:
            yield _Picture.of(replace(tecs_graph(step.snapshot), legend=()), self._drawn)

    def _stream(self, step: Step) -> Iterator[str]:
        """The events around the one that is read, which is brought forward."""
        colours, events = self._colours, self._steps.stream.events
        first = max(0, step.position - NEIGHBOURS)
        last = min(len(events), step.position + NEIGHBOURS + 1)
        width = (WIDTH - 2 * _MARGIN) / (2 * NEIGHBOURS + 1)
        for number, n in enumerate(range(first, last)):
            x = _MARGIN + number * width
            here = n == step.position
            fill = colours.highlight if here else "none"
            yield (
                f'<rect x="{x + 1:g}" y="10" width="{width - 2:g}" height="28" rx="4" '
                f'fill="{fill}" stroke="{colours.ink if here else colours.ghost}"/>'
            )
            colour = colours.ink if n <= step.position else colours.skip
            label = cut(events[n].type, 5)
            middle = 'text-anchor="middle"'
            yield self._text(x + width / 2, 22, label, colour, f'{middle} font-size="10"')
            yield self._text(x + width / 2, 34, str(n), colour, f'{middle} font-size="9"')

    def _text(self, x: float, y: float, text: str, colour: str, extra: str = "") -> str:
        said = escape(cut(text, _LONGEST))
        return f'<text x="{x:g}" y="{y:g}" fill="{colour}" {extra}>{said}</text>'

    def _sheet(self, body: str, height: float, title: str, says: str) -> str:
        style = dark_where_dark(body) + page_colours(body) if self._theme == "auto" else ""
        return (
            f'<svg class="{_CLASS}" role="img" width="{WIDTH}" height="{height:.0f}" '
            f'viewBox="0 0 {WIDTH} {height:.0f}" xmlns="http://www.w3.org/2000/svg" '
            f'font-family="Helvetica,Arial,sans-serif" font-size="12">\n'
            f"<title>{escape(title)}</title>\n<desc>{escape(says)}</desc>\n{style}\n{body}\n</svg>"
        )


def _html(steps: StepList) -> str:
    strip = Frames(steps).strip(0, SHOWN)
    says = f"showing {SHOWN} of {len(steps)} steps" if len(steps) > SHOWN else ""
    return block(pre(steps.query), strip, note(says))


def _step_html(step: Step) -> str:
    """The words, and the tECS."""
    return block(items(step.heading, step.words), drawn(step.snapshot))


display.register(Step, "text/plain", step_text)
display.register(Step, "text/html", _step_html)
display.register(Step, "image/svg+xml", lambda step: svg(step.snapshot))
display.register(StepList, "text/plain", steps_text)
display.register(StepList, "image/svg+xml", lambda steps: Frames(steps).strip(0, SHOWN))
display.register(StepList, "text/html", _html)
