"""Distributions side by side, on axes that can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from confide.present.figures import style
from confide.present.figures.maps import map_scene
from confide.present.figures.panels import Panel, check_panels, choose_colors
from confide.present.figures.shares import BarScene, LineScene
from confide.values import Alphabet, LineGeometry

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Scene(Protocol):
    """Drawing of the panels over one kind of alphabet."""

    @property
    def columns(self) -> int:
        """Panels that stand side by side, at most."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of one panel, in inches."""

    def draw(self, axes: Axes, panel: Panel, color: str) -> None:
        """Draw one panel into empty axes."""

    def add_key(self, figure: Figure, axes: list[Axes]) -> None:
        """Add what explains all panels at once to the figure that holds them."""

    def draw_key(self) -> Figure | None:
        """Return what explains all panels at once as a figure of its own, where there is such a thing."""


@dataclass(frozen=True, eq=False)
class PanelSheet:
    """The panels of one comparison as figures of their own, for a page that arranges them itself.

    Attributes
    ----------
    figures
        One for each panel, without titles, all on the same axes or colours.
    colors
        The colour of each panel's distribution.
    key
        The colour bar of maps.
    width
        How wide one figure is, in CSS pixels.
    """

    figures: tuple[Figure, ...]
    colors: tuple[str, ...]
    key: Figure | None
    width: int


def draw_distributions(alphabet: Alphabet, panels: Sequence[Panel], name: str = "value") -> Figure:
    """Draw distributions side by side in one figure.

    Parameters
    ----------
    alphabet
        What the distributions are over: a line of numbers gives steps, a grid gives maps, all else gives bars.
    panels
        What to draw, each with its title. All share one axis or one colour scale. On a line the few peaks that
        would flatten everything else are cut and labelled; a panel of nothing but such peaks gets its own axis.
    name
        What a value is called, such as ``age``.

    >>> import confide as cf
    >>> ages = cf.datasets.adult_ages()
    >>> figure = draw_distributions(ages.alphabet, [Panel("Original", ages.distribution)], name="age")
    >>> figure.axes[0].get_xlabel()
    'age (years)'
    """
    with style.styled():
        scene = choose_scene(alphabet, check_panels(panels, alphabet.size), name)
        rows = -(-len(panels) // style.columns_within(scene.columns, scene.size[0]))
        columns = -(-len(panels) // rows)  # even rows: seven panels go into four and three
        width, height = scene.size
        figure = style.new_figure(min(columns * width, style.ROOM.get()), rows * (height + 0.5))
        axes = [figure.add_subplot(rows, columns, place) for place in range(1, len(panels) + 1)]
        for place, panel, color in zip(axes, panels, choose_colors(panels), strict=True):
            scene.draw(place, panel, color)
            _add_titles(place, panel, has_subtitles=any(other.subtitle for other in panels))
        scene.add_key(figure, axes)
    return figure


def draw_sheet(alphabet: Alphabet, panels: Sequence[Panel], name: str = "value") -> PanelSheet:
    """Draw distributions as :func:`draw_distributions` does, each into a figure of its own and without titles."""
    with style.styled():
        scene = choose_scene(alphabet, check_panels(panels, alphabet.size), name)
        colors = choose_colors(panels)
        figures = []
        for panel, color in zip(panels, colors, strict=True):
            figure = style.new_figure(*scene.size)
            scene.draw(figure.add_subplot(), panel, color)
            figures.append(figure)
        return PanelSheet(tuple(figures), tuple(colors), scene.draw_key(), round(96 * scene.size[0]))


def choose_scene(alphabet: Alphabet, panels: tuple[Panel, ...], name: str) -> Scene:
    """Return how distributions over this alphabet are drawn."""
    if isinstance(alphabet.geometry, LineGeometry):
        return LineScene(alphabet, panels, name)
    if alphabet.grid is not None:
        return map_scene(alphabet.grid, panels, name)
    return BarScene(alphabet, panels, name)


def _add_titles(axes: Axes, panel: Panel, *, has_subtitles: bool) -> None:
    axes.set_title(panel.title, pad=20 if has_subtitles else 8)
    if panel.subtitle:
        axes.annotate(
            panel.subtitle, (0, 1), (0, 6), xycoords="axes fraction", textcoords="offset points", color=style.FAINT
        )
