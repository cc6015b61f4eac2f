"""Unary encoding over the bit vectors seen, by their packed bytes.

The bit of the value x is 1 with probability p (*keep*), every other bit with probability q (*flip*). RAPPOR has q = 1 -
p, optimized unary encoding p = 1/2. The probability of a bit vector depends on x only through its bit x (paper, lemma
probrappor, for RAPPOR). So a column of the channel, rescaled, is 1 + lift bit_x with 1 + lift = p (1 - q) / (q (1 -
p)). Sums over the bits of a vector use lookup tables: for each byte position, 256 partial sums made once per product.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from confide.channels.base import UNIT, Channel, FloatArray, Indices
from confide.errors import NotInvertibleError

_BITS_OF_BYTES = ((np.arange(256)[:, None] >> np.arange(8)) & 1).astype(np.float64)
"""Bits of each byte, one row per byte, lowest first."""


@dataclass(frozen=True, eq=False, repr=False)
class BitChannel(Channel):
    """Columns 1 + lift * bit_x, one for each distinct bit vector.

    Parameters
    ----------
    size
        Number of values, hence of bits.
    keep
        P(bit x is 1 | value x), above 0 and below 1.
    flip
        P(bit x is 1 | another value), above 0 and below 1. Fractions keep their digits next to 0 and 1.
    packed
        One row of bytes per vector, lowest bit first.

    >>> packed = np.array([[0b01], [0b11]], dtype=np.uint8)
    >>> BitChannel(2, 0.5, 0.2, packed).dense()
    array([[4., 4.],
           [1., 4.]])
    """

    size: int
    keep: float | Fraction
    flip: float | Fraction
    packed: NDArray[np.uint8]

    entry_error = 0.0  # one number makes the matrix
    _block = 8192  # vectors that are added up at a time: errors grow with the block plus the number of blocks

    @cached_property
    def lift(self) -> float:
        """Odds ratio of a set bit under its own value, minus 1."""
        return float(self.keep * (1 - self.flip) / (self.flip * (1 - self.keep)) - 1)

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, self.packed.shape[0]

    @property
    def bit_vectors(self) -> NDArray[np.uint8] | None:
        return self.packed if self.lift else None

    def unbit(self, frequencies: FloatArray) -> FloatArray:
        """See :meth:`Channel.unbit`; P(bit x) = q + (p - q) theta_x."""
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
        """The same bytes, one contiguous row per byte position."""
        return np.ascontiguousarray(self.packed.T)

    def push(self, distribution: FloatArray) -> FloatArray:
        self.check_length(distribution, 0)
        vectors, length = self.packed.shape
        pushed = []
        for flat in distribution.reshape(-1, self.size):
            padded = np.zeros(8 * length)
            padded[: self.size] = flat
            chosen = np.zeros(vectors)
            for table, column in zip(padded.reshape(-1, 8) @ _BITS_OF_BYTES.T, self._by_position, strict=True):
                chosen += table[column]
            pushed.append(float(flat.sum()) + self.lift * chosen)
        return np.array(pushed).reshape(*distribution.shape[:-1], vectors)

    def pull(self, weights: FloatArray) -> FloatArray:
        self.check_length(weights, 1)
        vectors, length = self.packed.shape
        pulled = []
        for flat in weights.reshape(-1, vectors):
            per_byte = np.zeros((length, 256))
            # Block by block, because a running sum over a million vectors would lose six digits in the worst case.
            for start in range(0, vectors, self._block):
                block = slice(start, start + self._block)
                for place, column in enumerate(self._by_position):
                    per_byte[place] += np.bincount(column[block], flat[block], minlength=256)
            per_bit = (per_byte @ _BITS_OF_BYTES).reshape(-1)[: self.size]
            pulled.append(float(flat.sum()) + self.lift * per_bit)
        return np.array(pulled).reshape(*weights.shape[:-1], self.size)

    def _error(self, side: int, given: FloatArray, product: FloatArray) -> FloatArray:
        vectors, length = self.packed.shape
        # A push has eight terms in a table, then one table after the other; in a pull vectors are added in blocks, then
        # the blocks, then bytes.
        pulled = min(self._block, vectors) + -(-vectors // self._block) + 256 + 24
        terms = 24 + length if side == 0 else pulled
        # As if nothing were subtracted: a lift below zero takes off what is set.
        added: FloatArray = product + 2 * max(-self.lift, 0.0) * given.sum(axis=-1, keepdims=True)
        error: FloatArray = terms * UNIT * added
        return error

    def select(self, values: Indices) -> FloatArray:
        return self.block(values, slice(None))

    def block(self, values: Indices, outputs: Indices | slice) -> FloatArray:
        bytes_ = self._by_position[values // 8][:, outputs]
        # Shifted before it is masked: eight values share a byte, and only these bits are looked at.
        bits = (bytes_ >> (values % 8).astype(np.uint8)[:, None]) & np.uint8(1)
        lifted: FloatArray = 1.0 + self.lift * bits.astype(np.float64)
        return lifted
