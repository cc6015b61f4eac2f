"""Reports that support a set of values: subset selection and local hashing.

Every report is e^epsilon times as likely from a value in its set as from a value outside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from confide.channels import BitChannel, Channel, HashChannel
from confide.channels.supports import PRIME, buckets_of, collision_share
from confide.errors import InvalidParameterError, TooLargeError
from confide.evidence.counts import Counts
from confide.evidence.evidence import Evidence
from confide.mechanisms.base import Facts, Proof, SupportSets, require_finite, settle_epsilon
from confide.mechanisms.randomized_response import BY_ITS_BIT, CHUNK, BitReports, LocalMechanism
from confide.mechanisms.sampling import Bits, draw_second, uniform_below
from confide.values import Alphabet, Attributes, BitVectors, Indices, Integers
from confide.values.checks import check_count, settle


@dataclass(frozen=True, repr=False)
class SubsetSelection(BitReports):
    """Report a random set that holds the true value more often.

    Of all sets with `members` values, each with the true value is e^epsilon times as likely as each without it (Ye and
    Barg, IEEE Transactions on Information Theory 2018; Wang et al. 2016). A report has one bit per value, as RAPPOR's.

    Parameters
    ----------
    alphabet
        Any values that can be listed.
    epsilon
        The promise, for every two values alike.
    members
        Values in a set. Optional. Default: the whole number near k / (e^epsilon + 1) with the smallest variance.

    Examples
    --------
    >>> from confide import Categories
    >>> mechanism = SubsetSelection(Categories(["red", "green", "blue", "grey", "pink"]), epsilon=1.0)
    >>> mechanism.members, mechanism.guarantee
    (1, LocalDP(epsilon=1.0))
    >>> reports = mechanism.privatize(["red", "blue"], rng=1)
    >>> mechanism.report_alphabet.unpack(reports).sum(axis=1)
    array([1, 1])
    """

    kind = "subset-selection"
    suits = "categories"
    title = "subset selection"
    about = "a random set of values of one size, more often with the true value in it than without"
    _derived = ("members",)
    alphabet: Alphabet
    epsilon: float
    members: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        size, ratio, most = self.alphabet.size, self._ratio, self.alphabet.size - 1
        if self.members is None:
            # The sum of variances is smallest near this fraction of all values.
            fraction = int(size / (ratio + 1))
            near = {min(max(one, 1), most) for one in (fraction, fraction + 1)}
            best = min(sorted(near), key=lambda members: _total_variance(size, *_chances(size, members, ratio)))
            settle(self, members=best)
            return
        check_count("members", self.members, least=1)
        if self.members > most:
            raise InvalidParameterError(
                f"members must be at most {most:,} of {size:,} values; got {self.members:,}. The set of "
                f"all values tells nothing."
            )

    @property
    def _members(self) -> int:
        return self.members or 1  # settled: never None once the mechanism is made

    @cached_property
    def keep(self) -> Fraction:
        return _chances(self.alphabet.size, self._members, self._ratio)[0]

    @cached_property
    def flip(self) -> Fraction:
        return _chances(self.alphabet.size, self._members, self._ratio)[1]

    @property
    def report_alphabet(self) -> BitVectors:
        return BitVectors(self.alphabet.size, self._members)

    @property
    def facts(self) -> Facts:
        shares = f"{float(self.flip):.4g} + {float(self.keep - self.flip):.4g} theta"
        size, members = self.alphabet.size, self._members
        both = self.keep * (members - 1) / (size - 1)
        # Two of the other members, given a third value in the set or out of it.
        pairs = self.keep * (members - 1) * (members - 2) + (1 - self.keep) * members * (members - 1)
        third = pairs / ((size - 1) * (size - 2)) if size > 2 else None

        def holds(reports: NDArray[np.int64], values: Indices) -> NDArray[np.bool_]:
            word, bit = np.divmod(values, BitVectors.WORD_BITS)
            words = reports.reshape(len(reports), -1)[np.arange(len(reports)), word]
            return (words >> bit & 1).astype(bool)

        return Facts(
            is_positive=True,
            independence=Proof(BY_ITS_BIT.format(shares), "as in proposition strictlyConcaverappor"),
            log_smallest=self._log_outside,
            corollary="corollary consistency1",
            supports=SupportSets(1 / self._ratio, self.keep, self.flip, both, holds, third),
        )

    @cached_property
    def _log_outside(self) -> float:
        """Log-probability of each set without the true value."""
        others, members = self.alphabet.size - 1, self._members
        return -_log(math.comb(others, members - 1) * self._ratio + math.comb(others, members))

    def _log_rest(self, ones: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.full(ones.shape, self._log_outside)

    def _observed(self, packed: NDArray[np.uint8]) -> BitChannel:
        return BitChannel(self.alphabet.size, self.keep, self.flip, packed, float(self._ratio - 1))

    def weights(self, index: int) -> list[int]:
        # For sets few enough to list; vectors with another number of bits are impossible.
        self.report_alphabet.require_listable()
        by_bit = self._ratio.denominator, self._ratio.numerator
        return [
            by_bit[vector >> index & 1] if vector.bit_count() == self._members else 0
            for vector in range(self.report_alphabet.size)
        ]

    def _report(self, indices: Indices, bits: Bits) -> NDArray[np.int64]:
        return np.concatenate([self._sets(indices[rows], bits) for rows in self._slices(indices.size)])

    def _sets(self, indices: Indices, bits: Bits) -> NDArray[np.int64]:
        """Draw a set of other values for everyone.

        Those who report their own replace one member by it.

        Both are drawn for everyone, so that timing does not reveal which one was reported.
        """
        rows, others = np.arange(indices.size), self.alphabet.size - 1
        # Weights of all sets with the true value, and of all without.
        inside, outside = self._members * self._ratio.numerator, self.alphabet.size - self._members
        is_without = draw_second(inside, outside * self._ratio.denominator, indices.size, bits)
        # Floyd's sample without replacement: the number drawn, or the last one if it has been drawn already.
        chosen = np.zeros((indices.size, others), dtype=bool)
        for last in range(others - self._members, others):
            drawn = uniform_below(last + 1, indices.size, bits)
            chosen[rows, np.where(chosen[rows, drawn], last, drawn)] = True
        place = uniform_below(self._members, indices.size, bits)
        members = np.nonzero(chosen)[1].reshape(-1, self._members)
        vectors = np.zeros((indices.size, others + 1), dtype=bool)
        members += members >= indices[:, None]  # the others are all values but the true one
        replaced = members[rows, place]
        members[rows, place] = np.where(is_without, replaced, indices)
        vectors[rows[:, None], members] = True
        return self.report_alphabet.pack(vectors)


MOST_SEEDS = PRIME * (PRIME - 1)
"""Number of hashes: of multipliers but 0, times shifts."""


MOST_BUCKETS = 1024
"""Most buckets of a hash: with more, a seed and its bucket would not fit a 64-bit number."""


@dataclass(frozen=True, repr=False)
class LocalHashing(LocalMechanism):
    """Report a random hash function, and a bucket, often the value's.

    A seed numbers the hash; see docs/device.md. The value's own bucket is e^epsilon times as likely as each other (Wang
    et al., USENIX Security 2017, OLH). A report is a seed and a bucket, a few bytes whatever the number of values.

    Parameters
    ----------
    alphabet
        Any values that can be listed.
    epsilon
        The promise, for every two values alike.
    buckets
        Buckets of a hash. Optional. Default: the whole number near e^epsilon + 1 with the smallest variance.
    seeds
        Number of different hashes that people draw from. Optional. Default: about 2^52, so that hardly two people share
        one. A pool of, say, 1,000 makes estimates quick whatever the number of people.

    Examples
    --------
    >>> from confide import Categories
    >>> mechanism = LocalHashing(Categories([f"city {number}" for number in range(1000)]), epsilon=1.0, seeds=500)
    >>> mechanism.report_alphabet
    Attributes(seed=Integers(0, 499), bucket=Integers(0, 3))
    >>> mechanism.privatize("city 7", rng=1)
    (336, 2)
    """

    kind = "local-hashing"
    suits = "categories"
    title = "local hashing"
    about = "a random hash of the value, scrambled by randomized response"
    _derived = ("buckets",)
    alphabet: Alphabet
    epsilon: float
    buckets: int | None = None
    seeds: int | None = None

    def __post_init__(self) -> None:
        # Most seeds of a pool; with more, free seeds serve as well.
        most_pooled = 2**20
        name = type(self).__name__
        require_finite(self.alphabet, name)
        settle_epsilon(self)
        size = self.alphabet.size
        if size < 2:
            raise InvalidParameterError(f"{name} needs at least two values; got {self.alphabet!r}.")
        if size > PRIME:
            raise TooLargeError(f"{name} hashes at most {PRIME:,} values; got {size:,}. Use fewer or coarser values.")
        if self.buckets is None:
            # The sum of variances is smallest near e^epsilon + 1.
            fraction = int(min(self._ratio, Fraction(MOST_BUCKETS))) + 1
            near = sorted({min(max(one, 2), MOST_BUCKETS) for one in (fraction, fraction + 1)})
            settle(self, buckets=min(near, key=lambda one: _total_variance(size, *self._chances(one))))
        check_count("buckets", self.buckets, least=2)
        if self._buckets > MOST_BUCKETS:
            raise InvalidParameterError(f"buckets must be at most {MOST_BUCKETS:,}; got {self.buckets:,}.")
        if self.seeds is not None:
            check_count("seeds", self.seeds, least=2)
            if self.seeds > most_pooled:
                raise InvalidParameterError(
                    f"A pool has at most {most_pooled:,} seeds; got {self.seeds:,}. Leave seeds out for a fresh one "
                    f"for each person."
                )

    @property
    def _buckets(self) -> int:
        return self.buckets or 2  # settled: never None once the mechanism is made

    def _chances(self, buckets: int) -> tuple[Fraction, Fraction]:
        """Return P(x in the set), given x and given another value."""
        keep, shared = self._ratio / (self._ratio + buckets - 1), collision_share(buckets)
        return keep, shared * keep + (1 - shared) * (1 - keep) / (buckets - 1)

    @property
    def _total(self) -> Fraction:
        """Sum of a row, if each report outside the set counts 1."""
        return self._numbers * (self._ratio + self._buckets - 1)

    @property
    def _numbers(self) -> int:
        """Number of seeds."""
        return self.seeds or MOST_SEEDS

    @property
    def report_alphabet(self) -> Attributes:
        return Attributes(seed=Integers(0, self._numbers - 1), bucket=Integers(0, self._buckets - 1))

    @property
    def has_channel(self) -> bool:
        return self.seeds is not None and super().has_channel

    @property
    def facts(self) -> Facts:
        keep, flip = self._chances(self._buckets)
        free, most, independence, dependence = self.seeds is None, self._numbers * (self._buckets - 1) + 1, None, None
        if free:
            # M M' has one number on its diagonal and one smaller number elsewhere: it is positive definite.
            reason = "Every two values share a bucket under the same share of all hashes, which is below 1."
            independence = Proof(reason, "affine hashing modulo a prime")
        elif most < self.alphabet.size:
            reason = (
                f"Each of {self.seeds:,} seeds adds at most {self._buckets - 1:,} independent columns, in all "
                f"{most:,} of the {self.alphabet.size:,} that are needed. More seeds or free seeds identify everything."
            )
            dependence = Proof(reason, "theorem identification")
        both = collision_share(self._buckets) * keep
        supports = SupportSets(1 / self._ratio, keep, flip, both, self._holds, is_even=free)
        return Facts(
            is_positive=True,
            independence=independence,
            dependence=dependence,
            log_smallest=-_log(self._total),
            corollary="corollary consistency1",
            supports=supports,
        )

    def _hash(self, values: Indices, seeds: Indices) -> Indices:
        """Return the bucket of each value under each seed."""
        numbers = seeds if self.seeds is None else self._pool[seeds]
        return buckets_of(values, numbers // PRIME + 1, numbers % PRIME, self._buckets)

    def _holds(self, reports: NDArray[np.int64], values: Indices) -> NDArray[np.bool_]:
        """Return whether each report supports the value."""
        found: NDArray[np.bool_] = self._hash(values, reports[:, 0]) == reports[:, 1]
        return found

    @cached_property
    def _pool(self) -> NDArray[np.int64]:
        """Numbers of the hashes of a pool."""
        return hash_numbers(self._numbers)

    @cached_property
    def channel(self) -> Channel:
        """P(report | value), with a pool of seeds.

        Raises
        ------
        InvalidParameterError
            If seeds are free: use :meth:`observe`, which hashes all values under the seeds seen.
        """
        if not self.has_channel:
            raise self._no_matrix()
        keep, outside = self._chances(self._buckets)[0], float(1 / self._total)
        multipliers, shifts = self._pool // PRIME + 1, self._pool % PRIME
        return HashChannel(
            self.alphabet.size, multipliers, shifts, self._buckets, keep, float(self._ratio - 1), outside
        )

    def observe(self, counts: Counts) -> Evidence:
        if self.has_channel:
            return super().observe(counts)
        # Free seeds: the set of each report seen, as bits. Columns are 1 + (e^epsilon - 1) bit_x.
        self.refuse_strays(counts)
        size, reports = self.alphabet.size, counts.reports.reshape(-1, 2)
        if size * len(reports) > 2**33:  # as many bits are a gigabyte
            raise TooLargeError(
                f"{len(reports):,} reports with seeds of their own times {size:,} values do not fit. Declare a pool, "
                f"such as seeds = 1000, before people are asked: then the number of people does not matter."
            )
        step, values = max(1, CHUNK // size), np.arange(size)
        packed = []
        for start in range(0, len(reports), step):
            seeds, buckets = reports[start : start + step].T
            holds = self._hash(values, seeds[:, None]) == buckets[:, None]
            packed.append(np.packbits(holds, axis=1, bitorder="little"))
        keep, flip = self._chances(self._buckets)
        channel = BitChannel(size, keep, flip, np.concatenate(packed), float(self._ratio - 1))
        return Evidence(channel, counts.counts, -counts.total * _log(self._total))

    def weights(self, index: int) -> list[int]:
        if not self.has_channel:
            raise self._no_matrix()
        inside, outside = self._ratio.numerator, self._ratio.denominator
        row = [outside] * (self._numbers * self._buckets)
        seeds = np.arange(self._numbers)
        for output in (seeds * self._buckets + self._hash(np.array(index), seeds)).tolist():
            row[output] = inside
        return row

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        """Draw a seed, and the value's bucket or another.

        Another bucket is drawn for everyone, so that timing does not reveal which one was reported.
        """
        others = (self._buckets - 1) * self._ratio.denominator
        is_other = draw_second(self._ratio.numerator, others, indices.size, bits)
        seeds = uniform_below(self._numbers, indices.size, bits)
        steps = uniform_below(self._buckets - 1, indices.size, bits) + 1
        buckets = (self._hash(indices, seeds) + np.where(is_other, steps, 0)) % self._buckets
        return seeds * self._buckets + buckets


def hash_numbers(count: int) -> NDArray[np.int64]:
    """Return the number of the hash of each seed of a pool.

    Those of SplitMix64 from state 0, modulo `MOST_SEEDS`.

    Steele, Lea and Flood, 2014.

    >>> hash_numbers(2).tolist()
    [187635630613939, 2427285025625826]
    """
    numbers = (np.arange(count, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ numbers >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ numbers >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return ((numbers ^ numbers >> np.uint64(31)) % np.uint64(MOST_SEEDS)).astype(np.int64)


def _log(number: Fraction) -> float:
    """Return the logarithm of a fraction of any size."""
    return math.log(number.numerator) - math.log(number.denominator)


def _chances(size: int, members: int, ratio: Fraction) -> tuple[Fraction, Fraction]:
    """Return P(x in the set), given x and given another value.

    >>> _chances(3, 1, Fraction(2))
    (Fraction(1, 2), Fraction(1, 4))
    """
    keep = members * ratio / (members * ratio + size - members)
    return keep, (members - keep) / (size - 1)  # the set has `members` values, whatever the true one


def _total_variance(size: int, keep: Fraction, flip: Fraction) -> Fraction:
    """Return the variances of all shares per report, summed; less a constant.

    A share is estimated by (frequency - flip) / (keep - flip).
    """
    return (keep * (1 - keep) + (size - 1) * flip * (1 - flip)) / (keep - flip) ** 2
