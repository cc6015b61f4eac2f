"""Summary of an estimate for each group: what each answers, which differ, and how they fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import confide
from confide.data.files import GroupAnswers, Key, SurveyGroups, as_shown, csv_text, label_group, shown_order
from confide.estimates.groups import GroupReports
from confide.estimates.inference import Interval, percent
from confide.present import summary as say
from confide.present.figures import Panel, Role, style
from confide.present.figures.style import colors_of
from confide.present.summary import Beside, Bullets, Caution, Cell, Line, Listing, Note, Part, Row, Section, Summary
from confide.values.wording import counted, listed

MOST_PANELS, MOST_ROWS = 24, 1000
"""Groups that have a picture, and that stand in the table of a page: the largest ones."""

FEW = 20
"""Groups that a terminal shows unless all are asked for: those that differ, then the largest ones."""

HOW_DIFFERENT = (
    "Each group's reports were compared with those of all others, which needs no estimate: where people are alike, "
    "their reports can be swapped. Of the groups named as different at most 5 in 100 are not, on average "
    "(Benjamini and Hochberg). Where no difference was seen there may still be one, too small for so many reports."
)


def summarise_groups(
    groups: SurveyGroups,
    answers: GroupAnswers,
    *,
    rows: str = "",
    promised: Sequence[Line] = (),
    is_page: bool = False,
) -> Summary:
    """Return all that the estimates of groups say; the pictures of a page only where there is one.

    `rows` is the account of the rows that the reports were read from, `promised` what several files promise.
    """
    survey, method, fits = groups.survey, groups.first.method, groups.fits
    endings = Counter(str(one.status) for one in groups.values())
    told = ", ".join(f"{number:,} by {status}" for status, number in endings.most_common())
    remark = say.remark_open(groups.identification)
    opening = [
        ("Survey", survey.title),
        ("Reports", f"{groups.total:,.10g}: {rows}"),
        *say.describe_noise(groups.origin),
        *promised,
        ("Groups", f"{len(groups):,}, by {', '.join(groups.by)}"),
        ("Method", f"{method!r}, each group on its own"),
        ("Ended", told),
        *([] if fits.is_bad else [("Fit", say.describe_fit(fits.together))]),
        ("Differences", _count_differences(groups)),
        *([("Identified", remark)] if remark else []),
    ]
    made = f"Made by confide {confide.__version__} with {method!r}, each group on its own."
    level = _explain_level(answers)
    return Summary(
        title=f"{survey.title}, by {' and '.join(groups.by)}",
        opening=opening,
        facts=_facts(groups) if is_page else {},
        cautions=[*(say.caution_simulated(groups.origin) if is_page else []), *_cautions(groups)],
        leading=_leading(groups, answers) if is_page else [],
        sections=_page_sections(groups, answers) if is_page else [Section("", [_table(groups, answers)])],
        details=[("Intervals", f"at {level[0]} rest on {level[1]}")] if level else [],
        origin=say.come_from(made, survey, groups.origin),
    )


def _cautions(groups: SurveyGroups) -> list[Caution]:
    """Return once for all groups which of them say next to nothing, do not fit, or are not identified."""
    found, some, every = [], groups.least_identified, len(groups)
    if groups.untold:
        words = groups.describe_untold(label_group)
        found.append(Caution("But", "Some of these reports say next to nothing", (words,)))
    if groups.fits.is_bad:
        found.append(Caution("Poor fit", "These reports do not fit the survey", (groups.fits.headline,)))
    of = f" in {'all' if some == every else f'{some:,} of'} {every:,} groups"
    return found + say.caution_identification(groups.identification, of)


def _page_sections(groups: SurveyGroups, answers: GroupAnswers) -> list[Section | Beside]:
    method, reports = groups.first.method, f"{groups.total:,.10g} reports of {len(groups):,} groups"
    words = (
        f"{say.introduce_reports(groups.survey, reports, groups.origin)} From these alone, {method.name} recovered how "
        f"the true values are distributed in each group."
    )
    promise = say.state_promise(groups.survey, groups.origin, groups.files)
    told = [Section("In words", [words]), *_differences(groups)]
    return [_side_by_side(groups, answers), *_pictures(groups, answers), Beside([told, [promise]])]


def _facts(groups: SurveyGroups) -> dict[str, str]:
    sizes = sorted(groups.reports.values())
    different = f"{len(groups.differences.different):,} of {len(sizes):,}"
    return {
        "Groups": f"{len(sizes):,}",
        "Reports": f"{groups.total:,.10g}",
        "Smallest group": _reports(sizes[0]),
        "Largest group": _reports(sizes[-1]),
        "Noise": groups.origin.in_short,
        "Differ": "nothing to compare" if len(sizes) < 2 else different,
        "Told from uniform": f"{len(sizes) - len(groups.untold):,} of {len(sizes):,}",
        "Fit": "not all groups" if groups.fits.bad else str(groups.fits.together.verdict),
    }


def _reports(number: float) -> str:
    return f"{number:,.10g} report{'' if number == 1 else 's'}"


def _leading(groups: SurveyGroups, answers: GroupAnswers) -> list[tuple[str, str, str]]:
    """Return what a page begins with: how many groups differ, and the ends of what is asked."""
    if len(groups) < 2:
        return []
    different = [label_group(key) for key in shown_order(groups.differences.different)]
    named = "no difference was seen"
    if different:
        some = f"{different[0]} and {counted(len(different) - 1, 'other')}"
        named = listed(different) if len(different) <= 3 else some
    leading = [("Groups that differ from the others", f"{len(different):,} of {len(groups):,}", named)]
    if answers.main is None:
        return leading
    told = {key: one for key, one in answers.questions[answers.main].items() if key not in set(groups.seen.too_small)}
    for words, choose in (("Highest", max), ("Lowest", min)) if told else ():
        key = choose(told, key=lambda one: told[one].estimate)
        now, ends = say.between(told[key], 1)
        asked = f"{words} {answers.main}, at {percent(told[key].level)}"
        leading.append((asked, now, f"{label_group(key)}, {ends}"))
    return leading


def _count_differences(groups: SurveyGroups) -> str:
    """Return in a line how many groups differ from the others."""
    different, every = groups.differences.different, len(groups)
    if every < 2:
        return "one group alone has nothing to be compared with"
    if not different:
        return f"none seen: none of the {every:,} groups differs from the others beyond chance"
    if every == 2:
        return "the two groups differ from each other"
    names = ", ".join(map(label_group, shown_order(different, 3))) + (", ..." if len(different) > 3 else "")
    return f"{len(different):,} of {every:,} groups differ from all the others ({names})"


def _differences(groups: SurveyGroups) -> list[Section]:
    """Return how many groups differ from the others, which, and what that rests on."""
    found, named = groups.differences, list[str]()
    if len(groups) < 2:
        return []
    if not found.different:
        said = f"No difference was seen: none of the {len(groups):,} groups differs from the others beyond chance."
    elif len(groups) == 2:  # one against the other is the same test as the other against the one
        one = max(found.different, key=lambda key: found[key].scores[0] if found[key].scores.size else 0.0)
        other = next(key for key in groups if key != one)
        how = groups.describe_difference(one).removeprefix("differs from the others: ")
        said = f"The two groups differ. Compared with {label_group(other)}, {label_group(one)} is: {how}."
    else:
        shown = shown_order(found.different, 10)
        named = [f"{label_group(key)} {groups.describe_difference(key)}." for key in shown]
        more = len(found.different) - len(named)
        named += [f"And {counted(more, 'more group')}; the table has all of them."] if more else []
        verb = "differs" if len(found.different) == 1 else "differ"
        said = f"{counted(len(found.different), 'group')} of {len(groups):,} {verb} from the others:"
    return [Section("Do the groups differ?", [said, *([Bullets(named)] if named else []), Note(HOW_DIFFERENT)])]


def _pictures(groups: SurveyGroups, answers: GroupAnswers) -> list[Section]:
    if not groups.survey.alphabet.is_finite:  # each group has likely values of its own
        return []
    is_all = len(groups) <= MOST_PANELS
    shown = list(groups) if is_all else shown_order(groups.largest, MOST_PANELS)
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
    few = [] if is_all else [Note(f"The {len(shown)} largest of {len(groups):,} groups.")]
    legend = [say.Legend(style.TRUTH, "The grey behind each group is all groups together.")] if has_reference else []
    drawn = say.Cards(groups.survey.alphabet, panels, groups.survey.name)
    return [Section("The distribution in each group", [*few, *legend, drawn])]


def _against(groups: SurveyGroups, key: Key) -> Cell:
    """Return whether a group differs from the others, in a few words."""
    differs = groups.describe_difference(key).split(";")[0].replace("differs from the others", "differs")
    differs += "" if groups[key].is_told else "; cannot be told from uniform"
    return Cell(differs, is_strong=groups.differences[key].is_different)


def _likeliest(groups: SurveyGroups, key: Key) -> tuple[str, float]:
    one = groups[key]
    place = int(one.distribution.argmax())
    return one.alphabet.labels([place])[0], float(one.distribution[place])


def _table(groups: SurveyGroups, answers: GroupAnswers) -> Listing:
    """Return a line for each group, those that differ first, as a terminal shows it."""
    asked = list(answers.questions) or [f"most likely {groups.survey.name}", "its share"]
    rows: list[Row] = []
    for key in shown_order(groups.ranked):
        found = [say.between(by_group[key], 1) for by_group in answers.questions.values()]
        cells = [Cell(now, f"({ends})") for now, ends in found]
        if not cells:
            label, share = _likeliest(groups, key)
            cells = [Cell(label), Cell(f"{share:.2%}")]
        rows.append([label_group(key), f"{groups.reports[key]:,.10g}", *cells, _against(groups, key)])
    headings = [", ".join(groups.by), "reports", *asked, "against the others"]
    rest = f"{FEW} groups, those that differ and the largest; --show all shows all {len(groups):,}."
    return Listing(headings, rows, (0, len(headings) - 1), most=FEW, rest=rest)


def _side_by_side(groups: SurveyGroups, answers: GroupAnswers) -> Section:
    """Return a table of the groups, those that differ first, with intervals drawn on one scale."""
    asked = [question[:1].upper() + question[1:] for question in answers.ordered if answers.main is not None]
    first, *others = asked or ["Most likely, and its share"]
    names = [*groups.by, "Reports", first, "Against the others", *others, "Fit"]
    scale = _scale(groups, answers)
    rows: list[Row] = []
    for key in shown_order(groups.ranked, MOST_ROWS):
        label, share = _likeliest(groups, key)
        cells = [Cell(label, f"{share:.1%}")]
        if answers.main is not None:
            cells = []
            for question in answers.ordered:
                found = answers.questions[question][key]
                drawn = _place(found, scale) if scale is not None and question == answers.main else None
                cells.append(Cell(*say.between(found, 1), places=drawn))
        fit = groups.fits.groups[key]
        verdict = Cell(str(fit.verdict), is_strong=fit.is_bad)
        parts = [part or "(none)" for part in key]
        rows.append([*parts, f"{groups.reports[key]:,.10g}", cells[0], _against(groups, key), *cells[1:], verdict])
    left = (*range(len(groups.by)), len(groups.by) + 2, len(names) - 1)
    remarks: list[Part] = [_explain_scale(answers, scale)]
    if len(groups) > MOST_ROWS:
        remarks.append(Note(f"{MOST_ROWS:,} of {len(groups):,} groups: those that differ, then the largest."))
    remarks += [Note(remark)] if (remark := say.remark_open(groups.identification)) else []
    level = _explain_level(answers)
    said = (
        [Note(f"Intervals hold the truth of {level[0]} of groups like these. They rest on {level[1]}.")]
        if level
        else []
    )
    below: list[Part] = [*(said if scale else []), _download(groups, answers)]
    return Section("The groups side by side", [*remarks, Listing(names, rows, left, "stacked"), *below], "hero")


def _scale(groups: SurveyGroups, answers: GroupAnswers) -> tuple[float, float, float] | None:
    """Return the ends of a scale for the intervals of the main question, and the answer of all groups together.

    Groups that are too small to say anything do not stretch it.
    """
    if answers.main is None:
        return None
    found, small = answers.questions[answers.main], set(groups.seen.too_small)
    told = [one for key, one in found.items() if key not in small] or list(found.values())
    low, high = min(one.low for one in told), max(one.high for one in told)
    overall = sum(groups.reports[key] * one.estimate for key, one in found.items()) / groups.total
    return (low, high, overall) if high > low else None


def _place(found: Interval, scale: tuple[float, float, float]) -> tuple[float, float, float, float]:
    """Return where an interval and the answer of all groups stand on a scale, as parts of it."""
    start, end, overall = scale
    low, mark, high, line = (
        (number - start) / (end - start) for number in (found.low, found.estimate, found.high, overall)
    )
    return low, mark, high, line


def _explain_scale(answers: GroupAnswers, scale: tuple[float, float, float] | None) -> str:
    if scale is None or answers.main is None:
        return ""
    is_share = next(iter(answers.questions[answers.main].values())).is_share
    low, high, overall = (f"{number:.1%}" if is_share else f"{number:.4g}" for number in scale)
    return (
        f"The bars show {answers.main} of each group on one scale, from {low} to {high}; the thin line is that of all "
        f"groups together, {overall}."
    )


def _explain_level(answers: GroupAnswers) -> tuple[str, str] | None:
    """Return at which level the intervals of all groups hold, and what they rest on."""
    if answers.main is None:
        return None
    some = next(iter(answers.questions[answers.main].values()))
    return percent(some.level), some.rests_on


def _download(groups: SurveyGroups, answers: GroupAnswers) -> say.Download:
    """Return a link that holds the numbers of all groups as CSV, for a table that shows them all or not."""
    asked = [column for name in answers.questions for column in (name, f"{name} low", f"{name} high")]
    header = [*groups.by, "reports", *asked, "differs", "p_value", "uniform", "fit"]
    rows = []
    for key in shown_order(groups.ranked):
        found = [by_group[key] for by_group in answers.questions.values()]
        rows.append(
            (
                *map(as_shown, key),
                f"{groups.reports[key]:.17g}",
                *(number for one in found for number in (one.estimate, one.low, one.high)),
                "yes" if groups.differences[key].is_different else "no",
                groups.differences[key].p_value,
                "no" if groups[key].is_told else "cannot be told",
                str(groups.fits.groups[key].verdict),
            )
        )
    content = csv_text(map(as_shown, header), rows)
    return say.Download("groups.csv", content, "Download this table", f", with all {len(groups):,} groups, as CSV.")


def summarise_group_reports(seen: GroupReports, by: Sequence[str], empty: int, *, is_page: bool = False) -> Section:
    """Return what the reports of each group tell before anything is estimated, those that do not fit first."""
    small, different = set(seen.too_small), len(seen.differences.different)
    order = sorted(seen.pools, key=lambda key: (not seen.fits.groups[key].is_bad, -seen.reports[key], key))
    rows = []
    for key in shown_order(order, MOST_ROWS if is_page else FEW):
        differs = "differs" if seen.differences[key].is_different else "no difference seen"
        too_small = "too small to say anything" if is_page else "too small"
        name = [part or "(none)" for part in key] if is_page else [label_group(key)]
        told = too_small if key in small else differs
        rows.append([*name, f"{seen.reports[key]:,.10g}", str(seen.fits.groups[key].verdict), told])
    if is_page:
        names = [*by, "Reports", "Fit", "Against the others"]
        said = f"{len(order):,} groups; {len(small):,} are too small to say anything; {different:,} differ from the"
        said += " others."
        left = (*range(len(by)), len(names) - 2, len(names) - 1)
        return Section("The groups", [said, Listing(names, rows, left), Note(HOW_DIFFERENT)])
    lines = [
        ("Groups", f"{len(order):,}, by {', '.join(by)}"),
        ("Too small", f"{len(small):,} say next to nothing: a group with all its people at one end would not show"),
        *([("Empty", f"{empty:,} have no reports")] if empty else []),
        ("Differences", f"{different:,} differ from the others"),
    ]
    rest = f"{FEW} of {len(order):,} groups: those that do not fit, then the largest; --json has all."
    table = Listing([", ".join(by), "reports", "fit", "against the others"], rows, (0, 2, 3))
    return Section("The groups", [say.Lines(lines), table, *([Note(rest)] if len(order) > FEW else [])])
