"""Documents that try the judge's reader, and a second reader that shares no code with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from random import Random
from typing import Any

from cerlab import Event
from cerlab.conformance.syntax import FORMAT, VERSION, document
from cerlab.conformance.values import decode
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql import syntax as ceql
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.model import clauses
from cerlab.model.stream import Stream, time_axis
from cerlab.predicates import condition as cond
from cerlab.predicates import syntax as pred
from cerlab.testing import ATTRIBUTES, random_events, random_query, with_limit


def read_document(text: str) -> tuple[CeqlQuery, Stream]:
    """Return the query and the events of a document; raises anything for what is no document."""
    whole = json.loads(text, object_pairs_hook=_without_duplicates)
    parts = _exactly(whole, "format", "version", "query", "time", "until", "events")
    form, version, query, time, until, events = parts
    assert (form, version) == (FORMAT, VERSION)
    decode(until)  # any value: WAIT alone depends on it, which the judge refuses
    axis = None if time is None else time_axis(*_exactly(time, "attribute", "unit"))
    read = [_exactly(event, "type", "stream", "attributes") for event in events]
    stream = Stream(
        [
            Event(_text(kind), {name: decode(v) for name, v in values.items()}, _name(stream))
            for kind, stream, values in read
        ],
        time=axis,
    )
    tree = _node(query, ceql, clauses, cel)
    assert isinstance(tree, CeqlQuery)
    return tree, stream


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({name for name, _ in pairs}) == len(pairs)
    return dict(pairs)


def _exactly(part: Mapping[Any, Any], *names: str) -> list[Any]:
    assert part.keys() == set(names)
    return [part[name] for name in names]


def _text(part: Any) -> str:
    assert isinstance(part, str)
    return part


def _name(part: Any) -> str | None:
    return None if part is None else _text(part)


_ENUMS = {
    "strategy": clauses.Strategy,
    "consume": clauses.Consume,
    "operator": pred.Operator,
}


def _node(part: Any, *modules: Any) -> Any:
    """Return the value of JSON; names of nodes are looked up in some modules, in their order."""
    match part:
        case list():
            return tuple(_node(each, *modules) for each in part)
        case {"node": str(name), **rest}:
            kind = next(found for m in modules if is_dataclass(found := getattr(m, name, None)))
            assert isinstance(kind, type)
            names = [field.name for field in fields(kind)]
            values = _exactly({str(key): rest[key] for key in rest}, *names)
            parts = zip(names, values, strict=True)
            return kind(*(_field(kind, field, part, modules) for field, part in parts))
        case _:
            return decode(part)


def _field(kind: type, name: str, part: Any, modules: tuple[Any, ...]) -> Any:
    if kind is cel.Filter and name == "condition":
        return _node(part, cond, pred)
    if name in _ENUMS and part is not None:
        enum: Any = pred.Arithmetic if kind is pred.Computed else _ENUMS[name]
        return enum(part)
    value = _node(part, *modules)
    return frozenset(value) if kind is cel.Project and name in ("labels", "of_streams") else value


def random_document(rng: Random) -> str:
    """Return the document of a random query and its events."""
    query = random_query(rng, ATTRIBUTES)
    if rng.random() < 0.3:
        query = with_limit(query, rng.randrange(1, 3))
    events = random_events(rng, query.formula)
    return json.dumps(document(query, Stream(events, time=time_axis("t", "s"))))


def hostile(rng: Random) -> str:
    """Return a document with one to three faults, most of which make it none."""
    return with_faults(rng, random_document(rng))


def with_faults(rng: Random, text: str) -> str:
    """Return the text with one to three faults."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        text = rng.choice(_FAULTS)(rng, text)
    return text.replace("\n", " ")


_JUNK = (
    *("1e999", "-0", "01", "1.", ".5", "NaN", "-Infinity", "+1", "1e400", "9007199254740993"),
    *('"\\ud800"', '"\\u12"', '"\\x"', '"\t"', "'a'", "tru", "nul", "[", "]", "{", "}", ",", ":"),
    *('{"int": "1e5"}', '{"int": "-"}', '{"int": "' + "9" * 2_000 + '"}', '{"double": "0x10"}'),
    *('{"double": "1_0"}', '{"double": "infinity"}', '{"moment": "2024-02-30T00:00:00Z"}'),
    *('{"moment": "2024-01-31"}', '{"duration": "PT"}', '{"duration": "P1Y"}', "[]", "{}"),
    *("null", "true", "-1", "0.5", '""', '"A"', '{"int": "3"}', '{"double": "1.0"}', "1e2"),
    *("[" * 2_000, '{"a":' * 2_000, "[" * 200_000),
)


def _cut(rng: Random, text: str) -> str:
    return text[: rng.randrange(len(text) + 1)]


def _insert(rng: Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(_JUNK) + text[at:]


def _repeat(rng: Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + text[max(0, at - rng.randrange(60)) :]


def _change(rng: Random, text: str) -> str:
    at = rng.randrange(max(1, len(text)))
    character = rng.choice('\0\a",\\{}0\u00e9\U0001f600')
    return text[:at] + character + text[at + 1 :]


def _append(rng: Random, text: str) -> str:
    return text + rng.choice((" ", ",", "{}", "null", "x", text))


def _of_tree(change: Callable[[Random, Any, Any], None]) -> Callable[[Random, str], str]:
    """Return a fault of one place of the tree, for texts that are JSON."""

    def fault(rng: Random, text: str) -> str:
        try:
            whole = json.loads(text)
        except (ValueError, RecursionError):
            return text
        places = list(_places(whole))
        if places:
            change(rng, *rng.choice(places))
        return json.dumps(whole)

    return fault


def _places(part: Any) -> list[tuple[Any, Any]]:
    found, pending = [], [part]
    while pending:
        here = pending.pop()
        if isinstance(here, dict | list):
            keys = list(here) if isinstance(here, dict) else list(range(len(here)))
            found += [(here, key) for key in keys]
            pending += [here[key] for key in keys]
    return found


def _replace(rng: Random, part: Any, key: Any) -> None:
    values: tuple[Any, ...] = (
        None,
        True,
        -1,
        0,
        2,
        0.5,
        10**17,
        "",
        "A",
        "x",
        "<",
        [],
        {},
        [[]],
        {"int": "5"},
    )
    part[key] = rng.choice(values)


def _delete(rng: Random, part: Any, key: Any) -> None:
    del part[key]


def _add(rng: Random, part: Any, key: Any) -> None:
    if isinstance(part, dict):
        part["more"] = part[key]
    else:
        part.insert(key, part[key])


_NODES = ("Seq", "Or", "Plus", "Atom", "Not", "Count", "Wait", "On", "And", "Like", "Constant")


def _rename(rng: Random, part: Any, key: Any) -> None:
    if isinstance(part, dict) and "node" in part:
        part["node"] = rng.choice(_NODES)


_FAULTS: tuple[Callable[[Random, str], str], ...] = (
    *(_cut, _insert, _insert, _repeat, _change, _append),
    *(_of_tree(_replace), _of_tree(_replace), _of_tree(_delete), _of_tree(_add), _of_tree(_rename)),
)
