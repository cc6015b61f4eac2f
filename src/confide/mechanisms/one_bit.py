"""One bit for a mean.

The smallest report there is, and what it can say.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from confide.errors import InvalidParameterError
from confide.evidence.counts import Counts
from confide.mechanisms.base import Facts, Premise, Proof, require_alphabet, require_finite, settle_epsilon
from confide.mechanisms.randomized_response import LocalMechanism
from confide.mechanisms.sampling import Bits, draw_second, log_of, uniform_below
from confide.values import Alphabet, Indices, Integers, LineGeometry
from confide.values.checks import LARGEST_INTEGER


@dataclass(frozen=True, repr=False)
class OneBitMean(LocalMechanism):
    """Report one bit, more often 1 the greater the value.

    P(1 given x) grows linearly from 1 / (e^epsilon + 1) at the lowest value to e^epsilon / (e^epsilon + 1) at the
    highest (Duchi et al., FOCS 2013; Ding et al., NeurIPS 2017). The mean is identifiable, and nothing else is: ask an
    estimate for ``mean()``.

    >>> from confide import Integers
    >>> mechanism = OneBitMean(Integers(0, 4), epsilon=1.0)
    >>> mechanism.channel.dense()[:, 1].round(3)
    array([0.269, 0.384, 0.5  , 0.616, 0.731])
    >>> mechanism.report_alphabet
    Integers(0, 1)
    """

    kind = "one-bit-mean"
    title = "one bit for the mean"
    about = "one bit, more often 1 the greater the value; reveals the mean alone"
    advice = ""
    alphabet: Alphabet
    epsilon: float

    def __post_init__(self) -> None:
        name = type(self).__name__
        require_alphabet("alphabet", self.alphabet)
        if not isinstance(self.alphabet.geometry, LineGeometry):
            raise InvalidParameterError(
                f"{name} needs numbers on a line, which have a mean, such as Integers(0, 99); got {self.alphabet!r}."
            )
        require_finite(self.alphabet, name)
        settle_epsilon(self)
        if self.alphabet.size < 2:
            raise InvalidParameterError(f"{name} needs at least two values; got {self.alphabet!r}.")
        if self._steps > LARGEST_INTEGER:
            raise InvalidParameterError(
                f"The places of {self.alphabet!r} need {self._steps:,} common steps, more than {LARGEST_INTEGER:,}. "
                f"Choose rounder edges."
            )

    @property
    def report_alphabet(self) -> Integers:
        return Integers(0, 1)

    @property
    def facts(self) -> Facts:
        linear = Proof("The mean alone is identifiable: P(1 given x) is linear in the value.", "linear probability")
        both = Proof("Of two values, one bit is randomized response.", "lemma krrLinIndependence")
        is_pair = self.alphabet.size == 2
        return Facts(
            is_positive=True,
            independence=both if is_pair else None,
            dependence=None if is_pair else linear,
            premise=Premise.LINE,
            log_smallest=-log_of(1 + self._ratio),
        )

    def weights(self, index: int) -> list[int]:
        place = int(self._places(np.array([index]))[0])
        likely, unlikely = self._ratio.numerator, self._ratio.denominator
        beyond = self._steps - place
        return [likely * beyond + unlikely * place, unlikely * beyond + likely * place]

    def peaks(self, counts: Counts) -> NDArray[np.float64]:
        """Return the end of the line that makes each bit likeliest."""
        self.refuse_strays(counts)
        low, high = self.alphabet.span
        return np.where(counts.reports == 1, high, low).astype(np.float64)[:, None]

    @cached_property
    def _shares(self) -> list[Fraction] | None:
        """Where each value lies between the ends, 0 to 1.

        `None` if they are evenly spaced.
        """
        positions = self.alphabet.positions
        if positions is None:
            return None
        return [(one - positions[0]) / (positions[-1] - positions[0]) for one in positions]

    @property
    def _steps(self) -> int:
        """Steps from the lowest to the highest value on the coarsest lattice."""
        return self.alphabet.size - 1 if self._shares is None else math.lcm(*(one.denominator for one in self._shares))

    def _places(self, indices: Indices) -> Indices:
        """Return how many of these steps each value lies above the lowest."""
        if self._shares is None:
            return indices
        return np.array([int(one * self._steps) for one in self._shares], dtype=np.int64)[indices]

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        """Round each value to an end, then report that end randomly.

        Rounding leaves the mean as it is. Together both have exactly the weights above.
        """
        is_turned = draw_second(self._ratio.numerator, self._ratio.denominator, indices.size, bits)
        is_high = uniform_below(self._steps, indices.size, bits) < self._places(indices)
        return (is_high ^ is_turned).astype(np.int64)
