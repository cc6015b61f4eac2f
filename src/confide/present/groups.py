"""Summary of groups: what each answers, which differ, how they fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import confide
from confide.data.files import GroupAnswers, Key, SurveyGroups, as_shown, csv_text, label_group, shown_order
from confide.estimates.groups import GroupReports
from confide.estimates.inference import Interval
from confide.evidence.counts import describe_weights, design_effect_of
from confide.present import summary as say
from confide.present.figures import Panel, Role, style
from confide.present.figures.certainty import draw_waves
from confide.present.figures.style import colors_of
from confide.present.summary import (
    Bullets,
    Caution,
    Cell,
    Line,
    Listing,
    Note,
    Part,
    Picture,
    Row,
    Section,
    Summary,
)
from confide.values.order import has_order, natural_order
from confide.values.wording import counted

MOST_PANELS, MOST_ROWS = 24, 1000
"""Groups that have a picture, and that stand in the table of a page: the largest ones."""

FEW = 20
"""Groups that a terminal shows unless all are asked for: those that differ, then the largest ones."""

HOW_DIFFERENT = (
    "A permutation test compares the reports of each group with those of all others. At most 5% of the groups named as "
    "different are false alarms, on average (Benjamini and Hochberg). A difference too small for so many reports does "
    "not show."
)


def summarise_groups(
    groups: SurveyGroups, answers: GroupAnswers, *, rows: str = "", promised: Sequence[Line] = (), is_page: bool = False
) -> Summary:
    """Return all that group estimates say; pictures only for a page.

    `rows` is the account of the rows that the reports were read from, `promised` what several files promise.
    """
    survey, method, fits = groups.survey, groups.first.method, groups.fits
    endings = Counter(str(one.status) for one in groups.values())
    told = ", ".join(f"{number:,} by {status}" for status, number in endings.most_common())
    remark = say.remark_open(groups.identification)
    details = [
        ("Reports", f"{groups.total:,.10g}: {rows}"),
        *say.describe_weighting(describe_weights(groups.seen.counts)),
        *say.describe_noise(groups.origin),
        *promised,
        ("Method", f"{method!r}, each group on its own"),
        ("Ended by", told),
        *([] if fits.is_bad else [("Fit", " ".join(fits.together.details) or str(fits.together.verdict))]),
        *_explain_level(answers),
        ("Differences", HOW_DIFFERENT),
        *([("Identified", remark)] if remark else []),
    ]
    made = f"Made by confide {confide.__version__} with {method!r}, each group on its own."
    few, many = min(groups.reports.values()), max(groups.reports.values())
    sizes = say.count_reports(few) if few == many else f"{few:,.10g} to {say.count_reports(many)}"
    return Summary(
        title=f"{survey.title}, by {' and '.join(groups.by)}",
        about=[
            *say.about_reports(survey, groups.total, groups.origin, design_effect_of(groups.seen.counts)),
            f"{counted(len(groups), 'group')} of {sizes}",
        ],
        headline=_headline(groups),
        answers=_extremes(groups, answers),
        cautions=[*say.caution_simulated(groups.origin, is_page=is_page), *_cautions(groups)],
        sections=_page_sections(groups, answers) if is_page else [Section("", [_table(groups, answers)])],
        verdict="" if fits.is_bad else f"{fits.together.headline} {_explain_widths(answers)}".rstrip(),
        details=details,
        origin=say.come_from(made, survey, groups.origin),
    )


def _cautions(groups: SurveyGroups) -> list[Caution]:
    """Return cautions once for all groups that need them."""
    found, some, every = [], groups.least_identified, len(groups)
    if groups.untold:
        words = groups.describe_untold(label_group)
        found.append(Caution("But", "Some of these reports say next to nothing", (words,)))
    if groups.fits.is_bad:
        found.append(Caution("Poor fit", "These reports do not fit the survey", (groups.fits.headline,)))
    of = f" in {'all' if some == every else f'{some:,} of'} {every:,} groups"
    return found + say.caution_identification(groups.identification, of)


def _page_sections(groups: SurveyGroups, answers: GroupAnswers) -> list[Section]:
    method, reports = groups.first.method, f"{groups.total:,.10g} reports of {len(groups):,} groups"
    words = (
        f"{say.introduce_reports(groups.survey, reports, groups.origin)} From these alone, {method.name} recovered how "
        f"the true values are distributed in each group."
    )
    promise = replace(say.state_promise(groups.survey, groups.origin, groups.files), kind="fold")
    told = [*_differences(groups), Section("In words", [words])]
    return [*_over_time(groups, answers), _side_by_side(groups, answers), *_pictures(groups, answers), *told, promise]


def _over_time(groups: SurveyGroups, answers: GroupAnswers) -> list[Section]:
    """Return the main answer as a line over time, if any."""
    if answers.main is None or not has_order(groups):
        return []
    found = {label_group(key): answers.questions[answers.main][key] for key in natural_order(groups)}
    (first, start), *_, (last, end) = found.items()
    asked = f"{answers.main[:1].upper()}{answers.main[1:]}"
    heading = f"{asked} by {groups.by[0]}: {say.texts(start)[0]} in {first}, {say.texts(end)[0]} in {last}"
    told = "; ".join(f"{label}: {say.texts(one)[0]}" for label, one in found.items())
    caption = f"The band is the interval of each {groups.by[0]} ({say.confidence(start)}), each on its own."
    return [
        Section(heading, [Picture(partial(draw_waves, found), f"{asked} by {groups.by[0]}. {told}.", caption)], "hero")
    ]


def _headline(groups: SurveyGroups) -> str:
    """Return how many groups differ from the others."""
    different, every = groups.differences.different, len(groups)
    if every < 2:
        return "There is one group, so nothing to compare."
    if not different:
        return f"No group differs from the others beyond chance ({every:,} groups compared)."
    if every == 2:
        return "The two groups differ from each other."
    names = ", ".join(map(label_group, shown_order(different, 3))) + (", ..." if len(different) > 3 else "")
    differ = "differs" if len(different) == 1 else "differ"
    return f"{len(different):,} of {every:,} groups {differ} from the others ({names})."


def _extremes(groups: SurveyGroups, answers: GroupAnswers) -> list[tuple[str, str, str]]:
    """Return the highest and lowest answer among groups that say something."""
    if answers.main is None or len(groups) < 2:
        return []
    small = set(groups.seen.too_small)
    told = {key: one for key, one in answers.questions[answers.main].items() if key not in small}
    found = []
    for words, choose in (("Highest", max), ("Lowest", min)) if told else ():
        key = choose(told, key=lambda one: told[one].estimate)
        now, ends = say.texts(told[key])
        found.append((f"{words} {answers.main}", now, f"{label_group(key)}, {say.confidence(told[key])}: {ends}"))
    return found


def _explain_widths(answers: GroupAnswers) -> str:
    """Return what the main answer's intervals owe to sampling, if known."""
    found = [] if answers.main is None else answers.questions[answers.main].values()
    shares = sorted({round(100 * one.parts.sampling) for one in found if one.parts is not None})
    ends = " to ".join(f"{one}%" for one in sorted({*shares[:1], *shares[-1:]}))
    return f"Uncertainty: {ends} sampling, the rest privacy noise." if shares else ""


def _differences(groups: SurveyGroups) -> list[Section]:
    """Return how many groups differ, which ones, and the test behind it."""
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
            say.count_reports(groups.reports[key]),
            overall if has_reference else None,
            color=colors_of([groups.first.method.name])[0],
            reference_role=Role.ESTIMATE,
            band=(answers.bands[key].low, answers.bands[key].high) if key in answers.bands else None,
        )
        for key in shown
    ]
    small = [Note("Pale: a small bump may be chance.")] if groups.survey.alphabet.geometry.dimensions == 1 else []
    few = [] if is_all else [Note(f"The {len(shown)} largest of {len(groups):,} groups.")]
    legend = [say.Legend(style.TRUTH, "The grey behind each group is all groups together.")] if has_reference else []
    drawn = say.Cards(groups.survey.alphabet, panels, groups.survey.name)
    return [Section("The distribution in each group", [*few, *legend, drawn, *small])]


def _against(groups: SurveyGroups, key: Key) -> Cell:
    """Return whether a group differs from the others, in a few words."""
    differs = groups.describe_difference(key).split(";")[0].replace("differs from the others", "differs")
    differs += "" if groups[key].is_told else "; indistinguishable from uniform"
    return Cell(differs, is_strong=groups.differences[key].is_different)


def _likeliest(groups: SurveyGroups, key: Key) -> tuple[str, float]:
    one = groups[key]
    place = int(one.distribution.argmax())
    return one.alphabet.labels([place])[0], float(one.distribution[place])


def _table(groups: SurveyGroups, answers: GroupAnswers) -> Listing:
    """Return a line for each group, those that differ first."""
    asked = list(answers.questions) or [f"most likely {groups.survey.name}", "its share"]
    rows: list[Row] = []
    for key in shown_order(groups.ranked):
        found = [say.texts(by_group[key]) for by_group in answers.questions.values()]
        cells = [Cell(now, f"({ends})") for now, ends in found]
        if not cells:
            label, share = _likeliest(groups, key)
            cells = [Cell(label), Cell(f"{share:.2%}")]
        rows.append([label_group(key), f"{groups.reports[key]:,.10g}", *cells, _against(groups, key)])
    headings = [", ".join(groups.by), "reports", *asked, "against the others"]
    rest = f"{FEW} groups, those that differ and the largest; --show all shows all {len(groups):,}."
    return Listing(headings, rows, (0, len(headings) - 1), most=FEW, rest=rest)


def _side_by_side(groups: SurveyGroups, answers: GroupAnswers) -> Section:
    """Return groups with intervals on one scale, those that differ first."""
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
                cells.append(Cell(*say.texts(found), places=drawn))
        fit = groups.fits.groups[key]
        verdict = Cell(str(fit.verdict), is_strong=fit.is_bad)
        parts = [part or "(none)" for part in key]
        rows.append([*parts, f"{groups.reports[key]:,.10g}", cells[0], _against(groups, key), *cells[1:], verdict])
    left = (*range(len(groups.by)), len(groups.by) + 2, len(names) - 1)
    remarks: list[Part] = [_explain_scale(answers, scale)]
    if len(groups) > MOST_ROWS:
        remarks.append(Note(f"{MOST_ROWS:,} of {len(groups):,} groups: those that differ, then the largest."))
    remarks += [Note(remark)] if (remark := say.remark_open(groups.identification)) else []
    level = [Note(f"Intervals at {words}.") for _, words in _explain_level(answers)]
    below: list[Part] = [*(level if scale else []), _download(groups, answers)]
    return Section("The groups side by side", [*remarks, Listing(names, rows, left, "stacked"), *below], "hero")


def _scale(groups: SurveyGroups, answers: GroupAnswers) -> tuple[float, float, float] | None:
    """Return the ends of the intervals' scale, and the overall answer.

    Groups that are too small to say anything do not stretch it.
    """
    if answers.main is None:
        return None
    found, small = answers.questions[answers.main], set(groups.seen.too_small)
    told = [one for key, one in found.items() if key not in small] or list(found.values())
    low, high = min(one.low for one in told), max(one.high for one in told)
    weights = groups.seen.weights
    overall = sum(weights[key] * one.estimate for key, one in found.items()) / sum(weights.values())
    return (low, high, overall) if high > low else None


def _place(found: Interval, scale: tuple[float, float, float]) -> tuple[float, float, float, float]:
    """Return positions of an interval and the overall answer, as parts."""
    start, end, overall = scale
    low, mark, high, line = ((one - start) / (end - start) for one in (found.low, found.estimate, found.high, overall))
    return low, mark, high, line


def _explain_level(answers: GroupAnswers) -> list[Line]:
    """Return the level of the groups' intervals, and what they rest on."""
    if answers.main is None:
        return []
    some = next(iter(answers.questions[answers.main].values()))
    return [("Intervals", f"{say.confidence(some)}: {some.rests_on}")]


def _explain_scale(answers: GroupAnswers, scale: tuple[float, float, float] | None) -> str:
    if scale is None or answers.main is None:
        return ""
    is_share = next(iter(answers.questions[answers.main].values())).is_share
    low, high, overall = (f"{number:.1%}" if is_share else f"{number:.4g}" for number in scale)
    return f"Bars: {answers.main} of each group, from {low} to {high}. The thin line is all groups together, {overall}."


def _download(groups: SurveyGroups, answers: GroupAnswers) -> say.Download:
    """Return a link with the numbers of all groups as CSV."""
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
    """Return what reports of groups show before estimation, worst fits first."""
    small, different = set(seen.too_small), len(seen.differences.different)
    order = sorted(seen.pools, key=lambda key: (not seen.fits.groups[key].is_bad, -seen.reports[key], key))
    rows = []
    for key in shown_order(order, MOST_ROWS):
        differs = "differs" if seen.differences[key].is_different else "no difference seen"
        told = "too small to say anything" if key in small else differs
        rows.append([label_group(key), f"{seen.reports[key]:,.10g}", str(seen.fits.groups[key].verdict), told])
    said = f"{len(order):,} groups by {', '.join(by)}; {different:,} differ from the others"
    said += f"; {len(small):,} are too small to say anything{f'; {empty:,} have no reports' if empty else ''}."
    rest = f"{FEW} of {len(order):,} groups: those that do not fit, then the largest; --json has all."
    table = Listing([", ".join(by), "reports", "fit", "against the others"], rows, (0, 2, 3), most=FEW, rest=rest)
    return Section("The groups", [said, table, *([Note(HOW_DIFFERENT)] if is_page else [])])
