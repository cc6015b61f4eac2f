"""Estimates of a distribution from counts, with certificate and intervals."""

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
from confide.evidence.counts import Counts, describe_dependence, describe_weights, design_effect_of
from confide.evidence.evidence import Evidence
from confide.evidence.shapes import Shape
from confide.mechanisms.base import Mechanism, Premise, by_mechanism, observe_weighted, require_mechanism
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
    "confide.diagnose(None, mechanism) names the values that no report can distinguish. .query(...) and .interval() "
    "give intervals that cover all of these answers. To settle it, merge values or use another mechanism."
)
"""What to do if the distribution is not identifiable."""


@dataclass(frozen=True, eq=False)
class Estimate(Shown):
    """A recovered distribution with its intervals and diagnostics.

    Attributes
    ----------
    alphabet
        The values. For an unbounded alphabet, those that were searched.
    distribution
        The probability of each value. Only raw inversion may leave negative entries here.
    log_likelihood
        The log-probability of all reports, in nats; NaN if an entry is negative.
    certificate
        Upper bound, in nats, on how far the log-likelihood is below its maximum. It is meant for methods that seek the
        maximum (:attr:`Method.seeks_maximum`). The default method leaves the maximum on purpose: judge its answer by
        `fit` and by intervals.
    iterations
        Number of iterations; 0 for a closed form.
    status, ending
        Why the method stopped, as a word and as a sentence.
    method
        The method with its settings.
    seconds
        How long it took.
    identification
        Whether the distribution is identifiable under the mechanism. For a pool, under its mechanisms together.
    considered
        The values that were searched, and why no other matters; None if all were.
    choices
        The candidates and their weights, for a method that combines several, as :class:`Stacked` does.
    uniformity
        Test against a uniform population. None on unbounded alphabets, and if only some of the values were searched.
    groups
        The counts by mechanism, from which intervals are computed.
    shaped
        The declared shape and the components of its mixtures; None without a shape. With a shape, the certificate
        compares only distributions of this shape.

    Examples
    --------
    >>> import confide as cf
    >>> ages = cf.datasets.adult_ages()
    >>> mechanism = cf.TruncatedGeometric(ages.alphabet, epsilon=0.05)
    >>> estimate = cf.estimate(mechanism.simulate_counts(ages.histogram, rng=1), mechanism)
    >>> print(estimate.query("age >= 65"))
    0.03981, between 0.002306 and 0.09723 at 95%
    >>> print(estimate.mean())
    38.64, between 38.4 and 38.94 at 95%
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
        """Why the method stopped, and what limits the answer.

        Limits are reports that do not reject a uniform population, dependent reports, and a distribution that is not
        identifiable.

        >>> import confide as cf, warnings
        >>> mechanism = cf.FromMatrix(cf.Integers(1, 3), [[0.5, 0.5], [0.4, 0.6], [0.1, 0.9]])
        >>> with warnings.catch_warnings(action="ignore", category=cf.errors.NotIdentifiedWarning):
        ...     answer = cf.estimate(cf.tally([0, 1], [40, 60]), mechanism, cf.IBU())
        >>> answer.identification.verdict, "cannot identify" in answer.explanation
        (<Verdict.NO: 'no'>, True)
        """
        cure = f" {CURE}" if self.identification.is_no else ""
        remark = remark_on(self.identification) + cure
        words = ["" if self.is_told else str(self.uniformity), self.weighting, self.dependence]
        told = "".join(f"{one} " for one in words if one)
        return told + (f"{self.ending}. {remark}".removesuffix(".") if remark else self.ending)

    @property
    def repeats(self) -> int:
        """Most reports that one person may have made with permanent noise.

        It is 1 if all reports are independent.
        """
        return max((one.repeats for one in self.groups.values()), default=1)

    @property
    def dependence(self) -> str:
        """Sentence on reports that are not independent; empty if all are."""
        return describe_dependence(self.repeats, sum(one.total for one in self.groups.values()))

    @property
    def weighting(self) -> str:
        """Sentence on weights and what they cost; empty without weights."""
        return describe_weights(self.groups.values())

    @property
    def design_effect(self) -> float:
        """How many weighted reports are worth one of equal weight.

        An average over questions (Kish); 1 without weights.

        >>> import confide as cf
        >>> mechanism = cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0)
        >>> counts = cf.tally(["yes"] * 600 + ["no"] * 400, weights=[1] * 500 + [3] * 500)
        >>> cf.estimate(counts, mechanism).design_effect
        1.25
        """
        return design_effect_of(self.groups.values())

    @property
    def is_told(self) -> bool:
        """Whether the reports reject a uniform population.

        True if the test was not run.
        """
        return self.uniformity is None or self.uniformity.is_rejected

    @cached_property
    def fit(self) -> Fit:
        """Goodness-of-fit test: p-value and, if it fails, likely causes.

        >>> import confide as cf, warnings
        >>> ages = cf.TruncatedGeometric(cf.Integers(0, 99), epsilon=0.05)
        >>> with warnings.catch_warnings(action="ignore", category=cf.errors.PoorFitWarning):
        ...     answer = cf.estimate(cf.tally([50], counts=[5000]), ages, cf.IBU())
        >>> answer.fit.verdict
        <FitVerdict.DOES_NOT_FIT: 'does not fit'>
        """
        return self._examination.test()

    @cached_property
    def _examination(self) -> Examination:
        if not self.groups:
            raise InvalidParameterError("This estimate does not know its counts. Make it by confide.estimate(...).")
        # Reuse a maximum that is already certified.
        is_highest = self.shaped is None and self.method.reaches_maximum and self.certificate <= TOLERANCE
        known = self.distribution if is_highest else None
        return examine([(counts, mechanism) for mechanism, counts in self.groups.items()], known)

    @property
    def is_distribution(self) -> bool:
        """Whether no entry is negative, and all add up to 1.

        Inversion without a repair may miss either.
        """
        return _is_distribution(self.distribution)

    def interval(self, level: float = 0.95, *, basis: Basis | None = None) -> Band:
        """Return an interval for the probability of each value.

        Parameters
        ----------
        level
            The coverage of each value's interval: the share of repeated surveys in which it covers the truth. It is not
            simultaneous over all values.
        basis
            How the interval is computed. The default is :class:`Bootstrap`, which includes the bias of the method. It
            takes a few seconds for a hundred values and may miss spikes that the method smooths away; docs/intervals.md
            says how often. For a method without a smoothness assumption, such as :class:`MLE`, and under randomized
            response the default is :class:`Likelihood`.

        Examples
        --------
        >>> import confide as cf
        >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
        >>> counts = cf.tally(mechanism.privatize([3, 4, 4, 5] * 500, rng=1))
        >>> band = cf.estimate(counts, mechanism).interval(level=0.9)
        >>> bool(band.low[4] <= 0.5 <= band.high[4])
        True
        """
        if self.blocks is not None:
            raise TooLargeError(
                f"Intervals of each of {self.alphabet.size:,} cells are not computed: these reports resolve blocks of "
                f"{self.blocks.side} x {self.blocks.side} cells at best. Ask for areas, with query(...)."
            )
        return self._inference.band(level, basis)

    def query(
        self, query: Query, level: float = 0.95, *, name: str | None = None, basis: Basis | None = None
    ) -> Interval:
        """Answer a query such as ``"age >= 65"``, with its interval.

        Parameters
        ----------
        query
            A text, a function of a value, or one weight for each value; see :mod:`confide.values.queries`.
        level
            The coverage: the share of repeated surveys whose interval covers the truth.
        name
            What a value is called in a text; any name if left out.
        basis
            How the interval is computed. The default is :class:`Likelihood`; :class:`Bootstrap` is narrower and assumes
            more.

        Examples
        --------
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
        """Answer several queries, each with its interval.

        With `joint` the level is simultaneous: all intervals together cover the truth that often.

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
        """Split an answer's width into sampling and noise, and forecast it.

        The forecast says how wide the interval would be with more people or a larger epsilon.

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
        # Channels by epsilon, the mechanism's own first. Pools, shapes and large channels have none.
        mechanism, *others = self.groups
        epsilon, channels = getattr(mechanism, "epsilon", None), {}
        is_one = not others and self.shaped is None and mechanism.has_channel
        if is_one and isinstance(epsilon, float) and max(mechanism.channel.shape) <= 512:
            larger = {times * epsilon: mechanism.at(times * epsilon).channel for times in (2, 4)}
            channels = {epsilon: mechanism.channel} | larger
        return look_ahead(inference, answer, weights, channels, inference.evidence.total * self.design_effect)

    def mean(self, level: float = 0.95, *, basis: Basis | None = None) -> Interval:
        """Return the mean of the values, with its interval.

        The values must be numbers.
        """
        return self._ask([Question("mean")], level, basis)[0]

    def quantile(self, share: float, level: float = 0.95, *, basis: Basis | None = None) -> Interval:
        """Return a quantile of the values, with its interval.

        It is the lowest value at or below which this share of people lies.
        """
        return self._ask([Question("quantile", share=share)], level, basis)[0]

    def statistics(
        self,
        quantiles: Sequence[float] = (0.25, 0.5, 0.75),
        level: float = 0.95,
        *,
        mean: bool = True,
        basis: Basis | None = None,
    ) -> list[Interval]:
        """Return the mean and some quantiles, each with its interval.

        The answers are those of :meth:`mean` and :meth:`quantile`, in half the time.

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
        """Divide the values into the narrowest windows these reports resolve.

        Parameters
        ----------
        error
            Largest relative error of each window's share: 0.5 for ±50%.
        level
            The coverage of each window's interval.
        basis
            How the intervals are computed. The default, :class:`Likelihood`, assumes nothing about the truth.
            :class:`Bootstrap` gives narrower windows if the method's assumptions are right.
        name
            What a value is called in the questions; "value" if left out.

        Examples
        --------
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
        """The inference with nearby points of a plane binned together.

        It comes with the side of the squares, in steps; see :func:`gather_reports`. None if binning is not needed.
        """
        inference, (one, *others) = self._inference, self.groups
        decay, is_whole = one.facts.decay, inference.wide is None and inference.mixture is None
        if others or not is_whole or not isinstance(self.alphabet.geometry, PlaneGeometry) or decay is None:
            return None
        found = gather_reports(inference.evidence, self.groups[one].reports, decay)
        return None if found is None else (replace(inference, parts=[found[0]]), found[1])

    def marginal(self, *names: str) -> Estimate:
        """Return the estimate of one attribute, or of some of them.

        If each attribute has its own mechanism, the same method solves the reports of these attributes alone. Otherwise
        this estimate is summed over the other attributes. The result is a full estimate, with queries, windows, mean
        and fit.

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
        own = [(one.part(*names), one, counts) for one, counts in self.groups.items()]
        alone = [(one.reports_of(counts, *names), small) for small, one, counts in own if small is not None]
        if own and len(alone) == len(own):  # each of these attributes went through a mechanism of its own
            return recover_pool(by_mechanism(alone), self.method, None)
        kept = {one.name: getattr(self, one.name) for one in fields(Estimate)}
        shares = read_only(attributes.margin(self.distribution, *names))
        summed = {"alphabet": part, "distribution": shares, "uniformity": None}
        return Margin(**kept | summed, whole=self, margins=Margins(attributes, names))

    def cross(self, *names: str, level: float = 0.95, joint: bool = False, basis: Basis | None = None) -> CrossTable:
        """Return a cross table of two or more attributes, with intervals.

        It also has the totals of each attribute.

        Parameters
        ----------
        names
            The attributes, rows first.
        level
            The coverage of each entry's interval.
        joint
            Whether the level is simultaneous over all entries, and over the totals of each attribute.
        basis
            How the intervals are computed. The default is :class:`Likelihood`, as for queries; entries of a very large
            table use the default of :meth:`interval`.

        Examples
        --------
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
        # Likelihood intervals are affordable up to this many entries: 200 took 8 s of processor.
        usual = Likelihood() if whole.size <= 400 else None
        entries = inner.interval(level_of_each(level, whole.size) if joint else level, basis=basis or usual)
        assert whole.attributes is not None  # noqa: S101 (for the type checker: it has two attributes or more)
        totals = {}
        for name in names:
            # The share of each value of one attribute is a sum of entries of this table.
            part = whole.attributes.part(name)
            rows = [Question("query", row) for row in whole.attributes.spread(np.eye(part.size), name)]
            found = inner._ask(rows, level_of_each(level, part.size) if joint else level, basis or Likelihood())
            now, low, high, exact = np.array([(one.estimate, one.low, one.high, one.exact_width) for one in found]).T
            totals[name] = Band(part, now, low, high, level, found[0].rests_on, exact_width=exact)
        return CrossTable(names, replace(entries, level=level), totals, whole.size if joint else 1)

    @property
    def is_many_shapes(self) -> bool:
        """Whether the declared shape is a union of several shapes.

        An example is one peak at an unknown place.
        """
        return self.shaped is not None and len(self.shaped.mixtures) > 1

    def _ask(self, questions: Sequence[Question], level: float, basis: Basis | None) -> list[Interval]:
        return ask([(self._inference, one) for one in questions], level, basis)

    @cached_property
    def shape_fit(self) -> ShapeFit | None:
        """Test of the declared shape, with its power; `None` without one.

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
        """Blocks of cells used for intervals on very large grids.

        `None` if each cell is used by itself.
        """
        one = next(iter(self.groups), None)
        if one is None or len(self.groups) > 1 or self.shaped is not None or not has_many_cells(one.alphabet):
            return None  # saves laying out the reports again
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
        worth, tested = "", vars(self).get("fit")  # show the fit only if it was computed before
        if not self.is_distribution:
            worth = ", not a distribution"
        elif not self.is_told:
            worth = ", indistinguishable from uniform"
        elif self.method.seeks_maximum:
            worth = f", at most {self.certificate:.3g} below the maximum"
        elif tested is not None:
            worth = f", fit: {tested.verdict}"
        after = f"after {counted(self.iterations, 'iteration')}, log-likelihood {self.log_likelihood:,.3f}{worth}"
        return f"<Estimate of {self.alphabet!r} by {self.method!r}: {self.status} {after}>"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Margin(Estimate):
    """A joint estimate, summed over some of the attributes.

    Attributes
    ----------
    whole, margins
        The estimate of all attributes, and the attributes that remain.
    """

    whole: Estimate
    margins: Margins

    @cached_property
    def _examination(self) -> Examination:
        return self.whole._examination

    @cached_property
    def _inference(self) -> Inference:
        """The inference on all attributes, queried for the remaining ones."""
        mixture = Mixture(self.alphabet.size, (self.margins,))
        return replace(self.whole._inference, alphabet=self.alphabet, mixture=mixture)


Group = tuple[Counts, Mechanism]


def observe_groups(groups: Groups, part: Alphabet | None) -> list[Evidence]:
    """Return the evidence of each group, over all values or over `part`."""
    layout = Layout.of(next(iter(groups)).alphabet if part is None else part)
    if len(groups) > 1 and any(one.blocks is not None and one.blocks.has_clusters for one in groups.values()):
        raise InvalidParameterError(
            "One estimate from several mechanisms takes their reports for independent, and those of one cluster are "
            "not. Estimate each mechanism alone, or count without clusters."
        )
    return [replace(observe_weighted(one, counts, part), layout=layout) for one, counts in groups.items()]


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
        The reports, counted by :func:`tally`.
    mechanism
        The mechanism of the reports.
    method
        How to recover the distribution. The default, :class:`Stacked`, combines several methods by cross-validation;
        ``choices`` of the estimate says what it chose and why.
    shape
        A shape that is known before any report is seen, such as ``"falling from 50"`` or ``survey.shape``; see
        docs/shapes.md. Estimate, certificate and intervals then consider only distributions of this shape.
    monitor
        Called with the iteration number and the log-likelihood after each iteration.

    Warns
    -----
    NotIdentifiedWarning
        If the distribution is not identifiable; see ``identification`` of the estimate.
    PoorFitWarning
        If the reports do not fit the mechanism or the declared shape; see ``fit`` and ``shape_fit``.
    UniformReportsWarning
        If the reports are too few to reject a uniform population; see ``uniformity``.

    Examples
    --------
    >>> import confide as cf
    >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
    >>> counts = cf.tally(mechanism.privatize([4] * 1000, rng=1))
    >>> cf.estimate(counts, mechanism).distribution.argmax()
    np.int64(4)
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
    """Recover one distribution from the reports of several mechanisms.

    The mechanisms, or epsilons, share one alphabet. Log-likelihoods of groups add, so every method except the
    inversions solves a pool like a single group.

    Parameters
    ----------
    pairs
        The counts of each group, with its mechanism.
    method, shape, monitor
        As in :func:`estimate`.

    Examples
    --------
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
    merged, method = independent(groups), as_method(method)
    if shape is None:
        return recover_pool(merged, method, monitor)
    # Solve for the shares of the shape's components, through their channel.
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

    An unbounded alphabet always needs a subset. On a finite alphabet only a method that reaches the maximum may leave
    values out: the steps of IBU depend on all values that it starts from.
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
    # Below 2,000 values the whole alphabet is cheap to search.
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

    A quick screening, which computes one maximum of the likelihood, decides whether the test runs. It takes under 10 ms
    on a hundred values.
    """
    # If only a subset of a large alphabet was searched, a test over all of it would cost more than the subset saved.
    # `fit` still runs it on request.
    if answer.considered is not None and next(iter(answer.groups)).alphabet.is_finite:
        return
    if answer._examination.is_loud and answer.fit.is_bad:
        warnings.warn(str(answer.fit), PoorFitWarning, stacklevel=3)
    examined = answer._shape_examination
    if examined is not None and examined.is_loud and answer.shape_fit is not None and answer.shape_fit.is_bad:
        warnings.warn(str(answer.shape_fit), PoorFitWarning, stacklevel=3)


def warn_if_uniform(answer: Estimate) -> None:
    """Warn the caller's caller of reports too few to reject uniformity.

    It stays silent if the distribution is not identifiable, because another warning says so.
    """
    if answer.uniformity is not None and answer.uniformity.is_weak and not answer.identification.is_no:
        warnings.warn(str(answer.uniformity), UniformReportsWarning, stacklevel=3)


def independent(groups: Sequence[Group]) -> dict[Mechanism, Counts]:
    """Add up the counts of each mechanism.

    With permanent noise, only as many reports as are surely independent.
    """
    return {mechanism: counts.independent for mechanism, counts in by_mechanism(groups).items()}


def _is_distribution(vector: FloatArray) -> bool:
    return bool((vector >= 0).all()) and abs(float(vector.sum()) - 1) < 1e-6


def judge(groups: Groups, evidence: Evidence, solution: Solution, method: Method, seconds: float) -> Estimate:
    """Return a solution as an estimate, with likelihood and certificate."""
    mechanisms = tuple(groups)
    is_distribution = _is_distribution(solution.distribution)
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
        Log-likelihood after each iteration; empty for a closed form.
    emd, total_variation
        Distances from the truth. None without a truth, or if the estimate has negative entries. The EMD is also None on
        product alphabets and on grids too large for an exact one.
    emd_left_out
        Which missing package prevented the EMD; empty otherwise.
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
    """Estimate with one method and measure the distance from the truth.

    The outcome keeps the path of log-likelihoods. On an unbounded alphabet, the truth is a distribution over the
    alphabet of :func:`confide.theory.likely_subset`.

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
    """Estimate from several groups and measure the distance from the truth.

    All pairs of counts and mechanism share one alphabet. This function gives no warnings; the caller does.
    """
    alphabet = groups[0][1].alphabet
    if truth is not None and alphabet.is_finite:
        as_distribution(truth, alphabet.size, "truth")  # reject it before a long search
    path: list[float] = []

    def follow(iteration: int, log_likelihood: float) -> None:
        path.append(log_likelihood)
        if monitor is not None:
            monitor(iteration, log_likelihood)

    answer = recover(groups, method, follow, shape)
    known = None if truth is None else as_distribution(truth, answer.alphabet.size, "truth")
    if known is None or not answer.is_distribution:
        return Outcome(answer, tuple(path), None, None)
    moved, left_out = None, ""
    try:
        moved = emd(answer.distribution, known, answer.alphabet) if has_emd(answer.alphabet) else None
    except MissingExtraError as error:
        left_out = f"It is left out. {error}"
    return Outcome(answer, tuple(path), moved, total_variation(answer.distribution, known), left_out)
