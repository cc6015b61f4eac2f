"""Which method comes closest to the truth, cell by cell: the paper's grid, truths of every kind, heaps, weak reports.

    python -m benchmarks.defaults                       # the paper's grid, ten repeats: a quarter of an hour
    python -m benchmarks.defaults --quick               # two repeats of every third cell
    python -m benchmarks.defaults --only truths         # smooth, spiky, sparse, ... on lines and grids
    python -m benchmarks.defaults --only heaped         # working hours with the heap at 40, heaps at tens, few values
    python -m benchmarks.defaults --only weak           # reports that hardly tell anything: the mean over four truths
    python -m benchmarks.defaults --cells paris/krr     # the cells whose names hold this
    python -m benchmarks.defaults --first-seed 1000     # other reports, on which nothing was tuned
    python -m benchmarks.defaults --jobs 4

A cell is a dataset, a mechanism and a privacy level. Reports are drawn afresh for each repeat, and errors are means
over the repeats. The bars: the geometric mean of the default's EMD is at most 0.70 of IBU's with the delta that is best
for the whole table, and 0.50 of that of EMS; no cell is above 1.5 of what the best delta of that very cell reaches, if
the reports reject the uniform distribution; half of the cells take at most 10 times as long as IBU with delta 0.01, and
none more than 30 times as long and a tenth of a second. Where reports are weak, the mean EMD over uniform, falling,
humped and spiky truths is at most that of every single delta, and of a uniform truth at least 95 % of surveys are told
to be no different from one.
"""

from __future__ import annotations

import argparse
import math
import statistics
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
from confide.em import SmallStep, StoppingRule
from confide.evidence import Evidence
from confide.recovery import recover

FloatArray = NDArray[np.float64]
Numbers = dict[str, float]

DELTAS = (1.0, 0.1, 0.01, 0.001)
FIXED = tuple(f"IBU {delta:g}" for delta in DELTAS)
DEFAULT, USUAL, SMOOTHED = "stacked", "IBU 0.01", "EMS"


@dataclass(frozen=True, eq=False)
class EMS(cf.EMMethod):
    """EM with the average [1, 2, 1] / 4 over neighbours after every step (Silverman et al., 1990)."""

    name = SMOOTHED
    alphabet: cf.Alphabet

    def rule(self, evidence: Evidence, pilot: cf.Solution | None = None) -> StoppingRule:  # noqa: ARG002 (one for all)
        """Stop as the paper does."""
        return SmallStep(0.01)

    def adjust(self, theta: FloatArray) -> FloatArray:
        """Average along every axis; what a missing neighbour would have got stays."""
        averaged: FloatArray = theta @ _average(self.alphabet)
        return averaged


@cache
def _average(alphabet: cf.Alphabet) -> FloatArray:
    layout = Layout.of(alphabet)
    assert layout is not None
    box = np.full(math.prod(layout.shape), -1)
    box[slice(None) if layout.places is None else layout.places] = np.arange(alphabet.size)
    box, whole = box.reshape(layout.shape), np.eye(alphabet.size)
    for axis in range(box.ndim):
        one = np.eye(alphabet.size)
        lines = np.moveaxis(box, axis, 0)
        for left, right in zip(lines[:-1].reshape(-1), lines[1:].reshape(-1), strict=True):
            if left >= 0 and right >= 0:
                one[left, right] = one[right, left] = 0.25
                one[left, left] -= 0.25
                one[right, right] -= 0.25
        whole = whole @ one
    return whole


METHODS: dict[str, Callable[[cf.Alphabet], cf.Method]] = {
    **{name: lambda _, delta=delta: cf.IBU(delta) for name, delta in zip(FIXED, DELTAS, strict=True)},  # type: ignore[misc]
    SMOOTHED: EMS,
    "held-out": lambda _: cf.IBU(stop="held-out", iteration_limit=5000),
    "MLE": lambda _: cf.MLE(1e-3),
    "smooth": lambda _: cf.Smooth(),
    DEFAULT: lambda _: cf.Stacked(),
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

    def run(self, seed: int) -> dict[str, Numbers]:
        """Return EMD, total variation and seconds of every method on one drawing of the reports, and what is told."""
        generator = np.random.default_rng([seed, 2026])
        histogram = self.draw(generator)
        truth, counts = histogram / histogram.sum(), self.mechanism.simulate_counts(histogram, rng=generator)
        results = {}
        for name, make in METHODS.items():
            method = make(self.mechanism.alphabet)
            # Without the test of the fit, which costs all methods alike.
            seconds, answer = once(lambda method=method: recover([(counts, self.mechanism)], method))  # type: ignore[misc]
            distance = cf.emd(answer.distribution, truth, self.mechanism.alphabet)
            variation = cf.total_variation(answer.distribution, truth)
            told = float(answer.is_told)
            results[name] = {"emd": distance, "variation": variation, "seconds": seconds, "told": told}
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

    @property
    def told(self) -> float:
        """In which share of the repeats the reports rejected the uniform distribution."""
        return self.means[DEFAULT]["told"]

    @property
    def pace(self) -> float:
        """How long the default takes, in units of IBU with delta 0.01."""
        return self.means[DEFAULT]["seconds"] / self.means[USUAL]["seconds"]

    @property
    def excess(self) -> float:
        """Seconds of the default beyond 30 times as long as IBU takes."""
        return self.means[DEFAULT]["seconds"] - 30 * self.means[USUAL]["seconds"]

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
    heads = ["cell", *METHODS, "/ best delta", "told", "time"]
    table = [[row.name, *_figures(row), f"{row.ratio():.2f}", f"{row.told:.0%}", f"{row.pace:.0f}"] for row in rows]
    print_table(f"{section}: mean EMD over {repeats} repeats; times in units of {USUAL}", heads, table)
    if section == "weak":
        _show_weak(rows)
    else:
        _show_summary(rows)
    _show_time(rows)


def _show_summary(rows: Sequence[Row]) -> None:
    best = min(FIXED, key=lambda name: _geometric_mean([row.emd(name) for row in rows]))
    base = _geometric_mean([row.emd(best) for row in rows])
    variation = np.mean([row.means[best]["variation"] for row in rows])
    told = [row for row in rows if row.told > 0.5]
    lines = []
    for name in METHODS:
        ratios = [row.ratio(name) for row in told]
        lines.append(
            [
                name,
                f"{_geometric_mean([row.emd(name) for row in rows]) / base:.3f}",
                f"{np.mean([row.means[name]['variation'] for row in rows]) / variation:.3f}",
                f"{max(ratios):.2f}",
                f"{sum(ratio > 1.15 for ratio in ratios)} of {len(told)}",
                f"{sum(row.means[name]['seconds'] for row in rows) / _seconds(rows, USUAL):.1f}",
            ]
        )
    heads = ["method", "geometric mean EMD", "mean TV", "worst cell told", "cells above 1.15", "time of all"]
    print_table(f"Against {best}, the best single delta; worst cells against their own best delta", heads, lines)
    mean, worst = _geometric_mean([row.emd(DEFAULT) for row in rows]) / base, max(told, key=Row.ratio)
    smoothed = _geometric_mean([row.emd(DEFAULT) / row.emd(SMOOTHED) for row in rows])
    print(verdict(f"geometric mean {mean:.3f} of {best}, bar 0.70", met=mean <= 0.7))
    print(verdict(f"geometric mean {smoothed:.3f} of {SMOOTHED}, bar 0.50", met=smoothed <= 0.5))
    print(verdict(f"worst cell told {worst.ratio():.2f} ({worst.name}), bar 1.50", met=worst.ratio() <= 1.5))


def _show_weak(rows: Sequence[Row]) -> None:
    """Print the mean over all truths of each setting, and how often the reports were said to tell nothing."""
    settings = dict.fromkeys(row.name.partition("/")[2] for row in rows)
    lines, regrets, unsaid = [], [], []
    for setting in settings:
        here = [row for row in rows if row.name.partition("/")[2] == setting]
        means = {name: float(np.mean([row.emd(name) for row in here])) for name in METHODS}
        regrets.append((means[DEFAULT] / min(means[name] for name in FIXED), setting))
        unsaid += [(row.told, row.name) for row in here if row.name.startswith("uniform/")]
        lines.append([setting, *(f"{means[name]:.3g}" for name in METHODS), f"{regrets[-1][0]:.2f}"])
    print_table("Mean EMD over all truths of a setting", ["setting", *METHODS, "/ best delta"], lines)
    (regret, where), (most, which) = max(regrets), max(unsaid, default=(0.0, "none"))
    print(verdict(f"mean over four truths {regret:.2f} of the best delta ({where}), bar 1.00", met=regret <= 1))
    print(verdict(f"uniform truths said to be none in {most:.1%} of surveys ({which}), bar 5 %", met=most <= 0.05))
    print(f"Told from uniform, over all truths: {np.mean([row.told for row in rows]):.1%} of surveys.")


def _show_time(rows: Sequence[Row]) -> None:
    pace, slowest = statistics.median(row.pace for row in rows), max(rows, key=lambda row: row.excess)
    print(verdict(f"median time {pace:.1f} times {USUAL}, bar 10", met=pace <= 10))
    taken = f"{slowest.means[DEFAULT]['seconds']:.3f} s, {slowest.pace:.0f} times {USUAL} ({slowest.name})"
    print(verdict(f"slowest: {taken}, bar 30 times and 0.1 s", met=slowest.excess <= 0.1))


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


SECTIONS: dict[str, Callable[[], list[Cell]]] = {"paper": paper, "truths": truths, "heaped": heaped, "weak": weak}


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
def _cells(section: str) -> dict[str, Cell]:
    return {cell.name: cell for cell in SECTIONS[section]()}


def _run(job: tuple[str, str, int]) -> dict[str, Numbers]:
    section, name, seed = job
    return _cells(section)[name].run(seed)


def _warm_up() -> None:
    """Import what is imported at first use, so that no cell is charged with it."""
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), 1.0)
    for make in METHODS.values():
        recover([(mechanism.simulate_counts([20] * 10, rng=0), mechanism)], make(mechanism.alphabet))


def _mean(outcomes: Sequence[dict[str, Numbers]]) -> dict[str, Numbers]:
    measures = ("emd", "variation", "seconds", "told")
    return {
        name: {measure: float(np.mean([outcome[name][measure] for outcome in outcomes])) for measure in measures}
        for name in METHODS
    }


def _figures(row: Row) -> list[str]:
    """Return the mean EMD of every method, the closest one marked."""
    closest = min(METHODS, key=row.emd)
    return [f"{row.emd(name):.3g}{'*' if name == closest else ''}" for name in METHODS]


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
