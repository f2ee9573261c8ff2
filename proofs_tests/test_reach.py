"""What nothing runs stands in cerlab/theorems, and what stands there nothing runs."""

from __future__ import annotations

import grimp

ENTRIES = ("cerlab", "cerlab.__main__", "cerlab.magic")

EVIDENCE = {
    "cerlab.engine.reference.dqe",  # DESIGN 4 has it among the reference evaluators
    "cerlab.logic.gcq.semantics",  # `cerlab.logic.gcq` imports it when its oracle is first used
    "cerlab.papers",  # the ledger's keys
    "cerlab.predicates.algebra",  # questions about predicates, for whoever explores them
}
"""What is public and used by no other module."""


def test_what_nothing_runs_is_in_theorems() -> None:
    graph = grimp.build_graph("cerlab", cache_dir=None)
    runs = graph.find_upstream_modules("cerlab.viz", as_package=True)  # displays register by name
    for entry in ENTRIES:
        runs |= {entry, *graph.find_upstream_modules(entry)}
    modules = {m for m in graph.modules if not graph.find_children(m)}
    of_viz = graph.find_descendants("cerlab.viz")
    idle = modules - runs - of_viz - EVIDENCE
    assert idle == graph.find_descendants("cerlab.theorems")
