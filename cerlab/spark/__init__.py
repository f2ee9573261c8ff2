"""Evaluation on Spark, with the answers of the local engine for every partitioning.

    df = cerlab.spark.read(spark, "trades/")
    answers = cerlab.spark.match(df, "SELECT * WHERE A ; B WITHIN 10 [t]", order_by=["t", "id"])
    answers = df.transform(cerlab.spark.matching(query, position="id"))
    arriving = cerlab.spark.match_stream(sdf, query, time="t", position="id", lateness="10 seconds")

A query runs in the first of three modes that is exact for it, but by ranges and not by key where
those read little twice; `mode` asks for one, and a mode that is not exact is refused with its
reason.

================================  ===================  =======================  =====
what the query has                by key               by overlapping ranges    one task
================================  ===================  =======================  =====
PARTITION BY                      needed               exact                    exact
WITHIN n [attribute], n SECONDS   exact                needed, or n EVENTS      exact
WITHIN n EVENTS                   exact                exact, but refused       exact
                                                       under PARTITION BY: it
                                                       counts a key's events
no WITHIN                         exact                refused: an answer may   exact
                                                       begin anywhere
no strategy, STRICT               exact                exact                    exact
NEXT, LAST, MAX                   exact                refused: they compare    exact
                                                       with answers older than
                                                       the window
CONSUME BY PARTITION              exact                refused: it depends on   exact
CONSUME BY ANY                    refused: one key     all answers before       exact
                                  ends what others
                                  have begun
FROM, LIMIT n                     exact                exact                    exact
THROTTLE d                        exact: each key in   refused: it depends on   refused
                                  memory, by           answers before the
                                  ``position``         window
================================  ===================  =======================  =====

On a stream (`match_stream`) rows are read as they come, so there are no ranges. What is exact by
key runs by key, all else in one task:

================================  ======================================================
what the query has                on a stream
================================  ======================================================
PARTITION BY                      by key
no PARTITION BY, CONSUME BY ANY   one task
WITHIN n [attribute], n SECONDS   exact; the stream is ordered by the time that it measures
WAIT, LOOKBACK, windows in time   exact with WITHIN; by key ``lag`` ends silent waits
inside
THROTTLE d                        exact by key, and without PARTITION BY
everything else                   exact
================================  ======================================================

Keys go to buckets by a hash. A bucket has one engine and one state, a flat buffer, so a
micro-batch costs what it brings and hardly what the number of keys is; each key is put in order by
itself. What is known of a key goes when its window has passed for all keys (`lag`); never without a
window in time, nor with NEXT, LAST and MAX, which compare with answers older than the window.

*Files*: a DataFrame that is no more than Parquet files, perhaps in folders called ``key=value``, is
not read by Spark. Where their row groups follow one another, each task reads its own and one window
before them; tasks find the ends of row groups whose footers lack them, as of INT96. Else tasks read
the columns that order the rows, then all that the query reads, and Spark moves what they make of
them. `cerlab spark` has the tasks write the answers. `explain` says so, or why not.

*Any other DataFrame* is read by Spark: once for the columns that order it, once for the events. The
tests of the query are columns of Spark where those are exact, so what leaves the JVM of an event is
a place, a time, a key and a few bits; and an event that changes nothing does not leave it at all
where there is a column of positions. Rows that lie in no order are put in order by the tasks.
`explain` says what crosses, and why.

*By ranges*: the stream is cut into ranges of its order; an answer belongs to the range in which it
ends, and each range reads one window before its own events. So are keys, where windows are narrow
for the stream: then also a key that is most of it is spread. *By key*: the events of a bucket of
keys meet in one task, in order, and one engine with PARTITION BY reads them. *One task*: a
`CerlabWarning` says why.

What is sent to tasks is the plan as JSON (`cerlab.automata.plan`); ``cerlab`` has to be
installed where they run. Only the DataFrame API is used, so a session of Spark Connect does as well
(it needs ``pyspark[connect]``). Reading order, for files: `plan` (modes), `request`, `footers`,
`scans` and `ranges` (which range reads which rows), `ends` (answers between two times), `runs` and
`first_pass` (the order of rows), `tasks` and `packets` (what tasks read and move), `evaluation` and
`task_outputs`, `files` and `writer`, `row_patterns`, and `batch`, which puts them together. For
other inputs: `inputs`, `texts` (CSV, NDJSON and CORE's text); for rows that Spark reads: `frame`,
`predicates` and `relevant_events`. For streams `stream`: `state`, `reorder`, `engine` and `step`, a
bucket of keys in a micro-batch, then `request`, `match` and `rows` (row patterns).
`launch` starts Spark, `daemon` its workers; `failures` makes errors of its exceptions.
"""

from cerlab.spark.batch import explain, match, matching
from cerlab.spark.failures import error_of
from cerlab.spark.inputs import read
from cerlab.spark.launch import doctor, session, time_spent
from cerlab.spark.row_patterns import match_recognize
from cerlab.spark.stream.match import (
    match_stream,
    matching_stream,
    read_stream,
    row_counts,
    write_stream,
)
from cerlab.spark.stream.rows import explain_stream, match_recognize_stream

__all__ = [
    "doctor",
    "error_of",
    "explain",
    "explain_stream",
    "match",
    "match_recognize",
    "match_recognize_stream",
    "match_stream",
    "matching",
    "matching_stream",
    "read",
    "read_stream",
    "row_counts",
    "session",
    "time_spent",
    "write_stream",
]
