"""Reports that support a set of values.

One channel for a family of protocols.

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
    """Columns outside * (1 + lift [x in S(z)]), one an output.

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
        """Return the sum over the outputs that support each value."""

    @abstractmethod
    def holds(self, values: Indices, outputs: Indices | slice) -> NDArray[np.bool_]:
        """Return whether x is in S(z), one row per value."""

    @abstractmethod
    def _terms(self, side: int) -> int:
        """Return how many roundings the two sums add up at most."""

    def times(self, side: int, vectors: FloatArray) -> FloatArray:
        sums = self.sums_over_sets(vectors) if side == 0 else self.sums_over_reports(vectors)
        product: FloatArray = self.outside * (vectors.sum(axis=-1, keepdims=True) + self.lift * sums)
        return product

    def error(self, side: int, given: FloatArray, product: FloatArray) -> FloatArray:
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
    def support_rates(self) -> tuple[float, float] | None:
        return float(self.keep), float(self.flip)

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

    Examples
    --------
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


PRIME = 2**26 - 5
"""The largest prime below 2^26. Products of two numbers below it, plus a third, fit the integers of float64."""


def buckets_of(values: Indices, multipliers: Indices, shifts: Indices, buckets: int) -> Indices:
    """Return the bucket of each value number.

    ((multiplier * x + shift) mod PRIME) mod buckets.

    Over all multipliers but 0 and all shifts, any two values land in any two different places equally often, so every
    two values share a bucket under the same number of hashes (Carter and Wegman, 1979).

    >>> buckets_of(np.arange(5), np.array([3]), np.array([1]), 4)
    array([1, 0, 3, 2, 1])
    """
    hashed: Indices = (multipliers * values + shifts) % PRIME % buckets
    return hashed


def collision_share(buckets: int) -> Fraction:
    """Return the share of hashes under which two values share a bucket.

    >>> float(collision_share(8)) < 1 / 8
    True
    """
    longer, rest = divmod(PRIME, buckets)  # so many residues more in a bucket, and in how many buckets one more
    same = rest * (longer + 1) * longer + (buckets - rest) * longer * (longer - 1)
    return Fraction(same, PRIME * (PRIME - 1))


@dataclass(frozen=True, eq=False, repr=False)
class HashChannel(SupportChannel):
    """The matrix of local hashing with a pool of seeds.

    Output seed * buckets + bucket.

    Several seeds are looked up together: a value has one code for the buckets that all of them give it. So a product
    takes one addition for each value and each few seeds.

    Parameters
    ----------
    size
        Number of values.
    multipliers, shifts
        The hash of each seed; see :func:`buckets_of`.
    buckets
        Number of buckets of a hash.
    keep, lift, outside
        See :class:`SupportChannel`.

    Examples
    --------
    >>> channel = HashChannel(3, np.array([1, 2]), np.array([0, 1]), 2, Fraction(3, 4), 2.0, 0.125)
    >>> channel.dense()
    array([[0.375, 0.125, 0.125, 0.375],
           [0.125, 0.375, 0.125, 0.375],
           [0.375, 0.125, 0.125, 0.375]])
    """

    size: int
    multipliers: Indices
    shifts: Indices
    buckets: int
    keep: Fraction
    lift: float
    outside: float

    @property
    def flip(self) -> Fraction:  # type: ignore[override]  # over the choice of the seeds
        shared = collision_share(self.buckets)
        return shared * self.keep + (1 - shared) * (1 - self.keep) / (self.buckets - 1)

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, self.multipliers.size * self.buckets

    @cached_property
    def _together(self) -> int:
        """Number of seeds that share a code."""
        # At most 4,096 cells: their sums fit the processor's cache.
        return max(1, int(np.log(4096) / np.log(self.buckets) + 1e-9))

    @cached_property
    def _codes(self) -> NDArray[np.uint16]:
        """Code of every value, one row per group of seeds.

        Its buckets as digits, the first seed's highest.
        """
        groups = -(-self.multipliers.size // self._together)
        codes = np.zeros((groups, self.size), dtype=np.uint16)
        values = np.arange(self.size)
        for number in range(groups * self._together):
            group = codes[number // self._together]
            group *= np.uint16(self.buckets)
            if number < self.multipliers.size:  # the last group may have fewer seeds; their digit stays 0
                own = buckets_of(values, self.multipliers[number], self.shifts[number], self.buckets)
                group += own.astype(np.uint16)
        return codes

    def sums_over_sets(self, distribution: FloatArray) -> FloatArray:
        cells = self.buckets**self._together
        sums = []
        for flat in distribution.reshape(-1, self.size):
            by_code = np.array([np.bincount(group, flat, minlength=cells) for group in self._codes])
            rest, each = by_code.reshape(-1, *(self.buckets,) * self._together), []
            for _ in range(self._together):
                # Sum all digits but the first, halving the table each time; then drop the first.
                each.append(rest.reshape(rest.shape[0], self.buckets, -1).sum(axis=2))
                rest = rest.sum(axis=1)
            sums.append(np.stack(each, axis=1).reshape(-1)[: self.shape[1]])
        return np.array(sums).reshape(*distribution.shape[:-1], self.shape[1])

    def sums_over_reports(self, weights: FloatArray) -> FloatArray:
        sums = []
        for flat in weights.reshape(-1, self.shape[1]):
            padded = np.zeros(self._codes.shape[0] * self._together * self.buckets)
            padded[: flat.size] = flat
            total = np.zeros(self.size)
            for digits, group in zip(padded.reshape(-1, self._together, self.buckets), self._codes, strict=True):
                table = digits[0]
                for digit in digits[1:]:
                    table = (table[:, None] + digit).reshape(-1)
                total += table[group]
            sums.append(total)
        return np.array(sums).reshape(*weights.shape[:-1], self.size)

    def gram(self, values: Indices, weights: FloatArray) -> FloatArray | None:
        # Two values have as many terms in common as hashes that put them into one bucket: 1 in `buckets`. A sparse term
        # takes a hundred times as long as one of whole rows, of which there are `buckets` for each seed.
        if self.buckets**2 < 100:
            return None
        from scipy.sparse import csr_array

        seeds, own = np.arange(self.multipliers.size), np.empty((values.size, self.multipliers.size), dtype=np.int64)
        for row, value in enumerate(values):
            own[row] = buckets_of(value, self.multipliers, self.shifts, self.buckets) + seeds * self.buckets
        roots = np.sqrt(weights)[own]
        starts = np.arange(values.size + 1) * seeds.size
        table = csr_array((roots.reshape(-1), own.reshape(-1), starts), shape=(values.size, self.shape[1]))
        both: FloatArray = self.lift**2 * (table @ table.T).toarray()
        once = self.lift * (roots * roots).sum(axis=1)
        products: FloatArray = self.outside**2 * (float(weights.sum()) + once[:, None] + once + both)
        return products

    def holds(self, values: Indices, outputs: Indices | slice) -> NDArray[np.bool_]:
        wanted = np.arange(self.shape[1])[outputs]
        seeds, own = np.divmod(wanted, self.buckets)
        found: NDArray[np.bool_] = (
            buckets_of(values[:, None], self.multipliers[seeds], self.shifts[seeds], self.buckets) == own
        )
        return found

    def _terms(self, side: int) -> int:
        # A push adds the values of a code, then one digit of the codes after the other; a pull adds the digits of a
        # code, then groups. 40 is for numpy's sums in pairs of pairs: of everything, and of all digits but one.
        if side == 0:
            most_alike = int(max(np.bincount(group).max() for group in self._codes))
            return most_alike + self._together * self.buckets + 40
        return self._together + len(self._codes) + 40
