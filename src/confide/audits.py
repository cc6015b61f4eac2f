"""Does a mechanism keep its promise? Every pair of values, every output, border columns included.

>>> import confide as cf
>>> result = audit(cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0))
>>> result.holds, round(result.worst.relative, 6)
(True, 1.0)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from confide.errors import InvalidParameterError
from confide.mechanisms.base import Mechanism, require_mechanism
from confide.mechanisms.promises import WorstRatio, worst_ratio

LARGEST_AUDIT = 2048
"""Values up to which all pairs are compared; larger mechanisms of a family are audited on a smaller alphabet."""


@dataclass(frozen=True)
class Audit:
    """What was measured of a mechanism's promise.

    Attributes
    ----------
    worst
        The largest log-ratio relative to what is promised for its pair, with the pair and the output as numbers.
    left, right, output
        The pair of values that is told apart best, and the output that does so, in words.
    """

    worst: WorstRatio
    left: str
    right: str
    output: str

    @property
    def holds(self) -> bool:
        """Whether the promise is kept, to the rounding of the measurement."""
        return not self.worst.exceeds

    def __str__(self) -> str:
        if self.worst.log_ratio == 0:
            return "The promise holds: no output tells any two values apart."
        verdict = "The promise holds" if self.holds else "THE PROMISE IS BROKEN"
        rest = "and none does more" if self.holds else f"which is {self.worst.relative:.6g} times as much"
        return (
            f"{verdict}: output {self.output} tells {self.left} from {self.right} by e^{self.worst.log_ratio:.6g}, "
            f"of the e^{self.worst.bound:.6g} that is promised, {rest}."
        )


def audit(mechanism: Mechanism) -> Audit:
    """Measure the largest log-ratio over all pairs of values and all outputs, against what is promised for the pair.

    >>> import confide as cf
    >>> audit(cf.TruncatedPlanarLaplace(cf.Grid(4, 4), epsilon=1.0)).holds
    True
    """
    require_mechanism("mechanism", mechanism)
    if not mechanism.alphabet.is_finite or mechanism.alphabet.size > LARGEST_AUDIT:
        raise InvalidParameterError(
            f"All pairs of {mechanism.alphabet!r} are too many to compare; at most {LARGEST_AUDIT:,} values. "
            f"Audit the same mechanism on a smaller alphabet."
        )
    worst = worst_ratio(_matrix(mechanism), mechanism.guarantee.bounds(mechanism.alphabet))
    labels = mechanism.alphabet.labels()
    return Audit(worst, labels[worst.left], labels[worst.right], _label(mechanism, worst.output))


def _matrix(mechanism: Mechanism) -> NDArray[np.float64]:
    """Return P(output | value), from the channel where there is one and else from the exact weights."""
    if mechanism.has_channel:
        return mechanism.channel.dense()
    rows = [mechanism.weights(index) for index in range(mechanism.alphabet.size)]
    return np.array([[weight / sum(row) for weight in row] for row in rows])


def _label(mechanism: Mechanism, output: int) -> str:
    reports = mechanism.report_alphabet
    return reports.labels()[output] if mechanism.has_channel else str(output)
