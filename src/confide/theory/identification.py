"""Identification, consistency, and the error of inversion: what a mechanism allows.

**Identification**: whether reports can reveal the distribution, or the answer to a query, at all.

Theorem identification: only if no two distributions give the same reports. A query c is identified, more modestly, if
all distributions that give the same reports give it the same answer. These differ by a w with w M = 0, so c must be
orthogonal to all such w: it must lie in the span of the columns of M (beyond the paper).

>>> from confide import Categories, FromMatrix, Integers, RandomizedResponse, TruncatedGeometric
>>> identification(TruncatedGeometric(Integers(0, 99), epsilon=0.05)).verdict
<Verdict.YES: 'yes'>
>>> pair = FromMatrix(Integers(1, 3), [[0.5, 0.5], [0.4, 0.6], [0.1, 0.9]])
>>> identification(pair).reason
'There are 3 values and only 2 outputs, so at most 2 columns can be independent.'
>>> pool_identification((pair, RandomizedResponse(Integers(1, 3), epsilon=1.0))).verdict
<Verdict.YES: 'yes'>
>>> twins = FromMatrix(Categories([1, 2, 3]), [[0.45, 0.10, 0.45], [0.05, 0.90, 0.05], [0.45, 0.10, 0.45]])
>>> [query_identification(twins, query).verdict.value for query in ("x == 2", "x == 1", "x in {1, 3}")]
['yes', 'no', 'yes']

**Consistency** of the maximum-likelihood estimate: identification, continuity and dominance. The maximum-likelihood
estimate converges to the truth in probability if all three hold (theorem mlconsistencygen, definition id_cont_dom), and
only if the first does.

>>> from confide import Integers, TruncatedGeometric
>>> answer = consistency(TruncatedGeometric(Integers(0, 99), epsilon=0.05))
>>> answer.verdict, answer.dominance.reason
(<Verdict.YES: 'yes'>, 'd(z) = -log of the smallest probability = 8.589, the same for every report.')

**Matrix inversion**: the exact mean squared error, and the paper's bounds with their conditions. The vector w = q M^-1
is unbiased, so its mean squared error is the sum of its variances. With m = theta M and c_z the squared length of row z
of M^-1,

    E |w - theta|^2 = (sum_z m_z c_z - |theta|^2) / n,

for any invertible mechanism, any theta and any n. No bound is needed where that can be computed; the bounds show how it
grows.

>>> from confide import Integers, TruncatedGeometric
>>> error = inversion_error(TruncatedGeometric(Integers(0, 99), epsilon=0.05))
>>> round(error.bound.per_report, 1), round(error.per_report, 1)
(7818.5, 760716.7)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike

from confide.channels import ColumnStack, Embedded
from confide.channels.base import Channel, FloatArray, Indices
from confide.errors import InvalidParameterError, NotInvertibleError
from confide.evidence.counts import Counts
from confide.evidence.evidence import Evidence
from confide.mechanisms import FromMatrix
from confide.mechanisms.base import Bound, Mechanism, require_mechanism
from confide.mechanisms.guarantees import Guarantee, LocalDP, MetricPrivacy, ProductGuarantee
from confide.solve.methods import MLE
from confide.theory.spectra import LIMITS, ROUNDING, Spectrum, find_classes, is_storable, left_vectors, spectrum_of
from confide.theory.verdicts import Finding, Verdict, all_of
from confide.values import Alphabet, Categories, unbounded
from confide.values.checks import as_distribution, check_positive, read_only
from confide.values.queries import Query, as_weights

THEOREM = "theorem identification"
COLUMN_SPACE = "column space of the mechanism"


@dataclass(frozen=True)
class Identification(Finding):
    """Whether a mechanism identifies the distribution, and by what margin.

    Attributes
    ----------
    spectrum
        The singular values of its matrix, where there is one and they were computed.
    classes
        The values in classes of identical rows, where rows were compared.
    """

    spectrum: Spectrum | None = None
    classes: tuple[Indices, ...] | None = field(default=None, repr=False, compare=False)


Judge = Callable[[Mechanism], Finding]
"""Function that decides whether a mechanism identifies the distribution."""

DOMINANT = Identification(Verdict.YES, "Every value is reported as itself more often than not.", "diagonal dominance")
"""Finding of :func:`keeps_most`."""


def identification(mechanism: Mechanism) -> Identification:
    """Decide whether different distributions always give different reports (theorem identification).

    Known lemmas come first, then what products and remaps inherit, then arithmetic: the count of outputs, identical
    rows, and singular values.
    """
    require_mechanism("mechanism", mechanism)
    found = prove_identification(mechanism)
    if found is not None:
        # Add singular values to a lemma where they cost little: they say how much noise the way back adds.
        # 512: values up to which singular values are shown although a lemma has decided already.
        if not mechanism.has_channel or mechanism.alphabet.size > 512 or not is_storable(mechanism.channel):
            return Identification(found.verdict, found.reason, found.source, found.numbers)
        spectrum = spectrum_of(mechanism.channel)
        numbers = {**found.numbers, **spectrum.numbers()}
        return Identification(found.verdict, found.reason, found.source, numbers, spectrum)

    if not mechanism.has_channel:
        return Identification(Verdict.NOT_COVERED, "No lemma covers this mechanism, and it has no matrix.", THEOREM)
    return channel_identification(mechanism.channel)


def prove_identification(mechanism: Mechanism, judge: Judge | None = None) -> Finding | None:
    """Return what lemmas alone prove; None if they are silent.

    Parameters
    ----------
    mechanism
        The mechanism.
    judge
        Decides the parts of a product, of which lemmas may know nothing; :func:`identification` if left out.
    """
    facts = mechanism.facts
    if facts.independence is not None:
        proof = facts.independence
        return Finding(Verdict.YES, proof.reason, proof.source, proof.numbers)
    if facts.dependence is not None:
        return Finding(Verdict.NO, facts.dependence.reason, facts.dependence.source, facts.dependence.numbers)
    judge = judge or identification
    if facts.parts is not None:
        # The rank of a Kronecker product is the product of the ranks.
        parts = {name: judge(part) for name, part in facts.parts.items()}
        verdict = all_of(*(part.verdict for part in parts.values()))
        reason = " ".join(f"For {name}: {part.reason}" for name, part in parts.items())
        sources = " and ".join(dict.fromkeys(part.source for part in parts.values()))
        return Finding(verdict, reason, f"rank of a Kronecker product; {sources}")
    if facts.origin is not None:
        return _remapped(*facts.origin, judge)
    return None if facts.rounds is None else _two_rounds(*facts.rounds, judge)


def channel_identification(channel: Channel) -> Identification:
    """Decide from a channel whether its rows are linearly independent."""
    values, outputs = channel.shape
    if outputs < values:
        return too_few(values, outputs)
    classes = tuple(find_classes(channel))
    if len(classes) < values:
        found = same_rows(values, len(classes))
    elif not is_storable(channel) and keeps_most(channel):
        found = DOMINANT
    else:
        spectrum = spectrum_of(channel)
        source = f"{THEOREM}, by {'singular values' if spectrum.is_complete else 'iterative singular values'}"
        found = Identification(spectrum.independence, _measured(spectrum), source, spectrum.numbers(), spectrum)
    return replace(found, classes=classes)


def too_few(values: int, outputs: int) -> Identification:
    """Return what fewer outputs than values mean."""
    noun = "output" if outputs == 1 else "outputs"
    reason = (
        f"There are {values:,} values and only {outputs:,} {noun}, so at most {outputs:,} columns can be independent."
    )
    return Identification(Verdict.NO, reason, THEOREM, {"values": values, "outputs": outputs})


def same_rows(values: int, classes: int) -> Identification:
    """Return what fewer classes of identical rows than values mean."""
    reason = f"Some of the {values:,} values have identical rows: only {classes:,} can be distinguished."
    return Identification(Verdict.NO, reason, THEOREM, {"classes": classes})


def keeps_most(channel: Channel) -> bool:
    """Whether each value is reported as itself with probability above 1/2.

    Such a matrix is invertible.

    A row then holds more on its diagonal than in all its other entries together (Levy and Desplanques).
    """
    values, outputs = channel.shape
    # 20_000: values up to which rows are computed one by one to look at their diagonal.
    if values != outputs or values > 20_000:
        return False
    for start in range(0, values, 64):
        block = np.arange(start, min(start + 64, values))
        if (channel.select(block)[np.arange(block.size), block] <= 0.5).any():
            return False
    return True


def _two_rounds(permanent: Mechanism, fresh: Mechanism, judge: Judge) -> Finding | None:
    """Decide by the rank of either round, if that is enough.

    The rank of a product is at most that of each factor.
    """
    first = judge(permanent)
    if first.verdict is Verdict.NO:
        reason = f"What the permanent round does not tell apart, no report does. {first.reason}"
        return Finding(Verdict.NO, reason, f"post-processing; {first.source}", first.numbers)
    second = judge(fresh)
    if first.verdict is second.verdict is Verdict.YES:
        reason = f"The permanent round: {first.reason} The fresh one: {second.reason}"
        return Finding(Verdict.YES, reason, f"rank of a product; {first.source} and {second.source}")
    return None


def _remapped(mechanism: Mechanism, remap: Indices, judge: Judge) -> Finding | None:
    """Return what the mechanism before the remap says, where that decides it."""
    before = prove_identification(mechanism, judge)
    if before is not None and before.is_no:
        return Finding(
            Verdict.NO, f"Nothing done to reports can bring back what they lack. {before.reason}", before.source
        )
    if before is not None and np.unique(remap).size == remap.size:
        return Finding(before.verdict, f"Outputs are merely renamed. {before.reason}", before.source)
    used, values = int(np.unique(remap).size), mechanism.alphabet.size
    return too_few(values, used) if used < values else None


def _measured(spectrum: Spectrum) -> str:
    which = "the only singular value" if spectrum.rows == 1 else f"the smallest of {spectrum.rows:,} singular values"
    smallest = f"{which} is {spectrum.smallest:.3g}"
    condition = f"the condition number {spectrum.condition:.3g}"
    if spectrum.independence is Verdict.YES:
        return f"The rows are linearly independent: {smallest}, {condition}."
    if spectrum.independence is Verdict.NO:
        return f"The matrix has rank {spectrum.rank:,} of {spectrum.rows:,}: {smallest}, which is zero to rounding."
    if not spectrum.is_complete:
        return (
            f"There are too many values to compute all singular values. By iteration {smallest} or less, which "
            f"rules out neither yes nor no."
        )
    return f"By far the smallest part decides: {smallest}, not clearly above rounding and not clearly zero."


# 128: pools whose finding is kept, the latest ones.
@lru_cache(maxsize=128)
def pool_identification(mechanisms: tuple[Mechanism, ...]) -> Finding:
    """Decide whether several mechanisms together identify one distribution.

    Asked with every estimate, so it must cost little: lemmas decide most mechanisms at once, arithmetic the others
    while it takes a fraction of a second, once a mechanism; beyond that the verdict may be that it was not checked.

    They do if one of them does by itself, and otherwise if the columns of all of them together have full rank.
    """
    found = [_judge_cheaply(one) for one in mechanisms]
    if len(found) == 1:
        return found[0]
    enough = next((one for one in found if one.is_yes), None)
    if enough is not None:
        return Finding(Verdict.YES, f"One of the {len(found)} mechanisms is enough. {enough.reason}", enough.source)
    together = _compute(mechanisms)
    reason = f"All {len(found)} mechanisms taken together: {together.reason}"
    return Finding(together.verdict, reason, together.source, together.numbers)


def _judge_cheaply(mechanism: Mechanism) -> Finding:
    return prove_identification(mechanism, _judge_cheaply) or _compute((mechanism,))


def _compute(mechanisms: tuple[Mechanism, ...]) -> Finding:
    """Decide by arithmetic if that is cheap.

    Channels are made only if they are small.
    """
    values = mechanisms[0].alphabet
    if not all(one.has_channel for one in mechanisms):
        return Finding(Verdict.NOT_COVERED, "No lemma covers this, and there is no matrix to look at.", THEOREM)
    outputs = sum(one.report_alphabet.size for one in mechanisms)
    found: Finding = _not_checked(values.size, outputs)
    # 25_000_000: entries of a channel up to which its rows are compared, by a few products: a tenth of a second where
    # it is stored.
    if outputs < values.size:
        found = too_few(values.size, outputs)
    elif values.size * outputs <= 25_000_000:
        first, *others = (one.channel for one in mechanisms)
        channel = ColumnStack((first, *others)) if others else first
        # 250_000_000: values times values times outputs up to which all singular values are computed: about a quarter
        # of a second. Beyond, what can be decided without them.
        if values.size**2 * outputs <= 250_000_000:
            found = channel_identification(channel)
        elif (classes := len(find_classes(channel))) < values.size:
            found = same_rows(values.size, classes)
        elif keeps_most(channel):
            found = DOMINANT
    # A finding that can be kept is one without the spectrum and the classes it was made of.
    return Finding(found.verdict, found.reason, found.source, found.numbers)


def _not_checked(values: int, outputs: int) -> Finding:
    reason = f"A matrix of {values:,} values and {outputs:,} outputs is too large to decompose with every estimate."
    return Finding(Verdict.NOT_CHECKED, reason, "limits of computing")


def query_identification(
    mechanism: Mechanism,
    query: Query,
    name: str | None = None,
    known: Identification | None = None,
    of: Alphabet | None = None,
) -> Finding:
    """Decide whether a query is identifiable, given enough reports.

    Parameters
    ----------
    mechanism
        The mechanism.
    query
        See :func:`confide.values.queries.as_weights`.
    name
        What a value is called in a text.
    known
        What is known of the mechanism's identification, where that was asked before.
    of
        The values that the query is about, where the mechanism's are unbounded.
    """
    values = of or mechanism.alphabet
    if not values.is_finite:
        raise unbounded(values)
    weights = as_weights(query, values, name)
    whole = known or identification(mechanism)
    if whole.is_yes:
        return Finding(Verdict.YES, f"The whole distribution is identified. {whole.reason}", whole.source)
    if not mechanism.alphabet.is_finite:
        return Finding(
            Verdict.NOT_COVERED, "The values are unbounded, and the whole is not known to be identified.", COLUMN_SPACE
        )
    return channel_query(mechanism.channel, weights)


def channel_query(channel: Channel, weights: FloatArray) -> Finding:
    """Decide the same from a channel and the query's weights."""
    # The sum of all probabilities is known, so a constant may be taken off; what remains is what is asked.
    asked = weights - float(weights.mean())
    length = float(np.linalg.norm(asked))
    if length <= 1e-15 * float(np.abs(weights).max(initial=0.0)) * weights.size:
        return Finding(Verdict.YES, "It asks for the same of every value, and probabilities sum to 1.", COLUMN_SPACE)
    if channel.shape[1] == 2:
        return _query_of_two_outputs(channel, asked / length)
    if not is_storable(channel):
        return Finding(Verdict.TOO_CLOSE, "The matrix is too large to decide it.", COLUMN_SPACE)
    vectors, spectrum = left_vectors(channel.dense(), channel.rounding)
    # Split a query into what lies along clear columns, and along what is zero for sure.
    parts = vectors.T @ (asked / length)
    singular = np.zeros(parts.size)
    singular[: spectrum.singular_values.size] = spectrum.singular_values
    weakest = float(singular[singular > spectrum.clear].min())
    blur = 10 * ROUNDING * math.sqrt(parts.size) * spectrum.largest / weakest
    unclear = float(np.linalg.norm(parts[singular <= spectrum.clear]))
    numbers = {"share outside the column space": unclear, "of which rounding, at most": blur}
    # 1e-7: share of a query past which, if rounding alone may put it outside the span, nothing is said.
    if unclear <= blur <= 1e-7:
        return Finding(
            Verdict.YES, "It is a combination of the mechanism's columns, to rounding.", COLUMN_SPACE, numbers
        )
    # 1e3: a query is not in the span where this many times more of it lies outside than rounding can put there.
    if unclear > 1e3 * blur and spectrum.independence is Verdict.NO and spectrum.is_sharp:
        reason = f"A share of {unclear:.3g} of it lies outside the mechanism's columns."
        return Finding(Verdict.NO, reason, COLUMN_SPACE, numbers)
    reason = f"A share of {unclear:.3g} of it seems to lie outside the mechanism's columns, which is not clear enough."
    return Finding(Verdict.TOO_CLOSE, reason, COLUMN_SPACE, numbers)


def _query_of_two_outputs(channel: Channel, asked: FloatArray) -> Finding:
    """Compare a query with one of the two columns."""
    column = channel.pull(np.array([0.0, 1.0]))
    column = column - float(column.mean())
    length = float(np.linalg.norm(column))
    blur = 4 * channel.rounding * math.sqrt(column.size) / max(length, 1e-300)
    direction = column / max(length, 1e-300)  # before it is used: the square of a short length would underflow
    outside = float(np.linalg.norm(asked - (asked @ direction) * direction))
    numbers = {"share outside the column space": outside, "of which rounding, at most": blur}
    reason = f"A share of {outside:.3g} of it lies outside the mechanism's columns."
    # 1e-3: as much of a query may be rounding, where epsilon is so small that the column hardly varies.
    if outside <= blur <= 1e-3:
        reason = "The probability of a report is linear in it, to rounding."
        return Finding(Verdict.YES, reason, COLUMN_SPACE, numbers)
    return Finding(Verdict.NO if outside > 1e3 * blur else Verdict.TOO_CLOSE, reason, COLUMN_SPACE, numbers)


@dataclass(frozen=True, eq=False)
class Partition:
    """Classes of values with identical rows, and the mechanism on them.

    The paper's X / ~.

    Attributes
    ----------
    alphabet
        The values.
    class_of
        The number of the class of each value; classes are ordered by their first values.
    identification
        Whether the mechanism on the classes is full rank, so that the distribution over the classes is identified.
    """

    alphabet: Alphabet
    class_of: Indices
    identification: Identification
    mechanism: Mechanism

    @cached_property
    def size(self) -> int:
        """Number of classes."""
        return int(self.class_of.max()) + 1

    @property
    def is_trivial(self) -> bool:
        """Whether every value stands alone."""
        return self.size == self.alphabet.size

    @cached_property
    def classes(self) -> tuple[Indices, ...]:
        """The numbers of the values in each class."""
        order = np.argsort(self.class_of, kind="stable")
        return tuple(np.split(order, np.cumsum(np.bincount(self.class_of))[:-1]))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """A short text for each class, listing its first values."""
        names = [self.alphabet.labels(members) for members in self.classes]
        more = [f", and {len(some) - 4:,} more" if len(some) > 4 else "" for some in names]
        each = zip(names, more, strict=True)
        return tuple(some[0] if len(some) == 1 else f"{{{', '.join(some[:4])}{rest}}}" for some, rest in each)

    def merge(self, distribution: FloatArray) -> FloatArray:
        """Add up a distribution over the values class by class."""
        known = as_distribution(distribution, self.alphabet.size, "distribution")
        return np.bincount(self.class_of, known, minlength=self.size).astype(np.float64)

    @cached_property
    def quotient(self) -> Mechanism:
        """The mechanism whose values are the classes (the paper's M~)."""
        if self.is_trivial:
            return self.mechanism
        channel = quotient_channel(self.mechanism.channel, self.classes)
        if not is_storable(channel):
            raise InvalidParameterError(f"The mechanism on {self.size:,} classes is too large to store.")
        return FromMatrix(Categories(list(self.labels)), channel.dense(), self.mechanism.report_alphabet)

    def estimate(self, counts: Counts, method: MLE | None = None) -> FloatArray:
        """Return the maximum-likelihood probability of each class."""
        evidence = self.mechanism.observe(counts.independent)
        if not self.is_trivial:
            channel = quotient_channel(evidence.channel, self.classes)
            evidence = Evidence(channel, evidence.counts, evidence.log_offset)
        return read_only((method or MLE()).solve(evidence).distribution)


def partition(mechanism: Mechanism, known: Identification | None = None) -> Partition:
    """Sort the values into classes that no report can tell apart.

    Parameters
    ----------
    mechanism
        The mechanism.
    known
        What is known of its identification, where that was asked before.

    Examples
    --------
    >>> from confide import Categories, FromMatrix
    >>> mechanism = FromMatrix(Categories([1, 2, 3]), [[0.45, 0.10, 0.45], [0.05, 0.90, 0.05], [0.45, 0.10, 0.45]])
    >>> parts = partition(mechanism)
    >>> parts.labels, parts.identification.verdict
    (('{1, 3}', '2'), <Verdict.YES: 'yes'>)
    """
    require_mechanism("mechanism", mechanism)
    alphabet = mechanism.alphabet
    if not alphabet.is_finite:
        raise unbounded(alphabet)
    whole = known or identification(mechanism)
    classes: tuple[Indices, ...] = ()
    if not whole.is_yes:
        classes = tuple(find_classes(mechanism.channel)) if whole.classes is None else whole.classes
    if whole.is_yes or len(classes) == alphabet.size:
        return Partition(alphabet, np.arange(alphabet.size), whole, mechanism)
    class_of = np.empty(alphabet.size, dtype=np.int64)
    for number, members in enumerate(classes):
        class_of[members] = number
    on_classes = channel_identification(quotient_channel(mechanism.channel, classes))
    return Partition(alphabet, class_of, on_classes, mechanism)


def quotient_channel(channel: Channel, classes: tuple[Indices, ...]) -> Embedded:
    """Return the channel over classes, by each class's first value."""
    firsts = np.array([members[0] for members in classes], dtype=np.int64)
    return Embedded(channel, firsts, np.arange(channel.shape[1]), channel.shape[1])


@dataclass(frozen=True)
class Consistency:
    """Whether the maximum-likelihood estimate converges to the truth, by its three conditions.

    Attributes
    ----------
    identification, continuity, dominance
        The conditions, each with its reason.
    verdict
        What follows: yes by the theorem, no where identification fails, and else what the theorem leaves open.
    """

    identification: Identification
    continuity: Finding
    dominance: Finding

    @property
    def verdict(self) -> Verdict:
        """Implication of the three conditions together."""
        if self.identification.is_no:
            return Verdict.NO
        return all_of(self.identification.verdict, self.continuity.verdict, self.dominance.verdict)


def consistency(mechanism: Mechanism, known: Identification | None = None) -> Consistency:
    """Check the three conditions of consistency."""
    whole = known or identification(mechanism)
    sources = [f"definition id_cont_dom, section {name}" for name in ("continuity", "dominance")]
    everywhere = "Every report is possible from every value, so log P(z | phi) is continuous."
    continuity = Finding(Verdict.YES, everywhere, sources[0])
    if not mechanism.alphabet.is_finite:
        reason = "Over unbounded values the set of distributions is not compact, and P(z | phi) has no lower bound."
        return Consistency(whole, continuity, Finding(Verdict.NOT_COVERED, reason, "theorem mlconsistencygen"))
    positive = is_positive(mechanism)
    if positive:
        return Consistency(whole, continuity, dominance(mechanism))
    verdict = Verdict.TOO_CLOSE
    reason = "The matrix is too large to check whether every report is possible from every value."
    if positive is False:
        verdict = Verdict.NOT_COVERED
        reason = (
            "Some reports are possible from some values and impossible from others, where log P(z | phi) is unbounded."
        )
    return Consistency(whole, *(Finding(verdict, reason, source) for source in sources))


def is_positive(mechanism: Mechanism) -> bool | None:
    """Whether every output is possible from every value.

    None if the matrix is too large to check.

    Asked of formulas rather than of numbers, which underflow: e^-1000 is positive, and 0.0 in float64.
    """
    facts = mechanism.facts
    if facts.is_positive is not None:
        return facts.is_positive
    if facts.parts is not None:
        parts = [is_positive(part) for part in facts.parts.values()]
        return False if False in parts else None if None in parts else True
    if facts.origin is not None and is_positive(facts.origin[0]):
        return True
    if not mechanism.has_channel:
        return None
    ends = column_ends(mechanism.channel)
    return None if ends is None else bool(((ends[0] > 0) | (ends[1] == 0)).all())


def column_ends(channel: Channel) -> tuple[FloatArray, FloatArray] | None:
    """Return the smallest and largest entry of each column.

    None if there are too many rows.
    """
    values, outputs = channel.shape
    if values * outputs > LIMITS.entries:
        return None
    lowest, highest = np.full(outputs, np.inf), np.zeros(outputs)
    step = max(1, LIMITS.compared // outputs)
    for start in range(0, values, step):
        rows = channel.select(np.arange(start, min(start + step, values)))
        lowest, highest = np.minimum(lowest, rows.min(axis=0)), np.maximum(highest, rows.max(axis=0))
    return lowest, highest


def dominance(mechanism: Mechanism) -> Finding:
    """Return a bound d(z) on |log P(z | phi)| with finite mean.

    It covers all phi.
    """
    facts = mechanism.facts
    if facts.dominance is not None:
        proof = facts.dominance
        return Finding(Verdict.YES, proof.reason, proof.source, proof.numbers)
    if not mechanism.report_alphabet.is_finite:
        return Finding(
            Verdict.NOT_COVERED, "Reports are unbounded, and no d(z) is known for them.", "theorem mlconsistencygen"
        )
    lowest = log_smallest(mechanism)
    reason = f"d(z) = -log of the smallest probability = {-lowest:.4g}, the same for every report."
    source = facts.corollary or "smallest probability, as in corollary consistency1"
    return Finding(Verdict.YES, reason, source, {"dominating constant": -lowest})


def log_smallest(mechanism: Mechanism) -> float:
    """Return a finite lower bound on the log of the smallest probability.

    It is exact where float64 allows.
    """
    facts = mechanism.facts
    if facts.log_smallest is not None:
        return facts.log_smallest
    if facts.parts is not None:
        return sum(log_smallest(part) for part in facts.parts.values())
    ends = column_ends(mechanism.channel)
    if ends is not None:
        least = float(ends[0][ends[1] > 0].min())
        if least > 0:
            return math.log(least)
    # A lower bound from the promise: no probability is less than e^-bound times the mean of its column.
    size = mechanism.alphabet.size
    means: FloatArray = mechanism.channel.push(np.full(size, 1 / size))
    return math.log(float(means[means > 0].min())) - largest_bound(mechanism.guarantee, mechanism.alphabet)


def largest_bound(guarantee: Guarantee, alphabet: Alphabet) -> float:
    """Return a log-ratio that the promise exceeds for no two values."""
    if isinstance(guarantee, ProductGuarantee) and alphabet.attributes is not None:
        return sum(map(largest_bound, guarantee.parts, alphabet.attributes.alphabets))
    if isinstance(guarantee, MetricPrivacy):
        return guarantee.epsilon * guarantee.metric.farthest(alphabet.coordinates)
    return float(guarantee.epsilon) if isinstance(guarantee, LocalDP) else math.inf


@dataclass(frozen=True)
class InversionError:
    """The mean squared error of w = q M^-1.

    Attributes
    ----------
    per_report
        The exact error times the number of reports, for the distribution it was asked for.
    bound
        The paper's bound for this family, where there is one.
    reports
        How many reports there are; None where only the error per report is known.
    reason
        Why there is no exact error, where there is none.
    """

    per_report: float | None
    bound: Bound | None
    reports: float | None = None
    reason: str = ""

    @property
    def mean_squared(self) -> float | None:
        """E |w - theta|^2, for that many reports."""
        return None if self.per_report is None or self.reports is None else self.per_report / self.reports

    @property
    def typical(self) -> float | None:
        """Typical Euclidean distance of w from theta: the square root."""
        return None if self.mean_squared is None else math.sqrt(self.mean_squared)


def inversion_error(
    mechanism: Mechanism, reports: float | None = None, distribution: ArrayLike | None = None
) -> InversionError:
    """Return the error of matrix inversion, exactly and by the paper's bound.

    Parameters
    ----------
    mechanism
        The mechanism.
    reports
        How many reports there are.
    distribution
        The true distribution, or a guess at it; uniform if left out.
    """
    require_mechanism("mechanism", mechanism)
    if reports is not None:
        check_positive("reports", reports)
    bound, values, outputs = mechanism.facts.inversion_bound, mechanism.alphabet, mechanism.report_alphabet
    if not values.is_finite or not outputs.is_finite:
        return InversionError(None, bound, reports, "Its outputs are unbounded, so there is no matrix to invert.")
    if not mechanism.has_channel:
        many = f"{outputs.size:,}" if outputs.size < 10**15 else f"about 2^{outputs.size.bit_length() - 1}"
        reason = f"Its {many} outputs are too many to list, so there is no matrix to invert."
        if mechanism.facts.bits is not None:
            reason = (
                f"Its matrix has a column for each of {many} outputs, 2^{values.size} bit vectors, so it is not square "
                f"and has no inverse. BitInversion() inverts each bit by itself."
            )
        return InversionError(None, bound, reports, reason)
    size = values.size
    theta = np.full(size, 1 / size) if distribution is None else as_distribution(distribution, size, "distribution")
    try:
        lengths = mechanism.channel.inverse_lengths()
    except NotInvertibleError as error:
        return InversionError(None, bound, reports, str(error))
    return InversionError(float(mechanism.channel.push(theta) @ lengths - theta @ theta), bound, reports)
