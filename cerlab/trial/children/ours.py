"""cerlab in a separate process: the engines that users run, not the reference."""

from __future__ import annotations

from cerlab import Stream, __version__
from cerlab.api import evaluate, parse_query
from cerlab.errors import Unsupported
from cerlab.rows.recognise import match_recognize, parse_rows
from cerlab.trial.children.line import Reply, serve
from cerlab.trial.languages import arrow


def reply(question: Reply) -> Reply:
    """Answers of a clause on rows, or of a CEQL query on events."""
    try:
        if "rows" in question:
            table = arrow(question["rows"])
            return {"answers": match_recognize(parse_rows(question["query"]), table).to_pylist()}
        stream = Stream.from_events(question["events"], time="t", unit="s")
        answers = evaluate(parse_query(question["query"]), stream)
    except Unsupported as error:
        return {"refused": error.message}
    return {
        "answers": [
            {"start": m.start, "end": m.end, "positions": list(m.positions)} for m in answers
        ]
    }


if __name__ == "__main__":
    serve(lambda: __version__, reply)
