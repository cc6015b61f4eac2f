"""A plan as a table and for machines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from confide.files import alphabet_record, csv_text
from confide.plans.curves import Curve
from confide.plans.measures import Measure, Prediction
from confide.plans.planning import Plan
from confide.plans.simulations import epsilon_of
from confide.plans.words import headline, remarks, trouble_of

COLUMNS = (
    "part",
    "mechanism",
    "people",
    "epsilon",
    "measure",
    "unit",
    "expected",
    "standard_error",
    "margin",
    "repeats",
)


def plan_record(plan: Plan) -> dict[str, Any]:
    """Return everything that a plan says, ready for :func:`confide.files.to_json`."""
    slope, halving = plan.by_people.slope(float(plan.people)), plan.halving
    return {
        "sentence": headline(plan),
        "remarks": remarks(plan),
        "alphabet": alphabet_record(plan.mechanism.alphabet),
        "mechanism": {"kind": plan.mechanism.kind, "description": repr(plan.mechanism)},
        "guarantee": str(plan.mechanism.guarantee),
        "guess": plan.guess.name,
        "method": plan.method.name,
        "settings": repr(plan.method),
        "seed": plan.seed,
        "measure": {"name": plan.measure.name, "unit": plan.measure.unit or None},
        "people": plan.people,
        "epsilon": plan.epsilon,
        "expected": prediction_record(plan.prediction),
        "solved": None if plan.answer is None else asdict(plan.answer),
        "exponent": None if slope is None else asdict(slope) | {"margin": slope.margin},
        "halving": None if halving is None else asdict(halving),
        "obstacle": plan.obstacle,
        "ignorance": plan.ignorance,
        "by_people": _curve_record(plan.by_people),
        "by_epsilon": None if plan.by_epsilon is None else _curve_record(plan.by_epsilon),
        "mechanisms": [
            {
                "kind": one.mechanism.kind,
                "description": repr(one.mechanism),
                "expected": None if one.prediction is None else prediction_record(one.prediction),
                "trouble": trouble_of(one) or None,
            }
            for one in plan.rivals
        ],
    }


def prediction_record(prediction: Prediction) -> dict[str, Any]:
    """Return an expected error and how exactly it is known."""
    return {
        "mean": prediction.mean,
        "standard_error": prediction.standard_error,
        "margin": prediction.margin,
        "repeats": prediction.repeats,
    }


def plan_csv(plan: Plan) -> str:
    """Return every setting that was simulated for the table of a plan, one row each."""
    return csv_text(COLUMNS, _rows(plan))


def _curve_record(curve: Curve) -> list[dict[str, Any]]:
    return [{curve.along: place} | prediction_record(one) for place, one in curve.points.items()]


def _rows(plan: Plan) -> Iterator[list[Any]]:
    kind, measure = plan.mechanism.kind, plan.measure
    yield ["plan", kind, plan.people, plan.epsilon, *_cells(measure, plan.prediction)]
    for people, one in plan.by_people.points.items():
        yield ["by people", kind, int(people), plan.epsilon, *_cells(measure, one)]
    for epsilon, one in ({} if plan.by_epsilon is None else plan.by_epsilon.points).items():
        yield ["by epsilon", kind, plan.people, epsilon, *_cells(measure, one)]
    for rival in plan.rivals:
        if rival.prediction is not None:
            other = rival.mechanism
            yield ["mechanism", other.kind, plan.people, epsilon_of(other), *_cells(measure, rival.prediction)]


def _cells(measure: Measure, one: Prediction) -> list[Any]:
    return [measure.name, measure.unit, one.mean, one.standard_error, one.margin, one.repeats]
