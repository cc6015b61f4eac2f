"""Unary encoding over the bit vectors that were seen, through their packed bytes.

The bit of the value x is 1 with probability p, *keep*, and every other bit with probability q, *flip*: RAPPOR, where
q = 1 - p, optimized unary encoding, where p = 1/2, and any other pair. The probability of a bit vector then depends on
x only through its bit x (paper, lemma probrappor, for RAPPOR), so a column of the channel, rescaled, is 1 + lift bit_x
with 1 + lift = p (1 - q) / (q (1 - p)). Sums over the bits of a vector are looked up byte by byte: for each byte
position a table of 256 partial sums, made from the distribution once a product.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from confide.channels.base import UNIT, Channel, FloatArray, Indices
from confide.errors import NotInvertibleError

BLOCK = 8192
"""Vectors that are added up at a time: errors grow with the block plus the number of blocks."""

_BITS_OF_BYTES = ((np.arange(256)[:, None] >> np.arange(8)) & 1).astype(np.float64)
"""Bits of each byte, one row a byte, lowest first."""


@dataclass(frozen=True, eq=False, repr=False)
class BitChannel(Channel):
    """Columns 1 + lift * bit_x, one for each distinct bit vector.

    Parameters
    ----------
    size
        How many values, hence bits, there are.
    keep
        P(bit x is 1 | value x), above 0 and below 1.
    flip
        P(bit x is 1 | another value), above 0 and below 1. As fractions both keep their digits next to 0 and 1.
    packed
        One row of bytes a vector, lowest bit first.

    >>> packed = np.array([[0b01], [0b11]], dtype=np.uint8)
    >>> BitChannel(2, 0.5, 0.2, packed).dense()
    array([[4., 4.],
           [1., 4.]])
    """

    size: int
    keep: float | Fraction
    flip: float | Fraction
    packed: NDArray[np.uint8]

    @cached_property
    def lift(self) -> float:
        """Odds of a set bit for those who have its value, relative to the odds for the others, less 1."""
        return float(self.keep * (1 - self.flip) / (self.flip * (1 - self.keep)) - 1)

    @property
    def shape(self) -> tuple[int, int]:
        """See :attr:`Channel.shape`."""
        return self.size, self.packed.shape[0]

    @property
    def bit_vectors(self) -> NDArray[np.uint8] | None:
        """See :attr:`Channel.bit_vectors`."""
        return self.packed if self.lift else None

    def unbit(self, frequencies: FloatArray) -> FloatArray:
        """See :meth:`Channel.unbit`; a bit is set with probability q + (p - q) theta_x."""
        if not self.lift:
            raise NotInvertibleError(
                f"Bits are set with probability {float(self.keep):g} whatever the value, so they say nothing."
            )
        total: FloatArray = frequencies.sum(axis=-1, keepdims=True)
        ones = (self.pull(frequencies) - total) / self.lift  # pull gives total + lift * frequency of each bit
        shares: FloatArray = (ones - float(self.flip) * total) / float(self.keep - self.flip)
        return shares

    @cached_property
    def _by_position(self) -> NDArray[np.uint8]:
        """The same bytes, one contiguous row a byte position."""
        return np.ascontiguousarray(self.packed.T)

    def push(self, distribution: FloatArray) -> FloatArray:
        """See :meth:`Channel.push`."""
        self.check_length(distribution, 0)
        flat = distribution.reshape(-1, self.size)
        pushed = np.array([self._push_one(vector) for vector in flat])
        return pushed.reshape(*distribution.shape[:-1], self.packed.shape[0])

    def pull(self, weights: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull`."""
        self.check_length(weights, 1)
        flat = weights.reshape(-1, self.packed.shape[0])
        pulled = np.array([self._pull_one(vector) for vector in flat])
        return pulled.reshape(*weights.shape[:-1], self.size)

    @property
    def entry_error(self) -> float:
        """See :attr:`Channel.entry_error`; one number makes the matrix."""
        return 0.0

    def push_error(self, distribution: FloatArray, pushed: FloatArray) -> FloatArray:
        """See :meth:`Channel.push_error`: eight terms in a table, then one table after the other."""
        return self._without_signs(24 + self.packed.shape[1], distribution, pushed)

    def pull_error(self, weights: FloatArray, pulled: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull_error`: vectors are added in blocks, then the blocks, then bytes."""
        blocks = -(-self.packed.shape[0] // BLOCK)
        terms = min(BLOCK, self.packed.shape[0]) + blocks + 256 + 24
        return self._without_signs(terms, weights, pulled)

    def _without_signs(self, terms: int, vectors: FloatArray, products: FloatArray) -> FloatArray:
        """Bound so many roundings as if nothing were subtracted: a lift below zero takes off what is set."""
        added: FloatArray = products + 2 * max(-self.lift, 0.0) * vectors.sum(axis=-1, keepdims=True)
        error: FloatArray = terms * UNIT * added
        return error

    def select(self, values: Indices) -> FloatArray:
        """See :meth:`Channel.select`."""
        return self.block(values, slice(None))

    def block(self, values: Indices, outputs: Indices | slice) -> FloatArray:
        """See :meth:`Channel.block`."""
        bytes_ = self._by_position[values // 8][:, outputs]
        bits = (bytes_ >> (values % 8).astype(np.uint8)[:, None]) & np.uint8(1)
        lifted: FloatArray = 1.0 + self.lift * bits.astype(np.float64)
        return lifted

    def _push_one(self, distribution: FloatArray) -> FloatArray:
        padded = np.zeros(8 * self.packed.shape[1])
        padded[: self.size] = distribution
        tables = padded.reshape(-1, 8) @ _BITS_OF_BYTES.T
        chosen = np.zeros(self.packed.shape[0])
        for table, column in zip(tables, self._by_position, strict=True):
            chosen += table[column]
        return float(distribution.sum()) + self.lift * chosen

    def _pull_one(self, weights: FloatArray) -> FloatArray:
        per_byte = np.zeros((self.packed.shape[1], 256))
        # Block by block, because a running sum over a million vectors would lose six digits in the worst case.
        for start in range(0, weights.size, BLOCK):
            block = slice(start, start + BLOCK)
            for place, column in enumerate(self._by_position):
                per_byte[place] += np.bincount(column[block], weights[block], minlength=256)
        per_bit = (per_byte @ _BITS_OF_BYTES).reshape(-1)[: self.size]
        pulled: FloatArray = float(weights.sum()) + self.lift * per_bit
        return pulled
