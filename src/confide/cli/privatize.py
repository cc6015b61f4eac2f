"""confide privatize: blur a file of values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.cli.numbers import as_count
from confide.cli.terminal import say, show_json, show_pairs, warn
from confide.cli.usage import CURE, AsJson, Columns, Rejects, SurveyPath, check_outputs
from confide.errors import InvalidParameterError
from confide.files import Account, privatize_file
from confide.surveys import Survey, load_survey
from confide.wording import counted

EXAMPLES = (
    "confide privatize survey.toml values.csv -o reports.csv",
    "confide privatize survey.toml people.csv.gz --column age -o - | gzip > reports.csv.gz",
    "confide privatize survey.toml people.parquet -o reports.parquet",
)

SEEDED = (
    "these reports were made with a seed. Anyone who knows it can undo the noise: they are for simulation and protect "
    "nobody."
)


def privatize(  # noqa: PLR0913 - one argument an option
    survey: SurveyPath,
    values: Annotated[
        Path,
        typer.Argument(
            metavar="VALUES", help="A file of values, however large: CSV (.gz or not) or Parquet; - for standard input."
        ),
    ],
    *,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write reports: .csv or .parquet; - for standard output.",
        ),
    ] = Path("-"),
    column: Columns = None,
    seed: Annotated[
        int | None,
        typer.Option(
            parser=as_count,
            metavar="N",
            help="Reproducible noise, for simulation only: it protects nobody.",
            show_default=False,
        ),
    ] = None,
    rejects: Rejects = None,
    as_json: AsJson = False,
) -> None:
    """Blur a column of values, each person's on its own.

    The noise comes from the operating system's secure generator, unless a seed is given. Only the reports are written,
    in the order of the rows: other columns, such as names and times, are never copied. Where the order itself could
    tell who is who, shuffle the rows first. A column called 'count' says how many people have a row's value.
    """
    if as_json and str(output) == "-":
        raise InvalidParameterError("--json and the reports cannot share standard output. Name a file with -o.")
    check_outputs([output, rejects], [survey, values])
    contract = load_survey(survey)
    rows = privatize_file(values, output, contract, column or (), seed=seed, rejects=rejects, cure=CURE)
    if seed is not None:
        warn(SEEDED)
    _summarize(contract, rows, output, seed=seed, as_json=as_json)


def _summarize(survey: Survey, rows: Account, output: Path, *, seed: int | None, as_json: bool) -> None:
    guarantee = str(survey.mechanism.guarantee)
    if as_json:
        record = {"reports": rows.people, "output": str(output), "seed": seed, "guarantee": guarantee}
        show_json(record | {"is_protected": seed is None, "rows": rows.record})
        return
    is_piped = str(output) == "-"
    if is_piped and seed is None and not rows.total_rejected:
        return  # a filter says nothing when all is well
    noise = "the operating system's secure generator" if seed is None else f"seed {seed}, for simulation only"
    say(f"Wrote {counted(rows.people, 'report')} to {'standard output' if is_piped else output}.", stderr=is_piped)
    pairs = [("Read", rows.description), ("Noise", noise), ("Promise", guarantee if seed is None else "none")]
    show_pairs(pairs, stderr=is_piped)
