"""``CREATE STREAM`` declarations: from parse trees to a `Schema`, and back to text."""

from __future__ import annotations

from lark import Token, Tree

from cerlab import display
from cerlab.errors import IllFormed, SourcePlace, nearest
from cerlab.logic.reading import place_at
from cerlab.model.schema import (
    TYPE_NAMES,
    AttributeDeclaration,
    EventDeclaration,
    Schema,
    StreamDeclaration,
)
from cerlab.predicates.text import name_text


def schema_of(trees: list[Tree[Token]], text: str) -> Schema:
    """The schema that declarations declare; raises `IllFormed` for what they declare twice."""
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
    name: str, names: list[str], what: str, tree: Tree[Token] | Token, text: str
) -> None:
    if name in names:
        raise IllFormed(
            "CER0211",
            f"{what} '{name}' is declared twice",
            place=_place(tree, text),
            hint="leave one of the two out",
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
    """The declarations as text, one stream after the other."""
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
