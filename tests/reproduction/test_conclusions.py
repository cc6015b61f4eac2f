"""The paper's conclusions hold in our tables: small runs with the seeds of the real ones."""

from __future__ import annotations

import pytest

from reproduction import Binomial, Blur, Bundled, EvenOver, Source, Table
from reproduction.catalogue import starts
from reproduction.cells import BIT_INVERSIONS, IBU_FOR_BITS, IBU_OF_PAPER, INVERSIONS, Draw, run_draw
from reproduction.experiments import COLUMNS
from reproduction.table import RESULTS

pytestmark = pytest.mark.slow

REPEATS = 3
AGES, MANHATTAN = Bundled("adult_ages"), Bundled("manhattan")


def medians(source: Source, kind: str, epsilon: float, repeats: int = REPEATS) -> dict[str, float]:
    """Return the median error of each method, over the first repeats of the real experiment."""
    bits = kind == "rappor"
    contenders = (IBU_FOR_BITS, *BIT_INVERSIONS) if bits else (IBU_OF_PAPER, *INVERSIONS)
    draws = [Draw(source, Blur(kind, epsilon), repeat) for repeat in range(repeats)]
    rows = [vars(record.row) for draw in draws for record in run_draw(draw, contenders, is_kept=False)]
    table = Table.of(COLUMNS[RESULTS], rows)
    return {method: table.where(method=method).median("emd") for method in table.distinct("method")}


@pytest.mark.parametrize("kind", ["truncated-geometric", "truncated-laplace", "exponential"])
@pytest.mark.parametrize("epsilon", [0.01, 0.05, 0.1])
def test_ibu_is_far_better_on_a_line_where_privacy_is_strong(kind: str, epsilon: float) -> None:
    found = medians(AGES, kind, epsilon)
    assert found["IBU"] < 0.5 * min(found["INV-N"], found["INV-P"])


@pytest.mark.parametrize(
    ("kind", "epsilon"),
    [
        ("truncated-taxicab", 0.2),
        ("truncated-taxicab", 1.0),
        ("truncated-planar-geometric", 0.4),
        ("truncated-planar-geometric", 1.0),
        ("truncated-planar-laplace", 0.4),
        ("exponential", 0.2),
        ("exponential", 1.0),
    ],
)
def test_ibu_is_far_better_on_a_plane_where_privacy_is_strong(kind: str, epsilon: float) -> None:
    found = medians(MANHATTAN, kind, epsilon)
    assert found["IBU"] < 0.5 * min(found["INV-N"], found["INV-P"])


@pytest.mark.parametrize("source", [AGES, MANHATTAN, Bundled("lab_procedures")], ids=lambda source: source.name)
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
def test_all_are_comparable_under_randomized_response(source: Source, epsilon: float) -> None:
    found = medians(source, "randomized-response", epsilon)
    assert all(0.5 <= found["IBU"] / found[other] <= 2.0 for other in ("INV-N", "INV-P"))


@pytest.mark.parametrize("source", [Binomial(10, 0.5), EvenOver((3, 4, 5, 6), 10)], ids=lambda source: source.label)
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0])
def test_all_are_comparable_under_rappor(source: Source, epsilon: float) -> None:
    # At 0.1 IBU lags a little, and three repeats are too few to tell by how much.
    found = medians(source, "rappor", epsilon, 6 if epsilon == 0.1 else REPEATS)
    assert all(0.5 <= found["IBU"] / found[other] <= 2.0 for other in ("RAP-N", "RAP-P"))


def test_iterations_depend_on_the_start_as_the_paper_says() -> None:
    """With epsilon 0.1 and delta 0.01 the paper counts 10 iterations from p = 0.2 and 296 from p = 0.8."""
    contenders = [starts.started(0.01, 0.2), starts.started(0.01, 0.8)]
    draws = [Draw(starts.DATA, Blur("truncated-geometric", 0.1), repeat) for repeat in range(10)]
    records = [run_draw(draw, contenders, is_kept=False) for draw in draws]
    near, far = ([record[place].row.iterations or 0 for record in records] for place in (0, 1))
    assert min(near) <= 10 <= max(near)
    assert 0.9 * min(far) <= 296 <= max(far)
