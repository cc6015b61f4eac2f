"""The square wave on a plane, against brute force over all pairs of cells."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import confide as cf
from confide.mechanisms.sampling import ratio_above
from confide.theory.verdicts import Verdict

LAKE = cf.Grid(4, 5, spacing=0.5, unit="km", holes=((0, 0), (1, 2), (2, 2), (3, 4)))


@pytest.mark.parametrize("radius", [None, 0, 1, 1.4, 1.5, 5**0.5, 3, 4.9])
@pytest.mark.parametrize("grid", [cf.Grid(2, 5), LAKE, cf.Grid(3, 5, first_row=-7, first_column=2)], ids=repr)
def test_the_weights_are_those_of_a_disc_around_each_cell(grid: cf.Grid, radius: float | None) -> None:
    mechanism, ratio = cf.PlanarSquareWave(grid, 1.0, radius), ratio_above(Fraction(1))
    assert mechanism.radius is not None
    reach = math.floor(mechanism.radius)
    rows = range(grid.first_row - reach, grid.first_row + grid.rows + reach)
    columns = range(grid.first_column - reach, grid.first_column + grid.columns + reach)
    reports = list(product(rows, columns))
    assert mechanism.report_alphabet.decode(np.arange(len(reports))).tolist() == list(map(list, reports))
    within = set()
    for index, (row, column) in enumerate(grid.decode(np.arange(grid.size)).tolist()):
        squares = [(row - down) ** 2 + (column - along) ** 2 for down, along in reports]
        near = [square <= mechanism.radius * mechanism.radius for square in squares]
        exact = [Fraction(1) if one else ratio for one in near]
        weights = mechanism.weights(index)
        assert [Fraction(one, sum(weights)) for one in weights] == [one / sum(exact) for one in exact]
        within.add(sum(near))
    assert len(within) == 1, "every cell has as many near reports"
    assert cf.audit(mechanism).holds


def test_products_by_fft_are_those_of_the_matrix() -> None:
    grid = cf.Grid(24, 31, holes=((0, 0), (3, 4), (23, 30)))
    mechanism = cf.PlanarSquareWave(grid, 2.0)
    cells, reports = (one.decode(np.arange(one.size)) for one in (grid, mechanism.report_alphabet))
    squares = ((cells[:, None] - reports[None]) ** 2).sum(axis=2)
    assert mechanism.radius is not None
    matrix = np.where(squares <= mechanism.radius**2, math.exp(2.0), 1.0)
    matrix /= matrix.sum(axis=1, keepdims=True)
    generator = np.random.default_rng(0)
    for peaked in (1, 20):
        theta, weights = (np.asarray(generator.random(size) ** peaked) for size in matrix.shape)
        np.testing.assert_allclose(mechanism.channel.push(theta), theta @ matrix, rtol=1e-12)
        np.testing.assert_allclose(mechanism.channel.pull(weights), matrix @ weights, rtol=1e-12)


def test_every_distribution_is_identified() -> None:
    for shape, doubled in product([(2, 2), (2, 6), (5, 4)], range(12)):
        if doubled / 2 < max(shape):
            mechanism = cf.PlanarSquareWave(cf.Grid(*shape), 0.5, doubled / 2)
            assert np.linalg.matrix_rank(mechanism.channel.dense()) == mechanism.alphabet.size
    assert cf.diagnose(None, cf.PlanarSquareWave(LAKE, 1.0)).consistency.verdict is Verdict.YES


@pytest.mark.parametrize("epsilon", [1e-9, 0.5, 1.0, 2.0, 4.0, 100.0])
@pytest.mark.parametrize("shape", [(2, 2), (10, 10), (50, 20)])
def test_the_disc_has_the_share_of_the_window_of_li_and_others(shape: tuple[int, int], epsilon: float) -> None:
    radius = cf.PlanarSquareWave(cf.Grid(*shape), epsilon).radius
    assert radius is not None
    rows, columns = np.mgrid[-99:100, -99:100]
    own, next_ = (int((rows**2 + columns**2 <= one**2).sum()) for one in (radius, radius + 0.5))
    if epsilon < 1e-6:
        window = 1.0  # the limit of the formula, which loses all digits here
    else:
        growth = math.exp(epsilon)
        window = (epsilon * growth - growth + 1) / (growth * (growth - 1 - epsilon))
    cells = shape[0] * shape[1]
    assert own <= max(1.0, window * cells)
    assert next_ > window * cells or radius == max(shape) - 0.5


def test_reports_lie_beyond_the_grid_and_in_holes_as_often_as_they_should() -> None:
    mechanism = cf.PlanarSquareWave(LAKE, 2.0, radius=1.0)
    reports = mechanism.privatize([(2, 3)] * 30_000, rng=1)
    assert (reports.min(axis=0).tolist(), reports.max(axis=0).tolist()) == ([-1, -1], [4, 5])
    near, total = 5 * math.exp(2.0), 5 * math.exp(2.0) + 42 - 5
    distances = np.hypot(*(reports - [2, 3]).T)
    assert (distances <= 1).mean() == pytest.approx(near / total, abs=0.012)
    assert (reports == [2, 2]).all(axis=1).mean() == pytest.approx(math.exp(2.0) / total, abs=0.009)  # a hole


def test_it_errs_less_than_randomized_response() -> None:
    grid = cf.Grid(8, 8)
    rows, columns = grid.decode(np.arange(64)).T
    shares = np.exp(-((rows - 2) ** 2 + (columns - 3) ** 2) / 6)
    people = np.random.default_rng(0).multinomial(20_000, shares / shares.sum())
    errors = []
    for mechanism in (cf.PlanarSquareWave(grid, 1.0), cf.RandomizedResponse(grid, 1.0)):
        estimate = cf.estimate(mechanism.simulate_counts(people, rng=1), mechanism)
        errors.append(cf.emd(estimate.distribution, people / people.sum(), grid))
    assert errors[0] < 0.5 * errors[1]


def test_other_local_mechanisms_on_cells_name_it() -> None:
    for kind in (cf.RandomizedResponse, cf.Rappor, cf.OptimizedUnary):
        assert "(planar-square-wave) makes the same promise" in kind(LAKE, 1.0).advice
        assert "planar" not in kind(LAKE, 100.0).advice
        assert "planar" not in kind(cf.Grid(1, 9), 1.0).advice
    assert not cf.PlanarSquareWave(LAKE, 1.0).advice


def test_another_epsilon_has_its_own_radius_unless_one_was_chosen() -> None:
    grid = cf.Grid(10, 10)
    assert cf.PlanarSquareWave(grid, 1.0).at(4.0) == cf.PlanarSquareWave(grid, 4.0)
    assert cf.PlanarSquareWave(grid, 1.0, radius=2).at(4.0).radius == 2.0


def test_a_survey_keeps_the_radius() -> None:
    values = '[alphabet]\nkind = "grid"\nrows = 10\ncolumns = 10\n'
    survey = cf.parse_survey(f'name = "home"\n{values}[mechanism]\nkind = "planar-square-wave"\nepsilon = 2\n')
    assert survey.mechanism == cf.PlanarSquareWave(cf.Grid(10, 10), 2.0)
    assert cf.Survey.from_json(survey.to_json()) == survey
    assert '"radius":2.5' in survey.to_json()


def test_places_report_cells_of_the_same_plane() -> None:
    places = cf.Places(40.7044, -74.0205, 40.7942, -73.9374, cell="2 km")
    mechanism = cf.PlanarSquareWave(places, 1.0, radius=1)
    counts = cf.tally(mechanism.privatize([(40.75, -73.98)] * 50, rng=1))
    assert mechanism.report_alphabet == cf.Grid(7, 6, places.spacing, "km", first_row=-1, first_column=-1)
    assert cf.estimate(counts, mechanism, cf.MLE()).alphabet == places


@pytest.mark.parametrize(
    ("alphabet", "radius", "words"),
    [
        (cf.Integers(0, 9), None, "needs cells of a plane"),
        (cf.Categories(["a", "b"]), None, "needs cells of a plane"),
        (cf.Lattice(), None, "finite alphabet"),
        (cf.Grid(1, 5), None, "two rows and two columns.*SquareWave"),
        (cf.Grid(2, 2, holes=((0, 0), (0, 1), (1, 1))), None, "at least two cells"),
        (cf.Grid(3, 4), 4, "radius must be less than 4 cell widths.*got 4"),
        (cf.Grid(3, 4), -1, "radius"),
        (cf.Grid(3, 4), math.nan, "radius"),
        (cf.Grid(3, 4), "1", "radius"),
    ],
    ids=repr,
)
def test_bad_settings_are_refused(alphabet: cf.Alphabet, radius: float | None, words: str) -> None:
    with pytest.raises(cf.ConfideError, match=words):
        cf.PlanarSquareWave(alphabet, 1.0, radius)  # type: ignore[arg-type]
