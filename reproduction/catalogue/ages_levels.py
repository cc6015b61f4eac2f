"""Ages under three metric mechanisms, over levels of privacy."""

from __future__ import annotations

from reproduction.base import Claim, Comparison, Tables, cross
from reproduction.blurs import levels
from reproduction.charts import EPSILON_PER_YEAR, box_pictures, part
from reproduction.claims import improves_with_epsilon, is_far_better
from reproduction.contenders import USUAL
from reproduction.sources import Bundled

LEVELS = (0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.3)
MECHANISMS = {
    "truncated-geometric": "Truncated geometric",
    "truncated-laplace": "Truncated Laplace",
    "exponential": "Exponential",
}


def check(tables: Tables) -> list[Claim]:
    """Lay the paper's words beside the numbers."""
    return [
        is_far_better("Ages", tables, tuple(MECHANISMS), strong=0.1),
        improves_with_epsilon("Ages", tables),
    ]


EXPERIMENT = Comparison(
    name="ages-levels",
    title="Ages under metric privacy",
    paper=("fig:box_estimators_dprivacy", "fig:box_estimators_dprivacy_tv"),
    settings=cross(Bundled("adult_ages"), [blur for kind in MECHANISMS for blur in levels(kind, *LEVELS)]),
    contenders=USUAL,
    pictures=box_pictures(
        "ages-levels",
        "Error of the estimated distribution of ages by level of privacy, under three metric mechanisms.",
        tuple(part(title, "year", mechanism=kind) for kind, title in MECHANISMS.items()),
        level="epsilon",
        x_label=EPSILON_PER_YEAR,
    ),
    claims=check,
    notes=("The paper gives the range of levels, 0.01 to 0.3, but not the levels; these eight are ours.",),
)
