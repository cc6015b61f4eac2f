"""Files with pseudo-values: every column of the input, the same numbers as in Python, labels for SPSS and Stata."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import confide as cf
from confide.cli.main import app
from confide.data.files import unbias_file
from confide.errors import NotInvertibleError

AGES = cf.Survey(cf.Geometric(cf.Integers(0, 99, unit="year"), 0.5), "age", "Ages")
VOTES = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), 1.0), "vote", "Votes")


def write(path: Path, header: str, rows: list[str]) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    made = AGES.mechanism.privatize([30, 40, 70] * 20, rng=1).tolist()
    return write(tmp_path / "r.csv", "id,report,town,weight", [f"{i:03d},{x},Oslo,{i / 4}" for i, x in enumerate(made)])


def test_the_command_writes_what_python_says_beside_every_column(reports: Path) -> None:
    (reports.parent / "s.toml").write_text(AGES.text())
    asked = ["unbias", str(reports.parent / "s.toml"), str(reports), "--query", "mean", "--query", "age >= 65", "-o"]
    done = CliRunner().invoke(app, [*asked, str(reports.parent / "out.csv")])
    assert done.exit_code == 0, done.output
    with reports.open() as before, (reports.parent / "out.csv").open() as after:
        given, found = list(csv.DictReader(before)), list(csv.DictReader(after))
    assert [{name: row[name] for name in given[0]} for row in found] == given
    assert list(found[0]) == ["id", "report", "town", "weight", "age_mean", "age_ge_65"]
    numbers = [int(row["report"]) for row in given]
    for name, query in (("age_mean", "mean"), ("age_ge_65", "age >= 65")):
        assert [float(row[name]) for row in found] == pytest.approx(cf.unbias(numbers, AGES.mechanism, query))
        assert f"{name} " in done.output


@pytest.mark.parametrize("ending", [".sav", ".dta"])
def test_spss_and_stata_get_numbers_and_labels(tmp_path: Path, ending: str) -> None:
    program = pytest.importorskip("pyreadstat")
    made = VOTES.mechanism.privatize(["yes", "no", "no"] * 10, rng=1).tolist()
    path = write(tmp_path / "r.csv", "report,postal code,w", [f"{one},0{i},{i}.5" for i, one in enumerate(made)])
    unbias_file(path, tmp_path / f"out{ending}", VOTES, ["vote == yes"])
    frame, known = (program.read_sav if ending == ".sav" else program.read_dta)(str(tmp_path / f"out{ending}"))
    assert list(frame.columns) == ["report", "postal_code", "w", "vote_yes"]
    assert known.column_names_to_labels["vote_yes"] == "unbiased: vote == yes"
    assert known.column_names_to_labels["postal_code"] == "postal code"
    assert known.variable_value_labels["report"] == {1: "yes", 2: "no"}
    assert frame["report"].tolist() == [1 + (one == "no") for one in made]
    assert frame["postal_code"].tolist()[:2] == ["00", "01"]  # a code, not a number
    assert frame["w"].tolist()[:2] == [0.5, 1.5]
    assert frame["vote_yes"].tolist() == pytest.approx(cf.unbias(made, VOTES.mechanism, "vote == yes"))


def test_parquet_in_and_out_keeps_types_and_counts(tmp_path: Path) -> None:
    parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    table = arrow.table({"week": [1, 2, 2], "report": [30, 31, 29], "count": [5, 1, 2], "town": ["a", None, "b"]})
    parquet.write_table(table, tmp_path / "r.parquet")
    done = unbias_file(tmp_path / "r.parquet", tmp_path / "o.parquet", AGES, ["mean"])
    found = parquet.read_table(tmp_path / "o.parquet")
    assert found.drop_columns(["age_mean"]).to_pydict() == table.to_pydict()
    assert found["age_mean"].to_pylist() == pytest.approx([30, 31, 29])
    (column,) = done.columns
    assert column.mean == pytest.approx((30 * 5 + 31 + 29 * 2) / 8)  # over people, not rows
    assert column.error == pytest.approx(np.std([30] * 5 + [31, 29, 29], ddof=1) / np.sqrt(8))


def test_unusable_rows_are_refused_or_set_aside(tmp_path: Path) -> None:
    path = write(tmp_path / "r.csv", "report,town", ["30,a", "x,b", "40,c"])
    with pytest.raises(cf.ConfideError, match="not a number"):
        unbias_file(path, tmp_path / "out.csv", AGES, ["mean"])
    assert not (tmp_path / "out.csv").exists()
    unbias_file(path, tmp_path / "out.csv", AGES, ["mean"], rejects=tmp_path / "x.csv")
    assert [line.split(",")[1] for line in (tmp_path / "out.csv").read_text().splitlines()] == ["town", "a", "c"]


@pytest.mark.parametrize(
    ("output", "queries", "words"),
    [
        ("out.xlsx", ["mean"], "should end in"),
        ("out.csv", [], "Ask a question"),
        ("out.csv", ["agee >= 3 and"], "cannot be read"),
    ],
)
def test_what_cannot_be_written_is_refused_first(reports: Path, output: str, queries: list[str], words: str) -> None:
    with pytest.raises(cf.ConfideError, match=words):
        unbias_file(reports, reports.parent / output, AGES, queries)


def test_where_no_unbiased_value_exists_nothing_is_written(tmp_path: Path) -> None:
    one_bit = cf.Survey(cf.OneBitMean(cf.Integers(0, 9), 1.0), "visits")
    path = write(tmp_path / "r.csv", "report", ["0", "1"])
    with pytest.raises(NotInvertibleError, match="No unbiased value exists for 'visits >= 5'"):
        unbias_file(path, tmp_path / "out.csv", one_bit, ["mean", "visits >= 5"])
    assert not (tmp_path / "out.csv").exists()
    # Its mean is identified, and has one.
    assert unbias_file(path, tmp_path / "out.csv", one_bit, ["mean"]).columns[0].name == "visits_mean"


def test_columns_never_clash(tmp_path: Path) -> None:
    path = write(tmp_path / "r.csv", "report,AGE_mean", ["30,1"])
    done = unbias_file(path, tmp_path / "out.csv", AGES, ["mean", "age < 5", "age <= 5", "age in 1..2"])
    assert [one.name for one in done.columns] == ["age_mean_2", "age_lt_5", "age_le_5", "age_in_1_2"]
