"""Queries as cells of a notebook: ``%load_ext cerlab`` registers ``%%ceql`` and ``%ceql``.

    %%ceql stocks --limit 100 --as found
    SELECT * WHERE SELL AS a ; BUY AS b
    FILTER a[price > 30] WITHIN 10 SECONDS

    %ceql --on stocks SELL ; BUY

Without a stream, the result is the `Query` (or SREMO); with one, its answers. Errors show the
place in the text. Warnings are printed below the cell each time it runs.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, cast, get_args

from cerlab import io
from cerlab.api import Answers, Matches, Query, as_query, evaluate
from cerlab.compile.pattern import LANGUAGES, Language, Pattern, SremoPattern, any_pattern
from cerlab.errors import CerlabWarning, UsageError, nearest
from cerlab.evaluate import EvaluatorName
from cerlab.logic.sremo.syntax import Sremo

OPTIONS = ("on", "evaluator", "limit", "as", "language")

_OPTION = re.compile(r"--(\w[\w-]*)(?:\s*=\s*|\s+)?(\S+)?\s*")


Result = Query | Sremo | Matches | Answers
"""The result of a cell: a query, or its answers."""


def register(shell: Any) -> None:
    """Register the line and cell magic with an IPython shell."""

    def ceql(line: str, cell: str | None = None) -> Result:
        """Read a query and run it on a stream.

        %%ceql [EVENTS] [--evaluator E] [--limit N] [--as NAME] [--language ceql|cel|sremo]
        %ceql [--on EVENTS] [the same options] QUERY
        """
        return ceql_magic(shell.user_ns, line, cell)

    shell.register_magic_function(ceql, magic_kind="line_cell", magic_name="ceql")


def ceql_magic(names: MutableMapping[str, Any], line: str, cell: str | None) -> Result:
    """Return the result of ``%%ceql line`` over `cell`, looking up `names` for variables.

    Raises `UsageError` for unknown options and variables, and the errors of reading and evaluating
    the query.
    """
    options, rest = _options(line, in_cell=cell is not None)
    if cell is not None:
        words = rest.split()
        if len(words) > 1 or (words and "on" in options):
            raise UsageError(
                "CER0842",
                f"a cell is run on one variable, not on '{rest}'",
                hint="write %%ceql EVENTS, and the query in the lines below",
            )
        options |= {"on": words[0]} if words else {}
    with _print_warnings():
        result = _result(names, options, rest if cell is None else cell)
    if "as" in options:
        names[options["as"]] = result
    return result


def _options(line: str, *, in_cell: bool) -> tuple[dict[str, str], str]:
    """Return the options of the magic's line, and the rest of the line."""
    options: dict[str, str] = {}
    rest = line.strip()
    variable = re.match(r"[^\W\d]\w*\s+(?=--)", rest) if in_cell else None
    words, rest = (variable[0], rest[variable.end() :]) if variable else ("", rest)
    while option := _OPTION.match(rest):
        name, value = option.groups()
        if name not in OPTIONS:
            hint = nearest(name, OPTIONS)
            raise UsageError("CER0843", f"unknown option '--{name}'", hint=hint)
        if value is None:
            raise UsageError(
                "CER0844",
                f"the option --{name} needs a value",
                hint="write the value after the option",
            )
        options[name] = value
        rest = rest[option.end() :]
    return options, words + rest


def _result(names: MutableMapping[str, Any], options: dict[str, str], text: str) -> Result:
    evaluator, limit = _evaluator(options.get("evaluator")), _limit(options.get("limit"))
    pattern = any_pattern(text, _language(options.get("language")))
    if "on" not in options:
        if evaluator or limit is not None:
            raise UsageError(
                "CER0845",
                "--evaluator and --limit need a stream",
                hint="name the variable that holds the stream: %%ceql EVENTS",
            )
        return pattern.ast if isinstance(pattern, SremoPattern) else as_query(pattern)
    stream = io.as_stream(_variable(names, options["on"]))
    if isinstance(pattern, Pattern) and not evaluator and limit is None:
        return Matches(pattern, stream)
    answers = evaluate(pattern, stream, evaluator=evaluator or "auto", limit=limit)
    return Answers(stream, tuple(answers))


def _variable(names: MutableMapping[str, Any], name: str) -> Any:
    if name not in names:
        variables = [each for each in names if not each.startswith("_")]
        raise UsageError("CER0846", f"there is no variable '{name}'", hint=nearest(name, variables))
    return names[name]


def _evaluator(name: str | None) -> EvaluatorName | None:
    if name is not None and name not in get_args(EvaluatorName):
        hint = nearest(name, get_args(EvaluatorName))
        raise UsageError("CER0805", f"unknown evaluator '{name}'", hint=hint)
    return cast("EvaluatorName | None", name)


def _language(name: str | None) -> Language | None:
    if name is not None and name not in LANGUAGES:
        raise UsageError("CER0806", f"unknown language '{name}'", hint=nearest(name, LANGUAGES))
    return name


def _limit(text: str | None) -> int | None:
    if text is not None and not text.isdecimal():
        raise UsageError(
            "CER0804", f"limit is {text}, not a number of answers", hint="write --limit 10"
        )
    return None if text is None else int(text)


@contextmanager
def _print_warnings() -> Iterator[None]:
    """Print cerlab's warnings on standard error, one line each, also repeated ones."""
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(message: Any, category: Any, *place: Any, **more: Any) -> None:
            if issubclass(category, CerlabWarning):
                print(f"warning: {message}", file=sys.stderr)
            else:
                others(message, category, *place, **more)

        warnings.showwarning = show
        # Python shows a warning of one line once, but a cell runs repeatedly
        warnings.simplefilter("always", CerlabWarning)
        yield
