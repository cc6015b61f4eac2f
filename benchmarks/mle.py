"""How long the certified maximum takes, beside the paper's Algorithm 1 that stops short of it.

    python -m benchmarks.mle                    # a few minutes
    python -m benchmarks.mle --quick            # seconds: smaller problems, so the bars do not apply
    python -m benchmarks.mle --large            # also a plane of 1000 x 1000 cells
    python -m benchmarks.mle --only grid line   # some of the tables

Works of one row take turns, five each, and the shortest of each counts; what takes longer than a few seconds runs
once. Algorithm 1 runs on the stored matrix, by BLAS, except where the bar is in steps through the same channel.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import confide as cf
from benchmarks.timing import machine, once, print_table, shown, verdict
from confide.channels import Dense
from confide.evidence.evidence import Evidence
from confide.solve.methods import Solution

FloatArray = NDArray[np.float64]

RUNS = 5
LONG = 3.0
"""Seconds past which a work is not run again."""

AGAINST_EM = ("problem", "Algorithm 1", "short by", "MLE", "ratio", "certificate", "iterations", "bar")
AGAINST_STEPS = ("problem", "one EM step", "MLE", "in steps", "certificate", "iterations", "bar")


@dataclass(frozen=True)
class Race:
    """A problem, the method that sets the pace and on which channel, and how much of its time is allowed."""

    name: str
    evidence: Evidence
    pace: Evidence
    delta: float
    share: float

    def run(self) -> list[str]:
        """Return a row of the table."""
        mle, ibu = cf.MLE(), cf.IBU(self.delta)
        (ours, answer), (theirs, stopped) = best_of([lambda: mle.solve(self.evidence), lambda: ibu.solve(self.pace)])
        certificate = self.evidence.certificate(answer.distribution)
        short = self.evidence.log_likelihood(answer.distribution) - self.evidence.log_likelihood(stopped.distribution)
        met = certificate <= mle.tolerance and ours <= self.share * theirs
        times = [shown(theirs), f"{short:.2g}", shown(ours), f"{ours / theirs:.3f}x"]
        bar = verdict(f"{self.share:g}x", met=met)
        return [self.name, *times, f"{certificate:.1e}", str(answer.iterations), bar]


@dataclass(frozen=True)
class Climb:
    """A problem, the certificate to reach, and within the time of how many EM steps or seconds."""

    name: str
    evidence: Evidence
    tolerance: float
    steps: float = math.inf
    seconds: float = math.inf

    def run(self) -> list[str]:
        """Return a row of the table; a search that takes three times what is allowed is ended."""
        step = step_time(self.evidence)
        allowed = min(self.steps * step, self.seconds)
        method = cf.MLE(self.tolerance, time_limit=min(3 * allowed + 1, 600.0))
        ((ours, answer),) = best_of([lambda: method.solve(self.evidence)])
        certificate = self.evidence.certificate(answer.distribution)
        words = f"{self.steps:,.0f} steps" if math.isfinite(self.steps) else f"{self.seconds:g} s"
        bar = verdict(words, met=certificate <= self.tolerance and ours <= allowed)
        in_steps = f"{ours / step:,.0f}"
        return [self.name, shown(step), shown(ours), in_steps, f"{certificate:.1e}", str(answer.iterations), bar]


def main() -> None:
    """Print the tables."""
    arguments = _parse()
    print(machine() + (" Quick: the problems are smaller than those of the bars." if arguments.quick else ""))
    for name in arguments.only or SECTIONS:
        SECTIONS[name](quick=arguments.quick, large=arguments.large)


def best_of(works: Sequence[Callable[[], Solution]]) -> list[tuple[float, Solution]]:
    """Return the shortest time of each work, and what came out; they take turns, and slow ones run once."""
    best = [once(work) for work in works]
    for _ in range(RUNS - 1):
        for place, work in enumerate(works):
            if best[place][0] <= LONG:
                best[place] = min(best[place], once(work), key=lambda run: run[0])
    return best


def step_time(evidence: Evidence) -> float:
    """Return the shortest time of one EM step through the channel."""
    size = evidence.channel.shape[0]
    theta = np.full(size, 1 / size)
    return min(once(lambda: theta * evidence.gain(evidence.channel.push(theta)))[0] for _ in range(2 * RUNS))


def grid(*, quick: bool, large: bool) -> None:  # noqa: ARG001 (one signature)
    """k x epsilon on a line, binomial truth."""
    rows = []
    for size in (100, 200) if quick else (100, 200, 400, 800):
        for epsilon in (0.01, 0.03, 0.05):
            mechanism = cf.TruncatedGeometric(cf.Integers(0, size - 1), epsilon)
            evidence = drawn(mechanism, binomial(size), 100_000)
            share = 0.1 if size >= 800 else 0.5
            rows.append(Race(f"k = {size}, epsilon = {epsilon:g}", evidence, stored(evidence), 1e-3, share).run())
    print_table("Truncated geometric, n = 1e5, against Algorithm 1 with delta = 1e-3", AGAINST_EM, rows)


def randomized_response(*, quick: bool, large: bool) -> None:  # noqa: ARG001 (one signature)
    """The closed form."""
    size = 200 if quick else 2000
    mechanism = cf.RandomizedResponse(cf.Integers(0, size - 1), 3.0)
    evidence = drawn(mechanism, binomial(size), 100_000)
    row = Climb(f"k-RR, {size:,} values", evidence, 1e-6, seconds=5e-3).run()
    print_table("Randomized response, n = 1e5, epsilon = 3", AGAINST_STEPS, [row])


def manhattan(*, quick: bool, large: bool) -> None:  # noqa: ARG001 (one signature)
    """The real check-ins, four mechanisms."""
    places = cf.datasets.manhattan()
    alphabet = places.alphabet
    assert isinstance(alphabet, cf.Grid)
    kinds: dict[str, Callable[[float], cf.Mechanism]] = {
        "taxicab": lambda epsilon: cf.TruncatedTaxicab(alphabet, epsilon),
        "planar geometric": lambda epsilon: cf.TruncatedPlanarGeometric(alphabet, epsilon),
        "planar Laplace": lambda epsilon: cf.TruncatedPlanarLaplace(alphabet, epsilon),
        "exponential": lambda epsilon: cf.Exponential(alphabet, epsilon),
    }
    rows = []
    for name, build in kinds.items():
        for epsilon in (1.0,) if quick else (0.2, 0.5, 1.0, 2.0, 3.0):
            mechanism = build(epsilon)
            evidence = mechanism.observe(mechanism.simulate_counts(places.histogram, rng=1))
            rows.append(Race(f"{name}, epsilon = {epsilon:g}", evidence, stored(evidence), 1e-2, 2.0).run())
    title = f"Manhattan, {alphabet.size} cells, {places.total:,} people, against Algorithm 1 with delta = 1e-2"
    print_table(title, AGAINST_EM, rows)


def rappor(*, quick: bool, large: bool) -> None:  # noqa: ARG001 (one signature)
    """Whole bit vectors."""
    people = 5_000 if quick else 100_000
    mechanism = cf.Rappor(cf.Integers(0, 99), 2.0)
    values = np.random.default_rng(1).binomial(99, 0.5, people)
    evidence = mechanism.observe(cf.tally(mechanism.privatize(values, rng=1)))
    row = Race(f"100 values, {people:,} people", evidence, evidence, 1e-3, 0.1).run()
    title = "RAPPOR, epsilon = 2, against Algorithm 1 with delta = 1e-3 on the same channel"
    print_table(title, AGAINST_EM, [row])


def line(*, quick: bool, large: bool) -> None:  # noqa: ARG001 (one signature)
    """Long lines, in steps through the same channel and in seconds."""
    rows = []
    for size, steps, seconds in ((100_000, 2500.0, math.inf), (1_000_000, math.inf, 60.0)):
        length = size // 50 if quick else size
        mechanism = cf.TruncatedGeometric(cf.Integers(0, length - 1), 0.01)
        evidence = drawn(mechanism, bells((length,)), 1_000_000)
        rows.append(Climb(f"{length:,} values", evidence, 1e-6, steps, seconds).run())
    print_table("Truncated geometric, n = 1e6, epsilon = 0.01", AGAINST_STEPS, rows)


def plane(*, quick: bool, large: bool) -> None:
    """Planar Laplace, in steps through the same channel."""
    side = 32 if quick else 256
    problems = [(side, 0.05, 500.0), (side, 0.2, 2500.0), (side, 1.0, 5000.0), *([(1000, 0.05, 800.0)] * large)]
    rows = []
    for length, epsilon, steps in problems:
        mechanism = cf.TruncatedPlanarLaplace(cf.Grid(length, length), epsilon)
        evidence = drawn(mechanism, bells((length, length)), 1_000_000)
        rows.append(Climb(f"{length} x {length}, epsilon = {epsilon:g}", evidence, 1e-3, steps).run())
    print_table("Truncated planar Laplace, n = 1e6", AGAINST_STEPS, rows)


def accuracy(*, quick: bool, large: bool) -> None:  # noqa: ARG001 (one signature)
    """How far from the truth each way to end is: the maximum is not always the best estimate."""
    ages, repeats = cf.datasets.adult_ages(), 2 if quick else 10
    methods: dict[str, cf.Method] = {
        "IBU, delta 1e-2": cf.IBU(1e-2),
        "IBU, delta 1e-3": cf.IBU(1e-3),
        "IBU, held-out": cf.IBU(stop="held-out"),
        "MLE": cf.MLE(),
    }
    values = cf.Integers(0, 99)
    geometric = {
        f"geometric, {epsilon:g}": cf.TruncatedGeometric(values, epsilon) for epsilon in (0.01, 0.05, 0.1, 0.3)
    }
    flat = {f"k-RR, {epsilon:g}": cf.RandomizedResponse(values, epsilon) for epsilon in (1.0, 2.0, 4.0)}
    rows = []
    for name, mechanism in {**geometric, **flat}.items():
        drawings = [mechanism.simulate_counts(ages.histogram, rng=seed) for seed in range(repeats)]
        errors = [
            np.mean([_error(cf.estimate(counts, mechanism, method), ages) for counts in drawings])
            for method in methods.values()
        ]
        rows.append([name, *(f"{error:.3g}" for error in errors)])
    title = f"Ages of {ages.total:,} people: mean EMD in years over {repeats} repeats"
    print_table(title, ["mechanism, epsilon", *methods], rows)


def _error(answer: cf.estimates.Estimate, dataset: cf.datasets.Dataset) -> float:
    return cf.emd(answer.distribution, dataset.distribution, dataset.alphabet)


SECTIONS = {
    "grid": grid,
    "k-rr": randomized_response,
    "manhattan": manhattan,
    "rappor": rappor,
    "line": line,
    "plane": plane,
    "accuracy": accuracy,
}


def binomial(size: int) -> FloatArray:
    """Return the binomial distribution with p = 0.5."""
    places = np.arange(size)
    logs = np.array([-math.lgamma(place + 1) - math.lgamma(size - place) for place in places])
    weights: FloatArray = np.exp(logs - logs.max())
    return weights / float(weights.sum())


def bells(shape: tuple[int, ...]) -> FloatArray:
    """Return five bells of different widths on a faint floor: smooth, and neither narrow nor even."""
    generator = np.random.default_rng(0)
    axes = np.meshgrid(*(np.linspace(0, 1, length) for length in shape), indexing="ij")
    truth = np.full(shape, 0.02)
    for width in (0.01, 0.03, 0.05, 0.08, 0.15):
        centre = generator.uniform(0.1, 0.9, len(shape))
        apart = sum((axis - middle) ** 2 for axis, middle in zip(axes, centre, strict=True))
        truth = truth + generator.uniform(0.3, 1.0) * np.exp(-apart / (2 * width**2))
    flat: FloatArray = truth.reshape(-1)
    return flat / float(flat.sum())


def drawn(mechanism: cf.Mechanism, truth: FloatArray, people: int) -> Evidence:
    """Draw the counts of as many reports from the distribution over outputs."""
    outputs = mechanism.channel.push(truth)
    counts = np.random.default_rng(1).multinomial(people, outputs / outputs.sum())
    return Evidence(mechanism.channel, counts.astype(np.float64))


def stored(evidence: Evidence) -> Evidence:
    """Return the same problem with its matrix stored."""
    return Evidence(Dense(evidence.channel.dense()), evidence.counts, evidence.log_offset)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller problems, in seconds")
    parser.add_argument("--large", action="store_true", help="also a plane of a million cells")
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), help="some of the tables")
    return parser.parse_args()


if __name__ == "__main__":
    main()
