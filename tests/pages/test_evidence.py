"""The evidence: one page with the promise, what was checked, what people are told, and who could read what."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import confide as cf
from confide.cli.main import app
from confide.present.evidence import fraction, wording
from confide.present.pages import evidence_page

TEXTS = Path(cf.__file__).parent / "studio" / "static"


def survey_of(epsilon: float = 2.0, **settings: Any) -> cf.Survey:
    mechanism = cf.RandomizedResponse(cf.Categories(["yes", "no", "unsure"]), epsilon)
    return cf.Survey(mechanism, "answer", "Do you <b>smoke</b>?", **settings)


def words_of(page: str) -> str:
    return " ".join(re.sub("<[^>]+>", " ", page.partition("<main>")[2]).split())


def test_all_that_an_officer_asks_for_is_there() -> None:
    survey = survey_of(most_reports=1, groups={"town": ("Oslo", "Bern")}, shuffler="the clinic")
    page = evidence_page(survey, cf.audit(survey.mechanism), cf.fit(cf.tally(["yes"], [50]), survey.mechanism), 50)
    said = words_of(page)
    headings = re.findall("<h2>(.*?)</h2>", page)
    assert headings[:6] == [
        "What is promised",
        "What was checked",
        "Whether the reports fit",
        "What repetition reveals",
        "What people are told",
        "Who could read what",
    ]
    assert "Do you &lt;b&gt;smoke" in page
    assert "<b>smoke" not in page
    for part in (
        survey.fingerprint,
        f"confide {cf.__version__}",
        "50 reports",
        "88 to 12",  # e^2 to 1
        "The promise holds (exact over all pairs).",
        "Goodness of fit",
        "About 1 in 5 answers is changed at random",
        "At most 1 report of each person.",
        "They read town unblurred",
        "the clinic Who sent which report",
        "Nothing but how many have answered.",
    ):
        assert part in said.replace("88:12", "88 to 12"), part
    assert "http" not in page.replace("https", "").replace("http://www.w3.org", "")


def test_without_reports_the_page_says_that_nothing_was_tested() -> None:
    survey = survey_of()
    assert "nothing was tested" in words_of(evidence_page(survey, cf.audit(survey.mechanism)))


@pytest.mark.parametrize("language", ["de", "fr", "es", "pt-BR", ""])
def test_people_are_told_in_their_language_and_in_english_where_there_is_none(language: str) -> None:
    code = language if language in ("de", "fr", "es") else "en"
    texts = json.loads((TEXTS / f"{code}.json").read_text(encoding="utf-8"))
    told = wording(survey_of(language=language, results="public", is_permanent=True))
    assert told[0] == texts["explain.share"].split("¦")[0].format(k=1, n=5)
    assert told[1:3] == [texts["explain.nobody"], texts["stays"]]
    assert told[-2:] == [texts["kept.secret"], texts["explain.public"]]


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        (cf.TruncatedGeometric(cf.Integers(0, 99, unit="year"), 0.05), "half of all reports are 12 years or more away"),
        # Two thirds of reports differ, half of these by 2 years; half of all by 1.
        (cf.TruncatedGeometric(cf.Integers(0, 99, unit="year"), 0.6), "half of all reports are 1 year or more away"),
        (
            cf.TruncatedTaxicab(cf.Grid(8, 9, spacing=0.25, unit="km"), 2.0),
            r"half of all reports lie \d+ m or more away",
        ),
        (cf.Rappor(cf.Categories(["a", "b", "c", "d"]), 2.0), "a row of 4 marks, and about 2 in 7 marks are switched"),
        (cf.Geometric(cf.Integers(), 0.5), "Almost every answer is changed"),
    ],
    ids=["far", "near", "places", "marks", "endless"],
)
def test_the_numbers_are_those_of_the_survey(mechanism: cf.Mechanism, words: str) -> None:
    assert re.search(words, wording(cf.Survey(mechanism))[0])


@pytest.mark.parametrize("share", [0.01, 0.05, 0.1, 0.213, 0.34, 0.5, 0.66, 0.9])
def test_a_share_is_said_with_few_people_and_hardly_off(share: float) -> None:
    some, people = fraction(share)
    assert abs(some / people - share) <= 0.071 * min(share, 1 - share) + 1e-9
    assert people <= 100


def test_the_command_writes_it_and_tests_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    survey = survey_of()
    Path("survey.toml").write_text(survey.text())
    cf.save_counts("counts.parquet", cf.tally(["yes"], [5000]), survey)  # no population sends this
    done = CliRunner().invoke(app, ["audit", "survey.toml", "counts.parquet", "-o", "evidence.html"])
    assert done.exit_code == 0, done.output
    page = words_of(Path("evidence.html").read_text(encoding="utf-8"))
    assert "5,000 reports" in page
    assert "Whether the reports fit These reports do not come from this mechanism: yes was reported" in page
    refused = CliRunner().invoke(app, ["audit", "survey.toml", "-o", "survey.toml"])
    assert refused.exit_code == 2
