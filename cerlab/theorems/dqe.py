"""Matrix products through the window query: the reduction of the lower bound (DQE Lemma 1).

A test cannot reach the lower bound itself: it is about all algorithms, asymptotically, and depends
on the conjecture that no algorithm multiplies a matrix with vectors that arrive one by one (OMv) in
sub-cubic total time. This module runs its construction: a stream of updates of u, v, w becomes,
update by update, a stream of r, s, t with the timestamps 1, 2, 3, on which the window query has the
answers of ``y <- u(x), v(x, y), w(y)``. So any evaluator of the window query multiplies matrices,
with one update for each changed entry and one enumeration for each product; if both were
sub-linear, the product would be sub-cubic. The streams contain deletions, and their timestamps do
not increase: they satisfy neither assumption under which the window query is easy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeAlias

from cerlab.errors import BadData, UsageError
from cerlab.logic.gcq import Atom, Delete, Gcq, Insert, Row, Update, answers_after_each
from cerlab.predicates.syntax import Arithmetic, Attribute, Comparison, Computed, Constant, Operator

MATRIX_QUERY = Gcq(("y",), (Atom("u", ("x",)), Atom("v", ("x", "y")), Atom("w", ("y",))))
"""Query ``y <- u(x), v(x, y), w(y)``, which is not q-hierarchical (DQE Sec. 4)."""

WINDOW_QUERY = Gcq(
    ("y", "ts3"),
    (Atom("r", ("x", "ts1")), Atom("s", ("x", "y", "ts2")), Atom("t", ("y", "ts3"))),
    (
        Comparison(Operator.LT, Attribute("ts1"), Attribute("ts2")),
        Comparison(Operator.LT, Attribute("ts2"), Attribute("ts3")),
        Comparison(
            Operator.LT, Computed(Arithmetic.SUB, Attribute("ts3"), Attribute("ts1")), Constant(5)
        ),
    ),
)
"""Query Q of the paper, ``.. | ts1 < ts2, ts2 < ts3, ts3 - ts1 < 5`` (DQE Sec. 4)."""

Evaluator: TypeAlias = Callable[[Gcq, Iterable[Update]], Iterator[frozenset[Row]]]
"""Function that yields the answers of a query after each update, without reading updates ahead."""

Vector: TypeAlias = Sequence[bool]

Matrix: TypeAlias = Sequence[Vector]
"""Rows of booleans of equal length."""

_IMAGES = {"u": ("r", 1, 1), "v": ("s", 2, 2), "w": ("t", 1, 3)}
"""For each relation of a matrix query: its image, number of columns and timestamp."""


def image_of(update: Update) -> Update:
    """Return the image of an update: u(x) is r(x, 1), v(x, y) is s(x, y, 2), w(y) is t(y, 3).

    Insertions stay insertions and deletions stay deletions (DQE Lemma 1). Raises `BadData` for
    another relation or number of columns.

    >>> image_of(Delete("v", (7, 8)))
    Delete(relation='s', row=(7, 8, 2))
    """
    image, columns, timestamp = _IMAGES.get(update.relation, ("", -1, 0))
    if len(update.row) != columns:
        raise BadData(
            "CER0762",
            f"{update.relation}{update.row} is not a tuple of the matrix query",
            hint="the matrix query has the relations u(x), v(x, y), w(y)",
        )
    return replace(update, relation=image, row=(*update.row, timestamp))


def through_the_window_query(
    S: Iterable[Update], evaluate: Evaluator = answers_after_each
) -> Iterator[frozenset[Row]]:
    """Yield the answers of `MATRIX_QUERY` after each update, by `WINDOW_QUERY` (DQE Lemma 1).

    Projecting ts3 away makes no duplicates, since it is always 3. Raises as `image_of` and
    `evaluate`.

    >>> S = [Insert("u", (1,)), Insert("w", (2,)), Insert("v", (1, 2)), Delete("u", (1,))]
    >>> [set(answers) for answers in through_the_window_query(S)]
    [set(), set(), {(2,)}, set()]
    """
    for answers in evaluate(WINDOW_QUERY, map(image_of, S)):
        yield frozenset((y,) for y, _ in answers)


def vectors_times_matrix(
    M: Matrix, pairs: Iterable[tuple[Vector, Vector]], evaluate: Evaluator = answers_after_each
) -> Iterator[tuple[bool, ...]]:
    """Yield the boolean product ``a M`` for each pair (a, b), restricted to b (DQE Lemma 1).

    With b = 1 everywhere, this is OMv for the transposed matrix; whether any entry is 1 is the
    product ``a M b`` of OuMv. The matrix is inserted once, as v; then each entry of a pair is one
    update of u or w. The product of a pair is yielded before the next pair is read. Raises
    `UsageError` for sizes that do not fit.

    >>> M = [[True, False], [True, True]]
    >>> pairs = [([True, False], [True, True]), ([False, True], [False, True])]
    >>> list(vectors_times_matrix(M, pairs))
    [(True, False), (False, True)]
    """
    rows, columns = len(M), len(M[0]) if M else 0
    if not columns or any(len(row) != columns for row in M):
        raise UsageError(
            "CER0860",
            "expected a matrix with rows of equal, positive length",
            hint="give a list of rows of equal length, and pairs of vectors that fit it",
        )
    ones = [Insert("v", (x, y)) for x in range(rows) for y in range(columns) if M[x][y]]

    def stream() -> Iterator[Update]:
        yield from ones
        for a, b in pairs:
            if (len(a), len(b)) != (rows, columns):
                raise UsageError(
                    "CER0860",
                    f"expected pairs of vectors of sizes {rows}, {columns}",
                    hint="give a list of rows of equal length, and pairs of vectors that fit it",
                )
            yield from _assign("u", a)
            yield from _assign("w", b)

    answers = through_the_window_query(stream(), evaluate)
    for _ in islice(answers, len(ones)):
        pass
    while after_the_pair := list(islice(answers, rows + columns)):
        yield tuple((y,) in after_the_pair[-1] for y in range(columns))


def _assign(relation: str, vector: Vector) -> Iterator[Update]:
    """Yield updates that fill a relation with the places where a vector is 1."""
    for i, entry in enumerate(vector):
        yield Insert(relation, (i,)) if entry else Delete(relation, (i,))
