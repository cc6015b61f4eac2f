"""Error of matrix inversion: the exact mean squared error, and the paper's bounds with their conditions.

The vector w = q M^-1 is unbiased, so its mean squared error is the sum of its variances. With m = theta M and c_z the
squared length of row z of M^-1,

    E |w - theta|^2 = (sum_z m_z c_z - |theta|^2) / n,

for any invertible mechanism, any theta and any n. No bound is needed where that can be computed; the bounds show how it
grows.

>>> from confide import Integers, TruncatedGeometric
>>> error = inversion_error(TruncatedGeometric(Integers(0, 99), epsilon=0.05))
>>> round(error.bound.per_report, 1), round(error.per_report, 1)
(7818.5, 760716.7)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from confide.errors import NotInvertibleError
from confide.mechanisms.base import Bound, Mechanism, require_mechanism
from confide.values.checks import as_distribution, check_positive


@dataclass(frozen=True)
class InversionError:
    """The mean squared error of w = q M^-1.

    Attributes
    ----------
    per_report
        The exact error times the number of reports, for the distribution it was asked for.
    bound
        The paper's bound for this family, where there is one.
    reports
        How many reports there are; None where only the error per report is known.
    reason
        Why there is no exact error, where there is none.
    """

    per_report: float | None
    bound: Bound | None
    reports: float | None = None
    reason: str = ""

    @property
    def mean_squared(self) -> float | None:
        """E |w - theta|^2, for that many reports."""
        return None if self.per_report is None or self.reports is None else self.per_report / self.reports

    @property
    def typical(self) -> float | None:
        """Its square root: how far w typically lies from theta, in Euclidean distance."""
        return None if self.mean_squared is None else math.sqrt(self.mean_squared)


def inversion_error(
    mechanism: Mechanism, reports: float | None = None, distribution: ArrayLike | None = None
) -> InversionError:
    """Return how wrong inversion is for a mechanism, exactly and by the paper's bound.

    Parameters
    ----------
    mechanism
        The mechanism.
    reports
        How many reports there are.
    distribution
        The true distribution, or a guess at it; uniform if left out.
    """
    require_mechanism("mechanism", mechanism)
    if reports is not None:
        check_positive("reports", reports)
    bound, values, outputs = mechanism.facts.inversion_bound, mechanism.alphabet, mechanism.report_alphabet
    if not values.is_finite or not outputs.is_finite:
        return InversionError(None, bound, reports, "Its outputs are unbounded, so there is no matrix to invert.")
    if not mechanism.has_channel:
        many = f"{outputs.size:,}" if outputs.size < 10**15 else f"about 2^{outputs.size.bit_length() - 1}"
        reason = f"Its {many} outputs are too many to list, so there is no matrix to invert."
        if mechanism.facts.bits is not None:
            reason = (
                f"Its matrix has a column for each of {many} outputs, 2^{values.size} bit vectors, so it is not square "
                f"and has no inverse. BitInversion() inverts each bit by itself."
            )
        return InversionError(None, bound, reports, reason)
    size = values.size
    theta = np.full(size, 1 / size) if distribution is None else as_distribution(distribution, size, "distribution")
    try:
        lengths = mechanism.channel.inverse_lengths()
    except NotInvertibleError as error:
        return InversionError(None, bound, reports, str(error))
    return InversionError(float(mechanism.channel.push(theta) @ lengths - theta @ theta), bound, reports)
