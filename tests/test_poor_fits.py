"""Reports that do not come from their mechanism warn wherever an answer is given, and end a strict command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import confide as cf
from confide.cli.main import ExitCode, app
from confide.data.files import SurveyGroups
from confide.estimates.estimate import assess_pool, recover
from confide.estimates.groups import recover_groups
from confide.present.pages import diagnosis_page, estimate_page, groups_page

AGES = cf.datasets.adult_ages()
YEARS: Any = AGES.alphabet
LINE = cf.TruncatedGeometric(YEARS, 0.05)
SURVEY = cf.Survey(LINE, "age", "Ages")
ALL_FIFTY = cf.tally([50], counts=[5000])


def survey(epsilon: float = 0.05, people: int = 20_000, seed: int = 1) -> cf.Counts:
    rng = np.random.default_rng(seed)
    return cf.TruncatedGeometric(YEARS, epsilon).simulate_counts(rng.multinomial(people, AGES.distribution), rng=rng)


pytestmark = pytest.mark.filterwarnings("error::confide.errors.PoorFitWarning")


# ---- Python --------------------------------------------------------------------------------------------------------


def test_five_thousand_reports_that_all_say_50_warn() -> None:
    with pytest.warns(cf.errors.PoorFitWarning, match="50 was reported 4,875 times too often") as caught:
        answer = cf.estimate(ALL_FIFTY, LINE, cf.IBU())
    assert caught[0].filename == __file__
    assert answer.fit.verdict is cf.check.FitVerdict.DOES_NOT_FIT


def test_reports_made_at_one_epsilon_and_read_at_another_warn() -> None:
    with pytest.warns(cf.errors.PoorFitWarning, match="fit about 0.(18|19|2|21), not 0.05"):
        cf.estimate(survey(0.2), LINE, cf.IBU())


def test_good_reports_do_not_warn_and_say_that_they_fit() -> None:
    answer = cf.estimate(survey(people=50_000), LINE, cf.IBU())
    assert answer.fit.verdict is cf.check.FitVerdict.FITS


def test_a_file_that_was_uploaded_twice_warns_wherever_the_fit_sees_it() -> None:
    response = cf.RandomizedResponse(cf.Integers(0, 49), 3.0)
    zipf = np.arange(1, 51.0) ** -1.1
    for seed in range(6):
        rng = np.random.default_rng(seed)
        once = response.simulate_counts(rng.multinomial(20_000, zipf / zipf.sum()), rng=rng)
        with pytest.warns(cf.errors.PoorFitWarning, match="repeated upload"):
            answer = cf.estimate(once + once, response, cf.IBU())
        assert answer.fit.is_bad
        assert not cf.estimate(once, response, cf.IBU()).fit.is_bad


def test_a_file_that_was_uploaded_twice_warns_where_cells_are_merged() -> None:
    """At epsilon 7 a few cells hold all 80 values, and so few counts may all be even by chance."""
    response = cf.RandomizedResponse(cf.Integers(0, 79), 7.0)
    zipf = np.arange(1, 81.0) ** -1.1
    rng = np.random.default_rng(1)
    once = response.simulate_counts(rng.multinomial(2000, zipf / zipf.sum()), rng=rng)
    with pytest.warns(cf.errors.PoorFitWarning, match="repeated upload"):
        answer = cf.estimate(once + once, response, cf.IBU())
    assert answer.fit.is_bad
    assert not cf.estimate(once, response, cf.IBU()).fit.is_bad


@pytest.mark.slow
def test_one_group_of_many_that_was_uploaded_twice_is_named() -> None:
    groups = {number: survey(people=2000, seed=number) for number in range(10)}
    groups[4] = groups[4] + groups[4]
    with pytest.warns(
        cf.errors.PoorFitWarning, match="The reports of 4 do not come from this mechanism.*repeated upload"
    ):
        cf.estimate_groups(groups, LINE, cf.IBU())


@pytest.mark.slow
def test_pools_groups_and_assessments_warn_too() -> None:
    other = cf.TruncatedGeometric(YEARS, 0.1)
    with pytest.warns(cf.errors.PoorFitWarning, match="do not come from") as caught:
        cf.estimate_pool([(survey(), LINE), (survey(0.2), other)], cf.IBU())
    assert caught[0].filename == __file__
    with pytest.warns(cf.errors.PoorFitWarning, match="The reports of Rome do not come from") as caught:
        groups = cf.estimate_groups({"Oslo": survey(), "Rome": survey(0.2, 500)}, LINE, cf.IBU())
    assert caught[0].filename == __file__
    assert groups["Rome"].fit.is_bad
    assert not groups["Oslo"].fit.is_bad
    with pytest.warns(cf.errors.PoorFitWarning, match="too often") as caught:
        cf.assess(ALL_FIFTY, LINE, cf.IBU())
    assert caught[0].filename == __file__


@pytest.mark.slow
def test_screening_finds_whatever_the_test_would_and_asks_for_no_replicates_of_a_good_survey() -> None:
    asked = [recover([(survey(seed=seed), LINE)], cf.IBU())._examination.is_loud for seed in range(20)]
    assert sum(asked) <= 7
    exponential = cf.Exponential(YEARS, 0.05)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        histogram = rng.multinomial(50_000, AGES.distribution)
        counts = cf.Exponential(YEARS, 0.06).simulate_counts(histogram, rng=rng)
        with pytest.warns(cf.errors.PoorFitWarning):
            cf.estimate(counts, exponential, cf.IBU())


@pytest.mark.slow
def test_a_diagnosis_has_the_fit_and_begins_with_a_bad_one() -> None:
    assert cf.diagnose(None, LINE).fit is None
    found = cf.diagnose(ALL_FIFTY, LINE)
    assert found.fit is not None
    assert found.fit.is_bad
    assert str(found).startswith("These reports do not come from this mechanism: 50 was reported 4,875 times")
    assert "Fit: does not fit: p = 0" in str(found)
    good = str(cf.diagnose(survey(people=50_000), LINE))
    assert good.startswith("Goodness of fit: OK")
    assert "Goodness of fit: OK" in good


# ---- pages ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_pages_have_a_box_where_the_fit_is_bad_and_a_sentence_elsewhere() -> None:
    bad = estimate_page(SURVEY, ALL_FIFTY, [assess_pool([(ALL_FIFTY, LINE)], cf.IBU())])
    assert '<section class="callout" role="note">\n<h2>These reports do not fit the survey</h2>' in bad
    assert "50 was reported 4,875 times too often" in bad
    counts = survey(people=50_000)
    good = estimate_page(SURVEY, counts, [cf.assess(counts, LINE, cf.IBU())])
    assert "do not fit" not in good
    assert "Goodness of fit: OK" in good
    assert "Goodness of fit: OK" not in bad
    diagnosis = diagnosis_page(SURVEY, cf.diagnose(ALL_FIFTY, LINE))
    assert "<h2>These reports do not fit the survey</h2>" in diagnosis
    assert diagnosis.count("These reports do not come from this mechanism") == 1  # in the box, and not once more above


@pytest.mark.slow
def test_the_page_of_groups_names_the_one_that_does_not_fit() -> None:
    counts: dict[tuple[str, ...], cf.Counts] = {("Oslo",): survey(people=2000), ("Rome",): survey(0.2, 2000)}
    found = recover_groups(counts, LINE, cf.IBU())
    page = groups_page(SurveyGroups(found.estimates, SURVEY, ("town",)))
    assert "<h2>These reports do not fit the survey</h2>" in page
    assert "Rome" in page.split("do not fit the survey")[1][:200]


# ---- command line --------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, str]:
    path = tmp_path / "survey.toml"
    path.write_text(SURVEY.text())
    bad, good = tmp_path / "bad.csv", tmp_path / "good.csv"
    bad.write_text("report,count\n50,5000\n")
    counts = survey(people=50_000)
    lines = [f"{report},{count:.0f}" for report, count in zip(counts.reports, counts.counts, strict=True)]
    good.write_text("\n".join(["report,count", *lines, ""]))
    return str(path), str(bad), str(good)


@pytest.mark.parametrize("command", ["estimate", "diagnose"])
@pytest.mark.slow
def test_a_bad_fit_is_shown_and_a_good_one_said(command: str, files: tuple[str, str, str]) -> None:
    path, bad, good = files
    shown = CliRunner().invoke(app, [command, path, bad])
    assert shown.exit_code == 0
    assert "Poor fit: These reports do not come from this mechanism: 50 was reported 4,875 times" in " ".join(
        shown.output.split()
    )
    well = CliRunner().invoke(app, [command, path, good])
    assert well.exit_code == 0
    assert "Poor fit" not in well.output
    assert "Goodness of fit: OK" in well.output


@pytest.mark.parametrize("command", ["estimate", "diagnose"])
@pytest.mark.slow
def test_json_has_the_fit_and_standard_error_the_warning(command: str, files: tuple[str, str, str]) -> None:
    path, bad, good = files
    found = CliRunner().invoke(app, [command, path, bad, "--json"])
    assert found.exit_code == 0
    record = json.loads(found.stdout)["fit"]
    assert record["verdict"] == "does not fit"
    assert record["p_value"] < 1e-6
    assert record["outliers"][0]["report"] == "50"
    assert record["words"].startswith("These reports do not come from this mechanism")
    assert "50 was reported 4,875 times too often" in found.stderr
    well = CliRunner().invoke(app, [command, path, good, "--json"])
    assert json.loads(well.stdout)["fit"]["verdict"] == "fits"
    assert well.stderr == ""


@pytest.mark.slow
def test_with_strict_a_bad_fit_ends_with_a_code_of_its_own(files: tuple[str, str, str]) -> None:
    path, bad, good = files
    codes = [CliRunner().invoke(app, ["diagnose", path, one, "--strict"]).exit_code for one in (bad, good)]
    assert codes == [ExitCode.POOR_FIT, 0]


@pytest.mark.slow
def test_groups_in_a_file_are_tested_and_end_strictly(tmp_path: Path, files: tuple[str, str, str]) -> None:
    towns = {"Oslo": survey(people=500), "Rome": survey(0.5, 500)}
    everyone = {town: np.repeat(counts.reports, counts.counts.astype(int)) for town, counts in towns.items()}
    rows = [f"{town},{report}" for town, reports in everyone.items() for report in reports]
    reports, counts_file = tmp_path / "reports.csv", tmp_path / "counts.parquet"
    reports.write_text("\n".join(["town,report", *rows, ""]))
    made = CliRunner().invoke(app, ["count", files[0], str(reports), "--by", "town", "-o", str(counts_file)])
    assert made.exit_code == 0, made.output
    assert CliRunner().invoke(app, ["diagnose", files[0], str(counts_file), "--strict"]).exit_code == ExitCode.POOR_FIT
    found = CliRunner().invoke(app, ["estimate", files[0], str(counts_file), "--method", "ibu"])
    assert "Rome" in found.output.split("Poor fit")[1][:300]
    record = json.loads(CliRunner().invoke(app, ["estimate", files[0], str(counts_file), "--json"]).stdout)
    assert {one["group"]["town"]: one["fit"]["verdict"] for one in record["groups"]}["Rome"] == "does not fit"


def test_the_exit_code_is_listed() -> None:
    assert (
        "8  diagnose --strict: the reports fit mechanism or shape poorly" in CliRunner().invoke(app, ["--help"]).output
    )


@pytest.mark.slow
def test_answers_of_a_bad_fit_are_marked_in_the_terminal_and_on_the_page(
    files: tuple[str, str, str], tmp_path: Path
) -> None:
    path, bad, good = files
    doubt = "assume that the reports come from this mechanism"
    for reports, is_doubted in ((bad, True), (good, False)):
        page = tmp_path / "e.html"
        options = ["--method", "mle", "--query", "age >= 65", "-v", "-o", str(page)]
        shown = CliRunner().invoke(app, ["estimate", path, reports, *options])
        assert (doubt in " ".join(shown.output.split())) is is_doubted
        assert (doubt in page.read_text()) is is_doubted
