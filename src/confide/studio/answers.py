"""Answers that take a while: what to expect of a draft, what reports tell, methods side by side on a known truth."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from confide import datasets
from confide.alphabets import Integers
from confide.checks import check_choice
from confide.collector.client import to_counts_file
from confide.collector.simulation import simulated_values
from confide.collector.wire import Wire
from confide.comparisons import Outcome, assess_pool
from confide.counts import Counts
from confide.diagnosis import diagnose
from confide.diagnosis.answers import why_undivided
from confide.diagnosis.words import told_in_words, verdict_in_words
from confide.distances import has_emd
from confide.errors import ConfideError, InvalidParameterError
from confide.estimates import Estimate
from confide.explanations import describe_mechanism, explain_choices
from confide.figures.palette import METHODS as COLOURS
from confide.files import CountsFile, ask_groups, estimate_file, label_group
from confide.files.counts_files import write_counts_file
from confide.intervals import Interval, Windows
from confide.mechanisms import MECHANISMS, Mechanism
from confide.methods import METHODS, Stacked
from confide.pages.story import describe_seconds, summarise_reports
from confide.plans.rivals import MOST_DRAWN, has_matrix
from confide.recovery import recover
from confide.studio.drafts import Draft, python_text, read_draft, values_record
from confide.studio.previews import promise_of
from confide.studio.workers import Tell
from confide.surveys import Survey
from confide.theory.fit import FitVerdict
from confide.wording import counted, with_unit

LEVEL = 0.95
"""How often an interval holds the truth."""

MOST_QUERIES = 20
"""Questions at a time."""

KEPT = 4
"""Estimates that a process remembers, so that one more question costs no more than itself."""

MOST_WINDOWED = 400
"""Values of a draft up to which windows are looked for: 280 cells take seven seconds."""

MOST_BANDED = 1000
"""Values up to which each gets an interval: a bootstrap of a hundred takes three seconds."""


def expect(work: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """Return one simulated survey of a draft: truth, reports, estimate, and the windows that it would tell."""
    draft, seed = read_draft(work.get("draft")), _seed(work.get("seed"))
    tell(0, 3, "Asking made-up people")
    counts = simulated_counts(draft.survey.mechanism, draft.truth.vector, draft.people, seed)
    tell(1, 3, "Estimating")
    outcome = assess_pool(
        [(counts, draft.survey.mechanism)], Stacked(), shape=draft.survey.shape, truth=draft.truth.vector
    )
    estimate = outcome.estimate
    found = {
        "values": values_record(estimate.alphabet),
        "truth": draft.truth.vector.tolist(),
        "reports": report_shares(draft.survey, counts, estimate) or [],
        "estimate": estimate.distribution.tolist(),
        "windows": [],
        "emd": _emd(outcome),
        "total_variation": outcome.total_variation,
        "words": _expected_words(draft, outcome),
        "fewest": None if estimate.is_told or estimate.uniformity is None else estimate.uniformity.cure,
    }
    if not estimate.is_told or estimate.alphabet.size > MOST_WINDOWED or why_undivided(estimate):
        return found
    tell(2, 3, "Looking for windows that can be told", found)  # the picture is there; these take as long again
    windows = estimate.windows(name=draft.survey.name)
    return found | {"windows": window_records(windows), "words": f"{found['words']} {_told_words(estimate, windows)}"}


def simulated_counts(mechanism: Mechanism, truth: np.ndarray[Any, Any], people: int, seed: int) -> Counts:
    """Return the counts of reports of made-up people; the same as the exported Python draws."""
    require_drawable(mechanism, people)
    histogram = np.random.default_rng(seed).multinomial(people, truth)
    return mechanism.simulate_counts(histogram, rng=seed)


def require_drawable(mechanism: Mechanism, people: int) -> None:
    """Refuse so many people that drawing their reports one by one would take too long."""
    if not has_matrix(mechanism) and people * mechanism.alphabet.size > MOST_DRAWN:
        raise InvalidParameterError(
            f"Reports of this mechanism are drawn one by one; {counted(people, 'person')} take long. Take fewer here, "
            f"or the truncated mechanism."
        )


def _seed(seed: object) -> int:
    if type(seed) is not int or not 0 <= seed < 2**32:
        raise InvalidParameterError(f"seed must be a whole number from 0 on; got {seed!r:.60}.")
    return seed


def _expected_words(draft: Draft, outcome: Outcome) -> str:
    people, alphabet = counted(draft.people, "person"), draft.alphabet
    if not outcome.estimate.is_told:
        return f"With {people}, the reports cannot be told from those of a uniform population."
    if outcome.emd is not None and alphabet.unit:
        return f"With {people}, this picture is {with_unit(outcome.emd, alphabet.unit)} a person off."
    variation = outcome.total_variation or 0.0
    return f"With {people}, {variation:.1%} of people are at the wrong place in this picture."


def _told_words(estimate: Estimate, windows: Windows) -> str:
    if windows.are_single:
        return "Single values can be told."
    if len(windows) == 1:
        return "No two windows of values can be told apart."
    if isinstance(estimate.alphabet, Integers):
        step = float(np.median([len(one) for one in windows.members])) * estimate.alphabet.spacing
        return f"Windows of about {with_unit(step, estimate.alphabet.unit or 'value')} can be told apart."
    return f"{len(windows):,} areas can be told apart."


def window_records(windows: Windows) -> list[dict[str, Any]]:
    """Return windows as a page draws them."""
    parts = zip(windows.labels, windows.members, windows.told, windows.answers, strict=True)
    return [
        {
            "label": label,
            "indices": members.tolist(),
            "is_told": is_told,
            "estimate": one.estimate,
            "low": one.low,
            "high": one.high,
        }
        for label, members, is_told, one in parts
    ]


def answer_record(answer: Interval) -> dict[str, Any]:
    """Return an answer with its interval, and in words."""
    now, low, high = answer.labels or (answer.estimate, answer.low, answer.high)
    texts = answer.texts(1)
    remark = f"; {answer.remark}" if answer.remark else ""
    return {
        "query": answer.question,
        "estimate": now,
        "low": low,
        "high": high,
        "level": answer.level,
        "rests_on": answer.rests_on,
        "words": f"{texts[0]}, between {texts[1]} and {texts[2]}{remark}",
    }


def report_shares(survey: Survey, counts: Counts, estimate: Estimate) -> list[float] | None:
    """Return the share of each report over the values; None where reports are no values."""
    drawn = summarise_reports(survey, counts, considered=estimate.alphabet)
    if drawn is None or drawn.shares.size != estimate.alphabet.size:
        return None
    found: list[float] = drawn.shares.tolist()
    return found


def _emd(outcome: Outcome) -> dict[str, Any] | None:
    alphabet = outcome.estimate.alphabet
    if outcome.emd is None or not has_emd(alphabet):
        return None
    return {"value": outcome.emd, "unit": alphabet.unit}


def play(work: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """Return what several methods make of blurred reports of a bundled truth."""
    name, kind, methods = (work.get(key) for key in ("dataset", "mechanism", "methods"))
    check_choice("dataset", name, tuple(datasets.names()))
    check_choice("mechanism", kind, tuple(MECHANISMS))
    dataset = datasets.load(str(name))
    draft = read_draft(
        {
            "survey": {"name": "value", "title": dataset.title, "alphabet": alphabet_table(dataset.name)},
            "mechanism": kind,
            "epsilon": work.get("epsilon"),
            "people": work.get("people"),
            "guess": name,
        }
    )
    chosen = _methods(methods)
    counts = simulated_counts(draft.survey.mechanism, dataset.distribution, draft.people, _seed(work.get("seed")))
    found = []
    for place, method in enumerate(chosen):
        tell(place, len(chosen), METHODS[method].name)
        found.append(_method_shown(draft.survey, counts, method, dataset.distribution))
    shown = summarise_reports(draft.survey, counts)
    return {
        "values": values_record(draft.alphabet),
        "people": draft.people,
        "truth": dataset.distribution.tolist(),
        "reports": [] if shown is None or shown.shares.size != draft.alphabet.size else shown.shares.tolist(),
        "methods": found,
        "words": _closest(found, draft),
    }


def alphabet_table(dataset: str) -> dict[str, Any]:
    """Return the values of a bundled dataset as a survey's file says them."""
    from confide.declarations import declaration_of, json_of

    table: dict[str, Any] = json_of(declaration_of(datasets.load(dataset).alphabet))
    return table


def _methods(names: object) -> list[str]:
    if not isinstance(names, list) or len(names) > len(METHODS):
        raise InvalidParameterError(f"methods must be a list of {', '.join(METHODS)}.")
    for name in names:
        check_choice("methods", name, tuple(METHODS))
    return list(dict.fromkeys(names))


def _method_shown(
    survey: Survey, counts: Counts, name: str, truth: np.ndarray[Any, Any] | None = None
) -> dict[str, Any]:
    method = METHODS[name]
    shown: dict[str, Any] = {"colour": COLOURS.get(method.name, "stacked"), "name": method.name, "emd": None}
    try:
        outcome = assess_pool([(counts, survey.mechanism)], method, truth=truth)
    except ConfideError as error:  # this method may not know what to do with that mechanism
        return shown | {"distribution": [], "words": str(error)}
    words = method.full_name[:1].upper() + method.full_name[1:]
    words += f", {describe_seconds(outcome.estimate.seconds)}"
    if outcome.emd is not None:
        words += f": {with_unit(outcome.emd, outcome.estimate.alphabet.unit)} from the truth"
    return shown | {"distribution": outcome.estimate.distribution.tolist(), "emd": _emd(outcome), "words": f"{words}."}


def _closest(found: Sequence[dict[str, Any]], draft: Draft) -> str:
    measured = {one["name"]: one["emd"]["value"] for one in found if one["emd"] is not None}
    made = f"{counted(draft.people, 'person')}, {describe_mechanism(draft.survey)}, "
    made += f"{draft.survey.mechanism.guarantee.terms}"
    if not measured:
        return f"{made}."
    best = min(measured, key=lambda name: measured[name])
    return f"{made}: {best} comes closest, {with_unit(measured[best], draft.alphabet.unit)} from the truth."


def counts_file(work: dict[str, Any], tell: Tell) -> bytes:  # noqa: ARG001 - too quick to be told
    """Return the counts of a survey as a file that `confide estimate` and the exported Python read."""
    survey = Survey.from_json(work["document"])
    with tempfile.TemporaryDirectory(prefix="confide-") as folder:
        path = Path(folder) / "counts.parquet"
        write_counts_file(path, to_counts_file(survey, json.loads(work["record"])))
        return path.read_bytes()


SIMULATED_AT_A_TIME = 200
"""Made-up people in a batch."""


def simulate(work: dict[str, Any], tell: Tell) -> list[dict[str, Any]]:
    """Return blurred reports of made-up people, in batches of people of one group."""
    survey, people = Survey.from_json(work["document"]), int(work["people"])
    tell(0, people, "Made-up people answer")
    values, generator = simulated_values(survey, people), np.random.default_rng()
    reports = Wire.of(survey).to_lists(survey.privatize(values, taken=True))
    found = []
    for start in range(0, people, SIMULATED_AT_A_TIME):
        groups = {name: str(generator.choice(known)) for name, known in survey.groups.items()}
        found.append({"groups": groups, "reports": reports[start : start + SIMULATED_AT_A_TIME]})
    return found


class Kept:
    """Estimates that were made last, by survey and version of the counts."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, int], Any] = OrderedDict()

    def get(self, key: tuple[str, int], make: Callable[[], Any]) -> Any:
        """Return what is known, or make it."""
        if key not in self._known:
            self._known[key] = make()
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key]


class Reading:
    """What is found out about the reports of one version, each thing once."""

    def __init__(self, survey: Survey, record: dict[str, Any]) -> None:
        self.survey, self.record = survey, record
        # As whoever pulls them: with permanent noise, several days may be of the same people.
        self.file: CountsFile = to_counts_file(survey, record)
        self.counts: Counts = self.file.groups[()][0]
        self._found: dict[str, Any] = {}

    def find(self, what: str, make: Callable[[], Any]) -> Any:
        """Return what is known, or find it out."""
        if what not in self._found:
            self._found[what] = make()
        return self._found[what]

    @property
    def estimate(self) -> Estimate:
        """The estimate of the default method."""
        found: Estimate = self.find(
            "estimate", lambda: recover([(self.counts, self.survey.mechanism)], Stacked(), shape=self.survey.shape)
        )
        return found

    @property
    def why_not(self) -> str:
        """Why windows and statistics are not looked for; empty where they are."""
        found: str = self.find("why", lambda: why_undivided(self.estimate))
        return found

    @property
    def windows(self) -> Windows | None:
        """The windows whose shares the reports tell."""
        made = lambda: None if self.why_not else self.estimate.windows(name=self.survey.name)  # noqa: E731
        found: Windows | None = self.find("windows", made)
        return found

    @property
    def statistics(self) -> list[Interval]:
        """Median, mean and quartiles, where values are numbers."""
        alphabet = self.estimate.alphabet
        if self.why_not or not isinstance(alphabet, Integers):
            return []

        def made() -> list[Interval]:
            found = self.estimate.statistics((0.5, 0.25, 0.75), LEVEL, mean=alphabet.has_mean)
            order = ["median", "mean"]
            return sorted(found, key=lambda one: order.index(one.question) if one.question in order else len(order))

        answers: list[Interval] = self.find("statistics", made)
        return answers

    def ask(self, query: str) -> dict[str, Any]:
        """Return the answer to a question, or why there is none."""
        return dict(self.find(f"query {query}", lambda: self._ask(query)))

    def _ask(self, query: str) -> dict[str, Any]:
        try:
            return answer_record(self.estimate.query(query, LEVEL, name=self.survey.name))
        except ConfideError as error:
            nothing = {"estimate": 0.0, "low": 0.0, "high": 0.0, "level": LEVEL, "rests_on": "", "words": ""}
            return {"query": query} | nothing | {"error": str(error)}


READINGS = Kept()


def look(work: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """Return what is known of a survey from the reports that came so far."""
    survey, version = Survey.from_json(work["document"]), int(work["version"])
    wanted = {key: work.get(key) for key in ("band", "groups", "diagnosis")}
    queries, methods = _queries(work.get("queries")), _methods(work.get("methods"))
    steps = 3 + len(queries) + len(methods) + sum(bool(one) for one in wanted.values())
    done = iter(range(steps))
    reading: Reading = READINGS.get((survey.fingerprint, version), lambda: Reading(survey, json.loads(work["record"])))
    tell(next(done), steps, "Estimating")
    estimate = reading.estimate
    tell(next(done), steps, "Testing whether the reports fit")
    fit, verdict = str(estimate.fit), estimate.fit.verdict
    tell(next(done), steps, "Looking for windows that can be told, mean and median")
    windows, statistics = reading.windows, reading.statistics
    answers = []
    for query in queries:
        tell(next(done), steps, query)
        answers.append(reading.ask(query))
    sound = [query for query, answer in zip(queries, answers, strict=True) if "error" not in answer]
    shown = []
    for method in methods:
        tell(next(done), steps, METHODS[method].name)
        shown.append(reading.find(f"method {method}", lambda: _method_shown(survey, reading.counts, method)))  # noqa: B023
    record = reading.record
    found: dict[str, Any] = {
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
        "fit": {"verdict": str(verdict), "words": fit, "is_good": _is_good(verdict)},
        "uniformity": _uniformity(estimate),
        "distribution": estimate.distribution.tolist(),
        "windows": {
            "words": f"Windows are not looked for: {reading.why_not}." if windows is None else windows.headline,
            "windows": [] if windows is None else window_records(windows),
        },
        "statistics": [answer_record(one) for one in statistics],
        "queries": answers,
        "methods": shown,
        "details": _details(reading),
        "code": look_code(survey, sound, methods),
    }
    found["band"] = _banded(reading, tell, (done, steps)) if wanted["band"] else None
    found["groups"], found["differences"] = [], []
    if wanted["groups"] and survey.groups:
        tell(next(done), steps, "Groups side by side")
        key = f"groups {sound}"
        found["groups"], found["differences"] = reading.find(key, lambda: _groups(reading, sound))
    found["diagnosis"] = None
    if wanted["diagnosis"]:
        tell(next(done), steps, "Diagnosis")
        found["diagnosis"] = reading.find("diagnosis", lambda: {"words": _diagnosis(reading)})
    return found


def _queries(queries: object) -> list[str]:
    are_texts = isinstance(queries, list) and all(isinstance(one, str) and len(one) <= 1000 for one in queries)
    if not are_texts or not isinstance(queries, list) or len(queries) > MOST_QUERIES:
        raise InvalidParameterError(f"queries must be a list of at most {MOST_QUERIES} questions, such as age >= 65.")
    return list(dict.fromkeys(queries))


def _is_good(verdict: FitVerdict) -> bool | None:
    return None if verdict is FitVerdict.CANNOT_BE_TESTED else verdict is FitVerdict.FITS


def _uniformity(estimate: Estimate) -> dict[str, Any]:
    found = estimate.uniformity
    words = "There is no uniform population on unbounded values." if found is None else str(found)
    return {"words": words, "is_told": estimate.is_told}


def _banded(reading: Reading, tell: Tell, place: tuple[Any, int]) -> dict[str, Any] | None:
    tell(next(place[0]), place[1], "An interval for every value")
    if reading.why_not or reading.estimate.alphabet.size > MOST_BANDED:
        return None
    band = reading.find("band", lambda: reading.estimate.interval(LEVEL))
    return {"low": band.low.tolist(), "high": band.high.tolist()}


def _groups(reading: Reading, queries: list[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the estimates of all groups, and which differ from the others; each column of groups by itself."""
    shown, differences = [], []
    for name in reading.survey.groups:
        groups = estimate_file(to_counts_file(reading.survey, reading.record, [name]), reading.survey, Stacked())
        answers = ask_groups(groups, queries, LEVEL)
        for key, one in groups.items():
            told = {question: answer_record(found[key]) for question, found in answers.items()}
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


def _diagnosis(reading: Reading) -> list[str]:
    survey = reading.survey
    found = diagnose(reading.counts, survey.mechanism, name=survey.name, shape=survey.shape)
    return [*told_in_words(found), *verdict_in_words(found)]


def _details(reading: Reading) -> list[dict[str, str]]:
    """Return what only whoever wants to know it opens."""
    estimate, survey = reading.estimate, reading.survey
    told = {
        "Method": f"{estimate.method.full_name}; {estimate.ending}",
        "Mixed from": "; ".join(explain_choices(estimate.choices)),
        "Mechanism": f"{describe_mechanism(survey)}: {survey.mechanism!r}",
        "Promise": str(survey.mechanism.guarantee),
        "Noise": reading.counts.origin.in_short,
        "Identification": str(estimate.identification),
        "Dependence": estimate.dependence,
        "Log-likelihood": f"{estimate.log_likelihood:,.2f}",
        "Fingerprint": survey.fingerprint,
    }
    return [{"name": name, "words": words} for name, words in told.items() if words]


def look_code(survey: Survey, queries: Sequence[str], methods: Sequence[str]) -> dict[str, str]:
    """Return the commands and the Python that give the same numbers, from the files beside them."""
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
