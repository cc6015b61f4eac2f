"""Lab procedures per hospital stay under three metric mechanisms and k-RR, over levels of privacy."""

from __future__ import annotations

from reproduction.base import RESULTS, Claim, Comparison, Tables, cross
from reproduction.blurs import levels
from reproduction.catalogue import ages_levels, krr_levels
from reproduction.charts import box_pictures, part
from reproduction.claims import are_comparable, is_far_better
from reproduction.contenders import USUAL
from reproduction.sources import Bundled

LEVELS, KRR_LEVELS, MECHANISMS = ages_levels.LEVELS, krr_levels.LEVELS, ages_levels.MECHANISMS
X_LABEL = "privacy level ε (per procedure; k-RR: per person)"
PARTS = (
    *(part(title, "procedure", mechanism=kind) for kind, title in MECHANISMS.items()),
    part("k-RR", "procedure", mechanism="randomized-response"),
)


def check(tables: Tables) -> list[Claim]:
    """Lay the paper's words beside the numbers."""
    return [
        is_far_better("Lab procedures", tables, tuple(MECHANISMS), strong=0.1),
        are_comparable(
            "Lab procedures, k-RR", tables[RESULTS].where(mechanism="randomized-response"), ("INV-N", "INV-P")
        ),
    ]


EXPERIMENT = Comparison(
    name="lab-levels",
    title="Lab procedures per hospital stay",
    paper=("fig:box_estimators_labTests_emd",),
    settings=cross(
        Bundled("lab_procedures"),
        [
            *(blur for kind in MECHANISMS for blur in levels(kind, *LEVELS)),
            *levels("randomized-response", *KRR_LEVELS),
        ],
    ),
    contenders=USUAL,
    pictures=box_pictures(
        "lab-levels",
        "Error of the estimated distribution of lab procedures per stay (UCI Diabetes 130-US) by level of privacy.",
        PARTS,
        level="epsilon",
        x_label=X_LABEL,
        columns=2,
    ),
    claims=check,
    notes=("The paper shows this in earth mover's distance alone; total variation comes from the same runs.",),
)
