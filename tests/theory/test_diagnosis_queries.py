"""One query, one number: a diagnosis answers as the estimate does, and says besides what theory knows of it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cli.surveys import FINITE, UNBOUNDED, some_values, survey

import confide as cf
from confide.estimates.diagnosis import told_in_words

CASES = ["truncated-geometric", "randomized-response", "rappor", "matrix", "truncated-taxicab", "laplace", "product"]


@pytest.mark.parametrize("name", [*CASES, "unbounded"])
def test_a_diagnosis_gives_the_number_of_the_estimate(name: str) -> None:
    mechanism = survey(UNBOUNDED["geometric"] if name == "unbounded" else FINITE[name]).mechanism
    counts = cf.tally(mechanism.privatize(some_values(mechanism.alphabet, 80), rng=2))
    diagnosis, answer = cf.diagnose(counts, mechanism), cf.estimate(counts, mechanism)
    weights = (np.arange(answer.alphabet.size) < 2).astype(float)
    found, expected = diagnosis.query(weights, level=0.9), answer.query(weights, level=0.9)
    assert found.interval == expected
    assert str(found).startswith(f"{expected.estimate:.4g}, between {expected.low:.4g} and {expected.high:.4g} at 90%;")
    assert found.lowest is not None
    assert found.highest is not None
    assert expected.low - 1e-6 <= found.lowest <= found.highest <= expected.high + 1e-6


def test_equally_good_explanations_are_named_beside_the_interval() -> None:
    twins = cf.FromMatrix(cf.Categories([1, 2, 3]), [[0.45, 0.1, 0.45], [0.05, 0.9, 0.05], [0.45, 0.1, 0.45]])
    diagnosis = cf.diagnose(cf.tally([2, 2, 2, 2, 1, 3]), twins)
    open_one, settled = diagnosis.query("value == 1"), diagnosis.query("value != 2")
    assert "equally good explanations between 0 and 0.2917; not identified by any number of reports" in str(open_one)
    assert "equally good" not in str(settled)
    assert str(settled).endswith("identified: enough reports reveal it")


def test_what_these_reports_tell_comes_first() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), 1.0)
    counts = mechanism.simulate_counts(np.full(10, 300), rng=1)
    told, verdict, _ = str(cf.diagnose(counts, mechanism, name="rooms")).split("\n\n")
    fit, windows, *_ = told.split("\n")
    assert fit.startswith(("Goodness of fit: OK", "Goodness of fit: cannot be tested"))
    assert windows.startswith("These reports resolve ")
    assert verdict.startswith("This mechanism can reveal the distribution")


def test_a_bad_fit_casts_doubt_on_all_the_rest() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), 0.2)
    told = told_in_words(cf.diagnose(cf.tally([4], counts=[2000]), mechanism))
    assert told[0].startswith("These reports do not come from this mechanism: 4 was reported")
    assert told[1] == "All other findings assume that they do."
    assert told[2].endswith("is not known. That depends on the mechanism, and the reports do not come from it.")


def test_the_level_is_the_one_asked_for() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 4), 2.0)
    diagnosis = cf.diagnose(mechanism.simulate_counts(np.full(5, 100), rng=1), mechanism, level=0.8)
    assert diagnosis.windows is not None
    assert (diagnosis.windows.level, diagnosis.why_no_windows) == (0.8, "")
    interval = diagnosis.query("value > 2").interval
    assert interval is not None
    assert interval.level == 0.8
    with pytest.raises(cf.ConfideError, match="level must lie between 0 and 1"):
        cf.diagnose(None, mechanism, level=0.0)


def test_residuals_are_of_outputs_or_of_ones() -> None:
    geometric = cf.TruncatedGeometric(cf.Integers(0, 9), 0.2)
    odd = cf.diagnose(cf.tally(np.arange(10), [100] * 4 + [900] + [100] * 5), geometric).residuals
    assert odd is not None
    assert odd[0] == geometric.report_alphabet
    assert int(np.argmax(odd[1])) == 4
    rappor = cf.Rappor(cf.Integers(0, 5), 1.0)
    ones = cf.diagnose(cf.tally([63] * 50), rappor).residuals
    assert ones is not None
    assert ones[0] == cf.Integers(0, 6)
    assert ones[1][6] > 5 or np.isnan(ones[1][6])
    assert np.nanmin(ones[1]) < -2
    assert cf.diagnose(None, rappor).residuals is None


def test_few_reports_on_an_unbounded_plane_have_a_region() -> None:
    """It was a division by zero: fewer reports than values leave directions without curvature."""
    mechanism = survey(UNBOUNDED["taxicab"]).mechanism
    counts = cf.tally(mechanism.privatize(some_values(mechanism.alphabet, 9), rng=1))
    around = cf.estimate(counts, mechanism, cf.MLE())._inference.wide
    assert around is not None
    assert around.region.best.sum() == pytest.approx(1)
