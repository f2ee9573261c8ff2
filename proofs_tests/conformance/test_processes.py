"""The conformance suite by the command line, in processes of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cerlab.conformance import cases
from cerlab.conformance.judge import difference
from proofs_tests.conformance.ways import arguments_of, ways_of
from proofs_tests.suite import Suite

pytestmark = pytest.mark.services

SHARE = 40
"""One case of so many runs, all in the deep profile: a process takes half a second."""


def test_cases_have_their_answers_in_processes(tmp_path: Path, suite: Suite) -> None:
    taken = [case for case in cases() if "command" in ways_of(case)]
    for case in taken[:: 1 if suite.deep else SHARE]:
        words = [sys.executable, "-m", "cerlab", *arguments_of(case, tmp_path / "events.ndjson")]
        process = subprocess.run(words, capture_output=True, text=True, check=False)
        assert process.returncode == 0, process.stderr
        answers = [json.loads(line) for line in process.stdout.splitlines()]
        wrong = difference(case, {"answers": answers})
        assert not wrong, f"{case.id}: {wrong}"
