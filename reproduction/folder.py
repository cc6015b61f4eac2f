"""Output folder: tables, figures, finished cells, and facts of each run."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import confide
from confide.data.files import write_text
from confide.errors import DataFileError
from reproduction.cells import Record
from reproduction.claims import Claim
from reproduction.experiments import Experiment
from reproduction.table import RESULTS, Table, Tables

OUTPUT = Path("build/reproduction")
"""Default output folder; `build/` is ignored by git and removed by `make clean`."""


@dataclass(frozen=True)
class Run:
    """Account of one experiment's last run.

    Attributes
    ----------
    name, version
        Which experiment, and which confide ran it.
    repeats, cells
        How often reports were drawn, and how many cells there are; 0 where nothing is drawn.
    fresh
        How many of the cells were run this time.
    stale
        How many finished cells no longer fit the declaration, and were left out.
    work
        Seconds of processor time that all cells took together, whenever they were run.
    elapsed
        Seconds from the beginning to the end of this run.
    code
        A digest of the code that made the tables of a computation.
    """

    name: str
    version: str
    repeats: int
    cells: int
    fresh: int
    stale: int
    work: float
    elapsed: float
    code: str


@dataclass(frozen=True)
class Folder:
    """The layout of an output folder: index, figures, tables, cells."""

    path: Path

    def prepare(self) -> None:
        """Make the folders, or say why that cannot be."""
        try:
            for name in ("figures", "tables", "cells"):
                (self.path / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataFileError(f"{str(self.path)!r} cannot be a folder: {error.strerror or error}.") from None

    @property
    def index(self) -> Path:
        """The page that shows everything."""
        return self.path / "index.html"

    def cells(self, experiment: Experiment) -> Path:
        """Return where the finished cells of an experiment are."""
        return self.path / "cells" / f"{experiment.name}.jsonl"

    def table(self, experiment: Experiment, name: str) -> Path:
        """Return where a table is, as CSV; Parquet is beside it."""
        ending = "" if name == RESULTS else f"-{name}"
        return self.path / "tables" / f"{experiment.name}{ending}.csv"

    def figure(self, name: str, ending: str = "png") -> Path:
        """Return where a figure is."""
        return self.path / "figures" / f"{name}.{ending}"

    def write_tables(self, experiment: Experiment, tables: Tables) -> None:
        """Write every table as CSV and Parquet."""
        for name, table in tables.items():
            table.write(self.table(experiment, name))

    def read_tables(self, experiment: Experiment) -> dict[str, Table]:
        """Read every table back: drawing sees nothing else."""
        return {name: Table.read(self.table(experiment, name), kinds) for name, kinds in experiment.columns.items()}

    def has_tables(self, experiment: Experiment) -> bool:
        """Whether all tables are there."""
        return all(self.table(experiment, name).exists() for name in experiment.columns)

    def write_run(self, run: Run) -> None:
        """Note what is known of a run."""
        write_text(self._run(run.name), json.dumps(asdict(run), indent=1) + "\n")

    def read_run(self, experiment: Experiment) -> Run | None:
        """Return what is known of the last run, if any."""
        try:
            return Run(**json.loads(self._run(experiment.name).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def _run(self, name: str) -> Path:
        return self.path / "cells" / f"{name}.run.json"


def claims_of(experiment: Experiment, folder: Folder) -> list[Claim]:
    """Return the paper's statements beside our tables, if it was run."""
    if experiment.claims is None or not folder.has_tables(experiment):
        return []
    return experiment.claims(folder.read_tables(experiment))


def code_digest() -> str:
    """Return a digest of the code that computes and draws."""
    library = Path(confide.__file__).parent
    digest = hashlib.sha256(confide.__version__.encode())
    for part in (Path(__file__).parent, library / "figures", library / "theory"):
        for file in sorted(part.rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:24]


@dataclass
class Store:
    """Finished cells of one experiment, saved as they end.

    One line of JSON each, flushed to the disk.

    A line that was cut short by a kill is passed over when the file is read, and its cell is run again.
    """

    path: Path
    finished: dict[str, Record] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path, *, is_fresh: bool = False) -> Store:
        """Read what is there; nothing if it is to be `is_fresh`."""
        path.parent.mkdir(parents=True, exist_ok=True)
        if is_fresh:
            path.unlink(missing_ok=True)
        store = cls(path)
        if path.exists():
            store.finished = {record.key: record for record in _read(path)}
        return store

    def add(self, records: Iterable[Record]) -> None:
        """Write finished cells, and wait until they are on disk."""
        kept = list(records)
        lines = "".join(json.dumps(record.to_plain()) + "\n" for record in kept)
        try:
            is_torn = self.path.exists() and not _ends_whole(self.path)
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(f"\n{lines}" if is_torn else lines)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise DataFileError(f"{str(self.path)!r} cannot be written: {error.strerror or error}.") from None
        self.finished |= {record.key: record for record in kept}

    def stale(self, settings: set[str]) -> int:
        """Return the number of finished cells whose declaration has changed."""
        return sum(record.setting not in settings for record in self.finished.values())


def _read(path: Path) -> Iterable[Record]:
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            yield Record.from_plain(json.loads(line))
        except (ValueError, TypeError, KeyError):
            continue  # cut short, or written by another version: the cell is run again


def _ends_whole(path: Path) -> bool:
    with path.open("rb") as stream:
        stream.seek(0, os.SEEK_END)
        if stream.tell() == 0:
            return True
        stream.seek(-1, os.SEEK_END)
        return stream.read(1) == b"\n"
