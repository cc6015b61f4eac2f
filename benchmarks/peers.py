"""The same problem given to other packages: how long they take, and how far below the maximum they end.

    python -m benchmarks.peers            # 100 values, seconds
    python -m benchmarks.peers --large    # 800 values, a minute or two

None of them is needed by confide. Install them beside it: pip install 'confide[peers]'. All get the stored matrix and
the shares of the outputs. The settings are ours, not their defaults: 10,000 steps for those that iterate, with their
own early stop switched off or nearly so, which costs them time and gains them likelihood. What they return is judged
by confide's certificate, after its negative entries, if any, are cut off and its sum is brought to one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

import confide as cf
from benchmarks.mle import binomial, drawn
from benchmarks.timing import machine, once, print_table, shown
from confide.evidence.evidence import Evidence

FloatArray = NDArray[np.float64]
Solve = Callable[[FloatArray, FloatArray], FloatArray]

RUNS = 3
LONG = 3.0
HEADS = ("package", "settings", "time", "sum of the answer", "below the maximum", "certificate")


@dataclass(frozen=True)
class Peer:
    """A package, the settings it runs with, and how it is called."""

    package: str
    module: str
    settings: str
    solve: Solve

    @property
    def is_installed(self) -> bool:
        """Whether it can be imported."""
        return find_spec(self.module) is not None

    def run(self, evidence: Evidence, highest: float) -> list[str]:
        """Return a row of the table; one that says how to install what is missing."""
        if not self.is_installed:
            return [self.package, self.settings, f"not installed: pip install {self.package}", "", "", ""]
        matrix, shares = np.ascontiguousarray(evidence.channel.dense()), np.array(evidence.frequencies)
        first, answer = once(lambda: self.solve(matrix, shares))
        # The first call of some compiles them, which is nothing to be measured.
        runs = [once(lambda: self.solve(matrix, shares))[0] for _ in range(RUNS if first < LONG else 1)]
        return [self.package, self.settings, shown(min(runs)), *judged(evidence, answer, highest)]


def judged(evidence: Evidence, answer: FloatArray, highest: float) -> list[str]:
    """Return the sum of an answer, how far below the maximum it is, and its certificate."""
    theta = np.maximum(answer, 0.0) / float(np.maximum(answer, 0.0).sum())
    gap = highest - evidence.log_likelihood(theta)
    return [f"{answer.sum():.6g}", f"{gap:.2g} nats", f"{evidence.certificate(theta):.2g} nats"]


def qif(steps: int) -> Solve:
    """Return the iterative Bayesian update of qif."""

    def solve(matrix: FloatArray, shares: FloatArray) -> FloatArray:
        start = np.full(matrix.shape[0], 1 / matrix.shape[0])
        update = import_module("qif").channel.iterative_bayesian_update
        return np.asarray(update(matrix, shares, start, 0.0, steps)[0])

    return solve


def multi_freq_ldpy(matrix: FloatArray, shares: FloatArray) -> FloatArray:
    """Return what the iterative Bayesian update of multi-freq-ldpy says."""
    module = import_module("multi_freq_ldpy.estimators.Histogram_estimator")
    return np.asarray(module.IBU(matrix.shape[0], matrix, shares, 10_000, 1e-12, "max_abs"))


def cvxpy(matrix: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the answer of a convex solver that is given the likelihood as it stands."""
    module = import_module("cvxpy")
    theta = module.Variable(matrix.shape[0], nonneg=True)
    seen = shares > 0
    likelihood = shares[seen] @ module.log(matrix.T[seen] @ theta)
    module.Problem(module.Maximize(likelihood), [module.sum(theta) == 1]).solve(solver="CLARABEL")
    return np.asarray(theta.value)


PEERS = (
    Peer("qif", "qif", "10,000 steps", qif(10_000)),
    Peer("multi-freq-ldpy", "multi_freq_ldpy", "10,000 steps, tol 1e-12", multi_freq_ldpy),
    Peer("cvxpy", "cvxpy", "Clarabel", cvxpy),
)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true", help="also 800 values")
    arguments = parser.parse_args()
    print(machine())
    for size in (100, 800) if arguments.large else (100,):
        compare(size)


def compare(size: int) -> None:
    """Print the table of one problem."""
    mechanism = cf.TruncatedGeometric(cf.Integers(0, size - 1), 0.05)
    evidence = drawn(mechanism, binomial(size), 100_000)
    method = cf.MLE()
    answer = method.solve(evidence)
    highest = evidence.log_likelihood(answer.distribution)
    time = min(once(lambda: method.solve(evidence))[0] for _ in range(RUNS))
    rows = [["confide", "MLE()", shown(time), *judged(evidence, answer.distribution, highest)]]
    rows += [peer.run(evidence, highest) for peer in PEERS]
    print_table(f"Truncated geometric, {size} values, epsilon = 0.05, binomial truth, n = 1e5", HEADS, rows)


if __name__ == "__main__":
    main()
