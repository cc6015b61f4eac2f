"""How wrong matrix inversion would be: the paper's bounds, with their conditions, and the exact mean squared error.

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

from confide.channels import Kronecker, RandomizedResponseChannel, TwoSidedExponential
from confide.channels.base import Channel, FloatArray, require_square
from confide.checks import as_distribution, check_positive
from confide.errors import NotInvertibleError
from confide.mechanisms import Mechanism, RandomizedResponse, Rappor, TruncatedGeometric, TruncatedTaxicab
from confide.mechanisms.base import require_mechanism

LARGEST_RATE_ON_A_LINE = 0.94
LARGEST_RATE_ON_A_PLANE = 1.09
"""The paper's conditions on lambda times the spacing."""

LARGEST_INVERSE = 1500
"""Values up to which an inverse without structure is computed: a few seconds."""

MISPRINTS = {("invKrrBound", 100, 2.0): "227.28", ("invTLinGeomBound", 100, 0.05): "7238"}
"""What the paper prints where its own formula gives another number, by proposition, values and epsilon or lambda."""

FEWEST_CELLS = 3
"""The bounds' proofs take the inverse's second row from a cell that is no border, so each axis needs three cells."""


@dataclass(frozen=True)
class Bound:
    """A bound on the mean squared error of inversion, whatever the true distribution.

    Attributes
    ----------
    kind
        ``"at most"`` or ``"at least"``.
    per_report
        The bound times the number of reports.
    proposition
        Its name in the paper.
    holds
        Whether its conditions are met; if not, `condition` says which is not, and the number means nothing.
    condition
        The conditions in words.
    misprint
        What the paper prints for this very setting, where its own formula gives another number; empty elsewhere.
    """

    kind: str
    per_report: float
    proposition: str
    holds: bool
    condition: str
    misprint: str = ""


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
    bound = inversion_bound(mechanism)
    if not mechanism.has_channel:
        return InversionError(None, bound, reports, _no_matrix(mechanism))
    size = mechanism.alphabet.size
    theta = np.full(size, 1 / size) if distribution is None else as_distribution(distribution, size, "distribution")
    try:
        lengths = inverse_lengths(mechanism.channel)
    except NotInvertibleError as error:
        return InversionError(None, bound, reports, str(error))
    return InversionError(float(mechanism.channel.push(theta) @ lengths - theta @ theta), bound, reports)


def _no_matrix(mechanism: Mechanism) -> str:
    """Return why there is no matrix to invert."""
    if isinstance(mechanism, Rappor):
        return (
            f"Its matrix has a column for each of 2^{mechanism.alphabet.size} bit vectors, so it is not square and has "
            f"no inverse. BitInversion() inverts each bit by itself."
        )
    return "It has no end of outputs, hence no matrix to invert."


def inverse_lengths(channel: Channel) -> FloatArray:
    """Return the squared length of each row of M^-1, by the channel's structure where it has one.

    Raises
    ------
    NotInvertibleError
        If there is no inverse, or it does not fit.
    """
    require_square(channel.shape)
    size = channel.shape[0]
    if isinstance(channel, Kronecker):
        return np.kron(inverse_lengths(channel.first), inverse_lengths(channel.second)).astype(np.float64)
    if isinstance(channel, RandomizedResponseChannel):
        first = np.zeros(size)
        first[0] = 1.0
        return np.full(size, float((channel.unpush(first) ** 2).sum()))
    if isinstance(channel, TwoSidedExponential) and channel.diagonal is None:
        return _tridiagonal_lengths(channel)
    if size > LARGEST_INVERSE:
        raise NotInvertibleError(
            f"The inverse of {size:,} values is not computed here; of {LARGEST_INVERSE:,} at most."
        )
    return np.asarray((channel.unpush(np.eye(size)) ** 2).sum(axis=1))


def _tridiagonal_lengths(channel: TwoSidedExponential) -> FloatArray:
    """Return the same where row z of the inverse has entries at z - 1, z and z + 1 alone.

    Every third row fits into one vector without overlap, so three products give all rows.
    """
    size = channel.shape[0]
    lengths = np.zeros(size)
    for start in range(min(3, size)):
        comb = np.zeros(size)
        comb[start::3] = 1.0
        squares = np.concatenate([[0.0], channel.unpush(comb) ** 2, [0.0]])
        around = squares[:-2] + squares[1:-1] + squares[2:]
        lengths[start::3] = around[start::3]
    return lengths


def inversion_bound(mechanism: Mechanism) -> Bound | None:
    """Return the paper's bound on inversion's error for this family, or None where it has none."""
    match mechanism:
        case RandomizedResponse():
            return krr_bound(mechanism.alphabet.size, mechanism.epsilon)
        case TruncatedGeometric():
            is_square = mechanism.report_alphabet.span == mechanism.alphabet.span
            rate = mechanism.epsilon * mechanism.alphabet.spacing
            return geometric_bound(rate, mechanism.alphabet.size, is_square=is_square)
        case TruncatedTaxicab():
            grid = mechanism.alphabet
            is_square = mechanism.report_alphabet == grid and not grid.holes
            return taxicab_bound(mechanism.epsilon / math.sqrt(2) * grid.spacing, grid.shape, is_square=is_square)
    return None


def krr_bound(size: int, epsilon: float) -> Bound:
    """Return the upper bound for k-RR (proposition invKrrBound).

    >>> round(krr_bound(100, 2.0).per_report, 2)
    277.28
    """
    # Written in e^-epsilon, which cannot overflow.
    root = (1 + (size - 1) * math.exp(-epsilon)) / -math.expm1(-epsilon)
    misprint = MISPRINTS.get(("invKrrBound", size, epsilon), "")
    condition = "any epsilon above 0"
    return Bound("at most", root**2, "proposition invKrrBound", holds=True, condition=condition, misprint=misprint)


def geometric_bound(rate: float, size: int, *, is_square: bool = True) -> Bound:
    """Return the lower bound for the truncated geometric mechanism (proposition invTLinGeomBound).

    Parameters
    ----------
    rate
        Lambda times the spacing.
    size
        How many values there are.
    is_square
        Whether values and outputs are the same.

    >>> round(geometric_bound(0.05, 100).per_report, 1)
    7818.5
    """
    alpha, beta = math.exp(-rate), -1 / math.expm1(-rate)
    return _lower_bound(
        beta**3 - 2 * alpha * beta**2 - 2,
        "proposition invTLinGeomBound",
        {
            f"lambda times spacing {rate:.4g} is at most {LARGEST_RATE_ON_A_LINE}": rate <= LARGEST_RATE_ON_A_LINE,
            f"values and outputs are the same, {FEWEST_CELLS} or more": is_square and size >= FEWEST_CELLS,
        },
        MISPRINTS.get(("invTLinGeomBound", size, rate), ""),
    )


def taxicab_bound(rate: float, shape: tuple[int, int], *, is_square: bool = True) -> Bound:
    """Return the lower bound for the truncated taxicab mechanism (proposition invTTaxicabBound).

    >>> round(taxicab_bound(0.2 / math.sqrt(2) * 0.5, (20, 14)).per_report, 1)
    662648.6
    """
    alpha, beta = math.exp(-rate), -1 / math.expm1(-rate)
    return _lower_bound(
        beta**5 - 4 * alpha * beta**3 - 4,
        "proposition invTTaxicabBound",
        {
            f"lambda times spacing {rate:.4g} is at most {LARGEST_RATE_ON_A_PLANE}": rate <= LARGEST_RATE_ON_A_PLANE,
            f"values and outputs are one full box, {FEWEST_CELLS} or more cells each way": is_square
            and min(shape) >= FEWEST_CELLS,
        },
    )


def _lower_bound(per_report: float, proposition: str, conditions: dict[str, bool], misprint: str = "") -> Bound:
    holds = all(conditions.values())
    broken = [words for words, is_met in conditions.items() if not is_met]
    words = " and ".join(conditions) if holds else f"not met: {' and '.join(broken)}"
    return Bound("at least", per_report, proposition, holds, words, misprint)
