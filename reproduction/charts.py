"""Charts that experiments share: which rows go into which panel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confide.data.datasets import load
from confide.values import Alphabet, Grid, Integers
from confide.values.wording import plural, with_unit
from reproduction.cells import USUAL
from reproduction.experiments import Comparison, Picture
from reproduction.table import RESULTS, SHARES, Table, Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from confide.present.figures import Panel
    from confide.present.figures.style import FloatArray

TITLES = {"noisy": "Noisy", "Stacked": "Stacked (default)"}
READING = "Boxes are quartiles, the white line is the median, whiskers reach the extremes."


def per(unit: str) -> str:
    """Return the words at an axis of privacy levels.

    >>> per("per year")
    'ε (per year); smaller is more private'
    """
    return f"ε ({unit}); smaller is more private"


@dataclass(frozen=True)
class PanelRows:
    """Rows of one panel, its title, and the unit of EMD."""

    title: str
    rows: tuple[tuple[str, Any], ...]
    unit: str = ""

    def of(self, table: Table) -> Table:
        """Return the rows of this panel."""
        return table.where(**dict(self.rows))


def panel(title: str, unit: str = "", **rows: Any) -> PanelRows:
    """Return a panel of the rows that hold these cells."""
    return PanelRows(title, tuple(rows.items()), unit)


@dataclass(frozen=True)
class BoxChart:
    """Box plots of an error by level and method.

    Another column may stand for the method.
    """

    panels: tuple[PanelRows, ...]
    measure: str
    level: str
    x_label: str
    columns: int = 3
    by: str = "method"

    def __call__(self, tables: Tables) -> Figure:
        """Draw it."""
        from reproduction.plots import BoxPanel, draw_boxes

        panels = []
        for one in self.panels:
            rows = one.of(tables[RESULTS])
            steps = rows.distinct(self.level)
            labels = tuple(short_count(step) if self.level == "people" else f"{step:g}" for step in steps)
            panels.append(BoxPanel(one.title, labels, self._series(rows, steps), self._y_label(one)))
        is_logarithmic = self.measure == "emd"
        is_ordered = self.by != "method"  # settings of one method
        return draw_boxes(
            panels,
            x_label=self.x_label,
            columns=self.columns,
            is_logarithmic=is_logarithmic,
            is_ordered=is_ordered,
        )

    def _y_label(self, one: PanelRows) -> str:
        if self.measure != "emd":
            return "total variation"
        return f"EMD ({plural(one.unit)})" if one.unit else "EMD"

    def _series(self, rows: Table, steps: list[Any]) -> Mapping[str, list[Any]]:
        names = [name for name in rows.distinct(self.by) if rows.where(**{self.by: name}).numbers(self.measure).size]
        chosen = {name: rows.where(**{self.by: name}) for name in names}
        return {
            TITLES.get(name, name) if self.by == "method" else f"δ = {name:g}": [
                found.where(**{self.level: step}).numbers(self.measure) for step in steps
            ]
            for name, found in chosen.items()
        }


def box_comparison(
    panels: tuple[PanelRows, ...], caption: str, *, level: str, x_label: str, columns: int = 2, **declared: Any
) -> Comparison:
    """Return an experiment with box plots of EMD and total variation.

    Parameters
    ----------
    panels, caption, level, x_label, columns
        Panels, words and axes of both figures.
    declared
        Everything else that a :class:`Comparison` declares; the methods are the usual ones if left out.
    """
    pictures = tuple(
        Picture(
            f"{declared['name']}-{ending}",
            f"{caption} The error is {words}. {READING}",
            BoxChart(panels, measure, level, x_label, columns),
        )
        for ending, measure, words in (
            ("emd", "emd", "the earth mover's distance (EMD), on a logarithmic axis"),
            ("tv", "total_variation", "the total variation"),
        )
    )
    return Comparison(**{"contenders": USUAL, "pictures": pictures} | declared)


@dataclass(frozen=True)
class DistributionChart:
    """Estimated distributions of the first repeat, side by side with the truth.

    Attributes
    ----------
    data, methods
        Name of the data in the tables, and the methods to show.
    value_name
        Name of a value, such as ``age``.
    delta
        Delta of the IBU that is shown, where there are several.
    """

    data: str
    methods: tuple[str, ...]
    value_name: str = "value"
    delta: float | None = None

    def __call__(self, tables: Tables) -> Figure:
        """Draw it."""
        from confide.present.figures import Panel, Role, draw_distributions

        truth = self._of(tables[SHARES], self.methods[0]).numbers("truth")
        # On a line the truth stands behind each estimate; a map needs one of its own.
        panels = [Panel("Original", truth, role=Role.TRUTH)] * isinstance(alphabet_of(self.data), Grid)
        panels += [self._panel(tables, method, truth) for method in self.methods]
        return draw_distributions(alphabet_of(self.data), panels, name=self.value_name)

    def _panel(self, tables: Tables, method: str, truth: FloatArray) -> Panel:
        from confide.present.figures import Panel, Role

        distance = self._of(tables[RESULTS].where(repeat=0), method).median("emd")
        unit = alphabet_of(self.data).unit
        return Panel(
            TITLES.get(method, method),
            self._of(tables[SHARES], method).numbers("share"),
            f"EMD {with_unit(distance, unit) if unit else f'{distance:.3f}'}",
            reference=truth,
            role=Role.NOISY if method == "noisy" else Role.ESTIMATE,
        )

    def _of(self, table: Table, method: str) -> Table:
        rows = table.where(data=self.data, method=method)
        return rows.where(delta=self.delta) if method == "IBU" and self.delta is not None else rows


def alphabet_of(data: str) -> Alphabet:
    """Return the alphabet of a dataset by its label in tables."""
    if data.startswith("binomial("):
        return Integers(0, int(data.partition("(")[2].partition(",")[0]))
    return Integers(0, 9) if data.startswith("uniform{") else load(data).alphabet


def short_count(number: float) -> str:
    """Return a number of people as short as it goes.

    >>> short_count(1000), short_count(200_000), short_count(3_200_000), short_count(500)
    ('1k', '200k', '3.2M', '500')
    """
    for size, letter in ((1_000_000, "M"), (1000, "k")):
        if number >= size:
            return f"{number / size:g}{letter}"
    return f"{number:g}"
