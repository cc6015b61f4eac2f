"""Facts of a page and words of a warning, each compared with a plain count, on both sides of every threshold."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import asdict, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import confide as cf
from confide.cli.main import app
from confide.cli.terminal import console
from confide.data.counting import merge_files
from confide.data.files import GroupAnswers, SurveyGroups, ask_groups
from confide.data.files.sheets import LIMITS
from confide.data.files.writing import Metadata, Traces
from confide.errors import DataFileError
from confide.estimates.explanations import describe_repetition
from confide.evidence.counts import Noise, Origin
from confide.present.groups import summarise_groups
from confide.present.pages import estimate_page, groups_page
from confide.present.summary import Caution, Summary
from confide.present.terminal import show_summary

AGES = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9, unit="year"), epsilon=1.0), "age", "Ages")
YES = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0), "answer", "A question")


class Facts(HTMLParser):
    """Names and facts of a page's lists, and its callouts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.pairs: list[list[str]] = []
        self.callouts: list[str] = []
        self._into: str = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag in ("dt", "dd"):
            self._into = tag
            if tag == "dt":
                self.pairs.append([])
            self.pairs[-1].append("")
        elif tag == "section" and ("class", "callout") in attrs:
            self._into = "callout"
            self.callouts.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("dt", "dd", "section"):
            self._into = ""

    def handle_data(self, data: str) -> None:
        if self._into == "callout":
            self.callouts[-1] += data
        elif self._into:
            self.pairs[-1][-1] += data

    @property
    def named(self) -> dict[str, str]:
        return {name: facts[0] for name, *facts in self.pairs}


def words_of(page: str) -> str:
    """Return the words of a page."""
    return " ".join(re.sub("<[^>]*>", " ", page).split())


def groups_of(numbers: dict[str, tuple[int, int]]) -> SurveyGroups:
    counts = {(name,): cf.tally(["yes", "no"], list(both)) for name, both in numbers.items()}
    found = cf.estimate_groups(counts, YES.mechanism, cf.IBU())
    return SurveyGroups(found.estimates, YES, ("town",))


@pytest.mark.parametrize(
    ("numbers", "untold", "headline"),
    [
        ({"Oslo": (6000, 4000), "Rome": (3000, 7000), "Bern": (1, 1), "Nice": (3, 2)}, 2, "1 of 4 groups differs from"),
        (
            {"Oslo": (520, 480), "Rome": (505, 495), "Bern": (700, 300)},
            2,
            "1 of 3 groups differs",
        ),
        ({"Oslo": (600, 400), "Rome": (1, 0)}, 1, "No group differs from the others beyond chance (2 groups compared)"),
        ({"Oslo": (600, 400)}, 0, "There is one group, so nothing to compare."),
    ],
)
def test_groups_open_with_how_many_there_are_and_differ(
    numbers: dict[str, tuple[int, int]], untold: int, headline: str
) -> None:
    sizes = sorted(sum(both) for both in numbers.values())
    groups = groups_of(numbers)
    found = summarise_groups(groups, GroupAnswers())
    few, many = f"{sizes[0]:,}", f"{sizes[-1]:,} report{'s' * (sizes[-1] > 1)}"
    of = many if sizes[0] == sizes[-1] else f"{few} to {many}"
    assert f"{len(sizes)} group{'s' * (len(sizes) > 1)} of {of}" in found.about
    assert f"{sum(sizes):,} reports" in " ".join(found.about)
    assert found.headline.startswith(headline)
    assert len(groups.untold) == untold
    assert [one.title for one in found.cautions].count("But") == bool(untold)


@pytest.mark.parametrize("different", [2, 3, 4, 5])
def test_three_groups_that_differ_are_named_and_more_are_told_to_be_more(different: int) -> None:
    numbers = {f"town {place}": (300 + 130 * place, 700 - 130 * place) for place in range(different)}
    groups = groups_of({**numbers, "Oslo": (1, 1)})
    found = [key for (key,) in groups.differences.different]
    said = summarise_groups(groups, GroupAnswers()).headline
    assert said.startswith(
        f"{len(found):,} of {different + 1:,} groups differ{'s' * (len(found) == 1)} from the others ("
    )
    assert sum(name in said for name in found) == min(3, len(found))
    assert (", ..." in said) == (len(found) > 3)


@pytest.mark.parametrize("few", [9, 10])
def test_the_highest_and_the_lowest_are_of_groups_that_say_something(few: int) -> None:
    groups = groups_of({"Oslo": (700, 300), "Bern": (few, 0), "Nice": (0, few), "Rome": (300, 700), "Kiel": (0, 3)})
    answers = GroupAnswers(ask_groups(groups, ["answer == yes"], 0.95))
    found = summarise_groups(groups, answers).answers
    ends = ("Bern", "Nice") if few >= 10 else ("Oslo", "Rome")
    assert [words.split()[0] for words, *_ in found] == ["Highest", "Lowest"]
    for (_, now, told), town in zip(found, ends, strict=True):
        assert told.startswith(f"{town}, ")
        assert float(now.strip("%")) == pytest.approx(100 * answers.questions["answer == yes"][town,].estimate, abs=0.6)


def test_no_interval_of_a_group_leaves_its_picture() -> None:
    pytest.importorskip("matplotlib")
    groups = groups_of({"Oslo": (600, 400), "Rome": (300, 700), "Bern": (1, 0), "Nice": (0, 3)})
    page = groups_page(groups, GroupAnswers(ask_groups(groups, ["answer == yes"], 0.95)))
    marks = re.findall(r'<svg class="forest".*?</svg>', page)
    assert len(marks) == 4
    for one in marks:
        places = [float(text) for text in re.findall(r'(?:x1|x2|cx)="([^"]*)"', one)]
        assert len(places) == 5
        assert 0 <= min(places) <= max(places) <= 120


def test_reports_of_several_origins_are_told_apart() -> None:
    pytest.importorskip("matplotlib")
    counts = cf.tally(["yes", "no"], [700, 500])
    for simulated in (1, 300, 1199):
        mixed = counts.with_origin(Origin(secure=1200 - simulated, simulated=simulated))
        page = Facts(estimate_page(YES, mixed, [cf.assess(mixed, YES.mechanism, cf.IBU())]))
        (callout,) = [one for one in page.callouts if "simulated" in one]
        assert f"{simulated:,} of 1,200 reports are simulated" in callout


# Origins: what metadata prove, and no more than there is.


def facts_of(noise: Noise, reports: int) -> Metadata:
    columns = (("report", "integer"),)
    return Metadata(AGES.text(), AGES.fingerprint, "", columns, noise, "shuffled", reports=reports)


def test_reports_that_are_read_are_of_the_origins_that_are_proven() -> None:
    kinds = (Noise.SECURE, Noise.PERMANENT, Noise.SEEDED)
    for proven in itertools.product((0, 3, 5), repeat=3):
        files = [(f"{place}.csv", facts_of(kind, n)) for place, (kind, n) in enumerate(zip(kinds, proven, strict=True))]
        for people in range(sum(proven) + 3):
            left, expected = people, []
            for number in proven:  # as far as there are people
                expected.append(min(number, left))
                left -= expected[-1]
            found = Traces((*files, ("bare.csv", None))).origin(people, ("report",))
            assert found == Origin(expected[0], expected[2], left, expected[1])
            others = Traces(tuple(files)).origin(people, ("other",))  # of which they say nothing
            assert others == Origin(unknown=people)


# Warnings, on both sides of their thresholds.


@pytest.mark.parametrize(
    ("bad", "rows"), [(0, 30), (3, 30), (4, 30), (1, 10), (2, 10), (10, 100), (11, 100), (50, 100)]
)
def test_more_than_a_tenth_of_rejected_rows_is_warned_of(bad: int, rows: int, tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text(AGES.text())
    (tmp_path / "v.csv").write_text("age\n" + "x\n" * bad + "".join(f"{n % 10}\n" for n in range(rows - bad)))
    given = [str(tmp_path / "survey.toml"), str(tmp_path / "v.csv"), "-o", str(tmp_path / "r.csv")]
    ending = CliRunner().invoke(app, ["privatize", *given, "--rejects", str(tmp_path / "x.csv")])
    assert ending.exit_code == 0, ending.output
    said = " ".join(ending.output.split())
    warned = f"{bad / rows:.0%} of the rows were rejected" in said
    assert warned == (bad / rows > 0.1)


@pytest.mark.parametrize(
    ("ratio", "is_tie"), [(1.0, True), (1.0005, True), (1.002, False), (1.05, False), (3.0, False)]
)
def test_methods_within_a_thousandth_of_the_closest_tie_with_it(ratio: float, is_tie: bool) -> None:
    pytest.importorskip("matplotlib")
    truth = [0.1] * 10
    counts = AGES.mechanism.simulate_counts([50] * 10, rng=1)
    methods = (cf.IBU(), cf.Inversion("normalize"), cf.IBU(stop="held-out"))
    found = [cf.assess(counts, AGES.mechanism, method, truth=truth) for method in methods]
    shown = [replace(one, emd=emd) for one, emd in zip(found, (9.0, 2.0 * ratio, 2.0), strict=True)]
    names = [one.estimate.method.name for one in shown]
    page = words_of(estimate_page(AGES, counts, shown, truth=truth))
    best = f"{names[1]} and {names[2]}" if is_tie else names[2]
    assert f"{best} came closest to the truth: " in page
    assert (f" for {names[1]}" in page.partition("came closest")[2][:200]) == (not is_tie)


@pytest.mark.parametrize("groups", [25, 26, 40])
def test_intervals_of_single_values_of_many_groups_are_told_by_their_time(groups: int, tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text(YES.text())
    rows = "".join(f"{answer},town {town}\n" * 9 for town in range(groups) for answer in ("yes", "no"))
    (tmp_path / "r.csv").write_text("report,town\n" + rows)
    counts, survey = str(tmp_path / "c.parquet"), str(tmp_path / "survey.toml")
    given = [survey, str(tmp_path / "r.csv"), "--by", "town", "-o", counts]
    assert CliRunner().invoke(app, ["count", *given]).exit_code == 0
    ending = CliRunner().invoke(app, ["estimate", survey, counts, "--method", "ibu", "--interval", "0.9", "--json"])
    said = " ".join(ending.output.split())
    seconds = 3 * groups  # for each a bootstrap
    told = f"{seconds} seconds" if seconds < 90 else "2 minutes"
    assert (f"these would take about {told} for {groups} groups" in said) == (groups > 25)
    record = json.loads(next(line for line in ending.output.splitlines() if line.startswith("{")))
    assert ["low" in one for one in record["groups"]] == [groups <= 25] * groups


@pytest.mark.parametrize("name", ["c.parquet", "c.PARQUET", "c.csv", "c.CSV", "c.csv.gz", "c.parquet.csv"])
@pytest.mark.parametrize("by", [False, True])
def test_counts_that_carry_no_survey_are_told_to(name: str, by: bool, tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text(AGES.text())
    (tmp_path / "r.csv").write_text("report,town\n3,Oslo\n4,Rome\n")
    given = [str(tmp_path / "survey.toml"), str(tmp_path / "r.csv"), "-o", str(tmp_path / name)]
    ending = CliRunner().invoke(app, ["count", *given, *(["--by", "town"] if by else [])])
    assert ending.exit_code == 0, ending.output
    said, is_csv = " ".join(ending.output.split()), "csv" in name.lower()
    assert ("is CSV, and such counts carry neither the survey nor" in said) == is_csv
    assert ("takes its groups together" in said) == (is_csv and by)
    if not is_csv:
        assert cf.load_counts(tmp_path / name, AGES).rows.accepted == 2
        return
    with pytest.raises(DataFileError, match="is CSV, and such counts carry no survey"):
        merge_files([tmp_path / name], tmp_path / "m.parquet")


def test_a_contract_tells_every_setting_that_reports_depend_on() -> None:
    plain: dict[str, Any] = {"mechanism": AGES.mechanism, "name": "age"}
    changed: list[dict[str, Any]] = [
        {},
        {"mechanism": cf.TruncatedGeometric(cf.Integers(0, 9, unit="year"), epsilon=1.5)},
        {"most_reports": 1},
        {"most_reports": 2},
        {"most_epsilon": 3.0},
        {"most_epsilon": 4.5},
        {"most_reports": 2, "most_epsilon": 3.0},
        {"is_permanent": True},
        {"shape": cf.evidence.Shape.of(["falling from 5"])},
        {"simulated": "peaked"},
    ]
    contracts = [cf.Survey(**(plain | one)).contract for one in changed]
    assert len(set(contracts)) == len(contracts)
    for text, at in (("at most 2 reports", 3), ("at most epsilon 3 in all", 4), ("permanent noise", 7), ("peaked", 9)):
        assert text in contracts[at]


def test_every_limit_of_files_is_the_one_that_is_written_here() -> None:
    assert asdict(LIMITS) == {
        "block": 4_194_304, "parquet_rows": 1_048_576, "arrow_rows": 100_000, "shown_rejects": 10, "longest_shown": 80,
        "largest_part": 1_048_576, "fewest_rows": 20, "small_group": 10, "most_groups": 262_144, "fewest_told": 20,
        "few_exceptions": 0.01, "memory": 67_108_864, "piece": 1_048_576, "smallest_split": 4_096, "text_bytes": 64,
        "small_range": 65_536, "most_features": 100_000,
    }  # fmt: skip


def test_a_merge_tells_how_many_files_a_pattern_named(tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text(AGES.text())
    for number in range(3):
        (tmp_path / "r.csv").write_text("report\n" + f"{number}\n" * (number + 1))
        given = [str(tmp_path / "survey.toml"), str(tmp_path / "r.csv"), "-o", str(tmp_path / f"c{number}.parquet")]
        assert CliRunner().invoke(app, ["count", *given]).exit_code == 0
    ending = CliRunner().invoke(app, ["merge", str(tmp_path / "c?.parquet"), "-o", str(tmp_path / "all.parquet")])
    assert ending.exit_code == 0, ending.output
    assert "Merged 3 files of counts" in " ".join(ending.output.split())
    assert cf.load_counts(tmp_path / "all.parquet").rows.accepted == 6


def test_an_opening_is_in_one_order_on_a_terminal_and_in_a_record(capsys: pytest.CaptureFixture[str]) -> None:
    """What speaks against an answer stands before it, wherever it is read."""
    cautions = [
        Caution("But", "heading", ("first doubt", "more of it")),
        Caution("Poor fit", "other", ("second doubt",)),
    ]
    answers = [("Question", "its answer", "its ends"), ("Another", "another answer", "")]
    made = Summary(
        "Title", ["about"], "Headline.", answers, (), cautions, verdict="Verdict.", details=[("Word", "detail")]
    )
    show_summary(made, console())
    out = capsys.readouterr().out
    said = ["Title", "about", "first doubt", "second doubt", "Headline.", "its answer", "another answer", "Verdict."]
    assert sorted(said, key=out.index) == said
    record = made.open({})
    told = "\n".join(record["summary"])
    assert sorted(said, key=told.index) == said
    assert [record["headline"], len(record["summary"])] == ["Headline.", 7]


@pytest.mark.parametrize("most", [None, 1, 2, 3])
def test_a_limit_is_broken_by_more_files_than_it_allows(most: int | None) -> None:
    survey = replace(AGES, most_reports=most)
    for files in (2, 3, 4):
        told = describe_repetition(survey, files)
        assert ("the limit is broken" in told) == (most is not None and files > most), files
        assert (f"allows {most}" in told) == (most is not None and files > most)


@pytest.mark.parametrize("fold", [True, False])
@pytest.mark.parametrize("other", [None, "Other"])
def test_only_what_is_counted_as_another_word_is_warned_of(fold: bool, other: str | None, tmp_path: Path) -> None:
    words = cf.Categories(["Yes", "No", "Other"], fold=fold, other=other)
    (tmp_path / "survey.toml").write_text(cf.Survey(cf.RandomizedResponse(words, 1.0), "answer").text())
    (tmp_path / "v.csv").write_text("answer\nYes\nYES\nno\nMaybe\n")
    given = [str(tmp_path / "survey.toml"), str(tmp_path / "v.csv"), "-o", str(tmp_path / "r.csv"), "--force"]
    ending = CliRunner().invoke(app, ["privatize", *given, "--rejects", str(tmp_path / "x.csv")])
    assert ending.exit_code == 0, ending.output
    said, strange = " ".join(ending.output.split()), 1 if fold else 3
    warned = re.findall(r"(\d+) rows? of (\d+) have an unlisted value and are (.*?), as", said)
    assert warned == ([] if other is None else [(str(strange), "4", "counted as Other")])
    assert ("2 folded" in said) == fold
