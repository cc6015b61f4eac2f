"""How many values a second each mechanism blurs with the operating system's cryptographic generator.

    python -m benchmarks.sampling            # a minute or two
    python -m benchmarks.sampling --quick    # seconds: fewer people and smaller alphabets

"First" is the first report of all, which pays for the tables that are drawn from. Then many are blurred at once.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import confide as cf
from benchmarks.timing import best_times, machine, once, print_table, shown, verdict

Build = Callable[[Any], cf.Mechanism]

BAR = 2e6
"""Values a second for a truncated mechanism of 100 values."""


@dataclass(frozen=True)
class Case:
    """A mechanism on any alphabet of its kind, and whether the bar is meant for it."""

    name: str
    build: Build
    has_bar: bool = False


ON_A_LINE = (
    Case("k-RR", lambda line: cf.RandomizedResponse(line, 1.0), has_bar=True),
    Case("truncated geometric", lambda line: cf.TruncatedGeometric(line, 0.05), has_bar=True),
    Case("truncated Laplace", lambda line: cf.TruncatedLaplace(line, 0.05), has_bar=True),
    Case("exponential", lambda line: cf.Exponential(line, 0.1), has_bar=True),
    Case("geometric", lambda line: cf.Geometric(line, 0.05)),
    Case("Laplace", lambda line: cf.Laplace(line, 0.05)),
)

ON_A_PLANE = (
    Case("truncated taxicab", lambda grid: cf.TruncatedTaxicab(grid, 0.5), has_bar=True),
    Case("truncated planar geometric", lambda grid: cf.TruncatedPlanarGeometric(grid, 0.5), has_bar=True),
    Case("truncated planar Laplace", lambda grid: cf.TruncatedPlanarLaplace(grid, 0.5), has_bar=True),
    Case("exponential", lambda grid: cf.Exponential(grid, 1.0), has_bar=True),
    Case("taxicab", lambda grid: cf.Taxicab(grid, 0.5)),
    Case("planar geometric", lambda grid: cf.PlanarGeometric(grid, 0.5)),
    Case("planar Laplace", lambda grid: cf.PlanarLaplace(grid, 0.5)),
)

RAPPOR = (Case("RAPPOR", lambda line: cf.Rappor(line, 1.0)),)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sampling", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer people, smaller alphabets")
    quick = parser.parse_args().quick
    people, large = (20_000, 10_000) if quick else (1_000_000, 1_000_000)
    side = math.isqrt(large)
    print(machine())
    print_small("100 values", cf.Integers(0, 99), ON_A_LINE, people)
    print_small("100 values", cf.Integers(0, 99), RAPPOR, people // 10)
    print_small("10 x 10 cells", cf.Grid(10, 10), ON_A_PLANE, people)
    print_small("20 x 14 cells", cf.Grid(20, 14), ON_A_PLANE, people)
    print_large(f"{large:,} values", cf.Integers(0, large - 1), ON_A_LINE, people)
    print_large(f"{side:,} x {side:,} cells", cf.Grid(side, side), ON_A_PLANE, people)
    print_opendp(people // 10)


def print_small(title: str, alphabet: Any, cases: Sequence[Case], people: int) -> None:
    """Print a table with a bar."""
    rows = []
    for case in cases:
        first, rate = _measure(case, alphabet, people)
        rows.append([case.name, shown(first), _millions(rate), verdict("2", met=rate >= BAR) if case.has_bar else ""])
    print_table(f"{title}: millions of values a second", ("mechanism", "first", "rate", "bar"), rows)


def print_large(title: str, alphabet: Any, cases: Sequence[Case], people: int) -> None:
    """Print a table without a bar."""
    measured = [(case.name, *_measure(case, alphabet, people)) for case in cases]
    rows = [[name, shown(first), _millions(rate)] for name, first, rate in measured]
    print_table(f"{title}: millions of values a second", ("mechanism", "first", "rate"), rows)


def print_opendp(people: int) -> None:
    """Print the rate of OpenDP's geometric mechanism, clamped to 100 values, where OpenDP is installed."""
    try:
        import opendp.prelude as dp
    except ImportError:
        print("opendp is not installed, so it is not compared with.")
        return
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    theirs = dp.m.make_geometric(*space, scale=20.0, bounds=(0, 99))
    values = np.random.default_rng(0).integers(0, 100, people).tolist()
    (seconds,) = best_times([lambda: theirs(values)], seconds=1.0, least=1)
    print_table("OpenDP, 100 values", ("mechanism", "rate"), [["truncated geometric", _millions(people / seconds)]])


def _measure(case: Case, alphabet: Any, people: int) -> tuple[float, float]:
    """Return the time of the first report, in seconds, and then how many a second."""
    mechanism = case.build(alphabet)
    values = alphabet.decode(np.random.default_rng(0).integers(0, alphabet.size, people))
    first, _ = once(lambda: mechanism.privatize(values[:1]))
    (seconds,) = best_times([lambda: mechanism.privatize(values)], seconds=1.0, least=1)
    return first, people / seconds


def _millions(rate: float) -> str:
    return f"{rate / 1e6:.3g}"


if __name__ == "__main__":
    main()
