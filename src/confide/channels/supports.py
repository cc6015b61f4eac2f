"""Reports that support a set of values: one channel for a family of protocols.

P(z | x) is proportional to 1 + lift [x in S(z)], with lift = e^epsilon - 1 for all but RAPPOR and its kin. So a product
needs two sums alone: of a distribution over the set of each report, and of weights over the reports whose set has a
value. A family brings these two, and everything else follows.

| family | S(z) | the two sums |
| --- | --- | --- |
| unary encoding, subset selection | the bits that are set | bytes, by lookup |
| local hashing | the values with the reported hash | buckets of every seed |

**Unary encoding.** The bit of the value x is 1 with probability p (*keep*), every other bit with probability q
(*flip*). RAPPOR has q = 1 - p, optimized unary encoding p = 1/2. The probability of a bit vector depends on x only
through its bit x (paper, lemma probrappor, for RAPPOR). So a column of the channel, rescaled, is 1 + lift bit_x with 1
+ lift = p (1 - q) / (q (1 - p)).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from confide.channels.base import UNIT, Channel, FloatArray, Indices
from confide.errors import NotInvertibleError
from confide.values.checks import settle


class SupportChannel(Channel):
    """Columns outside * (1 + lift [x in S(z)]), one for each output z.

    A family is a frozen dataclass with `shape`, the four numbers below, `sums_over_sets`, `sums_over_reports` and
    `holds`. It overrides `_error` if its sums are not plain additions, such as those of a Fourier transform.

    Attributes
    ----------
    lift
        How much likelier an output is from a value in its set: e^epsilon - 1.
    outside
        P(z | x) for x outside S(z); 1 if columns are rescaled, as those of reports seen are.
    keep
        P(x in S(z) | x), of a value itself. Fractions keep their digits next to 0 and 1.
    flip
        P(x in S(z) | another value).
    """

    lift: float
    outside: float = 1.0
    keep: float | Fraction
    flip: float | Fraction

    entry_error = 0.0  # two numbers make the matrix

    @abstractmethod
    def sums_over_sets(self, distribution: FloatArray) -> FloatArray:
        """Return for each output z the sum of the entries of S(z)."""

    @abstractmethod
    def sums_over_reports(self, weights: FloatArray) -> FloatArray:
        """Return for each value x the sum over the outputs z with x in S(z)."""

    @abstractmethod
    def holds(self, values: Indices, outputs: Indices | slice) -> NDArray[np.bool_]:
        """Return whether x is in S(z), one row per value."""

    @abstractmethod
    def _terms(self, side: int) -> int:
        """Return how many roundings the two sums add up at most, in units of their result."""

    def push(self, distribution: FloatArray) -> FloatArray:
        self.check_length(distribution, 0)
        return self._product(distribution, self.sums_over_sets(distribution))

    def pull(self, weights: FloatArray) -> FloatArray:
        self.check_length(weights, 1)
        return self._product(weights, self.sums_over_reports(weights))

    def _product(self, given: FloatArray, sums: FloatArray) -> FloatArray:
        product: FloatArray = self.outside * (given.sum(axis=-1, keepdims=True) + self.lift * sums)
        return product

    def _error(self, side: int, given: FloatArray, product: FloatArray) -> FloatArray:
        # As if nothing were subtracted: a lift below zero takes off what is in the set.
        taken = 2 * max(-self.lift, 0.0) * self.outside
        added: FloatArray = product + taken * given.sum(axis=-1, keepdims=True)
        return self._terms(side) * UNIT * added

    def unpush(self, frequencies: FloatArray) -> FloatArray:
        """Return the unbiased estimate from how often each value was supported.

        If more outputs are possible than values, many w have w M = frequencies on average; this one is the field's.
        """
        return self.unbit(frequencies)

    def unbit(self, frequencies: FloatArray) -> FloatArray:
        # P(x in S(z)) = q + (p - q) theta_x.
        if not self.lift:
            raise NotInvertibleError(
                f"Bits are set with probability {float(self.keep):g} whatever the value, so they say nothing."
            )
        supported = self.sums_over_reports(frequencies)
        total: FloatArray = frequencies.sum(axis=-1, keepdims=True)
        return (supported - float(self.flip) * total) / float(self.keep - self.flip)

    @property
    def squares(self) -> Callable[[FloatArray], FloatArray]:
        # Squared entries are two numbers too: 1 and (1 + lift)^2, times outside^2.
        more = self.lift * (self.lift + 2)
        return lambda weights: (
            self.outside**2 * (weights.sum(axis=-1, keepdims=True) + more * self.sums_over_reports(weights))
        )

    def select(self, values: Indices) -> FloatArray:
        return self.block(values, slice(None))

    def block(self, values: Indices, outputs: Indices | slice) -> FloatArray:
        return np.where(self.holds(values, outputs), self.outside * (1.0 + self.lift), self.outside)


_BITS_OF_BYTES = ((np.arange(256)[:, None] >> np.arange(8)) & 1).astype(np.float64)
"""Bits of each byte, one row per byte, lowest first."""


@dataclass(frozen=True, eq=False, repr=False)
class BitChannel(SupportChannel):
    """Columns 1 + lift * bit_x, one for each distinct bit vector.

    Sums over the bits of a vector use lookup tables: for each byte position, 256 partial sums made once per product.

    Parameters
    ----------
    size
        Number of values, hence of bits.
    keep
        P(bit x is 1 | value x), above 0 and below 1.
    flip
        P(bit x is 1 | another value), above 0 and below 1.
    packed
        One row of bytes per vector, lowest bit first.
    lift
        How much likelier a set bit makes a vector under its own value. Optional. Default: that of independent bits.

    >>> packed = np.array([[0b01], [0b11]], dtype=np.uint8)
    >>> BitChannel(2, 0.5, 0.2, packed).dense()
    array([[4., 4.],
           [1., 4.]])
    """

    size: int
    keep: float | Fraction
    flip: float | Fraction
    packed: NDArray[np.uint8]
    lift: float = None  # type: ignore[assignment]  # settled below

    _block = 8192  # vectors that are added up at a time: errors grow with the block plus the number of blocks

    def __post_init__(self) -> None:
        if self.lift is None:
            settle(self, lift=float(self.keep * (1 - self.flip) / (self.flip * (1 - self.keep)) - 1))

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, self.packed.shape[0]

    @property
    def bit_vectors(self) -> NDArray[np.uint8] | None:
        return self.packed if self.lift else None

    @cached_property
    def _by_position(self) -> NDArray[np.uint8]:
        """The same bytes, one contiguous row per byte position."""
        return np.ascontiguousarray(self.packed.T)

    def sums_over_sets(self, distribution: FloatArray) -> FloatArray:
        vectors, length = self.packed.shape
        sums = []
        for flat in distribution.reshape(-1, self.size):
            padded = np.zeros(8 * length)
            padded[: self.size] = flat
            chosen = np.zeros(vectors)
            for table, column in zip(padded.reshape(-1, 8) @ _BITS_OF_BYTES.T, self._by_position, strict=True):
                chosen += table[column]
            sums.append(chosen)
        return np.array(sums).reshape(*distribution.shape[:-1], vectors)

    def sums_over_reports(self, weights: FloatArray) -> FloatArray:
        vectors, length = self.packed.shape
        sums = []
        for flat in weights.reshape(-1, vectors):
            per_byte = np.zeros((length, 256))
            # Block by block, because a running sum over a million vectors would lose six digits in the worst case.
            for start in range(0, vectors, self._block):
                block = slice(start, start + self._block)
                for place, column in enumerate(self._by_position):
                    per_byte[place] += np.bincount(column[block], flat[block], minlength=256)
            sums.append((per_byte @ _BITS_OF_BYTES).reshape(-1)[: self.size])
        return np.array(sums).reshape(*weights.shape[:-1], self.size)

    def holds(self, values: Indices, outputs: Indices | slice) -> NDArray[np.bool_]:
        bytes_ = self._by_position[values // 8][:, outputs]
        # Shifted before it is masked: eight values share a byte, and only these bits are looked at.
        return ((bytes_ >> (values % 8).astype(np.uint8)[:, None]) & np.uint8(1)).astype(bool)

    def _terms(self, side: int) -> int:
        # A push has eight terms in a table, then one table after the other; in a pull vectors are added in blocks, then
        # the blocks, then bytes.
        vectors, length = map(int, self.packed.shape)
        pulled = min(self._block, vectors) + -(-vectors // self._block) + 256 + 24
        return 24 + length if side == 0 else pulled
