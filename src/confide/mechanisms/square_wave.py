"""The square wave.

Local differential privacy for values in order, and for cells of a plane.

Near values get near reports, as with metric noise, but the promise is one epsilon for every two values.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from confide.channels import Channel, Dense, Embedded, Layout, PlanarConvolution
from confide.channels.kernels import PlanarKernel
from confide.channels.windows import SquareWaveChannel
from confide.errors import InvalidParameterError
from confide.evidence.counts import Counts
from confide.mechanisms.base import Facts, Premise, Proof, require_alphabet, require_finite, settle_epsilon
from confide.mechanisms.near_or_far import NearOrFar
from confide.mechanisms.planar import LARGEST_DENSE
from confide.mechanisms.randomized_response import LocalMechanism
from confide.mechanisms.sampling import Bits, draw_second, log_of, uniform_below
from confide.values import Alphabet, Grid, Indices, LineGeometry, PlaneGeometry, RingGeometry
from confide.values.checks import check_count, check_positive, read_only, settle


@dataclass(frozen=True, repr=False)
class SquareWave(NearOrFar):
    """Report a value near the true one, or, less likely, any other.

    Each report within `width` steps of the value is e^epsilon times as likely as each report farther away (Li et al.,
    SIGMOD 2020). On a line, reports reach `width` steps beyond both ends; on a circle they wrap around.

    Parameters
    ----------
    alphabet
        Values in order: whole numbers, bins, a scale, dates, or a circle such as hours.
    epsilon
        The promise, for every two values alike.
    width
        Steps to each side that count as near. Optional. Default: the width of Li et al., which makes the most of a
        report's information; on a circle, the next narrower one that keeps the distribution identifiable.

    Examples
    --------
    >>> from confide import Integers
    >>> mechanism = SquareWave(Integers(0, 99, unit="year"), epsilon=1.0)
    >>> mechanism.width, mechanism.report_alphabet
    (25, Integers(-25, 124, unit='year'))
    >>> mechanism.guarantee
    LocalDP(epsilon=1.0)
    """

    kind = "square-wave"
    title = "the square wave"
    about = "reports a value near the true one with high probability, otherwise any other"
    advice = ""
    _derived = ("width",)
    alphabet: Alphabet
    epsilon: float
    width: int | None = None

    def __post_init__(self) -> None:
        name = type(self).__name__
        require_alphabet("alphabet", self.alphabet)
        if not isinstance(self.alphabet.geometry, LineGeometry | RingGeometry):
            raise InvalidParameterError(
                f"{name} needs values in order, such as Integers(0, 99) or Hours(); got {self.alphabet!r}. For words "
                f"use RandomizedResponse or OptimizedUnary."
            )
        require_finite(self.alphabet, name)
        settle_epsilon(self)
        size = self.alphabet.size
        if size < 2:
            raise InvalidParameterError(f"{name} needs at least two values; got {self.alphabet!r}.")
        if self.width is None:
            settle(self, width=_widest(size, self.epsilon, is_ring=self._is_ring))
            return
        most = (size - 2) // 2 if self._is_ring else size - 1
        check_count("width", self.width, least=0)
        if self.width > most:
            raise InvalidParameterError(
                f"width must be at most {most} steps for {size} values; got {self.width}. A wider window tells nothing."
            )

    @property
    def _is_ring(self) -> bool:
        return isinstance(self.alphabet.geometry, RingGeometry)

    @property
    def _reach(self) -> int:
        """Reports within the window: the value's own and `width` to each side."""
        return 2 * self._width + 1

    @property
    def _width(self) -> int:
        return self.width or 0  # settled: never None once the mechanism is made

    @property
    def report_alphabet(self) -> Alphabet:
        if self._is_ring:
            return self.alphabet
        low, high = self.alphabet.span
        return self.alphabet.between(low - self._width, high + self._width)

    @property
    def facts(self) -> Facts:
        if not self._is_ring:
            # If c M = 0, neighbouring columns differ by the entries of c that enter and leave the window. So c repeats
            # with the window's length, is zero in between, and its first entry is -far / (near - far) times its sum:
            # a number with the opposite sign of the sum of its own copies, hence zero.
            reason = "Differences of neighbouring columns leave no other distribution with the same reports."
            independence = Proof(reason, "windows that enter one value at a time")
        elif math.gcd(self._reach, self.alphabet.size) == 1:
            # Eigenvalue j of a window on a ring is sin(pi j w / k) / sin(pi j / k): zero only if k divides j w.
            reason = f"A window of {self._reach} values has no zero in its Fourier transform on {self.alphabet.size}."
            independence = Proof(reason, "Dirichlet kernel")
        else:
            independence = None
        return Facts(
            is_positive=True,
            independence=independence,
            premise=Premise.NOTHING if self._is_ring else Premise.LINE,
            log_smallest=self._log_smallest,
        )

    @cached_property
    def channel(self) -> SquareWaveChannel:
        near, far = float(self._ratio / self._total), float(1 / self._total)
        return SquareWaveChannel(self.alphabet.size, self._width, near, far, self._is_ring)

    def peaks(self, counts: Counts) -> NDArray[np.float64]:
        """Return the middle of the values that make each report likely."""
        self.refuse_strays(counts)
        low, high = self.alphabet.span if not self._is_ring else (0, self.alphabet.size - 1)
        return np.clip(counts.reports.astype(np.float64), low, high)[:, None]

    def _outputs(self, indices: Indices, numbers: Indices) -> Indices:
        # From the window's first report upwards, past its last, and around.
        start = indices - self._width if self._is_ring else indices
        return (start + numbers) % self.report_alphabet.size


def _widest(size: int, epsilon: float, *, is_ring: bool) -> int:
    """Return the width of Li et al. in whole steps.

    >>> [_widest(1000, epsilon, is_ring=False) for epsilon in (0.5, 1.0, 2.0, 4.0)]
    [358, 256, 129, 30]
    """
    width = int(_half_share(epsilon) * size)
    if not is_ring:
        return min(width, size - 1)
    width = min(width, (size - 2) // 2)
    # A window that shares a factor with the circle makes different distributions look alike: 9 of 24 hours, for one.
    while math.gcd(2 * width + 1, size) > 1:
        width -= 1
    return width


def _half_share(epsilon: float) -> Fraction:
    """Return the half-width of Li et al., by a bound on information.

    It is half of a window's length on a line of length 1.
    """
    # Decimals round alike on every machine. The difference below loses two digits for each of a small epsilon.
    context = Context(prec=80)
    rate, one = Decimal(epsilon), Decimal(1)
    growth = context.exp(rate)
    above = context.add(context.multiply(context.subtract(rate, one), growth), one)
    below = context.multiply(growth, context.subtract(context.subtract(growth, one), rate))
    return Fraction(context.divide(above, below)) / 2


@dataclass(frozen=True, repr=False)
class PlanarSquareWave(LocalMechanism):
    """Report a cell near the true one, or, less likely, any other.

    Each cell within `radius` of the true one is e^epsilon times as likely as each cell farther away: the square wave
    on a plane. Reports reach beyond the grid by the radius, so that every value has as many near reports. A report may
    lie in a hole.

    Parameters
    ----------
    alphabet
        Cells of a plane, with holes or without.
    epsilon
        The promise, for every two cells alike.
    radius
        Distance that counts as near, in cell widths. Optional. Default: the largest multiple of a half whose disc has
        no larger share of the cells than the window of Li et al. has of a line.

    Examples
    --------
    >>> from confide import Grid
    >>> mechanism = PlanarSquareWave(Grid(10, 10, unit="km"), epsilon=2.0)
    >>> mechanism.radius, mechanism.report_alphabet
    (2.5, Grid(14, 14, unit='km', first=(-2, -2)))
    >>> mechanism.guarantee
    LocalDP(epsilon=2.0)
    """

    kind = "planar-square-wave"
    title = "the planar square wave"
    about = "reports a cell near the true one with high probability, otherwise any other"
    advice = ""
    _derived = ("radius",)
    alphabet: Grid
    epsilon: float
    radius: float | None = None

    def __post_init__(self) -> None:
        name, alphabet = type(self).__name__, self.alphabet
        require_alphabet("alphabet", alphabet)
        if alphabet.geometry.dimensions == 2:
            require_finite(alphabet, name)
        if not isinstance(alphabet.geometry, PlaneGeometry):
            raise InvalidParameterError(f"{name} needs cells of a plane, Grid(rows, columns); got {alphabet!r}.")
        settle_epsilon(self)
        if min(alphabet.shape) < 2 or alphabet.size < 2:
            raise InvalidParameterError(
                f"{name} needs at least two cells, in two rows and two columns; got {alphabet!r}. For one line use "
                f"SquareWave(Integers(low, high), epsilon)."
            )
        if self.radius is None:
            settle(self, radius=_default_radius(alphabet.shape, self.epsilon))
            return
        most = max(alphabet.shape)
        if self.radius != 0:
            check_positive("radius", self.radius)
        if self.radius >= most:
            raise InvalidParameterError(
                f"radius must be less than {most} cell widths for {alphabet!r}; got {self.radius:g}. A larger disc "
                f"tells nothing."
            )
        settle(self, radius=float(self.radius))

    @cached_property
    def _halves(self) -> list[int]:
        """Cells to each side in the disc's rows, from the middle."""
        return _halves(self.radius or 0.0)  # settled: never None once the mechanism is made

    @property
    def report_alphabet(self) -> Grid:
        grid, reach = self.alphabet, len(self._halves) - 1
        first = grid.first_row - reach, grid.first_column - reach
        return grid.window(*first, grid.rows + 2 * reach, grid.columns + 2 * reach)

    @property
    def facts(self) -> Facts:
        # Let c M = 0, with P the polynomial of c in two variables (one power for each cell) and D that of the disc.
        # P D is a constant times the sum of all reports' powers. Set both variables to 1: sum(c) times a positive
        # number is zero, so the constant, which is a multiple of sum(c), is zero too. Hence P D = 0, and P = 0.
        reason = "Polynomials have no zero divisors, so no other distribution convolved with the disc is the same."
        return Facts(
            is_positive=True,
            independence=Proof(reason, "discs with room around them"),
            premise=Premise.COORDINATES,
            log_smallest=-log_of(self._total),
        )

    @cached_property
    def channel(self) -> Channel:
        reports, grid = self.report_alphabet, self.alphabet
        near, far = float(self._ratio / self._total), float(1 / self._total)
        cells = np.full(reports.shape, far)
        for row, half in enumerate(self._halves):
            cells[row, : half + 1] = near
        # Nothing is clamped, so no tail is needed.
        kernel = PlanarKernel(read_only(cells), *[np.zeros((0, 0))] * 3)
        box = PlanarConvolution(kernel, np.ones(reports.size))
        places = reports.encode(grid.decode(np.arange(grid.size)))
        channel = Embedded(box, places, np.arange(reports.size), reports.size)
        return Dense(channel.dense(), Layout.of(grid)) if reports.size <= LARGEST_DENSE else channel

    def weights(self, index: int) -> list[int]:
        self.report_alphabet.require_listable()
        row = [self._ratio.denominator] * self.report_alphabet.size
        for place in (self._starts(np.array([index])) + self._disc).tolist():
            row[place] = self._ratio.numerator
        return row

    @property
    def _total(self) -> Fraction:
        """Sum of a row, if each report outside the disc counts 1."""
        return self._disc.size * (self._ratio - 1) + self.report_alphabet.size

    @cached_property
    def _disc(self) -> Indices:
        """Places of the disc's cells among the reports."""
        halves, reach = self._halves, len(self._halves) - 1
        places = [
            (row + reach) * self.report_alphabet.columns + column + reach
            for row in range(-reach, reach + 1)
            for column in range(-halves[abs(row)], halves[abs(row)] + 1)
        ]
        return np.array(places, dtype=np.int64)

    def _starts(self, indices: Indices) -> Indices:
        """Return the places of these corners among the reports."""
        rows, columns = self.alphabet.decode(indices).T
        row, column = rows - self.alphabet.first_row, columns - self.alphabet.first_column
        return np.asarray(row * self.report_alphabet.columns + column)

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        """Draw from the disc, or from all reports.

        Together they have the same weights as rows.

        Both are drawn for everyone, so that timing does not reveal which one was reported.
        """
        near, far = self._ratio.numerator, self._ratio.denominator
        is_any = draw_second(self._disc.size * (near - far), self.report_alphabet.size * far, indices.size, bits)
        inside = uniform_below(self._disc.size, indices.size, bits)
        anywhere = uniform_below(self.report_alphabet.size, indices.size, bits)
        drawn: Indices = np.where(is_any, anywhere, self._starts(indices) + self._disc[inside])
        return drawn


def _halves(radius: float) -> list[int]:
    """Return how far a disc reaches to each side in its rows.

    A cell is inside if the square of its distance is at most the double radius * radius.

    >>> _halves(2.5)
    [2, 2, 1]
    """
    square = math.floor(radius * radius)
    return [math.isqrt(square - row * row) for row in range(math.isqrt(square) + 1)]


def _default_radius(shape: tuple[int, int], epsilon: float) -> float:
    """Return the default radius, as large a share as Li's window.

    >>> [_default_radius((50, 50), epsilon) for epsilon in (0.5, 1.0, 2.0, 4.0)]
    [23.5, 20.0, 14.0, 7.0]
    """
    most = math.floor(2 * _half_share(epsilon) * math.prod(shape))

    def cells(doubled: int) -> int:
        first, *others = (2 * half + 1 for half in _halves(doubled / 2))
        return first + 2 * sum(others)

    return max(bisect_right(range(2 * max(shape)), most, key=cells) - 1, 0) / 2
