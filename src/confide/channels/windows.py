"""The square wave's matrix as a fast channel.

One probability within a window around the value, another elsewhere; products take O(k).

A product is a window sum plus a constant times the total. Window sums use the blocks of van Herk (1992) and of Gil and
Werman (1993): cut the line into blocks as long as the window. Every window is then the end of one block and the
beginning of the next, so one running sum from the left and one from the right suffice. Nothing is subtracted, so
entries of non-negative sums keep their relative accuracy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from confide.channels.base import UNIT, Channel, FloatArray, Indices


def window_sums(vectors: FloatArray, length: int, margin: int = 0) -> FloatArray:
    """Return the sum over each window of `length` entries, last axis.

    Windows may reach so far beyond both ends: not at all, or by all but one entry.

    >>> window_sums(np.array([1.0, 2.0, 4.0, 8.0, 16.0]), 3)
    array([ 7., 14., 28.])
    >>> window_sums(np.array([1.0, 2.0, 4.0]), 2, margin=1)
    array([1., 3., 6., 4.])
    """
    *ahead, size = vectors.shape
    blocks, count = -(-size // length), size + 2 * margin - length + 1
    # Running sums from the left become the answer in place: a new array takes as long as a sum.
    sums = np.zeros((*ahead, max(blocks * length, count)))
    sums[..., :size] = vectors
    heads = sums[..., : blocks * length].reshape(*ahead, blocks, length)
    asked = -(-(count - margin) // length)  # blocks in which a window begins
    tails = np.empty((*ahead, asked, length))
    np.cumsum(heads[..., :asked, ::-1], axis=-1, out=tails[..., ::-1])
    np.cumsum(heads, axis=-1, out=heads)
    tails[..., 0] = 0.0  # a window that is a whole block has it as its head
    found: FloatArray = sums[..., length - 1 - margin :][..., :count]
    found[..., margin:] += tails.reshape(*ahead, -1)[..., : count - margin]
    return found


@dataclass(frozen=True, repr=False)
class SquareWaveChannel(Channel):
    """The matrix with `near` within `width` steps, `far` elsewhere.

    On a line, outputs reach `width` steps beyond both ends, so every window is whole. On a ring, windows wrap.

    >>> SquareWaveChannel(2, 1, near=0.3, far=0.1).dense()
    array([[0.3, 0.3, 0.3, 0.1],
           [0.1, 0.3, 0.3, 0.3]])
    >>> SquareWaveChannel(4, 1, near=0.3, far=0.1, is_ring=True).push(np.array([1.0, 0.0, 0.0, 0.0]))
    array([0.3, 0.3, 0.1, 0.3])
    """

    size: int
    width: int
    near: float
    far: float
    is_ring: bool = False

    entry_error = 0.0  # two numbers make the matrix
    _is_line = True  # a ring is cut between its last value and its first

    @property
    def _rows_are_alike(self) -> bool:  # type: ignore[override]  # only a ring looks the same from every value
        return self.is_ring

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, self.size if self.is_ring else self.size + 2 * self.width

    def times(self, side: int, vectors: FloatArray) -> FloatArray:
        if self.width == 0:
            sums = vectors.copy()
        elif self.is_ring:
            wrapped = np.concatenate([vectors[..., -self.width :], vectors, vectors[..., : self.width]], axis=-1)
            sums = window_sums(wrapped, 2 * self.width + 1)
        else:
            # Outputs reach beyond the values by a width at either end; windows at the outermost ones by two.
            sums = window_sums(vectors, 2 * self.width + 1, 2 * self.width if side == 0 else 0)
        sums *= self.near - self.far  # in place: a new array would take as long as the sums
        sums += self.far * vectors.sum(axis=-1, keepdims=True)
        return sums

    def error(self, side: int, given: FloatArray, product: FloatArray) -> FloatArray:  # noqa: ARG002 (one signature)
        # A window adds at most 2 width + 1 terms; the total is summed in pairs, as for k-RR.
        return (2 * self.width + 28 + self.size.bit_length()) * UNIT * product

    def select(self, values: Indices) -> FloatArray:
        return self.block(values, np.arange(self.shape[1]))

    def block(self, values: Indices, outputs: Indices) -> FloatArray:
        if self.is_ring:
            steps = np.abs(values[:, None] - outputs)
            steps = np.minimum(steps, self.size - steps)
        else:
            steps = np.abs(values[:, None] + self.width - outputs)
        return np.where(steps <= self.width, self.near, self.far)
