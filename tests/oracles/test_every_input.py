"""No command writes over a file that it reads: every file that a command is given, under every output that it has.

The output is a link with a fitting name to the file that is read, so that nothing but a look at the file itself keeps
the command from writing over it. Afterwards every file has the bytes that it had.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.cli.surveys import HALVES
from tests.cli.test_every_option import AGES, CITY, PERMANENT, SECRET, Nowhere, lines
from tests.plans.test_records import given
from typer.testing import CliRunner

import confide as cf
from confide.cli.main import COMMANDS, app
from confide.collector.stores import open_store
from confide.data.files import save_counts, to_json

pytest.importorskip("pyarrow", reason="counting needs the extra confide[counting]")
pytest.importorskip("uvicorn", reason="the collector needs the extra confide[collector]")

CALLS = {
    "audit": "s.toml one.parquet -o OUT.html",
    "export": "s.toml -o OUT.json",
    "plan": "s.toml --people 77 --guess values.csv -o OUT.csv",
    "privatize": "permanent.toml values.csv --secret secret.txt -o OUT.csv --rejects REJECTS.csv",
    "count": "s.toml reports.csv -o OUT.parquet --rejects REJECTS.csv",
    "merge": "one.parquet two.parquet -o OUT.parquet",
    "estimate": "city.toml cells.csv --truth homes.csv --query areas.json --query halves.json -o OUT.csv",
    "diagnose": "city.toml cells.csv --query areas.json -o OUT.json",
    "unbias": "city.toml cells.csv --query areas.json -o OUT.csv",
    "regress": "s.toml reports.csv 'age ~ 1' -o OUT.csv",
    "pull": "http://localhost:1 s.toml -o OUT.csv",
    "curate": "kept.db s.toml --invite 2 -o OUT.txt",
}
"""A call of every command that has both, with all the files that it can read."""

REPEATED = {"plan", "estimate", "diagnose", "regress"}
"""Commands whose -o may be given several times."""

OUTPUTS = {"--output", "--rejects", "--export", "--ledger", "--store"}
"""What commands write."""

ELSEWHERE = {"new", "demo", "datasets", "show", "send", "serve", "studio"}
"""Commands that read or write no file that has a name, or refuse one that is there."""


def test_every_command_that_reads_and_writes_has_a_call() -> None:
    group: Any = typer.main.get_command(app)
    assert set(CALLS) | ELSEWHERE == set(COMMANDS)
    for name, call in CALLS.items():
        written = {max(one.opts, key=len) for one in group.get_command(None, name).params} & OUTPUTS
        words = call.replace(" -o ", " --output ").split()
        assert written - {"--ledger"} == OUTPUTS & set(words), name


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("confide.collector.client.Client", Nowhere)
    monkeypatch.setattr("confide.cli.plan.make_plan", lambda *_, **__: given())  # which takes seconds
    for name, survey in (("s", AGES), ("permanent", PERMANENT), ("city", CITY)):
        Path(f"{name}.toml").write_text(survey.text())
    Path("values.csv").write_text("age\n1\n")
    Path("reports.csv").write_text(lines("report", ["0", "1", "2", "2"] * 5))
    Path("cells.csv").write_text(lines("row,column", [f"{one % 4},{one % 3}" for one in range(24)]))
    Path("homes.csv").write_text(lines("latitude,longitude", ["40.75,-73.98", "40.72,-74.01"]))
    Path("secret.txt").write_text(SECRET)
    for name in ("areas", "halves"):
        Path(f"{name}.json").write_text(to_json(HALVES))
    for name, reports in (("one", [0, 1, 2]), ("two", [2, 0])):
        save_counts(f"{name}.parquet", cf.tally(reports), AGES)
    with contextlib.closing(open_store("kept.db")) as store:
        store.add_survey(AGES)
    return tmp_path


def pairs() -> Iterator[tuple[str, str, str]]:
    for command, call in CALLS.items():
        words = shlex.split(call)
        read = dict.fromkeys(one for one in words if "." in one and "OUT" not in one and "://" not in one)
        for out in (one for one in words if "OUT." in one or "REJECTS." in one):
            yield from ((command, own, out) for own in read if own != "REJECTS.csv")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("command", "own", "out"), [one for one in pairs() if one[1] != one[2]])
def test_what_is_read_is_not_written(command: str, own: str, out: str, folder: Path) -> None:
    Path(out).symlink_to(own)
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    ending = CliRunner().invoke(app, [command, *shlex.split(CALLS[command])])
    told = " ".join(ending.output.split())
    assert ending.exit_code == 2, told
    assert "is also an input" in told
    assert {name: (folder / name).read_bytes() for name in before} == before
    assert Path(out).is_symlink()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", CALLS)
def test_what_is_not_read_is_written(command: str) -> None:
    """Or the test above would say nothing."""
    ending = CliRunner().invoke(app, [command, *shlex.split(CALLS[command])])
    assert ending.exit_code == 0, ending.output
    written = [Path(one) for one in shlex.split(CALLS[command]) if one.startswith("OUT.")]
    assert all(one.is_file() for one in written)
    # Invitations are as good as answers: nobody else reads them.
    assert all((one.stat().st_mode & 0o077 == 0) is (command == "curate") for one in written)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", [name for name, call in CALLS.items() if "REJECTS" in call or name in REPEATED])
def test_two_outputs_are_two_files(command: str) -> None:
    words = CALLS[command]
    (out,) = [one for one in shlex.split(words) if one.startswith("OUT.")]
    words = words.replace("REJECTS.csv", out) if "REJECTS" in words else f"{words} -o {out}"
    ending = CliRunner().invoke(app, [command, *shlex.split(words)])
    assert ending.exit_code == 2, ending.output
    assert "is named twice" in " ".join(ending.output.split())
    assert not Path(out).exists()
