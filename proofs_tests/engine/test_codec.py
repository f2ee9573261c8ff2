"""The codec of states: what was written is read again, and nothing else is."""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

import cerlab
from cerlab import Duration, Timestamp
from cerlab.engine import codec
from cerlab.engine.codec import Layout
from cerlab.engine.reference.totals import Greatest
from cerlab.model.stream import TimeAxis, TimeUnit
from proofs_tests.engine.hostile_states import parts_of, with_digest
from proofs_tests.hostile.mutators import mutated_bytes
from proofs_tests.suite import random_suite

ARRAYS = {"a": "<i8 rows", "flags": "|b1 rows", "cells": "<i4 rows columns", "text": "|u1 bytes"}
LAYOUT = Layout("cerlab-test", 7, {"x": object, "y": object}, ARRAYS)

LEAVES = (
    *(None, True, False, 0, -1, 2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 16**3000),
    *(0.0, -0.0, 0.1, 1e300, math.inf, -math.inf),
    *("", "x", "é\U0001d11e", "\x00\n", b"", b"\x00\xff"),
    *(Fraction(1, 3), Fraction(-(2**80), 7), Timestamp(-(2**70)), Duration(5), Greatest("x")),
    *(TimeAxis("t"), TimeAxis("ö", TimeUnit.MS)),
)


def random_value(rng: Random, depth: int = 4) -> Any:
    if depth and rng.random() < 0.4:
        return tuple(random_value(rng, depth - 1) for _ in range(rng.randrange(4)))
    return rng.choice(LEAVES)


def random_state(rng: Random) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    rows, columns, size = rng.choice((0, 1, 5)), rng.randrange(3), rng.randrange(20)
    arrays = {
        "a": np.array([rng.randrange(-(2**63), 2**63) for _ in range(rows)], np.int64),
        "flags": np.array([rng.random() < 0.5 for _ in range(rows)], bool),
        "cells": np.array([[rng.randrange(9) for _ in range(columns)] for _ in range(rows)]),
        "text": np.frombuffer(rng.randbytes(size), np.uint8),
    }
    arrays["cells"] = arrays["cells"].astype(np.int32).reshape(rows, columns)
    values = {"x": random_value(rng), "y": random_value(rng)}
    return values, arrays, codec.write(LAYOUT, "query", values, arrays)


@random_suite(20_000)
def test_what_was_written_is_read(rng: Random) -> bool:
    values, arrays, state = random_state(rng)
    assert len(state) % 8 == 0
    values_again, arrays_again = codec.read(LAYOUT, "query", state)
    assert repr(values_again) == repr(values), "zeros keep their signs"
    for name, array in arrays.items():
        again = arrays_again[name]
        assert (again.dtype, again.shape) == (array.dtype, array.shape)
        assert (again == array).all()
        assert again.flags.writeable
        assert again.flags.aligned
    assert codec.write(LAYOUT, "query", values_again, arrays_again) == state
    return True


@random_suite(20_000)
def test_changed_bytes_are_refused(rng: Random) -> bool:
    _, _, state = random_state(rng)
    changed = mutated_bytes(rng, state)
    if changed != state:
        with pytest.raises(cerlab.BadData, match=r"CER077[12]"):
            codec.read(LAYOUT, "query", changed)
    return True


def test_nan_and_an_integer_that_python_refuses_to_read_as_text() -> None:
    layout = Layout("cerlab-test", 1, {"x": float, "y": object})
    values, _ = codec.read(layout, "", codec.write(layout, "", {"x": math.nan, "y": 16**5000}, {}))
    assert math.isnan(values["x"])
    assert values["y"] == 16**5000


ONE = Layout("cerlab-test", 1, {"x": object}, {"n": "<i8 rows", "flags": "|b1 flags"})


def changed(path: list[str], value: Any) -> bytes:
    """A state with another value in its header, and a digest that fits."""
    arrays = {"n": np.arange(3), "flags": np.ones(2, bool)}
    _, header, arrays = parts_of(codec.write(ONE, "query", {"x": 1}, arrays), ONE)
    inside = header
    for name in path[:-1]:
        inside = inside[name]
    inside[path[-1]] = value
    return with_digest(header, arrays)


def test_the_same_header_is_read() -> None:
    values, arrays = codec.read(ONE, "query", changed(["values", "x"], {"ratio": [1, 2]}))
    assert values == {"x": Fraction(1, 2)}
    assert arrays["n"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "value",
    [
        *({}, {"a": 1}, {"hex": 1}, {"hex": "zz"}, {"float": "x"}, {"float": 1.0}, {"int": 3}),
        *({"ratio": [1, 0]}, {"ratio": [1]}, {"ratio": [1.0, 2]}, {"ratio": ["1", "2"]}),
        *({"timestamp": 1.5}, {"timestamp": True}, {"duration": None}, {"duration": "1"}),
        *({"base64": "?"}, {"base64": 1}, {"axis": "t"}, {"axis": ["t"]}, {"axis": [1, None]}),
        *({"axis": ["t", "parsec"]}, {"hex": "1", "float": "nan"}, {"greatest": {}}, "\ud800"),
    ],
)
def test_what_is_no_value_is_refused(value: Any) -> None:
    for each in (value, [value], {"greatest": value}):
        with pytest.raises(cerlab.BadData):
            codec.read(ONE, "query", changed(["values", "x"], each))


@pytest.mark.parametrize("sign", [b"[", b'{"greatest":'])
def test_deep_brackets_are_refused(sign: bytes) -> None:
    state = changed(["values", "x"], 7)
    begin = 8 + int.from_bytes(state[:8], "little")
    end = {b"[": b"]", b'{"greatest":': b"}"}[sign]
    text = state[8:begin].replace(b'"x": 7', b'"x": ' + sign * 100_000 + b"7" + end * 100_000)
    content = len(text).to_bytes(8, "little") + text + state[begin:-32]
    with pytest.raises(cerlab.BadData, match="CER0771"):
        codec.read(ONE, "query", content + hashlib.sha256(content).digest())


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        (["format"], "cerlab-other", "CER0771"),
        (["version"], 2, "CER0772"),
        (["version"], 0, "CER0772"),
        (["of"], "another", "CER0773"),
        (["of"], None, "CER0773"),
        (["values"], {}, "CER0771"),
        (["values"], [1], "CER0771"),
        (["values", "y"], 1, "CER0771"),
        (["sizes"], {}, "CER0771"),
        (["sizes"], None, "CER0771"),
        *[(["sizes", "rows"], size, "CER0771") for size in (2, 4, -1, 3.0, True, "3", 1 << 61)],
        (["sizes", "flags"], 9, "CER0771"),
    ],
)
def test_another_header_is_refused(path: list[str], value: Any, code: str) -> None:
    with pytest.raises(cerlab.BadData, match=code):
        codec.read(ONE, "query", changed(path, value))


def test_a_byte_that_is_not_boolean_is_refused() -> None:
    _, header, arrays = parts_of(changed(["of"], "query"), ONE)
    arrays["flags"] = np.array([1, 2], np.uint8)
    with pytest.raises(cerlab.BadData, match="not Boolean"):
        codec.read(ONE, "query", with_digest(header, arrays))


def test_rows_without_columns_have_no_more_than_the_bytes() -> None:
    """They need no bytes, but whatever is made of them would."""
    layout = Layout("cerlab-test", 1, {}, {"cells": "<i8 rows columns"})
    state = codec.write(layout, "", {}, {"cells": np.zeros((0, 0), np.int64)})
    _, header, arrays = parts_of(state, layout)
    header["sizes"]["rows"] = 1 << 40
    with pytest.raises(cerlab.BadData, match="the sizes"):
        codec.read(layout, "", with_digest(header, arrays))


def test_a_mistake_of_a_writer_is_an_error() -> None:
    arrays = {"n": np.zeros(3), "flags": np.ones(2, bool)}
    with pytest.raises(TypeError):  # doubles as integers
        codec.write(ONE, "", {"x": 1}, arrays)
    with pytest.raises(TypeError, match="expected a value of a state"):
        codec.write(ONE, "", {"x": object()}, arrays | {"n": np.zeros(3, np.int32)})
    two = Layout("cerlab-test", 1, {}, {"n": "<i8 rows", "m": "<i8 rows"})
    with pytest.raises(ValueError, match="'m' has another number of rows"):
        codec.write(two, "", {}, {"n": np.zeros(3, np.int64), "m": np.zeros(2, np.int64)})


@pytest.mark.parametrize("state", [0, 10**15, "", "bytes", [1], object()])
def test_what_is_no_bytes_is_refused(state: Any) -> None:
    with pytest.raises(cerlab.BadData, match="CER0771"):
        codec.read(LAYOUT, "query", state)
