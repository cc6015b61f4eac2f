"""The answer: which values are left, of which, and why."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from confide.alphabets import Alphabet, Indices, Values


@dataclass(frozen=True)
class LikelySubset:
    """The values that a maximum of the likelihood can have.

    Attributes
    ----------
    whole
        The alphabet that the mechanism has; it may have no end.
    alphabet
        The part of it that is left, always with an end. It may hold more than it must, so as to keep a simple shape.
    proof
        What rules the other values out, by the paper's label where it is in the paper, such as ``"likelylinear"``,
        ``"likelyplanar"``, ``"likelykrr"`` and ``"unlikely"``; empty where nothing was ruled out.
    reason
        The same in a sentence.
    """

    whole: Alphabet
    alphabet: Alphabet
    proof: str
    reason: str

    @property
    def size(self) -> int:
        """How many values are left."""
        return self.alphabet.size

    @property
    def values(self) -> Values:
        """The values that are left."""
        return self.alphabet.decode(np.arange(self.size))

    @property
    def is_whole(self) -> bool:
        """Whether nothing was ruled out."""
        return self.alphabet == self.whole

    @property
    def places(self) -> Indices:
        """The numbers that the values have in the whole alphabet."""
        return self.whole.encode(self.values)

    def spread(self, distribution: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a distribution over the part as one over the whole, which must have an end: zero elsewhere."""
        full: NDArray[np.float64] = np.zeros(self.whole.size)
        full[self.places] = distribution
        return full

    def explain(self) -> str:
        """Return in two sentences what was looked at and what follows.

        >>> from confide import Geometric, Integers, likely_subset, tally
        >>> likely_subset(Geometric(Integers(), epsilon=1.0), tally([3, 9])).explain().partition(":")[0]
        'Looked for among values 3 to 9, the range of the reports'
        """
        return (
            f"Looked for among {self.reason}. To give any other value of {self.whole!r} a share cannot raise the "
            f"likelihood, so the certificate holds for the whole of it."
        )

    def __len__(self) -> int:
        return self.size
