"""confide estimate: recover the distribution from a file of reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from confide.cli.main import NoAnswerError
from confide.cli.terminal import give, progress, progress_bar, say, warn, warn_of
from confide.cli.usage import (
    DEFAULT,
    QUERY,
    USUAL_LEVEL,
    AsJson,
    Cell,
    DifferentPeople,
    Level,
    Questions,
    SurveyPath,
    Verbose,
    argument,
    as_level,
    check_formats,
    check_outputs,
    check_queries,
    choose_cells,
    local_counts,
    name_reports,
    option,
    outputs_option,
    promise_line,
    read_questions,
    repetition_record,
    split_names,
    take_reports,
    warn_over_limit,
)
from confide.data import files
from confide.data.counting import ReportInput
from confide.data.counting.waves import read_waves
from confide.data.files import (
    CountsFile,
    GroupAnswers,
    Heading,
    Rows,
    describe_left_out,
    is_counts_file,
    read_counts,
    read_values,
    to_json,
)
from confide.errors import InvalidParameterError
from confide.estimates.changes import Linked, Series
from confide.estimates.estimate import Estimate, assess_pool
from confide.estimates.explanations import WHEN_ENDED_EARLY, why_undivided
from confide.estimates.inference import Interval, Windows, check_level, level_of_each
from confide.evidence.counts import Counts
from confide.evidence.shapes import Shape
from confide.present.changes import summarise_series
from confide.present.estimates import Findings, complete, summarise_estimate
from confide.present.groups import summarise_groups
from confide.present.summary import Summary, caution_fits
from confide.present.terminal import SMALL
from confide.solve.methods import METHODS, Method, Stacked, Status
from confide.surveys.survey import Survey, load_survey
from confide.theory.likely_subsets import likely_subset
from confide.values import Alphabet, LineGeometry, PlaneGeometry, UnorderedGeometry
from confide.values.checks import check_choice
from confide.values.geojson import read_lines
from confide.values.wording import counted

EXAMPLES = (
    "confide estimate survey.toml reports.csv",
    'confide estimate survey.toml reports.csv --query "age >= 65" -o page.html',
    'confide estimate survey.toml reports.csv --query mean --query "quantile 90%"',
    'confide estimate survey.toml reports.csv --shape "falling from 50"',
    "confide estimate survey.toml reports.csv --truth values.csv -v",
    "confide estimate city.toml reports.csv --query districts.geojson",
    "confide estimate survey.toml http://127.0.0.1:8000 --json",
    "confide estimate survey.toml counts.parquet -o groups.csv",
    "confide estimate survey.toml reports.csv --over week --person pseudonym",
)


def estimate(  # noqa: PLR0913, PLR0915 - one argument an option
    survey: SurveyPath,
    reports: Annotated[
        Path,
        argument(
            "Counts of confide count, a collector's URL, or reports: CSV, Parquet, JSON lines; - for standard input.",
            "REPORTS",
        ),
    ],
    *,
    query: Annotated[
        list[str] | None,
        option(f"{QUERY}, mean, median, quantile 0.9; repeatable. Lines of a .geojson are drawn on the maps.", "QUERY"),
    ] = None,
    interval: Annotated[
        Level | None,
        option(
            'Confidence level; adds an interval for each value. "95% joint": for all --query at once. [default: 95%]',
            "LEVEL",
            parser=as_level,
        ),
    ] = None,
    show: Annotated[
        list[str] | None,
        option(
            "all: every value. With several attributes: one (age) or a cross table (age,sex); repeatable.",
            "all|NAME|NAME,NAME",
        ),
    ] = None,
    output: Annotated[list[Path] | None, outputs_option("a .html page, .csv, .json, or .geojson of places")] = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
    method: Annotated[
        str,
        option(
            f"How to recover the distribution: {', '.join(METHODS)}. [default: {DEFAULT}, which chooses by "
            "cross-validation]",
            "METHOD",
            panel="Assumptions",
        ),
    ] = DEFAULT,
    shape: Annotated[
        list[str] | None,
        option(
            'Assume a shape: "falling from 50", "smooth = 3", or "none"; repeatable. [default: the survey\'s]',
            "WORDS",
            panel="Assumptions",
        ),
    ] = None,
    different_people: DifferentPeople = False,
    truth: Annotated[Path | None, option("True values, to measure the error.", "VALUES", panel="Checks")] = None,
    cell: Cell = None,
    over: Annotated[
        str | None,
        option(
            "The column of a week, date or wave: a line, its changes, and a test for any.",
            "COLUMN",
            panel="Over time",
        ),
    ] = None,
    person: Annotated[
        str | None,
        option("The column that says whose report each is, for people who answer again.", "COLUMN", panel="Over time"),
    ] = None,
) -> None:
    """Recover the distribution of the true values from the reports.

    The answer comes first, with confidence intervals; -v shows how it was computed. Counts by groups get an estimate
    for each group, and a test whether it differs from the others; --over follows them over time. A column called
    'count' says how often a row's report was seen.
    """
    # Messages name what was typed; the counts of a URL are read from a file that goes when the command ends.
    given, reports = reports, local_counts(reports, survey)
    check_choice("--method", method, tuple(METHODS))
    chosen, outputs = METHODS[method], output or []
    level = interval or Level(USUAL_LEVEL)
    check_level("--interval", level.share)
    check_formats(outputs, (".csv", ".json", ".html", ".geojson"))
    asked_by = load_survey(survey)
    contract = choose_cells(asked_by, cell)
    form = _choose_shape(contract, shape or [])
    questions = read_questions(query or [], contract, is_drawn=True)
    attributes = contract.alphabet.attributes
    # An attribute that is called so is meant, where there is one.
    everything = "all" in (show or ()) and (attributes is None or "all" not in attributes.names)
    shown = [one for one in show or () if one != "all" or not everything]
    names, crosses = choose_tables(contract, shown)
    beside = paths_beside(outputs, [*zip(names, strict=True), *crosses]) if shown else {}
    # Refused before any work: an estimate may take minutes.
    check_outputs([*outputs, *beside], [survey, reports, truth, *questions.areas])
    if contract.alphabet.is_finite:  # of unbounded values the likely ones are asked, when these are known
        contract.alphabet.require_listable()
        check_queries(contract, questions.queries)
    maps = [path for path in outputs if path.suffix.lower() == ".geojson"]
    if questions.areas or maps:
        contract.alphabet.corners([0])  # which refuses what lies nowhere on the Earth, before any work is done
    # Borders of the areas that are asked for help to find them on the map.
    lines = [line for path in questions.areas for line in read_lines(path)]
    counted, linked = _read_groups(reports, asked_by, name_reports(given), over, person)
    if counted is not None:
        counted = counted.of_different_people(different_people)
        if counted.heading.by:
            alone: dict[str, object] = {"--truth": truth, "--shape": shape, "--show": shown, "--cell": cell}
            alone |= {"--interval joint": level.is_joint, "-o .geojson": maps}
            _refuse_for_groups(alone)
            # None means that single values get no interval: for many groups these take long.
            share = None if interval is None else level.share
            estimate_each_group(
                counted,
                contract,
                chosen,
                questions,
                share,
                outputs,
                over=over,
                linked=linked,
                everything=everything,
                verbose=verbose,
                as_json=as_json,
            )
            return
    true_rows = None if truth is None else read_values(truth, contract)
    if true_rows is not None:
        true_rows.account.require_usable("These are the true values. Nothing was written. Correct these rows.")
        true_rows.account.require_any(true_rows.alphabet, "True values")
    gathered = take_reports(reports, given, asked_by, contract, are_different=different_people)
    # The truth is laid out over the values of the estimate, which of unbounded values are known only now.
    known = None if true_rows is None else _true_distribution(true_rows, contract, gathered.counts)
    with progress(_announced(chosen.name, contract.mechanism.alphabet)) as monitor:
        outcome = assess_pool(gathered.pool, chosen, shape=form, truth=known, monitor=monitor)
    answer = outcome.estimate
    # Fit and shape are computed when first asked for; here, so that the progress says what takes the time.
    with progress("Testing the fit"):
        fits_of_this = answer.fit, answer.shape_fit
    with progress("Finding intervals"):
        found = ask(contract, answer, questions, level, has_band=interval is not None and not level.is_joint)
        tables = tabulate(answer, names, crosses, level)
    # Of a file of reports, the heading that counts of it would have.
    heading = gathered.heading or Heading((contract,), (), gathered.account)
    account = None if true_rows is None else true_rows.account
    finding = Findings(
        contract,
        gathered.counts,
        (outcome,),
        known,
        "" if account is None else account.description,
        background=tuple(lines),
        source=gathered.description,
        notes=gathered.notes,
        files=heading.files,
        promised=promise_line(heading),
        **found,
        **tables,
    )
    summary = summarise_estimate(finding)
    record = partial(record_of, finding, gathered, heading, summary)
    contents = {path: render(path, finding, gathered, record) for path in outputs}
    contents |= tables_beside(outputs, finding) if shown else {}
    rows = {"rows": gathered.account.record, "truth_rows": None if account is None else account.record}
    give(
        "estimate",
        summary,
        lambda: record() | rows,
        contents,
        as_json=as_json,
        verbose=verbose,
        everything=everything,
    )
    note = describe_left_out(answer.alphabet) if maps and not as_json else ""
    if note:
        say(note)
    _warn_of_ending(finding, as_json=as_json)
    warn_over_limit(heading)
    warn_of(caution_fits(*fits_of_this) if as_json else [])


def _choose_shape(survey: Survey, words: Sequence[str]) -> Shape | None:
    """Return the shape: the survey's, or that of an option.

    The option may repeat the survey's shape, or drop it.
    """
    if not words:
        return survey.shape
    plain = [one.strip().lower() for one in words]
    if plain == ["none"]:
        return None
    if "none" in plain:
        raise InvalidParameterError("--shape none leaves the survey's shape out; it goes with no other --shape.")
    asked = Shape.of(list(words))
    asked.check(survey.alphabet, survey.name)  # before any work is done
    return survey.shape if asked == survey.shape else asked


def _read_groups(
    reports: Path, survey: Survey, name: str, over: str | None, person: str | None
) -> tuple[CountsFile | None, Linked | None]:
    """Read counts, or waves with their people; None for one group."""
    if over is not None:
        return read_waves(reports, survey, over, person)
    if person is not None:
        raise InvalidParameterError("--person is for --over: it links the reports of several waves.")
    if not is_counts_file(reports):
        return None, None
    counted = read_counts(reports)
    counted.heading.require(survey, name)
    return counted, None


def _refuse_for_groups(options: dict[str, object]) -> None:
    refused = next((name for name, value in options.items() if value), None)
    if refused is not None:
        raise InvalidParameterError(
            f"{refused} is for one distribution; these counts are of several groups. Leave it out."
        )


def _warn_of_ending(found: Findings, *, as_json: bool) -> None:
    """Warn of what speaks against an answer.

    With JSON, also of what the summary has a line for.
    """
    answer = found.estimate
    if as_json and found.undivided and found.alphabet.grid is not None:
        say(f"Districts are left out: {found.undivided}.", stderr=True)
    if as_json and not answer.is_told and not answer.identification.is_no:
        warn(str(answer.uniformity))
    if answer.status in WHEN_ENDED_EARLY:
        warn(f"{answer.ending}. {WHEN_ENDED_EARLY[answer.status]}")


def _true_distribution(rows: Rows, survey: Survey, counts: Counts) -> NDArray[np.float64]:
    """Return the truth over the values that the estimate will be over."""
    if survey.alphabet.is_finite:
        return rows.distribution()
    likely = likely_subset(counts, survey.mechanism).alphabet
    missed = int((~likely.contains(likely.as_array(rows.tally().reports))).sum())
    if missed:
        lie = "lies" if missed == 1 else "lie"
        bounds = 'kind = "grid" with rows and columns' if survey.alphabet.geometry.dimensions == 2 else "low and high"
        raise NoAnswerError(
            f"{missed:,} of the distinct true values {lie} beyond all reports, where the estimate is not looked for, "
            f"so its distance from the truth is not known. Leave out --truth, or make a copy of the survey whose "
            f"[alphabet] has {bounds}; the reports need not be made again."
        )
    return replace(rows, alphabet=likely).distribution()


def _announced(name: str, alphabet: Alphabet) -> str:
    """Return a method's name, with a warning if it takes long.

    A million values and 200 reports take 25 s.

    >>> from confide import Integers
    >>> _announced("IBU", Integers(0, 999_999))
    'IBU over 1,000,000 values, which may take a minute'
    """
    # A fifth of the million values that took the default 22 s of processor.
    is_long = alphabet.is_finite and alphabet.size > 200_000
    return f"{name} over {alphabet.size:,} values, which may take a minute" if is_long else name


SOON = 200
"""Values up to which windows are found in a second or two."""

MANY = 500
"""Groups from which on it is said beforehand how long they take: ten seconds and more."""

MOST_BANDS = 25
"""Groups up to which --interval also gives every value of each group an interval: a minute or so."""

Names = tuple[str, ...]
"""Attributes by their names."""


def record_of(found: Findings, gathered: ReportInput, heading: Heading, summary: Summary) -> dict[str, Any]:
    """Return all that was found for machines."""
    record = files.estimate_record(
        found.survey, found.counts, found.outcomes[0], found.band, found.answers, found.windows
    )
    record |= files.tables_record(found.marginals or {}, found.crosses)
    record |= {"origin": gathered.origin, "repetition": repetition_record(heading)}
    return summary.open(record)


def render(path: Path, found: Findings, gathered: ReportInput, record: Callable[[], dict[str, Any]]) -> str:
    """Return the content of a file, by its ending."""
    outcome, ending = found.outcomes[0], path.suffix.lower()
    if ending == ".csv":
        return files.estimate_csv(found.survey, outcome.estimate, found.band)
    if ending == ".geojson":
        return files.estimate_geojson(found.survey, outcome, found.band, found.answers, found.windows)
    if ending == ".json":
        return to_json(record()) + "\n"
    if len(gathered.pool) > 1:
        raise InvalidParameterError("A page shows one survey, and these are counts of several. Write .csv or .json.")
    from confide.present.pages import show_page

    return show_page(summarise_estimate(complete(found), is_page=True))


def ask(survey: Survey, answer: Estimate, questions: Questions, level: Level, *, has_band: bool) -> dict[str, Any]:
    """Ask for median, mean, the queries, and the resolved windows."""
    alphabet, undivided = answer.alphabet, why_undivided(answer)
    # Median and mean cost little on a line, and are what most people ask next.
    is_unbidden = isinstance(alphabet.geometry, LineGeometry) and not undivided
    unbidden: list[float | None] = [0.5, *([None] if alphabet.has_mean else [])] if is_unbidden else []
    together = len(questions.queries) + len(questions.statistics) if level.is_joint else 1
    # Bonferroni: together they hold at the level that was asked for.
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
            say(f"Finding the ranges that these reports resolve among {size}. This may take a minute.", stderr=True)
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
    # Named twice, a table is still one file.
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
    over: str | None = None,
    linked: Linked | None = None,
    everything: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Estimate every group, write and show results.

    Groups `over` a column are waves: they have a line and its changes.
    """
    groups = len(counts.groups)
    if over is not None:
        questions = _questions_over(survey, questions)
    # Mean and median of up to fifty groups get intervals unasked, in a few seconds.
    is_asked = bool(questions.queries or questions.statistics) or level is not None or groups <= 50 or over is not None
    _warn_before(groups, survey, method, level, is_asked=is_asked)
    with progress_bar(method.name, groups) as advance:
        found = files.estimate_file(counts, survey, method, progress=advance)
    answers = _ask_groups(found, questions, level) if is_asked else GroupAnswers()
    with progress("Testing the fit, and for differences"):
        fits, _ = found.fits, found.differences
        told: dict[str, Any] = {"rows": str(counts.heading.rows), "promised": promise_line(counts.heading)}
        series = [] if over is None else _follow(found, answers, questions, linked)
        record = files.groups_record(found, answers) | {"repetition": repetition_record(counts.heading)}
        record |= {"over": [files.series_record(one) for one in series]} if series else {}
        summary = _summarise(found, answers, series, **told)
        record = summary.open(record)
    contents = {path: _render_groups(path, found, answers, series, record) for path in outputs}
    give("estimate", summary, lambda: record, contents, as_json=as_json, verbose=verbose, everything=everything)
    if as_json and fits.is_bad:
        warn(fits.headline)
    if as_json and found.untold and not found.identification.is_no:
        warn(found.describe_untold(files.label_group))
    _warn_of_endings(found, groups)
    warn_over_limit(counts.heading)


def _summarise(found: files.SurveyGroups, answers: GroupAnswers, series: list[Series], **told: Any) -> Summary:
    return summarise_series(found, answers, series, **told) if series else summarise_groups(found, answers, **told)


def _render_groups(
    path: Path, found: files.SurveyGroups, answers: GroupAnswers, series: list[Series], record: dict[str, Any]
) -> str:
    """Return the content of a file, by its ending."""
    ending = path.suffix.lower()
    if ending == ".html":
        from confide.present.pages import show_page

        return show_page(_summarise(found, answers, series, is_page=True))
    if ending == ".csv":
        return files.series_csv(series) if series else files.groups_csv(found, answers)
    return to_json(record) + "\n"


def _questions_over(survey: Survey, questions: Questions) -> Questions:
    """Return what to follow over time.

    Where nothing is asked, the share of each category.
    """
    # Numbers have a median to follow; categories have shares; all else must be asked for.
    if questions.queries or questions.statistics or survey.alphabet.has_numbers:
        return questions
    if not isinstance(survey.alphabet.geometry, UnorderedGeometry):
        raise InvalidParameterError("Say what to follow over time: --query QUERY.")
    return replace(questions, queries=files.shares_of(survey))


def _follow(
    found: files.SurveyGroups, answers: GroupAnswers, questions: Questions, linked: Linked | None
) -> list[Series]:
    shares = [one for one in questions.statistics if one is not None]
    return files.follow_groups(found, answers, files.questions_of(found, questions.queries, shares), linked)


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
    # In a table of groups, one that ended before its goal looks like any other.
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
