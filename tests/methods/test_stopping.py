"""IBU's rules besides the paper's delta."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.laws.test_methods import drawn_counts

from confide import IBU, MLE, Integers, Status, TruncatedGeometric, estimate, estimate_groups
from confide.errors import InvalidParameterError
from confide.evidence import Evidence

MECHANISM = TruncatedGeometric(Integers(0, 49), 0.3)
COUNTS = drawn_counts(MECHANISM, 5000)


@pytest.mark.parametrize("tolerance", [100.0, 1.0, 0.05])
def test_a_certificate_stops_it_as_soon_as_it_is_good(tolerance: float) -> None:
    answer = estimate(COUNTS, MECHANISM, IBU(stop="certificate", tolerance=tolerance))
    assert answer.status is Status.CERTIFIED
    assert answer.certificate <= tolerance * (1 + 1e-9)
    assert f"can be better by more than {tolerance:g} nats" in answer.explanation
    best = estimate(COUNTS, MECHANISM, MLE())
    assert best.log_likelihood - answer.log_likelihood <= tolerance
    earlier = IBU(1e-300, iteration_limit=max(1, answer.iterations - 1))
    assert answer.iterations == 1 or estimate(COUNTS, MECHANISM, earlier).certificate > tolerance


def test_a_certificate_that_takes_too_long_meets_the_limit() -> None:
    answer = estimate(COUNTS, MECHANISM, IBU(stop="certificate", tolerance=1e-9, iteration_limit=20))
    assert answer.status is Status.ITERATION_LIMIT
    assert answer.iterations == 20


def test_delta_does_not_matter_to_the_other_rules() -> None:
    first, second = (estimate(COUNTS, MECHANISM, IBU(delta, stop="certificate")) for delta in (1e-9, 1e9))
    np.testing.assert_array_equal(first.distribution, second.distribution)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stop": "soon"}, "stop must be one of delta, certificate, held-out; got 'soon'"),
        ({"stop": None}, "stop must be one of delta, certificate, held-out; got None"),
        ({"tolerance": -1.0}, "tolerance must be a finite number above 0; got -1.0"),
        ({"folds": 1}, "folds must be a whole number of at least 2; got 1"),
        ({"folds": 2.5}, "folds must be a whole number of at least 2; got 2.5"),
        ({"seed": -1}, "seed must be a whole number of at least 0; got -1"),
        ({"seed": None}, "seed must be a whole number of at least 0; got None"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=re.escape(message)):
        IBU(**settings)  # type: ignore[arg-type]  # the point of the test


def test_each_rule_is_shown() -> None:
    assert repr(IBU()) == "IBU(delta=0.01, iteration_limit=100,000)"
    assert repr(IBU(stop="certificate")) == "IBU(stop='certificate', tolerance=1, iteration_limit=100,000)"
    assert repr(IBU(stop="held-out", seed=3)) == "IBU(stop='held-out', folds=5, seed=3, iteration_limit=100,000)"


@pytest.mark.slow
def test_a_certificate_stops_it_only_where_it_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search goes by g as float64 has it; "certified" is said of what holds with its rounding errors in it."""
    usual = estimate(COUNTS, MECHANISM, IBU(stop="certificate", tolerance=1.0))
    prove = Evidence.certificate
    monkeypatch.setattr("confide.solve.em.ROUNDING", 1.0)  # prove all
    monkeypatch.setattr(Evidence, "certificate", lambda one, theta: prove(one, theta) + 0.9)
    late = estimate(COUNTS, MECHANISM, IBU(stop="certificate", tolerance=1.0))
    groups = estimate_groups({"a": COUNTS, "b": COUNTS}, MECHANISM, IBU(stop="certificate", tolerance=1.0))
    for answer in (late, *groups.values()):
        assert answer.iterations > usual.iterations
        assert answer.status is Status.CERTIFIED
        assert answer.certificate <= 1.0
    never = estimate(COUNTS, MECHANISM, IBU(stop="certificate", tolerance=0.5, iteration_limit=3000))
    assert never.status is Status.ITERATION_LIMIT
