"""Page of an estimate for each group, as small multiples."""

from __future__ import annotations

import confide
from confide.explanations import WHEN_GROUPS_ARE_NOT_IDENTIFIED
from confide.figures import Panel, Role, style
from confide.files import GroupEstimates, Key, label_group
from confide.pages.markup import (
    NONE,
    callout,
    document,
    fact_list,
    introduce_reports,
    mark_simulated,
    note,
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
from confide.wording import label_value

# Groups that have a picture, and that stand in the table: the largest ones.
MOST_PANELS, MOST_ROWS = 24, 1000


def groups_page(groups: GroupEstimates) -> str:
    """Return one self-contained HTML document with a small picture of each of the largest groups.

    >>> import confide as cf
    >>> survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0), "answer", "A question")
    >>> counts = {("Oslo",): cf.tally(["yes", "no"], [60, 40]), ("Rome",): cf.tally(["yes", "no"], [30, 70])}
    >>> found = cf.estimate_groups(counts, survey.mechanism, cf.IBU())
    >>> page = groups_page(GroupEstimates(survey, ("town",), {key: 100.0 for key in counts}, found))
    >>> page.splitlines()[0]
    '<!DOCTYPE html>'
    """
    survey = groups.survey
    return document(
        title=text(f"{survey.title}, by {' and '.join(groups.by)}"),
        summary=text(_summary(groups)),
        facts=_facts(groups),
        body="\n".join(
            (
                mark_simulated(groups.origin),
                _poor_fit(groups),
                _not_identified(groups),
                _pictures(groups),
                _numbers(groups),
                state_promise(survey, groups.origin),
            )
        ),
        footer=_provenance(groups),
    )


def _poor_fit(groups: GroupEstimates) -> str:
    """Say once for all groups which of them do not fit."""
    return callout("These reports do not fit the survey", groups.fits.headline) if groups.fits.is_bad else ""


def _not_identified(groups: GroupEstimates) -> str:
    """Say once for all groups, and of how many, that an answer is one of many."""
    some, every = groups.least_identified, len(groups.estimates)
    heading = f"Not identified in {'all' if some == every else f'{some:,} of'} {every:,} groups"
    return warn_not_identified(groups.identification, heading, WHEN_GROUPS_ARE_NOT_IDENTIFIED)


def _summary(groups: GroupEstimates) -> str:
    method = next(iter(groups.estimates.values())).method
    reports = f"{groups.total:,.10g} reports of {len(groups.estimates):,} groups"
    return (
        f"{introduce_reports(groups.survey, reports, groups.origin)} From these alone, {method.name} recovered how the "
        f"true values are distributed in each group."
    )


def _facts(groups: GroupEstimates) -> str:
    sizes = sorted(groups.reports.values())
    facts = {
        "Groups": f"{len(sizes):,}",
        "Reports": f"{groups.total:,.10g}",
        "Smallest group": f"{sizes[0]:,.10g} reports",
        "Largest group": f"{sizes[-1]:,.10g} reports",
        "Noise": groups.origin.in_short,
        "Fit": "not all groups" if groups.fits.bad else str(groups.fits.together.verdict),
    }
    return fact_list(facts)


def _pictures(groups: GroupEstimates) -> str:
    is_all = len(groups.estimates) <= MOST_PANELS
    shown, overall = list(groups.estimates) if is_all else groups.largest[:MOST_PANELS], groups.overall
    has_reference = bool((overall >= 0).all())
    panels = [
        Panel(
            label_group(key),
            groups.estimates[key].distribution,
            f"{groups.reports[key]:,.10g} reports",
            overall if has_reference else None,
            color=style.ESTIMATES[0],
            reference_role=Role.ESTIMATE,
        )
        for key in shown
    ]
    few = [] if is_all else [note(f"The {len(shown)} largest of {len(groups.estimates):,} groups.")]
    drawn = arrange(groups.survey.alphabet, panels, groups.survey.name)
    legend = f"<p>{swatch(style.TRUTH)}The grey behind each group is all groups together.</p>" if has_reference else ""
    return section("The distribution in each group", *few, legend if "<svg" in drawn else "", drawn)


def _numbers(groups: GroupEstimates) -> str:
    names = [*groups.by, "Reports", "Most likely", "Its share", "Below the maximum by at most", "Ended by"]
    shown = groups.largest[:MOST_ROWS]
    rows = [_row(groups, key) for key in shown]
    words = (*range(len(groups.by)), len(names) - 1)
    few = [note(f"The {len(shown):,} largest groups; write the estimate as CSV for all {len(groups.estimates):,}.")]
    remark = few if len(groups.estimates) > len(shown) else []
    remark.append(remark_open(groups.identification))
    return section("The groups in numbers", *remark, table(names, rows, words=words))


def _row(groups: GroupEstimates, key: Key) -> list[str]:
    one = groups.estimates[key]
    place = int(one.distribution.argmax())
    certificate = f"{one.certificate:.3g}" if one.certificate < float("inf") else NONE
    cells = (
        *(part or "(none)" for part in key),
        f"{groups.reports[key]:,.10g}",
        label_value(groups.survey.alphabet.decode([place]).tolist()[0]),
        f"{one.distribution[place]:.1%}",
        certificate,
        str(one.status),
    )
    return [text(cell) for cell in cells]


def _provenance(groups: GroupEstimates) -> str:
    method = next(iter(groups.estimates.values())).method
    made = f"Made by confide {confide.__version__} with {method!r}, each group on its own."
    return provenance(made, groups.survey, groups.origin)
