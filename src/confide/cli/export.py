"""confide export: a survey as the JSON document that devices read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.cli.terminal import say
from confide.cli.usage import SurveyPath, check_outputs
from confide.data.files import write_text
from confide.errors import InvalidParameterError
from confide.surveys.survey import load_survey
from confide.values.wording import counted

EXAMPLES = ("confide export survey.toml -o survey.json", "confide export survey.toml | gzip > survey.json.gz")


def export(
    survey: SurveyPath,
    *,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write it (.json). [default: standard output]"),
    ] = Path("-"),
) -> None:
    """Write a survey as the JSON document that devices read, with its fingerprint.

    The fingerprint covers values, mechanism, limits and shape, and neither name nor title. An application pins it, and
    refuses a survey that asks for anything else. Weights that take numerical work to make stand in the document too,
    bound by a fingerprint of their own.
    """
    contract = load_survey(survey)
    if str(output) == "-":
        write_text(output, contract.to_json() + "\n")
        return
    if output.suffix.lower() != ".json":
        raise InvalidParameterError(f"{output} should end in .json, which is what it is.")
    check_outputs([output], [survey])
    text = contract.to_json() + "\n"
    write_text(output, text)
    say(f"Wrote {counted(len(text.encode()), 'byte')} to {output}. An application pins it as {contract.pin}")
