"""Every field that is written is read back, and every name in a record stands for what is called so.

Things are made with no field at its default and no two fields alike, so that one that is dropped, swapped or taken from
another place shows.
"""

from __future__ import annotations

import csv
import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli import surveys as examples
from tests.collector.asking import ages
from tests.plans.test_records import given

import confide as cf
from confide.collector.client import Outbox
from confide.collector.stores import StoredSurvey, StoredToken, digest_secret, make_token, open_store
from confide.data.counting.duck import merge_files
from confide.data.files import records
from confide.data.files.counts_files import GroupedCounts, Heading, load_counts, read_heading, save_counts, write_counts
from confide.data.files.sheets import Account, Reason
from confide.data.files.writing import Metadata, read_metadata
from confide.errors import SurveyError
from confide.evidence.counts import Noise, Origin
from confide.evidence.shapes import Shape
from confide.plans.records import prediction_record
from confide.studio import answers as studio_answers
from confide.surveys.survey import parse_survey

pyarrow = pytest.importorskip("pyarrow", reason="counting needs the extra confide[counting]")
pytest.importorskip("duckdb", reason="counting needs the extra confide[counting]")
pytest.importorskip("orjson", reason="the collector needs the extra confide[collector]")

AGES = cf.Survey(cf.TruncatedGeometric(cf.Integers(2, 11, unit="year"), 1.5), "age", "Ages")
OTHER = cf.Survey(cf.TruncatedGeometric(cf.Integers(2, 11, unit="year"), 2.5), "years", "Others")


def is_full(thing: Any, *but: str) -> None:
    """Check that no field is at its default."""
    for one in fields(thing):
        if one.name in but:
            continue
        default = one.default if one.default is not MISSING else None
        default = one.default_factory() if one.default_factory is not MISSING else default
        assert getattr(thing, one.name) != default, one.name


def parts(thing: Any, *but: str) -> dict[str, Any]:
    return {one.name: getattr(thing, one.name) for one in fields(thing) if one.name not in but}


# Surveys.


def a_survey() -> cf.Survey:
    return replace(
        AGES,
        most_reports=3,
        shape=Shape.of(["falling"]),
        groups={"town": ("Oslo", "Rome"), "sex": ("f", "m")},
        most_epsilon=7.5,
        is_permanent=True,
        simulated="two humps",
        shuffler="a university",
        results="public",
        language="pt-BR",
        every="week",
    )


def test_a_survey_is_read_back_from_text_json_and_a_store(tmp_path: Path) -> None:
    full = a_survey()
    is_full(full)
    store = open_store(str(tmp_path / "s.db"))
    stored = store.add_survey(full)
    for found in (parse_survey(full.text()), cf.Survey.from_json(full.to_json()), stored.survey):
        assert parts(found) == parts(full)
    store.close()


@pytest.mark.parametrize("name", [one.name for one in fields(cf.Survey)])
def test_a_survey_that_differs_in_one_field_is_another_text(name: str) -> None:
    full = a_survey()
    plain = {one.name: one for one in fields(cf.Survey)}[name]
    changed: dict[str, Any] = {"mechanism": OTHER.mechanism, "groups": {}, "name": "other", "title": "Other"}
    other = replace(full, **{name: changed.get(name, plain.default)})
    assert other.text() != full.text()
    assert other.to_json() != full.to_json()
    assert (other.fingerprint != full.fingerprint) is (name not in ("name", "title", "language"))


# Headings of counts: written, read, and added up.


def a_heading(number: int, *surveys: cf.Survey) -> Heading:
    """Return a heading of which nothing is as it would be by itself, and nothing as in another one."""
    rejected = {Reason.MISSING: 10 + number, list(Reason)[3 + number]: 20 + number}
    origins = tuple(
        Origin(100 * number + place, 10 * number + place, permanent=7 * number + place)
        for place, _ in enumerate(surveys, 1)
    )
    return Heading(
        surveys,
        ("town", "week"),
        Account(3, rejected),
        (f"part {number}", f"part {number}b"),
        origins,
        number + 4,
        (f"source {number}", "shared source"),
        {("Oslo", "1"): number + 1, ("Rome", ""): number + 2},
        "weight",
        "region",
        "village",
        {"sex": {"f": 30.0}},
    )


def rows_of(heading: Heading, number: int) -> Any:
    """Return counts enough for what a heading says."""
    groups = [("Oslo", "1", 3), ("Oslo", "2", 4), ("Rome", "", 3)]
    rows = []
    for place, _ in enumerate(heading.surveys):
        middle = (place,) if heading.is_pooled else ()
        design, sums = ("north", f"village {number}", "f"), (1000 + number, 2000.5 + number, 5000.5 + number)
        rows += [(town, week, *design, *middle, report, *sums) for town, week, report in groups]
    columns = [list(column) for column in zip(*sorted(rows), strict=True)]
    return pyarrow.record_batch(columns, schema=heading.schema)


def saved(folder: Path, number: int, *surveys: cf.Survey) -> tuple[Path, Heading]:
    heading, path = a_heading(number, *surveys), folder / f"h{number}.parquet"
    write_counts(path, [rows_of(heading, number)], heading)
    return path, heading


@pytest.mark.parametrize("surveys", [(AGES,), (AGES, OTHER), (OTHER, AGES)])
def test_a_heading_is_read_back_from_a_file(surveys: tuple[cf.Survey, ...], tmp_path: Path) -> None:
    path, heading = saved(tmp_path, 2, *surveys)
    is_full(heading, "surveys", "by", "rows")
    found = read_heading(path)
    assert parts(found, "rows") == parts(heading, "rows")
    assert (found.rows.accepted, dict(found.rows.rejected)) == (heading.rows.accepted, dict(heading.rows.rejected))
    assert [one.name for one in found.surveys] == [one.name for one in surveys]


def test_headings_add_up_field_by_field(tmp_path: Path) -> None:
    """Also of files that have several surveys already, in another order."""
    given_them = [saved(tmp_path, 1, AGES), saved(tmp_path, 2, OTHER, AGES), saved(tmp_path, 3, OTHER)]
    for number, some in enumerate([given_them, given_them[::-1], given_them[:2]]):
        headings = [heading for _, heading in some]
        merged = merge_files(
            [path for path, _ in some], tmp_path / f"m{number}.parquet", is_pool=True, allow_copies=True
        )
        order = list(dict.fromkeys(survey for heading in headings for survey in heading.surveys))
        assert list(merged.surveys) == order
        for survey, origin in zip(order, merged.origins, strict=True):
            own = [o for one in headings for s, o in zip(one.surveys, one.origins, strict=True) if s == survey]
            for name in ("secure", "simulated", "permanent"):
                assert getattr(origin, name) == sum(getattr(one, name) for one in own), (survey.name, name)
        assert merged.by == ("town", "week")
        assert merged.files == sum(one.files for one in headings)
        assert merged.parts == tuple(itertools.chain(*(one.parts for one in headings)))
        assert merged.sources == tuple(dict.fromkeys(itertools.chain(*(one.sources for one in headings))))
        rejected: Counter[Reason] = sum((Counter(one.rows.rejected) for one in headings), Counter())
        assert (merged.rows.accepted, dict(merged.rows.rejected)) == (3 * len(headings), dict(rejected))
        # A group that a heading does not name may be in all of its files.
        for key in (("Oslo", "1"), ("Oslo", "2"), ("Rome", "")):
            assert merged.files_of(key) == sum(one.files_of(key) for one in headings), key
        again = read_heading(tmp_path / f"m{number}.parquet")
        assert parts(again, "rows") == parts(merged, "rows")


def test_counts_are_read_back_with_origin_and_repeats(tmp_path: Path) -> None:
    def some(reports: list[int], origin: Origin, repeats: int) -> cf.Counts:
        return cf.tally(reports).with_origin(origin).with_repeats(repeats)

    one = some([3, 3, 5, 9], Origin(permanent=4), 3)
    save_counts(tmp_path / "c.parquet", one, AGES)
    found = load_counts(tmp_path / "c.parquet")
    assert isinstance(found, cf.Counts)
    assert (found.reports.tolist(), found.counts.tolist()) == ([3, 5, 9], [2, 1, 1])
    assert (found.origin, found.repeats) == (one.origin, 3)
    towns: dict[tuple[str, ...], cf.Counts] = {
        ("Oslo",): some([3, 4], Origin(permanent=2), 2),
        ("",): some([7], Origin(permanent=1), 1),
    }
    grouped = GroupedCounts(("town",), towns, Account(2, {Reason.OUTSIDE: 5}), repeats=4)
    save_counts(tmp_path / "g.parquet", grouped, AGES)
    back = load_counts(tmp_path / "g.parquet")
    assert isinstance(back, GroupedCounts)
    assert {key: counts.reports.tolist() for key, counts in back.items()} == {("Oslo",): [3, 4], ("",): [7]}
    assert {key: counts.repeats for key, counts in back.items()} == {("Oslo",): 2, ("",): 1}
    assert (back.by, back.repeats, back.origin) == (("town",), 4, grouped.origin)
    assert dict(back.rows.rejected) == {Reason.OUTSIDE: 5}


def test_origins_add_up_and_are_told_under_their_names() -> None:
    one, two = Origin(1, 20, 300, 4000), Origin(5, 60, 700, 8000)
    assert vars(one + two) == {"secure": 6, "simulated": 80, "unknown": 1000, "permanent": 12000}
    record = one.record
    assert {name: record[name] for name in vars(one)} == vars(one)
    for noise, name in zip(Noise, ("secure", "simulated", "permanent", "unknown"), strict=True):
        only = Origin.of(noise, 3)
        assert getattr(only, name) == only.total == 3
        assert only.noise is noise
        assert only.record["noise"] == str(noise)


# Metadata, outboxes, tokens, surveys of a store.


def test_metadata_are_read_back_from_every_kind_of_file(tmp_path: Path) -> None:
    for kind, order, noise in (
        ("csv", "kept", Noise.SECURE),
        ("jsonl.gz", "shuffled", Noise.UNKNOWN),
        ("parquet", "kept", Noise.PERMANENT),
    ):
        path = tmp_path / f"r.{kind}"
        cf.write_reports(path, [3, 4, 4], AGES, noise=noise, keep_order=order == "kept")
        found = read_metadata(path)
        assert found is not None
        expected: dict[str, Any] = {
            "survey": AGES.text(),
            "fingerprint": AGES.fingerprint,
            "mechanism": repr(AGES.mechanism),
        }
        expected |= {"columns": (("report", "integer"),), "noise": noise, "order": order, "reports": 3}
        assert {name: getattr(found, name) for name in expected} == expected
        found.check(str(path), kind)
        full = replace(found, kept=("town", "wéek"), sha256="0" * 64, by="wéek", repeats=3)
        is_full(full)
        assert parts(Metadata.from_record(json.loads(full.to_json()))) == parts(full)
        others: dict[str, Any] = {"order": "shuffled" if order == "kept" else "kept", "noise": Noise.SEEDED}
        others |= {
            "columns": (("other", "string"),),
            "kept": ("town",),
            "reports": 7,
            "size": 7,
            "by": "town",
            "repeats": 5,
        }
        for one in fields(full):
            changed = replace(full, **{one.name: others.get(one.name, "x")})
            assert changed.to_json() != full.to_json(), one.name


def test_an_outbox_is_opened_as_it_was_filled(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("age\n" + "3\n" * 25)
    filled, _ = Outbox.fill(tmp_path / "box", ages(), tmp_path / "v.csv", to="http://x:1", batch_size=10)
    is_full(filled)
    opened = Outbox.open(tmp_path / "box", ages(), "http://x:1/")
    assert opened is not None
    assert asdict(opened) == asdict(filled)
    assert (opened.messages, opened.reports, opened.to) == (3, 25, "http://x:1")


def test_surveys_and_tokens_of_a_store_are_read_back(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "s.db"))
    store.add_survey(AGES)
    first = store.add_survey(OTHER, "token", is_simulated=True)
    assert first == StoredSurvey(2, OTHER.fingerprint, OTHER.to_json(), "token", False, True)
    store.admit(OTHER.fingerprint, "open")
    store.close_survey(OTHER.fingerprint)
    assert store.surveys()[1] == replace(first, admission="open", is_closed=True)
    assert store.surveys()[0] == StoredSurvey(1, AGES.fingerprint, AGES.to_json(), "open", False, False)
    _, secret = make_token(store, "read", "alice", AGES.fingerprint)
    token = StoredToken("alice", "read", AGES.fingerprint, digest_secret(secret))
    store.close()
    for url in (f"{tmp_path}/s.db", f"sqlite:///{tmp_path}/s.db"):
        again = open_store(url)
        assert again.tokens() == [token]
        again.close()


# Records: what stands under a name is what is called so.


def told(value: Any) -> Any:
    """Return a thing as JSON has it."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Enum):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {name: told(one) for name, one in asdict(value).items()}
    if isinstance(value, tuple | list):
        return [told(one) for one in value]
    return dict(value) if isinstance(value, Mapping) else value


def agree(record: Mapping[str, Any], thing: Any, *but: str) -> list[str]:
    """Check that whatever a record and a thing both have a name for is the same, and return the names."""
    same = [name for name in record if hasattr(thing, name) and not callable(getattr(thing, name)) and name not in but]
    for name in same:
        expected = told(getattr(thing, name))
        assert told(record[name]) == (expected if expected != "" else record[name]), name
    return same


COUNTS = cf.tally([2] * 40 + [3] * 90 + [4] * 200 + [7] * 120 + [11] * 60).with_repeats(2)


@pytest.fixture(scope="module")
def answer() -> cf.estimates.Estimate:
    return cf.estimate(COUNTS, AGES.mechanism, cf.MLE())


def records_of(answer: cf.estimates.Estimate) -> Iterator[tuple[str, Mapping[str, Any], Any, int]]:
    """Return records, what each is of, and how many names they have in common at least."""
    windows = answer.windows(error=0.125, level=0.75, name="age")
    asked = answer.query("age >= 4", 0.625, name="age").among(3, 0.875)
    band = answer.interval(0.6875)
    yield "windows", records.plain(windows), windows, 2
    yield "answer", records.answer_record(asked), asked, 6
    yield "studio's answer", studio_answers.answer_record(asked, "age"), asked, 4
    for one, record, studios in zip(
        windows.answers, records.plain(windows)["windows"], studio_answers.window_records(windows), strict=True
    ):
        yield "window", record, one, 5
        yield "studio's window", studios, one, 3
    yield "band", records.plain(band), band, 3
    yield "fit", records.plain(answer.fit), answer.fit, 4
    assert answer.uniformity is not None
    yield "uniformity", records.plain(answer.uniformity), answer.uniformity, 4
    yield "finding", records.plain(answer.identification), answer.identification, 4
    yield "prediction", prediction_record(given().prediction), given().prediction, 4
    outcome = cf.assess(COUNTS, AGES.mechanism, cf.MLE(), truth=np.full(10, 0.1))
    whole = records.estimate_record(AGES, COUNTS, outcome)
    yield "estimate", whole, outcome.estimate, 5
    yield "outcome", whole, outcome, 2
    yield "survey", whole["survey"], AGES, 2
    yield "mechanism", whole["mechanism"], AGES.mechanism, 1


def test_names_in_records_stand_for_what_is_called_so(answer: cf.estimates.Estimate) -> None:
    for kind, record, thing, fewest in records_of(answer):
        but: tuple[str, ...] = (
            "method",
            "identification",
            "fit",
            "shape",
            "uniformity",
            "alphabet",
            "mechanism",
            "words",
            "explanation",
            "windows",
            "seconds",
            "certificate",
        )
        but += ("repeats",) if kind == "estimate" else ()
        assert len(agree(record, thing, *but)) >= fewest, (kind, list(record))


def test_the_error_of_inversion_is_told_by_itself_and_times_the_reports() -> None:
    for repeats in (1, 2):  # of people who reported twice, half of the reports count
        diagnosis = cf.diagnose(COUNTS.with_repeats(repeats), AGES.mechanism, name="age")
        told = records.diagnosis_record(AGES, diagnosis)["inversion"]
        assert told["mean_squared_error"] == diagnosis.inversion.mean_squared
        assert told["mean_squared_error_times_reports"] == pytest.approx(510 / repeats * told["mean_squared_error"])
        assert told["mean_squared_error"] > 0


def test_a_table_of_an_attribute_has_every_value_its_window_and_the_ends_of_that(answer: cf.estimates.Estimate) -> None:
    windows = answer.windows(error=0.125, level=0.75, name="age")
    header, *rows = csv.reader(records.margin_csv("age", answer, windows).splitlines())
    assert header == ["age", "probability", "window", "share", "low", "high"]
    found = [dict(zip(header, row, strict=True)) for row in rows]
    assert [float(row["probability"]) for row in found] == answer.distribution.tolist()
    assert [int(row["age"]) for row in found] == list(range(2, 12))
    for label, members, one in zip(windows.labels, windows.members, windows.answers, strict=True):
        for row in (found[place] for place in members.tolist()):
            assert row["window"] == label
            assert [float(row[end]) for end in ("share", "low", "high")] == [one.estimate, one.low, one.high]
    alone = list(csv.reader(records.margin_csv("age", answer, None).splitlines()))
    assert alone == [row[:2] for row in [header, *rows]]


@pytest.mark.parametrize("name", examples.FINITE)
@pytest.mark.parametrize("key", ["promise", "alphabet", "guarantee", "name"])
def test_a_mechanisms_table_has_its_own_settings_and_nothing_that_follows_from_them(name: str, key: str) -> None:
    text = examples.survey(examples.FINITE[name]).text()
    assert text.count("[mechanism]\n") == 1
    with pytest.raises(SurveyError, match=f"unknown key {key!r}|lacks|needs a table|must be"):
        parse_survey(text.replace("[mechanism]\n", f"[mechanism]\n{key} = 1\n"))
