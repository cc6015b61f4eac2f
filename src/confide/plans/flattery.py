"""Flattery: whether a guess makes a survey look better than other truths would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from confide.mechanisms import Mechanism
from confide.plans.curves import Curve
from confide.plans.guesses import family_of
from confide.plans.measures import Distance, Prediction
from confide.plans.settings import epsilon_of
from confide.plans.shapes import ALIKE, UNIFORM
from confide.plans.simulations import FEWEST_REPEATS, Simulation

LOW = 0.5
"""A guess with less than this part of the usual error of the family flatters; docs/planning.md has the measurements."""


RISE = 1.05
USUAL_RISE = 1.2
"""So does one whose error does not rise by 5 % under a stronger promise, under which the family's rises by 20 %."""


@dataclass(frozen=True)
class Flattery:
    """Sign that a guess is easier on the method than other truths would be.

    Attributes
    ----------
    is_uniform
        Whether the guess is uniform, or nearly so.
    shapes
        What to expect of the other shapes at the plan's own setting, by their names; without the uniform one.
    low
        The expected error of the guess as a part of their usual one; None for a query.
    rise, usual_rise
        By what factor the error rises under the strongest promise of the trade-off, for the guess, and for the shapes.
        None where that was not measured.
    """

    is_uniform: bool
    shapes: dict[str, Prediction]
    low: float | None
    rise: float | None = None
    usual_rise: float | None = None

    @property
    def is_low(self) -> bool:
        """Whether the error is well below that of other shapes."""
        return self.low is not None and self.low < LOW

    @property
    def is_backward(self) -> bool:
        """Whether a stronger promise costs nothing, or even helps, where it costs other shapes."""
        if self.low is None or self.rise is None or self.usual_rise is None:
            return False
        return self.rise < RISE and self.usual_rise > USUAL_RISE


def find_flattery(
    simulation: Simulation, mechanism: Mechanism, people: int, prediction: Prediction, by_epsilon: Curve | None
) -> Flattery | None:
    """Return why a guess flatters: other shapes fare far worse, or it alone does not pay for a stronger promise."""
    vector = simulation.guess.vector
    others = [
        replace(simulation, guess=one, repeats=FEWEST_REPEATS, known={})
        for one in family_of(mechanism, simulation.shape)
        if one.name != UNIFORM and abs(one.vector - vector).sum() / 2 > ALIKE
    ]
    if not others:
        return None
    shapes = {one.guess.name: one.predict(mechanism, people) for one in others}
    usual = median(one.mean for one in shapes.values())
    # A query may be answered well because hardly anyone is asked about, and its bias may change sign along epsilon, so
    # that neither a small width nor one that shrinks is flattery.
    is_comparable = isinstance(simulation.measure, Distance) and usual > 0
    low = prediction.mean / usual if is_comparable else None
    rise, usual_rise = _rises(others, mechanism, people, by_epsilon, usual)
    # 0.05: and one this close to uniform in total variation, where methods start and what they are drawn to.
    is_uniform = bool(abs(vector - 1 / vector.size).sum() / 2 < 0.05)
    found = Flattery(is_uniform, shapes, low, rise, usual_rise)
    return found if is_uniform or found.is_low or found.is_backward else None


def _rises(
    others: Sequence[Simulation], mechanism: Mechanism, people: int, curve: Curve | None, usual: float
) -> tuple[float | None, float | None]:
    """Return by what factors the error rises under the strongest promise that was simulated: own and usual.

    The second is measured only where the first is suspiciously small.
    """
    epsilon = epsilon_of(mechanism)
    if curve is None or epsilon is None or curve.places[0] == epsilon or curve.points[epsilon].mean <= 0 or usual <= 0:
        return None, None
    rise = curve.predictions[0].mean / curve.points[epsilon].mean
    if rise >= RISE:
        return rise, None
    stronger = mechanism.at(curve.places[0])
    return rise, median(one.predict(stronger, people).mean for one in others) / usual
