"""Hints for syntax of SQL, regular expressions and other engines.

Each hint is tried on the text around the place of a syntax error. A text in quotes or after "write"
in a hint is valid CEQL.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

_CLAUSES = (
    *("FROM", "WHERE", "PARTITION BY", "WITHIN", "CONSUME BY", "GROUP BY"),
    *("LIMIT", "THROTTLE"),
)
_FIRST_WORDS = "|".join(clause.split()[0] for clause in _CLAUSES)
_NUMBER = r"[-+]?[\d.]+"
_VALUE = rf"(?:{_NUMBER}|'[^']*')"
_QUOTED = re.compile(r"'?\s*([\d.]+)\s*(?:'\s*)?([^\W\d]+)")
"""Pattern of ``'5 minutes'``, and of an interval of SQL after INTERVAL: ``'5' MINUTE``."""
_NAMES = re.compile(r"\w+(?:\s*,\s*\w+)*")

_FORMULA = re.compile(
    r"(?i)\(*\s*(?:not\s+)?\w+(?:\s+\w+)?\s*"
    r"(?:$|[;:+{\[)?,!]|\*\s*$|->|(?:or|and|as|filter|wait|lookback|within|unless|followed|for)\b)"
)
"""Pattern of the beginning of a formula on its own, in CEQL and in languages of other engines."""
_SET = r"\{[^{}]*\}"
_SIDE = r"[\w.]+(?:\s*[-+*/]\s*[\w.]+)*(?:\s+(?:day|hour|minute|second)s?\b)?"
_CONTRARY = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "!=", "==": "!=", "!=": "="}

_MASKED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)
"""Pattern of quoted texts and comments, in which no foreign words are searched."""


_COMING = "docs/coming_from.md"


def recipe_text(section: str, page: str = "docs/how_to/recipes.md") -> str:
    """Return the text that names a recipe by its heading and its page of the manual."""
    return f"recipe '{section}' ({page})"


class ForeignWord(NamedTuple):
    """A word of another language, the query to write instead, and the section of the manual.

    `why` comes first in the hint. `section` is a heading of the file `page` of the manual.
    """

    pattern: str
    text: str
    section: str = ""
    page: str = "docs/how_to/recipes.md"
    why: str = ""

    @property
    def hint(self) -> str:
        """The hint: the query to write and the recipe."""
        recipe = recipe_text(self.section, self.page) if self.section else ""
        return "; ".join(filter(None, [self.why, f"write {self.text}", recipe]))


_KEYED = "SELECT * WHERE A ; B PARTITION BY [user] WITHIN 10 MINUTES"
_GROUPED = "SELECT * WHERE MAX(A+ AS a WITHIN 5 MINUTES) FILTER COUNT(a) >= 3"
_DIFFERENT = "SELECT * WHERE MAX(A+ AS a WITHIN 5 MINUTES) FILTER COUNT(DISTINCT a.user) >= 3"
_FEWER = "SELECT * WHERE (A WAIT 10 MINUTES) UNLESS A{3}"
_BEFORE = "SELECT * WHERE (A LOOKBACK 2 MINUTES) UNLESS B"
_RISING = "SELECT * WHERE A+ AS a FILTER a.v > PREV(a.v)"

FOREIGN_WORDS = (
    ForeignWord(
        r"^\s*(?:pattern\s*\(|define\s+\w+\s+as\b)|\bpattern\s*\(",
        "MATCH_RECOGNIZE (ORDER BY ts ALL ROWS PER MATCH PATTERN (A B+) DEFINE B AS v > PREV(v))",
        why="this is a row pattern, for cerlab.match_recognize",
    ),
    ForeignWord(
        r"\bwindow\s+session\b|#window\.session\b|\bsession\s+gap\b"
        r"|\bgroup\s+by\b[^;]*\bsession\s*\(",
        "MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts PATTERN (A B*) "
        "DEFINE B AS ts <= PREV(ts) + INTERVAL '30' MINUTE)",
        "Sessions with gaps of thirty minutes at most",
        _COMING,
        "sessions are a row pattern, for cerlab.match_recognize",
    ),
    ForeignWord(
        r"\bwindowfunnel\s*\([^;]*",
        "SELECT * WHERE A OR (A ; B) OR (A ; B ; C) PARTITION BY [user] WITHIN 10 MINUTES",
        "How far each user got",
    ),
    ForeignWord(
        r"(?:^|\|)\s*transaction\s+\w+(?:$|\s*[,=|])"
        r"|\btransaction\b(?=.*\b(?:max(?:span|pause|events)|startswith|endswith)\b)[^;]*",
        "SELECT MAX * WHERE (A ; B+ ; C WITHIN 30 MINUTES) PARTITION BY [user]",
        "All events of a transaction",
    ),
    ForeignWord(r"\bsequence\b[^\[;]*!\[", _BEFORE, "No such event in the two minutes before"),
    ForeignWord(
        r"(?:\bsequence\b[^;]*)?\bwith\s+runs\b",
        "SELECT * WHERE A{5} ; B",
        "A five times, then B",
        _COMING,
    ),
    ForeignWord(
        r"\bsequence\s+(?:by\s+\S+\s*(?:with\b|\[)|with\b|\[)|(?:\bwith\s+)?\bmaxspan\b",
        _KEYED,
        "One key, within ten minutes",
        _COMING,
    ),
    ForeignWord(
        r"\bnot\s+\w+\s+for\s+\d[\w\s]*->",
        _BEFORE,
        "No such event in the two minutes before",
    ),
    ForeignWord(
        r"(?:->\s*)?\bnot\s+\w+\s+for\s+\d",
        "SELECT * WHERE (A WAIT 10 MINUTES) UNLESS B",
        "And then nothing for ten minutes",
        _COMING,
    ),
    ForeignWord(
        r"\buntil\b",
        "SELECT * WHERE (A ; B) UNLESS C",
        "B does not happen in between",
        _COMING,
    ),
    ForeignWord(
        r"(?:\bafter\s+match\s+)?\bskip\s+(?:past|to)\b",
        "SELECT NEXT * WHERE A ; B CONSUME BY ANY",
        "No event in two answers",
    ),
    ForeignWord(
        r"\bcount\s*\(\s*distinct\s+\w+(?=[^\]]*(?:\bwhere\b|$))"
        r"|\bstats\s+\w+\b|\b(?:dc|distinct_count)\s*\(|^\s*correlation\s*:|\btype\s*:\s*value_count\b",
        _DIFFERENT,
        "Failed logins of different users",
        why="COUNT(DISTINCT a.user) is a value of a label, which FILTER compares",
    ),
    ForeignWord(
        r"\bselect\s+distinct\s+[*\w]|\bfirst\s*\(\s*\w+\s*\)"
        r"|(?:^|\|)\s*dedup\s+\w+|(?:,\s*)?\brow_number\s*\([\s)]*",
        "SELECT * WHERE A PARTITION BY [user] THROTTLE 1000000000 EVENTS",
        "The first event of each key",
    ),
    ForeignWord(
        r"\b\d+\s+of\s*\(",
        "SELECT * WHERE MAX((A OR B OR C)+ AS a WITHIN 10 MINUTES)"
        " FILTER COUNT(DISTINCT a.type) >= 2",
        "Two of three kinds",
    ),
    ForeignWord(
        r"\b\w+\[\s*(?:i\s*(?:[-+]\s*1\s*)?)?\]|\blag\s*\(",
        _RISING,
        "A rising sequence",
        _COMING,
        "PREV(a.v) is the value of v in the previous event of a",
    ),
    ForeignWord(
        r"\b(?:limit|throttle)\s+\d+\s+(?:per|every|each)\b|\bsuppress(?:\s+for)?\s+\d"
        r"|\boutput\s+(?:first|last)\b",
        "SELECT * WHERE A PARTITION BY [user] LIMIT 1 THROTTLE 1 HOUR",
        "One alarm for a burst",
    ),
    ForeignWord(
        r"(?:\bgroup\s+by\b.*)?\bhaving\s+count\s*\([^)]*\)\s*<|\b(?:less|fewer)\s+than\b",
        _FEWER,
        "Fewer than three in ten minutes",
    ),
    ForeignWord(
        r"\bratio\s*\([^)]*\)?|\bcase\s+when\b",
        "SELECT * WHERE MAX((A AS f OR B)+ AS a WITHIN 5 MINUTES) FILTER COUNT(f) > 0.5 * COUNT(a)",
        "More than half of the calls fail",
    ),
    ForeignWord(r"(?:\bgroup\s+by\b.*)?\bhaving\b", _GROUPED, "Failed logins of different users"),
    ForeignWord(
        r"(?:^|\bwhere)\s*\(*\s*every\s*\(*\s*\w+",
        "SELECT * WHERE A ; B",
        "A, and later B",
        _COMING,
        "omit EVERY: every match is an answer",
    ),
    ForeignWord(
        r"\$\w+\s*:|^\s*rule\s.*?\bwhen\b",
        "SELECT * WHERE A AS a ; B AS b FILTER b.v > a.v",
        "A, and later B",
        _COMING,
        "AS gives events a label",
    ),
    ForeignWord(
        r"(?:^|\[)\s*(?:any|authentication|file|network|process|registry)\s+where\b",
        "SELECT * WHERE A FILTER A[v > 3]",
        why="a condition on an event follows FILTER",
    ),
    ForeignWord(r"->", "SELECT * WHERE A ; B", "A, and later B", _COMING),
    ForeignWord(
        r"\bin\s*\(\s*select\b",
        "SELECT * WHERE A FILTER A[v IN {1, 2}]",
        why="a set lists its values in the query",
    ),
    ForeignWord(
        r"\|>",
        "SELECT * WHERE A FILTER A[v > 3] PARTITION BY [user]",
        why="a query has clauses in place of |>",
    ),
    ForeignWord(
        r"\btimestamp\s+by\s+\w+",
        "SELECT * WHERE A ; B WITHIN 5 MINUTES",
        why='the attribute of the time stands outside the text: time="ts" in Python, --time ts on '
        "the command line",
    ),
)
"""Words of other languages with an equivalent in CEQL; the first that matches is used."""

_AT: tuple[tuple[str, str], ...] = (
    (r"&&", "write AND"),
    (r"\|\||\|", "write OR"),
    (r"!(?!=)", "write NOT, as in NOT price > 3 inside the brackets of a filter"),
    (r",", "for 'then' write ;, as in A ; B"),
    (r"\.\.?", "for 'directly after' write :, as in A : B"),
    (r"\*", "A* is not supported; write A+ for one or more, and OR for without: B OR (A+ ; B)"),
    (r"\?", "A? is not supported; write OR, as in B OR (A ; B)"),
    (r"\{", "a count follows what it counts, as in A{2,5}"),
    (r"#|//", "a comment begins with --, or is enclosed in /* .. */"),
    (r"<>", "write !="),
    (r"(?i:and\s+not)\b", "write a condition after FILTER, or UNLESS for absence"),
    (r"(?i:emit)\b", "answers appear when they are complete; omit EMIT CHANGES"),
    (r"(?i:order)\b", "answers are in the order of their ends; omit ORDER BY"),
    (r"(?i:when)\b", "write FILTER, as in A FILTER A[price > 3]"),
    (r"(?i:is)\b", "a comparison with a missing value is false; NOT v = v finds it"),
    (r"(?i:followed|then)\b", "for 'then' write ;, as in A ; B"),
    (r"(?i:slide|every|tumble)\b", "windows slide by themselves: WITHIN alone gives the length"),
)
"""Patterns of signs and words at the error, each with its hint."""


def habit_hint(text: str, at: int) -> str:
    """Return the hint for foreign syntax at the place of an error, or an empty text.

    >>> text = "SELECT * WHERE A FILTER A[price BETWEEN 1 AND 3]"
    >>> habit_hint(text, text.index("BETWEEN"))
    'write price IN {1..3}'
    """
    before, rest = text[:at].rstrip(), text[at:]
    if hint := _of_foreign_words(text, at):
        return hint
    for hint_of in (
        _of_whole,
        _of_counts,
        _of_sql,
        _of_attributes,
        _of_labels,
        _of_filters,
        _of_windows,
        _of_clauses,
    ):
        if hint := hint_of(text, before, rest):
            return hint
    return next((hint for pattern, hint in _AT if re.match(pattern, rest)), "")


def _of_foreign_words(text: str, at: int) -> str:
    """Return the hint for the foreign word at the place of an error, or an empty text.

    If the text fails at its first word, it is in another language, so foreign words count
    everywhere.
    """
    masked = _MASKED.sub(lambda found: "_" * len(found[0]), text)
    is_anywhere = not masked[:at].strip()
    for word in FOREIGN_WORDS:
        for found in re.finditer(word.pattern, masked, re.IGNORECASE | re.DOTALL):
            if is_anywhere or found.start() <= at < found.end():
                return word.hint
    return ""


def _of_whole(text: str, before: str, rest: str) -> str:
    """Return the hint for a text that is not a query, or that begins or ends wrongly."""
    if re.search(r"(?i)\bfrom(\s+\w+)?$", before) and rest[:1] in ("/", ".", "'"):
        return "FROM names streams; a file is the second argument: omit FROM"
    if text.lstrip().startswith("{") or re.fullmatch(
        r"\s*\S+\.(?:csv|ndjson|jsonl?|parquet)\s*", text
    ):
        return "events are the second argument, the query is the first"
    if re.search(r"(?i)\bmatch_recognize$", before):
        return "this is a row pattern: use cerlab.match_recognize(text, table)"
    if not rest.strip() and re.search(r";(\s|--[^\n]*)*$", text):
        return "a query does not end with ;, which joins two parts: omit the last one"
    if re.fullmatch(r"(?i)\s*(?:where|pattern|match|find)", before):
        return "begin with SELECT * WHERE"
    if not before and re.match(_FORMULA, rest):
        return (
            "begin with SELECT * WHERE; cerlab.parse_formula reports the error of a formula alone"
        )
    return ""


def _of_counts(text: str, before: str, rest: str) -> str:
    """Return the hint for a count that is not written ``{2}``, ``{2,}`` or ``{2,5}``."""
    if re.search(r"(?i)(?<!\bin)(?<!\bin\s)\{\s*\d+\s*,?\s*\d*$", before):
        return "write a count as A{2}, A{2,} or A{2,5}"
    if times := re.match(r"(?i)(?:[\[<]|\.\s*times\s*\()\s*(\d+)\s*[\]>:,)]", rest):
        return f"write a count as {_word(before)}{{{times[1]}}}"
    return ""


def _of_sql(text: str, before: str, rest: str) -> str:
    """Return the hint for BETWEEN, lists in parentheses, SEQ, and conditions after a type."""
    if null := re.match(r"(?i)is\s+(not\s+)?null\b", rest):
        label, _, attribute = _word(before).rpartition(".")
        test = f"{attribute} = {attribute}" if null[1] else f"NOT {attribute} = {attribute}"
        return f"write {label}[{test}]" if label else f"write {test}"
    if ends := re.match(rf"(?i)between\s+({_VALUE})\s+and\s+({_VALUE})", rest):
        return f"write {_word(before)} IN {{{ends[1]}..{ends[2]}}}"
    if re.search(rf"(?i)\d\s*%(?:\s+(?:and|or|{_FIRST_WORDS}))?$", before):
        more = "for 50 % write 0.5, for 5 % more write 1.05 * a.price"
        return f"% is the remainder of a division; {more}"
    is_selected = not re.search(r"(?i)\bfilter\b", before)
    if is_selected and re.search(r"(?i)\b(?:count|sum|avg|min|max)\s*\(\s*\w*$", before):
        return "write COUNT(*), or SUM(b.price), AVG, MIN, MAX of an attribute of a label"
    inside = re.match(r"[(\[]([^()\[\]]*)[)\]]", rest)
    if inside is None:
        return ""
    if re.search(r"(?i)\bin$", before):
        return f"write IN {{{inside[1].strip()}}}"
    if re.search(r"(?i)\b(?:seq|sequence)$", before):
        return f"write {' ; '.join(map(_event, inside[1].split(',')))}"
    condition = re.sub(r"(?i)(\w+)\s+is\s+not\s+null\b", r"\1 = \1", inside[1].strip())
    condition = re.sub(r"(?i)(\w+)\s+is\s+null\b", r"NOT \1 = \1", condition)
    if re.search(r"[<>=]", condition) and (label := _word(before)) != "it":
        return f"write {label} FILTER {label}[{condition}]"
    return ""


def _of_attributes(text: str, before: str, rest: str) -> str:
    """Return the hint for ``a.price`` outside SUM(..) and comparisons of labels."""
    attribute = re.match(r"\.\s*([^\W\d]\w*)", rest)
    if attribute is None:
        return ""
    if re.fullmatch(r"(?i)\s*select\s+(?:(?!where|from)[\w\s,\[\]])*", before):
        return f"write {_word(before)}[{attribute[1]}]"
    inside = re.search(r"(\w+)\[([^][]*[<>=][^][]*?)(\w+)$", before)
    if inside is None or re.search(r"(?i)\b(?:and|or|not|in)\b", inside[2]):
        return ""
    label, comparison, other = inside.groups()
    own = re.sub(r"\b([^\W\d]\w*)", rf"{label}.\1", comparison.strip())
    more = re.match(r"[\s\d.*/%+-]*(?=\])", rest[attribute.end() :])
    compared = f"{own} {other}.{attribute[1]}{more[0].rstrip() if more else ''}"
    return f"labels are compared outside brackets: write FILTER {compared}"


def _of_labels(text: str, before: str, rest: str) -> str:
    """Return the hint for comparisons of labels in foreign syntax, such as functions or BETWEEN."""
    if re.match(r"(?i)and\s+(?:not\s+)?\w+\.\w+\s*[<>=!]", rest):
        return "conditions follow FILTER, as in A AS a ; B AS b FILTER b.price > a.price"
    if not re.search(r"(?i)\bfilter\b", before):
        return ""
    if call := re.search(r"(?i)\b(\w+)(?:\s*\(\s*[\w.]*)?$", before):
        if hint := call_hint(call[1]):
            return hint
        word = call[1].upper()
        if rest[:1] == "(" and word in _OF_GROUPS:
            if before.count("[") > before.count("]"):
                text = f"{word}(a.price) > 3"
                if word == "COUNT":
                    is_distinct = re.match(r"(?i)\(\s*distinct\b", rest)
                    text = f"COUNT({'DISTINCT a.price' if is_distinct else 'a'}) > 3"
                return f"brackets are for one event: write FILTER {text}"
            return "functions cannot be nested: write a comparison for each, with AND between them"
    label, _, attribute = _word(before).rpartition(".")
    if ends := re.match(rf"(?i)between\s+({_SIDE})\s+and\s+({_SIDE})", rest):
        value = _word(before)
        return f"write {value} >= {ends[1]} AND {value} <= {ends[2]}"
    if label and (test := re.match(rf"(?i)(?:not\s+)?(?:like|in)\b\s*({_VALUE}|{_SET})?", rest)):
        if test[1] and not re.search(r"[a-z]\w*\.", test[1]):
            return f"write {label}[{attribute} {test[0]}]"
        return "labels can only be compared by <, <=, =, !=, >= and >"
    if rest[:1] == "]" and (inside := re.search(r"(\w+)\[\s*(\w+)$", before)):
        return f"to compare it with another label write {inside[1]}.{inside[2]}"
    denied = re.search(r"(?i)\bnot\s*\(?\s*([\w.]*\s*)$", before)
    compared = re.match(rf"([\w.]*)\s*([<>=!]+)\s*({_SIDE})", rest)
    if denied and compared and compared[2] in _CONTRARY:
        contrary = f"{denied[1].strip() or compared[1]} {_CONTRARY[compared[2]]} {compared[3]}"
        return f"NOT precedes tests in brackets: write {contrary}"
    return ""


def call_hint(name: str) -> str:
    """Return the hint for a function of another language, or an empty text."""
    for word in FOREIGN_WORDS:
        if re.fullmatch(word.pattern, f"{name}(", re.IGNORECASE):
            return word.hint
    if name.lower() == "abs":
        return "write b.price - a.price > 5 OR a.price - b.price > 5"
    if name.lower().endswith("diff"):
        return "times are compared: write b.ts < a.ts + 30 MINUTES"
    return ""


def _of_filters(text: str, before: str, rest: str) -> str:
    """Return the hint for a condition without a label, or for NOT meant as absence."""
    bare = re.search(r"(?i)(\w+)\s+filter\s+(\w+)\s*([<>=!]*)$", before)
    value = re.match(rf"([<>=!]*)\s*({_VALUE})", rest)
    if bare and value and (op := bare[3] or value[1]):
        return f"write FILTER {bare[1]}[{bare[2]} {op} {value[2]}]"
    column = re.search(r"(?i)\bwhere\s+(\w+)\s*([<>=!]*)$", before)
    if column and value and (op := column[2] or value[1]):
        if column[1].lower() == "type":
            return f"write WHERE {value[2].strip(chr(39))}"
        return f"WHERE needs a pattern: write WHERE A FILTER A[{column[1]} {op} {value[2]}]"
    in_brackets = before.count("[") > before.count("]")
    absent = re.search(r"(?i)\bnot$", before) or (rest[:1] in "!~" and not in_brackets)
    is_first = re.search(r"(?i)(?:^|\bwhere)[\s(]*(?:\bnot)?$", before)
    then = re.match(r"[!~]?\s*(\w+)\s*(?:;|,|->)\s*(\w+)", rest)
    if absent and is_first and then:
        absence = f"({then[2]} LOOKBACK 2 MINUTES) UNLESS {then[1]}"
        return f"for no {then[1]} before {then[2]} write {absence}"
    if absent and (word := re.match(r"[!~]?\s*(\w+)", rest)):
        return f"for no {word[1]} in between write UNLESS, as in (A ; B) UNLESS {word[1]}"
    if moment := re.search(r"(?i)\b(timestamp|date)$", before):
        return f"write {moment[1].upper()} '2024-01-31'" if rest[:1] == "(" else ""
    if quoted := re.match(r'"([^"]*)"', rest):
        return f"double quotes are for texts; write a name as `{quoted[1]}`"
    return ""


def _of_windows(text: str, before: str, rest: str) -> str:
    """Return the hint for INTERVAL, and windows in quotes, negative or inside a formula."""
    length = re.search(r"(?i)\binterval$", before) or re.match(r"(?i)interval\b", rest)
    if length and (quoted := re.search(_QUOTED, rest)):
        small = _small_unit(quoted[2], quoted[1])
        return small or f"write {quoted[1]} {quoted[2].upper().rstrip('S')}S"
    operator = re.match(r"(?i)[;:]|(?:unless|or|and|all)\b", rest)
    if operator and re.search(r"(?i)\bwithin\s+[\d.]+\s+\w+$", before):
        return "a window inside is the last thing in parentheses: (A ; B WITHIN 5 MINUTES) UNLESS C"
    if not re.search(r"(?i)\bwithin$", before):
        return ""
    if quoted := re.match(_QUOTED, rest):
        if small := _small_unit(quoted[2], quoted[1]):
            return f"{small}, without quotes"
        word = quoted[2].upper()
        units = [u for u in ("EVENTS", "SECONDS", "MINUTES", "HOURS") if u.startswith(word)]
        return f"write WITHIN {quoted[1]} {units[0] if units else 'MINUTES'}, without quotes"
    if negative := re.match(r"-\s*([\d.]+)\s*([^\W\d]*)", rest):
        unit = negative[2].upper() or "EVENTS"
        return f"a window extends back from its last event: write WITHIN {negative[1]} {unit}"
    return ""


def _of_clauses(text: str, before: str, rest: str) -> str:
    """Return the hint for a clause without brackets or unit, or in a wrong place."""
    if re.search(r"(?i)\bpartition\s+by$", before):
        return f"write PARTITION BY [{names[0]}]" if (names := _NAMES.match(rest)) else ""
    number = re.search(r"(?<![\w.])(\d+\.?\d*)$", before)
    if number and (unit := _unit(rest, number[1])):
        return unit
    length = re.search(r"(?i)\b(within|wait)\s+([\d.]+)$", before)
    if length and not re.match(r"[\w\[]", rest):
        events = "EVENTS, " * (length[1].lower() == "within")
        return f"write what the number counts: {events}SECONDS, MINUTES, HOURS or [attribute]"
    if re.search(r"(?i)\bwait$", before):
        return "write how long, as in A WAIT 10 MINUTES"
    if re.search(r"(?i)\border$", before):
        return "answers are in the order of their ends; omit ORDER BY"
    has_where = re.search(_clause_pattern("WHERE"), before)
    if re.match(r"(?i)filter\b", rest) and not has_where and re.match(r"(?i)\s*select\b", text):
        return "FILTER follows what it filters: SELECT * WHERE A FILTER A[price > 3]"
    clause = next((each for each in _CLAUSES if re.match(_clause_pattern(each), rest)), None)
    if clause is None:
        return ""
    if not re.match(r"(?i)\s*(?:select|create|declare|--|/\*)", text):
        if re.search(r"(?i)\bselect\b", rest):
            return "SELECT comes first: begin with SELECT * WHERE"
        inside = ", or write (A ; B WITHIN 9 EVENTS) inside" * (clause == "WITHIN")
        return f"a formula has no clauses: begin with SELECT * WHERE{inside}"
    if re.search(_clause_pattern(clause), before):
        return f"{clause} is allowed once; a condition is FILTER" if clause == "WHERE" else ""
    later = _CLAUSES[_CLAUSES.index(clause) + 1 :]
    early = [each for each in later if re.search(_clause_pattern(each), before)]
    order = f"clauses come in this order: {', '.join(_CLAUSES)}"
    if not has_where and clause not in ("FROM", "WHERE"):
        return f"{order}; move {clause} after WHERE and its formula"
    return order + (f"; move {clause} before {early[0]}" if early else "")


def _clause_pattern(clause: str) -> str:
    return rf"(?i)\b{clause.replace(' ', chr(92) + 's+')}\b"


def two_names_hint(text: str, at: int) -> str:
    """Return the hint for a type directly followed by a name, or an empty text."""
    before, rest = text[:at].rstrip(), text[at:]
    kind = re.search(r"(?i)(?:\bwhere|[;:(]|\bor|\band|\ball|\bunless)\s*([^\W\d]\w*)$", before)
    name = re.match(r"[^\W\d]\w*", rest)
    if kind is None or name is None:
        return ""
    return f"for a label write {kind[1]} AS {name[0]}, for 'then' {kind[1]} ; {name[0]}"


def _word(before: str) -> str:
    word = re.search(r"[\w.]+$", before)
    return word[0] if word else "it"


def _event(part: str) -> str:
    """Return ``A a`` as ``A AS a``, and other texts stripped."""
    words = part.split()
    return " AS ".join(words) if len(words) == 2 else part.strip()


def _unit(rest: str, number: str) -> str:
    """Return the hint for an abbreviated, missing or too large unit of time."""
    if re.match(r"(?i)weeks?\b", rest):
        return f"write {7 * float(number):g} DAYS"
    if re.match(r"(?i)(?:months?|years?)\b", rest):
        return "months and years differ in length: write DAYS"
    if small := _small_unit(rest, number):
        return small
    for word, unit in _UNITS.items():
        if re.match(rf"(?i)(?:{word})\b", rest):
            return f"write {unit}"
    return ""


def _small_unit(rest: str, number: str) -> str:
    """Return the hint for microseconds and nanoseconds, or an empty text."""
    unit = re.match(r"(?i)(?:us|micros?|microseconds?|(n)s|(n)anos?|(n)anoseconds?)\b", rest)
    if unit is None or re.fullmatch(r"\d+\.?\d*", number) is None:
        return ""
    digits = 6 if any(unit.groups()) else 3
    return f"write {Decimal(number).scaleb(-digits).normalize():f} MILLISECONDS"


_OF_GROUPS = ("AVG", "COUNT", "FIRST", "LAST", "MAX", "MIN", "PREV", "SUM")
"""The functions of the events of a label."""

_UNITS = {
    "ms|milli|millis|msecs?": "MILLISECONDS",
    "s|secs?": "SECONDS",
    "m|mins?": "MINUTES",
    "h|hrs?": "HOURS",
    "d": "DAYS",
}
"""Abbreviations of units, each with the word in CEQL."""
