"""confide regress: explain a private value by covariates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from confide.cli.terminal import give, warn_of
from confide.cli.usage import (
    USUAL_LEVEL,
    AsJson,
    Columns,
    Level,
    SurveyPath,
    Verbose,
    argument,
    as_level,
    check_formats,
    check_outputs,
    option,
    outputs_option,
)
from confide.errors import InvalidParameterError
from confide.estimates.inference import check_level
from confide.present.regressions import summarise_regression
from confide.regression.answers import MODELS
from confide.regression.fitting import regress as fit
from confide.surveys.survey import load_survey

EXAMPLES = (
    'confide regress survey.toml reports.csv "answer ~ age + C(city)" -o a.html',
    'confide regress survey.toml reports.csv "answer ~ age" --weights weight',
    'confide regress survey.toml reports.csv "income >= 50000 ~ age" --json',
    'confide regress survey.toml reports.csv "voted ~ income"',
)


def regress(  # noqa: PLR0913 - one argument an option
    survey: SurveyPath,
    reports: Annotated[
        Path, argument("Reports and covariates, one row a person: CSV (.gz or not), Parquet.", "REPORTS")
    ],
    formula: Annotated[str, argument('Outcome and covariates, such as "answer ~ age + C(city)".', "FORMULA")],
    *,
    model: Annotated[str | None, option(f"{', '.join(MODELS)}. [default: what suits the values]", "MODEL")] = None,
    weights: Annotated[str | None, option("Column with the weight of each person.", "COLUMN")] = None,
    clusters: Annotated[str | None, option("Column with the cluster of each person.", "COLUMN")] = None,
    interval: Annotated[Level | None, option("Confidence level. [default: 95%]", "LEVEL", parser=as_level)] = None,
    column: Columns = None,
    output: Annotated[list[Path] | None, outputs_option("a .html page, .csv or .json")] = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Explain a private value by covariates.

    Yes or no: logit. Categories: multinomial logit. Scales: ordered logit. Numbers, bins and dates: least squares of
    unbiased values. An outcome may be a share, such as "age >= 65". The private value may also be a covariate.
    Other columns are sent unblurred. It needs formulaic and pandas.
    """
    from confide.present.results import content_of, record_of  # pages and pictures: --help needs none of them

    outputs, level = output or [], interval or Level(USUAL_LEVEL)
    check_level("--interval", level.share)
    if level.is_joint:
        raise InvalidParameterError("--interval takes a level for each coefficient here, such as 95%.")
    check_formats(outputs, (".csv", ".json", ".html"))
    check_outputs(outputs, [survey, reports])
    contract = load_survey(survey)
    if str(reports) == "-":
        raise InvalidParameterError("Name a file of reports: standard input cannot be read twice.")
    found = fit(
        formula,
        reports,
        contract,
        model=model,
        weights=weights,
        clusters=clusters,
        columns=column or (),
        level=level.share,
    )
    contents = {path: content_of(found, path.suffix.lower()) for path in outputs}
    summary = summarise_regression(found)
    give("regression", summary, lambda: record_of(found), contents, as_json=as_json, verbose=verbose)
    # People see them in the summary; a program that reads JSON needs them on standard error.
    warn_of(summary.cautions if as_json else [])
