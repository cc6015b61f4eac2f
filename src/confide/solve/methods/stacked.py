"""The default method: smooth priors, mixed with others by cross-validation.

Planes of very many cells are solved for square blocks of them, then brought to the cells by a few steps of EM.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from confide.channels import Channel, Dense
from confide.channels.base import FloatArray, Indices, Layout
from confide.channels.composed import Blocks
from confide.errors import SolverError
from confide.evidence.evidence import Evidence
from confide.solve.em import EM, Monitor, RowStack, Status, normalised, take_steps, uniform
from confide.solve.methods.base import IBU, MLE, Choice, Folds, Method, Progress, Solution, best_numbers_of_steps
from confide.solve.methods.inversion import Inversion, Pooled, Shares
from confide.values import Alphabet
from confide.values.checks import check_count
from confide.values.wording import counted

if TYPE_CHECKING:
    from confide.solve.smooth_prior import PriorFit, Problem


@dataclass(frozen=True)
class StackLimits:
    """Sizes up to which candidates are fitted, and nats between them.

    Attributes
    ----------
    small_matrix
        Entries up to which a matrix is stored for the many products of a smooth fit and of its folds.
    unordered
        Values without neighbours up to which a step, which takes the cube of their number, is worth it.
    ordered
        Values with neighbours up to which the rows of all knots fit.
    steps_to_reporters
        EM steps from the population that the prior describes towards those who reported: measured, not derived.
    block
        Entries of a stack of distributions, one row a replicate, that are moved at a time: 64 MB for each prior.
    many_cells
        Cells from which on they are solved for in blocks: more than a smooth prior is fitted to.
    most_blocks
        Blocks at most: few enough for the smooth prior to have a knot every few of them, and for the maximum.
    head_start
        Nats that the maximum has to make up to an answer that knows which values are neighbours. Under strong noise the
        held-out scores of good and bad answers differ by a few nats, by chance. A truth that really is rough or sparse
        makes it up, given reports enough to show it. Twenty were no better once the smooth answer had spikes.
    short_head_start
        The same where neighbours mean nothing: there the average over priors knows nothing that the others do not.
    far_behind
        Nats behind the first candidate from which on another has no share. Such a maximum still explains what a smooth
        answer misses, and had up to a sixth of the mixture, at a fifth more distance from the truth.
    weighed
        Replicates on which the candidates are weighed anew; fewer where there are many values, but one at least.
    rows
        Rows whose candidates are found side by side: more would be no faster, and tell less of how far they are.
    """

    small_matrix: int = 1_000_000
    unordered: int = 2000
    ordered: int = 150_000
    steps_to_reporters: int = 4
    block: int = 8_000_000
    many_cells: int = 150_000
    most_blocks: int = 15_000
    head_start: float = 8.0
    short_head_start: float = 1.0
    far_behind: float = 8.0
    weighed: int = 8
    rows: int = 64


LIMITS = StackLimits()


@dataclass(frozen=True)
class Smooth(Method):
    """Average smooth fits of log theta, weighted by their evidence.

    A Gaussian prior applies to differences of log theta between neighbours: of second and third order on a line, of
    second order on a plane. For each weight of the prior, Newton's method finds the mode. The answer is the average of
    the modes, weighted by their evidence (Laplace's approximation). The uniform distribution is one of them. On
    categories, the prior draws every probability towards the uniform one instead. Up to 500 values, fits with spikes at
    a few single values join in if the reports ask for them. A few steps of EM come last: they lead from the population
    that the prior describes to the people who reported.

    It suits distributions that are smooth on the scale of the noise, with perhaps a few heaps, and has no setting.
    :class:`MLE` may do better on isolated values; :class:`Stacked` finds out. The problem is not concave, so a mode may
    be local. The likelihood stays below its maximum on purpose; the certificate says by how much.

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
        return Solution(distribution, steps[0], Status.AVERAGED, _explain_average(fits, shares))

    def solve_many(
        self, evidence: Evidence, counts: FloatArray, *, pilot: Solution | None = None, progress: Progress | None = None
    ) -> list[Solution]:
        # Fits of the mean move to each replicate.
        if pilot is None:
            return super().solve_many(evidence, counts, progress=progress)
        mean = stored(replace(evidence, counts=counts.mean(axis=0), log_offset=0.0))
        problem, fits = fit_all(mean, lambda _outputs: None)
        rows = max(1, LIMITS.block // max(evidence.channel.shape))
        blocks = [counts[begin : begin + rows] for begin in range(0, counts.shape[0], rows)]
        populations = np.concatenate([_move(problem, fits, block) for block in blocks])
        distributions = turn_to_reporters(RowStack.over(mean, counts), populations)
        words = f"{len(fits)} priors, fitted to the mean of all replicates and moved to each of them"
        return [Solution(one, 0, Status.AVERAGED, words) for one in distributions]


def stored(evidence: Evidence) -> Evidence:
    """Return the evidence with its matrix stored, if that is faster."""
    channel: Channel = evidence.channel
    if channel.keep_and_other is not None or channel.shape[0] * channel.shape[1] > LIMITS.small_matrix:
        return evidence
    return replace(evidence, channel=Dense(channel.dense(), channel.layout))


def layout_of(evidence: Evidence) -> Layout | None:
    """Return the layout of the values; `None` if neighbours mean nothing."""
    return evidence.layout if evidence.layout is not None else evidence.channel.layout


def why_not_smooth(evidence: Evidence) -> str:
    """Return why no smooth prior can be fitted; nothing where it can."""
    # The largest under randomized response, which pushes all knots to all outputs: it takes 24 times IBU's
    # time.
    largest_answered = 3000
    size, is_ordered = evidence.channel.shape[0], layout_of(evidence) is not None
    # Without a closed form, as for several attributes, 2,000 combinations took two minutes.
    unordered = 1000 if evidence.channel.keep_and_other is None else LIMITS.unordered
    ordered = LIMITS.ordered if evidence.channel.keep_and_other is None else largest_answered
    most = ordered if is_ordered else unordered
    kind = "values" if is_ordered else "values without neighbours"
    if size > most:
        under = " under randomized response" if is_ordered and most == largest_answered else ""
        return f"it takes at most {most:,} {kind}{under}, and there are {size:,}"
    reported = int(np.count_nonzero(evidence.counts))
    # A matrix that is not square is stored up to 240 MB.
    if size * reported > 30_000_000 and not (is_ordered and size == evidence.channel.shape[1]):
        return f"{reported:,} different reports over {size:,} values do not fit"
    return ""


def fit_all(evidence: Evidence, progress: Callable[[FloatArray], None]) -> tuple[Problem, list[PriorFit]]:
    """Return the fits along all paths, after the uniform distribution."""
    from confide.solve import smooth_prior
    from confide.solve.smooth_prior import add_edges, add_spikes

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
    # The uniform distribution's prior, by how many axes the values have, and whether the mechanism blurs a value into
    # its neighbours; the others share the rest. Measured, not derived. On a line they are those with the least mean
    # error over uniform, falling, humped and spiky truths where reports hardly tell anything (`benchmarks.defaults
    # --only weak`). On a plane the others have two slopes to find, and their evidence pays for both. A mechanism that
    # does not blur, such as k-RR, lets a slope on a plane be guessed from single cells, and chance has many to choose
    # from.
    priors = {(0, False): 0.5, (1, True): 0.05, (1, False): 0.1, (2, True): 0.005, (2, False): 0.8}
    uniform = priors[0 if layout is None else len(layout.shape), evidence.channel.layout is not None]
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
    return take_steps(rows, populations, LIMITS.steps_to_reporters, normalised).theta


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


def _explain_average(fits: Sequence[PriorFit], shares: FloatArray) -> str:
    if shares[0] > 0.5:
        return f"the reports hardly speak against the uniform distribution, which is {shares[0]:.0%} of the average"
    best = fits[int(np.argmax(shares))]
    if math.isinf(best.weight):
        return f"averaged over {len(fits)} priors by their evidence; the likeliest is the uniform distribution itself"
    kind = (
        "a pull towards the uniform distribution"
        if best.order == 0
        else f"a prior on {('first', 'second', 'third')[best.order - 1]} differences"
    )
    return f"averaged over {len(fits)} priors by their evidence; the likeliest is {kind} of weight {best.weight:.2g}"


def has_many_cells(alphabet: Alphabet) -> bool:
    """Whether a plane has so many values that blocks pay."""
    return alphabet.is_finite and alphabet.size > LIMITS.many_cells


def blocks_of(evidence: Evidence) -> Blocks | None:
    """Return the blocks that solve a large plane, if any."""
    layout = evidence.channel.layout
    if layout is None or len(layout.shape) != 2 or layout.places is not None:
        return None
    if evidence.channel.shape[0] <= LIMITS.many_cells or evidence.channel.shape[0] != evidence.channel.shape[1]:
        return None
    rows, columns = layout.shape
    blocks = Blocks.of((rows, columns), LIMITS.most_blocks)
    return None if evidence.channel.in_blocks(blocks.side) is None else blocks


def solve_in_blocks(evidence: Evidence, method: Method, blocks: Blocks) -> Solution | None:
    """Solve for blocks, smooth them, then take EM steps on cells.

    What is finer than a block is told by the reports alone, as far as these few steps take it up: where noise is weak
    one step gives the reports, where it is strong there is nothing to be told.
    """
    part = evidence.in_blocks(blocks)
    if part is None:
        return None
    found = method.solve(part)
    cells = turn_to_reporters(RowStack.of(evidence), blocks.smooth(found.distribution))
    side, steps = blocks.side, LIMITS.steps_to_reporters
    words = f"solved for {blocks.count:,} blocks of {side} x {side} cells, then {steps} steps"
    return replace(found, distribution=cells, explanation=f"{found.explanation}; {words} of EM on the cells")


HIGHEST = MLE(tolerance=0.01)
"""The maximum as a candidate, to fewer nats than could be seen in the answer."""


@dataclass(frozen=True)
class Stacked(Method):
    """Mix several methods by cross-validation; the default, nothing to tune.

    The candidates are :class:`Smooth` and :class:`MLE`. On categories, and with too many values for the former,
    :class:`IBU` stopped by held-out reports joins them. Each is solved on all reports, and again without each of a few
    folds. The weights maximise the likelihood of the folds that were left out. The first candidate has a head start of
    eight nats, because the scores of good and bad answers may differ by less. ``estimate.choices`` has the weights.

    On categories no candidate assumes smoothness. The first one, called shrunk, draws every probability towards the
    uniform one and has a head start of one nat. If reports support values or sets of them, as under k-RR or unary
    encoding, the candidates are :class:`Inversion` with projection and :class:`Pooled`, which have closed forms. An
    unbiased estimate of the squared error weighs them, and nothing is held out.

    Parameters
    ----------
    folds, seed
        Number of folds for cross-validation, and the seed of the split.

    Examples
    --------
    >>> import confide as cf
    >>> ages = cf.datasets.adult_ages()
    >>> mechanism = cf.TruncatedGeometric(ages.alphabet, epsilon=0.1)
    >>> counts = mechanism.simulate_counts(ages.histogram, rng=1)
    >>> answer = cf.estimate(counts, mechanism)
    >>> [choice.name for choice in answer.choices]
    ['smooth', 'MLE']
    """

    name = "Stacked"
    full_name = "a mixture of several methods, weighed by held-out reports (Stacked)"
    climbs: ClassVar[bool] = True

    folds: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        check_count("folds", self.folds, 2)
        check_count("seed", self.seed, 0)

    def solve(self, evidence: Evidence, monitor: Monitor | None = None) -> Solution:
        # The monitor follows a candidate solved alone.
        reason, blocks = why_not_hold_out(evidence, self.folds), blocks_of(evidence)
        solved = None if blocks is None else solve_in_blocks(evidence, self, blocks)
        if solved is not None:
            return solved
        return _solve_alone(evidence, reason, monitor) if reason else self._mix([evidence])[0]

    def _mix(self, evidence: Sequence[Evidence], progress: Progress | None = None) -> list[Solution]:
        """Solve rows that share a channel, each with its own folds."""
        first = evidence[0]
        rates, is_few = first.channel.support_rates, first.channel.shape[0] <= LIMITS.unordered
        # Categories whose reports support sets of them, as under k-RR, have candidates in closed form.
        if rates is not None and rates[0] != rates[1] > 0 and is_few and layout_of(first) is None:
            return [_pool(one) for one in evidence]
        quick = stored(first)
        parts = [replace(quick, counts=one.counts, log_offset=0.0) for one in evidence]
        folds = [Folds.of(one, self.folds, self.seed) for one in parts]
        tried, remarks = _candidates(parts, folds, progress)
        left_out = tuple(Choice(name, 0.0, None, remark) for name, remark in remarks.items())
        return [_mixed(*one, left_out) for one in zip(parts, folds, tried, strict=True)]

    def solve_many(
        self, evidence: Evidence, counts: FloatArray, *, pilot: Solution | None = None, progress: Progress | None = None
    ) -> list[Solution]:
        # Most replicates borrow shares from a few.
        # To weigh them anew for each would take many times as long. Where the reports themselves could not be split
        # into folds, or there are very many values, the shares of the pilot serve all.
        if pilot is None:
            return self._solve_rows(evidence, counts, progress)
        is_fixed = math.prod(evidence.channel.shape) > LIMITS.small_matrix or why_not_hold_out(evidence, self.folds)
        # Few enough that they have 480 values together: four replicates of a hundred values, or one of Paris.
        number = min(LIMITS.weighed, max(1, 480 // evidence.channel.shape[0]))
        few = [] if is_fixed else self._solve_rows(evidence, counts[:number], None)
        weighed = [_main_shares(solution.choices) for solution in few or [pilot]]
        mixed = np.zeros((counts.shape[0], evidence.channel.shape[0]))
        for candidate in {method: None for shares in weighed for method in shares}:
            borrowed = np.array([weighed[place % len(weighed)].get(candidate, 0.0) for place in range(counts.shape[0])])
            rows = np.flatnonzero(borrowed)
            known = pilot
            if candidate is HELD_OUT:  # of EM the pilot has the number of steps that held-out reports settle
                quick = stored(evidence)
                folds = Folds.of(quick, self.folds, self.seed)
                known = replace(pilot, iterations=_held_out_steps([quick], [folds])[0])
            solved = candidate.solve_many(evidence, counts[rows], pilot=known)
            mixed[rows] += borrowed[rows, None] * np.array([one.distribution for one in solved])
        words = "shares of the candidates from a few of the replicates" if few else "shares of the estimate"
        return [Solution(one, 0, Status.HELD_OUT, words) for one in mixed]

    def _solve_rows(self, evidence: Evidence, counts: FloatArray, progress: Progress | None) -> list[Solution]:
        """Solve rows in blocks; rows too small for folds one by one."""
        parts = [replace(evidence, counts=row, log_offset=0.0) for row in counts]
        # Over many values single products are what takes the time, so that nothing is gained side by side.
        is_large = math.prod(evidence.channel.shape) > LIMITS.small_matrix
        is_alone = [is_large or bool(why_not_hold_out(one, self.folds)) for one in parts]
        solutions: dict[int, Solution] = {}

        def tell(done: int) -> None:
            if progress is not None:
                progress(len(solutions) + done)

        for place in np.flatnonzero(is_alone).tolist():
            solutions[place] = self.solve(parts[place])
            tell(0)
        together = [place for place, alone in enumerate(is_alone) if not alone]
        for begin in range(0, len(together), LIMITS.rows):
            places = together[begin : begin + LIMITS.rows]
            solutions |= zip(places, self._mix([parts[place] for place in places], tell), strict=True)
        tell(0)
        return [solutions[place] for place in range(len(parts))]


HELD_OUT = IBU(stop="held-out")
"""EM as a candidate; its folds are those of :class:`Stacked`."""

POOLED, INVERTED = Pooled(), Inversion("project")
"""The candidates on categories whose reports support sets of them, such as k-RR's."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A method's answers to all reports and without each fold.

    Attributes
    ----------
    head_start
        Nats that other candidates have to make up, if this is the first of them.
    """

    name: str
    method: Method
    distribution: FloatArray
    without_fold: FloatArray
    head_start: float = LIMITS.short_head_start


def weigh(evidence: Evidence, folds: Folds, tried: Sequence[Candidate]) -> tuple[FloatArray, FloatArray]:
    """Return the cross-validated shares, and each candidate's lead in nats.

    A mixture of candidates explains a left-out report with the mixture of their probabilities, so the shares are
    another distribution seen through another channel: values are candidates, outputs are reports in their fold. The
    head start is so many more reports, which only the first candidate explains.
    """
    judged = folds.judged * (evidence.total / folds.judged.shape[0])
    seen = judged > 0
    explained = np.array([evidence.channel.push(candidate.without_fold)[seen] for candidate in tried])
    # One report that a candidate calls impossible must not rule it out.
    explained = np.maximum(explained, 1e-300)
    scores = np.log(explained) @ judged[seen]
    scores -= scores[0]
    alone = np.zeros((len(tried), 1))
    alone[0] = 1.0
    matrix = np.hstack([explained / explained.max(axis=0), alone])
    counts = np.append(judged[seen], tried[0].head_start)
    shares, near = np.zeros(len(tried)), scores > -LIMITS.far_behind
    shares[near] = MLE(1e-3).solve(Evidence(Dense(matrix[near]), counts)).distribution
    return shares, scores


def _pool(evidence: Evidence) -> Solution:
    """Mix inversion and pooled shares by an unbiased risk estimate."""
    shares = Shares.of(evidence)
    choices = (
        Choice(POOLED.name, shares.trust, None, method=POOLED),
        Choice(INVERTED.name, 1 - shares.trust, None, method=INVERTED),
    )
    mixed = shares.trust * shares.pooled + (1 - shares.trust) * shares.projected
    words = f"{_named(choices)}; an unbiased estimate of the squared error weighs the candidates"
    return Solution(mixed, 0, Status.AVERAGED, words, choices)


def why_not_hold_out(evidence: Evidence, folds: int) -> str:
    """Return why no report can be held out, or nothing."""
    counts = evidence.counts
    if evidence.variances is None and (counts != np.floor(counts)).any():
        return "counts that are not whole cannot be split into folds"
    if evidence.total < 2 * folds:
        return f"{counted(round(evidence.total), 'report')}: too few to hold some out"
    return ""


def _mixed(evidence: Evidence, folds: Folds, tried: Sequence[Candidate], left_out: tuple[Choice, ...]) -> Solution:
    """Mix the candidates of one row."""
    shares, scores = weigh(evidence, folds, tried)
    mixed: FloatArray = shares @ np.array([candidate.distribution for candidate in tried])
    choices = tuple(
        Choice(candidate.name, float(share), float(score), method=candidate.method)
        for candidate, share, score in zip(tried, shares, scores, strict=True)
    )
    explanation = _explain(choices, left_out, tried[0].head_start)
    return Solution(mixed / float(mixed.sum()), 0, Status.HELD_OUT, explanation, choices + left_out)


def _candidates(
    evidence: Sequence[Evidence], folds: Sequence[Folds], progress: Progress | None
) -> tuple[list[list[Candidate]], dict[str, str]]:
    """Return each row's candidates, and why others are left out."""
    first = evidence[0]
    name = _name_of_smooth(first)
    reasons = {name: next(filter(None, map(why_not_smooth, evidence)), ""), HIGHEST.name: _why_not_highest(first)}
    tried: list[list[Candidate]] = [[] for _ in evidence]
    for number, (row, one, parts) in enumerate(zip(tried, evidence, folds, strict=True), start=1):
        if not reasons[name]:
            row.append(_smooth_candidate(one, parts))
        if progress is not None:
            progress(number)
    # Beside a smooth answer, EM that is stopped early was not worth its time: 235 cells were no worse without.
    is_smooth = not reasons[name] and layout_of(first) is not None
    others = [] if is_smooth else [_held_out_candidates(evidence, folds)]
    others += [] if reasons[HIGHEST.name] else [_highest_candidates(evidence, folds)]
    for row, *found in zip(tried, *others, strict=True):
        row.extend(found)
    return tried, {name: reason for name, reason in reasons.items() if reason}


def _smooth_candidate(evidence: Evidence, folds: Folds) -> Candidate:
    """Average smooth priors; refit each fold by one Newton step."""
    from confide.solve.smooth_prior import refit

    problem, fits = fit_all(evidence, lambda _outputs: None)
    shares = believe(evidence, fits)
    # Fits with less than 5 % of the smooth average are left out when folds are judged.
    kept = np.flatnonzero((shares > 0.05) | (shares == shares.max()))
    total = evidence.total * (1 - 1 / folds.learned.shape[0])
    parts = sum(shares[place] * refit(problem, fits[place], folds.learned, total) for place in kept)
    distribution = turn_to_reporters(RowStack.of(evidence), mix(fits, shares))
    head_start = LIMITS.short_head_start if layout_of(evidence) is None else LIMITS.head_start
    # New reports come from the population, not from those who have reported: the folds are judged without that turn.
    return Candidate(_name_of_smooth(evidence), Smooth(), distribution, normalised(np.asarray(parts)), head_start)


def _name_of_smooth(evidence: Evidence) -> str:
    """Return "shrunk" for categories, where nothing is smooth, else "smooth"."""
    return "shrunk" if layout_of(evidence) is None else "smooth"


def _held_out_candidates(evidence: Sequence[Evidence], folds: Sequence[Folds]) -> list[Candidate]:
    """Stop EM where it explains held-out reports best."""
    first = evidence[0]
    steps = _held_out_steps(evidence, folds)
    shares = np.array([np.vstack([one.frequencies, part.learned]) for one, part in zip(evidence, folds, strict=True)])
    rows = RowStack.of_shares(first.channel, shares.reshape(-1, shares.shape[-1]))
    theta = _after(EM(rows, uniform(first.channel.shape[0])), np.repeat(steps, shares.shape[1]))
    each = normalised(theta).reshape(*shares.shape[:2], -1)
    return [Candidate(HELD_OUT.name, HELD_OUT, one[0], one[1:]) for one in each]


def _after(em: EM, steps: Indices) -> FloatArray:
    """Return what each row is after its own number of steps."""
    theta, places = np.empty_like(em.step.theta), np.arange(steps.size)
    for step in em:
        is_done = steps[places] == step.iteration
        if is_done.any():
            theta[places[is_done]] = step.theta[is_done]
            left = np.flatnonzero(~is_done)
            if not left.size:
                break
            em.step = step.only(left)
            places = places[left]
    return theta


def _held_out_steps(evidence: Sequence[Evidence], folds: Sequence[Folds]) -> list[int]:
    channel, totals = evidence[0].channel, np.array([one.total for one in evidence])
    # Where more than 2,000 steps would help, the maximum itself, a candidate too, is not far.
    return best_numbers_of_steps(channel, uniform(channel.shape[0]), folds, totals, 2000)


def _highest_candidates(evidence: Sequence[Evidence], folds: Sequence[Folds]) -> list[Candidate]:
    """Find the maximum of the likelihood."""
    number = folds[0].learned.shape[0]
    counts = [
        np.vstack([one.counts, one.total * (1 - 1 / number) * part.learned])
        for one, part in zip(evidence, folds, strict=True)
    ]
    # Beyond 150 values the maxima of one survey and its folds are found faster one by one than side by side.
    is_large = len(evidence) == 1 and max(evidence[0].channel.shape) > 150
    solve_many = Method.solve_many if is_large else MLE.solve_many
    solved = solve_many(HIGHEST, evidence[0], np.concatenate(counts))
    found = np.array([one.distribution for one in solved]).reshape(len(evidence), number + 1, -1)
    return [Candidate(HIGHEST.name, HIGHEST, one[0], one[1:]) for one in found]


def _why_not_highest(evidence: Evidence) -> str:
    """Return why the maximum is not tried, or nothing."""
    from confide.solve.maximum import can_follow_path

    size = evidence.channel.shape[0]
    is_quick = evidence.channel.keep_and_other is not None or can_follow_path(evidence)
    # Finding the maximum once for each fold takes long for many values; not on lines, where it takes O(k).
    if size <= 20_000 or is_quick:
        return ""
    return f"finding it once a fold would take too long for {size:,} values"


def _solve_alone(evidence: Evidence, reason: str, monitor: Monitor | None) -> Solution:
    """Solve by the one candidate that needs no folds."""
    smooth, unfit = _name_of_smooth(evidence), why_not_smooth(evidence)
    found = (MLE() if unfit else Smooth()).solve(evidence, monitor)
    name, method, other = (HIGHEST.name, HIGHEST, smooth) if unfit else (smooth, Smooth(), HIGHEST.name)
    choices = (Choice(name, 1.0, None, method=method), Choice(other, 0.0, None, unfit or reason))
    remark = f"; {smooth} was not tried: {unfit}" if unfit else ""
    explanation = f"{name} alone, for {reason}{remark}; {found.explanation}"
    return Solution(found.distribution, found.iterations, found.status, explanation, choices)


def _main_shares(choices: Sequence[Choice]) -> dict[Method, float]:
    """Return the main candidates with renormalized shares."""
    # Candidates with less than 2 % are left out for replicates; the others stand for them.
    main = {choice.method: choice.share for choice in choices if choice.method and choice.share >= 0.02}
    return {method: share / sum(main.values()) for method, share in main.items()}


def _explain(tried: Sequence[Choice], left_out: Sequence[Choice], head_start: float) -> str:
    start = f"a head start of {head_start:.2g} nat{'' if head_start == 1 else 's'}"
    rule = f"held-out reports weigh the candidates, and {tried[0].name} has {start}"
    return "; ".join([_named(tried), rule, *(f"{choice.name} was not tried: {choice.remark}" for choice in left_out)])


def _named(tried: Sequence[Choice]) -> str:
    # The sentence leaves out shares below half a percent.
    named = sorted((choice for choice in tried if choice.share >= 0.005), key=lambda choice: -choice.share)
    return " and ".join(f"{choice.share:.0%} {choice.name}" for choice in named)
