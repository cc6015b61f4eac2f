"""confide count and merge: reports become counts, and counts add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from confide.cli.terminal import console, say, say_exactly, show_json, show_pairs, warn, warn_of_mixture
from confide.cli.usage import (
    AsJson,
    Columns,
    SurveyPath,
    argument,
    check_outputs,
    describe_merged,
    option,
    promise_line,
    repetition_record,
    split_names,
    warn_of_values,
    warn_over_limit,
)
from confide.data.counting import (
    DIALECTS,
    ENGINES,
    Request,
    head,
    histogram_of,
    in_dialect,
    merge_files,
    name_source,
    open_ledger,
    plan_query,
    refuse_rejects,
)
from confide.data.counting.sources import expand, search
from confide.data.files import Account, Heading, name_columns, save_counts, write_counts, write_rejects
from confide.data.files.counts_files import Sums, refuse_unmet
from confide.data.files.reading import read_totals
from confide.data.files.sheets import first_few
from confide.errors import InvalidParameterError
from confide.evidence.counts import Counts
from confide.present.summary import describe_noise, describe_weighting
from confide.surveys.survey import Survey, load_survey
from confide.values.wording import counted, listed

EXAMPLES = {
    "count": (
        "confide count survey.toml reports.csv -o counts.parquet",
        "confide count survey.toml 'days/*.parquet' --by city,week -o counts.parquet",
        "zcat reports.csv.gz | confide count survey.toml - -o counts.parquet",
        "confide count survey.toml --engine bigquery",
    ),
    "merge": (
        "confide merge north.parquet south.parquet -o country.parquet",
        "confide merge 'days/*.parquet' -o week.parquet",
        "confide merge careful.parquet trusting.parquet --pool -o all.parquet",
    ),
}

By = Annotated[
    list[str] | None, option("Columns that name a group, such as city,week: count each group on its own.", "NAMES")
]

Totals = Annotated[
    Path | None,
    option("Rake weights to what is known of the population: CSV with the columns column, value, total.", "FILE"),
]


def count(  # noqa: PLR0913 - one argument an option
    survey: SurveyPath,
    reports: Annotated[
        list[str] | None,
        argument(
            "Files, folders or quoted patterns: CSV (.gz or not), JSON lines, Parquet; - for standard input.",
            "REPORTS...",
        ),
    ] = None,
    *,
    output: Annotated[
        Path | None,
        option(
            "Where to write the counts: .parquet, which carries the survey along, or plain .csv.",
            "FILE",
            "--output",
            "-o",
        ),
    ] = None,
    column: Columns = None,
    by: By = None,
    weights: Annotated[
        str | None, option("Column of survey weights: how many people each report stands for.", "COLUMN")
    ] = None,
    strata: Annotated[
        str | None, option("Column of strata, such as regions, if people were drawn in each on its own.", "COLUMN")
    ] = None,
    clusters: Annotated[
        str | None, option("Column of clusters, such as villages or schools, if people were drawn in these.", "COLUMN")
    ] = None,
    totals: Totals = None,
    engine: Annotated[
        str,
        option(
            "Count here or on Spark. The others print the query for a warehouse, and do nothing else.",
            "|".join([*ENGINES, "sql", *DIALECTS]),
            show_default=True,
        ),
    ] = "duckdb",
    rejects: Annotated[
        Path | None, option("Write unusable rows to this file: file, line, text, reason.", "FILE")
    ] = None,
    strict: Annotated[bool, option("Stop at the first unusable row.", "", "--strict")] = False,
    allow_copies: Annotated[
        bool,
        option(
            "Also count files that are byte for byte the same, if they hold different people.", "", "--allow-copies"
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Count reports in files of any size, without loading them.

    Unusable rows are left out and named; --strict makes them an error. Only the report, its count and the columns of
    --by get into the output. A column called 'count' says how often a row's report was seen. The command refuses files
    of another survey, files that changed since they were written, and copies of a file. A JSON list of numbers is a
    histogram: how often each possible report was seen, in order, as a secure sum gives it.
    """
    contract, paths = load_survey(survey), reports or []
    alphabet, keys = contract.mechanism.report_alphabet, split_names("--by", by)
    design: dict[str, Any] = {"weights": weights or "", "strata": strata or "", "clusters": clusters or ""}
    known = {} if totals is None else read_totals(totals)
    request = Request(alphabet, tuple(column or ()), keys, **design, margins=tuple(known))
    _refuse_design(design | {"totals": known}, engine, output)
    # Before any file is looked for: the query may be for a warehouse that this machine cannot reach.
    if engine in ("sql", *DIALECTS):
        say_exactly(in_dialect(plan_query(paths, request).explained_text, engine))
        return
    if not paths or output is None:
        raise InvalidParameterError("Name the reports to count, and with -o the file to write the counts to.")
    check_outputs([output, rejects], [survey, *filter(None, [totals]), *map(Path, search(paths).files)])
    if len(paths) == 1 and (seen := histogram_of(paths[0], contract)) is not None:
        _count_histogram(paths[0], seen, contract, output, request, as_json=as_json)
        return
    # Refuses names that groups cannot have, before any work is done.
    Heading((contract,), request.by, Account(), **design, totals=known)
    ledgers = open_ledger(paths, request, engine, contract, allow_copies=allow_copies)
    with console(stderr=True).status("Counting ..."), ledgers as ledger:
        if strict:
            refuse_rejects(ledger)
        account = replace(ledger.account, source=name_source(paths))
        if rejects is not None:
            write_rejects(rejects, ledger.rejects())
        account.require_any(request.alphabet)
        heading, unknown = head(ledger, contract, request, account, known), ledger.traces.notes(ledger.report_names)
        groups = Counter[tuple[Any, ...]]()
        # Batches pass once, so groups are noted on their way into the file.
        sums = write_counts(output, _watch(ledger.batches(), heading, groups), heading)
        columns, notes = ledger.report_names, ledger.notes
        left_out = "" if rejects is None else f": see {rejects}"
        if rejects is None and account.total_rejected:
            listing = replace(account, first=first_few(ledger.rejects())).listing
            left_out = f":\n{listing}\nKeep them all with --rejects rejects.csv."
    # Of the columns that were watched, the groups come first and strata and clusters behind them.
    drawn = {key[len(request.by) :] for key in groups}
    _summarize(heading, sums, len({key[: len(request.by)] for key in groups}), drawn, output, unknown, as_json=as_json)
    for note in notes:
        warn(note)
    warn_of_mixture(heading.origins[0])
    warn_over_limit(heading)
    if not str(output).lower().endswith(".parquet"):
        grouped = " confide estimate takes its groups together." if request.by else ""
        lost = "neither the survey nor how the reports were made"
        warn(f"{output} is CSV, and such counts carry {lost}.{grouped} Write .parquet, which carries all that.")
    # Last, where nobody overlooks it: counts of true values would look like any others.
    warn_of_values(columns, account.source, contract)
    if account.total_rejected:
        were = "was" if account.total_rejected == 1 else "were"
        warn(f"{counted(account.total_rejected, 'row')} {were} left out ({account.reasons}){left_out}")


def _count_histogram(
    path: str, seen: Counts, contract: Survey, output: Path, request: Request, *, as_json: bool
) -> None:
    """Write the counts of a histogram, which has neither groups nor weights."""
    if request.by or request.weights or request.strata or request.clusters or request.margins:
        raise InvalidParameterError(f"{path} is a histogram of all reports: it has no groups and no weights.")
    save_counts(output, seen, contract)
    if as_json:
        show_json({"reports": int(seen.total), "distinct": len(seen.counts), "output": str(output)})
    else:
        show_pairs([("Reports", f"{int(seen.total):,}, from a histogram"), ("Counts", str(output))])


def _refuse_design(design: dict[str, Any], engine: str, output: Path | None) -> None:
    """Refuse weights, strata and clusters where their sums have no place."""
    given = [f"--{name}" for name, column in design.items() if column]
    if given and engine in ("sql", *DIALECTS):
        raise InvalidParameterError(
            f"--engine {engine} prints a query that counts, without {given[0]}. Leave out one of the two."
        )
    if given and output is not None and not str(output).lower().endswith(".parquet"):
        raise InvalidParameterError(f"{output} should end in .parquet: {given[0]} needs sums that CSV would lose.")


def _watch(batches: Iterable[Any], heading: Heading, groups: Counter[tuple[Any, ...]]) -> Iterator[Any]:
    """Note the groups on their way into a file, with their weights.

    Known totals that these cannot meet are an error.
    """
    depth, sums = len(heading.by) + len(heading.design), len(heading.sums)
    for batch in batches:
        if depth:
            # The weights, or without any the counts.
            weights = batch.column(batch.num_columns - (2 if sums > 1 else 1)).to_pylist()
            names = zip(*(batch.column(place).to_pylist() for place in range(depth)), strict=True)
            for key, weight in zip(names, weights, strict=True):
                groups[key] += weight
        yield batch
    if heading.totals:
        # Here, so that no file is written of what cannot be raked.
        refuse_unmet(heading, groups)


def _summarize(  # noqa: PLR0913 - what a count tells
    heading: Heading,
    sums: Sums,
    groups: int,
    drawn: set[tuple[Any, ...]],
    output: Path,
    unknown: list[str],
    *,
    as_json: bool,
) -> None:
    rows, origin = heading.rows, heading.origin(sums.people)
    if as_json:
        rejected = {str(reason): number for reason, number in rows.rejected.items()}
        record = {"reports": sums.people, "distinct": sums.rows, "output": str(output), "by": list(heading.by)}
        tally = {"read": rows.read, "accepted": rows.accepted, "rejected": rows.total_rejected, "reasons": rejected}
        known = origin.record | {"notes": unknown}
        show_json(
            record
            | {
                "groups": groups if heading.by else None,
                "rows": tally,
                "origin": known,
                "weights": {"column": heading.weights, "words": sums.weighting} if heading.weights else None,
                "design": _name_design(heading, drawn) or None,
                "totals": heading.totals or None,
                "repetition": repetition_record(heading),
            }
        )
        return
    # Words beside counts on standard output would end up in the file they are piped into.
    is_piped = str(output) == "-"
    say(f"Counted {counted(sums.people, 'report')} into {'standard output' if is_piped else output}.", stderr=is_piped)
    several = "pairs of a group and a report" if heading.by or heading.design else "different reports"
    distinct = several if sums.rows != 1 else several.replace("pairs", "pair").replace("reports", "report")
    pairs = [
        ("Read", f"{rows.source}, {name_columns(rows.columns)}: {rows}"),
        *describe_weighting(sums.weighting),
        *(
            [("Drawn", listed(list(_name_design(heading, drawn).values())))]
            if heading.strata or heading.clusters
            else []
        ),
        *([("Raked", f"to known totals of {_name_margins(heading)}")] if heading.totals else []),
        *describe_noise(origin, unknown),
        *promise_line(heading),
        ("Distinct", f"{sums.rows:,} {distinct}"),
    ]
    pairs += [("Groups", f"{groups:,}, by {', '.join(heading.by)}")] if heading.by else []
    show_pairs(pairs, stderr=is_piped)


def _name_design(heading: Heading, drawn: set[tuple[Any, ...]]) -> dict[str, str]:
    """Return how many strata and clusters there are, in words."""
    found, many = {}, bool(heading.strata) + bool(heading.clusters)
    if heading.strata:
        found["strata"] = f"{len({key[0] for key in drawn}):,} strata ({heading.strata})"
    if heading.clusters:
        found["clusters"] = f"{counted(len({key[:many] for key in drawn}), 'cluster')} ({heading.clusters})"
    return found


def _name_margins(heading: Heading) -> str:
    """Return the margins with known totals, in words."""
    names = [f"{name} ({counted(len(classes), 'class')})" for name, classes in heading.totals.items()]
    return listed(names) + (", each group on its own" if heading.by else "")


def merge(
    counts: Annotated[list[str], argument("Files that confide count wrote, or quoted patterns.", "COUNTS...")],
    *,
    output: Annotated[Path, option("Where to write the sum (.parquet).", "FILE", "--output", "-o")],
    pool: Annotated[
        bool, option("Keep counts of different surveys side by side, for one estimate from all of them.", "", "--pool")
    ] = False,
    allow_copies: Annotated[
        bool,
        option(
            "Also add files with the same counts or shared reports, if they count different people.",
            "",
            "--allow-copies",
        ),
    ] = False,
    totals: Totals = None,
) -> None:
    """Add up files of counts.

    The files should hold different people: shards, towns, machines. If one person reported in several of them, as on
    several days, the privacy loss of that person adds up, and the reports are not independent. More files than the
    survey's [limits] allow reports of one person are warned of.

    With --totals, groups become classes of the population: their counts are added up, and raked.

    Counts of different surveys do not add up and are refused. --pool keeps them side by side if they are about the
    same values; confide estimate then makes one estimate from all of them.
    """
    if output.suffix.lower() != ".parquet":
        raise InvalidParameterError(f"{output} should end in .parquet, which carries the survey along.")
    # A URL would pass for a pattern of files, and the error would be that none matches.
    url = next((one for one in counts if "://" in one), None)
    if url is not None:
        raise InvalidParameterError(f"{url} is no file. Get its counts first: confide pull {url} -o counts.parquet")
    files = [file for one in counts for file in expand(one)]
    check_outputs([output], [Path(file) for file in files])
    known = None if totals is None else read_totals(totals)
    heading = merge_files(counts, output, is_pool=pool, allow_copies=allow_copies, totals=known)
    warn_over_limit(heading)
    warn_of_mixture(heading.origin(heading.rows.people))
    say(f"Merged {counted(len(files), 'file')} of counts into {output}.")
    pairs = [("Behind them", str(heading.rows))]
    pairs += [("Surveys", f"{len(heading.surveys)}, kept side by side")] if heading.is_pooled else []
    pairs += [("Raked", f"to known totals of {_name_margins(heading)}")] if heading.totals else []
    pairs += describe_noise(heading.origin(heading.rows.people))
    pairs += [("Promise of the survey", describe_merged(heading))]
    show_pairs(pairs)
