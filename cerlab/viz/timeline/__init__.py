"""Timelines: answers under the events of a stream, as text, SVG and with Matplotlib."""

from cerlab.viz.timeline.layout import Row, Timeline, timeline

__all__ = ["Row", "Timeline", "timeline"]
