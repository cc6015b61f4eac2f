"""Run experiments: what is missing is computed, tables are written, figures drawn."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from confide import __version__
from confide.checks import check_count
from confide.errors import InvalidParameterError
from reproduction.base import Comparison, Computation, Experiment
from reproduction.cells import Contender, Draw, Record, run_draw
from reproduction.drawing import draw_pictures, needs_drawing
from reproduction.folder import Folder, Run, code_digest
from reproduction.store import Store
from reproduction.table import Table, load_pyarrow
from reproduction.workers import open_pool

QUICK_REPEATS = 3
"""How often reports are drawn when a look is enough."""


class Watcher:
    """Told how far a run has come; this one keeps it to itself."""

    def begin(self, experiment: Experiment, done: int, total: int, stale: int) -> None:
        """Note that an experiment begins: cells already finished, cells in all, and those that no longer fit."""

    def advance(self, experiment: Experiment, cells: int) -> None:
        """Note that cells have ended."""

    def end(self, experiment: Experiment, run: Run) -> None:
        """Note that the tables of an experiment are written."""

    def draw(self, experiments: int) -> None:
        """Note that all tables are there, and that the last figures of so many experiments are being drawn."""


@dataclass(frozen=True)
class _Workshop:
    """What the parts of a run share."""

    folder: Folder
    pool: ProcessPoolExecutor
    watcher: Watcher
    is_fresh: bool


def reproduce(
    experiments: Sequence[Experiment],
    output: str | Path,
    *,
    repeats: int | None = None,
    jobs: int | None = None,
    is_fresh: bool = False,
    watcher: Watcher | None = None,
) -> list[Run]:
    """Run experiments into a folder; what a former run finished is kept.

    Parameters
    ----------
    experiments
        What to run.
    output
        The folder. Tables, figures and finished cells go there.
    repeats
        How often reports are drawn; as each experiment declares, if left out.
    jobs
        How many processes run cells; one for each processor, if left out. The tables do not depend on it.
    is_fresh
        Whether to run all cells again.
    watcher
        Told how far the run has come.

    >>> import tempfile
    >>> from reproduction import find
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     runs = reproduce(find(["mechanisms"]), folder, jobs=1)
    ...     sorted(path.name for path in Path(folder, "files").iterdir())
    ['mechanisms.csv', 'mechanisms.parquet']
    """
    if repeats is not None:
        check_count("repeats", repeats, 1)
    if jobs is not None:
        check_count("jobs", jobs, 1)
    _check_names(experiments)
    load_pyarrow()
    folder = Folder(Path(output))
    folder.prepare()
    with open_pool(jobs or os.cpu_count() or 1) as pool:
        workshop = _Workshop(folder, pool, watcher or Watcher(), is_fresh)
        drawings: list[Future[int]] = []
        runs = []
        for experiment in experiments:
            runs.append(_run(experiment, workshop, repeats))
            if needs_drawing(experiment, folder):
                # Figures are drawn while the next experiment runs.
                drawings.append(pool.submit(draw_pictures, experiment, folder.path))
        workshop.watcher.draw(len(drawings))
        for drawing in drawings:
            drawing.result()
    return runs


def _run(experiment: Experiment, workshop: _Workshop, repeats: int | None) -> Run:
    if isinstance(experiment, Comparison):
        run = _compare(experiment, workshop, repeats or experiment.repeats)
    elif isinstance(experiment, Computation):
        run = _compute(experiment, workshop)
    else:
        raise InvalidParameterError(f"{experiment.name!r} is neither a Comparison nor a Computation.")
    workshop.folder.write_run(run)
    workshop.watcher.end(experiment, run)
    return run


def _compare(experiment: Comparison, workshop: _Workshop, repeats: int) -> Run:
    began = time.perf_counter()
    store = Store.open(workshop.folder.cells(experiment), is_fresh=workshop.is_fresh)
    draws = experiment.draws(repeats)
    keys = [key for draw in draws for key in experiment.keys(draw)]
    done, stale = sum(key in store.finished for key in keys), store.stale(experiment.known_settings())
    workshop.watcher.begin(experiment, done, len(keys), stale)
    _finish(experiment, store, draws, workshop)
    records = [store.finished[key] for key in keys]
    workshop.folder.write_tables(experiment, experiment.tabulate(records))
    work = sum(record.work for record in records)
    elapsed = time.perf_counter() - began
    return Run(experiment.name, __version__, repeats, len(keys), len(keys) - done, stale, work, elapsed, "")


def _finish(experiment: Comparison, store: Store, draws: Sequence[Draw], workshop: _Workshop) -> None:
    """Run what is missing, and write every draw as it ends."""
    pending: list[Future[list[Record]]] = []
    for draw in draws:
        missing = _missing(experiment, store, draw)
        if missing:
            pending.append(workshop.pool.submit(run_draw, draw, missing, is_kept=experiment.is_kept(draw)))
    for future in as_completed(pending):
        records = future.result()
        store.add(records)
        workshop.watcher.advance(experiment, len(records))


def _missing(experiment: Comparison, store: Store, draw: Draw) -> list[Contender]:
    pairs = zip(experiment.contenders, experiment.keys(draw), strict=True)
    return [contender for contender, key in pairs if key not in store.finished]


def _compute(experiment: Computation, workshop: _Workshop) -> Run:
    began, folder, code = time.perf_counter(), workshop.folder, code_digest()
    former = folder.read_run(experiment)
    is_done = former is not None and former.code == code and folder.has_tables(experiment) and not workshop.is_fresh
    workshop.watcher.begin(experiment, int(is_done), 1, 0)
    if is_done and former is not None:
        return former
    tables, work = workshop.pool.submit(_timed, experiment).result()
    folder.write_tables(experiment, tables)
    workshop.watcher.advance(experiment, 1)
    return Run(experiment.name, __version__, 0, 0, 0, 0, work, time.perf_counter() - began, code)


def _timed(experiment: Computation) -> tuple[dict[str, Table], float]:
    began = time.process_time()
    if experiment.compute is None:
        return {}, 0.0
    return experiment.compute(), time.process_time() - began


def _check_names(experiments: Sequence[Experiment]) -> None:
    names = [experiment.name for experiment in experiments]
    if len(set(names)) < len(names):
        raise InvalidParameterError(f"Every experiment needs a name of its own; got {', '.join(names)}.")
