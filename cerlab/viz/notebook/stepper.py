"""Walking through steps with a slider: as a widget in a notebook, and as a page of its own.

Both run the same few lines of JavaScript, `stepper.js`. Without JavaScript the page shows every
frame, one below the other.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from cerlab.errors import Unsupported
from cerlab.viz.html import escape
from cerlab.viz.notebook.filmstrip import Frames
from cerlab.viz.notebook.step_list import StepList
from cerlab.viz.render import Look

SCRIPT = Path(__file__).with_name("stepper.js")

STYLE = """
.cerlab-frame{overflow-x:auto;background-repeat:no-repeat;background-attachment:local,local,scroll,scroll}
.cerlab-frame{background-image:linear-gradient(to right,var(--ground) 30%,transparent),
linear-gradient(to left,var(--ground) 30%,transparent),
linear-gradient(to right,#8886,transparent),linear-gradient(to left,#8886,transparent)}
.cerlab-frame{background-position:left,right,left,right}
.cerlab-frame{background-size:2.5rem 100%,2.5rem 100%,.8rem 100%,.8rem 100%}
.cerlab-frame{--ground:var(--jp-layout-color0,Canvas)}
"""
"""A frame that is wider than the page scrolls, and a shade at the edge says so."""


def widget(steps: StepList, theme: Look = "auto") -> Any:
    """An anywidget with the frames; its trait ``k`` is the number of the one that shows.

    Raises `Unsupported` without anywidget (the extra ``notebooks``), and as
    `cerlab.viz.render.svg`.
    """
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise Unsupported(
            "CER0419", "anywidget is not installed", hint="pip install 'cerlab[notebooks]'"
        ) from None
    return _widget_class(anywidget, traitlets)(frames=list(Frames(steps, theme).all()))


@cache
def _widget_class(anywidget: Any, traitlets: Any) -> Any:
    class Stepper(anywidget.AnyWidget):  # type: ignore[misc]
        """The frames of some steps, and which one shows."""

        _esm = SCRIPT.read_text()
        _css = STYLE
        frames = traitlets.List(traitlets.Unicode()).tag(sync=True)
        k = traitlets.Int(0).tag(sync=True)

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
    """A page that needs nothing else; raises as `cerlab.viz.render.svg`."""
    script = SCRIPT.read_text().replace("export default { render };\n", "")
    frames = "\n".join(Frames(steps, theme).all())
    return _PAGE.format(title=escape(steps.query), frames=frames, script=script, style=STYLE)
