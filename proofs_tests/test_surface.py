"""Names that users rely on: the public API, the command line's help, the codes of errors.

`surface.txt` is that surface, a line each. A change of it is a decision, so it is recorded
(``python -m proofs_tests.test_surface``) and read in the diff; nothing goes by accident.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

import cerlab
from cerlab import cli, flinkcep, fuzz, spark, testing
from cerlab.api import Session
from cerlab.api.sessions import AggregateSession, RowSession

RECORD = Path(__file__).with_name("surface.txt")


def surface() -> list[str]:
    """All of it, a line each."""
    return [*names(), *commands(), *codes()]


def names() -> Iterator[str]:
    """Public names with their parameters; of classes the public attributes too."""
    for name in sorted(cerlab.__all__):
        value = getattr(cerlab, name)
        yield f"api {name}{parameters(value)}"
        if isinstance(value, type):
            for attribute, member in sorted(attributes(value)):
                yield f"api {name}.{attribute}{parameters(member)}"


def attributes(owner: type) -> Iterator[tuple[str, object]]:
    """Fields, properties and methods that cerlab gives a class; not what Python's own have."""
    fields = {*getattr(owner, "__dataclass_fields__", ()), *getattr(owner, "_fields", ())}
    for attribute in {*dir(owner), *fields}:
        home = next((c for c in owner.__mro__ if attribute in vars(c)), owner)
        if not attribute.startswith("_") and home.__module__ != "builtins":
            yield attribute, inspect.getattr_static(owner, attribute, None)


def parameters(value: object) -> str:
    """The names, kinds and defaults of what can be called; types are mypy's to compare."""
    if isinstance(value, (classmethod, staticmethod)):
        value = value.__func__
    if not callable(value):
        return ""
    try:
        signature = inspect.signature(value)
    except ValueError:  # a class of C, as of enumerations
        return ""
    plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=plain, return_annotation=signature.empty))


def commands() -> Iterator[str]:
    """Each command with its options, their values and what they say."""
    for name in sorted(cli.COMMANDS):
        actions = cli.parser_of([name])._actions
        (sub,) = (a for a in actions if isinstance(a, argparse._SubParsersAction))
        for option in sub.choices[name]._actions:
            words = [*option.option_strings, option.metavar or option.dest]
            values = f"one of {', '.join(map(str, option.choices))}; " if option.choices else ""
            yield f"cli {name}: {' '.join(map(str, words))}: {values}{option.help or ''}"


def codes() -> Iterator[str]:
    """The codes of all errors."""
    text = "".join(p.read_text() for p in sorted(Path(cerlab.__file__).parent.rglob("*.py")))
    yield from (f"code {code}" for code in sorted(set(re.findall(r"\bCER\d{4}\b", text))))


def test_the_surface_is_the_recorded_one() -> None:
    lines = RECORD.read_text(encoding="utf-8").splitlines()
    now = surface()
    missing = [line for line in lines if line not in now]
    new = [line for line in now if line not in lines]
    assert (missing, new) == ([], [])


def doors() -> Iterator[tuple[str, Any]]:
    """The public functions, methods and constructors of events that have options."""
    for module in (cerlab, flinkcep, fuzz, spark, testing):
        for name in module.__all__:
            value = getattr(module, name)
            yield f"{module.__name__}.{name}", value
            if isinstance(value, type) and not isinstance(value, type(Protocol)):
                for attribute in sorted(name for name, _ in attributes(value)):
                    yield f"{module.__name__}.{name}.{attribute}", getattr(value, attribute, None)
    for session in (Session, RowSession, AggregateSession):
        for attribute in ("push", "advance"):
            if member := getattr(session, attribute, None):
                yield f"{session.__name__}.{attribute}", member


def with_options() -> Iterator[Any]:
    """Doors that have an option: a parameter with a default, or one that is given by its name."""
    for name, value in doors():
        if name == "cerlab.satisfies":  # references ask it of each event and transition
            continue
        if inspect.isfunction(value) or inspect.ismethod(value) or value is cerlab.Stream:
            every = inspect.signature(value).parameters.values()
            if any(p.default is not p.empty or p.kind in BY_NAME for p in every):
                yield pytest.param(value, id=name)


BY_NAME = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)

QUERY, EVENTS = "SELECT * WHERE A ; B", [{"type": "A"}, {"type": "B"}]


@pytest.mark.parametrize("door", with_options())
def test_a_misspelt_keyword_is_answered_by_name(door: Any) -> None:
    """At every public door; the nearest keyword is the hint."""
    query = cerlab.parse_query(QUERY)
    values: dict[str, Any] = {"events": EVENTS, "batch": EVENTS, "sremo": "<type = 'A'>^"}
    values["table"] = cerlab.Stream(EVENTS).to_arrow()
    owners = [query.run(EVENTS), query.open(), query.tabulating(["A"]), query.aggregating()]
    owner = door.__qualname__.partition(".")[0]
    values["self"] = {type(each).__name__: each for each in owners}.get(owner, query)
    parameters = inspect.signature(door).parameters
    needed = {
        name: values.get(name, QUERY)
        for name, p in parameters.items()
        if name == "events" or (p.default is p.empty and p.kind is not p.VAR_KEYWORD)
    }
    positional = [v for n, v in needed.items() if parameters[n].kind not in BY_NAME]
    named = {n: v for n, v in needed.items() if parameters[n].kind in BY_NAME}
    with pytest.raises(cerlab.UsageError, match="CER0847: there is no option 'zzz'"):
        door(*positional, **named, zzz=1)
    for name, p in parameters.items():
        if p.kind is p.KEYWORD_ONLY:
            with pytest.raises(cerlab.UsageError) as refused:
                door(*positional, **named, **{f"{name}x": 1})
            assert refused.value.hint == f"did you mean '{name}'?"


@pytest.mark.parametrize("door", with_options())
def test_a_signature_lists_every_keyword(door: Any) -> None:
    """`help` and editors show no keyword of a parameter that is a TypedDict."""
    for parameter in inspect.signature(door).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            assert "Unpack" not in str(parameter.annotation)


if __name__ == "__main__":
    RECORD.write_text("\n".join(surface()) + "\n", encoding="utf-8")
