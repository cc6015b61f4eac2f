"""Problems to maximise, ordinary and degenerate, and a judge and a rival that share no code with confide's solvers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, minimize

from confide.channels import Channel, Dense
from confide.evidence.evidence import Evidence
from confide.solve.maximum import Solver
from confide.solve.support_newton import Clock, Found

Array = NDArray[np.float64]


def uniform(evidence: Evidence) -> Array:
    size = evidence.channel.shape[0]
    return np.full(size, 1 / size)


def run(solver: Solver, evidence: Evidence, tolerance: float = 1e-7, iterations: int = 500) -> Found:
    """Run a solver from the uniform distribution."""
    return solver(evidence, uniform(evidence), Clock(tolerance, iterations, 60.0), lambda *_: None)


def drawn(channel: Channel, people: int, seed: int, truth: Array | None = None) -> Evidence:
    """Draw reports from a channel with a random truth."""
    generator = np.random.default_rng(seed)
    theta = generator.dirichlet(np.ones(channel.shape[0])) if truth is None else truth
    outputs = channel.push(theta)
    return Evidence(channel, generator.multinomial(people, outputs / outputs.sum()).astype(np.float64))


def degenerate(seed: int, people: int) -> Evidence:
    """Return a random problem of a shape of its own: duplicate rows, blocks of zeros, low rank, counts mostly zero."""
    generator = np.random.default_rng(seed)
    values, outputs = (int(size) for size in generator.integers(1, 25, 2))
    matrix = generator.gamma(generator.choice([0.05, 0.3, 1.0]), 1.0, (values, outputs)) + 1e-12
    kind = seed % 5
    if kind == 1:  # every row several times over
        matrix = matrix[generator.integers(0, max(1, values // 3), values)]
    elif kind == 2:  # values that can only produce half of the outputs
        matrix[: values // 2, outputs // 2 + 1 :] = 0.0
        matrix[values // 2 :, : outputs // 2] = 0.0
    elif kind == 3:  # rows that are mixtures of two
        matrix = generator.dirichlet(np.ones(2), values) @ generator.dirichlet(np.ones(outputs), 2)
    matrix /= matrix.sum(axis=1, keepdims=True)
    theta = generator.dirichlet(np.full(values, 0.3))
    shares = theta @ matrix + 1e-9 * matrix.mean(axis=0)
    counts = generator.multinomial(people, shares / shares.sum()).astype(np.float64)
    if kind == 4:  # one output alone
        counts = np.where(np.arange(outputs) == int(np.argmax(counts)), float(people), 0.0)
    return Evidence(Dense(matrix), counts)


def precise_certificate(evidence: Evidence, theta: Array) -> float:
    """Return n log max g from the stored matrix in extended precision, good to 1e-19 n where the machine has it."""
    matrix, seen = evidence.channel.dense().astype(np.longdouble), evidence.counts > 0
    counts, weights = evidence.counts[seen].astype(np.longdouble), theta.astype(np.longdouble)
    outputs = (weights / weights.sum()) @ matrix[:, seen]
    gain = matrix[:, seen] @ (counts / counts.sum() / outputs)
    return float(counts.sum() * np.log(gain.max()))


def rival_maximum(evidence: Evidence) -> float:
    """Return the highest log-likelihood that scipy's SLSQP finds."""
    seen = evidence.counts > 0
    matrix, shares = evidence.channel.dense()[:, seen], evidence.frequencies[seen]

    def loss(theta: Array) -> tuple[float, Array]:
        outputs = np.maximum(theta @ matrix, 1e-300)
        return -float(shares @ np.log(outputs)), -(matrix @ (shares / outputs))

    size = matrix.shape[0]
    simplex = LinearConstraint(np.ones((1, size)), 1.0, 1.0)
    theta = np.full(size, 1 / size)
    best = -np.inf
    for _ in range(2):  # once more from a little inside: its quasi-Newton matrix grows stale
        answer = minimize(
            loss,
            0.999 * theta + 0.001 / size,
            jac=True,
            bounds=[(0, 1)] * size,
            constraints=[simplex],
            method="SLSQP",
            options={"ftol": 1e-16, "maxiter": 200},
        )
        theta = np.maximum(answer.x, 0.0) / np.maximum(answer.x, 0.0).sum()
        best = max(best, evidence.log_likelihood(theta))
    return best
