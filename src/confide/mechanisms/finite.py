"""Mechanisms on any finite alphabet: exponential, Blahut-Arimoto, or given as a matrix."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide import channels
from confide.channels.kernels import DEEPEST, planar_geometric_kernel
from confide.errors import BrokenPromiseError, InvalidParameterError
from confide.mechanisms.base import (
    LARGEST_TABLE,
    POSITIVE_DEFINITE,
    Facts,
    LatticeNoise,
    Mechanism,
    MetricMechanism,
    Premise,
    Proof,
    require_alphabet,
    require_finite,
    require_tabled,
    settle_epsilon,
)
from confide.mechanisms.guarantees import Guarantee, LocalDP, epsilon_above, worst_ratio
from confide.mechanisms.line import power_weights
from confide.mechanisms.planar import LARGEST_DENSE, shaded
from confide.mechanisms.sampling import Bits, GeometricNoise, TableNoise, as_integers
from confide.values import Alphabet, Indices, Integers, LineGeometry, PlaneGeometry, RingGeometry, UnorderedGeometry
from confide.values.checks import LARGEST_INTEGER, SUM_TOLERANCE, read_only, refuse_masked, settle
from confide.values.metrics import Circular, Discrete, Euclidean, Manhattan, Metric, SumMetric, Uneven
from confide.values.portable import exp_minus, length, total


@dataclass(frozen=True, repr=False)
class Exponential(MetricMechanism):
    """Report a value with probability proportional to e^(-epsilon distance / 2).

    The normalizer differs from value to value, hence the half. Weight and normalizer each change by at most e^(epsilon
    distance / 2), so together they keep epsilon per unit of distance.

    >>> from confide import Integers
    >>> Exponential(Integers(0, 2), epsilon=2.0).channel.dense().round(3)
    array([[0.665, 0.245, 0.09 ],
           [0.212, 0.576, 0.212],
           [0.09 , 0.245, 0.665]])
    """

    kind = "exponential"
    about = "any value may be reported, near ones more likely than far ones"
    alphabet: Alphabet
    epsilon: float

    _divisor = 2

    def __post_init__(self) -> None:
        require_finite(self.alphabet, "Exponential")
        settle_epsilon(self, self.alphabet.spacing)
        if self.alphabet.size < 2:
            raise InvalidParameterError(f"Exponential needs at least two values; got {self.alphabet!r}.")

    @property
    def facts(self) -> Facts:
        # The normalizer N(x) depends on the value, so a nearer value need not make a report likelier: nothing is known
        # across the two sides of a report, or on a plane. On one side of a report z on a line it does. Moving outwards
        # from y to x, N shrinks by at most e^(-rate |x - y|) (triangle inequality), and the weight by exactly that.
        # Categories are all at distance 1, as in k-RR.
        rescaled = Proof(
            "Its matrix is that of e^(-c distance), which is positive definite, with rows rescaled.", POSITIVE_DEFINITE
        )
        alike = Premise.OWN_VALUE if isinstance(self.alphabet.geometry, UnorderedGeometry) else Premise.NOTHING
        return Facts(
            is_positive=True,
            independence=rescaled if is_positive_definite(self.alphabet.metric) else None,
            premise=Premise.LINE if self._is_line else alike,
            noise=LatticeNoise(self._ratio, is_redrawn=True) if self._is_line else None,
        )

    @cached_property
    def channel(self) -> channels.Channel:
        size, grid = self.alphabet.size, self.alphabet.grid
        if self._is_line:
            ratio, complement = float(self._ratio), float(1 - self._ratio)
            even = channels.TwoSidedExponential(ratio, complement, np.ones(size))
            return channels.TwoSidedExponential(ratio, complement, np.ones(size), rows=1 / even.pull(np.ones(size)))
        if grid is not None and grid.size > LARGEST_DENSE and min(grid.shape) > 1:
            kernel = planar_geometric_kernel(grid.shape, shaded(self._rate / 2))
            plain = channels.PlanarConvolution(kernel, np.ones(grid.rows * grid.columns))
            present = np.zeros(grid.rows * grid.columns)
            present[grid.places] = 1.0
            scaled = channels.PlanarConvolution(kernel, 1 / plain.pull(present))
            if grid.size == present.size:
                return scaled
            remap = np.full(present.size, -1, dtype=np.int64)
            remap[grid.places] = np.arange(grid.size)
            return channels.Embedded(scaled, grid.places, remap, grid.size)
        if isinstance(self.alphabet.geometry, UnorderedGeometry):
            # All other values are at distance 1, so two probabilities make the matrix.
            both = (float(one / (1 + (size - 1) * self._ratio)) for one in (1, self._ratio))
            return channels.RandomizedResponseChannel(size, *both)
        matrix = np.array([self._row(index) for index in range(size)])
        layout = None if grid is None else channels.Layout(grid.shape, grid.places)
        return channels.Dense(matrix / matrix.sum(axis=1, keepdims=True), layout)

    def weights(self, index: int) -> list[int]:
        # Powers of one ratio for whole steps.
        size = self.alphabet.size
        if self._is_line:
            return [power_weights(self._ratio, size)[abs(z - index)] for z in range(size)]
        if isinstance(self.alphabet.geometry, UnorderedGeometry):
            return [power_weights(self._ratio, 2)[z != index] for z in range(size)]
        if self._is_small_circle:
            powers = power_weights(self._ratio, size // 2 + 1)
            return [powers[min((z - index) % size, (index - z) % size)] for z in range(size)]
        return as_integers(self._row(index))

    @property
    def _is_small_circle(self) -> bool:
        """Whether a circle is small enough for powers of a ratio.

        The powers are long integers.
        """
        return isinstance(self.alphabet.geometry, RingGeometry) and self.alphabet.size <= LARGEST_TABLE

    @property
    def tables(self) -> dict[str, list[Any]]:
        # Displacements of cells, or all rows of weights.
        if self.alphabet.grid is not None:
            require_tabled(self, self.alphabet.grid.rows * self.alphabet.grid.columns)
            return {"quadrant": self._quadrant.tolist()}
        is_unordered = isinstance(self.alphabet.geometry, UnorderedGeometry)
        is_exact = self._is_line or is_unordered or self._is_small_circle
        require_tabled(self, 0 if is_exact else self.alphabet.size**2)
        return {} if is_exact else {"rows": [self._row(index).tolist() for index in range(self.alphabet.size)]}

    def _row(self, index: int) -> NDArray[np.float64]:
        """Return the unnormalized probabilities from one value."""
        if self._is_small_circle:
            weights = self.weights(index)
            return np.array([weight / sum(weights) for weight in weights])
        points = self.alphabet.coordinates
        if isinstance(self.alphabet.geometry, PlaneGeometry) and self.alphabet.size <= LARGEST_TABLE:
            down, along = np.abs(points - points[index]).astype(np.int64).T
            chosen: NDArray[np.float64] = self._quadrant[down, along]
            return chosen
        distances = self.alphabet.metric.between(points[index], points) / self.alphabet.spacing
        return self._faded(distances)

    def _faded(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return e^(-rate / 2) to the power of distances in steps."""
        return exp_minus(np.minimum(shaded(self._rate / 2) * distances, DEEPEST))

    @property
    def _is_line(self) -> bool:
        """Whether values lie on a line with equal spacing."""
        return isinstance(self.alphabet.geometry, LineGeometry) and self.alphabet.positions is None

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        """Draw from rows of weights, or redraw noise until it hits."""
        if self.alphabet.size <= LARGEST_TABLE or (not self._is_line and self.alphabet.grid is None):
            return super()._draw(indices, bits)
        drawn = np.full(indices.size, -1, dtype=np.int64)
        while (pending := np.flatnonzero(drawn < 0)).size:
            if self._is_line:
                moves = GeometricNoise(self._ratio).draw(pending.size, bits)
            else:
                moves = np.stack(self._table.draw(pending.size, bits), axis=-1)
            drawn[pending] = self.alphabet.locate(self.alphabet.decode(indices[pending]) + moves)
        return drawn

    @cached_property
    def _table(self) -> TableNoise:
        """Cached: its rows of weights are slow to make."""
        return TableNoise(self._quadrant)

    @cached_property
    def _quadrant(self) -> NDArray[np.float64]:
        """Weights of all displacements between two cells of the grid.

        Displacements beyond it never hit a cell.
        """
        assert self.alphabet.grid is not None  # noqa: S101 (for the type checker; callers have asked)
        self.alphabet.require_listable()
        down, along = (np.arange(float(side)) for side in self.alphabet.grid.shape)
        return self._faded(length(down[:, None], along))


@dataclass(frozen=True, repr=False)
class BlahutArimoto(MetricMechanism):
    """Report a value with probability proportional to reported(z) e^(-epsilon distance / 2).

    The exponential mechanism prefers some reports: as often as they come up themselves, for people who are distributed
    like the prior. Of all mechanisms with reports that far from the truth on average, this one reveals least about the
    values of such people (Oya et al., CCS 2017). The promise holds for any preference, and so for any people.

    Values that are hardly ever reported are never reported. Then the distribution is not identifiable: ask
    ``diagnose``, and use :class:`Exponential` to estimate one.

    Parameters
    ----------
    alphabet
        The values, at most 256.
    epsilon
        The promise per unit of distance.
    prior
        Assumed share of people with each value, up to a factor. Optional. Default: all alike.
    reported
        How often each value is preferred, as whole numbers. Optional. Default: computed from the prior. A survey states
        it, so that all devices draw alike.

    Examples
    --------
    >>> from confide import Integers
    >>> mechanism = BlahutArimoto(Integers(0, 4), epsilon=1.0)
    >>> mechanism.reported
    (0, 244398, 559779, 244398, 0)
    >>> mechanism.channel.dense()[0].round(3)
    array([0.   , 0.363, 0.504, 0.133, 0.   ])
    """

    kind = "blahut-arimoto"
    title = "the Blahut-Arimoto mechanism"
    about = "as the exponential mechanism, but prefers the reports that suit most people"
    alphabet: Alphabet
    epsilon: float
    prior: tuple[float, ...] | None = None
    reported: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        base, size = self._base, self.alphabet.size  # checks alphabet and epsilon
        settle(self, epsilon=base.epsilon)
        if size > LARGEST_TABLE:
            raise InvalidParameterError(
                f"BlahutArimoto takes at most {LARGEST_TABLE} values; got {self.alphabet!r}. Use Exponential."
            )
        if self.prior is not None:
            settle(self, prior=tuple(as_weights("prior", self.prior, size).tolist()))
        if self.reported is None:
            rows = np.array([base._row(index) for index in range(size)])
            settle(self, reported=fixed_point(rows, np.array(self.prior or [1.0] * size)))
            return
        reported = as_weights("reported", self.reported, size)
        if (reported != np.rint(reported)).any() or reported.max() > LARGEST_INTEGER:
            raise InvalidParameterError(f"reported must hold whole numbers; got {self.reported!r}.")
        settle(self, reported=tuple(map(int, reported.tolist())))

    @property
    def advice(self) -> str:
        why = self.facts.dependence
        return (
            f"{why.reason} The exponential mechanism (exponential) makes the same promise and identifies all."
            if why
            else ""
        )

    @cached_property
    def _base(self) -> Exponential:
        """The mechanism without preference."""
        return Exponential(self.alphabet, self.epsilon)

    @property
    def facts(self) -> Facts:
        # For any preference, N(y) <= e^(rate |x - y|) N(x) still follows term by term. Columns are rescaled, and those
        # never reported are zero.
        base, size = self._base.facts, self.alphabet.size
        used = size - (self.reported or ()).count(0)
        some = (
            f"Only {used:,} of the {size:,} values are ever reported, so at most {used:,} columns can be independent."
        )
        return Facts(
            is_positive=True,
            independence=base.independence if used == size else None,
            dependence=Proof(some, "theorem identification") if used < size else None,
            premise=base.premise if base.premise is Premise.LINE else Premise.NOTHING,
        )

    @cached_property
    def channel(self) -> channels.Dense:
        matrix = self._base.channel.dense() * np.array(self.reported, dtype=np.float64)
        return channels.Dense(matrix / matrix.sum(axis=1, keepdims=True), channels.Layout.of(self.alphabet))

    def weights(self, index: int) -> list[int]:
        each = zip(self.reported or (), self._base.weights(index), strict=True)
        return [preferred * weight for preferred, weight in each]

    @property
    def tables(self) -> dict[str, list[Any]]:
        return self._base.tables

    def at(self, epsilon: float) -> Self:
        """Return the same with another epsilon, and the preference that follows."""
        return replace(self, epsilon=epsilon, reported=None)


def as_weights(name: str, given: ArrayLike, size: int) -> NDArray[np.float64]:
    """Return one number for each value, none negative and not all zero."""
    refuse_masked(name, given, InvalidParameterError)
    try:
        numbers = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape != (size,) or not np.isfinite(numbers).all() or (numbers < 0).any() or not numbers.any():
        raise InvalidParameterError(
            f"{name} must hold one number for each of {size} values, none negative and not all zero; got {given!r}."
        )
    return numbers


def fixed_point(rows: NDArray[np.float64], prior: NDArray[np.float64]) -> tuple[int, ...]:
    """Return each value's reports under the mechanism that prefers just it.

    The iteration of Blahut and Arimoto is EM for these shares. With g the gain of a report, the mutual information is
    at most log(max g) above the least. Only operations that are alike on every machine are used.

    >>> fixed_point(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([3.0, 1.0]))
    (1048568, 8)
    """
    prior = prior / total(prior)
    shares = np.full(prior.size, 1 / prior.size)
    for _ in range(2_000):  # each of k values: log(k) / 2,000 nats above the least, at most
        reached = total(shares[:, None] * rows.T)
        gains = total((prior / reached)[:, None] * rows)
        if gains.max() <= 1 + 1e-6:
            break
        shares = shares * gains
    # A share below one in two million becomes zero.
    return tuple(np.rint(shares * 2**20).astype(np.int64).tolist())


def is_positive_definite(metric: Metric) -> bool:
    """Whether e^(-c distance) is strictly positive definite under this metric."""
    if isinstance(metric, SumMetric):
        return all(map(is_positive_definite, metric.metrics))
    # Around a circle e^(-c distance) has the Fourier coefficients c (1 - (-1)^n e^(-c pi)) / (c^2 + n^2), all positive.
    return isinstance(metric, Discrete | Euclidean | Manhattan | Uneven | Circular)


@dataclass(frozen=True, eq=False, repr=False)
class FromMatrix(Mechanism):
    """A mechanism given by its matrix of probabilities.

    Parameters
    ----------
    alphabet
        The values, one for each row.
    matrix
        P(output | value), one row per value and one column per output. Rows sum to 1.
    outputs
        Alphabet of the reports, one for each column. Optional. Default: the alphabet if the matrix is square, otherwise
        the column numbers from 0.
    promise
        A guarantee for the matrix. confide checks it over all pairs and outputs and rejects a matrix that breaks it.
        Optional. Default: the smallest epsilon of local differential privacy.

    Examples
    --------
    >>> from confide import Integers
    >>> mechanism = FromMatrix(Integers(1, 2), [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    >>> mechanism.report_alphabet, round(mechanism.guarantee.bound(1, 2), 4)
    (Integers(0, 2), 0.9163)
    """

    kind = "matrix"
    title = "a mechanism given by its matrix"
    about = "your own probabilities; confide computes the guarantee"
    example: ClassVar[Mapping[str, str]] = {
        "categories": """\
matrix = [                     # one row for each value, one column for each report; rows sum to 1
    [0.8, 0.1, 0.1],
    [0.1, 0.8, 0.1],
    [0.1, 0.1, 0.8],
]
# outputs = { kind = "categories", values = ["a", "b", "c"] }   # what the columns are; the alphabet if left out
"""
    }
    alphabet: Alphabet
    matrix: NDArray[np.float64] = field(repr=False)
    outputs: Alphabet | None = None
    promise: Guarantee | None = None

    def __init__(
        self, alphabet: Alphabet, matrix: ArrayLike, outputs: Alphabet | None = None, promise: Guarantee | None = None
    ) -> None:
        require_alphabet("alphabet", alphabet)
        if outputs is not None:
            require_alphabet("outputs", outputs)
        object.__setattr__(self, "alphabet", alphabet)
        object.__setattr__(self, "matrix", read_only(_as_matrix(matrix, alphabet)))
        object.__setattr__(self, "outputs", outputs)
        object.__setattr__(self, "promise", promise)
        if promise is not None and not isinstance(promise, Guarantee):
            raise InvalidParameterError(f"promise must be a guarantee such as LocalDP(1.0); got {promise!r}.")
        worst = None if promise is None else worst_ratio(self.matrix, promise.bounds(alphabet))
        if worst is not None and worst.exceeds:
            labels = alphabet.labels()
            # A zero in a given matrix is a true zero, not a probability too small for float64.
            is_ruled_out = self.matrix[worst.right, worst.output] == 0
            ratio = math.inf if is_ruled_out else worst.log_ratio
            raise BrokenPromiseError(
                f"The matrix breaks the promise of {promise}: output number {worst.output} is e^{ratio:.12g} times as "
                f"likely under {labels[worst.left]} as under {labels[worst.right]}; at most e^{worst.bound:.12g} is "
                f"promised. Choose a larger epsilon, or leave the promise out to have it computed."
            )
        if outputs is not None and outputs.size != self.matrix.shape[1]:
            raise InvalidParameterError(
                f"The matrix has {self.matrix.shape[1]} columns, but {outputs!r} has {outputs.size} outputs."
            )

    @property
    def report_alphabet(self) -> Alphabet:
        if self.outputs is not None:
            return self.outputs
        values, columns = self.matrix.shape
        return self.alphabet if values == columns else Integers(0, columns - 1)

    @cached_property
    def guarantee(self) -> Guarantee:
        """The given promise, or the smallest epsilon that the matrix keeps."""
        if self.promise is not None:
            return self.promise
        largest, smallest = self.matrix.max(axis=0), self.matrix.min(axis=0)
        used = largest > 0
        # A column with zeros and nonzeros rules some values out.
        if (smallest[used] == 0).any():
            return LocalDP(math.inf)
        ratio = float((largest[used] / smallest[used]).max())
        # Rounding (a division and two sums) may leave this ratio below that of the probabilities drawn from.
        return LocalDP(epsilon_above(Fraction(ratio) * (1 + Fraction(1, 2**48))) if ratio > 1 else 0.0)

    @cached_property
    def channel(self) -> channels.Dense:
        return channels.Dense(self.matrix)

    @property
    def facts(self) -> Facts:
        return Facts(is_rounded=True)

    def weights(self, index: int) -> list[int]:
        # Floats are fractions over a common denominator.
        return as_integers(self.matrix[index])

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Cached: every estimate looks up its mechanism, and large matrices hash slowly."""
        return hash((self.alphabet, self.matrix.tobytes(), self.report_alphabet, self.promise))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FromMatrix):
            return NotImplemented
        return (
            self.alphabet == other.alphabet
            and self.report_alphabet == other.report_alphabet
            and self.promise == other.promise
            and np.array_equal(self.matrix, other.matrix)
        )


def _as_matrix(matrix: ArrayLike, alphabet: Alphabet) -> NDArray[np.float64]:
    refuse_masked("entries of the matrix", matrix, InvalidParameterError)
    try:
        array = np.array(matrix, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InvalidParameterError("A matrix must be a rectangle of numbers, one row a value.") from None
    if array.ndim != 2 or array.shape[0] != alphabet.size or array.shape[1] == 0:
        raise InvalidParameterError(
            f"A matrix for {alphabet!r} needs {alphabet.size} rows, one a value; got shape {array.shape}."
        )
    if not np.isfinite(array).all() or (array < 0).any():
        row, column = np.argwhere(~(np.isfinite(array) & (array >= 0)))[0].tolist()
        raise InvalidParameterError(
            f"Probabilities must be finite and not negative; got {array[row, column]} in row {row}, column {column}."
        )
    sums = np.array([math.fsum(row) for row in array])
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > SUM_TOLERANCE:
        raise InvalidParameterError(
            f"Every row must sum to 1; row {worst} sums to {sums[worst]:.10g}. Divide each row by its sum."
        )
    # A row that was divided once sums to 1 within half of 2^-51. It stays unchanged, so that a survey that is saved
    # and read back keeps its fingerprint.
    is_even = np.abs(sums - 1) <= 2.0**-51
    rows: NDArray[np.float64] = array / np.where(is_even, 1.0, sums)[:, None] + 0.0  # -0.0 would hash differently
    return rows
