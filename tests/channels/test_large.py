"""A million values: products finish without a matrix, and rows still sum to one."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from confide import (
    Exponential,
    Grid,
    Integers,
    Mechanism,
    RandomizedResponse,
    TruncatedGeometric,
    TruncatedLaplace,
    TruncatedPlanarGeometric,
    TruncatedTaxicab,
    tally,
)
from confide.channels import BitChannel, Channel, ScatteredExponential

LINE, SQUARE = Integers(0, 10**6 - 1), Grid(1000, 1000)

LARGE: list[Callable[[], Mechanism]] = [
    lambda: RandomizedResponse(LINE, 3.0),
    lambda: TruncatedGeometric(LINE, 0.001),
    lambda: TruncatedLaplace(LINE, 0.001),
    lambda: Exponential(LINE, 0.001),
    lambda: TruncatedTaxicab(SQUARE, 0.05),
    lambda: TruncatedPlanarGeometric(Grid(300, 300), 0.05),
    lambda: Exponential(Grid(300, 300, holes=((0, 0), (150, 150))), 0.05),
]


def peak_bytes(action: Callable[[], object]) -> int:
    """Return the most memory that numpy and Python held at once while something ran, beyond what they held before."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("make", LARGE, ids=lambda make: repr(make()))
def test_one_push_and_one_pull_hold_a_few_vectors_and_no_matrix(make: Callable[[], Mechanism]) -> None:
    mechanism = make()
    size = mechanism.alphabet.size
    theta = np.random.default_rng(1).random(size)
    theta /= theta.sum()
    found: list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]] = []

    def both() -> None:
        channel = mechanism.channel
        found.extend([channel.push(theta), channel.pull(np.ones(channel.shape[1]))])

    assert peak_bytes(both) < 80 * 8 * size  # a matrix would take 8 size^2
    pushed, pulled = found
    assert pushed.sum() == pytest.approx(1, rel=1e-10)
    np.testing.assert_allclose(pulled, 1.0, rtol=1e-9)
    weights = np.random.default_rng(2).random(pushed.size)
    assert pushed @ weights == pytest.approx(theta @ mechanism.channel.pull(weights), rel=1e-10)


@pytest.mark.parametrize(
    "channel",
    [
        ScatteredExponential(10**6, 0.001, np.sort(np.random.default_rng(1).uniform(0, 10**6 - 1, 10**5))),
        BitChannel(200, 0.6, 0.4, np.random.default_rng(1).integers(0, 256, (10**5, 25), dtype=np.uint8)),
    ],
    ids=repr,
)
def test_reports_seen_are_no_matrix_either(channel: Channel) -> None:
    values, outputs = channel.shape
    theta, weights = np.full(values, 1 / values), np.random.default_rng(2).random(outputs)
    peak = peak_bytes(lambda: (channel.push(theta), channel.pull(weights)))
    assert peak < 20 * 8 * (values + outputs)
    assert channel.push(theta) @ weights == pytest.approx(theta @ channel.pull(weights), rel=1e-10)


def test_reports_of_a_million_values_are_observed_without_a_matrix() -> None:
    mechanism = TruncatedTaxicab(SQUARE, 0.05)
    reports = mechanism.privatize(SQUARE.decode(np.arange(0, 10**6, 100)), rng=1)
    counts = tally(reports)
    evidence = mechanism.observe(counts)
    assert evidence.total == 10_000
    assert np.isfinite(evidence.log_likelihood(np.full(10**6, 1e-6)))
