"""How finely Newton's method looks at the outputs when it measures curvature.

The slope of the likelihood is always exact. Its curvature, H = A diag(q / y^2) A' over the rows A of the atoms, may be
coarse: an error there costs a step or two, not the answer. On a large plane rows are smooth over many cells once they
are divided by y, which takes out the border's infinite tails, so H is summed over tiles instead of cells.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from confide.channels.base import FloatArray, Indices
from confide.evidence import Evidence

LARGE_PLANE = 4000
"""Cells past which tiles pay."""

SMOOTH = 0.99
"""Rows this alike, as a cosine, are taken for the same within a tile."""

CHUNK = 4_000_000
"""Entries of rows that are held at a time."""


class Grain(ABC):
    """What of the atoms' rows is kept, and how curvature is measured with it."""

    @abstractmethod
    def features(self, evidence: Evidence, values: Indices) -> FloatArray:
        """Return what is kept of the rows of these values."""

    @abstractmethod
    def feature(self, outputs: FloatArray) -> FloatArray:
        """Return the same of one row that is given."""

    @abstractmethod
    def curvature(self, evidence: Evidence, outputs: FloatArray) -> FloatArray:
        """Return the weights with which the products of two features are summed."""


@dataclass(frozen=True)
class Fine(Grain):
    """Every output for itself."""

    def features(self, evidence: Evidence, values: Indices) -> FloatArray:
        """See :meth:`Grain.features`."""
        return evidence.channel.select(values)

    def feature(self, outputs: FloatArray) -> FloatArray:
        """See :meth:`Grain.feature`."""
        return outputs

    def curvature(self, evidence: Evidence, outputs: FloatArray) -> FloatArray:
        """See :meth:`Grain.curvature`."""
        ratio = evidence.ratio(outputs)
        return np.divide(ratio, outputs, out=np.zeros_like(outputs), where=ratio > 0)


@dataclass(frozen=True, eq=False)
class Tiles(Grain):
    """Square tiles of outputs, on each of which a row divided by `reference` is one number."""

    shape: tuple[int, int]
    side: int
    reference: FloatArray

    def features(self, evidence: Evidence, values: Indices) -> FloatArray:
        """See :meth:`Grain.features`; a few rows at a time."""
        step = max(1, CHUNK // self.reference.size)
        parts = [
            self._mean(evidence.channel.select(values[start : start + step]) / self.reference)
            for start in range(0, values.size, step)
        ]
        return np.concatenate(parts)

    def feature(self, outputs: FloatArray) -> FloatArray:
        """See :meth:`Grain.feature`."""
        mean: FloatArray = self._mean((outputs / self.reference)[None, :])[0]
        return mean

    def curvature(self, evidence: Evidence, outputs: FloatArray) -> FloatArray:
        """See :meth:`Grain.curvature`."""
        summed: FloatArray = self._sum((Fine().curvature(evidence, outputs) * self.reference**2)[None, :])[0]
        return summed

    def _sum(self, rows: FloatArray) -> FloatArray:
        height, width = self.shape
        pictures = rows.reshape(-1, height, width)
        down = np.add.reduceat(pictures, np.arange(0, height, self.side), axis=1)
        return np.add.reduceat(down, np.arange(0, width, self.side), axis=2).reshape(rows.shape[0], -1)

    def _mean(self, rows: FloatArray) -> FloatArray:
        return self._sum(rows) / self._sum(np.ones((1, rows.shape[1])))


def choose_grain(evidence: Evidence, outputs: FloatArray, value: int) -> Grain:
    """Return tiles as large as the rows around a value are smooth, on planes that are large enough to need them."""
    layout, (values, columns) = evidence.channel.layout, evidence.channel.shape
    if layout is None or layout.places is not None or len(layout.shape) != 2 or values != columns:
        return Fine()
    height, width = layout.shape
    if values < LARGE_PLANE:
        return Fine()
    side = 1
    while side < 16 and _likeness(evidence, outputs, value, 2 * side, width) > SMOOTH:
        side *= 2
    return Tiles((height, width), side, outputs)


def _likeness(evidence: Evidence, outputs: FloatArray, value: int, distance: int, width: int) -> float:
    """Return the cosine between two rows so many columns apart, weighted as curvature weighs them."""
    neighbour = value + distance if value % width + distance < width else value - distance
    weights = np.sqrt(Fine().curvature(evidence, outputs))
    first, second = evidence.channel.select(np.array([value, neighbour])) * weights
    return float(first @ second) / float(np.linalg.norm(first) * np.linalg.norm(second))
