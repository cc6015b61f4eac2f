"""The square wave: local differential privacy for values in order.

Near values get near reports, as with metric noise, but the promise is one epsilon for every two values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from confide.channels.windows import SquareWaveChannel
from confide.errors import InvalidParameterError
from confide.evidence.counts import Counts
from confide.mechanisms.base import Facts, Premise, Proof, require_alphabet, require_finite, settle_epsilon
from confide.mechanisms.randomized_response import LocalMechanism
from confide.mechanisms.sampling import Bits, WeightRows, log_of, ratio_above, uniform_below
from confide.values import Alphabet, Indices, LineGeometry, RingGeometry
from confide.values.checks import check_count, settle


@dataclass(frozen=True, repr=False)
class SquareWave(LocalMechanism):
    """Report a value near the true one, or, less likely, any other.

    Each report within `width` steps of the value is e^epsilon times as likely as each report farther away (Li et al.,
    SIGMOD 2020). On a line, reports reach `width` steps beyond both ends; on a circle they wrap around.

    Parameters
    ----------
    alphabet
        Values in order: whole numbers, bins, a scale, dates, or a circle such as hours.
    epsilon
        The promise, for every two values alike.
    width
        Steps to each side that count as near. Optional. Default: the width of Li et al., which makes the most of a
        report's information; on a circle, the next narrower one that keeps the distribution identifiable.

    Examples
    --------
    >>> from confide import Integers
    >>> mechanism = SquareWave(Integers(0, 99, unit="year"), epsilon=1.0)
    >>> mechanism.width, mechanism.report_alphabet
    (25, Integers(-25, 124, unit='year'))
    >>> mechanism.guarantee
    LocalDP(epsilon=1.0)
    """

    kind = "square-wave"
    title = "the square wave"
    about = "reports a value near the true one with high probability, otherwise any other"
    advice = ""
    alphabet: Alphabet
    epsilon: float
    width: int | None = None

    def __post_init__(self) -> None:
        name = type(self).__name__
        require_alphabet("alphabet", self.alphabet)
        if not isinstance(self.alphabet.geometry, LineGeometry | RingGeometry):
            raise InvalidParameterError(
                f"{name} needs values in order, such as Integers(0, 99) or Hours(); got {self.alphabet!r}. For words "
                f"use RandomizedResponse or OptimizedUnary."
            )
        require_finite(self.alphabet, name)
        settle_epsilon(self)
        size = self.alphabet.size
        if size < 2:
            raise InvalidParameterError(f"{name} needs at least two values; got {self.alphabet!r}.")
        if self.width is None:
            settle(self, width=_widest(size, self.epsilon, is_ring=self._is_ring))
            return
        most = (size - 2) // 2 if self._is_ring else size - 1
        check_count("width", self.width, least=0)
        if self.width > most:
            raise InvalidParameterError(
                f"width must be at most {most} steps for {size} values; got {self.width}. A wider window tells nothing."
            )

    @property
    def _is_ring(self) -> bool:
        return isinstance(self.alphabet.geometry, RingGeometry)

    @property
    def _reach(self) -> int:
        """Reports within the window: the value's own and `width` to each side."""
        return 2 * self._width + 1

    @property
    def _width(self) -> int:
        return self.width or 0  # settled: never None once the mechanism is made

    @property
    def report_alphabet(self) -> Alphabet:
        if self._is_ring:
            return self.alphabet
        low, high = self.alphabet.span
        return self.alphabet.between(low - self._width, high + self._width)

    @property
    def facts(self) -> Facts:
        if not self._is_ring:
            # If c M = 0, neighbouring columns differ by the entries of c that enter and leave the window. So c repeats
            # with the window's length, is zero in between, and its first entry is -far / (near - far) times its sum:
            # a number with the opposite sign of the sum of its own copies, hence zero.
            reason = "Differences of neighbouring columns leave no other distribution with the same reports."
            independence = Proof(reason, "windows that enter one value at a time")
        elif math.gcd(self._reach, self.alphabet.size) == 1:
            # Eigenvalue j of a window on a ring is sin(pi j w / k) / sin(pi j / k): zero only if k divides j w.
            reason = f"A window of {self._reach} values has no zero in its Fourier transform on {self.alphabet.size}."
            independence = Proof(reason, "Dirichlet kernel")
        else:
            independence = None
        return Facts(
            is_positive=True,
            independence=independence,
            premise=Premise.NOTHING if self._is_ring else Premise.LINE,
            log_smallest=-log_of(self._total),
        )

    @cached_property
    def channel(self) -> SquareWaveChannel:
        near, far = float(self._ratio / self._total), float(1 / self._total)
        return SquareWaveChannel(self.alphabet.size, self._width, near, far, self._is_ring)

    def weights(self, index: int) -> list[int]:
        self.report_alphabet.require_listable()
        near, far, size = self._ratio.numerator, self._ratio.denominator, self.report_alphabet.size
        row = [far] * size
        for step in range(self._reach):
            row[self._output(index, step)] = near
        return row

    def at(self, epsilon: float) -> SquareWave:
        """Return it with another epsilon.

        The width is derived anew unless it was chosen.
        """
        is_default = self.width == _widest(self.alphabet.size, self.epsilon, is_ring=self._is_ring)
        return SquareWave(self.alphabet, epsilon, None if is_default else self.width)

    def peaks(self, counts: Counts) -> NDArray[np.float64]:
        """Return the middle of the values that make each report likely."""
        self.refuse_strays(counts)
        low, high = self.alphabet.span if not self._is_ring else (0, self.alphabet.size - 1)
        return np.clip(counts.reports.astype(np.float64), low, high)[:, None]

    @cached_property
    def _ratio(self) -> Fraction:
        """A fraction just below e^epsilon."""
        return 1 / ratio_above(Fraction(self.epsilon))

    @property
    def _total(self) -> Fraction:
        """Sum of a row, if each report outside the window counts 1."""
        return self._reach * self._ratio + self._others

    @property
    def _others(self) -> int:
        """Number of reports outside the window."""
        return self.report_alphabet.size - self._reach

    def _output(self, index: int, step: int) -> int:
        """Return the number of the report `step` places after the window's first."""
        return (index + step - self._width) % self.alphabet.size if self._is_ring else index + step

    @cached_property
    def _near_or_far(self) -> WeightRows:
        return WeightRows.of([[self._reach * self._ratio.numerator, self._others * self._ratio.denominator]])

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        """Draw from or outside the window, with the weights of rows.

        Both are drawn for everyone, so that timing does not reveal which one was reported.
        """
        is_far = self._near_or_far.draw(np.zeros(indices.size, dtype=np.int64), bits) == 1
        inside = uniform_below(self._reach, indices.size, bits)
        # Steps from the window's first report, past the window's last, around the outputs.
        outside = uniform_below(self._others, indices.size, bits) + self._reach
        start = indices - self._width if self._is_ring else indices
        return (start + np.where(is_far, outside, inside)) % self.report_alphabet.size


def _widest(size: int, epsilon: float, *, is_ring: bool) -> int:
    """Return the width of Li et al. in whole steps.

    Their b maximizes a bound on the mutual information of value and report, for values between 0 and 1.

    >>> [_widest(1000, epsilon, is_ring=False) for epsilon in (0.5, 1.0, 2.0, 4.0)]
    [358, 256, 129, 30]
    """
    # Decimals round alike on every machine. The difference below loses two digits for each of a small epsilon.
    context = Context(prec=80)
    rate, one = Decimal(epsilon), Decimal(1)
    growth = context.exp(rate)
    above = context.add(context.multiply(context.subtract(rate, one), growth), one)
    below = context.multiply(growth, context.subtract(context.subtract(growth, one), rate))
    width = int(context.multiply(context.divide(above, below), context.divide(Decimal(size), Decimal(2))))
    if not is_ring:
        return min(width, size - 1)
    width = min(width, (size - 2) // 2)
    # A window that shares a factor with the circle makes different distributions look alike: 9 of 24 hours, for one.
    while math.gcd(2 * width + 1, size) > 1:
        width -= 1
    return width
