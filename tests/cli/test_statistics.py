"""Mean, median and quantiles on the command line, true values that are set aside, and where a certificate stands."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from tests.cli.conftest import Call, assert_refused
from tests.cli.surveys import FINITE

import confide as cf
from confide.estimates.explanations import CERTIFICATE_MEANING

ESTIMATE = ("estimate", "survey.toml", "reports.csv")


def python_estimate(folder: Path) -> cf.Estimate:
    survey = cf.load_survey(folder / "survey.toml")
    return cf.estimate(cf.read_reports(folder / "reports.csv", survey).counts, survey.mechanism)


@pytest.mark.slow
def test_they_are_those_of_python(call: Call, folder: Path) -> None:
    asked = ("--mean", "--median", "--quantile", "0.9", "--quantile", "25%", "--quantile", "50%")
    record = call(*ESTIMATE, *asked, "--interval", "0.9", "--json").record
    answer = python_estimate(folder)
    expected = [answer.mean(0.9), *(answer.quantile(share, 0.9) for share in (0.5, 0.9, 0.25))]
    found = [(one["query"], one["estimate"], one["low"], one["high"], one["level"]) for one in record["statistics"]]
    assert [one[0] for one in found] == [one.question for one in expected]
    for one, other in zip(found, expected, strict=True):  # side by side sums are taken in another order
        assert one[1:] == pytest.approx((other.estimate, other.low, other.high, 0.9), rel=1e-9)
    assert record["queries"] == []


@pytest.mark.slow
def test_they_are_shown_in_words_and_on_the_page(call: Call, folder: Path) -> None:
    out = call(*ESTIMATE, "--mean", "--median", "--query", "age > 5").out
    answer = python_estimate(folder)
    assert f"mean     {answer.mean()}" in out
    assert f"median   {answer.quantile(0.5)}" in out
    assert "of mean, quantiles and queries rest on the likelihood" in out
    pytest.importorskip("matplotlib")
    reports = cf.load_survey(folder / "survey.toml").mechanism.privatize([2, 3, 3, 4] * 50, rng=1)
    (folder / "good.csv").write_text("report\n" + "".join(f"{one}\n" for one in reports.tolist()))
    assert call("estimate", "survey.toml", "good.csv", "-o", "good.html").code == 0
    page = (folder / "good.html").read_text()
    for words in ("the mean", "the median", "the quantile 0.25", "the quantile 0.75", "Median, at 95%"):
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
@pytest.mark.parametrize("option", [["--mean"], ["--median"], ["--quantile", "0.9"]])
def test_values_without_order_have_none(
    call: Call, folder: Path, survey: str, words: list[str], option: list[str]
) -> None:
    (folder / "s.toml").write_text('name = "thing"\n' + FINITE[survey])
    assert_refused(call("estimate", "s.toml", "reports.csv", *option), 2, *words)


@pytest.mark.parametrize("share", ["90", "0", "1", "100%", "nine", "-0.5", ""])
def test_a_share_that_is_none(call: Call, share: str) -> None:
    assert_refused(call(*ESTIMATE, "--quantile", share), 2, "--quantile takes a share between 0 and 1", repr(share))


@pytest.mark.slow
def test_bad_rows_of_the_truth_are_set_aside_beside_those_of_the_reports(call: Call, folder: Path) -> None:
    (folder / "truth.csv").write_text("age\n" + "3\n" * 8 + "40\n\nx\n")
    (folder / "bad.csv").write_text("report\n" + "3\n4\n" * 20 + "77\n")
    with_truth = ("estimate", "survey.toml", "bad.csv", "--truth", "truth.csv")
    assert_refused(call("estimate", "survey.toml", "reports.csv", "--truth", "truth.csv"), 4, "line 10", "--rejects")
    out = call(*with_truth, "--rejects", "rejects.csv").out
    assert "truth.csv, column age: 11 rows read = 8 accepted + 3 rejected" in out
    with (folder / "rejects.csv").open() as stream:
        rows = list(csv.reader(stream))[1:]
    assert [(row[0], row[1], row[2]) for row in rows] == [
        ("truth.csv", "10", "40"),
        ("truth.csv", "11", ""),
        ("truth.csv", "12", "x"),
        ("bad.csv", "42", "77"),
    ]
    record = call(*with_truth, "--rejects", "rejects.csv", "--json").record["truth_rows"]
    assert (record["read"], record["accepted"], record["rejected"]) == (11, 8, 3)
    (folder / "none.csv").write_text("age\n40\n41\n")
    refused = call(*ESTIMATE, "--truth", "none.csv", "--rejects", "rejects.csv")
    assert_refused(refused, 4, "None of the 2 rows of none.csv", "True values must lie in")


def test_counts_set_bad_rows_of_the_truth_aside_too(call: Call, folder: Path) -> None:
    pytest.importorskip("duckdb")
    assert call("count", "survey.toml", "reports.csv", "-o", "counts.parquet").code == 0
    (folder / "truth.csv").write_text("age\n3\n40\n")
    done = call("estimate", "survey.toml", "counts.parquet", "--truth", "truth.csv", "--rejects", "rejects.csv")
    assert done.code == 0
    assert "truth.csv,3,40,outside the alphabet" in (folder / "rejects.csv").read_text()


@pytest.mark.parametrize("method", ["stacked", "smooth", "ibu-held-out", "ibu", "mle"])
@pytest.mark.slow
def test_a_certificate_stands_where_the_maximum_is_sought(call: Call, folder: Path, method: str) -> None:
    is_sought = method in ("ibu", "mle")
    out = call(*ESTIMATE, "--method", method).out
    assert ("Certificate" in out) is is_sought
    assert "Fit" in out
    assert "--interval 0.95 gives one for each value" in out
    record = call(*ESTIMATE, "--method", method, "--json").record
    assert (record["certificate"] is not None) is is_sought
    assert not [name for name in record if "maximum" in name]
    pytest.importorskip("matplotlib")
    assert call(*ESTIMATE, "--method", method, "-o", "page.html").code == 0
    page = (folder / "page.html").read_text()
    for words in (CERTIFICATE_MEANING[:40], "below the maximum", "Below the maximum by"):
        assert (words.lower() in page.lower()) is is_sought
    assert "Do the reports fit the survey?" in page or "do not fit the survey" in page
