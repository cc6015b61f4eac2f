"""Where mechanism and method meet."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

from confide.alphabets import Alphabet
from confide.channels.base import FloatArray, Layout
from confide.checks import read_only
from confide.errors import InvalidParameterError
from confide.evidence import Evidence
from confide.mechanisms.base import Mechanism
from confide.methods.base import Choice, Method, Monitor, Solution, Status
from confide.methods.stacked import Stacked
from confide.reports import Counts


@dataclass(frozen=True, eq=False)
class Estimate:
    """The distribution that a method recovered, and how much it can be trusted.

    Attributes
    ----------
    alphabet
        The values.
    distribution
        The probability of each value. Only raw inversion may leave negative entries here.
    log_likelihood
        The log-probability of all reports together, in nats; not a number where the answer is no distribution.
    certificate
        No distribution whatever has a log-likelihood higher than this one's by more than this many nats.
    iterations
        How many the method took; 0 for a closed form.
    status
        How the method ended.
    explanation
        The same in a sentence.
    method
        The method with its settings.
    seconds
        How long it took.
    choices
        What the answer is mixed from, and why, where the method weighs several candidates, as :class:`Stacked` does.
    """

    alphabet: Alphabet
    distribution: FloatArray
    log_likelihood: float
    certificate: float
    iterations: int
    status: Status
    explanation: str
    method: Method
    seconds: float
    choices: tuple[Choice, ...] = ()

    @property
    def is_distribution(self) -> bool:
        """Whether no entry is negative."""
        return bool((self.distribution >= 0).all())

    def __repr__(self) -> str:
        return (
            f"<Estimate of {self.alphabet!r} by {self.method!r}: {self.status} after {self.iterations:,} iterations, "
            f"log-likelihood {self.log_likelihood:,.3f}, {_certificate_words(self.certificate)}>"
        )


Group = tuple[Counts, Mechanism]


@overload
def estimate(
    counts: Counts, mechanism: Mechanism, method: Method = ..., *, monitor: Monitor | None = None
) -> Estimate: ...


@overload
def estimate(counts: Sequence[Group], mechanism: Method = ..., *, monitor: Monitor | None = None) -> Estimate: ...


def estimate(
    counts: Counts | Sequence[Group],
    mechanism: Mechanism | Method | None = None,
    method: Method | None = None,
    *,
    monitor: Monitor | None = None,
) -> Estimate:
    """Recover the distribution of the true values from counted reports.

    Parameters
    ----------
    counts
        What :func:`tally` made of the reports. Where groups of people used different mechanisms, or different epsilons,
        a list of pairs (counts, mechanism) over one alphabet; the method then comes second.
    mechanism
        The mechanism that the reports went through.
    method
        How to recover the distribution. Left out, :class:`Stacked` weighs several methods by held-out reports, and
        ``choices`` of the estimate says what it chose and why.
    monitor
        Called with iteration number and log-likelihood as an iterative method goes along.

    >>> import confide as cf
    >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
    >>> counts = cf.tally(mechanism.privatize([4] * 1000, rng=1))
    >>> cf.estimate(counts, mechanism).distribution.argmax()
    np.int64(4)

    Some people trust the collector less than others:

    >>> careful = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=0.2)
    >>> groups = [(counts, mechanism), (cf.tally(careful.privatize([4] * 500, rng=2)), careful)]
    >>> cf.estimate(groups, cf.IBU()).distribution.argmax()
    np.int64(4)
    """
    is_pool = isinstance(counts, Sequence) and method is None
    groups: list[Any] = list(counts) if isinstance(counts, Sequence) and is_pool else [(counts, mechanism)]
    given = mechanism if is_pool else method
    chosen = Stacked() if given is None else given
    _check_groups(groups)
    if not isinstance(chosen, Method):
        raise InvalidParameterError(f"method must be a Method such as IBU(); got {_kind(chosen)}.")
    evidence = _gather(groups)
    began = time.perf_counter()
    solution = chosen.solve(evidence, monitor)
    return _judge(groups[0][1].alphabet, evidence, solution, chosen, time.perf_counter() - began)


def _gather(groups: Sequence[Group]) -> Evidence:
    """Lay the reports of all groups against their channels, and say how the values lie."""
    pooled = Evidence.pool([one.observe(reports) for one, reports in _by_mechanism(groups).items()])
    return replace(pooled, layout=Layout.of(groups[0][1].alphabet))


def _by_mechanism(groups: Sequence[Group]) -> dict[Mechanism, Counts]:
    """Merge the counts of groups that used the same mechanism, so that how a group was split changes nothing."""
    merged: dict[Mechanism, Counts] = {}
    for counts, mechanism in groups:
        merged[mechanism] = merged[mechanism] + counts if mechanism in merged else counts
    return merged


def _judge(alphabet: Alphabet, evidence: Evidence, solution: Solution, method: Method, seconds: float) -> Estimate:
    is_distribution = bool((solution.distribution >= 0).all())
    return Estimate(
        alphabet=alphabet,
        distribution=read_only(solution.distribution),
        log_likelihood=evidence.log_likelihood(solution.distribution) if is_distribution else math.nan,
        certificate=evidence.certificate(solution.distribution) if is_distribution else math.nan,
        iterations=solution.iterations,
        status=solution.status,
        explanation=solution.explanation,
        method=method,
        seconds=seconds,
        choices=solution.choices,
    )


def _certificate_words(certificate: float) -> str:
    if math.isnan(certificate):
        return "not a distribution"
    return f"at most {certificate:.3g} below the maximum"


def _check_groups(groups: Sequence[Any]) -> None:
    if not groups:
        raise InvalidParameterError("Give at least one pair of counts and mechanism.")
    for group in groups:
        if not isinstance(group, tuple) or len(group) != 2:
            raise InvalidParameterError(f"A group is a pair (counts, mechanism); got {_kind(group)}.")
        counts, mechanism = group
        if not isinstance(counts, Counts):
            raise InvalidParameterError(
                f"counts must be Counts; got {_kind(counts)}. Call confide.tally(reports) first."
            )
        if not isinstance(mechanism, Mechanism):
            raise InvalidParameterError(
                f"mechanism must be a Mechanism such as TruncatedGeometric; got {_kind(mechanism)}."
            )
        if mechanism.alphabet != groups[0][1].alphabet:
            raise InvalidParameterError(
                f"All groups must have one alphabet; got {groups[0][1].alphabet!r} and {mechanism.alphabet!r}."
            )


def _kind(thing: object) -> str:
    return f"the class {thing.__name__}" if isinstance(thing, type) else type(thing).__name__
