"""The curvature of the likelihood on a few atoms: from their whole rows, or on large planes from a model of it.

The atoms are one composite, a whole distribution that is moved as one, and then single values. With A their rows and
w = q / y^2 the curvature is H = A diag(w) A'.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from confide.channels.base import FloatArray, Indices
from confide.evidence import Evidence
from confide.solvers.stationary import StationaryPlane

LARGE_PLANE = 4000
"""Cells past which the model of a plane pays."""


class Curvature(ABC):
    """H for a support that grows and shrinks."""

    is_exact: bool
    """Whether H is what it says, or a model that exact products have to correct."""

    @abstractmethod
    def grow(self, evidence: Evidence, values: Indices) -> None:
        """Add single values."""

    @abstractmethod
    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drop all single values but these."""

    @abstractmethod
    def begin(self, composite: FloatArray, outputs: FloatArray) -> None:
        """Take another composite, whose outputs are given."""

    @abstractmethod
    def anew(self, composite: FloatArray, outputs: FloatArray) -> Curvature:
        """Return the same for a composite alone."""

    @abstractmethod
    def hessian(self, evidence: Evidence, outputs: FloatArray) -> FloatArray:
        """Return H at these outputs y."""


@dataclass
class FromRows(Curvature):
    """Whole rows of all atoms, the composite's first."""

    rows: FloatArray
    is_exact: bool = field(init=False, default=True)

    def grow(self, evidence: Evidence, values: Indices) -> None:
        """See :meth:`Curvature.grow`."""
        self.rows = np.vstack([self.rows, evidence.channel.select(values)])

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """See :meth:`Curvature.keep`."""
        self.rows = self.rows[np.concatenate([[True], kept])]

    def begin(self, composite: FloatArray, outputs: FloatArray) -> None:  # noqa: ARG002 (one signature)
        """See :meth:`Curvature.begin`."""
        self.rows[0] = outputs

    def anew(self, composite: FloatArray, outputs: FloatArray) -> FromRows:  # noqa: ARG002 (one signature)
        """See :meth:`Curvature.anew`."""
        return FromRows(outputs[None, :].copy())

    def hessian(self, evidence: Evidence, outputs: FloatArray) -> FloatArray:
        """See :meth:`Curvature.hessian`."""
        curved = self.rows * np.sqrt(curvature_of(evidence, outputs))
        product: FloatArray = curved @ curved.T
        return product


@dataclass
class FromPlane(Curvature):
    """The model of a plane: correlations of the single values, and their rows on the rim alone."""

    plane: StationaryPlane
    composite: FloatArray
    rim: FloatArray
    values: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    correlations: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    is_exact: bool = field(init=False, default=False)

    def grow(self, evidence: Evidence, values: Indices) -> None:
        """See :meth:`Curvature.grow`."""
        old, new = self.values.size, self.values.size + values.size
        grown = np.empty((new, new))
        grown[:old, :old] = self.correlations
        self.values = np.concatenate([self.values, values])
        grown[old:] = self.plane.correlations(values, self.values)
        grown[:old, old:] = grown[old:, :old].T
        self.correlations = grown
        self.rim = np.vstack([self.rim, evidence.channel.block(values, self.plane.rim_middles)])

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """See :meth:`Curvature.keep`."""
        self.values, self.correlations = self.values[kept], self.correlations[np.ix_(kept, kept)]
        self.rim = self.rim[np.concatenate([[True], kept])]

    def begin(self, composite: FloatArray, outputs: FloatArray) -> None:
        """See :meth:`Curvature.begin`."""
        self.composite = composite
        self.rim[0] = outputs[self.plane.rim_middles]

    def anew(self, composite: FloatArray, outputs: FloatArray) -> FromPlane:
        """See :meth:`Curvature.anew`."""
        return FromPlane(self.plane, composite, outputs[None, self.plane.rim_middles])

    def hessian(self, evidence: Evidence, outputs: FloatArray) -> FloatArray:
        """See :meth:`Curvature.hessian`."""
        curvature = curvature_of(evidence, outputs)
        diagonal = self.plane.diagonal(curvature)
        of_composite = diagonal * self.plane.smear(diagonal * self.composite)
        at_rim = self.rim * np.sqrt(self.plane.rim_weights(curvature))
        hessian: FloatArray = at_rim @ at_rim.T
        single = diagonal[self.values]
        hessian[1:, 1:] += self.correlations * single[:, None] * single
        hessian[0, 1:] += of_composite[self.values]
        hessian[1:, 0] = hessian[0, 1:]
        hessian[0, 0] += float(self.composite @ of_composite)
        return hessian


def curvature_of(evidence: Evidence, outputs: FloatArray) -> FloatArray:
    """Return w = q / y^2, and 0 where there are no reports."""
    ratio = evidence.ratio(outputs)
    return np.divide(ratio, outputs, out=np.zeros_like(outputs), where=ratio > 0)


def choose_curvature(evidence: Evidence, composite: FloatArray, outputs: FloatArray) -> Curvature:
    """Take the model on large planes, and rows elsewhere."""
    plane = StationaryPlane.of(evidence.channel) if composite.size >= LARGE_PLANE else None
    if plane is None:
        return FromRows(outputs[None, :].copy())
    return FromPlane(plane, composite, outputs[None, plane.rim_middles])
