"""Two mechanisms side by side, each on its own part of a pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from confide.alphabets import Indices, Pairs
from confide.channels import Kronecker
from confide.guarantees import ProductGuarantee
from confide.mechanisms.base import Mechanism, require_mechanism
from confide.mechanisms.line import require_finite
from confide.sampling import Bits


@dataclass(frozen=True, repr=False)
class Product(Mechanism):
    """Blur the two parts of a pair independently; what each part promises adds up.

    >>> from confide import Categories, Integers, RandomizedResponse, TruncatedGeometric
    >>> age = TruncatedGeometric(Integers(0, 99), epsilon=0.05)
    >>> sex = RandomizedResponse(Categories(["f", "m"]), epsilon=1.0)
    >>> round(Product(age, sex).guarantee.bound((30, "f"), (40, "m")), 6)
    1.5
    """

    kind: ClassVar[str] = "product"
    first: Mechanism
    second: Mechanism

    def __post_init__(self) -> None:
        for name, part in (("first", self.first), ("second", self.second)):
            require_mechanism(name, part)
            require_finite(part.alphabet, "Product")
            require_finite(part.report_alphabet, "Product")

    @cached_property
    def alphabet(self) -> Pairs:  # type: ignore[override]
        """The pairs of values."""
        return Pairs(self.first.alphabet, self.second.alphabet)

    @cached_property
    def report_alphabet(self) -> Pairs:
        """See :attr:`Mechanism.report_alphabet`."""
        return Pairs(self.first.report_alphabet, self.second.report_alphabet)

    @property
    def guarantee(self) -> ProductGuarantee:
        """See :attr:`Mechanism.guarantee`."""
        return ProductGuarantee(self.first.guarantee, self.second.guarantee)

    @cached_property
    def channel(self) -> Kronecker:
        """See :attr:`Mechanism.channel`."""
        return Kronecker(self.first.channel, self.second.channel)

    def weights(self, index: int) -> Sequence[int]:
        """See :meth:`Mechanism.weights`."""
        left, right = divmod(index, self.second.alphabet.size)
        return [one * other for one in self.first.weights(left) for other in self.second.weights(right)]

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        left, right = np.divmod(indices, self.second.alphabet.size)
        return self.first._draw(left, bits) * self.second.report_alphabet.size + self.second._draw(right, bits)
