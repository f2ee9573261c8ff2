"""Names and values that a pattern needs of events, and warnings about missing ones.

These are names of types, streams and attributes, values of a kind for which a comparison can hold,
and compared texts. Each is searched only until it is found, so most streams cost a look at their
first events; of columns the dictionaries are enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any, assert_never
from warnings import warn
from weakref import WeakKeyDictionary

from cerlab.compile.pattern import AnyPattern, Pattern
from cerlab.errors import AnswerWarning, nearest, stacklevel_of_caller
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.syntax import partition_attributes
from cerlab.logic.sremo.syntax import Terminal, subexpressions
from cerlab.model.clauses import AttributeWindow
from cerlab.model.columns import Chunks, Columns, is_arrow, is_duration, is_moment, is_text
from cerlab.model.decimals import Decimals
from cerlab.model.event import Event, Value, readable
from cerlab.model.stream import Stream, TimeAxis
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Correlation, On, atomics
from cerlab.predicates.groups import kind_of_group
from cerlab.predicates.syntax import attributes_of, operands
from cerlab.predicates.text import literal_hint, predicate_text
from cerlab.predicates.truth import kind_of, kind_of_result

CODES = {
    "type": "CER0904",
    "attribute": "CER0905",
    "stream": "CER0906",
    "comparison": "CER0907",
    "quotes": "CER0908",
    "text": "CER0909",
    "mixed": "CER0912",
    "unit": "CER0930",
}
"""The code of the warning for each kind of `Absent`."""

_MESSAGES = {
    "type": "no event has type '{}'",
    "attribute": "no event has an attribute '{}'",
    "stream": "no event is of stream '{}'",
    "comparison": "{} never holds",
    "quotes": "nothing is called '{}'",
    "text": "no event has {}",
    "mixed": "{}",
    "unit": "{}",
}
_IN_WORDS = {"number": "numbers", "text": "text", "boolean": "booleans"}
_IN_WORDS |= {"timestamp": "moments", "duration": "durations"}
_OWN = ("type", "stream")


@dataclass(frozen=True, slots=True)
class Absent:
    """A name or value that a query needs and no event has; `kind` is one of `CODES`."""

    kind: str
    name: str
    hint: str

    def __str__(self) -> str:
        text = _MESSAGES[self.kind].format(self.name)
        return f"{text}: {self.hint}" if self.hint else text


@dataclass(eq=False)
class Requirements:
    """The unmet needs of a pattern, and the names and values of the events so far."""

    types: dict[str, None] = field(default_factory=dict)
    streams: dict[str, None] = field(default_factory=dict)
    attributes: dict[str, None] = field(default_factory=dict)
    kinds: dict[tuple[str, str], pred.Atom] = field(default_factory=dict)
    texts: dict[tuple[str, str], None] = field(default_factory=dict)
    computed: dict[pred.Atom, None] = field(default_factory=dict)
    """Comparisons of computed values or labels for which no two comparable values were seen yet."""
    equals: dict[str, str] = field(default_factory=dict)
    """For an attribute that ``=`` compares with another attribute, this other attribute."""
    names: dict[str, dict[str, None]] = field(default_factory=lambda: {n: {} for n in _MESSAGES})
    value_kinds: dict[str, set[str]] = field(default_factory=dict)
    near: dict[tuple[str, str], str] = field(default_factory=dict)
    numbers: dict[str, Value] = field(default_factory=dict)
    """For an attribute compared with numbers, a text or NaN that it contains, or None."""
    axis: TimeAxis | None = None
    """The time axis if it has a unit, until one of its values is seen."""
    idle: Absent | None = None
    """The remark that the unit of the time has no effect, or None."""

    @classmethod
    def of_unit(cls, time: TimeAxis | None) -> Requirements:
        """Return the need for a time in numbers if the axis has a unit; otherwise no need."""
        return cls(axis=time if time is not None and time.unit is not None else None)

    @property
    def open(self) -> bool:
        """True if some need is not met yet."""
        names = self.types or self.streams or self.attributes
        return bool(names or self.kinds or self.texts or self.computed or self.axis)

    def read(self, stream: Stream) -> Requirements:
        """Search a stream, or a part of it, for the unmet needs; return self."""
        if not stream.is_columnar:
            if self.numbers:
                self._look_for_mixed(lambda name: (t.attributes.get(name) for t in stream.events))
            for event in stream.events:
                if not self.open:
                    break
                self._observe(event)
            return self
        # a column of a table cannot mix types
        source = stream.columns.source
        mixed = source is None and None in self.numbers.values()
        for columns, _ in stream.parts() if mixed or self.open else ():
            if mixed:
                self._look_for_mixed(partial(_of_several_types, columns))
            if self.open:
                self._columns(columns)
            elif not mixed:
                break
        return self

    def _look_for_mixed(self, values: Callable[[str], Iterable[Any]]) -> None:
        """Search for text and NaN among the numbers of an attribute."""
        for name in [each for each, value in self.numbers.items() if value is None]:
            odd = (each for each in values(name) if isinstance(each, str) or each != each)
            self.numbers[name] = next(odd, None)

    def _observe(self, event: Event) -> None:
        values = self._values(event)
        self.names["type"][event.type] = None
        self.types.pop(event.type, None)
        if event.stream is None:  # an event without a stream belongs to every stream
            self.streams.clear()
        elif self.streams:
            self.names["stream"][event.stream] = None
            self.streams.pop(event.stream, None)
        for name, value in values.items():
            if value is not None:
                self.names["attribute"][name] = None
                self.attributes.pop(name, None)
        # iterates over a copy, because needs that are met are removed
        for name, kind in [*self.kinds]:
            if (kind_here := kind_of(values.get(name))) is not None:
                self.value_kinds.setdefault(name, set()).add(kind_here)
                if kind_here == kind:
                    del self.kinds[name, kind]
        if self.computed:
            present = {n: kind_of(value) for n, value in values.items()}
            self._compute({n: {kind} for n, kind in present.items() if kind is not None})
        for name, text in [*self.texts]:
            self._text(name, text, values.get(name))
        if self.axis is not None:
            of_time = kind_of(values.get(self.axis.attribute))
            self._look_at_time(set() if of_time is None else {of_time})

    def _values(self, event: Event) -> Mapping[str, Value]:
        """Return the attributes of an event that have values, and those of the required paths."""
        values = readable(event)
        if values is event.attributes:
            return values
        named = {*self.attributes, *(n for n, _ in self.kinds), *(n for n, _ in self.texts)}
        named.update(name for atom in self.computed for name in _names_in(atom))
        if self.axis is not None:
            named.add(self.axis.attribute)
        more = {n: event.attributes[n] for n in named.difference(values) if n in event.attributes}
        return {**values, **more}

    def _text(self, name: str, text: str, value: Value) -> None:
        if value == text:
            del self.texts[name, text]
        elif isinstance(value, str) and value.lower() == text.lower():
            self.near[name, text] = value

    def _look_at_time(self, kinds: set[str]) -> None:
        """Note whether the time's unit has no effect, since only numbers have units."""
        if self.axis is not None and kinds:
            if "number" not in kinds:
                self.idle = idle_unit(self.axis, _IN_WORDS[min(kinds)])
            self.axis = None

    def _compute(self, kinds: Mapping[str, set[str]]) -> None:
        """Remove each comparison that can compare two values if attributes have these kinds."""
        for atom in [*self.computed]:
            names = _names_in(atom)
            for name in names:
                self.value_kinds.setdefault(name, set()).update(kinds.get(name, ()))
            # labels are of different events, so one may have occurred before the other
            of_one_event = {*names} <= {*attributes_of([atom])}
            if _comparable(atom, kinds if of_one_event else self.value_kinds):
                del self.computed[atom]

    def _columns(self, columns: Columns) -> None:
        if self.types:
            self.note(columns)
        for own, missing in (("type", self.types), ("stream", self.streams)):
            if missing and own in columns:
                for name in _distinct(columns[own]):
                    if name is None and own == "stream":
                        missing.clear()
                    self.names[own][str(name)] = None
                    missing.pop(str(name), None)
            elif own == "stream":
                missing.clear()
        paths = [name for name in self.attributes if name in columns]
        for name in dict.fromkeys((*columns, *paths)) if self.attributes else ():
            if name not in _OWN and (name not in self.attributes or _kinds(columns.uncoded(name))):
                self.names["attribute"][name] = None
                self.attributes.pop(name, None)
        for name, kind in [*self.kinds]:
            if name in columns:
                column_kinds = _kinds(columns.uncoded(name))
                self.value_kinds.setdefault(name, set()).update(column_kinds)
                if kind in column_kinds:
                    del self.kinds[name, kind]
        if self.computed:
            names = {name for atom in self.computed for name in _names_in(atom)}
            self._compute({n: _kinds(columns.uncoded(n)) for n in names if n in columns})
        for name, text in [*self.texts]:
            for value in _alike(columns[name], text) if name in columns else ():
                if (name, text) in self.texts:
                    self._text(name, text, value)

        if self.axis is not None and self.axis.attribute in columns:
            self._look_at_time(_kinds(columns.uncoded(self.axis.attribute)))

    def note(self, names: Iterable[str]) -> None:
        """Note names of existing attributes, which hints may suggest."""
        self.names["attribute"] |= dict.fromkeys(name for name in names if name not in _OWN)

    def absent(self) -> Iterator[Absent]:
        """Yield the needs that no event has met so far, in the order of the query."""
        columns = [name for name in self.names["type"] if name in self.names["attribute"]]
        for name in self.types:
            hint = nearest(name, self.names["type"])
            if columns:
                hint = f"'{columns[0]}' is a column: --type-column {columns[0]} reads types from it"
            yield Absent("type", name, hint)
        for name in self.streams:
            yield Absent("stream", name, nearest(name, self.names["stream"]))
        for name in self.attributes:
            other = self.equals.get(name)
            if other is not None and other not in self.attributes:
                hint = f"if it is a text, write {other} = '{name}'"
                yield Absent("quotes", name, hint)
            else:
                known = self.names["attribute"]
                hint = "the column is NULL everywhere" if name in known else nearest(name, known)
                yield Absent("attribute", name, hint)
        for (name, kind), atom in self.kinds.items():
            if others := self.value_kinds.get(name):
                holds = " and ".join(_IN_WORDS[each] for each in sorted(others))
                hint = f"'{name}' holds {holds}, not {_IN_WORDS[kind]}"
                literal = literal_hint({*others, kind}, pred.constants([atom]))
                hint += f"; {literal}" * bool(literal)
                yield Absent("comparison", predicate_text(atom), hint)
        for atom in self.computed:
            if all(self.value_kinds.get(name) for name in _names_in(atom)):
                yield Absent("comparison", predicate_text(atom), self._why_never(atom))
        for name, odd in self.numbers.items():
            if odd is not None and (name, "number") not in self.kinds:
                message = f"'{name}' holds {_odd(odd)}"
                yield Absent("mixed", message, "no comparison with it holds")
        if self.idle is not None:
            yield self.idle
        for (name, text), value in self.near.items():
            if (name, text) in self.texts:
                yield Absent("text", f"{name} = '{text}'", f"did you mean '{value}'?")

    def _why_never(self, atom: pred.Atom) -> str:
        """Return the kinds of values in a comparison, and what to write instead."""
        sides = [_kinds_of(side, self.value_kinds) for side in operands(atom)]
        kinds = set().union(*sides)
        if all(sides):
            words = " with ".join(" or ".join(_IN_WORDS[k] for k in sorted(s)) for s in sides[:2])
            hint = f"it compares {words}"
        else:
            of = sorted((n, k) for n in _names_in(atom) for k in self.value_kinds[n])
            hint = "no such arithmetic: " + ", ".join(f"'{n}' holds {_IN_WORDS[k]}" for n, k in of)
            kinds |= {k for _, k in of}
            kinds |= {k for v in pred.constants([atom]) if (k := kind_of(v)) is not None}
        literal = literal_hint(kinds, pred.constants([atom]))
        return f"{hint}; {literal}" if literal else hint

    def warn(self, some: bool, answers: int | None, ask: str) -> None:
        """Warn about each missing name, and about a query without answers.

        `some` is True if there are events at all; `answers` is the number of answers, None if it is
        not known; `ask` is the advice on how to ask for the reason.
        """
        warn_of(self.absent(), some, answers, ask)


def idle_unit(axis: TimeAxis, kind: str) -> Absent:
    """Return the remark that the time's unit has no effect on values of `kind`."""
    assert axis.unit is not None
    name, unit = axis.attribute, axis.unit.name.lower()
    hint = f"units are for numbers, and '{name}' holds {kind}"
    return Absent("unit", f"unit='{unit}' has no effect", hint)


def warn_of(
    absent: Iterable[Absent], some: bool = True, answers: int | None = None, ask: str = ""
) -> None:
    """Warn about each missing name, and about a query without answers."""
    lines = [f"{CODES[each.kind]}: {each}" for each in absent] if some else []
    if answers == 0:
        lines.append("CER0910: no answer" + (f"; {ask}" if some else ": there are no events"))
    for line in lines:
        warn(AnswerWarning(line), stacklevel=stacklevel_of_caller())


ABSENT: WeakKeyDictionary[AnyPattern, WeakKeyDictionary[Stream, tuple[Absent, ...]]]
ABSENT = WeakKeyDictionary()
"""Missing names by pattern and stream; both are immutable, so a repeated run searches once."""


def requirements_of(pattern: AnyPattern, time: TimeAxis | None = None) -> Requirements:
    """Return all needs of a pattern before any event is read; `time` is the time axis."""
    needs = Requirements.of_unit(time)
    if time is not None:
        needs.attributes[time.attribute] = None
    if not isinstance(pattern, Pattern):
        for each in subexpressions(pattern.ast):
            if isinstance(each, Terminal):
                _of_atoms(needs, pred.atoms(each.guard))
        return needs
    ast = pattern.ast
    needs.streams |= dict.fromkeys(ast.streams)
    lengths = [ast.window, ast.throttle]
    for psi in cel.subformulas(ast.formula):
        if isinstance(psi, cel.Atom):
            needs.types[psi.type] = None
            if psi.stream is not None:
                needs.streams[psi.stream] = None
        elif isinstance(psi, cel.Within):
            lengths.append(psi.window)
        elif isinstance(psi, cel.Wait | cel.Lookback):
            lengths.append(psi.length)
        elif isinstance(psi, cel.Filter):
            for condition in atomics(psi.condition):
                match condition:
                    case On(_, predicate):
                        _of_atoms(needs, pred.atoms(predicate))
                    case Correlation(op, left, right):
                        _of_labels(needs, op, left, right)
                    case _:
                        pass  # the attributes that a predicate from Python reads are not known
    needs.attributes |= dict.fromkeys(partition_attributes(ast))
    for length in lengths:
        if isinstance(length, AttributeWindow):
            needs.attributes[length.attribute] = None
    for own in _OWN:
        needs.attributes.pop(own, None)
    return needs


def _of_atoms(needs: Requirements, atoms: Iterable[Any]) -> None:
    for atom in atoms:
        match atom:
            case pred.RegisterComparison(op, left, right):
                _of_labels(needs, op, left, right)
            case pred.TypeIs(name):
                needs.types[name] = None
            case pred.StreamIs(name):
                needs.streams[name] = None
            case pred.Comparison(
                pred.Operator.EQ, pred.Attribute("type"), pred.Constant(str(name))
            ):
                needs.types[name] = None
            case _:
                _of_comparison(needs, atom)
    for own in _OWN:
        needs.attributes.pop(own, None)


def _of_labels(
    needs: Requirements, op: pred.Operator, left: pred.Expression, right: pred.Expression
) -> None:
    """Add a comparison of labels or registers, and its attributes, to the unmet needs."""
    atom = pred.Comparison(op, left, right)
    needs.attributes |= dict.fromkeys(_names_in(atom))
    needs.computed[atom] = None


def _of_comparison(needs: Requirements, atom: pred.Atom) -> None:
    """Add the attributes of a comparison, with the kinds and texts to which it compares them."""
    needs.attributes |= dict.fromkeys(attributes_of([atom]))
    sides = operands(atom)
    names = [side.name for side in sides if isinstance(side, pred.Attribute)]
    kinds = {kind_of(side.value) for side in sides if isinstance(side, pred.Constant)} - {None}
    if isinstance(atom, pred.Like):
        kinds = {"text"}
    if len(names) == 1 and len(kinds) == 1 and names[0] not in _OWN:
        kind = str(kinds.pop())
        needs.kinds[names[0], kind] = atom
        if kind == "number":
            needs.numbers[names[0]] = None
    elif names or any(isinstance(side, pred.Computed | pred.Negated) for side in sides):
        needs.computed[atom] = None
    match atom:
        case pred.Comparison(pred.Operator.EQ, pred.Attribute(left), pred.Attribute(right)):
            needs.equals |= {right: left, left: right}
        case pred.Comparison(pred.Operator.EQ) | pred.Member(negated=False):
            for side in sides if len(names) == 1 and names[0] not in _OWN else ():
                if isinstance(side, pred.Constant) and isinstance(side.value, str):
                    needs.texts[names[0], side.value] = None
        case _:
            pass


def _names_in(atom: pred.Atom) -> tuple[str, ...]:
    """Return the attributes in an atom, also of labels, except `type` and `stream`."""
    leaves = (leaf for side in operands(atom) for leaf in pred.leaves_of(side))
    names = (
        leaf.name if isinstance(leaf, pred.Attribute) else leaf.attribute
        for leaf in leaves
        if not isinstance(leaf, pred.Constant)
    )
    return tuple(dict.fromkeys(name for name in names if name is not None and name not in _OWN))


def _comparable(atom: pred.Atom, kinds: Mapping[str, set[str]]) -> bool:
    """Return whether an atom may compare two values if attributes have values of these kinds."""
    first, *others = (_kinds_of(side, kinds) for side in operands(atom))
    if isinstance(atom, pred.Like):
        return "text" in first
    return any(first & other for other in others)


def _kinds_of(side: pred.Expression, kinds: Mapping[str, set[str]]) -> set[str]:
    """Return the kinds of values that an expression may have."""
    match side:
        case pred.Constant(value):
            return {kind} if (kind := kind_of(value)) else set()
        case (
            pred.Attribute(name)
            | pred.LabelAttribute(_, name)
            | pred.RegisterAttribute(_, name)
            | pred.Previous(_, name)
        ):
            return {"text"} if name in _OWN else kinds.get(name, set())
        case pred.OfGroup(function, _, attribute):
            of_one = kinds if attribute is None else _kinds_of(pred.Attribute(attribute), kinds)
            return {kind for one in (*of_one, None) if (kind := kind_of_group(function, one))}
        case pred.Computed(op, left, right):
            pairs = product(_kinds_of(left, kinds), _kinds_of(right, kinds))
            return {k for one, other in pairs if (k := kind_of_result(op, one, other))}
        case pred.Negated(inner):
            return _kinds_of(inner, kinds) & {"number", "duration"}
        case _:
            assert_never(side)


def _odd(value: Value) -> str:
    """Return a description of a text or NaN among numbers."""
    return f"text beside numbers, as '{value[:30]}'" if isinstance(value, str) else "NaN"


def _parts(column: Any) -> Iterator[Any]:
    """Yield the chunks of a column: Arrow arrays or lists of values."""
    for chunk in column.chunks if hasattr(column, "chunks") else [column]:
        if isinstance(chunk, Chunks):
            yield from _parts(chunk)
        else:
            yield chunk


def _distinct(column: Any) -> Iterator[Any]:
    """Yield the values of a column, each once or a few times."""
    for part in _parts(column):
        if not is_arrow(part):
            yield from set(part)
            continue
        if part.null_count:
            yield None
        values = part.dictionary if hasattr(part, "dictionary") else part.unique()
        yield from (each for each in values.to_pylist() if each is not None)


def _of_several_types(columns: Columns, name: str) -> Iterator[Any]:
    """Yield the values in those chunks of an attribute that are lists, which may mix types."""
    for part in _parts(columns.get(name, ())):
        if not is_arrow(part):
            yield from part


def _kinds(column: Any) -> set[str]:
    """Return the kinds of the values in a column, ignoring NULL."""
    from pyarrow import types

    kinds: set[str] = set()
    for part in _parts(column):
        if isinstance(part, Decimals):
            kinds.update({"number"} if part.doubles.null_count < len(part) else ())
        elif not is_arrow(part):
            found = (_kind_of_type(part, each) for each in set(map(type, part)))
            kinds.update(kind for kind in found if kind is not None)
        elif part.null_count < len(part):
            kind = part.type
            if is_text(kind):
                kinds.add("text")
            elif is_moment(kind):
                kinds.add("timestamp")
            elif is_duration(kind):
                kinds.add("duration")
            else:
                kinds.add("boolean" if types.is_boolean(kind) else "number")
    return kinds


def _kind_of_type(values: Iterable[Any], of_type: type[Any]) -> str | None:
    """Return the kind of values of an Arrow type; NULL and NaN have no kind."""
    kinds = (kind_of(value) for value in values if type(value) is of_type)
    return next((kind for kind in kinds if kind is not None), None)


def _alike(column: Any, text: str) -> Iterator[str]:
    """Yield the texts of a column that equal a text except for letter case."""
    lower_text = text.lower()
    for value in _distinct(column):
        if isinstance(value, str) and value.lower() == lower_text:
            yield value
