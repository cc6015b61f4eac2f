"""The same people written down in other ways: in files of any dialect, cut anywhere, counted or one by one, named in
any way, read in blocks of any size. Counts, accounts, rejected rows and reports are the same, whichever it is.
"""

from __future__ import annotations

import gzip
import itertools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.data.counting import open_ledger, read_reports
from confide.data.files import privatize_file, read_values
from confide.data.files.sheets import LIMITS, Account, Reason, Reject, Request
from confide.errors import ConfideError

pyarrow = pytest.importorskip("pyarrow", reason="counting needs the extra confide[counting]")
parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("duckdb", reason="counting needs the extra confide[counting]")

SHARP = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=90.0), "age", "Ages")
"""So sharp that hardly any value moves: what comes out is what went in."""

BINS = cf.Survey(cf.RandomizedResponse(cf.Bins(edges=(10.0, 20.0), below=True, above=True), 90.0), "pay", "Pay")

People = list[tuple[str, str]]
"""A town and what stands in the column of the report."""


def people(seed: int, size: int = 40, *, bad: bool = True) -> People:
    draw = random.Random(seed)  # noqa: S311 (a test)
    odd = ["x", "70", "", "2.5", "-1"] if bad else []
    return [(draw.choice(["Oslo", "Rome", "Goma"]), draw.choice([*map(str, range(10)), *odd])) for _ in range(size)]


# Dialects: the same rows as bytes.


def lines_of(rows: People, mark: str = ",", end: str = "\n", *, quoted: bool = False) -> str:
    shown = (lambda text: f'"{text}"') if quoted else str
    header = mark.join(map(shown, ("town", "report")))
    return end.join([header, *(mark.join(map(shown, row)) for row in rows)]) + end


def moved(rows: People, *, more: bool) -> str:
    """Columns in another order, and one more between them."""
    middle = [f"n{place}," if more else "" for place in range(len(rows))]
    header = "report,id,town" if more else "report,town"
    return "\n".join([header, *(f"{b},{m}{a}" for (a, b), m in zip(rows, middle, strict=True))]) + "\n"


DIALECTS: dict[str, Callable[[People], str]] = {
    "plain": lines_of,
    "semicolons": lambda rows: lines_of(rows, ";"),
    "tabs": lambda rows: lines_of(rows, "\t"),
    "Windows": lambda rows: lines_of(rows, end="\r\n"),
    "old Mac": lambda rows: lines_of(rows, end="\r"),
    "quoted": lambda rows: lines_of(rows, quoted=True),
    "a blank line above": lambda rows: "\n" + lines_of(rows),
    "three blank lines above": lambda rows: "\n\n\n" + lines_of(rows),
    "a name over two lines": lambda rows: lines_of(rows).replace("town", '"town\n"', 1),
    "names over four lines below a blank one": lambda rows: (
        "\n" + lines_of(rows).replace("town,report", '"\ntown\n","report\n"', 1)
    ),
    "a byte order mark": lambda rows: "\ufeff" + lines_of(rows),
    "columns moved": lambda rows: moved(rows, more=False),
    "one column more": lambda rows: moved(rows, more=True),
    "no line end at the end": lambda rows: lines_of(rows).removesuffix("\n"),
    "blank lines at the end": lambda rows: lines_of(rows) + "\n\n",
    "blanks around the names": lambda rows: lines_of(rows).replace("town,report", " town , report", 1),
    "blanks in quoted names": lambda rows: lines_of(rows).replace("town,report", '"town ",report ', 1),
}


def written(folder: Path, kind: str, rows: People, *, packed: bool = False) -> Path:
    """Write a file in a dialect."""
    text = DIALECTS[kind](rows).encode()
    path = folder / f"{kind.replace(' ', '-')}.csv{'.gz' if packed else ''}"
    path.write_bytes(gzip.compress(text) if packed else text)
    return path


def first_line(kind: str) -> int:
    """The line of the first row."""
    above = {"a blank line above": 1, "three blank lines above": 3, "a name over two lines": 1}
    return 2 + (above | {"names over four lines below a blank one": 4}).get(kind, 0)


def expected(files: list[tuple[str, People]]) -> tuple[dict[str, Counter[int]], list[tuple[int, str]]]:
    """Count by hand, and list what cannot be used by line and text."""
    counts: dict[str, Counter[int]] = {}
    rejected = []
    for kind, rows in files:
        for line, (town, text) in enumerate(rows, first_line(kind)):
            if text.isdigit() and int(text) < 10:
                counts.setdefault(town, Counter())[int(text)] += 1
            else:
                rejected.append((line, text))
    return counts, rejected


REQUEST = Request(SHARP.mechanism.report_alphabet, by=("town",))


def counted(paths: Any) -> tuple[dict[str, dict[int, int]], list[tuple[int | None, str]], Account]:
    with open_ledger(paths, REQUEST) as ledger:
        found: dict[str, dict[int, int]] = {}
        for town, report, number in zip(*ledger.batches().read_all().to_pydict().values(), strict=True):
            found.setdefault(town, {})[report] = number
        return found, [(one.line, one.text) for one in ledger.rejects()], ledger.account


def test_files_of_several_dialects_are_counted_together(tmp_path: Path) -> None:
    mixtures = [["plain", kind] for kind in DIALECTS if kind != "plain"]
    mixtures += [["a blank line above", "three blank lines above"], list(DIALECTS), list(DIALECTS)]
    for number, kinds in enumerate(mixtures):
        folder = tmp_path / str(number)
        folder.mkdir()
        # By turns the other way round: what is read first must not decide how the rest is read.
        ordered = [(kind, people(100 * number + place, 23)) for place, kind in enumerate(kinds)][
            :: 1 if number % 2 else -1
        ]
        paths = [written(folder, kind, rows, packed=number == len(mixtures) - 1) for kind, rows in ordered]
        found, rejected, account = counted(paths)
        counts, refused = expected(ordered)
        assert found == {town: dict(numbers) for town, numbers in counts.items()}, kinds
        assert rejected == refused, kinds
        assert (account.read, account.total_rejected) == (23 * len(kinds), len(refused)), kinds


@pytest.mark.parametrize("block", [1, 2, 7, 2**22])
def test_a_file_is_read_alike_in_blocks_of_any_size(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(vars(LIMITS), "block", block)
    monkeypatch.setitem(vars(LIMITS), "parquet_rows", block)
    for number, kind in enumerate(DIALECTS):
        rows = people(number, 30)
        path = written(tmp_path, kind, rows, packed=number % 2 == 1)
        counts, refused = expected([(kind, rows)])
        everyone = dict(sum(counts.values(), Counter()))
        found = read_reports(path, SHARP, rejects=tmp_path / "x.csv")
        assert dict(zip(found.counts.reports.tolist(), found.counts.counts.tolist(), strict=True)) == everyone, kind
        assert (found.account.read, found.account.total_rejected) == (30, len(refused)), kind
        shown = [(one.line, one.text) for one in found.account.first]
        assert shown == refused[:10], kind
        if block == 7:  # by DuckDB, which is handed what Python looked through
            groups, rejected, account = counted([path])
            assert groups == {town: dict(numbers) for town, numbers in counts.items()}, kind
            assert (rejected, account.read) == (refused, 30), kind


def test_people_in_rows_are_people_in_counts(tmp_path: Path) -> None:
    """A row that stands for three people is three rows: for every reader, and for whoever blurs them."""
    draw = random.Random(3)  # noqa: S311 (a test)
    rows = [(draw.choice("0123456789"), draw.choice(["Oslo", "Rome"]), draw.randint(0, 4)) for _ in range(60)]
    (tmp_path / "c.csv").write_text("age,town,count\n" + "".join(f"{a},{town},{n}\n" for a, town, n in rows))
    (tmp_path / "p.csv").write_text("age,town\n" + "".join(f"{a},{town}\n" * n for a, town, n in rows))
    one, many = (read_values(tmp_path / name, SHARP) for name in ("c.csv", "p.csv"))
    assert one.values.tolist() == many.values.tolist()
    assert one.histogram().tolist() == many.histogram().tolist()
    assert one.distribution().tolist() == many.distribution().tolist()
    assert one.account.people == many.account.people == many.account.accepted
    done = [
        privatize_file(tmp_path / name, tmp_path / f"r{name}", SHARP, keep=["town"], seed=1)
        for name in ("c.csv", "p.csv")
    ]
    assert (done[0].groups, done[0].alone, done[0].in_small_groups, done[0].account.people) == (
        done[1].groups, done[1].alone, done[1].in_small_groups, done[1].account.people,
    )  # fmt: skip
    assert sorted((tmp_path / "rc.csv").read_text().split()) == sorted((tmp_path / "rp.csv").read_text().split())


@pytest.mark.parametrize(("ordinary", "high", "refused"), [(30, 31, True), (31, 30, False)])
def test_most_people_in_an_open_bin_are_doubted_in_rows_and_in_counts(
    ordinary: int, high: int, refused: bool, tmp_path: Path
) -> None:
    (tmp_path / "p.csv").write_text("pay\n" + "15\n" * ordinary + "5000\n" * high)
    (tmp_path / "c.csv").write_text(f"pay,count\n15,{ordinary}\n5000,{high}\n")
    (tmp_path / "m.csv").write_text(f"pay,count\n15,{ordinary}\n" + "5000,1\n" * high)
    for name in ("p.csv", "c.csv", "m.csv"):
        told = ""
        try:
            privatize_file(tmp_path / name, tmp_path / "r.csv", BINS)
        except ConfideError as error:
            told = str(error)
        assert bool(told) is refused, name
        assert not refused or told.startswith(f"{high} of {ordinary + high} people"), name


def test_a_file_is_found_by_any_of_its_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a/b").mkdir(parents=True)
    rows = {Path("a/x.csv"): people(1), Path("a/b/y.csv"): people(2), Path("a/b/z.tsv"): people(3)}
    for path, some in rows.items():
        path.write_text(lines_of(some, "\t" if path.suffix == ".tsv" else ","))
    Path("a/b/notes.md").write_text("not reports")
    Path("a/b/_hidden.csv").write_text("report\n3\n")

    def totals(*paths: str) -> int:
        return counted(list(paths))[2].read

    assert totals("a/x.csv") == totals("a/*.csv") == totals("a/?.csv") == totals("./a/x.csv") == 40
    assert totals(str(tmp_path / "a/x.csv")) == 40
    assert totals("a/b") == totals("a/b/[yz].*sv") == totals("a/b/y.csv", "a/b/z.tsv") == 80
    assert totals("a") == totals("a/**/[xyz].*sv") == totals("a/x.csv", "a/b") == 120
    for twice in (["a/x.csv", "a/*.csv"], ["a", "a/b"], ["a/x.csv", "a/../a/x.csv"]):
        with pytest.raises(ConfideError, match="is named 2 times"):
            counted(twice)


@pytest.mark.parametrize("name", ["report", "years", None])
def test_a_table_is_counted_whatever_holds_it(name: str | None, tmp_path: Path) -> None:
    """Of any package, as a table, a single column, or one that is only to be computed; under any name, or none."""
    pandas, polars, duckdb = (pytest.importorskip(one) for one in ("pandas", "polars", "duckdb"))
    numbers, called = [3, 5, 3, 70], "years" if name == "years" else "report"
    frame = {called: numbers}
    tables = {
        "arrow": pyarrow.table(frame),
        "pandas": pandas.DataFrame(frame),
        "pandas with an index": pandas.DataFrame(frame, index=[9, 8, 7, 6]),
        "pandas' column": pandas.Series(numbers, name=name),
        "pandas of objects": pandas.DataFrame({called: pandas.Series(numbers, dtype=object)}),
        "polars": polars.DataFrame(frame),
        "polars, lazily": polars.LazyFrame(frame),
        "duckdb": duckdb.from_arrow(pyarrow.table(frame)),
    }
    for kind, table in tables.items():
        found = cf.count(table, SHARP)
        assert (found.reports.tolist(), found.counts.tolist()) == ([3, 5], [2, 1]), kind
        expected = name if kind == "pandas' column" and name is not None else called
        assert (found.rows.columns, found.rows.total_rejected) == ((expected,), 1), kind
        again = cf.count(table, SHARP, columns=expected) if expected else found
        assert again == found, kind


# Accounts, which add up whatever they are of.


def an_account(seed: int) -> Account:
    draw = random.Random(seed)  # noqa: S311 (a test)
    reasons = draw.sample(list(Reason), 3)
    rejected = {reason: draw.randint(1, 9) for reason in reasons}
    first = tuple(
        Reject(f"f{seed}", place, f"{seed}-{place}", reasons[0]) for place in range(min(7, sum(rejected.values())))
    )
    remarks = {word: draw.randint(1, 9) for word in draw.sample(["folded", "rounded", "counted as other"], 2)}
    return Account(
        draw.randint(1, 99), rejected, first, f"source {seed}", ("age",), draw.randint(100, 999), seed % 3 == 0, remarks
    )


def parts(one: Account) -> dict[str, Any]:
    return vars(one) | {"rejected": dict(one.rejected), "remarks": dict(one.remarks)}


def test_accounts_add_up_field_by_field() -> None:
    accounts = [an_account(seed) for seed in range(4)]
    total = sum(accounts, Account())
    assert parts(total) == {
        "accepted": sum(one.accepted for one in accounts),
        "rejected": dict(sum((Counter(one.rejected) for one in accounts), Counter())),
        "first": tuple(itertools.chain(*(one.first for one in accounts)))[: LIMITS.shown_rejects],
        "source": "source 0",
        "columns": ("age",),
        "people": sum(one.people for one in accounts),
        "is_counted": True,
        "remarks": dict(sum((Counter(one.remarks) for one in accounts), Counter())),
    }
    one, two, three, _ = accounts
    assert parts((one + two) + three) == parts(one + (two + three))
    assert parts(Account() + one) == parts(one + Account()) == parts(one)
    assert not (an_account(1) + an_account(2)).is_counted
    assert (Account(is_counted=True, accepted=1) + an_account(1)).is_counted
    record = replace(total, rejected={Reason.MISSING: 2}).record
    assert {name: record[name] for name in ("accepted", "rejected", "source", "columns", "is_counted", "remarks")} == {
        "accepted": total.accepted, "rejected": 2, "source": "source 0", "columns": ["age"], "is_counted": True,
        "remarks": dict(total.remarks),
    }  # fmt: skip
    assert np.isclose(record["read"], total.accepted + 2)
