"""k-RR at 3.0 on ages and on Manhattan, over numbers of people."""

from __future__ import annotations

from reproduction.base import RESULTS, Claim, Comparison, Tables, cross
from reproduction.blurs import levels
from reproduction.catalogue.ages_sizes import SIZES
from reproduction.catalogue.krr_levels import NAMES, PARTS
from reproduction.charts import PEOPLE, box_pictures
from reproduction.claims import are_comparable
from reproduction.contenders import USUAL
from reproduction.sources import Bundled


def check(tables: Tables) -> list[Claim]:
    """Lay the paper's words beside the numbers."""
    return [
        are_comparable(
            f"{title}, k-RR at 3.0, all sizes", tables[RESULTS].where(data=data), ("INV-N", "INV-P"), level="people"
        )
        for data, title in NAMES.items()
    ]


EXPERIMENT = Comparison(
    name="krr-sizes",
    title="k-RR: more people, smaller errors",
    paper=("fig:box_var_data_krr_emd", "fig:box_var_data_krr_tv"),
    settings=cross([Bundled(name, size) for name in NAMES for size in SIZES], levels("randomized-response", 3.0)),
    contenders=USUAL,
    pictures=box_pictures(
        "krr-sizes",
        "Error by number of people under k-ary randomized response at epsilon 3.0.",
        PARTS,
        level="people",
        x_label=PEOPLE,
        columns=2,
    ),
    claims=check,
)
