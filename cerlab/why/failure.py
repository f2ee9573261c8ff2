"""Failures: what prevents positions from being an answer, and the repairs.

The table has a row for each way to fail: the failing part, the words, the repairs, and the cost of
a repair. A deduction records only the row and the facts; the words are computed on demand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from cerlab.display import drawable, register
from cerlab.errors import printable
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.syntax import Sremo, Terminal
from cerlab.model.answer import ComplexEvent, Positions
from cerlab.model.clauses import Strategy, Window
from cerlab.predicates.text import positions_text

Path: TypeAlias = tuple[int, ...]
"""Place of a part of a formula: the number of the child at each step from the root."""

LONGEST = 60
"""Longest text of a part inside a sentence, in characters; longer texts are cut."""


def part_text(part: Formula | Sremo | str) -> str:
    """Return the text of a part of a query, cut to `LONGEST` characters."""
    text = str(part)
    return text if len(text) <= LONGEST else text[: LONGEST - 2] + ".."


class Kind(Enum):
    """The kind of a failure; the value is its name in JSON."""

    POSITION = "position"
    FROM = "from"
    PARTITION = "partition"
    TYPE = "type"
    STREAM = "stream"
    NOT = "not"
    GUARD = "guard"
    NEGATION = "negation"
    EMPTY = "empty"
    FILTER = "filter"
    VARIABLE = "variable"
    GAP = "gap"
    COUNT = "count"
    MISSING = "missing"
    UNMARKED = "unmarked"
    LEFTOVER = "leftover"
    AND = "and"
    UNLESS = "unless"
    INTERVAL = "interval"
    WINDOW = "window"
    CLOCK = "clock"
    CONSUME = "consume"
    STRATEGY = "strategy"
    LIMIT = "limit"
    THROTTLE = "throttle"
    FAR = "far"


@dataclass(frozen=True, slots=True)
class Retype:
    """Repair: change the type of the event at a position."""

    position: int
    type: str


@dataclass(frozen=True, slots=True)
class Alter:
    """Repair: replace the event at a position by one with suitable values.

    In a failure it names the event at fault; `Why.repairs` includes it only if such values were
    found.
    """

    position: int


@dataclass(frozen=True, slots=True)
class Insert:
    """Repair: insert an event for a part between two positions; None is an end of the match."""

    path: Path
    after: int | None = None
    before: int | None = None


@dataclass(frozen=True, slots=True)
class Remove:
    """Repair: remove the events at these positions from the stream."""

    positions: Positions


@dataclass(frozen=True, slots=True)
class Give:
    """Repair: add a position to the given ones."""

    position: int


@dataclass(frozen=True, slots=True)
class Drop:
    """Repair: remove a position from the given ones."""

    position: int


@dataclass(frozen=True, slots=True)
class Reach:
    """Repair: give another start and end."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Relax:
    """Repair: replace the part at a path with a weaker formula or expression."""

    path: Path
    into: Formula | Sremo = field(compare=False)


@dataclass(frozen=True, slots=True)
class Remark:
    """Repair: add or remove the mark ``^`` of the terminal at a path."""

    path: Path
    into: Terminal


@dataclass(frozen=True, slots=True)
class Widen:
    """Repair: widen the window until it contains the positions."""

    window: Window


@dataclass(frozen=True, slots=True)
class Without:
    """Repair: drop a clause: from, partition, strategy, consume or limit."""

    clause: str


@dataclass(frozen=True, slots=True)
class Inside:
    """Repair: let a strategy compare only answers inside the window."""


@dataclass(frozen=True, slots=True)
class End:
    """Repair: promise that no event follows the stream, ``until="end"``."""


Repair: TypeAlias = (
    Retype
    | Alter
    | Insert
    | Remove
    | Give
    | Drop
    | Reach
    | Relax
    | Remark
    | Widen
    | Without
    | Inside
    | End
)


LIGHT, HEAVY = 2, 3
"""Costs of a repair: LIGHT changes an event or the query, HEAVY the positions of the question."""


@dataclass(frozen=True, slots=True)
class Row:
    """A kind of failure: the class of the failing part, the text, and the repairs.

    `pattern` is the class of the failing part, or `CLAUSE` for clauses and positions. `words` is a
    template filled with the facts of a failure; `{p}` and `{q}` are its first and last position.
    The fields of `repairs` are facts too. A repair costs `cost`; among failures of equal cost,
    `further` counts as that many more blamed events.
    """

    kind: Kind
    pattern: Any
    words: str | Callable[[Failure], str]
    repairs: tuple[type[Any], ...] = ()
    cost: int = LIGHT
    further: int = 0

    def failure(
        self,
        part: Formula | Sremo | str = "",
        path: Path = (),
        positions: Positions = (),
        rival: ComplexEvent | None = None,
        more: Iterable[Repair] = (),
        **facts: Any,
    ) -> Failure:
        """Return a failure of this kind; `more` are additional repairs."""
        facts["path"] = path
        if positions:
            p, q = positions[0], positions[-1]
            facts |= {"p": p, "q": q, "position": p, "start": p, "end": q}
        repairs = [
            make(*[facts[name] for name in make.__match_args__ if name in facts])
            for make in self.repairs
        ]
        return Failure(self, part, path, positions, (*repairs, *more), rival, facts)


@drawable
@dataclass(frozen=True, slots=True, repr=False)
class Failure:
    """A failure: its kind, its place, and its repairs.

    `of` is the subformula, or the text of the clause, that requires it; `path` is the place of the
    subformula; `positions` are the events concerned; `rival` is an answer that another clause
    prefers. Each of `repairs` alone meets this obligation.
    """

    row: Row
    of: Formula | Sremo | str = field(default="", compare=False)
    path: Path = ()
    positions: Positions = ()
    repairs: tuple[Repair, ...] = ()
    rival: ComplexEvent | None = None
    facts: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __repr__(self) -> str:
        """Return the kind and the sentence of the failure."""
        return f"<Failure, {self.kind.value}: {self.words}>"

    @property
    def kind(self) -> Kind:
        """The kind of the failure."""
        return self.row.kind

    @property
    def part(self) -> str:
        """The text of the failing part or clause."""
        return str(self.of)

    @property
    def words(self) -> str:
        """A sentence about the failure, with the values that decide."""
        if not isinstance(self.row.words, str):
            return self.row.words(self)
        facts = {name: _in_words(value) for name, value in self.facts.items()}
        rival = "" if self.rival is None else positions_text(self.rival.positions)
        return self.row.words.format(part=_in_words(self.of), rival=rival, **facts)


def _in_words(fact: object) -> object:
    if isinstance(fact, Formula | Sremo):
        return part_text(fact)
    return fact() if callable(fact) else fact


register(Failure, "text/plain", lambda failure: printable(failure.words))


def cost(failures: Sequence[Failure]) -> int:
    """Return the cost of repairing all failures, choosing the most frequent repair first.

    >>> both = [TYPE.failure(positions=(4,), type="A"), Failure(FILTER, repairs=(Alter(4),))]
    >>> cost(both)
    2
    """
    total = 0
    left = list(failures)
    while len(left) > 1:
        counts = Counter(repair for failure in left for repair in failure.repairs)
        # the exact minimum is a hitting set, which is NP-hard to find
        best = counts.most_common(1)[0][0] if counts else None
        group = [f for f in left if not f.repairs or best in f.repairs]
        total += max(f.row.cost for f in group)
        left = [f for f in left if f.repairs and best not in f.repairs]
    return total + sum(f.row.cost for f in left)


def blame(failures: Sequence[Failure]) -> int:
    """Return the number of events that failures involve, to compare explanations of equal cost.

    A missing event counts more than a wrong one, and a gap counts the events inside it.
    """
    return sum(f.row.further + len(f.positions) for f in failures)


def single_repairs(failures: Sequence[Failure]) -> tuple[Repair, ...]:
    """Return the repairs that each fix all failures."""
    if not failures:
        return ()
    return tuple(r for r in failures[0].repairs if all(r in f.repairs for f in failures))


def _missing(failure: Failure) -> str:
    """Return the sentence that no event matches a part."""
    insert, part = failure.repairs[0], part_text(failure.of)
    assert isinstance(insert, Insert)
    where = [f" after {insert.after}" if insert.after is not None else ""]
    where.append(f" before {insert.before}" if insert.before is not None else "")
    if isinstance(failure.of, Formula) or all(where) or not any(where):
        return f"no event is there for {part}{' and'.join(filter(None, where))}"
    # events outside an expression's positions exist, but are not part of the question
    if where[0] and not (isinstance(failure.of, Terminal) and failure.of.marked):
        return f"{part} reads an event{where[0]}, where a match has ended"
    return f"no position is given for {part}{''.join(where)}"


# The table of failures: kind, pattern, words, repairs, cost

CLAUSE = type(None)
"""Pattern of clauses and positions, which are not parts of a formula."""

POSITION = Row(Kind.POSITION, CLAUSE, "position {p} is out of the stream, which has {n:,} events")
FROM = Row(
    Kind.FROM, CLAUSE, "{part} leaves out event {p}, which is of stream {stream}", (Without, Alter)
)
NO_KEY = Row(
    Kind.PARTITION,
    CLAUSE,
    "{name} is {value} at {p}, so in no partition",
    (Without, Alter),
)
OTHER_KEY = Row(
    Kind.PARTITION,
    CLAUSE,
    "event {p} is in another partition: {name} is {value}, not {other}",
    (Without, Alter),
)
INTERVAL = Row(
    Kind.INTERVAL, CLAUSE, "it starts at {p} and ends at {q}, not {asked}", (Reach,), HEAVY
)
WINDOW = Row(
    Kind.WINDOW,
    cel.Within | sre.SpanWindow | sre.LengthWindow | sre.Within | None,
    "outside {part} by {excess}: from {p} to {q}",
)
CONSUMED = Row(Kind.CONSUME, CLAUSE, "consumed at {p} by the answer {rival}", (Without,))
LIMIT = Row(
    Kind.LIMIT,
    CLAUSE,
    "it is an answer, but {part} gives others that end here: {others}",
    (Without,),
)
LIMIT_LATER = Row(
    Kind.CLOCK,
    CLAUSE,
    "others that wait may end here too, of which {part} may give another",
    (End, Without),
)
THROTTLED = Row(
    Kind.THROTTLE,
    CLAUSE,
    "it is an answer, but {part} leaves it out: the answer {rival} was given before it",
    (Without,),
)
FAR = Row(Kind.FAR, CLAUSE, "any reading fails more than {most} obligations at these positions")

# strategies in SELECT and inside formulas; each adds the repair that removes it

STRICT = Row(
    Kind.STRATEGY,
    cel.Select | None,
    "STRICT: there are events between {p} and {q} that are left out",
)
PREFERRED = {
    strategy: Row(Kind.STRATEGY, cel.Select | None, words)
    for strategy, words in {
        Strategy.MAX: "a larger answer contains it (MAX): {rival}",
        Strategy.NXT: "NEXT takes {rival}, which has the earlier event where the two first differ",
        Strategy.LAST: "LAST takes {rival}, which has the event where the two last differ",
    }.items()
}
PREFERRED_LATER = Row(
    Kind.CLOCK, CLAUSE, "{rival} may end here too, which {part} prefers: its wait is not over"
)

# events that formulas and expressions match

TYPE = Row(Kind.TYPE, cel.Atom, "event {p} is {own}, {type} was asked", (Retype, Alter))
STREAM = Row(Kind.STREAM, cel.Atom, "event {p} is of stream {own}, {stream} was asked", (Alter,))
UNMARKED = Row(
    Kind.UNMARKED,
    cel.Atom,
    "event {p} is not among the positions, and {part} needs it",
    (Give,),
    HEAVY,
)
HIDDEN = Row(
    Kind.LEFTOVER,
    cel.Atom,
    "event {p} is for {type}, which a projection leaves out of the answer",
    (Drop,),
    HEAVY,
)
LEFTOVER = Row(
    Kind.LEFTOVER, CLAUSE, "event {p} is {type}, and no part of the {whole} it", (Drop,), HEAVY
)
MISSING = Row(Kind.MISSING, cel.Atom | cel.Not | Terminal, _missing, (Insert,), HEAVY, further=2)
GAP = Row(
    Kind.GAP,
    cel.Concat | cel.ConcatPlus | cel.Count | sre.Concat | sre.Star | sre.Plus,
    "gap of {events} at '{sign}', between {p} and {q}",
    (Relax,),
    further=1,
)

# Operators of formulas

NOT = Row(Kind.NOT, cel.Not, "event {p} is {type}, which {part} excludes", (Alter,))
FILTER = Row(Kind.FILTER, cel.Filter, "{words}", (Relax,))
VARIABLE = Row(
    Kind.VARIABLE,
    cel.As,
    "{variable} is event {p} and event {q}: a variable is one event",
    (Relax,),
)
COUNT = Row(Kind.COUNT, cel.Count, "{part} {bound}, and {there}", (Relax,))
AND = Row(
    Kind.AND,
    cel.And,
    "AND asks for the same valuation of both sides, and {lacks} does not give [{p}, {q}] "
    "with {labels}",
    (Relax,),
)
UNLESS = Row(
    Kind.UNLESS, cel.Unless, "UNLESS: {right} matches inside, at {rival} in {ends}", (Relax,)
)
WAITS = Row(
    Kind.CLOCK,
    cel.Wait,
    "{wait} from {p} waits until {until}, and the clock is at {now}",
    (End, Relax),
)
GOES_ON = Row(Kind.CLOCK, cel.Wait, "{wait} from {p} goes on to {q}, until {until}", (Relax,))

# Operators of expressions

GUARD = Row(Kind.GUARD, Terminal, "{words}")
MARKED = Row(
    Kind.UNMARKED,
    Terminal,
    "event {p} is not among the positions, and {part} marks it",
    (Give, Remark),
    HEAVY,
)
NOT_MARKED = Row(
    Kind.LEFTOVER,
    Terminal,
    "event {p} is among the positions, and {part} does not mark it",
    (Drop, Remark),
    HEAVY,
)
EMPTY = Row(Kind.EMPTY, sre.Empty, "EMPTY matches nothing", (Relax,))
INSTANCE = Row(
    Kind.NEGATION,
    sre.SkipNext,
    "@ skips no instance of {next}, and {events} would be one",
    (Relax,),
)
NEGATION = Row(Kind.NEGATION, sre.Negation, "{part} fails: {body} takes {events}", (Relax,))
BOTH = Row(
    Kind.AND,
    sre.Intersection,
    "& asks for the same of both sides, and {lacks} does not take {events}{marks}",
    (Relax,),
)
