"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SurveyPath = Annotated[
    Path, typer.Argument(metavar="SURVEY", help="The survey file, such as survey.toml.", show_default=False)
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME",
        help="The column to read; for values of several parts, such as row and column, give it once for each. "
        "By default the column named like the survey (for reports: 'report'), else the only one.",
        show_default=False,
    ),
]
Rejects = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Set rows that cannot be used aside in this file (line, text, reason) and go on with the others. "
        "Without it, one such row is an error.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines, and nothing else.")]
