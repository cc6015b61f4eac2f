"""The page of an estimate: complete, self-contained, escaped, and the same every time."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest

import confide as cf
from confide.errors import InvalidDistributionError, InvalidParameterError, MissingExtraError
from confide.present.estimates import MOST_ROWS
from confide.present.pages import estimate_page
from confide.present.summary import MOST_ENTRIES, texts

pytestmark = pytest.mark.slow

METHODS = (cf.IBU(), cf.Inversion("normalize"), cf.Inversion("project"))
NEVER_CLOSED = {"meta", "link", "img", "br", "hr", "input", "source"}
EVIL = "<script>alert('x')</script>"


class Reader(HTMLParser):
    """Collects what a browser would see, and refuses tags that do not match."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.links += [value or "" for name, value in attrs if name in {"src", "href", "xlink:href", "action"}]
        if tag not in NEVER_CLOSED:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in NEVER_CLOSED:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


def case(kind: str) -> tuple[cf.Survey, cf.Counts, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Return a survey of each kind of alphabet, its reports and the truth behind them."""
    mechanisms: dict[str, cf.Mechanism] = {
        "line": cf.TruncatedGeometric(cf.Integers(0, 19, unit="year"), 0.5),
        "grid": cf.RandomizedResponse(cf.Grid(4, 5, spacing=0.5, unit="km"), 3.0),
        "categories": cf.RandomizedResponse(cf.Categories([f"drink {place}" for place in range(20)]), 3.0),
        "matrix": cf.FromMatrix(
            cf.Integers(1, 20), np.full((20, 3), 1 / 3) + np.linspace(-0.1, 0.1, 20)[:, None] * [1, 0, -1]
        ),
    }
    mechanism = mechanisms[kind]
    truth = np.arange(1.0, 21.0) / 210
    values = mechanism.alphabet.decode(np.repeat(np.arange(20), np.arange(1, 21) * 10))
    return cf.Survey(mechanism, "answer", f"A {kind}"), cf.tally(mechanism.privatize(values, rng=3)), truth


def assess(survey: cf.Survey, counts: cf.Counts, *methods: cf.Method) -> list[cf.estimates.Outcome]:
    """Assess without a truth, so that a grid needs no POT, and with a time that is always the same."""
    outcomes = [cf.assess(counts, survey.mechanism, method) for method in methods]
    return [replace(outcome, estimate=replace(outcome.estimate, seconds=0.5)) for outcome in outcomes]


def judged(outcomes: list[cf.estimates.Outcome]) -> list[cf.estimates.Outcome]:
    """Give outcomes made-up distances from the truth: 0.5, 1.5, ..."""
    return [replace(one, emd=place + 0.5, total_variation=place / 10 + 0.05) for place, one in enumerate(outcomes)]


@cache
def whole_page(kind: str, *, knows_truth: bool = True) -> str:
    """Return a page with everything on it; drawing one takes a second."""
    survey, counts, truth = case(kind)
    outcomes = assess(survey, counts, *METHODS)
    outcomes = judged(outcomes) if knows_truth else outcomes
    return estimate_page(survey, counts, outcomes, truth=truth if knows_truth else None)


@pytest.mark.parametrize("knows_truth", [True, False], ids=["truth", "no truth"])
@pytest.mark.parametrize("kind", ["line", "grid", "categories"])
def test_a_page_tells_the_whole_story(kind: str, knows_truth: bool) -> None:
    page = Reader(whole_page(kind, knows_truth=knows_truth))
    for words in (
        "2,100 reports",
        "equally likely would shift to at most",
        "IBU",
        "INV-N",
        "INV-P",
        "small step",
        "500 ms",
        "simulated",
    ):
        assert words in page.text
    assert ("Original" in page.text) is knows_truth
    assert ("Total variation" in page.text) is knows_truth
    assert "Noisy" in page.text
    panels = 3 + 1 + knows_truth + 3  # windows are drawn for a screen, a tablet and a telephone
    assert page.seen.count("svg") == panels + 2 + (kind == "grid")  # the path twice, the colours of maps


def test_the_summary_names_the_closest_and_its_distance() -> None:
    survey, counts, truth = case("line")
    page = Reader(estimate_page(survey, counts, judged(assess(survey, counts, *METHODS)), truth=truth))
    assert "IBU came closest to the truth: 0.5 years (earth mover's distance), against 1.5 years for INV-N" in page.text
    assert "EMD 0.5 years, TV 0.050" in page.text


def test_ties_are_called_ties_and_categories_are_judged_by_total_variation() -> None:
    survey, counts, truth = case("categories")
    tied = [replace(one, emd=0.05, total_variation=0.05) for one in assess(survey, counts, *METHODS[1:])]
    page = Reader(estimate_page(survey, counts, tied, truth=truth)).text
    assert "INV-N and INV-P came within 0.050 (total variation) of the truth." in page
    assert "earth mover" not in page.lower()


@pytest.mark.parametrize("kind", ["line", "grid", "categories", "matrix"])
def test_the_common_case_of_one_outcome_without_truth(kind: str) -> None:
    survey, counts, _ = case(kind)
    page = Reader(estimate_page(survey, counts, assess(survey, counts, cf.IBU())))
    assert "These reports are simulated" in page.text
    assert "operating system's secure generator" not in page.text
    assert "below the maximum" in page.text
    answers = {"grid": "The most populated is cell", "categories": 'The most common is answer "drink'}
    assert answers.get(kind, "half of all people lie between answer") in page.text


def test_reports_of_another_alphabet_get_their_own_picture() -> None:
    survey, counts, truth = case("matrix")
    page = Reader(estimate_page(survey, counts, assess(survey, counts, cf.IBU()), truth=truth))
    assert "a picture of their own" in page.text
    assert page.seen.count("svg") == 3 + 3 + 2  # windows, three distributions, the path
    assert page.text.count("Noisy") == 1  # and no column among the shares


@pytest.mark.parametrize("kind", ["line", "grid", "categories"])
def test_a_page_fetches_nothing(kind: str) -> None:
    page = whole_page(kind)
    reader = Reader(page)
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in reader.links)
    assert not {"script", "link", "iframe", "img", "object", "embed"} & set(reader.seen)
    assert not re.search(r"url\((?!#)|@import|@font-face", page)
    addresses = set(re.findall(r"https?://[^\"' <)]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}  # names of dialects, not loads


def test_names_in_the_page_are_unique() -> None:
    reader = Reader(whole_page("grid"))
    assert len(reader.ids) == len(set(reader.ids))


def test_everything_a_user_wrote_is_escaped() -> None:
    names = [EVIL, "</svg><b>", "a & b"]
    drinks = cf.Categories(names)
    survey = cf.Survey(cf.RandomizedResponse(drinks, 2.0), EVIL, f"{EVIL} $title")
    counts = cf.tally(names * 50)
    page = estimate_page(survey, counts, judged(assess(survey, counts, *METHODS)), truth=[0.5, 0.3, 0.2])
    assert "<script" not in page
    assert "<b>" not in page
    assert f"{EVIL} $title" in Reader(page).text
    units = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 3, unit=EVIL), 1.0), EVIL)
    counts = cf.tally([0, 1, 2, 3])
    assert "<script" not in estimate_page(units, counts, judged(assess(units, counts, cf.IBU())), truth=[0.25] * 4)


def test_the_same_input_gives_the_same_bytes() -> None:
    survey, counts, truth = case("line")
    outcomes = assess(survey, counts, *METHODS)
    assert estimate_page(survey, counts, outcomes, truth) == estimate_page(survey, counts, outcomes, truth)


def test_raw_inversion_is_said_to_be_no_distribution() -> None:
    survey = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), 0.1))
    counts = cf.tally(np.arange(10), counts=[1, 9] * 5)
    outcomes = assess(survey, counts, cf.Inversion("none"))
    assert not outcomes[0].estimate.is_distribution
    page = Reader(estimate_page(survey, counts, outcomes, truth=np.full(10, 0.1)))
    assert "negative shares" in page.text
    assert page.seen.count("svg") == 3  # no path


def test_one_method_with_two_settings_is_told_apart() -> None:
    survey, counts, _ = case("line")
    page = Reader(estimate_page(survey, counts, assess(survey, counts, cf.IBU(delta=1.0), cf.IBU(delta=0.1))))
    assert "IBU(delta=1," in page.text
    assert "IBU(delta=0.1," in page.text


def test_long_tables_are_cut_with_a_note() -> None:
    survey = cf.Survey(cf.RandomizedResponse(cf.Integers(1, MOST_ROWS + 500), 8.0))
    counts = cf.tally(np.arange(1, 100))
    page = Reader(estimate_page(survey, counts, assess(survey, counts, cf.Inversion("project"))))
    assert "The first 2,000 of 2,500 values are shown" in page.text
    assert page.seen.count("tr") == MOST_ROWS + 1 + 2


def test_all_shares_are_in_the_page() -> None:
    survey, counts, truth = case("line")
    outcomes = assess(survey, counts, cf.IBU())
    page = estimate_page(survey, counts, outcomes, truth=truth)
    cells = [truth[7], survey.mechanism.lay_out(counts)[7] / counts.total, outcomes[0].estimate.distribution[7]]
    assert "<tr><td>7</td>" + "".join(f"<td>{100 * share:.4f}</td>" for share in cells) in page


@pytest.mark.parametrize("kind", ["line", "grid", "categories", "matrix"])
def test_the_survey_in_the_footer_can_be_read_again(kind: str) -> None:
    survey, _, _ = case(kind)
    text = survey.text(MOST_ENTRIES)
    if kind != "matrix":
        assert cf.parse_survey(text) == survey
    else:
        assert "20 rows of 3, not shown" in text


def test_wrong_parts_are_refused() -> None:
    survey, counts, truth = case("line")
    with pytest.raises(InvalidParameterError, match="at least one outcome"):
        estimate_page(survey, counts, [])
    with pytest.raises(InvalidDistributionError, match="truth must hold one probability for each of 20"):
        estimate_page(survey, counts, assess(survey, counts, cf.IBU()), truth=truth[:3])


def test_without_matplotlib_the_install_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    survey, counts, _ = case("line")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'matplotlib>=3\.8'"):
        estimate_page(survey, counts, assess(survey, counts, cf.IBU()))


@pytest.mark.parametrize("kind", ["line", "grid", "categories"])
def test_intervals_are_drawn_listed_and_explained(kind: str) -> None:
    survey, counts, truth = case(kind)
    outcomes = assess(survey, counts, cf.IBU(), cf.Inversion("project"))
    answer = outcomes[0].estimate
    band, weights = answer.interval(basis=cf.estimates.Bootstrap(40)), np.arange(20) >= 10
    page = Reader(
        estimate_page(survey, counts, outcomes, truth=truth, band=band, answers=[answer.query(weights.astype(float))])
    )
    plain = Reader(estimate_page(survey, counts, outcomes, truth=truth))
    assert "How sure is it?" in page.text
    for words in ("the share of given weights", "IBU, low", "IBU, high", "40 replicates"):
        assert words in page.text
        assert words not in plain.text
    drawn = {"line": "light band around IBU", "grid": "Upper ends at 95%", "categories": "whiskers of IBU"}[kind]
    assert drawn in page.text
    assert f"{100 * band.high[19]:.4f}" in page.text
    assert page.seen.count("svg") == plain.seen.count("svg") + (3 if kind == "grid" else 0)  # two maps and their scale


def test_means_are_no_shares() -> None:
    survey, counts, _ = case("line")
    outcomes = assess(survey, counts, cf.IBU())
    answer = outcomes[0].estimate
    answers = [answer.mean(), answer.quantile(0.5), answer.query("answer > 15", basis=cf.estimates.Bootstrap(40))]
    page = Reader(estimate_page(survey, counts, outcomes, answers=answers))
    assert "the mean" in page.text
    assert f"{answer.mean().high:.4g}" in page.text
    assert "the median" in page.text
    assert texts(answers[2])[1] in page.text
    assert "Those of the mean, the median, the quantile 0.25 and the quantile 0.75 rest on the likelihood" in page.text


def test_a_band_over_other_values_is_refused() -> None:
    survey, counts, _ = case("line")
    outcomes = assess(survey, counts, cf.IBU())
    grid, reports, _ = case("grid")
    other = cf.estimate(reports, grid.mechanism, cf.IBU())
    with pytest.raises(InvalidParameterError, match="The band is over"):
        estimate_page(survey, counts, outcomes, band=other.interval(basis=cf.estimates.Bootstrap(40)))
