"""Tables of groups, cell by cell: groups of unlike size and mechanism against plain loops over groups taken alone."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import Call

import confide as cf
from confide.check.differences import differences
from confide.cli.terminal import console
from confide.data.files import GroupAnswers, SurveyGroups, ask_groups, groups_csv, groups_record, save_counts
from confide.data.files.counts_files import GroupedCounts, Key, read_counts
from confide.data.files.records import estimate_file, group_reports_record
from confide.data.files.sheets import Account
from confide.estimates.groups import GroupReports, recover_pools
from confide.present.groups import summarise_group_reports
from confide.present.pages import groups_page
from confide.present.summary import Summary, texts
from confide.present.terminal import show_summary

Pool = list[tuple[cf.Counts, cf.Mechanism]]
Row = dict[str, Any]

ALPHABETS: dict[str, cf.Alphabet] = {"words": cf.Categories(["yes", "no", "unsure"]), "numbers": cf.Integers(2, 5)}
QUERIES = {"words": ["answer in {yes, unsure}", "answer == no"], "numbers": ["answer >= 4"]}
# People of each group by mechanism, 0 the careful one: so that groups in the order of mechanisms are in another order.
SIZES = {"Oslo": (0, 700), "Rome": (400, 0), "Bern": (150, 260), "Ulm": (0, 90), "Graz": (1100, 0)}
SHARES = {
    "Oslo": [0.7, 0.2, 0.1, 0.0],
    "Rome": [0.4, 0.3, 0.2, 0.1],
    "Bern": [0.4, 0.3, 0.2, 0.1],
    "Ulm": [0.1, 0.8, 0.1, 0.0],
    "Graz": [0.4, 0.3, 0.2, 0.1],
}


def surveys(kind: str) -> list[cf.Survey]:
    return [cf.Survey(cf.RandomizedResponse(ALPHABETS[kind], epsilon), "answer") for epsilon in (1.0, 3.0)]


@cache
def pools(kind: str) -> dict[Key, Pool]:
    rng, found = np.random.default_rng(3), dict[Key, Pool]()
    size = ALPHABETS[kind].size
    for town, sizes in SIZES.items():
        shares = np.array(SHARES[town][:size]) / sum(SHARES[town][:size])
        values = [ALPHABETS[kind].decode(rng.choice(size, people, p=shares)) for people in sizes]
        pairs = zip(values, surveys(kind), strict=True)
        found[(town,)] = [
            (cf.tally(one.mechanism.privatize(part, rng=rng)), one.mechanism) for part, one in pairs if len(part)
        ]
    return found


@cache
def asked(kind: str) -> tuple[SurveyGroups, GroupAnswers]:
    groups = SurveyGroups(recover_pools(pools(kind), cf.MLE()).estimates, surveys(kind)[0], ("town",))
    return groups, GroupAnswers(ask_groups(groups, QUERIES[kind], 0.9))


@cache
def alone(kind: str) -> dict[str, Row]:
    """Return of each group all that tables say, from that group by itself."""
    found: dict[str, Row] = {}
    judged = differences(pools(kind))
    for (town,), pool in pools(kind).items():
        one = cf.estimate_pool(pool, cf.MLE())
        answers = {query: one.query(query, 0.9, name="answer") for query in QUERIES[kind]}
        if kind == "numbers":
            answers = {"mean": one.mean(0.9), "median": one.quantile(0.5, 0.9)} | answers
        reports = sum(counts.total for counts, _ in pool)
        found[town] = {"reports": reports, "estimate": one, "answers": answers, "difference": judged[town,]}
        found[town] |= {"fit": cf.check.fit_pool(pool)}
    return found


def overall(kind: str, without: str = "") -> Any:
    """Return the shares of all groups together, each person with the same weight."""
    towns = {town: one for town, one in alone(kind).items() if town != without}
    people = sum(one["reports"] for one in towns.values())
    return sum(one["reports"] * one["estimate"].distribution for one in towns.values()) / people


def how(kind: str, town: str) -> str:
    """Return whether a group differs from the others, in words."""
    found = asked(kind)[0].describe_difference((town,))
    if kind == "words" and alone(kind)[town]["difference"].is_different:
        change = alone(kind)[town]["estimate"].distribution - overall(kind, without=town)
        place = int(np.abs(change).argmax())
        word = "more" if change[place] > 0 else "less"
        assert found == f"differs from the others: {word} {ALPHABETS[kind].labels()[place]}"
    assert found.startswith("differs") == alone(kind)[town]["difference"].is_different
    return found


@pytest.mark.parametrize("kind", ALPHABETS)
def test_the_distribution_of_all_groups_counts_people(kind: str) -> None:
    groups, _ = asked(kind)
    np.testing.assert_allclose(groups.overall, overall(kind), atol=1e-7)
    assert groups.total == 2700
    assert groups.largest == [("Graz",), ("Oslo",), ("Bern",), ("Rome",), ("Ulm",)]
    assert groups.reports == {(town,): one["reports"] for town, one in alone(kind).items()}
    assert 0 < len(groups.differences.different) < len(SIZES)


@pytest.mark.parametrize("kind", ALPHABETS)
def test_every_cell_of_json_is_that_of_the_group_alone(kind: str) -> None:
    groups, answers = asked(kind)
    record = json.loads(json.dumps(groups_record(groups, answers)))
    assert [one["group"] for one in record["groups"]] == [{"town": town} for town in SIZES]
    assert (record["reports"], record["by"]) == (2700, ["town"])
    assert record["alphabet"]["values"] == ALPHABETS[kind].decode(np.arange(ALPHABETS[kind].size)).tolist()
    assert record["differences"]["different"] == sum(one["difference"].is_different for one in alone(kind).values())
    for one, (town, own) in zip(record["groups"], alone(kind).items(), strict=True):
        estimate, difference = own["estimate"], own["difference"]
        assert one["reports"] == own["reports"]
        assert one["distribution"] == pytest.approx(estimate.distribution.tolist(), abs=1e-7)
        assert one["log_likelihood"] == pytest.approx(estimate.log_likelihood)
        assert (one["status"], one["identified"]) == (str(estimate.status), str(estimate.identification.verdict))
        assert one["certificate"] == pytest.approx(estimate.certificate, abs=1e-3)
        assert one["uniformity"]["p_value"] == pytest.approx(estimate.uniformity.p_value)
        assert one["uniformity"]["is_rejected"] == estimate.uniformity.is_rejected
        assert one["fit"] == {"verdict": str(own["fit"].verdict), "p_value": pytest.approx(own["fit"].p_value)}
        assert one["difference"] == {
            "is_different": difference.is_different,
            "p_value": difference.p_value,
            "words": how(kind, town),
            "visible": difference.visible,
        }
        assert [answer["query"] for answer in one["answers"]] == [each.question for each in own["answers"].values()]
        for answer, each in zip(one["answers"], own["answers"].values(), strict=True):
            ends = (answer["estimate"], answer["low"], answer["high"], answer["level"])
            assert ends == pytest.approx((each.estimate, each.low, each.high, 0.9), abs=1e-5)


def numbers_of(kind: str, town: str) -> list[float]:
    answers = alone(kind)[town]["answers"].values()
    return [number for one in answers for number in (one.estimate, one.low, one.high)]


@pytest.mark.parametrize("kind", ALPHABETS)
def test_every_cell_of_csv_is_that_of_the_group_alone(kind: str) -> None:
    groups, answers = asked(kind)
    band = groups["Oslo",].interval(0.9, basis=cf.estimates.Likelihood())
    bands = {key: one.interval(0.9, basis=cf.estimates.Likelihood()) for key, one in groups.items()}
    header, *rows = csv.reader(io.StringIO(groups_csv(groups, GroupAnswers(answers.questions, bands))))
    questions = list(alone(kind)["Oslo"]["answers"])
    ends = [column for name in questions for column in (name, f"{name} low", f"{name} high")]
    assert header == ["town", "answer", "probability", "low", "high", "reports", "differs", *ends]
    values = ALPHABETS[kind].decode(np.arange(ALPHABETS[kind].size)).tolist()
    assert [row[:2] for row in rows] == [[town, str(value)] for town in SIZES for value in values]
    for place, row in enumerate(rows):
        town, at = row[0], place % len(values)
        own = alone(kind)[town]
        assert float(row[2]) == pytest.approx(own["estimate"].distribution[at], abs=1e-7)
        assert list(map(float, row[3:5])) == [bands[town,].low[at], bands[town,].high[at]]
        assert (float(row[5]), row[6]) == (own["reports"], "yes" if own["difference"].is_different else "no")
        assert list(map(float, row[7:])) == pytest.approx(numbers_of(kind, town), abs=1e-5)
    assert band.low.tolist() == bands["Oslo",].low.tolist()


class Tables(HTMLParser):
    """The tables of a page, as rows of the texts of their cells, and the files that it links to."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.files: list[str] = []
        self.is_open = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.is_open = True
        link = dict(attrs).get("href") or ""
        if tag == "a" and "base64," in link:
            self.files.append(base64.b64decode(link.partition("base64,")[2]).decode())

    def handle_endtag(self, tag: str) -> None:
        self.is_open = self.is_open and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.is_open:
            self.rows[-1][-1] += data


def cell(answer: cf.estimates.Interval) -> str:
    return " ".join(texts(answer))


@pytest.mark.parametrize("kind", ALPHABETS)
def test_every_cell_of_the_page_is_that_of_the_group_alone(kind: str) -> None:
    groups, answers = asked(kind)
    page = groups_page(groups, answers)
    tables, own = Tables(page), alone(kind)
    different = {town: one["difference"].p_value for town, one in own.items() if one["difference"].is_different}
    order = sorted(different, key=lambda town: different[town])
    rest = {town: one["reports"] for town, one in own.items() if town not in order}
    order += sorted(rest, key=lambda town: -rest[town])
    shares = [name for name, one in own["Oslo"]["answers"].items() if one.is_share]
    questions = [*shares, *(name for name in own["Oslo"]["answers"] if name not in shares)]
    start = next(place for place, row in enumerate(tables.rows) if row[:2] == ["town", "Reports"])
    first, *others = (name[:1].upper() + name[1:] for name in questions)
    assert tables.rows[start] == ["town", "Reports", first, "Against the others", *others, "Fit"]
    for town, row in zip(order, tables.rows[start + 1 : start + 1 + len(order)], strict=True):
        plain = [re.sub(r"[()\s]+", " ", text).strip() for text in row]
        said = how(kind, town).split(";")[0].replace("differs from the others", "differs")
        said += "" if own[town]["estimate"].is_told else "; indistinguishable from uniform"
        main, *more = (cell(own[town]["answers"][name]) for name in questions)
        assert plain == [town, f"{own[town]['reports']:,.10g}", main, said, *more, str(own[town]["fit"].verdict)]
    (file,) = tables.files
    header, *rows = csv.reader(io.StringIO(file))
    assert header[:2] + header[-4:] == ["town", "reports", "differs", "p_value", "uniform", "fit"]
    assert [row[0] for row in rows] == order
    for row in rows:
        one = own[row[0]]
        assert float(row[1]) == one["reports"]
        assert list(map(float, row[2:-4])) == pytest.approx(numbers_of(kind, row[0]), abs=1e-5)
        assert (row[-4], float(row[-3])) == (
            "yes" if one["difference"].is_different else "no",
            one["difference"].p_value,
        )
        assert row[-2:] == ["no" if one["estimate"].is_told else "cannot be told", str(one["fit"].verdict)]
    mains = {town: one["answers"][questions[0]] for town, one in own.items()}
    together = sum(own[town]["reports"] * one.estimate for town, one in mains.items()) / 2700
    assert f"The thin line is all groups together, {together:.1%}." in page
    small = {key[0] for key in GroupReports(pools(kind)).too_small}
    told = {town: one.estimate for town, one in mains.items() if town not in small}
    for word, choose in (("Highest", max), ("Lowest", min)):
        town = choose(told, key=lambda one: told[one])
        now, ends = texts(mains[town])
        said = rf"{town}, \d+% confidence: {re.escape(ends)}"
        assert re.search(rf"{word} [^<]*<.*?{re.escape(now)}.*?{said}", page, re.S)


def test_every_cell_of_the_terminal_is_that_of_the_group_alone(
    call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole way: two files of counts, put together, estimated and shown."""
    monkeypatch.setenv("COLUMNS", "200")
    for number, survey in enumerate(surveys("words")):
        (folder / f"s{number}.toml").write_text(survey.text())
        parts = {key: {own: part for part, own in pool}.get(survey.mechanism) for key, pool in pools("words").items()}
        groups = {key: part for key, part in parts.items() if part is not None}
        people = int(sum(one.total for one in groups.values()))
        with pytest.warns(cf.errors.SimulatedReportsWarning):
            save_counts(folder / f"c{number}.parquet", GroupedCounts(("town",), groups, Account(people)), survey)
    assert call("merge", "c0.parquet", "c1.parquet", "--pool", "-o", "c.parquet").code == 0
    query = QUERIES["words"][0]
    shown = call("estimate", "s0.toml", "c.parquet", "--method", "mle", "--interval", "0.9", "--query", query).out
    own = alone("words")
    lines = [re.split(r"\s{2,}", line.strip()) for line in shown.splitlines() if line.strip().startswith(tuple(SIZES))]
    found = {line[0]: line for line in lines if len(line) == 4}
    assert set(found) == set(SIZES)
    for town, line in found.items():
        now, ends = texts(own[town]["answers"][query])
        assert line[1:3] == [f"{own[town]['reports']:,.10g}", f"{now} ({ends})"]
        said = how("words", town).split(";")[0].replace("differs from the others", "differs")
        assert line[3] == said + ("" if own[town]["estimate"].is_told else "; indistinguishable from uniform")
    estimates = estimate_file(read_counts(folder / "c.parquet"), surveys("words")[0], cf.MLE())
    assert {key: len(one.groups) for key, one in estimates.items()} == {
        (town,): sum(map(bool, SIZES[town])) for town in sorted(SIZES)
    }


def test_the_download_has_the_groups_that_the_table_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confide.present.groups.MOST_ROWS", 2)
    groups, answers = asked("words")
    (file,) = Tables(groups_page(groups, answers)).files
    assert {row["town"] for row in csv.DictReader(io.StringIO(file))} == set(SIZES)


def test_groups_before_an_estimate_have_each_their_own_row(capsys: pytest.CaptureFixture[str]) -> None:
    bots = (cf.tally(["yes"], counts=[100]), surveys("words")[0].mechanism)
    few = (cf.tally(["no"], counts=[2]), surveys("words")[0].mechanism)
    seen = GroupReports(pools("words") | {("bots",): [bots], ("few",): [few]})
    for one in group_reports_record(seen, ("town",))["groups"]:
        key = (one["group"]["town"],)
        assert one["difference"]["p_value"] == seen.differences[key].p_value
        assert one["fit"]["p_value"] == seen.fits.groups[key].p_value
        assert one["is_too_small"] is (key in seen.too_small)
    show_summary(Summary("Towns", sections=[summarise_group_reports(seen, ("town",), 0)]), console())
    lines = [line.split() for line in capsys.readouterr().out.partition("against the others")[2].splitlines()]
    rows = [line for line in lines if line and line[0] in {*SIZES, "bots", "few"}]
    assert [line[0] for line in rows] == ["bots", "Graz", "Oslo", "Bern", "Rome", "Ulm", "few"]
    small = {key[0] for key in seen.too_small}
    assert "few" in small
    assert {line[0] for line in rows if line[-5:] == ["too", "small", "to", "say", "anything"]} == small
