"""confide merge: counts of shards, days and machines add up."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.cli.terminal import say, show_pairs, warn_of_mixture
from confide.cli.usage import check_outputs, describe_merged, warn_over_limit
from confide.data.counting import merge_files
from confide.data.counting.sources import expand
from confide.errors import InvalidParameterError
from confide.present.summary import describe_noise
from confide.values.wording import counted

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
    check_outputs([output], [Path(file) for one in counts for file in expand(one)])
    heading = merge_files(counts, output, is_pool=pool, allow_copies=allow_copies, strict=strict)
    warn_over_limit(heading)
    warn_of_mixture(heading.origin(heading.rows.people))
    say(f"Merged {counted(len(counts), 'file')} of counts into {output}.")
    pairs = [("Behind them", str(heading.rows))]
    pairs += [("Surveys", f"{len(heading.surveys)}, kept side by side")] if heading.is_pooled else []
    pairs += describe_noise(heading.origin(heading.rows.people))
    pairs += [("Promise of the survey", describe_merged(heading))]
    show_pairs(pairs)
