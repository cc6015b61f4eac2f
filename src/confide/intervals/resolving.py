"""Solve many replicates of the reports again, as the method would.

``resolve`` is the seam between the bootstrap and the methods. By default each replicate is solved by itself; a method
that can solve all of them together, or that need not choose its settings anew each time, registers a function here:

    @resolve.register
    def _(method: Smooth, evidence: Evidence, counts: FloatArray, iterations: int) -> FloatArray: ...
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from confide.channels import Channel
from confide.channels.base import FloatArray
from confide.evidence import Evidence
from confide.methods import IBU, MLE, Method, Smooth, Stacked
from confide.methods.base import Choice
from confide.methods.candidates import CLOSE_ENOUGH, MOST_STEPS, SMALL_MATRIX, stored
from confide.methods.held_out import Folds, best_number_of_steps
from confide.methods.smooth import believe, believe_logs, fit_all, turn_rows_to_reporters
from confide.methods.stacked import why_not_hold_out

if TYPE_CHECKING:
    from confide.solvers.smooth_prior import Fit, Problem

LEAST = 1e-300

NEGLIGIBLE = 0.02
"""Candidates with a smaller share than this are left out; the others stand for them."""

WEIGHED = 8
"""Replicates on which the candidates of the default are weighed anew."""

UNTHINKABLE = 1e-3
"""A prior with less of the average over all replicates together is not tried for each of them."""

BLOCK = 8_000_000
"""Entries of a stack of distributions, one row a replicate, that are moved at a time: 64 MB for each prior."""

Rule = Callable[[int, FloatArray, FloatArray], NDArray[np.bool_]]
"""Which rows are done, by the number of the step, the rise of their total log-likelihood, and their largest gain."""


@singledispatch
def resolve(method: Method, evidence: Evidence, counts: FloatArray, iterations: int) -> FloatArray:  # noqa: ARG001
    """Return what the method makes of each row of counts.

    Parameters
    ----------
    method
        The method, with its settings.
    evidence
        The reports that the estimate came from; the rows are over the same outputs.
    counts
        One row a replicate.
    iterations
        How many iterations the estimate itself took.
    """
    return np.array([method.solve(replace(evidence, counts=row, log_offset=0.0)).distribution for row in counts])


@resolve.register
def _resolve_ibu(method: IBU, evidence: Evidence, counts: FloatArray, iterations: int) -> FloatArray:
    """Climb with all replicates side by side, each until its own rule ends it.

    Held-out IBU takes as many steps as the estimate did: to hold out anew from each replicate would take many times as
    long, and the number of steps varies little.
    """
    size = evidence.channel.shape[0]
    start = np.full(size, 1.0 / size) if method.start is None else np.asarray(method.start)
    totals = counts.sum(axis=1)
    rules: dict[str, Rule] = {
        "delta": lambda _step, rise, _gain: np.abs(rise) < method.delta,
        "certificate": lambda _step, _rise, gain: totals[0] * np.log(gain) <= method.tolerance,
        "held-out": lambda step, rise, _gain: np.full(rise.shape, step >= iterations),
    }
    return climb_together(stored(evidence).channel, counts, start, rules[method.stop], method.iteration_limit)


@resolve.register
def _resolve_smooth(method: Smooth, evidence: Evidence, counts: FloatArray, iterations: int) -> FloatArray:  # noqa: ARG001
    """Fit the mean of all replicates, move each fit to each replicate, and average by the evidence for each prior."""
    mean = stored(replace(evidence, counts=counts.mean(axis=0), log_offset=0.0))
    problem, fits = fit_all(mean, lambda _outputs: None)
    rows = max(1, BLOCK // max(evidence.channel.shape))
    blocks = [counts[begin : begin + rows] for begin in range(0, counts.shape[0], rows)]
    populations = np.concatenate([_average(problem, fits, block) for block in blocks])
    return turn_rows_to_reporters(mean.channel, counts, populations)


def _average(problem: Problem, fits: Sequence[Fit], counts: FloatArray) -> FloatArray:
    """Return the average of the fits, each moved to the replicate, one row a replicate."""
    from confide.solvers.smooth_replicates import refit_replicates

    conceivable = [place for place, share in enumerate(believe(problem.evidence, fits)) if share >= UNTHINKABLE]
    moved, logs = [], np.full((len(fits), counts.shape[0]), -np.inf)
    for place in conceivable:
        distributions, logs[place] = refit_replicates(problem, fits[place], counts)
        moved.append(distributions)
    shares = believe_logs(problem.evidence, logs)[conceivable]
    average: FloatArray = np.einsum("ij,ijk->jk", shares, np.array(moved))
    return average


@resolve.register
def _resolve_stacked(method: Stacked, evidence: Evidence, counts: FloatArray, iterations: int) -> FloatArray:  # noqa: ARG001
    """Weigh the candidates on a few replicates, from which all others borrow the shares; then solve by each candidate.

    To weigh them anew for each would take many times as long. Where the reports themselves could not be split into
    folds, or there are very many values, the shares of the estimate serve all.
    """
    few = [replace(evidence, counts=row, log_offset=0.0) for row in counts[:WEIGHED]]
    is_large = math.prod(evidence.channel.shape) > SMALL_MATRIX
    models = [evidence] if is_large or why_not_hold_out(evidence, method.folds) else few
    weighed = [_main_shares(method.solve(model).choices) for model in models]
    mixed = np.zeros((counts.shape[0], evidence.channel.shape[0]))
    for name in {name: None for shares in weighed for name in shares}:
        borrowed = np.array([weighed[place % len(weighed)].get(name, 0.0) for place in range(counts.shape[0])])
        rows = np.flatnonzero(borrowed)
        candidate, steps = _candidate(name, method, evidence)
        mixed[rows] += borrowed[rows, None] * resolve(candidate, evidence, counts[rows], steps)
    return mixed


def _main_shares(choices: Sequence[Choice]) -> dict[str, float]:
    """Return the candidates that matter, by name, with what their shares are without the others."""
    main = {choice.name: choice.share for choice in choices if choice.share >= NEGLIGIBLE}
    return {name: share / sum(main.values()) for name, share in main.items()}


def _candidate(name: str, method: Stacked, evidence: Evidence) -> tuple[Method, int]:
    """Return a candidate by its name, and how many steps it takes where what was held out has settled that."""
    if name == "MLE":
        return MLE(CLOSE_ENOUGH), 0
    if name == "held-out IBU":
        size, quick = evidence.channel.shape[0], stored(evidence)
        folds = Folds.of(quick, method.folds, method.seed)
        steps = best_number_of_steps(quick, np.full(size, 1 / size), folds, MOST_STEPS)
        return IBU(stop="held-out"), max(1, steps)
    return Smooth(), 0


def climb_together(channel: Channel, counts: FloatArray, start: FloatArray, rule: Rule, limit: int) -> FloatArray:
    """Run EM on every row of counts at once; a row that is done is set aside, so that the others go on faster."""
    shares = counts / counts.sum(axis=1, keepdims=True)
    answers = np.tile(start, (counts.shape[0], 1))
    active = np.arange(counts.shape[0])
    theta, outputs = answers, channel.push(answers)
    gain, likelihood = channel.pull(_ratio(shares, outputs)), _likelihood(counts, outputs)
    for step in range(1, limit + 1):
        theta = theta * gain
        outputs = channel.push(theta)
        gain = channel.pull(_ratio(shares[active], outputs))
        before, likelihood = likelihood, _likelihood(counts[active], outputs)
        done = rule(step, likelihood - before, gain.max(axis=1))
        answers[active[done]] = theta[done]
        if done.any():
            going = ~done
            active, theta, gain, likelihood = active[going], theta[going], gain[going], likelihood[going]
            if not active.size:
                break
    answers[active] = theta
    normalised: FloatArray = answers / answers.sum(axis=1, keepdims=True)
    return normalised


def _ratio(shares: FloatArray, outputs: FloatArray) -> FloatArray:
    return np.divide(shares, outputs, out=np.zeros_like(outputs), where=shares > 0)


def _likelihood(counts: FloatArray, outputs: FloatArray) -> FloatArray:
    rows: FloatArray = np.einsum("ij,ij->i", counts, np.log(np.maximum(outputs, LEAST)))
    return rows
