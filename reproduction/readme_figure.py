"""The README's picture: ages as reported, recovered and true.

`python -m reproduction.readme_figure` writes docs/images/ages.png.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import confide as cf
from confide.present.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PLACE = Path(__file__).parent.parent / "docs" / "images" / "ages.png"
# Epsilon and seed of `confide demo`, so that the picture shows what the command gives.
EPSILON, SEED = 0.05, 7
# 1280 pixels wide: two for each CSS pixel at half that width, so that letters stay sharp on a retina screen.
WIDTH, HEIGHT, DOTS_PER_INCH = 6.4, 3.5, 200
# A card of its own colour: the README's background may be white or almost black.
CARD = "#FCFCFB"
# Share where the axis ends; the border ages, where truncation gathers what would lie beyond, rise above it.
TOP = 0.0318


def draw() -> Figure:
    """Draw the three distributions, each with its label.

    >>> [text.get_text().splitlines()[0] for text in draw().axes[0].texts][:3]
    ['as sent: each age off by', 'as confide recovers it:', 'the truth']
    """
    ages = cf.datasets.adult_ages()
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 99, unit="year"), EPSILON)
    counts = cf.tally(mechanism.privatize(ages.values(), rng=SEED))
    sent = mechanism.lay_out(counts) / counts.total
    answer = cf.estimate(counts, mechanism)
    places = np.arange(ages.alphabet.size)
    moved = np.abs(places[:, None] - places) * mechanism.channel.dense()
    blur = float(ages.distribution @ moved.sum(axis=1))
    error = cf.emd(answer.distribution, ages.distribution, ages.alphabet)
    with style.styled():
        figure = _new_card()
        axes = figure.add_axes((0.075, 0.13, 0.885, 0.64))
        edges = np.arange(ages.alphabet.size + 1) - 0.5
        axes.stairs(
            ages.distribution, edges, fill=True, facecolor=style.TRUTH, edgecolor=style.TRUTH_EDGE, linewidth=0.6
        )
        axes.stairs(sent, edges, edgecolor=style.NOISY, linewidth=1.3)
        axes.stairs(answer.distribution, edges, edgecolor=style.STACKED, linewidth=1.8)
        _set_axes(axes)
        _label(axes, blur, error, sent)
        figure.text(0.04, 0.905, "Every age is blurred, yet the distribution comes back", **TITLE)
        subtitle = f"Share of {counts.total:,.0f} people by age; devices blur each age before sending it"
        figure.text(0.04, 0.84, f"{subtitle}, ε = {EPSILON:g} per year", color=style.FAINT, fontsize=9)
    return figure


TITLE: dict[str, Any] = {"color": style.INK, "fontsize": 13, "fontweight": "bold"}


def _new_card() -> Figure:
    """Return an empty figure, transparent but for a card with round corners."""
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyBboxPatch

    figure = Figure(figsize=(WIDTH, HEIGHT), facecolor="none")
    corners = FancyBboxPatch(
        (0.06, 0.06),
        WIDTH - 0.12,
        HEIGHT - 0.12,
        boxstyle="round,pad=0.05,rounding_size=0.14",
        transform=figure.dpi_scale_trans,
        facecolor=CARD,
        edgecolor=style.RULE,
        linewidth=0.8,
        zorder=-1,
    )
    figure.add_artist(corners)
    return figure


def _set_axes(axes: Axes) -> None:
    axes.set_facecolor("none")
    axes.set_xlim(-1.5, 100.5)
    axes.set_ylim(0, TOP)
    axes.grid(visible=False, axis="x")
    axes.spines["left"].set_visible(False)
    axes.tick_params(length=0, labelsize=8.5)
    axes.set_xticks(range(0, 100, 10))
    axes.set_yticks([0, 0.01, 0.02, 0.03], ["", "1%", "2%", "3%"])
    axes.set_xlabel("age", fontsize=9)


def _label(axes: Axes, blur: float, error: float, sent: np.ndarray) -> None:
    """Put each label beside its curve, in its colour."""
    axes.text(67.5, 0.0132, f"as sent: each age off by\n{blur:.1f} years on average", **_words(style.NOISY))
    axes.text(47.5, 0.0242, f"as confide recovers it:\n{error:.1f} years from the truth", **_words(style.STACKED))
    axes.text(37.5, 0.0055, "the truth", **_words(style.INK) | {"ha": "center"})
    axes.text(1.4, 0.0285, f"↑ {sent[0]:.0%} say 0", **_words(style.NOISY))
    axes.text(97.8, 0.0285, f"{sent[-1]:.0%} say 99 ↑", **_words(style.NOISY) | {"ha": "right"})


def _words(color: str) -> dict[str, Any]:
    return {"color": color, "fontsize": 9, "va": "center", "linespacing": 1.35}


def main() -> None:
    """Write the picture."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    PLACE.parent.mkdir(parents=True, exist_ok=True)
    figure = draw()
    with style.styled():
        FigureCanvasAgg(figure)
        figure.savefig(PLACE, dpi=DOTS_PER_INCH, facecolor="none", metadata={"Software": None})


if __name__ == "__main__":
    main()
