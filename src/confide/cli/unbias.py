"""confide unbias: an unbiased pseudo-value beside each report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from confide.cli.terminal import say, show_pairs
from confide.cli.usage import (
    QUERY,
    Columns,
    SurveyPath,
    argument,
    check_outputs,
    check_queries,
    option,
    read_questions,
    warn_of_values,
)
from confide.data.files import unbias_file
from confide.errors import InvalidParameterError
from confide.surveys.survey import load_survey
from confide.values.wording import counted

EXAMPLES = (
    "confide unbias survey.toml reports.csv --query mean -o unbiased.csv",
    'confide unbias survey.toml reports.csv --query "age >= 65" -o out.dta',
    "confide unbias survey.toml people.csv --query mean -o out.sav",
)


def unbias(
    survey: SurveyPath,
    reports: Annotated[Path, argument("The reports: CSV (.gz or not) or Parquet.", "REPORTS")],
    *,
    query: Annotated[list[str] | None, option(f"Add a column. {QUERY}, mean; repeatable.", "QUERY")] = None,
    output: Annotated[
        Path,
        option(
            "Where to write: .csv, .parquet, .sav (SPSS) or .dta (Stata); - for standard output.",
            "FILE",
            "--output",
            "-o",
            show_default=True,
        ),
    ] = Path("-"),
    column: Columns = None,
) -> None:
    """Put unbiased values beside reports, for R, Stata or SPSS.

    A pseudo-value is what the person truly answered, averaged over the noise. All columns of the file are kept.
    Weighted means, totals and regressions of the new columns are right, and so are their standard errors, in R, Stata,
    SPSS or statsmodels. A single pseudo-value says nothing of its person: it may be negative, or above 1. If the
    mechanism does not identify a question, no unbiased value exists, and an error says so.
    """
    if str(reports) == "-":
        raise InvalidParameterError("Name a file of reports: standard input cannot be read twice.")
    contract = load_survey(survey)
    questions = read_questions(query or [], contract)
    if any(one is not None for one in questions.statistics):
        raise InvalidParameterError("Quantiles have no pseudo-values: they are no means. Ask for shares, with --query.")
    check_outputs([output], [survey, reports, *questions.areas])
    # Before the file is read: it may have millions of rows.
    check_queries(contract, questions.queries)
    asked = [*("mean" for _ in questions.statistics), *questions.queries]
    done = unbias_file(
        reports, output, contract, asked, column or (), cure="Nothing was written. Correct or remove these rows."
    )
    warn_of_values(done.account.columns, done.account.source, contract)
    is_piped = str(output) == "-"
    where = "standard output" if is_piped else str(output)
    say(f"Wrote {counted(done.account.accepted, 'row')} to {where}.", stderr=is_piped)
    told = [(one.name, f"{one.question}: {one.mean:.4g}, standard error {one.error:.2g}") for one in done.columns]
    show_pairs([("Read", done.account.description), *told], stderr=is_piped)
