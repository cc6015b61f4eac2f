"""Files and tables of reports become the counts that an independent tally gives, whatever holds them."""

from __future__ import annotations

import gzip
import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cli.surveys import FINITE, UNBOUNDED, some_values, survey
from tests.counting.conftest import AGES, CELLS, COLOURS, Save, rows_of

import confide as cf
from confide.data.counting import Request, open_ledger
from confide.data.files import read_report_rows, report_columns, write_reports
from confide.data.files.sheets import first_few
from confide.errors import DataFileError, InvalidParameterError, MissingExtraError

pyarrow = pytest.importorskip("pyarrow", reason="counting needs the extra confide[counting]")
pytest.importorskip("duckdb", reason="counting needs the extra confide[counting]")
parquet = pytest.importorskip("pyarrow.parquet")

SURVEYS = {**FINITE, **{f"unbounded {name}": text for name, text in UNBOUNDED.items()}}


def as_table(reports: Any, contract: cf.Survey) -> Any:
    columns = reports.reshape(len(reports), -1).T
    names = report_columns(contract)
    return pyarrow.table({name: column.tolist() for name, column in zip(names, columns, strict=True)})


@pytest.mark.parametrize("name", SURVEYS)
def test_every_mechanism_is_counted_as_numpy_counts(tmp_path: Path, name: str) -> None:
    contract = survey(SURVEYS[name])
    reports = contract.mechanism.privatize(some_values(contract.alphabet), rng=1)
    table = as_table(reports, contract)
    write_reports(tmp_path / "r.csv", reports, contract)
    parquet.write_table(table, tmp_path / "r.parquet")
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    # Each mechanism from two kinds of files; from the third and from a table by turns.
    last = table if list(SURVEYS).index(name) % 2 else tmp_path / "r.jsonl"
    for source in (tmp_path / "r.csv", tmp_path / "r.parquet", last):
        counts = cf.count(source, contract)
        assert counts == cf.tally(reports), source
        assert rows_of(counts) == (300, 300, {})


WORDS = [
    "3",
    " 4 ",
    "+5",
    "007",
    "-1",
    "10",
    "3.0",
    "1e1",
    "1_0",
    "x",
    "",
    "  ",
    "nan",
    "inf",
    "٣",
    "\u00a03",
    "9" * 30,
]
texts = st.one_of(
    st.sampled_from(WORDS),
    st.integers(-3, 12).map(str),
    st.text(alphabet=st.characters(exclude_characters='\r\n",;\t\x00', exclude_categories=["Cs"]), max_size=4),
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(texts, st.sampled_from(["1", "2", "0", "-1", "1.0", "many", ""])), min_size=1))
@pytest.mark.parametrize("contract", [AGES, COLOURS], ids=["numbers", "categories"])
def test_sql_and_python_read_alike(save: Save, contract: cf.Survey, rows: list[tuple[str, str]]) -> None:
    """One reading behaviour, not two: every row is accepted, or rejected for the same reason, on the same line."""
    path = save("report,count\n" + "".join(f"{text},{count}\n" for text, count in rows))
    expected = read_report_rows(path, contract)
    with open_ledger(path, Request(contract.mechanism.report_alphabet)) as ledger:
        assert (ledger.account.read, ledger.account.accepted) == (expected.account.read, expected.account.accepted)
        found = [(one.line, one.text, one.reason) for one in ledger.rejects()]
        assert found == [(one.line, one.text, one.reason) for one in expected.rejected]
        people = sum(ledger.batches().read_all().column("people").to_pylist())
    assert people == expected.account.people


@pytest.mark.parametrize("name", ["randomized-response with holes", "product", "laplace", "planar-laplace", "rappor"])
def test_sql_and_python_read_several_parts_alike(save: Save, name: str) -> None:
    contract = survey(FINITE[name])
    names = report_columns(contract)
    texts = ["0", "1", "2.5", "", "x", "18", "f", "1e300", "-0.00001", "0.1", "2", "1_0", "nan"]
    rows = [(one, other)[: len(names)] for one in texts for other in texts]
    path = save(",".join(names) + ",z\n" + "".join(",".join(row) + ",.\n" for row in rows))
    expected = read_report_rows(path, contract)
    with open_ledger(path, Request(contract.mechanism.report_alphabet)) as ledger:
        found = [(one.line, one.text, one.reason) for one in ledger.rejects()]
        assert ledger.account.read == len(rows)
    assert found == [(one.line, one.text, one.reason) for one in expected.rejected]
    if expected.account.accepted:
        assert cf.count(path, contract) == expected.tally()


@pytest.mark.parametrize(
    "content",
    [
        b"report\n3\n5\n3\n",
        b"\xef\xbb\xbfreport\n3\n5\n3\n",
        b"report\r\n3\r\n5\r\n3\r\n",
        b"report\r3\r5\r3\r",
        b"report\r\n3\n5\r\n3\n",
        b"report\n3\n5\n3",
        b"report\n3\n5\n3\n\n\n",
        b"\n\nreport\n3\n5\n3\n",
        b"name,report\nAnn,3\nBob,5\nZoe,3\n",
        b"name;report\nAnn;3\nBob;5\nZoe;3\n",
        b"name\treport\nAnn\t3\nBob\t5\nZoe\t3\n",
        b'"name", report \n"Ann, the first", 3\n"Bob\nof two lines",+5\nZoe,003\n',
        b"only\n3\n5\n3\n",
        b"report,count\n3,2\n5,1\n7,0\n",
    ],
)
def test_ways_to_write_the_same_reports(save: Save, content: bytes) -> None:
    counts = cf.count(save(content), AGES)
    assert [one for one in zip(counts.reports.tolist(), counts.counts.tolist(), strict=True) if one[1]] == [
        (3, 2),
        (5, 1),
    ]
    assert counts.rows.total_rejected == 0
    packed = cf.count(save(gzip.compress(content, mtime=0), "reports.csv.gz"), AGES)
    assert packed == counts


def test_thousands_of_bad_rows_are_all_accounted_for(save: Save) -> None:
    bad = ["x\n", "3.5\n", "70\n", "nan\n", "\n"]
    rows = [bad[place % 5] if place % 4 == 0 else "3\n" for place in range(20_000)] + ["3\n"]
    path = save("report\n" + "".join(rows))
    expected = read_report_rows(path, AGES)
    counts = cf.count(path, AGES)
    assert counts.total == 15_001
    assert counts.rows.read == len(rows) == 15_001 + len(expected.rejected)
    with open_ledger(path, Request(AGES.alphabet)) as ledger:
        assert [one.line for one in ledger.rejects()] == [one.line for one in expected.rejected]


def test_rows_of_other_widths_are_rejected_by_line(save: Save) -> None:
    path = save("report,town\n3,Oslo\n4\n5,Rome,x\n\n6,Bern,\n7,Lima\n")
    with open_ledger(path, Request(AGES.alphabet)) as ledger:
        assert ledger.account.accepted == 2
        assert [str(one).partition(", ")[2] for one in ledger.rejects()] == [
            "line 3: '(1 field where 2 are expected)' (wrong number of fields)",
            "line 4: '(3 fields where 2 are expected)' (wrong number of fields)",
            "line 5: '' (missing)",
            "line 6: '(3 fields where 2 are expected)' (wrong number of fields)",
        ]


def test_a_header_in_the_middle_is_a_row_that_cannot_be_used(save: Save) -> None:
    counts = cf.count(save("report\n3\nreport\n4\n"), AGES)
    assert rows_of(counts) == (3, 2, {"not a number": 1})


@pytest.mark.parametrize(
    ("column", "rows"),
    [
        (pyarrow.array([3, 3, 5, None, 70]), (5, 3, {"missing": 1, "outside the alphabet": 1})),
        (pyarrow.array([3, 5, 255], pyarrow.uint8()), (3, 2, {"outside the alphabet": 1})),
        (pyarrow.array([3, 2**64 - 1], pyarrow.uint64()), (2, 1, {"outside the alphabet": 1})),
        (
            pyarrow.array([3.0, 5.5, float("nan"), float("inf"), 1e300, None]),
            (6, 1, {"missing": 1, "not a number": 2, "not a whole number": 1, "outside the alphabet": 1}),
        ),
        (pyarrow.array([3.0, 4.0], pyarrow.float32()), (2, 2, {})),
        (pyarrow.array(["3", " 4", "x", ""]), (4, 2, {"missing": 1, "not a number": 1})),
        (pyarrow.array([b"3", b"4"]), (2, 2, {})),
        (pyarrow.array([True, None]), (2, 0, {})),
        (pyarrow.array(["3", "4", "3"]).dictionary_encode(), (3, 3, {})),
    ],
    ids=["integers", "bytes", "wide", "floats", "float32", "texts", "binary", "booleans", "dictionary"],
)
def test_types_of_parquet_columns(tmp_path: Path, column: Any, rows: tuple[int, int, dict[str, int]]) -> None:
    parquet.write_table(pyarrow.table({"report": column, "when": [0] * len(column)}), tmp_path / "r.parquet")
    if rows[1] == 0:
        with pytest.raises(DataFileError, match="None of the 2 rows"):
            cf.count(tmp_path / "r.parquet", AGES)
    else:
        assert rows_of(cf.count(tmp_path / "r.parquet", AGES)) == rows


def test_a_column_of_times_is_refused_by_name(tmp_path: Path) -> None:
    parquet.write_table(pyarrow.table({"report": pyarrow.array([0], pyarrow.timestamp("s"))}), tmp_path / "r.parquet")
    with pytest.raises(DataFileError, match=r"Column 'report' of .* holds values of type TIMESTAMP"):
        cf.count(tmp_path / "r.parquet", AGES)


def test_files_of_several_shapes_count_together(save: Save, tmp_path: Path) -> None:
    save("report,town\n3,Oslo\n", "all/a.csv")
    save("town,report,count\nRome,4,5\n", "all/b.csv")
    save('town,report\n"Rome",x\n', "all/c.csv")
    save('{"report": 3}\n{"report": "7"}\n{"town": 1}\nno json\n', "all/d.jsonl")
    parquet.write_table(pyarrow.table({"report": [3, 99]}), tmp_path / "all" / "e.parquet")
    parquet.write_table(pyarrow.table({"report": [4.0, 4.5]}), tmp_path / "all" / "f.parquet")
    save("", "all/g.csv")
    counts = cf.count(tmp_path / "all", AGES)
    assert counts == cf.tally([3, 4, 7], [3, 6, 1])
    assert (counts.rows.read, counts.rows.accepted) == (11, 6)
    assert cf.count([tmp_path / "all" / "*.csv"], AGES).total == 6


@pytest.mark.slow
def test_a_thousand_small_files(save: Save, tmp_path: Path) -> None:
    for number in range(1000):
        save(f"report\n{number % 10}\n", f"many/{number}.csv")
    counts = cf.count(f"{tmp_path}/many/*.csv", AGES)
    assert counts == cf.tally(np.arange(1000) % 10)


def test_tables_of_other_packages(tmp_path: Path) -> None:
    duckdb, pd, pl = (pytest.importorskip(name) for name in ("duckdb", "pandas", "polars"))
    columns = {"report": [3, 5, 3], "who": ["Ann", "Bob", "Zoe"]}
    expected = cf.tally([3, 5, 3])
    assert cf.count(pyarrow.table(columns), AGES) == expected
    assert cf.count(pd.DataFrame(columns), AGES) == expected
    assert cf.count(pl.DataFrame(columns), AGES) == expected
    assert cf.count(pl.LazyFrame(columns), AGES) == expected
    with duckdb.connect() as connection:
        assert cf.count(connection.sql("SELECT unnest([3, 5, 3]) AS report"), AGES) == expected
    mixed = pd.DataFrame({"report": pd.Series([3, "5", "x", None, 3], dtype=object)})
    assert rows_of(cf.count(mixed, AGES)) == (5, 3, {"missing": 1, "not a number": 1})


def test_groups(save: Save) -> None:
    path = save("town,week,report,who\nOslo,1,3,a\nRome,1,4,b\nOslo,2,3,c\nOslo,1,3,d\n,1,5,e\nRome,1,x,f\n")
    groups = cf.count(path, AGES, by=["town", "week"])
    totals = {("", "1"): 1, ("Oslo", "1"): 2, ("Oslo", "2"): 1, ("Rome", "1"): 1}
    assert {key: one.total for key, one in groups.items()} == totals
    assert groups["Oslo", "1"] == cf.tally([3, 3])
    assert groups.merged == cf.tally([3, 3, 3, 4, 5])
    assert rows_of(groups) == (6, 5, {"not a number": 1})
    with pytest.raises(DataFileError, match="no column 'city'"):
        cf.count(path, AGES, by="city")
    with pytest.raises(InvalidParameterError, match="cannot be named by a column called 'report'"):
        cf.count(path, AGES, by="report")


def test_strict_names_the_first_row(save: Save) -> None:
    with pytest.raises(DataFileError, match=r"2 of 3 rows .*\n.*line 3: 'x' \(not a number\)"):
        cf.count(save("report\n3\nx\n70\n"), AGES, strict=True)


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ("", "r.csv", "is empty"),
        ("report\n", "r.csv", "has no rows"),
        ("3\n4\n", "r.csv", "needs a header line"),
        ("a,b\n1,2\n", "r.csv", "no column 'report'"),
        ("report,report\n1,2\n", "r.csv", "several columns called 'report'"),
        ('report\n"3\n4\n', "r.csv", "quotation mark"),
        ("report\nx\n", "r.csv", "The only row of .*r.csv cannot be used"),
        ("report\n3\né\n".encode("latin-1"), "r.csv", "not UTF-8"),
        (gzip.compress(b"report\n3\n", mtime=0)[:-6], "r.csv.gz", "not a whole gzip file"),
        (b"PAR1 and then nothing", "r.parquet", "not a whole Parquet file"),
        (b"", "r.parquet", "is empty"),
        ('{"row": 1, "column": 2}\n', "r.jsonl", "no column 'report'"),
    ],
)
def test_files_that_cannot_be_counted(save: Save, content: str | bytes, name: str, message: str) -> None:
    with pytest.raises(DataFileError, match=message):
        cf.count(save(content, name), AGES)


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path, message in (("no.csv", "no file"), ("*.csv", "No file matches"), ("empty", "has no files")):
        with pytest.raises(DataFileError, match=message):
            cf.count(f"{tmp_path}/{path}", AGES)
    with pytest.raises(InvalidParameterError, match=r"confide\.tally"):
        cf.count([3, 4], AGES)
    with pytest.raises(InvalidParameterError, match="The source comes first"):
        cf.count("r.csv", 5)  # type: ignore[call-overload]
    with pytest.raises(InvalidParameterError, match="engine must be one of duckdb, spark"):
        cf.count("r.csv", AGES, engine="abacus")  # type: ignore[call-overload]


def test_a_torn_parquet_page_is_told(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    parquet.write_table(pyarrow.table({"report": np.arange(100_000) % 10}), path)
    damaged = bytearray(path.read_bytes())
    damaged[20:400] = bytes(380)
    path.write_bytes(damaged)
    with pytest.raises(DataFileError, match=r"r\.parquet cannot be read"):
        cf.count(path, AGES)


def test_names_with_marks_in_them(tmp_path: Path) -> None:
    path = tmp_path / "it's [1] a*file?.parquet"
    parquet.write_table(pyarrow.table({'the "report"': [3, 3], "o'by": ["x", "x"]}), path)
    assert cf.count(path, AGES, columns='the "report"', by="o'by")[("x",)] == cf.tally([3, 3])
    text = path.with_suffix(".csv")
    text.write_text("report\n3\n")
    assert cf.count(text, AGES) == cf.tally([3])


def test_a_rejected_row_is_named_only_when_asked(save: Save) -> None:
    with open_ledger(save("report\n3\n" + "x\n" * 25), Request(AGES.alphabet)) as ledger:
        told = replace(ledger.account, first=first_few(ledger.rejects())).listing
    assert told.count("\n") == 10
    assert told.endswith("... and 15 more")


def test_standard_input_is_counted_in_any_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet.write_table(pyarrow.table({"report": [3, 4]}), tmp_path / "r.parquet")
    contents = [b"report\n3\n4\n", gzip.compress(b"report\n3\n4\n", mtime=0), b'{"report": 3}\n{"report": 4}\n']
    for content in (*contents, (tmp_path / "r.parquet").read_bytes()):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert cf.count("-", AGES) == cf.tally([3, 4])


def test_without_duckdb_the_install_command_is_named(save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtraError, match="pip install 'duckdb"):
        cf.count(save("report\n3\n"), AGES)


def test_cells_with_holes(save: Save) -> None:
    counts = cf.count(save("row,column\n0,0\n1,2\n0,1\n2,3\n3,0\n"), CELLS)
    assert counts == cf.tally([(0, 1), (2, 3)])
    assert rows_of(counts) == (5, 2, {"outside the alphabet": 3})
