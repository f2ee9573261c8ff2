"""``pandas-match-recognize`` in an interpreter that has it. Nothing of cerlab is imported here."""

from __future__ import annotations

from importlib.metadata import version

if __package__:
    from cerlab.trial.children.line import Reply, serve
else:  # a program of its own
    from line import Reply, serve  # type: ignore[import-not-found,no-redef]

COLUMNS = ("g", "t", "x", "s")
REFUSALS = ("not supported", "Failed to parse query")


def reply(question: Reply) -> Reply:
    """The rows of a result; numbers may come back as floats, NULL as NaN."""
    import pandas as pd  # type: ignore[import-untyped,unused-ignore]
    from match_recognize import match_recognize  # type: ignore[import-not-found]

    rows = question["rows"]
    frame = pd.DataFrame(rows, columns=[c for c in COLUMNS if not rows or c in rows[0]])
    try:
        result = match_recognize(question["query"], frame)
    except Exception as error:
        if any(words in str(error) for words in REFUSALS):
            return {"refused": str(error)[:400]}
        raise
    result = result.astype(object).where(result.notna(), None)
    return {"answers": [{k: plain(v) for k, v in row.items()} for row in result.to_dict("records")]}


def plain(value: object) -> object:
    """A value that JSON has."""
    return value.item() if hasattr(value, "item") else value


if __name__ == "__main__":
    serve(lambda: version("pandas-match-recognize"), reply)
