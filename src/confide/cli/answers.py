"""What confide estimate asks of an estimate beyond the distribution, and how it is written and shown."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.alphabets import LineGeometry, PlaneGeometry
from confide.cli.attributes import CrossTables, show_cross
from confide.cli.repetition import promise_line, repetition_record
from confide.cli.terminal import (
    SMALL,
    console,
    fit_line,
    identified_line,
    noise_lines,
    note_not_identified,
    note_poor_fit,
    say,
    shape_lines,
    show_distribution,
    show_pairs,
    uniform_line,
    warn,
)
from confide.cli.usage import Statistic
from confide.comparisons import Outcome
from confide.counting import ReportInput
from confide.diagnosis import why_undivided
from confide.errors import InvalidParameterError
from confide.estimates import Estimate
from confide.explanations import describe_certificate, explain_choices
from confide.files import (
    Account,
    Heading,
    cross_csv,
    estimate_csv,
    estimate_geojson,
    estimate_record,
    margin_csv,
    tables_record,
    to_json,
)
from confide.intervals import Band, Interval, Windows, level_of_each
from confide.queries import Query
from confide.surveys import Survey
from confide.theory.fit import IN_DOUBT
from confide.theory.shapes import SHAPE_IN_DOUBT
from confide.wording import listed, with_unit

MORE_INTERVALS = "--interval 0.95 gives one for each value; --query, --mean, --median and --quantile come with theirs"
"""Line that says what else can be asked."""

SOON = 200
"""Values up to which windows are found in a second or two."""


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


@dataclass(frozen=True, eq=False)
class Asked:
    """Answers: queries, means and quantiles, windows or why there are none, a band over all values."""

    answers: list[Interval]
    windows: Windows | None
    undivided: str
    band: Band | None


@dataclass(frozen=True, eq=False)
class Findings:
    """All that confide estimate found, as files and in words.

    The truth is over the estimate's values, and `truth_rows` the account of the rows that it was made of; the
    background are lines for the maps of a page.
    """

    survey: Survey
    gathered: ReportInput
    outcome: Outcome
    asked: Asked
    tables: CrossTables
    truth: NDArray[np.float64] | None
    truth_rows: Account | None
    background: tuple[NDArray[np.float64], ...]

    @property
    def heading(self) -> Heading:
        """Return the metadata of counts; of a file of reports, what counts of it would have."""
        return self.gathered.heading or Heading((self.survey,), (), self.gathered.account)

    @property
    def record(self) -> dict[str, Any]:
        """Return all of it for machines."""
        asked = self.asked
        counts = self.gathered.counts
        record = estimate_record(self.survey, counts, self.outcome, asked.band, asked.answers, asked.windows)
        record |= tables_record(self.tables.marginals, self.tables.crosses)
        return record | {"origin": self.gathered.origin, "repetition": repetition_record(self.heading)}

    def render(self, path: Path) -> str:
        """Return the content of a file, by its ending."""
        asked, ending = self.asked, path.suffix.lower()
        if ending == ".csv":
            return estimate_csv(self.survey, self.outcome.estimate, asked.band)
        if ending == ".geojson":
            return estimate_geojson(self.survey, self.outcome, asked.band, asked.answers, asked.windows)
        if ending == ".json":
            return to_json(self.record) + "\n"
        if len(self.gathered.pool) > 1:
            raise InvalidParameterError(
                "A page shows one survey, and these are counts of several. Write .csv or .json."
            )
        from confide.pages import estimate_page

        return estimate_page(
            self.survey,
            self.gathered.counts,
            [self.outcome],
            self.truth,
            band=asked.band,
            answers=asked.answers,
            windows=asked.windows,
            marginals=self.tables.marginals,
            crosses=self.tables.crosses,
            background=self.background,
            notes=self.gathered.notes,
            files=self.heading.files,
        )

    def show(self, *, everything: bool) -> None:
        """Print it: doubts and answers first, then the distribution, then where both come from."""
        answer, asked = self.outcome.estimate, self.asked
        show_pairs(
            [
                *uniform_line(answer),
                *([("But", answer.dependence)] if answer.dependence else []),
                ("Survey", self.survey.title),
                ("Reports", f"{self.gathered.counts.total:,.10g}, from {self.gathered.description}"),
            ]
        )
        note_poor_fit(answer.fit)
        note_poor_fit(answer.shape_fit)
        note_not_identified(answer.identification)
        _show_answers(asked.answers)
        if everything or not self.tables.marginals:
            show_distribution(
                console(),
                self.survey.name,
                answer,
                self.truth,
                everything=everything,
                band=asked.band,
                windows=asked.windows,
            )
        self._show_tables(everything=everything)
        show_pairs([*noise_lines(self.gathered.counts.origin, self.gathered.notes), *self._facts()])

    def _show_tables(self, *, everything: bool) -> None:
        """Print each attribute by its windows, and the cross tables."""
        alphabet = self.outcome.estimate.alphabet
        for name, (own, windows) in self.tables.marginals.items():
            known = None
            if self.truth is not None and alphabet.attributes is not None:
                known = alphabet.attributes.margin(self.truth, name)
            show_distribution(console(), name, own, known, everything=everything, windows=windows)
        for table in self.tables.crosses:
            show_cross(table, everything=everything)

    def _facts(self) -> list[tuple[str, str]]:
        """Return lines for what the answers rest on."""
        answer = self.outcome.estimate
        return [
            *promise_line(self.heading),
            ("Method", repr(answer.method)),
            ("Status", f"{answer.status}: {answer.ending}"),
            *zip(("Chosen", *[""] * len(answer.choices)), explain_choices(answer.choices), strict=False),
            ("Log-likelihood", "none" if math.isnan(answer.log_likelihood) else f"{answer.log_likelihood:,.3f}"),
            *_certificate(answer),
            *fit_line(answer.fit),
            *shape_lines(answer.shape, answer.shape_fit, self.survey.shape),
            *self._bases(),
            *identified_line(answer.identification),
            *([] if answer.considered is None else [("Looked among", answer.considered.reason)]),
            *([] if self.truth_rows is None else [("Truth", self.truth_rows.description)]),
            *self._distances(),
        ]

    def note_undivided(self) -> None:
        """Say that a map's districts are left out, beside JSON, which has no line for it."""
        if self.asked.undivided and isinstance(self.outcome.estimate.alphabet.geometry, PlaneGeometry):
            say(f"Districts are left out: {self.asked.undivided}.", stderr=True)

    def _bases(self) -> list[tuple[str, str]]:
        """Return what all intervals rest on, what puts them in doubt, and why some are not there."""
        asked, answer = self.asked, self.outcome.estimate
        found = [(one.rests_on, _kind_of(one)) for one in asked.answers]
        found += [] if asked.windows is None else [(one.rests_on, "windows") for one in asked.windows.answers]
        found += [] if asked.band is None else [(asked.band.rests_on, "single values")]
        found += self.tables.bases
        bases: dict[str, list[str]] = {}
        for basis, what in found:
            bases.setdefault(basis, []).append(what)
        lines = [
            ("Intervals", f"of {listed(list(dict.fromkeys(what)))} rest on {basis}") for basis, what in bases.items()
        ]
        lines += [("Intervals", f"of windows are left out: {asked.undivided}")] if asked.undivided else []
        doubts = [IN_DOUBT] if answer.fit.is_bad else []
        doubts += [SHAPE_IN_DOUBT] if answer.shape_fit is not None and answer.shape_fit.is_bad else []
        lines += [("But", doubt) for doubt in doubts] if bases else []
        more = [] if asked.band is not None else [("", MORE_INTERVALS)]
        return [*lines[:1], *[("" if word == "Intervals" else word, line) for word, line in lines[1:]], *more]

    def _distances(self) -> list[tuple[str, str]]:
        outcome = self.outcome
        if self.truth is None:
            return []
        if outcome.total_variation is None:
            return [("From the truth", "no distance: the answer is no distribution")]
        variation = ("Total variation", f"{outcome.total_variation:.4f} from the truth")
        if outcome.emd is None:
            return [*([("EMD", outcome.emd_left_out)] if outcome.emd_left_out else []), variation]
        return [("EMD", f"{with_unit(outcome.emd, self.survey.alphabet.unit)} from the truth"), variation]


def ask(survey: Survey, answer: Estimate, questions: Questions, level: float, *, has_band: bool) -> Asked:
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
    return Asked(asked, None if undivided else _find_windows(survey, answer, level), undivided, band)


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


def tables_beside(outputs: list[Path], tables: CrossTables) -> dict[Path, str]:
    """Return a CSV file for each attribute and each cross table, beside that of the whole estimate."""
    found: dict[tuple[str, ...], str] = {(name,): margin_csv(name, *one) for name, one in tables.marginals.items()}
    found |= {table.names: cross_csv(table) for table in tables.crosses}
    return {path: found[names] for path, names in paths_beside(outputs, found).items()}


def paths_beside(outputs: list[Path], tables: Iterable[tuple[str, ...]]) -> dict[Path, tuple[str, ...]]:
    """Return where tables stand beside the CSV files of the whole estimate, and the attributes of each.

    >>> [path.name for path in paths_beside([Path("estimate.csv"), Path("page.html")], [("age",), ("age", "sex")])]
    ['estimate.age.csv', 'estimate.age-sex.csv']
    """
    paths = [path for path in outputs if path.suffix.lower() == ".csv"]
    return {path.with_suffix(f".{'-'.join(names)}.csv"): names for names in tables for path in paths}


def _show_answers(answers: list[Interval]) -> None:
    if answers:
        say()
        pairs = []
        for one in answers:
            pairs.append((one.question, _in_percent(one) if one.is_share else str(one)))
            pairs += [("", note) for note in (one.remark, one.prospect) if note]
        show_pairs(pairs)


def _certificate(answer: Estimate) -> list[tuple[str, str]]:
    """Return a line where a method sought the maximum, or left no distribution; elsewhere the fit says more."""
    is_shown = answer.method.seeks_maximum or not answer.is_distribution
    among = "" if answer.shape is None else ", among those of the shape"
    return [("Certificate", f"{describe_certificate(answer.certificate)}{among}")] if is_shown else []


def _kind_of(answer: Interval) -> str:
    return "queries" if answer.is_share else "mean" if answer.question == "mean" else "quantiles"


def _in_percent(answer: Interval) -> str:
    found = f"{answer.estimate:.2%}, between {answer.low:.2%} and {answer.high:.2%} at {answer.shown_level}"
    if answer.undetermined is None:
        return found
    low, high = answer.undetermined
    return f"{found}; the best explanations alone leave {low:.2%} to {high:.2%} open"
