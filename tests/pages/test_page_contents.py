"""What stands on a page is what was computed: each number, end and picture in its own place."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest
from tests.pages.test_estimate_page import Reader, assess, case, judged

import confide as cf
from confide.data.files import GroupAnswers, SurveyGroups, ask_groups
from confide.estimates.inference import Band, CrossTable, Interval
from confide.present import estimates, pages
from confide.present.estimates import Findings, summarise_reports, tabulate_cross
from confide.present.figures import Panel, PanelSheet, draw_path, draw_sheet
from confide.present.pages import diagnosis_page, estimate_page, groups_page
from confide.present.summary import texts
from confide.values import Alphabet

Shown = list[tuple[Alphabet, list[Panel]]]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    """Record the panels of every sheet that is drawn."""
    drawn: Shown = []

    def record(alphabet: Alphabet, panels: Sequence[Panel], name: str = "value") -> PanelSheet:
        drawn.append((alphabet, list(panels)))
        return draw_sheet(alphabet, panels, name)

    monkeypatch.setattr(pages, "draw_sheet", record)
    return drawn


def band_of(estimate: cf.estimates.Estimate) -> Band:
    """Return a band whose ends cannot be taken for each other."""
    shares = estimate.distribution
    return Band(estimate.alphabet, shares, 0.5 * shares, 0.5 * shares + 0.5, 0.95, "a test")


def test_a_cross_table_has_each_share_in_its_row_and_column() -> None:
    both = cf.Attributes(sex=cf.Categories(["f", "m"]), town=cf.Categories(["Bern", "Oslo", "Rome"]))

    def band(alphabet: Alphabet, shares: list[float]) -> Band:
        return Band(alphabet, np.array(shares), np.array(shares) / 2, np.array(shares) * 2, 0.95, "a test")

    cells = [0.01, 0.02, 0.03, 0.14, 0.25, 0.55]
    totals = {"sex": band(both.alphabets[0], [0.06, 0.94]), "town": band(both.alphabets[1], [0.15, 0.27, 0.58])}
    shown = pages.render(tabulate_cross(CrossTable(("sex", "town"), band(both, cells), totals)))
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", shown, re.S)]
    assert rows[0] == ["sex \\ town", "Bern", "Oslo", "Rome", "all"]
    found = [[re.sub(r"<br>.*", "", cell) for cell in row] for row in rows[1:]]
    assert found == [
        ["f", "1.0", "2.0", "3.0", "6.0"],
        ["m", "14.0", "25.0", "55.0", "94.0"],
        ["all", "15.0", "27.0", "58.0", "100"],
    ]
    assert "7.0 to 28.0" in rows[2][1]


@pytest.mark.slow
def test_a_band_has_its_low_end_below_and_belongs_to_the_first_estimate_alone(shown: Shown) -> None:
    survey, counts, _ = case("line")
    outcomes = assess(survey, counts, cf.IBU(), cf.Inversion("project"))
    band = band_of(outcomes[0].estimate)
    page = Reader(estimate_page(survey, counts, outcomes, band=band))
    first, second = (panel for panel in shown[0][1] if panel.title in ("IBU", "INV-P"))
    assert first.band is not None
    assert (first.band[0] == band.low).all()
    assert (first.band[1] == band.high).all()
    assert second.band is None
    # The table of shares has the same ends in the same order: value, noisy, IBU, low, high, INV-P.
    cells = re.findall(r"IBU IBU, low IBU, high INV-P 0 ([\d. ]+?) 1 ", page.text)[0].split()
    assert [float(cell) for cell in cells[1:4]] == pytest.approx(
        [100 * float(one[0]) for one in (outcomes[0].estimate.distribution, band.low, band.high)], abs=1e-3
    )


@pytest.mark.slow
def test_the_ends_of_a_band_are_two_maps(shown: Shown) -> None:
    survey, counts, _ = case("grid")
    outcomes = assess(survey, counts, cf.IBU())
    band = band_of(outcomes[0].estimate)
    estimate_page(survey, counts, outcomes, band=band)
    low, high = shown[1][1]
    assert (low.title, high.title) == ("IBU, low", "IBU, high")
    assert (low.distribution == band.low).all()
    assert (high.distribution == band.high).all()


@pytest.mark.slow
def test_parts_of_pairs_are_summed_over_the_other_part(shown: Shown) -> None:
    part = cf.RandomizedResponse(cf.Integers(0, 5), 3.0)
    mechanism = cf.Product(first=part, second=part)
    survey = cf.Survey(mechanism, "pair", "Pairs")
    values = [(0, place % 6) for place in range(600)]  # the first part is always 0
    counts = cf.tally(mechanism.privatize(values, rng=1))
    outcomes = assess(survey, counts, cf.Inversion("project"))
    estimate_page(survey, counts, outcomes)
    first = next(panel for panel in shown[0][1] if panel.title == "What was recovered")
    second = next(panel for panel in shown[1][1] if panel.title == "What was recovered")
    assert first.distribution[0] > 0.8
    assert second.distribution.max() < 0.4


@pytest.mark.slow
def test_the_ceiling_is_the_lowest_that_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    survey, counts, _ = case("line")
    outcomes = assess(survey, counts, cf.IBU(delta=10.0), cf.IBU(delta=1e-9))
    ceilings: list[float | None] = []

    def record(*arguments: object, ceiling: float | None = None, **named: object) -> object:
        ceilings.append(ceiling)
        return draw_path(*arguments, ceiling=ceiling, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(estimates, "draw_path", record)
    estimate_page(survey, counts, outcomes)
    proven = [one.estimate.log_likelihood + one.estimate.certificate for one in outcomes]
    assert ceilings == [min(proven)] * 2  # for a screen and for a telephone
    assert proven[1] < proven[0]


def test_an_answer_stands_before_its_low_and_its_high_end() -> None:
    assert texts(Interval("age > 64", 0.1, 0.05, 0.2, 0.95, "")) == ("10%", "5% to 20%")
    assert texts(Interval("mean", 40.0, 38.5, 41.5, 0.95, "", is_share=False)) == ("40", "38.5 to 41.5")


def test_quartiles_stand_in_order() -> None:
    survey, counts, _ = case("line")
    outcomes = assess(survey, counts, cf.Inversion("project"))
    below = np.cumsum(outcomes[0].estimate.distribution)
    low, middle, high = (int(np.searchsorted(below, share)) for share in (0.25, 0.5, 0.75))
    words = estimates._in_words(Findings(survey, counts, tuple(outcomes)))
    assert re.search(rf"between \D*{low}\D* and \D*{high}\D*, and the median is \D*{middle}\D*\.$", words), words


def test_those_who_tie_are_closest_together() -> None:
    survey, counts, truth = case("line")
    different, same = (judged(assess(survey, counts, *methods)) for methods in ((cf.IBU(), cf.MLE()), (cf.IBU(),)))
    assert Findings(survey, counts, tuple(different), truth).closest == [0]
    assert Findings(survey, counts, (*same[:1], *same[:1]), truth).closest == [0, 1]


def test_bits_and_moved_reports_are_weighed_by_how_often_they_came() -> None:
    rappor = cf.Rappor(cf.Integers(0, 2), 1.0)
    counts = cf.tally(rappor.report_alphabet.decode([1, 6]), counts=[3, 1])  # bits 100 and 011
    noisy = summarise_reports(cf.Survey(rappor, "value", "Bits"), counts)
    assert noisy is not None
    assert noisy.shares.tolist() == [0.75, 0.25, 0.25]
    unbounded = cf.Survey(cf.Geometric(cf.Integers(0, 4), 0.5), "value", "Moved")
    moved = summarise_reports(unbounded, cf.tally([-7, 2, 40], counts=[1, 2, 5]))
    assert moved is not None
    assert moved.shares.tolist() == [0.125, 0.0, 0.25, 0.0, 0.625]


def test_every_group_has_its_own_picture_and_row(shown: Shown) -> None:
    mechanism = cf.RandomizedResponse(cf.Categories(["yes", "no"]), 3.0)
    counts: dict[tuple[str, ...], cf.Counts] = {
        ("Oslo",): cf.tally(["yes", "no"], [60, 40]),
        ("Rome",): cf.tally(["yes", "no"], [40, 260]),
    }
    found = cf.estimate_groups(counts, mechanism, cf.Inversion("project"))
    reports = {key: float(one.total) for key, one in counts.items()}
    page = Reader(groups_page(SurveyGroups(found.estimates, cf.Survey(mechanism, "answer", "Q"), ("town",))))
    for panel, key in zip(shown[0][1], counts, strict=True):
        assert panel.title == key[0]
        assert panel.subtitle == f"{reports[key]:,.0f} reports"
        assert (panel.distribution == found[key].distribution).all()
    assert "2 groups of 100 to 300 reports" in page.text
    assert f"Rome 300 no {found['Rome',].distribution[1]:.1%}" in page.text
    assert f"Oslo 100 yes {found['Oslo',].distribution[0]:.1%}" in page.text


@pytest.mark.slow
def test_the_lowest_and_the_highest_shares_are_two_maps(shown: Shown) -> None:
    # The first two cells send alike: their shares cannot be told apart.
    mechanism = cf.FromMatrix(cf.Grid(2, 2), [[0.8, 0.1, 0.1], [0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    counts = cf.tally(mechanism.privatize([(0, 0), (1, 1), (0, 1)] * 40, rng=2))
    diagnosis = cf.diagnose(counts, mechanism)
    diagnosis_page(cf.Survey(mechanism, "place", "Places"), diagnosis)
    panels = {panel.title: panel.distribution for panel in shown[0][1]}
    best = diagnosis.maximum_set
    assert (panels["Lowest share"] == best.lowest).all()
    assert (panels["Highest share"] == best.highest).all()
    assert (panels["Lowest share"] < panels["Highest share"]).any()


def test_the_page_leads_with_median_mean_and_queries_then_windows() -> None:
    survey, counts, _ = case("line")
    (outcome,) = assess(survey, counts, cf.IBU())
    windows = outcome.estimate.windows(name=survey.name)
    asked = outcome.estimate.query(f"{survey.name} >= 3", name=survey.name)
    page = estimate_page(survey, counts, [outcome], answers=[asked], windows=windows)
    text = Reader(page).text
    places = [
        text.index(words)
        for words in (
            "have answer 3 or more (95% confidence: ",
            "Median answer",
            "Mean answer",
            "Goodness of fit",
            "Most common answer",
            "What this survey promises",
            "Technical",
        )
    ]
    assert places == sorted(places)
    one, label = windows.answers[0], windows.labels[0]
    assert f"{label} {one.estimate:.2%} {one.low:.2%} {one.high:.2%}" in text
    assert [page.count(f'<div class="{room}">') for room in ("roomy", "middle", "tight")] == [1, 1, 2]  # and the path


def test_a_page_without_a_median_leads_with_the_fullest() -> None:
    survey, counts, _ = case("categories")
    (outcome,) = assess(survey, counts, cf.IBU())
    windows = outcome.estimate.windows(name=survey.name)
    page = estimate_page(survey, counts, [outcome], windows=windows)
    fullest = max(range(len(windows)), key=lambda place: windows.answers[place].estimate)
    one = windows.answers[fullest]
    words = Reader(page).text
    now, ends = texts(one)
    said = f"The most common answer is {windows.labels[fullest]}: about {now} (95% confidence: {ends})."
    assert words.index(said) < words.index("These reports resolve")


def test_a_page_of_groups_leads_with_who_differs_and_the_ends() -> None:
    survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), 2.0), "answer", "A question")
    counts = {(town,): cf.tally(["yes", "no"], counts) for town, counts in TOWNS.items()}
    groups = SurveyGroups(cf.estimate_groups(counts, survey.mechanism, cf.IBU()).estimates, survey, ("town",))
    page = Reader(groups_page(groups, GroupAnswers(ask_groups(groups, ["answer = yes"], 0.95))))
    assert re.search(r"\d of 3 groups differs? from the others", page.text)
    assert re.search(r"Highest answer = yes [\d.]+% Rome, 95% confidence: [\d.]+% to [\d.]+%", page.text)
    assert re.search(r"Lowest answer = yes [\d.]+% Lima, 95% confidence: [\d.]+% to [\d.]+%", page.text)
    assert page.text.index("Lowest") < page.text.index("The groups side by side") < page.text.index("In words")


TOWNS = {"Oslo": [500, 500], "Rome": [800, 200], "Lima": [200, 800]}


@pytest.mark.filterwarnings("ignore::confide.errors.PoorFitWarning")
def test_what_speaks_against_an_answer_stands_before_it() -> None:
    survey = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 19), 0.1), "age", "Ages")
    counts = cf.tally([10], counts=[5000])
    outcome = cf.assess(counts, survey.mechanism, cf.IBU())
    page = Reader(estimate_page(survey, counts, [outcome], answers=[outcome.estimate.query("age >= 10")]))
    assert page.text.index("do not fit the survey") < page.text.index("are 10 or older (95% confidence")
    assert "resolve" not in page.text
