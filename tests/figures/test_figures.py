"""Figures: what is drawn for each alphabet, the same bytes every time, and nothing that leaks into a page."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import confide as cf
from confide.errors import InvalidDistributionError, InvalidParameterError, MissingExtraError
from confide.present.figures import (
    Panel,
    Role,
    draw_distributions,
    draw_path,
    draw_sheet,
    style,
    to_png,
    to_svg,
    to_svg_file,
)
from confide.present.figures.shares import label_values
from confide.present.figures.style import COLORS, choose_colors

LINE = cf.Integers(0, 99, unit="year")
GRID = cf.Grid(4, 6, spacing=0.5, unit="km")
CATEGORIES = cf.Categories(["tea", "coffee", "neither"])


def bell(size: int, centre: float = 0.4, width: float = 0.1) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    places = np.linspace(0, 1, size)
    weights = np.exp(-(((places - centre) / width) ** 2))
    return np.asarray(weights / weights.sum())


def panels_for(alphabet: cf.Alphabet) -> list[Panel]:
    truth = bell(alphabet.size)
    noisy = np.full(alphabet.size, 1 / alphabet.size)
    return [
        Panel("Original", truth, role=Role.TRUTH),
        Panel("Noisy", noisy, "100 reports", truth, Role.NOISY),
        Panel("IBU", bell(alphabet.size, 0.42), "EMD 0.5", truth),
    ]


def test_ticks_stand_at_the_values_that_they_name() -> None:
    from matplotlib.figure import Figure

    ages, ranges = cf.Integers(18, 67, unit="year"), cf.Bins(edges=[5, 18, 30, 45], below=True)
    months = cf.Dates("2026-03", "2026-12", every="month")
    cases: list[tuple[cf.Integers, Callable[[float], str]]] = [
        (ages, lambda place: str(round(place))),
        (months, lambda place: months.labels([round(place)])[0]),
        (ranges, lambda place: str(ranges.edges[round(place - 0.5)])),  # before the bin that an edge begins
    ]
    for alphabet, wanted in cases:
        axes = Figure().subplots()
        label_values(axes, alphabet)
        found = list(zip(axes.get_xticks().tolist(), [one.get_text() for one in axes.get_xticklabels()], strict=True))
        assert len(found) > 3
        assert [label for _, label in found] == [wanted(place) for place, _ in found]


@pytest.mark.parametrize("alphabet", [LINE, GRID, CATEGORIES], ids=["line", "grid", "categories"])
def test_every_alphabet_draws_one_panel_each_with_labels(alphabet: cf.Alphabet) -> None:
    panels = panels_for(alphabet)
    figure = draw_distributions(alphabet, panels, name="age")
    titled = [axes for axes in figure.axes if axes.get_title(loc="left")]
    assert [axes.get_title(loc="left") for axes in titled] == ["Original", "Noisy", "IBU"]
    assert all(axes.get_xlabel() for axes in titled)
    assert len(figure.axes) == len(panels) + (1 if isinstance(alphabet, cf.Grid) else 0)  # one colour bar, for maps


@pytest.mark.slow
@pytest.mark.parametrize("alphabet", [LINE, GRID, CATEGORIES], ids=["line", "grid", "categories"])
def test_svg_is_well_formed_and_the_same_every_time(alphabet: cf.Alphabet) -> None:
    first, second = (to_svg(draw_distributions(alphabet, panels_for(alphabet))) for _ in range(2))
    assert first == second
    assert ET.fromstring(first).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314  our own text
    figure = draw_distributions(alphabet, panels_for(alphabet))
    assert to_svg(figure) == to_svg(figure)


@pytest.mark.slow
def test_svg_takes_nothing_from_outside_and_rules_nothing_outside() -> None:
    drawing = to_svg(draw_distributions(GRID, panels_for(GRID)), 'a "map" & more')
    assert 'aria-label="a &quot;map&quot; &amp; more"' in drawing
    assert not re.search(r"<style|<metadata|<!--|@import", drawing)
    links = re.findall(r'href="([^"]*)"', drawing) + re.findall(r"url\(([^)]*)\)", drawing)
    assert links
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in links)


def test_names_within_drawings_do_not_clash_and_are_all_defined() -> None:
    drawings = [to_svg(figure) for figure in draw_sheet(LINE, panels_for(LINE)).figures]
    names = [set(re.findall(r'\sid="([^"]*)"', drawing)) for drawing in drawings]
    assert sum(map(len, names)) == len(set.union(*names))
    for drawing, defined in zip(drawings, names, strict=True):
        assert set(re.findall(r"url\(#([^)]*)\)", drawing) + re.findall(r'href="#([^"]*)"', drawing)) <= defined


@pytest.mark.slow
def test_labels_are_words_not_markup_nor_mathematics() -> None:
    drinks = cf.Categories(["<script>", "$5 or $6", "$\\bad", 'id="x"', "水", "two\nlines", "x" * 200])
    drawing = to_svg(draw_distributions(drinks, [Panel("IBU & co", np.full(7, 1 / 7))]))
    assert "<script>" not in drawing
    assert "&lt;script&gt;" in drawing
    for label in ("$5 or $6", "$\\bad", 'id="x"', "水", "two lines", "IBU &amp; co"):
        assert label in drawing
    assert "x" * 23 not in drawing


def test_many_categories_become_the_largest_and_the_rest() -> None:
    alphabet = cf.Categories([f"c{place}" for place in range(50)])
    distribution = np.arange(1, 51) / np.arange(1, 51).sum()
    axes = draw_distributions(alphabet, [Panel("IBU", distribution)]).axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[0] == "c49"
    assert labels[-1] == "31 others"
    assert sum(bar.get_width() for bar in axes.patches) == pytest.approx(1)  # type: ignore[attr-defined]


def test_panels_on_a_line_share_one_axis_and_cut_peaks_are_labelled() -> None:
    truth, spike = bell(100), np.zeros(100)
    spike[60] = 1.0
    panels = [Panel("Original", truth, role=Role.TRUTH), Panel("INV-P", spike, reference=truth)]
    one, two = draw_distributions(LINE, panels).axes
    assert one.get_ylim() == two.get_ylim()
    assert one.get_ylim()[1] < 3 * truth.max()
    assert "↑ 100%" in [label.get_text() for label in two.texts]


def test_a_panel_that_nothing_fits_gets_its_own_axis_and_says_so() -> None:
    raw = np.where(np.arange(100) % 2, 1.0, -0.98)
    one, two = draw_distributions(LINE, [Panel("Original", bell(100), role=Role.TRUTH), Panel("INV", raw)]).axes
    assert two.get_ylim()[1] > 5 * one.get_ylim()[1]
    assert two.get_ylim()[0] < -0.98
    assert "an axis of its own" in [label.get_text() for label in two.texts]


def test_a_single_estimate_is_never_cut_by_flat_noise() -> None:
    estimate = bell(100, width=0.01)
    noise = Panel("Noisy", np.full(100, 0.01), role=Role.NOISY)
    axes = draw_distributions(LINE, [noise, Panel("IBU", estimate)]).axes[1]
    assert axes.get_ylim()[1] > estimate.max()


def test_a_long_line_is_averaged_not_thinned() -> None:
    alphabet = cf.Integers(1, 10_000)
    axes = draw_distributions(alphabet, [Panel("IBU", bell(10_000))]).axes[0]
    steps = axes.patches[0].get_data()  # type: ignore[attr-defined]
    assert steps.values.size <= 600
    assert np.sum(steps.values * np.diff(steps.edges)) == pytest.approx(1)
    assert "means of 17 neighbours" in axes.get_xlabel()


@pytest.mark.parametrize(
    ("alphabet", "label"),
    [
        (cf.Integers(0, 3), "age"),
        (cf.Integers(0, 3, unit="year"), "age (years)"),
        (cf.Integers(0, 3, spacing=2.5, unit="km"), "age (in steps of 2.5 km)"),
    ],
)
def test_the_line_is_labelled_with_its_unit(alphabet: cf.Integers, label: str) -> None:
    assert draw_distributions(alphabet, [Panel("IBU", np.full(4, 0.25))], name="age").axes[0].get_xlabel() == label


def test_maps_have_south_down_one_colour_scale_and_units() -> None:
    corner = np.zeros(24)
    corner[0] = 1.0
    figure = draw_distributions(GRID, [Panel("A", corner), Panel("B", np.full(24, 1 / 24))])
    images = [axes.images[0] for axes in figure.axes[:2]]
    assert images[0].origin == "lower"
    assert tuple(images[0].get_extent()) == (0.0, 3.0, 0.0, 2.0)
    assert images[0].get_clim() == images[1].get_clim() == (0.0, 1.0)
    assert figure.axes[0].get_xlabel() == "east (km)"
    assert figure.axes[0].get_ylabel() == "north (km)"


def test_negative_cells_are_marked_on_the_colour_bar() -> None:
    raw = np.full(24, 1 / 24)
    raw[3] = -0.2
    figure = draw_distributions(GRID, [Panel("INV", raw)])
    assert "negative" in figure.axes[-1].get_ylabel()
    sheet = draw_sheet(GRID, [Panel("INV", raw)])
    assert sheet.key is not None
    assert "negative" in to_svg(sheet.key)


def test_estimates_take_distinct_colours_and_come_round() -> None:
    colors = choose_colors([*panels_for(LINE), *(Panel(str(n), bell(100)) for n in range(7))])
    assert (colors[1], colors[2]) == (style.NOISY, style.IBU)
    assert len(set(colors)) == 9  # the truth, the reports, and seven colours of methods
    assert colors[3] == colors[9]


def test_panels_of_another_alphabet_are_refused() -> None:
    with pytest.raises(InvalidDistributionError, match=r"'IBU' must hold one number for each of 100 values"):
        draw_distributions(LINE, [Panel("IBU", np.full(3, 1 / 3))])
    with pytest.raises(InvalidDistributionError, match="nothing to draw"):
        draw_distributions(LINE, [])


def test_a_path_is_the_distance_to_the_highest_reached() -> None:
    axes = draw_path({"IBU": [-110.0, -101.0, -100.0], "INV": []}).axes[0]
    (line,) = axes.lines
    heights = np.asarray(line.get_ydata())
    np.testing.assert_allclose(heights[:2], [10, 1])
    assert np.isnan(heights[2])  # zero, which has no place on a logarithmic axis
    assert axes.get_xlabel() == "iteration"
    assert "highest reached" in axes.get_ylabel()


def test_a_path_under_a_ceiling_is_a_band() -> None:
    axes = draw_path({"IBU": [-110.0, -101.0, -100.0]}, ceiling=-95.0).axes[0]
    most, least = axes.lines
    np.testing.assert_allclose(np.asarray(most.get_ydata()), [15, 6, 5])
    np.testing.assert_allclose(np.asarray(least.get_ydata())[:2], [10, 1])
    assert len(axes.collections) == 1


@pytest.mark.parametrize("path", [[-5.0], [-5.0, -5.0], [-np.inf, -3.0, -2.0], list(-1 / np.arange(1, 50_001))])
def test_odd_paths_draw_without_complaint(path: list[float]) -> None:
    drawing = to_svg(draw_path({"IBU": path}, ceiling=-1e-9))
    assert drawing.startswith("<svg ")
    assert len(drawing) < 200_000


def test_no_path_at_all_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="no path to draw"):
        draw_path({"INV-N": []})


def test_png_is_written(tmp_path: Path) -> None:
    to_png(draw_distributions(LINE, panels_for(LINE)), tmp_path / "figure.png", dpi=40)
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_drawing_leaves_the_users_settings_alone() -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    to_svg(draw_distributions(LINE, panels_for(LINE)))
    assert dict(mpl.rcParams) == before


def test_without_matplotlib_the_install_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"Drawing figures needs matplotlib.*pip install 'matplotlib"):
        draw_distributions(LINE, panels_for(LINE))
    with pytest.raises(MissingExtraError):
        draw_path({"IBU": [-2.0, -1.0]})


def test_holes_of_a_grid_are_blank() -> None:
    grid = cf.Grid(3, 4, holes=((5, 0), (6, 2)), first_row=5)
    figure = draw_distributions(grid, [Panel("IBU", bell(grid.size))])
    picture = figure.axes[0].images[0].get_array()
    assert picture is not None
    np.testing.assert_array_equal(np.argwhere(np.ma.getmaskarray(picture)), [(0, 0), (1, 2)])
    assert figure.axes[0].get_ylim() == (4.5, 7.5)
    assert "grey: no cell" in figure.axes[-1].get_ylabel()


def test_pairs_are_labelled_as_people_write_them() -> None:
    pairs = cf.Attributes(first=cf.Integers(1, 2), second=cf.Categories(["f", "m"]))
    axes = draw_distributions(pairs, [Panel("IBU", np.full(4, 0.25))]).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["(1, f)", "(1, m)", "(2, f)", "(2, m)"]


def test_a_band_is_drawn_on_a_line_and_raises_its_axis() -> None:
    shares = np.full(10, 0.1)
    plain, banded = Panel("IBU", shares), Panel("IBU", shares, band=(shares / 2, shares * 1.5))
    tops = [draw_distributions(cf.Integers(0, 9), [panel]).axes[0].get_ylim()[1] for panel in (plain, banded)]
    assert tops[1] >= 0.15 > tops[0]
    filled = draw_distributions(cf.Integers(0, 9), [banded]).axes[0].patches
    assert len(filled) == 2


def test_whiskers_are_drawn_on_bars_and_stay_within_their_axis() -> None:
    shares = np.array([0.5, 0.3, 0.2])
    figure = draw_distributions(
        cf.Categories(["a", "b", "c"]), [Panel("IBU", shares, band=(shares - 0.1, shares + 0.3))]
    )
    assert figure.axes[0].containers[-1].has_xerr  # type: ignore[attr-defined]
    assert figure.axes[0].get_xlim()[1] >= 0.8


def test_a_band_over_another_alphabet_is_refused() -> None:
    with pytest.raises(InvalidDistributionError, match="one number for each of 3"):
        draw_distributions(cf.Integers(0, 2), [Panel("IBU", np.full(3, 1 / 3), band=(np.zeros(2), np.ones(2)))])


def test_a_file_of_its_own_is_dark_on_a_dark_screen(tmp_path: Path) -> None:
    shares = bell(24)
    figure = draw_distributions(GRID, [Panel("IBU", shares)])
    to_svg_file(figure, tmp_path / "map.svg", "Most are <there>")
    drawn = (tmp_path / "map.svg").read_text(encoding="utf-8")
    ET.fromstring(drawn)  # noqa: S314 - our own
    bright, dark = drawn[: drawn.index("</style>")].split("@media screen and (prefers-color-scheme:dark)")
    for name, colors in COLORS.items():
        assert f"--{name}:{colors[0].lower()};" in bright
        assert f"--{name}:{colors[1].lower()};" in dark
    assert ".on-dark" in dark
    assert 'aria-label="Most are &lt;there&gt;"' in drawn
