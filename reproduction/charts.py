"""Pictures that several experiments share, as frozen values: which rows of the table go into which panel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.alphabets import Alphabet, Grid, Integers
from confide.datasets import load
from confide.wording import plural, with_unit
from reproduction.base import RESULTS, SHARES, Picture, Tables
from reproduction.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from confide.figures import Panel
    from confide.figures.panels import FloatArray

EPSILON_PER_YEAR = "privacy level ε (per year); smaller is more private"
EPSILON_PER_KM = "privacy level ε (per km); smaller is more private"
EPSILON = "privacy level ε (per person); smaller is more private"
PEOPLE = "people n"

READING = "Boxes are quartiles, the white line is the median, whiskers reach the extremes."


@dataclass(frozen=True)
class Part:
    """One panel: its title, and what its rows have in common."""

    title: str
    rows: tuple[tuple[str, Any], ...]
    unit: str = ""

    def of(self, table: Table) -> Table:
        """Return the rows of this panel."""
        return table.where(**dict(self.rows))


def part(title: str, unit: str = "", **rows: Any) -> Part:
    """Return a panel of the rows that hold these cells; the unit is that of their earth mover's distance."""
    return Part(title, tuple(rows.items()), unit)


@dataclass(frozen=True)
class Boxes:
    """Box plots of an error over repeats, by level and method."""

    parts: tuple[Part, ...]
    measure: str
    level: str
    x_label: str
    columns: int = 3
    by: str = "method"

    def __call__(self, tables: Tables) -> Figure:
        """Draw it."""
        from reproduction.boxes import BoxPanel, draw_boxes

        panels = []
        for one in self.parts:
            rows = one.of(tables[RESULTS])
            steps = rows.distinct(self.level)
            labels = tuple(_label(self.level, step) for step in steps)
            panels.append(BoxPanel(one.title, labels, self._series(rows, steps), self._y_label(one)))
        return draw_boxes(
            panels,
            x_label=self.x_label,
            columns=self.columns,
            is_logarithmic=self.measure == "emd",
        )

    def _y_label(self, one: Part) -> str:
        if self.measure != "emd":
            return "total variation"
        return f"EMD ({plural(one.unit)})" if one.unit else "EMD"

    def _series(self, rows: Table, steps: list[Any]) -> Mapping[str, list[Any]]:
        names = [name for name in rows.distinct(self.by) if rows.where(**{self.by: name}).numbers(self.measure).size]
        chosen = {name: rows.where(**{self.by: name}) for name in names}
        return {
            _series_name(self.by, name): [found.where(**{self.level: step}).numbers(self.measure) for step in steps]
            for name, found in chosen.items()
        }


def box_pictures(name: str, caption: str, parts: tuple[Part, ...], **settings: Any) -> tuple[Picture, ...]:
    """Return the figure in earth mover's distance and the one in total variation, from the same runs."""
    return (
        Picture(
            f"{name}-emd",
            f"{caption} The error is the earth mover's distance (EMD), on a logarithmic axis. {READING}",
            Boxes(parts, "emd", **settings),
        ),
        Picture(
            f"{name}-tv",
            f"{caption} The error is the total variation. {READING}",
            Boxes(parts, "total_variation", **settings),
        ),
    )


@dataclass(frozen=True)
class Distributions:
    """The estimated distributions of the first repeat, side by side with the truth."""

    data: str
    methods: tuple[str, ...]
    value_name: str = "value"
    delta: float | None = None
    """Which IBU is shown, where there are several."""

    def __call__(self, tables: Tables) -> Figure:
        """Draw it."""
        from confide.figures import Panel, Role, draw_distributions

        truth = self._of(tables[SHARES], self.methods[0]).numbers("truth")
        # On a line the truth stands behind each estimate; a map needs one of its own.
        panels = [Panel("Original", truth, role=Role.TRUTH)] * isinstance(alphabet_of(self.data), Grid)
        panels += [self._panel(tables, method, truth) for method in self.methods]
        return draw_distributions(alphabet_of(self.data), panels, name=self.value_name)

    def _panel(self, tables: Tables, method: str, truth: FloatArray) -> Panel:
        from confide.figures import Panel, Role

        distance = self._of(tables[RESULTS].where(repeat=0), method).median("emd")
        is_noisy = method == "noisy"
        return Panel(
            "Noisy" if is_noisy else method,
            self._of(tables[SHARES], method).numbers("share"),
            f"EMD {_in_unit(distance, alphabet_of(self.data))}",
            reference=truth,
            role=Role.NOISY if is_noisy else Role.ESTIMATE,
        )

    def _of(self, table: Table, method: str) -> Table:
        rows = table.where(data=self.data, method=method)
        return rows.where(delta=self.delta) if method == "IBU" and self.delta is not None else rows


def alphabet_of(data: str) -> Alphabet:
    """Return the alphabet of a bundled dataset, or of a synthetic one by its label in the tables."""
    if data.startswith("binomial("):
        return Integers(0, int(data.partition("(")[2].partition(",")[0]))
    return Integers(0, 9) if data.startswith("uniform{") else load(data).alphabet


def _in_unit(amount: float, alphabet: Alphabet) -> str:
    return with_unit(amount, alphabet.unit) if alphabet.unit else f"{amount:.3f}"


def _label(level: str, step: Any) -> str:
    from confide.figures.plain_axes import short_count

    return short_count(step) if level == "people" else f"{step:g}"


def _series_name(by: str, name: Any) -> str:
    return str(name) if by == "method" else f"{'δ' if by == 'delta' else by} = {name:g}"


def spread(table: Table, name: str) -> str:
    """Return median and range of a column, as a text.

    >>> spread(Table({"emd": "number"}, ((0.5,), (0.75,), (1.0,))), "emd")
    '0.75 (0.5 to 1)'
    """
    numbers = table.numbers(name)
    if not numbers.size:
        return "none"
    if numbers.size == 1:
        return f"{numbers[0]:.4g}"
    return f"{np.median(numbers):.4g} ({numbers.min():.4g} to {numbers.max():.4g})"
