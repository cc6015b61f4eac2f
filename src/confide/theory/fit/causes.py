"""Likely causes of a bad fit, and the power of the test against them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from confide.alphabets import LineGeometry
from confide.channels import Channel, ColumnStack, Dense
from confide.channels.base import FloatArray
from confide.theory.fit.answers import ENOUGH, LEVEL, Outlier, Sight
from confide.theory.fit.cells import LARGEST_TESTED
from confide.theory.fit.tables import WEIGHTS, Look, Tables, bounds_of, solve

BOTS, HONEST, TWICE = 0.01, 0.05, 0.05
"""The share of bots at one value that a survey must be able to see to be called tested; and what it mostly cannot see:
a share of devices that send the truth, and one of reports that came twice."""

FACTORS_TRIED = (1.2, 0.8)
"""Multiples of epsilon whose power is computed."""

HIDDEN = 0.5
"""The power below which such a fault is said not to show."""

DRAWN = 39
"""Surveys with a larger epsilon that are drawn for the power against it."""

STANDS_OUT = 3.0
"""The residual from which on an output is named in a bad fit."""

SMOOTH_STEPS = 400
"""Steps of EM from uniform, which give a plausible population; the maximum itself is a few spikes, whose reports tell
more than those of any real one. Ages, geometric 0.05: 5 % of devices that send the truth would show if the maximum were
the truth, and do not in fact."""

FINEST = 0.02
"""Epsilon is named within so much of itself."""

FACTORS = (1.05, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 16.0)
"""Multiples of epsilon, or parts of it, at which a bad fit is tried again."""

ROUNDED = 0.95
"""The share of multiples of 2, 5 or 10 from which on reports were rounded: noise leaves about a half at most."""

FEWEST_ROUND = 4
"""Unlike reports from which on all of them being round is rounding."""

NEARLY_NONE = 8.0
"""Multiples of epsilon from which on nearly no noise is left."""

AT_EASE = 0.3
"""The p-value from which on another epsilon is taken to fit; the first that is not rejected would be too near."""


def outliers_of(tables: Tables, look: Look, most: int = 3) -> tuple[Outlier, ...]:
    """Return the cells with the largest residuals, the worst first."""
    worst = np.argsort(-np.abs(look.residuals))[:most].tolist()
    loud = [cell for cell in worst if abs(look.residuals[cell]) > STANDS_OUT]
    return tuple(Outlier(tables.label(cell), float(look.counts[cell]), float(look.expected[cell])) for cell in loud)


def causes_of(tables: Tables, look: Look) -> tuple[str, ...]:
    """Return likely causes of a bad fit, each one tried."""
    repeated = repetition_of(tables)
    if repeated is not None and look.p_value >= repeated[0]:  # what else is odd comes of it
        return (repeated[1],)
    found = tuple(_rounding(tables)) or (*_clipping(tables, look), *_bots_or_losses(tables, look))
    found = found or tuple(_other_epsilon(tables, look))
    if found:
        return found if repeated is None else (repeated[1], *found)
    return ("Likely causes: another mechanism, another alphabet, or reports that were changed after the blur.",)


def repetition_of(tables: Tables) -> tuple[float, str] | None:
    """Look for counts that are all multiples of one number: reports that were uploaded several times."""
    # Not of cells: under weak randomized response a few of them have all the reports, and few counts prove nothing.
    counts = np.concatenate([part.per_output for part in tables.parts])
    counts = counts[counts > 0]
    # Two or three counts that people typed are often round, and say nothing of an upload.
    if counts.size < 5 or (counts != np.floor(counts)).any():
        return None
    times = int(np.gcd.reduce(counts.astype(np.int64)))
    chance = float(times) ** -float(counts.size)
    if times == 1 or chance > 1e-6:
        return None
    return chance, f"A likely cause is a repeated upload, or rounding: every count is a multiple of {times}."


def sights_of(tables: Tables, look: Look, rows: FloatArray, seed: int) -> list[Sight]:
    """Compute the power of the test against bots, and name the other faults that would not show.

    Counts without noise from each alternative are explained as well as can be; what is left of G2 is its noncentrality.
    That another fault would have shown is never said. The people are known from these reports alone, which may have the
    fault already: reports at 1.2 times the epsilon make people look sharper, and sharper people make it more visible.
    """
    population = _smooth(tables)
    usual = tables.people * tables.channel.push(population)
    ladder = np.cumsum(usual)
    ordinary = np.searchsorted(ladder, np.array([0.2, 0.5, 0.8]) * ladder[-1]).tolist()
    # Where noise piles up, at the ends of a line and in the corners of a map, people and bots look alike.
    ends = {
        place for start, end, _ in tables.spans for place in (start, end - 1, start + int(usual[start:end].argmax()))
    }
    places = [*ordinary, *sorted(ends - set(ordinary))]
    counts = [_with_bots(tables, usual, place) for place in places]
    if all(part.counts.size == population.size for part in tables.parts):
        counts.append((1 - HONEST) * usual + HONEST * np.tile(population, len(tables.parts)) * tables.people)
    powers = [_power(one, look) for one in tables.looks(np.array(counts))]
    others = _powers_of_factors(tables, look, rows, seed)
    others[f"{TWICE:.0%} of reports that came twice"] = _power_of_twice(look.degrees)
    for power in powers[len(places) :]:
        others[f"{HONEST:.0%} of devices that send the truth"] = power
    hidden = [Sight(name, power, is_needed=False) for name, power in others.items() if power < HIDDEN]
    return _sights_of_bots(tables, dict(zip(places, powers, strict=False)), ordinary) + hidden


def _powers_of_factors(tables: Tables, look: Look, rows: FloatArray, seed: int) -> dict[str, float]:
    """Return the power against devices at other epsilons, at most: their people are as sharp as the maximum.

    The score depends on how many values explain the reports; without noise any number do, so that surveys are drawn.
    """
    powers, generator = {}, tables.generator(seed)
    for factor in FACTORS_TRIED:
        changed = channel_at(tables, factor)
        if changed is not None:
            expected = tables.people * changed.push(look.theta)
            # Reports through more noise can mostly be had from other people: then none are worth drawing.
            number = DRAWN if factor > 1 else 0
            first, *drawn = tables.looks(np.vstack([expected, tables.replicates(expected, number, generator)]))
            powers[f"devices at {factor:g} times the epsilon"] = max(_power(first, look), _share_seen(drawn, rows))
    return powers


def _power_of_twice(degrees: float) -> float:
    """Return the power against reports that came twice: they add to the spread of every count, whoever the people are.

    >>> round(_power_of_twice(60), 2)
    0.13
    """
    from scipy.special import chdtrc, chdtri

    # A report that came twice adds 4 to the variance of a count and 2 to its mean, any other 1 to both.
    cut = float(chdtri(degrees, LEVEL)) * (1 + TWICE) / (1 + 3 * TWICE)
    return float(chdtrc(degrees, cut)) if degrees >= 1 else 0.0


def _sights_of_bots(tables: Tables, powers: dict[int, float], ordinary: list[int]) -> list[Sight]:
    """Tell the power against bots at ordinary values and, where these show, at the outputs where noise piles up."""
    sights = [Sight(f"{BOTS:.0%} of bots at one value", min(powers[place] for place in ordinary))]
    if sights[0].is_seen:
        tried = {place: power for place, power in powers.items() if place not in ordinary}
        hidden = sorted(one for one, power in tried.items() if power < ENOUGH)
        if hidden:
            named = " or ".join(tables.label(one) for one in hidden)
            sights = [
                replace(sights[0], alternative=f"{BOTS:.0%} of bots at most values"),
                Sight(f"{BOTS:.0%} of bots at {named}", min(tried[one] for one in hidden), is_needed=False),
            ]
    return sights


def _with_bots(tables: Tables, usual: FloatArray, place: int) -> FloatArray:
    """Return the usual counts with some of the reports of one part moved to one cell."""
    start, end = tables.part_of(place)
    counts = usual.copy()
    counts[start:end] *= 1 - BOTS
    counts[place] += BOTS * tables.people[place]
    return counts


def channel_at(tables: Tables, factor: float) -> Channel | None:
    """Return the channel at so many times every epsilon; None where a mechanism has none."""
    channels = tuple(part.layout.at(factor) for part in tables.parts)
    known = tuple(one for one in channels if one is not None)
    if len(known) < len(channels):
        return None
    return known[0] if len(known) == 1 else ColumnStack(known)


def _smooth(tables: Tables) -> FloatArray:
    """Return a plausible population: EM, stopped early."""
    channel, size = tables.channel, tables.channel.shape[0]
    # Merged channels may have many more outputs than cells, and are then neither stored nor walked through for long.
    is_small = size * max(part.cells.size for part in tables.parts) <= LARGEST_TESTED
    if is_small:
        channel = Dense(channel.dense())
    theta, shares = np.full(size, 1.0 / size), tables.counts / tables.counts.sum()
    for _ in range(SMOOTH_STEPS if is_small else SMOOTH_STEPS // 10):
        theta = theta * channel.pull(shares / np.maximum(channel.push(theta), 1e-300))
        theta = np.maximum(theta, 0.0) / theta.sum()
    return theta


def _power(found: Look, null: Look) -> float:
    """Return about how often an alternative shows, from its counts without noise."""
    from scipy.special import ndtr

    if null.degrees < 1:
        return 0.0
    by_ratio = noncentral_power(LEVEL * WEIGHTS[0], null.degrees, found.statistic)
    # The largest of a hundred to a thousand residuals is below 4.2 in 99 surveys of 100.
    return max(by_ratio, float(ndtr(np.abs(found.residuals).max() - 4.2)))


def _share_seen(found: Sequence[Look], rows: FloatArray) -> float:
    """Return how many of a few surveys, all with the same fault, are beyond 95 of 100 replicates."""
    if rows.shape[0] == 0 or not found:
        return sum(one.p_value <= LEVEL for one in found) / max(1, len(found))
    bounds = bounds_of(np.array([one.row for one in found]), rows)
    return float(np.mean(bounds < np.quantile(bounds_of(rows, rows), LEVEL)))


def noncentral_power(level: float, degrees: float, noncentrality: float) -> float:
    """Return the power of a chi-squared test.

    >>> round(noncentral_power(0.05, 1, 7.849), 3)
    0.8
    """
    from scipy.special import chdtri, chndtr

    return 1 - float(chndtr(chdtri(degrees, level), degrees, noncentrality))


def _bots_or_losses(tables: Tables, look: Look) -> Iterable[str]:
    """Name one output that makes up a good part of what is odd: too often, or too rarely."""
    excess = max(look.statistic - look.degrees, 1.0)
    # A larger epsilon leaves too few reports at both ends of a line, so that losses must explain nearly all.
    for worst, sign, part in ((int(np.argmax(look.residuals)), 1, 0.3), (int(np.argmin(look.residuals)), -1, 0.7)):
        if sign * look.residuals[worst] > 5 and look.deviances[worst] > part * excess:
            name = tables.label(worst)
            often = f"A likely cause is bots, or a broken device, that send {name} again and again."
            yield often if sign > 0 else f"A likely cause is lost reports: many that say {name} are missing."


def _rounding(tables: Tables) -> Iterable[str]:
    """Name reports that are nearly all multiples of one number."""
    for part in tables.parts:
        outputs = part.mechanism.report_alphabet
        # One value again and again may be round by chance, and is no rounding.
        is_varied = np.count_nonzero(part.counts) >= FEWEST_ROUND
        if isinstance(outputs.geometry, LineGeometry) and is_varied and not part.layout.is_merged:
            values = np.arange(outputs.size) + outputs.span[0]
            for step in (10, 5, 2):
                multiples = part.counts[values % step == 0].sum()
                if outputs.size > 2 * step and multiples > ROUNDED * part.total:
                    share = f"{multiples / part.total:.0%} of the reports"
                    yield f"{share} are multiples of {step}: a likely cause is rounding."
                    break


def _clipping(tables: Tables, look: Look) -> Iterable[str]:
    """Name reports that end where the outputs go on."""
    for start, end, part in tables.spans:
        if not isinstance(part.mechanism.report_alphabet.geometry, LineGeometry):
            continue
        seen, expected = np.flatnonzero(part.counts), look.expected[start:end]
        if seen.size <= 3:
            continue
        for edge, beyond, side in (
            (seen[0], slice(0, seen[0]), "below"),
            (seen[-1], slice(seen[-1] + 1, None), "above"),
        ):
            missing = float(expected[beyond].sum())
            if missing > 20 and look.residuals[start + edge] > STANDS_OUT:
                # What is clipped piles up at the edge; what is filtered out does not.
                is_piled = part.counts[edge] - expected[edge] > missing / 2
                cause = "devices that clip what they report" if is_piled else "reports that were filtered out"
                yield (
                    f"No report lies {side} {part.layout.label(edge)}, where {missing:,.0f} are expected: "
                    f"a likely cause is {cause}."
                )


def _other_epsilon(tables: Tables, look: Look) -> Iterable[str]:
    """Name the epsilon nearest to the stated one at which the reports fit.

    Not the one of greatest likelihood: reports through more noise can often be had through less, from other people, so
    that the likelihood rises with epsilon without end.
    """
    upwards = look.scores.size == 0 or float(look.scores.sum()) > 0
    factors = [1.0, *(one if upwards else 1 / one for one in FACTORS)]
    chances = [look.p_value]
    while len(chances) < len(factors) and chances[-1] < AT_EASE:
        channel = channel_at(tables, factors[len(chances)])
        if channel is None:
            return
        chances.append(_chance_at(tables, channel))
    # At many times the epsilon nearly anything fits, for hardly any noise is left that could speak against it.
    if factors[len(chances) - 1] >= NEARLY_NONE:
        yield (
            "Likely causes: devices that hardly blur, or not at all; reports that were lost or came more than once; or "
            "another mechanism altogether."
        )
    if chances[-1] < AT_EASE or factors[len(chances) - 1] >= NEARLY_NONE:
        return
    right = _between(tables, factors[len(chances) - 2], factors[len(chances) - 1])
    epsilon = getattr(tables.parts[0].mechanism, "epsilon", math.nan)
    if tables.has_floors_alone:  # with a larger epsilon any output may be as rare as one likes
        found = f"at about {epsilon * right:.2g}, not {epsilon:g}, they fit"
        yield f"Likely causes: lost reports, or another epsilon; {found}."
    elif len(tables.parts) > 1:
        yield f"A likely cause is another epsilon: they look made at about {right:.2g} times the stated ones."
    else:
        yield f"A likely cause is another epsilon: they look made at about {epsilon * right:.2g}, not {epsilon:g}."


def _between(tables: Tables, wrong: float, right: float) -> float:
    """Return the multiple of epsilon, between one that does not fit and one that does, from which on they fit."""
    while abs(math.log(right / wrong)) > FINEST:
        middle = math.sqrt(wrong * right)
        channel = channel_at(tables, middle)
        is_well = channel is not None and _chance_at(tables, channel) >= AT_EASE
        wrong, right = (wrong, middle) if is_well else (middle, right)
    return right


def _chance_at(tables: Tables, channel: Channel) -> float:
    return Look(tables, tables.counts, solve(channel, tables.counts), channel).p_value
