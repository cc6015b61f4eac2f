"""Weights in files: every reader sums them alike, counts files carry the sums, and merging adds them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.data.counting import merge_files
from confide.data.files import Account, GroupedCounts, read_counts, read_heading
from confide.errors import DataFileError, InvalidParameterError

pytest.importorskip("duckdb")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

SURVEY = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0), "age")
RNG = np.random.default_rng(1)
REPORTS = RNG.integers(0, 10, 300)
WEIGHTS = RNG.integers(0, 40, 300) / 8  # sums of these are exact
TOWNS = np.where(RNG.random(300) < 0.4, "Oslo", "Rome")
EXPECTED = cf.tally(REPORTS, weights=WEIGHTS)
ROWS = [*zip(REPORTS.tolist(), WEIGHTS.tolist(), TOWNS.tolist(), strict=True)]


def write(path: Path, rows: list[tuple[Any, ...]] = ROWS) -> Path:
    """Write rows in the format that the name says."""
    names = ("report", "w", "town")
    if path.name.endswith((".csv", ".csv.gz")):
        text = "\n".join(",".join(map(str, row)) for row in [names, *rows]) + "\n"
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))
    else:
        parquet.write_table(pyarrow.table([list(column) for column in zip(*rows, strict=True)], names=names), path)
    return path


@pytest.mark.parametrize("name", ["r.csv", "r.csv.gz", "r.jsonl", "r.parquet"])
def test_every_format_has_the_same_sums(tmp_path: Path, name: str) -> None:
    counts = cf.count(write(tmp_path / name), SURVEY, weights="w")
    assert counts == EXPECTED
    assert counts.rows.accepted == 300


def test_quoted_and_spread_files_and_tables(tmp_path: Path) -> None:
    quoted = write(tmp_path / "q.csv", ROWS[:100])
    quoted.write_text(quoted.read_text().replace("Oslo", '"Oslo"'))
    both = [quoted, write(tmp_path / "p.parquet", ROWS[100:])]
    assert cf.count(both, SURVEY, weights="w") == EXPECTED
    table = parquet.read_table(write(tmp_path / "all.parquet"))
    assert cf.count(table, SURVEY, weights="w") == EXPECTED
    assert cf.count(table.to_pandas(), SURVEY, weights="w") == EXPECTED


def test_groups_have_their_own_sums(tmp_path: Path) -> None:
    found = cf.count(write(tmp_path / "r.csv"), SURVEY, by="town", weights="w")
    assert list(found) == [("Oslo",), ("Rome",)]
    for town in ("Oslo", "Rome"):
        here = town == TOWNS
        assert found[town,] == cf.tally(REPORTS[here], weights=WEIGHTS[here])
    assert found.merged == EXPECTED


def test_a_count_multiplies_the_weight_of_a_row(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("report,count,w\n3,2,1.5\n3,1,2\n4,3,0.5\n")
    assert cf.count(path, SURVEY, weights="w") == cf.tally([3, 3, 4], counts=[2, 1, 3], weights=[1.5, 2, 0.5])
    # A column of weights may be called count, if it is named as that of the weights.
    path.write_text("report,count\n3,1.5\n3,2\n4,0.5\n")
    assert cf.count(path, SURVEY, weights="count") == cf.tally([3, 3, 4], weights=[1.5, 2, 0.5])
    with pytest.raises(DataFileError, match="confide count --weights COLUMN"):
        cf.count(path, SURVEY)


def by_town(path: Path) -> dict[tuple[str, ...], cf.Counts]:
    """Load a file of counts by group."""
    found = cf.load_counts(path)
    assert isinstance(found, GroupedCounts)
    return dict(found)


def test_files_of_counts_carry_the_sums_and_merge_by_adding(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole.parquet", []
    cf.save_counts(whole, cf.count(write(tmp_path / "r.csv"), SURVEY, by="town", weights="w"), SURVEY)
    assert by_town(whole) == dict(cf.count(tmp_path / "r.csv", SURVEY, by="town", weights="w"))
    for number, some in enumerate((ROWS[:120], ROWS[120:])):
        parts.append(tmp_path / f"{number}.parquet")
        counts = cf.count(write(tmp_path / f"{number}.csv", some), SURVEY, by="town", weights="w")
        cf.save_counts(parts[-1], counts, SURVEY)
    merge_files(parts, tmp_path / "sum.parquet")
    assert by_town(tmp_path / "sum.parquet") == by_town(whole)
    assert read_heading(tmp_path / "sum.parquet").columns == ("town", "report", "count", "weights", "squares")


def test_pools_keep_the_weights_of_each_survey(tmp_path: Path) -> None:
    other, paths = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=2.0), "age"), []
    for number, survey in enumerate((SURVEY, other)):
        paths.append(tmp_path / f"{number}.parquet")
        cf.save_counts(paths[-1], cf.tally(REPORTS + 0, weights=WEIGHTS + number), survey)
    merge_files(paths, tmp_path / "pool.parquet", is_pool=True)
    (pool,) = read_counts(tmp_path / "pool.parquet").pools.values()
    assert [counts for counts, _ in pool] == [EXPECTED, cf.tally(REPORTS, weights=WEIGHTS + 1)]


def test_weighted_and_plain_files_do_not_add_up(tmp_path: Path) -> None:
    cf.save_counts(tmp_path / "w.parquet", EXPECTED, SURVEY)
    cf.save_counts(tmp_path / "u.parquet", EXPECTED.unweighted, SURVEY)
    with pytest.raises(DataFileError, match=r"counts in \S*w.parquet are weighted and those in \S*u.parquet are not"):
        merge_files([tmp_path / "u.parquet", tmp_path / "w.parquet"], tmp_path / "x.parquet")
    groups: dict[tuple[str, ...], cf.Counts] = {("a",): EXPECTED, ("b",): EXPECTED.unweighted}
    mixed = GroupedCounts(("town",), groups, Account(600))
    with pytest.raises(InvalidParameterError, match="Some of these groups have weights"):
        cf.save_counts(tmp_path / "m.parquet", mixed, SURVEY)


def test_weighted_counts_go_into_parquet_alone(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match=r"should end in \.parquet"):
        cf.save_counts(tmp_path / "w.csv", EXPECTED, SURVEY)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("3,1\n4,-2\n5,\n6,x\n", "3 of 4 rows have no usable weight in column 'w', such as '-2', 'x' and ''"),
        ("3,1\n4,1e99\n", r"1 of 2 rows have no usable weight .*between 1e-09 and 1e\+09"),
        ("3,0\n4,0\n", "All weights in column 'w' are 0"),
    ],
)
@pytest.mark.parametrize("name", ["r.csv", "r.jsonl"])
def test_unusable_weights_are_errors(tmp_path: Path, rows: str, words: str, name: str) -> None:
    path = tmp_path / name
    if name == "r.csv":
        path.write_text(f"report,w\n{rows}")
    else:
        split = [line.split(",") for line in rows.splitlines()]
        path.write_text("".join(json.dumps({"report": a, "w": b}) + "\n" for a, b in split))
    with pytest.raises(DataFileError, match=words):
        cf.count(path, SURVEY, weights="w")


def test_a_rejected_row_needs_no_weight(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("report,w\n3,1.5\n70,\n")
    counts = cf.count(tmp_path / "r.csv", SURVEY, weights="w")
    assert (counts.weight, counts.rows.total_rejected) == (1.5, 1)


@pytest.mark.parametrize(
    ("weights", "words"), [("report", "what people reported"), ("town", "names a group"), ("q", "no column")]
)
def test_a_column_of_something_else_is_refused(tmp_path: Path, weights: str, words: str) -> None:
    with pytest.raises(DataFileError, match=words):
        cf.count(write(tmp_path / "r.csv"), SURVEY, by="town", weights=weights)


def test_sums_that_no_weights_have_are_damage(tmp_path: Path) -> None:
    path = tmp_path / "w.parquet"
    cf.save_counts(path, EXPECTED, SURVEY)
    table = parquet.read_table(path)
    squares = table.column("squares").to_numpy() / 100
    changed = table.set_column(table.schema.get_field_index("squares"), "squares", [squares])
    parquet.write_table(changed.replace_schema_metadata(table.schema.metadata), path)
    with pytest.raises(DataFileError, match="weights add up to"):
        cf.load_counts(path)


def test_permanent_noise_counts_files_by_group_and_not_by_weight(tmp_path: Path) -> None:
    survey = cf.Survey(SURVEY.mechanism, "age", is_permanent=True)
    for number in range(2):
        write(tmp_path / f"{number}.csv", ROWS[number * 150 : number * 150 + 150])
    found = cf.count([tmp_path / "0.csv", tmp_path / "1.csv"], survey, by="town", weights="w")
    assert found.merged == EXPECTED


def test_strata_and_clusters_go_with_the_counts(tmp_path: Path) -> None:
    rows = [(*row[:2], f"{row[2]}, v{number % 12}") for number, row in enumerate(ROWS)]
    lines = [f"{one},{weight},{town[:4]},{town[6:]}" for one, weight, town in rows]
    head = "report,w,region,village\n"
    for name, some in (("all.csv", lines), ("0.csv", lines[:130]), ("1.csv", lines[130:])):
        (tmp_path / name).write_text(head + "\n".join(some) + "\n")
    design: dict[str, Any] = {"weights": "w", "strata": "region", "clusters": "village"}
    whole = cf.count(tmp_path / "all.csv", SURVEY, **design)
    villages = [line.split(",")[3] for line in lines]
    assert whole == cf.tally(REPORTS, weights=WEIGHTS, strata=TOWNS, clusters=villages)
    for number in range(2):
        cf.save_counts(tmp_path / f"{number}.parquet", cf.count(tmp_path / f"{number}.csv", SURVEY, **design), SURVEY)
    merge_files([tmp_path / "0.parquet", tmp_path / "1.parquet"], tmp_path / "sum.parquet")
    merged = cf.load_counts(tmp_path / "sum.parquet")
    assert isinstance(merged, cf.Counts)
    assert merged == whole
    answers = [cf.estimate(one, SURVEY.mechanism, cf.MLE()).mean() for one in (whole, merged)]
    assert (answers[0].low, answers[0].high) == pytest.approx((answers[1].low, answers[1].high), abs=1e-9)
    assert read_heading(tmp_path / "sum.parquet").columns[:3] == ("strata", "clusters", "report")


def test_a_design_without_weights_counts_everybody_once(tmp_path: Path) -> None:
    found = cf.count(write(tmp_path / "r.csv"), SURVEY, clusters="town")
    assert found == cf.tally(REPORTS, clusters=TOWNS)
    by_weight = cf.count(tmp_path / "r.csv", SURVEY, by="town", clusters="w")
    assert by_weight["Oslo",].blocks is not None
    with pytest.raises(InvalidParameterError, match=r"should end in \.parquet"):
        cf.save_counts(tmp_path / "w.csv", found, SURVEY)


def test_everybody_was_drawn_somewhere(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("report,village\n3,a\n4,\n70,\n")
    with pytest.raises(DataFileError, match="Column 'village' is empty in 1 of 3 rows"):
        cf.count(tmp_path / "r.csv", SURVEY, clusters="village")


def test_files_of_different_designs_do_not_add_up(tmp_path: Path) -> None:
    cf.save_counts(tmp_path / "a.parquet", cf.tally(REPORTS, weights=WEIGHTS, strata=TOWNS), SURVEY)
    cf.save_counts(tmp_path / "b.parquet", cf.tally(REPORTS + 0, weights=WEIGHTS + 1), SURVEY)
    with pytest.raises(DataFileError, match=r"is counted by strata, and .* by no stratum or cluster"):
        merge_files([tmp_path / "a.parquet", tmp_path / "b.parquet"], tmp_path / "x.parquet")
