"""Runs of experiments: missing cells, tables, figures."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path

from confide import __version__
from confide.data.files import write_text
from confide.errors import InvalidParameterError
from confide.values.checks import check_count
from reproduction.cells import Contender, Draw, Record, run_draw
from reproduction.experiments import Comparison, Computation, Experiment, Picture
from reproduction.folder import Folder, Run, Store, code_digest
from reproduction.table import Table, Tables, load_pyarrow

QUICK_REPEATS = 3
DOTS_PER_INCH = 150
# Inches of a figure across the page: wider ones would be shrunk until nobody could read their letters.
ACROSS = 11.4
# More BLAS threads would be slower on busy cores, and could change the last digit of a sum.
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Watcher:
    """Listener for progress; this one stays silent."""

    def begin(self, experiment: Experiment, done: int, total: int, stale: int) -> None:
        """Note that an experiment begins, with finished and stale cells."""

    def advance(self, experiment: Experiment, cells: int) -> None:
        """Note that cells have ended."""

    def end(self, experiment: Experiment, run: Run) -> None:
        """Note that the tables of an experiment are written."""

    def draw(self, experiments: int) -> None:
        """Note that tables are complete and last figures are drawn."""


@dataclass(frozen=True)
class _Workshop:
    """Folder, processes and listener that the parts of a run share."""

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

    Examples
    --------
    >>> import tempfile
    >>> from reproduction.catalogue import find
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     runs = reproduce(find(["mechanisms"]), folder, jobs=1)
    ...     sorted(path.name for path in Path(folder, "tables").iterdir())
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


@contextmanager
def open_pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of fresh processes with single-threaded BLAS."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_prepare)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _prepare() -> None:
    # Control-C goes to every process of a terminal; the parent alone decides what comes of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Leave when the parent is killed.

    A pool's process would otherwise wait for work for ever.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def needs_drawing(experiment: Experiment, folder: Folder) -> bool:
    """Whether some figure is not yet drawn from the present tables."""
    return bool(_pending(experiment, folder, _state(experiment, folder)))


def draw_pictures(experiment: Experiment, path: Path) -> int:
    """Draw every figure that is not yet drawn from these tables.

    Returns
    -------
    int
        How many were drawn.
    """
    folder = Folder(path)
    state = _state(experiment, folder)
    pending = _pending(experiment, folder, state)
    tables = folder.read_tables(experiment) if pending else {}
    for picture in pending:
        _draw(picture, tables, folder)
        write_text(_mark(picture, folder), state)
    return len(pending)


def _pending(experiment: Experiment, folder: Folder, state: str) -> list[Picture]:
    return [picture for picture in experiment.pictures if not _is_drawn(picture, folder, state)]


def _draw(picture: Picture, tables: Tables, folder: Folder) -> None:
    from confide.present.figures import style, to_pdf, to_png, to_svg_file

    with style.within(ACROSS):
        figure = picture.draw(tables)
    to_png(figure, folder.figure(picture.name), dpi=DOTS_PER_INCH)
    to_pdf(figure, folder.figure(picture.name, "pdf"))
    to_svg_file(figure, folder.figure(picture.name, "svg"), picture.caption)
    with style.within(style.NARROW):
        to_svg_file(picture.draw(tables), folder.figure(f"{picture.name}-narrow", "svg"), picture.caption)


def _state(experiment: Experiment, folder: Folder) -> str:
    """Return a digest of all that a drawing depends on."""
    digest = hashlib.sha256(code_digest().encode())
    for name in experiment.columns:
        digest.update(folder.table(experiment, name).read_bytes())
    return digest.hexdigest()


def _is_drawn(picture: Picture, folder: Folder, state: str) -> bool:
    files = [folder.figure(picture.name, ending) for ending in ("png", "pdf", "svg")]
    files.append(folder.figure(f"{picture.name}-narrow", "svg"))
    mark = _mark(picture, folder)
    return all(file.exists() for file in files) and mark.exists() and mark.read_text(encoding="utf-8") == state


def _mark(picture: Picture, folder: Folder) -> Path:
    return folder.path / "cells" / f"{picture.name}.drawn"
