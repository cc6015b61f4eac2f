"""Plain local privacy: the square wave on ordered values, unary encoding on categories, beside the field's estimators.

    python -m benchmarks.protocols                     # all tables, five repeats: some minutes
    python -m benchmarks.protocols --only ordered      # eight populations of 128 values, 50,000 people
    python -m benchmarks.protocols --only categories   # 100 categories, 20,000 people
    python -m benchmarks.protocols --only promise      # ages by mechanism, the same epsilon for every two ages
    python -m benchmarks.protocols --only planes       # two maps of 16 x 16 cells, 20,000 people: radii of the disc
    python -m benchmarks.protocols --repeats 2 --first-seed 1000

Ordered values go through the square wave. The default is compared with EMS as its authors stop it (Li et al., SIGMOD
2020): squared error of 200 random range queries, and earth mover's distance. Categories go through k-RR, RAPPOR and
optimized unary encoding; the squared error of all shares is compared with that of optimized unary encoding, inverted
bit by bit and projected to the simplex, which is the field's Norm-Sub (Wang et al., NDSS 2020).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import confide as cf
from benchmarks.defaults import EMS
from benchmarks.timing import machine, print_table
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
    """Print the squared error of all shares, by mechanism, beside Norm-Sub on unary encoding."""
    size, people = 100, 20_000
    alphabet = cf.Categories([f"c{number}" for number in range(size)])
    truths = {
        "three of 100": np.r_[[0.53, 0.27, 0.15], np.full(size - 3, 0.05 / (size - 3))],
        "Zipf 1.1": 1.0 / np.arange(1, size + 1) ** 1.1,
        "Zipf 1.5": 1.0 / np.arange(1, size + 1) ** 1.5,
    }
    kinds: tuple[type[cf.Mechanism], ...] = (cf.RandomizedResponse, cf.Rappor, cf.OptimizedUnary)
    rows = []
    for name, shares in truths.items():
        truth = shares / shares.sum()
        for epsilon in (1.0, 2.0, 4.0):
            errors = []
            for seed in range(first_seed, first_seed + repeats):
                generator = np.random.default_rng([seed, 31])
                everyone = generator.multinomial(people, truth)
                actual, each = everyone / people, []
                for kind in kinds:
                    mechanism = kind(alphabet, epsilon)  # type: ignore[call-arg]  # each takes both
                    counts = mechanism.simulate_counts(everyone, rng=generator)
                    methods: list[cf.Method] = [cf.Stacked()]
                    if kind is cf.OptimizedUnary:
                        methods.append(cf.BitInversion("project"))
                    found = [cf.estimate(counts, mechanism, method).distribution for method in methods]
                    each += [float(((one - actual) ** 2).sum()) for one in found]
                errors.append(each)
            mean = np.mean(errors, axis=0)
            rows.append(
                [name, f"{epsilon:g}", *(f"{1e4 * one:.2f}" for one in mean), f"{mean[:3].min() / mean[3]:.2f}"]
            )
    title = ["population", "epsilon", "k-RR", "RAPPOR", "OUE", "OUE, Norm-Sub", "best of Norm-Sub"]
    print_table("100 categories: squared error x 1e4 of the default, and of Norm-Sub", title, rows)


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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("ordered", "categories", "promise", "planes"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    given = parser.parse_args()
    print(machine())
    for section in (ordered, categories, promise, planes):
        if given.only in (None, section.__name__):
            section(given.repeats, given.first_seed)
