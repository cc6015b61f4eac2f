"""Recovery: counts, a mechanism and a method in; an estimate out, with a warning where it should not be trusted."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from confide.checks import as_items, kind_of, read_only
from confide.counts import Counts
from confide.errors import (
    InvalidParameterError,
    NotIdentifiedWarning,
    NotInvertibleError,
    PoorFitWarning,
    UniformReportsWarning,
)
from confide.estimates import CURE, Estimate, Group, observe_groups
from confide.evidence import Evidence
from confide.mechanisms.base import Mechanism, require_mechanism
from confide.mechanisms.facts import Premise
from confide.methods import Method, Monitor, Solution, Stacked
from confide.methods.shaped import solve_in_shape
from confide.shapes import Shape
from confide.theory.identification import pool_identification
from confide.theory.likely_subsets import Groups, LikelySubset, likely_subset_of
from confide.theory.uniformity import Uniformity
from confide.theory.verdicts import remark_on

LARGE = 2000
"""Values from which on a likely subset is looked for; below, the whole alphabet costs next to nothing."""

WORTH_IT = 0.5
"""A likely subset of a finite alphabet is used if it holds no more than this part of it."""


def estimate(
    counts: Counts,
    mechanism: Mechanism,
    method: Method | None = None,
    *,
    shape: str | Sequence[str] | Shape | None = None,
    monitor: Monitor | None = None,
) -> Estimate:
    """Recover the distribution of the true values from counted reports.

    Parameters
    ----------
    counts
        What :func:`tally` made of the reports.
    mechanism
        The mechanism that the reports went through.
    method
        How to recover the distribution. Left out, :class:`Stacked` weighs several methods by held-out reports, and
        ``choices`` of the estimate says what it chose and why.
    shape
        What is known of the distribution before any report is seen, such as ``"falling from 50"`` or ``survey.shape``;
        see docs/shapes.md. Answer, certificate and intervals are then about distributions of this shape.
    monitor
        Called with iteration number and log-likelihood as an iterative method goes along.

    >>> import confide as cf
    >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
    >>> counts = cf.tally(mechanism.privatize([4] * 1000, rng=1))
    >>> cf.estimate(counts, mechanism).distribution.argmax()
    np.int64(4)

    Where different distributions give the same reports, the answer is one of many that explain them equally well. Then
    `identification` and `explanation` of the estimate say so, and a :class:`NotIdentifiedWarning` is given. Where the
    reports cannot come from the mechanism, whoever the people are, `fit` of the estimate says so, and a
    :class:`PoorFitWarning` is given; likewise where they speak against the shape, which `shape_fit` tests. Where they
    cannot be told from those of a uniform population, and are too few to show another, `uniformity` and `explanation`
    of the estimate say so, and a :class:`UniformReportsWarning` is given.
    """
    answer = recover([(counts, mechanism)], method, monitor, shape)
    warn_if_not_identified(answer)
    warn_if_poor_fit(answer)
    warn_if_uniform(answer)
    return answer


def estimate_pool(
    pairs: Sequence[Group],
    method: Method | None = None,
    *,
    shape: str | Sequence[str] | Shape | None = None,
    monitor: Monitor | None = None,
) -> Estimate:
    """Recover one distribution from the reports of several mechanisms, or of several epsilons, over one alphabet.

    Log-likelihoods of groups add, so every method but the inversions works on the pool as on one group.

    Parameters
    ----------
    pairs
        The counts of each group of people with the mechanism that they went through.
    method, shape, monitor
        As in :func:`estimate`.

    >>> import confide as cf
    >>> trusting, wary = (cf.TruncatedGeometric(cf.Integers(0, 9), epsilon) for epsilon in (1.0, 0.2))
    >>> pairs = [(cf.tally(one.privatize([4] * 500, rng=1)), one) for one in (trusting, wary)]
    >>> cf.estimate_pool(pairs).distribution.argmax()
    np.int64(4)
    """
    pairs = as_items("pairs", pairs, "pairs (counts, mechanism)")
    answer = recover(pairs, method, monitor, shape)
    warn_if_not_identified(answer)
    warn_if_poor_fit(answer)
    warn_if_uniform(answer)
    return answer


def recover(
    groups: Sequence[Group],
    method: Method | None = None,
    monitor: Monitor | None = None,
    shape: str | Sequence[str] | Shape | None = None,
) -> Estimate:
    """Do as :func:`estimate_pool`, and leave it to the caller to say where the answer is one of many."""
    check_groups(groups)
    merged = by_mechanism(groups)
    if shape is not None:
        return _recover_shaped(merged, as_method(method), monitor, Shape.of(shape))
    return recover_pool(merged, as_method(method), monitor)


def _recover_shaped(groups: Groups, method: Method, monitor: Monitor | None, shape: Shape) -> Estimate:
    """Recover the distribution among those of a shape: the shares of its components, seen through their channel."""
    began, parts = time.perf_counter(), observe_groups(groups, None)
    evidence, solution, shaped = solve_in_shape(parts, next(iter(groups)).alphabet, method, shape, monitor)
    judged = judge(tuple(groups), evidence, solution, method, time.perf_counter() - began)
    shares = read_only(shaped.mixture.spread(judged.distribution))
    return replace(judged, distribution=shares, groups=groups, shaped=shaped)


def recover_pool(groups: Groups, method: Method, monitor: Monitor | None) -> Estimate:
    """Do as :func:`recover` for counts that are merged by mechanism."""
    subset = _choose_subset(groups, method)
    evidence = Evidence.pool(observe_groups(groups, None if subset is None else subset.alphabet))
    began = time.perf_counter()
    solution = method.solve(evidence, monitor)
    judged = judge(tuple(groups), evidence, solution, method, time.perf_counter() - began)
    answer = replace(judged, groups=groups)
    return answer if subset is None else _put_back(answer, subset)


def _choose_subset(groups: Groups, method: Method) -> LikelySubset | None:
    """Return among which values to look; None for all of them.

    On an unbounded alphabet there is no other way. On a finite one only a method that reaches the maximum may leave
    values out: IBU's steps depend on all values that it starts from.
    """
    first = next(iter(groups))
    if not first.alphabet.is_finite:
        if not method.climbs:
            raise NotInvertibleError(
                f"{method.name} inverts a matrix, and {first.alphabet!r} is unbounded. Use IBU() or MLE(), or give a "
                f"finite alphabet."
            )
        return likely_subset_of(groups)
    first.alphabet.require_listable()
    is_known = all(one.facts.premise not in (Premise.NOTHING, Premise.OWN_VALUE) for one in groups)
    if not (method.reaches_maximum and is_known and first.alphabet.size >= LARGE):
        return None
    subset = likely_subset_of(groups)
    return subset if subset.alphabet.size <= WORTH_IT * first.alphabet.size else None


def _put_back(answer: Estimate, subset: LikelySubset) -> Estimate:
    """Return an answer over the likely values as one over the whole alphabet, if that is finite."""
    if not subset.whole.is_finite:
        return replace(answer, alphabet=subset.alphabet, considered=subset)
    return replace(answer, distribution=read_only(subset.spread(answer.distribution)), considered=subset)


def warn_if_not_identified(answer: Estimate) -> None:
    """Warn the caller's caller of an answer that is one of many, for the mechanism cannot tell them apart."""
    if answer.identification.is_no:
        warnings.warn(f"{remark_on(answer.identification)} {CURE}", NotIdentifiedWarning, stacklevel=3)


def warn_if_poor_fit(answer: Estimate) -> None:
    """Warn the caller's caller of reports that do not come from the mechanism.

    Screening, one maximum of the likelihood, decides whether the test itself is run: under 10 ms on a hundred values.
    """
    # Where the answer was looked for in a corner of a large alphabet, a test over all of it would cost what that saved;
    # `fit` still runs it for who asks.
    if answer.considered is not None and next(iter(answer.groups)).alphabet.is_finite:
        return
    if answer._examination.is_loud and answer.fit.is_bad:
        warnings.warn(str(answer.fit), PoorFitWarning, stacklevel=3)
    examined = answer._shape_examination
    if examined is not None and examined.is_loud and answer.shape_fit is not None and answer.shape_fit.is_bad:
        warnings.warn(str(answer.shape_fit), PoorFitWarning, stacklevel=3)


def warn_if_uniform(answer: Estimate) -> None:
    """Warn the caller's caller of reports too weak to tell their people from a uniform population.

    Not where the answer is one of many, of which there is a warning already.
    """
    if answer.uniformity is not None and answer.uniformity.is_weak and not answer.identification.is_no:
        warnings.warn(str(answer.uniformity), UniformReportsWarning, stacklevel=3)


def by_mechanism(groups: Sequence[Group]) -> dict[Mechanism, Counts]:
    """Merge the counts of groups that used the same mechanism, so that how a group was split changes nothing."""
    merged: dict[Mechanism, Counts] = {}
    for counts, mechanism in groups:
        merged[mechanism] = merged[mechanism] + counts if mechanism in merged else counts
    # Of reports with permanent noise, no more are taken for independent than are for certain.
    return {mechanism: counts.independent for mechanism, counts in merged.items()}


def judge(
    mechanisms: tuple[Mechanism, ...], evidence: Evidence, solution: Solution, method: Method, seconds: float
) -> Estimate:
    """Return a solution as an estimate, with its likelihood and its certificate."""
    is_distribution = bool((solution.distribution >= 0).all())
    return Estimate(
        alphabet=mechanisms[0].alphabet,
        distribution=read_only(solution.distribution),
        log_likelihood=evidence.log_likelihood(solution.distribution) if is_distribution else math.nan,
        certificate=evidence.certificate(solution.distribution) if is_distribution else math.nan,
        iterations=solution.iterations,
        status=solution.status,
        ending=solution.explanation,
        method=method,
        seconds=seconds,
        identification=pool_identification(mechanisms),
        choices=solution.choices,
        uniformity=Uniformity.of(mechanisms, evidence),
        again=recover_pool,
    )


def check_groups(groups: Sequence[Any]) -> None:
    """Refuse what are no pairs of counts and mechanism over one alphabet."""
    if not groups:
        raise InvalidParameterError("Give at least one pair of counts and mechanism.")
    for group in groups:
        if not isinstance(group, tuple) or len(group) != 2:
            raise InvalidParameterError(f"A group is a pair (counts, mechanism); got {kind_of(group)}.")
        counts, mechanism = group
        if not isinstance(counts, Counts):
            pairs = isinstance(counts, Sequence) and len(counts) > 0 and isinstance(counts[0], tuple)
            pool = "confide.estimate_pool(pairs) takes pairs (counts, mechanism); for reports, call"
            cure = f"{pool if pairs else 'Call'} confide.tally(reports) first."
            raise InvalidParameterError(f"counts must be Counts; got {kind_of(counts)}. {cure}")
        if not isinstance(mechanism, Mechanism):
            raise InvalidParameterError(
                f"mechanism must be a Mechanism such as TruncatedGeometric; got {kind_of(mechanism)}."
            )
        require_mechanism("mechanism", mechanism)
        if mechanism.alphabet != groups[0][1].alphabet:
            raise InvalidParameterError(
                f"All groups must have one alphabet; got {groups[0][1].alphabet!r} and {mechanism.alphabet!r}."
            )


def as_method(method: object) -> Method:
    """Return the method, or the usual one."""
    if method is None:
        return Stacked()
    if not isinstance(method, Method):
        raise InvalidParameterError(f"method must be a Method such as IBU(); got {kind_of(method)}.")
    return method
