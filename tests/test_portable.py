"""What devices share is the same on every machine: surveys, fingerprints, tables and draws."""

from __future__ import annotations

import ast
import hashlib
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.channels import kernels
from confide.mechanisms.guarantees import epsilon_above
from confide.mechanisms.planar import nearest_cells
from confide.mechanisms.sampling import log_of
from confide.surveys.survey import parse_survey
from confide.values.portable import cosine, exp_minus, length, one_minus_exp_minus, sine, total
from vectors.machines import settings
from vectors.surveys import MECHANISMS

SOURCE = Path(cf.__file__).parent

PATTERNS = (
    "values/*.py",
    "surveys/survey.py",
    "channels/kernels.py",
    "mechanisms/finite.py",
    "mechanisms/planar.py",
    "mechanisms/square_wave.py",
    "mechanisms/near_or_far.py",
    "mechanisms/hadamard_response.py",
    "mechanisms/geometries.py",
    "mechanisms/projective_geometry.py",
    "mechanisms/combinations.py",
)

MAKERS = sorted(
    path
    for pattern in PATTERNS
    for path in SOURCE.glob(pattern)
    # Which pairs of values a page tells of, which cells a question about a circle means, and how far apart answers are.
    if path.name != "distances.py"
)
"""Modules that make what a fingerprint, a table or a draw depends on."""

assert all(any(SOURCE.glob(pattern)) for pattern in PATTERNS), "modules have moved: name them where they are"

VARYING = {
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "pow", "power", "float_power", "hypot", "dist", "cbrt"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh"),
    *("tanh", "gamma", "lgamma", "erf", "sum", "nansum", "mean", "dot", "vdot", "inner", "matmul", "einsum"),
    *("tensordot", "linalg", "fft", "norm", "convolve"),
}
"""Of math and numpy: functions whose last bit depends on the processor, the C library or the order of a sum."""


def calls_of(path: Path) -> Iterator[tuple[int, str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield node.lineno, "@"
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "scipy":
            yield node.lineno, "scipy"
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("np", "math") and node.attr in VARYING:
            yield node.lineno, node.attr


@pytest.mark.parametrize("path", MAKERS, ids=lambda path: str(path.relative_to(SOURCE)))
def test_modules_that_make_tables_call_no_function_that_differs_between_machines(path: Path) -> None:
    found = {f"line {line}: {name}" for line, name in calls_of(path)}
    assert not found


def surveys() -> Iterator[cf.Survey]:
    """Yield those of the vectors, and random ones whose tables take numerical work."""
    for kind, mechanisms in MECHANISMS.items():
        for number, mechanism in enumerate(mechanisms):
            yield cf.Survey(mechanism, "value", f"{kind} {number}")
    generator = np.random.default_rng(27)
    for number in range(12):
        rows, columns = generator.integers(2, 9, 2).tolist()
        epsilon = float(10 ** generator.uniform(-2, 1.5))
        cells = [(row, column) for row in range(rows) for column in range(columns)]
        holes = [cells[place] for place in generator.choice(len(cells), len(cells) // 4, replace=False)]
        grid = cf.Grid(rows, columns, float(generator.uniform(0.1, 2)), "km", holes if number % 2 else ())
        edges = np.cumsum(generator.integers(1, 50, 8)).tolist()
        places = cf.Places(
            centre=generator.uniform((-65, -170), (65, 170)).tolist(),
            radius=f"{generator.uniform(1, 20):.3f} km",
            cell="1.3 km",
        )
        made: list[cf.Mechanism] = [
            cf.Exponential(grid, epsilon),
            cf.Exponential(cf.Bins(edges=edges), epsilon / 50),
            cf.Exponential(cf.Attributes(a=cf.Integers(0, 3), b=grid), epsilon),
            cf.BlahutArimoto(grid, epsilon),
            cf.BlahutArimoto(cf.Integers(0, 40), epsilon / 5, prior=tuple(generator.random(41).tolist())),
            cf.PlanarSquareWave(grid, epsilon),
            cf.TruncatedPlanarGeometric(grid, epsilon),
            cf.TruncatedPlanarLaplace(grid, epsilon),
            cf.TruncatedPlanarLaplace(places, epsilon),
            cf.FromMatrix(cf.Integers(0, 5), generator.dirichlet(np.ones(7), 6)),
        ]
        made.append(cf.Product(home=made[6], away=made[0]))
        made.append(cf.TwoRounds(made[0], cf.Exponential(grid, epsilon)))
        for mechanism in made:
            yield cf.Survey(mechanism, "value", f"random {number}")


def digest() -> str:
    """Return a digest of the documents of all surveys, tables and fingerprints among them."""
    whole = hashlib.sha256()
    for survey in surveys():
        whole.update(survey.to_json().encode())
    return whole.hexdigest()


@cache
def sound_digest() -> str:
    """Return the digest as it is here, made once for all tests of a process."""
    return digest()


@pytest.mark.slow
def test_documents_are_the_same_bytes_under_the_plainest_instruction_set() -> None:
    command = [sys.executable, "-c", "from tests.test_portable import digest; print(digest())"]
    plainest = settings().get("no AVX2 either", {}) | {"OPENBLAS_CORETYPE": "Prescott"}
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)} | plainest
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == sound_digest()


NUDGED = (
    "exp",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "hypot",
    "sin",
    "cos",
    "tan",
    "tanh",
    "cosh",
    "sinh",
    "power",
)


def test_an_ulp_in_any_function_of_the_library_changes_no_document(monkeypatch: pytest.MonkeyPatch) -> None:
    before = sound_digest()
    for cached in (kernels.sum_rule, kernels._unit_rule):
        cached.cache_clear()
    for module in (math, np):
        for name in NUDGED:
            if hasattr(module, name):
                monkeypatch.setattr(module, name, _nudged(getattr(module, name)))
    assert math.exp(1.0) != 2.718281828459045
    assert digest() == before


def _nudged(function: Any) -> Any:
    return lambda *given, **named: np.nextafter(function(*given, **named), np.inf)


@pytest.mark.parametrize("size", [3, 5, 30])
def test_matrices_come_back_as_they_went(size: int) -> None:
    generator = np.random.default_rng(size)
    for _ in range(40):
        matrix = generator.dirichlet(np.full(size, generator.choice([0.1, 1, 10])), size)
        survey = cf.Survey(cf.FromMatrix(cf.Integers(0, size - 1), matrix), "value")
        for again in (cf.Survey.from_json(survey.to_json()), parse_survey(survey.text())):
            assert again == survey
            assert again.fingerprint == survey.fingerprint


def test_a_matrix_is_divided_by_its_sums_once() -> None:
    rows = np.array([[0.2, 0.3, 0.5 + 1e-10], [1 / 3, 1 / 3, 1 / 3]])
    once = cf.FromMatrix(cf.Integers(0, 1), rows).matrix
    assert abs(math.fsum(once[0]) - 1) < 1e-15
    assert (cf.FromMatrix(cf.Integers(0, 1), once).matrix == once).all()


def test_a_computed_epsilon_is_the_smallest_that_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    ratios = [Fraction(3), Fraction(1001, 1000), Fraction(10**30 + 1, 10**30), Fraction(2**70, 3)]
    found = [epsilon_above(ratio) for ratio in ratios]
    for step in (-math.inf, math.inf):  # whatever the library's logarithm rounds to
        moved = lambda ratio, step=step: math.nextafter(log_of(ratio), step)  # noqa: E731
        monkeypatch.setattr("confide.mechanisms.guarantees.log_of", moved)
        assert [epsilon_above(ratio) for ratio in ratios] == found
    for ratio, epsilon in zip(ratios, found, strict=True):
        low, high = (EXACT.exp(Decimal(one)) for one in (math.nextafter(epsilon, 0), epsilon))
        assert low < EXACT.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)) <= high


def test_the_promise_of_a_matrix_covers_the_weights_it_is_drawn_from() -> None:
    generator = np.random.default_rng(5)
    for _ in range(30):
        mechanism = cf.FromMatrix(cf.Integers(0, 2), generator.dirichlet(np.ones(4), 3))
        rows = [[Fraction(one, sum(row)) for one in row] for row in (mechanism.weights(value) for value in range(3))]
        worst = max(one[place] / other[place] for one in rows for other in rows for place in range(4))
        assert epsilon_above(worst) <= mechanism.guarantee.bound(0, 1) < epsilon_above(worst) * (1 + 1e-13)


@pytest.mark.parametrize("shape", [(5, 7), (7, 5), (1, 6), (6, 6)])
def test_the_nearest_output_is_found_in_whole_numbers(shape: tuple[int, int]) -> None:
    generator = np.random.default_rng(shape[0])
    rows, columns = shape
    cells = [(row, column) for row in range(rows) for column in range(columns)]
    for count in (1, len(cells) // 2, len(cells) - 1):
        chosen = generator.choice(len(cells), count, replace=False)
        grid = cf.Grid(rows, columns, holes=[cells[place] for place in chosen])
        outputs = [cell for cell in cells if cell not in grid.holes]
        wanted = [
            min(((row - down) ** 2 + (column - along) ** 2, number) for number, (down, along) in enumerate(outputs))[1]
            for row, column in cells
        ]
        assert nearest_cells(grid.box, grid).tolist() == wanted


EXACT = Context(prec=60)


def test_exp_is_right_to_two_units_in_the_last_place() -> None:
    points = np.concatenate([np.linspace(0, 1, 300), np.linspace(0, 700, 300), 10.0 ** np.arange(-300, 0)])
    for point, found in zip(points.tolist(), exp_minus(points).tolist(), strict=True):
        exact = EXACT.exp(Decimal(-point))
        assert abs(Decimal(found) / exact - 1) < Decimal(2) ** -51


def test_exp_works_on_any_shape_and_in_batches() -> None:
    many = np.linspace(0, 600, 40_000).reshape(200, 200)
    assert (exp_minus(many)[:, 7] == exp_minus(many[:, 7])).all()
    assert exp_minus(many).shape == many.shape
    assert exp_minus(np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.3, -0.7, math.pi / 4, 1.5, math.pi / 2])
def test_sine_and_cosine(angle: float) -> None:
    assert sine(angle) == pytest.approx(math.sin(angle), rel=1e-15, abs=1e-300)
    assert cosine(angle) == pytest.approx(math.cos(angle), rel=1e-15)


@pytest.mark.parametrize("exponent", [1e-300, 1e-12, 0.5, 40.0, 700.0])
def test_one_minus_exp(exponent: float) -> None:
    assert one_minus_exp_minus(exponent) == pytest.approx(-math.expm1(-exponent), rel=1e-15)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 1000, 1001])
def test_totals_and_lengths(count: int) -> None:
    terms = np.random.default_rng(count).normal(size=(count, 3))
    assert total(terms) == pytest.approx([math.fsum(column) for column in terms.T])
    assert total(terms.T) == pytest.approx([math.fsum(row) for row in terms])
    assert length(*terms.T) == pytest.approx(np.linalg.norm(terms, axis=1))
