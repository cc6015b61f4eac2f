"""confide count and merge: files of reports, however large, become counts, and counts add up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from confide.cli.terminal import (
    console,
    say,
    say_exactly,
    show_json,
    show_pairs,
    warn,
    warn_of_mixture,
)
from confide.cli.usage import (
    AsJson,
    Columns,
    SurveyPath,
    check_outputs,
    describe_merged,
    promise_line,
    repetition_record,
    split_names,
    warn_of_values,
    warn_over_limit,
)
from confide.data.counting import (
    ENGINES,
    Request,
    head,
    merge_files,
    name_source,
    open_ledger,
    plan_query,
    refuse_rejects,
)
from confide.data.counting.sources import expand, search
from confide.data.files import Account, Heading, name_columns, write_counts, write_rejects
from confide.data.files.counts_files import Sums
from confide.data.files.sheets import first_few
from confide.errors import InvalidParameterError
from confide.present.summary import describe_noise
from confide.surveys.survey import load_survey
from confide.values.wording import counted

EXAMPLES = {
    "count": (
        "confide count survey.toml reports.csv -o counts.parquet",
        "confide count survey.toml 'reports/*.parquet' --by city,week -o counts.parquet --rejects rejects.csv",
        "zcat reports.csv.gz | confide count survey.toml - -o counts.parquet",
        "confide count survey.toml --engine sql",
    ),
    "merge": (
        "confide merge north.parquet south.parquet -o country.parquet",
        "confide merge 'days/*.parquet' --strict -o week.parquet",
        "confide merge careful.parquet trusting.parquet --pool -o all.parquet",
    ),
}

By = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="Count every group by itself: columns that name it, such as city,week.",
        show_default=False,
    ),
]


def count(  # noqa: PLR0913 - one argument an option
    survey: SurveyPath,
    reports: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="REPORTS...",
            help="Files, folders or patterns in quotation marks: CSV (.gz or not), JSON lines (.jsonl), Parquet; - for "
            "standard input.",
            show_default=False,
        ),
    ] = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write the counts: .parquet, which carries the survey along, or plain .csv.",
            show_default=False,
        ),
    ] = None,
    column: Columns = None,
    by: By = None,
    engine: Annotated[
        str,
        typer.Option(
            metavar="|".join([*ENGINES, "sql"]),
            help="Where to count: on this machine, or on Spark; sql prints the text that counts, and does nothing.",
        ),
    ] = "duckdb",
    rejects: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the rows that cannot be used to this file: file, line, text, reason.",
            show_default=False,
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first row that cannot be used.")] = False,
    allow_copies: Annotated[
        bool,
        typer.Option(
            "--allow-copies", help="Also count files that are byte for byte the same, if they are of different people."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Count reports in files of any size, without loading them.

    Every row is accepted or rejected, and both are told. Rows that cannot be used are left out and named; with
    --strict they are an error. Only the report, its count and the columns of --by get into the output. A column called
    'count' says how often a row's report was seen. Metadata of the reports are read first: files of another survey, or
    that were changed since, are refused; of files without any it is not known how they were made, and that is said.
    A file that is byte for byte another one is refused too.
    """
    contract, paths = load_survey(survey), reports or []
    request = Request(contract.mechanism.report_alphabet, tuple(column or ()), split_names("--by", by))
    if engine == "sql":
        say_exactly(plan_query(paths, request).explained_text)
        return
    if not paths or output is None:
        raise InvalidParameterError("Name the reports to count, and with -o the file to write the counts to.")
    check_outputs([output, rejects], [survey, *map(Path, search(paths).files)])
    Heading((contract,), request.by, Account())  # refuses names that groups cannot have, before any work is done
    ledgers = open_ledger(paths, request, engine, contract, allow_copies=allow_copies)
    with console(stderr=True).status("Counting ..."), ledgers as ledger:
        if strict:
            refuse_rejects(ledger)
        account = replace(ledger.account, source=name_source(paths))
        if rejects is not None:
            write_rejects(rejects, ledger.rejects())
        account.require_any(request.alphabet)
        heading, unknown = head(ledger, contract, request.by, account), ledger.traces.notes(ledger.report_names)
        groups = set[tuple[Any, ...]]()
        sums = write_counts(output, _watch(ledger.batches(), len(request.by), groups), heading)
        columns, notes = ledger.report_names, ledger.notes
        left_out = "" if rejects is None else f": see {rejects}"
        if rejects is None and account.total_rejected:
            listing = replace(account, first=first_few(ledger.rejects())).listing
            left_out = f":\n{listing}\nKeep them all with --rejects rejects.csv."
    _summarize(heading, sums, len(groups), output, unknown, as_json=as_json)
    for note in notes:
        warn(note)
    warn_of_mixture(heading.origins[0])
    warn_over_limit(heading)
    if not str(output).lower().endswith(".parquet"):
        grouped = " confide estimate takes its groups together." if request.by else ""
        lost = "neither the survey nor how the reports were made"
        warn(f"{output} is CSV, and such counts carry {lost}.{grouped} Write .parquet, which carries all that.")
    warn_of_values(columns, account.source, contract)
    if account.total_rejected:
        were = "was" if account.total_rejected == 1 else "were"
        warn(f"{counted(account.total_rejected, 'row')} {were} left out ({account.reasons}){left_out}")


def _watch(batches: Iterable[Any], depth: int, groups: set[tuple[Any, ...]]) -> Iterator[Any]:
    """Note the groups that go by on their way into a file of counts."""
    for batch in batches:
        if depth:
            groups.update(zip(*(batch.column(place).to_pylist() for place in range(depth)), strict=True))
        yield batch


def _summarize(heading: Heading, sums: Sums, groups: int, output: Path, unknown: list[str], *, as_json: bool) -> None:
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
                "repetition": repetition_record(heading),
            }
        )
        return
    is_piped = str(output) == "-"
    say(f"Counted {counted(sums.people, 'report')} into {'standard output' if is_piped else output}.", stderr=is_piped)
    several = "pairs of a group and a report" if heading.by else "different reports"
    distinct = several if sums.rows != 1 else several.replace("pairs", "pair").replace("reports", "report")
    pairs = [
        ("Read", f"{rows.source}, {name_columns(rows.columns)}: {rows}"),
        *describe_noise(origin, unknown),
        *promise_line(heading),
        ("Distinct", f"{sums.rows:,} {distinct}"),
    ]
    pairs += [("Groups", f"{groups:,}, by {', '.join(heading.by)}")] if heading.by else []
    show_pairs(pairs, stderr=is_piped)


def merge(
    counts: Annotated[
        list[str],
        typer.Argument(
            metavar="COUNTS...",
            help="Files that confide count wrote, or patterns in quotation marks.",
            show_default=False,
        ),
    ],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write the sum (.parquet).")],
    pool: Annotated[
        bool,
        typer.Option(
            "--pool", help="Keep counts of different surveys side by side, for one estimate from all of them."
        ),
    ] = False,
    allow_copies: Annotated[
        bool,
        typer.Option(
            "--allow-copies",
            help="Also add files that hold the same counts, or have reports in common, if they count different people.",
        ),
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Refuse more files than the survey's [limits] allow reports of one person (exit code 4)."
        ),
    ] = False,
) -> None:
    """Add up files of counts.

    The files should be of different people: shards, towns, machines. Where one person reported in several of them, as
    on several days, the promise to that person is the sum of all, which is shown, and the reports are not independent.

    Counts that were made under different surveys do not add up and are refused: each file carries its survey. With
    --pool they are kept side by side, if they are about the same values, and confide estimate then makes one estimate
    from all of them.
    """
    if output.suffix.lower() != ".parquet":
        raise InvalidParameterError(f"{output} should end in .parquet, which carries the survey along.")
    url = next((one for one in counts if "://" in one), None)
    if url is not None:
        raise InvalidParameterError(f"{url} is no file. Get its counts first: confide pull {url} -o counts.parquet")
    files = [file for one in counts for file in expand(one)]
    check_outputs([output], [Path(file) for file in files])
    heading = merge_files(counts, output, is_pool=pool, allow_copies=allow_copies, strict=strict)
    warn_over_limit(heading)
    warn_of_mixture(heading.origin(heading.rows.people))
    say(f"Merged {counted(len(files), 'file')} of counts into {output}.")
    pairs = [("Behind them", str(heading.rows))]
    pairs += [("Surveys", f"{len(heading.surveys)}, kept side by side")] if heading.is_pooled else []
    pairs += describe_noise(heading.origin(heading.rows.people))
    pairs += [("Promise of the survey", describe_merged(heading))]
    show_pairs(pairs)
