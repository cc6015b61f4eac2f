"""Methods side by side on the same counts, judged against a known truth where there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from confide.channels.base import FloatArray
from confide.errors import MissingExtraError
from confide.estimates.estimate import (
    Estimate,
    Group,
    recover,
    warn_if_not_identified,
    warn_if_poor_fit,
    warn_if_uniform,
)
from confide.evidence.counts import Counts
from confide.evidence.shapes import Shape
from confide.mechanisms.base import Mechanism
from confide.solve.methods import Method, Monitor
from confide.values.checks import as_distribution, require_kinds
from confide.values.distances import emd, has_emd, total_variation


@dataclass(frozen=True, eq=False)
class Outcome:
    """An estimate, the path to it, and its distance from the truth.

    Attributes
    ----------
    estimate
        What the method recovered.
    path
        The log-likelihood after each iteration; empty for a closed form.
    emd, total_variation
        Distances from the truth; None where no truth was given, or where the answer is no distribution. There is no
        EMD either on pairs and on grids that are too large for an exact one.
    emd_left_out
        Why there is no EMD although there could be one: a package is not installed. Empty otherwise.
    """

    estimate: Estimate
    path: tuple[float, ...]
    emd: float | None
    total_variation: float | None
    emd_left_out: str = ""


def assess(
    counts: Counts,
    mechanism: Mechanism,
    method: Method,
    *,
    shape: str | Sequence[str] | Shape | None = None,
    truth: ArrayLike | None = None,
    monitor: Monitor | None = None,
) -> Outcome:
    """Estimate with one method, keep the path, and measure the distance from the truth.

    Where the alphabet is unbounded, the truth is a distribution over that of :func:`confide.theory.likely_subset`.

    >>> import confide as cf
    >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 2), epsilon=1.0)
    >>> counts = cf.tally([0, 1, 2], counts=[50, 30, 20])
    >>> outcome = cf.assess(counts, mechanism, cf.IBU(), truth=[0.6, 0.3, 0.1])
    >>> len(outcome.path) == outcome.estimate.iterations, outcome.emd < 0.2
    (True, True)
    """
    require_kinds(assess, locals())
    outcome = assess_pool([(counts, mechanism)], method, shape=shape, truth=truth, monitor=monitor)
    warn_if_not_identified(outcome.estimate)
    warn_if_poor_fit(outcome.estimate)
    warn_if_uniform(outcome.estimate)
    return outcome


def assess_pool(
    groups: Sequence[Group],
    method: Method,
    *,
    shape: str | Sequence[str] | Shape | None = None,
    truth: ArrayLike | None = None,
    monitor: Monitor | None = None,
) -> Outcome:
    """Assess one estimate from several pairs of counts and mechanism over one alphabet.

    That it is one of many, where it is, is left to the caller to say.
    """
    alphabet = groups[0][1].alphabet
    if truth is not None and alphabet.is_finite:
        as_distribution(truth, alphabet.size, "truth")  # refused now rather than after a long search
    path: list[float] = []

    def follow(iteration: int, log_likelihood: float) -> None:
        path.append(log_likelihood)
        if monitor is not None:
            monitor(iteration, log_likelihood)

    answer = recover(groups, method, follow, shape)
    known = None if truth is None else as_distribution(truth, answer.alphabet.size, "truth")
    if known is None or not answer.is_distribution:
        return Outcome(answer, tuple(path), None, None)
    moved, left_out = _measure(answer, known)
    return Outcome(answer, tuple(path), moved, total_variation(answer.distribution, known), left_out)


def _measure(answer: Estimate, truth: FloatArray) -> tuple[float | None, str]:
    """Return the EMD from the truth; where the package for it is missing, why not: the estimate stands without it."""
    if not has_emd(answer.alphabet):
        return None, ""
    try:
        return emd(answer.distribution, truth, answer.alphabet), ""
    except MissingExtraError as error:
        return None, f"It is left out. {error}"
