"""All plotting of confide; matplotlib is loaded with the first figure.

One look for all: the colours, fonts and lines of `style.py`. A new geometry gets a scene of its own (a line, a map,
bars) and joins in `distributions.choose_scene`.
"""

from confide.present.figures.certainty import draw_ranges, draw_residuals
from confide.present.figures.maps import draw_classes
from confide.present.figures.shares import PanelSheet, draw_distributions, draw_sheet, draw_windows
from confide.present.figures.style import Panel, Role, to_pdf, to_png, to_svg, to_svg_file
from confide.present.figures.tradeoffs import draw_path, draw_tradeoff

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
