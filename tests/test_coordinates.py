"""Planar Laplace noise on coordinates: the lattice, reports in files, and estimates on cells chosen later."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import confide as cf
from confide.channels import kernel_in_blocks
from confide.channels.kernels import PlanarKernel, planar_laplace_kernel
from confide.data.counting import count
from confide.data.files import privatize_file, read_report_rows, read_values
from confide.errors import InvalidParameterError, ValueOutsideAlphabetError
from confide.mechanisms.draws import chi_square

BOX = (40.7044, -74.0205, 40.7942, -73.9374)
COORDINATES = cf.Coordinates(*BOX)
MECHANISM = cf.PlanarLaplace(COORDINATES, epsilon=1.0)
SURVEY = cf.Survey(MECHANISM, "home")


def test_points_are_moved_to_the_nearest_of_the_lattice_and_back() -> None:
    points = np.random.default_rng(1).uniform(BOX[:2], BOX[2:], (1000, 2))
    values = COORDINATES.take(points)
    steps = np.array([COORDINATES.latitude_steps, COORDINATES.longitude_steps])
    assert (values == np.floor(points * steps + 0.5)).all()
    assert (np.abs(COORDINATES.degrees(values) - points) * steps).max() <= 0.5 + 1e-6
    assert [COORDINATES.read((repr(one), repr(other))) for one, other in points.tolist()] == [
        tuple(value) for value in values.tolist()
    ]
    assert COORDINATES.labels(COORDINATES.encode([[4526106, -6243889]])) == ["40.75847 N, 73.98323 W"]


def test_reports_are_coordinates_on_the_lattice_and_no_others() -> None:
    reports = MECHANISM.privatize([(40.75, -73.98)] * 2000, rng=3)
    alphabet = MECHANISM.report_alphabet
    assert alphabet.contains(reports).all()
    assert not alphabet.contains(reports + 1e-7).any()
    assert not alphabet.contains(np.array([[np.nan, 0.0], [np.inf, 0.0]])).any()
    assert (alphabet.decode(alphabet.encode(reports)) == reports).all()
    assert isinstance(MECHANISM.privatize((40.75, -73.98), rng=1), tuple)


def test_the_noise_is_planar_laplace_per_km_and_no_other() -> None:
    """The radius is of a gamma distribution with mean 2 / epsilon; a wrong scale is noticed."""
    reports = MECHANISM.privatize([(40.75, -73.98)] * 20_000, rng=4)
    steps = (reports - (40.75, -73.98)) * (COORDINATES.latitude_steps, COORDINATES.longitude_steps)
    radius = np.hypot(*steps.T) * COORDINATES.spacing
    counts = np.histogram(radius, [0, 0.5, 1, 1.5, 2, 3, 4, 6, np.inf])[0]

    def shares(epsilon: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        edges = epsilon * np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 700])
        return np.diff(1 - (1 + edges) * np.exp(-edges))

    assert chi_square(counts, shares(1.0)) > 1e-6
    assert chi_square(counts, shares(1.1)) < 1e-9


def test_the_promise_is_kept() -> None:
    assert cf.audit(cf.PlanarLaplace(cf.Coordinates(*BOX, step="50 m"), epsilon=1.0), reports=2000).holds
    with pytest.raises(InvalidParameterError, match="overstated and the promise broken"):
        cf.Coordinates(*BOX, spacing=0.001, latitude_steps=111_047, longitude_steps=84_600)


def test_files_of_coordinates_there_and_back(tmp_path: Path) -> None:
    values, reports = tmp_path / "people.csv", tmp_path / "reports.csv"
    values.write_text("id,lat,lon\n" + "1,40.75,-73.98\n" * 300)
    privatize_file(values, reports, SURVEY, seed=5)
    assert reports.read_text().startswith("latitude,longitude\n40.")
    read = read_report_rows(reports, SURVEY)
    assert read.account.accepted == 300
    assert MECHANISM.report_alphabet.contains(read.values).all()
    # Rounded by a spreadsheet to a tenth of a metre, they are the same reports.
    rounded = tmp_path / "rounded.csv"
    lines = reports.read_text().splitlines()[1:]
    rounded.write_text(
        "latitude,longitude\n" + "".join(f"{float(a):.6f},{float(b):.6f}\n" for a, b in (x.split(",") for x in lines))
    )
    assert sorted(map(tuple, read_report_rows(rounded, SURVEY).values.tolist())) == sorted(
        map(tuple, read.values.tolist())
    )


def test_python_and_sql_count_the_same_coordinates(tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="duckdb is not installed: pip install duckdb")
    reports = MECHANISM.privatize([(40.75, -73.98)] * 500, rng=6)
    rows = [f"{one!r},{other!r}" for one, other in reports.tolist()]
    damaged = ["", "nan,0", "40.75", "40°,73°", '"40,75",-73.98', "inf,0", ",-73", "1e300,0", "40.75,-73.98,9", "x,y"]
    good = ["40.7500001,-73.9800001", "91,200", "0,0", "-0.0,1e-9"]  # noise may carry anywhere
    file = tmp_path / "reports.csv"
    file.write_text("latitude,longitude\n" + "\n".join([*rows, *good, *damaged]) + "\n")
    by_python = read_report_rows(file, SURVEY)
    by_sql = count(file, SURVEY, strict=False)
    assert by_python.account.rejected == by_sql.rows.rejected
    assert by_python.account.accepted == by_sql.rows.accepted == 504
    assert by_python.account.read == 514
    one, other = by_python.tally(), by_sql
    assert sorted(zip(map(tuple, one.reports.tolist()), one.counts.tolist(), strict=True)) == sorted(
        zip(map(tuple, other.reports.tolist()), other.counts.tolist(), strict=True)
    )


def test_damaged_coordinates_are_refused_each_for_its_reason(tmp_path: Path) -> None:
    values = tmp_path / "people.csv"
    values.write_text("latitude,longitude\n40.75,-73.98\n-73.98,40.75\n95,0\n40.75N,73.98W\n48.85,2.35\n,\n")
    account = read_values(values, SURVEY).account
    assert dict(account.rejected) == {
        "latitude and longitude swapped": 1,
        "no latitude and longitude": 1,
        "not decimal degrees": 1,
        "outside the alphabet": 1,
        "missing": 1,
    }
    with pytest.raises(ValueOutsideAlphabetError, match=r"position 0 \(latitude and longitude swapped\)"):
        COORDINATES.take([(-73.98, 40.75)])


def brute_force(kernel: PlanarKernel, parts: int, down: int, along: int) -> float:
    """Return the chance of a cell from a part of another drawn at random, by all pairs of parts."""
    pairs = [
        kernel.cells[abs(down * parts + t - s), abs(along * parts + v - u)]
        for s in range(parts)
        for t in range(parts)
        for u in range(parts)
        for v in range(parts)
    ]
    return float(np.sum(pairs)) / parts**2


def test_a_kernel_spread_over_cells() -> None:
    fine = planar_laplace_kernel((15, 12), 0.4)
    kernel = kernel_in_blocks(fine, 3)
    assert kernel.cells.shape == (5, 4)
    for down, along in ((0, 0), (1, 0), (2, 3), (4, 3)):
        assert kernel.cells[down, along] == pytest.approx(brute_force(fine, 3, down, along), rel=1e-12)
    # Tails are what is left of tails one cell on.
    assert kernel.rows[:-1] - kernel.rows[1:] == pytest.approx(kernel.cells[:-1], rel=1e-9)
    assert kernel.columns[:, :-1] - kernel.columns[:, 1:] == pytest.approx(kernel.cells[:, :-1], rel=1e-9)
    assert kernel.corners[:-1] - kernel.corners[1:] == pytest.approx(kernel.columns[:-1], rel=1e-9)
    total = 4 * kernel.corners[0, 0] - 2 * (kernel.rows[0, 0] + kernel.columns[0, 0]) + kernel.cells[0, 0]
    assert total == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_cells_chosen_later_have_the_chances_of_people_spread_over_them(epsilon: float) -> None:
    """People anywhere in one cell: their reports by cells are as declared, and not as from its middle."""
    mechanism = cf.PlanarLaplace(COORDINATES, epsilon)
    places = cf.Places(*BOX, cell="1 km")
    start = places.encode([(5, 4)])
    corners = places.corners(start)[0]
    people = np.random.default_rng(7).uniform(corners[0], corners[2], (40_000, 2))
    counts, on_cells = mechanism.on_cells(cf.tally(mechanism.privatize(people, rng=8)), places)
    seen = np.zeros(places.size, dtype=np.int64)
    seen[places.encode(counts.reports)] = counts.counts
    assert chi_square(seen, on_cells.channel.select(start)[0]) > 1e-6
    assert chi_square(seen, cf.PlanarLaplace(COORDINATES, 1.15 * epsilon).on(places).channel.select(start)[0]) < 1e-9
    if epsilon == 4:  # where noise is narrow, the middle of the cell is another answer
        assert chi_square(seen, cf.TruncatedPlanarLaplace(places, epsilon).channel.select(start)[0]) < 1e-9


def test_an_estimate_on_cells_chosen_later() -> None:
    people = np.random.default_rng(9).normal((40.74, -73.98), (0.02, 0.03), (60_000, 2))
    people = people[(people > BOX[:2]).all(axis=1) & (people < BOX[2:]).all(axis=1)]
    mechanism = cf.PlanarLaplace(COORDINATES, epsilon=2.0)
    reports = cf.tally(mechanism.privatize(people, rng=10))
    counts, on_cells = mechanism.on_cells(reports, "2 km")
    assert counts.total == len(people)
    assert counts.origin.is_simulated
    answer = cf.estimate(counts, on_cells, cf.IBU())
    places = on_cells.alphabet
    truth = np.bincount(places.encode(places.take(people)), minlength=places.size) / len(people)
    assert cf.total_variation(answer.distribution, truth) < 0.06
    assert answer.fit.p_value > 1e-4
    kept = cf.Places(*BOX, cell="2 km", holes=[(4, 0), (4, 1)])
    counts, on_cells = mechanism.on_cells(reports, kept)
    assert counts.total == len(people)  # reports in holes count, though nobody is there
    assert cf.estimate(counts, on_cells, cf.IBU()).distribution.size == kept.size


def test_what_coordinates_do_not_serve_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"--cell \"500 m\" or mechanism.on_cells"):
        cf.estimate(cf.tally(MECHANISM.privatize([(40.75, -73.98)] * 3, rng=1)), MECHANISM)
    with pytest.raises(InvalidParameterError, match="needs cells, and coordinates have none"):
        cf.PlanarGeometric(COORDINATES, epsilon=1.0)
    with pytest.raises(InvalidParameterError, match="has cells already"):
        cf.PlanarLaplace(cf.Places(*BOX, cell="1 km"), epsilon=1.0).on("1 km")
    with pytest.raises(InvalidParameterError, match=r'between "0\.1 m" and "100 m"'):
        cf.Coordinates(*BOX, step="1 km")
    with pytest.raises(InvalidParameterError, match="too tall at this latitude"):
        cf.Coordinates(47, 6, 55, 15)
    with pytest.raises(InvalidParameterError, match="must be counted in km; got m"):
        MECHANISM.on(cf.Places(*BOX, cell="1 km", unit="m"))


def test_a_survey_of_coordinates_holds_all_that_a_device_needs() -> None:
    declared = SURVEY.record()["alphabet"]
    assert declared == {
        "kind": "coordinates",
        "spacing": 0.001,
        "south": 40.7044,
        "west": -74.0205,
        "north": 40.7942,
        "east": -73.9374,
        "latitude_steps": 111_047,
        "longitude_steps": 84_396,
    }
    assert cf.Survey.from_json(SURVEY.to_json()) == SURVEY
    assert cf.parse_survey(SURVEY.text()).fingerprint == SURVEY.fingerprint
