"""What confide estimate asks of an estimate beyond the distribution, and the files that it writes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from confide.cli.repetition import repetition_record
from confide.cli.terminal import say, warn
from confide.cli.usage import Statistic, split_names
from confide.data.counting import ReportInput
from confide.data.files import (
    Heading,
    cross_csv,
    estimate_csv,
    estimate_geojson,
    estimate_record,
    margin_csv,
    tables_record,
    to_json,
)
from confide.errors import InvalidParameterError
from confide.estimates.diagnosis import why_undivided
from confide.estimates.estimate import Estimate
from confide.estimates.inference import CrossTable, Interval, Windows, level_of_each
from confide.present.estimates import Findings, complete, summarise_estimate
from confide.present.terminal import SMALL
from confide.surveys.survey import Survey
from confide.values import LineGeometry, PlaneGeometry
from confide.values.queries import Query

SOON = 200
"""Values up to which windows are found in a second or two."""

Names = tuple[str, ...]
"""Attributes by their names."""


@dataclass(frozen=True)
class Questions:
    """Questions beyond the distribution: whether answers hold together, and whether to say what would narrow them.

    `windows` if they are looked for where that takes long.
    """

    queries: list[Query]
    statistics: list[Statistic]
    joint: bool
    prospect: bool
    windows: bool = False


def record_of(found: Findings, gathered: ReportInput, heading: Heading) -> dict[str, Any]:
    """Return all that was found for machines."""
    outcome, windows = found.outcomes[0], found.windows
    record = estimate_record(found.survey, found.counts, outcome, found.band, found.answers, windows)
    record |= tables_record(found.marginals or {}, found.crosses)
    return record | {"origin": gathered.origin, "repetition": repetition_record(heading)}


def render(path: Path, found: Findings, gathered: ReportInput, heading: Heading) -> str:
    """Return the content of a file, by its ending."""
    outcome, ending = found.outcomes[0], path.suffix.lower()
    if ending == ".csv":
        return estimate_csv(found.survey, outcome.estimate, found.band)
    if ending == ".geojson":
        return estimate_geojson(found.survey, outcome, found.band, found.answers, found.windows)
    if ending == ".json":
        return to_json(record_of(found, gathered, heading)) + "\n"
    if len(gathered.pool) > 1:
        raise InvalidParameterError("A page shows one survey, and these are counts of several. Write .csv or .json.")
    from confide.present.pages import show_page

    return show_page(summarise_estimate(complete(found), is_page=True))


def ask(survey: Survey, answer: Estimate, questions: Questions, level: float, *, has_band: bool) -> dict[str, Any]:
    """Ask for median and mean where values are numbers, for what was asked, and for the windows that reports tell."""
    undivided = why_undivided(answer, is_bidden=questions.windows)
    is_unbidden = isinstance(answer.alphabet.geometry, LineGeometry) and not undivided
    unbidden = [Statistic(0.5), *([Statistic()] if answer.alphabet.has_mean else [])] if is_unbidden else []
    wanted = dict.fromkeys([*unbidden, *questions.statistics])
    together = len(questions.queries) + len(questions.statistics) if questions.joint else 1
    each = level_of_each(level, together)
    asked = _ask_statistics(answer, wanted, set(questions.statistics), (level, each, together))
    found = answer.queries(questions.queries, each, name=survey.name) if questions.queries else []
    for query, one in zip(questions.queries, found, strict=True):
        ahead = str(answer.prospect(query, each, name=survey.name)) if questions.prospect else ""
        asked.append(replace(one.among(together, level), prospect=ahead))
    if has_band and answer.blocks is not None:
        warn(f"{answer.alphabet.size:,} cells get no interval each: there are too many. Ask for areas, with --within.")
    band = answer.interval(level) if has_band and answer.blocks is None else None
    windows = None if undivided else _find_windows(survey, answer, level)
    return {"answers": tuple(asked), "windows": windows, "undivided": undivided, "band": band}


def _find_windows(survey: Survey, answer: Estimate, level: float) -> Windows | None:
    """Find the windows that reports tell; of many combinations each attribute has windows of its own."""
    alphabet = answer.alphabet
    if alphabet.attributes is not None:
        return None if alphabet.size > SMALL else answer.windows(level=level, name=survey.name)
    if alphabet.size > SOON:
        size = f"{alphabet.size:,} {'cells' if isinstance(alphabet.geometry, PlaneGeometry) else 'values'}"
        say(f"Finding the windows that these reports tell among {size}; it may take a minute.", stderr=True)
    return answer.windows(level=level, name=survey.name)


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


def tables_beside(outputs: list[Path], tables: Findings) -> dict[Path, str]:
    """Return a CSV file for each attribute and each cross table, beside that of the whole estimate."""
    found: dict[tuple[str, ...], str] = {
        (name,): margin_csv(name, *one) for name, one in (tables.marginals or {}).items()
    }
    found |= {table.names: cross_csv(table) for table in tables.crosses}
    return {path: found[names] for path, names in paths_beside(outputs, found).items()}


def paths_beside(outputs: list[Path], tables: Iterable[tuple[str, ...]]) -> dict[Path, tuple[str, ...]]:
    """Return where tables stand beside the CSV files of the whole estimate, and the attributes of each.

    >>> [path.name for path in paths_beside([Path("estimate.csv"), Path("page.html")], [("age",), ("age", "sex")])]
    ['estimate.age.csv', 'estimate.age-sex.csv']
    """
    paths = [path for path in outputs if path.suffix.lower() == ".csv"]
    return {path.with_suffix(f".{'-'.join(names)}.csv"): names for names in tables for path in paths}


def choose_tables(survey: Survey, marginal: list[str], cross: list[str]) -> tuple[Names, list[Names]]:
    """Return the attributes to look at alone, and those of each cross table; of many combinations each attribute."""
    alphabet = survey.alphabet.attributes
    if alphabet is None:
        if marginal or cross:
            option = "--marginal" if marginal else "--cross"
            raise InvalidParameterError(
                f'{option} is for surveys of several attributes, of kind = "attributes"; {survey.name} is one value.'
            )
        return (), []
    names = tuple(dict.fromkeys(split_names("--marginal", marginal)))
    tables = [split_names("--cross", [one]) for one in cross]
    for one in tables:
        if len(one) < 2:
            raise InvalidParameterError(
                f"--cross takes two attributes or more, such as age,sex; got {','.join(one)!r}."
            )
        alphabet.part(*one)  # which refuses what is not there
    for name in names:
        alphabet.axis(name)
    return names or (alphabet.names if alphabet.size > SMALL else ()), tables


def tabulate(
    answer: Estimate, names: tuple[str, ...], crosses: list[tuple[str, ...]], level: float, *, joint: bool
) -> dict[str, Any]:
    """Estimate each attribute by itself and find its windows, and fill the cross tables."""
    if not answer.is_distribution:
        return {}
    marginals: dict[str, tuple[Estimate, Windows | None]] = {}
    for name in names:
        own = answer.marginal(name)
        marginals[name] = own, None if why_undivided(own) else own.windows(level=level, name=name)
    tables: list[CrossTable] = [answer.cross(*one, level=level, joint=joint) for one in crosses]
    return {"marginals": marginals, "crosses": tables}
