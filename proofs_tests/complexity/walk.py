"""The functions of cerlab between ``cerlab.evaluate`` and its answer, counted by running it.

``python -m proofs_tests.complexity.walk`` lists them for the tECS and for the compiled engine. A
function counts once, however often it is called; comprehensions and lambdas belong to the function
around them, what the import of a module runs and what Python writes for a class are no functions of
ours. The walk is by data, from the tree of a text to the answer: the parser (`cerlab.logic.parsing`
and the builders) is counted apart.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pyarrow as pa

import cerlab
from cerlab import Stream
from cerlab.evaluate import EvaluatorName

ROOT = str(Path(cerlab.__file__).parent)
QUERY = "SELECT * WHERE A ; B"
EVENTS = [{"type": "A"}, {"type": "C"}, {"type": "B"}]
PARSING = ("logic/ceql/parser.py", "logic/ceql/condition_builder.py", "logic/parsing.py")
"""Files in which text becomes a tree."""


@dataclass(frozen=True)
class Walk:
    """The called functions, as ``file: function``, in the order of their first calls."""

    functions: tuple[str, ...]
    parsing: tuple[str, ...]


def walk(evaluator: EvaluatorName, events: Any = EVENTS) -> Walk:
    """The walk of the second evaluation: loading and compiling are over by then."""

    def evaluate() -> None:
        cerlab.evaluate(QUERY, events, evaluator=evaluator)

    evaluate()
    names = [_name(code) for code in dict.fromkeys(codes_of_calls(evaluate)) if _is_function(code)]
    parsing = tuple(name for name in names if name.startswith(PARSING))
    return Walk(tuple(name for name in names if name not in parsing), parsing)


def codes_of_calls(run: Callable[[], None]) -> list[CodeType]:
    """The code of cerlab that a run enters, in order."""
    codes: list[CodeType] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(ROOT):
            codes.append(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return codes


def _is_function(code: CodeType) -> bool:
    """Whether it is a function with a name of ours: no lambda, comprehension, or ``__method__``."""
    return not code.co_name.startswith(("<", "__"))


def _name(code: CodeType) -> str:
    return f"{Path(code.co_filename).relative_to(ROOT).as_posix()}: {code.co_qualname}"


if __name__ == "__main__":
    walks: tuple[tuple[str, EvaluatorName, Any], ...] = (
        ("tecs", "tecs", EVENTS),
        ("compiled", "compiled", EVENTS),
        ("compiled, of columns", "compiled", Stream.from_arrow(pa.Table.from_pylist(EVENTS))),
    )
    for name, evaluator, events in walks:
        result = walk(evaluator, events)
        print(f"{name}: {len(result.functions)} functions, and {len(result.parsing)} to parse")
        print("".join(f"  {each}\n" for each in result.functions))
