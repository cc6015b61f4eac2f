"""Spark gives what DuckDB gives, by the same SQL text."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.surveys import FINITE, some_values, survey
from tests.counting.conftest import AGES, COLOURS, Save, rows_of

import confide as cf
from confide.data.counting import Request, open_ledger
from confide.data.counting.spark import quiet_start
from confide.data.files import report_columns
from confide.errors import DataFileError

if shutil.which("java") is None:
    pytest.skip("Spark needs Java, which is not installed here", allow_module_level=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("pyspark.sql", reason="Spark needs the extra confide[spark]")
pyarrow = pytest.importorskip("pyarrow", reason="counting needs the extra confide[counting]")
parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("duckdb", reason="counting needs the extra confide[counting]")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

SOME = ["randomized-response with holes", "rappor of 64 values", "product", "planar-laplace"]

DAMAGED = (
    "town,report,count\nOslo,3,1\nRome, 4 ,2\nOslo,x,1\nRome,,1\nOslo,3.0,1\nRome,99999999999999999999,1\nOslo,+5,1e1\n"
    "Rome,3,-1\nOslo,\u0663,1\nRome,1_0,1\nBern\ntown,report,count\n\nOslo,\u00a07,1\nRome,nan,2\nOslo,70,1\nRome,70,1\n,8,1\n\n\n"
)

KINDS = {
    "floats": pyarrow.array([3.0, 5.5, float("nan"), float("inf"), 1e300, None]),
    "texts": pyarrow.array(["3", "4\n", " 5", "6 ", "1e3", None]),
}


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """One session for all of these, as a notebook would have it; it listens on this machine alone."""
    from confide.data.counting.spark import _session

    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        # Tables of ten rows: half of the time went into machine code that is run once.
        patch.setenv("PYSPARK_SUBMIT_ARGS", "--driver-java-options '-XX:TieredStopAtLevel=1' pyspark-shell")
        with _session() as session:
            assert session.conf.get("spark.driver.host") == "127.0.0.1"
            yield session


def digest(counts: cf.Counts) -> str:
    """Return a hash of counts: reports and numbers, in order."""
    return hashlib.sha256(json.dumps([counts.reports.tolist(), counts.counts.tolist()]).encode()).hexdigest()


def test_both_engines_tell_the_same(spark: Any, save: Save, tmp_path: Path) -> None:
    """All in one test, for every process that has a share of the tests would start a Spark of its own."""
    for name in SOME:
        check_a_survey(survey(FINITE[name]), tmp_path / "r.parquet")
    check_damage(save(DAMAGED))
    check_types(tmp_path / "types.parquet")
    check_texts(tmp_path / "texts.parquet")
    check_json(save('{"report": 3}\n{"report": "x"}\nnone\n\n{"report": null}\n{"report": 4}\n', "r.jsonl"))
    check_refusals(save)
    check_names_and_pipes(tmp_path)
    check_torn_files(tmp_path)
    check_frames(spark)
    check_metadata(tmp_path / "metadata")
    check_files_of_groups(tmp_path / "weeks")


def check_files_of_groups(folder: Path) -> None:
    folder.mkdir()
    (folder / "a.csv").write_text("town,report\nOslo,3\nOslo,4\nRome,3\n,5\n")
    (folder / "b.jsonl").write_text('{"town": "Oslo", "report": 3}\n{"town": "Bern", "report": 3}\n')
    parquet.write_table(
        pyarrow.table({"town": ["Rome", "Rome", None, "Oslo"], "report": [3, 4, 5, 6]}), folder / "c.parquet"
    )
    parquet.write_table(pyarrow.table({"town": ["Rome"], "report": [3]}), folder / "d.parquet")
    (folder / "e.csv").write_text("")  # nobody reported in it
    (folder / "f.csv").write_text("town,report\n" + "Oslo,3\n" * 30)
    known = []
    for engine in ("duckdb", "spark"):
        with open_ledger(folder, Request(AGES.alphabet, by=("town",)), engine, AGES, allow_copies=True) as ledger:
            assert ledger.group_files() == {("Oslo",): 4, ("Rome",): 3, ("Bern",): 1, ("",): 2}
            known.append((ledger.files, ledger.sources, ledger.report_names, vars(ledger.account), ledger.traces))
            assert ledger.files == 5
    assert known[0] == known[1]


def check_a_survey(contract: cf.Survey, path: Path) -> None:
    reports = contract.mechanism.privatize(some_values(contract.alphabet), rng=1)
    columns = reports.reshape(len(reports), -1).T
    names = report_columns(contract)
    parquet.write_table(
        pyarrow.table({name: column.tolist() for name, column in zip(names, columns, strict=True)}), path
    )
    found = {digest(cf.count(path, contract)), digest(cf.count(path, contract, engine="spark"))}
    assert found == {digest(cf.tally(reports))}


def check_metadata(folder: Path) -> None:
    folder.mkdir()
    cf.write_reports(folder / "a.csv", AGES.mechanism.privatize([3] * 20), AGES)
    cf.write_reports(folder / "b.jsonl", AGES.mechanism.privatize([3] * 30, rng=1), AGES)
    cf.write_reports(folder / "c.parquet", AGES.mechanism.privatize([3] * 40, rng=1), AGES)
    (folder / "d.csv").write_text("report\n3\n4\n")
    for engine in ("duckdb", "spark"):
        with open_ledger(folder, Request(AGES.alphabet), engine, AGES) as ledger:
            assert ledger.traces.origin(ledger.account.people, ledger.report_names) == cf.evidence.Origin(20, 70, 2)
            assert "1 of 4 files carries no metadata" in ledger.traces.notes(ledger.report_names)[0]
        with pytest.raises(DataFileError, match="made under another survey"):
            cf.count(folder, cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=0.5), engine=engine)
    (folder / "a.csv").write_text("report\n3\n")
    with pytest.raises(DataFileError, match="is not the file"):
        cf.count(folder, AGES, engine="spark")


def check_damage(path: Path) -> None:
    request = Request(AGES.mechanism.report_alphabet, by=("town",))
    with open_ledger(path, request) as duck, open_ledger(path, request, "spark") as other:
        assert other.query.text == duck.query.text
        assert other.account == duck.account
        assert other.batches().read_all().to_pylist() == duck.batches().read_all().to_pylist()
        told = [sorted((one.text, one.reason) for one in ledger.rejects()) for ledger in (duck, other)]
    assert told[0] == told[1]


def check_types(path: Path) -> None:
    parquet.write_table(pyarrow.table(KINDS), path)
    for name in KINDS:
        one, other = cf.count(path, AGES, columns=name), cf.count(path, AGES, columns=name, engine="spark")
        assert (digest(one), rows_of(one)) == (digest(other), rows_of(other)), name


def check_texts(path: Path) -> None:
    table = pyarrow.table({"report": ["it's", "back\\slash", "red", "1", "1\n", "Red", None, ""]})
    parquet.write_table(table, path)
    one, other = cf.count(path, COLOURS), cf.count(path, COLOURS, engine="spark")
    assert digest(one) == digest(other)
    assert rows_of(one) == rows_of(other) == (8, 4, {"missing": 2, "outside the alphabet": 2})


def check_json(path: Path) -> None:
    assert rows_of(cf.count(path, AGES, engine="spark")) == rows_of(cf.count(path, AGES))


def check_refusals(save: Save) -> None:
    with pytest.raises(DataFileError, match="quotation marks"):
        cf.count(save('report,who\n3,"Ann\nLee"\n', "quoted.csv"), AGES, engine="spark")
    with pytest.raises(DataFileError, match="no column 'report'"):
        cf.count(save("a,b\n3,4\n", "other.csv"), AGES, engine="spark")
    # What stands in the other column may be the true values.
    one, other = save("report\n3\n", "one.csv"), save('{"age": 4}\n', "other.jsonl")
    with pytest.raises(DataFileError, match=r"reports in|stand in"):
        cf.count([one, other], AGES, engine="spark")


def check_names_and_pipes(folder: Path) -> None:
    """Marks in names mean themselves: no other file is read."""
    # A query takes a second: one ending for each.
    for name, other, ending in (
        ("day[1]", "day1", "parquet"),
        ("glob*", "globe", "csv"),
        ("a{b,c}", "ab", "csv"),
        ("back\\s?", "backsx", "parquet"),
    ):
        for stem, report in ((name, 3), (other, 7)):
            path = folder / "marks" / f"{stem}.{ending}"
            path.parent.mkdir(exist_ok=True)
            if ending == "csv":
                path.write_text(f"report\n{report}\n")
            else:
                parquet.write_table(pyarrow.table({"report": [report]}), path)
        found = cf.count(folder / "marks" / f"{name}.{ending}", AGES, engine="spark")
        assert found == cf.tally([3]), (name, ending)
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"report\n3\n4\n",))
    writer.start()
    assert cf.count(pipe, AGES, engine="spark") == cf.tally([3, 4])
    writer.join()


def check_torn_files(folder: Path) -> None:
    """Our error and not Java's, wherever the damage shows."""
    path = folder / "torn.parquet"
    parquet.write_table(pyarrow.table({"report": [place % 10 for place in range(50_000)]}), path, compression="zstd")
    whole = path.read_bytes()
    damaged = whole[:100] + b"x" * 300 + whole[400:]
    for content in (whole[:-20], damaged):
        path.write_bytes(content)
        with pytest.raises(DataFileError) as caught:
            cf.count(path, AGES, engine="spark")
        assert "Exception" not in str(caught.value)
        assert "\n" not in str(caught.value)
    packed = folder / "torn.csv.gz"
    packed.write_bytes(gzip.compress(b"report\n" + b"3\n" * 1000, mtime=0)[:-12])
    with pytest.raises(DataFileError):
        cf.count(packed, AGES, engine="spark")


def check_frames(spark: Any) -> None:
    frame = spark.createDataFrame([(3, "Oslo"), (5, "Rome"), (3, "Oslo")], ["report", "town"])
    frame.createOrReplaceTempView("reports")
    assert cf.count(frame, AGES, by="town")[("Oslo",)] == cf.tally([3, 3])
    assert [view.name for view in spark.catalog.listTables()] == ["reports"], "what is the session's is left alone"


def test_what_java_says_when_it_starts_stays_off_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    """A program that is started inherits standard error by its number, whatever Python makes of it."""
    with quiet_start():
        subprocess.run([sys.executable, "-c", "import os; os.write(2, b'26/11/16 WARN Utils')"], check=True)
    subprocess.run([sys.executable, "-c", "import os; os.write(2, b'heard')"], check=True)
    assert capfd.readouterr().err == "heard"
