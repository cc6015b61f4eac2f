"""How often intervals of weighted reports hold the truth, at design effects of 1 to 4.

    python -m benchmarks.weights                 # 1,000 surveys a row (a quarter of an hour)
    python -m benchmarks.weights --repeats 100   # a tenth of that

Each survey draws people with a probability that may depend on their value, gives each the weight that makes up for it,
and draws reports. A row's scale is the mean half-width over 1.96 standard deviations of the estimates: 1 is right. What
an interval of the same reports covers that takes the weights for numbers of people stands beside it.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import confide as cf
from benchmarks.timing import machine, print_table
from confide.estimates.groups import recover_groups
from confide.estimates.inference import Interval
from confide.evidence.counts import add_up

FloatArray = NDArray[np.float64]

SIZE, PEOPLE, BATCH = 10, 2000, 100
VALUES = np.arange(SIZE)
TRUTH = np.exp(-(((VALUES - 4) / 2.5) ** 2)) + 0.02
SHARES = TRUTH / TRUTH.sum()
HIGH = VALUES >= 6
DESIGNS: dict[str, tuple[FloatArray, float]] = {
    "equal weights": (np.ones(SIZE), 0.0),
    "high values rare": (np.where(HIGH, 4.0, 1.0), 0.2),
    "high values frequent": (np.where(HIGH, 0.2, 1.0), 0.2),
    "whatever the value": (np.ones(SIZE), 0.7),
    "whatever, heavier": (np.ones(SIZE), 1.1),
}
MECHANISMS: dict[str, cf.Mechanism] = {
    "k-RR 1": cf.RandomizedResponse(cf.Categories([f"c{value}" for value in VALUES]), 1.0),
    "k-RR 3": cf.RandomizedResponse(cf.Categories([f"c{value}" for value in VALUES]), 3.0),
    "geometric 0.5": cf.TruncatedGeometric(cf.Integers(0, SIZE - 1), 0.5),
    "geometric 2": cf.TruncatedGeometric(cf.Integers(0, SIZE - 1), 2.0),
    "square wave 2": cf.SquareWave(cf.Integers(0, SIZE - 1), 2.0),
    "unary 3": cf.OptimizedUnary(cf.Integers(0, SIZE - 1), 3.0),
}


def draw(mechanism: cf.Mechanism, design: str, seed: int) -> tuple[NDArray[np.object_], FloatArray]:
    """Return the reports of one survey, and the weights of its people."""
    (weights, jitter), rng = DESIGNS[design], np.random.default_rng(seed)
    values = rng.choice(SIZE, PEOPLE, p=SHARES / weights / (SHARES / weights).sum())
    each = weights[values] * np.exp(jitter * rng.standard_normal(PEOPLE))
    # Another seed than that of the values, or noise would depend on them.
    return mechanism.privatize(mechanism.alphabet.decode(values), rng=10**6 + seed), each


def rows(repeats: int, only: str) -> Iterator[list[str]]:
    """Yield the rows of the table, a mechanism and a design each."""
    for name, mechanism in MECHANISMS.items():
        for design in DESIGNS if only in name else ():
            surveys = [draw(mechanism, design, seed) for seed in range(repeats)]
            counts = [cf.tally(reports, weights=weights) for reports, weights in surveys]
            people = [add_up(reports, weights * len(weights) / weights.sum()) for reports, weights in surveys]
            has_mean = mechanism.alphabet.has_mean
            asked: list[tuple[str, FloatArray | None, float]] = [("share", HIGH.astype(float), float(SHARES @ HIGH))]
            asked += [("mean", None, float(SHARES @ VALUES))] if has_mean else []
            found: dict[str, list[Interval]] = {title: [] for title, *_ in asked}
            naive: dict[str, list[Interval]] = {title: [] for title, *_ in asked}
            for answers, every in ((found, counts), (naive, people)):
                for begin in range(0, repeats, BATCH):
                    batch = dict(enumerate(every[begin : begin + BATCH]))
                    groups = recover_groups(batch, mechanism, cf.MLE())
                    for title, query, _ in asked:
                        answers[title] += (groups.mean() if query is None else groups.query(query)).values()
            effect = float(np.mean([one.design_effect for one in counts]))
            for title, _, truth in asked:
                spread = float(np.std([one.estimate for one in found[title]]))
                scale = float(np.mean([one.width for one in found[title]])) / 3.92 / spread
                covers = [float(np.mean([one.contains(truth) for one in some[title]])) for some in (found, naive)]
                yield [name, design, f"{effect:.2f}", title, f"{covers[0]:.3f}", f"{scale:.2f}", f"{covers[1]:.3f}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--only", default="", help="part of a mechanism's name")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(machine())
    heads = ("mechanism", "weights", "design effect", "answer", "covers", "scale", "as people")
    print_table("Weighted reports, intervals at 95 %", heads, list(rows(given.repeats, given.only)))


if __name__ == "__main__":
    main()
