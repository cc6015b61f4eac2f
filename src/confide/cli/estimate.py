"""confide estimate: recover the distribution from a file of reports."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from confide.alphabets import Alphabet, Attributes, Grid, Integers, Lattice
from confide.cli.attributes import CrossTables, choose_tables, show_cross, tabulate
from confide.cli.collector import local_counts, name_reports, take_named
from confide.cli.groups import Wanted, estimate_each_group
from confide.cli.numbers import as_amount, as_count, as_share
from confide.cli.repetition import promise_line, repetition_record, warn_over_limit
from confide.cli.terminal import (
    SMALL,
    console,
    fit_line,
    identified_line,
    noise_lines,
    note_not_identified,
    note_poor_fit,
    progress,
    say,
    say_exactly,
    shape_lines,
    show_json,
    show_pairs,
    uniform_line,
    warn,
)
from confide.cli.usage import (
    CURE,
    DEFAULT,
    USUAL_LEVEL,
    AsJson,
    Cell,
    Columns,
    DifferentPeople,
    Mean,
    Median,
    MethodName,
    NoAnswerError,
    Quantiles,
    Rejects,
    ShapeWords,
    Statistic,
    Strict,
    SurveyPath,
    Within,
    check_formats,
    check_outputs,
    check_queries,
    choose_cells,
    choose_method,
    choose_shape,
    choose_statistics,
    count_on_cells,
    end_strictly,
    gather_queries,
    outputs_option,
    separated,
)
from confide.comparisons import Outcome, assess_pool
from confide.counting import ReportInput
from confide.counts import Counts
from confide.diagnosis import why_undivided
from confide.errors import InvalidParameterError
from confide.estimates import Estimate
from confide.explanations import WHEN_ENDED_EARLY
from confide.files import (
    Account,
    Heading,
    Rows,
    cross_csv,
    describe_left_out,
    estimate_csv,
    estimate_geojson,
    estimate_record,
    is_counts_file,
    margin_csv,
    read_counts,
    read_values,
    tables_record,
    to_json,
    write_text,
)
from confide.geojson import read_lines
from confide.intervals import Band, Interval, Windows, check_level, level_of_each
from confide.methods import IBU, MLE, Method
from confide.queries import Query
from confide.surveys import Survey, load_survey
from confide.theory.fit import IN_DOUBT
from confide.theory.likely_subsets import likely_subset
from confide.theory.shapes import SHAPE_IN_DOUBT
from confide.wording import listed

MORE_INTERVALS = "--interval 0.95 gives one for each value; --query, --mean, --median and --quantile come with theirs"
"""Line that says what else can be asked."""

SOON = 200
"""Values up to which windows are found in a second or two."""

LONG = 200_000
"""A fifth of the million values that took the default 22 s of processor with 200 reports."""

EXAMPLES = (
    "confide estimate survey.toml reports.csv",
    "confide estimate survey.toml reports.csv --truth values.csv -o estimate.csv -o estimate.html",
    'confide estimate survey.toml reports.csv --shape "falling from 50" --query "age >= 65"',
    'confide estimate survey.toml reports.csv --interval 0.95 --query "age >= 65" -o estimate.html',
    "confide estimate survey.toml reports.csv --mean --median --quantile 90%",
    "confide estimate survey.toml reports.csv --method inversion-project --json",
    'confide estimate city.toml reports.csv --within district.geojson --query "within 2 km of 40.75, -73.98"',
    "confide estimate survey.toml http://127.0.0.1:8000",
    "confide estimate survey.toml counts.parquet -o estimates.csv -o estimates.html",
)

FORMATS = (".csv", ".json", ".html", ".geojson")


def estimate(  # noqa: PLR0913, PLR0915 - one argument an option
    survey: SurveyPath,
    reports: Annotated[
        Path,
        typer.Argument(
            metavar="REPORTS",
            help="Counts that confide count wrote, the URL of a collector, or reports: CSV (.gz or not), Parquet, JSON "
            "lines; - for standard input.",
        ),
    ],
    *,
    method: MethodName = None,
    delta: Annotated[
        float | None,
        typer.Option(
            parser=as_amount,
            metavar="X",
            help=f"For ibu: stop when a step changes the total log-likelihood by less. [default: {IBU().delta:g}]",
            show_default=False,
        ),
    ] = None,
    iteration_limit: Annotated[
        int | None,
        typer.Option(
            parser=as_count,
            metavar="N",
            help=f"Give up after so many iterations. [default: ibu {IBU().iteration_limit:,}, "
            f"mle {MLE().iteration_limit:,}]",
            show_default=False,
        ),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(
            parser=as_share,
            metavar="LEVEL",
            help="Also give intervals that hold the truth this often, 0.95 or 95%: in the table, as columns low and "
            "high of a CSV file, and as a band in the page.",
            show_default=False,
        ),
    ] = None,
    shape: ShapeWords = None,
    query: Annotated[
        list[str] | None,
        typer.Option(
            metavar="QUERY",
            help='Also answer "age >= 65", "answer in {yes, no}" or "within 2 km of 40.75, -73.98", with an interval '
            f"at the level of --interval [default: {USUAL_LEVEL:g}]; may be repeated.",
            show_default=False,
        ),
    ] = None,
    within: Within = None,
    cell: Cell = None,
    background: Annotated[
        Path | None,
        typer.Option(
            metavar="LINES",
            help="Draw the lines of a GeoJSON file, such as a coast or streets, on the maps of the page.",
            show_default=False,
        ),
    ] = None,
    mean: Mean = False,
    median: Median = False,
    quantile: Quantiles = None,
    marginal: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Of a survey of several attributes: estimate this one by itself, with its windows; may be repeated. "
            "[default: each, where there are many combinations]",
            show_default=False,
        ),
    ] = None,
    cross: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME,NAME",
            help="Of a survey of several attributes: a cross table of these, such as age,sex, with an interval for "
            "each entry and the totals; may be repeated.",
            show_default=False,
        ),
    ] = None,
    joint: Annotated[
        bool,
        typer.Option(
            "--joint", help="Let queries, mean, median and quantiles hold the truth all together, and each cross table."
        ),
    ] = False,
    prospect: Annotated[
        bool,
        typer.Option("--prospect", help="Also say what a query's width comes from, and what would narrow it."),
    ] = False,
    truth: Annotated[
        Path | None,
        typer.Option(
            metavar="VALUES",
            help="True values, to measure the distance from; rows of it that cannot be used go to --rejects too.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        list[Path] | None, outputs_option("the estimate as .csv, .json, a .html page, or .geojson of places")
    ] = None,
    column: Columns = None,
    different_people: DifferentPeople = False,
    rejects: Rejects = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every value, not ranges or the likeliest.")] = False,
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Recover the distribution of the true values from the reports.

    With no --method it weighs several by reports that it holds out, and says what it chose. It says how the method
    ended, whether the reports fit the survey and, of a method that climbs to the maximum of the likelihood, how far
    below it the answer can be. An iteration limit that is reached is a warning, not an error. A column called 'count'
    says how often a row's report was seen.
    From counts by groups, every group gets an estimate of its own, mean, median and queries with intervals, and whether
    it differs from the others.
    """
    given, reports = reports, local_counts(reports, survey)
    # --delta and --iteration-limit alone ask for ibu, whose they are.
    asked = method or (DEFAULT if delta is None and iteration_limit is None else "ibu")
    chosen, outputs = _choose_method(asked, delta, iteration_limit), output or []
    level = USUAL_LEVEL if interval is None else interval
    check_level("--interval", level)
    check_formats(outputs, FORMATS)
    check_outputs([*outputs, rejects], [survey, reports, truth, background, *(within or ())])
    asked_by, queries = load_survey(survey), gather_queries(query, within)
    contract = choose_cells(asked_by, cell)
    form = choose_shape(contract, shape or [])
    names, crosses = choose_tables(contract, marginal or [], cross or [])
    statistics = choose_statistics(contract, mean=mean, median=median, quantiles=quantile)
    if contract.alphabet.is_finite:  # of unbounded values the likely ones are asked, when these are known
        contract.alphabet.require_listable()
        check_queries(contract, queries)
    lines = _take_background(contract, outputs, background, within or [])
    if is_counts_file(reports):
        counted = read_counts(reports)
        counted.heading.require(asked_by, name_reports(given))
        counted = counted.of_different_people(different_people)
        if counted.heading.by:
            alone: dict[str, object] = {"--truth": truth, "--shape": shape, "--marginal": marginal, "--cross": cross}
            alone |= {"--joint": joint or None, "--prospect": prospect or None, "--cell": cell}
            _refuse_for_groups(alone | {"--background": background, "-o .geojson": _maps(outputs) or None})
            _warn_of_groups(contract)
            wanted = Wanted(queries, statistics, interval, outputs, everything, as_json)
            fits = estimate_each_group(counted, contract, chosen, wanted)
            end_strictly(fits, strict=strict)
            return
    true_rows = None if truth is None else _read_truth(truth, contract, is_sorted=rejects is not None)
    set_aside = () if true_rows is None else true_rows.rejected
    gathered = take_named(reports, given, asked_by, column or [], rejects, set_aside)
    gathered = count_on_cells(gathered, asked_by, contract)
    gathered = separated(gathered, is_known=different_people)
    counts = gathered.counts
    known = None if true_rows is None else _true_distribution(true_rows, contract, counts)
    with progress(_announced(chosen.name, contract.mechanism.alphabet)) as monitor:
        outcome = assess_pool(gathered.pool, chosen, shape=form, truth=known, monitor=monitor)
    with progress("Testing the fit"):
        fit, shape_fit = outcome.estimate.fit, outcome.estimate.shape_fit
    with progress("Finding intervals"):
        questions = Questions(queries, statistics, joint, prospect)
        found = _ask(contract, outcome, questions, level, has_band=interval is not None)
        tables = tabulate(outcome.estimate, names, crosses, level, joint=joint)
        found = replace(found, truth=None if true_rows is None else true_rows.account, tables=tables)
        found = replace(found, background=tuple(lines))
    # All are rendered before the first is written, so that a missing package leaves none behind.
    contents = [_render(path, contract, gathered, outcome, known, found) for path in outputs]
    beside = {} if not marginal and not crosses else _tables_beside(outputs, found.tables)
    for path, content in [*zip(outputs, contents, strict=True), *beside.items()]:
        write_text(path, content)
    if as_json:
        record = estimate_record(contract, counts, outcome, found.band, found.answers, found.windows)
        record |= tables_record(found.tables.marginals, found.tables.crosses)
        true_rows_record = None if found.truth is None else found.truth.record
        rows = {"rows": gathered.account.record, "truth_rows": true_rows_record, "origin": gathered.origin}
        show_json(record | rows | {"repetition": repetition_record(_heading(contract, gathered))})
    else:
        _show_in_words(contract, gathered, outcome, known, found, everything=everything)
        for path in [*outputs, *beside]:
            say_exactly(f"Wrote {path}")
        _say_what_is_left_out(outcome.estimate, outputs)
    _warn_of_ending(outcome.estimate, as_json=as_json)
    warn_over_limit(_heading(contract, gathered))
    if as_json:
        note_poor_fit(fit, as_json=True)
        note_poor_fit(shape_fit, as_json=True)
    end_strictly(fit, shape_fit, strict=strict)


def _maps(outputs: list[Path]) -> list[Path]:
    return [path for path in outputs if path.suffix.lower() == ".geojson"]


def _take_background(
    survey: Survey, outputs: list[Path], background: Path | None, within: list[Path]
) -> list[NDArray[np.float64]]:
    """Read the lines for maps, borders of areas that are asked for among them.

    Maps of what lies nowhere on the Earth are refused before any work is done.
    """
    if background is not None or _maps(outputs):
        survey.alphabet.corners([0])
    return [line for path in (background, *within) if path is not None for line in read_lines(path)]


def _say_what_is_left_out(answer: Estimate, outputs: list[Path]) -> None:
    note = describe_left_out(answer.alphabet) if _maps(outputs) else ""
    if note:
        say(note)


def _heading(survey: Survey, gathered: ReportInput) -> Heading:
    """Return the metadata of counts; of a file of reports, what counts of it would have."""
    return gathered.heading or Heading((survey,), (), gathered.account)


def _warn_of_ending(answer: Estimate, *, as_json: bool) -> None:
    if as_json and not answer.is_told and not answer.identification.is_no:
        warn(str(answer.uniformity))
    if answer.status in WHEN_ENDED_EARLY:
        warn(f"{answer.ending}. {WHEN_ENDED_EARLY[answer.status]}")


@dataclass(frozen=True, eq=False)
class Asked:
    """Answers beyond the distribution of an estimate: queries, means and quantiles, windows, a band over all values.

    `undivided` says why there are no windows; the truth is the account of the rows that the distance is measured from;
    the background are lines for the maps of a page.
    """

    answers: list[Interval]
    windows: Windows | None
    undivided: str
    band: Band | None
    truth: Account | None = None
    tables: CrossTables = field(default_factory=CrossTables)
    background: tuple[NDArray[np.float64], ...] = ()


@dataclass(frozen=True)
class Questions:
    """Questions beyond the distribution: whether answers hold together, and whether to say what would narrow them."""

    queries: list[Query]
    statistics: list[Statistic]
    joint: bool
    prospect: bool


def _choose_method(name: str, delta: float | None, iteration_limit: int | None) -> Method:
    method = choose_method(name)
    given = {"delta": delta, "iteration_limit": iteration_limit}
    settings = {key: value for key, value in given.items() if value is not None}
    if not settings:
        return method
    if delta is not None and not (isinstance(method, IBU) and method.stop == "delta"):
        raise InvalidParameterError(f"--delta only makes sense with --method ibu; got --method {name}.")
    if not isinstance(method, IBU | MLE):
        raise InvalidParameterError(f"--iteration-limit needs a method that iterates; got --method {name}.")
    return replace(method, **settings)  # type: ignore[arg-type]  # a float and an int, under their own names


def _read_truth(path: Path, survey: Survey, *, is_sorted: bool) -> Rows:
    """Read the true values; rows that cannot be used are an error, unless they are sorted out into a file."""
    rows = read_values(path, survey)
    if not is_sorted:
        rows.account.require_usable(f"These are the true values. {CURE}")
    rows.account.require_any(rows.alphabet, "True values")
    return rows


def _true_distribution(rows: Rows, survey: Survey, counts: Counts) -> NDArray[np.float64]:
    """Return the truth over the values that the estimate will be over."""
    if survey.alphabet.is_finite:
        return rows.distribution()
    likely = likely_subset(counts, survey.mechanism).alphabet
    missed = int((~likely.contains(likely.as_array(rows.tally().reports))).sum())
    if missed:
        lie = "lies" if missed == 1 else "lie"
        bounds = 'kind = "grid" with rows and columns' if isinstance(survey.alphabet, Lattice) else "low and high"
        raise NoAnswerError(
            f"{missed:,} of the distinct true values {lie} beyond all reports, where the estimate is not looked for, "
            f"so its distance from the truth is not known. Leave out --truth, or make a copy of the survey whose "
            f"[alphabet] has {bounds}; the reports need not be made again."
        )
    return replace(rows, alphabet=likely).distribution()


def _refuse_for_groups(options: dict[str, object]) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise InvalidParameterError(
            f"{given[0]} is for one distribution; these counts are of several groups. Leave it out."
        )


def _warn_of_groups(survey: Survey) -> None:
    if survey.shape is not None:
        warn(
            f"The survey declares the shape {survey.shape} of all people together, and a group need not have it: each "
            f"is estimated without, and so are its intervals."
        )


def _ask(
    survey: Survey,
    outcome: Outcome,
    questions: Questions,
    level: float,
    *,
    has_band: bool,
) -> Asked:
    """Ask for median and mean where values are numbers, for what was asked, and for the windows that reports tell."""
    answer = outcome.estimate
    undivided = why_undivided(answer)
    is_unbidden = isinstance(answer.alphabet, Integers) and not undivided
    unbidden = [Statistic(0.5), *([Statistic()] if answer.alphabet.has_mean else [])] if is_unbidden else []
    wanted = dict.fromkeys([*unbidden, *questions.statistics])
    together = len(questions.queries) + len(questions.statistics) if questions.joint else 1
    each = level_of_each(level, together)
    asked = _ask_statistics(answer, wanted, set(questions.statistics), (level, each, together))
    found = answer.queries(questions.queries, each, name=survey.name) if questions.queries else []
    for query, one in zip(questions.queries, found, strict=True):
        ahead = str(answer.prospect(query, each, name=survey.name)) if questions.prospect else ""
        asked.append(replace(one.among(together, level), prospect=ahead))
    if not undivided and answer.alphabet.size > SOON and not isinstance(answer.alphabet, Attributes):
        size = f"{answer.alphabet.size:,} {'cells' if isinstance(answer.alphabet, Grid) else 'values'}"
        say(f"Finding the windows that these reports tell among {size}; it may take a minute.", stderr=True)
    # Of many combinations each attribute has windows of its own.
    is_many = isinstance(answer.alphabet, Attributes) and answer.alphabet.size > SMALL
    windows = None if undivided or is_many else answer.windows(level=level, name=survey.name)
    if has_band and answer.blocks is not None:
        warn(f"{answer.alphabet.size:,} cells get no interval each: there are too many. Ask for areas, with --within.")
    return Asked(asked, windows, undivided, answer.interval(level) if has_band and answer.blocks is None else None)


def _ask_statistics(
    answer: Estimate, wanted: Iterable[Statistic], joint: set[Statistic], levels: tuple[float, float, int]
) -> list[Interval]:
    """Return mean and quantiles, side by side: those that are to hold together at the level of each, others as such."""
    level, each, together = levels
    found: dict[Statistic, Interval] = {}
    for is_joint, now in ((True, each), (False, level)):
        some = sorted((one for one in wanted if (one in joint) is is_joint), key=lambda one: one.share or 0.0)
        shares = [one.share for one in some if one.share is not None]
        answers = answer.statistics(shares, now, mean=Statistic() in some) if some else []
        found |= zip(some, answers, strict=True)
    return [found[one].among(together, level) if one in joint else found[one] for one in wanted]


def _render(
    path: Path,
    survey: Survey,
    gathered: ReportInput,
    outcome: Outcome,
    truth: NDArray[np.float64] | None,
    asked: Asked,
) -> str:
    counts = gathered.counts
    if path.suffix.lower() == ".csv":
        return estimate_csv(survey, outcome.estimate, asked.band)
    if path.suffix.lower() == ".geojson":
        return estimate_geojson(survey, outcome, asked.band, asked.answers, asked.windows)
    if path.suffix.lower() == ".json":
        record = estimate_record(survey, counts, outcome, asked.band, asked.answers, asked.windows)
        record |= tables_record(asked.tables.marginals, asked.tables.crosses)
        repetition = repetition_record(_heading(survey, gathered))
        return to_json(record | {"origin": gathered.origin, "repetition": repetition}) + "\n"
    if len(gathered.pool) > 1:
        raise InvalidParameterError("A page shows one survey, and these are counts of several. Write .csv or .json.")
    from confide.pages import estimate_page

    return estimate_page(
        survey,
        counts,
        [outcome],
        truth,
        band=asked.band,
        answers=asked.answers,
        windows=asked.windows,
        marginals=asked.tables.marginals,
        crosses=asked.tables.crosses,
        background=asked.background,
        notes=gathered.notes,
        files=_heading(survey, gathered).files,
    )


def _show_in_words(
    survey: Survey,
    gathered: ReportInput,
    outcome: Outcome,
    truth: NDArray[np.float64] | None,
    asked: Asked,
    *,
    everything: bool,
) -> None:
    from confide.cli.terminal import show_distribution
    from confide.explanations import explain_choices

    answer = outcome.estimate
    show_pairs(
        [
            *uniform_line(answer),
            *([("But", answer.dependence)] if answer.dependence else []),
            ("Survey", survey.title),
            ("Reports", f"{gathered.counts.total:,.10g}, from {gathered.description}"),
        ]
    )
    note_poor_fit(answer.fit)
    note_poor_fit(answer.shape_fit)
    note_not_identified(answer.identification)
    doubts = [IN_DOUBT] if answer.fit.is_bad else []
    doubts += [SHAPE_IN_DOUBT] if answer.shape_fit is not None and answer.shape_fit.is_bad else []
    _show_answers(asked.answers)
    if everything or not asked.tables.marginals:
        show_distribution(
            console(), survey.name, answer, truth, everything=everything, band=asked.band, windows=asked.windows
        )
    _show_tables(answer.alphabet, asked.tables, truth, everything=everything)
    show_pairs(
        [
            *noise_lines(gathered.counts.origin, gathered.notes),
            *promise_line(_heading(survey, gathered)),
            ("Method", repr(answer.method)),
            ("Status", f"{answer.status}: {answer.ending}"),
            *zip(("Chosen", *[""] * len(answer.choices)), explain_choices(answer.choices), strict=False),
            ("Log-likelihood", "none" if math.isnan(answer.log_likelihood) else f"{answer.log_likelihood:,.3f}"),
            *_certificate(answer),
            *fit_line(answer.fit),
            *shape_lines(answer.shape, answer.shape_fit, survey.shape),
            *_bases(asked, doubts),
            *identified_line(answer.identification),
            *([] if answer.considered is None else [("Looked among", answer.considered.reason)]),
            *([] if asked.truth is None else [("Truth", asked.truth.description)]),
            *_distances(survey, outcome, truth),
        ]
    )


def _show_tables(
    alphabet: Alphabet, tables: CrossTables, truth: NDArray[np.float64] | None, *, everything: bool
) -> None:
    """Print each attribute by its windows, and the cross tables."""
    from confide.cli.terminal import show_distribution

    for name, (own, windows) in tables.marginals.items():
        known = alphabet.margin(truth, name) if truth is not None and isinstance(alphabet, Attributes) else None
        show_distribution(console(), name, own, known, everything=everything, windows=windows)
    for table in tables.crosses:
        show_cross(table, everything=everything)


def _tables_beside(outputs: list[Path], tables: CrossTables) -> dict[Path, str]:
    """Return a CSV file for each attribute and each cross table, beside that of the whole estimate."""
    found: dict[tuple[str, ...], str] = {(name,): margin_csv(name, *one) for name, one in tables.marginals.items()}
    found |= {table.names: cross_csv(table) for table in tables.crosses}
    paths = [path for path in outputs if path.suffix.lower() == ".csv"]
    return {path.with_suffix(f".{'-'.join(names)}.csv"): text for path in paths for names, text in found.items()}


def _show_answers(answers: list[Interval]) -> None:
    if answers:
        say()
        pairs = []
        for one in answers:
            pairs.append((one.question, _in_percent(one) if one.is_share else str(one)))
            pairs += [("", note) for note in (one.remark, one.prospect) if note]
        show_pairs(pairs)


def _bases(asked: Asked, doubts: list[str]) -> list[tuple[str, str]]:
    """Return lines for the list of facts: what all intervals rest on, and why some are not there."""
    found = [(one.rests_on, _kind_of(one)) for one in asked.answers]
    found += [] if asked.windows is None else [(one.rests_on, "windows") for one in asked.windows.answers]
    found += [] if asked.band is None else [(asked.band.rests_on, "single values")]
    found += asked.tables.bases
    bases: dict[str, list[str]] = {}
    for basis, what in found:
        bases.setdefault(basis, []).append(what)
    lines = [("Intervals", f"of {listed(list(dict.fromkeys(what)))} rest on {basis}") for basis, what in bases.items()]
    lines += [("Intervals", f"of windows are left out: {asked.undivided}")] if asked.undivided else []
    lines += [("But", doubt) for doubt in doubts] if bases else []
    more = [] if asked.band is not None else [("", MORE_INTERVALS)]
    return [*lines[:1], *[("" if word == "Intervals" else word, line) for word, line in lines[1:]], *more]


def _certificate(answer: Estimate) -> list[tuple[str, str]]:
    """Return a line where a method sought the maximum, or left no distribution; elsewhere the fit says more."""
    from confide.explanations import describe_certificate

    is_shown = answer.method.seeks_maximum or not answer.is_distribution
    among = "" if answer.shape is None else ", among those of the shape"
    return [("Certificate", f"{describe_certificate(answer.certificate)}{among}")] if is_shown else []


def _kind_of(answer: Interval) -> str:
    return "queries" if answer.is_share else "mean" if answer.question == "mean" else "quantiles"


def _in_percent(answer: Interval) -> str:
    found = f"{answer.estimate:.2%}, between {answer.low:.2%} and {answer.high:.2%} at {answer.shown_level}"
    if answer.undetermined is None:
        return found
    low, high = answer.undetermined
    return f"{found}; the best explanations alone leave {low:.2%} to {high:.2%} open"


def _distances(survey: Survey, outcome: Outcome, truth: NDArray[np.float64] | None) -> list[tuple[str, str]]:
    from confide.wording import with_unit

    if truth is None:
        return []
    if outcome.total_variation is None:
        return [("From the truth", "no distance: the answer is no distribution")]
    variation = ("Total variation", f"{outcome.total_variation:.4f} from the truth")
    if outcome.emd is None:
        return [*([("EMD", outcome.emd_left_out)] if outcome.emd_left_out else []), variation]
    return [("EMD", f"{with_unit(outcome.emd, survey.alphabet.unit)} from the truth"), variation]


def _announced(name: str, alphabet: Alphabet) -> str:
    """Return a method's name, with a word of warning where it takes long: a million values and 200 reports take 25 s.

    >>> from confide import Integers
    >>> _announced("IBU", Integers(0, 999_999))
    'IBU over 1,000,000 values, which may take a minute'
    """
    is_long = alphabet.is_finite and alphabet.size > LONG
    return f"{name} over {alphabet.size:,} values, which may take a minute" if is_long else name
