"""Maps: distributions over cells, and indistinguishable cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from confide.estimates.inference import Windows
from confide.estimates.inference.answers import error_of
from confide.present.figures import style
from confide.present.figures.style import FloatArray, Panel, Role
from confide.values import Grid, Indices
from confide.values.distances import ground_distances

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inches of a map's longer side.
LONGER_SIDE = 3.0

# Inches, high and broad, of a district's share with its error below it, and beside it; and of its number.
TWO_LINES, ONE_LINE, ONE_WORD = (0.33, 0.4), (0.14, 0.62), (0.14, 0.2)


@dataclass(frozen=True, eq=False)
class MapScene:
    """Panels over a grid in one colour scale; south is down."""

    alphabet: Grid
    panels: tuple[Panel, ...]
    name: str

    columns = 5

    @cached_property
    def size(self) -> tuple[float, float]:
        """Inches of one panel: a map and room for its labels."""
        height, width = (LONGER_SIDE * max(side / max(self._sides), 0.35) for side in self._sides)
        return width + 0.75, height + 0.65

    @property
    def _sides(self) -> tuple[float, float]:
        """Height and width of the map, in proportion."""
        return self.alphabet.shape

    def draw(self, axes: Axes, panel: Panel, color: str) -> None:  # noqa: ARG002  every scene has this signature
        """Draw one panel into empty axes."""
        picture = self.alphabet.picture(panel.distribution)  # NaN, which stays blank, for holes
        axes.set_facecolor(style.HOLE)
        image = axes.imshow(picture, origin="lower", extent=self._extent(), interpolation="none", cmap=style.heat())
        image.set_clim(0.0, self._highest)
        self._frame(axes, has_scale=panel.windows is None)  # which would lie on the names of districts
        self._draw_background(axes)
        if panel.windows is not None:
            self._outline(axes, panel.windows)

    def draw_doubt(self, figure: Figure, axes: Axes, windows: Windows, scale: float = 1.0) -> None:
        """Draw the uncertainty of each district, written where there is room.

        The scale is how much smaller the map is than usual, for letters are not.
        """
        doubt = windows.proportions
        axes.set_facecolor(style.HOLE)
        picture = self.alphabet.picture(doubt[windows.window_of])
        image = axes.imshow(
            picture, origin="lower", extent=self._extent(), interpolation="none", cmap=style.scale("doubt")
        )
        image.set_clim(0.0, windows.error)
        self._frame(axes, has_scale=False)  # the map beside it has one, and words stand here
        self._draw_background(axes)
        self._outline(axes, windows)
        shares = [
            (f"{_rounded(one.estimate)}%", f"\N{PLUS-MINUS SIGN}{_rounded(error_of(one))}") for one in windows.answers
        ]
        self.write(axes, windows, shares, scale)
        extend = "max" if doubt.max() > windows.error else "neither"
        bar = figure.colorbar(image, ax=axes, location="right", shrink=0.8, aspect=25, extend=extend)
        style.show_percent(bar.ax.yaxis)
        bar.outline.set_linewidth(0.5)
        bar.set_label("error, relative to the share")

    def write(self, axes: Axes, windows: Windows, words: Sequence[tuple[str, ...]], scale: float = 1.0) -> None:
        """Write a word or two into each district where there is room."""
        west, east, south, north = self._extent()
        rows, columns = self.alphabet.shape
        district = self.alphabet.picture(windows.window_of)
        # Inches of a cell, high and broad.
        tall, wide = (LONGER_SIDE * side / max(self._sides) for side in self._sides)
        tall, wide = scale * tall / rows, scale * wide / columns
        settings: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": style.SMALL, "linespacing": 1.1}
        ground = {"facecolor": style.CARD, "alpha": 0.7, "linewidth": 0, "pad": 0.8}
        for number, parts in enumerate(words):
            shapes = [("\n".join(parts), *TWO_LINES), (" ".join(parts), *(ONE_LINE if len(parts) > 1 else ONE_WORD))]
            for text, height, breadth in shapes:
                place = _room(district == number, height / tall, breadth / wide)
                if place is not None:
                    x, y = west + place[1] * (east - west) / columns, south + place[0] * (north - south) / rows
                    axes.text(x, y, text, color=style.INK, bbox=ground if len(parts) == 1 else None, **settings)
                    break

    def _frame(self, axes: Axes, *, has_scale: bool = True) -> None:  # noqa: ARG002  a plane that is nowhere has none
        axes.grid(visible=False)
        for side in ("top", "right"):
            axes.spines[side].set_visible(True)
        for axis, label in ((axes.xaxis, self._label("east", "column")), (axes.yaxis, self._label("north", "row"))):
            style.count_ticks(axis, 5)
            axis.set_label_text(label)

    def _draw_background(self, axes: Axes) -> None:
        """Draw background lines; planes that lie nowhere on the Earth have none."""

    def _outline(self, axes: Axes, windows: Windows) -> None:
        """Draw the borders between districts."""
        from matplotlib.collections import LineCollection

        picture = self.alphabet.picture(windows.window_of)
        west, east, south, north = self._extent()
        step = np.array([(east - west) / self.alphabet.columns, (north - south) / self.alphabet.rows])
        right, up = np.array([1, 0]), np.array([0, 1])
        upright = np.argwhere(_differ(picture[:, :-1], picture[:, 1:]))[:, ::-1] + right
        flat = np.argwhere(_differ(picture[:-1], picture[1:]))[:, ::-1] + up
        starts, ends = np.concatenate([upright, flat]), np.concatenate([upright + up, flat + right])
        lines = np.stack([starts, ends], axis=1) * step + np.array([west, south])
        # Dark on light cells, and light beside it on dark ones.
        for color, width in ((style.CARD, 2.4), (style.INK, 1.0)):
            axes.add_collection(LineCollection(list(lines), colors=color, linewidths=width, capstyle="round"))

    def add_key(self, figure: Figure, axes: list[Axes]) -> None:
        """Add one colour bar beside all maps."""
        self._bar(figure, axes, location="right", shrink=0.8, aspect=25)

    def draw_key(self) -> Figure:
        """Return the colour bar as a figure of its own."""
        figure = style.new_figure(style.NARROW, 0.7)
        self._bar(figure, figure.add_subplot(), orientation="horizontal", into=True)
        return figure

    def _bar(self, figure: Figure, axes: Axes | list[Axes], *, into: bool = False, **settings: object) -> None:
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        place = {"cax": axes} if into else {"ax": axes}
        # Open ends of the colour bar, by whether something lies below and above.
        extend = ("neither", "min", "max", "both")[(self._lowest < 0) + 2 * (self._peak > self._highest)]
        scale = ScalarMappable(Normalize(0.0, self._highest), style.heat())
        bar = figure.colorbar(scale, extend=extend, **place, **settings)  # type: ignore[arg-type]
        style.show_percent(bar.ax.xaxis if bar.orientation == "horizontal" else bar.ax.yaxis)
        bar.outline.set_linewidth(0.5)
        bar.set_label(self._key_label())

    @property
    def _highest(self) -> float:
        """Top of the colour scale: the highest share, capped near the truth's."""
        truths = [float(panel.distribution.max()) for panel in self.panels if panel.role is Role.TRUTH]
        # It reaches half beyond the peak of the truth; the few cells above that have the darkest colour.
        return max(1e-12, min([self._peak, *(1.5 * truth for truth in truths)]))

    @property
    def _peak(self) -> float:
        return max(float(panel.distribution.max()) for panel in self.panels)

    @property
    def _lowest(self) -> float:
        return min(panel.trough for panel in self.panels)

    def _key_label(self) -> str:
        is_noisy = all(panel.role is Role.NOISY for panel in self.panels)
        remarks = ["red: negative"] * (self._lowest < 0) + ["grey: no cell"] * bool(self.alphabet.holes)
        remark = f" ({', '.join(remarks)})" if remarks else ""
        return f"share of reports{remark}" if is_noisy else f"share in a cell{remark}"

    def _extent(self) -> tuple[float, float, float, float]:
        """Return west, east, south and north, in units or cell numbers."""
        south, west = self.alphabet.first_row, self.alphabet.first_column
        rows, columns = self.alphabet.shape
        edges = west, west + columns, south, south + rows
        step, shift = (self.alphabet.spacing, 0.0) if self.alphabet.unit else (1.0, 0.5)
        left, right, bottom, top = (step * edge - shift for edge in edges)
        return left, right, bottom, top

    def _label(self, direction: str, number: str) -> str:
        return f"{direction} ({self.alphabet.unit})" if self.alphabet.unit else number


def _room(inside: NDArray[np.bool_], height: float, breadth: float) -> tuple[float, float] | None:
    """Return the place for a label within a district.

    None if no box of this size, in cells, fits.

    >>> _room(np.array([[True, True, False], [True, True, True]]), 1.0, 3.0)
    (1.5, 1.5)
    """
    fine = np.kron(inside, np.ones((2, 2)))  # half a cell is near enough
    sides = math.ceil(2 * height), math.ceil(2 * breadth)
    if any(side > most for side, most in zip(sides, fine.shape, strict=True)):
        return None
    boxes = np.lib.stride_tricks.sliding_window_view(fine, sides).all(axis=(2, 3))
    if not boxes.any():
        return None
    middles = (np.argwhere(boxes) + np.array(sides) / 2) / 2
    midst = np.argwhere(inside).mean(axis=0) + 0.5
    row, column = middles[np.argmin(((middles - midst) ** 2).sum(axis=1))].tolist()
    return row, column


def map_scene(grid: Grid, panels: tuple[Panel, ...], name: str) -> MapScene:
    """Return the scene for maps of a grid or of the Earth."""
    return MapScene(grid, panels, name) if grid.bounds is None else EarthScene(grid, panels, name)


@dataclass(frozen=True, eq=False)
class EarthScene(MapScene):
    """Maps on the Earth: degrees, a scale bar, north, and background lines."""

    @cached_property
    def _kilometres(self) -> tuple[float, float]:
        """Kilometres of the map's height and width, through its middle."""
        west, east, south, north = self._extent()
        middle = (south + north) / 2, (west + east) / 2
        tall = 2 * float(ground_distances([(north, middle[1])], middle)[0])
        wide = 2 * float(ground_distances([(middle[0], east)], middle)[0])
        return tall / 1000, wide / 1000

    @cached_property
    def size(self) -> tuple[float, float]:
        height, width = (LONGER_SIDE * max(side / max(self._sides), 0.35) for side in self._sides)
        return width + 0.85, height + 0.5

    @property
    def _sides(self) -> tuple[float, float]:
        return self._kilometres

    def _extent(self) -> tuple[float, float, float, float]:
        box = self.alphabet.bounds
        assert box is not None  # noqa: S101 (what it is chosen for)
        return box.west, box.east, box.south, box.north

    def _frame(self, axes: Axes, *, has_scale: bool = True) -> None:
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        axes.grid(visible=False)
        for side in ("top", "right"):
            axes.spines[side].set_visible(True)
        west, east, south, north = self._extent()
        (tall, wide), ratio = self._kilometres, (north - south) / (east - west)
        axes.set_aspect(tall / wide / ratio)
        for axis, ends in ((axes.xaxis, "EW"), (axes.yaxis, "NS")):
            axis.set_major_locator(MaxNLocator(nbins=3 if ends == "EW" else 5, steps=[1, 2, 2.5, 5, 10]))
            axis.set_major_formatter(FuncFormatter(partial(_degrees, ends=ends)))
        axes.set_xlim(west, east)
        axes.set_ylim(south, north)
        if has_scale:
            self._draw_scale(axes)

    def _draw_scale(self, axes: Axes) -> None:
        """Draw a scale bar in the corner, with a north arrow."""
        from matplotlib.patheffects import withStroke

        wide = self._kilometres[1]
        length = round_length(wide / 4)
        words = f"{length:g} km" if length >= 1 else f"{1000 * length:g} m"
        halo = [withStroke(linewidth=3, foreground=style.CARD)]
        start, end, level = 0.05, 0.05 + length / wide, 0.05
        bar: dict[str, Any] = {"transform": axes.transAxes, "color": style.INK, "path_effects": halo, "zorder": 5}
        for x, y in (((start, end), (level, level)), *(((at, at), (level, level + 0.015)) for at in (start, end))):
            axes.plot(x, y, linewidth=1.4, solid_capstyle="butt", clip_on=False, **bar)
        # A halo would turn letters into outlines, which nobody can search or copy.
        ground = {"facecolor": style.CARD, "alpha": 0.7, "linewidth": 0, "pad": 0.8}
        letters: dict[str, Any] = {"ha": "center", "fontsize": style.SMALL, "color": style.INK, "bbox": ground}
        letters |= {"transform": axes.transAxes, "zorder": 5}
        axes.text((start + end) / 2, level + 0.025, words, va="bottom", **letters)
        arrow = {"arrowstyle": "-|>", "color": style.INK, "linewidth": 1.2, "path_effects": halo}
        axes.annotate("", (0.94, 0.97), (0.94, 0.87), "axes fraction", arrowprops=arrow, zorder=5)
        axes.text(0.94, 0.855, "N", va="top", **letters)

    def _draw_background(self, axes: Axes) -> None:
        from matplotlib.collections import LineCollection

        west, east, south, north = self._extent()
        pieces = [piece for line in self.panels[0].background for piece in _within(line, (west, east, south, north))]
        for color, width in ((style.CARD, 1.8), (style.FAINT, 0.7)):
            axes.add_collection(LineCollection(pieces, colors=color, linewidths=width), autolim=False)


def _rounded(share: float) -> str:
    """Return a share in percent, with decimals only if near zero.

    >>> _rounded(0.378), _rounded(0.004), _rounded(0.0)
    ('38', '0.4', '0')
    """
    return f"{100 * share:.1f}" if 0.0005 <= share < 0.00995 else f"{100 * share:.0f}"


def _within(line: FloatArray, extent: tuple[float, float, float, float]) -> list[FloatArray]:
    """Return the pieces of a line that may show on a map.

    A file of all coasts would make a page of megabytes.
    """
    west, east, south, north = extent
    low, high = np.minimum(line[:-1], line[1:]), np.maximum(line[:-1], line[1:])
    shows = ((low <= (east, north)) & (high >= (west, south))).all(axis=1) & (high[:, 0] - low[:, 0] <= 180)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], shows.astype(np.int8), [0]])))
    return [line[first : last + 1] for first, last in edges.reshape(-1, 2).tolist()]


def round_length(most: float) -> float:
    """Return the longest round length within a limit.

    1, 2 or 5 times a power of ten.

    >>> round_length(3.7), round_length(0.6), round_length(1.0)
    (2.0, 0.5, 1.0)
    """
    power = 10.0 ** math.floor(math.log10(most))
    return max(power * step for step in (1, 2, 5) if power * step <= most * (1 + 1e-9))


def _degrees(value: float, _place: object, *, ends: str) -> str:
    """Return a degree on the rim of a map.

    >>> _degrees(-73.98, None, ends="EW"), _degrees(0.0, None, ends="NS")
    ('73.98°W', '0°')
    """
    side = "" if abs(value) < 1e-9 else ends[0] if value > 0 else ends[1]
    return f"{abs(value):.6g}°{side}"


def _differ(here: FloatArray, there: FloatArray) -> NDArray[np.bool_]:
    """Whether two neighbouring cells are of different districts; holes never are."""
    return np.asarray((here != there) & ~np.isnan(here) & ~np.isnan(there))


def draw_classes(grid: Grid, class_of: Indices) -> Figure:
    """Draw each class of cells in one colour.

    Cells that stand alone stay white, holes grey.

    >>> draw_classes(Grid(1, 3), np.array([0, 1, 0])).axes[0].get_xlabel()
    'column'
    """
    sizes = np.bincount(class_of)
    numbers = np.cumsum(sizes > 1)  # classes of several, counted from 1
    with style.styled():
        shown = np.where(sizes[class_of] > 1, numbers[class_of], 0)
        from matplotlib.colors import BoundaryNorm, ListedColormap

        rows, columns = grid.shape
        figure = style.new_figure(0.8 + 2.9 * min(1.0, columns / rows), 0.7 + 2.9 * min(1.0, rows / columns))
        axes = figure.add_subplot()
        axes.set_facecolor(style.HOLE)
        hues_of = style.CLASSES[0]
        hues = np.where(shown > 0, 1 + (shown - 1) % len(hues_of), 0)
        south, west = grid.first_row - 0.5, grid.first_column - 0.5
        colors = ListedColormap([style.CARD, *hues_of])
        axes.imshow(
            grid.picture(hues),
            origin="lower",
            extent=(west, west + columns, south, south + rows),
            interpolation="none",
            cmap=colors,
            norm=BoundaryNorm(np.arange(len(hues_of) + 2) - 0.5, len(hues_of) + 1),
        )
        axes.grid(visible=False)
        if max(rows, columns) <= 60:  # thin lines between cells, while there are few enough for that
            axes.vlines(west + np.arange(1, columns), south, south + rows, color=style.CARD, linewidth=0.7)
            axes.hlines(south + np.arange(1, rows), west, west + columns, color=style.CARD, linewidth=0.7)
        for axis, label in ((axes.xaxis, "column"), (axes.yaxis, "row")):
            style.count_ticks(axis, 8)
            axis.set_label_text(label)
        if grid.size <= 400:  # colours come round, so each cell carries the number of its class
            for (row, column), number in zip(grid.decode(np.arange(grid.size)).tolist(), shown.tolist(), strict=True):
                settings: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": style.SMALL, "color": style.INK}
                axes.text(column, row, str(number) if number else "", **settings)
        return figure
