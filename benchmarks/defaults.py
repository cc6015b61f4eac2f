"""Which method comes closest to the truth, cell by cell: the paper's grid, truths of every kind, heaps, weak reports.

    python -m benchmarks.defaults                       # the paper's grid, ten repeats: a quarter of an hour
    python -m benchmarks.defaults --quick               # two repeats of every third cell
    python -m benchmarks.defaults --only truths         # smooth, spiky, sparse, ... on lines and grids
    python -m benchmarks.defaults --only heaped         # working hours with the heap at 40, heaps at tens, few values
    python -m benchmarks.defaults --only weak           # reports that hardly tell anything: the mean over four truths
    python -m benchmarks.defaults --only sparse         # categories under k-RR, against MLE and projected inversion
    python -m benchmarks.defaults --only large          # very many values: how long it takes
    python -m benchmarks.defaults --beside MLE smooth   # further methods
    python -m benchmarks.defaults --cells paris/k-RR    # the cells whose names hold this
    python -m benchmarks.defaults --first-seed 1000     # other reports, on which nothing was tuned
    python -m benchmarks.defaults --keep r.jsonl --limit 240  # stop after four minutes; the same again goes on there

The cells are those of :mod:`benchmarks.truths`. Reports are drawn afresh for each repeat, and errors are means
over the repeats. The bars: the geometric mean of the default's EMD is at most 0.70 of IBU's with the delta that is best
for the whole table, and 0.50 of that of EMS; no cell is above 1.5 of what the best delta of that very cell reaches, if
the reports reject the uniform distribution; half of the cells take at most 10 times as long as IBU with delta 0.01, and
none more than 30 times as long and a tenth of a second. Where reports are weak, the mean EMD over uniform, falling,
humped and spiky truths is at most that of every single delta, and of a uniform truth at least 95 % of surveys are told
to be no different from one; where IBU stops after a step or two, only the second bar on time is asked. On categories
under k-RR the default's total variation and squared error are at most 1.02 of the better of MLE and inversion with
projection.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

import confide as cf
from benchmarks.timing import machine, once, print_table, verdict
from benchmarks.truths import SECTIONS, Cell, FloatArray, cells_of
from confide.channels.base import Layout
from confide.check.uniformity import uniformity_test
from confide.estimates.estimate import recover
from confide.evidence.evidence import Evidence
from confide.solve.em import SmallStep, StoppingRule

Numbers = dict[str, float]
Job = tuple[str, str, int, tuple[str, ...]]

DELTAS = (1.0, 0.1, 0.01, 0.001)
FIXED = tuple(f"IBU {delta:g}" for delta in DELTAS)
DEFAULT, USUAL, SMOOTHED = "stacked", "IBU 0.01", "EMS"
SURVEYS = 200
SPARSE, PEOPLE = "sparse", 20_000
CITIES = ("manhattan", "paris")


@dataclass(frozen=True, eq=False)
class EMS(cf.solve.methods.EMMethod):
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

USED = (*FIXED, SMOOTHED, DEFAULT)
BESIDE = tuple(name for name in METHODS if name not in USED)


def run(cell: Cell, seed: int, methods: Sequence[str]) -> dict[str, Numbers]:
    """Return EMD, total variation and seconds of each method on one drawing of the reports, and what is told."""
    generator = np.random.default_rng([seed, 2026])
    histogram = cell.draw(generator)
    truth, counts = histogram / histogram.sum(), cell.mechanism.simulate_counts(histogram, rng=generator)
    results = {}
    for name in methods:
        method = METHODS[name](cell.mechanism.alphabet)
        # Without the test of the fit, which costs all methods alike.
        seconds, answer = once(lambda method=method: recover([(counts, cell.mechanism)], method))  # type: ignore[misc]
        distance = cf.emd(answer.distribution, truth, cell.mechanism.alphabet)
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
        return min(self.emd(name) for name in FIXED if name in self.means)

    @property
    def part(self) -> str:
        """The dataset or kind of truth, and whether the mechanism is metric, local or RAPPOR."""
        first, *others = self.name.split("/")
        kind = next((kind for kind in ("k-RR", "RAPPOR") if kind in others), "metric")
        place = " on a plane" if others[0] == "lake" or (others[0].startswith("planar") and first not in CITIES) else ""
        return f"{first}, {kind}{place}"

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
        if section == SPARSE:
            show_sparse(range(arguments.first_seed, arguments.first_seed + arguments.repeats))
            continue
        methods = (USUAL, DEFAULT) if section == "large" else (*USED, *arguments.beside)
        rows, repeats = measure(section, methods, arguments)
        if rows:
            show(section, rows, methods, repeats)


def populations(size: int) -> dict[str, FloatArray]:
    """Return populations over categories that stand in no order."""
    rank = np.arange(size)
    shares = {
        "sparse, 3 hold most": np.where(
            rank < 3, np.array([0.527, 0.3, 0.12] + [0.0] * (size - 3)), 0.053 / (size - 3)
        ),
        "sparse, a tenth": (rank < size // 10).astype(np.float64),
        "staircase": 2.0 ** -(4 * rank // size),
        "Zipf 1": 1 / (rank + 1.0),
        "Zipf 1.5": (rank + 1.0) ** -1.5,
        "flat": np.ones(size),
    }
    return {name: one / float(one.sum()) for name, one in shares.items()}


def show_sparse(seeds: range) -> None:
    """Print what the default misses on categories under k-RR, in units of the better of MLE and inversion."""
    methods = (cf.MLE(1e-3), cf.Inversion("project"), cf.Stacked())
    lines, worst = [], np.zeros(2)
    for size in (20, 100):
        for name, shares in populations(size).items():
            for epsilon in (0.5, 1.5, 3.0, 4.0):
                mechanism = cf.RandomizedResponse(cf.Categories([f"c{place}" for place in range(size)]), epsilon)
                errors = np.mean([_miss(mechanism, shares, seed, methods) for seed in seeds], axis=0)
                ratios = errors[-1] / errors[:-1].min(axis=0)
                worst = np.maximum(worst, ratios)
                lines.append(
                    [name, f"{size}", f"{epsilon:g}", f"{errors[-1, 0]:.3g}", *(f"{one:.3f}" for one in ratios)]
                )
    heads = ["population", "categories", "epsilon", "total variation", "/ best", "squared error / best"]
    print_table(f"k-RR on categories, {PEOPLE:,} people, {len(seeds)} repeats", heads, lines)
    for what, ratio in zip(("total variation", "squared error"), worst, strict=True):
        words = f"{what} at most {ratio:.3f} of the better of MLE and inversion, bar 1.02"
        print(verdict(words, met=bool(ratio <= 1.02)))


def _miss(
    mechanism: cf.Mechanism, shares: FloatArray, seed: int, methods: Sequence[cf.Method]
) -> list[tuple[float, float]]:
    """Return the total variation and the squared error of each method on one drawing of the reports."""
    generator = np.random.default_rng([seed, 2028])
    histogram = generator.multinomial(PEOPLE, generator.permutation(shares))
    evidence = mechanism.observe(mechanism.simulate_counts(histogram, rng=generator))
    misses = [method.solve(evidence).distribution - histogram / PEOPLE for method in methods]
    return [(float(np.abs(miss).sum()) / 2, float(miss @ miss)) for miss in misses]


def measure(section: str, methods: tuple[str, ...], arguments: argparse.Namespace) -> tuple[list[Row], int]:
    """Run all cells of a section, several at a time, repeat by repeat; return those that have as many as any."""
    names = [name for name in cells_of(section) if arguments.cells in name]
    if arguments.quick:
        names = names[::3]
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.repeats)
    jobs = [(section, name, seed, methods) for seed in seeds for name in names]
    known = dict(_known(arguments.keep, jobs))
    left, end = [job for job in jobs if job not in known], time.monotonic() + arguments.limit
    with ProcessPoolExecutor(arguments.jobs, initializer=_warm_up) as pool:
        for begin in range(0, len(left), 8 * arguments.jobs):
            if time.monotonic() > end:
                print(f"{len(known)} of {len(jobs)} runs are done; the same command goes on from there.")
                break
            some = left[begin : begin + 8 * arguments.jobs]
            found = dict(zip(some, pool.map(_run, some), strict=True))
            known |= found
            _keep(arguments.keep, found)
    whole = [seed for seed in seeds if all((section, name, seed, methods) in known for name in names)]
    rows = [Row(name, _mean([known[section, name, seed, methods] for seed in whole])) for name in names if whole]
    return rows, len(whole)


def _known(path: Path | None, jobs: Sequence[Job]) -> Iterator[tuple[Job, dict[str, Numbers]]]:
    """Read the runs that an earlier command has kept."""
    asked = set(jobs)
    for line in path.read_text().splitlines() if path is not None and path.exists() else ():
        section, name, seed, methods, outcome = json.loads(line)
        if (section, name, seed, tuple(methods)) in asked:
            yield (section, name, seed, tuple(methods)), outcome


def _keep(path: Path | None, found: dict[Job, dict[str, Numbers]]) -> None:
    if path is not None:
        with path.open("a") as file:
            file.writelines(json.dumps([*job, outcome]) + "\n" for job, outcome in found.items())


def show(section: str, rows: Sequence[Row], methods: Sequence[str], repeats: int) -> None:
    """Print every cell, then what the bars ask for."""
    heads = ["cell", *methods, "/ best delta", "told", "time"]
    table = [[row.name, *_figures(row), f"{row.ratio():.2f}", f"{row.told:.0%}", f"{row.pace:.0f}"] for row in rows]
    print_table(f"{section}: mean EMD over {repeats} repeats; times in units of {USUAL}", heads, table)
    if section == "weak":
        _show_weak(rows, methods)
    elif section != "large":
        _show_summary(rows, methods)
        _show_parts(rows)
    _show_time(rows, asks_median=section not in ("weak", "large"))


def _show_summary(rows: Sequence[Row], methods: Sequence[str]) -> None:
    best = min(FIXED, key=lambda name: _geometric_mean([row.emd(name) for row in rows]))
    base = _geometric_mean([row.emd(best) for row in rows])
    variation = np.mean([row.means[best]["variation"] for row in rows])
    told = [row for row in rows if row.told > 0.5] or rows  # of cells that tell nothing, all
    lines = []
    for name in methods:
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


def _show_parts(rows: Sequence[Row]) -> None:
    """Print the same by dataset or kind of truth, and by mechanism on lines and planes."""
    best = min(FIXED, key=lambda name: _geometric_mean([row.emd(name) for row in rows]))
    lines = []
    for part in dict.fromkeys(row.part for row in rows):
        here = [row for row in rows if row.part == part]
        told = [row.ratio() for row in here if row.told > 0.5]
        lines.append(
            [
                part,
                f"{len(here)}",
                f"{_geometric_mean([row.emd(DEFAULT) / row.emd(best) for row in here]):.2f}",
                f"{_geometric_mean([row.emd(DEFAULT) / row.emd(SMOOTHED) for row in here]):.2f}",
                f"{max(told):.2f}" if told else "none told",
                f"{statistics.median(row.pace for row in here):.1f}",
                f"{max(row.means[DEFAULT]['seconds'] for row in here):.2f} s",
            ]
        )
    heads = ["cells", "number", f"of {best}", f"of {SMOOTHED}", "worst cell told", "median time", "slowest"]
    print_table("The default by part", heads, lines)


def _show_weak(rows: Sequence[Row], methods: Sequence[str]) -> None:
    """Print the mean over all truths of each setting, and how often the reports were said to tell nothing."""
    settings = dict.fromkeys(row.name.partition("/")[2] for row in rows)
    lines, regrets, unsaid = [], [], []
    for setting in settings:
        here = [row for row in rows if row.name.partition("/")[2] == setting]
        means = {name: float(np.mean([row.emd(name) for row in here])) for name in methods}
        regrets.append((means[DEFAULT] / min(means[name] for name in FIXED), setting))
        unsaid.append((_wrongly_told(cells_of("weak")[f"uniform/{setting}"]), setting))
        last = [f"{regrets[-1][0]:.2f}", f"{unsaid[-1][0]:.1%}"]
        lines.append([setting, *(f"{means[name]:.3g}" for name in methods), *last])
    heads = ["setting", *methods, "/ best delta", "uniform said to be none"]
    print_table("Mean EMD over all truths of a setting", heads, lines)
    (regret, where), (most, which) = max(regrets), max(unsaid)
    print(verdict(f"mean over four truths {regret:.2f} of the best delta ({where}), bar 1.00", met=regret <= 1))
    print(verdict(f"uniform truths said to be none in {most:.1%} of surveys ({which}), bar 5 %", met=most <= 0.05))
    print(f"Told from uniform, over all truths: {np.mean([row.told for row in rows]):.1%} of surveys.")


def _wrongly_told(cell: Cell) -> float:
    """Return in which share of surveys of a uniform truth the reports reject it."""
    told = 0
    for seed in range(SURVEYS):
        generator = np.random.default_rng([seed, 2027])
        counts = cell.mechanism.simulate_counts(cell.draw(generator), rng=generator)
        evidence = replace(cell.mechanism.observe(counts), layout=Layout.of(cell.mechanism.alphabet))
        told += uniformity_test(evidence).is_seen
    return told / SURVEYS


def _show_time(rows: Sequence[Row], *, asks_median: bool) -> None:
    pace, slowest = statistics.median(row.pace for row in rows), max(rows, key=lambda row: row.excess)
    if asks_median:
        print(verdict(f"median time {pace:.1f} times {USUAL}, bar 10", met=pace <= 10))
    taken = f"{slowest.means[DEFAULT]['seconds']:.3f} s, {slowest.pace:.0f} times {USUAL} ({slowest.name})"
    print(verdict(f"slowest: {taken}, bar 30 times and 0.1 s", met=slowest.excess <= 0.1))


def _run(job: Job) -> dict[str, Numbers]:
    section, name, seed, methods = job
    return run(cells_of(section)[name], seed, methods)


def _warm_up() -> None:
    """Import what is imported at first use, so that no cell is charged with it."""
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), 1.0)
    for make in METHODS.values():
        recover([(mechanism.simulate_counts([20] * 10, rng=0), mechanism)], make(mechanism.alphabet))


def _mean(outcomes: Sequence[dict[str, Numbers]]) -> dict[str, Numbers]:
    measures = ("emd", "variation", "seconds", "told")
    return {
        name: {measure: float(np.mean([outcome[name][measure] for outcome in outcomes])) for measure in measures}
        for name in outcomes[0]
    }


def _figures(row: Row) -> list[str]:
    """Return the mean EMD of every method, the closest one marked."""
    closest = min(row.means, key=row.emd)
    return [f"{row.emd(name):.3g}{'*' if name == closest else ''}" for name in row.means]


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
    parser.add_argument("--only", nargs="+", choices=[*SECTIONS, SPARSE], default=["paper"], help="which tables")
    parser.add_argument("--cells", default="", help="only cells whose names hold this")
    parser.add_argument("--beside", nargs="+", choices=BESIDE, default=(), help="further methods")
    parser.add_argument("--keep", type=Path, help="a file of the runs that are done, to go on from")
    parser.add_argument("--limit", type=float, default=math.inf, help="seconds after which no run is begun")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.repeats = 2
    return arguments


if __name__ == "__main__":
    main()
