"""The directive ``query``: a query on a few events, answered and drawn when the site is built.

::

    ```{query} A() B() A() B()
    :show: timeline automaton
    SELECT * WHERE A ; B
    ```

The argument is the stream in CORE's text form, separated by blanks. It shows the query, its
answers, and what ``show`` names: ``timeline`` (the default), ``automaton``, ``formula``,
``labels``, ``takes`` (which evaluators take it), or ``nothing``. With ``logic: fo`` the
text is FO-CEL, with ``language: sremo`` a SREMO; with ``refused`` an error is what is to be shown.
``time: min`` reads the attribute ``t`` as minutes, or another unit. ``answers: {0, 1} {4}`` are the
positions that a test of the manual expects; the page shows those that are computed.
"""

from __future__ import annotations

from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives

import cerlab
from cerlab.compile.pattern import any_pattern
from cerlab.evaluate import names_that_take
from cerlab.io.source import text_events

LISTED = 8
"""Most answers that a page lists; the text counts the others."""


class Query(Directive):
    """A query, its events, its answers and its pictures."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {
        "show": directives.unchanged,
        "logic": directives.unchanged,
        "language": directives.unchanged,
        "refused": directives.flag,
        "time": directives.unchanged,
        "answers": directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the page."""
        text = "\n".join(self.content)
        events: Any = _events(self.arguments[0]) if self.arguments else []
        shown = self.options.get("show", "timeline").split()
        logic = self.options.get("logic", "so")
        language = self.options.get("language", "ceql")
        lexer = "text" if language == "sremo" else "ceql"
        page: list[nodes.Node] = [nodes.literal_block(text, text, language=lexer)]
        what: Any = cerlab.parse_sremo(text) if language == "sremo" else text
        if "refused" in self.options:
            return [*page, *_refusal(what, events, logic)]
        if any(event.attributes for event in events):
            page.append(_listed(self.arguments[0]))
        if "time" in self.options:
            events = cerlab.Stream(events, time="t", unit=self.options["time"])
        if events:
            page += _answers(what, events, logic, labels="labels" in shown)
        for name in shown:
            page += _SHOWN[name](what, events, logic)
        return page


def _events(text: str) -> list[Any]:
    return text_events("\n".join(text.split()), "core")


def _listed(text: str) -> nodes.Node:
    """Return the events with their values, which the picture shows only in hover text."""
    listed = "   ".join(f"{n} {event}" for n, event in enumerate(text.split()))
    return nodes.literal_block(listed, listed, language="text")


def _refusal(what: Any, events: Any, logic: Any) -> list[nodes.Node]:
    try:
        cerlab.evaluate(what, events, logic=logic)
    except cerlab.CerlabError as error:
        return [nodes.literal_block(str(error), str(error), language="text")]
    raise ValueError(f"this query is not refused: {what}")


def _answers(what: Any, events: Any, logic: Any, *, labels: bool) -> list[nodes.Node]:
    """Return the number of answers by the reference, and the first answers."""
    if labels:
        found = sorted(
            cerlab.valuations(what, events, logic=logic), key=lambda v: (v.end, v.start, repr(v))
        )
        rows = [
            f"[{v.start}, {v.end}]  "
            + "  ".join(f"{name} {_set(at)}" for name, at in sorted(v.labels.items()))
            for v in found
        ]
    else:
        answers = cerlab.evaluate(what, events, evaluator="reference", logic=logic)
        rows = [f"[{a.start}, {a.end}]  {_set(a.positions)}" for a in answers]
    if not rows:
        return [nodes.paragraph("", "No answer.")]
    more = [f".. {len(rows)} in all"] if len(rows) > LISTED else []
    listed = "\n".join(rows[:LISTED] + more)
    return [nodes.literal_block(listed, listed, language="text")]


def _set(positions: tuple[int, ...]) -> str:
    return "{" + ", ".join(map(str, positions)) + "}"


def _timeline(what: Any, events: Any, logic: Any) -> list[nodes.Node]:
    if logic == "fo":
        what = cerlab.evaluate(what, events, logic="fo")
    return _picture(cerlab.timeline(what, cerlab.Stream(events)), "The answers under the events")


def _automaton(what: Any, events: Any, logic: Any) -> list[nodes.Node]:
    pattern = _read(what, logic)
    if pattern.machine_kind == "automaton":
        return _picture(cerlab.show(pattern, what="cea"), "Its automaton")
    return _picture(cerlab.show(pattern, what="srt"), "Its register transducer")


def _read(what: Any, logic: Any) -> Any:
    pattern: Any = any_pattern(what)
    return pattern.first_order if logic == "fo" else pattern


def _formula(what: Any, events: Any, logic: Any) -> list[nodes.Node]:
    return _picture(cerlab.parse_query(what).formula, "Its formula")


def _takes(what: Any, events: Any, logic: Any) -> list[nodes.Node]:
    pattern = _read(what, logic)
    names = names_that_take(pattern)
    return [nodes.paragraph("", "Evaluators: " + ", ".join(names) + ".")]


def _picture(value: Any, title: str) -> list[nodes.Node]:
    """Return the SVG that a notebook shows, with its title for screen readers."""
    bundle = value._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    picture = data.get("text/html") or data["image/svg+xml"]
    html = f'<figure class="picture" tabindex="0" aria-label="{title}">{picture}</figure>'
    return [nodes.raw("", html, format="html")]


_SHOWN: dict[str, Any] = {
    "timeline": _timeline,
    "automaton": _automaton,
    "formula": _formula,
    "takes": _takes,
    "labels": lambda *_: [],
    "nothing": lambda *_: [],
}


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("query", Query)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
