"""Survey plans: two of people, epsilon and error give the third.

>>> from confide import Categories, RandomizedResponse, plan
>>> mechanism = RandomizedResponse(Categories(["yes", "no"]), epsilon=1.0)
>>> halves = plan(mechanism, [0.8, 0.2], people=2000, repeats=8, cache=False).halving
>>> 2 < halves.factor < 8
True
"""

from confide.mechanisms.comparison import Ranked
from confide.plans.guesses import SHAPES, Guess, as_guess
from confide.plans.planning import (
    METHOD,
    REPEATS,
    SHAPE_REPEATS,
    Answer,
    Curve,
    Flattery,
    Halving,
    Obstacle,
    Outlook,
    Plan,
    Slope,
    plan,
)
from confide.plans.ranking import Ranking, rank
from confide.plans.simulations import Cache, Distance, Measure, Prediction, QueryWidth, Simulation, usual_cache

__all__ = [
    "METHOD",
    "REPEATS",
    "SHAPES",
    "SHAPE_REPEATS",
    "Answer",
    "Cache",
    "Curve",
    "Distance",
    "Flattery",
    "Guess",
    "Halving",
    "Measure",
    "Obstacle",
    "Outlook",
    "Plan",
    "Prediction",
    "QueryWidth",
    "Ranked",
    "Ranking",
    "Simulation",
    "Slope",
    "as_guess",
    "plan",
    "rank",
    "usual_cache",
]
