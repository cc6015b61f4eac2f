"""Whether the time of one draw tells something: of reports one by one, as on a device, by what came of them.

    python -m benchmarks.draw_times            # a minute

Draws of two kinds take turns, so that whatever else the machine does falls on both. Times are medians of a process.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import numpy as np

import confide as cf
from benchmarks.timing import machine, print_table, verdict
from confide.mechanisms.sampling import Bits, SecureBits

LARGEST = 1.03
"""Ratio of two medians that counts as none: what the same kind of draw has between two runs."""


@dataclass
class Counted(Bits):
    """Secure bytes, counted."""

    taken: int = 0

    def octets(self, count: int) -> Any:
        self.taken += count
        return SecureBits().octets(count)


@dataclass(frozen=True)
class Case:
    """Two kinds of draws: by value, or by what was reported."""

    name: str
    mechanism: cf.Mechanism
    values: tuple[Any, Any]
    kinds: tuple[str, str]
    is_kind: Callable[[Any, Any], bool]
    has_bar: bool = True


LINE, LONG = cf.Integers(0, 99), cf.Integers(0, 999)


def _is_kept(value: Any, report: Any) -> bool:
    return bool(value == report)


def _is_first(value: Any, report: Any) -> bool:  # noqa: ARG001 (by the value alone)
    return value in (0, (0, 0))


CASES = (
    Case("k-RR, 100 values", cf.RandomizedResponse(LINE, 4.6), (50, 50), ("kept", "replaced"), _is_kept),
    Case("k-RR, by value", cf.RandomizedResponse(LINE, 1.0), (0, 50), ("first", "middle"), _is_first),
    Case("truncated Laplace, 1,000 values", cf.TruncatedLaplace(LONG, 1.4), (500, 500), ("stays", "moves"), _is_kept),
    Case("truncated geometric, by value", cf.TruncatedGeometric(LINE, 0.05), (0, 50), ("first", "middle"), _is_first),
    Case("exponential, 100 values", cf.Exponential(LINE, 0.1), (0, 50), ("first", "middle"), _is_first),
    Case(
        "exponential, 1,000 values", cf.Exponential(LONG, 0.1), (0, 500), ("first", "middle"), _is_first, has_bar=False
    ),
    Case(
        "exponential, 400 cells",
        cf.Exponential(cf.Grid(20, 20), 1.0),
        ((0, 0), (10, 10)),
        ("corner", "middle"),
        _is_first,
        has_bar=False,
    ),
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10_000, help="reports a mechanism")
    draws = parser.parse_args().draws
    print(machine())
    rows = [_row(case, draws) for case in CASES]
    print_table("Time of one draw", ["draw", "kinds", "microseconds", "mean", "bytes", "ratio of medians", "bar"], rows)


def _row(case: Case, draws: int) -> list[str]:
    times: dict[bool, list[int]] = {True: [], False: []}
    taken: dict[bool, list[int]] = {True: [], False: []}
    own = [case.mechanism.alphabet.encode([value]) for value in case.values]
    for turn in range(draws):
        value, bits = case.values[turn % 2], Counted()
        start = perf_counter_ns()
        report = case.mechanism._report(own[turn % 2], bits)
        elapsed = perf_counter_ns() - start
        is_first = case.is_kind(value, report[0])
        times[is_first].append(elapsed)
        taken[is_first].append(bits.taken)
    first, second = (float(np.median(times[kind])) / 1e3 for kind in (True, False))
    means = [float(np.mean(times[kind])) / 1e3 for kind in (True, False)]
    octets = [float(np.mean(taken[kind])) for kind in (True, False)]
    ratio = max(first, second) / min(first, second)
    return [
        case.name,
        " / ".join(case.kinds),
        f"{first:.1f} / {second:.1f}",
        f"{means[0]:.1f} / {means[1]:.1f}",
        f"{octets[0]:.1f} / {octets[1]:.1f}",
        f"{ratio:.3f}",
        verdict(f"at most {LARGEST}", met=ratio <= LARGEST) if case.has_bar else "-",
    ]


if __name__ == "__main__":
    main()
