"""One-line mutants of a module: a node of its syntax tree, replaced by a near one.

What stands in these places is left out, whatever tests say of it:

* annotations, decorators with what they are given, bases, imports, ``__all__``, and the options of
  type variables, which a type checker reads;
* unions of types, ``A | B``, since ``A & B`` is an error that every import or test sees;
* ``strict=`` of `zip`, which says that two lengths are the same;
* what raises, warns or asserts, and texts with places in them: the wording of errors;
* a module's constants ``MAX_..``: limits of work, for which any number near will do.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
"""Operators and what each is mistaken for."""

BUILT_IN = ("bool", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple")
"""Types that are written small."""


@dataclass(frozen=True)
class Mutant:
    """A module with one node replaced: the place, and both texts of the node."""

    path: Path
    line: int
    column: int
    before: str
    after: str
    source: str
    """The text of the whole mutated module."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.before}  ->  {self.after}"

    @property
    def in_kernel(self) -> bool:
        """Whether Numba compiles what stands in the module, which is one of kernels."""
        return any("kernels" in part for part in self.path.parts)


def mutants(path: Path) -> list[Mutant]:
    """All mutants of a module, in the order of its lines."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    candidates = (
        _mutant(path, source, statement, *each)
        for statement in tree.body
        for each in _replacements(statement)
    )
    return sorted((m for m in candidates if m is not None), key=lambda m: m.line)


def _replacements(statement: ast.stmt) -> Iterator[tuple[ast.expr | ast.stmt, ast.AST]]:
    """Nodes with what may stand in their place; types, texts and what raises stay as they are."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if not _is_left_alone(node):
            yield from ((node, other) for other in _near(node))  # type: ignore[misc]  # only such
            pending.extend(_parts(node))


def _is_left_alone(node: ast.AST) -> bool:
    match node:
        case ast.Raise() | ast.Assert() | ast.Import() | ast.ImportFrom() | ast.JoinedStr():
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Expr(ast.Call(func=ast.Name(id="assert_never" | "warn"))):
            return True
        case ast.Call(func=ast.Name(id="TypeVar" | "ParamSpec" | "NewType" | "cast")):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name == "__all__" or name.startswith("MAX_")
        case ast.keyword(arg="strict"):
            return True
        case ast.BinOp(op=ast.BitOr()):
            return _is_type(node)
    return False


def _is_type(node: ast.AST) -> bool:
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _is_type(left) and _is_type(right)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in BUILT_IN or (name[0].isupper() and not name.isupper())
        case ast.Constant(value=None) | ast.Subscript():
            return True
    return False


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The children, without annotations, defaults of decorators and bases."""
    exceptions = {"annotation", "returns", "decorator_list", "bases", "keywords"}
    if isinstance(node, ast.Call):
        exceptions -= {"keywords"}
    for name, value in ast.iter_fields(node):
        if name not in exceptions:
            yield from (v for v in (value if isinstance(value, list) else [value]) if _is_node(v))


def _is_node(value: object) -> bool:
    return isinstance(value, ast.AST)


def _near(node: ast.AST) -> Iterator[ast.AST]:
    """Yield nodes that this node may be mistaken for."""
    match node:
        case ast.Compare(ops=[op, *_]) if type(op) in OPERATORS:
            other = deepcopy(node)
            other.ops[0] = OPERATORS[type(op)]()  # type: ignore[call-overload]
            yield other
        case ast.BoolOp(op=op) | ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in OPERATORS:
            copy = deepcopy(node)
            copy.op = OPERATORS[type(op)]()  # type: ignore[assignment]
            yield copy
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            return
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield ast.Constant(value + 1)
        case ast.IfExp():
            yield ast.IfExp(node.test, node.orelse, node.body)
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()
        case ast.Expr(value=ast.Call()):
            yield ast.Pass()


def _mutant(
    path: Path, source: str, statement: ast.stmt, node: ast.expr | ast.stmt, other: ast.AST
) -> Mutant | None:
    """Return the mutant, or None where its text would be the same program or none.

    Only the statement of the module that contains the node is parsed again. To parse whole modules
    took two CPU minutes for a draw over 120 of them.
    """
    before = ast.get_source_segment(source, node)
    assert before is not None
    after = ast.unparse(ast.fix_missing_locations(other))
    if isinstance(node, ast.expr):
        after = f"({after})"
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    start = _offset(source, node.lineno, node.col_offset)
    end = _offset(source, node.end_lineno, node.end_col_offset)
    newlines = "\n" * source[start:end].count("\n")  # later lines keep their numbers
    new_text = f"{after[:-1]}{newlines})" if isinstance(node, ast.expr) else after + newlines
    text = source[:start] + new_text + source[end:]
    try:
        same = ast.dump(ast.parse(_lines_of(text, statement)).body[0]) == ast.dump(statement)
    except SyntaxError:  # a constant inside a pattern of `match`
        return None
    return (
        None
        if same
        else Mutant(path, node.lineno, node.col_offset + 1, " ".join(before.split()), after, text)
    )


def _lines_of(text: str, statement: ast.stmt) -> str:
    """Return the text in the lines of a statement of the module, with its decorators."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(each.lineno for each in decorators)])
    return "\n".join(text.split("\n")[first - 1 : statement.end_lineno])


def _offset(source: str, line: int, column: int) -> int:
    """A place of the tree, which counts bytes of UTF-8, as an index of the text."""
    lines = source.splitlines(keepends=True)
    return sum(map(len, lines[: line - 1])) + len(lines[line - 1].encode()[:column].decode())
