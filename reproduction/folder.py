"""Where a reproduction is written, and what is known of each run."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import confide
from confide.errors import DataFileError
from confide.files import write_text
from reproduction.base import RESULTS, Claim, Experiment, Tables
from reproduction.table import Table

OUTPUT = Path("build/reproduction")
"""Default output folder; `build/` is ignored by git and removed by `make clean`."""


@dataclass(frozen=True)
class Run:
    """What is known of one experiment's last run.

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
    """The layout of an output folder: an index, figures, tables, and the finished cells."""

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
        """Return what is known of the last run; None if there was none."""
        try:
            return Run(**json.loads(self._run(experiment.name).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def _run(self, name: str) -> Path:
        return self.path / "cells" / f"{name}.run.json"


def claims_of(experiment: Experiment, folder: Folder) -> list[Claim]:
    """Return what the paper says of an experiment beside our tables; nothing where it was not run."""
    if experiment.claims is None or not folder.has_tables(experiment):
        return []
    return experiment.claims(folder.read_tables(experiment))


def code_digest() -> str:
    """Return a digest of the code that computes and draws, so that neither is skipped after it was changed."""
    library = Path(confide.__file__).parent
    digest = hashlib.sha256(confide.__version__.encode())
    for part in (Path(__file__).parent, library / "figures", library / "theory"):
        for file in sorted(part.rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:24]
