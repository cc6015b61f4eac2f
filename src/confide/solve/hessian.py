"""Hessian of the likelihood on a few atoms: from their whole rows, or on large planes from a model of it.

The atoms are one composite, a whole distribution that is moved as one, and then single values. With A their rows and
w = q / y^2 the Hessian, but for its sign, is H = A diag(w) A'.

The model takes a plane for the same everywhere. There row x of M is the kernel moved to x, so the curvature between two
values,

    H_xy = sum over z of M_xz M_yz w_z,      w = q / (theta M)^2,

is nearly d_x d_y r(y - x): r is the kernel's autocorrelation, and d_x^2 = H_xx the kernel's square laid over w around
x. It is exact where w is constant. One table and one transform then stand for all of H, and because r is an
autocorrelation the model is positive semidefinite, as H is. The outputs on the rim, which collect tails beyond it, are
not part of that and are counted for themselves.

Newton's method only needs H to be near: slopes are exact, and a few exact products correct the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from confide.channels.base import Channel, FloatArray, Indices
from confide.evidence.evidence import Evidence
from confide.values.limits import MOST_STORED

LARGE_PLANE = 4000
"""Cells past which the model of a plane pays."""

BLOCK_OF_OUTPUTS = 8192
"""Outputs whose entries are computed at a time where rows are not stored."""


@dataclass(frozen=True, eq=False)
class StationaryPlane:
    """Tables of the model of a plane.

    Attributes
    ----------
    shape
        Rows and columns.
    correlation
        r, by how many rows and columns two cells are apart; r(0, 0) is 1.
    correlation_spectrum, square_spectrum
        The transforms of r, and of the kernel's square.
    scale
        What each row of M is multiplied by: 1, or the normaliser of a mechanism that never leaves the plane.
    rim, rim_group, rim_middles
        The outputs on the rim, the group to which each belongs, and one output that stands for each group.
    """

    shape: tuple[int, int]
    correlation: FloatArray
    correlation_spectrum: FloatArray
    square_spectrum: FloatArray
    scale: FloatArray
    rim: Indices
    rim_group: Indices
    rim_middles: Indices

    @classmethod
    def of(cls, channel: Channel) -> StationaryPlane | None:
        """Read the tables off a channel; None if it is no such plane, or too narrow a one."""
        layout = channel.layout
        if layout is None or layout.places is not None or len(layout.shape) != 2:
            return None
        shape = layout.shape[0], layout.shape[1]
        # A plane with fewer rows or columns than 16 is mostly border.
        if min(shape) < 16 or channel.shape[0] != channel.shape[1]:
            return None
        # The kernel by how many rows and columns away an output is: the row of the first cell inside the rim.
        kernel = np.zeros(shape)
        kernel[:-2, :-2] = channel.select(np.array([shape[1] + 1])).reshape(shape)[1:-1, 1:-1]
        # Whether the row of the central cell is the same kernel, up to a factor.
        row, column = shape[0] // 2, shape[1] // 2
        picture = channel.select(np.array([row * shape[1] + column])).reshape(shape)[1:-1, 1:-1]
        down, along = np.abs(np.arange(1, shape[0] - 1) - row), np.abs(np.arange(1, shape[1] - 1) - column)
        moved = kernel[np.ix_(down, along)] * (picture[row - 1, column - 1] / kernel[0, 0])
        if not bool(np.allclose(picture, moved, rtol=1e-6, atol=1e-12 * float(picture.max()))):
            return None
        correlation, padded = _autocorrelation(kernel), _padded(shape)
        groups = _rim(shape, correlation)
        return cls(
            shape,
            correlation,
            _spectrum(correlation, padded),
            _spectrum(kernel**2, padded),
            _scale_of(channel, kernel, shape),
            np.concatenate(groups),
            np.repeat(np.arange(len(groups)), [group.size for group in groups]),
            np.array([group[group.size // 2] for group in groups]),
        )

    def diagonal(self, curvature: FloatArray) -> FloatArray:
        """Return d of all values, without what the rim adds to it."""
        inner = curvature.copy()
        inner[self.rim] = 0.0
        square = _laid_over(inner, self.square_spectrum, self.shape)
        deviation: FloatArray = self.scale * np.sqrt(np.maximum(square, 1e-12 * float(square.max())))
        return deviation

    def correlations(self, values: Indices, others: Indices) -> FloatArray:
        """Return r between these values and those."""
        width = self.shape[1]
        (row, column), (other_row, other_column) = np.divmod(values, width), np.divmod(others, width)
        apart = np.abs(row[:, None] - other_row) * width + np.abs(column[:, None] - other_column)
        between: FloatArray = self.correlation.reshape(-1)[apart]
        return between


def _scale_of(channel: Channel, kernel: FloatArray, shape: tuple[int, int]) -> FloatArray:
    """Return what each row is, times the kernel: from the share of it that stays inside the rim."""
    inside = np.zeros(shape)
    inside[1:-1, 1:-1] = 1.0
    expected = _laid_over(inside.reshape(-1), _spectrum(kernel, _padded(shape)), shape)
    return channel.pull(inside.reshape(-1)) / np.maximum(expected, 1e-300)


def _laid_over(weights: FloatArray, spectrum: FloatArray, shape: tuple[int, int]) -> FloatArray:
    """Return the convolution of weights with a table whose transform is given."""
    padded = _padded(shape)
    transformed = _fft().rfft2(weights.reshape(shape), padded)
    transformed *= spectrum
    laid: FloatArray = _fft().irfft2(transformed, padded)[: shape[0], : shape[1]].reshape(-1)
    return laid


def _autocorrelation(kernel: FloatArray) -> FloatArray:
    """Return the autocorrelation of an even kernel, known in one quadrant, at the displacements of that quadrant."""
    rows, columns = kernel.shape
    padded = (_fft().next_fast_len(3 * rows), _fft().next_fast_len(3 * columns, real=True))
    transformed = _spectrum(kernel, padded)
    table = _fft().irfft2(transformed**2, padded)[:rows, :columns]
    correlation: FloatArray = table / table[0, 0]
    return correlation


def _spectrum(quadrant: FloatArray, padded: tuple[int, int]) -> FloatArray:
    """Return the transform of an even table, which is real."""
    rows, columns = (np.arange(1 - length, length) for length in quadrant.shape)
    circle = np.zeros(padded)
    circle[np.ix_(rows % padded[0], columns % padded[1])] = quadrant[np.ix_(np.abs(rows), np.abs(columns))]
    spectrum: FloatArray = _fft().rfft2(circle).real
    return spectrum


def _padded(shape: tuple[int, ...]) -> tuple[int, int]:
    return _fft().next_fast_len(2 * shape[0] - 1), _fft().next_fast_len(2 * shape[1] - 1, real=True)


def _rim(shape: tuple[int, int], correlation: FloatArray) -> list[Indices]:
    """Return the cells of the rim in groups: stretches of each edge, and every corner, where tails differ, alone."""
    side = 1
    # Outputs on the rim are counted together as far apart as values whose rows correlate by 0.99.
    while side < min(16, correlation.shape[1] // 4) and correlation[0, 2 * side] > 0.99:
        side *= 2
    cells = np.arange(shape[0] * shape[1]).reshape(shape)
    groups = [cells[row, column].reshape(1) for row in (0, -1) for column in (0, -1)]
    for edge in (cells[0, 1:-1], cells[-1, 1:-1], cells[1:-1, 0], cells[1:-1, -1]):
        groups += np.split(edge, range(side, edge.size, side))
    return groups


def _fft() -> Any:
    # scipy.fft takes a while to import, and only planes need it.
    import scipy.fft

    return scipy.fft


@dataclass
class FromRows:
    """Hessian from whole rows of all atoms, the composite's first, on a support that grows and shrinks.

    Attributes
    ----------
    composite_outputs
        The row of the composite.
    is_kept
        Whether rows are kept. If not, entries are computed anew, a block of outputs at a time: rows of many bit vectors
        do not fit.
    values, rows
        The single values, and their rows if these are kept.
    """

    composite_outputs: FloatArray
    is_kept: bool = True
    values: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    rows: FloatArray = field(init=False)
    is_exact: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.rows = self.composite_outputs[None, :].copy()

    def grow(self, evidence: Evidence, values: Indices) -> None:
        """Add single values."""
        self.values = np.concatenate([self.values, values])
        if self.is_kept:
            self.rows = np.vstack([self.rows, evidence.channel.select(values)])

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drop all single values but these."""
        self.values = self.values[kept]
        if self.is_kept:
            self.rows = self.rows[np.concatenate([[True], kept])]

    def begin(self, composite: FloatArray, outputs: FloatArray) -> None:  # noqa: ARG002 (one signature)
        """Take another composite, whose outputs are given."""
        self.composite_outputs = self.rows[0] = outputs

    def anew(self, composite: FloatArray, outputs: FloatArray) -> FromRows:  # noqa: ARG002 (one signature)
        """Return the same for a composite alone."""
        return FromRows(outputs, self.is_kept)

    def hessian(self, evidence: Evidence, outputs: FloatArray) -> FloatArray:
        """Return H at these outputs y."""
        roots = np.sqrt(curvature_of(evidence, outputs))
        if self.is_kept:
            curved = self.rows * roots
            product: FloatArray = curved @ curved.T
            return product
        hessian = np.zeros((self.values.size + 1, self.values.size + 1))
        for start in range(0, outputs.size, BLOCK_OF_OUTPUTS):
            block = np.arange(start, min(start + BLOCK_OF_OUTPUTS, outputs.size))
            single = evidence.channel.block(self.values, block)
            curved = np.vstack([self.composite_outputs[block], single]) * roots[block]
            hessian += curved @ curved.T
        return hessian


@dataclass
class FromPlane:
    """Hessian from the model of a plane: correlations of the single values, and their rows on the rim alone."""

    plane: StationaryPlane
    composite: FloatArray
    rim: FloatArray
    values: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    correlations: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    is_exact: ClassVar[bool] = False
    """H is a model, which exact products have to correct."""

    def grow(self, evidence: Evidence, values: Indices) -> None:
        """Add single values."""
        old, new = self.values.size, self.values.size + values.size
        grown = np.empty((new, new))
        grown[:old, :old] = self.correlations
        self.values = np.concatenate([self.values, values])
        grown[old:] = self.plane.correlations(values, self.values)
        grown[:old, old:] = grown[old:, :old].T
        self.correlations = grown
        self.rim = np.vstack([self.rim, evidence.channel.block(values, self.plane.rim_middles)])

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drop all single values but these."""
        self.values, self.correlations = self.values[kept], self.correlations[np.ix_(kept, kept)]
        self.rim = self.rim[np.concatenate([[True], kept])]

    def begin(self, composite: FloatArray, outputs: FloatArray) -> None:
        """Take another composite, whose outputs are given."""
        self.composite = composite
        self.rim[0] = outputs[self.plane.rim_middles]

    def anew(self, composite: FloatArray, outputs: FloatArray) -> FromPlane:
        """Return the same for a composite alone."""
        return FromPlane(self.plane, composite, outputs[None, self.plane.rim_middles])

    def hessian(self, evidence: Evidence, outputs: FloatArray) -> FloatArray:
        """Return H at these outputs y."""
        curvature = curvature_of(evidence, outputs)
        diagonal = self.plane.diagonal(curvature)
        # The sums of r(y - x) over the composite, and the curvature of each group on the rim.
        smeared = _laid_over(diagonal * self.composite, self.plane.correlation_spectrum, self.plane.shape)
        of_composite = diagonal * smeared
        at_rim = self.rim * np.sqrt(np.bincount(self.plane.rim_group, curvature[self.plane.rim]).astype(np.float64))
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


def choose_curvature(evidence: Evidence, composite: FloatArray, outputs: FloatArray) -> FromRows | FromPlane:
    """Take the model on large planes, blocks of entries for many bit vectors, and rows elsewhere."""
    values, reports = evidence.channel.shape
    if evidence.channel.bit_vectors is not None and values * reports > MOST_STORED:
        return FromRows(outputs, is_kept=False)
    plane = StationaryPlane.of(evidence.channel) if composite.size >= LARGE_PLANE else None
    if plane is None:
        return FromRows(outputs)
    return FromPlane(plane, composite, outputs[None, plane.rim_middles])
