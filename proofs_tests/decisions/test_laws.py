"""Laws of CEL, proved on all streams; and what looks like a law, refuted by a shortest stream."""

from __future__ import annotations

import pytest

import cerlab
from cerlab import contained, equivalent

F, G, H = "(A ; B)", "(B OR C)+", "(A:+ FILTER A[v = 1])"

LAWS = [
    ("({f} ; {g}) ; {h}", "{f} ; ({g} ; {h})"),
    ("({f} : {g}) : {h}", "{f} : ({g} : {h})"),
    ("({f} OR {g}) OR {h}", "{f} OR ({g} OR {h})"),
    ("{f} OR {g}", "{g} OR {f}"),
    ("{f} OR {f}", "{f}"),
    ("{f} ; ({g} OR {h})", "({f} ; {g}) OR ({f} ; {h})"),
    ("({f} OR {g}) ; {h}", "({f} ; {h}) OR ({g} ; {h})"),
    ("{f} : ({g} OR {h})", "({f} : {g}) OR ({f} : {h})"),
    ("({f} OR {g}) : {h}", "({f} : {h}) OR ({g} : {h})"),
    ("({f}+)+", "{f}+"),
    ("({f}:+):+", "{f}:+"),
    ("{f}+", "{f} OR ({f} ; {f}+)"),
    ("{f}+", "{f} OR ({f}+ ; {f})"),
    ("{f}:+", "{f} OR ({f} : {f}:+)"),
    ("({f}:+)+", "{f}+"),
    ("{f} FILTER A[v = 1] FILTER B[v = 2]", "{f} FILTER B[v = 2] FILTER A[v = 1]"),
    ("{f} FILTER A[v > 1] FILTER A[v < 3]", "{f} FILTER A[v > 1 AND v < 3]"),
    ("({f} OR {g}) FILTER B[v = 1]", "({f} FILTER B[v = 1]) OR ({g} FILTER B[v = 1])"),
    ("({f} ; {g}) FILTER B[v = 1]", "({f} FILTER B[v = 1]) ; ({g} FILTER B[v = 1])"),
    ("{g}+ FILTER B[v = 1]", "({g} FILTER B[v = 1])+"),
    ("PROJECT[A](PROJECT[A, B]({f}))", "PROJECT[A]({f})"),
    ("PROJECT[A]({f} ; {g})", "PROJECT[A]({f}) ; PROJECT[A]({g})"),
    ("PROJECT[A]({f} OR {h})", "PROJECT[A]({f}) OR PROJECT[A]({h})"),
    ("{f} AND {f}", "{f}"),
    ("{f} AND ({g} OR {f})", "{f}"),
    ("{f} ALL {g}", "{g} ALL {f}"),
    ("{f} ALL ({g} OR {h})", "({f} ALL {g}) OR ({f} ALL {h})"),
    ("({f} OR {g}) UNLESS {h}", "({f} UNLESS {h}) OR ({g} UNLESS {h})"),
    ("{f} UNLESS ({g} OR {h})", "({f} UNLESS {g}) UNLESS {h}"),
    ("STRICT(STRICT({f}))", "STRICT({f})"),
    ("{f} ; {g}", "({f} : {g}) OR ({f} : PROJECT[]((A OR NOT(A)):+) : {g})"),
]

NO_LAWS = [
    ("({f} : {g}) ; {h}", "{f} : ({g} : {h})"),
    ("{f} ; {g}", "{g} ; {f}"),
    ("{f} : {g}", "{f} ; {g}"),
    ("{f} : {g}", "{g} : {f}"),
    ("{f}+", "{f}:+"),
    ("{f}+", "{f}"),
    ("{f}+", "{f} OR ({f} ; {f})"),
    ("{f}+", "{f} OR ({f} : {f}+)"),
    ("{f} ; {f}", "{f}+"),
    ("{f} OR {g}", "{f}"),
    ("{f} OR {g}", "{f} AND {g}"),
    ("({f} ; {g})+", "{f}+ ; {g}+"),
    ("({f} OR {g})+", "{f}+ OR {g}+"),
    ("{f} FILTER A[v = 1]", "{f} FILTER B[v = 1]"),
    ("{f} FILTER A[v = 1]", "{f} FILTER A[v >= 1]"),
    ("{f} FILTER A[NOT v = 1]", "{f} FILTER A[v != 1]"),
    ("{g} FILTER B[v = 1]", "{g} FILTER B[v = 1] AND C[v = 1]"),
    ("({g} OR A) FILTER B[v = 1]", "({g} FILTER B[v = 1])"),
    ("B+ FILTER B[v = 1] OR B[v = 2]", "B+ FILTER B[v = 1 OR v = 2]"),
    ("PROJECT[A]({f})", "PROJECT[B]({f})"),
    ("PROJECT[A]({f})", "{f}"),
    ("PROJECT[]({f})", "PROJECT[](A : B)"),
    ("{f} ALL {g}", "({f} ; {g}) OR ({g} ; {f})"),
    ("{f} UNLESS {g}", "{f}"),
    ("(A ; A) UNLESS ({f} UNLESS {f})", "(A ; A) UNLESS {f}"),
    ("(A ; A) UNLESS (C UNLESS C)", "(A ; A) UNLESS C"),
    ("STRICT({f})", "{f}"),
    ("STRICT(PROJECT[B]({f}))", "PROJECT[B](STRICT({f}))"),
]


def with_variables(text: str) -> str:
    return text.format(f=F, g=G, h=H)


def test_there_are_25_of_each() -> None:
    assert len(LAWS) >= 25
    assert len(NO_LAWS) >= 25


@pytest.mark.parametrize(("left", "right"), LAWS)
@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
def test_proved(left: str, right: str) -> None:
    verdict = equivalent(with_variables(left), with_variables(right))
    assert verdict.holds is True, verdict
    assert verdict.witness is None


@pytest.mark.parametrize(("left", "right"), NO_LAWS)
@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
def test_refuted_by_a_shortest_stream(left: str, right: str) -> None:
    """Recomputed by the reference here, and no shorter stream tells the two apart."""
    left, right = with_variables(left), with_variables(right)
    verdict = equivalent(left, right)
    assert verdict.holds is False
    witness = verdict.witness
    assert witness is not None
    is_answer_of = {
        side: witness.complex_event in cerlab.evaluate(phi, witness.events, evaluator="reference")
        for side, phi in (("left", left), ("right", right))
    }
    assert is_answer_of == {"left": witness.side == "left", "right": witness.side == "right"}
    shorter = witness.events[:-1]
    assert cerlab.evaluate(left, shorter) == cerlab.evaluate(right, shorter)


def test_contained_is_one_half_of_equivalent() -> None:
    assert contained(f"{F} : {G}", f"{F} ; {G}").holds is True
    assert contained(f"{F} ; {G}", f"{F} : {G}").holds is False
