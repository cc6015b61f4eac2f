"""Every command with every kind of file: what is read, and what is refused before anything is written.

A table of commands and files, every cell tried. Whatever a reader leaves unchecked, such as that values are reports
already or that counts are of another survey, turns a cell over.
"""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from tests.cli.test_every_option import AGES, OTHER, Nowhere, lines
from typer.testing import CliRunner

import confide as cf
from confide.cli.main import app
from confide.data.counting import merge_files
from confide.data.files.counts_files import GroupedCounts, save_counts
from confide.data.files.sheets import Account

pytest.importorskip("pyarrow", reason="counting needs the extra confide[counting]")
pytest.importorskip("uvicorn", reason="the collector needs the extra confide[collector]")

REPORTS = [0, 1, 1, 2, 2, 2] * 30


def make(place: Path) -> None:
    """Make one file of every kind."""
    for name, survey in (("s", AGES), ("limited", cf.Survey(AGES.mechanism, "age", "Ages", most_reports=1))):
        (place / f"{name}.toml").write_text(survey.text())
    (place / "values.csv").write_text(lines("age", list(map(str, REPORTS))))
    for ending in ("csv", "jsonl", "parquet"):
        cf.write_reports(place / f"reports.{ending}", REPORTS, AGES)
        cf.write_reports(place / f"others.{ending}", REPORTS, OTHER)
        cf.write_reports(place / f"edited.{ending}", REPORTS, AGES)
        content = (place / f"edited.{ending}").read_bytes()
        middle = (
            content.replace(b"2\n", b"1\n", 1)
            if ending == "csv"
            else content[:20] + content[20:].replace(b"2", b"1", 1)
        )
        (place / f"edited.{ending}").write_bytes(middle)
    shutil.copy(place / "reports.csv", place / "bare.csv")  # without its companion
    save_counts(place / "counts.parquet", cf.tally(REPORTS), AGES)
    save_counts(place / "countsother.parquet", cf.tally(REPORTS), OTHER)
    save_counts(place / "more.parquet", cf.tally([0, 0, 2]), AGES)
    save_counts(place / "counts.csv", cf.tally(REPORTS), AGES)
    towns: dict[tuple[str, ...], cf.Counts] = {("Oslo",): cf.tally(REPORTS), ("Rome",): cf.tally(REPORTS[:60])}
    save_counts(place / "towns.parquet", GroupedCounts(("town",), towns, Account(240)), AGES)
    merge_files([place / "counts.parquet", place / "countsother.parquet"], place / "pool.parquet", is_pool=True)
    (place / "empty.csv").write_text("")
    (place / "header.csv").write_text("report\n")
    (place / "half.csv.gz").write_bytes(b"\x1f\x8b\x08\x00half of it")
    (place / "half.parquet").write_bytes((place / "counts.parquet").read_bytes()[:200])
    (place / "names.csv").write_text(lines("report", ["Oslo", "Rome"]))
    (place / "folder").mkdir()


FILES = """
    values.csv reports.csv reports.jsonl reports.parquet others.csv others.jsonl others.parquet edited.csv edited.jsonl
    edited.parquet bare.csv reports.csv-metadata.json counts.parquet countsother.parquet counts.csv towns.parquet
    pool.parquet empty.csv header.csv half.csv.gz half.parquet names.csv folder s.toml nowhere.csv
""".split()  # noqa: SIM905 - one a line would fill a screen

COMMANDS = {
    "privatize": "privatize s.toml FILE -o out.csv",
    "count": "count s.toml FILE -o out.parquet",
    "merge": "merge more.parquet FILE -o out.parquet",
    "pool": "merge more.parquet FILE --pool -o out.parquet",
    "estimate": "estimate s.toml FILE --method inversion-project -o out.csv",
    "truth": "estimate s.toml bare.csv --truth FILE --method inversion-project -o out.csv",
    "unbias": "unbias s.toml FILE --query mean -o out.csv",
    "regress": "regress s.toml FILE 'age ~ 1' -o out.csv",
    "send": "send s.toml FILE http://localhost:1",
    "survey": "show FILE",
}
"""A call of every command that reads data; FILE stands for the file."""

READ = {
    "privatize": "values.csv bare.csv counts.csv",  # of the last two nothing says that they are reports
    "count": "values.csv reports.csv reports.jsonl reports.parquet bare.csv counts.csv",
    "merge": "counts.parquet",
    "pool": "counts.parquet countsother.parquet pool.parquet",
    "estimate": "values.csv reports.csv reports.jsonl reports.parquet bare.csv counts.parquet counts.csv towns.parquet",
    "truth": "values.csv bare.csv counts.csv",
    "unbias": "values.csv reports.csv reports.parquet bare.csv counts.parquet counts.csv towns.parquet",
    "regress": "values.csv reports.csv reports.parquet bare.csv counts.parquet counts.csv towns.parquet",
    "send": "values.csv bare.csv counts.csv",
    "survey": "s.toml",
}
"""The files that each command reads; all others are refused."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("kinds")
    make(place)
    return place


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_read_and_what_is_refused(
    command: str, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("confide.collector.client.Client", Nowhere)
    shutil.copytree(made, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    before = {path.name for path in Path().iterdir()}
    read = []
    for name in FILES:
        ending = CliRunner().invoke(app, shlex.split(COMMANDS[command].replace("FILE", name)))
        assert ending.exception is None or isinstance(ending.exception, SystemExit), (name, ending.exception)
        new = {path.name for path in Path().iterdir()} - before
        if ending.exit_code == 0:
            read.append(name)
        else:
            assert "Error: " in ending.output, name
            assert not {one for one in new if not one.endswith(".lock")}, (name, new)
        for one in new:
            Path(one).unlink()
    assert " ".join(read) == READ[command]
