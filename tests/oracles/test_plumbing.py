"""Numbers in their places: what no other test looked at when faults were planted there."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.counting.conftest import AGES
from typer.testing import CliRunner

import confide as cf
from confide.alphabets import Selection
from confide.audits import audit
from confide.checks import as_distribution
from confide.cli import demo
from confide.cli.audit import audit_record
from confide.cli.datasets import dataset_record
from confide.cli.main import app
from confide.collector.replies import HTML, JSON, TEXT, require_method
from confide.collector.rows import Batch, add_up_batches
from confide.collector.service import Refusal
from confide.collector.wire import Wire
from confide.counting import read_reports
from confide.errors import InvalidDistributionError
from confide.figures.distributions import draw_sheet
from confide.figures.panels import Panel, Role, share_label
from confide.files import read_heading
from confide.theory.verdicts import Verdict, all_of

pytest.importorskip("duckdb", reason="counting needs the extra confide[counting]")

LIMITED = cf.Survey(AGES.mechanism, "age", most_reports=1)
OTHER = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), 2.0), "age")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, survey in (("age", AGES), ("limited", LIMITED), ("other", OTHER)):
        Path(f"{name}.toml").write_text(survey.text())
    Path("a.csv").write_text("town,week,report\nOslo,1,3\nOslo,2,3\nOslo,1,3\nBern,1,4\n")
    Path("b.csv").write_text("town,week,report\nOslo,1,7\n")
    return tmp_path


def call(*words: str) -> Any:
    ending = CliRunner().invoke(app, list(words))
    assert ending.exit_code == 0, ending.output
    return ending


def told(*words: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(call(*words, "--json").stdout)
    return record


@pytest.mark.usefixtures("folder")
def test_a_count_tells_reports_distinct_ones_groups_and_files() -> None:
    plain = told("count", "age.toml", "a.csv", "b.csv", "-o", "all.parquet")
    assert (plain["reports"], plain["distinct"], plain["groups"]) == (5, 3, None)
    assert read_heading("all.parquet").files == 2
    grouped = told("count", "age.toml", "a.csv", "-o", "groups.parquet", "--by", "town,week")
    assert (grouped["reports"], grouped["distinct"], grouped["groups"]) == (4, 3, 3)
    assert grouped["by"] == ["town", "week"]


@pytest.mark.usefixtures("folder")
def test_a_merge_tells_its_surveys_and_warns_of_too_many_reports() -> None:
    for survey in ("age", "other"):
        call("count", f"{survey}.toml", "a.csv", "-o", f"{survey}.parquet")
    record = told("merge", "age.parquet", "other.parquet", "--pool", "--allow-copies", "-o", "pool.parquet")
    assert (record["files"], record["surveys"], record["rows"]["accepted"]) == (2, 2, 8)
    assert read_reports("pool.parquet", AGES).counts.total == 8
    for name in ("a", "b"):
        call("count", "limited.toml", f"{name}.csv", "-o", f"{name}.parquet")
    assert "allows 1" in " ".join(call("merge", "a.parquet", "b.parquet", "-o", "both.parquet").stderr.split())


def test_batches_of_one_commit_are_counted_by_survey_day_and_group() -> None:
    wire = Wire.of(AGES)
    many = [Batch(f"m{number}", "c", 1, 10, "", {"3": 1}, 1, {}, wire) for number in range(501)]
    more = [
        Batch("x", "c", 1, 10, "Oslo", {"3": 2, "4": 1}, 3, {"missing": 1}, wire),
        Batch("y", "c", 1, 11, "Oslo", {"3": 5}, 5, {"missing": 2}, wire),
        Batch("z", "c", 2, 10, "", {"3": 7}, 7, {}, wire),
    ]
    counts, accounts = add_up_batches([*many, *more], "accepted")
    assert counts == [
        [1, 10, "", "3", 501],
        [1, 10, "Oslo", "3", 2],
        [1, 10, "Oslo", "4", 1],
        [1, 11, "Oslo", "3", 5],
        [2, 10, "", "3", 7],
    ]
    assert accounts == [
        [1, 10, "accepted", 504],
        [1, 10, "missing", 1],
        [1, 11, "accepted", 5],
        [1, 11, "missing", 2],
        [2, 10, "accepted", 7],
    ]


def test_replies_are_kept_by_nobody_framed_by_nobody_and_tell_no_address() -> None:
    assert all(dict(headers)[b"cache-control"] == b"no-store" for headers in (HTML, JSON, TEXT))
    policy = dict(HTML)[b"content-security-policy"].decode().split("; ")
    assert {"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} <= set(policy)
    assert not any("script" in rule for rule in policy)
    assert dict(HTML)[b"referrer-policy"] == b"no-referrer"
    require_method("HEAD", "GET", "POST")
    for method, known in (("HEAD", "POST"), ("GET", "POST"), ("DELETE", "GET")):
        with pytest.raises(Refusal):
            require_method(method, known)


def test_a_selection_is_of_its_values_and_of_its_alphabet() -> None:
    line = cf.Integers(10, 19, spacing=2.0)
    some = Selection(line, np.array([18, 11, 15]))
    assert some.coordinates.reshape(-1).tolist() == line.coordinates.reshape(-1)[[8, 1, 5]].tolist()
    at_least = Selection(cf.Bins(0, 50, 10), np.array([4, 0, 2])).compare(">=", 20)
    assert at_least is not None
    assert at_least.tolist() == [True, False, True]
    assert some != Selection(cf.Integers(10, 19), np.array([18, 11, 15]))
    assert some == Selection(line, np.array([18, 11, 15]))


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_a_distribution_is_finite(number: float) -> None:
    with pytest.raises(InvalidDistributionError, match=r"at position 1; give finite numbers"):
        as_distribution([0.5, number, 0.5], 3, "guess")


@pytest.mark.usefixtures("folder")
def test_columns_of_counts_that_are_not_read_are_told() -> None:
    Path("counted.csv").write_text("town,report,count\nOslo,3,5\nBern,4,6\n")
    found = read_reports("counted.csv", AGES)
    assert (found.unused, found.counts.total) == (("town",), 11)
    assert read_reports("a.csv", AGES).unused == ()


def test_reports_of_several_files_with_permanent_noise_may_repeat(folder: Path) -> None:
    secrets = [cf.Permanent(bytes([number]) * 16) for number in range(1, 5)]
    (folder / "days").mkdir()
    for day, ages in enumerate(([3, 4, 5, 6], [3, 4, 5])):
        cf.write_reports(folder / "days" / f"{day}.jsonl", AGES.privatize(ages, rng=secrets[: len(ages)]), AGES)
    for counts in (cf.count(folder / "days" / "*.jsonl", AGES), read_reports(folder / "days" / "*.jsonl", AGES).counts):
        assert isinstance(counts, cf.Counts)
        assert (counts.total, counts.repeats) == (7, 2)


def test_a_table_of_objects_has_missing_values_and_not_the_text_none() -> None:
    pandas = pytest.importorskip("pandas")
    colours = cf.Survey(cf.RandomizedResponse(cf.Categories(["red", "None", "nan"]), 1.0), "colour")
    frame = pandas.DataFrame({"report": pandas.Series(["red", None, float("nan"), "None"], dtype=object)})
    counts = cf.count(frame, colours)
    assert isinstance(counts, cf.CountedReports)
    assert dict(zip(counts.reports.tolist(), counts.counts.tolist(), strict=True)) == {"red": 1, "None": 1}
    assert counts.rows.total_rejected == 2


def test_a_record_of_a_dataset_counts_people_and_places_lie_within_metres(folder: Path) -> None:
    ages = cf.datasets.adult_ages()
    assert dataset_record(ages)["people"] == ages.total != ages.alphabet.size
    call("datasets", "manhattan", "--export", "places.csv", "--coordinates")
    written = np.loadtxt(folder / "places.csv", delimiter=",", skiprows=1)
    assert np.abs(written - cf.datasets.manhattan().coordinates()).max() < 1e-6


def test_an_audit_tells_the_share_of_the_promise_that_is_used() -> None:
    survey = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), 0.5))
    record = audit_record(survey, audit(survey.mechanism, reports=100))
    assert (record["used"], record["log_ratio"]) == (pytest.approx(1), pytest.approx(0.5))


def test_noisy_reports_are_shares_of_reports() -> None:
    labels = {role: share_label(role) for role in Role}
    assert labels.pop(Role.NOISY) == "share of reports"
    assert set(labels.values()) == {"share of people"}


def test_figures_of_a_sheet_are_as_wide_as_it_says() -> None:
    sheet = draw_sheet(cf.Integers(0, 9), [Panel("Truth", np.full(10, 0.1), role=Role.TRUTH)])
    width, height = sheet.figures[0].get_size_inches()
    assert sheet.width == round(96 * width) != round(96 * height)


def test_one_no_is_a_no_whatever_theory_does_not_cover() -> None:
    assert all_of(Verdict.NOT_COVERED, Verdict.NO, Verdict.YES) is Verdict.NO
    assert all_of(Verdict.NOT_CHECKED, Verdict.NOT_COVERED, Verdict.YES) is Verdict.NOT_COVERED


def test_the_demo_tells_both_distances_and_both_inversions(capsys: pytest.CaptureFixture[str]) -> None:
    people = cf.datasets.adult_ages()
    assert isinstance(people.alphabet, cf.Integers)
    survey = cf.Survey(cf.TruncatedGeometric(people.alphabet, 0.05), "age")
    counts = survey.mechanism.simulate_counts(people.histogram, rng=1)
    estimate = SimpleNamespace(method=SimpleNamespace(name="the default"))
    demo._explain(survey, [SimpleNamespace(emd=emd, estimate=estimate) for emd in (1.0, 2.0, 30.0, 7.0)])  # type: ignore[misc]
    assert "lie 7 and 30 times as far" in " ".join(capsys.readouterr().out.split())
    demo._show_table(survey, people, counts, [])
    shares = survey.mechanism.lay_out(counts) / counts.total
    distances = cf.emd(shares, people.distribution, people.alphabet), cf.total_variation(shares, people.distribution)
    assert capsys.readouterr().out.split("noisy reports")[1].split()[:2] == [
        f"{distances[0]:.2f}",
        f"{distances[1]:.3f}",
    ]
