"""The log-likelihood over all distributions on three values, for two mechanisms and two sets of reports each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.alphabets import Integers
from confide.counts import tally
from confide.mechanisms import FromMatrix
from reproduction.base import RESULTS, Claim, Computation, Picture, Tables, judge
from reproduction.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Matrix = list[list[float]]

VALUES = Integers(1, 3)
STEPS = 60
"""Steps along one side of the triangle."""

FIRST: Matrix = [[0.10, 0.45, 0.45], [0.45, 0.10, 0.45], [0.45, 0.45, 0.10]]
"""The paper's equation sconcavity_depends_on_observations."""

SECOND: Matrix = [[0.45, 0.10, 0.45], [0.05, 0.90, 0.05], [0.45, 0.10, 0.45]]
"""The paper's equation mle_unique_likelihood_not_s_concave."""

CASES: dict[str, tuple[Matrix, tuple[int, ...]]] = {
    "First mechanism, reports {2}": (FIRST, (2,)),
    "First mechanism, reports {2, 1}": (FIRST, (2, 1)),
    "Second mechanism, reports {2, 2, 2, 2}": (SECOND, (2, 2, 2, 2)),
    "Second mechanism, reports {2, 2, 2, 2, 1, 3}": (SECOND, (2, 2, 2, 2, 1, 3)),
}
PRINTED = (("no", "no"), ("yes", "yes"), ("no", "yes"), ("no", "no"))
"""Whether the paper calls each strictly concave, and its maximum unique."""

COLUMNS = {"case": "text", "theta_1": "number", "theta_2": "number", "theta_3": "number", "log_likelihood": "number"}
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


def compute() -> dict[str, Table]:
    """Return the log-likelihood on a grid of distributions, and what theory says of each case."""
    return {
        RESULTS: Table.of(COLUMNS, (row for name in CASES for row in _heights(name))),
        FACTS: Table.of(FACT_COLUMNS, (_facts(name) for name in CASES)),
    }


def _heights(name: str) -> Iterator[dict[str, Any]]:
    matrix, reports = CASES[name]
    evidence = FromMatrix(VALUES, matrix).observe(tally(list(reports)))
    for first in range(STEPS + 1):
        for third in range(STEPS + 1 - first):
            theta = np.array([first, STEPS - first - third, third]) / STEPS
            point = dict(zip(("theta_1", "theta_2", "theta_3"), theta.tolist(), strict=True))
            yield {"case": name} | point | {"log_likelihood": evidence.log_likelihood(theta)}


def _facts(name: str) -> dict[str, Any]:
    """Return the verdicts of theory, and the two ends of the set of maxima."""
    from confide.theory.concavity import strict_concavity
    from confide.theory.maximum_set import maximum_set
    from confide.theory.uniqueness import uniqueness

    matrix, reports = CASES[name]
    mechanism, counts = FromMatrix(VALUES, matrix), tally(list(reports))
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


def draw(tables: Tables) -> Figure:
    """Draw the four landscapes."""
    from reproduction.surfaces import Surface, draw_surfaces

    surfaces = []
    for name in CASES:
        rows, facts = tables[RESULTS].where(case=name), tables[FACTS].where(case=name)
        ends = [[facts.median(f"{end}_{place}") for place in (1, 3)] for end in ("lowest", "highest")]
        remark = f"strictly concave: {facts.column('strictly_concave')[0]}; unique maximum: {facts.column('unique')[0]}"
        first, third, heights = (rows.numbers(column) for column in ("theta_1", "theta_3", "log_likelihood"))
        surfaces.append(Surface(name, remark, first, third, heights, np.array(ends)))
    return draw_surfaces(surfaces, x_label="θ₁, share of value 1", y_label="θ₃, share of value 3")


def check(tables: Tables) -> list[Claim]:
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


EXPERIMENT = Computation(
    name="likelihood-surfaces",
    title="When the likelihood has one maximum, and when many",
    paper=("fig:sconcavity_depends_on_observations", "fig:uniqueness_vs_sconcavity"),
    compute=compute,
    kinds={RESULTS: COLUMNS, FACTS: FACT_COLUMNS},
    pictures=(
        Picture(
            "likelihood-surfaces",
            "The log-likelihood L over all distributions on three values, for two mechanisms and two sets of reports "
            "each. Where the highest points form an edge, reports cannot tell its distributions apart.",
            draw,
        ),
    ),
    claims=check,
    notes=("The paper draws these as surfaces in space; contours show flat edges more plainly.",),
)
