"""An estimate for each group of a file of counts: solved together, shown as a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from confide.check.fit import GroupFits
from confide.cli.repetition import promise_line, repetition_record, warn_over_limit
from confide.cli.terminal import console, progress, progress_bar, say_exactly, show_json, warn
from confide.cli.usage import Statistic
from confide.data.files import (
    CountsFile,
    GroupAnswers,
    SurveyGroups,
    ask_groups,
    estimate_file,
    groups_csv,
    groups_record,
    label_group,
    to_json,
    write_text,
)
from confide.present.groups import summarise_groups
from confide.present.terminal import show_summary
from confide.solve.methods import Method, Stacked, Status
from confide.surveys.survey import Survey
from confide.values.queries import Query
from confide.values.wording import counted

USUAL_LEVEL = 0.95

MANY = 500
"""Groups from which on it is said beforehand how long they take: ten seconds and more."""

SOLVED, ASKED, BANDED = 0.02, 0.05, 3.0
"""Seconds a group for a hundred values: by the default method, for mean, median and a query, and for a band."""

MOST_BANDS = 25
"""Groups up to which --interval also gives every value of each group an interval: a minute or so."""

FEW_ASKED = 50
"""Groups up to which mean and median get intervals unasked, in a few seconds."""


@dataclass(frozen=True)
class Wanted:
    """What is wanted of the groups: queries, statistics, a level where one was given, outputs, and how to show all."""

    queries: list[Query]
    statistics: list[Statistic]
    level: float | None
    outputs: list[Path]
    everything: bool
    as_json: bool

    def is_asked(self, groups: int) -> bool:
        """Whether mean, median and queries are given intervals."""
        return bool(self.queries or self.statistics) or self.level is not None or groups <= FEW_ASKED

    def has_bands(self, groups: int) -> bool:
        """Whether every value is."""
        return self.level is not None and groups <= MOST_BANDS


def estimate_each_group(counts: CountsFile, survey: Survey, method: Method, wanted: Wanted) -> GroupFits:
    """Estimate every group, write what is asked for, show the first ones, and return how they fit."""
    groups = len(counts.groups)
    _say_how_long(groups, method, wanted)
    with progress_bar(method.name, groups) as advance:
        found = estimate_file(counts, survey, method, progress=advance)
    answers = _ask(found, wanted)
    with progress("Testing the fit, and for differences"):
        fits, _ = found.fits, found.differences
    contents = [_render(path, found, answers, counts) for path in wanted.outputs]
    for path, content in zip(wanted.outputs, contents, strict=True):
        write_text(path, content)
    if wanted.as_json:
        show_json(groups_record(found, answers) | {"repetition": repetition_record(counts.heading)})
        if fits.is_bad:
            warn(fits.headline)
        if found.untold and not found.identification.is_no:
            warn(found.describe_untold(label_group))
    else:
        promised = promise_line(counts.heading)
        summary = summarise_groups(found, answers, rows=str(counts.heading.rows), promised=promised)
        show_summary(summary, console(), everything=wanted.everything)
        for path in wanted.outputs:
            say_exactly(f"Wrote {path}")
    _warn_of_endings(found, groups)
    warn_over_limit(counts.heading)
    return fits


def _say_how_long(groups: int, method: Method, wanted: Wanted) -> None:
    """Say beforehand what takes long, and which of it is left out."""
    seconds = groups * (SOLVED * isinstance(method, Stacked) + ASKED * wanted.is_asked(groups))
    if groups >= MANY and seconds > 0:
        faster = "; --method ibu takes all of them together, in less" if isinstance(method, Stacked) else ""
        warn(f"{groups:,} groups take about {_duration(seconds)} for a hundred values{faster}.")
    if wanted.level is not None and not wanted.has_bands(groups):
        warn(
            f"mean, median and queries get intervals, single values do not: these would take about "
            f"{_duration(BANDED * groups)} for {groups:,} groups. For a few groups, count those alone."
        )


def _duration(seconds: float) -> str:
    """Return a time in words.

    >>> _duration(45), _duration(200), _duration(30_000)
    ('45 seconds', '3 minutes', '8 hours')
    """
    if seconds < 90:
        return counted(max(1, round(seconds)), "second")
    return counted(round(seconds / 60), "minute") if seconds < 5400 else counted(round(seconds / 3600), "hour")


def _ask(found: SurveyGroups, wanted: Wanted) -> GroupAnswers:
    level = USUAL_LEVEL if wanted.level is None else wanted.level
    if not wanted.is_asked(len(found)):
        return GroupAnswers()
    with progress_bar("Finding intervals", len(found)) as advance:
        shares = [one.share for one in wanted.statistics if one.share is not None]
        questions = ask_groups(found, wanted.queries, level, quantiles=shares, progress=advance)
    if not wanted.has_bands(len(found)):
        return GroupAnswers(questions)
    with progress_bar("Intervals of single values", len(found)) as advance:
        return GroupAnswers(questions, found.interval(level, progress=advance))


def _render(path: Path, found: SurveyGroups, answers: GroupAnswers, counts: CountsFile) -> str:
    if path.suffix.lower() == ".csv":
        return groups_csv(found, answers)
    if path.suffix.lower() == ".json":
        record = groups_record(found, answers) | {"repetition": repetition_record(counts.heading)}
        return to_json(record) + "\n"
    from confide.present.pages import groups_page

    return groups_page(found, answers)


def _warn_of_endings(found: SurveyGroups, groups: int) -> None:
    early = sum(one.status in (Status.ITERATION_LIMIT, Status.TIME_LIMIT) for one in found.values())
    if early:
        warn(f"{early:,} of {len(found):,} groups ended before their goal. Raise --iteration-limit.")
    if groups > len(found):
        warn(f"{groups - len(found):,} groups have no reports, and no estimate.")
