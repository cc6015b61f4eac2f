"""confide against plain.py, which does all of it in dictionaries and loops, on random surveys and groups."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.collector.asking import serving
from tests.oracles import plain
from tests.oracles.plain import Binned, Key, Named, Table, Whole

import confide as cf
from confide.collector.stores import Store, open_store
from confide.data.counting import merge_files, read_reports
from confide.data.files import estimate_file, read_counts, report_columns
from confide.data.files.records import GroupAnswers, SurveyGroups, ask_groups, groups_csv, groups_record
from confide.present.pages import groups_page

pytest.importorskip("duckdb", reason="counting needs the extra confide[counting]")

SIZES = {("Oslo",): 501, ("Bern",): 128, ("Rome",): 37, ("Goma",): 3}
"""Groups of unlike size, across the edges of batches and bytes."""


@dataclass(frozen=True)
class Case:
    """A survey, and the same in plain words: parts, and a probability of each report for each value."""

    survey: cf.Survey
    parts: tuple[Any, ...]
    raws: Callable[[random.Random], Any]

    @property
    def columns(self) -> list[str]:
        return list(report_columns(self.survey))

    @property
    def reports(self) -> list[tuple[Any, ...]]:
        """All reports in order; the last attribute runs fastest."""
        if len(self.parts) == 1:
            return [(value,) for value in self.parts[0].values]
        return [(one, other) for one in self.parts[0].values for other in self.parts[1].values]

    @property
    def matrix(self) -> list[list[float]]:
        mechanism = self.survey.mechanism
        each = mechanism.mechanisms if isinstance(mechanism, cf.Product) else (mechanism,)
        rows = [[plain.normalised(one.weights(x)) for x in range(one.alphabet.size)] for one in each]
        return rows[0] if len(rows) == 1 else plain.joint(*rows)

    def seen(self, table: Table) -> list[int]:
        return [table.get(report, 0) for report in self.reports]


def cases() -> dict[str, Case]:
    names, edges = ("red", "sky blue", "it's", "rest"), (10.0, 20.0, 50.0)
    ages, colours = cf.Integers(-3, 2), cf.Categories(names, other="rest")
    far = cf.Integers(2**15 - 3, 2**15 + 2)
    geometric, response = cf.TruncatedGeometric(ages, 0.7), cf.RandomizedResponse(colours, 1.2)
    bins = cf.Bins(edges=edges, below=True, above=True)
    both = cf.Product(age=geometric, colour=response)
    whole, named = Whole(-3, 2), Named(names, "rest")
    return {
        "numbers": Case(cf.Survey(geometric, "age"), (whole,), lambda draw: draw.randint(-3, 2)),
        "far": Case(
            cf.Survey(cf.TruncatedGeometric(far, 0.7), "age"),
            (Whole(2**15 - 3, 2**15 + 2),),
            lambda draw: draw.randint(2**15 - 3, 2**15 + 2),
        ),
        "names": Case(cf.Survey(response, "colour"), (named,), lambda draw: draw.choice([*names, "blue"])),
        "bins": Case(
            cf.Survey(cf.RandomizedResponse(bins, 1.0), "income"),
            (Binned(edges),),
            lambda draw: draw.choice([*edges, -5, 9.99, 19.99, 20.01, 1e6]),
        ),
        "both": Case(
            cf.Survey(both, "both"), (whole, named), lambda draw: (draw.randint(-3, 2), draw.choice([*names, "pink"]))
        ),
    }


CASES = cases()


def rows_of(case: Case, seed: int) -> list[dict[str, Any]]:
    """Return made-up reports of all groups, in a random order, some of them with a count."""
    draw = random.Random(seed)  # noqa: S311 (a test)
    rows = []
    for (town,), size in SIZES.items():
        favourite = draw.choice(case.reports)
        for _ in range(size):
            report = favourite if draw.random() < 0.3 else draw.choice(case.reports)
            rows.append(
                {"town": town} | dict(zip(case.columns, report, strict=True)) | {"count": draw.choice([1, 1, 130])}
            )
    draw.shuffle(rows)
    return rows


def as_table(counts: cf.Counts) -> Table:
    reports = counts.reports.reshape(counts.counts.size, -1).tolist()
    return {tuple(report): int(number) for report, number in zip(reports, counts.counts.tolist(), strict=True)}


def as_tables(counts: Any) -> dict[Key, Table]:
    return {key: as_table(one) for key, one in counts.items()}


@pytest.mark.parametrize("name", CASES)
def test_values_are_taken(name: str) -> None:
    case, draw = CASES[name], random.Random(7)  # noqa: S311 (a test)
    raws = [case.raws(draw) for _ in range(60)]
    alphabet = case.survey.alphabet
    found = alphabet.encode(alphabet.take(raws)).tolist()
    if len(case.parts) == 1:
        assert found == [case.parts[0].number(raw) for raw in raws]
    else:
        first, second = case.parts
        assert found == [first.number(a) * len(second.values) + second.number(b) for a, b in raws]


@pytest.mark.parametrize("name", CASES)
def test_files_are_counted_merged_and_kept(name: str, tmp_path: Path) -> None:
    case, rows = CASES[name], rows_of(CASES[name], 1)
    expected = plain.count(rows, case.columns, ["town"])
    everyone = plain.count(rows, case.columns)[()]
    for ending in ("csv", "jsonl", "parquet"):
        path = tmp_path / f"reports.{ending}"
        plain.write_rows(path, rows)
        assert as_tables(cf.count(path, case.survey, by="town")) == expected, ending
        assert as_table(cf.count(path, case.survey)) == everyone, ending
        found = read_reports(path, case.survey)
        assert as_table(found.counts) == everyone, ending
        assert found.account.accepted == len(rows)
    thirds = [rows[:7], rows[7:300], rows[300:]]
    paths = []
    for number, part in enumerate(thirds):
        plain.write_rows(tmp_path / f"part{number}.csv", part)
        counted = cf.count(tmp_path / f"part{number}.csv", case.survey, by="town")
        assert as_tables(counted) == plain.count(part, case.columns, ["town"])
        paths.append(tmp_path / f"counts{number}.parquet")
        cf.save_counts(paths[-1], counted, case.survey)
        assert as_tables(cf.load_counts(paths[-1], case.survey)) == as_tables(counted)
    merge_files(paths, tmp_path / "all.parquet")
    assert as_tables(cf.load_counts(tmp_path / "all.parquet")) == expected
    assert plain.merge(plain.count(part, case.columns, ["town"]) for part in thirds) == expected
    added = cf.merge(cf.count(tmp_path / f"part{number}.csv", case.survey) for number in range(3))
    assert as_table(added) == everyone


def grouped(case: Case, tmp_path: Path, seed: int) -> tuple[dict[Key, Table], SurveyGroups]:
    rows = rows_of(case, seed)
    plain.write_rows(tmp_path / "reports.parquet", rows)
    cf.save_counts(tmp_path / "c.parquet", cf.count(tmp_path / "reports.parquet", case.survey, by="town"), case.survey)
    groups = estimate_file(read_counts(tmp_path / "c.parquet"), case.survey, cf.MLE())
    return plain.count(rows, case.columns, ["town"]), groups


@pytest.mark.parametrize("name", ["numbers", "names", "both"])
def test_every_group_has_its_own_most_likely_distribution(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    expected, groups = grouped(case, tmp_path, 2)
    assert set(groups.estimates) == set(expected)
    for key, table in expected.items():
        shares = plain.most_likely(case.seen(table), case.matrix, 200 if name == "both" else 2000)
        ours = groups[key].distribution.tolist()
        best = plain.log_likelihood(shares, case.seen(table), case.matrix)
        assert plain.log_likelihood(ours, case.seen(table), case.matrix) >= best - 1e-6
        assert groups[key].log_likelihood >= best - 1e-6
        if name != "both":  # which expectation and maximization reaches slowly
            assert ours == pytest.approx(shares, abs=2e-3)
    sizes = {key: plain.total(table) for key, table in expected.items()}
    own = {key: one.distribution.tolist() for key, one in groups.items()}
    assert groups.reports == sizes
    assert groups.overall.tolist() == pytest.approx(plain.weighted(own, sizes))


@pytest.mark.parametrize("name", ["numbers", "names"])
def test_records_tables_and_pages_have_every_number_in_its_place(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    expected, groups = grouped(case, tmp_path, 3)
    query = "age >= 0" if name == "numbers" else 'colour = "red"'
    answers = GroupAnswers(ask_groups(groups, [query], 0.9))
    sizes = {key: plain.total(table) for key, table in expected.items()}
    record = json.loads(json.dumps(groups_record(groups, answers)))
    assert record["reports"] == sum(sizes.values())
    assert [tuple(one["group"].values()) for one in record["groups"]] == sorted(sizes)
    table = list(csv.DictReader(io.StringIO(groups_csv(groups, answers))))
    values = [value for (value,) in case.reports]
    assert [(row["town"], row[case.survey.name]) for row in table] == [
        (town, str(value)) for (town,) in sorted(sizes) for value in values
    ]
    link = re.search(r"base64,([^\"]+)\"", groups_page(groups, answers))
    assert link is not None
    download = {(row["town"],): row for row in csv.DictReader(io.StringIO(b64decode(link[1]).decode()))}
    for one in record["groups"]:
        key = tuple(one["group"].values())
        alone = cf.estimate(cf.tally(*_columns(expected[key])), case.survey.mechanism, cf.MLE())
        assert one["reports"] == sizes[key]
        assert one["distribution"] == pytest.approx(alone.distribution.tolist(), abs=1e-5)
        rows = [row for row in table if (row["town"],) == key]
        assert [float(row["probability"]) for row in rows] == one["distribution"]
        assert {float(row["reports"]) for row in rows} == {sizes[key]}
        assert float(download[key]["reports"]) == sizes[key]
        for place, question in enumerate(answers.questions):
            told = answers.questions[question][key]
            ends = [told.estimate, told.low, told.high]
            for row in (*rows, download[key]):
                assert [float(row[f"{question}{end}"]) for end in ("", " low", " high")] == ends
            assert one["answers"][place]["estimate"] == told.estimate
        assert len(one["answers"]) == len(answers.questions)
        if name == "numbers":  # from the group's own reports, and no other's
            middle = plain.mean(one["distribution"], values)
            assert told.low <= told.estimate <= told.high
            assert answers.questions["mean"][key].low <= middle <= answers.questions["mean"][key].high


def _columns(table: Table) -> tuple[list[Any], list[int]]:
    return [report[0] for report in table], list(table.values())


@pytest.fixture
def file_store(tmp_path: Path) -> Iterator[Store]:
    found = open_store(str(tmp_path / "store.db"))
    yield found
    found.close()


@pytest.mark.parametrize("name", CASES)
def test_the_collector_counts_the_same(name: str, file_store: Store) -> None:
    case, draw = CASES[name], random.Random(4)  # noqa: S311 (a test)
    expected: dict[Key, Table] = {}
    with serving(file_store, case.survey) as served:
        for size in (1, 500, 501, 3):
            reports = [draw.choice(case.reports) for _ in range(size)]
            sent = [list(report) if len(report) > 1 else report[0] for report in reports]
            reply = served.post(message := served.message(sent))
            assert (reply.status, reply.json["accepted"], reply.json["rejected"]) == (200, size, []), reply.body
            assert served.post(message).status == 200  # again, which counts nothing
            rows = [dict(zip(case.columns, report, strict=True)) for report in reports]
            expected = plain.merge([expected, plain.count(rows, case.columns)])
        kept = {_flat(json.loads(text)): number for text, number in served.counts().items()}
    assert kept == expected[()]


def _flat(report: Any) -> tuple[Any, ...]:
    return tuple(report) if isinstance(report, list) else (report,)


def test_a_group_is_compared_with_all_the_others_and_not_with_itself(tmp_path: Path) -> None:
    case, said = CASES["names"], 0
    for seed in range(4):
        expected, groups = grouped(case, tmp_path, seed)
        sizes = {key: plain.total(table) for key, table in expected.items()}
        own = {key: one.distribution.tolist() for key, one in groups.items()}
        for key in expected:
            others = plain.weighted(own, sizes, without=key)
            changes = [share - other for share, other in zip(own[key], others, strict=True)]
            largest = max(changes, key=abs)
            word, value = "more" if largest > 0 else "less", case.reports[changes.index(largest)][0]
            if groups.differences[key].is_different:
                said += 1
                assert groups.describe_difference(key) == f"differs from the others: {word} {value}"
    assert said > 4
