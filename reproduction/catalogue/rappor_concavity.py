"""How likely the likelihood under RAPPOR is to be strictly concave: the paper's lower bound, and how often it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from confide.alphabets import Integers
from confide.mechanisms import Rappor
from reproduction.base import RESULTS, Claim, Computation, Picture, Tables, judge
from reproduction.declarations import seed_of
from reproduction.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VALUES = Integers(0, 9)
LEVELS = (0.5, 1.0, 2.0, 3.0)
PEOPLE = tuple(range(10, 71))
TRIALS = 400
"""Populations that are drawn to see how often L is strictly concave."""

COLUMNS = {
    "epsilon": "number",
    "people": "whole",
    "bound": "number",
    "seen": "number",
    "trials": "whole",
    "seed": "whole",
}


def compute() -> dict[str, Table]:
    """Return the bound for each number of people, and the share of drawn populations with a strictly concave L."""
    from confide.theory.concavity import rappor_concavity_bound

    rows = []
    for epsilon in LEVELS:
        mechanism = Rappor(VALUES, epsilon)
        seed = seed_of("rappor-concavity", epsilon)
        seen = _shares(mechanism, seed)
        rows += [
            (epsilon, people, rappor_concavity_bound(mechanism, people), share, TRIALS, seed)
            for people, share in zip(PEOPLE, seen, strict=True)
        ]
    return {RESULTS: Table(COLUMNS, tuple(rows))}


def _shares(mechanism: Rappor, seed: int) -> list[float]:
    """Return how often the bits of the first n reports make L strictly concave, for each n, over drawn populations.

    L is strictly concave when no change w of a distribution, with sum 0, leaves all its outputs as they are (theorem
    strictconcavity); that is when the bit vectors together with the vector of ones have full rank.
    """
    generator = np.random.default_rng(seed)
    size = mechanism.alphabet.size
    values = generator.integers(0, size, (TRIALS, PEOPLE[-1]))
    bits = (generator.random((TRIALS, PEOPLE[-1], size)) < mechanism.keep) == (values[..., None] == np.arange(size))
    ones = np.ones((TRIALS, 1, size))
    return [
        float((np.linalg.matrix_rank(np.concatenate([bits[:, :people], ones], axis=1)) == size).mean())
        for people in PEOPLE
    ]


def draw(tables: Tables) -> Figure:
    """Draw bound and frequency."""
    from confide.figures import style
    from reproduction.curves import Curve, CurvePanel, draw_curves

    curves = {}
    for epsilon, color in zip(LEVELS, style.ESTIMATES, strict=False):
        rows = tables[RESULTS].where(epsilon=epsilon)
        curves[f"bound, ε = {epsilon:g}"] = Curve(rows.numbers("people"), rows.numbers("bound"), color)
        curves[f"seen, ε = {epsilon:g}"] = Curve(rows.numbers("people"), rows.numbers("seen"), color, ":")
    return draw_curves(
        [CurvePanel("", curves)],
        x_label="people n",
        y_label="probability that L is strictly concave",
        size=(7.2, 4.0),
    )


def check(tables: Tables) -> list[Claim]:
    """Lay the paper's words beside the numbers."""
    results = tables[RESULTS]
    at = results.where(epsilon=1.0, people=25).median("bound")
    # A frequency may fall below its probability by chance; four standard errors are far beyond that.
    below = results.numbers("seen") + 4 * np.sqrt(results.numbers("bound") * (1 - results.numbers("bound")) / TRIALS)
    return [
        judge(
            "RAPPOR, epsilon 1, 10 values: L is strictly concave with probability almost one when n >= 25",
            "almost one",
            f"at least {at:.4f} at n = 25",
            holds=at > 0.99,
            note="Holds if above 0.99.",
        ),
        judge(
            "RAPPOR: the bound is a lower bound on that probability",
            "a proposition",
            f"over {TRIALS} drawn populations for each of {len(results)} points the bound is never above what is seen, "
            "chance aside",
            holds=bool((below >= results.numbers("bound")).all()),
        ),
    ]


EXPERIMENT = Computation(
    name="rappor-concavity",
    title="How many people RAPPOR needs for a strictly concave likelihood",
    paper=("fig:probability_of_s_concavity_rappor",),
    compute=compute,
    kinds={RESULTS: COLUMNS},
    pictures=(
        Picture(
            "rappor-concavity",
            "Solid: the paper's lower bound on the probability that the log-likelihood under RAPPOR with ten values is "
            f"strictly concave. Dotted: how often it was, among {TRIALS} populations with values drawn evenly.",
            draw,
        ),
    ),
    claims=check,
)
