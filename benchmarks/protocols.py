"""Plain local privacy: the square wave on ordered values, unary encoding on categories, beside the field's estimators.

    python -m benchmarks.protocols                     # all tables, five repeats: some minutes
    python -m benchmarks.protocols --only ordered      # eight populations of 128 values, 50,000 people
    python -m benchmarks.protocols --only categories   # 100 categories, 20,000 people
    python -m benchmarks.protocols --only promise      # ages by mechanism, the same epsilon for every two ages
    python -m benchmarks.protocols --only variances    # published variances, 22,000 categories, 1,000 people
    python -m benchmarks.protocols --only many         # 22,000 categories, a million people: the certified maximum
    python -m benchmarks.protocols --repeats 2 --first-seed 1000

Ordered values go through the square wave. The default is compared with EMS as its authors stop it (Li et al., SIGMOD
2020): squared error of 200 random range queries, and earth mover's distance. Categories go through k-RR, RAPPOR and
optimized unary encoding; the squared error of all shares is compared with that of optimized unary encoding, inverted
bit by bit and projected to the simplex, which is the field's Norm-Sub (Wang et al., NDSS 2020). Variances of the
unbiased estimates are held against those that Feldman et al. (ICML 2022) published with their code.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len

import confide as cf
from benchmarks.defaults import EMS
from benchmarks.timing import machine, print_table
from confide.channels.supports import SupportChannel
from confide.channels.transforms import HadamardChannel
from confide.evidence.evidence import Evidence
from confide.solve.em import SmallStep, StoppingRule
from confide.solve.maximum import maximise
from confide.solve.support_newton import Clock

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


MANY = 22_000
"""Number of categories of the published variances."""

PUBLISHED: dict[str, tuple[type[cf.Mechanism], dict[float, float]]] = {
    "Hadamard": (cf.HadamardResponse, {2.0: 1542.0, 4.0: 183.0}),
    "projective geometry": (cf.ProjectiveGeometryResponse, {2.0: 746.0, 4.0: 76.0}),
}
"""Variance of one count of 1,000 people by epsilon: minilek/private_frequency_oracles, zipf1.0.var."""


def zipf(size: int) -> Array:
    """Return shares that fall as 1 over the rank."""
    shares = 1.0 / np.arange(1, size + 1)
    return shares / shares.sum()


def variance_of_a_count(mechanism: cf.Mechanism, people: int, shares: Array | None = None) -> float:
    """Return the exact variance of an unbiased count, averaged over the values, for people who stay the same.

    A count adds up a number U for each report, with mean 1 from the value itself and 0 from any other. So it has the
    variance n (E[U^2] - share).
    """
    channel = mechanism.channel
    truth = zipf(channel.shape[0]) if shares is None else shares
    pushed = channel.push(truth)
    if isinstance(
        channel, HadamardChannel
    ):  # U is 1 / (2 scale) or -1 / (2 scale) in the value's block, and 0 elsewhere
        scale = channel.outside * channel.lift * channel.width / 4
        in_block = pushed.reshape(channel.blocks, channel.width).sum(axis=1)
        squares = np.repeat(in_block, channel.width - 1)[: channel.shape[0]] / (2 * scale) ** 2
    else:  # U is 1 - flip or -flip, over keep - flip
        assert isinstance(channel, SupportChannel)
        keep, flip = float(channel.keep), float(channel.flip)
        squares = ((1 - 2 * flip) * channel.sums_over_reports(pushed) + flip**2) / (keep - flip) ** 2
    return people * float((squares - truth).mean())


def variances(repeats: int, first_seed: int) -> None:  # noqa: ARG001 (exact: nothing is repeated)
    """Print the variance of one count beside the published one."""
    alphabet, rows = cf.Integers(0, MANY - 1), []
    for name, (kind, published) in PUBLISHED.items():
        for epsilon, other in published.items():
            mechanism = kind(alphabet, epsilon)  # type: ignore[call-arg]  # each takes both
            own = variance_of_a_count(mechanism, 1000)
            rows.append([name, f"{epsilon:g}", f"{mechanism.report_alphabet.size:,}", f"{own:.1f}", f"{other:g}"])
            rows[-1].append(f"{own / other - 1:+.1%}")
    title = ["mechanism", "epsilon", "outputs", "variance", "published", "difference (bar 3%)"]
    print_table("22,000 categories, 1,000 people, Zipf 1: variance of one count", title, rows)


def many(repeats: int, first_seed: int) -> None:
    """Print what a certified maximum takes for 22,000 categories and a million people."""
    alphabet, rows = cf.Integers(0, MANY - 1), []
    for name, (kind, published) in PUBLISHED.items():
        for epsilon in published:
            mechanism = kind(alphabet, epsilon)  # type: ignore[call-arg]  # each takes both
            channel, took, pushes, transforms, steps, worst = mechanism.channel, [], [], [], [], 0.0
            for seed in range(first_seed, first_seed + repeats):
                reports = np.random.default_rng([seed, 32]).multinomial(1_000_000, channel.push(zipf(MANY)))
                evidence = Evidence(channel, reports.astype(np.float64))
                heard: list[int] = []
                begun = time.process_time()
                found = maximise(evidence, Clock(1e-6, 200, 600.0), lambda number, _, heard=heard: heard.append(number))
                took.append(time.process_time() - begun)
                steps.append(len(heard))
                worst = max(worst, evidence.certificate(found.distribution))
                pushes.append(seconds_of(lambda channel=channel: channel.push(zipf(MANY))))
                length = next_fast_len(channel.shape[1])  # one of small primes, as most are slower
                transforms.append(seconds_of(lambda length=length: np.fft.fft(np.ones(length))))
            ratio = min(pushes) / min(transforms)
            rows.append([name, f"{epsilon:g}", f"{channel.shape[1]:,}", f"{np.median(took):.2f}", f"{max(steps)}"])
            rows[-1] += [f"{worst:.1e}", f"{1e3 * min(pushes):.2f}", f"{ratio:.2f}"]
    title = [
        "mechanism",
        "epsilon",
        "outputs",
        "processor s (bar 5)",
        "Newton steps",
        "nats",
        "push ms",
        "of an FFT (bar 5)",
    ]
    print_table("22,000 categories, a million people: the certified maximum", title, rows)


def seconds_of(run: Callable[[], object]) -> float:
    """Return the least processor time of ten runs."""
    times = []
    for _ in range(10):
        begun = time.process_time()
        run()
        times.append(time.process_time() - begun)
    return min(times)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("ordered", "categories", "promise", "variances", "many"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    given = parser.parse_args()
    print(machine())
    for section in (ordered, categories, promise, variances, many):
        if given.only in (None, section.__name__):
            section(given.repeats, given.first_seed)
