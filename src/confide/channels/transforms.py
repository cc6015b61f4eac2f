"""Support sets whose products are fast transforms: Hadamard and circulant.

**Hadamard.** Entry (r, z) of a Hadamard matrix is +1 or -1, by the parity of the number of bits that r and z have in
common. The transform keeps two sums for each output, that over even parity and that over odd parity. So it adds alone:
nothing is subtracted, and every sum of non-negative numbers keeps its relative accuracy, whatever epsilon is.

**Circulant.** If value x supports the outputs x + d modulo the number of outputs, for d in one set of places, sums are
convolutions. The set's indicator less its mean is transformed once. The mean is added apart, which leaves little for
the FFT to round.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from confide.channels.base import UNIT, FloatArray, Indices
from confide.channels.planar import fft_module
from confide.channels.supports import SupportChannel


def parity_sums(vectors: FloatArray) -> FloatArray:
    """Return the sums over even and odd parity, along the first axis.

    Sum z is over the entries r whose number has an even (an odd) number of bits in common with z. Their difference is
    the Walsh-Hadamard transform. The length must be a power of two.

    >>> even, odd = parity_sums(np.array([1.0, 2.0, 4.0, 8.0]))
    >>> even, even - odd
    (array([15.,  5.,  3.,  9.]), array([15., -5., -9.,  3.]))
    """
    size = vectors.shape[-1]
    half = size // 2
    sums = np.stack([vectors, np.zeros_like(vectors)])
    following = np.empty_like(sums)
    # Each round takes in the highest bit of the numbers, and makes it the lowest: after all rounds the order is back.
    for _ in range(size.bit_length() - 1):
        clear, is_set = sums[..., :half], sums[..., half:]
        np.add(clear, is_set, out=following[..., ::2])
        np.add(clear, is_set[::-1], out=following[..., 1::2])
        sums, following = following, sums
    return sums


def parity(numbers: Indices) -> NDArray[np.bool_]:
    """Return whether the number of set bits is odd.

    >>> parity(np.array([0, 1, 3, 7]))
    array([False,  True, False,  True])
    """
    folded = numbers.copy()
    for shift in (32, 16, 8, 4, 2, 1):
        folded ^= folded >> shift
    return (folded & 1).astype(bool)


@dataclass(frozen=True, repr=False)
class HadamardChannel(SupportChannel):
    """Each value supports half of a block, by a Hadamard row.

    Parameters
    ----------
    size
        Number of values. They fill block after block, `width` - 1 in each: row 0 of a Hadamard matrix is all ones.
    blocks
        Number of blocks.
    width
        Outputs in a block: a power of two.
    lift
        How much likelier an output is from a value in its set.
    outside
        P(z | x) for x outside S(z).

    Examples
    --------
    >>> HadamardChannel(3, 1, 4, lift=2.0, outside=0.125).dense()
    array([[0.375, 0.125, 0.375, 0.125],
           [0.375, 0.375, 0.125, 0.125],
           [0.375, 0.125, 0.125, 0.375]])
    """

    size: int
    blocks: int
    width: int
    lift: float
    outside: float = 1.0

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, self.blocks * self.width

    def sums_over_sets(self, distribution: FloatArray) -> FloatArray:
        ahead, per_block = distribution.shape[:-1], self.width - 1
        rows = np.zeros((*ahead, self.blocks, self.width))
        padding = np.zeros((*ahead, self.blocks * per_block - self.size))
        rows[..., 1:] = np.concatenate([distribution, padding], axis=-1).reshape(*ahead, self.blocks, per_block)
        sums: FloatArray = parity_sums(rows)[0].reshape(*ahead, -1)
        return sums

    def sums_over_reports(self, weights: FloatArray) -> FloatArray:
        ahead = weights.shape[:-1]
        rows = parity_sums(weights.reshape(*ahead, self.blocks, self.width))[0, ..., 1:]
        sums: FloatArray = rows.reshape(*ahead, -1)[..., : self.size]
        return sums

    def holds(self, values: Indices, outputs: Indices | slice) -> NDArray[np.bool_]:
        chosen = np.arange(self.shape[1])[outputs] if isinstance(outputs, slice) else outputs
        (block, row), (other, column) = np.divmod(values, self.width - 1), np.divmod(chosen, self.width)
        common = np.bitwise_and(row[:, None] + 1, column)
        found: NDArray[np.bool_] = (block[:, None] == other) & ~parity(common)
        return found

    @property
    def support_rates(self) -> tuple[float, float] | None:
        # In several blocks it depends on whether two values share one.
        return (self.outside * (1 + self.lift) * self.width / 2, 0.5) if self.blocks == 1 else None

    def unbit(self, frequencies: FloatArray) -> FloatArray:
        # Reports of any other value fall into the set exactly half as often as into its block.
        supported = self.sums_over_reports(frequencies)
        own = frequencies.reshape(*frequencies.shape[:-1], self.blocks, self.width).sum(axis=-1)
        chance = np.repeat(own, self.width - 1, axis=-1)[..., : self.size] / 2
        return (supported - chance) / (self.outside * self.lift * self.width / 4)

    def _terms(self, side: int) -> int:  # noqa: ARG002 (the transform is its own transpose)
        # One addition a round; the total is summed in pairs, as for k-RR.
        return 32 + max(self.shape).bit_length()


MOST_SHIFTS = 16
"""Places up to which shifted copies are added: as fast as transforms, and exact."""


@dataclass(frozen=True, eq=False, repr=False)
class CirculantChannel(SupportChannel):
    """Value x supports the outputs x + d, for each place d.

    Parameters
    ----------
    size
        Number of values.
    outputs
        Number of outputs, at least that of values.
    places
        The places d, from 0 up. Every two outputs of the circle are to lie as far apart as equally many pairs of
        places do: a difference set.
    lift
        How much likelier an output is from a value in its set.
    outside
        P(z | x) for x outside S(z).

    Examples
    --------
    >>> CirculantChannel(2, 7, np.array([0, 1, 3]), lift=1.0, outside=0.1).dense()
    array([[0.2, 0.2, 0.1, 0.2, 0.1, 0.1, 0.1],
           [0.1, 0.2, 0.2, 0.1, 0.2, 0.1, 0.1]])
    """

    size: int
    outputs: int
    places: Indices
    lift: float
    outside: float = 1.0

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, self.outputs

    @property
    def keep(self) -> float:  # type: ignore[override]  # follows from the rest
        return self.places.size * self.outside * (1 + self.lift)

    @property
    def flip(self) -> float:  # type: ignore[override]
        # Two sets share so many places, by counting pairs of places.
        shared = self.places.size * (self.places.size - 1) / (self.outputs - 1)
        return self.outside * (self.places.size + self.lift * shared)

    def sums_over_sets(self, distribution: FloatArray) -> FloatArray:
        if self.places.size <= MOST_SHIFTS:
            around = np.zeros((*distribution.shape[:-1], self.outputs))
            around[..., : self.size] = distribution
            return self._shifted(around, -self.places)
        return self._convolved(distribution, self._spectrum, self.outputs)

    def sums_over_reports(self, weights: FloatArray) -> FloatArray:
        if self.places.size <= MOST_SHIFTS:
            return self._shifted(weights, self.places)[..., : self.size]
        return self._convolved(weights, self._spectrum.conj(), self.size)

    def holds(self, values: Indices, outputs: Indices | slice) -> NDArray[np.bool_]:
        chosen = np.arange(self.outputs)[outputs] if isinstance(outputs, slice) else outputs
        found: NDArray[np.bool_] = self.is_place[(chosen - values[:, None]) % self.outputs]
        return found

    @cached_property
    def is_place(self) -> NDArray[np.bool_]:
        """Whether each number is one of the places."""
        is_place = np.zeros(self.outputs, dtype=bool)
        is_place[self.places] = True
        return is_place

    def _shifted(self, around: FloatArray, shifts: Indices) -> FloatArray:
        """Return the sum of copies of a circle, each shifted."""
        total = np.zeros_like(around)
        for shift in shifts.tolist():
            total += np.roll(around, -shift, axis=-1)
        return total

    @cached_property
    def _kernel(self) -> FloatArray:
        """The indicator of the places less its mean, laid around a circle.

        The circle is padded to a length of small primes, so that an FFT is fast whatever the number of outputs.
        """
        differences = np.arange(1 - self.size, self.outputs)
        kernel = np.zeros(fft_module().next_fast_len(differences.size, real=True))
        kernel[differences % kernel.size] = self.is_place[differences % self.outputs] - self._mean
        return kernel

    @property
    def _mean(self) -> float:
        return self.places.size / self.outputs

    @cached_property
    def _spectrum(self) -> NDArray[np.complex128]:
        spectrum: NDArray[np.complex128] = fft_module().rfft(self._kernel)
        return spectrum

    def _convolved(self, vectors: FloatArray, spectrum: NDArray[np.complex128], length: int) -> FloatArray:
        transformed = fft_module().rfft(vectors, self._kernel.size, axis=-1)
        transformed *= spectrum
        sums: FloatArray = fft_module().irfft(transformed, self._kernel.size, axis=-1)[..., :length]
        total = vectors.sum(axis=-1, keepdims=True)
        sums += self._mean * total
        # A sum of non-negative numbers is not below 0; rounding noise may be.
        return sums if vectors.min(initial=0.0) < 0 else np.clip(sums, 0.0, total)

    def _terms(self, side: int) -> int:  # noqa: ARG002 (both sums have the same terms)
        # Shifted copies are added one by one; totals are summed in pairs.
        return min(self.places.size, MOST_SHIFTS) + 32 + self.outputs.bit_length()

    @cached_property
    def _norms(self) -> tuple[float, float, float]:
        """Relative error of a transform, norm of the kernel, largest transformed value."""
        # 8 units per level (Higham, Accuracy and Stability, 2002, theorem 24.2).
        error = 8 * UNIT * math.log2(self._kernel.size)
        return error, float(np.linalg.norm(self._kernel)), float(np.abs(self._spectrum).max())

    def error(self, side: int, given: FloatArray, product: FloatArray) -> FloatArray:
        rounding = super().error(side, given, product)
        if self.places.size <= MOST_SHIFTS:
            return rounding
        # Two transforms with errors in norm carry at most their product of norms into an entry, by Cauchy-Schwarz; the
        # transform back adds its share of the result's norm.
        (error, kernel, highest), norm = self._norms, np.linalg.norm(given, axis=-1, keepdims=True)
        back = np.minimum(highest * norm, kernel * given.sum(axis=-1, keepdims=True))
        bound: FloatArray = rounding + self.outside * self.lift * error * (2 * kernel * norm + back)
        return bound

    def weighted_push_error(self, distribution: FloatArray, pushed: FloatArray, weights: FloatArray) -> float:
        # By Cauchy-Schwarz over all entries at once: errors of a transform are bounded in norm.
        rounding = float(weights @ super().error(0, distribution, pushed))
        if self.places.size <= MOST_SHIFTS:
            return rounding
        error, kernel, highest = self._norms
        spread = 2 * highest * float(np.linalg.norm(distribution)) + kernel * float(distribution.sum())
        return rounding + self.outside * self.lift * error * spread * float(np.linalg.norm(weights))
