"""Summary of change over time: a line, and its changes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from confide.data.files import GroupAnswers, SurveyGroups
from confide.estimates.changes import Series, name_wave
from confide.estimates.inference import Interval
from confide.present import summary as say
from confide.present.figures.certainty import draw_waves
from confide.present.groups import summarise_groups
from confide.present.summary import Cell, Line, Listing, Note, Part, Picture, Row, Section, Spark, Summary
from confide.values.wording import counted


def summarise_series(
    groups: SurveyGroups,
    answers: GroupAnswers,
    found: Sequence[Series],
    *,
    rows: str = "",
    promised: Sequence[Line] = (),
    is_page: bool = False,
) -> Summary:
    """Return all that answers over time say."""
    base = summarise_groups(groups, answers, rows=rows, promised=promised, is_page=is_page)
    main = found[0]
    sections = [_section(one, is_page=is_page) for one in found]
    # A line takes the place of what lists waves as if they had no order.
    others = [one for one in base.sections if one.kind != "hero"] if is_page else []
    return replace(
        base,
        title=groups.survey.title,
        about=[*base.about[:-1], counted(len(groups), main.by)],
        headline=say_change(main),
        answers=[line for one in found for line in _lines(one)],
        sections=[*sections, *others],
        details=[*(one for one in base.details if one[0] != "Differences"), *explain_changes(main)],
    )


def say_change(series: Series) -> str:
    """Return whether there was any change, in a sentence.

    >>> import confide as cf
    >>> mechanism = cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=3.0)
    >>> weeks = {week: cf.tally(["yes", "no"], [yes, 5000 - yes]) for week, yes in (("W1", 2500), ("W2", 2950))}
    >>> print(say_change(cf.estimate_groups(weeks, mechanism).series("answer == yes")))
    About 50.0% have answer yes in W1, 59.9% in W2: a change (p < 0.001).
    """
    (first, start), *_, (last, end) = series.answers.items()
    asked, test = series.question, series.test
    what = asked if series.is_unbiased else "the distribution"
    if not test.is_seen:
        return f"No change of {what} is seen over {counted(len(series.answers), series.by)} ({test.shown})."
    then, now, people = say.texts(start)[0], say.texts(end)[0], say.people_in(asked) if start.is_share else ""
    opening = f"About {then} {people}" if people else f"{asked[:1].upper()}{asked[1:]} {then}"
    told = f"{opening} in {name_wave(first)}, {now} in {name_wave(last)}"
    return (
        f"{told}: a change ({test.shown})."
        if series.is_unbiased
        else f"{told}. The distribution changed ({test.shown})."
    )


def show_step(change: Interval) -> tuple[str, str]:
    """Return a change and its interval, shares in points.

    >>> show_step(Interval("", 0.0994, 0.0779, 0.1209, 0.95, ""))
    ('+9.9 points', '+7.8 to +12.1')
    >>> show_step(Interval("", -1.25, -2.0, 0.5, 0.95, "", is_share=False))
    ('-1.25', '-2.00 to +0.50')
    """
    numbers = (change.estimate, change.low, change.high)
    if change.width < 1e-9:  # nobody's report changed
        return ("0 points" if change.is_share else "0"), "no report changed"
    if change.is_share:
        decimals = say.digits(change.width)
        now, low, high = (f"{100 * one:+.{decimals}f}" for one in numbers)
        return f"{now} points", f"{low} to {high}"
    decimals = min(9, max(0, 2 - math.floor(math.log10(change.width))))
    now, low, high = (f"{one:+,.{decimals}f}" for one in numbers)
    return now, f"{low} to {high}"


def _lines(series: Series) -> list[tuple[str, str, str]]:
    """Return the change from first to last, and the largest step."""
    waves, level = series.waves, say.confidence(series.overall)
    now, ends = show_step(series.overall)
    asked, waves_named = series.question, f"{name_wave(waves[0])} to {name_wave(waves[-1])}"
    found = [(f"Change of {asked}, {waves_named}", now, f"{level}: {ends}")]
    if len(waves) > 2:
        place = max(range(len(waves) - 1), key=lambda at: abs(series.steps[at].estimate))
        now, ends = show_step(series.steps[place])
        step = f"{name_wave(waves[place])} to {name_wave(waves[place + 1])}"
        found.append((f"Largest step of {asked}, {step}", now, f"{level}: {ends}"))
    return found


def _section(series: Series, *, is_page: bool) -> Section:
    """Return the line, and a table of waves."""
    parts: list[Part] = [_picture(series)] if is_page else [Spark([one.estimate for one in series.answers.values()])]
    parts.append(_table(series))
    if series.remark:
        parts.append(Note(series.remark))
    (first, start), *_, (last, end) = series.answers.items()
    said = f"{say.texts(start)[0]} in {name_wave(first)}, {say.texts(end)[0]} in {name_wave(last)}"
    heading = f"{series.question[:1].upper()}{series.question[1:]} by {series.by}"
    return Section(f"{heading}: {said}" if is_page else heading, parts, "hero" if is_page else "")


def _picture(series: Series) -> Picture:
    found = {name_wave(key): one for key, one in series.answers.items()}
    told = "; ".join(f"{label}: {say.texts(one)[0]}" for label, one in found.items())
    level = say.confidence(next(iter(found.values())))
    caption = f"The band is the interval of each {series.by} ({level}), each on its own."
    return Picture(partial(draw_waves, found), f"{series.question} by {series.by}. {told}.", caption)


def _table(series: Series) -> Listing:
    # Waves that stand in a table of a terminal: the last ones.
    most_waves = 100
    rows: list[Row] = []
    for place, (key, one) in enumerate(series.answers.items()):
        now, ends = say.texts(one)
        cells = [Cell(say.NONE), Cell(say.NONE)]
        if place:
            steps = (series.steps[place - 1], series.change(series.waves[0], key))
            cells = [
                Cell(step, f"({around})", is_strong=not change.contains(0.0))
                for change, (step, around) in zip(steps, map(show_step, steps), strict=True)
            ]
        rows.append([name_wave(key), f"{series.groups.reports[key]:,.10g}", Cell(now, f"({ends})"), *cells])
    headings = [series.by, "reports", series.question, "from the one before", "from the first"]
    rest = f"The first {most_waves} of {len(rows):,}; --show all shows all."
    return Listing(headings, rows, (0,), "stacked", most=most_waves, rest=rest)


def explain_changes(series: Series) -> list[Line]:
    """Return what changes and their test rest on."""
    test = series.test
    degrees = f", chi-squared {test.statistic:.4g} on {test.degrees} degrees of freedom" if test.degrees else ""
    return [
        ("Changes", f"{say.confidence(series.overall)} each: {series.rests_on}"),
        ("Any change", f"{test.shown}: tests whether {test.hypothesis}{degrees}"),
    ]
