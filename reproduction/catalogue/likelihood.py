"""The likelihood's maxima: one or many, and when strictly concave."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.channels.base import FloatArray
from confide.data.datasets import Dataset, san_francisco
from confide.errors import InvalidParameterError
from confide.evidence.counts import tally
from confide.evidence.evidence import Evidence
from confide.mechanisms import FromMatrix, PlanarGeometric, Rappor, truncated
from confide.solve.methods import IBU
from confide.values import Grid, Integers
from confide.values.distances import emd
from reproduction.claims import Claim, judge
from reproduction.declarations import seed_of
from reproduction.experiments import Computation, Picture
from reproduction.table import RESULTS, Table, Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Matrix = list[list[float]]

THREE_VALUES = Integers(1, 3)
# Steps along one side of the triangle.
STEPS = 60

# The paper's equation sconcavity_depends_on_observations.
FIRST: Matrix = [[0.10, 0.45, 0.45], [0.45, 0.10, 0.45], [0.45, 0.45, 0.10]]

# The paper's equation mle_unique_likelihood_not_s_concave.
SECOND: Matrix = [[0.45, 0.10, 0.45], [0.05, 0.90, 0.05], [0.45, 0.10, 0.45]]

CASES: dict[str, tuple[Matrix, tuple[int, ...]]] = {
    "First mechanism, reports {2}": (FIRST, (2,)),
    "First mechanism, reports {2, 1}": (FIRST, (2, 1)),
    "Second mechanism, reports {2, 2, 2, 2}": (SECOND, (2, 2, 2, 2)),
    "Second mechanism, reports {2, 2, 2, 2, 1, 3}": (SECOND, (2, 2, 2, 2, 1, 3)),
}
# Whether the paper calls each strictly concave, and its maximum unique.
PRINTED = (("no", "no"), ("yes", "yes"), ("no", "yes"), ("no", "no"))

SURFACE_COLUMNS = {
    "case": "text",
    "theta_1": "number",
    "theta_2": "number",
    "theta_3": "number",
    "log_likelihood": "number",
}
FACTS = "facts"
FACT_COLUMNS = {
    "case": "text",
    "strictly_concave": "text",
    "unique": "text",
    "lowest_1": "number",
    "lowest_3": "number",
    "highest_1": "number",
    "highest_3": "number",
}


def compute_surfaces() -> dict[str, Table]:
    """Return the log-likelihood on a grid, and theory's verdict."""
    return {
        RESULTS: Table.of(SURFACE_COLUMNS, (row for name in CASES for row in _heights(name))),
        FACTS: Table.of(FACT_COLUMNS, (_facts(name) for name in CASES)),
    }


def _heights(name: str) -> Iterator[dict[str, Any]]:
    matrix, reports = CASES[name]
    evidence = FromMatrix(THREE_VALUES, matrix).observe(tally(list(reports)))
    for first in range(STEPS + 1):
        for third in range(STEPS + 1 - first):
            theta = np.array([first, STEPS - first - third, third]) / STEPS
            point = dict(zip(("theta_1", "theta_2", "theta_3"), theta.tolist(), strict=True))
            yield {"case": name} | point | {"log_likelihood": evidence.log_likelihood(theta)}


def _facts(name: str) -> dict[str, Any]:
    """Return the verdicts of theory, and the ends of the maxima."""
    from confide.theory.maximum_set import maximum_set, strict_concavity, uniqueness

    matrix, reports = CASES[name]
    mechanism, counts = FromMatrix(THREE_VALUES, matrix), tally(list(reports))
    best = maximum_set(mechanism, counts)
    first, last = (best.furthest(np.array([sign, 0.0, 0.0])) for sign in (-1.0, 1.0))
    return {
        "case": name,
        "strictly_concave": str(strict_concavity(mechanism, counts).verdict),
        "unique": str(uniqueness(mechanism, counts).verdict),
        "lowest_1": float(first[0]),
        "lowest_3": float(first[2]),
        "highest_1": float(last[0]),
        "highest_3": float(last[2]),
    }


def draw_landscapes(tables: Tables) -> Figure:
    """Draw the four landscapes."""
    from reproduction.plots import Surface, draw_surfaces

    surfaces = []
    for name in CASES:
        rows, facts = tables[RESULTS].where(case=name), tables[FACTS].where(case=name)
        ends = [[facts.median(f"{end}_{place}") for place in (1, 3)] for end in ("lowest", "highest")]
        remark = f"strictly concave: {facts.column('strictly_concave')[0]}; unique maximum: {facts.column('unique')[0]}"
        first, third, heights = (rows.numbers(column) for column in ("theta_1", "theta_3", "log_likelihood"))
        surfaces.append(Surface(name, remark, first, third, heights, np.array(ends)))
    return draw_surfaces(surfaces, x_label="share of value 1", y_label="share of value 3")


def judge_surfaces(tables: Tables) -> list[Claim]:
    """Lay the paper's statements beside what theory computes."""
    claims = []
    for name, (concave, unique) in zip(CASES, PRINTED, strict=True):
        facts = tables[FACTS].where(case=name)
        found = facts.column("strictly_concave")[0], facts.column("unique")[0]
        claims.append(
            judge(
                f"{name}: is L strictly concave, is its maximum unique",
                f"{concave}, {unique}",
                f"{found[0]}, {found[1]}",
                holds=found == (concave, unique),
            )
        )
    return claims


LIKELIHOOD_SURFACES = Computation(
    name="likelihood-surfaces",
    title="When the likelihood has one maximum, and when many",
    paper=("fig:sconcavity_depends_on_observations", "fig:uniqueness_vs_sconcavity"),
    compute=compute_surfaces,
    kinds={RESULTS: SURFACE_COLUMNS, FACTS: FACT_COLUMNS},
    pictures=(
        Picture(
            "likelihood-surfaces",
            "The log-likelihood L over all distributions on three values, for two mechanisms and two sets of reports "
            "each. Where the highest points form an edge, reports cannot tell its distributions apart.",
            draw_landscapes,
        ),
    ),
    claims=judge_surfaces,
    notes=("The paper draws these as surfaces in space; contours show flat edges more plainly.",),
)

TEN_VALUES = Integers(0, 9)
LEVELS = (0.5, 1.0, 2.0, 3.0)
PEOPLE = tuple(range(10, 71))
# Populations that are drawn to see how often L is strictly concave.
TRIALS = 400

CONCAVITY_COLUMNS = {
    "epsilon": "number",
    "people": "whole",
    "bound": "number",
    "seen": "number",
    "trials": "whole",
    "seed": "whole",
}


def compute_concavity() -> dict[str, Table]:
    """Return the bound on strict concavity, and its share in simulations.

    One row for each number of people.
    """
    from confide.theory.maximum_set import concavity_chance

    rows = []
    for epsilon in LEVELS:
        mechanism = Rappor(TEN_VALUES, epsilon)
        seed = seed_of("rappor-concavity", epsilon)
        seen = _shares(mechanism, seed)
        rows += [
            (epsilon, people, concavity_chance(mechanism, people), share, TRIALS, seed)
            for people, share in zip(PEOPLE, seen, strict=True)
        ]
    return {RESULTS: Table(CONCAVITY_COLUMNS, tuple(rows))}


def _shares(mechanism: Rappor, seed: int) -> list[float]:
    """Return how often the first n reports make L strictly concave.

    L is strictly concave when no change w of a distribution, with sum 0, leaves all its outputs as they are (theorem
    strictconcavity); that is when the bit vectors together with the vector of ones have full rank.
    """
    generator = np.random.default_rng(seed)
    size = mechanism.alphabet.size
    values = generator.integers(0, size, (TRIALS, PEOPLE[-1]))
    keep = float(mechanism.keep)
    bits = (generator.random((TRIALS, PEOPLE[-1], size)) < keep) == (values[..., None] == np.arange(size))
    ones = np.ones((TRIALS, 1, size))
    return [
        float((np.linalg.matrix_rank(np.concatenate([bits[:, :people], ones], axis=1)) == size).mean())
        for people in PEOPLE
    ]


def draw_concavity(tables: Tables) -> Figure:
    """Draw bound and frequency."""
    from confide.present.figures import style
    from reproduction.plots import Series, draw_curves

    curves = {}
    shades = (*style.SCALES["heat"][0][3:], style.FAINT)  # levels are no methods, so they have none of their colours
    for epsilon, color in zip(LEVELS, shades, strict=True):
        rows = tables[RESULTS].where(epsilon=epsilon)
        curves[f"bound, ε = {epsilon:g}"] = Series(rows.numbers("people"), rows.numbers("bound"), color)
        curves[f"seen, ε = {epsilon:g}"] = Series(rows.numbers("people"), rows.numbers("seen"), color, ":")
    return draw_curves(
        {"": curves},
        x_label="people n",
        y_label="probability that L is strictly concave",
        size=(7.2, 4.0),
    )


def judge_concavity(tables: Tables) -> list[Claim]:
    """Judge what the paper says of it."""
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


RAPPOR_CONCAVITY = Computation(
    name="rappor-concavity",
    title="How many people RAPPOR needs for a strictly concave likelihood",
    paper=("fig:probability_of_s_concavity_rappor",),
    compute=compute_concavity,
    kinds={RESULTS: CONCAVITY_COLUMNS},
    pictures=(
        Picture(
            "rappor-concavity",
            "Solid: the paper's lower bound on the probability that the log-likelihood under RAPPOR with ten values is "
            f"strictly concave. Dotted: how often it was, among {TRIALS} populations with values drawn evenly.",
            draw_concavity,
        ),
    ),
    claims=judge_concavity,
)

EPSILON = 0.5
OUTPUTS = Grid(4, 4, spacing=1.0, unit="km")
RANDOM_STARTS = ("random 1", "random 2")
STARTS = ("uniform", *RANDOM_STARTS)
# Nats that no distribution can be better by, for all 103,292 people together.
TOLERANCE = 0.1

# Iterations: where the likelihood is flat, IBU creeps.
LIMIT = 500_000

MAXIMA_COLUMNS = {
    "estimate": "text",
    "cell": "whole",
    "share": "number",
    "lowest": "number",
    "highest": "number",
    "certificate": "number",
    "emd": "number",
    "seed": "whole",
}


def compute_maxima() -> dict[str, Table]:
    """Run IBU from three starts, and find the set of maxima."""
    from confide.theory.maximum_set import maximum_set_of

    people = san_francisco()
    evidence = _evidence(people)
    best = maximum_set_of(evidence, people.alphabet)
    rows = []
    for name, found in {"original": people.distribution, **_estimates(evidence)}.items():
        certificate, distance = evidence.certificate(found), emd(found, people.distribution, people.alphabet)
        ends = zip(found.tolist(), best.lowest.tolist(), best.highest.tolist(), strict=True)
        seed = seed_of("san-francisco", name) if name in RANDOM_STARTS else None
        rows += [(name, cell, *shares, certificate, distance, seed) for cell, shares in enumerate(ends)]
    return {RESULTS: Table(MAXIMA_COLUMNS, tuple(rows))}


def _evidence(people: Dataset) -> Evidence:
    """Return the exact distribution of reports, as of infinitely many people."""
    if not isinstance(people.alphabet, Grid):
        raise InvalidParameterError(f"San Francisco should be a grid; got {people.alphabet!r}.")
    channel = truncated(PlanarGeometric(people.alphabet, EPSILON), OUTPUTS).channel
    return Evidence(channel, channel.push(people.distribution) * people.total)


def _estimates(evidence: Evidence) -> dict[str, FloatArray]:
    """Return what IBU reaches from each start, with proof."""
    return {
        name: IBU(stop="certificate", tolerance=TOLERANCE, start=_start(name, evidence), iteration_limit=LIMIT)
        .solve(evidence)
        .distribution
        for name in STARTS
    }


def _start(name: str, evidence: Evidence) -> FloatArray | None:
    """Return a random distribution, or None for the uniform one."""
    if name not in RANDOM_STARTS:
        return None
    generator = np.random.default_rng(seed_of("san-francisco", name))
    drawn = generator.dirichlet(np.ones(evidence.channel.shape[0])) + 1e-6  # IBU never leaves a zero
    return drawn / float(drawn.sum())


def draw_maxima(tables: Tables) -> Figure:
    """Draw the original and the three estimates."""
    from confide.present.figures import Panel, Role, draw_distributions

    panels = []
    for name in ("original", *STARTS):
        rows = tables[RESULTS].where(estimate=name)
        is_truth = name == "original"
        title = "Original" if is_truth else f"IBU, {name} start"
        remark = "" if is_truth else f"EMD {rows.median('emd'):.3f} km"
        panels.append(Panel(title, rows.numbers("share"), remark, role=Role.TRUTH if is_truth else Role.ESTIMATE))
    return draw_distributions(san_francisco().alphabet, panels)


def judge_maxima(tables: Tables) -> list[Claim]:
    """Judge what the paper says of it."""
    results = tables[RESULTS]
    estimates = results.where(estimate=list(STARTS))
    width = float((results.numbers("highest") - results.numbers("lowest")).max())
    distances = [estimates.where(estimate=name).median("emd") for name in STARTS]
    return [
        judge(
            "San Francisco: different distributions are fixed points of IBU, and may be produced by it",
            "three maps",
            f"three starts end {', '.join(f'{one:.3f}' for one in distances)} km from the original, each within "
            f"{estimates.numbers('certificate').max():.1g} nats of the maximum",
            holds=min(distances) > 0.05 and float(estimates.numbers("certificate").max()) <= TOLERANCE,
            note="Reports are exact: infinitely many people would not help.",
        ),
        judge(
            "San Francisco: the mechanism does not identify the distribution",
            "25 values, 16 outputs",
            f"among all maximum-likelihood estimates the share of one cell ranges over {100 * width:.1f} percentage "
            "points",
            holds=width > 0.01,
        ),
    ]


SAN_FRANCISCO = Computation(
    name="san-francisco",
    title="Three best estimates that disagree",
    paper=("fig:multiple_mles",),
    compute=compute_maxima,
    kinds={RESULTS: MAXIMA_COLUMNS},
    pictures=(
        Picture(
            "san-francisco",
            "Check-ins in San Francisco, 5 x 5 cells of a kilometre, and three estimates that IBU reaches from three "
            "starts. Reports went through a planar geometric mechanism at 0.5 per km and were cut to 4 x 4 cells: "
            "with 16 outputs for 25 values the reports cannot tell these four apart.",
            draw_maxima,
        ),
    ),
    claims=judge_maxima,
    notes=(
        (
            "The paper gives neither the bounds of its region nor its starts. The bounds are those of the bundled "
            "data; the starts are the uniform distribution and two drawn at random."
        ),
    ),
)
