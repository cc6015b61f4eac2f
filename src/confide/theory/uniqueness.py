"""Is there only one maximum-likelihood estimate? Weaker than strict concavity, and decided where that fails.

>>> from confide import Categories, FromMatrix, tally
>>> mechanism = FromMatrix(Categories([1, 2, 3]), [[0.45, 0.10, 0.45], [0.05, 0.90, 0.05], [0.45, 0.10, 0.45]])
>>> uniqueness(mechanism, tally([2, 2, 2, 2])).verdict, uniqueness(mechanism, tally([2, 2, 2, 2, 1, 3])).verdict
(<Verdict.YES: 'yes'>, <Verdict.NO: 'no'>)
"""

from __future__ import annotations

from confide.alphabets import Indices
from confide.counts import Counts
from confide.mechanisms import Mechanism
from confide.theory.concavity import Concavity, strict_concavity
from confide.theory.maximum_set import MaximumSet, maximum_set
from confide.theory.verdicts import Finding, Verdict

PROPOSITION = "proposition uniqueness"
SLACKNESS = "complementary slackness"

SURELY = 1e-6
"""A share above this, in its own unit, is no slack of a linear program."""

MOST_CLASSES = 8
"""Classes of the same rows that are looked at, those with the largest shares first."""


def uniqueness(mechanism: Mechanism, counts: Counts) -> Finding:
    """Decide whether these reports have a single maximum-likelihood estimate."""
    concavity = strict_concavity(mechanism, counts)
    return from_concavity(concavity) if concavity.is_yes else uniqueness_of(maximum_set(mechanism, counts))


def from_concavity(concavity: Concavity) -> Finding:
    """Return what strict concavity implies."""
    return Finding(Verdict.YES, f"The likelihood is strictly concave. {concavity.reason}", PROPOSITION)


def uniqueness_of(best: MaximumSet) -> Finding:
    """Decide uniqueness from the set of maximum-likelihood estimates.

    Yes only where no direction is left, and no only where two best explanations are there for sure, however close:
    probabilities are compared with what they themselves may be off.
    """
    numbers: dict[str, float] = {"values that may be positive": best.free.size, "free directions": best.dimension}
    if best.dimension == 0:
        return Finding(Verdict.YES, _independent(best), SLACKNESS, numbers)
    numbers = numbers | {"freedom of a value, at least": best.spread, "precision": best.precision}
    if best.is_exact:
        return Finding(Verdict.NO, _free(best), f"{SLACKNESS}, linear programs", numbers)
    twins = _twins(best)
    if twins is not None:
        return Finding(Verdict.NO, _same(best, twins), f"{SLACKNESS}, linear programs", numbers)
    return Finding(Verdict.TOO_CLOSE, _doubt(best), SLACKNESS, numbers)


def _twins(best: MaximumSet) -> Indices | None:
    """Return values that no report seen tells apart, and that have a share together in every best explanation."""
    inside = best.point[best.free]
    classes = [members for members in best.flat.twins if inside[members].sum() > 0]
    for members in sorted(classes, key=lambda one: -float(inside[one].sum()))[:MOST_CLASSES]:
        if best.least_share(members) > SURELY:
            return best.free[members]
    return None


def _independent(best: MaximumSet) -> str:
    free, zero = best.free.size, best.alphabet.size - best.free.size
    if free == 1:
        return f"All but one of the {best.alphabet.size:,} values have probability 0 in every best explanation."
    if zero == 0:
        return f"The rows of all {free:,} values are linearly independent on the reports seen."
    return (
        f"{zero:,} of {best.alphabet.size:,} values have probability 0 in every best explanation, and the rows of the "
        f"other {free:,} are linearly independent on the reports seen."
    )


def _free(best: MaximumSet) -> str:
    directions = "one direction" if best.dimension == 1 else f"{best.dimension:,} directions"
    moved = f"between two of them a value's share differs by {100 * best.spread:.3g}%"
    return f"The best explanations form a set with {directions}; {moved}."


def _same(best: MaximumSet, twins: Indices) -> str:
    first, second = (best.alphabet.labels()[value] for value in twins[:2].tolist())
    return (
        f"No report seen tells {first} from {second}, and every best explanation gives them a share, which may go to "
        f"either."
    )


def _doubt(best: MaximumSet) -> str:
    if best.is_settled:
        return (
            f"{best.dimension:,} of {best.free.size:,} directions change no report, but whether one can be taken "
            f"without a negative probability depends on digits that double precision does not hold."
        )
    return (
        f"In {best.dimension:,} of {best.free.size:,} directions the likelihood changes by no more than double "
        f"precision resolves, so whether the best explanation is unique cannot be told."
    )
