"""An estimate for each group of a file of counts: solved together, shown as a table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from confide.cli.repetition import promise_line, repetition_record, warn_over_limit
from confide.cli.terminal import (
    TITLE,
    fit_line,
    identified_line,
    noise_lines,
    note_not_identified,
    note_poor_fit,
    progress,
    progress_bar,
    say,
    say_exactly,
    show,
    show_json,
    show_pairs,
    warn,
)
from confide.cli.usage import Statistic
from confide.explanations import WHEN_GROUPS_ARE_NOT_IDENTIFIED
from confide.files import (
    CountsFile,
    GroupAnswers,
    Key,
    SurveyGroups,
    ask_groups,
    estimate_file,
    groups_csv,
    groups_record,
    label_group,
    shown_order,
    to_json,
    write_text,
)
from confide.groups import GroupReports
from confide.intervals import Interval, percent
from confide.methods import Method, Stacked, Status
from confide.queries import Query
from confide.surveys import Survey
from confide.theory.fit import GroupFits
from confide.wording import counted

USUAL_LEVEL = 0.95

FEW = 20
"""Groups that are shown unless all are asked for: those that differ, then the largest ones."""

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
        note_poor_fit(fits, as_json=True)
        if found.untold and not found.identification.is_no:
            warn(found.describe_untold(label_group))
    else:
        _show(found, counts, answers, everything=wanted.everything)
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
    from confide.pages import groups_page

    return groups_page(found, answers)


def _show(found: SurveyGroups, counts: CountsFile, answers: GroupAnswers, *, everything: bool) -> None:
    endings = Counter(str(one.status) for one in found.values())
    told = ", ".join(f"{number:,} by {status}" for status, number in endings.most_common())
    show_pairs(
        [
            *untold_line(found),
            ("Survey", found.survey.title),
            ("Reports", f"{found.total:,.10g}: {counts.heading.rows}"),
            *noise_lines(found.origin),
            *promise_line(counts.heading),
            ("Groups", f"{len(found):,}, by {', '.join(found.by)}"),
            ("Method", f"{found.first.method!r}, each group on its own"),
            ("Ended", told),
            *([] if found.fits.is_bad else fit_line(found.fits.together)),
            ("Differences", difference_line(found)),
            *identified_line(found.identification),
        ]
    )
    note_poor_fit(found.fits)
    note_not_identified(found.identification, _title(found), WHEN_GROUPS_ARE_NOT_IDENTIFIED)
    shown = shown_order(found.ranked, None if everything else FEW)
    _show_table(found, shown, answers)
    if len(shown) < len(found):
        say(f"{FEW} groups, those that differ and the largest; --all shows all {len(found):,}.", style="dim")
    if answers.main is not None:
        some = next(iter(answers.questions[answers.main].values()))
        show_pairs([("Intervals", f"at {percent(some.level)} rest on {some.rests_on}")])


def untold_line(found: SurveyGroups) -> list[tuple[str, str]]:
    """Return the first line of estimates some of which cannot be told from a uniform population."""
    return [("But", found.describe_untold(label_group))] if found.untold else []


def difference_line(found: SurveyGroups) -> str:
    """Say how many groups differ from the others."""
    different, groups = found.differences.different, len(found)
    if groups < 2:
        return "one group alone has nothing to be compared with"
    if not different:
        return f"none seen: none of the {groups:,} groups differs from the others beyond chance"
    if groups == 2:
        return "the two groups differ from each other"
    named = shown_order(different, 3)
    names = ", ".join(map(label_group, named)) + (", ..." if len(different) > 3 else "")
    return f"{len(different):,} of {groups:,} groups differ from all the others ({names})"


def _title(found: SurveyGroups) -> str:
    """Return what a note on answers that are some of many is headed, with the groups if not all are."""
    groups = len(found)
    return TITLE if found.least_identified == groups else f"{TITLE} in {found.least_identified:,} of {groups:,} groups"


def _show_table(found: SurveyGroups, keys: list[Key], answers: GroupAnswers) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(Text(", ".join(found.by)), max_width=40)
    for heading in ("reports", *(answers.questions or (f"most likely {found.survey.name}", "its share"))):
        table.add_column(Text(heading), justify="right")
    table.add_column("against the others")
    for key in keys:
        numbers = (f"{found.reports[key]:,.10g}", *_cells(found, key, answers))
        differs = found.describe_difference(key).split(";")[0].replace("differs from the others", "differs")
        differs += "" if found[key].is_told else "; cannot be told from uniform"
        style = "bold" if found.differences[key].is_different else ""
        table.add_row(*map(Text, (label_group(key), *numbers)), Text(differs, style=style))
    show(table)


def _cells(found: SurveyGroups, key: Key, answers: GroupAnswers) -> list[str]:
    if answers.questions:
        return [_in_words(by_group[key]) for by_group in answers.questions.values()]
    one = found[key]
    place = int(one.distribution.argmax())
    return [one.alphabet.labels([place])[0], f"{one.distribution[place]:.2%}"]


def _in_words(found: Interval) -> str:
    """Return an answer with its ends, as shares in percent."""
    now, low, high = found.texts(1)
    return f"{now} ({low} to {high})"


def _warn_of_endings(found: SurveyGroups, groups: int) -> None:
    early = sum(one.status in (Status.ITERATION_LIMIT, Status.TIME_LIMIT) for one in found.values())
    if early:
        warn(f"{early:,} of {len(found):,} groups ended before their goal. Raise --iteration-limit.")
    if groups > len(found):
        warn(f"{groups - len(found):,} groups have no reports, and no estimate.")


def show_group_reports(seen: GroupReports, counts: CountsFile) -> None:
    """Show of each group how large it is, whether its reports fit, and whether it differs; the largest first."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    note_poor_fit(seen.fits)
    small, empty = set(seen.too_small), len(counts.groups) - len(seen.pools)
    say()
    say("The groups", style="bold")
    show_pairs(
        [
            ("Groups", f"{len(seen.pools):,}, by {', '.join(counts.heading.by)}"),
            ("Too small", f"{len(small):,} say next to nothing: a group with all its people at one end would not show"),
            *([("Empty", f"{empty:,} have no reports")] if empty else []),
            ("Differences", f"{len(seen.differences.different):,} differ from the others"),
        ]
    )
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(Text(", ".join(counts.heading.by)), max_width=40)
    for heading in ("reports", "fit", "against the others"):
        table.add_column(heading, justify="right" if heading == "reports" else "left")
    order = sorted(seen.pools, key=lambda key: (not seen.fits.groups[key].is_bad, -seen.reports[key], key))
    for key in shown_order(order, FEW):
        differs = "differs" if seen.differences[key].is_different else "no difference seen"
        told = "too small" if key in small else differs
        table.add_row(
            *map(Text, (label_group(key), f"{seen.reports[key]:,.10g}", str(seen.fits.groups[key].verdict), told))
        )
    show(table)
    if len(order) > FEW:
        say(f"{FEW} of {len(order):,} groups: those that do not fit, then the largest; --json has all.", style="dim")
