"""Timelines: answers under the events of a stream, as text, SVG and with Matplotlib."""

from cerlab.viz.timeline.layout import Timeline, timeline
from cerlab.viz.timeline.value import Row

__all__ = ["Row", "Timeline", "timeline"]
