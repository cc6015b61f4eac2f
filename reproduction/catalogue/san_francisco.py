"""San Francisco: a mechanism with fewer outputs than values has many maximum-likelihood estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from confide.alphabets import Grid
from confide.channels.base import FloatArray
from confide.datasets import Dataset, san_francisco
from confide.distances import emd
from confide.errors import InvalidParameterError
from confide.evidence import Evidence
from confide.mechanisms import PlanarGeometric, truncated
from confide.methods import IBU
from reproduction.base import RESULTS, Claim, Computation, Picture, Tables, judge
from reproduction.declarations import seed_of
from reproduction.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPSILON = 0.5
OUTPUTS = Grid(4, 4, spacing=1.0, unit="km")
RANDOM_STARTS = ("random 1", "random 2")
STARTS = ("uniform", *RANDOM_STARTS)
TOLERANCE = 0.1
"""Nats that no distribution can be better by, for all 103,292 people together."""

LIMIT = 500_000
"""Iterations: where the likelihood is flat, IBU creeps."""

COLUMNS = {
    "estimate": "text",
    "cell": "whole",
    "share": "number",
    "lowest": "number",
    "highest": "number",
    "certificate": "number",
    "emd": "number",
    "seed": "whole",
}


def compute() -> dict[str, Table]:
    """Run IBU from three starts on the exact distribution of reports, and find the whole set of maxima."""
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
    return {RESULTS: Table(COLUMNS, tuple(rows))}


def _evidence(people: Dataset) -> Evidence:
    """Return the reports of infinitely many people, as the paper does: their distribution is exact."""
    if not isinstance(people.alphabet, Grid):
        raise InvalidParameterError(f"San Francisco should be a grid; got {people.alphabet!r}.")
    channel = truncated(PlanarGeometric(people.alphabet, EPSILON), OUTPUTS).channel
    return Evidence(channel, channel.push(people.distribution) * people.total)


def _estimates(evidence: Evidence) -> dict[str, FloatArray]:
    """Return what IBU reaches from each start, run until it is as good as proven."""
    return {
        name: IBU(stop="certificate", tolerance=TOLERANCE, start=_start(name, evidence), iteration_limit=LIMIT)
        .solve(evidence)
        .distribution
        for name in STARTS
    }


def _start(name: str, evidence: Evidence) -> FloatArray | None:
    """Return a distribution drawn evenly from all, or None for the uniform one."""
    if name not in RANDOM_STARTS:
        return None
    generator = np.random.default_rng(seed_of("san-francisco", name))
    drawn = generator.dirichlet(np.ones(evidence.channel.shape[0])) + 1e-6  # IBU never leaves a zero
    return drawn / float(drawn.sum())


def draw(tables: Tables) -> Figure:
    """Draw the original and the three estimates."""
    from confide.figures import Panel, Role, draw_distributions

    panels = []
    for name in ("original", *STARTS):
        rows = tables[RESULTS].where(estimate=name)
        is_truth = name == "original"
        title = "Original" if is_truth else f"IBU, {name} start"
        remark = "" if is_truth else f"EMD {rows.median('emd'):.3f} km"
        panels.append(Panel(title, rows.numbers("share"), remark, role=Role.TRUTH if is_truth else Role.ESTIMATE))
    return draw_distributions(san_francisco().alphabet, panels)


def check(tables: Tables) -> list[Claim]:
    """Lay the paper's words beside the numbers."""
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


EXPERIMENT = Computation(
    name="san-francisco",
    title="Three best estimates that disagree",
    paper=("fig:multiple_mles",),
    compute=compute,
    kinds={RESULTS: COLUMNS},
    pictures=(
        Picture(
            "san-francisco",
            "Check-ins in San Francisco, 5 x 5 cells of a kilometre, and three estimates that IBU reaches from three "
            "starts. Reports went through a planar geometric mechanism at 0.5 per km and were cut to 4 x 4 cells: "
            "with 16 outputs for 25 values the reports cannot tell these four apart.",
            draw,
        ),
    ),
    claims=check,
    notes=(
        (
            "The paper gives neither the bounds of its region nor its starts. The bounds are those of the bundled "
            "data; the starts are the uniform distribution and two drawn at random."
        ),
    ),
)
