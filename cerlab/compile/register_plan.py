"""An expression to what the register engine runs: streaming form, windows on the outside apart."""

from __future__ import annotations

from cerlab.automata.registers.compose import streaming
from cerlab.automata.registers.epsilon import without_epsilon
from cerlab.automata.registers.plan import MarkWindow, RegisterPlan
from cerlab.automata.registers.reduce import smaller
from cerlab.automata.registers.windows import length_window, mark_bounded
from cerlab.budget import step_budget
from cerlab.compile.slices import WHOLE
from cerlab.compile.sremo_to_srt import SMALLER, sremo_to_srt
from cerlab.logic.sremo.check import check_sremo
from cerlab.logic.sremo.syntax import LengthWindow, SpanWindow, Sremo, Within
from cerlab.model.clauses import AttributeWindow, EventWindow


@step_budget("the transducer of the expression", SMALLER, own=1)
def register_plan(e: Sremo) -> RegisterPlan:
    """What a stream shows of e: the transducer of ``<TRUE>* . e``, and windows (SRT Def. 32).

    Windows around the whole expression are left to the engine, where they cost no states: those on
    marks as they are, one on the length if all matches mark the first and the last event, so that
    it is one on marks. Raises as `sremo_to_srt`.

    >>> from cerlab.logic.sremo.parser import parse_sremo
    >>> plan = register_plan(parse_sremo("(<v = 1>^ . <TRUE>* . <v = 2>^)[len<=30000]"))
    >>> plan.srt.states, plan.windows
    (3, (EventWindow(width=29999),))
    """
    check_sremo(e)
    windows: list[MarkWindow] = []
    around, body = WHOLE, e
    while isinstance(body, SpanWindow | LengthWindow | Within):
        match body:
            case SpanWindow(_, w):
                windows.append(EventWindow(w - 1))
                around = around.in_span(w)
            case LengthWindow(_, w):
                around = around.in_length(w)
            case Within(_, n, attribute):
                windows.append(AttributeWindow(n, attribute))
        body = body.body
    T = without_epsilon(sremo_to_srt(body, around))
    if around.length is not None and mark_bounded(T):
        windows.append(EventWindow(around.length - 1))
    elif around.length is not None:
        T = length_window(T, around.length)
    return RegisterPlan(smaller(streaming(T)), tuple(windows))
