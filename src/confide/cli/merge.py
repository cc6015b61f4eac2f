"""confide merge: counts of shards, days and machines add up."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from confide.cli.terminal import noise_lines, say, show_json, show_pairs, warn, warn_of_mixture
from confide.cli.usage import AsJson, check_outputs
from confide.counting import merge_files
from confide.errors import InvalidParameterError
from confide.files import Heading
from confide.wording import counted, listed

EXAMPLES = (
    "confide merge north.parquet south.parquet -o country.parquet",
    "confide merge 'days/*.parquet' --strict -o week.parquet",
    "confide merge careful.parquet trusting.parquet --pool -o all.parquet",
)


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
    as_json: AsJson = False,
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
    check_outputs([output], map(Path, counts))
    heading = merge_files(counts, output, is_pool=pool, allow_copies=allow_copies, strict=strict)
    if heading.is_over_limit:
        warn(_over_limit(heading))
    warn_of_mixture(heading.origin(heading.rows.people))
    if as_json:
        record = {"files": len(counts), "output": str(output), "surveys": len(heading.surveys), "by": list(heading.by)}
        rows = {"read": heading.rows.read, "accepted": heading.rows.accepted}
        known = heading.origin(heading.rows.people)
        show_json(record | {"rows": rows, "origin": known.record, "repetition": _repetition_record(heading)})
        return
    say(f"Merged {counted(len(counts), 'file')} of counts into {output}.")
    pairs = [("Behind them", str(heading.rows))]
    pairs += [("Surveys", f"{len(heading.surveys)}, kept side by side")] if heading.is_pooled else []
    pairs += noise_lines(heading.origin(heading.rows.people))
    pairs += [("Promise of the survey", describe_merged(heading))]
    show_pairs(pairs)


def describe_merged(heading: Heading) -> str:
    """Return what is promised to a person who reported in each of the files that were added up."""
    terms = list(dict.fromkeys(one.mechanism.guarantee.terms for one in heading.surveys))
    if heading.files == 1:
        return f"{terms[0]}, for one report of each person"
    if heading.is_pooled:
        return f"{listed(terms)}; to a person who reported in several of the {heading.files:,} files, their sum"
    several = heading.survey.mechanism.guarantee.times(heading.files).terms
    return (
        f"{terms[0]} to a person who reported once; if one person reported in each of the {heading.files:,} files, "
        f"the promise to that person is {several}, and such reports are not independent"
    )


def _over_limit(heading: Heading) -> str:
    return (
        f"{counted(heading.most_reports, 'file')} may hold as many reports of one person, and the survey allows "
        f"{heading.limit}. The limit is broken unless the files are of different people."
    )


def _repetition_record(heading: Heading) -> dict[str, Any]:
    promise = heading.survey.mechanism.guarantee
    return {
        "files": heading.files,
        "guarantee_of_one_report": [str(one.mechanism.guarantee) for one in heading.surveys],
        "guarantee_if_in_each_file": None if heading.is_pooled else str(promise.times(heading.files)),
        "words": describe_merged(heading),
        "limit": heading.limit,
        "is_over_limit": heading.is_over_limit,
    }
