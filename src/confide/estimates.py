"""Where mechanism and method meet."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from confide.alphabets import Alphabet
from confide.channels.base import FloatArray
from confide.checks import read_only
from confide.errors import InvalidParameterError
from confide.evidence import Evidence
from confide.mechanisms.base import Mechanism
from confide.methods.base import Method, Monitor, Solution, Status
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

    @property
    def is_distribution(self) -> bool:
        """Whether no entry is negative."""
        return bool((self.distribution >= 0).all())

    def __repr__(self) -> str:
        return (
            f"<Estimate of {self.alphabet!r} by {self.method!r}: {self.status} after {self.iterations:,} iterations, "
            f"log-likelihood {self.log_likelihood:,.3f}, {_certificate_words(self.certificate)}>"
        )


def estimate(counts: Counts, mechanism: Mechanism, method: Method, *, monitor: Monitor | None = None) -> Estimate:
    """Recover the distribution of the true values from counted reports.

    Parameters
    ----------
    counts
        What :func:`tally` made of the reports.
    mechanism
        The mechanism that the reports went through.
    method
        How to recover the distribution.
    monitor
        Called with iteration number and log-likelihood as an iterative method goes along.

    >>> import confide as cf
    >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
    >>> counts = cf.tally(mechanism.privatize([4] * 1000, rng=1))
    >>> cf.estimate(counts, mechanism, cf.IBU()).distribution.argmax()
    np.int64(4)
    """
    _check_kinds(counts, mechanism, method)
    evidence = mechanism.observe(counts)
    began = time.perf_counter()
    solution = method.solve(evidence, monitor)
    return _judge(mechanism.alphabet, evidence, solution, method, time.perf_counter() - began)


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
    )


def _certificate_words(certificate: float) -> str:
    if math.isnan(certificate):
        return "not a distribution"
    return f"at most {certificate:.3g} below the maximum"


def _check_kinds(counts: object, mechanism: object, method: object) -> None:
    if not isinstance(counts, Counts):
        raise InvalidParameterError(f"counts must be Counts; got {_kind(counts)}. Call confide.tally(reports) first.")
    if not isinstance(mechanism, Mechanism):
        raise InvalidParameterError(
            f"mechanism must be a Mechanism such as TruncatedGeometric; got {_kind(mechanism)}."
        )
    if not isinstance(method, Method):
        raise InvalidParameterError(f"method must be a Method such as IBU(); got {_kind(method)}.")


def _kind(thing: object) -> str:
    return f"the class {thing.__name__}" if isinstance(thing, type) else type(thing).__name__
