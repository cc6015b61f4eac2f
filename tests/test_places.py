"""Cells on the Earth: the encoding to the last bit, back again, what is refused and what is said."""

from __future__ import annotations

import math

import numpy as np
import pytest

import confide as cf
from confide.errors import InvalidParameterError, ValueOutsideAlphabetError

MANHATTAN = (40.7044, -74.0205, 40.7942, -73.9374)


def test_the_cut_of_the_shared_data() -> None:
    places = cf.Places(*MANHATTAN, rows=20, columns=14)
    south, west, north, east = MANHATTAN
    points = np.random.default_rng(3).uniform((south, west), (north, east), (1000, 2))
    corners = np.array([(south, west), (north, east), (south, east), (north, west)])
    points = np.concatenate([points, corners])
    row = np.minimum(np.floor((points[:, 0] - south) / (north - south) * 20), 19)
    column = np.minimum(np.floor((points[:, 1] - west) / (east - west) * 14), 13)
    assert (places.take(points) == np.stack([row, column], axis=-1)).all()
    assert places.take(corners).tolist() == [[0, 0], [19, 13], [0, 13], [19, 0]]
    assert [places.read((repr(one), repr(other))) for one, other in points.tolist()] == [
        tuple(cell) for cell in places.take(points).tolist()
    ]


def test_cells_and_back() -> None:
    places = cf.Places(*MANHATTAN, cell="500 m", holes=[(3, 4)])
    everyone = np.arange(places.size)
    assert (places.encode(places.take(places.centres(everyone))) == everyone).all()
    corners = places.corners(everyone)
    assert corners.shape == (places.size, 4, 2)
    assert corners.min(axis=(0, 1)).tolist() == [places.south, places.west]
    assert corners.max(axis=(0, 1)).tolist() == [places.north, places.east]
    assert (corners[0, 1] == corners[1, 0]).all()  # neighbours share corners to the last bit
    inside = places.centres(everyone)[:, None] - corners
    assert (inside[:, 0] > 0).all()
    assert (inside[:, 2] < 0).all()
    with pytest.raises(ValueOutsideAlphabetError):
        places.take(cf.Places(*MANHATTAN, cell="500 m").centres([3 * 15 + 4]))  # in the hole


def test_a_box_grows_to_whole_cells_and_by_less_than_one() -> None:
    places = cf.Places(*MANHATTAN, cell="500 m")
    south, west, north, east = MANHATTAN
    assert places.spacing == 0.5
    assert places.south <= south < north <= places.north
    assert places.west <= west < east <= places.east
    step = places.bounds.tall / places.rows, places.bounds.wide / places.columns
    assert places.bounds.tall - (north - south) < step[0]
    assert places.bounds.wide - (east - west) < step[1]
    assert cf.Places(*MANHATTAN, cell="0.5 km") == places
    assert cf.Places(*MANHATTAN, cell="500 m", unit="m").spacing == 500


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"south": 47, "west": 6, "north": 55, "east": 15, "cell": "1 km"}, "too tall at this latitude: cut it"),
        ({"south": 60, "west": 10, "north": 60.1, "east": 10.1, "rows": 10, "columns": 10}, "km tall and .* square"),
        ({"south": -18, "west": 177, "north": -17, "east": -179, "cell": "1 km"}, "date line is cut there in two"),
        ({"south": 89.8, "west": 0, "north": 89.9, "east": 1, "cell": "1 km"}, "too near a pole|gives away"),
        ({"south": -90, "west": 0, "north": -89.99, "east": 1, "cell": "1 km"}, "too near a pole"),
        ({"south": 40, "west": 0, "north": 91, "east": 1, "cell": "1 km"}, "north must be decimal degrees"),
        ({"south": math.nan, "west": 0, "north": 1, "east": 1, "cell": "1 km"}, "south must be decimal degrees"),
        ({"south": 1, "west": 0, "north": 0, "east": 1, "cell": "1 km"}, "south must be below north"),
        ({"south": 0, "west": 0, "north": 0.1, "east": 0.1, "cell": "500"}, 'such as "500 m"'),
        ({"south": 0, "west": 0, "north": 0.1, "east": 0.1, "cell": 500}, 'such as "500 m"'),
        ({"south": 0, "west": 0, "north": 0.1, "east": 0.1}, "need a cell size"),
        ({"south": 0, "west": 0, "north": 0.1, "east": 0.1, "cell": "1 km", "rows": 3}, "either a cell size, or rows"),
        ({"south": 0, "west": 0, "north": 0.1}, "need a box"),
        ({"centre": (0, 0), "cell": "1 km"}, "either south, west, north and east, or a centre"),
        ({"centre": (0,), "radius": "1 km", "cell": "1 km"}, "centre must be a latitude and a longitude"),
        ({"centre": (0, 0), "radius": "1 km", "cell": "1 km", "unit": "mile"}, "unit must be one of m, km"),
        ({"centre": (0, 179.99), "radius": "5 km", "cell": "1 km"}, "east must be decimal degrees"),
    ],
)
def test_what_a_plane_does_not_serve_is_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        cf.Places(**settings)  # type: ignore[arg-type]


def test_a_spacing_is_never_more_than_the_ground_bears() -> None:
    with pytest.raises(InvalidParameterError, match="would be overstated and the promise broken"):
        cf.Places(*MANHATTAN, rows=20, columns=14, spacing=0.4987)
    assert cf.Places(*MANHATTAN, rows=20, columns=14, spacing=0.498).spacing == 0.498


def test_what_is_given_away_and_edges_are_said() -> None:
    words = " ".join(cf.Places(*MANHATTAN, cell="500 m").fine_print)
    assert "at most 0.14% less, which is given away" in words
    assert "count as a whole cell, 0.5 km, apart (at a corner 0.707 km)" in words
    assert "two people in one cell are not told apart at all" in words


def test_points_that_lie_in_no_cell_are_refused_with_the_likely_cause() -> None:
    places = cf.Places(*MANHATTAN, cell="500 m")
    with pytest.raises(ValueOutsideAlphabetError, match=r"1 of 2 .* position 1 \(latitude and longitude swapped\)"):
        places.take([(40.75, -73.98), (-73.98, 40.75)])
    with pytest.raises(ValueOutsideAlphabetError, match="not decimal degrees"):
        places.take([(math.nan, -73.98)])
    with pytest.raises(ValueOutsideAlphabetError, match="no latitude and longitude"):
        places.take([(95.0, -73.98)])
    with pytest.raises(InvalidParameterError, match="as numbers, in decimal degrees"):
        places.take([("40.75", "-73.98")])
    with pytest.raises(InvalidParameterError, match=r"pairs \(latitude, longitude\)"):
        places.take([40.75])


def test_mechanisms_take_coordinates_and_report_cells() -> None:
    places = cf.Places.around(48.8566, 2.3522, "3 km", cell="500 m")
    mechanism = cf.TruncatedPlanarLaplace(places, epsilon=1.0)
    reports = mechanism.privatize([(48.85, 2.35)] * 50, rng=1)
    assert reports.shape == (50, 2)
    assert places.contains(reports).all()
    grid = cf.TruncatedPlanarLaplace(cf.Grid(12, 12, places.spacing, "km"), epsilon=1.0)
    taken = places.take([(48.85, 2.35)] * 50)
    assert (grid.privatize(taken, rng=1) == reports).all()
    assert mechanism.channel.dense() == pytest.approx(grid.channel.dense())
    assert mechanism.reports_every_value
    holed = cf.TruncatedTaxicab(cf.Places(0, 0, 0.04, 0.04, rows=4, columns=4, holes=[(0, 0), (2, 2)]), epsilon=0.2)
    assert cf.audit(holed, reports=20_000).holds


def test_a_survey_of_places_holds_all_that_a_device_needs() -> None:
    survey = cf.parse_survey(
        'name = "home"\n[alphabet]\nkind = "places"\ncentre = [48.8566, 2.3522]\nradius = "3 km"\ncell = "500 m"\n'
        '[mechanism]\nkind = "truncated-planar-laplace"\nepsilon = 1.0\n'
    )
    declared = survey.record()["alphabet"]
    assert list(declared) == ["kind", "rows", "columns", "spacing", "south", "west", "north", "east"]
    assert cf.Survey.from_json(survey.to_json()) == survey
    assert cf.parse_survey(survey.text()).fingerprint == survey.fingerprint
