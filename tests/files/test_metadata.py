"""Metadata of reports: written with them, read by everything that reads them, refused where they do not belong."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.surveys import FINITE, some_values, survey
from tests.counting.conftest import AGES, CELLS, COLOURS

import confide as cf
from confide.data.counting import count, read_reports
from confide.data.files import privatize_file, read_metadata, read_report_rows, read_values, write_text
from confide.data.files.writing import KEY, PARQUET_KEY, Metadata, companion_of, is_companion, report_sink
from confide.errors import DataFileError, InvalidParameterError

pyarrow = pytest.importorskip("pyarrow", reason="counting needs the extra confide[counting]")
parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("duckdb", reason="counting needs the extra confide[counting]")

OTHER = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=0.5), name="age")
PEOPLE = [0, 3, 3, 4, 9, 9, 9, 5] * 20
NAMES = ["r.csv", "r.csv.gz", "r.jsonl", "r.jsonl.gz", "r.ndjson", "r.parquet"]
TEXTS = [name for name in NAMES if name != "r.parquet"]

Reader = Callable[[Path, cf.Survey], cf.Counts]


def made(folder: Path, name: str, survey: cf.Survey = AGES, rng: int | None = None) -> Path:
    """Write reports of the people, and return where."""
    path = folder / name
    cf.write_reports(path, survey.mechanism.privatize(PEOPLE, rng=rng), survey)
    return path


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [None, 3])
def test_a_file_of_values_becomes_reports_that_know_their_survey(tmp_path: Path, name: str, seed: int | None) -> None:
    (tmp_path / "v.csv").write_text("age\n" + "\n".join(map(str, PEOPLE)))
    privatize_file(tmp_path / "v.csv", tmp_path / name, AGES, seed=seed)
    known = read_metadata(tmp_path / name)
    assert known is not None
    assert known.fingerprint == AGES.fingerprint
    assert cf.parse_survey(known.survey) == AGES
    assert known.noise is (cf.evidence.Noise.SECURE if seed is None else cf.evidence.Noise.SEEDED)
    assert known.reports == len(PEOPLE)
    counts = read_reports(tmp_path / name, AGES).counts
    assert counts.origin == cf.evidence.Origin.of(known.noise, len(PEOPLE))
    assert count(tmp_path / name, AGES).origin == counts.origin


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("contract", [COLOURS, CELLS])
def test_every_format_is_read_again(tmp_path: Path, name: str, contract: cf.Survey) -> None:
    people = contract.alphabet.decode(np.arange(contract.alphabet.size).repeat(30))
    reports = contract.mechanism.privatize(people)
    cf.write_reports(tmp_path / name, reports, contract)
    assert read_reports(tmp_path / name, contract).counts == cf.tally(reports)
    assert count(tmp_path / name, contract) == cf.tally(reports)


@pytest.mark.parametrize("kind", FINITE)
def test_every_mechanism_writes_what_is_read(tmp_path: Path, kind: str) -> None:
    contract = survey(FINITE[kind])
    secret = cf.Permanent(bytes(range(16))) if contract.needs_secret else None
    reports = contract.privatize(some_values(contract.alphabet), rng=secret)
    for name in ("r.csv", "r.parquet"):
        cf.write_reports(tmp_path / name, reports, contract)
        found = read_reports(tmp_path / name, contract).counts
        assert found == cf.tally(reports)
        assert found.origin.is_secure


def test_a_companion_follows_the_convention(tmp_path: Path) -> None:
    with report_sink(
        tmp_path / "r.csv", CELLS, noise=cf.evidence.Noise.SECURE, order="shuffled", kept=["home town"]
    ) as sink:
        sink.write(np.array([[0, 1], [2, 3]]), [np.array(["Oslo", "Rome, Italy"])])
    assert (tmp_path / "r.csv").read_text() == 'row,column,home town\n0,1,Oslo\n2,3,"Rome, Italy"\n'
    record = json.loads((tmp_path / "r.csv-metadata.json").read_text())
    assert record["@context"] == "http://www.w3.org/ns/csvw"
    assert record["url"] == "r.csv"
    columns = record["tableSchema"]["columns"]
    assert [one["titles"] for one in columns] == ["row", "column", "home town"]
    assert [one["name"] for one in columns] == ["row", "column", "home%20town"]
    assert [one["datatype"] for one in columns] == ["integer", "integer", "string"]
    assert record["dialect"]["delimiter"] == ","
    known = read_metadata(tmp_path / "r.csv")
    assert known is not None
    assert (known.order, known.kept, known.reports, known.names) == ("shuffled", ("home town",), 2, ("row", "column"))
    assert count(tmp_path / "r.csv", CELLS, by="home town")[("Rome, Italy",)].total == 1


def test_kept_columns_stand_in_json_lines_and_in_parquet(tmp_path: Path) -> None:
    towns = ['"Oslo"', "100 %s", "", "two\nlines"]
    for name in ("r.jsonl", "r.parquet"):
        with report_sink(tmp_path / name, AGES, noise=cf.evidence.Noise.SECURE, kept=["a %", "town"]) as sink:
            sink.write(np.array([3, 4]), [np.array(["x", "y"]), np.array(towns[:2])])
            sink.write(np.array([5, 6]), [np.array(["x", "y"]), np.array(towns[2:])])
        groups = count(tmp_path / name, AGES, by=["a %", "town"])
        assert set(groups) == set(zip(["x", "y"] * 2, towns, strict=True))
        assert groups.origin.is_secure
    assert json.loads((tmp_path / "r.jsonl").read_text().splitlines()[1]) == {"report": 4, "a %": "y", "town": "100 %s"}


READERS: dict[str, Reader] = {
    "read_reports": lambda path, survey: read_reports(path, survey).counts,
    "count": count,
    "count of a folder": lambda path, survey: count(path.parent, survey),
    "count of a pattern": lambda path, survey: count(str(path.parent / "r*"), survey),
}
EVERY = [(reader, name) for reader in READERS for name in NAMES] + [("rows", "r.csv"), ("rows", "r.csv.gz")]
READERS["rows"] = lambda path, survey: read_report_rows(path, survey).tally()


@pytest.mark.parametrize(("reader", "name"), EVERY)
def test_reports_of_another_survey_are_refused(tmp_path: Path, reader: str, name: str) -> None:
    path = made(tmp_path, name)
    with pytest.raises(DataFileError, match="made under another survey") as refusal:
        READERS[reader](path, OTHER)
    told = str(refusal.value)
    assert AGES.fingerprint in told
    assert OTHER.fingerprint in told
    assert repr(AGES.mechanism) in told
    assert repr(OTHER.mechanism) in told
    renamed = replace(AGES, name="years", title="The same, called otherwise")
    assert READERS[reader](path, renamed).total == len(PEOPLE)


def test_limits_are_part_of_a_survey_and_not_of_its_mechanism(tmp_path: Path) -> None:
    limited = replace(AGES, most_reports=1)
    path = made(tmp_path, "r.csv", limited)
    assert count(path, AGES.mechanism).origin.is_secure
    with pytest.raises(DataFileError, match=r"such as \[limits\] or shape, differ"):
        count(path, AGES)
    with pytest.raises(DataFileError, match="made under another survey"):
        count(path, OTHER.mechanism)


def append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"3\n")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-2])


def change_one(path: Path) -> None:
    content = bytearray(path.read_bytes())
    place = content.rindex(b"9")
    content[place : place + 1] = b"8"
    path.write_bytes(bytes(content))


def change_packed(path: Path) -> None:
    rows = gzip.decompress(path.read_bytes()).replace(b"9\n", b"8\n").replace(b"9}", b"8}")
    path.write_bytes(gzip.compress(rows, mtime=0))


@pytest.mark.parametrize(("reader", "name"), [one for one in EVERY if one[1] != "r.parquet"])
def test_text_that_was_changed_since_is_refused(tmp_path: Path, reader: str, name: str) -> None:
    for tamper in (append, cut, change_packed if name.endswith(".gz") else change_one):
        path = made(tmp_path, name)
        tamper(path)
        with pytest.raises(DataFileError, match=r"is not the file that .*-metadata.json describes") as refusal:
            READERS[reader](path, AGES)
        assert f"delete {companion_of(path)}" in str(refusal.value)
        companion_of(path).unlink()


def written_again(path: Path, change: Callable[[Any], Any], *, keeps: bool) -> None:
    """Let another program change a table and write it again, with the metadata that it had or without."""
    stored = parquet.read_metadata(path).metadata
    table = change(parquet.read_table(path))
    with parquet.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table)
        if keeps:
            writer.add_key_value_metadata({PARQUET_KEY: stored[PARQUET_KEY]})


def other_report(table: Any) -> Any:
    values = table.column("report").to_pylist()
    return table.set_column(0, "report", pyarrow.array([9 - values[0], *values[1:]]))


@pytest.mark.parametrize("reader", [reader for reader, name in EVERY if name == "r.parquet"])
@pytest.mark.parametrize("change", [other_report, lambda table: table.slice(5)])
def test_parquet_that_was_changed_since_is_refused(tmp_path: Path, reader: str, change: Callable[[Any], Any]) -> None:
    path = made(tmp_path, "r.parquet")
    written_again(path, change, keeps=True)
    with pytest.raises(DataFileError, match="is not the file that its metadata describes"):
        READERS[reader](path, AGES)
    written_again(path, change, keeps=False)
    assert READERS[reader](path, AGES).origin.unknown > 0  # most programs drop what they do not know


@pytest.mark.parametrize("name", TEXTS)
def test_swapped_files_and_companions_of_others_are_refused(tmp_path: Path, name: str) -> None:
    first, second = made(tmp_path, name), made(tmp_path, f"s{name}", rng=1)
    kept = companion_of(first).read_bytes()
    companion_of(first).write_bytes(companion_of(second).read_bytes())
    companion_of(second).write_bytes(kept)
    for path in (first, second):
        with pytest.raises(DataFileError, match="is not the file"):
            read_reports(path, AGES)
    with pytest.raises(DataFileError, match="is not the file"):
        count(tmp_path, AGES)


def sign(record: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return facts with changes and a digest that fits them."""
    from confide.data.files.writing import record_digest

    facts = {key: value for key, value in record.items() if key != "digest"} | changes
    return facts | {"digest": record_digest(facts)}


DAMAGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "empty": lambda _: "",
    "no JSON": lambda record: json.dumps(record)[:-20],
    "a list": lambda _: "[]",
    "a number": lambda _: "7",
    "nothing": lambda _: "null",
    "deep": lambda _: "[" * 100_000,
    "no context, no facts": lambda _: "{}",
    "a careless edit": lambda record: record | {KEY: record[KEY] | {"noise": "secure generator"}},
    "an epsilon of one's own": lambda record: record | {KEY: record[KEY] | {"fingerprint": OTHER.fingerprint}},
    "no digest": lambda record: record | {KEY: {k: v for k, v in record[KEY].items() if k != "digest"}},
    "facts of another kind": lambda record: record | {KEY: "secure generator"},
    "an unknown noise": lambda record: record | {KEY: sign(record[KEY], noise="dice")},
    "an unknown order": lambda record: record | {KEY: sign(record[KEY], order="sorted")},
    "a lacking fact": lambda record: record | {KEY: sign({k: v for k, v in record[KEY].items() if k != "reports"})},
    "a fact too many": lambda record: record | {KEY: sign(record[KEY], colour="red")},
    "a later version": lambda record: record | {KEY: sign(record[KEY], version=2)},
    "fewer than no reports": lambda record: record | {KEY: sign(record[KEY], reports=-1)},
    "columns of another kind": lambda record: record | {KEY: sign(record[KEY], columns=["report"])},
}


def test_a_companion_that_is_a_list_is_refused_in_plain_words(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("report\n1\n")
    (tmp_path / "r.csv-metadata.json").write_text("[1]")
    with pytest.raises(DataFileError, match="it is not made of names and what they stand for"):
        read_metadata(tmp_path / "r.csv")


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_companions_are_refused(tmp_path: Path, damage: str) -> None:
    path = made(tmp_path, "r.csv", rng=1)
    record = json.loads(companion_of(path).read_text())
    found = DAMAGES[damage](record)
    companion_of(path).write_text(found if isinstance(found, str) else json.dumps(found))
    for read in READERS.values():
        with pytest.raises(DataFileError, match=r"The metadata in .*r.csv-metadata.json are damaged: "):
            read(path, AGES)
    companion_of(path).write_bytes(b"\xff\xfe")
    with pytest.raises(DataFileError, match="are damaged"):
        read_metadata(path)


def test_metadata_of_another_program_say_nothing(tmp_path: Path) -> None:
    path = made(tmp_path, "r.csv")
    companion_of(path).write_text('{"@context": "http://www.w3.org/ns/csvw", "url": "r.csv"}')
    assert read_metadata(path) is None
    assert read_reports(path, AGES).counts.origin == cf.evidence.Origin(unknown=len(PEOPLE))


@pytest.mark.parametrize("name", TEXTS)
def test_missing_metadata_are_said_and_are_no_error(tmp_path: Path, name: str) -> None:
    path = made(tmp_path, name)
    companion_of(path).unlink()
    found = read_reports(path, AGES)
    unknown = "carries no metadata: which survey it was made under, and with which noise, is not known"
    assert found.notes == (f"{path} {unknown}",)
    assert found.counts.origin == cf.evidence.Origin(unknown=len(PEOPLE))
    assert found.origin["notes"] == list(found.notes)


def test_many_files_are_summed_up(tmp_path: Path) -> None:
    made(tmp_path, "a.csv")
    made(tmp_path, "b.parquet", rng=1)
    made(tmp_path, "c.jsonl", rng=2)
    (tmp_path / "d.csv").write_text("report\n3\n4\n")
    (tmp_path / "e.csv").write_text("report,count\n3,5\n")
    from confide.data.counting import open_ledger
    from confide.data.files.sheets import Request

    n = len(PEOPLE)
    assert count(tmp_path, AGES).origin == cf.evidence.Origin(secure=n, simulated=2 * n, unknown=7)
    with open_ledger([tmp_path], Request(AGES.alphabet), survey=AGES) as ledger:
        (note,) = ledger.traces.notes(ledger.report_names)
        assert note.startswith(f"2 of 5 files carry no metadata ({tmp_path / 'd.csv'}, {tmp_path / 'e.csv'}): which")
        assert ledger.notes == []


def test_companions_are_never_data(tmp_path: Path) -> None:
    path = made(tmp_path, "r.csv")
    assert is_companion(companion_of(path))
    for source in (tmp_path, str(tmp_path / "*"), str(tmp_path / "r.csv*")):
        assert count(source, AGES).total == len(PEOPLE)
    with pytest.raises(DataFileError, match=r"is metadata, not reports. Name .*r.csv instead"):
        count(companion_of(path), AGES)


def test_a_lost_file_is_noticed_by_its_companion(tmp_path: Path) -> None:
    from confide.data.counting.sources import search

    made(tmp_path, "a.csv")
    made(tmp_path, "b.csv").unlink()
    (note,) = search([tmp_path]).notes
    assert note.startswith(f"{tmp_path / 'b.csv'} is missing")


def test_metadata_speak_of_their_own_columns_alone(tmp_path: Path) -> None:
    with report_sink(tmp_path / "r.csv", AGES, noise=cf.evidence.Noise.SECURE, kept=["other"]) as sink:
        sink.write(np.array([3, 4]), [np.array(["5", "6"])])
    found = read_reports(tmp_path / "r.csv", AGES, columns=["other"])
    assert found.counts.origin == cf.evidence.Origin(unknown=2)
    assert "says how column report came about, not column other" in found.notes[0]


@pytest.mark.parametrize("name", ["r.csv", "r.csv.gz", "r.parquet"])
def test_reports_are_not_blurred_again_and_are_no_truth(tmp_path: Path, name: str) -> None:
    with report_sink(tmp_path / name, AGES, noise=cf.evidence.Noise.SECURE, kept=["other"]) as sink:
        sink.write(np.array([3, 4]), [["5", "6"]] if name != "r.parquet" else [pyarrow.array([5, 6])])
    with pytest.raises(DataFileError, match="holds reports, which are blurred already"):
        privatize_file(tmp_path / name, tmp_path / "s.csv", AGES, ["report"])
    assert not (tmp_path / "s.csv").exists()
    privatize_file(tmp_path / name, tmp_path / "s.csv", AGES, ["other"])  # a column that was never blurred
    if name != "r.parquet":
        with pytest.raises(DataFileError, match="Name the file of true values"):
            read_values(tmp_path / name, AGES, ["report"])
        assert read_values(tmp_path / name, AGES, ["other"]).account.accepted == 2


def test_links_have_the_companion_of_their_file(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    path = made(tmp_path / "far", "r.csv")
    link = tmp_path / "r.csv"
    link.symlink_to(path)
    assert read_reports(link, AGES).counts.origin.is_secure
    cf.write_reports(link, AGES.mechanism.privatize([3] * 50, rng=1), AGES)
    assert link.is_symlink()
    assert read_reports(link, AGES).counts.origin == cf.evidence.Origin(simulated=50)
    assert not companion_of(tmp_path / "nothing.csv").exists()


def test_whatever_replaces_reports_removes_their_companion(tmp_path: Path) -> None:
    """Also one beside a link; another program's is left alone."""
    path, link = made(tmp_path, "r.csv"), tmp_path / "link.csv"
    write_text(path, "report\n3\n")
    assert not companion_of(path).exists()
    assert READERS["read_reports"](path, AGES).total == 1
    link.symlink_to(made(tmp_path, "r.csv"))
    beside = tmp_path / "link.csv-metadata.json"
    beside.write_bytes(companion_of(path).read_bytes())
    cf.write_reports(link, AGES.mechanism.privatize([3, 4]), AGES)
    assert not beside.exists()
    assert READERS["read_reports"](link, AGES).origin.is_secure
    companion_of(path).write_text('{"@context": "http://www.w3.org/ns/csvw"}')
    write_text(path, "report\n3\n")
    assert companion_of(path).exists()


def test_the_companion_of_another_file_says_nothing_of_the_survey(tmp_path: Path) -> None:
    path, other = made(tmp_path, "r.csv"), made(tmp_path, "w.csv", OTHER)
    companion_of(path).write_bytes(companion_of(other).read_bytes())
    with pytest.raises(DataFileError, match=r"r\.csv is not the file that .* describes.*swapped"):
        count(path, AGES)


def test_a_second_run_replaces_both(tmp_path: Path) -> None:
    for seed in (None, 1, None):
        path = made(tmp_path, "r.csv", rng=seed)
        assert read_reports(path, AGES).counts.origin.is_secure is (seed is None)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["r.csv", "r.csv-metadata.json"]


def test_a_run_that_fails_leaves_both_as_they_were(tmp_path: Path) -> None:
    path = made(tmp_path, "r.csv")
    before = path.read_bytes(), companion_of(path).read_bytes()
    with pytest.raises(AttributeError), report_sink(path, AGES, noise=cf.evidence.Noise.SECURE) as sink:
        sink.write("no array")  # type: ignore[arg-type]
    assert (path.read_bytes(), companion_of(path).read_bytes()) == before
    assert len(list(tmp_path.iterdir())) == 2


KILLED = """
import os, pathlib, signal, sys
import confide as cf
from tests.counting.conftest import AGES
left = int(sys.argv[2])
replace = pathlib.Path.replace
def die(self, target):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    return replace(self, target)
pathlib.Path.replace = die
cf.write_reports(sys.argv[1], AGES.mechanism.privatize([4] * 60, rng=2), AGES)
"""


@pytest.mark.slow
@pytest.mark.parametrize("steps", [0, 1, 2])
def test_a_kill_never_leaves_metadata_of_another_file_as_valid(tmp_path: Path, steps: int) -> None:
    path = made(tmp_path, "r.csv")
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KILLED, str(path), str(steps)],
        check=False,
        cwd=Path(__file__).parents[2],
        env=dict(os.environ),
    )
    if steps == 1:  # the new reports stand there, and the old companion
        with pytest.raises(DataFileError, match="is not the file"):
            read_reports(path, AGES)
    else:
        expected = cf.evidence.Origin(secure=len(PEOPLE)) if steps == 0 else cf.evidence.Origin(simulated=60)
        assert read_reports(path, AGES).counts.origin == expected


def test_a_companion_that_cannot_be_written_leaves_no_reports(tmp_path: Path) -> None:
    companion_of(tmp_path / "r.csv").mkdir()
    with pytest.raises(DataFileError, match="is a folder"):
        made(tmp_path, "r.csv")
    assert not (tmp_path / "r.csv").exists()


def test_streams_and_devices_have_no_companion(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    cf.write_reports("-", [3, 4], AGES, keep_order=True)
    assert capsysbinary.readouterr().out == b"report\n3\n4\n"
    cf.write_reports("/dev/null", [3, 4], AGES)
    assert not Path("/dev/null-metadata.json").exists()
    assert not Path("--metadata.json").exists()


def test_python_says_what_it_knows_and_no_more(tmp_path: Path) -> None:
    path, drawn = tmp_path / "r.csv", AGES.mechanism.privatize(PEOPLE)
    for reports, noise in ((drawn, "secure generator"), (drawn[:9], "secure generator"), (drawn.tolist(), "not known")):
        cf.write_reports(path, reports, AGES)
        known = read_metadata(path)
        assert known is not None
        assert known.noise == noise
    cf.write_reports(path, drawn.tolist(), AGES, noise=cf.evidence.Noise.SECURE)
    assert read_reports(path, AGES).counts.origin.is_secure
    with pytest.raises(InvalidParameterError, match="lie outside"):
        cf.write_reports(path, [140], AGES)


def test_simulated_reports_that_leave_for_a_file_give_a_warning(tmp_path: Path) -> None:
    drawn, counts = AGES.mechanism.privatize(PEOPLE, rng=1), AGES.mechanism.simulate_counts([3] * 10, rng=1)
    (tmp_path / "v.csv").write_text("age\n3\n")
    with pytest.warns(cf.errors.SimulatedReportsWarning, match="protect nobody") as given:
        cf.write_reports(tmp_path / "r.csv", drawn, AGES)
    assert len(given) == 1
    assert given[0].filename == __file__
    with pytest.warns(cf.errors.SimulatedReportsWarning) as given:
        cf.save_counts(tmp_path / "c.parquet", counts, AGES)
    assert len(given) == 1
    assert given[0].filename == __file__
    with pytest.warns(cf.errors.SimulatedReportsWarning):
        cf.save_counts(tmp_path / "c.csv", cf.tally(drawn), AGES)
    with pytest.warns(cf.errors.SimulatedReportsWarning):
        cf.save_counts(tmp_path / "c.parquet", cf.tally(drawn) + cf.tally(AGES.mechanism.privatize(PEOPLE)), AGES)
    with pytest.warns(cf.errors.SimulatedReportsWarning):
        privatize_file(tmp_path / "v.csv", tmp_path / "r.csv", AGES, seed=1)


@pytest.mark.filterwarnings("error")
def test_reports_that_protect_people_give_no_warning(tmp_path: Path) -> None:
    drawn = AGES.mechanism.privatize(PEOPLE)
    (tmp_path / "v.csv").write_text("age\n3\n")
    cf.write_reports(tmp_path / "r.csv", drawn, AGES)
    cf.write_reports(tmp_path / "r.csv", drawn.tolist(), AGES)
    cf.save_counts(tmp_path / "c.parquet", cf.tally(drawn), AGES)
    privatize_file(tmp_path / "v.csv", tmp_path / "r.csv", AGES)


def test_a_copied_pair_under_another_name_is_sound(tmp_path: Path) -> None:
    path = made(tmp_path, "r.csv")
    shutil.copy(path, tmp_path / "s.csv")
    shutil.copy(companion_of(path), companion_of(tmp_path / "s.csv"))
    assert read_reports(tmp_path / "s.csv", AGES).counts.origin.is_secure


def test_a_mechanism_of_ones_own_is_named_in_metadata() -> None:
    known = Metadata.of(AGES, ["report"], noise=cf.evidence.Noise.UNKNOWN)
    assert Metadata.from_record(json.loads(known.to_json())) == known
    with pytest.raises(InvalidParameterError, match="order must be one of"):
        Metadata.of(AGES, ["report"], noise=cf.evidence.Noise.UNKNOWN, order="sorted")  # type: ignore[arg-type]
