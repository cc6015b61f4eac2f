"""One page of every kind, as a user would make it, from the bundled data and a few made-up people."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from tests.reproduction.tiny import run_tiny

import confide as cf
from confide.cli.demo import METHODS
from confide.data.files import GroupAnswers, SurveyGroups, ask_groups
from confide.present.figures import to_svg
from confide.present.pages import diagnosis_page, estimate_page, groups_page, plan_page
from reproduction import EXPERIMENTS as ALL_EXPERIMENTS
from reproduction import Comparison, Folder, Run
from reproduction.page import reproduction_page
from reproduction.runner import draw_pictures
from reproduction.simplex import draw_simplex

EVIL = "<script>alert('x')</script> & a rather long name of a drink"
DRINKS = ("tea", "coffee", "water", "milk", EVIL, "juice of freshly pressed oranges", "beer", "wine", "none")
AGES = cf.Integers(0, 99, unit="year")
# Experiments of the reproduction that take a second or two when cut down.
EXPERIMENTS = ("start-examples", "mechanisms", "manhattan-map", "likely-subsets")


@cache
def _ages() -> tuple[cf.Survey, cf.Counts]:
    survey = cf.Survey(cf.TruncatedGeometric(AGES, 0.05), name="age", title="Ages, UCI Adult")
    return survey, cf.tally(survey.mechanism.privatize(cf.datasets.adult_ages().values(), rng=7, taken=True))


def demo() -> str:
    """Return the page of `confide demo`: four methods and the truth."""
    survey, counts = _ages()
    truth = cf.datasets.adult_ages().distribution
    outcomes = [cf.assess(counts, survey.mechanism, method, truth=truth) for method in METHODS]
    best = outcomes[0].estimate
    return estimate_page(
        survey, counts, outcomes, truth=truth, band=best.interval(), answers=[best.query("age >= 65", name="age")]
    )


def estimate() -> str:
    """Return what a curator sees: one method, no truth."""
    survey, counts = _ages()
    outcome = cf.assess(counts, survey.mechanism, cf.Stacked())
    return estimate_page(survey, counts, [outcome], answers=[outcome.estimate.query("age >= 65", name="age")])


def _drinks() -> tuple[cf.Survey, cf.Counts]:
    mechanism = cf.RandomizedResponse(cf.Categories(DRINKS), 2.0)
    survey = cf.Survey(mechanism, name="drink", title=f"What people drink {EVIL}")
    people = np.repeat(DRINKS, [900, 1400, 700, 200, 50, 300, 420, 380, 90])
    return survey, cf.tally(mechanism.privatize(people.tolist(), rng=3, taken=True))


def categories() -> str:
    """Return an estimate of categories, one of them hostile."""
    survey, counts = _drinks()
    outcomes = [cf.assess(counts, survey.mechanism, method) for method in (cf.Stacked(), cf.IBU())]
    return estimate_page(survey, counts, outcomes, answers=[outcomes[0].estimate.query("drink = tea", name="drink")])


def places() -> str:
    """Return an estimate of places: a map."""
    mechanism = cf.RandomizedResponse(cf.Places(40.70, -74.02, 40.82, -73.92, cell="2 km"), 4.0)
    survey = cf.Survey(mechanism, name="place", title="Check-ins in Manhattan")
    shares = np.random.default_rng(5).dirichlet(np.full(mechanism.alphabet.size, 0.4))
    counts = mechanism.simulate_counts(np.rint(shares * 20_000).astype(int), rng=1)
    return estimate_page(survey, counts, [cf.assess(counts, mechanism, cf.IBU())])


def groups() -> str:
    """Return ages of six towns, of which one is older."""
    survey = cf.Survey(cf.TruncatedGeometric(AGES, 0.1), name="age", title="Ages of six towns")
    rng = np.random.default_rng(0)
    counts: dict[tuple[str, ...], cf.Counts] = {}
    for place, town in enumerate(("Oslo", "Rome", "Lima", "Accra", "Llanfairpwllgwyngyll", "Quito")):
        ages = rng.normal(58 if town == "Lima" else 40, 14, 900 * (place + 1)).round().clip(0, 99).astype(int)
        counts[town,] = cf.tally(survey.mechanism.privatize(ages, rng=place, taken=True))
    found = cf.estimate_groups(counts, survey.mechanism)
    groups = SurveyGroups(found.estimates, survey, ("town",))
    return groups_page(groups, GroupAnswers(ask_groups(groups, ["age >= 65"], 0.95)))


def diagnosis() -> str:
    """Return what reports of ages tell."""
    survey, counts = _ages()
    made = cf.diagnose(counts, survey.mechanism, name="age")
    return diagnosis_page(survey, made)


def triangle() -> str:
    """Return a diagnosis of three values of which two cannot be told apart."""
    mechanism = cf.FromMatrix(cf.Categories(["cat", "dog", "fox"]), [[0.6, 0.4], [0.5, 0.5], [0.2, 0.8]])
    counts = cf.tally(mechanism.report_alphabet.decode([0, 1]), counts=[520, 480])
    made = cf.diagnose(counts, mechanism)
    page = diagnosis_page(cf.Survey(mechanism, "animal", "Animals"), made)
    # The likelihood over the triangle, whose shades no other page has.
    evidence = mechanism.observe(counts)
    drawn = draw_simplex(
        mechanism.alphabet.labels(),
        lambda points: np.array([evidence.log_likelihood(point) for point in points]),
        made.maximum_set.point[None, :],
    )
    return page.replace("</main>", f"<figure>{to_svg(drawn, 'The likelihood of every distribution')}</figure></main>")


def misfit() -> str:
    """Return an estimate of reports that cannot come from their mechanism."""
    survey = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 19), 0.1), "age", "Reports of a bot")
    counts = cf.tally([10], counts=[5000])
    return estimate_page(survey, counts, [cf.assess(counts, survey.mechanism, cf.IBU())])


def plan() -> str:
    """Return what to expect of a survey of ages."""
    survey = _ages()[0]
    people = cf.datasets.adult_ages()
    return plan_page(survey, cf.plan(survey.mechanism, people.distribution, people=5000, repeats=4, cache=False))


def reproduction(place: Path) -> str:
    """Return the index of a few experiments of the paper, cut down to seconds, with its figures beside it."""
    folder = Folder(place)
    folder.prepare()
    for name in EXPERIMENTS:
        experiment = ALL_EXPERIMENTS[name]
        folder.write_tables(experiment, run_tiny(experiment))
        repeats = int(isinstance(experiment, Comparison))
        folder.write_run(Run(name, cf.__version__, repeats, 10, 10, 0, 1.5, 2.0, ""))
        draw_pictures(experiment, folder.path)
    return reproduction_page(list(ALL_EXPERIMENTS.values()), folder)


PAGES: dict[str, Callable[[], str] | Callable[[Path], str]] = {
    made.__name__: made
    for made in (demo, estimate, categories, places, groups, diagnosis, triangle, misfit, plan, reproduction)
}


def write_pages(folder: Path, names: tuple[str, ...] = tuple(PAGES)) -> dict[str, Path]:
    """Write pages by their names and return where they are."""
    folder.mkdir(parents=True, exist_ok=True)
    written = {name: folder / f"{name}.html" for name in names}
    for name, path in written.items():
        made = reproduction(folder) if name == "reproduction" else PAGES[name]()  # type: ignore[call-arg]
        path.write_text(made, encoding="utf-8")
    return written
