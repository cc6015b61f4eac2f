"""Manhattan under four planar mechanisms, over levels of privacy."""

from __future__ import annotations

from reproduction.base import Claim, Comparison, Tables, cross
from reproduction.blurs import levels
from reproduction.charts import EPSILON_PER_KM, box_pictures, part
from reproduction.claims import improves_with_epsilon, is_far_better
from reproduction.contenders import USUAL
from reproduction.sources import Bundled

LEVELS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0)
MECHANISMS = {
    "truncated-taxicab": "Truncated taxicab",
    "truncated-planar-geometric": "Truncated planar geometric",
    "truncated-planar-laplace": "Truncated planar Laplace",
    "exponential": "Exponential",
}


def check(tables: Tables) -> list[Claim]:
    """Lay the paper's words beside the numbers."""
    return [
        is_far_better("Manhattan", tables, tuple(MECHANISMS), strong=1.0),
        improves_with_epsilon("Manhattan", tables),
    ]


EXPERIMENT = Comparison(
    name="manhattan-levels",
    title="Places in Manhattan under geo-indistinguishability",
    paper=("fig:box_estimators_geind", "fig:box_estimators_geind_tv"),
    settings=cross(Bundled("manhattan"), [blur for kind in MECHANISMS for blur in levels(kind, *LEVELS)]),
    contenders=USUAL,
    pictures=box_pictures(
        "manhattan-levels",
        "Error of the estimated distribution of check-ins in Manhattan by level of privacy, under four planar "
        "mechanisms.",
        tuple(part(title, "km", mechanism=kind) for kind, title in MECHANISMS.items()),
        level="epsilon",
        x_label=EPSILON_PER_KM,
        columns=2,
    ),
    claims=check,
    notes=("The paper gives the range of levels, 0.2 to 3.0, but not the levels; these eight are ours.",),
)
