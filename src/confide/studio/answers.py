"""Slow answers: expected results of drafts, plans, and comparisons of methods."""

from __future__ import annotations

import json
import math
import secrets
import tempfile
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from confide.collector.client import simulated_values, to_counts_file
from confide.collector.wire import Wire
from confide.data import datasets
from confide.data.files.counts_files import write_counts_file
from confide.data.files.records import ends_record
from confide.errors import ConfideError, InvalidParameterError, UnreachableTargetError
from confide.estimates.estimate import Estimate, Outcome, assess_pool
from confide.estimates.explanations import describe_mechanism, why_undivided
from confide.estimates.inference import Interval, Windows
from confide.estimates.inference.answers import error_of
from confide.evidence.counts import Counts
from confide.mechanisms import MECHANISMS, Mechanism
from confide.mechanisms.sampling import Permanent
from confide.plans import METHOD, Answer, Curve, Plan, Simulation, as_guess
from confide.plans.levels import levels
from confide.plans.planning import Goal, refuse_idle_target
from confide.plans.records import answer_in_words, remarks
from confide.plans.simulations import MOST_DRAWN, Measure, choose_measure, epsilon_of, has_matrix, ignorance
from confide.present.estimates import describe_seconds, summarise_reports
from confide.present.figures.style import METHODS as COLOURS
from confide.present.summary import BOTH_TRUE, Listing, Note, state_all
from confide.present.surveys import describe_levels, state_ranges
from confide.solve.methods import METHODS, Stacked
from confide.studio.drafts import Draft, chosen_methods, distance_words, is_guess, read_draft, values_record
from confide.studio.workers import Tell
from confide.surveys.survey import Survey
from confide.values import Values
from confide.values.checks import check_choice
from confide.values.distances import has_emd
from confide.values.wording import counted, with_unit

REPEATS = 12
"""Simulated surveys per setting: half of `confide plan`, because a person waits."""


def plan(work: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """Return the epsilon or people for a target, or the error."""
    draft, unknown = read_draft(work.get("draft")), work.get("solve")
    if unknown not in ("epsilon", "people", "error"):
        raise InvalidParameterError(f"solve must be one of epsilon, people, error; got {unknown!r:.60}.")
    target, query = _target(work.get("target"), is_needed=unknown != "error")
    measure = choose_measure(draft.alphabet, query, draft.survey.name)
    require_drawable(draft.survey.mechanism, draft.people)
    if target is None or unknown == "error":
        return _record(_simulation(draft, measure, tell), draft.survey.mechanism, draft.people, None)
    refuse_idle_target(target, measure, [draft.truth])
    asked = Goal(draft.survey.mechanism, None if unknown == "people" else draft.people, target)
    # Report a first answer after few simulated surveys per setting, and refine it from there.
    few = 3
    first = _answered(_simulation(draft, measure, tell, few), draft, asked, asked.start)
    if not first["is_reached"]:  # more repeats would take minutes to say the same
        return first
    tell(0, REPEATS, f"A first answer after {few} made-up surveys a setting; making sure of it", first)
    start = float(first["people"] if unknown == "people" else first["epsilon"])
    return _answered(_simulation(draft, measure, tell), draft, asked, start)


def _answered(simulation: Simulation, draft: Draft, asked: Goal, start: float) -> dict[str, Any]:
    """Search from a start for what a target needs."""
    mechanism, people = draft.survey.mechanism, draft.people
    try:
        answer = asked.search(simulation, start)
    except UnreachableTargetError as error:
        expected = {"value": error.floor, "unit": simulation.measure.unit, "margin": 0.0}
        return _planned(str(error), mechanism, people, expected, simulation.repeats, is_reached=False)
    people = int(answer.value) if asked.people is None else people
    mechanism = mechanism if asked.people is None else mechanism.at(answer.value)
    return _record(simulation, mechanism, people, answer)


def _record(simulation: Simulation, mechanism: Mechanism, people: int, answer: Answer | None) -> dict[str, Any]:
    prediction = simulation.predict(mechanism, people)
    # A plan without curves, to reuse the words of `confide plan`.
    found = Plan(
        mechanism=mechanism,
        people=people,
        prediction=prediction,
        measure=simulation.measure,
        guess=simulation.guess,
        method=simulation.method,
        answer=answer,
        by_people=Curve("people", (float(people),), (prediction,)),
        by_epsilon=None,
        ignorance=ignorance(simulation.measure, simulation.guess.vector),
        seed=0,
        shape=simulation.shape,
    )
    expected = {"value": prediction.mean, "unit": simulation.measure.unit, "margin": prediction.margin}
    words = f"{answer_in_words(found)}."
    record = _planned(words, mechanism, people, expected, simulation.repeats, is_reached=True)
    return record | {"remarks": remarks(found)}


def _target(target: object, *, is_needed: bool) -> tuple[float | None, str | None]:
    """Return the target error and its question.

    Return None for the distance from the truth.
    """
    known = target if isinstance(target, dict) else {}
    query, amount = known.get("query"), known.get("emd", known.get("width"))
    if query is not None and (not isinstance(query, str) or len(query) > 1000):
        raise InvalidParameterError("query must be a question such as age >= 65.")
    if amount is None and not is_needed:
        return None, query
    if type(amount) not in (int, float) or not 0 < amount < 1e12:  # type: ignore[operator]  # a number, as was asked
        raise InvalidParameterError("target needs an emd, or a query and its width: a number above 0.")
    if ("width" in known) != (query is not None):
        raise InvalidParameterError("target needs an emd, or a query and its width.")
    return float(amount), query  # type: ignore[arg-type]  # a number, as was asked


def _simulation(draft: Draft, measure: Measure, tell: Tell, repeats: int = REPEATS) -> Simulation:
    def follow(label: str, repeat: int, repeats: int) -> None:
        tell(repeat - 1, repeats, in_progress(label, repeat, repeats))

    return Simulation(draft.truth, measure, METHOD, repeats, 0, None, follow, shape=draft.survey.shape)


def in_progress(label: str, repeat: int, repeats: int) -> str:
    """Describe the running simulation in words.

    >>> in_progress("adult_ages: truncated-geometric, 10,000 people, 0.05 per year", 3, 12)
    'Trying truncated geometric on 10,000 people, 0.05 per year: made-up survey 3 of 12'
    """
    kind, _, setting = label.partition(": ")[2].partition(", ")
    named = kind.replace("-", " ").replace("laplace", "Laplace")
    return f"Trying {named} on {setting}: made-up survey {repeat} of {repeats}"


def _planned(
    words: str, mechanism: Mechanism, people: int, expected: dict[str, Any], repeats: int, *, is_reached: bool
) -> dict[str, Any]:
    record: dict[str, Any] = {"words": words, "remarks": [], "epsilon": epsilon_of(mechanism), "people": people}
    record |= {"terms": mechanism.guarantee.terms}
    return record | {"expected": expected, "is_reached": is_reached, "repeats": repeats}


def expect(work: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """Simulate a draft once: truth, reports, estimate, and resolved windows."""
    draft, seed = read_draft(work.get("draft")), _seed(work.get("seed"))
    tell(0, 4, "Asking made-up people")
    counts = simulated_counts(draft.survey.mechanism, draft.truth.vector, draft.people, seed)
    tell(1, 4, "Estimating")
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
        "words": _expected_words(draft, outcome, None),
        "fewest": None if estimate.is_told or estimate.uniformity is None else estimate.uniformity.cure,
        "levels": None,
    }
    # Compute windows for up to 400 values: 280 cells take seven seconds.
    if estimate.is_told and estimate.alphabet.size <= 400 and not why_undivided(estimate, is_bidden=True):
        tell(2, 4, "Looking for ranges", found)  # show the rest now: windows take as long again
        windows = estimate.windows(name=draft.survey.name)
        found = found | {"windows": window_records(windows), "words": _expected_words(draft, outcome, windows)}
    tell(3, 4, "Comparing levels of privacy", found)
    return found | {"levels": _levels(draft)}


def _levels(draft: Draft) -> dict[str, Any] | None:
    """Return the choices of epsilon, each with its number."""
    shown = describe_levels(draft.survey, draft.people, draft.truth.vector).parts
    chosen = levels(draft.survey.mechanism, None)
    match shown:
        case [Listing() as listing, Note() as note]:
            rows = [
                {"epsilon": epsilon_of(one.mechanism), "is_chosen": one.is_chosen, "cells": list(map(str, row))}
                for one, row in zip(chosen, listing.rows, strict=True)
            ]
            return {"headings": list(listing.headings), "rows": rows, "note": note.words}
    return None


def simulated_counts(mechanism: Mechanism, truth: np.ndarray[Any, Any], people: int, seed: int) -> Counts:
    """Simulate counts of reports, exactly as the exported Python code does."""
    require_drawable(mechanism, people)
    histogram = np.random.default_rng(seed).multinomial(people, truth)
    return mechanism.simulate_counts(histogram, rng=seed)


def require_drawable(mechanism: Mechanism, people: int) -> None:
    """Refuse too many people if reports are drawn one by one."""
    if people * mechanism.alphabet.size > MOST_DRAWN and not has_matrix(mechanism):
        raise InvalidParameterError(
            f"Reports of this mechanism are drawn one by one; {counted(people, 'person')} take long. Take fewer here, "
            f"or the truncated mechanism."
        )


def _seed(seed: object) -> int:
    if type(seed) is not int or not 0 <= seed < 2**32:
        raise InvalidParameterError(f"seed must be a whole number from 0 on; got {seed!r:.60}.")
    return seed


def _expected_words(draft: Draft, outcome: Outcome, windows: Windows | None) -> str:
    people, unit = draft.people, draft.alphabet.unit
    if not outcome.estimate.is_told:
        first = f"With {counted(people, 'person')}, the reports look like those of a uniform population."
    elif windows is None:
        first = f"With {counted(people, 'person')}."
    else:
        first = state_ranges(draft.survey, people, len(windows), max(map(error_of, windows.answers)))
    if outcome.emd is not None and unit:
        off = f"In this one drawing the curve is off by {distance_words(outcome.emd, unit)} (EMD)."
    else:
        off = f"In this one drawing the shares are off by {outcome.total_variation or 0.0:.1%}, all together."
    return f"{first} {off}{f' {BOTH_TRUE}' if windows is not None and draft.alphabet.geometry.dimensions else ''}"


def window_records(windows: Windows) -> list[dict[str, Any]]:
    """Return windows for a page."""
    parts = zip(windows.labels, windows.members, windows.told, windows.answers, strict=True)
    return [
        {"label": label, "indices": members.tolist(), "is_told": is_told} | ends_record(one)
        for label, members, is_told, one in parts
    ]


def answer_record(answer: Interval, name: str) -> dict[str, Any]:
    """Return an answer with its interval, in numbers and words."""
    now, low, high = answer.labels or (answer.estimate, answer.low, answer.high)
    ((title, said, ends),) = state_all([answer], name, None)
    record = {"query": answer.question, "estimate": now, "low": low, "high": high, "level": answer.level}
    return record | {"rests_on": answer.rests_on, "title": title, "now": said, "ends": ends}


def report_shares(survey: Survey, counts: Counts, estimate: Estimate) -> list[float] | None:
    """Return the share of each report; None if reports are not values."""
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
    """Compare methods on simulated reports of a bundled dataset."""
    name, kind, methods = (work.get(key) for key in ("dataset", "mechanism", "methods"))
    check_choice("dataset", name, tuple(datasets.names()))
    check_choice("mechanism", kind, tuple(MECHANISMS))
    dataset = datasets.load(str(name))
    # The alphabet of the dataset as a survey declares it.
    from confide.surveys.survey import declaration_of, json_of

    table: dict[str, Any] = json_of(declaration_of(dataset.alphabet))
    draft = read_draft(
        {
            "survey": {"name": "value", "title": dataset.title, "alphabet": table},
            "mechanism": kind,
            "epsilon": work.get("epsilon"),
            "people": work.get("people"),
            "guess": name,
        }
    )
    chosen, ends = chosen_methods(methods), time.perf_counter() + _within(work.get("within"))
    counts = simulated_counts(draft.survey.mechanism, dataset.distribution, draft.people, _seed(work.get("seed")))
    shown, described = summarise_reports(draft.survey, counts), describe_mechanism(draft.survey)
    found: dict[str, Any] = {
        "values": values_record(draft.alphabet),
        "people": draft.people,
        "truth": dataset.distribution.tolist(),
        "reports": [] if shown is None or shown.shares.size != draft.alphabet.size else shown.shares.tolist(),
        "methods": [],
        "left": [],
        "made": f"{counted(draft.people, 'person')}, {described}, {draft.survey.mechanism.guarantee.terms}",
    }
    # Quick ones first, so that a page has something to show while the others are at work.
    order = (*QUICK, *SLOW)
    for place, method in enumerate(sorted(chosen, key=lambda one: order.index(one) if one in order else len(order))):
        tell(place, len(chosen), f"Trying {METHODS[method].name}", found if found["methods"] else None)
        is_late = bool(found["methods"]) and time.perf_counter() > ends  # run one method in any case
        if math.isfinite(ends) and (method in SLOW or is_late):
            # Left out and named: the page asks for these by themselves.
            found["left"].append(method)
            continue
        found["methods"].append({"key": method} | method_shown(draft.survey, counts, method, dataset.distribution))
    return found


QUICK = ("inversion-project", "inversion-normalize", "rappor-project", "rappor-normalize", "mle", "ibu")
SLOW = ("smooth", "stacked", "ibu-held-out")
"""Methods by speed: QUICK take 2 to 20 ms for ages, SLOW 50 ms to a second (`python -m benchmarks.studio`)."""


def _within(milliseconds: object) -> float:
    """Return the time limit in seconds, which also rules slow methods out.

    Inf without.
    """
    if milliseconds is None:
        return math.inf
    if type(milliseconds) not in (int, float) or not 0 <= milliseconds <= 10_000:  # type: ignore[operator]
        raise InvalidParameterError(f"within must be milliseconds, from 0 to 10,000; got {milliseconds!r:.60}.")
    return float(milliseconds) / 1000  # type: ignore[arg-type]  # a number, as was asked


def method_shown(
    survey: Survey, counts: Counts, name: str, truth: np.ndarray[Any, Any] | None = None
) -> dict[str, Any]:
    """Return one method's estimate for a page, or why it failed."""
    method = METHODS[name]
    shown: dict[str, Any] = {"colour": COLOURS.get(method.name, "stacked"), "name": method.name, "emd": None}
    try:
        outcome = assess_pool([(counts, survey.mechanism)], method, truth=truth)
    except ConfideError as error:  # the method may not support this mechanism
        return shown | {"distribution": [], "words": str(error)}
    words = method.full_name[:1].upper() + method.full_name[1:]
    words += f", {describe_seconds(outcome.estimate.seconds)}"
    if outcome.emd is not None:
        words += f": {with_unit(outcome.emd, outcome.estimate.alphabet.unit)} from the truth"
    return shown | {"distribution": outcome.estimate.distribution.tolist(), "emd": _emd(outcome), "words": f"{words}."}


def counts_file(work: dict[str, Any], tell: Tell) -> bytes:  # noqa: ARG001 - too quick to be told
    """Return the counts of a survey as a Parquet file of counts."""
    survey = Survey.from_json(work["document"])
    with tempfile.TemporaryDirectory(prefix="confide-") as folder:
        path = Path(folder) / "counts.parquet"
        write_counts_file(path, to_counts_file(survey, json.loads(work["record"])))
        return path.read_bytes()


MOST_AT_ONCE, MOST_CELLS = 1_000, 2_000_000
"""Simulated people in one call, and most people times values."""


def simulate(work: dict[str, Any], tell: Tell) -> list[dict[str, Any]]:
    """Return reports of some simulated people, in batches of one group."""
    survey = _read(work["document"])
    require_drawable(survey.mechanism, int(work["of"]))
    people = min(int(work["people"]), MOST_AT_ONCE, max(1, MOST_CELLS // survey.alphabet.size))
    tell(0, people, "Made-up people answer")
    # With permanent noise each person has a secret, which we do not keep.
    own = [Permanent(secrets.token_bytes(16)) for _ in range(people)] if survey.needs_secret else None
    reports = Wire.of(survey).to_lists(survey.privatize(_made_up(survey, people), rng=own, taken=True))
    generator, cells = np.random.default_rng(), dict[tuple[str, ...], list[Any]]()
    for report in reports:  # each person is in a random group
        cell = tuple(known[generator.integers(len(known))] for known in survey.groups.values())
        cells.setdefault(cell, []).append(report)
    # Batches of 200, so that a page sees reports arrive.
    return [
        {"groups": dict(zip(survey.groups, cell, strict=True)), "reports": theirs[start : start + 200]}
        for cell, theirs in cells.items()
        for start in range(0, len(theirs), 200)
    ]


_read = lru_cache(4)(Survey.from_json)
"""Simulated surveys, which a process parses once."""


def _made_up(survey: Survey, people: int) -> Values:
    """Draw values of simulated people from the survey's guess, if listed."""
    if not is_guess(survey.simulated):  # it may be anything, even a file of this machine
        return simulated_values(survey, people)
    truth = as_guess(survey.simulated, survey.mechanism, survey.name).vector
    return survey.alphabet.decode(np.random.default_rng().choice(truth.size, people, p=truth))
