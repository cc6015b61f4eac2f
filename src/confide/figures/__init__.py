"""All plotting, and nothing else draws. Needs matplotlib, which is loaded when the first figure is drawn.

One look for all: the colours, fonts and lines of :mod:`confide.figures.style`. A new kind of alphabet gets a scene of
its own (a line, a map, bars) and joins by standing in :func:`confide.figures.distributions.choose_scene`.
"""

from confide.figures.certainty import draw_ranges, draw_residuals, draw_windows
from confide.figures.distributions import PanelSheet, draw_distributions, draw_sheet
from confide.figures.maps import draw_classes
from confide.figures.output import to_pdf, to_png, to_svg, to_svg_file
from confide.figures.panels import Panel, Role
from confide.figures.paths import draw_path
from confide.figures.tradeoffs import draw_tradeoff

__all__ = [
    "Panel",
    "PanelSheet",
    "Role",
    "draw_classes",
    "draw_distributions",
    "draw_path",
    "draw_ranges",
    "draw_residuals",
    "draw_sheet",
    "draw_tradeoff",
    "draw_windows",
    "to_pdf",
    "to_png",
    "to_svg",
    "to_svg_file",
]
