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

import cerlab
from cerlab import cli

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


if __name__ == "__main__":
    RECORD.write_text("\n".join(surface()) + "\n", encoding="utf-8")
