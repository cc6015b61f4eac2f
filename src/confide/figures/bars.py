"""Distributions over categories: one bar a category."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from confide.alphabets import Alphabet
from confide.figures import style
from confide.figures.panels import FloatArray, Panel, Role, share_label
from confide.wording import label_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_BARS = 20
"""With more categories only the largest are shown, and the rest as one."""

LONGEST_LABEL = 22


@dataclass(frozen=True, eq=False)
class Bars:
    """How panels over categories are drawn, and over any alphabet without a picture of its own."""

    alphabet: Alphabet
    panels: tuple[Panel, ...]
    name: str

    columns = 3

    @cached_property
    def size(self) -> tuple[float, float]:
        """Inches of one panel: as tall as its bars need."""
        return 3.8, 0.85 + 0.27 * max(3, len(self._labels))

    def draw(self, axes: Axes, panel: Panel, color: str) -> None:
        """Draw one panel into empty axes."""
        places = np.arange(len(self._labels))
        is_truth = panel.role is Role.TRUTH
        if panel.reference is not None:
            axes.barh(places, self._gather(panel.reference), height=0.82, color=style.TRUTH)
        height = 0.82 if is_truth else 0.46
        axes.barh(places, self._gather(panel.distribution), height=height, color=style.TRUTH if is_truth else color)
        if panel.band is not None:
            self._add_whiskers(axes, panel.distribution, panel.band)
        axes.set_yticks(places, self._labels)
        axes.set_ylim(len(places) - 0.4, -0.6)
        axes.set_xlim(*self._limits)
        axes.tick_params(axis="y", length=0, labelcolor=style.INK)
        axes.grid(visible=False, axis="y")
        style.show_percent(axes.xaxis)
        axes.set_xlabel(share_label(panel.role))
        if self._limits[0] < 0:
            axes.axvline(0, color=style.INK, linewidth=0.8)

    def _add_whiskers(self, axes: Axes, distribution: FloatArray, band: tuple[FloatArray, FloatArray]) -> None:
        """Draw the interval of each category that is shown; the others together have none."""
        shares, low, high = (one[self._shown] for one in (distribution, *band))
        axes.errorbar(
            shares,
            np.arange(shares.size),
            xerr=np.maximum([shares - low, high - shares], 0.0),
            fmt="none",
            ecolor=style.INK,
            elinewidth=1.1,
            capsize=2.5,
        )

    def add_key(self, figure: Figure, axes: list[Axes]) -> None:  # noqa: ARG002  every scene has this signature
        """Name the grey, where some panel shows the truth behind."""
        if any(panel.reference is not None for panel in self.panels):
            style.name_reference(figure)

    def draw_key(self) -> Figure | None:
        """Return None: axes say all there is to say."""
        return None

    @cached_property
    def _limits(self) -> tuple[float, float]:
        gathered = np.concatenate([self._gather(layer) for panel in self.panels for layer in panel.layers])
        ends = [end[self._shown] for panel in self.panels for end in panel.band or ()]
        gathered = np.concatenate([gathered, *ends])
        return 1.06 * min(0.0, float(gathered.min())), 1.06 * max(float(gathered.max()), 1e-12)

    @cached_property
    def _shown(self) -> list[int]:
        """The numbers of the categories that get a bar, in the alphabet's order unless there are too many."""
        if self.alphabet.size <= MOST_BARS:
            return list(range(self.alphabet.size))
        order = np.argsort(-self.panels[0].layers[0], kind="stable")
        return [int(index) for index in order[: MOST_BARS - 1]]

    @cached_property
    def _labels(self) -> list[str]:
        values = self.alphabet.decode(np.array(self._shown)).tolist()
        shown = [_shorten(label_value(value)) for value in values]
        others = self.alphabet.size - len(shown)
        return [*shown, f"{others:,} others"] if others else shown

    def _gather(self, distribution: FloatArray) -> FloatArray:
        shown = distribution[self._shown]
        if len(self._shown) == self.alphabet.size:
            return shown
        return np.append(shown, distribution.sum() - shown.sum())


def _shorten(label: str) -> str:
    text = " ".join(label.split())
    return text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1]}…"
