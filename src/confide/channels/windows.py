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


def window_sums(vectors: FloatArray, length: int) -> FloatArray:
    """Return the sum over each window of `length` entries, last axis.

    >>> window_sums(np.array([1.0, 2.0, 4.0, 8.0, 16.0]), 3)
    array([ 7., 14., 28.])
    """
    count = vectors.shape[-1] - length + 1
    padding = -vectors.shape[-1] % length
    padded = np.concatenate([vectors, np.zeros((*vectors.shape[:-1], padding))], axis=-1)
    blocks = padded.reshape(*vectors.shape[:-1], -1, length)
    heads = blocks.cumsum(axis=-1)
    tails = blocks[..., ::-1].cumsum(axis=-1)[..., ::-1]
    tails[..., 0] = 0.0  # a window that is a whole block has it as its head
    flat = padded.shape
    sums: FloatArray = tails.reshape(flat)[..., :count] + heads.reshape(flat)[..., length - 1 : length - 1 + count]
    return sums


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
            sums = vectors
        elif self.is_ring:
            wrapped = np.concatenate([vectors[..., -self.width :], vectors, vectors[..., : self.width]], axis=-1)
            sums = window_sums(wrapped, 2 * self.width + 1)
        else:
            # Outputs reach beyond the values by a width at either end; windows at the outermost ones by two.
            beyond = np.zeros((*vectors.shape[:-1], 2 * self.width if side == 0 else 0))
            sums = window_sums(np.concatenate([beyond, vectors, beyond], axis=-1), 2 * self.width + 1)
        product: FloatArray = (self.near - self.far) * sums + self.far * vectors.sum(axis=-1, keepdims=True)
        return product

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
