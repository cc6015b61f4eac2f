"""Every function that writes a file, under the same promises: whole or not at all, the same bytes for the same content,
the mode that is there, a link that stays one, the same through standard output, nothing left open or lying about.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.data.files import write_text, write_values
from confide.data.files.counts_files import save_counts
from confide.data.files.sheets import Reason, Reject
from confide.data.files.writing import write_rejects
from confide.errors import ConfideError

pytest.importorskip("pyarrow", reason="Parquet needs the extra confide[counting]")

SURVEY = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0), "age", "Ages")
REPORTS = np.arange(10)


def reports(path: Path | str) -> None:
    cf.write_reports(path, REPORTS, SURVEY, keep_order=True)


def counts(path: Path | str) -> None:
    save_counts(path, cf.tally([3, 4, 4]), SURVEY)


def rejects(path: Path | str) -> None:
    write_rejects(path, [Reject("f.csv", 3, "x", Reason.NOT_A_NUMBER)])


def values(path: Path | str) -> None:
    write_values(path, SURVEY.alphabet, np.arange(10))


def text(path: Path | str) -> None:
    write_text(path, "ünï\n" * 3)


def ledger(path: Path | str) -> None:
    cf.Ledger(path).charge(SURVEY, 3)


WRITERS: dict[str, Callable[[Any], None]] = {
    "text.txt": text,
    "text.csv.gz": text,
    "values.csv": values,
    "values.csv.gz": values,
    "rejects.csv": rejects,
    "reports.csv": reports,
    "reports.csv.gz": reports,
    "reports.jsonl": reports,
    "reports.jsonl.gz": reports,
    "reports.parquet": reports,
    "counts.parquet": counts,
    "counts.csv": counts,
    "counts.csv.gz": counts,
    "ledger.json": ledger,
}
OWN = {"rejects.csv", "ledger.json"}
"""What nobody but its owner reads."""

every = pytest.mark.parametrize("name", WRITERS)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def open_files() -> int:
    place = Path("/proc/self/fd")
    return len(list(place.iterdir())) if place.is_dir() else 0


@every
def test_the_same_content_makes_the_same_bytes_at_any_time(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for place, moment in enumerate((1e9, 1.7e9)):
        monkeypatch.setattr(time, "time", lambda moment=moment: moment)
        folder = tmp_path / str(place)
        folder.mkdir()
        WRITERS[name](folder / name)
        found.append(files(folder))
    assert found[0] == found[1]


@every
def test_a_new_file_is_as_private_as_it_should_be_and_an_old_one_as_it_was(name: str, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        WRITERS[name](tmp_path / name)
        assert (tmp_path / name).stat().st_mode & 0o777 == (0o600 if name in OWN else 0o644)
        if name != "ledger.json":  # which is its owner's, whatever became of it
            (tmp_path / name).chmod(0o640)
            WRITERS[name](tmp_path / name)
            assert (tmp_path / name).stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(before)


@every
@pytest.mark.parametrize("place", ["replace", "write"])
def test_what_cannot_be_finished_leaves_the_old_file(
    name: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    WRITERS[name](tmp_path / name)
    old = files(tmp_path)

    def fail(*_: object, **__: object) -> Any:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        if place == "replace":
            patch.setattr(Path, "replace", fail)
        else:
            patch.setattr(os, "fdopen", fail)
            patch.setattr("builtins.open", fail)
        with pytest.raises(ConfideError, match="No space left"):
            WRITERS[name](tmp_path / name)
    left = {name: content for name, content in files(tmp_path).items() if not name.endswith((".lock", ".new"))}
    assert left == {name: content for name, content in old.items() if not name.endswith(".lock")}


@every
def test_a_link_stays_a_link(name: str, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    real = f"real.{name}"  # under another name: what is said of a file is said of the one that is written
    (tmp_path / "there" / real).write_bytes(b"" if name != "ledger.json" else b'{"version": 1, "pages": {}}')
    (tmp_path / name).symlink_to(tmp_path / "there" / real)
    WRITERS[name](tmp_path / name)
    assert (tmp_path / name).is_symlink()
    alone = tmp_path / "alone"
    alone.mkdir()
    WRITERS[name](alone / real)
    assert files(tmp_path / "there") == files(alone)


@every
def test_nothing_stays_open_or_lies_about(name: str, tmp_path: Path) -> None:
    before = open_files()
    WRITERS[name](tmp_path / name)
    beside = {f"{name}-metadata.json"} if name.startswith("reports") and not name.endswith("parquet") else set()
    assert set(files(tmp_path)) == {name} | beside | ({"ledger.json.lock"} if name == "ledger.json" else set())
    assert open_files() == before


@pytest.mark.parametrize("name", ["text.txt", "values.csv", "rejects.csv", "reports.csv"])
def test_standard_output_gets_what_a_file_gets(
    name: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    WRITERS[name](tmp_path / name)
    WRITERS[name]("-")
    assert capfdbinary.readouterr().out == (tmp_path / name).read_bytes()


@pytest.mark.parametrize("size", [2**20 - 1, 2**20, 2**20 + 1, 3 * 2**20 + 7])
def test_standard_output_gets_all_of_it(size: int, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    content = (b"0123456789abcde\n" * (size // 16 + 1))[:size]
    write_text("-", content.decode())
    assert capfdbinary.readouterr().out == content


def test_every_order_of_a_ledgers_steps_is_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is synchronised before it gets its name, and the folder behind it."""
    steps: list[str] = []
    sync, replace = os.fsync, Path.replace

    def synced(number: int) -> None:
        steps.append("folder" if Path(f"/proc/self/fd/{number}").resolve().is_dir() else "file")
        sync(number)

    def replaced(self: Path, target: Path) -> Path:
        steps.append("name")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    ledger(tmp_path / "ledger.json")
    assert steps == ["file", "name", "folder"]


@pytest.mark.parametrize("name", [one for one in WRITERS if one.startswith("reports") and not one.endswith("parquet")])
def test_a_companion_says_how_its_file_is_read(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / name)
    told = json.loads((tmp_path / f"{name}-metadata.json").read_text())
    content = (tmp_path / told["url"]).read_bytes()
    text = (gzip.decompress(content) if told["url"].endswith(".gz") else content).decode()
    columns = [one["titles"] for one in told["tableSchema"]["columns"]]
    if "dialect" in told:  # which only what the W3C describes has: CSV
        form = told["dialect"]
        assert (form["header"], form["encoding"], form["lineTerminators"]) == (True, "utf-8", ["\n"])
        header, *rows = csv.reader(text.splitlines(), delimiter=form["delimiter"], quotechar=form["quoteChar"])
        found = [dict(zip(header, map(int, row), strict=True)) for row in rows]
    else:
        found = [json.loads(line) for line in text.splitlines()]
    assert found == [dict.fromkeys(columns, report) for report in REPORTS.tolist()]
