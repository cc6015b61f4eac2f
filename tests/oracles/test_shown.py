"""Whatever is shown of an estimate, in a terminal, on a page or in a table, is what its record says, which is right.

Values, reports and distances are added up here in plain loops. Every table of a page is read cell by cell, by its
headings, so that a column under another's name shows, as does a level, a label or a mark in the wrong place.
"""

from __future__ import annotations

import csv
import json
import math
import random
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.plans.test_records import given
from typer.testing import CliRunner

import confide as cf
from confide.cli.main import app
from confide.plans import Curve, Prediction
from confide.present.pages import estimate_page, plan_page

pytest.importorskip("matplotlib")

LEVEL, QUERY = 0.9, {"age": "age >= 20", "word": "word in {w1, w2}", "often": "often >= rarely", "cell": "row >= 2"}
SURVEYS = {
    "age": cf.Survey(cf.TruncatedGeometric(cf.Integers(3, 34, unit="year"), epsilon=0.8), "age", "Ages"),
    "word": cf.Survey(cf.RandomizedResponse(cf.Categories([f"w{i}" for i in range(34)]), epsilon=4.0), "word", "Words"),
    "often": cf.Survey(
        cf.Exponential(cf.Scale(["never", "rarely", "often", "daily"], positions=[0, 1, 3, 7]), epsilon=1.0), "often"
    ),
    "cell": cf.Survey(cf.RandomizedResponse(cf.Grid(4, 5), epsilon=3.0), "cell", "Cells"),
}


class Shown(NamedTuple):
    """What one estimate gives: its record, its words on a terminal, its page, its table, and what it was made from."""

    survey: cf.Survey
    record: dict[str, Any]
    words: str
    page: str
    table: list[dict[str, str]]
    truth: list[float]
    noisy: list[float]
    values: list[Any]


def some_values(survey: cf.Survey) -> list[Any]:
    """Return a thousand skewed values of a survey, as its file has them."""
    draw = random.Random(5)  # noqa: S311
    size, labels = survey.alphabet.size, survey.alphabet.decode(range(survey.alphabet.size)).tolist()
    places = [min(size - 1, int(draw.expovariate(3.0 / size))) for _ in range(1000)]
    words = survey.alphabet.labels() if survey.name == "often" else labels
    return [words[place] for place in places]


def call(*words: str) -> str:
    ending = CliRunner().invoke(app, list(words))
    assert ending.exit_code == 0, ending.output
    return ending.stdout


def shares_of(path: Path, known: list[tuple[str, ...]]) -> list[float]:
    """Return the share of each known value among the rows of a file."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = [tuple(row) for row in csv.reader(stream)][1:]
    seen = Counter(rows)
    assert set(seen) <= set(known)
    return [seen[one] / len(rows) for one in known]


@pytest.fixture(scope="module", params=SURVEYS)
def shown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    survey, folder = SURVEYS[request.param], tmp_path_factory.mktemp("shown")
    survey_file, values, reports = folder / "survey.toml", folder / "values.csv", folder / "reports.csv"
    survey_file.write_text(survey.text())
    people = some_values(survey)
    columns = ["row", "column"] if survey.name == "cell" else [survey.name]
    with values.open("w", newline="") as stream:
        csv.writer(stream).writerows([columns, *(one if isinstance(one, list) else [one] for one in people)])
    call("privatize", str(survey_file), str(values), "-o", str(reports), "--seed", "1")
    asked = [str(survey_file), str(reports), "--truth", str(values), "--query", QUERY[survey.name]]
    level = ["--interval", str(LEVEL)]
    page, table = folder / "page.html", folder / "table.csv"
    record = json.loads(call("estimate", *asked, *level, "--json", "-o", str(page), "-o", str(table)))
    # Of numbers and cells reports are values; words are reported by their number.
    listed = survey.alphabet.decode(range(survey.alphabet.size)).tolist()
    as_reported = [tuple(map(str, one)) if isinstance(one, list) else (str(one),) for one in listed]
    as_valued = as_reported
    if survey.name == "often":
        as_valued = [(one,) for one in survey.alphabet.labels()]
    with table.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    truth, noisy = shares_of(values, as_valued), shares_of(reports, as_reported)
    words = call("estimate", *asked)
    return Shown(survey, record, words, page.read_text(encoding="utf-8"), rows, truth, noisy, as_valued)


class Tables(HTMLParser):
    """Tables of a page, each as its headings and its rows."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[list[list[str]]] = []
        self._cell: list[str] | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:  # noqa: ARG002
        if tag == "table":
            self.found.append([])
        elif tag == "tr":
            self.found[-1].append([])
        elif tag in ("td", "th"):
            self._cell = []

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self._cell is not None:
            self.found[-1][-1].append(" ".join("".join(self._cell).split()))
            self._cell = None

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)

    def with_heading(self, heading: str) -> list[dict[str, str]]:
        """Return the rows of the one table that has a heading, by heading."""
        found = [table for table in self.found if heading in table[0]]
        assert len(found) == 1, heading
        return [dict(zip(found[0][0], row, strict=True)) for row in found[0][1:]]


def plain(text: str) -> float:
    """Return the number that a text begins with, percent as it stands."""
    found = re.match(r"[−-]?[\d,]*\.?\d+", text)  # noqa: RUF001
    assert found, text
    return float(found[0].replace(",", "").replace("−", "-"))  # noqa: RUF001


def agree(texts: list[str], shares: list[float]) -> None:
    """Check that shares in percent are what they are, to the last digit that is shown."""
    for text, share in zip(texts, shares, strict=True):
        digits = len(text.partition(".")[2].rstrip("%"))
        assert abs(plain(text) - 100 * share) <= 0.5 * 10**-digits + 1e-9, (text, share)


def test_a_record_measures_the_estimate_by_the_truth(shown: Shown) -> None:
    found, record = shown.record["distribution"], shown.record
    assert sum(found) == pytest.approx(1)
    assert record["total_variation"] == pytest.approx(
        sum(abs(one - other) for one, other in zip(found, shown.truth, strict=True)) / 2
    )
    if shown.survey.name in ("age", "often"):
        gaps = [1.0] * 31 if shown.survey.name == "age" else [1.0, 2.0, 4.0]
        below = [sum(found[: place + 1]) - sum(shown.truth[: place + 1]) for place in range(len(gaps))]
        assert record["emd"] == pytest.approx(sum(gap * abs(one) for gap, one in zip(gaps, below, strict=True)))
    (answer,) = record["queries"]
    assert (answer["query"], answer["level"], record["interval"]["level"]) == (QUERY[shown.survey.name], LEVEL, LEVEL)
    assert answer["low"] <= answer["estimate"] <= answer["high"]
    assert record["windows"]["level"] == LEVEL
    for window in record["windows"]["windows"]:
        places = [record["alphabet"]["values"].index(value) for value in window["values"]]
        assert window["estimate"] == pytest.approx(sum(found[place] for place in places))
        assert window["level"] >= LEVEL  # more, where two ends share what may fail


def test_a_table_has_every_value_with_its_ends(shown: Shown) -> None:
    record = shown.record
    assert [float(row["probability"]) for row in shown.table] == pytest.approx(record["distribution"])
    for end in ("low", "high"):
        assert [float(row[end]) for row in shown.table] == pytest.approx(record["interval"][end])


def test_a_page_has_every_share_under_its_heading(shown: Shown) -> None:
    record, method = shown.record, "Stacked"
    rows = Tables(shown.page).with_heading(f"{method}, low")
    for heading, expected in (
        ("Original", shown.truth),
        ("Noisy", shown.noisy),
        (method, record["distribution"]),
        (f"{method}, low", record["interval"]["low"]),
        (f"{method}, high", record["interval"]["high"]),
    ):
        assert [plain(row[heading]) for row in rows] == pytest.approx([100 * one for one in expected], abs=6e-5), (
            heading
        )


def test_a_page_has_every_answer_under_its_heading(shown: Shown) -> None:
    tables, record = Tables(shown.page), shown.record
    (row,) = tables.with_heading("Total variation")
    assert plain(row["Total variation"]) == pytest.approx(record["total_variation"], abs=6e-4)
    if shown.survey.name != "word":  # without distances between them
        assert plain(row["Earth mover's distance"]) == pytest.approx(record["emd"], rel=6e-3)
    assert plain(row["Log\N{NON-BREAKING HYPHEN}likelihood"]) == pytest.approx(record["log_likelihood"], abs=6e-3)
    windows = tables.with_heading("From")
    name = next(iter(windows[0]))
    known = record["windows"]["windows"]
    labels = [one["label"] for one in known]
    if shown.survey.name == "cell":  # districts have their numbers from the map, the fullest first
        known = sorted(known, key=lambda one: -one["estimate"])
        labels = [f"district {number} ({one['label']})" for number, one in enumerate(known, 1)]
    assert [row[name] for row in windows] == labels
    for heading, key in (("Share", "estimate"), ("From", "low"), ("To", "high")):
        expected = [100 * one[key] for one in known]
        assert [plain(row[heading]) for row in windows] == pytest.approx(expected, abs=6e-3), heading
    asked = tables.with_heading("Asked")
    (ends,) = [column for column in asked[0] if column.startswith("Answer")]
    assert "90%" in ends
    (answer,) = record["queries"]
    told = next(row[ends] for row in asked if answer["query"] in row["Asked"])
    agree(re.findall(r"[\d.,]+%", told), [answer[key] for key in ("estimate", "low", "high")])


def test_captions_speak_of_what_is_there(shown: Shown, tmp_path: Path) -> None:
    captions = " ".join(re.findall("<figcaption>(.*?)</figcaption>", shown.page, re.DOTALL))
    assert "90%" in captions
    assert "95%" not in captions
    assert ("the truth" in captions) == (shown.survey.name in ("age", "often"))
    assert ("shares of the reports" in captions) == (shown.survey.name == "word")


def bars_of(words: str) -> list[tuple[str, list[str], str]]:
    """Return the lines of the table on a terminal: label; share, ends and truth; and the bar."""
    lines = words.splitlines()
    start = next(place for place, line in enumerate(lines) if " share " in line)
    found = []
    for line in lines[start + 1 :]:
        match = re.fullmatch(r"\s*(.*?)\s+([\d.]+%)\s+\(([\d.]+%) to ([\d.]+%)\)\s+([\d.]+%)\s+(.*?)\s*", line)
        if match is None:
            break
        found.append((match[1], list(match.groups()[1:5]), match[6]))
    return found


def test_a_terminal_has_every_window_with_its_ends_its_truth_and_its_bar(shown: Shown) -> None:
    lines = bars_of(shown.words)
    windows = usual_windows(shown)
    assert [label for label, _, _ in lines] == [one["label"] for one in windows]
    longest = max(len(bar) for _, _, bar in lines)
    peak = max(max(one["estimate"], one["truth"]) for one in windows)
    for (_, numbers, bar), one in zip(lines, windows, strict=True):
        agree(numbers, [one[key] for key in ("estimate", "low", "high", "truth")])
        place = min(longest - 1, int(one["truth"] / peak * longest))
        assert bar.index("|") == place
        filled = round(8 * longest * one["estimate"] / peak) / 8  # to an eighth of a letter
        assert len(bar) == max(place + 1, math.ceil(filled))


def usual_windows(shown: Shown) -> list[dict[str, Any]]:
    """Return the windows at the usual level, from the library, with the share that people have in each."""
    values = shown.survey.alphabet.take(some_values(shown.survey))
    reports = cf.tally(shown.survey.mechanism.privatize(values, rng=1, taken=True))
    found = cf.estimate(reports, shown.survey.mechanism).windows(name=shown.survey.name)
    rows = zip(found.names, found.members, found.answers, strict=True)
    return [
        {
            "label": label,
            "estimate": one.estimate,
            "low": one.low,
            "high": one.high,
            "truth": sum(shown.truth[place] for place in members),
        }
        for label, members, one in rows
    ]


PAGE_OF_A_PLAN = given(
    by_people=Curve("people", (100.0, 400.0, 1600.0), tuple(Prediction(one, one / 37, 9) for one in (0.8, 0.4, 0.2))),
)


def test_a_page_of_a_plan_has_every_number_under_its_heading() -> None:
    plan = PAGE_OF_A_PLAN
    tables = Tables(plan_page(cf.Survey(plan.mechanism, "age", "Ages"), plan))
    assert plan.by_epsilon is not None
    for heading, curve in (("People", plan.by_people), ("Promise", plan.by_epsilon)):
        rows = [one for one in tables.found if one[0][:3] == [heading, "Expected error", "Standard error"]]
        assert len(rows) == 1
        for row, (place, one) in zip(rows[0][1:], curve.points.items(), strict=True):
            assert plain(row[0]) == pytest.approx(place)
            assert plain(row[1]) == pytest.approx(one.mean, rel=1e-3)
            assert plain(row[1].partition("±")[2].strip()) == pytest.approx(one.margin, rel=0.05)
            assert plain(row[2]) == pytest.approx(one.standard_error, rel=0.01)
            assert ("the plan" in row[0]) == (place in (plan.people, plan.epsilon))


@pytest.mark.parametrize("is_good", [True, False])
def test_answers_of_reports_that_do_not_fit_are_doubted_wherever_they_stand(is_good: bool, tmp_path: Path) -> None:
    words = [f"w{number}" for number in range(8)]
    survey = cf.Survey(cf.RandomizedResponse(cf.Categories(words), epsilon=1.0), "word", "Words")
    (tmp_path / "survey.toml").write_text(survey.text())
    honest = survey.mechanism.privatize([words[number * number % 8] for number in range(3200)], rng=1)
    reports = honest.tolist() if is_good else [*words[:2] * 2000, *words]
    (tmp_path / "reports.csv").write_text("report\n" + "".join(f"{one}\n" for one in reports))
    asked = ["estimate", "survey.toml", "reports.csv", "--query", "word == w1"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        short = CliRunner().invoke(app, asked).stdout
        said = CliRunner().invoke(app, [*asked, "-v", "-o", "page.html"]).stdout
        record = json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)
    assert (record["fit"]["p_value"] > 0.01) == is_good
    assert ("Poor fit:" in short) == (not is_good)
    doubt = "assume that the reports come from this mechanism"
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert ((doubt in " ".join(said.split())), (doubt in page)) == (not is_good, not is_good)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_a_page_of_the_library_is_at_the_level_of_its_answers(level: float) -> None:
    survey = SURVEYS["often"]
    counts = cf.tally(survey.mechanism.privatize(survey.alphabet.take(some_values(survey)), rng=1, taken=True))
    outcome = cf.assess(counts, survey.mechanism, cf.Stacked())
    answers = [outcome.estimate.query("often >= rarely", level, name="often")] if level != 0.95 else []
    page = estimate_page(survey, counts, [outcome], answers=answers)
    captions = " ".join(re.findall("<figcaption>(.*?)</figcaption>", page, re.DOTALL))
    assert [other for other in (0.8, 0.95) if f"{other:.0%}" in captions] == [level]
    assert "the truth" not in captions, "nobody knows it here"
    windows = Tables(page).with_heading("From")
    found = outcome.estimate.windows(level=level, name="often")
    assert [plain(row["To"]) for row in windows] == pytest.approx([100 * one.high for one in found.answers], abs=6e-3)


def test_a_diagnosis_tells_between_what_ends_an_answer_can_be(tmp_path: Path) -> None:
    """Of two values that look alike the share of one is anything up to what both have."""
    rows = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.8, 0.1]]
    survey = cf.Survey(cf.FromMatrix(cf.Categories(["a", "b", "c"]), rows), "letter", "Letters")
    (tmp_path / "survey.toml").write_text(survey.text())
    (tmp_path / "reports.csv").write_text("report\n" + "a\n" * 300 + "b\n" * 600 + "c\n" * 100)
    said = ["diagnose", str(tmp_path / "survey.toml"), str(tmp_path / "reports.csv"), "--json"]
    asked = {"letter == a": True, "letter == b": False, "letter in {b, c}": True}
    record = json.loads(call(*said, *(word for query in asked for word in ("--query", query))))
    assert [one["query"] for one in record["queries"]] == list(asked)
    shares = {"letter == a": 2 / 7, "letter in {b, c}": 5 / 7}
    for one in record["queries"]:
        if asked[one["query"]]:
            share = pytest.approx(shares[one["query"]], abs=1e-3)
            assert (one["lowest"], one["highest"]) == (share, share)
        else:
            assert (one["lowest"], one["highest"]) == (pytest.approx(0, abs=1e-6), pytest.approx(5 / 7, abs=1e-3))
