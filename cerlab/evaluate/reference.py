"""``"reference"``: the denotational semantics, on streams short enough to list it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from cerlab.compile.pattern import AnyPattern, Pattern, SremoPattern
from cerlab.errors import Unsupported
from cerlab.evaluate.protocol import Evaluator
from cerlab.logic.cel.semantics import valuations as so_valuations
from cerlab.logic.ceql.semantics import Meaning, query_answers, query_valuations
from cerlab.logic.ceql.syntax import selected_formula
from cerlab.logic.focel.scope import check_first_order
from cerlab.logic.focel.semantics import fo_valuations
from cerlab.logic.sremo import semantics as sremo
from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.model.clock import TimeAxis
from cerlab.model.event import Event
from cerlab.model.stream import Stream


class Reference(Evaluator):
    """The semantics as it is written (DESIGN 3)."""

    name = "reference"

    def takes(self, pattern: AnyPattern) -> bool:
        """Everything, on small streams."""
        return True

    def answers(self, pattern: AnyPattern, stream: Stream) -> Iterator[ComplexEvent]:
        """The complex events of a query, or what a stream shows of a SREMO (SRT Def. 32)."""
        match pattern:
            case Pattern():
                return iter(query_answers(pattern.ast, stream, _meaning(pattern)))
            case SremoPattern():
                return iter(sremo.detections(pattern.ast, stream.events))
            case _:
                assert_never(pattern)

    def live(
        self, pattern: AnyPattern, events: Iterable[Event], time: TimeAxis | None
    ) -> Iterator[ComplexEvent]:
        """The same after each event: whether an answer ends there depends on no later one."""
        read: list[Event] = []
        for event in events:
            read.append(event)
            for answer in self.answers(pattern, Stream(read, time=time)):
                if answer.end == len(read) - 1:
                    yield answer

    def valuations(
        self, pattern: AnyPattern, events: Iterable[Event], time: TimeAxis | None
    ) -> Iterator[Valuation]:
        """The valuations; under ``"fo"`` of a variable those that its own atoms gave it."""
        if isinstance(pattern, SremoPattern):
            raise Unsupported(
                "CER0482",
                "a SREMO marks positions and has no labels",
                hint="cerlab.evaluate and cerlab.matches give the positions",
            )
        stream = Stream(events, time=time)
        return iter(query_valuations(pattern.ast, stream, _meaning(pattern)))


def _meaning(pattern: Pattern) -> Meaning:
    if pattern.logic == "so":
        return so_valuations
    check_first_order(selected_formula(pattern.ast))
    return fo_valuations
