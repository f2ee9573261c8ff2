"""A small engine with two mistakes, for `cerlab fuzz`: one JSON object a line in, one out.

It knows types, OR, `;` and `+`, and windows that count events. It shares nothing with cerlab.
"""

import json
import re
import sys


def main():
    """Answer until there are no more questions."""
    for line in sys.stdin:
        question = json.loads(line)
        try:
            formula, width = parsed(question["query"])
        except ValueError as error:
            said = {"refused": str(error)}
        else:
            said = {"answers": answers(formula, width, question["events"])}
        print(json.dumps(said), flush=True)


def parsed(query):
    """Return the formula as nested tuples, and the width of the window or None."""
    match = re.fullmatch(r"SELECT \*\s+WHERE (.*?)(?:\s+WITHIN (\d+) EVENTS)?", query.strip(), re.S)
    if match is None:
        raise ValueError("only SELECT * WHERE .. WITHIN n EVENTS")
    tokens = re.findall(r"[A-Za-z]+|[();+]|\S", match[1])
    formula = choice(tokens)
    if tokens:
        raise ValueError(f"what is '{tokens[0]}'?")
    return formula, None if match[2] is None else int(match[2])


def choice(tokens):
    """Parse f OR g .."""
    left = sequence(tokens)
    while tokens[:1] == ["OR"]:
        tokens.pop(0)
        left = ("or", left, sequence(tokens))
    return left


def sequence(tokens):
    """Parse f ; g .."""
    left = iteration(tokens)
    while tokens[:1] == [";"]:
        tokens.pop(0)
        left = (";", left, iteration(tokens))
    return left


def iteration(tokens):
    """Parse a type or a formula in parentheses, perhaps with +."""
    token = tokens.pop(0)
    if token == "(":
        inner = choice(tokens)
        if tokens[:1] != [")"]:
            raise ValueError("no ')'")
        tokens.pop(0)
    elif token.isalpha():
        inner = ("type", token)
    else:
        raise ValueError(f"what is '{token}'?")
    while tokens[:1] == ["+"]:
        tokens.pop(0)
        inner = ("+", inner)
    return inner


def answers(formula, width, events):
    """Return each answer: an interval and its positions."""
    found = {
        (start, end, tuple(sorted(taken)))
        for start in range(len(events))
        for end, taken in ends(formula, events, start)
        if width is None or end - start < width  # the first mistake: WITHIN includes its end
    }
    return [{"start": i, "end": j, "positions": list(taken)} for i, j, taken in sorted(found)]


def ends(formula, events, i):
    """Return the ends and positions of the matches that start at i."""
    match formula:
        case ("type", name):
            return {(i, frozenset({i}))} if events[i]["type"] == name else set()
        case ("or", left, right):
            return ends(left, events, i) | ends(right, events, i)
        case (";", left, right):
            return then(ends(left, events, i), right, events, len(events))
        case ("+", body):
            found = ends(body, events, i)
            return found | then(found, formula, events, 1)  # the second: gaps are allowed here too


def then(found, formula, events, reach):
    """Continue each match in `found` by the formula, at most `reach` events later."""
    return {
        (end, taken | more)
        for j, taken in found
        for k in range(j + 1, min(j + 1 + reach, len(events)))
        for end, more in ends(formula, events, k)
    }


if __name__ == "__main__":
    main()
