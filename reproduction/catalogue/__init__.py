"""Catalogue of the paper's experiments, in the order of the paper."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from confide.errors import InvalidParameterError
from reproduction.catalogue.examples import AGES_EXAMPLE, MANHATTAN_HEATMAPS, MANHATTAN_MAP, RAPPOR_EXAMPLES
from reproduction.catalogue.inversion import INVERSION_BOUNDS, TIME_AND_ERROR
from reproduction.catalogue.levels import (
    AGES_LEVELS,
    KRR_LEVELS,
    LAB_LEVELS,
    MANHATTAN_LEVELS,
    MECHANISMS,
    PARIS_LEVELS,
    RAPPOR_LEVELS,
)
from reproduction.catalogue.likelihood import LIKELIHOOD_SURFACES, RAPPOR_CONCAVITY, SAN_FRANCISCO
from reproduction.catalogue.sizes import AGES_SIZES, KRR_SIZES, MANHATTAN_SIZES
from reproduction.catalogue.starts import DELTA_SENSITIVITY, START_DELTA, START_EXAMPLES
from reproduction.catalogue.subsets import LIKELY_SUBSETS
from reproduction.experiments import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        AGES_EXAMPLE,
        LIKELIHOOD_SURFACES,
        RAPPOR_CONCAVITY,
        SAN_FRANCISCO,
        MECHANISMS,
        MANHATTAN_MAP,
        MANHATTAN_HEATMAPS,
        AGES_LEVELS,
        MANHATTAN_LEVELS,
        KRR_LEVELS,
        RAPPOR_EXAMPLES,
        RAPPOR_LEVELS,
        AGES_SIZES,
        MANHATTAN_SIZES,
        KRR_SIZES,
        INVERSION_BOUNDS,
        START_DELTA,
        START_EXAMPLES,
        TIME_AND_ERROR,
        LIKELY_SUBSETS,
        LAB_LEVELS,
        PARIS_LEVELS,
        DELTA_SENSITIVITY,
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
