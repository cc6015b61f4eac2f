"""Mean, median and quantiles on the command line, true values that are set aside, and where a certificate stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Call, assert_refused
from tests.cli.surveys import FINITE

import confide as cf
from confide.estimates.explanations import CERTIFICATE_MEANING

ESTIMATE = ("estimate", "survey.toml", "reports.csv")


def python_estimate(folder: Path) -> cf.estimates.Estimate:
    survey = cf.load_survey(folder / "survey.toml")
    return cf.estimate(cf.read_reports(folder / "reports.csv", survey).counts, survey.mechanism)


@pytest.mark.slow
def test_they_are_those_of_python(call: Call, folder: Path) -> None:
    asked = ("mean", "Median", "quantile 0.9", "quantile  25%", " quantile 50% ")
    options = [word for one in asked for word in ("--query", one)]
    record = call(*ESTIMATE, *options, "--interval", "0.9", "--json").record
    answer = python_estimate(folder)
    expected = [answer.mean(0.9), *(answer.quantile(share, 0.9) for share in (0.5, 0.9, 0.25))]
    found = [(one["query"], one["estimate"], one["low"], one["high"], one["level"]) for one in record["statistics"]]
    assert [one[0] for one in found] == [one.question for one in expected]
    for one, other in zip(found, expected, strict=True):  # side by side sums are taken in another order
        assert one[1:] == pytest.approx((other.estimate, other.low, other.high, 0.9), rel=1e-9)
    assert record["queries"] == []


@pytest.mark.slow
def test_they_are_shown_in_words_and_on_the_page(call: Call, folder: Path) -> None:
    out = call(*ESTIMATE, "--query", "mean", "--query", "median", "--query", "age > 5", "-v").out
    answer = python_estimate(folder)
    for word, one in (("Mean age", answer.mean()), ("Median age", answer.quantile(0.5))):
        line = next(line for line in out.splitlines() if line.startswith(word))
        assert line.partition(";")[0].split()[2:] == f"{one.estimate:.4g} {one.low:.4g} to {one.high:.4g}".split()
    assert "mean, quantiles and shares: the likelihood" in out
    pytest.importorskip("matplotlib")
    reports = cf.load_survey(folder / "survey.toml").mechanism.privatize([2, 3, 3, 4] * 50, rng=1)
    (folder / "good.csv").write_text("report\n" + "".join(f"{one}\n" for one in reports.tolist()))
    assert call("estimate", "survey.toml", "good.csv", "-o", "good.html").code == 0
    page = (folder / "good.html").read_text()
    for words in ("the mean", "the median", "the quantile 0.25", "the quantile 0.75", "The median age is"):
        assert words in page
    # Reports that certainly do not fit get no more than was asked for.
    assert call(*ESTIMATE, "-o", "bad.html").code == 0
    assert "the quantile 0.25" not in (folder / "bad.html").read_text()


@pytest.mark.parametrize(
    ("survey", "words"),
    [
        ("randomized-response", ["words such as 'never'", "no mean and no quantiles", "--query"]),
        ("truncated-taxicab", ["Cells have no mean", '--query "row >= 5"']),
        ("product", ["are of several attributes", "--query"]),
    ],
)
@pytest.mark.parametrize("statistic", ["mean", "median", "quantile 0.9"])
def test_values_without_order_have_none(
    call: Call, folder: Path, survey: str, words: list[str], statistic: str
) -> None:
    (folder / "s.toml").write_text('name = "thing"\n' + FINITE[survey])
    assert_refused(call("estimate", "s.toml", "reports.csv", "--query", statistic), 2, *words)


@pytest.mark.parametrize("share", ["90", "0", "1", "100%", "-0.5", "0.5x"])
def test_a_share_that_is_none(call: Call, share: str) -> None:
    words = "A quantile takes a share between 0 and 1"
    assert_refused(call(*ESTIMATE, "--query", f"quantile {share}"), 2, words, repr(share))


@pytest.mark.parametrize("query", ["quantile", "quantile nine", "mean age", "average"])
def test_what_is_no_statistic_is_told_where_to_look(call: Call, query: str) -> None:
    assert_refused(call(*ESTIMATE, "--query", query), 2, "asks for no share of people", "confide estimate --query")


def test_a_diagnosis_has_shares_alone(call: Call) -> None:
    assert_refused(call("diagnose", "survey.toml", "--query", "mean"), 2, "For mean and quantiles: confide estimate")


@pytest.mark.parametrize("name", ["mean", "median", "quantile"])
def test_a_survey_may_be_called_like_a_statistic(call: Call, folder: Path, name: str) -> None:
    (folder / "s.toml").write_text((folder / "survey.toml").read_text().replace('"age"', f'"{name}"'))
    asked = ("--method", "ibu", "--query", f"{name} >= 5", "--query", f"{name} >=6", "--query", "mean", "--json")
    record = call("estimate", "s.toml", "reports.csv", *asked).record
    assert [one["query"] for one in record["queries"]] == [f"{name} >= 5", f"{name} >=6"]
    assert [one["query"] for one in record["statistics"]] == ["mean"]


def test_bad_rows_of_the_truth_are_named(call: Call, folder: Path) -> None:
    (folder / "truth.csv").write_text("age\n" + "3\n" * 8 + "40\n\nx\n")
    refused = call("estimate", "survey.toml", "reports.csv", "--truth", "truth.csv")
    assert_refused(refused, 4, "3 of 11 rows", "line 10", "These are the true values", "Correct these rows")
    (folder / "none.csv").write_text("age\n")
    refused = call(*ESTIMATE, "--truth", "none.csv")
    assert_refused(refused, 4, "none.csv")


@pytest.mark.parametrize("method", ["stacked", "smooth", "ibu-held-out", "ibu", "mle"])
@pytest.mark.slow
def test_a_certificate_stands_where_the_maximum_is_sought(call: Call, folder: Path, method: str) -> None:
    is_sought = method in ("ibu", "mle")
    out = call(*ESTIMATE, "--method", method, "-v").out
    assert ("Certificate" in out) is is_sought
    assert "Fit" in out
    assert "--interval 0.95 adds one for each value" in out
    record = call(*ESTIMATE, "--method", method, "--json").record
    assert (record["certificate"] is not None) is is_sought
    assert not [name for name in record if "maximum" in name]
    pytest.importorskip("matplotlib")
    assert call(*ESTIMATE, "--method", method, "-o", "page.html").code == 0
    page = (folder / "page.html").read_text()
    for words in (CERTIFICATE_MEANING[:40], "below the maximum", "Below the maximum by"):
        assert (words.lower() in page.lower()) is is_sought
    assert "Goodness of fit" in page or "do not fit the survey" in page
