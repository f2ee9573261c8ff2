"""Queries that are small as text and large as work, a family for each construction.

``python -m proofs_tests.limits.hostile NAME`` asks one of them, and prints the outcome and the
seconds of CPU that it took.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import combinations
from time import process_time

import cerlab

EVENTS = [{"type": "AB"[n % 2], "v": n % 3, "w": n, "t": n} for n in range(12)]
MANY = [{"type": "ABC"[n % 3], "v": n % 5, "w": n, "t": n} for n in range(3_000)]


def evaluate(query: str, events: object = EVENTS, **options: object) -> object:
    """The answers of a CEL formula or CEQL query."""
    return cerlab.evaluate(query, events, limit=1_000, **options)  # type: ignore[arg-type]


def sremo(text: str, events: object = EVENTS) -> object:
    """The answers of a SREMO, by registers."""
    return cerlab.evaluate(cerlab.parse_sremo(text), events, evaluator="registers", limit=1_000)


def correlated_query(n: int, op: str, joint: str) -> str:
    """A sequence of n labels, each compared with each."""
    labels = " ; ".join(f"A AS x{i}" for i in range(n))
    pairs = (f"x{i}.v {op} x{j}.v" for i, j in combinations(range(n), 2))
    return f"({labels}) FILTER ({joint.join(pairs)})"


def machine(query: str) -> object:
    """The automaton of a query."""
    return cerlab.parse_query(f"SELECT * WHERE {query}").cea


def nest(before: str, middle: str, after: str, n: int) -> str:
    """A text n times around another one."""
    return before * n + middle + after * n


AB = "(A OR B)"
TESTS = [f"A[v = {n} OR w = {n}]" for n in range(40)]

FAMILIES: dict[str, Callable[[], object]] = {
    # named by those who met them
    "fifty negations": lambda: sremo("!" * 50 + "(<type = 'A'>^ -> r . <v = r.v>^)[len<=3]"),
    "fifty negations around": lambda: sremo(
        nest("!(<TRUE>* . ", "<type = 'A'>^ . <v = 1>^", ")", 50)
    ),
    "fifty negations in a row": lambda: sremo(
        " . ".join(f"!(<v = {n}>^ . <TRUE>* . <w = {n}>)" for n in range(50))
    ),
    "fifty negations at once": lambda: sremo(
        " & ".join(f"!(<v = {n}> . <TRUE>* . <w = {n}>)" for n in range(50))
    ),
    "fourteen ALL": lambda: evaluate(" ALL ".join(f"(A ; B{n}+)" for n in range(14))),
    "far from the end": lambda: cerlab.equivalent(
        f"{AB}+ : A" + f" : {AB}" * 14, f"{AB}+ : B" + f" : {AB}" * 14
    ),
    "twelve registers": lambda: sremo(
        "!("
        + " . ".join(f"<v > {n}>^ -> r{n} . <TRUE>*" for n in range(12))
        + " . <"
        + " AND ".join(f"v = r{n}.v" for n in range(12))
        + ">^)[len<=14]"
    ),
    "twelve registers ahead": lambda: sremo(
        " . ".join(f"<v > {n}>^ -> r{n} . <TRUE>*" for n in range(12))
        + " . <"
        + " AND ".join(f"v = r{n}.v" for n in range(12))
        + ">^"
    ),
    "maximal answers by the reference": lambda: evaluate(
        "SELECT MAX * WHERE A ; C+ ; (C AS x ; B AS y FILTER x.v <= y.v)",
        MANY[:39],
        evaluator="reference",
    ),
    "strict answers of registers": lambda: cerlab.count(
        "SELECT STRICT * WHERE (A AS x ; B AS y FILTER x.w < y.v) OR (A ; A):+", MANY[:1] * 300
    ),
    "answers that runs share": lambda: cerlab.count(
        "SELECT * WHERE (B AS x ; C AS y FILTER x.v > y.v OR B AS x) ; C:++", MANY[:300]
    ),
    "28 correlations": lambda: evaluate(correlated_query(8, "=", " OR ")),
    "28 correlations by registers": lambda: evaluate(
        correlated_query(8, "=", " OR "), evaluator="registers"
    ),
    "28 correlations of !=": lambda: evaluate(
        correlated_query(8, "!=", " AND "), evaluator="registers"
    ),
    "28 correlations of <": lambda: evaluate(
        "("
        + " ; ".join(f"A+ AS x{i}" for i in range(8))
        + ") FILTER "
        + " AND ".join(f"x{i}.v < x{j}.v" for i, j in combinations(range(8), 2)),
        evaluator="registers",
    ),
    "forty iterations": lambda: cerlab.satisfiable(" ; ".join([f"{AB}+"] * 40)),
    # CEL
    "many AND": lambda: evaluate(" AND ".join(f"({AB}+ ; A ; {AB}+)" for _ in range(12))),
    "AND of sequences": lambda: machine(
        " AND ".join("(" + " ; ".join([f"{AB}+"] * n) + ")" for n in range(3, 12))
    ),
    "UNLESS far from the end": lambda: evaluate(f"A+ UNLESS ({AB} : A" + f" : {AB}" * 20 + ")"),
    "UNLESS of many tests": lambda: machine(
        "A+ UNLESS (" + " OR ".join(f"A FILTER {t}" for t in TESTS) + ")"
    ),
    "iterations of iterations": lambda: machine(nest("(", "A", " ; B)+", 60)),
    "iteration of a choice of many": lambda: machine(
        nest("(", " OR ".join(f"A{n}" for n in range(60)), ")+ ; C", 20)
    ),
    "long sequence": lambda: evaluate(" ; ".join(["(A OR B)+"] * 150)),
    "filters of alternatives": lambda: machine(
        "A ; B FILTER " + " AND ".join(f"(A[v = {n}] OR B[v = {n}])" for n in range(40))
    ),
    "nested STRICT": lambda: machine(nest("STRICT(", "A ; B+", " ; A)", 30)),
    "ALL far apart": lambda: machine(" ALL ".join(f"(A{n} ; B{n} ; C{n})" for n in range(8))),
    "NXT on many": lambda: evaluate("SELECT NXT * WHERE " + " ; ".join([f"{AB}+"] * 12), MANY),
    "LAST on many": lambda: evaluate("SELECT LAST * WHERE " + " ; ".join([f"{AB}+"] * 12), MANY),
    "MAX on many": lambda: evaluate("SELECT MAX * WHERE " + " ; ".join([f"{AB}+"] * 12), MANY),
    "determinised on a stream": lambda: evaluate(
        f"{AB}+ : A" + f" : {AB}" * 30, MANY, evaluator="tecs"
    ),
    "determinised on a stream, compiled": lambda: evaluate(
        f"SELECT * WHERE {AB}+ : A" + f" : {AB}" * 30 + " WITHIN 60 EVENTS",
        MANY,
        evaluator="compiled",
    ),
    "runs": lambda: evaluate(" ; ".join([f"{AB}+"] * 6), MANY, evaluator="automaton"),
    "lists": lambda: evaluate(" ; ".join([f"{AB}+"] * 6), MANY[:200], evaluator="lists"),
    "reference": lambda: evaluate(" ; ".join([f"{AB}+"] * 6), MANY[:60], evaluator="reference"),
    "reference of ALL": lambda: evaluate(
        " ALL ".join([f"{AB}+"] * 6), MANY[:39], evaluator="reference"
    ),
    "reference of AND": lambda: evaluate(
        " AND ".join([f"{AB}+"] * 6), MANY[:39], evaluator="reference"
    ),
    "reference of UNLESS": lambda: evaluate(
        " UNLESS ".join([f"({AB}+)"] * 6), MANY[:17], evaluator="reference"
    ),
    "first order": lambda: evaluate(
        " ; ".join([f"({AB} AS x OR B AS y)+"] * 12), MANY[:12], logic="fo"
    ),
    "first order, sequences": lambda: evaluate(
        "(A+) ; (B+)",
        [{"type": "AB"[n // 16]} for n in range(32)],
        logic="fo",
        evaluator="reference",
    ),
    "first order, assignments": lambda: evaluate(
        " ; ".join(f"(A AS x{n})" for n in range(9)) + " FILTER x0.v = x8.v",
        [{"type": "A", "v": 1} for _ in range(16)],
        logic="fo",
        evaluator="reference",
    ),
    "first order, filters": lambda: evaluate(
        "("
        + " ; ".join(f"({AB} AS x{n})" for n in range(8))
        + ") FILTER "
        + " AND ".join(f"x{n}.v = x{n + 1}.v" for n in range(7)),
        MANY[:12],
        logic="fo",
    ),
    "first order, iterations": lambda: evaluate(
        "((" + " ; ".join(f"(A AS x{n} OR B AS x{n})" for n in range(14)) + ")+)+",
        MANY[:12],
        logic="fo",
    ),
    # deciders
    "minterms of one attribute": lambda: cerlab.satisfiable(
        "A+ FILTER A[" + " OR ".join(f"v > {n}" for n in range(900)) + "]"
    ),
    "minterms of many attributes": lambda: cerlab.satisfiable(
        " ; ".join(f"(A FILTER A[a{n} > 0 AND b{n} > 1])" for n in range(20))
    ),
    "minterms by z3": lambda: cerlab.satisfiable(
        " ; ".join(f"(A FILTER A[a{n} + a{n + 1} > {n}])" for n in range(20))
    ),
    "minterms by z3, products": lambda: cerlab.satisfiable(
        " ; ".join(f"(A FILTER A[a{n} * a{n + 1} * a{n} > a{n + 2} * {n}])" for n in range(12))
    ),
    "minterms of LIKE": lambda: cerlab.satisfiable(
        " ; ".join(f"(A FILTER A[s LIKE '(a|b)*a(a|b){{{n}}}c'])" for n in range(8))
    ),
    "minterms of LIKE, joined": lambda: cerlab.satisfiable(
        "A FILTER A[" + " AND ".join(f"NOT s LIKE '{c}.*{d}'" for c in "abcd" for d in "efg") + "]"
    ),
    "wide windows": lambda: cerlab.equivalent(
        f"SELECT * WHERE {AB}+ WITHIN 50000 EVENTS", f"SELECT * WHERE {AB}+ WITHIN 50001 EVENTS"
    ),
    "contained, UNLESS": lambda: cerlab.contained(
        f"{AB}+ UNLESS (A" + f" ; {AB}" * 8 + ")", f"{AB}+ UNLESS (B" + f" ; {AB}" * 8 + ")"
    ),
    "undecided": lambda: cerlab.equivalent(
        correlated_query(7, "=", " AND "), correlated_query(7, "<=", " AND ")
    ),
    "keys": lambda: cerlab.satisfiable(
        "SELECT * WHERE A FILTER "
        + " AND ".join(f"A[k{n} > {m}]" for n in range(6) for m in range(6))
        + " PARTITION BY "
        + ", ".join(f"[k{n}]" for n in range(6))
    ),
    # SREMO
    "intersections": lambda: sremo(" & ".join(["(<TRUE>* . <v = 1>^ . <TRUE>* . <w > 2>^)"] * 14)),
    "negated far from the end": lambda: sremo("!(<TRUE>* . <v = 1>" + " . <TRUE>" * 20 + ")"),
    "negated choice of guards": lambda: sremo(
        "!(" + " | ".join(f"<v = {n}>" for n in range(30)) + ")"
    ),
    "windows of windows": lambda: sremo(
        nest("(", "<v = 1>^ -> r . <TRUE>* . <v = r.v>^", ")[1..90]", 6)
    ),
    "negation under a wide window": lambda: sremo(
        "(!(<v = 1> -> r . <TRUE>* . <v = r.v> -> s . <TRUE>* . <w = s.w>))[len<=40]"
    ),
    "skip of many": lambda: sremo("#(" + ", ".join(f"<v = {n}>^ -> r{n}" for n in range(40)) + ")"),
    "stars of stars": lambda: sremo(nest("(", "<v = 1>^", "* . <TRUE>)*", 80)),
    "matches": lambda: cerlab.matches(
        cerlab.parse_sremo(nest("(", "<TRUE>^ | <TRUE>", ")*", 3)), MANY[:22]
    ),
    "registers on a stream": lambda: sremo(
        " . ".join(f"<type = 'A'>^ -> r{n} . <TRUE>*" for n in range(4)) + " . <w = r0.w>^",
        MANY[:60],
    ),
    # generalised conjunctive queries, row patterns, why
    "permutation": lambda: rows("PERMUTE(A, B, C, A, B, C, A, B, C)"),
    "quantifiers of quantifiers": lambda: rows("(((A B?)* C?)* A?)* B{40} C"),
    "backtracking": lambda: rows("(A | B | C)* (A | B)* (A | B | C)* A B C A A"),
    "why of iterations": lambda: cerlab.why(" ; ".join([f"{AB}+"] * 8), MANY[:200], range(150)),
    "why of ALL": lambda: cerlab.why(
        " ALL ".join([f"(A ; {AB}+)"] * 6), MANY[:60], range(0, 40, 2)
    ),
    "why of a negation": lambda: cerlab.why(
        "!(<v = 1> -> r . <TRUE>* . <v = r.v>) . <TRUE>^ . <TRUE>*", MANY[:60], [30]
    ),
    "why none": lambda: cerlab.why_none(
        " ; ".join([f"(A FILTER A[v = {n}])" for n in range(9)]), MANY
    ),
    # values of the workbench
    "picture of a determinisation": lambda: cerlab.parse_query(
        f"SELECT * WHERE {AB}+ : A" + f" : {AB}" * 12
    ).det._repr_mimebundle_(),
    "the k-th of many": lambda: cerlab.parse_query(f"SELECT * WHERE {AB}+").run(MANY)[10**9],
    "count of many": lambda: cerlab.count(" ; ".join([f"{AB}+"] * 6), MANY),
}
"""Hostile calls, by name."""


def rows(pattern: str) -> object:
    """The matches of a row pattern in a small table."""
    import pyarrow as pa

    table = pa.Table.from_pylist(MANY[:60])
    text = (
        f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY t MEASURES COUNT(*) AS n ALL ROWS PER MATCH "
        f"PATTERN ({pattern}) DEFINE A AS type = 'A' AND v >= FIRST(v), "
        "B AS type = 'B', C AS type = 'C')"
    )
    return cerlab.match_recognize(text, table)


def ask(name: str) -> tuple[str, float]:
    """The outcome of a family, and the seconds of CPU that it took."""
    before = process_time()
    try:
        FAMILIES[name]()
        outcome = "answered"
    except cerlab.CerlabError as error:
        outcome = f"refused {error}"
    return outcome, process_time() - before


if __name__ == "__main__":
    outcome, seconds = ask(sys.argv[1])
    print(f"{seconds:.1f} s: {outcome}")
