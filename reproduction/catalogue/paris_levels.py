"""Paris under four planar mechanisms and k-RR, over levels of privacy."""

from __future__ import annotations

from reproduction.base import RESULTS, Claim, Comparison, Tables, cross
from reproduction.blurs import levels
from reproduction.catalogue import manhattan_levels
from reproduction.charts import box_pictures, part
from reproduction.claims import are_comparable, is_far_better
from reproduction.contenders import USUAL
from reproduction.sources import Bundled

MECHANISMS = manhattan_levels.MECHANISMS
LEVELS = (0.2, 0.4, 0.6, 1.0, 2.0, 3.0)
KRR_LEVELS = (0.5, 1.0, 2.0, 2.5, 3.0, 4.0)
PARTS = (
    *(part(title, "km", mechanism=kind) for kind, title in MECHANISMS.items()),
    part("k-RR", "km", mechanism="randomized-response"),
)


def check(tables: Tables) -> list[Claim]:
    """Lay the paper's words beside the numbers."""
    return [
        is_far_better("Paris", tables, tuple(MECHANISMS), strong=1.0),
        are_comparable("Paris, k-RR", tables[RESULTS].where(mechanism="randomized-response"), ("INV-N", "INV-P")),
    ]


EXPERIMENT = Comparison(
    name="paris-levels",
    title="Places in Paris",
    paper=("fig:box_estimators_paris_emd",),
    settings=cross(
        Bundled("paris"),
        [
            *(blur for kind in MECHANISMS for blur in levels(kind, *LEVELS)),
            *levels("randomized-response", *KRR_LEVELS),
        ],
    ),
    contenders=USUAL,
    pictures=box_pictures(
        "paris-levels",
        "Error of the estimated distribution of check-ins in Paris by level of privacy.",
        PARTS,
        level="epsilon",
        x_label="privacy level ε (per km; k-RR: per person)",
        columns=2,
    ),
    claims=check,
    notes=("The paper shows this in earth mover's distance alone; total variation comes from the same runs.",),
)
