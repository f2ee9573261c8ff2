"""Generalised conjunctive queries (DQE Def. 1): text, semantics over updates, a reduction."""

from cerlab.logic.gcq.semantics import Delete, Insert, answers, answers_after_each, database
from cerlab.logic.gcq.syntax import Atom, Gcq, gcq_text, parse_gcq

__all__ = [
    "Atom",
    "Delete",
    "Gcq",
    "Insert",
    "answers",
    "answers_after_each",
    "database",
    "gcq_text",
    "parse_gcq",
]
