"""The exponential mechanism, on any finite alphabet with a metric."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.channels import (
    Channel,
    Dense,
    Embedded,
    Layout,
    PlanarConvolution,
    RandomizedResponseChannel,
    TwoSidedExponential,
)
from confide.channels.kernels import DEEPEST, planar_geometric_kernel
from confide.errors import InvalidParameterError
from confide.mechanisms.base import Mechanism, require_finite, require_tabled, settle_epsilon
from confide.mechanisms.facts import POSITIVE_DEFINITE, Facts, LatticeNoise, Premise, Proof
from confide.mechanisms.geometric import power_weights
from confide.mechanisms.guarantees import MetricPrivacy
from confide.mechanisms.line import LARGEST_TABLE
from confide.mechanisms.planar import LARGEST_DENSE, shaded
from confide.mechanisms.sampling import Bits, GeometricNoise, TableNoise, as_integers, ratio_above
from confide.values import (
    Alphabet,
    Indices,
    LineGeometry,
    PlaneGeometry,
    RingGeometry,
    UnorderedGeometry,
)
from confide.values.metrics import Circular, Discrete, Euclidean, Manhattan, Metric, SumMetric, Uneven
from confide.values.portable import exp_minus, length


@dataclass(frozen=True, repr=False)
class Exponential(Mechanism):
    """Report a value with probability proportional to e^(-epsilon distance / 2), among those that exist.

    The halving pays for the normaliser, which differs from value to value: each of the two changes by a factor of at
    most e^(epsilon distance / 2), so that together they keep epsilon per unit of distance.

    >>> from confide import Integers
    >>> Exponential(Integers(0, 2), epsilon=2.0).channel.dense().round(3)
    array([[0.665, 0.245, 0.09 ],
           [0.212, 0.576, 0.212],
           [0.09 , 0.245, 0.665]])
    """

    kind = "exponential"
    about = "any value, a near one more likely than a far one"
    alphabet: Alphabet
    epsilon: float

    def __post_init__(self) -> None:
        require_finite(self.alphabet, "Exponential")
        settle_epsilon(self, self._spacing)
        if self.alphabet.size < 2:
            raise InvalidParameterError(f"Exponential needs at least two values; got {self.alphabet!r}.")

    @property
    def guarantee(self) -> MetricPrivacy:
        """See :attr:`Mechanism.guarantee`."""
        return MetricPrivacy(self.epsilon, self.alphabet.metric, self.alphabet.unit)

    @property
    def facts(self) -> Facts:
        """See :attr:`Mechanism.facts`."""
        rescaled = Proof(
            "Its matrix is that of e^(-c distance), which is positive definite, with rows rescaled.", POSITIVE_DEFINITE
        )
        is_known = is_positive_definite(self.alphabet.metric)
        is_line = self._line is not None
        return Facts(
            is_positive=True,
            independence=rescaled if is_known else None,
            premise=self._premise(),
            noise=LatticeNoise(self._ratio, is_redrawn=True) if is_line else None,
        )

    def _premise(self) -> Premise:
        """Return what is known of which values make a report likely.

        The normaliser N(x) differs from value to value, so a nearer value need not make a report likelier: between
        two sides of it, or on a plane, nothing is known. On one side of a report z on a line it does, though: moving
        from y to x, farther out, N shrinks by e^(-rate |x - y|) at most, by the triangle inequality, while the
        weight shrinks by just that. Categories are all at distance one, as in k-RR.
        """
        if self._line is not None:
            return Premise.LINE
        return Premise.OWN_VALUE if isinstance(self.alphabet.geometry, UnorderedGeometry) else Premise.NOTHING

    @cached_property
    def channel(self) -> Channel:
        """See :attr:`Mechanism.channel`."""
        if self._line is not None:
            return self._line_channel(self.alphabet.size)
        grid = self.alphabet.grid
        if grid is not None and grid.size > LARGEST_DENSE and min(grid.shape) > 1:
            kernel = planar_geometric_kernel(grid.shape, shaded(self._half_rate))
            plain = PlanarConvolution(kernel, np.ones(grid.rows * grid.columns))
            present = np.zeros(grid.rows * grid.columns)
            present[grid.places] = 1.0
            scaled = PlanarConvolution(kernel, 1 / plain.pull(present))
            if grid.size == present.size:
                return scaled
            remap = np.full(present.size, -1, dtype=np.int64)
            remap[grid.places] = np.arange(grid.size)
            return Embedded(scaled, grid.places, remap, grid.size)

        if isinstance(self.alphabet.geometry, UnorderedGeometry):
            ratio, others = self._ratio, self.alphabet.size - 1
            return RandomizedResponseChannel(others + 1, *(float(one / (1 + others * ratio)) for one in (1, ratio)))
        matrix = np.array([self._row(index) for index in range(self.alphabet.size)])
        layout = None if grid is None else Layout(grid.shape, grid.places)
        return Dense(matrix / matrix.sum(axis=1, keepdims=True), layout)

    def weights(self, index: int) -> list[int]:
        """See :meth:`Mechanism.weights`; powers of one ratio where distances are whole numbers of steps."""
        size = self.alphabet.size
        if self._line is not None:
            return [power_weights(self._ratio, size)[abs(z - index)] for z in range(size)]
        if isinstance(self.alphabet.geometry, UnorderedGeometry):
            return [power_weights(self._ratio, 2)[z != index] for z in range(size)]
        if self._is_small_circle:
            powers = power_weights(self._ratio, size // 2 + 1)
            return [powers[min((z - index) % size, (index - z) % size)] for z in range(size)]
        return as_integers(self._row(index))

    @property
    def _is_small_circle(self) -> bool:
        """Whether steps around a circle are few enough for powers of a ratio, which are long integers."""
        return isinstance(self.alphabet.geometry, RingGeometry) and self.alphabet.size <= LARGEST_TABLE

    @property
    def tables(self) -> dict[str, list[Any]]:
        """See :attr:`Mechanism.tables`; of cells those of all displacements, of others all rows of weights."""
        if self.alphabet.grid is not None:
            require_tabled(self, self.alphabet.grid.rows * self.alphabet.grid.columns)
            return {"quadrant": self._quadrant.tolist()}
        is_unordered = isinstance(self.alphabet.geometry, UnorderedGeometry)
        is_exact = self._line is not None or is_unordered or self._is_small_circle
        require_tabled(self, 0 if is_exact else self.alphabet.size**2)
        return {} if is_exact else {"rows": [self._row(index).tolist() for index in range(self.alphabet.size)]}

    def _row(self, index: int) -> NDArray[np.float64]:
        """Return the probabilities from one value before they are divided by their sum."""
        if self._is_small_circle:
            weights = self.weights(index)
            return np.array([weight / sum(weights) for weight in weights])
        points = self.alphabet.coordinates
        if isinstance(self.alphabet.geometry, PlaneGeometry) and self.alphabet.size <= LARGEST_TABLE:
            down, along = np.abs(points - points[index]).astype(np.int64).T
            chosen: NDArray[np.float64] = self._quadrant[down, along]
            return chosen
        distances = self.alphabet.metric.between(points[index], points) / self._spacing
        return self._faded(distances)

    def _faded(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return e^(-rate / 2) to the power of distances in steps."""
        return exp_minus(np.minimum(shaded(self._half_rate) * distances, DEEPEST))

    @property
    def _line(self) -> Alphabet | None:
        """The alphabet, where its values lie on a line and equally far apart."""
        is_even = isinstance(self.alphabet.geometry, LineGeometry) and self.alphabet.positions is None
        return self.alphabet if is_even else None

    @property
    def _spacing(self) -> float:
        return float(getattr(self.alphabet, "spacing", 1.0))

    @property
    def _half_rate(self) -> Fraction:
        return Fraction(self.epsilon) * Fraction(self._spacing) / 2

    @cached_property
    def _ratio(self) -> Fraction:
        """e^(-epsilon spacing / 2), rounded up."""
        return ratio_above(self._half_rate)

    def _line_channel(self, size: int) -> TwoSidedExponential:
        ratio, complement = float(self._ratio), float(1 - self._ratio)
        plain = TwoSidedExponential(ratio, complement, np.ones(size))
        return TwoSidedExponential(ratio, complement, np.ones(size), rows=1 / plain.pull(np.ones(size)))

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        """Draw from rows of weights where there are few; else propose unbounded noise until it hits a value."""
        if self.alphabet.size <= LARGEST_TABLE or (self._line is None and self.alphabet.grid is None):
            return super()._draw(indices, bits)
        drawn = np.full(indices.size, -1, dtype=np.int64)
        while (pending := np.flatnonzero(drawn < 0)).size:
            drawn[pending] = self.alphabet.locate(self._propose(self.alphabet.decode(indices[pending]), bits))
        return drawn

    def _propose(self, values: NDArray[np.int64], bits: Bits) -> NDArray[np.int64]:
        if self._line is not None:
            return values + GeometricNoise(self._ratio).draw(values.size, bits)
        return values + np.stack(self._table.draw(values.shape[0], bits), axis=-1)

    @cached_property
    def _table(self) -> TableNoise:
        return TableNoise(self._quadrant)

    @cached_property
    def _quadrant(self) -> NDArray[np.float64]:
        """All displacements between two cells of the grid; what lies beyond would be refused anyway."""
        assert self.alphabet.grid is not None  # noqa: S101 (for the type checker; callers have asked)
        self.alphabet.require_listable()
        down, along = (np.arange(float(side)) for side in self.alphabet.grid.shape)
        return self._faded(length(down[:, None], along))


def is_positive_definite(metric: Metric) -> bool:
    """Whether e^(-c distance) is strictly positive definite under this metric."""
    if isinstance(metric, SumMetric):
        return all(map(is_positive_definite, metric.metrics))
    # Around a circle e^(-c distance) has the Fourier coefficients c (1 - (-1)^n e^(-c pi)) / (c^2 + n^2), all positive.
    return isinstance(metric, Discrete | Euclidean | Manhattan | Uneven | Circular)
