"""Errors and warnings, each with a stable code, a place and a hint.

Codes are ``CER`` and four digits; the first two name the class, and a code never changes its
meaning: 01 syntax, 02 ill-formed, 03 type, 04 unsupported, 05 undecided, 06 resource limit, 07 bad
data, 08 usage, 09 warnings.
"""

from __future__ import annotations

import codecs
import difflib
import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import update_wrapper
from html import escape
from types import FunctionType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Characters that move the cursor, change a terminal, or hide or reorder text, except newlines.

Joiners (U+200C, U+200D) are kept: Persian, Indic scripts and emoji are spelled with them.
"""


def printable(text: str) -> str:
    """Return untrusted text for a terminal, with control characters escaped as in JSON.

    >>> printable("a\\x1b[31mb")
    'a\\\\u001b[31mb'
    """
    return _CONTROLS.sub(lambda match: _escaped(match[0]), text)


def _escaped(text: str) -> str:
    units = text.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[n : n + 4]}" for n in range(0, len(units), 4))


ESCAPE = "cerlab.escaped"
"""Error handler of `codecs` that writes JSON escapes such as ``\\u00e9`` for missing characters."""


def _escape(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return _escaped(error.object[error.start : error.end]), error.end


codecs.register_error(ESCAPE, _escape)


@dataclass(frozen=True, slots=True)
class Span:
    """A range of source text; lines and columns count from 1, and the end column is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A span in the text of a query, with the excerpt that errors show."""

    text: str
    span: Span

    def describe(self) -> str:
        """Return the place as text: ``line 2, column 7``."""
        return f"line {self.span.line}, column {self.span.column}"

    def excerpt(self) -> str:
        """Return the source line, cut to 100 columns around the span, with a caret below it."""
        lines = self.text.split("\n")
        line = lines[min(self.span.line, len(lines)) - 1].rstrip("\r").replace("\t", " ")
        # one column per character, as the parser counts; wider replacements would shift the caret
        line = _CONTROLS.sub("\ufffd", line)
        start = self.span.column - 1
        end = self.span.end_column - 1 if self.span.end_line == self.span.line else len(line)
        left = max(0, start - 60)
        part = line[left : left + 100]
        width = max(1, min(end - start, len(part) - (start - left)))
        return f"    {part}\n    {' ' * (start - left)}{'^' * width}"


@dataclass(frozen=True, slots=True)
class DataPlace:
    """A place in a data source: file, row (lines of a file count from 1) and column name."""

    file: str
    row: int | None = None
    column: str | None = None

    def describe(self) -> str:
        """Return the place as text: ``prices.csv, row 7, column 'price'``."""
        parts = [self.file]
        if self.row is not None:
            parts.append(f"row {self.row}")
        if self.column is not None:
            parts.append(f"column '{self.column}'")
        return ", ".join(parts)

    def excerpt(self) -> str:
        """Return an empty text: errors never show data."""
        return ""


class HintByDoor(str):
    """A hint or warning for Python that also holds its text for the command line."""

    command_line: str


def by_door(python: str, command_line: str) -> HintByDoor:
    """Return a hint that names keywords in Python and options on the command line.

    >>> hint = by_door("give unit=", "give --time t:ms")
    >>> str(hint), hint.command_line
    ('give unit=', 'give --time t:ms')
    """
    hint = HintByDoor(python)
    hint.command_line = command_line
    return hint


def on_command_line(error: CerlabError) -> CerlabError:
    """Return the error with its hint replaced by the form for the command line."""
    if isinstance(error.hint, HintByDoor):
        error.hint = error.hint.command_line
    return error


class CerlabError(Exception):
    """Base of all errors that cerlab raises on purpose: a stable ``code`` and a ``hint``."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        place: SourcePlace | DataPlace | None = None,
        hint: str = "",
    ) -> None:
        self.code = code
        self.message = message
        self.place = place
        self.hint = hint
        super().__init__(code, message)

    def __str__(self) -> str:
        where = f" ({self.place.describe()})" if self.place else ""
        lines = [f"{self.code}: {self.message}{where}"]
        if self.place and self.place.excerpt():
            lines.append(self.place.excerpt())
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return printable("\n".join(lines))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to rebuild the error in another process."""
        # the default would call the class with `args` alone, and most classes here need more
        return _same_error, (type(self), self.args, vars(self).copy())

    def _render_traceback_(self) -> list[str]:
        """Return the text that IPython shows for an error in a cell."""
        return [f"{type(self).__name__}: {self}"]

    def _repr_html_(self) -> str:
        return f"<pre>{escape(f'{type(self).__name__}: {self}')}</pre>"


def _same_error(kind: type[CerlabError], words: tuple[Any, ...], state: dict[str, Any]) -> Any:
    error = kind.__new__(kind, *words)
    vars(error).update(state)
    return error


class QuerySyntaxError(CerlabError):
    """Text outside the language, with line, column, caret and the expected words."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        place: SourcePlace,
        expected: Iterable[str],
        hint: str = "",
    ) -> None:
        self.expected = tuple(expected)
        expectation = f"expected {', '.join(self.expected)}" if self.expected else ""
        super().__init__(
            code, message, place=place, hint="; ".join(filter(None, [hint, expectation]))
        )
        self.line = place.span.line
        self.column = place.span.column
        self.caret = place.excerpt()


class IllFormed(CerlabError):
    """Text of the language that violates a condition of its definition."""


class TypeMismatch(CerlabError):
    """An attribute, event type, stream or comparison that the schema does not allow.

    If a session with a lateness refuses an event for its type, `matches` has the results so far, as
    in `BadData`.
    """

    matches: Sequence[Any] = ()


class Unsupported(CerlabError):
    """A construct that this evaluator does not support.

    The hint names an evaluator that supports it, if any.

    `by_none` is True if no evaluator supports it on this stream; then the hint says what to change.
    """

    by_none: bool = False


class Undecided(CerlabError):
    """An undecided question whose caller needs a yes or no."""


class ResourceLimit(CerlabError):
    """A documented limit (size, depth, length, budget) that would be exceeded."""


class BadData(CerlabError):
    """Data that cannot be read as events, or events that the clauses of the query do not allow.

    `file`, `row` and `column` give the place, each None if unknown. For a session, `matches` has
    the results completed by the events before the bad one.
    """

    matches: Sequence[Any] = ()

    @property
    def file(self) -> str | None:
        """The file, or its name in messages: ``standard input``, ``the table``, ``the events``."""
        return self.place.file if isinstance(self.place, DataPlace) else None

    @property
    def row(self) -> int | None:
        """The row, counted from 1; for text files the line."""
        return self.place.row if isinstance(self.place, DataPlace) else None

    @property
    def column(self) -> str | None:
        """The name of the column or attribute."""
        return self.place.column if isinstance(self.place, DataPlace) else None


class UsageError(CerlabError):
    """Arguments that contradict each other or are outside their domain."""


class CerlabWarning(UserWarning):
    """A warning about accepted syntax that has no effect, or an unexpected effect."""

    def __str__(self) -> str:
        return printable(super().__str__())

    def on_command_line(self) -> str:
        """Return the text that the command line prints."""
        text = self.args[0] if self.args else ""
        return printable(text.command_line if isinstance(text, HintByDoor) else str(text))


class AnswerWarning(CerlabWarning):
    """A warning that a name of the query occurs in no event, or that there are no answers."""


@contextmanager
def needed(
    package: str, hint: str = "", code: str = "CER0423", kind: type[CerlabError] = Unsupported
) -> Iterator[None]:
    """Import an optional package inside this block, and raise `Unsupported` if it is missing.

    >>> with needed("wonderland", "follow the rabbit"):
    ...     import wonderland
    Traceback (most recent call last):
    cerlab.errors.Unsupported: CER0423: wonderland is not installed
    hint: follow the rabbit
    """
    try:
        yield
    except ImportError:
        hint = hint or f"pip install {package}"
        raise kind(code, f"{package} is not installed", hint=hint) from None


def nearest(name: str, candidates: Iterable[str]) -> str:
    """Return the hint ``did you mean 'price'?`` if a candidate is near, otherwise a list of names.

    >>> nearest("prize", ["price", "volume"])
    "did you mean 'price'?"
    """
    names = sorted(set(candidates))
    by_lower_case = {each.lower(): each for each in names}
    if (same := by_lower_case.get(name.lower())) is not None:
        return f"did you mean '{same}'?"
    if close := difflib.get_close_matches(name, names, n=1) or _short_matches(name, names):
        return f"did you mean '{close[0]}'?"
    some = ", ".join(names[:10]) + (", .." if len(names) > 10 else "")
    return f"known: {some}" if names else ""


def _short_matches(name: str, names: list[str]) -> list[str]:
    """Return the first of `names` that `name` abbreviates, extends, or resembles if it is short.

    `difflib`'s default ratio of 0.6 would require both letters of two, and two of three. A name of
    one letter matches words of up to three letters only: longer words are unrelated.
    """

    def continues(longer: str, shorter: str) -> bool:
        return longer.startswith(shorter) and (len(shorter) > 1 or len(longer) <= 3)

    ends = [each for each in names if continues(name, each) or (name and each.startswith(name))]
    if ends or len(name) not in (2, 3):
        return ends[:1]
    return difflib.get_close_matches(name, names, n=1, cutoff=0.5)


def keywords_of_door() -> tuple[str, ...]:
    """Return the keyword parameters of the outermost function of cerlab on the stack."""
    code, frame = sys._getframe(1).f_code, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("cerlab."):
        code, frame = frame.f_code, frame.f_back
    return code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]


def refuse_misspelt(how: Mapping[str, object], known: Collection[str]) -> None:
    """Raise `UsageError` for the first keyword that is not a `known` option.

    >>> refuse_misspelt({"tiem": "t"}, ["time", "unit"])
    Traceback (most recent call last):
    cerlab.errors.UsageError: CER0847: there is no option 'tiem'
    hint: did you mean 'time'?
    """
    for name in how:
        if name not in known:
            hint = nearest(name, {*known, *keywords_of_door()})
            raise UsageError("CER0847", f"there is no option '{name}'", hint=hint)


def keywords_by_name(function: F) -> F:
    """Decorate a function so that an unknown keyword raises the error of `refuse_misspelt`.

    >>> keywords_by_name(nearest)("prize", candiates=["price"])
    Traceback (most recent call last):
    cerlab.errors.UsageError: CER0847: there is no option 'candiates'
    hint: did you mean 'candidates'?
    """
    find = _misspelt

    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except TypeError:
            # only after a failed call, so that correct calls do not pay for reading the signature
            if (error := find(function, options)) is None:
                raise
            raise error from None

    # doctest finds examples by `__globals__`, which must be those of the decorated function
    globals_ = inspect.unwrap(function).__globals__
    wrapper: Any = FunctionType(call.__code__, globals_, closure=call.__closure__)
    update_wrapper(wrapper, function)
    decorated: F = wrapper
    return decorated


def lists_options(options: type[Any], **defaults: Any) -> Callable[[F], F]:
    """Return a decorator that lists the keywords of a TypedDict in the signature of a function.

    Without it, `inspect.signature` and `help` show ``**how: Unpack[Options]`` as one parameter. A
    keyword without a default among `defaults` gets False, None or () by its type.

    >>> from typing import TypedDict
    >>> Colours = TypedDict("Colours", {"dark": bool, "red": "str | None"}, total=False)
    >>> inspect.signature(lists_options(Colours)(lambda text, **how: text))
    <Signature (text, *, dark: bool = False, red: 'str | None' = None)>
    """

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        *others, last = signature.parameters.values()
        assert last.kind is inspect.Parameter.VAR_KEYWORD
        listed = (_keyword(*each, defaults) for each in options.__annotations__.items())
        new = signature.replace(parameters=[*others, *listed])
        function.__signature__ = new  # type: ignore[attr-defined]  # inspect.signature reads it
        return function

    return decorate


def _keyword(name: str, annotation: Any, defaults: Mapping[str, object]) -> inspect.Parameter:
    words = getattr(annotation, "__forward_arg__", annotation)
    absent = False if words in (bool, "bool") else None if "None" in str(words) else ()
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=defaults.get(name, absent),
        annotation=words,
    )


def _misspelt(function: Callable[..., Any], options: Mapping[str, object]) -> UsageError | None:
    try:
        refuse_misspelt(options, {*inspect.signature(function).parameters} - {"self", "cls"})
    except UsageError as error:
        return error
    return None


def stacklevel_of_caller() -> int:
    """Return the `stacklevel` of `warn` that points to the first caller outside cerlab."""
    level, frame, ours = 1, sys._getframe(1), ("cerlab.", "contextlib")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(ours):
        level, frame = level + 1, frame.f_back
    return level
