"""The steps of an evaluation as users have them: shown, saved, and in a widget."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from cerlab.automata.plan import Plan
from cerlab.automata.strategy import Machine
from cerlab.display import rich_display
from cerlab.errors import CerlabError, UsageError, needed
from cerlab.io.output import whole_text
from cerlab.model.stream import Stream
from cerlab.predicates.text import predicate_text
from cerlab.viz.deterministic import det_graph
from cerlab.viz.filmstrip import Frames, Step, StepList, steps_text
from cerlab.viz.graph import Graph
from cerlab.viz.html import escape, shaded
from cerlab.viz.render import Look
from cerlab.viz.tecs import tecs_snapshots

MOST_STATES = 24
"""Most macro-states of a machine that is drawn beside a step."""


@rich_display
@dataclass(frozen=True, slots=True, repr=False)
class Steps(StepList):
    """The steps of a query on a stream, which can be shown, saved and moved through.

    Pictures raise as `cerlab.viz.render.svg`.
    """

    def __repr__(self) -> str:
        """Return the size; `str` has the steps."""
        return f"<Steps, {len(self.steps)} of {len(self.stream):,} events>"

    def frame(self, k: int, theme: Look = "auto") -> str:
        """Return the picture of step k as an SVG element."""
        from cerlab.viz.filmstrip import Frames

        return Frames(self, theme).one(k)

    def widget(self) -> Any:
        """Return a slider over all steps; raises `Unsupported` without anywidget."""

        return widget(self)

    def save(self, path: str | Path, theme: Look = "auto") -> None:
        """Save all steps as a strip, a page with a slider, or text, depending on the suffix.

        Raises `UsageError` for other suffixes.
        """
        from cerlab.viz.filmstrip import Frames

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
                    f"expected a file name that ends in .svg, .html or .txt, got '{other}'",
                    hint="for example steps.svg",
                )
        with whole_text(path) as file:
            file.write(f"{text}\n")


def steps_of(
    text: str, plan: Plan, machine: Machine, stream: Stream, *, first: int = 0, last: int | None
) -> Steps:
    """Return the steps at events `first` to before `last`; earlier events are read as well.

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
    except CerlabError:  # too many minterms to explore: show the steps without the machine
        return None
    return graph if len(graph.nodes) <= MOST_STATES else None


SCRIPT = Path(__file__).with_name("stepper.js")

STYLE = shaded(".cerlab-frame")


def widget(steps: StepList, theme: Look = "auto") -> Any:
    """Return a widget with a slider over the steps; its trait ``k`` is the shown step's number."""
    with needed("anywidget", "pip install 'cerlab[notebooks]'", "CER0419"):
        import anywidget
        import traitlets
    return _widget_class(anywidget, traitlets)(frames=list(Frames(steps, theme).all()))


@cache
def _widget_class(anywidget: Any, traitlets: Any) -> Any:
    class Stepper(anywidget.AnyWidget):  # type: ignore[misc] # anywidget is untyped
        """A widget with the pictures of all steps and the number of the shown one."""

        _esm = SCRIPT.read_text()
        _css = STYLE
        frames = traitlets.List(traitlets.Unicode()).tag(sync=True)
        k = traitlets.Int(0).tag(sync=True)

        def _repr_mimebundle_(self, **options: Any) -> Any:
            """Return the widget, and the shown picture for pages without widgets."""
            data, metadata = super()._repr_mimebundle_(**options)
            frame = f'<div class="cerlab-frame">{self.frames[self.k]}</div>'
            return data | {"text/html": f"<style>{STYLE}</style>{frame}"}, metadata

    return Stepper


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root{{color-scheme:light dark}}
body{{font-family:Helvetica,Arial,sans-serif;margin:0 auto;max-width:1100px}}
pre{{white-space:pre-wrap}}
{style}</style>
</head>
<body>
<pre>{title}</pre>
<div id="steps">
{frames}
</div>
<script type="module">
{script}
const el = document.getElementById("steps");
const values = {{ frames: [...el.children].map((frame) => frame.outerHTML), k: 0 }};
render({{
  el,
  model: {{
    get: (name) => values[name],
    set: (name, value) => {{ values[name] = value; }},
    save_changes: () => {{}},
    on: () => {{}},
  }},
}});
</script>
</body>
</html>
"""


def page(steps: StepList, theme: Look = "auto") -> str:
    """Return a self-contained HTML page with a slider over the steps."""
    # the widget's module is inlined, so it exports nothing
    script = SCRIPT.read_text().replace("export default { render };\n", "")
    frames = "\n".join(Frames(steps, theme).all())
    return _PAGE.format(title=escape(steps.query), frames=frames, script=script, style=STYLE)
