"""Text, HTML and SVG of answers and sessions; importing this module registers all renderers."""

from cerlab import display
from cerlab.api.answers import Answers, Matches
from cerlab.api.sessions import Session
from cerlab.viz import displays
from cerlab.viz.answers import answers_html, answers_svg, answers_text

__all__ = ["displays"]

for _kind in (Matches, Answers):
    display.register(_kind, "text/plain", answers_text)
    display.register(_kind, "text/html", answers_html)
    display.register(_kind, "image/svg+xml", answers_svg)
display.register(Session, "text/html", displays.session_html)
