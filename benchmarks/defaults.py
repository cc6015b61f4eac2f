"""Which method comes closest to the truth, cell by cell: the paper's whole grid, and truths of every kind.

    python -m benchmarks.defaults                       # the paper's grid, ten repeats: a quarter of an hour
    python -m benchmarks.defaults --quick               # two repeats of every third cell
    python -m benchmarks.defaults --only truths         # smooth, spiky, sparse, ... on lines and grids
    python -m benchmarks.defaults --cells paris/krr     # the cells whose names hold this
    python -m benchmarks.defaults --first-seed 1000     # other reports, on which nothing was tuned
    python -m benchmarks.defaults --jobs 4

A cell is a dataset, a mechanism and a privacy level. Reports are drawn afresh for each repeat, and errors are means
over the repeats. The bars: the geometric mean of the default's EMD is at most 0.80 of IBU's with the delta that is best
for the whole grid; no cell is above 1.15 of what the best fixed delta of that very cell reaches; total variation is not
worse on average; and all of it takes at most 30 times as long as one IBU run.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import confide as cf
from benchmarks.timing import machine, once, print_table, verdict
from confide.channels.base import Layout

FloatArray = NDArray[np.float64]
Numbers = dict[str, float]

DELTAS = (1.0, 0.1, 0.01, 0.001)
FIXED = tuple(f"IBU {delta:g}" for delta in DELTAS)
DEFAULT = "stacked"
METHODS: dict[str, cf.Method] = {
    **{name: cf.IBU(delta) for name, delta in zip(FIXED, DELTAS, strict=True)},
    "held-out": cf.IBU(stop="held-out", iteration_limit=5000),
    "MLE": cf.MLE(1e-3),
    "smooth": cf.Smooth(),
    DEFAULT: cf.Stacked(),
}

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


@dataclass(frozen=True)
class Cell:
    """A truth, a mechanism and how many people; the truth is a dataset, or drawn anew for each repeat."""

    name: str
    mechanism: cf.Mechanism
    draw: Callable[[np.random.Generator], NDArray[np.int64]]

    def run(self, seed: int) -> dict[str, Numbers]:
        """Return EMD, total variation and seconds of every method on one drawing of the reports."""
        generator = np.random.default_rng([seed, 2026])
        histogram = self.draw(generator)
        truth, counts = histogram / histogram.sum(), self.mechanism.simulate_counts(histogram, rng=generator)
        results = {}
        for name, method in METHODS.items():
            seconds, answer = once(lambda method=method: cf.estimate(counts, self.mechanism, method))  # type: ignore[misc]
            distance = cf.emd(answer.distribution, truth, self.mechanism.alphabet)
            variation = cf.total_variation(answer.distribution, truth)
            results[name] = {"emd": distance, "variation": variation, "seconds": seconds}
        return results


@dataclass(frozen=True)
class Row:
    """A cell with the means of every method over the repeats."""

    name: str
    means: dict[str, Numbers]

    def emd(self, method: str) -> float:
        """Mean EMD; a floor keeps logarithms finite where an answer is exact."""
        return max(self.means[method]["emd"], 1e-9)

    @property
    def best_fixed(self) -> float:
        """What the best fixed delta of this very cell reaches."""
        return min(self.emd(name) for name in FIXED)

    def ratio(self, method: str = DEFAULT) -> float:
        """How far a method is from the truth, in units of the best fixed delta."""
        return self.emd(method) / self.best_fixed


def main() -> None:
    """Print the tables."""
    arguments = _parse()
    print(machine())
    for section in arguments.only:
        rows = measure(section, arguments)
        if rows:
            show(section, rows, arguments.repeats)


def measure(section: str, arguments: argparse.Namespace) -> list[Row]:
    """Run all cells of a section, several at a time."""
    names = [cell.name for cell in SECTIONS[section]() if arguments.cells in cell.name]
    if arguments.quick:
        names = names[::3]
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.repeats)
    jobs = [(section, name, seed) for name in names for seed in seeds]
    with ProcessPoolExecutor(arguments.jobs, initializer=_warm_up) as pool:
        outcomes = list(pool.map(_run, jobs, chunksize=2))
    by_cell: dict[str, list[dict[str, Numbers]]] = {name: [] for name in names}
    for (_, name, _), outcome in zip(jobs, outcomes, strict=True):
        by_cell[name].append(outcome)
    return [Row(name, _mean(outcomes)) for name, outcomes in by_cell.items()]


def show(section: str, rows: Sequence[Row], repeats: int) -> None:
    """Print every cell, then what the bars ask for."""
    heads = ["cell", *METHODS, "default / best delta", "time / IBU 0.01"]
    table = [[row.name, *_figures(row), f"{row.ratio():.2f}", f"{_time(row):.0f}"] for row in rows]
    print_table(f"{section}: mean EMD over {repeats} repeats", heads, table)
    _show_summary(rows)


def _show_summary(rows: Sequence[Row]) -> None:
    best = min(FIXED, key=lambda name: _geometric_mean([row.emd(name) for row in rows]))
    base = _geometric_mean([row.emd(best) for row in rows])
    variation = np.mean([row.means[best]["variation"] for row in rows])
    lines = []
    for name in METHODS:
        ratios = [row.ratio(name) for row in rows]
        lines.append(
            [
                name,
                f"{_geometric_mean([row.emd(name) for row in rows]) / base:.3f}",
                f"{np.mean([row.means[name]['variation'] for row in rows]) / variation:.3f}",
                f"{max(ratios):.2f}",
                f"{sum(ratio > 1.15 for ratio in ratios)} of {len(rows)}",
                f"{sum(row.means[name]['seconds'] for row in rows) / _seconds(rows, 'IBU 0.01'):.1f}",
            ]
        )
    heads = ["method", "geometric mean EMD", "mean TV", "worst cell", "cells above 1.15", "time / IBU 0.01"]
    print_table(f"Against {best}, the best single delta; worst cells against their own best delta", heads, lines)
    mean, worst = _geometric_mean([row.emd(DEFAULT) for row in rows]) / base, max(rows, key=Row.ratio)
    share = np.mean([row.means[DEFAULT]["variation"] for row in rows]) / variation
    pace = _seconds(rows, DEFAULT) / _seconds(rows, "IBU 0.01")
    print(verdict(f"geometric mean {mean:.3f}, bar 0.80", met=mean <= 0.8))
    print(verdict(f"worst cell {worst.ratio():.2f} ({worst.name}), bar 1.15", met=worst.ratio() <= 1.15))
    print(verdict(f"total variation {share:.3f}, bar 1.00", met=bool(share <= 1)))
    print(verdict(f"time of all cells {pace:.1f} times IBU 0.01, bar 30", met=pace <= 30))


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


SECTIONS: dict[str, Callable[[], list[Cell]]] = {"paper": paper, "truths": truths}


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

    first = axes[0].reshape(-1)
    makers: dict[str, Callable[[], FloatArray]] = {
        "smooth": lambda: bell(0.1) + 0.7 * bell(0.2) + 0.4 * bell(0.15) + 0.01,
        "bimodal": lambda: bell(0.06, 0.2) + 0.7 * bell(0.06, 0.75),
        "decay": lambda: np.exp(-6 * sum(axes).reshape(-1)),  # type: ignore[union-attr]
        "step": lambda: ((first > 0.3) & (first < 0.6)).astype(np.float64),
        "uniform": lambda: np.ones(size),
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
def _cells(section: str) -> dict[str, Cell]:
    return {cell.name: cell for cell in SECTIONS[section]()}


def _run(job: tuple[str, str, int]) -> dict[str, Numbers]:
    section, name, seed = job
    return _cells(section)[name].run(seed)


def _warm_up() -> None:
    """Import what is imported at first use, so that no cell is charged with it."""
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), 1.0)
    for method in METHODS.values():
        cf.estimate(mechanism.simulate_counts([20] * 10, rng=0), mechanism, method)


def _mean(outcomes: Sequence[dict[str, Numbers]]) -> dict[str, Numbers]:
    measures = ("emd", "variation", "seconds")
    return {
        name: {measure: float(np.mean([outcome[name][measure] for outcome in outcomes])) for measure in measures}
        for name in METHODS
    }


def _figures(row: Row) -> list[str]:
    """Return the mean EMD of every method, the closest one marked."""
    closest = min(METHODS, key=row.emd)
    return [f"{row.emd(name):.3g}{'*' if name == closest else ''}" for name in METHODS]


def _time(row: Row) -> float:
    return row.means[DEFAULT]["seconds"] / row.means["IBU 0.01"]["seconds"]


def _seconds(rows: Sequence[Row], name: str) -> float:
    return float(sum(row.means[name]["seconds"] for row in rows))


def _geometric_mean(amounts: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(amounts))))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="every third cell, two repeats")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0, help="the seed of the first repeat; the others count on")
    parser.add_argument("--jobs", type=int, default=2, help="processes side by side")
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), default=["paper"], help="which tables")
    parser.add_argument("--cells", default="", help="only cells whose names hold this")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.repeats = 2
    return arguments


if __name__ == "__main__":
    main()
