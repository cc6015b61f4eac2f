"""Edges of files: modes, rows set aside, crowds, formulas, and counts at their limits."""

from __future__ import annotations

import csv
import os
import stat
from pathlib import Path

import numpy as np
import pytest

import confide as cf
from confide.data.counting import read_reports
from confide.data.files import (
    Account,
    GroupedCounts,
    Reason,
    Reject,
    as_meant,
    as_shown,
    estimate_csv,
    estimate_file,
    groups_csv,
    privatize_file,
    read_counts,
    read_report_rows,
    read_values,
    save_counts,
    write_rejects,
    write_text,
)
from confide.data.files.sheets import LIMITS
from confide.errors import DataFileError
from confide.plans.guesses import as_guess
from confide.values.checks import MOST_PEOPLE

AGES = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=90.0), name="age")
"""So sharp that hardly any value moves: what comes out is what went in."""


@pytest.fixture
def open_umask() -> object:
    """A umask as most have it, under which a new file would be everybody's to read."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("open_umask")
@pytest.mark.parametrize(("before", "after"), [(None, 0o600), (0o600, 0o600), (0o640, 0o640), (0o644, 0o644)])
def test_rejected_rows_are_for_their_owner_alone(tmp_path: Path, before: int | None, after: int) -> None:
    (tmp_path / "v.csv").write_text("age\n3\n140\n")
    rejects = tmp_path / "x.csv"
    if before is not None:
        rejects.touch()
        rejects.chmod(before)
    privatize_file(tmp_path / "v.csv", tmp_path / "r.csv", AGES, rejects=rejects)
    assert mode(rejects) == after
    assert mode(tmp_path / "r.csv") == 0o644
    (tmp_path / "reports.csv").write_text("report\n3\n140\n")
    read_reports(tmp_path / "reports.csv", AGES, rejects=rejects)
    assert mode(rejects) == after


@pytest.mark.usefixtures("open_umask")
def test_a_file_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    write_text(path, "old")
    path.chmod(0o600)
    write_text(path, "new")
    assert (path.read_text(), mode(path)) == ("new", 0o600)


@pytest.mark.parametrize("name", ["r.csv", "r.csv.gz", "r.parquet"])
@pytest.mark.parametrize("survey", ["numbers", "cells"])
def test_without_one_usable_row_the_rejects_are_kept(tmp_path: Path, name: str, survey: str) -> None:
    pytest.importorskip("pyarrow")
    contract = AGES if survey == "numbers" else cf.Survey(cf.RandomizedResponse(cf.Grid(2, 3), 1.0), name="place")
    (tmp_path / "v.csv").write_text("age,row,column\n140,7,7\n150,8,8\n")
    with pytest.raises(DataFileError, match=r"None of the 2 rows of .*v\.csv can be used"):
        privatize_file(tmp_path / "v.csv", tmp_path / name, contract, rejects=tmp_path / "x.csv")
    assert not (tmp_path / name).exists()
    rows = list(csv.reader((tmp_path / "x.csv").read_text().splitlines()))
    assert [row[1:] for row in rows] == [
        ["line", "text", "reason"],
        ["2", "140" if survey == "numbers" else "7,7", "outside the alphabet"],
        ["3", "150" if survey == "numbers" else "8,8", "outside the alphabet"],
    ]


@pytest.mark.parametrize("count", [MOST_PEOPLE + 1, 2**53 - 1])
def test_a_crowd_is_refused_before_the_disk_is_full(tmp_path: Path, count: int) -> None:
    (tmp_path / "v.csv").write_text(f"age,count\n3,1\n4,{count}\n")
    with pytest.raises(DataFileError, match=r"more than 1,000,000,000 people.*split the file"):
        privatize_file(tmp_path / "v.csv", tmp_path / "r.csv", AGES)
    assert not (tmp_path / "r.csv").exists()


def test_a_count_that_floats_cannot_tell_apart_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text(f"age,count\n3,1\n4,{2**53 + 1}\n5,{2**53}\n")
    with pytest.raises(DataFileError, match=r"2 of 3 rows .*\n.*line 3: '4,9007199254740993' \(bad count\)"):
        privatize_file(tmp_path / "v.csv", tmp_path / "r.csv", AGES)


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("left", [True, False])
def test_every_person_keeps_their_own_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, left: bool
) -> None:
    """Wherever the column of counts stands, and wherever a part ends."""
    monkeypatch.setitem(vars(LIMITS), "largest_part", 4)
    values, counts = [3, 9, 4, 5, 0], [2, 1, 0, 4, 3]
    names = ("count", "age") if left else ("age", "count")
    columns = dict(zip(names, (counts, values) if left else (values, counts), strict=True))
    if form == "parquet":
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table(columns), tmp_path / "v.parquet")
    else:
        rows = zip(*columns.values(), strict=True)
        (tmp_path / "v.csv").write_text(",".join(names) + "\n" + "".join(f"{one},{other}\n" for one, other in rows))
    account = privatize_file(tmp_path / f"v.{form}", tmp_path / "r.csv", AGES).account
    assert sorted((tmp_path / "r.csv").read_text().split()[1:]) == sorted(map(str, np.repeat(values, counts)))
    assert (account.people, account.accepted, account.is_counted) == (10, 5, True)


FORMULAS = ["=1+1", "+a", "-b", "@c", "\td", "\re", "'=f", "''-g", "it's", "-5", "plain", "'", "=", "-", "'-5"]


def test_formulas_are_defused_and_come_back() -> None:
    for text in FORMULAS:
        shown = as_shown(text)
        assert as_meant(shown) == text
        assert shown == "-5" or not shown.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert len({as_shown(text) for text in FORMULAS}) == len(FORMULAS)
    assert (as_shown(-5), as_shown(-0.5), as_shown("-5"), as_shown("plain"), as_shown(None)) == (
        -5,
        -0.5,
        "-5",
        "plain",
        None,
    )


def test_estimates_in_csv_hold_no_formula_and_are_read_again(tmp_path: Path) -> None:
    words = cf.Categories(["=cmd()", "+a", "-5", "@b", "'=c", "plain"])
    survey = cf.Survey(cf.RandomizedResponse(words, 1.0), name="=name")
    counts = cf.tally([str(word) for word in words.values], [6, 5, 4, 3, 2, 9])
    answer = cf.estimate(counts, survey.mechanism, cf.IBU())
    text = estimate_csv(survey, answer)
    rows = list(csv.reader(text.splitlines()))
    assert [row[0] for row in rows] == ["'=name", "'=cmd()", "'+a", "-5", "'@b", "''=c", "plain"]
    (tmp_path / "guess.csv").write_text(text)
    guess = as_guess(tmp_path / "guess.csv", survey.mechanism, survey.name)
    np.testing.assert_array_equal(guess.distribution, answer.distribution)


def test_numbers_in_csv_stay_numbers() -> None:
    survey = cf.Survey(cf.TruncatedGeometric(cf.Integers(-5, 5), epsilon=1.0), name="change")
    answer = cf.estimate(cf.tally([-5, 3]), survey.mechanism, cf.IBU())
    assert estimate_csv(survey, answer).splitlines()[1].startswith("-5,")


def test_groups_in_csv_hold_no_formula(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    towns: dict[tuple[str, ...], cf.Counts] = {("=cmd()",): cf.tally([3, 5]), ("-7",): cf.tally([3])}
    save_counts(tmp_path / "c.parquet", GroupedCounts(("@town",), towns, Account(3)), AGES)
    table = groups_csv(estimate_file(read_counts(tmp_path / "c.parquet"), AGES, cf.IBU()))
    assert {line.split(",")[0] for line in table.splitlines()} == {"'@town", "'=cmd()", "-7"}


def test_rejects_hold_no_formula(tmp_path: Path) -> None:
    rejects = [Reject("=r.csv", 3, text, Reason.OUTSIDE) for text in ("=1", "-5", "-5,3", "x")]
    write_rejects(tmp_path / "x.csv", rejects)
    rows = list(csv.reader((tmp_path / "x.csv").read_text().splitlines()))[1:]
    assert [(row[0], row[2]) for row in rows] == [
        ("'=r.csv", "'=1"),
        ("'=r.csv", "-5"),
        ("'=r.csv", "'-5,3"),
        ("'=r.csv", "x"),
    ]


def test_files_for_machines_are_to_the_letter(tmp_path: Path) -> None:
    words = cf.Categories(["=cmd()", "'=c"])
    survey = cf.Survey(cf.RandomizedResponse(words, 90.0), name="word")
    (tmp_path / "v.csv").write_text("word\n=cmd()\n'=c\n")
    privatize_file(tmp_path / "v.csv", tmp_path / "r.csv", survey, keep_order=True)
    assert (tmp_path / "r.csv").read_text() == "report\n=cmd()\n'=c\n"
    assert read_report_rows(tmp_path / "r.csv", survey).values.tolist() == ["=cmd()", "'=c"]


def test_accounts_add_up() -> None:
    first = Account(3, {Reason.MISSING: 2}, (Reject("a", 1, "", Reason.MISSING),), "a.csv", ("age",), 3)
    second = Account(4, {Reason.MISSING: 1, Reason.OUTSIDE: 12}, (Reject("b", 1, "x", Reason.OUTSIDE),) * 12, "b.csv")
    both = first + second
    assert (both.read, both.accepted, both.total_rejected) == (22, 7, 15)
    assert both.rejected == {Reason.MISSING: 3, Reason.OUTSIDE: 12}
    assert both.reasons == "12 outside the alphabet, 3 missing"
    assert (len(both.first), both.source, both.columns) == (10, "a.csv", ("age",))
    assert both.listing.endswith("... and 5 more")
    assert sum([first, second], Account()) == both


def test_one_row_is_not_one_rows(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("age\n3\n")
    assert str(read_values(tmp_path / "v.csv", AGES).account) == "1 row read = 1 accepted + 0 rejected"
    (tmp_path / "v.csv").write_text("age\n30\n")
    with pytest.raises(DataFileError, match=r"1 of 1 row of .*v\.csv cannot be used"):
        read_values(tmp_path / "v.csv", AGES).account.require_usable()


def test_python_reads_what_the_command_line_reads(tmp_path: Path) -> None:
    """Counts, CSV, JSON lines, Parquet and pipes, each by the reader that fits."""
    pyarrow = pytest.importorskip("pyarrow")
    expected = cf.tally([3, 4, 3])
    (tmp_path / "r.csv").write_text("report\n3\n4\n3\n")
    (tmp_path / "r.jsonl").write_text('{"report": 3}\n{"report": 4}\n{"report": 3}\n')
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table({"report": [3, 4, 3]}), tmp_path / "r.parquet")
    save_counts(tmp_path / "c.parquet", expected, AGES)
    for name in ("r.csv", "r.jsonl", "r.parquet", "c.parquet"):
        found = cf.read_reports(tmp_path / name, AGES)
        assert (found.counts, found.account.accepted) == (expected, 3), name
        assert found.pool[0][1] == AGES.mechanism
    with pytest.raises(DataFileError, match="another survey"):
        cf.read_reports(tmp_path / "c.parquet", cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)))
