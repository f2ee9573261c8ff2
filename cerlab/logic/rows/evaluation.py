"""What an expression means in a context: the table of rows.md 6.1 to 6.8, one arm per row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cerlab.logic.rows import expressions as ex
from cerlab.logic.rows.values import aggregate, operation
from cerlab.model.event import Value


@dataclass(frozen=True, slots=True)
class Partition:
    """T: the rows of one ordered partition; `names` has the column that each name stands for."""

    rows: Sequence[Mapping[str, Value]]
    names: Mapping[str, str]

    def value(self, i: int, column: str) -> Value:
        """``T[i].column``."""
        return self.rows[i].get(self.names[column])


@dataclass(frozen=True, slots=True)
class Context:
    """(T, s, m, k, z, N) (rows.md 6.0), and set(x) of every name."""

    T: Partition
    s: int
    m: Sequence[str]
    """The variable that each row from s on is mapped to."""
    k: int
    """How many rows of the mapping RUNNING sees."""
    z: int
    """How many labels CLASSIFIER at a row sees."""
    N: int
    members: Mapping[str | None, frozenset[str]]


def rows_of(x: str | None, c: Context, *, final: bool = False) -> list[int]:
    """rows(x, RUNNING), rows(x, FINAL): ascending (rows.md 6.1)."""
    visible = len(c.m) if final else c.k
    return [c.s + i for i in range(visible) if c.m[i] in c.members[x]]


def value(e: ex.Expression, c: Context) -> Value:
    """The value of an expression (rows.md 6.2 to 6.7)."""
    match e:
        case ex.Literal(constant):
            return constant
        case ex.Column(name, x):
            R = rows_of(x, c)
            return c.T.value(R[-1], name) if R else None
        case ex.Classifier(x):
            R = rows_of(x, c)
            return c.m[R[-1] - c.s] if R else None
        case ex.MatchNumber():
            return c.N
        case ex.First(body) | ex.Last(body):
            p = navigated_row(e, c)
            return None if p is None else value_at(body, p, c)
        case ex.Prev(body, j):
            return _step(body, -j, c)
        case ex.Next(body, j):
            return _step(body, j, c)
        case ex.Aggregate(function, body, final):
            R = rows_of(ex.variable_of(body), c, final=final)
            if isinstance(body, ex.AllRows):
                return len(R)
            return aggregate(function, [value_at(body, p, c) for p in R])
        case _:
            return operation(e, lambda operand: value(operand, c))


def navigated_row(e: ex.First | ex.Last, c: Context) -> int | None:
    """The row that FIRST or LAST lands on, None if there are too few (rows.md 6.4)."""
    R = rows_of(ex.variable_of(e.body), c, final=e.final)
    if len(R) <= e.offset:
        return None
    return R[e.offset] if isinstance(e, ex.First) else R[-1 - e.offset]


def _step(body: ex.Expression, j: int, c: Context) -> Value:
    """PREV (j < 0) and NEXT, a physical step from where their argument stands (rows.md 6.5)."""
    operand = body
    if isinstance(body, ex.First | ex.Last):
        p, operand = navigated_row(body, c), body.body
    else:
        R = rows_of(ex.variable_of(body), c)
        p = R[-1] if R else None
    if p is None or not 0 <= p + j < len(c.T.rows):
        return None
    return value_at(operand, p + j, c)


def value_at(e: ex.Expression, p: int, c: Context) -> Value:
    """e at row p: columns are read there, whatever their qualifier (rows.md 6.3)."""
    match e:
        case ex.Literal(constant):
            return constant
        case ex.Column(name):
            return c.T.value(p, name)
        case ex.Classifier():
            return c.m[p - c.s] if 0 <= p - c.s < c.z else None
        case ex.MatchNumber():
            return c.N
        case ex.First() | ex.Last() | ex.Prev() | ex.Next() | ex.Aggregate():
            raise AssertionError("navigation does not nest here: see check_row_pattern")
        case _:
            return operation(e, lambda operand: value_at(operand, p, c))
