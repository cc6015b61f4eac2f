"""Cells of :mod:`benchmarks.defaults`: the paper's grid, truths of every kind, heaps, weak reports, many values.

A cell is a truth, a mechanism and a number of people. The truth is a dataset, or drawn anew for each repeat.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import confide as cf
from confide.channels.base import Layout

FloatArray = NDArray[np.float64]

LINE_LEVELS = (0.01, 0.03, 0.05, 0.1, 0.2, 0.3)
PLANE_LEVELS = (0.2, 0.5, 1.0, 2.0, 3.0)
RESPONSE_LEVELS = (0.5, 1.0, 2.0, 3.0, 4.0)
BIT_LEVELS = (0.1, 0.5, 1.0, 2.0, 3.0, 5.0)

LINE: dict[str, Callable[[Any, float], cf.Mechanism]] = {
    "geometric": cf.TruncatedGeometric,
    "Laplace": cf.TruncatedLaplace,
    "exponential": cf.Exponential,
}
PLANE: dict[str, Callable[[Any, float], cf.Mechanism]] = {
    "taxicab": cf.TruncatedTaxicab,
    "planar-geometric": cf.TruncatedPlanarGeometric,
    "planar-Laplace": cf.TruncatedPlanarLaplace,
    "exponential": cf.Exponential,
}
KINDS = ("smooth", "bimodal", "decay", "step", "uniform", "spiky", "sparse", "rough", "single")
WEAK_KINDS = ("uniform", "decay", "humped", "spiky")

HOURS = {40: 467, 50: 87, 45: 56, 60: 45, 35: 40, 20: 38, 30: 35, 55: 21, 25: 21, 48: 16, 38: 15, 15: 12, 70: 9, 10: 9}
HOURS |= {32: 8, 24: 8, 65: 7, 36: 7, 42: 7, 44: 7, 16: 6, 12: 5, 43: 5, 37: 5, 8: 4, 52: 4, 80: 4, 56: 3, 28: 3, 99: 3}
HOURS |= {hour: 1 for hour in range(1, 100) if hour not in HOURS}
"""Working hours a week of about a thousand people, as in the Adult data: half of them say 40."""


@dataclass(frozen=True)
class Cell:
    """A truth, a mechanism and how many people; the truth is a dataset, or drawn anew for each repeat."""

    name: str
    mechanism: cf.Mechanism
    draw: Callable[[np.random.Generator], NDArray[np.int64]]


def paper() -> list[Cell]:
    """Return the paper's grid: its datasets, mechanisms and privacy levels."""
    data = cf.datasets
    lines, planes = (data.adult_ages(), data.lab_procedures()), (data.manhattan(), data.paris())
    cells = [_real(one, name, make, level) for one in lines for name, make in LINE.items() for level in LINE_LEVELS]
    cells += [_real(one, name, make, level) for one in planes for name, make in PLANE.items() for level in PLANE_LEVELS]
    for one in (*lines, *planes):
        cells += [_real(one, "k-RR", cf.RandomizedResponse, level) for level in RESPONSE_LEVELS]
    ten = cf.Integers(0, 9)
    binomial = np.array([math.comb(9, value) for value in range(10)]) / 512
    even = np.where((np.arange(10) >= 3) & (np.arange(10) <= 6), 0.25, 0.0)
    for name, truth in (("binomial", binomial), ("uniform-on-4", even)):
        cells += [
            Cell(f"{name}/RAPPOR/{level:g}", cf.Rappor(ten, level), _sample(truth, 100_000)) for level in BIT_LEVELS
        ]
    return cells


def truths() -> list[Cell]:
    """Return truths of every kind, anew for each repeat, on a line, on a grid and on a grid with a lake."""
    line, grid = cf.Integers(0, 79), cf.Grid(12, 10, spacing=0.5)
    lake = cf.Grid(10, 12, spacing=0.5, holes=tuple((row, column) for row in (3, 4, 5) for column in range(4, 9)))
    mechanisms: dict[str, cf.Mechanism] = {
        **{f"geometric/{level:g}": cf.TruncatedGeometric(line, level) for level in (0.02, 0.1, 0.5)},
        **{f"k-RR/{level:g}": cf.RandomizedResponse(line, level) for level in (0.5, 2.0, 4.0)},
        **{f"planar-Laplace/{level:g}": cf.TruncatedPlanarLaplace(grid, level) for level in (0.3, 1.0, 3.0)},
        "lake/taxicab/1": cf.TruncatedTaxicab(lake, 1.0),
    }
    return [
        Cell(f"{kind}/{name}/n={people:,}", mechanism, _draw_kind(kind, mechanism.alphabet, people))
        for kind in KINDS
        for name, mechanism in mechanisms.items()
        for people in (2_000, 50_000)
    ]


def heaped() -> list[Cell]:
    """Return truths with most people at a few values: working hours, heaps at tens and fives, a handful of values."""
    line = cf.Integers(1, 99)
    mechanisms: dict[str, cf.Mechanism] = {
        **{f"geometric/{level:g}": cf.TruncatedGeometric(line, level) for level in (0.05, 0.1, 0.2, 0.5, 1.0)},
        "Laplace/0.2": cf.TruncatedLaplace(line, 0.2),
        **{f"k-RR/{level:g}": cf.RandomizedResponse(line, level) for level in (1.0, 2.0, 4.0)},
    }
    hours = np.array([HOURS[hour] for hour in range(1, 100)]) / sum(HOURS.values())
    cells = []
    for name, mechanism in mechanisms.items():
        for people in (2_000, 50_000):
            cells.append(Cell(f"hours/{name}/n={people:,}", mechanism, _sample(hours, people)))
            for kind in ("heaped", "sparse"):
                draw = _draw_kind(kind, line, people)
                cells.append(Cell(f"{kind}/{name}/n={people:,}", mechanism, draw))
    bits = cf.Rappor(cf.Integers(0, 49), 5.0)
    cells.append(Cell("sparse/RAPPOR/5/n=10,000", bits, _draw_kind("sparse", bits.alphabet, 10_000)))
    return cells


def weak() -> list[Cell]:
    """Return reports that hardly tell their people from a uniform population, of four truths."""
    settings = {
        "k-RR/1/400 values": (cf.RandomizedResponse(cf.Integers(0, 399), 1.0), 100_000),
        "k-RR/0.5/100 values": (cf.RandomizedResponse(cf.Integers(0, 99), 0.5), 100_000),
        "k-RR/0.5/80 values": (cf.RandomizedResponse(cf.Integers(0, 79), 0.5), 50_000),
        "k-RR/1/80 values": (cf.RandomizedResponse(cf.Integers(0, 79), 1.0), 2_000),
        "k-RR/0.5/12 x 10": (cf.RandomizedResponse(cf.Grid(12, 10, spacing=0.5), 0.5), 50_000),
        "geometric/0.002/100 values": (cf.TruncatedGeometric(cf.Integers(0, 99), 0.002), 2_000),
    }
    return [
        Cell(f"{kind}/{name}, {people:,} people", mechanism, _draw_kind(kind, mechanism.alphabet, people))
        for name, (mechanism, people) in settings.items()
        for kind in WEAK_KINDS
    ]


def large() -> list[Cell]:
    """Return a sparse truth over very many values: what is asked here is how long it takes."""
    cells = []
    for size, make in (
        (100_000, cf.TruncatedGeometric),
        (100_000, cf.RandomizedResponse),
        (10_000, cf.RandomizedResponse),
    ):
        line = cf.Integers(0, size - 1)
        mechanism = make(line, 0.01) if make is cf.TruncatedGeometric else make(line, 8.0)
        name = f"sparse/{mechanism.kind}/{size:,} values/n=100,000"
        cells.append(Cell(name, mechanism, _draw_kind("sparse", line, 100_000)))
    return cells


SECTIONS: dict[str, Callable[[], list[Cell]]] = {
    "paper": paper,
    "truths": truths,
    "heaped": heaped,
    "weak": weak,
    "large": large,
}


def invent(kind: str, layout: Layout, generator: np.random.Generator) -> FloatArray:
    """Return a distribution of a kind over a box."""
    axes = np.meshgrid(*(np.linspace(0, 1, length) for length in layout.shape), indexing="ij")
    size = math.prod(layout.shape)

    def bell(width: float, centre: Any = None) -> FloatArray:
        middle = generator.uniform(0.1, 0.9, len(axes)) if centre is None else [centre] * len(axes)
        apart = sum((axis - one) ** 2 for axis, one in zip(axes, middle, strict=True))
        bells: FloatArray = np.exp(-np.asarray(apart) / (2 * width**2)).reshape(-1)
        return bells

    def some(count: int, weights: FloatArray) -> FloatArray:
        chosen = np.zeros(size)
        chosen[generator.choice(size, count, replace=False)] = weights
        return chosen

    def heaps(weight: float) -> FloatArray:
        """Return heaps at every fifth value, those at every tenth twice as likely, as wide as a bell."""
        places, chosen = np.arange(4, size, 5), np.zeros(size)
        chosen[places] = (1.0 + places % 2) * bell(0.2)[places] * generator.gamma(1.0, 1.0, places.size)
        scale = weight * float(bell(0.2).sum()) / float(chosen.sum())
        return scale * chosen

    first = axes[0].reshape(-1)
    makers: dict[str, Callable[[], FloatArray]] = {
        "smooth": lambda: bell(0.1) + 0.7 * bell(0.2) + 0.4 * bell(0.15) + 0.01,
        "bimodal": lambda: bell(0.06, 0.2) + 0.7 * bell(0.06, 0.75),
        "decay": lambda: np.exp(-6 * sum(axes).reshape(-1)),  # type: ignore[union-attr]
        "step": lambda: ((first > 0.3) & (first < 0.6)).astype(np.float64),
        "uniform": lambda: np.ones(size),
        "humped": lambda: bell(generator.uniform(0.05, 0.15)),
        "heaped": lambda: bell(0.2) + heaps(generator.uniform(0.5, 2.0)),
        "spiky": lambda: bell(0.15) + some(6, generator.uniform(0.02, 0.08, 6) * size / 6),
        "sparse": lambda: some(5, generator.dirichlet(np.ones(5))),
        "rough": lambda: generator.dirichlet(np.full(size, 0.7)),
        "single": lambda: some(1, np.ones(1)),
    }
    truth = makers[kind]()
    return truth / float(truth.sum())


def _draw_kind(kind: str, alphabet: cf.Alphabet, people: int) -> Callable[[np.random.Generator], NDArray[np.int64]]:
    layout = Layout.of(alphabet)
    assert layout is not None

    def draw(generator: np.random.Generator) -> NDArray[np.int64]:
        truth = invent(kind, layout, generator)
        held = truth if layout.places is None else truth[layout.places]
        # What fell into the lake is spread over the shore.
        held = (held + 1e-12) / float((held + 1e-12).sum())
        return generator.multinomial(people, held)

    return draw


def _real(dataset: cf.datasets.Dataset, name: str, make: Any, level: float) -> Cell:
    mechanism = make(dataset.alphabet, level)
    return Cell(f"{dataset.name}/{name}/{level:g}", mechanism, lambda _: dataset.histogram)


def _sample(truth: FloatArray, people: int) -> Callable[[np.random.Generator], NDArray[np.int64]]:
    return lambda generator: generator.multinomial(people, truth)


@cache
def cells_of(section: str) -> dict[str, Cell]:
    """Return the cells of a section by name."""
    return {cell.name: cell for cell in SECTIONS[section]()}
