"""Maps of places on the Earth: degrees on the rim, a scale, north, lines behind, and the right shape on the ground."""

from __future__ import annotations

import numpy as np
import pytest

import confide as cf
from confide.present.figures import Panel, draw_distributions, to_svg
from confide.present.figures.maps import EarthScene, map_scene, round_length
from confide.values.distances import ground_distances

TROMSO = cf.Places(69.6, 18.8, 69.75, 19.2, cell="500 m")
PARIS = cf.Places(48.8176, 2.2509, 48.9074, 2.4149, cell="1 km")


def panel(places: cf.Places, *lines: list[list[float]]) -> Panel:
    shares = np.full(places.size, 1 / places.size)
    return Panel("Estimate", shares, background=tuple(np.array(line) for line in lines))


def test_places_are_drawn_on_the_earth_and_grids_on_a_plane() -> None:
    assert isinstance(map_scene(PARIS, (panel(PARIS),), "home"), EarthScene)
    grid = cf.Grid(2, 2)
    assert not isinstance(map_scene(grid, (Panel("x", np.full(4, 0.25)),), "home"), EarthScene)


@pytest.mark.parametrize("places", [PARIS, TROMSO], ids=["Paris", "Tromso"])
def test_a_kilometre_is_as_long_north_as_east(places: cf.Places) -> None:
    figure = draw_distributions(places, [panel(places)])
    figure.draw_without_rendering()
    axes = figure.axes[0]
    middle = (places.south + places.north) / 2, (places.west + places.east) / 2
    sides = []
    for point in ((places.north, middle[1]), (middle[0], places.east)):
        pixels = axes.transData.transform(point[::-1]) - axes.transData.transform(middle[::-1])
        sides.append(float(np.hypot(*pixels)) / float(ground_distances([point], middle)[0]))
    assert abs(sides[0] / sides[1] - 1) < 0.002


def test_degrees_scale_and_north() -> None:
    figure = draw_distributions(PARIS, [panel(PARIS)])
    drawing = to_svg(figure)
    for words in ("48.86\N{DEGREE SIGN}N", "2.3\N{DEGREE SIGN}E", "2 km", ">N<"):
        assert words in drawing
    south = draw_distributions(places := cf.Places(-34.0, -58.5, -33.9, -58.4, cell="1 km"), [panel(places)])
    assert "58.5\N{DEGREE SIGN}W" in to_svg(south)


def test_the_scale_bar_has_the_length_that_it_says() -> None:
    figure = draw_distributions(PARIS, [panel(PARIS)])
    axes = figure.axes[0]
    bar = np.asarray(axes.lines[0].get_xdata(), dtype=np.float64)
    wide = float(bar[1] - bar[0]) * (PARIS.east - PARIS.west)
    middle = (PARIS.south + PARIS.north) / 2
    length = float(ground_distances([(middle, PARIS.west + wide)], (middle, PARIS.west))[0])
    assert length == pytest.approx(2000, rel=0.005)
    assert [round_length(one) for one in (0.07, 4.9, 5.0, 12.0)] == [0.05, 2.0, 5.0, 10.0]


def test_lines_behind_are_cut_to_the_map() -> None:
    """A coast of the whole world must not make a page of megabytes."""
    far = [[-170.0, 0.0], [-160.0, 10.0], [-150.0, 0.0]]
    river = [[2.0, 48.83], [2.3, 48.85], [2.35, 48.86], [2.6, 48.8], [3.0, 48.0]]
    scene = map_scene(PARIS, (panel(PARIS, far, river),), "home")
    figure = draw_distributions(PARIS, [panel(PARIS, far, river)])
    drawn = [len(np.asarray(path.vertices)) for one in figure.axes[0].collections for path in one.get_paths()]
    assert drawn == [4, 4]  # the halo, and the line itself
    assert scene.size[0] > 2
