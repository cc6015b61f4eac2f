"""Outlook of a draft: epsilon, people or error, of which two give the third."""

from __future__ import annotations

from typing import Any

from confide.errors import InvalidParameterError, UnreachableTargetError
from confide.mechanisms import Mechanism
from confide.plans import METHOD, Answer, Curve, Plan, Simulation
from confide.plans.measures import Measure, choose_measure, ignorance
from confide.plans.planning import refuse_idle_target
from confide.plans.records import answer_in_words, remarks
from confide.plans.searches import Goal
from confide.plans.settings import epsilon_of
from confide.studio.answers import require_drawable
from confide.studio.drafts import Draft, read_draft
from confide.studio.workers import Tell

REPEATS = 12
"""Simulated surveys a setting: half of those of `confide plan`, for somebody waits; the margin says how sure it is."""

FEW = 3
"""Simulated surveys a setting for a first answer, which is told at once; the search goes on from there."""

SOLVED = ("epsilon", "people", "error")


def plan(work: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """Return which epsilon or how many people a target takes, or the error to expect of a draft."""
    draft, unknown = read_draft(work.get("draft")), work.get("solve")
    if unknown not in SOLVED:
        raise InvalidParameterError(f"solve must be one of {', '.join(SOLVED)}; got {unknown!r:.60}.")
    target, query = _target(work.get("target"), is_needed=unknown != "error")
    measure = choose_measure(draft.alphabet, query, draft.survey.name)
    require_drawable(draft.survey.mechanism, draft.people)
    if target is None or unknown == "error":
        return _record(_simulation(draft, measure, tell), draft.survey.mechanism, draft.people, None)
    refuse_idle_target(target, measure, [draft.truth])
    asked = Goal(draft.survey.mechanism, None if unknown == "people" else draft.people, target)
    first = _answered(_simulation(draft, measure, tell, FEW), draft, asked, asked.start)
    if not first["is_reached"]:  # more repeats take minutes to say the same
        return first
    tell(0, REPEATS, f"A first answer after {FEW} made-up surveys a setting; making sure of it", first)
    start = float(first["people"] if unknown == "people" else first["epsilon"])
    return _answered(_simulation(draft, measure, tell), draft, asked, start)


def _answered(simulation: Simulation, draft: Draft, asked: Goal, start: float) -> dict[str, Any]:
    """Return what a target takes, searched for from a start on."""
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
    # A plan without its curves, whose words are those of `confide plan`.
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
    """Return the error to reach, and the question whose width it is; None for the distance from the truth."""
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
    """Return what is being simulated as a person says it.

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
    return record | {"expected": expected, "is_reached": is_reached, "repeats": repeats}
