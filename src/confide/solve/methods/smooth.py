"""Average over smooth priors, weighted by the evidence for each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from confide.channels import Channel, Dense
from confide.channels.base import FloatArray, Layout
from confide.errors import SolverError
from confide.evidence.evidence import Evidence
from confide.solve.em import Monitor, RowStack, Status, normalised, take_steps
from confide.solve.methods.base import Method, Progress, Solution

if TYPE_CHECKING:
    from confide.solve.smooth_prior import PriorFit, Problem

SMALL_MATRIX = 1_000_000
"""Entries up to which a matrix is stored for the many products of a smooth fit and of its folds."""

LARGEST_UNORDERED = 2000
"""Values without neighbours up to which a step, which takes the cube of their number, is worth it."""

LARGEST = 150_000
"""Values with neighbours up to which the rows of all knots fit."""

LARGEST_ANSWERED = 3000
"""The same under randomized response, which pushes all knots to all outputs: 3,000 values take 24 times IBU's time."""

STEPS_TO_REPORTERS = 4
"""EM steps from the population that the prior describes towards those who reported: measured, not derived."""

ORDINALS = {1: "first", 2: "second", 3: "third"}

UNIFORM_BEFOREHAND = {(0, False): 0.5, (1, True): 0.05, (1, False): 0.1, (2, True): 0.005, (2, False): 0.8}
"""Prior probability of the uniform distribution, by how many axes the values have, and whether the
mechanism blurs a value into its neighbours; the others share the rest. Measured, not derived.

On a line they are those with the least mean error over uniform, falling, humped and spiky truths where reports hardly
tell anything (`benchmarks.defaults --only weak`). On a plane the others have two slopes to find, and their evidence
pays for both. A mechanism that does not blur, such as k-RR, lets a slope on a plane be guessed from single cells, and
chance has many of them to choose from.
"""


BLOCK = 8_000_000
"""Entries of a stack of distributions, one row a replicate, that are moved at a time: 64 MB for each prior."""


@dataclass(frozen=True)
class Smooth(Method):
    """Average smooth fits of log theta, weighted by their evidence.

    The logarithm of the distribution has a Gaussian prior on its differences between neighbours: of the second and the
    third order on a line, of the second on a plane. For each weight of the prior, from strong to weak, the likeliest
    distribution is found by Newton's method; the answer is their average, weighted by the probability of the reports
    under each prior (Laplace's approximation). The uniform distribution is one of them. Where neighbours mean nothing,
    as on categories, every probability is drawn towards the uniform one instead. Up to 500 values, fits with spikes at
    a few single values stand beside the smooth ones, as far as the reports ask for them. Last come a few steps of EM:
    from the population that the prior describes to the people who reported, whose shares scatter around it.

    It does well where the truth is smooth on the scale of the noise but for a few heaps, and needs no setting. A truth
    of isolated values may be better served by :class:`MLE`; :class:`Stacked` finds out which is which. The problem is
    not concave, so there is no proof that a mode is the highest; the certificate says, as always, how far the
    likelihood is below its maximum, which is on purpose.

    >>> import confide as cf
    >>> ages = cf.datasets.adult_ages()
    >>> mechanism = cf.TruncatedGeometric(ages.alphabet, epsilon=0.1)
    >>> counts = mechanism.simulate_counts(ages.histogram, rng=1)
    >>> smooth, highest = (cf.estimate(counts, mechanism, method) for method in (cf.Smooth(), cf.MLE()))
    >>> errors = [cf.emd(answer.distribution, ages.distribution, ages.alphabet) for answer in (smooth, highest)]
    >>> errors[0] < errors[1] / 2
    True
    """

    name = "Smooth"
    full_name = "an average over smooth priors (Smooth)"
    climbs: ClassVar[bool] = True

    def solve(self, evidence: Evidence, monitor: Monitor | None = None) -> Solution:
        reason = why_not_smooth(evidence)
        if reason:
            raise SolverError(f"Smooth() does not fit here: {reason}. Use IBU(stop='held-out') or MLE().")
        steps = [0]

        def progress(outputs: FloatArray) -> None:
            steps[0] += 1
            if monitor is not None:
                likelihood = float(evidence.counts[evidence.seen] @ np.log(outputs)) + evidence.log_offset
                monitor(steps[0], likelihood)

        _, fits = fit_all(evidence, progress)
        shares = believe(evidence, fits)
        distribution = turn_to_reporters(RowStack.of(evidence), mix(fits, shares))
        return Solution(distribution, steps[0], Status.AVERAGED, _explain(fits, shares))

    def solve_many(
        self, evidence: Evidence, counts: FloatArray, *, pilot: Solution | None = None, progress: Progress | None = None
    ) -> list[Solution]:
        """See :meth:`Method.solve_many`; fits of the mean move to each replicate."""
        if pilot is None:
            return super().solve_many(evidence, counts, progress=progress)
        mean = stored(replace(evidence, counts=counts.mean(axis=0), log_offset=0.0))
        problem, fits = fit_all(mean, lambda _outputs: None)
        rows = max(1, BLOCK // max(evidence.channel.shape))
        blocks = [counts[begin : begin + rows] for begin in range(0, counts.shape[0], rows)]
        populations = np.concatenate([_move(problem, fits, block) for block in blocks])
        distributions = turn_to_reporters(RowStack.over(mean, counts), populations)
        words = f"{len(fits)} priors, fitted to the mean of all replicates and moved to each of them"
        return [Solution(one, 0, Status.AVERAGED, words) for one in distributions]


def stored(evidence: Evidence) -> Evidence:
    """Return the evidence with its matrix stored, if that is faster."""
    channel: Channel = evidence.channel
    if channel.keep_and_other is not None or channel.shape[0] * channel.shape[1] > SMALL_MATRIX:
        return evidence
    return replace(evidence, channel=Dense(channel.dense(), channel.layout))


def layout_of(evidence: Evidence) -> Layout | None:
    """Return the layout of the values; `None` if neighbours mean nothing."""
    return evidence.layout if evidence.layout is not None else evidence.channel.layout


def why_not_smooth(evidence: Evidence) -> str:
    """Return why no smooth prior can be fitted; nothing where it can."""
    size, is_ordered = evidence.channel.shape[0], layout_of(evidence) is not None
    # Without a closed form, as for several attributes, 2,000 combinations took two minutes.
    unordered = 1000 if evidence.channel.keep_and_other is None else LARGEST_UNORDERED
    ordered = LARGEST if evidence.channel.keep_and_other is None else LARGEST_ANSWERED
    most = ordered if is_ordered else unordered
    kind = "values" if is_ordered else "values without neighbours"
    if size > most:
        under = " under randomized response" if is_ordered and most == LARGEST_ANSWERED else ""
        return f"it takes at most {most:,} {kind}{under}, and there are {size:,}"
    reported = int(np.count_nonzero(evidence.counts))
    # A matrix that is not square is stored up to 240 MB.
    if size * reported > 30_000_000 and not (is_ordered and size == evidence.channel.shape[1]):
        return f"{reported:,} different reports over {size:,} values do not fit"
    return ""


def fit_all(evidence: Evidence, progress: Callable[[FloatArray], None]) -> tuple[Problem, list[PriorFit]]:
    """Return the fits along all paths, after the uniform distribution."""
    from confide.solve import smooth_prior
    from confide.solve.smooth_features import add_edges, add_spikes

    layout = layout_of(evidence)
    orders: tuple[int, ...] = (0,)
    if layout is not None:  # lower orders where the box is too short
        longest, wanted = max(layout.shape), (2, 3) if len(layout.shape) == 1 else (2,)
        orders = tuple(one for one in wanted if one < longest) or ((1,) if longest > 1 else ())
    problem = smooth_prior.Problem.of(evidence, layout)
    fits = [smooth_prior.stay_uniform(problem)]
    for order in orders:
        fits += smooth_prior.follow_path(problem, order, progress)
    return problem, fits + add_edges(problem, fits, progress) + add_spikes(problem, fits, progress)


def believe(evidence: Evidence, fits: Sequence[PriorFit]) -> FloatArray:
    """Return how much of each fit is in the average; see :func:`believe_logs`."""
    return believe_logs(evidence, np.array([fit.log_evidence for fit in fits]))


def believe_logs(evidence: Evidence, logs: FloatArray) -> FloatArray:
    """Return each fit's posterior weight: evidence times prior.

    Each row holds the log evidence for a fit, from the same reports or, one a column, from several.
    """
    layout, logs = layout_of(evidence), logs.copy()
    uniform = UNIFORM_BEFOREHAND[0 if layout is None else len(layout.shape), evidence.channel.layout is not None]
    logs[0] += math.log(uniform)
    logs[1:] += math.log((1 - uniform) / max(len(logs) - 1, 1))
    weights: FloatArray = np.exp(logs - logs.max(axis=0))
    shares: FloatArray = weights / weights.sum(axis=0)
    return shares


def mix(fits: Sequence[PriorFit], shares: FloatArray) -> FloatArray:
    """Return the average of the fits."""
    mixed: FloatArray = shares @ np.array([fit.theta for fit in fits])
    return mixed / float(mixed.sum())


def turn_to_reporters(rows: RowStack, populations: FloatArray) -> FloatArray:
    """Return the expected shares among reporters, by a few EM steps.

    Given theta, a report z comes from x with probability theta_x M_xz / y_z. Averaged over all reports that is
    theta_x g_x, one EM step. Under strong noise g is nearly one; without noise one step gives the reports themselves,
    as it should. The population is not known but estimated, which the further steps make up for.
    """
    return take_steps(rows, populations, STEPS_TO_REPORTERS, normalised).theta


def _move(problem: Problem, fits: Sequence[PriorFit], counts: FloatArray) -> FloatArray:
    """Return the averaged fits, moved to every row of counts."""
    from confide.solve.smooth_prior import refit_replicates

    # Priors with less than 2 % of the average over all replicates are not tried for each of them. With a thousandth
    # the band of the ages is as wide and takes half as long again, for edges have neighbours.
    conceivable = [place for place, share in enumerate(believe(problem.evidence, fits)) if share >= 0.02]
    moved, logs = [], np.full((len(fits), counts.shape[0]), -np.inf)
    for place in conceivable:
        distributions, logs[place] = refit_replicates(problem, fits[place], counts)
        moved.append(distributions)
    shares = believe_logs(problem.evidence, logs)[conceivable]
    average: FloatArray = np.einsum("ij,ijk->jk", shares, np.array(moved))
    return average


def _explain(fits: Sequence[PriorFit], shares: FloatArray) -> str:
    if shares[0] > 0.5:
        return f"the reports hardly speak against the uniform distribution, which is {shares[0]:.0%} of the average"
    best = fits[int(np.argmax(shares))]
    if math.isinf(best.weight):
        return f"averaged over {len(fits)} priors by their evidence; the likeliest is the uniform distribution itself"
    kind = (
        "a pull towards the uniform distribution"
        if best.order == 0
        else f"a prior on {ORDINALS[best.order]} differences"
    )
    return f"averaged over {len(fits)} priors by their evidence; the likeliest is {kind} of weight {best.weight:.2g}"
