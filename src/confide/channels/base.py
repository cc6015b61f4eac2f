"""P(report | value) as an operator: the contract, and the simplest channels.

These are a stored matrix and k-RR in O(k).
"""

from __future__ import annotations

import contextlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from confide.errors import InvalidDistributionError, NotInvertibleError
from confide.values import Alphabet, LineGeometry, PlaneGeometry, RingGeometry
from confide.values.checks import LARGEST_SQUARE, MOST_STORED, as_floats, read_only, settle
from confide.values.wording import counted

if TYPE_CHECKING:
    from confide.channels.two_sided_exponential import TwoSidedExponential

FloatArray = NDArray[np.float64]
Indices = NDArray[np.int64]

UNIT = 2.0**-53
"""Unit roundoff of float64: the relative error of one operation is at most this."""

COMPUTED = 64 * float(np.finfo(np.float64).eps)
"""Relative error of computed entries, some of which are sums. Different rows of any mechanism differ by more."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Arrangement of the values on a line or a plane.

    Attributes
    ----------
    shape
        (length,) of a line, or (rows, columns) of a plane.
    places
        Place of each value in it, row by row. Optional. Default: all places in order.
    """

    shape: tuple[int, ...]
    places: Indices | None = None

    def part(self, values: Indices) -> Layout:
        """Return the layout of some of the values."""
        return Layout(self.shape, values if self.places is None else self.places[values])

    @classmethod
    def of(cls, alphabet: Alphabet) -> Layout | None:
        """Return the layout of an alphabet's values.

        `None` if neighbours mean nothing, or not on both axes.

        >>> from confide import Categories, Grid
        >>> Layout.of(Grid(2, 3)).shape, Layout.of(Categories(["a", "b"]))
        ((2, 3), None)
        """
        geometry = alphabet.geometry
        if isinstance(geometry, LineGeometry | RingGeometry):  # a ring is cut between its last value and its first
            return cls((alphabet.size,))
        if isinstance(geometry, PlaneGeometry):
            return cls(geometry.shape, geometry.places if geometry.holes else None)
        if alphabet.attributes is not None:
            return cls.side_by_side([cls.of(one) for one in alphabet.attributes.alphabets])
        return None

    @classmethod
    def side_by_side(cls, layouts: Sequence[Layout | None]) -> Layout | None:
        """Return the layout of several parts: two lines make a plane.

        `None` for anything else.

        >>> Layout.side_by_side([Layout((3,)), Layout((4,))])
        Layout(shape=(3, 4), places=None)
        """
        lines = [one.shape for one in layouts if one is not None and one.places is None and len(one.shape) == 1]
        return cls((*lines[0], *lines[1])) if len(layouts) == len(lines) == 2 else None


class Channel(ABC):
    """A stochastic matrix M, values by outputs, known through two products.

    Both products take a vector, or a stack of vectors along the leading axes, so that one call can solve many problems.
    A new channel needs `shape`, `times` and `select`. If it can do more in closed form, it overrides a method further
    down; no code asks for its class.

    Examples
    --------
    >>> import confide as cf
    >>> channel = cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0).channel
    >>> channel.push(np.array([1.0, 0.0])).round(3), channel.pull(np.array([1.0, 0.0])).round(3)
    (array([0.731, 0.269]), array([0.731, 0.269]))
    """

    is_stored: bool = False  # whether entries were given, not computed
    _is_line: bool = False  # whether the values lie in a row
    _rows_are_alike: bool = False  # whether all rows of the inverse are the first one, permuted

    @property
    def layout(self) -> Layout | None:
        """Arrangement of the values; `None` if neighbours mean nothing."""
        return Layout((self.shape[0],)) if self._is_line else None

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of values and number of outputs."""

    @property
    def identity(self) -> Hashable:
        """Cache key: identity of the channel object.

        Stacks of the same parts share a key.
        """
        return id(self)

    def push(self, distribution: FloatArray) -> FloatArray:
        """Map a distribution over values to one over outputs: theta M."""
        self.check_length(distribution, 0)
        return self.times(0, distribution)

    def pull(self, weights: FloatArray) -> FloatArray:
        """Map a weight per output to a weight per value: M r."""
        self.check_length(weights, 1)
        return self.times(1, weights)

    def times(self, side: int, vectors: FloatArray) -> FloatArray:
        """Return theta M (side 0) or M r (side 1).

        Lengths are those that push and pull have checked. A channel with a push and a pull of its own needs no more.
        """
        return (self.push, self.pull)[side](vectors)

    @abstractmethod
    def select(self, values: Indices) -> FloatArray:
        """Return these rows of M, computed entry by entry, not by push."""

    def in_blocks(self, side: int) -> Channel | None:  # noqa: ARG002 (for those that can)
        """Return the channel between square blocks of cells.

        It assumes that people are spread evenly in each block. `None` without a closed form.
        """
        return None

    @property
    def entry_error(self) -> float:
        """Relative error of the entries that `select` returns.

        The default covers entries computed by a few operations; a stored matrix has no error.
        """
        return 1.2e-15  # 1.1e-15 was the most that exact arithmetic showed on lines, at n = 1e9

    def error(self, side: int, given: FloatArray, product: FloatArray) -> FloatArray:  # noqa: ARG002 (for others)
        """Bound the rounding errors of push (side 0) or pull (side 1).

        There is one for each entry. What was `given` must be non-negative, and `product` its product. The default is
        for sums of products in any order: with m terms of one sign the relative error is at most m + 3 units (Higham,
        Accuracy and Stability, 2002, section 3.1). A channel with other algorithms, such as recursions or transforms,
        overrides it.
        """
        # Terms that are zero add no rounding.
        return (np.count_nonzero(given, axis=-1, keepdims=True) + 3) * UNIT * product

    def weighted_push_error(self, distribution: FloatArray, pushed: FloatArray, weights: FloatArray) -> float:
        """Bound the sum of all errors of push, times weights.

        Channels with transforms override this with a better bound.
        """
        return float(weights @ self.error(0, distribution, pushed))

    def block(self, values: Indices, outputs: Indices) -> FloatArray:
        """Return the entries of M in these rows and columns.

        A channel with large rows overrides this.
        """
        return self.select(values)[:, outputs]

    def dense(self) -> FloatArray:
        """Return the whole matrix M."""
        return self.select(np.arange(self.shape[0]))

    def unpush(self, frequencies: FloatArray) -> FloatArray:
        """Return the w with w M = frequencies.

        A channel with a closed form overrides this; others solve the dense system if it fits.

        Raises
        ------
        NotInvertibleError
            If the matrix is not square, is singular, or is too large to solve.
        """
        require_square(self.shape)
        if self.shape[0] > LARGEST_SQUARE:
            raise NotInvertibleError(
                f"Inverting a matrix of {self.shape[0]:,} values does not fit; at most {LARGEST_SQUARE:,}. "
                f"Use IBU(), which needs no inverse."
            )
        return frequencies @ self._inverse

    def unpull(self, weights: FloatArray) -> FloatArray:
        """Return the g with M g = weights.

        If many g do, this one varies least over a uniform population. If none does, it comes as near as any.

        Raises
        ------
        NotInvertibleError
            If the matrix is too large to solve.
        """
        if self.shape[0] > LARGEST_SQUARE or math.prod(self.shape) > MOST_STORED:
            raise NotInvertibleError(
                f"Solving for a matrix of {self.shape[0]:,} values and {self.shape[1]:,} outputs does not fit; at most "
                f"{LARGEST_SQUARE:,} values. Use fewer or coarser values."
            )
        with contextlib.suppress(NotInvertibleError):
            require_square(self.shape)
            return np.asarray(weights @ self._inverse.T)
        matrix = self.dense()
        # Least squares in units of 1 / sqrt(mean row): the shortest solution has the smallest variance there.
        roots = np.sqrt(matrix.mean(axis=0))
        scaled = np.divide(matrix, roots, out=np.zeros_like(matrix), where=roots > 0)
        solved = np.linalg.lstsq(scaled, weights.reshape(-1, self.shape[0]).T, rcond=None)[0].T
        found: FloatArray = np.divide(solved, roots, out=np.zeros_like(solved), where=roots > 0)
        return found.reshape(*weights.shape[:-1], self.shape[1])

    def inverse_lengths(self) -> FloatArray:
        """Return the squared length of each row of M^-1.

        A channel with structure overrides this.

        Raises
        ------
        NotInvertibleError
            If there is no inverse, or it does not fit.
        """
        require_square(self.shape)
        size = self.shape[0]
        if self._rows_are_alike:
            first = np.zeros(size)
            first[0] = 1.0
            return np.full(size, float((self.unpush(first) ** 2).sum()))
        if size > 1500:  # which takes a few seconds without structure
            raise NotInvertibleError(f"The inverse of {size:,} values is not computed here; of 1,500 at most.")
        return np.asarray((self.unpush(np.eye(size)) ** 2).sum(axis=1))

    def unbit(self, frequencies: FloatArray) -> FloatArray:  # noqa: ARG002 (for channels over bit vectors)
        """Return each value's share, from how often its bit was set.

        Only channels over bit vectors have it.

        Raises
        ------
        NotInvertibleError
            If reports are not bit vectors, or their bits reveal nothing.
        """
        raise NotInvertibleError(
            "Inverting each bit needs reports that are bit vectors, such as RAPPOR's. Use IBU() or Inversion() for "
            "others."
        )

    @property
    def bit_vectors(self) -> NDArray[np.uint8] | None:
        """Packed bits of each output, if its column depends on them.

        Column entries are a + c b_x, with c not 0. `None` for all other channels.
        """
        return None

    def gram(self, values: Indices, weights: FloatArray) -> FloatArray | None:  # noqa: ARG002 (for those that can)
        """Return M diag(weights) M' between some values; `None` for "take rows"."""
        return None

    @property
    def keep_and_other(self) -> tuple[float, float] | None:
        """Probabilities of the value itself and of each other one.

        `None` unless they are the same for all values. If they are, the maximum of the likelihood has a closed form.
        """
        return None

    @property
    def support_rates(self) -> tuple[float, float] | None:
        """How often a report supports a value, given it and given another.

        `None` unless they are the same for all values. Under k-RR a report supports itself.
        """
        return self.keep_and_other

    @property
    def squares(self) -> Callable[[FloatArray], FloatArray] | None:
        """Pull with squared entries: weights w to sum_z M_xz^2 w_z.

        It gives the curvature of the likelihood in each value. `None` without a closed form.
        """
        return None

    @property
    def line(self) -> TwoSidedExponential | None:
        """The channel itself if its inverse is tridiagonal, else `None`.

        Systems with a tridiagonal inverse take O(k).
        """
        return None

    @property
    def rounding(self) -> float:
        """Relative error of an entry."""
        return COMPUTED

    def rescaled(self, factors: FloatArray) -> Channel:
        """Return the channel with each row multiplied by a factor."""
        return Rescaled(self, factors)

    @cached_property
    def _inverse(self) -> FloatArray:
        matrix = self.dense()
        condition = float(np.linalg.cond(matrix))
        # 1e12: condition number past which an inverse has fewer than four correct digits: it would return noise.
        if not condition < 1e12:
            raise NotInvertibleError(
                f"The mechanism's matrix is singular to working precision (condition number {condition:.2g}): "
                f"different distributions give the same reports. Use IBU(), which needs no inverse."
            )
        return np.linalg.inv(matrix).astype(np.float64)

    def check_length(self, vectors: object, axis: int) -> None:
        """Reject vectors of the wrong length.

        They need one entry per value (axis 0) or per output (axis 1).
        """
        # A vector of another length would broadcast, and a wrong product look right.
        if not isinstance(vectors, np.ndarray) or vectors.shape[-1:] != (self.shape[axis],):
            shape = f"shape {vectors.shape}" if isinstance(vectors, np.ndarray) else type(vectors).__name__
            raise InvalidDistributionError(
                f"{self!r} takes an array with {self.shape[axis]:,} entries along its last axis, one for each "
                f"{('value', 'output')[axis]}; got {shape}."
            )

    def __repr__(self) -> str:
        values, outputs = self.shape
        return f"{type(self).__name__}({values} values, {outputs} outputs)"


@dataclass(frozen=True, eq=False, repr=False)
class Rescaled(Channel):
    """A channel with each row multiplied by its own factor.

    With factors 1 / w, the best phi of this channel gives theta = phi / w, which maximizes q . log(theta M) - w .
    theta: a tilted likelihood. Rows no longer sum to 1; solvers and certificates do not need that.

    >>> from confide.channels import RandomizedResponseChannel
    >>> Rescaled(RandomizedResponseChannel(2, 0.75, 0.25), np.array([1.0, 2.0])).dense()
    array([[0.75, 0.25],
           [0.5 , 1.5 ]])
    """

    base: Channel
    factors: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        return self.base.shape

    @property
    def layout(self) -> Layout | None:
        return self.base.layout

    def times(self, side: int, vectors: FloatArray) -> FloatArray:
        if side == 0:
            return self.base.times(0, vectors * self.factors)
        return self.base.times(1, vectors) * self.factors

    @property
    def entry_error(self) -> float:
        return self.base.entry_error

    def error(self, side: int, given: FloatArray, product: FloatArray) -> FloatArray:
        if side == 0:
            return self.base.error(0, given * self.factors, product) + UNIT * product
        return self.base.error(1, given, self.base.times(1, given)) * self.factors + UNIT * product

    def select(self, values: Indices) -> FloatArray:
        return self.base.select(values) * self.factors[values, None]

    def block(self, values: Indices, outputs: Indices) -> FloatArray:
        return self.base.block(values, outputs) * self.factors[values, None]


def require_square(shape: tuple[int, int]) -> None:
    """Raise unless a matrix is square."""
    values, outputs = shape
    if values != outputs:
        raise NotInvertibleError(
            f"A mechanism with {counted(values, 'value')} and {counted(outputs, 'output')} has no inverse. "
            f"Use IBU(), which needs none."
        )


GIVEN = 2 * float(np.finfo(np.float64).eps)
"""Relative error of a given entry, which was divided by its row's sum."""


@dataclass(frozen=True, eq=False, repr=False)
class Dense(Channel):
    """A stored matrix, values by outputs.

    >>> channel = Dense(np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> channel.push(np.array([0.5, 0.5])), channel.pull(np.array([1.0, 0.0]))
    (array([0.55, 0.45]), array([0.9, 0.2]))
    """

    matrix: FloatArray
    arrangement: Layout | None = None

    is_stored = True
    rounding = GIVEN
    entry_error = 0.0  # the stored matrix is the matrix

    def __post_init__(self) -> None:
        settle(self, matrix=read_only(as_floats("matrix", self.matrix)))

    @property
    def shape(self) -> tuple[int, int]:
        values, outputs = self.matrix.shape
        return values, outputs

    @property
    def layout(self) -> Layout | None:
        return self.arrangement

    def times(self, side: int, vectors: FloatArray) -> FloatArray:
        return vectors @ (self.matrix if side == 0 else self.matrix.T)

    def select(self, values: Indices) -> FloatArray:
        return self.matrix[values]


@dataclass(frozen=True, repr=False)
class RandomizedResponseChannel(Channel):
    """The matrix with `keep` on its diagonal and `other` elsewhere.

    Paper, eq. krr.

    >>> RandomizedResponseChannel(3, keep=0.5, other=0.25).push(np.array([1.0, 0.0, 0.0]))
    array([0.5 , 0.25, 0.25])
    """

    size: int
    keep: float
    other: float

    entry_error = 0.0  # two numbers make the matrix
    _rows_are_alike = True

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, self.size

    def times(self, side: int, vectors: FloatArray) -> FloatArray:  # noqa: ARG002 (the matrix is symmetric)
        total: FloatArray = vectors.sum(axis=-1, keepdims=True)
        return (self.keep - self.other) * vectors + self.other * total

    def error(self, side: int, given: FloatArray, product: FloatArray) -> FloatArray:  # noqa: ARG002 (one signature)
        # numpy sums in pairs of pairs, blocks of 128 in eight strands: 16 + 3 + log2(size / 128) additions at most.
        return (24 + self.size.bit_length()) * UNIT * product

    def select(self, values: Indices) -> FloatArray:
        return np.where(values[:, None] == np.arange(self.size), self.keep, self.other)

    def unpush(self, frequencies: FloatArray) -> FloatArray:
        # Solves (keep - other) w + other sum(w) = q, where sum(w) = sum(q).
        total: FloatArray = frequencies.sum(axis=-1, keepdims=True)
        return (frequencies - self.other * total) / (self.keep - self.other)

    def unpull(self, weights: FloatArray) -> FloatArray:
        return self.unpush(weights)  # the matrix is symmetric

    @property
    def keep_and_other(self) -> tuple[float, float]:
        return self.keep, self.other
