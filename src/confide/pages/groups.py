"""Page of an estimate for each group, as small multiples."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import confide
from confide.explanations import WHEN_GROUPS_ARE_NOT_IDENTIFIED
from confide.figures import Panel, Role, style
from confide.figures.palette import colors_of
from confide.files import GroupAnswers, Key, SurveyGroups, as_shown, csv_text, label_group, shown_order
from confide.groups import GroupReports
from confide.intervals import Interval, percent
from confide.pages.markup import (
    answer_list,
    bullets,
    callout,
    document,
    ends_beside,
    fact_list,
    introduce_reports,
    mark_simulated,
    note,
    pair,
    paragraph,
    provenance,
    remark_open,
    section,
    state_promise,
    swatch,
    table,
    text,
    warn_not_identified,
)
from confide.pages.pictures import arrange
from confide.wording import counted, listed

# Groups that have a picture, and that stand in the table: the largest ones.
MOST_PANELS, MOST_ROWS = 24, 1000
# Groups that are named where they differ, and the width of a drawn interval.
MOST_NAMED, MOST_LEADING, WIDTH = 10, 3, 120
HOW_DIFFERENT = (
    "Each group's reports were compared with those of all others, which needs no estimate: where people are alike, "
    "their reports can be swapped. Of the groups named as different at most 5 in 100 are not, on average "
    "(Benjamini and Hochberg). Where no difference was seen there may still be one, too small for so many reports."
)


def groups_page(groups: SurveyGroups, answers: GroupAnswers | None = None) -> str:
    """Return one self-contained HTML document: what each group answers, which differ, and pictures of the largest.

    >>> import confide as cf
    >>> survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0), "answer", "A question")
    >>> counts = {("Oslo",): cf.tally(["yes", "no"], [60, 40]), ("Rome",): cf.tally(["yes", "no"], [30, 70])}
    >>> found = cf.estimate_groups(counts, survey.mechanism, cf.IBU())
    >>> page = groups_page(SurveyGroups(found.estimates, survey, ("town",)))
    >>> page.splitlines()[0]
    '<!DOCTYPE html>'
    """
    survey, answers = groups.survey, answers or GroupAnswers()
    parts = (
        mark_simulated(groups.origin),
        _untold(groups),
        _poor_fit(groups),
        _not_identified(groups),
        answer_list(_leading(groups, answers)),
        _numbers(groups, answers),
        _pictures(groups, answers),
        pair(
            section("In words", paragraph(_summary(groups))) + _differences(groups),
            state_promise(survey, groups.origin, groups.files),
        ),
    )
    return document(
        title=text(f"{survey.title}, by {' and '.join(groups.by)}"),
        facts=_facts(groups),
        body="\n".join(parts),
        footer=_provenance(groups),
    )


def _untold(groups: SurveyGroups) -> str:
    """Say once for all groups which of them cannot be told from a uniform population."""
    heading = "Some of these reports say next to nothing"
    return callout(heading, groups.describe_untold(label_group)) if groups.untold else ""


def _poor_fit(groups: SurveyGroups) -> str:
    """Say once for all groups which of them do not fit."""
    return callout("These reports do not fit the survey", groups.fits.headline) if groups.fits.is_bad else ""


def _not_identified(groups: SurveyGroups) -> str:
    """Say once for all groups, and of how many, that an answer is one of many."""
    some, every = groups.least_identified, len(groups)
    heading = f"Not identified in {'all' if some == every else f'{some:,} of'} {every:,} groups"
    return warn_not_identified(groups.identification, heading, WHEN_GROUPS_ARE_NOT_IDENTIFIED)


def _summary(groups: SurveyGroups) -> str:
    method = groups.first.method
    reports = f"{groups.total:,.10g} reports of {len(groups):,} groups"
    return (
        f"{introduce_reports(groups.survey, reports, groups.origin)} From these alone, {method.name} recovered how the "
        f"true values are distributed in each group."
    )


def _facts(groups: SurveyGroups) -> str:
    sizes = sorted(groups.reports.values())
    facts = {
        "Groups": f"{len(sizes):,}",
        "Reports": f"{groups.total:,.10g}",
        "Smallest group": _reports(sizes[0]),
        "Largest group": _reports(sizes[-1]),
        "Noise": groups.origin.in_short,
        "Differ": "nothing to compare"
        if len(sizes) < 2
        else f"{len(groups.differences.different):,} of {len(sizes):,}",
        "Told from uniform": f"{len(sizes) - len(groups.untold):,} of {len(sizes):,}",
        "Fit": "not all groups" if groups.fits.bad else str(groups.fits.together.verdict),
    }
    return fact_list(facts)


def _leading(groups: SurveyGroups, answers: GroupAnswers) -> list[tuple[str, str, str]]:
    """Return what the page begins with: how many groups differ, and the ends of what is asked."""
    if len(groups) < 2:
        return []
    different = [label_group(key) for key in shown_order(groups.differences.different)]
    named = "no difference was seen"
    if different:
        some = f"{different[0]} and {counted(len(different) - 1, 'other')}"
        named = listed(different) if len(different) <= MOST_LEADING else some
    leading = [("Groups that differ from the others", f"{len(different):,} of {len(groups):,}", named)]
    if answers.main is None:
        return leading
    told = {key: one for key, one in answers.questions[answers.main].items() if key not in set(groups.seen.too_small)}
    for words, choose in (("Highest", max), ("Lowest", min)) if told else ():
        key = choose(told, key=lambda one: told[one].estimate)
        now, low, high = told[key].texts(1)
        asked = f"{words} {answers.main}, at {percent(told[key].level)}"
        leading.append((asked, now, f"{label_group(key)}, {low} to {high}"))
    return leading


def _reports(number: float) -> str:
    return f"{number:,.10g} report{'' if number == 1 else 's'}"


def _differences(groups: SurveyGroups) -> str:
    """Say how many groups differ from the others, which, and what that rests on."""
    found = groups.differences
    if len(groups) < 2:
        return ""
    if not found.different:
        first = f"No difference was seen: none of the {len(groups):,} groups differs from the others beyond chance."
        return section("Do the groups differ?", paragraph(first), note(HOW_DIFFERENT))
    if len(groups) == 2:  # one against the other is the same test as the other against the one
        one = max(found.different, key=lambda key: found[key].scores[0] if found[key].scores.size else 0.0)
        other = next(key for key in groups if key != one)
        how = groups.describe_difference(one).removeprefix("differs from the others: ")
        said = f"The two groups differ. Compared with {label_group(other)}, {label_group(one)} is: {how}."
        return section("Do the groups differ?", paragraph(said), note(HOW_DIFFERENT))
    shown = shown_order(found.different, MOST_NAMED)
    named = [f"{label_group(key)} {groups.describe_difference(key)}." for key in shown]
    more = len(found.different) - len(named)
    if more:
        named.append(f"And {counted(more, 'more group')}; the table has all of them.")
    verb = "differs" if len(found.different) == 1 else "differ"
    said = f"{counted(len(found.different), 'group')} of {len(groups):,} {verb} from the others:"
    return section("Do the groups differ?", paragraph(said), bullets(named), note(HOW_DIFFERENT))


def _pictures(groups: SurveyGroups, answers: GroupAnswers) -> str:
    is_all = len(groups) <= MOST_PANELS
    shown = list(groups) if is_all else shown_order(groups.largest, MOST_PANELS)
    if not groups.survey.alphabet.is_finite:  # each group has likely values of its own
        return ""
    overall = groups.overall
    has_reference = bool((overall >= 0).all())
    panels = [
        Panel(
            label_group(key),
            groups[key].distribution,
            _reports(groups.reports[key]),
            overall if has_reference else None,
            color=colors_of([groups.first.method.name])[0],
            reference_role=Role.ESTIMATE,
            band=(answers.bands[key].low, answers.bands[key].high) if key in answers.bands else None,
        )
        for key in shown
    ]
    few = [] if is_all else [note(f"The {len(shown)} largest of {len(groups):,} groups.")]
    drawn = arrange(groups.survey.alphabet, panels, groups.survey.name)
    legend = f"<p>{swatch(style.TRUTH)}The grey behind each group is all groups together.</p>" if has_reference else ""
    return section("The distribution in each group", *few, legend if "<svg" in drawn else "", drawn)


def _numbers(groups: SurveyGroups, answers: GroupAnswers) -> str:
    """Return a table of the groups, those that differ first, with intervals drawn on one scale."""
    first, *others = _question_names(answers)
    names = [*groups.by, "Reports", first, "Against the others", *others, "Fit"]
    forest = _Forest.over(groups, answers)
    rows = [_row(groups, answers, forest, key) for key in shown_order(groups.ranked, MOST_ROWS)]
    words = (*range(len(groups.by)), len(groups.by) + 2, len(names) - 1)
    remarks = [paragraph(_scale_words(answers, forest))] if forest else []
    if len(groups) > MOST_ROWS:
        remarks.append(note(f"{MOST_ROWS:,} of {len(groups):,} groups: those that differ, then the largest."))
    remarks.append(remark_open(groups.identification))
    return section(
        "The groups side by side",
        *remarks,
        table(names, rows, words=words, kind="stacked"),
        note(_level_words(answers)) if forest else "",
        _download(groups, answers, shown_order(groups.ranked)),
        kind="hero",
    )


def _question_names(answers: GroupAnswers) -> list[str]:
    """Return the heading of each question's column, the main one first."""
    if answers.main is None:
        return ["Most likely, and its share"]
    return [question[:1].upper() + question[1:] for question in answers.ordered]


def _row(groups: SurveyGroups, answers: GroupAnswers, forest: _Forest | None, key: Key) -> list[str]:
    first, *others = _cells(groups, answers, forest, key)
    differs = groups.describe_difference(key).split(";")[0].replace("differs from the others", "differs")
    differs += "" if groups[key].is_told else "; cannot be told from uniform"
    is_different, fit = groups.differences[key].is_different, groups.fits.groups[key]
    return [
        *(text(part or "(none)") for part in key),
        text(f"{groups.reports[key]:,.10g}"),
        first,
        f"<strong>{text(differs)}</strong>" if is_different else text(differs),
        *others,
        f"<strong>{text(fit.verdict)}</strong>" if fit.is_bad else text(fit.verdict),
    ]


def _cells(groups: SurveyGroups, answers: GroupAnswers, forest: _Forest | None, key: Key) -> list[str]:
    """Return an answer with its interval for each question; without questions, the likeliest value and its share."""
    if answers.main is None:
        one = groups[key]
        place = int(one.distribution.argmax())
        label = one.alphabet.labels([place])[0]
        return [f"{text(label)} {ends_beside(f'{one.distribution[place]:.1%}')}"]
    cells = []
    for question in answers.ordered:
        found = answers.questions[question][key]
        drawn = forest.draw(found) if forest is not None and question == answers.main else ""
        now, low, high = found.texts(1)
        cells.append(f"{drawn}{text(now)} {ends_beside(f'{low} to {high}')}")
    return cells


def in_words(found: Interval, number: float) -> str:
    """Return an answer as people write it: a share in percent, a value with its digits."""
    return f"{number:.1%}" if found.is_share else f"{number:.4g}"


@dataclass(frozen=True)
class _Forest:
    """The scale on which the intervals of one question are drawn, one a row, and the answer of all groups together."""

    low: float
    high: float
    overall: float

    @classmethod
    def over(cls, groups: SurveyGroups, answers: GroupAnswers) -> _Forest | None:
        """Span the intervals of the main question, but of groups that are too small to say anything."""
        if answers.main is None:
            return None
        found, small = answers.questions[answers.main], set(groups.seen.too_small)
        told = [one for key, one in found.items() if key not in small] or list(found.values())
        low, high = min(one.low for one in told), max(one.high for one in told)
        overall = sum(groups.reports[key] * one.estimate for key, one in found.items()) / groups.total
        return cls(low, high, overall) if high > low else None

    def draw(self, found: Interval) -> str:
        """Return an interval as a bar with a mark, beside the line of all groups together; words stand next to it."""
        low, mark, high, line = (self._place(one) for one in (found.low, found.estimate, found.high, self.overall))
        parts = (
            f'<line x1="{line}" x2="{line}" y1="0" y2="16" class="all"/>',
            f'<line x1="{low}" x2="{high}" y1="8" y2="8" class="ends"/><circle cx="{mark}" cy="8" r="3.5"/>',
        )
        return f'<svg class="forest" viewBox="-4 0 {WIDTH + 8} 16" aria-hidden="true">{"".join(parts)}</svg>'

    def _place(self, number: float) -> str:
        part = (number - self.low) / (self.high - self.low)
        return f"{WIDTH * min(max(part, 0.0), 1.0):.1f}"


def _scale_words(answers: GroupAnswers, forest: _Forest | None) -> str:
    if forest is None or answers.main is None:
        return ""
    some = next(iter(answers.questions[answers.main].values()))
    ends = f"{in_words(some, forest.low)} to {in_words(some, forest.high)}"
    return (
        f"The bars show {answers.main} of each group on one scale, from {ends}; the thin line is that of all groups "
        f"together, {in_words(some, forest.overall)}."
    )


def _level_words(answers: GroupAnswers) -> str:
    """Say once what the intervals of all groups rest on."""
    if answers.main is None:
        return ""
    some = next(iter(answers.questions[answers.main].values()))
    return f"Intervals hold the truth of {percent(some.level)} of groups like these. They rest on {some.rests_on}."


def _download(groups: SurveyGroups, answers: GroupAnswers, order: list[Key]) -> str:
    """Return a link that holds the numbers of all groups as CSV, for a table that shows them all or not."""
    asked = [column for name in answers.questions for column in (name, f"{name} low", f"{name} high")]
    header = [*groups.by, "reports", *asked, "differs", "p_value", "uniform", "fit"]
    rows = (
        (
            *map(as_shown, key),
            f"{groups.reports[key]:.17g}",
            *(number for by_group in answers.questions.values() for number in _three(by_group[key])),
            "yes" if groups.differences[key].is_different else "no",
            groups.differences[key].p_value,
            "no" if groups[key].is_told else "cannot be told",
            str(groups.fits.groups[key].verdict),
        )
        for key in order
    )
    content = base64.b64encode(csv_text(map(as_shown, header), rows).encode()).decode()
    link = f'<a download="groups.csv" href="data:text/csv;base64,{content}">Download this table</a>'
    return f"<p>{link}, with all {len(groups):,} groups, as CSV.</p>"


def _three(found: Interval) -> tuple[float, float, float]:
    return found.estimate, found.low, found.high


def _provenance(groups: SurveyGroups) -> str:
    method = groups.first.method
    made = f"Made by confide {confide.__version__} with {method!r}, each group on its own."
    return provenance(made, groups.survey, groups.origin)


def group_reports_section(seen: GroupReports, by: Sequence[str]) -> str:
    """Return what the reports of each group tell before anything is estimated, as a section of a diagnosis."""
    small = set(seen.too_small)
    order = sorted(seen.pools, key=lambda key: (not seen.fits.groups[key].is_bad, -seen.reports[key], key))
    rows = []
    for key in shown_order(order, MOST_ROWS):
        differs = "differs" if seen.differences[key].is_different else "no difference seen"
        told = "too small to say anything" if key in small else differs
        cells = (*(part or "(none)" for part in key), f"{seen.reports[key]:,.10g}", seen.fits.groups[key].verdict, told)
        rows.append([text(cell) for cell in cells])
    names = [*by, "Reports", "Fit", "Against the others"]
    different = len(seen.differences.different)
    said = f"{len(order):,} groups; {len(small):,} are too small to say anything; {different:,} differ from the others."
    words = (*range(len(by)), len(names) - 2, len(names) - 1)
    return section("The groups", paragraph(said), table(names, rows, words=words), note(HOW_DIFFERENT))
