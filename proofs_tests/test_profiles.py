"""A random suite runs as many cases as its profile says, and fails where it should."""

from __future__ import annotations

from random import Random

import pytest

from cerlab.budget import spend, step_budget
from proofs_tests.suite import QUICK_STEPS, Profile, Suite


@pytest.mark.parametrize(
    ("profile", "counts"),
    [
        (Profile.SMOKE, [7, 20, 20, 20]),
        (Profile.QUICK, [7, 20, 20, 50]),
        (Profile.DEEP, [7, 400, 1_000, 20_000]),
    ],
)
def test_how_many_cases_run(
    profile: Profile, counts: list[int], request: pytest.FixtureRequest
) -> None:
    for deep_count, expected in zip((7, 400, 1_000, 20_000), counts, strict=True):
        numbers: list[float] = []

        def case(rng: Random, numbers: list[float] = numbers) -> bool:
            numbers.append(rng.random())
            return True

        assert Suite(profile, request).run(case, deep_count=deep_count) == expected
        assert len(numbers) == len(set(numbers)) == expected


@pytest.mark.parametrize(
    ("profile", "answers", "passes"),
    [
        (Profile.QUICK, 10, True),
        (Profile.QUICK, 9, False),
        (Profile.SMOKE, 5, True),
        (Profile.SMOKE, 4, False),
    ],
)
def test_too_few_answers_fail(
    profile: Profile, answers: int, passes: bool, request: pytest.FixtureRequest
) -> None:
    left = iter([True] * answers + [False] * 20)
    suite = Suite(profile, request)
    if passes:
        assert suite.run(lambda rng: next(left), deep_count=400) == 20
    else:
        with pytest.raises(AssertionError, match=f"only {answers} of 20 cases had answers"):
            suite.run(lambda rng: next(left), deep_count=400)


@pytest.mark.parametrize("profile", [Profile.QUICK, Profile.DEEP])
def test_a_large_case_is_left_to_the_deep_profile(
    profile: Profile, request: pytest.FixtureRequest
) -> None:
    def case(rng: Random) -> bool:
        with step_budget("a large case"):
            spend(steps.pop())
        return True

    steps = [*[1] * 20, QUICK_STEPS + 1]
    assert Suite(profile, request).run(case, deep_count=20) == 20
    steps = [*[1] * 18, *[QUICK_STEPS + 1] * 2]
    if profile is Profile.DEEP:
        assert Suite(profile, request).run(case, deep_count=20) == 20
    else:
        with pytest.raises(AssertionError, match="2 of 20 cases are too large"):
            Suite(profile, request).run(case, deep_count=20)


def test_a_case_that_fails_names_its_seed(request: pytest.FixtureRequest) -> None:
    def case(rng: Random) -> bool:
        assert rng.random() != Random(3).random()
        return True

    with pytest.raises(AssertionError) as caught:
        Suite(Profile.QUICK, request).run(case, deep_count=400)
    assert caught.value.__notes__ == [f"seed 3 of {request.node.nodeid}"]
