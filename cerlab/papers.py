"""The papers that the code cites, under the keys its docstrings use, as in ``(CORE Alg. 1)``."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Paper:
    """A publication; ``key`` is how docstrings and the ledger of theorems name it."""

    key: str
    title: str
    authors: str
    venue: str
    year: int


PAPERS = {
    paper.key: paper
    for paper in (
        Paper(
            "CORE",
            "CORE: a Complex Event Recognition Engine",
            "Marco Bucchi, Alejandro Grez, Andrés Quintana, Cristian Riveros, Stijn Vansummeren",
            "Proceedings of the VLDB Endowment 15(9)",
            2022,
        ),
        Paper(
            "FOUND",
            "Foundations of Complex Event Processing",
            "Marco Bucchi, Alejandro Grez, Cristian Riveros, Martín Ugarte",
            "arXiv 1709.05369",
            2018,
        ),
        Paper(
            "SOCEL",
            "On the Expressiveness of Languages for Complex Event Recognition",
            "Alejandro Grez, Cristian Riveros, Martín Ugarte, Stijn Vansummeren",
            "arXiv 1712.01063",
            2020,
        ),
        Paper(
            "DQE",
            "On the difference between Complex Event Processing and Dynamic Query Evaluation",
            "Alejandro Grez, Cristian Riveros, Martín Ugarte",
            "Alberto Mendelzon International Workshop",
            2018,
        ),
        Paper(
            "SRT",
            "Complex Event Recognition with Symbolic Register Transducers",
            "Elias Alevizos, Alexander Artikis, Georgios Paliouras",
            "Proceedings of the VLDB Endowment 17(11)",
            2024,
        ),
    )
}

CITATION = re.compile(
    r"\((?P<key>CORE|FOUND|SOCEL|DQE|SRT) "
    r"(?P<what>(?:Alg|Thm|Def|Table|Lemma|Prop|Cor|Fig|Sec|App)\.? [\w.]+)\)"
)
"""What a citation in a docstring looks like: ``(CORE Alg. 1)``, ``(CORE App. A.1)``."""
