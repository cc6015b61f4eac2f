"""What `confide estimate` asks besides the distribution, and what it writes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from confide.check.answers import GroupFits
from confide.cli.terminal import console, progress, progress_bar, say, say_exactly, show_json, warn
from confide.cli.usage import (
    USUAL_LEVEL,
    Level,
    Questions,
    more_of,
    promise_line,
    repetition_record,
    split_names,
    warn_over_limit,
)
from confide.data import files
from confide.data.counting import ReportInput
from confide.data.files import CountsFile, GroupAnswers, Heading, to_json, write_text
from confide.errors import InvalidParameterError
from confide.estimates.diagnosis import why_undivided
from confide.estimates.estimate import Estimate
from confide.estimates.inference import Interval, Windows, level_of_each
from confide.present.estimates import Findings, complete, summarise_estimate
from confide.present.groups import summarise_groups
from confide.present.terminal import SMALL, show_summary
from confide.solve.methods import Method, Stacked, Status
from confide.surveys.survey import Survey
from confide.values import LineGeometry, PlaneGeometry
from confide.values.wording import counted

SOON = 200
"""Values up to which windows are found in a second or two."""

MANY = 500
"""Groups from which on it is said beforehand how long they take: ten seconds and more."""

MOST_BANDS = 25
"""Groups up to which --interval also gives every value of each group an interval: a minute or so."""

Names = tuple[str, ...]
"""Attributes by their names."""


def record_of(found: Findings, gathered: ReportInput, heading: Heading) -> dict[str, Any]:
    """Return all that was found for machines."""
    record = files.estimate_record(
        found.survey, found.counts, found.outcomes[0], found.band, found.answers, found.windows
    )
    record |= files.tables_record(found.marginals or {}, found.crosses)
    record |= {"origin": gathered.origin, "repetition": repetition_record(heading)}
    return summarise_estimate(found).open(record)


def render(path: Path, found: Findings, gathered: ReportInput, heading: Heading) -> str:
    """Return the content of a file, by its ending."""
    outcome, ending = found.outcomes[0], path.suffix.lower()
    if ending == ".csv":
        return files.estimate_csv(found.survey, outcome.estimate, found.band)
    if ending == ".geojson":
        return files.estimate_geojson(found.survey, outcome, found.band, found.answers, found.windows)
    if ending == ".json":
        return to_json(record_of(found, gathered, heading)) + "\n"
    if len(gathered.pool) > 1:
        raise InvalidParameterError("A page shows one survey, and these are counts of several. Write .csv or .json.")
    from confide.present.pages import show_page

    return show_page(summarise_estimate(complete(found), is_page=True))


def ask(survey: Survey, answer: Estimate, questions: Questions, level: Level, *, has_band: bool) -> dict[str, Any]:
    """Ask for median, mean, the queries, and the resolved windows."""
    alphabet, undivided = answer.alphabet, why_undivided(answer)
    is_unbidden = isinstance(alphabet.geometry, LineGeometry) and not undivided
    unbidden: list[float | None] = [0.5, *([None] if alphabet.has_mean else [])] if is_unbidden else []
    together = len(questions.queries) + len(questions.statistics) if level.is_joint else 1
    each = level_of_each(level.share, together)
    # What was asked for is to hold at once where that is said; what comes unasked has the level by itself.
    others = [one for one in unbidden if one not in questions.statistics]
    statistics: dict[float | None, Interval] = {}
    for wanted, own, number in ((questions.statistics, each, together), (others, level.share, 1)):
        some = sorted(wanted, key=lambda share: share or 0.0)  # the mean comes first
        shares = [one for one in some if one is not None]
        asked = answer.statistics(shares, own, mean=None in some) if some else []
        statistics |= {share: one.among(number, level.share) for share, one in zip(some, asked, strict=True)}
    found = [statistics[one] for one in dict.fromkeys([*unbidden, *questions.statistics])]
    if questions.queries:
        asked = answer.queries(questions.queries, each, name=survey.name)
        found += [one.among(together, level.share) for one in asked]
    if has_band and answer.blocks is not None:
        warn(f"{alphabet.size:,} cells get no interval each: there are too many. Ask for areas, with --query.")
    band = answer.interval(level.share) if has_band and answer.blocks is None else None
    windows = None
    # Of many combinations each attribute has windows of its own.
    if not undivided and (alphabet.attributes is None or alphabet.size <= SMALL):
        if alphabet.attributes is None and alphabet.size > SOON:
            size = f"{alphabet.size:,} {'cells' if isinstance(alphabet.geometry, PlaneGeometry) else 'values'}"
            say(f"Finding the windows that these reports tell among {size}; it may take a minute.", stderr=True)
        windows = answer.windows(level=level.share, name=survey.name)
    return {"answers": tuple(found), "windows": windows, "undivided": undivided, "band": band}


def tables_beside(outputs: list[Path], tables: Findings) -> dict[Path, str]:
    """Return a CSV file for each attribute and cross table.

    They stand beside that of the whole estimate.
    """
    found: dict[Names, str] = {(name,): files.margin_csv(name, *one) for name, one in (tables.marginals or {}).items()}
    found |= {table.names: files.cross_csv(table) for table in tables.crosses}
    return {path: found[names] for path, names in paths_beside(outputs, found).items()}


def paths_beside(outputs: list[Path], tables: Iterable[Names]) -> dict[Path, Names]:
    """Return paths of tables beside the CSV files of the estimate.

    >>> [path.name for path in paths_beside([Path("estimate.csv"), Path("page.html")], [("age",), ("age", "sex")])]
    ['estimate.age.csv', 'estimate.age-sex.csv']
    """
    paths = [path for path in outputs if path.suffix.lower() == ".csv"]
    return {path.with_suffix(f".{'-'.join(names)}.csv"): names for names in tables for path in paths}


def choose_tables(survey: Survey, shown: list[str]) -> tuple[Names, list[Names]]:
    """Choose the attributes to show alone, and the cross tables.

    Of many combinations, each attribute.
    """
    alphabet = survey.alphabet.attributes
    if alphabet is None:
        if shown:
            raise InvalidParameterError(
                f'--show {shown[0]} is for surveys of several attributes, of kind = "attributes"; {survey.name} is one '
                f"value, and takes --show all."
            )
        return (), []
    tables = list(dict.fromkeys(split_names("--show", [one]) for one in shown))
    for one in tables:
        alphabet.part(*one)  # which refuses what is not there
    names = tuple(one[0] for one in tables if len(one) == 1)
    crosses = [one for one in tables if len(one) > 1]
    return names or (alphabet.names if alphabet.size > SMALL else ()), crosses


def tabulate(answer: Estimate, names: Names, crosses: list[Names], level: Level) -> dict[str, Any]:
    """Estimate each attribute alone, find its windows, fill cross tables."""
    if not answer.is_distribution:
        return {}
    marginals: dict[str, tuple[Estimate, Windows | None]] = {}
    for name in names:
        own = answer.marginal(name)
        marginals[name] = own, None if why_undivided(own) else own.windows(level=level.share, name=name)
    return {
        "marginals": marginals,
        "crosses": [answer.cross(*one, level=level.share, joint=level.is_joint) for one in crosses],
    }


def estimate_each_group(  # noqa: PLR0913 - what the command was given
    counts: CountsFile,
    survey: Survey,
    method: Method,
    questions: Questions,
    level: float | None,
    outputs: list[Path],
    *,
    everything: bool,
    verbose: bool,
    as_json: bool,
) -> GroupFits:
    """Estimate every group, write and show results; return how they fit."""
    groups = len(counts.groups)
    # Mean and median of up to fifty groups get intervals unasked, in a few seconds.
    is_asked = bool(questions.queries or questions.statistics) or level is not None or groups <= 50
    _warn_before(groups, survey, method, level, is_asked=is_asked)
    with progress_bar(method.name, groups) as advance:
        found = files.estimate_file(counts, survey, method, progress=advance)
    answers = _ask_groups(found, questions, level) if is_asked else GroupAnswers()
    with progress("Testing the fit, and for differences"):
        fits, _ = found.fits, found.differences
        rows, promised = str(counts.heading.rows), promise_line(counts.heading)
        summary = summarise_groups(found, answers, rows=rows, promised=promised)
        record = files.groups_record(found, answers) | {"repetition": repetition_record(counts.heading)}
        record = summary.open(record)
    contents = {}
    for path in outputs:
        ending = path.suffix.lower()
        if ending == ".html":
            from confide.present.pages import groups_page

            contents[path] = groups_page(found, answers)
        else:
            contents[path] = files.groups_csv(found, answers) if ending == ".csv" else to_json(record) + "\n"
    for path, content in contents.items():
        write_text(path, content)
    if as_json:
        show_json(record)
        if fits.is_bad:
            warn(fits.headline)
        if found.untold and not found.identification.is_no:
            warn(found.describe_untold(files.label_group))
    else:
        show_summary(summary, console(), everything=everything, verbose=verbose, more=more_of("estimate", outputs))
        for path in outputs:
            say_exactly(f"Wrote {path}")
    _warn_of_endings(found, groups)
    warn_over_limit(counts.heading)
    return fits


def _warn_before(groups: int, survey: Survey, method: Method, level: float | None, *, is_asked: bool) -> None:
    """Say what takes long, and what is left out."""
    if survey.shape is not None:
        warn(
            f"The survey declares the shape {survey.shape} of all people together, and a group need not have it: each "
            f"is estimated without, and so are its intervals."
        )
    # Seconds a group for a hundred values: by the default method, and for mean, median and a query.
    seconds = groups * (0.02 * isinstance(method, Stacked) + 0.05 * is_asked)
    if groups >= MANY and seconds > 0:
        faster = "; --method ibu takes all of them together, in less" if isinstance(method, Stacked) else ""
        warn(f"{groups:,} groups take about {_duration(seconds)} for a hundred values{faster}.")
    if level is not None and groups > MOST_BANDS:  # a band takes about three seconds
        warn(
            f"mean, median and queries get intervals, single values do not: these would take about "
            f"{_duration(3.0 * groups)} for {groups:,} groups. For a few groups, count those alone."
        )


def _ask_groups(found: files.SurveyGroups, questions: Questions, level: float | None) -> GroupAnswers:
    shares = [one for one in questions.statistics if one is not None]
    with progress_bar("Finding intervals", len(found)) as advance:
        asked = files.ask_groups(found, questions.queries, level or USUAL_LEVEL, quantiles=shares, progress=advance)
    if level is None or len(found) > MOST_BANDS:
        return GroupAnswers(asked)
    with progress_bar("Intervals of single values", len(found)) as advance:
        return GroupAnswers(asked, found.interval(level, progress=advance))


def _warn_of_endings(found: files.SurveyGroups, groups: int) -> None:
    early = sum(one.status in (Status.ITERATION_LIMIT, Status.TIME_LIMIT) for one in found.values())
    if early:
        warn(
            f"{early:,} of {len(found):,} groups ended before their goal. In Python, IBU(iteration_limit=...) goes on."
        )
    if groups > len(found):
        warn(f"{groups - len(found):,} groups have no reports, and no estimate.")


def _duration(seconds: float) -> str:
    """Return a time in words.

    >>> _duration(45), _duration(200), _duration(30_000)
    ('45 seconds', '3 minutes', '8 hours')
    """
    if seconds < 90:
        return counted(max(1, round(seconds)), "second")
    return counted(round(seconds / 60), "minute") if seconds < 5400 else counted(round(seconds / 3600), "hour")
