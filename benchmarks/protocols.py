"""Plain local privacy: the square wave on ordered values, unary encoding on categories, beside the field's estimators.

    python -m benchmarks.protocols                     # all tables, five repeats: a quarter of an hour
    python -m benchmarks.protocols --only ordered      # eight populations of 128 values, 50,000 people
    python -m benchmarks.protocols --only categories   # 100 categories, 20,000 people
    python -m benchmarks.protocols --only promise      # ages by mechanism, the same epsilon for every two ages
    python -m benchmarks.protocols --only published    # variances of one count beside those of the literature
    python -m benchmarks.protocols --only large        # 22,000 values and a million people, certified
    python -m benchmarks.protocols --only products     # the square wave's push and pull beside geometric noise's
    python -m benchmarks.protocols --only coverage     # intervals and fit test of each new mechanism
    python -m benchmarks.protocols --only winners      # which mechanism is proposed
    python -m benchmarks.protocols --only shuffled     # central epsilon of shuffled reports
    python -m benchmarks.protocols --only planes       # two maps of 16 x 16 cells, 20,000 people: radii of the disc
    python -m benchmarks.protocols --repeats 2 --first-seed 1000

Ordered values go through the square wave. The default is compared with EMS as its authors stop it (Li et al., SIGMOD
2020): squared error of 200 random range queries, and earth mover's distance. For categories, what `confide plan`
proposes with the default stands beside optimized unary encoding, local hashing and subset selection with the field's
Norm-Sub (Wang et al., NDSS 2020).
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len

import confide as cf
from benchmarks.defaults import EMS
from benchmarks.timing import machine, print_table
from confide.channels.transforms import HadamardChannel
from confide.evidence.evidence import Evidence
from confide.solve.em import SmallStep, StoppingRule

Array = NDArray[np.float64]

SIZE = 128
PLACES = (np.arange(SIZE) + 0.5) / SIZE


def _ages() -> Array:
    """Return the real ages, stretched to the values."""
    ages = cf.datasets.adult_ages().values()
    return np.bincount((ages - 17) * SIZE // 74, minlength=SIZE)[:SIZE].astype(np.float64)


POPULATIONS: dict[str, Callable[[], Array]] = {
    "beta(5, 2)": lambda: PLACES**4 * (1 - PLACES),
    "two humps": lambda: np.exp(-(((PLACES - 0.3) / 0.08) ** 2)) + 0.6 * np.exp(-(((PLACES - 0.75) / 0.05) ** 2)),
    "falling": lambda: np.exp(-5 * PLACES),
    "Zipf 1.1": lambda: np.arange(1.0, SIZE + 1) ** -1.1,
    "uniform": lambda: np.ones(SIZE),
    "step": lambda: np.where(PLACES < 0.4, 3.0, 1.0),
    "narrow hump": lambda: 0.1 + 20 * np.exp(-(((PLACES - 0.55) / 0.02) ** 2)),
    "ages (Adult)": _ages,
}


@dataclass(frozen=True, eq=False)
class StoppedEMS(EMS):
    """EMS with the stop of its authors' square wave: a rise of L below 0.001 e^epsilon."""

    epsilon: float = 1.0

    def rule(self, evidence: Evidence, pilot: cf.Solution | None = None) -> StoppingRule:  # noqa: ARG002 (one for all)
        """Stop when the log-likelihood hardly rises."""
        return SmallStep(1e-3 * math.exp(self.epsilon))


def range_error(found: Array, truth: Array, generator: np.random.Generator) -> float:
    """Return the mean squared error of 200 random ranges."""
    ends = np.sort(generator.integers(0, truth.size + 1, (200, 2)), axis=1)
    sums = np.concatenate([[0.0], np.cumsum(found - truth)])
    return float(((sums[ends[:, 1]] - sums[ends[:, 0]]) ** 2).mean())


def ordered(repeats: int, first_seed: int) -> None:
    """Print the errors of the default and of EMS on reports of the square wave."""
    alphabet, rows, ratios = cf.Integers(0, SIZE - 1), [], []
    for name, shares in POPULATIONS.items():
        truth = shares() / shares().sum()
        for epsilon in (0.4, 0.8, 1.6):
            mechanism = cf.SquareWave(alphabet, epsilon)
            errors = []
            for seed in range(first_seed, first_seed + repeats):
                generator = np.random.default_rng([seed, 30])
                people = generator.multinomial(50_000, truth)
                counts = mechanism.simulate_counts(people, rng=generator)
                found = [
                    cf.estimate(counts, mechanism, method).distribution
                    for method in (cf.Stacked(), StoppedEMS(alphabet, epsilon=epsilon))
                ]
                actual = people / people.sum()
                ranges = [range_error(one, actual, np.random.default_rng(seed)) for one in found]
                errors.append([*ranges, *(cf.emd(one, actual, alphabet) for one in found)])
            ours, theirs, near, far = np.mean(errors, axis=0)
            ratios.append((ours / theirs, near / far))
            rows.append(
                [name, f"{epsilon:g}", f"{1e4 * ours:.3f}", f"{ours / theirs:.2f}", f"{near:.3f}", f"{near / far:.2f}"]
            )
    title = ["population", "epsilon", "range error x 1e4", "of EMS", "EMD", "of EMS"]
    print_table("Square wave: the default beside EMS", title, rows)
    ranges, distances = np.array(ratios).T
    for what, found, bar in (("Range error", ranges, 0.35), ("EMD", distances, 0.65)):
        mean = math.exp(float(np.log(found).mean()))
        print(f"{what}: geometric mean {mean:.2f} of EMS (bar {bar:g}), largest {found.max():.2f} (bar 1).")


def categories(repeats: int, first_seed: int) -> None:
    """Print the squared error of what a plan proposes with the default, beside protocols of the field with Norm-Sub."""
    size, people = 100, 20_000
    alphabet = cf.Categories([f"c{number}" for number in range(size)])
    truths = {
        "five alone": np.r_[[0.4, 0.25, 0.2, 0.1, 0.05], np.zeros(size - 5)],
        "three of 100": np.r_[[0.53, 0.27, 0.15], np.full(size - 3, 0.05 / (size - 3))],
        "Zipf 1.1": 1.0 / np.arange(1, size + 1) ** 1.1,
        "Zipf 1.5": 1.0 / np.arange(1, size + 1) ** 1.5,
    }
    field: tuple[type[cf.Mechanism], ...] = (cf.OptimizedUnary, cf.LocalHashing, cf.SubsetSelection)
    rows, ratios = [], []
    for name, shares in truths.items():
        truth = shares / shares.sum()
        for epsilon in (1.0, 2.0, 4.0):
            proposed, errors = cf.rank(alphabet, epsilon, people=people).best, []
            for seed in range(first_seed, first_seed + repeats):
                generator = np.random.default_rng([seed, 31])
                everyone = generator.multinomial(people, truth)
                each = []
                for mechanism in (proposed, *(kind(alphabet, epsilon) for kind in field)):  # type: ignore[call-arg]
                    counts = mechanism.simulate_counts(everyone, rng=generator)
                    method = cf.Stacked() if mechanism is proposed else cf.Inversion("norm-sub")
                    found = cf.estimate(counts, mechanism, method).distribution
                    each.append(float(((found - everyone / people) ** 2).sum()))
                errors.append(each)
            ours, *theirs = np.mean(errors, axis=0)
            ratios += [ours / one for one in theirs]
            rows.append(
                [
                    *(name, f"{epsilon:g}", proposed.kind),
                    *(f"{1e4 * one:.2f}" for one in (ours, *theirs)),
                    f"{ours / min(theirs):.2f}",
                ]
            )
    title = ["population", "epsilon", "proposed", "default", "OUE", "OLH", "subset", "of the best"]
    print_table("100 categories: squared error x 1e4 of the default, and of the field with Norm-Sub", title, rows)
    mean = math.exp(float(np.log(ratios).mean()))
    print(f"Geometric mean of all ratios {mean:.2f} (bar 0.8), largest {max(ratios):.2f} (bar 1).")


def winners(repeats: int, first_seed: int) -> None:  # noqa: ARG001 (nothing is drawn)
    """Print which mechanism is proposed for categories, and how many times its error k-RR has."""
    epsilons, rows = (0.5, 1.0, 2.0, 3.0, 4.0), []
    for size in (2, 5, 10, 20, 100, 1000):
        row = [f"{size:,}"]
        for epsilon in epsilons:
            found = cf.rank(cf.Categories([f"c{number}" for number in range(size)]), epsilon, people=10_000)
            errors = {one.mechanism.kind: one.error for one in found.candidates}
            row.append(f"{found.best.kind} ({errors['randomized-response'] / found.candidates[0].error:.2f})")
        rows.append(row)
    print_table(
        "Proposed mechanism, and k-RR's error over its own", ["choices", *(f"{one:g}" for one in epsilons)], rows
    )


def shuffled(repeats: int, first_seed: int) -> None:  # noqa: ARG001 (nothing is drawn)
    """Print the central epsilon of shuffled reports, beside the literature's."""
    rows = []
    known = cf.mechanisms.LocalDP(4.0).shuffled(100_000, 1e-6)
    rows.append(["any, epsilon 4", "100,000", "0.16754 to 0.17279", f"{known.lower:.5f}", f"{known.upper:.5f}", ""])
    cases = [*((size, 100_000, figure) for size, figure in ((10, "0.110"), (100, "0.069"), (1000, "0.024")))]
    for size, people, figure in [*cases, (10, 100_000_000, "")]:
        mechanism = cf.RandomizedResponse(cf.Categories([f"c{number}" for number in range(size)]), 4.0)
        start = time.process_time()
        known = mechanism.shuffled(people, 1e-6)
        seconds = time.process_time() - start
        bounds = [f"{known.lower:.5f}", f"{known.upper:.5f}"]
        rows.append([f"k-RR of {size:,}, epsilon 4", f"{people:,}", figure, *bounds, f"{seconds:.1f}"])
    numbers, words = cf.Integers(0, 99), cf.Categories([f"c{number}" for number in range(100)])
    others: list[cf.Mechanism] = [
        cf.SquareWave(numbers, 4.0),
        cf.ProjectiveGeometryResponse(words, 4.0),
        cf.HadamardResponse(words, 4.0),
        *(cf.SubsetSelection(words, 4.0), cf.OptimizedUnary(words, 4.0), cf.LocalHashing(words, 4.0)),
        *(cf.OneBitMean(numbers, 4.0), cf.TruncatedGeometric(numbers, 4 / 99)),
    ]
    for other in others:
        start = time.process_time()
        known = other.shuffled(100_000, 1e-6)
        seconds = time.process_time() - start
        bounds = [f"{known.lower:.5f}", f"{known.upper:.5f}"]
        rows.append([f"{other.kind} of 100", "100,000", "", *bounds, f"{seconds:.1f}"])
    title = ["mechanism", "people", "literature", "attack", "proven", "seconds"]
    print_table("Shuffled reports: central epsilon at delta 1e-6 (bars: 1 % apart, 1e8 people in 20 s)", title, rows)


def promise(repeats: int, first_seed: int) -> None:
    """Print the EMD of ages by mechanism, all with the same epsilon for every two ages."""
    alphabet, people = cf.Integers(0, 99, unit="year"), cf.datasets.adult_ages().histogram
    rows = []
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        mechanisms: list[cf.Mechanism] = [
            cf.SquareWave(alphabet, epsilon),
            cf.OptimizedUnary(alphabet, epsilon),
            cf.TruncatedGeometric(alphabet, epsilon / 99),  # the farthest two ages are 99 years apart
            cf.RandomizedResponse(alphabet, epsilon),
        ]
        errors = [
            np.mean(
                [
                    cf.emd(
                        cf.estimate(mechanism.simulate_counts(people, rng=seed), mechanism).distribution,
                        people / people.sum(),
                        alphabet,
                    )
                    for seed in range(first_seed, first_seed + repeats)
                ]
            )
            for mechanism in mechanisms
        ]
        rows.append([f"{epsilon:g}", *(f"{error:.2f}" for error in errors)])
    title = ["epsilon", "square wave", "optimized unary", "truncated geometric", "k-RR"]
    print_table("Ages of 48,842 people: EMD in years at the same plain epsilon", title, rows)


def variance_of_a_count(mechanism: cf.Mechanism, people: int, shares: Array) -> float:
    """Return the exact variance of an unbiased count, averaged over the values, for people who stay the same.

    A count adds up a number U for each report, with mean 1 from the value itself and 0 from any other. So it has the
    variance n (E[U^2] - share).
    """
    channel = mechanism.channel if mechanism.has_channel else None
    if isinstance(channel, HadamardChannel):  # U is 1 / (2 scale) or -1 / (2 scale) in the value's block, else 0
        scale = channel.outside * channel.lift * channel.width / 4
        in_block = channel.push(shares).reshape(channel.blocks, channel.width).sum(axis=1)
        squares = np.repeat(in_block, channel.width - 1)[: shares.size] / (2 * scale) ** 2
    else:  # U is 1 - flip or -flip, over keep - flip
        keep, flip = mechanism.facts.rates or (math.nan, math.nan)
        supported = flip + (keep - flip) * shares
        squares = ((1 - 2 * flip) * supported + flip**2) / (keep - flip) ** 2
    return people * float((squares - shares).mean())


def published(repeats: int, first_seed: int) -> None:
    """Print the variance of one count, by the formula and by simulation, beside the published one."""
    size, people = 22_000, 1000
    alphabet = cf.Integers(1, size)
    shares = 1.0 / np.arange(1, size + 1)
    figures: dict[type[cf.Mechanism], tuple[float, float]] = {
        cf.SubsetSelection: (722.1, 76.5),
        cf.HadamardResponse: (1542.0, 183.0),
        cf.ProjectiveGeometryResponse: (746.0, 76.0),
    }
    rows = []
    for kind, known in figures.items():
        for epsilon, figure in zip((2.0, 4.0), known, strict=True):
            mechanism: cf.Mechanism = kind(alphabet, epsilon)  # type: ignore[call-arg]  # each takes both
            formula, errors = variance_of_a_count(mechanism, people, shares / shares.sum()), []
            for seed in range(first_seed, first_seed + repeats):
                everyone = np.random.default_rng([seed, 32]).multinomial(people, shares / shares.sum())
                evidence = mechanism.observe(mechanism.simulate_counts(everyone, rng=seed))
                found = people * cf.Inversion("none").solve(evidence).distribution
                errors.append(float(((found - everyone) ** 2).mean()))
            simulated = float(np.mean(errors))
            rows.append(
                [
                    *(mechanism.title, f"{epsilon:g}", *(f"{one:.1f}" for one in (figure, formula, simulated))),
                    *(f"{one / figure - 1:+.1%}" for one in (formula, simulated)),
                ]
            )
    title = ["mechanism", "epsilon", "published", "formula", "simulated", "formula off", "simulated off"]
    print_table("22,000 values, Zipf 1.0, 1,000 people: variance of one count (bar 3 %)", title, rows)


def large(repeats: int, first_seed: int) -> None:
    """Print the processor time of a certified maximum of 22,000 values and a million people."""
    size, people = 22_000, 1_000_000
    shares = 1.0 / np.arange(1, size + 1)
    alphabet, rows = cf.Integers(1, size), []
    mechanisms: list[cf.Mechanism] = [
        *(cf.HadamardResponse(alphabet, epsilon) for epsilon in (1.0, 2.0, 4.0)),
        *(cf.ProjectiveGeometryResponse(alphabet, epsilon) for epsilon in (1.0, 2.0, 4.0)),
        *(cf.LocalHashing(alphabet, epsilon, seeds=1000) for epsilon in (1.0, 2.0, 4.0)),
    ]
    for mechanism in mechanisms:
        for seed in range(first_seed, first_seed + min(repeats, 1)):
            values = np.random.default_rng([seed, 33]).choice(size, people, p=shares / shares.sum()) + 1
            evidence = mechanism.observe(cf.tally(mechanism.privatize(values, rng=seed)))
            start = time.process_time()
            found = cf.MLE(time_limit=600.0).solve(evidence)
            seconds = time.process_time() - start
            certificate = evidence.certificate(found.distribution)
            atoms = int(np.count_nonzero(found.distribution))
            row = [mechanism.title, f"{epsilon_of(mechanism):g}", f"{seconds:.2f}", str(found.iterations), f"{atoms:,}"]
            rows.append([*row, f"{certificate:.1e}", f"{push_in_transforms(evidence.channel):.1f}"])
    # The bar on a push is for transforms. A pool adds a number for each value and seed.
    title = ["mechanism", "epsilon", "processor seconds", "Newton steps", "values above 0", "nats", "push, in FFTs"]
    bars = "1e-6 nats in 5 s, pools 30 s; a push 5 FFTs"
    print_table(f"22,000 values, Zipf 1.0, a million people: the maximum (bars: {bars})", title, rows)


def epsilon_of(mechanism: cf.Mechanism) -> float:
    """Return the promise of a plain local mechanism."""
    return float(mechanism.guarantee.bound(1, 2))


def push_in_transforms(channel: cf.channels.Channel) -> float:
    """Return the processor time of a push over that of an FFT of as many outputs, a length of small primes."""
    values, outputs = np.full(channel.shape[0], 1 / channel.shape[0]), np.ones(next_fast_len(channel.shape[1]))
    push, transform = best_times([partial(channel.push, values), partial(np.fft.fft, outputs)])
    return push / transform


def products(repeats: int, first_seed: int) -> None:  # noqa: ARG001 (nothing is drawn)
    """Print the processor time of a push and a pull under the square wave, over that under geometric noise."""
    rows = []
    for size in (1_000, 10_000, 100_000):
        alphabet = cf.Integers(1, size)
        pair = [cf.SquareWave(alphabet, 1.0).channel, cf.TruncatedGeometric(alphabet, 100 / size).channel]
        given = [(np.full(size, 1 / size), np.ones(one.shape[1])) for one in pair]
        wave, noise = best_times([partial(both_products, *one) for one in zip(pair, given, strict=True)])
        rows.append([f"{size:,}", f"{1e6 * wave:,.0f}", f"{1e6 * noise:,.0f}", f"{wave / noise:.2f}"])
    title = ["values", "square wave, us", "truncated geometric, us", "ratio"]
    print_table("A push and a pull (bar: at most twice the geometric's)", title, rows)


def both_products(channel: cf.channels.Channel, given: tuple[Array, Array]) -> None:
    """Push a distribution, and pull weights."""
    channel.push(given[0])
    channel.pull(given[1])


def best_times(runs: Sequence[Callable[[], object]]) -> list[float]:
    """Return the least processor time of each, taking turns."""
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(20):
        for run, heard in zip(runs, times, strict=True):
            start = time.process_time()
            run()
            heard.append(time.process_time() - start)
    return [min(heard) for heard in times]


def planes(repeats: int, first_seed: int) -> None:
    """Print the errors of the planar square wave by its radius, and those of k-RR, at the same epsilon."""
    grid, rows = cf.Grid(16, 16), []
    down, along = grid.decode(np.arange(grid.size)).T.astype(np.float64)
    humps = np.exp(-((down - 4) ** 2 + (along - 5) ** 2) / 6) + 0.6 * np.exp(
        -((down - 11) ** 2 + (along - 10) ** 2) / 14
    )
    rough = np.random.default_rng(5).gamma(0.6, size=grid.size) * np.exp(-((down - 8) ** 2 + (along - 8) ** 2) / 50)
    truths = [one / one.sum() for one in (humps + 0.01, rough)]

    def error(mechanism: cf.Mechanism) -> str:
        errors = []
        for truth in truths:
            for seed in range(first_seed, first_seed + repeats):
                people = np.random.default_rng(seed).multinomial(20_000, truth)
                found = cf.estimate(mechanism.simulate_counts(people, rng=seed), mechanism).distribution
                errors.append(cf.emd(found, people / people.sum(), grid))
        return f"{np.mean(errors):.2f}"

    for epsilon in (0.5, 1.0, 2.0, 4.0):
        usual = cf.PlanarSquareWave(grid, epsilon)
        radii = [cf.PlanarSquareWave(grid, epsilon, radius) for radius in (1.5, 3.0, 5.0, 8.0, 14.5)]
        others = [error(one) for one in (*radii, cf.RandomizedResponse(grid, epsilon))]
        rows.append([f"{epsilon:g}", f"{error(usual)} ({usual.radius:g})", *others])
    title = ["epsilon", "default (radius)", "1.5", "3", "5", "8", "14.5", "k-RR"]
    print_table("Two maps of 16 x 16 cells, 20,000 people: EMD in cell widths by radius", title, rows)


def coverage(repeats: int, first_seed: int) -> None:
    """Print how often 95 % intervals hold the truth, and how often good reports are called a bad fit."""
    people, rows = 5_000, []
    numbers, words = cf.Integers(0, 19), cf.Categories([f"c{number}" for number in range(20)])
    places, grid = np.arange(20), cf.Grid(5, 4)
    hump = np.exp(-(((places - 7) / 4) ** 2)) + 0.05
    zipf = 1 / np.arange(1, 21) ** 1.1
    tail, one, some = places >= 12, places == 2, places % 3 == 0
    ordered: dict[str, Array] = {"value >= 12": tail.astype(float)}
    single: dict[str, Array] = {"one value": one.astype(float), "seven values": some.astype(float)}
    cases: list[tuple[cf.Mechanism, Array, dict[str, Array]]] = [
        (cf.SquareWave(numbers, 1.0), hump, ordered),
        (cf.PlanarSquareWave(grid, 2.0), hump, {"seven cells": some.astype(float)}),
        (cf.OneBitMean(numbers, 1.0), hump, {}),
        *(
            (kind(words, 1.0), zipf, single)
            for kind in (cf.OptimizedUnary, cf.SubsetSelection, cf.HadamardResponse, cf.ProjectiveGeometryResponse)
        ),
        (cf.LocalHashing(words, 1.0), zipf, single),
        (cf.LocalHashing(words, 1.0, seeds=100), zipf, single),
    ]
    for mechanism, shares, questions in cases:
        truth = shares / shares.sum()
        held: dict[str, list[bool]] = {}
        bad = []
        for seed in range(first_seed, first_seed + 40 * repeats):
            generator = np.random.default_rng([seed, 34])
            everyone = generator.multinomial(people, truth)
            counts = mechanism.simulate_counts(everyone, rng=generator)
            with warnings.catch_warnings(action="ignore"):
                found = cf.estimate(counts, mechanism)
                for name, weights in questions.items():
                    interval = found.query(weights)
                    held.setdefault(name, []).append(interval.low <= truth @ weights <= interval.high)
                if mechanism.alphabet == numbers:
                    mean = found.mean()
                    held.setdefault("mean", []).append(mean.low <= truth @ places <= mean.high)
            bad.append(found.fit.is_bad)
        covered = ", ".join(f"{name} {np.mean(hits):.1%}" for name, hits in held.items())
        rows.append([mechanism.kind, covered, f"{np.mean(bad):.1%}"])
    title = ["mechanism", "intervals that hold the truth", "good surveys called bad"]
    print_table(f"{people:,} people, {40 * repeats} surveys a row (bars: 95 % and 5 %, within 2)", title, rows)


SECTIONS = (ordered, categories, promise, published, large, products, planes, winners, shuffled, coverage)

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[one.__name__ for one in SECTIONS])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    given = parser.parse_args()
    print(machine())
    for section in SECTIONS:
        if given.only in (None, section.__name__):
            section(given.repeats, given.first_seed)
