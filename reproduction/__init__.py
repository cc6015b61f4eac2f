"""The paper's experiments: declared, run into tables, drawn from the tables.

>>> find(["ages-example"])[0].paper
('fig:geometric_on_ages',)
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from confide.errors import InvalidParameterError
from reproduction.base import Claim, Comparison, Computation, Experiment, Picture, Setting, Verdict, cross
from reproduction.blurs import Blur, levels
from reproduction.catalogue import (
    ages_example,
    ages_levels,
    ages_sizes,
    delta_sensitivity,
    inversion_bounds,
    krr_levels,
    krr_sizes,
    lab_levels,
    likelihood_surfaces,
    likely_subsets,
    manhattan_heatmaps,
    manhattan_levels,
    manhattan_map,
    manhattan_sizes,
    mechanisms,
    paris_levels,
    rappor_concavity,
    rappor_examples,
    rappor_levels,
    san_francisco,
    start_delta,
    start_examples,
    time_and_error,
)
from reproduction.cells import Contender
from reproduction.folder import Folder, Run
from reproduction.runner import QUICK_REPEATS, Watcher, reproduce
from reproduction.sources import Binomial, Bundled, EvenOver, Source
from reproduction.table import Table

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        ages_example,
        likelihood_surfaces,
        rappor_concavity,
        san_francisco,
        mechanisms,
        manhattan_map,
        manhattan_heatmaps,
        ages_levels,
        manhattan_levels,
        krr_levels,
        rappor_examples,
        rappor_levels,
        ages_sizes,
        manhattan_sizes,
        krr_sizes,
        inversion_bounds,
        start_delta,
        start_examples,
        time_and_error,
        likely_subsets,
        lab_levels,
        paris_levels,
        delta_sensitivity,
    )
}
"""Every experiment by its name, in the order of the paper; a new one joins by standing here."""


def find(names: Sequence[str]) -> list[Experiment]:
    """Return experiments by name, all of them for no name at all.

    >>> [experiment.name for experiment in find(["krr-levels", "ages-example"])]
    ['krr-levels', 'ages-example']

    Raises
    ------
    InvalidParameterError
        If there is none of that name; the message suggests others.
    """
    for name in names:
        if name not in EXPERIMENTS:
            near = difflib.get_close_matches(name, EXPERIMENTS, n=3, cutoff=0.4)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            raise InvalidParameterError(
                f"There is no experiment {name!r}.{hint} python -m reproduction --list names all {len(EXPERIMENTS)}."
            )
    return [EXPERIMENTS[name] for name in dict.fromkeys(names)] if names else list(EXPERIMENTS.values())


__all__ = [
    "EXPERIMENTS",
    "QUICK_REPEATS",
    "Binomial",
    "Blur",
    "Bundled",
    "Claim",
    "Comparison",
    "Computation",
    "Contender",
    "EvenOver",
    "Experiment",
    "Folder",
    "Picture",
    "Run",
    "Setting",
    "Source",
    "Table",
    "Verdict",
    "Watcher",
    "cross",
    "find",
    "levels",
    "reproduce",
]
