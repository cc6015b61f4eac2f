"""k-RR on ages and on Manhattan, over levels of privacy."""

from __future__ import annotations

from reproduction.base import RESULTS, Claim, Comparison, Tables, cross
from reproduction.blurs import levels
from reproduction.charts import EPSILON, box_pictures, part
from reproduction.claims import are_comparable
from reproduction.contenders import USUAL
from reproduction.sources import Bundled

LEVELS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)
NAMES = {"adult_ages": "Ages", "manhattan": "Manhattan"}
PARTS = (part("Ages", "year", data="adult_ages"), part("Manhattan", "km", data="manhattan"))


def check(tables: Tables) -> list[Claim]:
    """Lay the paper's words beside the numbers."""
    return [
        are_comparable(f"{title}, k-RR", tables[RESULTS].where(data=data), ("INV-N", "INV-P"))
        for data, title in NAMES.items()
    ]


EXPERIMENT = Comparison(
    name="krr-levels",
    title="k-RR on ages and on Manhattan",
    paper=("fig:box_estimators_krr_emd", "fig:box_estimators_krr_tv"),
    settings=cross((Bundled("adult_ages"), Bundled("manhattan")), levels("randomized-response", *LEVELS)),
    contenders=USUAL,
    pictures=box_pictures(
        "krr-levels",
        "Error of the estimated distribution under k-ary randomized response (k-RR), by level of privacy.",
        PARTS,
        level="epsilon",
        x_label=EPSILON,
        columns=2,
    ),
    claims=check,
)
