"""Cells on the Earth: the encoding to the last bit, back again, what is refused and what is said."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import numpy as np
import pytest
from tests.cases import each

import confide as cf
from confide.data.files import privatize_file, read_values
from confide.errors import InvalidParameterError, SurveyError, ValueOutsideAlphabetError
from confide.surveys.survey import parse_survey
from confide.values.queries import as_weights

BESIDE = [parent / "shared" / "data" / "raw" for parent in Path(__file__).parents]
RAW = next((folder for folder in BESIDE if folder.is_dir()), BESIDE[2])
"""Raw check-ins beside the project, which are never part of it."""

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


def test_places_at_the_date_line_widen_to_the_other_side() -> None:
    for west, east in ((-180, -179.9), (179.9, 180)):
        found = cf.Places(40, west, 40.1, east, cell="1 km")
        assert found.south <= 40
        assert found.north >= 40.1
        assert -180 <= found.west <= west < east <= found.east <= 180
        assert found.spacing == 1
        assert len(found.take([(40, west), (40.1, east)])) == 2


@each(
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
        ({"centre": (0, 179.99), "radius": "5 km", "cell": "1 km"}, "The circle of 5 km around .0, 179.99. reaches"),
        ({"centre": (95, 0), "radius": "5 km", "cell": "1 km"}, "around .95, 0. reaches past a pole"),
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
    assert "up to 0.14% shorter: on the ground, the promise is kept" in words
    assert "count as a whole cell, 0.5 km, apart (at a corner 0.707 km)" in words
    assert "Two people in one cell cannot be distinguished at all" in words


def test_points_that_lie_in_no_cell_are_refused_with_the_likely_cause() -> None:
    places = cf.Places(*MANHATTAN, cell="500 m")
    with pytest.raises(ValueOutsideAlphabetError, match=r"1 of 2 .* position 1 \(latitude and longitude swapped\)"):
        places.take([(40.75, -73.98), (-73.98, 40.75)])
    with pytest.raises(ValueOutsideAlphabetError, match="missing; first: nan at position 0"):
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


@pytest.mark.slow
def test_the_sql_gives_the_same_cells(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: pip install duckdb")
    places = cf.Places(*MANHATTAN, rows=20, columns=14, holes=[(0, 0), (7, 3), (19, 13)])
    rng = np.random.default_rng(8)
    points = rng.uniform((40.69, -74.03), (40.80, -73.93), (100_000, 2))
    grid = cf.Places(*MANHATTAN, rows=20, columns=14)
    edges = grid.corners(np.arange(280)).reshape(-1, 2)
    near = np.concatenate([np.nextafter(edges, side) for side in (-180.0, 180.0)])  # a hair to either side of each edge
    points = np.concatenate([points, edges, near, [(math.nan, -74.0), (math.inf, -74.0), (-73.98, 40.75)]])
    cells = places.cells(points)
    cells[~places.contains(cells)] = -1
    file = tmp_path / "points.csv"
    file.write_text("lat,lon\n" + "\n".join(f"{one!r},{other!r}" for one, other in points.tolist()))
    row, column = places.sql("lat", "lon")
    found = duckdb.sql(
        f"SELECT COALESCE({row}, -1), COALESCE({column}, -1) FROM read_csv('{file}', all_varchar = true)"  # noqa: S608
    ).fetchall()
    assert (np.array(found) == cells).all()
    assert (cells[:, 0] >= 0).sum() > 50_000


@pytest.mark.parametrize("city", ["manhattan", "paris"])
def test_raw_checkins_give_the_bundled_histograms_to_the_last_count(city: str) -> None:
    raw = RAW / f"gowalla_{city}_latlon.csv.gz"
    if not raw.exists():
        pytest.skip(f"the raw check-ins are not there: {raw.name}")
    data = cf.datasets.load(city)
    assert data.places is not None
    with gzip.open(raw, "rt") as lines:
        points = np.loadtxt(lines, delimiter=",", skiprows=1)
    people = np.bincount(data.places.encode(data.places.take(points)), minlength=data.places.size)
    assert (people == data.histogram).all()


def test_cities_carry_their_boxes() -> None:
    for city in ("manhattan", "paris", "san_francisco"):
        data = cf.datasets.load(city)
        assert isinstance(data.alphabet, cf.Grid)
        assert data.places is not None
        assert data.places.shape == data.alphabet.shape
        assert data.places.given_away < 0.01
        cells = data.places.take(data.coordinates())
        assert (np.bincount(data.places.encode(cells), minlength=data.places.size) == data.histogram).all()
    with pytest.raises(InvalidParameterError, match="These have: manhattan, paris, san_francisco"):
        cf.datasets.adult_ages().coordinates()


GOOD = ["40.75,-73.98", " 40.75 , -73.98 ", "+40.75,-73.98", "4.075e1,-7.398e1", "40.7044,-74.0205", "40.7942,-73.9374"]
MISSING = [",-73.98", "40.75,", ",", " ,-73.98", "40.75, "]
NOT_DEGREES = [
    *("nan,-73.98", "40.75,NaN", "inf,-73.98", "40.75,-Infinity", "40.75,None", "null,null", "N/A,N/A", "#NUM!,-73.98"),
    *(
        "40°45'N,73°58'W",
        "40 45 00 N,73 58 00 W",
        "40.75N,73.98W",
        "N40.75,W73.98",
        "40.75°,-73.98°",
        "40:45:00,-73:58:48",
    ),
    *(
        '"40,75","-73,98"',
        '"40,75",-73.98',
        "40.75;-73.98,x",
        "40_75,-73.98",
        "0x28,-73",
        "\uff14\uff10.75,-73.98",
        "40.75 -73.98,-73.98",
    ),
    *(
        "--40.75,-73.98",
        "40.7.5,-73.98",
        "40.75e,-73.98",
        "lat,lon",
        "true,false",
        "40.75,\u221273.98",
        "(40.75,-73.98)",
        "1e999,-73.98",
    ),
]
NOT_ON_EARTH = [
    "91,-73.98",
    "-90.001,-73.98",
    "40.75,-181",
    "40.75,286.02",
    "40750000,-73980000",
    "1e300,-73.98",
    "95.0,400.0",
]
SWAPPED = ["-73.98,40.75", "-74.0205,40.7044", "-73.9374,40.7942"]
OUTSIDE = [
    *(
        "40.75,73.98",
        "-40.75,-73.98",
        "0,0",
        "-0.0,0.0",
        "40.70439,-73.98",
        "40.7943,-73.98",
        "40.75,-74.0206",
        "40.75,-73.9373",
    ),
    *(
        "40.75,180",
        "40.75,-180",
        "90,-73.98",
        "-90,0",
        "48.85,2.35",
        "1e-300,0",
        "40.7,-73.98",
        "40.8,-74.1",
        "-33.87,151.21",
    ),
]
DAMAGED = {
    "missing": MISSING,
    "not decimal degrees": NOT_DEGREES,
    "no latitude and longitude": NOT_ON_EARTH,
    "latitude and longitude swapped": SWAPPED,
    "outside the alphabet": OUTSIDE,
}


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_damaged_places_are_refused_each_for_its_reason(tmp_path: Path, ending: str) -> None:
    survey = cf.Survey(cf.TruncatedPlanarLaplace(cf.Places(*MANHATTAN, rows=20, columns=14), 1.0), "home")
    rows = [row for some in (GOOD, *DAMAGED.values()) for row in some]
    values = tmp_path / "people.csv"
    values.write_text("lat,lng\n" + "\n".join(rows) + "\n", encoding="utf-8")
    if ending == ".parquet":
        csv = pytest.importorskip("pyarrow.csv")
        options = csv.ConvertOptions(column_types={"lat": "string", "lng": "string"}, strings_can_be_null=False)
        values = tmp_path / "people.parquet"
        pytest.importorskip("pyarrow.parquet").write_table(
            csv.read_csv(tmp_path / "people.csv", convert_options=options), values
        )
    done = privatize_file(values, tmp_path / "reports.csv", survey, rejects=tmp_path / "rejects.csv", force=True)
    account = done.account
    assert account.columns == ("lat", "lng")
    assert {reason: number for reason, number in account.rejected.items() if number} == {
        reason: len(some) for reason, some in DAMAGED.items()
    }
    assert account.accepted == len(GOOD)
    assert account.accepted + account.total_rejected == account.read == len(rows)
    assert sum(map(len, DAMAGED.values())) >= 60


@pytest.mark.parametrize(
    "header",
    ["latitude,longitude", "lat,lon", "lat,lng", "lat,long", "Latitude,Longitude", "Lat,Lon", "LAT,LNG", "lon,lat"],
)
def test_columns_are_recognised(tmp_path: Path, header: str) -> None:
    survey = cf.Survey(cf.TruncatedPlanarLaplace(cf.Places(*MANHATTAN, rows=20, columns=14), 1.0), "home")
    values = tmp_path / "people.csv"
    row = "-73.98,40.75" if header == "lon,lat" else "40.75,-73.98"
    values.write_text(f"id,{header}\n7,{row}\n")
    assert read_values(values, survey).values.tolist() == [[10, 6]]
    values.write_text("a,b\n40.75,-73.98\n")
    assert read_values(values, survey, ("a", "b")).values.tolist() == [[10, 6]]


WATER = {
    "type": "Polygon",
    "coordinates": [
        [[-74.03, 40.70], [-73.99, 40.70], [-73.99, 40.75], [-74.03, 40.75], [-74.03, 40.70]],
        [[-74.006, 40.719], [-74.000, 40.719], [-74.000, 40.723], [-74.006, 40.723], [-74.006, 40.719]],  # an island
    ],
}


def test_holes_are_the_cells_that_water_covers_whole(tmp_path: Path) -> None:
    full = cf.Places(*MANHATTAN, rows=20, columns=14)
    places = cf.Places(*MANHATTAN, rows=20, columns=14, holes=WATER)
    (tmp_path / "water.geojson").write_text(json.dumps(WATER))
    text = (
        '[alphabet]\nkind = "places"\nsouth = 40.7044\nwest = -74.0205\nnorth = 40.7942\neast = -73.9374\nrows = 20\n'
        'columns = 14\nholes = "water.geojson"\n[mechanism]\nkind = "truncated-taxicab"\nepsilon = 1.0\n'
    )
    (tmp_path / "survey.toml").write_text(text)
    survey = cf.load_survey(tmp_path / "survey.toml")
    assert survey.alphabet == places
    assert cf.Survey.from_json(survey.to_json()) == survey  # the cells themselves: no file is needed any more
    low, high = full.corners(np.arange(280)).min(axis=1), full.corners(np.arange(280)).max(axis=1)
    is_water = (high[:, 0] <= 40.75) & (high[:, 1] <= -73.99)
    is_island = (high[:, 0] > 40.719) & (low[:, 0] < 40.723) & (high[:, 1] > -74.006) & (low[:, 1] < -74.0)
    expected = full.decode(np.flatnonzero(is_water & ~is_island)).tolist()
    assert [list(hole) for hole in places.holes] == expected
    assert 20 < len(expected) < 60
    everywhere = {"type": "Polygon", "coordinates": [[[-75, 40], [-73, 40], [-73, 41], [-75, 41], [-75, 40]]]}
    with pytest.raises(InvalidParameterError, match="cover all cells"):
        cf.Places(*MANHATTAN, rows=20, columns=14, holes=everywhere)
    (tmp_path / "survey.toml").write_text(text.replace("water.geo", "sea.geo"))
    with pytest.raises(SurveyError, match=r"sea\.geojson cannot be read"):
        cf.load_survey(tmp_path / "survey.toml")


def test_districts_and_the_fit_name_places_by_degrees() -> None:
    places = cf.Places(*MANHATTAN, cell="3 km")
    mechanism = cf.TruncatedPlanarLaplace(places, epsilon=0.5)
    people = np.random.default_rng(2).uniform(MANHATTAN[:2], MANHATTAN[2:], (2000, 2))
    answer = cf.estimate(cf.tally(mechanism.privatize(people, rng=1)), mechanism, cf.IBU())
    named = answer.windows().labels
    assert all(" N, " in name for name in named)
    assert any(name.split(" around ")[0].endswith("cells") for name in named)


def test_holes_that_touch_nothing_are_refused() -> None:
    swapped = {"type": "Polygon", "coordinates": [[[40.72, -74.0], [40.76, -74.0], [40.76, -73.9], [40.72, -74.0]]]}
    with pytest.raises(cf.ConfideError, match="None of the 1 area of holes touches the box"):
        cf.Places(*MANHATTAN, cell="500 m", holes=swapped)


def test_a_circle_among_several_attributes_asks_which_is_the_place() -> None:
    people = cf.Attributes(home=cf.Places(*MANHATTAN, cell="2 km"), size=cf.Integers(1, 2))
    with pytest.raises(cf.ConfideError, match=r"'home' has\. Ask for 'home within 2 km of"):
        as_weights("within 2 km of 40.75, -73.98", people)


def test_json_opens_no_file_of_whoever_reads_it(tmp_path: Path) -> None:
    secret = tmp_path / "secret.geojson"
    secret.write_text("not for anybody", encoding="utf-8")
    text = parse_survey(
        '[alphabet]\nkind = "places"\ncentre = [48.8566, 2.3522]\nradius = "3 km"\ncell = "500 m"\n'
        '[mechanism]\nkind = "exponential"\nepsilon = 1.0\n'
    ).to_json()
    document = json.loads(text)
    document["alphabet"]["holes"] = str(secret)
    with pytest.raises(SurveyError, match=r"holes are cells.*no file; got .*confide export"):
        cf.Survey.from_json(json.dumps(document))
    place = document["alphabet"]
    document["alphabet"] = {"kind": "attributes", "names": ["home", "work"], "alphabets": [place, place]}
    with pytest.raises(SurveyError, match=r"holes are cells.*no file"):  # in a list as well
        cf.Survey.from_json(json.dumps(document))


def test_reports_of_places_that_have_no_end_are_estimated_and_tested() -> None:
    town = cf.Places(south=48.8, west=2.2, north=48.9, east=2.4, cell="2 km")
    mechanism = cf.PlanarLaplace(town, 0.5)
    people = town.decode(np.random.default_rng(1).integers(0, town.size // 2, 4_000))
    estimate = cf.estimate(cf.tally(mechanism.privatize(people, rng=1, taken=True)), mechanism)
    assert estimate.distribution[: town.size // 2].sum() > 0.8
    assert not estimate.fit.is_bad
    assert estimate.fit.p_value > 0.01
