"""Two estimates with different distances from the truth: a good start and a small delta, a bad one and a large one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reproduction.base import RESULTS, SHARES, Comparison, Picture, Tables, cross
from reproduction.blurs import levels
from reproduction.catalogue.start_delta import DATA, started

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GOOD, BAD = started(0.01, 0.3), started(1.0, 0.8)


def draw(tables: Tables) -> Figure:
    """Draw the two estimates over the truth."""
    from confide.figures import Panel, draw_distributions

    panels = []
    for contender in (GOOD, BAD):
        chosen = {"delta": contender.delta, "start": contender.start}
        row, shares = tables[RESULTS].where(repeat=0, **chosen), tables[SHARES].where(**chosen)
        title = f"δ = {contender.delta:g}, start p = {contender.start:g}"
        remark = f"EMD {row.median('emd'):.3f} after {row.median('iterations'):.0f} iterations"
        panels.append(Panel(title, shares.numbers("share"), remark, shares.numbers("truth")))
    return draw_distributions(DATA.alphabet, panels)


EXPERIMENT = Comparison(
    name="start-examples",
    title="A good and a bad choice of start and delta",
    paper=("fig:distributions",),
    settings=cross(DATA, levels("truncated-geometric", 0.1)),
    contenders=(GOOD, BAD),
    keeps_shares=True,
    pictures=(
        Picture(
            "start-examples",
            "Two estimates of IBU at epsilon 0.1 (first repeat). The paper prints EMD 0.075 and 0.321 for draws of "
            "its own.",
            draw,
        ),
    ),
)
