"""Code that nothing runs stands in cerlab/theorems, and nothing runs code that stands there."""

from __future__ import annotations

import grimp

ENTRIES = (
    "cerlab",
    "cerlab.__main__",
    "cerlab.magic",
    "cerlab.flinkcep",
    "cerlab.conformance.replies",
    "cerlab.conformance.judge",
)

BY_NAME = ("cerlab.viz", "cerlab.cli", "cerlab.trial.children")
"""Modules, and packages of modules, that are imported by name, or started, when needed."""

EVIDENCE = {
    "cerlab.engine.reference.dqe",  # DESIGN 4 has it among the reference evaluators
    "cerlab.papers",  # the ledger's keys
    "cerlab.predicates.minterms",  # questions about predicates, for whoever explores them
}
"""Public modules used by no other module."""


def test_what_nothing_runs_is_in_theorems() -> None:
    graph = grimp.build_graph("cerlab", cache_dir=None)
    runs = {*EVIDENCE, *ENTRIES}.union(*map(graph.find_upstream_modules, ENTRIES))
    for package in BY_NAME:
        runs |= {package} | graph.find_descendants(package)
        runs |= graph.find_upstream_modules(package, as_package=True)
    modules = {m for m in graph.modules if not graph.find_children(m)}
    assert modules - runs == graph.find_descendants("cerlab.theorems")
