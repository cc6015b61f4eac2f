"""The region of Manhattan and where its check-ins are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.datasets import manhattan
from reproduction.base import RESULTS, Claim, Computation, Picture, Tables, Verdict
from reproduction.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = {"row": "whole", "column": "whole", "north": "number", "east": "number", "people": "whole"}


def compute() -> dict[str, Table]:
    """Return one row a cell: its number, where its centre is in kilometres, and how many check-ins it has."""
    dataset = manhattan()
    cells, centres = dataset.alphabet.decode(range(dataset.alphabet.size)), dataset.alphabet.coordinates
    rows = zip(cells.tolist(), centres.tolist(), dataset.histogram.tolist(), strict=True)
    return {RESULTS: Table(COLUMNS, tuple((*cell, *centre, people) for cell, centre, people in rows))}


def draw(tables: Tables) -> Figure:
    """Draw the map."""
    from confide.figures import Panel, Role, draw_distributions

    people = tables[RESULTS].numbers("people")
    panel = Panel("Manhattan", people / people.sum(), f"{people.sum():,.0f} check-ins", role=Role.TRUTH)
    return draw_distributions(manhattan().alphabet, [panel])


def check(tables: Tables) -> list[Claim]:
    """Lay the paper's number beside ours."""
    total = int(tables[RESULTS].numbers("people").sum())
    return [
        Claim(
            "Check-ins in Manhattan",
            "98,060",
            f"{total:,}",
            Verdict.DIFFERS,
            "One check-in lies on the rim of the bounds, which the paper prints rounded to four digits.",
        )
    ]


EXPERIMENT = Computation(
    name="manhattan-map",
    title="Manhattan in cells of half a kilometre",
    paper=("fig:manhattan_map",),
    compute=compute,
    kinds={RESULTS: COLUMNS},
    pictures=(
        Picture(
            "manhattan-map",
            "The region of Manhattan (latitude 40.7044 to 40.7942, longitude -74.0205 to -73.9374) in 20 x 14 cells "
            "of half a kilometre, and the share of Gowalla check-ins in each.",
            draw,
        ),
    ),
    claims=check,
    notes=("The paper lays the heat map over a street map, which is not ours to ship; the cells are the same.",),
)
