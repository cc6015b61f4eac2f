"""Sample designs: how strata and clusters move the variance of weighted sums.

People of one cluster, such as a village or a school, were drawn together, and are alike. People of different strata,
such as regions, were drawn on their own. The variance of a sum of scores is then, over the strata h with m clusters,

    sum_h m / (m - 1) * sum_c (u_c - mean of u in h)^2,  u_c the sum of weight times score in a cluster,

where without clusters every person is one. It needs the sum of weights of each report in each cluster, or for strata
alone those of weights, squares and reports in each stratum: all of these add up, on whatever machine they were counted.

Known totals of the population are met by raking (:mod:`confide.evidence.totals`). The factors depend on the data, and
what the margins explain of a score they no longer let vary. So a score is then replaced by its residual of weighted
least squares on the classes of the margins (Deville and Särndal, Journal of the American Statistical Association 1992).
That needs the sums by class too, and these add up as well; raking follows when all are added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from confide.errors import InvalidCountsError
from confide.evidence.totals import Totals, indicators, rake

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
    """Sums of weights by stratum, cluster, class and report.

    Attributes
    ----------
    names
        The stratum and the cluster of each block, an empty text where there are none, and its class of each margin.
    has_clusters
        Whether people were drawn in clusters.
    block, place
        The block and the report of each entry.
    counts, weights, squares
        Number of reports of each entry, and the sums of weights and of their squares, before raking.
    totals
        The known totals that the weights are raked to, if any.

    Examples
    --------
    >>> blocks = DesignSums.of(["north", "south", "north"], None, np.array([0, 0, 1]), np.ones(3), np.ones(3))
    >>> blocks.names, blocks.sizes
    ((('north', ''), ('south', '')), (2, 0))
    """

    names: tuple[tuple[str, ...], ...]
    has_clusters: bool
    block: Places
    place: Places
    counts: Floats
    weights: Floats
    squares: Floats
    totals: Totals | None = None

    @classmethod
    def of(  # noqa: PLR0913, PLR0917 - what a design consists of
        cls,
        strata: Any,
        clusters: Any,
        places: Places,
        counts: Floats,
        weights: Floats,
        squares: Floats | None = None,
        margins: Mapping[str, Any] | None = None,
    ) -> DesignSums:
        """Sum entries by their labels.

        An array of texts or numbers each, or None.
        """
        labels = [
            ("strata", strata),
            ("clusters", clusters),
            *((f"labels of {name!r}", one) for name, one in (margins or {}).items()),
        ]
        columns = [_labels(name, one, places.size) for name, one in labels]
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
        if any(one.totals != parts[0].totals for one in parts):
            raise InvalidCountsError("Counts with different known totals cannot be merged. Count all with the same.")
        names = list(dict.fromkeys(name for one in parts for name in one.names))
        numbers = {name: number for number, name in enumerate(names)}
        block = np.concatenate([np.array([numbers[name] for name in one.names])[one.block] for one in parts])
        every: dict[str, Any] = {
            name: np.concatenate([getattr(one, name) for one in parts])
            for name in ("place", "counts", "weights", "squares")
        }
        return replace(parts[0], names=tuple(names), block=block, **every)._summed()

    def _summed(self) -> DesignSums:
        """Return the same with one entry for each block and report."""
        width = int(self.place.max(initial=0)) + 1
        keys, entry = np.unique(self.block * width + self.place, return_inverse=True)
        sums: dict[str, Any] = {
            name: np.bincount(entry, getattr(self, name)).astype(np.float64)
            for name in ("counts", "weights", "squares")
        }
        return replace(self, block=keys // width, place=keys % width, **sums)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DesignSums):
            return NotImplemented
        return self.totals == other.totals and self._by_name == other._by_name

    __hash__ = None  # type: ignore[assignment]

    @property
    def _by_name(self) -> dict[tuple[tuple[str, ...], int], tuple[float, ...]]:
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
        return len({name[0] for name in self.names}), len({name[:2] for name in self.names}) if self.has_clusters else 0

    @cached_property
    def _classes(self) -> Any:
        """A row for each block, with ones for its classes."""
        return indicators([name[2:] for name in self.names])

    @cached_property
    def _raked(self) -> tuple[Floats, Floats]:
        """The sums of weights and of squares of each entry, after raking."""
        if self.totals is None:
            return self.weights, self.squares
        masses = np.bincount(self.block, self.weights, len(self.names)).astype(np.float64)
        factors = rake(self.totals, [name[2:] for name in self.names], masses)[self.block]
        return self.weights * factors, self.squares * factors**2

    def sums(self, size: int) -> tuple[Floats, Floats]:
        """Return raked sums of weights and of squares, by report."""
        weights, squares = (np.bincount(self.place, one, size).astype(np.float64) for one in self._raked)
        return weights, squares

    def covariance(self, size: int) -> Covariance:
        """Return the covariance of the sums of `size` reports.

        A stratum with one cluster, whose spread nobody can know, counts with the distance from all others: too much
        rather than too little. Where clusters are few, the quantile of Student's law at 95 % takes the place of 1.96.
        """
        from scipy.sparse import csr_array, vstack
        from scipy.special import stdtrit

        weights, squares = self._raked
        strata, stratum = _numbered([name[:1] for name in self.names])
        shape = (len(self.names), size)
        entries, fitted = csr_array((weights, (self.block, self.place)), shape=shape), None
        if self.totals is not None:
            fitted = self._fitted(entries)
            # What is left of each block's sums without what its classes explain.
            entries = csr_array(entries - (self._classes * entries.sum(axis=1)[:, None]) @ fitted)
        below = csr_array((np.ones(stratum.size), (stratum, np.arange(stratum.size))), shape=(strata, stratum.size))
        if not self.has_clusters:
            home = stratum[self.block]
            many = np.bincount(home, self.counts, strata)
            lift = np.where(many > 1, many / np.maximum(many - 1, 1), 1.0)
            diagonal = np.bincount(self.place, squares * lift[home], size).astype(np.float64)
            rows, factors = below @ entries, np.where(many > 1, -1 / np.maximum(many - 1, 1), 0.0)
            if fitted is None:
                return Covariance(diagonal, rows, factors)
            own = csr_array((squares * lift[home], (self.block, self.place)), shape=shape)
            more, weighed = self._crossed(own, fitted)
            return Covariance(diagonal, vstack([rows, csr_array(more)]), np.concatenate([factors, weighed]))
        clusters, cluster = _numbered([name[:2] for name in self.names])
        home = np.zeros(clusters, dtype=np.int64)
        home[cluster] = stratum
        gathered = csr_array(
            (np.ones(cluster.size), (cluster, np.arange(cluster.size))), shape=(clusters, cluster.size)
        )
        many = np.bincount(home, minlength=strata).astype(np.float64)
        lift = np.where(many > 1, many / np.maximum(many - 1, 1), 1.0)
        degrees = max(1.0, float(many.sum() - many.size))
        wider = (float(stdtrit(degrees, 0.975)) / 1.959964) ** 2
        factors = np.concatenate([lift[home], np.where(many > 1, -lift / many, 0.0)])
        return Covariance(np.zeros(size), vstack([gathered @ entries, below @ entries]), wider * factors)

    def _fitted(self, entries: Any) -> Floats:
        """Return what each class explains of each report: weighted least squares."""
        classes = self._classes
        normal = (classes.T * entries.sum(axis=1)) @ classes
        return np.asarray(np.linalg.pinv(normal.toarray(), hermitian=True) @ (classes.T @ entries).toarray())

    def _crossed(self, squares: Any, fitted: Floats) -> tuple[Floats, Floats]:
        """Return what residuals add to the squares, as rows and factors.

        It is the sum of w^2 (e e' - z z'), where e is the residual of a person's report z: F' S F - C' F - F' C, a form
        in the rows of F, `fitted`, and of C.
        """
        classes, size = self._classes, len(fitted)
        across = (classes.T @ squares).toarray()
        middle = ((classes.T * squares.sum(axis=1)) @ classes).toarray()
        # Rows of like length, so that no digits are lost between the two.
        scale = max(float(np.abs(across).max()) / max(float(np.abs(fitted).max()), 1e-300), 1e-300) ** 0.5
        form = np.block([[middle / scale**2, -np.eye(size)], [-np.eye(size), np.zeros((size, size))]])
        factors, vectors = np.linalg.eigh(form)
        return vectors.T @ np.concatenate([fitted * scale, across / scale]), factors

    def effect(self, totals: Floats) -> float:
        """Return the reports' mean variance, by that of weights alone."""
        _, squares = self.sums(totals.size)
        shares = totals / totals.sum()
        # The influence of a person on the share of a report is its indicator less the share.
        plain = float(squares @ (1 - 2 * shares)) + float(squares.sum() * (shares @ shares))
        diagonal, rows, factors = self.covariance(totals.size)
        mine = float(diagonal @ (1 - 2 * shares)) + float(diagonal.sum() * (shares @ shares))
        sums = rows.sum(axis=1)
        mine += float(factors @ (rows**2).sum(axis=1)) - 2 * float(factors @ ((rows @ shares) * sums))
        mine += float(factors @ sums**2) * float(shares @ shares)
        return max(mine / plain, 0.01) if plain > 0 else 1.0


def _numbered(names: Sequence[tuple[str, ...]]) -> tuple[int, Places]:
    """Return how many names differ, and each one's number."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return len(numbers), np.array([numbers[name] for name in names], dtype=np.int64)


def _labels(name: str, labels: Any, size: int) -> list[str]:
    """Return labels as texts; one empty text each if there are none."""
    if labels is None:
        return [""] * size
    found = [str(one) for one in np.asarray(labels).reshape(-1).tolist()]
    if len(found) != size:
        raise InvalidCountsError(f"Give one of the {name} for each of {size:,} reports; got {len(found):,}.")
    return found
