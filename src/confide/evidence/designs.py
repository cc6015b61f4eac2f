"""Sample designs: how strata and clusters move the variance of weighted sums.

People of one cluster, such as a village or a school, were drawn together, and are alike. People of different strata,
such as regions, were drawn on their own. The variance of a sum of scores is then, over the strata h with m clusters,

    sum_h m / (m - 1) * sum_c (u_c - mean of u in h)^2,  u_c the sum of weight times score in a cluster,

where without clusters every person is one. It needs the sum of weights of each report in each cluster, or for strata
alone those of weights, squares and reports in each stratum: all of these add up, on whatever machine they were counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from confide.errors import InvalidCountsError

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


class Covariance(NamedTuple):
    """A covariance of sums by report.

    A diagonal, and rows whose squares are added with a factor each.
    """

    diagonal: Floats
    rows: Any
    factors: Floats

    @property
    def variances(self) -> Floats:
        """The whole diagonal."""
        return np.asarray(np.maximum(self.diagonal + (self.rows**2).T @ self.factors, 0.0))

    def mapped(self, change: Callable[[Floats], Floats]) -> Covariance:
        """Return the same of other outputs."""
        from scipy.sparse import csr_array, vstack

        # One row at a time: outputs may be many, and clusters too.
        rows = [csr_array(change(row.toarray().reshape(-1))[None]) for row in self.rows]
        return Covariance(change(self.diagonal), vstack(rows, "csr"), self.factors)


@dataclass(frozen=True, eq=False)
class DesignSums:
    """Sums of weights by stratum, cluster and report.

    Attributes
    ----------
    names
        The stratum and the cluster of each block; an empty text where there are none.
    has_clusters
        Whether people were drawn in clusters.
    block, place
        The block and the report of each entry.
    counts, weights, squares
        Number of reports of each entry, and the sums of weights and of their squares.

    Examples
    --------
    >>> blocks = DesignSums.of(["north", "south", "north"], None, np.array([0, 0, 1]), np.ones(3), np.ones(3))
    >>> blocks.names, blocks.sizes
    ((('north', ''), ('south', '')), (2, 0))
    """

    names: tuple[tuple[str, str], ...]
    has_clusters: bool
    block: Places
    place: Places
    counts: Floats
    weights: Floats
    squares: Floats

    @classmethod
    def of(
        cls, strata: Any, clusters: Any, places: Places, counts: Floats, weights: Floats, squares: Floats | None = None
    ) -> DesignSums:
        """Sum entries by their labels.

        An array of texts or numbers each, or None.
        """
        columns = [_labels(name, one, places.size) for name, one in (("strata", strata), ("clusters", clusters))]
        names = list(dict.fromkeys(zip(*columns, strict=True)))
        numbers = {name: number for number, name in enumerate(names)}
        block = np.array([numbers[pair] for pair in zip(*columns, strict=True)], dtype=np.int64)
        own = counts * weights**2 if squares is None else squares
        sums = counts, counts * weights if squares is None else weights, own
        return cls(tuple(names), clusters is not None, block, places, *sums)._summed()

    @classmethod
    def joined(cls, parts: Sequence[DesignSums]) -> DesignSums:
        """Join blocks of the same name."""
        if len({one.has_clusters for one in parts}) > 1:
            raise InvalidCountsError("Counts with clusters and without cannot be merged. Count both with --clusters.")
        names = list(dict.fromkeys(name for one in parts for name in one.names))
        numbers = {name: number for number, name in enumerate(names)}
        block = np.concatenate([np.array([numbers[name] for name in one.names])[one.block] for one in parts])
        every = [
            np.concatenate([getattr(one, name) for one in parts]) for name in ("place", "counts", "weights", "squares")
        ]
        return cls(tuple(names), parts[0].has_clusters, block, *every)._summed()

    def _summed(self) -> DesignSums:
        """Return the same with one entry for each block and report."""
        width = int(self.place.max(initial=0)) + 1
        keys, entry = np.unique(self.block * width + self.place, return_inverse=True)
        sums = [np.bincount(entry, one).astype(np.float64) for one in (self.counts, self.weights, self.squares)]
        return DesignSums(self.names, self.has_clusters, keys // width, keys % width, *sums)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DesignSums):
            return NotImplemented
        return self._by_name == other._by_name

    __hash__ = None  # type: ignore[assignment]

    @property
    def _by_name(self) -> dict[tuple[tuple[str, str], int], tuple[float, ...]]:
        """The sums of each block's reports."""
        keys = [
            (self.names[block], place) for block, place in zip(self.block.tolist(), self.place.tolist(), strict=True)
        ]
        sums = (self.counts.tolist(), self.weights.tolist(), self.squares.tolist())
        return dict(zip(keys, zip(*sums, strict=True), strict=True))

    def moved(self, places: Places) -> DesignSums:
        """Return the same of reports that stand elsewhere.

        Several may stand at one place.
        """
        return replace(self, place=places[self.place])._summed()

    def scaled(self, factor: float) -> DesignSums:
        """Return the same with all weights multiplied."""
        return replace(self, weights=self.weights * factor, squares=self.squares * factor**2)

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of strata, and of clusters."""
        return len({stratum for stratum, _ in self.names}), len(self.names) if self.has_clusters else 0

    def covariance(self, size: int) -> Covariance:
        """Return the covariance of the sums of `size` reports.

        A stratum with one cluster, whose spread nobody can know, counts with the distance from all others: too much
        rather than too little. Where clusters are few, the quantile of Student's law at 95 % takes the place of 1.96.
        """
        from scipy.sparse import csr_array, vstack
        from scipy.special import stdtrit

        strata = list(dict.fromkeys(stratum for stratum, _ in self.names))
        number = {stratum: place for place, stratum in enumerate(strata)}
        home = np.array([number[stratum] for stratum, _ in self.names])
        entries = csr_array((self.weights, (self.block, self.place)), shape=(len(self.names), size))
        below = csr_array((np.ones(home.size), (home, np.arange(home.size))), shape=(len(strata), home.size))
        if not self.has_clusters:
            many = np.bincount(home[self.block], self.counts, len(strata))
            lift = np.where(many > 1, many / np.maximum(many - 1, 1), 1.0)
            diagonal = np.bincount(self.place, self.squares * lift[home[self.block]], size).astype(np.float64)
            return Covariance(diagonal, below @ entries, np.where(many > 1, -1 / np.maximum(many - 1, 1), 0.0))
        many = np.bincount(home, minlength=len(strata)).astype(np.float64)
        lift = np.where(many > 1, many / np.maximum(many - 1, 1), 1.0)
        degrees = max(1.0, float(many.sum() - many.size))
        wider = (float(stdtrit(degrees, 0.975)) / 1.959964) ** 2
        factors = np.concatenate([lift[home], np.where(many > 1, -lift / many, 0.0)])
        return Covariance(np.zeros(size), vstack([entries, below @ entries]), wider * factors)

    def effect(self, totals: Floats) -> float:
        """Return the reports' mean variance, by that of weights alone."""
        squares = np.bincount(self.place, self.squares, totals.size)
        shares = totals / totals.sum()
        # The influence of a person on the share of a report is its indicator less the share.
        plain = float(squares @ (1 - 2 * shares)) + float(squares.sum() * (shares @ shares))
        diagonal, rows, factors = self.covariance(totals.size)
        mine = float(diagonal @ (1 - 2 * shares)) + float(diagonal.sum() * (shares @ shares))
        sums = rows.sum(axis=1)
        mine += float(factors @ (rows**2).sum(axis=1)) - 2 * float(factors @ ((rows @ shares) * sums))
        mine += float(factors @ sums**2) * float(shares @ shares)
        return max(mine / plain, 0.01) if plain > 0 else 1.0


def _labels(name: str, labels: Any, size: int) -> list[str]:
    """Return labels as texts; one empty text each if there are none."""
    if labels is None:
        return [""] * size
    found = [str(one) for one in np.asarray(labels).reshape(-1).tolist()]
    if len(found) != size:
        raise InvalidCountsError(f"Give one of the {name} for each of {size:,} reports; got {len(found):,}.")
    return found
