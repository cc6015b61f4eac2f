"""How fast, how exact and how small push and pull are, beside the stored matrix of the same channel.

    python -m benchmarks.channels            # three minutes, 2 GB
    python -m benchmarks.channels --quick    # seconds: smaller alphabets, so the bars do not apply

At 10,000 values one push and one pull are timed against the two products with the stored matrix, 800 MB of it. At a
million values they are timed against numpy's exp over a million numbers, and the peak memory of a process that does
nothing else is asked of the operating system. A flat kernel, at a tenth of the epsilon, reaches across the whole
plane: the longest transforms that there are.
"""

from __future__ import annotations

import argparse
import math
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import confide as cf
from benchmarks.timing import best_times, machine, once, print_table, shown, verdict
from confide.channels import BitChannel, Channel

FloatArray = NDArray[np.float64]
Build = Callable[[int], cf.Mechanism]

MODERATE, LARGE = 10_000, 1_000_000
VISIBLE, LARGEST_ERROR, LARGEST_MEMORY = 1e-9, 1e-11, 2.0


@dataclass(frozen=True)
class Case:
    """A mechanism on an alphabet of any size, and the bars of its channel; no bar where there is none."""

    name: str
    build: Build
    speedup: float | None
    exps: float


def _line(size: int) -> cf.Integers:
    return cf.Integers(0, size - 1)


def _square(size: int) -> cf.Grid:
    return cf.Grid(math.isqrt(size), math.isqrt(size))


STEEPNESS = (0.1, 0.2, 0.5, 1.0)
CONCENTRATED: tuple[tuple[str, Callable[[float], cf.Mechanism]], ...] = (
    ("truncated taxicab", lambda epsilon: cf.TruncatedTaxicab(cf.Grid(60, 60), epsilon)),
    ("truncated planar geometric", lambda epsilon: cf.TruncatedPlanarGeometric(cf.Grid(60, 60), epsilon)),
    ("truncated planar Laplace", lambda epsilon: cf.TruncatedPlanarLaplace(cf.Grid(60, 60), epsilon)),
    ("exponential, plane", lambda epsilon: cf.Exponential(cf.Grid(60, 60), epsilon)),
)

CASES = (
    Case("k-RR", lambda size: cf.RandomizedResponse(_line(size), 5.0), 150, 50),
    Case("truncated geometric", lambda size: cf.TruncatedGeometric(_line(size), 0.05), 150, 50),
    Case("truncated Laplace", lambda size: cf.TruncatedLaplace(_line(size), 0.05), 150, 50),
    Case("exponential, line", lambda size: cf.Exponential(_line(size), 0.1), None, 50),
    Case("truncated taxicab", lambda size: cf.TruncatedTaxicab(_square(size), 0.1), 100, 50),
    Case("truncated planar geometric", lambda size: cf.TruncatedPlanarGeometric(_square(size), 0.1), 50, 200),
    Case("truncated planar geometric, flat", lambda size: cf.TruncatedPlanarGeometric(_square(size), 0.01), 50, 200),
    Case("truncated planar Laplace", lambda size: cf.TruncatedPlanarLaplace(_square(size), 0.1), 50, 200),
    Case("exponential, plane", lambda size: cf.Exponential(_square(size), 0.2), 50, 200),
    Case("exponential, plane, flat", lambda size: cf.Exponential(_square(size), 0.02), 50, 200),
)


def main() -> None:
    """Print the tables."""
    arguments = _parse()
    if arguments.memory:
        print(_peak_memory(_case(arguments.memory), arguments.size))
        return
    moderate, large = (1_600, 10_000) if arguments.quick else (MODERATE, LARGE)
    print(machine())
    if arguments.quick:
        print("Small alphabets, to see that everything runs: the bars do not apply.")
    # Memory comes first: a process starts out with the peak of the one that started it.
    memory = {case.name: _memory_of_a_process(case, large) for case in CASES}
    _print_moderate(moderate)
    _print_large(large, memory)
    _print_rappor(large // 10)
    _print_concentrated()


def _print_moderate(size: int) -> None:
    heads = ("channel", "structured", "dense", "faster", "bar", "error", "bar")
    rows = [_against_dense(case, size) for case in CASES]
    print_table(f"Push and pull at {size:,} values, against the stored matrix", heads, rows)


def _print_large(size: int, memory: dict[str, float]) -> None:
    heads = ("channel", "push", "pull", "both / exp", "bar", "memory", "bar", "first time")
    rows = [_against_exp(case, size, memory[case.name]) for case in CASES]
    print_table(f"Push and pull at {size:,} values, against numpy's exp over as many numbers", heads, rows)


def _print_rappor(vectors: int) -> None:
    heads = ("channel", "structured", "dense", "faster", "error", "bar")
    print_table(f"RAPPOR of 100 values, {vectors:,} distinct bit vectors", heads, [_rappor(vectors)])


def _print_concentrated() -> None:
    heads = ("channel", *(f"epsilon {epsilon:g}" for epsilon in STEEPNESS))
    title = (
        "Error when nearly all mass lies on 50 cells of 60 x 60: a transform's noise is relative to the largest output"
    )
    print_table(title, heads, [_concentrated(name, build) for name, build in CONCENTRATED])


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.channels", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small alphabets: a check that everything runs")
    parser.add_argument("--memory", metavar="CHANNEL", help="print the peak memory of one channel in GB and stop")
    parser.add_argument("--size", type=int, default=LARGE, help="values, with --memory")
    return parser.parse_args()


def _case(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


def _against_dense(case: Case, size: int) -> list[str]:
    channel = case.build(size).channel
    matrix = _dense(channel)
    structured, dense = _both_times(channel, matrix)
    error = max(_errors(channel, matrix))
    speedup = "" if case.speedup is None else verdict(f"{case.speedup:g}x", met=dense / structured >= case.speedup)
    exact = verdict(f"{LARGEST_ERROR:g}", met=error <= LARGEST_ERROR)
    return [case.name, shown(structured), shown(dense), f"{dense / structured:,.0f}x", speedup, f"{error:.1e}", exact]


def _both_times(channel: Channel, matrix: FloatArray) -> tuple[float, float]:
    """Return the times of one push and one pull together, structured and dense."""
    theta, weights = _random_distribution(channel.shape[0]), _random_distribution(channel.shape[1])
    works = (
        lambda: channel.push(theta),
        lambda: channel.pull(weights),
        lambda: theta @ matrix,
        lambda: matrix @ weights,
    )
    push, pull, dense_push, dense_pull = best_times(works, seconds=2.0, least=4)
    return push + pull, dense_push + dense_pull


def _dense(channel: Channel) -> FloatArray:
    """Return the matrix as channel.dense() would, a thousand rows at a time: no row needs gigabytes of scratch."""
    matrix = np.empty(channel.shape)
    for start in range(0, channel.shape[0], 1000):
        values = np.arange(start, min(start + 1000, channel.shape[0]))
        matrix[values] = channel.select(values)
    return matrix


def _errors(channel: Channel, matrix: FloatArray) -> Iterator[float]:
    """Yield relative errors over all outputs of a random, a peaked and a one-point distribution, and of pulls."""
    size, outputs = matrix.shape
    point, corner = np.zeros(size), np.zeros(size)
    point[size // 3], corner[0] = 1.0, 1.0
    for theta in (_random_distribution(size), _peaked_distribution(size), point, corner):
        yield _largest_error(channel.push(theta), theta @ matrix)
    unit = np.zeros(outputs)
    unit[outputs // 3] = 1.0
    for weights in (_random_distribution(outputs), unit):
        yield _largest_error(channel.pull(weights), matrix @ weights)


def _largest_error(found: FloatArray, expected: FloatArray) -> float:
    visible = expected > VISIBLE
    return float(np.max(np.abs(found[visible] / expected[visible] - 1)))


def _random_distribution(size: int) -> FloatArray:
    drawn = np.random.default_rng(0).standard_exponential(size)
    distribution: FloatArray = drawn / drawn.sum()
    return distribution


def _peaked_distribution(size: int) -> FloatArray:
    """Return a bell over a tenth of the alphabet, down to e^-200 at its ends."""
    exponents = 0.5 * ((np.arange(size) - size / 2) / (size / 40)) ** 2
    bell: FloatArray = np.exp(-exponents)
    distribution: FloatArray = bell / bell.sum()
    return distribution


def _against_exp(case: Case, size: int, memory: float) -> list[str]:
    channel = case.build(size).channel
    theta, weights = _random_distribution(size), _random_distribution(size)
    first, _ = once(lambda: (channel.push(theta), channel.pull(weights)))
    exponents = -theta * size
    works = (lambda: np.exp(exponents), lambda: channel.push(theta), lambda: channel.pull(weights))
    exp, push, pull = best_times(works, seconds=8.0, least=6)
    ratio = (push + pull) / exp
    fast = verdict(f"{case.exps:g}x", met=ratio <= case.exps)
    small = verdict(f"{LARGEST_MEMORY:g} GB", met=memory < LARGEST_MEMORY)
    return [case.name, shown(push), shown(pull), f"{ratio:.0f}x", fast, f"{memory:.2f} GB", small, shown(first)]


def _memory_of_a_process(case: Case, size: int) -> float:
    """Return the peak memory, in GB, of a fresh process that builds the channel, pushes and pulls."""
    command = [sys.executable, "-m", "benchmarks.channels", "--memory", case.name, "--size", str(size)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # noqa: S603


def _peak_memory(case: Case, size: int) -> float:
    channel = case.build(size).channel
    channel.pull(channel.push(_random_distribution(size)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e9 if sys.platform == "darwin" else 1e6)


def _rappor(vectors: int) -> list[str]:
    bits = np.random.default_rng(3).random((vectors, 100)) < 0.4
    packed = np.unique(np.packbits(bits, axis=1, bitorder="little"), axis=0)
    channel = BitChannel(100, 0.5, 1 / (1 + math.e), packed)
    matrix = channel.dense()
    structured, dense = _both_times(channel, matrix)
    error = max(_errors(channel, matrix))
    exact = verdict(f"{LARGEST_ERROR:g}", met=error <= LARGEST_ERROR)
    return ["RAPPOR", shown(structured), shown(dense), f"{dense / structured:.1f}x", f"{error:.1e}", exact]


def _concentrated(name: str, build: Callable[[float], cf.Mechanism]) -> list[str]:
    offsets = np.arange(60) - 20.0
    bell = np.exp(-np.add.outer(offsets**2, offsets**2) / 8).reshape(-1)
    theta = bell / bell.sum()
    channels = [build(epsilon).channel for epsilon in STEEPNESS]
    errors = [_largest_error(channel.push(theta), theta @ channel.dense()) for channel in channels]
    return [name, *(f"{error:.1e}" for error in errors)]


if __name__ == "__main__":
    main()
