"""The papers that the code cites, by the keys in its docstrings, as in ``(CORE Alg. 1)``."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Paper:
    """A publication; docstrings and the ledger of theorems refer to it by `key`."""

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
            "Martín Ugarte, Stijn Vansummeren",
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
    r"(?:CORE|FOUND|SOCEL|DQE|SRT) "
    r"(?:(?:Alg|Thm|Def|Prop|Cor|Fig|Sec|App)\. |Table |Lemma )[A-Z0-9]+(?:\.[0-9]+)*"
)
"""Pattern of one citation: ``CORE Alg. 1``, ``CORE App. A.1``, ``SRT Def. 17``."""


def citations(text: str) -> list[str]:
    """Return the citations that a text contains in parentheses, separated by semicolons.

    >>> citations("Evaluation (CORE Alg. 1), with labels (CORE Sec. 3; CORE App. A.1).")
    ['CORE Alg. 1', 'CORE Sec. 3', 'CORE App. A.1']
    """
    inside = re.findall(r"\(([^()]*)\)", text)
    return [match[0] for group in inside for match in CITATION.finditer(group)]
