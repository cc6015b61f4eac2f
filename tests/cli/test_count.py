"""confide count and confide merge: what is shown, what is written, and what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import SURVEY, Call, assert_refused

pyarrow = pytest.importorskip("pyarrow", reason="counting needs the extra confide[counting]")
parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("duckdb", reason="counting needs the extra confide[counting]")

BAD = "report,town\n3,Oslo\nx,Rome\n4,Rome\n70,Oslo\n,Rome\n3,Oslo\n"


@pytest.mark.slow
def test_the_whole_path(call: Call, folder: Path) -> None:
    """Privatize, count, merge, estimate, as the README has it, and the same answer as from the reports themselves."""
    for seed, town in (("1", "north"), ("2", "south")):
        assert call("privatize", "survey.toml", "values.csv", "-o", f"{town}.csv", "--seed", seed).code == 0
        assert call("count", "survey.toml", f"{town}.csv", "-o", f"{town}.parquet").code == 0
    assert call("merge", "north.parquet", "south.parquet", "-o", "all.parquet").code == 0
    north, south = ((folder / f"{town}.csv").read_text() for town in ("north", "south"))
    (folder / "all.csv").write_text(north + south.removeprefix("report\n"))
    counted, read = (call("estimate", "survey.toml", name, "--json").record for name in ("all.parquet", "all.csv"))
    assert counted["reports"] == read["reports"] == 400
    np.testing.assert_allclose(counted["distribution"], read["distribution"], rtol=1e-12)


def test_every_row_is_accounted_for(call: Call, folder: Path) -> None:
    (folder / "bad.csv").write_text(BAD)
    ending = call("count", "survey.toml", "bad.csv", "-o", "c.parquet")
    assert ending.code == 0
    assert "6 rows read = 3 accepted + 3 rejected" in ending.out
    assert "bad.csv, line 3: 'x' (not a number)" in ending.err
    assert parquet.read_table("c.parquet").to_pylist() == [{"report": 3, "count": 2}, {"report": 4, "count": 1}]


def test_rejects_are_kept(call: Call, folder: Path) -> None:
    (folder / "bad.csv").write_text(BAD)
    assert call("count", "survey.toml", "bad.csv", "-o", "c.csv", "--rejects", "r.csv").code == 0
    assert list(csv.reader((folder / "r.csv").read_text().splitlines())) == [
        ["file", "line", "text", "reason"],
        ["bad.csv", "3", "x", "not a number"],
        ["bad.csv", "5", "70", "outside the alphabet"],
        ["bad.csv", "6", "", "missing"],
    ]
    assert (folder / "c.csv").read_text() == "report,count\n3,2\n4,1\n"


def test_strict_stops_and_writes_nothing(call: Call, folder: Path) -> None:
    (folder / "bad.csv").write_text(BAD)
    ending = call("count", "survey.toml", "bad.csv", "-o", "c.parquet", "--strict")
    assert_refused(ending, 4, "3 of 6 rows", "bad.csv, line 3: 'x' (not a number)")
    assert not (folder / "c.parquet").exists()


def test_json(call: Call, folder: Path) -> None:
    (folder / "bad.csv").write_text(BAD)
    record = call("count", "survey.toml", "bad.csv", "-o", "c.parquet", "--by", "town", "--json").record
    assert record["reports"] == 3
    assert record["groups"] == 2
    assert record["rows"] == {
        "read": 6,
        "accepted": 3,
        "rejected": 3,
        "reasons": {"missing": 1, "not a number": 1, "outside the alphabet": 1},
    }


def test_nothing_but_reports_and_groups_is_copied(call: Call, folder: Path) -> None:
    (folder / "r.csv").write_text("who,when,town,report\nAnn,2026-01-01T10:00,Oslo,3\nBob,2026-01-02T11:00,Rome,4\n")
    assert call("count", "survey.toml", "r.csv", "-o", "c.parquet", "--by", "town").code == 0
    table = parquet.read_table("c.parquet")
    assert table.column_names == ["town", "report", "count"]
    assert not [word for word in ("Ann", "2026", "Bob") if word.encode() in (folder / "c.parquet").read_bytes()]


def test_the_sql_is_printed_and_runs_elsewhere(call: Call, folder: Path) -> None:
    import duckdb

    text = call("count", "survey.toml", "reports.csv", "--engine", "sql").out
    assert "GROUP BY part0" in text
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE reports AS SELECT unnest(['3', '3', 'x']) AS part0")
        rows = connection.execute(text).fetchall()
    assert sorted(str(row[0]) for row in rows) == ["accepted", "not a number"]
    assert "part0: report (integer)" in call("count", "survey.toml", "--engine", "sql").out


def test_a_pipe(call: Call, folder: Path) -> None:
    assert call("count", "survey.toml", "-", "-o", "c.csv", stdin="report\n3\n3\n").code == 0
    assert (folder / "c.csv").read_text() == "report,count\n3,2\n"
    assert_refused(call("count", "survey.toml", "-", "-o", "d.csv", stdin="report\nx\n"), 4, "standard input")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["reports.csv"], 2, ["-o"]),
        (["-o", "c.parquet"], 2, ["Name the reports"]),
        (["reports.csv", "-o", "c.xlsx"], 2, [".parquet"]),
        (["reports.csv", "-o", "reports.csv"], 2, ["also an input"]),
        (["no.csv", "-o", "c.parquet"], 4, ["no file 'no.csv'"]),
        (["reports.csv", "-o", "no/c.parquet"], 4, ["no folder"]),
        (["reports.csv", "-o", "c.parquet", "--by", "city"], 4, ["no column 'city'"]),
        (["reports.csv", "-o", "c.parquet", "--by", "report"], 2, ["'report'"]),
        (["reports.csv", "-o", "c.parquet", "--column", "no"], 4, ["no column 'no'"]),
        (["reports.csv", "-o", "c.parquet", "--engine", "abacus"], 2, ["engine must be one of"]),
    ],
)
def test_wrong_usage(call: Call, folder: Path, arguments: list[str], code: int, words: list[str]) -> None:
    before = sorted(folder.iterdir())
    assert_refused(call("count", "survey.toml", *arguments), code, *words)
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("named", ["w*.csv", "weeks"])
def test_no_output_destroys_an_input_of_a_pattern_or_a_folder(call: Call, folder: Path, named: str) -> None:
    place = folder / "weeks" if named == "weeks" else folder
    place.mkdir(exist_ok=True)
    for week in (1, 2):
        (place / f"w{week}.csv").write_text(f"report\n{week}\n")
    before = sorted(folder.rglob("*"))
    for options in (["-o", str(place / "w1.csv")], ["-o", "c.parquet", "--rejects", str(place / "w2.csv")]):
        assert_refused(call("count", "survey.toml", named, *options), 2, "also an input")
    assert (place / "w1.csv").read_text() == "report\n1\n"
    assert (place / "w2.csv").read_text() == "report\n2\n"
    assert sorted(folder.rglob("*")) == before


def test_counts_in_the_folder_that_is_counted_may_be_written_anew(call: Call, folder: Path) -> None:
    (folder / "weeks").mkdir()
    (folder / "weeks" / "w1.csv").write_text("report\n3\n")
    for _ in range(2):
        assert call("count", "survey.toml", "weeks", "-o", "weeks/c.parquet").code == 0
    assert parquet.read_table("weeks/c.parquet").to_pylist() == [{"report": 3, "count": 1}]


def test_no_sum_destroys_an_input_of_a_pattern(call: Call, folder: Path) -> None:
    (folder / "other.csv").write_text("report\n3\n")
    for name in ("reports", "other"):
        assert call("count", "survey.toml", f"{name}.csv", "-o", f"n-{name}.parquet").code == 0
    before = (folder / "n-other.parquet").read_bytes()
    assert_refused(call("merge", "n-*.parquet", "-o", "n-other.parquet"), 2, "also an input")
    assert (folder / "n-other.parquet").read_bytes() == before


@pytest.mark.slow
def test_counts_of_another_survey_are_refused(call: Call, folder: Path) -> None:
    (folder / "other.toml").write_text(SURVEY.replace("1.0", "0.5"))
    assert call("count", "survey.toml", "reports.csv", "-o", "a.parquet").code == 0
    assert call("count", "other.toml", "reports.csv", "-o", "b.parquet").code == 0
    assert_refused(call("merge", "a.parquet", "b.parquet", "-o", "all.parquet"), 4, "different surveys", "--pool")
    assert_refused(call("estimate", "other.toml", "a.parquet"), 4, "another survey")
    assert call("merge", "a.parquet", "b.parquet", "-o", "all.parquet", "--pool").code == 0
    ending = call("estimate", "survey.toml", "all.parquet", "-o", "e.csv", "-v")
    assert ending.code == 0
    assert "of 2 surveys" in ending.out
    assert_refused(call("estimate", "survey.toml", "all.parquet", "-o", "e.html"), 2, "one survey")
    assert_refused(call("merge", "a.parquet", "reports.csv", "-o", "c.parquet"), 4, "reports.csv")
    assert_refused(call("merge", "a.parquet", "-o", "c.csv"), 2, ".parquet")


@pytest.mark.slow
def test_groups_in_csv_are_taken_together_and_it_says_so(call: Call, folder: Path) -> None:
    (folder / "g.csv").write_text("town,report\n" + "Oslo,3\nRome,4\n" * 20)
    assert "takes its groups together" in call("count", "survey.toml", "g.csv", "-o", "c.csv", "--by", "town").err
    assert "town of c.csv is not used" in call("estimate", "survey.toml", "c.csv").err
    told = " ".join(call("count", "survey.toml", "g.csv", "-o", "plain.csv").err.split())
    assert "plain.csv is CSV, and such counts carry neither the survey nor how the reports were made" in told
    assert "groups" not in told
    assert "not used" not in call("estimate", "survey.toml", "plain.csv").err


@pytest.mark.slow
def test_an_estimate_for_each_group(call: Call, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    towns = ("Oslo", "Rome", "<Bern>")
    rows = "".join(f"{towns[place % 3]},{(place * place) % 7 + place % 3}\n" for place in range(300))
    (folder / "g.csv").write_text("town,report\n" + rows)
    assert call("count", "survey.toml", "g.csv", "-o", "g.parquet", "--by", "town").code == 0
    ending = call("estimate", "survey.toml", "g.parquet", "-o", "e.csv", "-o", "e.json", "-o", "e.html")
    assert ending.code == 0
    assert "3 groups of 100 reports" in ending.out
    table = list(csv.DictReader((folder / "e.csv").read_text().splitlines()))
    assert [row["town"] for row in table] == [town for town in sorted(towns) for _ in range(10)]
    assert sum(float(row["probability"]) for row in table) == pytest.approx(3)
    alone = "report\n" + "".join(line.partition(",")[2] + "\n" for line in rows.splitlines() if line.startswith("Oslo"))
    (folder / "oslo.csv").write_text(alone)
    expected = call("estimate", "survey.toml", "oslo.csv", "--json").record["distribution"]
    found = [float(row["probability"]) for row in table if row["town"] == "Oslo"]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    page = (folder / "e.html").read_text()
    assert page.count("<svg ") - page.count('<svg class="forest"') == 3
    assert "&lt;Bern&gt;" in page
    assert "<Bern>" not in page
    assert json.loads((folder / "e.json").read_text())["groups"][1]["group"] == {"town": "Oslo"}
    assert_refused(call("estimate", "survey.toml", "g.parquet", "--truth", "values.csv"), 2, "--truth")


@pytest.mark.slow
def test_many_groups_by_the_default_are_said_to_take_long(
    call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "g.csv").write_text("town,report\n" + "".join(f"{'ab'[i % 2]},{i % 7}\n" for i in range(60)))
    call("count", "survey.toml", "g.csv", "--by", "town", "-o", "g.parquet")
    assert "--method ibu" not in call("estimate", "survey.toml", "g.parquet").err
    monkeypatch.setattr("confide.cli.estimate.MANY", 2)
    assert "--method ibu takes all of them together" in call("estimate", "survey.toml", "g.parquet").err
    assert "--method ibu" not in call("estimate", "survey.toml", "g.parquet", "--method", "ibu").err


@pytest.mark.slow
def test_reports_in_other_formats_are_estimated_from(call: Call, folder: Path) -> None:
    parquet.write_table(pyarrow.table({"report": [3, 4, 3, 70]}), "r.parquet")
    (folder / "r.jsonl").write_text('{"report": 3}\n{"report": 4}\n{"report": 3}\n')
    assert_refused(call("estimate", "survey.toml", "r.parquet"), 4, "1 of 4 rows", "'70'", "confide count")
    assert call("count", "survey.toml", "r.parquet", "-o", "counted.parquet").code == 0
    ending = call("estimate", "survey.toml", "counted.parquet", "--json")
    assert ending.record["distribution"] == call("estimate", "survey.toml", "r.jsonl", "--json").record["distribution"]


def test_privatize_takes_and_makes_parquet(call: Call, folder: Path) -> None:
    parquet.write_table(pyarrow.table({"age": [3, 4, None, 70], "name": list("abcd")}), "v.parquet")
    assert_refused(call("privatize", "survey.toml", "v.parquet", "-o", "r.parquet"), 4, "2 of 4 rows", "line 3")
    assert not (folder / "r.parquet").exists()
    assert call("privatize", "survey.toml", "v.parquet", "-o", "r.parquet", "--rejects", "rejects.csv").code == 0
    table = parquet.read_table("r.parquet")
    assert table.column_names == ["report"]
    assert table.num_rows == 2
    assert call("count", "survey.toml", "r.parquet", "-o", "c.parquet").code == 0


def test_counts_are_not_counted_again(call: Call, folder: Path) -> None:
    (folder / "in").mkdir()
    (folder / "in" / "r.csv").write_text("report\n3\n")
    assert call("count", "survey.toml", "in/r.csv", "-o", "in/c.parquet").code == 0
    told = "already counted; add counts up with confide merge"
    assert_refused(call("count", "survey.toml", "in/c.parquet", "-o", "d.csv"), 4, f"in/c.parquet is {told}")
    assert_refused(call("count", "survey.toml", "in/*", "-o", "d.csv"), 4, f"in/c.parquet is {told}")
    ending = call("count", "survey.toml", "in", "-o", "d.csv")
    assert ending.code == 0
    assert f"skipped 1 file ({told}): in/c.parquet" in " ".join(ending.err.split())
    assert (folder / "d.csv").read_text() == "report,count\n3,1\n"


def test_files_without_rows_are_told(call: Call, folder: Path) -> None:
    for name, text in (("a.csv", "report\n3\n"), ("b.csv", "report\n"), ("c.csv", "")):
        (folder / name).write_text(text)
    ending = call("count", "survey.toml", "a.csv", "b.csv", "c.csv", "-o", "d.csv")
    assert ending.code == 0
    assert "2 of 3 files held no rows: b.csv, c.csv" in " ".join(ending.err.split())


def test_messages_fit_what_was_asked(call: Call, folder: Path) -> None:
    (folder / "one.csv").write_text("report\n3\nx\n")
    ending = call("count", "survey.toml", "one.csv", "-o", "one-counts.csv")
    assert "Counted 1 report into" in ending.out
    assert "1 row was left out" in ending.err
    assert_refused(call("merge", "one-counts.csv", "-o", "m.parquet"), 4, "carry no survey", "-o counts.parquet")
    ending = call("count", "survey.toml", "one.csv", "-o", "c.csv", "--by", "nope")
    assert_refused(ending, 4, "no column 'nope'", "with --by")
    assert "--column" not in ending.err


def test_one_report_is_counted_in_the_singular(call: Call, folder: Path) -> None:
    (folder / "one.csv").write_text("report\n5\n")
    assert "1 different report\n" in call("count", "survey.toml", "one.csv", "-o", "one.parquet").out


@pytest.mark.slow
def test_links_in_a_circle_are_refused(call: Call, folder: Path) -> None:
    for name in ("loop", "loop.csv", "loop.parquet"):
        (folder / name).symlink_to(name)
    (folder / "r.csv").write_text("report\n3\n")
    for name in ("loop", "loop.csv", "loop.parquet"):
        for arguments in (
            ("estimate", "survey.toml", name),
            ("diagnose", "survey.toml", name),
            ("count", "survey.toml", name, "-o", "c.parquet"),
            ("count", "survey.toml", "r.csv", name, "-o", "c.parquet"),
            ("merge", name, "-o", "c.parquet"),
            ("privatize", "survey.toml", name, "-o", "out.csv"),
            ("estimate", "survey.toml", "r.csv", "--truth", name),
        ):
            ending = call(*arguments)
            assert ending.code == 4, (arguments, ending.err)
            assert name in ending.err
    for arguments in (
        ("count", "survey.toml", "r.csv", "-o", "loop.csv"),
        ("privatize", "survey.toml", "values.csv", "-o", "loop.csv"),
    ):
        assert_refused(call(*arguments), 4, "'loop.csv' cannot be written: it is a link that leads in a circle")
    assert (folder / "loop.csv").is_symlink()


@pytest.mark.parametrize("name", ["r.csv", "q.csv", "r.jsonl", "r.parquet"])
def test_weights_are_refused_wherever_they_stand(call: Call, folder: Path, name: str) -> None:
    """A fraction among the counts is a weight. Rows with one are not left out: that would change the answer."""
    rows = [(1, 2.0), (2, 1.5), (3, 4.0)]
    (folder / "r.csv").write_text("report,count\n" + "".join(f"{one},{weight}\n" for one, weight in rows))
    (folder / "q.csv").write_text("report,count\n" + "".join(f'"{one}",{weight}\n' for one, weight in rows))
    (folder / "r.jsonl").write_text("".join(f'{{"report": {one}, "count": {weight}}}\n' for one, weight in rows))
    columns = dict(zip(("report", "count"), map(list, zip(*rows, strict=True)), strict=True))
    parquet.write_table(pyarrow.table(columns), folder / "r.parquet")
    commands = [
        ("count", "survey.toml", name, "-o", "c.parquet"),
        ("estimate", "survey.toml", name),
        ("diagnose", "survey.toml", name),
    ]
    for arguments in commands:
        ending = call(*arguments)
        assert ending.code != 0, arguments
        said = " ".join(ending.err.split())
        assert "1 of 3 rows" in said
        assert "Weights are not people: taken for counts, they would make intervals too narrow" in said
        assert "confide count --weights COLUMN" in said
    assert not (folder / "c.parquet").exists()
