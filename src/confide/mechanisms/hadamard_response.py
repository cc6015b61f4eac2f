"""Hadamard response: half of a block of reports supports each value."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from confide.channels.transforms import HadamardChannel, parity
from confide.errors import InvalidParameterError
from confide.mechanisms.base import Facts, Proof, SupportSets, require_finite, settle_epsilon
from confide.mechanisms.near_or_far import NearOrFar
from confide.values import Alphabet, Indices, Integers
from confide.values.checks import check_count, settle

MOST_VALUES = 2**28
"""Values up to which numbers of reports stay below 2^31, for devices with numbers of 32 bits."""


@dataclass(frozen=True, repr=False)
class HadamardResponse(NearOrFar):
    """Report a number that agrees with the value's Hadamard row.

    Reports are whole numbers in `blocks` of equal width. Each value has a row in one block. A report of that block with
    an even number of bits in common with the row is e^epsilon times as likely as any other report (Acharya, Sun and
    Zhang, AISTATS 2019). A report takes log2 of their number bits, and a device next to no memory.

    Parameters
    ----------
    alphabet
        Any values that can be listed.
    epsilon
        The promise, for every two values alike.
    blocks
        Number of blocks, a power of two. Optional. Default: the largest below both e^epsilon and twice the number of
        values, as its authors have it.

    Examples
    --------
    >>> from confide import Categories
    >>> mechanism = HadamardResponse(Categories(["red", "green", "blue"]), epsilon=1.0)
    >>> mechanism.blocks, mechanism.report_alphabet, mechanism.guarantee
    (2, Integers(0, 7), LocalDP(epsilon=1.0))
    """

    kind = "hadamard-response"
    suits = "categories"
    title = "Hadamard response"
    about = "a number whose bits agree with the value's row of a Hadamard matrix, otherwise any other"
    _derived = ("blocks",)
    alphabet: Alphabet
    epsilon: float
    blocks: int | None = None

    def __post_init__(self) -> None:
        name = type(self).__name__
        require_finite(self.alphabet, name)
        settle_epsilon(self)
        size = self.alphabet.size
        if not 2 <= size <= MOST_VALUES:
            raise InvalidParameterError(f"{name} takes 2 to {MOST_VALUES:,} values; got {self.alphabet!r}.")
        if self.blocks is None:
            below, blocks = min(self._ratio, Fraction(2 * size)), 1
            while 2 * blocks < below:
                blocks *= 2
            settle(self, blocks=blocks)
        check_count("blocks", self.blocks, least=1)
        if self._blocks & (self._blocks - 1) or self._blocks >= 2 * size:
            raise InvalidParameterError(
                f"blocks must be a power of two below twice the number of values, {2 * size:,}; got {self.blocks:,}."
            )

    @property
    def _blocks(self) -> int:
        return self.blocks or 1  # settled: never None once the mechanism is made

    @property
    def _width(self) -> int:
        """Reports in a block.

        The smallest power of two whose rows, without the first, suffice.
        """
        per_block = -(-self.alphabet.size // self._blocks)
        return 1 << per_block.bit_length()

    @property
    def _reach(self) -> int:
        return self._width // 2

    @property
    def report_alphabet(self) -> Integers:
        return Integers(0, self._blocks * self._width - 1)

    @property
    def facts(self) -> Facts:
        # If c M = 0, the columns of one block say that a constant, plus the sum of c_x H[x, z] over its rows, is zero.
        # Rows of a Hadamard matrix are orthogonal, also to that of ones, which no value has: so every c_x is zero.
        reason = "Rows of a Hadamard matrix are orthogonal, also to a row of ones."
        return Facts(
            is_positive=True,
            independence=Proof(reason, "orthogonal rows"),
            log_smallest=self._log_smallest,
            supports=self._supports if self.blocks == 1 else None,
        )

    @property
    def _supports(self) -> SupportSets:
        """What values have in common in one block.

        In several, it depends on whether they share one.
        """

        def holds(reports: NDArray[np.int64], values: Indices) -> NDArray[np.bool_]:
            return ~parity((values + 1) & reports)

        keep, both = (part * self._ratio / self._total for part in (self._reach, self._reach // 2))
        return SupportSets(1 / self._ratio, keep, Fraction(1, 2), both, holds)

    @cached_property
    def channel(self) -> HadamardChannel:
        lift, outside = float(self._ratio - 1), float(1 / self._total)
        return HadamardChannel(self.alphabet.size, self._blocks, self._width, lift, outside)

    def _outputs(self, indices: Indices, numbers: Indices) -> Indices:
        # First the value's block by even, then by odd parity with its row; then the blocks after it, and around.
        width, half = self._width, self._reach
        block, row = np.divmod(indices, width - 1)
        row += 1
        # The lowest bit of the row settles the parity; the other bits of the column are those of the number.
        lowest = row & -row
        low_bits = (numbers % half) & (lowest - 1)
        column = 2 * (numbers % half - low_bits) + low_bits
        column += lowest * (parity(column & row) != (numbers >= half))
        beyond, other = np.divmod(numbers, width)
        own_or_other = np.where(beyond == 0, column, other)
        return (block + beyond) % self._blocks * width + own_or_other
