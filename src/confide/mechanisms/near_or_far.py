"""Mechanisms with two probabilities.

That of reports near the value, and that of all others.

Near reports are a window of the square wave, or the outputs whose set of values has the true one.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction

import numpy as np

from confide.mechanisms.randomized_response import LocalMechanism
from confide.mechanisms.sampling import Bits, draw_second, log_of, uniform_below
from confide.values import Indices


class NearOrFar(LocalMechanism):
    """Each near report is e^epsilon times as likely as each other one.

    As many reports are near every value, so the promise follows from the two weights alone. A mechanism of this family
    is a frozen dataclass with an `alphabet`, an `epsilon`, a `report_alphabet`, and the two members below.
    """

    @property
    @abstractmethod
    def _reach(self) -> int:
        """Number of reports that are near, the same for every value."""

    @abstractmethod
    def _outputs(self, indices: Indices, numbers: Indices) -> Indices:
        """Return outputs by their numbers seen from a value.

        First those near it, then all others.
        """

    def weights(self, index: int) -> list[int]:
        self.report_alphabet.require_listable()
        row = [self._ratio.denominator] * self.report_alphabet.size
        near = np.arange(self._reach)
        for output in self._outputs(np.full_like(near, index), near).tolist():
            row[output] = self._ratio.numerator
        return row

    @property
    def _others(self) -> int:
        """Number of reports that are not near."""
        return self.report_alphabet.size - self._reach

    @property
    def _total(self) -> Fraction:
        """Sum of a row, if each far report counts 1."""
        return self._reach * self._ratio + self._others

    @property
    def _log_smallest(self) -> float:
        return -log_of(self._total)

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        """Draw from the near reports or from the others.

        Both are drawn for everyone, so that timing does not reveal which one was reported.
        """
        near_weight, far_weight = self._reach * self._ratio.numerator, self._others * self._ratio.denominator
        is_far = draw_second(near_weight, far_weight, indices.size, bits)
        near = uniform_below(self._reach, indices.size, bits)
        far = uniform_below(self._others, indices.size, bits) + self._reach
        return self._outputs(indices, np.where(is_far, far, near))
