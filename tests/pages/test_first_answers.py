"""What a person reads first: short on a terminal of 80 columns, in front in JSON, in one wording of numbers."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from tests.pages.test_estimate_page import Reader

import confide as cf
from confide.data.files import GroupAnswers, SurveyGroups, ask_groups
from confide.estimates.diagnosis import Diagnosis
from confide.mechanisms.audits import audit
from confide.plans import Plan
from confide.present.diagnoses import summarise_diagnosis
from confide.present.estimates import Findings, complete, summarise_estimate
from confide.present.groups import summarise_groups
from confide.present.pages import groups_page, show_page
from confide.present.summary import BOTH_TRUE, Summary, texts
from confide.present.surveys import summarise_audit, summarise_plan, summarise_survey
from confide.present.terminal import show_summary

AGES = cf.Integers(0, 99, unit="year")
SURVEY = cf.Survey(cf.TruncatedGeometric(AGES, 0.05), name="age", title="Ages in years")
BINS = cf.Bins(edges=[0, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000, 80_000], unit="dollar")


@pytest.fixture(scope="module")
def counts() -> cf.Counts:
    people = np.rint(cf.datasets.adult_ages().distribution * 20_000).astype(int)
    return SURVEY.mechanism.simulate_counts(people, rng=7)


@pytest.fixture(scope="module")
def estimated(counts: cf.Counts) -> cf.estimates.Estimate:
    return cf.estimate(counts, SURVEY.mechanism)


@pytest.fixture(scope="module")
def planned() -> Plan:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 19, unit="year"), 0.3)
    return cf.plan(mechanism, "peaked", people=5000, repeats=4, cache=False)


def lines_of(summary: Summary, *, verbose: bool = False) -> list[str]:
    out = StringIO()
    console = Console(file=out, width=80, force_terminal=True, color_system=None)
    show_summary(summary, console, verbose=verbose, more="More: -v")
    return [line.rstrip() for line in out.getvalue().splitlines()]


def whole(counts: cf.Counts, estimated: cf.estimates.Estimate) -> Findings:
    outcome = cf.assess(counts, SURVEY.mechanism, cf.Stacked())
    return complete(Findings(SURVEY, counts, (outcome,), answers=(estimated.query("age >= 65", name="age"),)))


def test_the_first_answer_fits_on_a_screen_and_the_rest_is_behind_v(
    counts: cf.Counts, estimated: cf.estimates.Estimate, planned: Plan
) -> None:
    diagnosis = cf.diagnose(counts, SURVEY.mechanism, name="age")
    summaries = {
        "estimate": summarise_estimate(whole(counts, estimated)),
        "diagnosis": summarise_diagnosis(SURVEY, diagnosis),
        "audit": summarise_audit(SURVEY, audit(SURVEY.mechanism)),
        "survey": summarise_survey(SURVEY),
        "plan": summarise_plan(cf.Survey(planned.mechanism, "age", "Ages"), planned),
    }
    for name, summary in summaries.items():
        first, every = lines_of(summary), lines_of(summary, verbose=True)
        assert len([line for line in first if line]) <= 14, f"{name}: {first}"
        assert all(len(line) <= 80 for line in [*first, *every]), name
        assert len(every) > len(first), name


def test_every_fold_of_a_plan_has_a_name_and_its_sentence_is_kept(planned: Plan) -> None:
    page = show_page(summarise_plan(cf.Survey(planned.mechanism, "age", "Ages"), planned))
    assert "<summary><h2></h2>" not in page
    assert "you can expect an EMD of" in page


def test_records_open_with_the_sentence_that_people_read(
    counts: cf.Counts, estimated: cf.estimates.Estimate, planned: Plan, tmp_path: Path
) -> None:
    results: dict[str, object] = {
        "estimate": estimated,
        "groups": cf.estimate_groups({"a": counts, "b": counts}, SURVEY.mechanism),
        "interval": estimated.query("age >= 65", name="age"),
        "diagnosis": cf.diagnose(counts, SURVEY.mechanism, name="age"),
        "plan": planned,
        "audit": audit(planned.mechanism),
        "fit": estimated.fit,
        "counts": counts,
        "mechanism": planned.mechanism,
        "survey": SURVEY,
    }
    for name, result in results.items():
        path = tmp_path / f"{name}.json"
        result.save(path)  # type: ignore[attr-defined]
        record = json.loads(path.read_text())
        assert next(iter(record)) == "headline", name
        assert record["headline"], name
        assert record["headline"] in Reader(result_page(result, tmp_path / f"{name}.html")).text, name
    assert json.loads((tmp_path / "interval.json").read_text())["headline"].startswith(
        "About 3.9% are 65 or older (95% conf"
    )


def result_page(result: object, path: Path) -> str:
    result.save(path)  # type: ignore[attr-defined]
    return path.read_text()


def test_every_interval_shows_its_two_parts(counts: cf.Counts, estimated: cf.estimates.Estimate) -> None:
    found = whole(counts, estimated)
    summary = summarise_estimate(found, is_page=True)
    assert len(summary.answers) == 4
    said = {ends for _, _, ends in summary.answers}
    assert {f"{texts(one)[1]}; {one.parts}" for one in found.answers if not one.is_share} == said
    page = Reader(show_page(summary)).text
    assert found.windows is not None
    for answer in found.windows.answers:
        assert f"{answer.estimate:.2%} {answer.low:.2%} {answer.high:.2%} {answer.parts}" in " ".join(page.split())


def test_one_story_about_accuracy_in_the_same_words(
    counts: cf.Counts, estimated: cf.estimates.Estimate, planned: Plan
) -> None:
    page = show_page(summarise_estimate(whole(counts, estimated), is_page=True))
    plan = show_page(summarise_plan(cf.Survey(planned.mechanism, "age", "Ages"), planned))
    lines = lines_of(summarise_estimate(whole(counts, estimated)), verbose=True)
    for shown in (Reader(page).text, Reader(plan).text, " ".join(lines)):
        assert BOTH_TRUE in " ".join(shown.split())


def test_a_plan_speaks_first_of_what_is_shown_later(planned: Plan) -> None:
    summary = summarise_plan(cf.Survey(planned.mechanism, "age", "Ages"), planned)
    counts = planned.mechanism.simulate_counts(np.random.default_rng(0).multinomial(5000, planned.guess.vector), rng=0)
    windows = cf.estimate(counts, planned.mechanism).windows()
    assert f"the shares of {len(windows)} ranges of age will be known to within about" in summary.headline
    assert "points (95% confidence)" in summary.headline


def test_ranges_of_bins_are_one_range_with_thousands_and_one_unit() -> None:
    mechanism = cf.TruncatedGeometric(BINS, 0.0001)
    counts = mechanism.simulate_counts([100, 300, 900, 1500, 1200, 700, 300], rng=2)
    found = cf.estimate(counts, mechanism)
    average, median = found.statistics([0.5], 0.95, mean=True)
    now, ends = texts(median)
    assert now == "30,000 to 40,000 dollars"
    assert ends.count("dollars") == 1
    assert ends.count(" to ") == 1
    mean, both = texts(average)
    assert mean.replace(",", "").split()[0].isdigit()
    assert both.count("dollars") == 1


def test_groups_over_time_are_a_line_with_its_band_and_others_are_not() -> None:
    def page_of(names: list[str], by: str) -> str:
        mechanism = cf.TruncatedGeometric(cf.Integers(0, 19, unit="year"), 1.0)
        people = [np.bincount([5 + place] * 400, minlength=20) for place in range(len(names))]
        reports = {(name,): mechanism.simulate_counts(one, rng=1) for name, one in zip(names, people, strict=True)}
        survey = cf.Survey(mechanism, "age", "Ages")
        groups = SurveyGroups(cf.estimate_groups(reports, mechanism).estimates, survey, (by,))
        answers = GroupAnswers(ask_groups(groups, ["age >= 6"], 0.95))
        assert summarise_groups(groups, answers).headline
        return groups_page(groups, answers)

    weeks = page_of(["2026-W10", "2026-W09", "2026-W11"], "week")
    assert "The band is the interval of each week (95% confidence)" in weeks
    told = Reader(weeks).text
    assert told.index("2026-W09") < told.index("2026-W11")
    assert "The band is the interval" not in page_of(["Rome", "Oslo", "Bern"], "town")


def test_results_that_a_notebook_shows_are_the_page(counts: cf.Counts) -> None:
    found: Diagnosis = cf.diagnose(counts, SURVEY.mechanism, name="age")
    assert "These reports resolve" in (found._repr_html_() or "")


def test_a_table_of_a_survey_has_what_its_page_folds_away() -> None:
    found = dict(zip(*(SURVEY.to_frame()[name] for name in ("name", "words")), strict=True))
    assert found["Promise"] == str(SURVEY.mechanism.guarantee)
    assert found["Repetition"].startswith("one report: 0.05 per year")
    assert {"Compared", "Drawn"} <= set(audit(SURVEY.mechanism).to_frame()["name"])
