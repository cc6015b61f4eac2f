"""alpha^|z - x| on a line, in O(k).

The matrix T = [alpha^|z - x|] is the covariance of a first-order autoregression, so its inverse is tridiagonal:

    (1 - alpha^2) T^-1 = L D L',    L = 1 on the diagonal and -alpha below it,    D = diag(1, ..., 1, 1 - alpha^2).

So a product with T is one tridiagonal solve with known factors: a forward recursion f_i = b_i + alpha f_(i-1) and a
backward one. On non-negative input both only add, so every entry has full relative accuracy. LAPACK's pttrs runs them
compiled, without a copy of T or any factor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from confide.channels.base import UNIT, Channel, FloatArray, Indices
from confide.errors import NotInvertibleError
from confide.values.checks import read_only, settle

FAINT = 1e-290
"""Added to inputs so that running sums never become subnormal, which takes 20 times as long."""


@dataclass(frozen=True, eq=False, repr=False)
class TwoSidedExponential(Channel):
    """M_xz = row(x) alpha^|z - x| column(z), with an optional diagonal; square.

    The geometric mechanism has column factors only (paper, eq. TLinearGeometric), the exponential mechanism row factors
    only. The Laplace mechanism has its own diagonal, because its cell contains the peak of the density.

    Parameters
    ----------
    ratio
        alpha, the ratio between the probabilities of neighbouring outputs.
    complement
        1 - alpha, separate because it cancels if alpha is close to 1.
    columns
        One factor per output.
    rows
        One factor per value. Optional. Default: 1.
    diagonal
        The diagonal. Optional. Default: row(x) column(x).

    Examples
    --------
    >>> channel = TwoSidedExponential(0.5, 0.5, np.array([2, 1, 2]) / 3)
    >>> channel.push(np.array([1.0, 0.0, 0.0])).round(4)
    array([0.6667, 0.1667, 0.1667])
    """

    ratio: float
    complement: float
    columns: FloatArray
    rows: FloatArray | None = None
    diagonal: FloatArray | None = None
    _is_line = True
    _below: FloatArray = field(init=False)
    _diagonal: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        size = self.columns.size
        # D divided by 1 - alpha^2, so that the solve returns T b itself.
        diagonal = np.full(size, 1 / self._one_minus_square)
        diagonal[-1] = 1.0
        settle(self, _below=read_only(np.full(size - 1, -self.ratio)), _diagonal=read_only(diagonal))
        given = {"columns": self.columns, "rows": self.rows, "diagonal": self.diagonal}
        copies = {name: np.array(one, dtype=np.float64) for name, one in given.items() if one is not None}
        settle(self, **{name: read_only(one) for name, one in copies.items()})

    @property
    def _one_minus_square(self) -> float:
        return self.complement * (1 + self.ratio)

    @property
    def shape(self) -> tuple[int, int]:
        return self.columns.size, self.columns.size

    def piece(self, start: int, stop: int) -> TwoSidedExponential:
        """Return the rows and columns from `start` up to `stop` (exclusive).

        >>> TwoSidedExponential(0.5, 0.5, np.array([2, 1, 2]) / 3).piece(1, 3).dense().round(4)
        array([[0.3333, 0.3333],
               [0.1667, 0.6667]])
        """
        cut = slice(start, stop)
        rows = None if self.rows is None else self.rows[cut]
        diagonal = None if self.diagonal is None else self.diagonal[cut]
        return TwoSidedExponential(self.ratio, self.complement, self.columns[cut], rows, diagonal)

    def times(self, side: int, vectors: FloatArray) -> FloatArray:
        before, after = (self.rows, self.columns) if side == 0 else (self.columns, self.rows)
        smeared = self._smear(vectors if before is None else vectors * before)
        if after is not None:
            smeared *= after
        if self.diagonal is not None:
            smeared += vectors * self._on_diagonal
        return smeared

    def error(self, side: int, given: FloatArray, product: FloatArray) -> FloatArray:
        before, after = (self.rows, self.columns) if side == 0 else (self.columns, self.rows)
        error = self._smear_error(given if before is None else given * before) * (1.0 if after is None else after)
        if self.diagonal is None:
            return error + 2 * UNIT * product
        # What adding a diagonal costs: roundings of both summands, whatever their signs.
        added: FloatArray = error + UNIT * (3 * product + 6 * np.abs(given * self._on_diagonal))
        return added

    def select(self, values: Indices) -> FloatArray:
        return self.block(values, np.arange(self.columns.size))

    def block(self, values: Indices, outputs: Indices) -> FloatArray:
        powers: FloatArray = self.ratio ** np.abs(values[:, None] - outputs)
        matrix = powers * self.columns[outputs]
        if self.rows is not None:
            matrix *= self.rows[values][:, None]
        if self.diagonal is not None:
            own, places = np.nonzero(values[:, None] == outputs)
            matrix[own, places] = self.diagonal[outputs[places]]
        return matrix

    @property
    def line(self) -> TwoSidedExponential | None:
        # Itself if T^-1 gives M without cancellation.
        # A diagonal is then a small correction to that of T; for a tiny alpha it would be huge.
        # e^-12: the smallest ratio for which a diagonal of its own is a correction of less than 1,000 times itself.
        return self if self.diagonal is None or self.ratio > math.exp(-12) else None

    def rescaled(self, factors: FloatArray) -> TwoSidedExponential:
        # A line stays a line, which solves fast.
        rows = factors if self.rows is None else self.rows * factors
        return replace(self, rows=rows, diagonal=None if self.diagonal is None else self.diagonal * factors)

    def inverse_lengths(self) -> FloatArray:
        # Row z of the inverse has entries only at z - 1, z and z + 1.
        if self.diagonal is not None:
            return super().inverse_lengths()
        size = self.shape[0]
        lengths = np.zeros(size)
        for start in range(min(3, size)):  # every third row fits into one vector without overlap
            comb = np.zeros(size)
            comb[start::3] = 1.0
            squares = np.concatenate([[0.0], self.unpush(comb) ** 2, [0.0]])
            around = squares[:-2] + squares[1:-1] + squares[2:]
            lengths[start::3] = around[start::3]
        return lengths

    @cached_property
    def _stands_apart(self) -> bool:
        """Whether the diagonal is kept out of the recursions, which is slower.

        It is not if at most half of the recursions' own diagonal is subtracted again: that costs no digits.
        """
        return self.diagonal is not None and bool((self.extra < -0.5 * self.columns).any())

    @cached_property
    def _on_diagonal(self) -> FloatArray:
        """Diagonal that products add to the recursions' sums."""
        if self.diagonal is not None and self._stands_apart:
            return self.diagonal
        return self.extra if self.rows is None else self.extra * self.rows

    @cached_property
    def extra(self) -> FloatArray:
        """Excess of the diagonal over row(x) column(x), divided by row(x)."""
        if self.diagonal is None:
            return np.zeros(self.columns.size)
        return (self.diagonal if self.rows is None else self.diagonal / self.rows) - self.columns

    def unpush(self, frequencies: FloatArray) -> FloatArray:
        # With E = extra and v = (w rows) T, the equation w M = q reads v (diag(columns) + T^-1 diag(E)) = q, which is
        # tridiagonal; without an extra it is diagonal.
        if self.line is None:
            return super().unpush(frequencies)
        result = self._unsmear(self._solve_middle(frequencies, is_left=True))
        return result if self.rows is None else result / self.rows

    def unpull(self, weights: FloatArray) -> FloatArray:
        # The same with the unknown on the right: (diag(columns) + T^-1 diag(E)) g = T^-1 (weights / rows).
        if self.line is None:
            return super().unpull(weights)
        return self._solve_middle(self._unsmear(weights if self.rows is None else weights / self.rows), is_left=False)

    def _solve_middle(self, given: FloatArray, *, is_left: bool) -> FloatArray:
        """Solve with diag(columns) + T^-1 diag(E), from either side."""
        if self.diagonal is None:
            return given / self.columns
        from scipy.linalg import solve_banded

        size, extra = self.columns.size, self.extra / self._one_minus_square
        above, below = -self.ratio * extra[1:], -self.ratio * extra[:-1]
        bands = np.zeros((3, size))
        # Row i of this band holds the matrix transposed if the unknown stands on the left.
        bands[0, 1:], bands[2, :-1] = (below, above) if is_left else (above, below)
        bands[1] = self.columns + self._middle * extra
        solved: FloatArray = solve_banded((1, 1), bands, given.reshape(-1, size).T).T.reshape(given.shape)
        return solved

    @cached_property
    def _middle(self) -> FloatArray:
        """The diagonal of (1 - alpha^2) T^-1."""
        middle = np.full(self.columns.size, 1 + self.ratio**2)
        middle[[0, -1]] = 1.0
        return middle

    def _unsmear(self, vectors: FloatArray) -> FloatArray:
        """Return vectors T^-1, along the last axis; T is symmetric."""
        if self.columns.size == 1:
            return vectors.copy()
        result: FloatArray = vectors * self._middle
        result[..., 1:] -= self.ratio * vectors[..., :-1]
        result[..., :-1] -= self.ratio * vectors[..., 1:]
        return result / self._one_minus_square

    def _smear(self, vectors: FloatArray) -> FloatArray:
        """Return vectors T, along the last axis, in new memory.

        Without the diagonal if it is kept apart.
        """
        size = self.columns.size
        if self._stands_apart:
            return sums_of_others(vectors, self.ratio)
        if size == 1:
            return vectors.copy()
        if vectors.size < 512 * size:
            # scipy.linalg takes longer to import than all of confide, so it waits for the first product.
            from scipy.linalg.lapack import dpttrs

            # Into memory of its own, which LAPACK may overwrite.
            lifted = np.add(vectors, FAINT, out=np.empty(vectors.shape))
            columns = lifted.reshape(-1, size).T  # Fortran order without a copy, as LAPACK wants it
            solution, _ = dpttrs(self._diagonal, self._below, columns, overwrite_b=True)
            smeared: FloatArray = solution.T.reshape(vectors.shape)
            return smeared
        # From 512 vectors on, the same two recursions on all at once are faster than LAPACK's one vector after the
        # other: a step then waits for no other vector's last one.
        flat = vectors.reshape(-1, size).T
        sums = np.add(flat, FAINT, out=np.empty(flat.shape))
        step = np.empty(sums.shape[1])
        for place in range(1, size):
            sums[place] += np.multiply(sums[place - 1], self.ratio, out=step)
        sums[:-1] *= self._one_minus_square
        for place in range(size - 2, -1, -1):
            sums[place] += np.multiply(sums[place + 1], self.ratio, out=step)
        return sums.T.reshape(vectors.shape)

    def _smear_error(self, vectors: FloatArray) -> FloatArray:
        """Bound a smear's error by running it on its partial sums.

        A step f_i = b_i + alpha f_(i-1) has a rounding each of the product, the sum and alpha: at most 3 units of f,
        which then decay as f does. So the forward sums f have an error of 3 units of L^-1 f, which becomes 3 units of T
        f at the end. The backward sums x have 3 units of L'^-1 x, plus a few more for the factors.
        """
        forward = running_sums(vectors, self.ratio)
        if self._stands_apart:
            backward = running_sums(vectors[..., ::-1], self.ratio)[..., ::-1]
            both = sums_of_others(forward, self.ratio) + sums_of_others(backward, self.ratio)
            return 5 * UNIT * both + FAINT  # for what underflows
        smeared = self._smear(vectors)
        backward = running_sums(smeared[..., ::-1], self.ratio)[..., ::-1]
        return UNIT * (3 * (self._smear(forward) + backward) + 8 * smeared) + 2 * FAINT / self.complement


def running_sums(vectors: FloatArray, ratio: float | FloatArray) -> FloatArray:
    """Return decaying sums from the left, along the last axis.

    They are fully accurate on non-negative input. One ratio applies to every step; an array has one for each step from
    an entry to the next.

    >>> running_sums(np.array([1.0, 0.0, 2.0]), 0.5)
    array([1.  , 0.5 , 2.25])
    >>> running_sums(np.array([1.0, 0.0, 2.0]), np.array([0.5, 0.1]))
    array([1.  , 0.5 , 2.05])
    """
    from scipy.linalg.lapack import dtbtrs

    size = vectors.shape[-1]
    bands = np.empty((2, size), order="F")
    bands[0], bands[1, -1] = 1.0, 0.0
    bands[1, :-1] = np.negative(ratio)
    columns = np.asfortranarray(vectors.reshape(-1, size).T)
    solution, _ = dtbtrs(bands, columns, uplo="L", diag="U")
    sums: FloatArray = solution.T.reshape(vectors.shape)
    return sums


def sums_of_others(vectors: FloatArray, ratio: float) -> FloatArray:
    """Return sum over j != i of ratio^|i - j| b_j.

    Subtracting b_i from the whole sum would cancel.

    >>> sums_of_others(np.array([1.0, 0.0, 2.0]), 0.5)
    array([0.5 , 1.5 , 0.25])
    """
    sums = np.zeros_like(vectors)
    sums[..., 1:] = running_sums(vectors, ratio)[..., :-1]
    sums[..., :-1] += running_sums(vectors[..., ::-1], ratio)[..., ::-1][..., 1:]
    sums *= ratio
    return sums


@dataclass(frozen=True, eq=False, repr=False)
class ScatteredExponential(Channel):
    """Columns alpha^|z - x| for reports z between values on a line.

    The part of a push from values up to f, the last one below z, is alpha^(z - f) times a running sum from the left.
    The rest comes from the right in the same way, so one recursion each way serves all reports.

    Parameters
    ----------
    size
        Number of values.
    decay
        -log alpha.
    positions
        Positions of the distinct reports, between the first and the last value.
    places
        Positions of the values, increasing. Optional. Default: 0 .. size - 1.

    Examples
    --------
    >>> channel = ScatteredExponential(2, np.log(2), np.array([0.0, 1.0]))
    >>> channel.dense()
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    size: int
    decay: float
    positions: FloatArray
    places: FloatArray | None = None
    _is_line = True
    _floor: Indices = field(init=False)

    def __post_init__(self) -> None:
        settle(self, positions=read_only(np.array(self.positions, dtype=np.float64)))
        if self.places is None:
            floor = np.minimum(self.positions.astype(np.int64), self.size - 1)
        else:
            settle(self, places=read_only(np.array(self.places, dtype=np.float64)))
            floor = np.clip(np.searchsorted(self.places, self.positions, side="right") - 1, 0, self.size - 1)
        settle(self, _floor=floor)

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, self.positions.size

    @cached_property
    def _from_left(self) -> FloatArray:
        """Decay alpha^(z - f) from the last value f before z."""
        return np.exp(-self.decay * (self.positions - self._place_of(self._floor)))

    @cached_property
    def _from_right(self) -> FloatArray:
        """Decay alpha^(c - z) from the next value c; 0 without one."""
        faded: FloatArray = np.exp(-self.decay * (self._place_of(self._next) - self.positions))
        return np.where(self._floor + 1 < self.size, faded, 0.0)

    @cached_property
    def _next(self) -> Indices:
        return np.minimum(self._floor + 1, self.size - 1)

    def times(self, side: int, vectors: FloatArray) -> FloatArray:
        if side == 0:
            left, right = self._sums_from_left(vectors), self._sums_from_right(vectors)
            return left[..., self._floor] * self._from_left + right[..., self._next] * self._from_right
        to_left = self._gather(vectors * self._from_left, self._floor)
        to_right = self._gather(vectors * self._from_right, self._next)
        return self._sums_from_right(to_left) + self._sums_from_left(to_right)

    def error(self, side: int, given: FloatArray, product: FloatArray) -> FloatArray:
        # Each step of a running sum adds units of it, which fade as it does: roundings of its product, its sum, its
        # ratio, and of the exponent that a ratio is made from.
        widest = 1.0 if self.places is None else float(np.diff(self.places).max(initial=0.0))
        units_a_step = 3 + self.decay * widest
        if side == 0:
            left = self._sums_from_left(self._sums_from_left(given))
            right = self._sums_from_right(self._sums_from_right(given))
            steps = left[..., self._floor] * self._from_left + right[..., self._next] * self._from_right
            return UNIT * units_a_step * (steps + 3 * product)
        to_left = self._gather(given * self._from_left, self._floor)
        to_right = self._gather(given * self._from_right, self._next)
        right, left = self._sums_from_right(to_left), self._sums_from_left(to_right)
        steps = self._sums_from_right(right) + self._sums_from_left(left)
        # Reports between the same two values are added one after the other.
        together = int(np.bincount(self._floor).max(initial=0))
        return UNIT * (units_a_step * (steps + 3 * product) + together * product)

    def select(self, values: Indices) -> FloatArray:
        return np.exp(-self.decay * np.abs(self._place_of(values)[:, None] - self.positions))

    def _place_of(self, values: Indices) -> FloatArray:
        return values.astype(np.float64) if self.places is None else self.places[values]

    @cached_property
    def _ratios(self) -> float | FloatArray:
        """Decay of a sum from each value to the next."""
        if self.places is None:
            return math.exp(-self.decay)
        return np.exp(-self.decay * np.diff(self.places))

    def _sums_from_left(self, vectors: FloatArray) -> FloatArray:
        return running_sums(vectors, self._ratios)

    def _sums_from_right(self, vectors: FloatArray) -> FloatArray:
        ratios = self._ratios if isinstance(self._ratios, float) else self._ratios[::-1]
        return running_sums(vectors[..., ::-1], ratios)[..., ::-1]

    def _gather(self, weights: FloatArray, places: Indices) -> FloatArray:
        flat = weights.reshape(-1, self.positions.size)
        summed = np.array([np.bincount(places, row, minlength=self.size) for row in flat], dtype=np.float64)
        return summed.reshape(*weights.shape[:-1], self.size)


@dataclass(frozen=True, eq=False, repr=False)
class WrappedExponential(Channel):
    """Geometric noise alpha^d that wraps around a circle.

    M_xz = c (alpha^d + alpha^(k - d)) / (1 - alpha^k), where d is the number of steps from x to z, and k the number of
    values.

    Parameters
    ----------
    size
        Number of values.
    ratio
        alpha, the ratio between the probabilities of neighbours on a line.
    complement
        1 - alpha, separate because it cancels if alpha is close to 1.
    around
        1 - alpha^size, separate for the same reason.

    Examples
    --------
    >>> WrappedExponential(3, 0.5, 0.5, 0.875).push(np.array([1.0, 0.0, 0.0])).round(4)
    array([0.4286, 0.2857, 0.2857])
    """

    size: int
    ratio: float
    complement: float
    around: float

    _rows_are_alike = True

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, self.size

    def times(self, side: int, vectors: FloatArray) -> FloatArray:  # noqa: ARG002 (the matrix is symmetric)
        # Sums over both directions, counting the own entry once.
        backward = self._fading(vectors[..., ::-1])[..., ::-1]
        return self._peak * (self._fading(vectors) + self.ratio * np.roll(backward, -1, axis=-1))

    def error(self, side: int, given: FloatArray, product: FloatArray) -> FloatArray:  # noqa: ARG002 (symmetric)
        # A step of a fading sum errs by 3 units of it at most, which then fades with it: smeared sums, once in each
        # direction. The power and the division of what comes back around add 8 units of it, the rest a few more.
        forward, backward = self._fading(given), self._fading(given[..., ::-1])[..., ::-1]
        both = self._fading(forward) + self._fading(backward[..., ::-1])[..., ::-1]
        return UNIT * (3 * self._peak * both + 16 * product)

    def select(self, values: Indices) -> FloatArray:
        steps = (np.arange(self.size) - values[:, None]) % self.size
        rows: FloatArray = self._row[steps]
        return rows

    def unpush(self, frequencies: FloatArray) -> FloatArray:
        # 1e-5: (1 - alpha) / (1 + alpha), the root of the smallest eigenvalue, below which an inverse has fewer than
        # six digits.
        if self.complement / (1 + self.ratio) < 1e-5:
            raise NotInvertibleError(
                f"The inverse of this matrix is lost in rounding: its rows differ by {self.complement**2:.2g} of "
                f"themselves. Use IBU() or MLE(), or a larger epsilon."
            )
        beside = np.roll(frequencies, 1, axis=-1) + np.roll(frequencies, -1, axis=-1)
        return ((1 + self.ratio**2) * frequencies - self.ratio * beside) / self.complement**2

    def unpull(self, weights: FloatArray) -> FloatArray:
        return self.unpush(weights)  # the matrix is symmetric

    @property
    def _peak(self) -> float:
        """Probability of no noise on a line."""
        return self.complement / (1 + self.ratio)

    @cached_property
    def _powers(self) -> FloatArray:
        """Part of the last sum that wraps around to each value."""
        return self.ratio ** np.arange(1.0, self.size + 1) / self.around

    @cached_property
    def _row(self) -> FloatArray:
        steps = np.arange(self.size, dtype=np.float64)
        return self._peak * (self.ratio**steps + self.ratio ** (self.size - steps)) / self.around

    def _fading(self, vectors: FloatArray) -> FloatArray:
        """Return decaying sums from the left around the circle, endlessly.

        The sum over j >= 0 of alpha^j b_(i - j).
        """
        sums = running_sums(vectors, self.ratio)
        return sums + sums[..., -1:] * self._powers
