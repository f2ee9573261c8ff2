"""Parsing of CEQL and its declarations: sugar is expanded, and the place of each node stored."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from lark import Token, Tree, v_args
from lark.tree import Meta

from cerlab import display
from cerlab.errors import IllFormed, QuerySyntaxError, ResourceLimit, SourcePlace, Span, nearest
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.cel.text import node_text
from cerlab.logic.ceql.condition_builder import (
    GROUP_WORDS,
    MAX_DEPTH,
    ConditionBuilder,
    constant,
    node,
)
from cerlab.logic.ceql.hints_from_other_languages import (
    habit_hint,
    recipe_text,
    two_names_hint,
)
from cerlab.logic.ceql.syntax import Aggregate, CeqlQuery, SelectItem
from cerlab.logic.parsing import Language, Rule, build, place_at, read, value
from cerlab.model.clauses import (
    AttributeWindow,
    Consume,
    EventWindow,
    Limit,
    Strategy,
    TimeWindow,
    Window,
)
from cerlab.model.event import (
    TYPE_NAMES,
    UNITS,
    AttributeDeclaration,
    EventDeclaration,
    Schema,
    StreamDeclaration,
)
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Correlation, atomics
from cerlab.predicates.text import PREFIXES, WORDS, expression_text, name_text

_STRATEGIES = {
    "strict": Strategy.STRICT,
    "next": Strategy.NXT,
    "last": Strategy.LAST,
    "max": Strategy.MAX,
}


@v_args(meta=True)
class Builder(ConditionBuilder):
    """A builder of formulas and queries from parse trees."""

    # -- formulas ----------------------------------------------------------------------------

    type_atom = node(cel.Atom)
    stream_atom = node(lambda stream, event_type: cel.Atom(event_type, stream))
    as_ = node(cel.As)
    filter_ = node(cel.Filter)
    or_ = node(cel.Or)
    and_ = node(cel.And)
    all = node(cel.All)
    unless = node(cel.Unless)
    seq = node(cel.Seq)
    concat = node(cel.Concat)
    plus = node(cel.Plus)
    concat_plus = node(cel.ConcatPlus)
    exactly = value(lambda times: (times, times))
    between_times = value(lambda least, most: (least, most))
    project = node(lambda labels, body: cel.projection(labels or (), body))
    rename = node(cel.Rename)
    window_inside = node(cel.Within)

    def not_(self, meta: Meta, children: list[Formula]) -> Formula:
        body = children[0]
        for psi in cel.subformulas(body):
            for each in atomics(psi.condition) if isinstance(psi, cel.Filter) else ():
                if isinstance(each, Correlation) and each.of_group is not None:
                    text = expression_text(each.of_group)
                    message = f"NOT(..) reads one event, but {text} reads several"
                    hint = "write the condition on one event, as in NOT(A FILTER A[price > 3])"
                    raise IllFormed("CER0244", message, place=self.place(meta), hint=hint)
        return self._record(meta, cel.Not(body), body)

    def count(self, meta: Meta, children: list[Any], *, gaps: bool = True) -> Formula:
        body, times = children
        least, most = (None if n is None else self._int(meta, n) for n in times)
        if not least:
            text = node_text(cel.Count(body, 1, most or None, gaps))
            hint = f"write {text}, and OR for without, as in B OR (A{text} ; B)"
            if most:
                fewer = recipe_text("Fewer than three in ten minutes")
                hint += f"; to count all events of a time see {fewer}"
            message = "a count begins at 1, since a formula has no empty answer"
            raise IllFormed("CER0212", message, place=self.place(meta), hint=hint)
        if most is not None and most < least:
            message = f"a count from {least} to {most} is empty"
            text = node_text(cel.Count(body, most, least, gaps)) if most else ":"[gaps:] + "{1}"
            hint = f"the smaller number comes first: {text}"
            raise IllFormed("CER0212", message, place=self.place(meta), hint=hint)
        return self._record(meta, cel.Count(body, least, most, gaps))

    def concat_count(self, meta: Meta, children: list[Any]) -> Formula:
        return self.count(meta, children, gaps=False)

    def wait(self, meta: Meta, children: list[Any]) -> Formula:
        body, length = children
        if isinstance(length, EventWindow):
            message = "a wait is a time: WAIT cannot count events"
            hint = "for n events later write A : PROJECT[](A OR NOT(A)):{n}"
            raise IllFormed("CER0213", message, place=self.place(meta), hint=hint)
        return self._record(meta, cel.Wait(body, length))

    def lookback(self, meta: Meta, children: list[Any]) -> Formula:
        body, length = children
        if isinstance(length, EventWindow):
            message = "a look-back is a time: LOOKBACK cannot count events"
            hint = "for n events before write PROJECT[](A OR NOT(A)):{n} : A"
            raise IllFormed("CER0217", message, place=self.place(meta), hint=hint)
        return self._record(meta, cel.Lookback(body, length))

    # -- queries -----------------------------------------------------------------------------

    no_strategy = value(lambda: None)

    def select_item(self, meta: Meta, children: list[Any]) -> SelectItem:
        (stream, label), attributes = children
        return self._record(meta, SelectItem(label, attributes or (), stream))

    select_all = value(lambda: ("items", None))
    select_none = select_items = value(lambda *items: ("items", items))

    def count_all(self, meta: Meta, children: list[str]) -> Aggregate:
        if children[0].upper() != "COUNT":
            raise self._no_aggregate(meta, f"{children[0]}(*)")
        return self._record(meta, Aggregate("count"))

    def aggregate(self, meta: Meta, children: list[str]) -> Aggregate:
        function, label, attribute = children
        if function.upper() not in ("SUM", "AVG", "MIN", "MAX"):
            raise self._no_aggregate(meta, f"{function}({label}.{attribute})")
        return self._record(meta, Aggregate(function.lower(), label, attribute))

    max_of = node(partial(Aggregate, "max"))

    def _no_aggregate(self, meta: Meta, text: str) -> IllFormed:
        hint = "write COUNT(*), or SUM(b.price), AVG, MIN, MAX of an attribute of a label"
        return IllFormed(
            "CER0208", f"{text} is not an aggregate", place=self.place(meta), hint=hint
        )

    select_aggregates = value(lambda *aggregates: ("aggregates", aggregates))
    group_key = value(lambda *names: names)
    group = value(lambda *keys: ("groups", keys))
    from_clause = value(lambda streams: ("streams", streams))
    bracket = value(lambda names: names)
    partition = value(lambda *brackets: ("partition", brackets))

    def event_window(self, meta: Meta, children: list[Token]) -> Window:
        return EventWindow(self._int(meta, children[0]))

    attribute_window = value(AttributeWindow)

    time_window = value(TimeWindow)

    def within(self, meta: Meta, children: list[Window]) -> tuple[str, Window]:
        return ("window", children[0])

    consume = value(lambda policy: ("consume", policy))

    def limit(self, meta: Meta, children: list[Token]) -> tuple[str, Limit]:
        return ("limit", Limit(self._int(meta, children[0])))

    def throttle(self, meta: Meta, children: list[Window]) -> tuple[str, Window]:
        (length,) = children
        if not length.width:
            message = "THROTTLE 0 has no effect"
            hint = "omit the clause, or write for how long no further answer is given"
            raise IllFormed("CER0216", message, place=self.place(meta), hint=hint)
        return "throttle", self._record(meta, length)

    def query(self, meta: Meta, children: list[Any]) -> CeqlQuery:
        fields: dict[str, Any] = {}
        for child in children:
            if isinstance(child, Strategy):
                fields["strategy"] = child
            elif isinstance(child, tuple):
                fields[child[0]] = child[1]
            elif child is not None:
                fields["formula"] = child
        if "groups" in fields and "aggregates" not in fields:
            message = (
                "GROUP BY is for SELECT COUNT(*) and sums, and answers are in the order of "
                "their ends"
            )
            hint = "for substreams write PARTITION BY [a]"
            raise IllFormed("CER0208", message, place=self.place(meta), hint=hint)
        return self._record(meta, CeqlQuery(**fields))


def _rules() -> Iterator[tuple[str, Rule]]:
    """Yield the grammar rules that differ only in a value, such as an operator."""
    for symbol in (*pred.Operator, *Consume):
        prefix = "consume_" * isinstance(symbol, Consume)
        yield f"{prefix}{symbol.name.lower()}", constant(symbol)
    for op in pred.Arithmetic:
        yield op.name.lower(), node(partial(pred.Computed, op))
    for word, strategy in _STRATEGIES.items():
        yield word, constant(strategy)
        yield f"select_{word}", node(partial(cel.Select, strategy))


for _name, _rule in _rules():
    setattr(Builder, _name, v_args(meta=True)(_rule))


def schema_of(trees: list[Tree[Token]], text: str) -> Schema:
    """Return the schema of declarations; raise `IllFormed` if a name is declared twice."""
    streams: list[StreamDeclaration] = []
    for tree in trees:
        name, *events = tree.children
        _refuse_twice(_word(name), [stream.name for stream in streams], "stream", name, text)
        declarations: list[EventDeclaration] = []
        for event in events:
            assert isinstance(event, Tree)
            declaration = _event(event, text)
            _refuse_twice(
                declaration.name, [each.name for each in declarations], "event type", event, text
            )
            declarations.append(declaration)
        streams.append(StreamDeclaration(_word(name), tuple(declarations)))
    return Schema(tuple(streams))


def _event(tree: Tree[Token], text: str) -> EventDeclaration:
    name, *rest = tree.children
    attributes: list[AttributeDeclaration] = []
    for attribute in rest:
        if attribute is None:
            continue
        assert isinstance(attribute, Tree)
        attribute_name, kind, *nullable = attribute.children
        attribute_type = TYPE_NAMES.get(_word(kind).lower())
        if attribute_type is None:
            raise IllFormed(
                "CER0210",
                f"unknown type '{_word(kind)}'",
                place=_place(kind, text),
                hint=nearest(_word(kind), TYPE_NAMES),
            )
        names = [each.name for each in attributes]
        _refuse_twice(_word(attribute_name), names, "attribute", attribute, text)
        attributes.append(
            AttributeDeclaration(_word(attribute_name), attribute_type, bool(nullable))
        )
    return EventDeclaration(_word(name), tuple(attributes))


def _refuse_twice(
    name: str, names: list[str], noun: str, tree: Tree[Token] | Token, text: str
) -> None:
    if name in names:
        raise IllFormed(
            "CER0211",
            f"{noun} '{name}' is declared twice",
            place=_place(tree, text),
            hint="remove one of the two",
        )


def _word(tree: Tree[Token] | Token) -> str:
    token = tree.children[0] if isinstance(tree, Tree) else tree
    assert isinstance(token, Token)
    return token[1:-1].replace("``", "`") if token.type == "QUOTED_NAME" else str(token)


def _place(tree: Tree[Token] | Token, text: str) -> SourcePlace:
    at = tree.meta if isinstance(tree, Tree) else tree
    assert at.start_pos is not None
    assert at.end_pos is not None
    return place_at(text, at.start_pos, at.end_pos - at.start_pos)


def schema_text(schema: Schema) -> str:
    """Return the declarations as text, one stream after the other."""
    return "\n".join(_stream_text(stream) for stream in schema.streams)


def _stream_text(stream: StreamDeclaration) -> str:
    events = [
        f"  EVENT {name_text(event.name)} {{ "
        + ", ".join(
            f"{name_text(each.name)}:{each.type.value}{'?' if each.nullable else ''}"
            for each in event.attributes
        )
        + " }"
        for event in stream.events
    ]
    return f"CREATE STREAM {name_text(stream.name)} {{\n" + ",\n".join(events) + "\n}"


display.register(Schema, "text/plain", schema_text)


@dataclass(frozen=True)
class Source:
    """A query text and the place of each node in it."""

    text: str
    spans: dict[int, Span]
    nodes: tuple[object, ...]
    is_query: bool = False
    """True if the text is a whole query, False if it is a formula."""

    def place(self, node: object) -> SourcePlace | None:
        """Return the place of a syntax node; None if it was not read from the text."""
        span = self.spans.get(id(node))
        return SourcePlace(self.text, span) if span else None


def parse_ceql(text: str) -> tuple[CeqlQuery, Schema | None, Source]:
    """Return the query in a text ``[CREATE STREAM ..] SELECT ..``, its schema and its source.

    The schema is None without declarations. Raise `QuerySyntaxError`, `IllFormed`, and
    `ResourceLimit` for a text that is too long or too deep.
    """
    tree = _parse(text, "program")
    *declarations, query = tree.children
    builder = Builder(text)
    ast = build(builder, _as_tree(query))
    _refuse_labels_in_brackets(builder, ast.formula)
    schema = schema_of([_as_tree(each) for each in declarations], text) if declarations else None
    return ast, schema, Source(text, builder.spans, tuple(builder.nodes), is_query=True)


def parse_cel(text: str) -> tuple[Formula, Source]:
    """Return the formula in a text, and its source; raise as `parse_ceql`."""
    builder = Builder(text)
    formula = build(builder, _parse(text, "formula"))
    _refuse_labels_in_brackets(builder, formula)
    return formula, Source(text, builder.spans, tuple(builder.nodes))


def _refuse_labels_in_brackets(builder: Builder, formula: Formula) -> None:
    """Raise `QuerySyntaxError` for a path in brackets that begins with a label: ``b.price``.

    ``b[b.price > a.price]`` is a comparison of labels in another syntax; it does not read a field.
    """
    if not builder.bracket_paths:
        return
    parts = list(cel.subformulas(formula))
    labels = {psi.label for psi in parts if isinstance(psi, cel.As)}
    labels |= {psi.type for psi in parts if isinstance(psi, cel.Atom)}
    for name, at in builder.bracket_paths:
        if name in labels:
            hint = _hint(builder.text, at, ())
            hint = hint or f"{name} is a label; write back-quotes around a path that begins with it"
            place = place_at(builder.text, at, 1)
            raise QuerySyntaxError("CER0101", "unexpected '.'", place=place, expected=(), hint=hint)


def parse_schema(text: str) -> Schema:
    """Return the schema in ``CREATE STREAM`` declarations; raise as `parse_ceql`.

    Args:
        text: One declaration or more.

    >>> parse_schema("CREATE STREAM S { EVENT BUY { price:double } }").event_names()
    ('BUY',)
    """
    tree = _parse(text, "declarations")
    return schema_of([_as_tree(each) for each in tree.children], text)


def as_schema(schema: Schema | str | None) -> Schema | None:
    """Return a schema from a `Schema`, the text of declarations, or None."""
    return parse_schema(schema) if isinstance(schema, str) else schema


def _as_tree(node: Any) -> Tree[Token]:
    assert isinstance(node, Tree)
    return node


def _parse(text: str, start: str) -> Tree[Token]:
    _refuse_deep(text)
    return read(_CEQL, text, start)


_OPAQUE = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)+`|--[^\n]*|/\*.*?\*/", re.DOTALL
)


def _refuse_deep(text: str) -> None:
    """Raise `ResourceLimit` for formulas that nest deeper than `MAX_DEPTH`."""
    depth = 0
    for match in re.finditer(r"[(\[{]|[)\]}]", _OPAQUE.sub(lambda m: " " * len(m[0]), text)):
        depth += 1 if match[0] in "([{" else -1
        if depth > MAX_DEPTH:
            raise ResourceLimit(
                "CER0602",
                f"the query nests more than {MAX_DEPTH} parentheses",
                place=place_at(text, match.start(), 1),
                hint="omit parentheses that have no effect",
            )


_NAMES_TOO = frozenset(WORDS["strategy"].split()).union(*PREFIXES.values())
"""Keywords that occur in places of names, so that a name spelled like one is misread."""


def _hint(text: str, at: int, expected: tuple[str, ...]) -> str:
    """Return a hint for foreign syntax, a misspelled keyword, or a keyword used as a name."""
    if habit := habit_hint(text, at):
        return habit
    line_so_far = text[text.rfind("\n", 0, at) + 1 : at]
    if before := re.search(r"(\w+)\s*$", line_so_far):
        word = before[1]
        if word.upper() in _NAMES_TOO:
            return f"{word} is a keyword here; write `{word}` to use it as a name"
    if match := re.compile(r"\w+").match(text, at):
        close = nearest(match[0].upper(), [each for each in expected if each.isalpha()])
        return close if close.startswith("did you mean") else two_names_hint(text, at)
    return ""


_NAME = r"(?:[A-Za-z_]\w*|`(?:[^`]|``)+`)"
_BLANK = r"\s|\ufeff|--[^\n]*(?:\n|$)|/\*(?:[^*]|\*(?!/))*\*/"
"""Pattern of space or a comment; a comment of one line is matched whole, so its words are
not read.
"""


_SIGN = r"(?:\+|-(?!-))"
_MOMENT = rf"(?:TIMESTAMP|DATE)(?:{_BLANK})*['\"]"
_AMOUNT = rf"(?:\.?\d|{_MOMENT})"
"""Pattern of the beginning of arithmetic that is not a name: a sign, a number, a moment."""


def _before_amount() -> str:
    """Return the terminal for ``+`` as addition, which a number, name or parenthesis follows."""
    gap = f"(?:{_BLANK})*"
    call = rf"(?:{'|'.join(GROUP_WORDS)}){gap}\("
    ahead = rf"\+(?=(?:{_SIGN}|{_BLANK})*(?:{_AMOUNT}|\(|{_NAME}{gap}\.|{call}))"
    return f"_PLUS.2: /{_escaped(ahead)}/i"


def _escaped(regex: str) -> str:
    return regex.replace("/", r"\/")


def _before_filter(word: str) -> str:
    """Return the terminal for AND or OR that a filter follows.

    A filter begins with ``name[``, ``name>name[``, ``name.``, ``name(`` or arithmetic; a formula
    begins so only with a name of `PREFIXES`, and never with ``MAX(name.``.
    """
    apart = {sign: rf"(?!(?:{'|'.join(words)})\b){_NAME}" for sign, words in PREFIXES.items()}
    gap = f"(?:{_BLANK})*"
    bracket = rf"{apart['[']}{gap}(?:[\[.]|>{gap}{_NAME}{gap}\[)"
    call = rf"(?:{apart['(']}{gap}\(|{_NAME}{gap}\({gap}{_NAME}{gap}\.)"
    ahead = rf"{word}(?!\w)(?=(?:\(|{_BLANK})*(?:{bracket}|{call}|{_SIGN}|{_AMOUNT}))"
    return f"_{word}_FILTER.2: /{_escaped(ahead)}/i"


def _before_text(word: str) -> str:
    """Return the terminal for a word that is a keyword only before a quoted text."""
    ahead = rf"{word}(?=(?:{_BLANK})*['\"])".replace("/", r"\/")
    return f"_{word}.2: /{ahead}/i"


def _before_name(word: str) -> str:
    """Return the terminal for a word that is a keyword only before a name."""
    ahead = rf"{word}(?!\w)(?=(?:{_BLANK})*{_NAME})"
    return f"_{word}.2: /{_escaped(ahead)}/i"


MOMENTS = tuple(map(_before_text, ("TIMESTAMP", "DATE")))
"""The terminals of ``TIMESTAMP '..'`` and ``DATE '..'``; elsewhere these words are names."""

TIME_WORDS = {"_TIMESTAMP": "TIMESTAMP", "_DATE": "DATE"}
TIME_WORDS |= {f"{unit}S": f"{unit}S" for unit in UNITS}
"""The keywords of times as errors name them."""

_CEQL = Language(
    "cerlab.logic.ceql",
    ("program", "formula", "declarations"),
    noun="query",
    hint=_hint,
    words={
        "_AND_FILTER": "AND",
        "_OR_FILTER": "OR",
        "_PLUS": "'+'",
        "_DISTINCT": "DISTINCT",
        "NULLABLE": "'?'",
        **TIME_WORDS,
    },
    terminals=(
        *map(_before_filter, ("AND", "OR")),
        _before_amount(),
        _before_name("DISTINCT"),
        *MOMENTS,
    ),
)
