"""Sketches of the paper's figures, in seconds, for the gallery."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.solve.methods import IBU, BitInversion, Inversion, Method
from reproduction.catalogue import find
from reproduction.cells import Unprocessed, run_draw
from reproduction.experiments import Comparison, Computation, Experiment
from reproduction.table import Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMN = 8.4  # inches: what a column of text shows without shrinking the letters


def sketch(name: str, repeats: int = 1) -> list[Figure]:
    """Draw an experiment's figures from few repeats, here and now.

    Box plots show the paper's own methods alone, IBU and the inversions. ``python -m reproduction NAME`` runs the
    whole experiment.

    Parameters
    ----------
    name
        Name of the experiment, as ``python -m reproduction --list`` shows it.
    repeats
        How often reports are drawn.

    Examples
    --------
    >>> [type(figure).__name__ for figure in sketch("manhattan-map")]
    ['Figure']
    """
    from confide.present.figures import style

    (experiment,) = find([name])
    tables = _tables(experiment, repeats)
    with style.within(COLUMN):
        return [picture.draw(tables) for picture in experiment.pictures]


def _tables(experiment: Experiment, repeats: int) -> Tables:
    if isinstance(experiment, Comparison):
        takes_all = experiment.keeps_shares or experiment.is_timed  # their pictures name further methods
        contenders = [one for one in experiment.contenders if takes_all or _is_of_the_paper(one.method)]
        draws = experiment.draws(1 if experiment.keeps_shares else repeats)
        records = [record for one in draws for record in run_draw(one, contenders, is_kept=experiment.is_kept(one))]
        return experiment.tabulate(records)
    if isinstance(experiment, Computation) and experiment.compute is not None:
        return experiment.compute()
    raise TypeError(f"There is no sketch of {type(experiment).__name__}.")


def _is_of_the_paper(method: Method) -> bool:
    is_stopped_by_delta = isinstance(method, IBU) and method.stop == "delta"
    return is_stopped_by_delta or isinstance(method, (Inversion, BitInversion, Unprocessed))
