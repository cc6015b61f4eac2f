"""Estimates: counts, a mechanism and a method in; a distribution out, with its certificate and its intervals."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from confide.channels import ColumnStack, Margins, Mixture
from confide.channels.base import FloatArray, Layout
from confide.channels.composed import Blocks
from confide.check.answers import Fit
from confide.check.cells import TOLERANCE
from confide.check.fit import Examination, examine
from confide.check.shapes import ShapeExamination, ShapeFit, examine_shape
from confide.check.uniformity import Uniformity
from confide.errors import (
    InvalidParameterError,
    MissingExtraError,
    NotIdentifiedWarning,
    NotInvertibleError,
    PoorFitWarning,
    TooLargeError,
    UniformReportsWarning,
)
from confide.estimates.inference.answers import Band, CrossTable, Interval, Prospect, level_of_each
from confide.estimates.inference.division import PROPORTION, Windows, divide, gather_reports
from confide.estimates.inference.inference import (
    Basis,
    Inference,
    Likelihood,
    Question,
    ask,
    check_level,
    look_ahead,
    surround,
)
from confide.evidence.counts import Counts, describe_dependence
from confide.evidence.evidence import Evidence
from confide.evidence.shapes import Shape
from confide.mechanisms.base import Mechanism, Premise, require_mechanism
from confide.solve.methods import Choice, Method, Monitor, Solution, Stacked, Status
from confide.solve.methods.shaped import Shaped, solve_in_shape, within_shape
from confide.solve.methods.stacked import blocks_of, has_many_cells
from confide.theory.identification import pool_identification
from confide.theory.likely_subsets import Groups, LikelySubset, likely_subset_of
from confide.theory.verdicts import Finding, remark_on
from confide.values import Alphabet, PlaneGeometry
from confide.values.checks import as_distribution, as_items, kind_of, read_only, require_kinds
from confide.values.distances import emd, has_emd, total_variation
from confide.values.queries import Query
from confide.values.wording import Shown, counted

CURE = (
    "confide.diagnose(None, mechanism) says which values no report tells apart; .query(...) and .interval() of the "
    "estimate hold the answers of all of them; values can be merged, or another mechanism used."
)
"""Cure for an answer that is one of many."""


@dataclass(frozen=True, eq=False)
class Estimate(Shown):
    """The distribution that a method recovered, and how much it can be trusted.

    Attributes
    ----------
    alphabet
        The values. Where the mechanism's alphabet is unbounded, those among which the answer was looked for.
    distribution
        The probability of each value. Only raw inversion may leave negative entries here.
    log_likelihood
        The log-probability of all reports together, in nats; not a number where the answer is no distribution.
    certificate
        No distribution whatever has a log-likelihood higher than this one's by more than this many nats. It measures a
        method that seeks the maximum (:attr:`Method.seeks_maximum`); the default leaves it on purpose, and `fit` and
        intervals say how good its answer is.
    iterations
        How many the method took; 0 for a closed form.
    status, ending
        How the method ended, in a word and in a sentence.
    method
        The method with its settings.
    seconds
        How long it took.
    identification
        Whether the mechanism gives different reports for different distributions, so that enough of them reveal the
        right one; of several groups, whether their mechanisms do so between them.
    considered
        Among which values the answer was looked for, and why no other matters; None if among all.
    choices
        What the answer is mixed from, and why, where the method weighs several candidates, as :class:`Stacked` does.
    uniformity
        Whether the reports tell their people from a uniform population; None where there is none to be told from: on
        unbounded alphabets, and where the answer was looked for among some of the values.
    groups
        The counts that it came from, by mechanism: what intervals are made of.
    shaped
        The shape that the answer was looked for in, with the components that it is a mixture of; None if in none. Then
        the certificate is about distributions of this shape.
    """

    alphabet: Alphabet
    distribution: FloatArray
    log_likelihood: float
    certificate: float
    iterations: int
    status: Status
    ending: str
    method: Method
    seconds: float
    identification: Finding
    considered: LikelySubset | None = None
    choices: tuple[Choice, ...] = ()
    uniformity: Uniformity | None = None
    groups: Groups = field(default_factory=dict, repr=False)
    shaped: Shaped | None = field(default=None, repr=False)

    @property
    def shape(self) -> Shape | None:
        """The declared shape; `None` without one."""
        return None if self.shaped is None else self.shaped.shape

    @property
    def explanation(self) -> str:
        """Ending of the method and, unless all is well, what is known of whether reports can reveal the distribution.

        First of all, where it is so, that they cannot be told from those of a uniform population.

        >>> import confide as cf, warnings
        >>> mechanism = cf.FromMatrix(cf.Integers(1, 3), [[0.5, 0.5], [0.4, 0.6], [0.1, 0.9]])
        >>> with warnings.catch_warnings(action="ignore", category=cf.NotIdentifiedWarning):
        ...     answer = cf.estimate(cf.tally([0, 1], [40, 60]), mechanism, cf.IBU())
        >>> answer.identification.verdict, "cannot identify" in answer.explanation
        (<Verdict.NO: 'no'>, True)
        """
        cure = f" {CURE}" if self.identification.is_no else ""
        remark = remark_on(self.identification) + cure
        told = ("" if self.is_told else f"{self.uniformity} ") + (f"{self.dependence} " if self.dependence else "")
        return told + (f"{self.ending}. {remark}".removesuffix(".") if remark else self.ending)

    @property
    def repeats(self) -> int:
        """How many of the reports one person may have made with permanent noise; 1 where all are independent."""
        return max((one.repeats for one in self.groups.values()), default=1)

    @property
    def dependence(self) -> str:
        """Sentence on reports that are not independent; empty if all are."""
        return describe_dependence(self.repeats, sum(one.total for one in self.groups.values()))

    @property
    def is_told(self) -> bool:
        """Whether the reports reject a uniform population; true if it was not tested."""
        return self.uniformity is None or self.uniformity.is_rejected

    @cached_property
    def fit(self) -> Fit:
        """Whether the reports can come from the mechanism at all: a test with its p-value, and likely causes if not.

        >>> import confide as cf, warnings
        >>> ages = cf.TruncatedGeometric(cf.Integers(0, 99), epsilon=0.05)
        >>> with warnings.catch_warnings(action="ignore", category=cf.PoorFitWarning):
        ...     answer = cf.estimate(cf.tally([50], counts=[5000]), ages, cf.IBU())
        >>> answer.fit.verdict
        <FitVerdict.DOES_NOT_FIT: 'does not fit'>
        """
        return self._examination.test()

    @cached_property
    def _examination(self) -> Examination:
        if not self.groups:
            raise InvalidParameterError("This estimate does not know its counts. Make it by confide.estimate(...).")
        # A maximum that is certified need not be found again.
        is_highest = self.shaped is None and self.method.reaches_maximum and self.certificate <= TOLERANCE
        known = self.distribution if is_highest else None
        return examine([(counts, mechanism) for mechanism, counts in self.groups.items()], known)

    @property
    def is_distribution(self) -> bool:
        """Whether no entry is negative."""
        return bool((self.distribution >= 0).all())

    def interval(self, level: float = 0.95, *, basis: Basis | None = None) -> Band:
        """Return an interval for the probability of each value.

        Parameters
        ----------
        level
            The share of surveys, were they repeated, whose interval holds the truth, for each value by itself.
        basis
            What it rests on. If left out, :class:`Bootstrap`: what the method makes of new reports, with its bias
            counted in. It takes a few seconds for a hundred values, and may miss spikes that the method smooths away;
            docs/intervals.md says how often. :class:`Likelihood` for a method that believes nothing, such as
            :class:`MLE`, and under randomized response.

        >>> import confide as cf
        >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
        >>> counts = cf.tally(mechanism.privatize([3, 4, 4, 5] * 500, rng=1))
        >>> band = cf.estimate(counts, mechanism).interval(level=0.9)
        >>> bool(band.low[4] <= 0.5 <= band.high[4])
        True
        """
        if self.blocks is not None:
            raise TooLargeError(
                f"Intervals of each of {self.alphabet.size:,} cells are not found: these reports tell blocks of "
                f"{self.blocks.side} x {self.blocks.side} cells at best. Ask for areas, with query(...)."
            )
        return self._inference.band(level, basis)

    def query(
        self, query: Query, level: float = 0.95, *, name: str | None = None, basis: Basis | None = None
    ) -> Interval:
        """Return the answer to a question such as ``"age >= 65"``, with its interval.

        Parameters
        ----------
        query
            A text, a function of a value, or one weight for each value; see :mod:`confide.values.queries`.
        level
            The share of surveys, were they repeated, whose interval holds the truth.
        name
            What a value is called in a text; any name if left out.
        basis
            What the interval rests on: :class:`Likelihood` if left out, or the narrower :class:`Bootstrap`, which
            believes more.

        >>> import confide as cf
        >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
        >>> counts = cf.tally(mechanism.privatize([3, 4, 4, 5] * 500, rng=1))
        >>> answer = cf.estimate(counts, mechanism, cf.IBU()).query("rooms >= 5")
        >>> answer.low < 0.25 < answer.high
        True
        """
        return self._ask([Question("query", query, name)], level, basis)[0]

    def queries(
        self,
        queries: Sequence[Query],
        level: float = 0.95,
        *,
        joint: bool = False,
        name: str | None = None,
        basis: Basis | None = None,
    ) -> list[Interval]:
        """Return the answers to several questions; `joint` ones hold the truth at the level all together.

        >>> import confide as cf
        >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
        >>> counts = cf.tally(mechanism.privatize([3, 4, 4, 5] * 500, rng=1))
        >>> few, many = cf.estimate(counts, mechanism).queries(["rooms < 4", "rooms > 4"], joint=True)
        >>> few.shown_level
        '95% for all 2 together'
        """
        check_level("level", level)
        if isinstance(queries, str) or not len(queries):
            raise InvalidParameterError(f"queries must be a list of at least one question; got {queries!r}.")
        each = level_of_each(level, len(queries)) if joint else level
        answers = self._ask([Question("query", query, name) for query in queries], each, basis)
        return [one.among(len(answers), level) for one in answers] if joint else answers

    def prospect(self, query: Query, level: float = 0.95, *, name: str | None = None) -> Prospect:
        """Return what the width of an answer comes from, people or noise, and what more of each would bring.

        >>> import confide as cf
        >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=0.5)
        >>> counts = cf.tally(mechanism.privatize([3, 4, 4, 5] * 500, rng=1))
        >>> found = cf.estimate(counts, mechanism).prospect("rooms >= 5")
        >>> found.sampling < found.noise, found.epsilon[1.0] < found.width
        (True, True)
        """
        answer = self.query(query, level, name=name)
        inference = self._inference.seen_by(Likelihood())
        weights = inference.lift(self._inference.weigh(query, name, Likelihood())[0])
        # The channel of the mechanism by epsilon, its own first; none of pools, shapes and many values.
        mechanism, *others = self.groups
        epsilon, channels = getattr(mechanism, "epsilon", None), {}
        is_one = not others and self.shaped is None and mechanism.has_channel
        if is_one and isinstance(epsilon, float) and max(mechanism.channel.shape) <= 512:
            larger = {times * epsilon: mechanism.at(times * epsilon).channel for times in (2, 4)}
            channels = {epsilon: mechanism.channel} | larger
        return look_ahead(inference, answer, weights, channels)

    def mean(self, level: float = 0.95, *, basis: Basis | None = None) -> Interval:
        """Return the mean of the values, with its interval; the values must be numbers."""
        return self._ask([Question("mean")], level, basis)[0]

    def quantile(self, share: float, level: float = 0.95, *, basis: Basis | None = None) -> Interval:
        """Return the lowest value at or below which this share of people lies, with its interval."""
        return self._ask([Question("quantile", share=share)], level, basis)[0]

    def statistics(
        self,
        quantiles: Sequence[float] = (0.25, 0.5, 0.75),
        level: float = 0.95,
        *,
        mean: bool = True,
        basis: Basis | None = None,
    ) -> list[Interval]:
        """Return the mean and some quantiles, each with its interval: what each has by itself, in half the time.

        >>> import confide as cf
        >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
        >>> answer = cf.estimate(cf.tally(mechanism.privatize([3, 4, 4, 5] * 500, rng=1)), mechanism)
        >>> [one.question for one in answer.statistics([0.5, 0.9])]
        ['mean', 'median', 'quantile 0.9']
        """
        asked = [Question("mean")] if mean else []
        return self._ask([*asked, *(Question("quantile", share=share) for share in quantiles)], level, basis)

    def windows(
        self, error: float = PROPORTION, level: float = 0.95, *, basis: Basis | None = None, name: str | None = None
    ) -> Windows:
        """Return all values in windows as narrow as these reports can tell their shares in proportion.

        Parameters
        ----------
        error
            The part of its share within which each window is to be known: 0.5 for a half.
        level
            The share of surveys, were they repeated, whose interval holds the truth, for each window.
        basis
            What the intervals rest on: :class:`Likelihood` if left out, which believes nothing of the truth, or
            :class:`Bootstrap`, which gives narrower windows to who believes the method.
        name
            What a value is called in the questions; "value" if left out.

        >>> import confide as cf
        >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
        >>> counts = cf.tally(mechanism.privatize([3, 4, 4, 5] * 500, rng=1))
        >>> [f"{one.question}: {one.estimate:.0%}" for one in cf.estimate(counts, mechanism).windows().answers]
        ['value in 0..2: 1%', 'value == 3: 27%', 'value == 4: 46%', 'value == 5: 25%', 'value in 6..9: 2%']
        """
        if self.is_many_shapes:
            raise InvalidParameterError(
                f"Windows are not looked for under the shape {self.shape}, which is many shapes in one. Say where: "
                f"'one peak at 40'; or ask query(...)."
            )
        gathered = self._gathered if basis is None else None
        if gathered is None:
            return divide(self._inference, error, level, basis, name)
        remark = f"Reports in one square, {gathered[1]:g} of a cell wide, count as one here."
        return replace(divide(gathered[0], error, level, basis, name), remark=remark)

    @cached_property
    def _gathered(self) -> tuple[Inference, float] | None:
        """The inference from points of a plane that lie near each other, as one; see :func:`gather_reports`."""
        inference, (one, *others) = self._inference, self.groups
        decay, is_whole = one.facts.decay, inference.wide is None and inference.mixture is None
        if others or not is_whole or not isinstance(self.alphabet.geometry, PlaneGeometry) or decay is None:
            return None
        found = gather_reports(inference.evidence, self.groups[one].reports, decay)
        return None if found is None else (replace(inference, parts=[found[0]]), found[1])

    def marginal(self, *names: str) -> Estimate:
        """Return the estimate of one attribute, or of some, whatever the others are.

        Where each attribute was blurred by a mechanism of its own, what people reported of these is all that is looked
        at, by the same method: the reports of an attribute are reports of its mechanism. Elsewhere this estimate is
        summed over the other attributes. Everything can be asked of the answer: queries, windows, mean, fit.

        >>> import confide as cf
        >>> age, vote = cf.Integers(0, 9), cf.Categories(["yes", "no"])
        >>> both = cf.Product(age=cf.TruncatedGeometric(age, 1.0), vote=cf.RandomizedResponse(vote, 2.0))
        >>> counts = cf.tally(both.privatize([(3, "yes"), (4, "no")] * 2000, rng=1))
        >>> answer = cf.estimate(counts, both).marginal("age").query("age >= 4")
        >>> answer.low < 0.5 < answer.high
        True
        """
        attributes = self.alphabet.attributes
        if attributes is None:
            raise InvalidParameterError(f"{self.alphabet!r} has no attributes, and so no marginals.")
        part = attributes.part(*names)
        if self.shaped is not None:
            raise InvalidParameterError(f"Marginals are not looked for under the shape {self.shape}; ask query(...).")
        reduced: dict[Mechanism, Counts] = {}
        for mechanism, counts in self.groups.items():
            own = mechanism.part(*names)
            if own is None:
                reduced = {}
                break
            seen = mechanism.reports_of(counts, *names)
            reduced[own] = reduced[own] + seen if own in reduced else seen
        if reduced:
            return recover_pool(reduced, self.method, None)
        kept = {one.name: getattr(self, one.name) for one in fields(Estimate)}
        shares = read_only(attributes.margin(self.distribution, *names))
        summed = {"alphabet": part, "distribution": shares, "uniformity": None}
        return Margin(**kept | summed, whole=self, margins=Margins(attributes, names))

    def cross(self, *names: str, level: float = 0.95, joint: bool = False, basis: Basis | None = None) -> CrossTable:
        """Return the shares of all combinations of two attributes or more, each with its interval, and their totals.

        Parameters
        ----------
        names
            The attributes, that of the rows first.
        level
            The share of surveys, were they repeated, whose interval holds the truth, for each entry.
        joint
            Whether all entries are to hold at the level together; so are then the totals of each attribute.
        basis
            What the intervals rest on: what those of queries do, :class:`Likelihood`, if left out; of entries that
            are very many what those of single values do.

        >>> import confide as cf
        >>> yes = cf.Categories(["yes", "no"])
        >>> both = cf.Product(vote=cf.RandomizedResponse(yes, 2.0), car=cf.RandomizedResponse(yes, 2.0))
        >>> counts = cf.tally(both.privatize([("yes", "yes"), ("no", "yes")] * 2000, rng=1))
        >>> table = cf.estimate(counts, both).cross("vote", "car")
        >>> table.at("yes", "yes").contains(0.5), table.totals["car"].at("no").contains(0.0)
        (True, True)
        """
        check_level("level", level)
        if len(names) < 2:
            raise InvalidParameterError(f"A cross table is of two attributes or more; got {names!r}.")
        inner = self.marginal(*names)
        whole = inner.alphabet
        # The likelihood is asked for each entry of so many: 200 took 8 s of processor.
        usual = Likelihood() if whole.size <= 400 else None
        entries = inner.interval(level_of_each(level, whole.size) if joint else level, basis=basis or usual)
        assert whole.attributes is not None  # noqa: S101 (for the type checker: it has two attributes or more)
        totals = {}
        for name in names:
            # The share of each value of one attribute, as sums of the entries of this table.
            part = whole.attributes.part(name)
            rows = [Question("query", row) for row in whole.attributes.spread(np.eye(part.size), name)]
            found = inner._ask(rows, level_of_each(level, part.size) if joint else level, basis or Likelihood())
            now, low, high, exact = np.array([(one.estimate, one.low, one.high, one.exact_width) for one in found]).T
            totals[name] = Band(part, now, low, high, level, found[0].rests_on, exact_width=exact)
        return CrossTable(names, replace(entries, level=level), totals, whole.size if joint else 1)

    @property
    def is_many_shapes(self) -> bool:
        """Whether it was declared that a distribution is one of several shapes, as with a peak anywhere."""
        return self.shaped is not None and len(self.shaped.mixtures) > 1

    def _ask(self, questions: Sequence[Question], level: float, basis: Basis | None) -> list[Interval]:
        return ask([(self._inference, one) for one in questions], level, basis)

    @cached_property
    def shape_fit(self) -> ShapeFit | None:
        """Whether the reports speak against the shape, and how much that test can see; None without a shape.

        >>> import confide as cf
        >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
        >>> counts = cf.tally(mechanism.privatize([2, 2, 3, 4] * 500, rng=1))
        >>> cf.estimate(counts, mechanism, cf.MLE(), shape="falling from 2").shape_fit.is_bad
        False
        """
        return None if self._shape_examination is None else self._shape_examination.test()

    @cached_property
    def _shape_examination(self) -> ShapeExamination | None:
        if self.shaped is None:
            return None
        pool = [(counts, mechanism) for mechanism, counts in self.groups.items()]
        return examine_shape(pool, self.shaped.shape, self.shaped.mixtures)

    @cached_property
    def _inference(self) -> Inference:
        if not self.groups:
            raise InvalidParameterError("This estimate does not know its counts. Make it by confide.estimate(...).")
        is_whole = next(iter(self.groups)).alphabet.is_finite
        parts = observe_groups(self.groups, None if is_whole else self.alphabet)
        solution = Solution(self.distribution, self.iterations, self.status, self.ending, self.choices)
        plain = Inference(self.alphabet, parts, solution, self.method, None)
        if self.shaped is not None:
            shape, mixture, every = self.shaped.shape, self.shaped.mixture, self.shaped.mixtures

            def within(mixture: Mixture, shares: FloatArray) -> Inference:
                method = within_shape(self.method, shape, self.alphabet, parts, mixture)
                seen, found = [one.mixed(mixture) for one in parts], replace(solution, distribution=shares)
                words = shape.premise
                return replace(plain, parts=seen, solution=found, method=method, mixture=mixture, premise=words)

            others = [pair for pair in zip(every, self.shaped.best, strict=False) if pair[0] is not mixture]
            return replace(within(mixture, self.shaped.shares), rivals=[within(*pair) for pair in others])
        if self.blocks is not None:
            seen = parts[0].in_blocks(self.blocks)
            shares = replace(solution, distribution=self.blocks.nearest(self.distribution))
            mixture = Mixture(self.alphabet.size, (self.blocks,), Layout(self.blocks.grid))
            words = f"if people are spread evenly within blocks of {self.blocks.side} x {self.blocks.side} cells"
            return replace(plain, parts=[] if seen is None else [seen], solution=shares, mixture=mixture, premise=words)
        if all(one.has_channel for one in self.groups):
            plain = replace(plain, channel=ColumnStack(tuple(one.channel for one in self.groups)))
        return plain if is_whole else replace(plain, wide=self._look_around(plain))

    @cached_property
    def blocks(self) -> Blocks | None:
        """The blocks of cells that intervals are found by, where there are very many cells; None where by each."""
        one = next(iter(self.groups), None)
        if one is None or len(self.groups) > 1 or self.shaped is not None or not has_many_cells(one.alphabet):
            return None  # without laying out the reports once more
        return blocks_of(Evidence.pool(observe_groups(self.groups, None)))

    def _look_around(self, likely: Inference) -> Inference:
        """Return the inference with the values around the likely ones."""
        decays = [one.facts.decay for one in self.groups]
        known = [decay for decay in decays if decay is not None]
        reports = sum(counts.reports.shape[0] for counts in self.groups.values())
        around = surround(self.alphabet, min(known) if len(known) == len(decays) else None, reports)
        seen = observe_groups(self.groups, around.alphabet)
        solution = replace(likely.solution, distribution=around.spread(self.distribution))
        return replace(likely, alphabet=around.alphabet, parts=seen, solution=solution, surroundings=around)

    def __repr__(self) -> str:
        worth, tested = "", vars(self).get("fit")  # how good it is, as far as that is known without computing
        if not self.is_distribution:
            worth = ", not a distribution"
        elif not self.is_told:
            worth = ", cannot be told from uniform"
        elif self.method.seeks_maximum:
            worth = f", at most {self.certificate:.3g} below the maximum"
        elif tested is not None:
            worth = f", fit: {tested.verdict}"
        after = f"after {counted(self.iterations, 'iteration')}, log-likelihood {self.log_likelihood:,.3f}{worth}"
        return f"<Estimate of {self.alphabet!r} by {self.method!r}: {self.status} {after}>"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Margin(Estimate):
    """An estimate of several attributes, summed over all but some of them.

    Attributes
    ----------
    whole, margins
        The estimate of all attributes, and those of them that are left.
    """

    whole: Estimate
    margins: Margins

    @cached_property
    def _examination(self) -> Examination:
        return self.whole._examination

    @cached_property
    def _inference(self) -> Inference:
        """The inference about all attributes, asked for some alone."""
        mixture = Mixture(self.alphabet.size, (self.margins,))
        return replace(self.whole._inference, alphabet=self.alphabet, mixture=mixture)


Group = tuple[Counts, Mechanism]


def observe_groups(groups: Groups, part: Alphabet | None) -> list[Evidence]:
    """Return the evidence of each group, over all values or over `part`."""
    layout = Layout.of(next(iter(groups)).alphabet if part is None else part)
    observed = [
        one.observe(counts) if part is None else one.observe_within(counts, part) for one, counts in groups.items()
    ]
    return [replace(one, layout=layout) for one in observed]


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
    """Estimate like :func:`estimate_pool`, without warnings."""
    check_groups(groups)
    merged, method = by_mechanism(groups), as_method(method)
    if shape is None:
        return recover_pool(merged, method, monitor)
    # The shares of the components of the shape, seen through their channel.
    began, parts = time.perf_counter(), observe_groups(merged, None)
    alphabet = next(iter(merged)).alphabet
    evidence, solution, shaped = solve_in_shape(parts, alphabet, method, Shape.of(shape), monitor)
    judged = judge(merged, evidence, solution, method, time.perf_counter() - began)
    return replace(judged, distribution=read_only(shaped.mixture.spread(judged.distribution)), shaped=shaped)


def recover_pool(groups: Groups, method: Method, monitor: Monitor | None) -> Estimate:
    """Estimate like :func:`recover`, from counts merged by mechanism."""
    subset = _choose_subset(groups, method)
    evidence = Evidence.pool(observe_groups(groups, None if subset is None else subset.alphabet))
    began = time.perf_counter()
    solution = method.solve(evidence, monitor)
    answer = judge(groups, evidence, solution, method, time.perf_counter() - began)
    if subset is None:
        return answer
    if not subset.whole.is_finite:
        return replace(answer, alphabet=subset.alphabet, considered=subset)
    return replace(answer, distribution=read_only(subset.spread(answer.distribution)), considered=subset)


def _choose_subset(groups: Groups, method: Method) -> LikelySubset | None:
    """Return the values to search; `None` for all of them.

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
    # Below 2,000 values the whole alphabet costs next to nothing.
    if not (method.reaches_maximum and is_known and first.alphabet.size >= 2000):
        return None
    subset = likely_subset_of(groups)
    return subset if subset.alphabet.size <= 0.5 * first.alphabet.size else None


def warn_if_not_identified(answer: Estimate) -> None:
    """Warn the caller's caller that the distribution is not identifiable."""
    if answer.identification.is_no:
        warnings.warn(f"{remark_on(answer.identification)} {CURE}", NotIdentifiedWarning, stacklevel=3)


def warn_if_poor_fit(answer: Estimate) -> None:
    """Warn the caller's caller of a poor fit to mechanism or shape.

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
    """Warn the caller's caller of reports too few to reject a uniform population.

    Not if the distribution is not identifiable: another warning says so already.
    """
    if answer.uniformity is not None and answer.uniformity.is_weak and not answer.identification.is_no:
        warnings.warn(str(answer.uniformity), UniformReportsWarning, stacklevel=3)


def by_mechanism(groups: Sequence[Group]) -> dict[Mechanism, Counts]:
    """Merge the counts of groups that used the same mechanism."""
    merged: dict[Mechanism, Counts] = {}
    for counts, mechanism in groups:
        merged[mechanism] = merged[mechanism] + counts if mechanism in merged else counts
    # Of reports with permanent noise, no more are taken for independent than are for certain.
    return {mechanism: counts.independent for mechanism, counts in merged.items()}


def judge(groups: Groups, evidence: Evidence, solution: Solution, method: Method, seconds: float) -> Estimate:
    """Return a solution as an estimate, with likelihood and certificate."""
    mechanisms = tuple(groups)
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
        groups=groups,
    )


def check_groups(groups: Sequence[Any]) -> None:
    """Reject anything but pairs of counts and mechanism over one alphabet."""
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
    """Return the method; the default if `None`."""
    if method is None:
        return Stacked()
    if not isinstance(method, Method):
        raise InvalidParameterError(f"method must be a Method such as IBU(); got {kind_of(method)}.")
    return method


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

    It gives no warnings; the caller does.
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
    """Return the EMD from the truth, or why it is missing."""
    if not has_emd(answer.alphabet):
        return None, ""
    try:
        return emd(answer.distribution, truth, answer.alphabet), ""
    except MissingExtraError as error:
        return None, f"It is left out. {error}"
