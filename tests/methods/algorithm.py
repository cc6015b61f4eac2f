"""The paper's Algorithm 1, written from its text with plain loops: slow, dense, and independent of confide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log

Matrix = Sequence[Sequence[float]]


def updated(theta: Sequence[float], matrix: Matrix, q: Sequence[float]) -> list[float]:
    """Return theta^(t+1): for all x, sum over z of q_z theta_x M_xz / (sum over u of theta_u M_uz)."""
    result = []
    for x, old in enumerate(theta):
        total = 0.0
        for z, share in enumerate(q):
            if share > 0:
                total += share * old * matrix[x][z] / sum(theta[u] * matrix[u][z] for u in range(len(theta)))
        result.append(total)
    return result


def log_likelihood(theta: Sequence[float], matrix: Matrix, counts: Sequence[float]) -> float:
    """Return L(theta), the log-probability of all reports."""
    return sum(
        count * log(sum(theta[u] * matrix[u][z] for u in range(len(theta))))
        for z, count in enumerate(counts)
        if count > 0
    )


def iterates(start: Sequence[float], matrix: Matrix, counts: Sequence[float]) -> Iterator[tuple[list[float], float]]:
    """Yield theta^1, theta^2, ... with their log-likelihoods, for ever."""
    total = sum(counts)
    q = [count / total for count in counts]
    theta = list(start)
    while True:
        theta = updated(theta, matrix, q)
        yield theta, log_likelihood(theta, matrix, counts)
