"""Known totals of the population, and raking to them.

A census knows how many women and men there are, and how many people live in each region. Raking multiplies weights by
a factor for each class, one margin after the other, until the weighted sample has all these totals (Deming and Stephan,
Annals of Mathematical Statistics 1940). With one margin that is post-stratification.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import InvalidCountsError, InvalidParameterError
from confide.values.checks import is_number, kind_of
from confide.values.wording import listed

Floats = NDArray[np.float64]
Totals = Mapping[str, Mapping[str, float]]
"""The total of each class, by margin."""

ROUNDS, CLOSE = 2_000, 1e-10
"""Most rounds of raking, and how close the shares of all classes must come."""


def check_totals(totals: object) -> dict[str, dict[str, float]]:
    """Return known totals in the order of their names, or raise.

    >>> check_totals({"sex": {"f": 51, "m": 49}})
    {'sex': {'f': 51.0, 'm': 49.0}}
    """
    if not isinstance(totals, Mapping) or not totals:
        raise InvalidParameterError(
            f'totals must be a mapping such as {{"sex": {{"f": 51, "m": 49}}}}; got {kind_of(totals)}.'
        )
    found = {}
    for margin, classes in totals.items():
        if not isinstance(classes, Mapping) or not classes:
            raise InvalidParameterError(
                f"The totals of {margin!r} must be a mapping from each class to its total; got {kind_of(classes)}."
            )
        for label, total in classes.items():
            if not is_number(total) or not 0 <= float(total) < math.inf:
                raise InvalidParameterError(
                    f"A total is a number of people, 0 or more, or a share; got {total!r} for {margin} = {label}."
                )
        found[str(margin)] = {str(label): float(total) for label, total in classes.items()}
        if not 0 < math.fsum(found[str(margin)].values()) < math.inf:
            raise InvalidParameterError(f"The totals of {margin!r} add up to nothing. Give the people of each class.")
    # One order, so that equal totals mean equal classes.
    return {margin: found[margin] for margin in sorted(found)}


def rake(totals: Totals, cells: Sequence[tuple[str, ...]], masses: Floats) -> Floats:
    """Return each cell's factor that lets all margins have their totals.

    Only the shares of a margin's totals count, and the sum of all weights stays.

    Parameters
    ----------
    totals
        The known totals.
    cells
        The class of each cell in each margin.
    masses
        The sum of the weights of each cell.

    Examples
    --------
    >>> rake({"sex": {"f": 50, "m": 50}}, [("f",), ("m",)], np.array([30.0, 10.0])).round(3).tolist()
    [0.667, 2.0]
    """
    columns = list(zip(*cells, strict=True))
    numbers, wanted = [], []
    for (margin, classes), column in zip(totals.items(), columns, strict=True):
        labels = list(classes)
        place = {label: number for number, label in enumerate(labels)}
        if strays := sorted({one for one in column if one not in place}):
            raise InvalidCountsError(
                f"The known totals of {margin!r} have none for {listed([repr(one) for one in strays[:5]])}"
                f"{' and others' if len(strays) > 5 else ''}, which people in the sample have; they are for "
                f"{listed([repr(one) for one in labels[:5]])}{' and others' if len(labels) > 5 else ''}. Add the "
                f"total, or give both the same names."
            )
        own = np.array([place[one] for one in column], dtype=np.int64)
        share = np.array(list(classes.values())) / math.fsum(classes.values())
        present = np.bincount(own, masses, len(labels)) > 0
        if empty := [
            label for label, is_there, one in zip(labels, present, share, strict=True) if one and not is_there
        ]:
            raise InvalidCountsError(
                f"Nobody in the sample has {margin} = {listed([repr(one) for one in empty[:5]])} and a weight above 0, "
                f"and by the known totals there are such people. Merge the class with another one, in both."
            )
        numbers.append(own)
        wanted.append(share * masses.sum())
    factors, whole = np.ones(masses.size), float(masses.sum())
    for _ in range(ROUNDS):
        for own, want in zip(numbers, wanted, strict=True):
            now = np.bincount(own, masses * factors, want.size)
            factors = factors * np.divide(want, now, out=np.zeros_like(want), where=now > 0)[own]
        gaps = [np.bincount(own, masses * factors, want.size) - want for own, want in zip(numbers, wanted, strict=True)]
        worst = [float(np.abs(gap).max()) / whole for gap in gaps]
        if max(worst) <= CLOSE:
            return factors
    farthest = int(np.argmax(worst))
    margin, gap = list(totals)[farthest], gaps[farthest]
    at = int(np.abs(gap).argmax())
    got, want = (gap[at] + wanted[farthest][at]) / whole, wanted[farthest][at] / whole
    raise InvalidCountsError(
        f"No weights meet all known totals: after {ROUNDS:,} rounds of raking {margin} = {list(totals[margin])[at]!r} "
        f"has {got:.4g} of all weight in place of {want:.4g}. Some classes hardly occur together in the sample, or the "
        f"totals contradict each other. Merge small classes, or leave one margin out."
    )


def indicators(cells: Sequence[tuple[str, ...]]) -> Any:
    """Return a row for each cell, with ones for its classes.

    >>> indicators([("f", "north"), ("m", "north")]).toarray().tolist()
    [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    """
    from scipy.sparse import csr_array

    classes: dict[tuple[int, str], int] = {}
    places = [[classes.setdefault((margin, one), len(classes)) for margin, one in enumerate(cell)] for cell in cells]
    order = {number: rank for rank, (_, number) in enumerate(sorted((key, number) for key, number in classes.items()))}
    columns = np.array([[order[one] for one in row] for row in places], dtype=np.int64).reshape(len(cells), -1)
    rows = np.repeat(np.arange(len(cells)), columns.shape[1])
    return csr_array((np.ones(rows.size), (rows, columns.reshape(-1))), shape=(len(cells), len(classes)))
