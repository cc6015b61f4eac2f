"""Looks at a survey.

What its reports show so far, each thing computed once.
"""

from __future__ import annotations

import json
import shlex
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from confide.check.answers import FitVerdict
from confide.collector.client import to_counts_file
from confide.data.files import CountsFile, SurveyGroups, ask_groups, estimate_file, label_group
from confide.errors import ConfideError
from confide.estimates.diagnosis import diagnose
from confide.estimates.estimate import Estimate, Outcome, recover
from confide.estimates.explanations import describe_mechanism, explain_choices, why_undivided
from confide.estimates.inference import Interval
from confide.evidence.counts import Counts
from confide.present.changes import say_change, show_step
from confide.present.diagnoses import summarise_diagnosis
from confide.present.estimates import Findings, first_answer
from confide.present.summary import Bullets, caution_estimate
from confide.present.terminal import draw_spark
from confide.solve.methods import METHODS, Stacked
from confide.studio.answers import answer_record, method_shown, report_shares, window_records
from confide.studio.drafts import (
    chosen_districts,
    chosen_methods,
    chosen_queries,
    promise_of,
    python_text,
    values_record,
)
from confide.studio.workers import Tell
from confide.surveys.survey import Survey
from confide.theory.verdicts import without_labels
from confide.values import LineGeometry
from confide.values.order import sequence

LEVEL = 0.95
"""Confidence level of all intervals."""


class Reading:
    """Results from one version of the counts, each computed once."""

    def __init__(self, survey: Survey, record: dict[str, Any]) -> None:
        self.survey, self.record = survey, record
        # As `confide pull` does: with permanent noise, several days may have the same people.
        self.file: CountsFile = to_counts_file(survey, record)
        self.counts: Counts = self.file.groups[()][0]
        self._found: dict[str, Any] = {}

    def find(self, what: str, make: Callable[[], Any]) -> Any:
        """Return a known result, or compute it."""
        if what not in self._found:
            self._found[what] = make()
        return self._found[what]

    @cached_property
    def estimate(self) -> Estimate:
        """The estimate of the default method."""
        return recover([(self.counts, self.survey.mechanism)], Stacked(), shape=self.survey.shape)

    @cached_property
    def why_not(self) -> str:
        """Why we compute no windows and statistics; empty if we do."""
        return why_undivided(self.estimate, is_bidden=True)

    @cached_property
    def windows(self) -> dict[str, Any]:
        """The resolved windows for a page, or why there are none.

        With them comes a headline of its own: it may name the fullest district.
        """
        if self.why_not:
            return {"headline": "", "words": f"Ranges are left out: {self.why_not}.", "windows": []}
        windows = self.estimate.windows(name=self.survey.name)
        # The headline may name the fullest district, which only windows know.
        self.found = replace(self.found, windows=windows)
        headline = first_answer(self.found)[1]
        return {"headline": headline, "words": windows.headline, "windows": window_records(windows)}

    @cached_property
    def found(self) -> Findings:
        """All that the summary is made of.

        The statistics, and the windows once they are known.
        """
        outcome = Outcome(self.estimate, (), None, None)
        return Findings(self.survey, self.counts, (outcome,), answers=tuple(self.statistics))

    @cached_property
    def fit(self) -> dict[str, Any]:
        """The goodness of fit in words, and what speaks against the answer."""
        fit = self.estimate.fit
        is_good = None if fit.verdict is FitVerdict.CANNOT_BE_TESTED else fit.verdict is FitVerdict.FITS
        cautions = [{"heading": one.heading, "words": " ".join(one.words)} for one in caution_estimate(self.estimate)]
        return {"headline": fit.headline, "words": str(fit), "is_good": is_good, "cautions": cautions}

    @cached_property
    def statistics(self) -> list[Interval]:
        """Median, mean and quartiles, if values are numbers."""
        alphabet = self.estimate.alphabet
        # why_not comes second: it tests the fit, which takes seconds on a map.
        if not isinstance(alphabet.geometry, LineGeometry) or self.why_not:
            return []
        found = self.estimate.statistics((0.5, 0.25, 0.75), LEVEL, mean=alphabet.has_mean)
        order = ["median", "mean"]
        return sorted(found, key=lambda one: order.index(one.question) if one.question in order else len(order))

    @property
    def known(self) -> dict[str, Any]:
        """Slow results that are known already."""
        return {what: self.__dict__[what] for what in ("fit", "windows") if what in self.__dict__}

    def ask(self, query: str) -> dict[str, Any]:
        """Return the answer to a question, or why there is none."""
        return dict(self.find(f"query {query}", lambda: self._ask(query)))

    def _ask(self, query: str) -> dict[str, Any]:
        try:
            answer = self.estimate.query(query, LEVEL, name=self.survey.name)
            return answer_record(answer, self.survey.name)
        except ConfideError as error:
            nothing = dict.fromkeys(("estimate", "low", "high"), 0.0) | dict.fromkeys(("rests_on", "now", "ends"), "")
            return {"query": query, "title": query, "level": LEVEL} | nothing | {"error": str(error)}


READINGS: OrderedDict[tuple[str, int], Reading] = OrderedDict()
"""The last readings of this process, by survey and version: one more question costs no new estimate."""


def reading_of(survey: Survey, version: int, record: bytes | str) -> Reading:
    """Return the reading of one version, cached for the last four."""
    key = survey.fingerprint, version
    if key not in READINGS:
        READINGS[key] = Reading(survey, json.loads(record))
        if len(READINGS) > 4:
            READINGS.popitem(last=False)
    READINGS.move_to_end(key)
    return READINGS[key]


class Steps:
    """Progress of a look, with partial results for the page."""

    def __init__(self, tell: Tell, count: int) -> None:
        self._tell, self._count, self._done = tell, count, 0

    def next(self, words: str, known: dict[str, Any] | None = None) -> None:
        """Report the next step."""
        self._tell(self._done, self._count, words, known)
        self._done += 1


def look(work: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """Return what the reports of a survey show so far.

    Estimate and answers come first, and alone if nothing more is requested. Windows come last: on a map they may take
    a minute.
    """
    survey, version = Survey.from_json(work["document"]), int(work["version"])
    queries, methods = chosen_queries(work.get("queries")), chosen_methods(work.get("methods"))
    districts = chosen_districts(work.get("districts"), survey.alphabet.size)
    more = sum(bool(work.get(key)) for key in ("band", "groups", "diagnosis", "districts"))
    reading = reading_of(survey, version, work["record"])
    steps = Steps(tell, 3 + len(queries) + len(methods) + more)
    steps.next("Estimating")
    answers = []
    for query in queries:
        steps.next(f"Answering {query}")
        answers.append(reading.ask(query))
    # Commands that somebody copies leave out what cannot be asked.
    sound = [one["query"] for one in answers if "error" not in one]
    found = _known(reading, version) | {"queries": answers, "code": look_code(survey, sound, methods)}
    if not work.get("more", True):
        return found | reading.known
    steps.next("Testing whether the reports fit", None if "fit" in reading.known else found)
    found["fit"] = reading.fit
    found |= reading.known | _more(reading, work, sound, methods, steps)
    if districts:
        steps.next("Adding up the districts")
        found["districts"] = reading.find(f"districts {districts}", lambda: _districts(reading, districts))
    parts = "districts" if found["values"]["plane"] else "ranges"
    steps.next(f"Looking for {parts}", None if "windows" in reading.known else found)
    return found | {"windows": reading.windows}


def _known(reading: Reading, version: int) -> dict[str, Any]:
    """Return the results that need only the estimate."""
    survey, record, estimate = reading.survey, reading.record, reading.estimate
    return {
        "version": version,
        "survey": {
            "fingerprint": survey.fingerprint,
            "name": survey.name,
            "title": survey.title,
            "is_simulated": record["is_simulated"],
            "is_closed": record["is_closed"],
        },
        "values": values_record(estimate.alphabet),
        "accepted": record["accepted"],
        "rejected": record["rejected"],
        "promise": promise_of(survey),
        "reports": report_shares(survey, reading.counts, estimate),
        "distribution": estimate.distribution.tolist(),
        "headline": first_answer(reading.found)[1],
        "statistics": [answer_record(one, survey.name) for one in reading.statistics],
        "details": _details(reading),
        "fit": {"headline": "", "words": "", "is_good": None, "cautions": [], "is_pending": True},
        "windows": {"headline": "", "words": "", "windows": [], "is_pending": True},
        "methods": [],
        "band": None,
        "groups": [],
        "differences": [],
        "diagnosis": None,
        "districts": [],
    }


def _more(
    reading: Reading, work: dict[str, Any], queries: list[str], methods: list[str], steps: Steps
) -> dict[str, Any]:
    """Return optional results."""
    found: dict[str, Any] = {"methods": [], "band": None}
    for method in methods:
        steps.next(f"Trying {METHODS[method].name}")
        made = partial(method_shown, reading.survey, reading.counts, method)
        found["methods"].append(reading.find(f"method {method}", made))
    if work.get("band"):
        steps.next("Finding an interval for every value")
        # Up to 1,000 values get an interval each: the bootstrap of a hundred takes three seconds.
        if not reading.why_not and reading.estimate.alphabet.size <= 1000:
            band = reading.find("band", lambda: reading.estimate.interval(LEVEL))
            found["band"] = {"low": band.low.tolist(), "high": band.high.tolist()}
    if work.get("groups") and reading.survey.groups:
        steps.next("Comparing the groups")
        found["groups"], found["differences"] = reading.find(f"groups {queries}", lambda: _groups(reading, queries))
    if work.get("diagnosis"):
        steps.next("Making the diagnosis")
        found["diagnosis"] = reading.find("diagnosis", lambda: _diagnosis(reading))
    return found


def evidence(work: dict[str, Any], tell: Tell) -> bytes:
    """Return the evidence on a survey as a page."""
    from confide.mechanisms.audits import audit
    from confide.present.pages import evidence_page

    tell(0, 2, "Auditing the promise")
    survey = Survey.from_json(work["document"])
    result = audit(survey.mechanism)
    tell(1, 2, "Testing whether the reports fit")
    reading = reading_of(survey, int(work["version"]), work["record"])
    fit = reading.estimate.fit if reading.counts.total else None
    return evidence_page(survey, result, fit, int(reading.counts.total)).encode()


def _groups(reading: Reading, queries: list[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return estimates and differences of groups, for each column of groups."""
    shown, differences = [], []
    usual = ["mean"] if reading.survey.alphabet.has_mean else []
    for name in reading.survey.groups:
        groups = estimate_file(to_counts_file(reading.survey, reading.record, [name]), reading.survey, Stacked())
        if len(groups) > 1 and sequence([key[0] for key in groups]):  # weeks, dates or waves
            differences += [_change(groups, query, f"{name}: ") for query in queries or usual]
        answers = ask_groups(groups, queries, LEVEL)
        for key, one in groups.items():
            # Shares were asked for; the rest, such as a median, comes with every group.
            told = {question: answer_record(found[key], reading.survey.name) for question, found in answers.items()}
            shares = [found[key].is_share for found in answers.values()]
            shown.append(
                {
                    "name": f"{name} {label_group(key)}",
                    "people": int(groups.reports[key]),
                    "distribution": one.distribution.tolist(),
                    "statistics": [one for one, is_share in zip(told.values(), shares, strict=True) if not is_share],
                    "queries": [one for one, is_share in zip(told.values(), shares, strict=True) if is_share],
                }
            )
            differences.append(f"{name} {label_group(key)}: {groups.describe_difference(key)}.")
    return shown, differences


def _districts(reading: Reading, districts: dict[str, list[int]]) -> list[dict[str, Any]]:
    """Return the share of each district with its interval, as windows."""
    found = []
    for name, cells in districts.items():
        weights = np.zeros(reading.estimate.alphabet.size)
        weights[cells] = 1.0
        one = reading.estimate.query(weights, LEVEL)
        shares = {"estimate": one.estimate, "low": one.low, "high": one.high}
        found.append({"label": name, "indices": cells, "is_told": True} | shares)
    return found


def _change(groups: SurveyGroups, query: str, opening: str) -> str:
    """Return a line over time, and its change from first to last."""
    series = groups.series(query, LEVEL, name=groups.survey.name)
    line = draw_spark([one.estimate for one in series.answers.values()], blocks=True)
    change, ends = show_step(series.overall)
    return f"{opening}{line} {say_change(series)} Change of {series.question}: {change} ({ends})."


def _diagnosis(reading: Reading) -> list[str]:
    """Return the diagnosis in the sentences of `confide diagnose`."""
    survey = reading.survey
    found = diagnose(reading.counts, survey.mechanism, name=survey.name, shape=survey.shape)
    summary = summarise_diagnosis(survey, found)
    lists = [part for one in summary.sections for part in one.parts]
    points = [words for part in lists if isinstance(part, Bullets) for words in part.sentences]
    doubts = [" ".join(one.words) for one in summary.cautions]
    return list(filter(None, [summary.headline, *doubts, summary.verdict, *points]))


def _details(reading: Reading) -> list[dict[str, str]]:
    """Return the details that a page shows on request."""
    estimate, survey, known = reading.estimate, reading.survey, reading.estimate.identification
    told = {
        "Method": f"{estimate.method.full_name}; {estimate.ending}",
        "Mixed from": "; ".join(explain_choices(estimate.choices)),
        "Mechanism": describe_mechanism(survey),
        "Promise": str(survey.mechanism.guarantee).replace(" x distance", " × distance"),  # noqa: RUF001
        "Noise": reading.counts.origin.in_short,
        "Identification": f"{known.verdict}: {known.reason} ({without_labels(known.source)})",
        "Dependence": estimate.dependence,
        "Log-likelihood": f"{estimate.log_likelihood:,.2f}",
        "Fingerprint": survey.fingerprint,
    }
    return [{"name": name, "words": words} for name, words in told.items() if words]


def look_code(survey: Survey, queries: Sequence[str], methods: Sequence[str]) -> dict[str, str]:
    """Return commands and Python code that reproduce the numbers."""
    asked = "".join(f" --query {shlex.quote(one)}" for one in queries)
    others = "".join(f"confide estimate survey.json counts.parquet --method {one}\n" for one in methods)
    commands = (
        "# with the survey saved as survey.json and the counts as counts.parquet\n"
        f"confide estimate survey.json counts.parquet{asked}\n{others}"
        "confide diagnose survey.json counts.parquet\n"
    )
    python = (
        "import confide as cf\n\n"
        f"survey = cf.parse_survey({python_text(survey.text())})\n"
        'counts = cf.load_counts("counts.parquet", survey)\n'
        "estimate = cf.estimate(counts, survey.mechanism, shape=survey.shape)\n"
        "for label, share in zip(estimate.alphabet.labels(), estimate.distribution):\n"
        '    print(f"{label}: {share:.4f}")\n'
        f"for query in {list(queries)!r}:\n"
        "    print(query, estimate.query(query, name=survey.name))\n"
    )
    return {"commands": commands, "python": python}
