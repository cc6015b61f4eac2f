"""Numbers in their places: what no other test looked at when faults were planted there."""

from __future__ import annotations

import asyncio
import csv
import hashlib
import itertools
import json
import re
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.collector.asking import ages as served_ages
from tests.collector.asking import serving
from tests.counting.conftest import AGES
from tests.plans.test_records import given
from typer.testing import CliRunner

import confide as cf
from confide.cli import demo
from confide.cli.main import app
from confide.cli.terminal import console
from confide.cli.usage import repetition_record
from confide.collector import client
from confide.collector.client import Receipt
from confide.collector.http import HTML, JSON, TEXT, home, require_method
from confide.collector.service import Collector, Entry, Refusal, Room, Settings, compute
from confide.collector.stores import Batch, StoredSurvey, add_up_batches, digest_invitation, open_store
from confide.collector.wire import Wire
from confide.data.counting import read_reports
from confide.data.files import (
    GroupAnswers,
    Metadata,
    SurveyGroups,
    ask_groups,
    counts_files,
    read_heading,
    shown_order,
    write_text,
)
from confide.data.files.records import district_columns
from confide.data.files.sheets import LIMITS, Account
from confide.errors import InvalidDistributionError
from confide.evidence.shapes import Shape
from confide.mechanisms.audits import audit
from confide.plans.simulations import choose_measure
from confide.present import diagnoses
from confide.present import estimates as estimate_summaries
from confide.present import groups as group_summaries
from confide.present.diagnoses import around, joined_classes
from confide.present.estimates import tell_panel
from confide.present.figures import draw_path, to_pdf
from confide.present.figures.shares import draw_distributions, draw_sheet
from confide.present.figures.style import Panel, Role, share_label
from confide.present.pages import render
from confide.present.summary import Cell, Listing, Section, texts
from confide.present.surveys import audit_record, summarise_plan, tell_tradeoff
from confide.present.terminal import show_summary
from confide.studio import answers, drafts, workers
from confide.studio import serving as studio_serving
from confide.studio.drafts import chosen_queries, dataset_records, read_draft, values_record
from confide.studio.looks import look
from confide.studio.serving import Job, Studio
from confide.theory.verdicts import Verdict, all_of
from confide.values import Selection
from confide.values.checks import NumberFormat, as_distribution
from confide.values.geojson import read_areas

pytest.importorskip("duckdb", reason="counting needs the extra confide[counting]")

SERVED = served_ages()
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
    done = call("merge", "age.parquet", "other.parquet", "--pool", "--allow-copies", "-o", "pool.parquet")
    assert "Merged 2 files of counts" in done.stdout
    heading = read_heading("pool.parquet")
    assert (len(heading.surveys), heading.rows.accepted) == (2, 8)
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
    counts, accounts = add_up_batches([*many, *more])
    assert counts == [
        [1, 10, "", "3", 501],
        [1, 10, "Oslo", "3", 2],
        [1, 10, "Oslo", "4", 1],
        [1, 11, "Oslo", "3", 5],
        [2, 10, "", "3", 7],
    ]
    assert accounts == [
        [1, 10, "", 504],
        [1, 10, "missing", 1],
        [1, 11, "", 5],
        [1, 11, "missing", 2],
        [2, 10, "", 7],
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
    assert isinstance(counts, cf.data.files.CountedReports)
    assert dict(zip(counts.reports.tolist(), counts.counts.tolist(), strict=True)) == {"red": 1, "None": 1}
    assert counts.rows.total_rejected == 2


def test_a_record_of_a_dataset_counts_people_and_places_lie_within_metres(folder: Path) -> None:
    ages = cf.datasets.adult_ages()
    assert f"{ages.total:,} people" in call("datasets").stdout
    call("datasets", "manhattan", "places.csv")
    written = np.loadtxt(folder / "places.csv", delimiter=",", skiprows=1, usecols=(2, 3))
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
    method = SimpleNamespace(name="a method")
    estimate: Any = SimpleNamespace(method=method, iterations=3, seconds=0.1)
    outcomes: Any = [SimpleNamespace(emd=emd, total_variation=0.1, estimate=estimate) for emd in (1.0, 2.0, 30.0, 7.0)]
    answer = cf.estimates.Interval("age >= 65", 0.1, 0.05, 0.2, 0.95, "")
    show_summary(demo._summarise(survey, people, counts, outcomes, answer), console())
    out = capsys.readouterr().out
    assert "are 7 and 30 times as far off" in " ".join(out.split())
    shares = survey.mechanism.lay_out(counts) / counts.total
    distances = cf.emd(shares, people.distribution, people.alphabet), cf.total_variation(shares, people.distribution)
    assert out.split("noisy reports")[1].split()[:2] == [
        f"{distances[0]:.2f}",
        f"{distances[1]:.3f}",
    ]


def test_a_guessed_format_is_written_as_the_number_is() -> None:
    assert [NumberFormat.guess(one) for one in ("€ 58,000", "58.000,5 kr")] == ["€ 1,234", "1.234,56 kr"]


def test_a_selection_lies_where_its_values_do() -> None:
    line = cf.Integers(10, 19)
    some = Selection(line, np.array([18, 11, 15]))
    assert some.points([0, 2]).tolist() == line.points([8, 5]).tolist()


def test_a_path_is_kept_without_a_truth() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 2), 1.0)
    outcome = cf.assess(cf.tally([0, 1, 2], counts=[50, 30, 20]), mechanism, cf.IBU())
    assert len(outcome.path) == outcome.estimate.iterations > 0


def test_batches_of_several_reports_of_one_person_stay_so() -> None:
    running = cf.evidence.Accumulator()
    for repeats in (1, 3):
        running.add(cf.tally([3, 4]).with_repeats(repeats))
    assert running.counts.repeats == 3


def test_an_area_has_the_usual_one_of_several_names() -> None:
    square = [[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]
    geometry = {"type": "Polygon", "coordinates": [square]}
    feature = {"type": "Feature", "properties": {"id": 7, "name": "Old Town"}, "geometry": geometry}
    assert [one.name for one in read_areas(feature)] == ["Old Town"]


def test_a_value_is_remembered_in_each_survey_by_another_tag(tmp_path: Path) -> None:
    surveys = [cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon)) for epsilon in (1.0, 2.0)]
    ledger, secret = cf.Ledger(tmp_path / "ledger.json"), cf.Permanent(bytes(range(16)))
    for survey in surveys:
        ledger.privatize(survey, "yes", rng=secret)
    tags = [set(ledger.page(survey).values) for survey in surveys]
    assert [len(one) for one in tags] == [1, 1]
    assert not tags[0] & tags[1]


def test_packed_files_hold_no_time(tmp_path: Path) -> None:
    write_text(tmp_path / "r.csv.gz", "report\n3\n")
    assert (tmp_path / "r.csv.gz").read_bytes()[4:8] == bytes(4)
    to_pdf(draw_path({"IBU": [-3.0, -2.0]}), tmp_path / "path.pdf")
    assert b"CreationDate" not in (tmp_path / "path.pdf").read_bytes()


# The command line


def test_lines_of_json_are_counted_through_the_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(vars(LIMITS), "block", 64)
    Path("age.toml").write_text(SERVED.text())
    Path("r.jsonl").write_text("".join(f'{{"report": {"70" if line == 30 else "3"}}}\n' for line in range(1, 41)))
    ending = CliRunner().invoke(
        app, ["count", "age.toml", "r.jsonl", "-o", "c.parquet", "--rejects", "x.csv"], catch_exceptions=False
    )
    assert ending.exit_code == 0, ending.output
    assert [row["line"] for row in csv.DictReader(Path("x.csv").read_text().splitlines())] == ["30"]


def test_an_export_does_not_replace_its_own_survey(tmp_path: Path) -> None:
    place = tmp_path / "age.json"
    place.write_text(SERVED.to_json())
    assert CliRunner().invoke(app, ["export", str(place), "-o", str(place)]).exit_code != 0
    assert place.read_text() == SERVED.to_json()


def test_values_that_stand_alone_are_no_class() -> None:
    mechanism = cf.FromMatrix(cf.Categories(["a", "b", "c"]), [[0.8, 0.2], [0.8, 0.2], [0.2, 0.8]])
    ((label, size, _),) = joined_classes(cf.diagnose(None, mechanism))
    assert ("a, b" in label, size) == (True, 2)


def test_the_most_reports_of_one_person_are_those_of_the_survey_that_has_most() -> None:
    known: Any = SimpleNamespace(
        survey=SERVED,
        surveys=(SERVED, SERVED),
        files=1,
        is_pooled=False,
        origins=(cf.evidence.Origin(permanent=4),) * 2,
        most_repeated=lambda number: (2, 5)[number],
        limit=None,
        is_over_limit=False,
    )
    assert repetition_record(known)["most_reports_of_one_person"] == 5


# The collector


def test_an_invitation_is_good_without_its_hyphens() -> None:
    assert digest_invitation(" ABCDEFGHIJKLMNOPQRST ") == digest_invitation("abcde-fghij-klmno-pqrst")


def test_a_closed_survey_invites_nobody() -> None:
    stored = StoredSurvey(1, SERVED.fingerprint, SERVED.to_json())
    pages = [home([Entry.of(replace(stored, is_closed=closed))], has_studio=True) for closed in (False, True)]
    assert ["Take part" in page for page in pages] == [True, False]
    assert ["no more reports" in page for page in pages] == [False, True]


def test_every_link_of_the_first_page_is_of_its_own_survey() -> None:
    surveys = [SERVED, replace(SERVED, groups={"town": ("Bern", "Oslo")})]
    entries = [Entry.of(StoredSurvey(7 + place, one.fingerprint, one.to_json())) for place, one in enumerate(surveys)]
    page = home(entries, has_studio=True)
    takes, pages = ([f"{before}{one.fingerprint}" for one in surveys] for before in ("/take/", "/v1/surveys/"))
    assert re.findall('href="(.*?)"', page) == ["/studio", *takes]
    assert re.findall('action="(.*?)"', page) == [f"{one}/page" for one in pages]


def test_whoever_watches_a_survey_sees_every_report_and_its_end(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store.db"))
    with serving(store) as served:
        collector, fingerprint = served.app.collector, served.survey.fingerprint
        studio, seen = Studio(collector), list[Any]()

        def watch() -> None:
            seen.append(json.loads(served.run(studio._watch(collector.entries[fingerprint]))[1])["version"])
            seen.append(studio._summary(collector.entries[fingerprint])["version"])

        watch()
        for reports in ([3], [3], ["nonsense"]):
            served.post(served.message(reports))
            watch()
        store.close_survey(fingerprint)
        collector.refresh()
        watch()
        studio.close()
    store.close()
    assert seen[::2] == seen[1::2]
    assert sorted(set(seen)) == seen[::2]


def test_the_start_page_has_the_shared_styles_and_its_own() -> None:
    page = home([])
    assert "--font:" in page
    assert "min-height: 44px" in page  # buttons that a finger finds


def test_a_batch_that_comes_again_is_no_report_of_the_metrics(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store.db"))
    with serving(store) as served:
        message = served.message([3, 70])
        assert [served.post(message).status for _ in range(2)] == [200, 200]
        metrics = served.ask("GET", "/metrics").body.decode()
    store.close()
    for outcome in ("accepted", "rejected"):
        assert f'confide_reports_total{{outcome="{outcome}"}} 1\n' in metrics


def test_whoever_waits_longest_enters_first() -> None:
    order: list[str] = []

    async def run() -> None:
        room = Room(1, 1)
        await room.enter("a", 1)

        async def come(address: str) -> None:
            await room.enter(address, 1)
            order.append(address)
            room.leave(address, 1)

        waiting = [asyncio.create_task(come(one)) for one in "bcd"]
        await asyncio.sleep(0)
        room.leave("a", 1)
        await asyncio.gather(*waiting)

    asyncio.run(run())
    assert order == ["b", "c", "d"]


def test_simulated_people_are_of_all_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []

    class Silent:
        def __init__(self, _: str) -> None:
            pass

        def post(self, message: bytes) -> Receipt:
            sent.append(json.loads(message)["groups"]["town"])
            return Receipt(1)

        def hang_up(self) -> None:
            pass

    monkeypatch.setattr(client, "Client", Silent)
    survey = replace(SERVED, groups={"town": ("Bern", "Oslo")})
    assert client.simulate("http://nowhere", survey, 60).accepted == 60
    assert set(sent) == {"Bern", "Oslo"}


def test_a_collectors_diagnosis_takes_the_shape_for_granted() -> None:
    survey = replace(SERVED, shape=Shape.of("falling"))
    day = {"day": "2026-11-16", "groups": [], "counts": [[SERVED.alphabet.decode([2]).tolist()[0], 40]]}
    record = {"survey": survey.fingerprint, "by": [], "accepted": 40, "rejected": {}, "days": [day]}
    record |= {"is_simulated": False, "is_closed": False}
    is_answer, body = compute("diagnosis", survey.to_json(), json.dumps(record).encode())
    assert is_answer, body
    assert json.loads(body)["shape"]["words"] == ["falling"]


# Pages and plans


def test_residuals_are_told_with_their_sign() -> None:
    outputs = cf.Integers(5, 7)
    assert "report 6, seen more often by 3.0" in diagnoses.tell_residuals(outputs, np.array([0.5, 3.0, -1.0]), "report")
    assert "report 5, seen less often by 4.0" in diagnoses.tell_residuals(
        outputs, np.array([-4.0, 3.0, -1.0]), "report"
    )


def test_the_promise_of_the_plan_is_marked_among_others() -> None:
    made = given()
    assert made.by_epsilon is not None
    survey = cf.Survey(made.mechanism, "age", "Ages")
    *_, section = summarise_plan(survey, made).sections
    assert isinstance(section, Section)
    *_, by_epsilon = section.parts
    assert isinstance(by_epsilon, Listing)
    firsts = [row[0] for row in by_epsilon.rows if isinstance(row[0], Cell)]
    assert [one.words for one in firsts if one.is_strong] == ["0.5 per year (the plan)"]


def test_bits_of_all_chunks_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate_summaries, "CHUNK", 1)
    rappor = cf.Rappor(cf.Integers(0, 2), 1.0)
    counts = cf.tally(rappor.report_alphabet.decode([1, 6]), counts=[3, 1])  # bits 100 and 011
    noisy = estimate_summaries.summarise_reports(cf.Survey(rappor, "value", "Bits"), counts)
    assert noisy is not None
    assert noisy.shares.tolist() == [0.75, 0.25, 0.25]


# The studio


def test_questions_are_answered_in_the_order_they_are_asked() -> None:
    assert chosen_queries(["b", "c", "a", "b"]) == ["b", "c", "a"]


def test_cells_of_a_plane_begin_at_zero() -> None:
    plane = values_record(cf.Grid(2, 2, first_row=5, first_column=-3))["plane"]
    assert plane["cells"] == [[0, 0], [0, 1], [1, 0], [1, 1]]


def test_progress_tells_what_is_done() -> None:
    survey = {"name": "mark", "alphabet": {"kind": "integers", "low": 0, "high": 4}}
    draft = read_draft({"survey": survey, "epsilon": 1.0, "people": 100, "guess": "peaked"})
    told: list[tuple[int, int]] = []
    made = answers._simulation(draft, choose_measure(draft.alphabet, None), lambda *said: told.append(said[:2]), 3)
    made.predict(draft.survey.mechanism, draft.people)
    assert told == [(0, 3), (1, 3), (2, 3)]


def test_too_little_memory_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(answers, "play", fill)
    code, said = workers._answer("play", {}, lambda *_: None)
    assert (code, said[:26]) == ("too-large", b"This takes more memory than"[:26])


def test_what_is_known_so_far_stays_known() -> None:
    job = Job("read", "")
    job.tell(1, 3, "first", b"[1]")
    job.tell(2, 3, "second")
    assert json.loads(job.record)["partial"] == [1]


def test_a_circle_has_no_value_behind_its_last(tmp_path: Path) -> None:
    hours = cf.Survey(cf.RandomizedResponse(cf.Hours(), 1.0), "hour")
    (tmp_path / "r.csv").write_text("report\n0\n23\n24\n-1\n")
    counts = cf.count(tmp_path / "r.csv", hours)
    assert isinstance(counts, cf.data.files.CountedReports)
    assert (counts.reports.tolist(), counts.rows.total_rejected) == ([0, 23], 2)


def test_quoted_rows_without_a_count_count_once_beside_those_with_one(tmp_path: Path) -> None:
    (tmp_path / "plain.csv").write_text('report\n"3"\n4\n')
    (tmp_path / "counted.csv").write_text('report,count\n"5",2\n6,1\n')
    counts = cf.count([tmp_path / "plain.csv", tmp_path / "counted.csv"], AGES)
    assert isinstance(counts, cf.Counts)
    assert dict(zip(counts.reports.tolist(), counts.counts.tolist(), strict=True)) == {3: 1, 4: 1, 5: 2, 6: 1}


# Ends, orders, units and caches


def looked(survey: cf.Survey, record: dict[str, Any], version: int, **asked: Any) -> dict[str, Any]:
    work = {"document": survey.to_json(), "record": json.dumps(record), "version": version, "methods": []}
    return look(work | asked, lambda *_: None)


def collected(survey: cf.Survey, days: list[dict[str, Any]]) -> dict[str, Any]:
    accepted = sum(number for day in days for _, number in day["counts"])
    record = {"survey": survey.fingerprint, "by": list(survey.groups), "accepted": accepted, "rejected": {}}
    return record | {"days": days, "is_simulated": False, "is_closed": False}


def between(low: float, estimate: float, high: float, question: str = "x == 1") -> cf.estimates.Interval:
    return cf.estimates.Interval(question, estimate, low, high, 0.95, "a law")


def test_a_window_and_an_answer_have_their_ends_in_order() -> None:
    windows: Any = SimpleNamespace(
        labels=["1 to 2"], members=[np.array([0, 1])], told=[True], answers=[between(0.1, 0.2, 0.4)]
    )
    (record,) = answers.window_records(windows)
    assert (record["low"], record["estimate"], record["high"], record["indices"]) == (0.1, 0.2, 0.4, [0, 1])
    told = answers.answer_record(between(0.1, 0.2, 0.4), "x")
    assert (told["low"], told["estimate"], told["high"]) == (0.1, 0.2, 0.4)
    assert (told["now"], told["ends"]) == ("20%", "10% to 40%, 95% confidence")


def test_time_for_methods_is_in_milliseconds() -> None:
    assert (answers._within(250), answers._within(None)) == (0.25, np.inf)


def test_what_was_used_last_is_kept_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studio_serving, "MOST_KEPT", 2)
    known = studio_serving.Jobs()
    for key in ("a", "b"):
        known.keep(key, key.encode())
    assert known.kept("a") == b"a"
    known.keep("c", b"c")
    assert [known.kept(key) for key in "abc"] == [b"a", None, b"c"]


def test_a_job_that_is_done_stays_done() -> None:
    async def run() -> str:
        async def work(_: Job) -> bytes:
            return b"1"

        known = studio_serving.Jobs()
        job = known.add(Job("read", ""), None, work)
        assert job.task is not None
        await job.task
        known.stop(job)
        return job.state

    assert asyncio.run(run()) == "done"


def test_a_look_answers_what_it_is_asked_now() -> None:
    survey = cf.Survey(
        cf.RandomizedResponse(cf.Integers(0, 2), 2.0),
        "mark",
        groups={"town": ("Bern", "Oslo")},
        shape=Shape.of("falling"),
    )
    days = [
        {"day": "2026-11-16", "groups": [town], "counts": [[0, 300], [1, 200], [2, most]]}
        for town, most in (("Bern", 50), ("Oslo", 90))
    ]
    reports = collected(survey, days)
    for number in (1, 2):
        found = looked(survey, reports, 7, queries=[f"mark == {number}"], groups=True)
        assert [[one["query"] for one in group["queries"]] for group in found["groups"]] == [[f"mark == {number}"]] * 2
        assert [group["people"] for group in found["groups"]] == [550, 590]
    assert [one["query"] for one in found["statistics"]][:2] == ["median", "mean"]
    assert "cf.estimate(counts, survey.mechanism, shape=survey.shape)" in found["code"]["python"]


def test_half_of_the_reports_lie_within_so_many_units() -> None:
    plane = cf.Grid(3, 3, spacing=2.0, unit="km")
    survey = cf.Survey(cf.RandomizedResponse(plane, 1.0), "home")
    chances = np.array([0.3, 0.6, 0, 0.1, 0, 0, 0, 0, 0])
    assert "within 2 km of it" in drafts._place_words(survey, chances, 0)


def test_a_watch_tells_rejected_reports_apart(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store.db"))
    with serving(store) as served:
        served.post(served.message([3, 4, 70]))
        collector = served.app.collector
        studio = Studio(collector)
        _, body, _ = served.run(studio._watch(collector.entries[served.survey.fingerprint]))
        studio.close()
    store.close()
    assert (json.loads(body)["accepted"], json.loads(body)["rejected"]) == (2, 1)


def test_the_studios_datasets_count_people() -> None:
    for one in dataset_records():
        assert one["people"] == cf.datasets.load(one["name"]).total


def test_pictures_are_told_from_low_to_high() -> None:
    line = cf.Integers(0, 4)
    panel = Panel("Truth", np.array([0.3, 0.2, 0.1, 0.2, 0.2]), role=Role.TRUTH)
    assert "half lie between mark 0 and mark 3" in tell_panel(panel, line, "mark")
    ranges = diagnoses.tell_ranges(cf.Categories(["a", "b"]), np.array([0.1, 0.3]), np.array([0.6, 0.4]), "x")
    assert "between 10% and 60%" in ranges
    assert "between 30% and 40%" in ranges
    by_people = tell_tradeoff(given()).split("by people ")[1].split(";")[0]
    assert re.fullmatch(r"from EMD 0\.8.* at 100 to EMD 0\.2.* at 1,600", by_people), by_people


def test_the_download_of_groups_names_its_ends_and_large_groups_come_first() -> None:
    survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), 1.0), "answer")
    counts = {("Oslo",): cf.tally(["yes", "no"], [60, 40]), ("Rome",): cf.tally(["yes", "no"], [300, 700])}
    groups = SurveyGroups(cf.estimate_groups(counts, survey.mechanism, cf.IBU()).estimates, survey, ("town",))
    asked = GroupAnswers(ask_groups(groups, ["answer == yes"], 0.95))
    file = group_summaries._download(groups, asked).content
    (question,) = asked.questions
    for row, key in zip(csv.DictReader(file.splitlines()), shown_order(groups.ranked), strict=True):
        found = asked.questions[question][key]
        numbers = [float(row[name]) for name in (question, f"{question} low", f"{question} high")]
        assert numbers == pytest.approx([found.estimate, found.low, found.high])
    rows = render(group_summaries.summarise_group_reports(groups.seen, ["town"], 0, is_page=True))
    assert rows.index("Rome") < rows.index("Oslo")


def test_a_group_is_marked_at_its_answer_and_all_groups_by_a_line() -> None:
    places = group_summaries._place(between(0.25, 0.3, 0.75), (0.0, 1.0, 0.5))
    drawn, width = render(Listing([""], [[Cell("", places=places)]])), 120
    assert f'<line x1="{0.5 * width:.1f}" x2="{0.5 * width:.1f}"' in drawn
    assert f'<line x1="{0.25 * width:.1f}" x2="{0.75 * width:.1f}"' in drawn
    assert f'<circle cx="{0.3 * width:.1f}"' in drawn


def test_a_map_around_reports_holds_their_rows_and_columns() -> None:
    reports = np.array([[row, column] for row in range(10, 13) for column in range(-4, 6)])
    found = around(cf.Lattice(), cf.tally(reports))
    assert isinstance(found, cf.Grid)
    assert (found.rows, found.columns, found.first_row, found.first_column) == (3, 10, 10, -4)


def test_at_most_five_seconds_of_batches_gather(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store.db"))
    collector = Collector(store, Settings(most_a_second=2))
    later = time.monotonic() + 3600
    monkeypatch.setattr("confide.collector.service.time", SimpleNamespace(monotonic=lambda: later))
    for _ in range(10):
        collector._draw_ticket()
    with pytest.raises(Refusal, match="2 batches a second"):
        collector._draw_ticket()
    collector.thread.shutdown(wait=False)
    store.close()


def test_metrics_tell_failures_from_commits_and_an_old_tag_gets_the_new_answer(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store.db"))
    with serving(store) as served:
        served.post(served.message([3]))
        metrics = served.ask("GET", "/metrics").body.decode()
        first = served.read("counts")
        served.post(served.message([4]))
        second = served.read("counts", if_none_match=first.headers["etag"])
    store.close()
    assert "confide_commits_total 1\n" in metrics
    assert "confide_commit_failures_total 0\n" in metrics
    assert (second.status, second.json["accepted"]) == (200, 2)


def test_of_several_surveys_the_smallest_limit_holds() -> None:
    surveys = tuple(replace(AGES, most_reports=most) for most in (3, 1, 2))
    assert counts_files.Heading(surveys, (), Account(0)).limit == 1


def test_equal_counts_of_two_surveys_are_known_apart(tmp_path: Path) -> None:
    marks = set()
    for survey in (AGES, OTHER):
        cf.save_counts(tmp_path / "c.parquet", cf.tally([3, 4]), survey)
        marks.add(counts_files.content_mark(tmp_path / "c.parquet", read_heading(tmp_path / "c.parquet")))
    assert len(marks) == 2


def test_a_district_has_its_own_ends() -> None:
    windows: Any = SimpleNamespace(
        window_of=np.array([0, 1, 0]), answers=[between(0.1, 0.2, 0.4), between(0.5, 0.6, 0.8)]
    )
    columns = district_columns(windows, np.array([1, 2]))
    assert columns == {
        "district": [1, 0],
        "district_share": [0.6, 0.2],
        "district_low": [0.5, 0.1],
        "district_high": [0.8, 0.4],
    }


def test_the_content_of_a_parquet_file_ends_where_its_footer_begins(tmp_path: Path) -> None:
    path, content = tmp_path / "x.parquet", b"PAR1" + bytes(20)
    path.write_bytes(content + b"foot" + (4).to_bytes(4, "little") + b"PAR1")
    facts = Metadata.of(AGES, ["report"], noise=cf.evidence.Noise.SECURE)
    replace(facts, size=24, sha256=hashlib.sha256(content).hexdigest()).check(str(path), "x")


@pytest.mark.usefixtures("folder")
def test_an_empty_file_is_none_that_anybody_reported_in() -> None:
    Path("empty.csv").write_text("town,week,report\n")
    call("count", "age.toml", "a.csv", "b.csv", "empty.csv", "-o", "all.parquet")
    assert read_heading("all.parquet").files == 2
    account = read_reports("all.parquet", AGES).account
    assert (account.is_counted, account.accepted) == (True, 5)


def test_a_picture_is_told_as_of_what_it_shows() -> None:
    told = {role: tell_panel(Panel("P", np.full(4, 0.25), role=role), cf.Integers(0, 3), "x") for role in Role}
    assert {role for role, words in told.items() if "most of the reports" in words} == {Role.NOISY}
    assert all("most of people" in words for role, words in told.items() if role is not Role.NOISY)


@pytest.mark.parametrize("has_reference", list(itertools.product([True, False], repeat=2)))
def test_the_truth_behind_any_panel_is_named(has_reference: tuple[bool, bool]) -> None:
    shares = np.full(4, 0.25)
    panels = [Panel(f"P{place}", shares, reference=shares if one else None) for place, one in enumerate(has_reference)]
    for alphabet in (cf.Integers(0, 3), cf.Categories(list("abcd"))):
        keys = [text.get_text() for one in draw_distributions(alphabet, panels).legends for text in one.get_texts()]
        assert keys == ["the truth"] * any(has_reference)


def test_every_answer_of_a_group_stands_under_its_own_heading() -> None:
    """On a terminal and on a page, whichever comes first in each."""
    mechanism = cf.RandomizedResponse(cf.Integers(0, 3), 2.0)
    survey = cf.Survey(mechanism, "age", "Ages")
    counts = {("Oslo",): cf.tally([0, 1, 2, 3], [600, 500, 20, 30]), ("Rome",): cf.tally([0, 3], [300, 700])}
    groups = SurveyGroups(cf.estimate_groups(counts, mechanism, cf.IBU()).estimates, survey, ("town",))
    answers_of = GroupAnswers(ask_groups(groups, ["age >= 2", "age == 0"], 0.9, quantiles=[0.9]))
    assert len(answers_of.questions) == 5
    for made in (
        group_summaries._table(groups, answers_of),
        group_summaries._side_by_side(groups, answers_of).parts[1],
    ):
        assert isinstance(made, Listing)
        headings = {one[:1].lower() + one[1:]: place for place, one in enumerate(made.headings)}
        for row in made.rows:
            for question, found in answers_of.questions.items():
                cell = row[headings[question]]
                assert isinstance(cell, Cell)
                now, ends = texts(found[str(row[0]),])
                assert (cell.words, cell.beside.strip("()")) == (now, ends), question
