"""Every part of an answer is on its page and in the terminal, and whatever is drawn is one of its own distributions.

One part at a time is another one, and the summaries that pages and terminals are made of must change. They are compared
as what they are made of, without drawing: texts, tables, and the arrays that pictures are drawn from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest
from tests.plans.test_records import given

import confide as cf
from confide.data.files import GroupAnswers, SurveyGroups, ask_groups
from confide.estimates.groups import GroupReports
from confide.present import pages
from confide.present.diagnoses import summarise_diagnosis
from confide.present.estimates import Findings, summarise_estimate
from confide.present.groups import summarise_group_reports, summarise_groups
from confide.present.summary import Cards, Chart, Picture, Section, Summary

pytest.importorskip("matplotlib")

AGES = cf.Survey(cf.TruncatedGeometric(cf.Integers(2, 9, unit="year"), 1.5), "age", "Ages")
PAIR = cf.Survey(
    cf.Product(
        age=cf.TruncatedGeometric(cf.Integers(0, 3), 2.0), sex=cf.RandomizedResponse(cf.Categories(["f", "m"]), 2.0)
    ),
    "both",
    "Both",
)


def flat(thing: Any, depth: int = 0) -> Any:  # noqa: PLR0911 - one for each kind of thing
    """Return a thing as what it is made of, the variables of functions too."""
    if depth > 12:
        return "..."
    if isinstance(thing, np.ndarray):
        return thing.tolist()
    if isinstance(thing, Mapping):
        return {str(name): flat(one, depth + 1) for name, one in thing.items()}
    if isinstance(thing, list | tuple | set | range):
        return [flat(one, depth + 1) for one in thing]
    if callable(thing) and getattr(thing, "__closure__", None):
        names = thing.__code__.co_freevars
        return {name: flat(one.cell_contents, depth + 1) for name, one in zip(names, thing.__closure__, strict=True)}
    if isinstance(thing, cf.Mechanism | cf.Alphabet | cf.Survey):
        return repr(thing)
    if is_dataclass(thing) and not isinstance(thing, type):
        return {one.name: flat(getattr(thing, one.name), depth + 1) for one in fields(thing)}
    return thing if isinstance(thing, str | int | float | bool | None) else repr(type(thing))


def counts_of(survey: cf.Survey, seed: int, size: int = 900) -> cf.Counts:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(survey.alphabet.size, 4.0))
    values = survey.alphabet.decode(rng.choice(shares.size, size, p=shares))
    return cf.tally(survey.mechanism.privatize(values, rng=100 + seed, taken=True))


def found_of(survey: cf.Survey, seed: int) -> Findings:
    """Return findings with every part there is."""
    counts = counts_of(survey, seed, 700 + 200 * seed)
    truth = np.random.default_rng(50 + seed).dirichlet(np.full(survey.alphabet.size, 4.0))
    outcome = cf.assess(counts, survey.mechanism, cf.MLE(), truth=truth)
    answer = outcome.estimate
    found = Findings(
        survey, counts, (outcome,), truth, f"truth {seed}", answer.interval(0.8), source=f"source {seed}",
        notes=(f"note {seed}",), files=2 + seed, promised=[("Promise of the survey", f"promise {seed}")],
    )  # fmt: skip
    if survey is AGES:
        asked = (answer.query("age >= 5", 0.8, name="age"), answer.mean(0.8), answer.quantile(0.5, 0.8))
        return replace(found, answers=asked, windows=answer.windows(level=0.8, name="age"))
    marginals = {name: answer.marginal(name) for name in ("age", "sex")}
    divided = {name: (one, one.windows(level=0.8, name=name)) for name, one in marginals.items()}
    return replace(found, marginals=divided, crosses=[answer.cross("age", "sex", level=0.8)])


FOUND = {(survey.name, seed): found_of(survey, seed) for survey in (AGES, PAIR) for seed in (1, 2)}

CHANGED = """
    counts outcomes truth truth_rows band answers windows undivided marginals crosses source notes files promised
""".split()  # noqa: SIM905 - one a line would fill a screen
"""What is replaced by that of another answer; survey, background and given have tests of their own."""

SILENT = {
    "page": {"truth_rows", "source", "promised"},  # which the terminal has
    "terminal": {"undivided", "files", "windows"},
}


@pytest.mark.parametrize("name", ["age", "both"])
def test_every_part_of_what_was_found_is_shown(name: str) -> None:
    one, other = FOUND[name, 1], FOUND[name, 2]
    for is_page, kind in ((True, "page"), (False, "terminal")):
        usual = flat(summarise_estimate(one, is_page=is_page))
        assert flat(summarise_estimate(replace(one), is_page=is_page)) == usual
        for part in CHANGED:
            value: Any = "they are hidden" if part == "undivided" else getattr(other, part)
            if not isinstance(value, np.ndarray) and not value:  # a part of the other survey alone
                continue
            change: dict[str, Any] = {part: value}
            now = flat(summarise_estimate(replace(one, **change), is_page=is_page))
            if part in SILENT[kind] and (part != "windows" or name == "both"):
                continue
            assert now != usual, (kind, part)


def test_both_kinds_of_summary_have_every_note_and_every_caution() -> None:
    for found in FOUND.values():
        for is_page in (True, False):
            said = str(flat(summarise_estimate(found, is_page=is_page)))
            for words in found.notes:
                assert words in said, (found.survey.name, is_page)
        details = dict(summarise_estimate(found).details)
        assert found.source in details["Reports"]
        assert details["Promise of the survey"] == found.promised[0][1]
        assert details["Truth"] == found.truth_rows


def drawn_in(part: Any) -> Iterator[tuple[str, Any]]:
    """Return the arrays that pictures and panels are drawn from, by what they are called there."""
    if isinstance(part, Section):
        for one in part.parts:
            yield from drawn_in(one)
    elif isinstance(part, Cards):
        for panel in part.panels:
            yield from ((name, getattr(panel, name)) for name in ("distribution", "reference"))
            yield from zip(("low", "high"), panel.band or (), strict=False)
    elif isinstance(part, Picture) and part.draw.__closure__:
        cells = zip(part.draw.__code__.co_freevars, part.draw.__closure__, strict=True)
        yield from ((name, one.cell_contents) for name, one in cells if isinstance(one.cell_contents, np.ndarray))


@pytest.mark.parametrize("name", ["age", "both"])
def test_whatever_is_drawn_is_a_distribution_of_this_answer(name: str) -> None:
    found = FOUND[name, 1]
    assert found.truth is not None
    assert found.band is not None
    whole = {
        "truth": found.truth,
        "estimate": found.estimate.distribution,
        "low": found.band.low,
        "high": found.band.high,
    }
    if found.noisy is not None:
        whole["noisy"] = found.noisy.shares
    known = [one.tolist() for one in whole.values()]
    for own, (marginal, _) in (found.marginals or {}).items():
        known += [marginal.distribution.tolist()]
        attributes = found.alphabet.attributes
        assert attributes is not None
        known += [attributes.margin(one, own).tolist() for one in whole.values()]
    seen = []
    for section in summarise_estimate(found, is_page=True).sections:
        for called, array in drawn_in(section):
            if array is not None:
                assert any(np.allclose(array, one) for one in known if len(one) == len(array)), called
                seen.append(np.asarray(array).tolist())
    for name_of, array in whole.items():
        assert any(np.allclose(array, one) for one in seen if len(one) == len(array)), name_of
    for own, (marginal, _) in (found.marginals or {}).items():
        assert any(np.allclose(marginal.distribution, one) for one in seen if len(one) == marginal.alphabet.size), own


# Pages of other answers: every argument of the functions that make them.


def grouped(seed: int) -> SurveyGroups:
    counts: dict[tuple[str, ...], cf.Counts] = {
        (town,): counts_of(AGES, seed + place, 400) for place, town in enumerate(("Oslo", "Rome"))
    }
    return SurveyGroups(cf.estimate_groups(counts, AGES.mechanism, cf.MLE()).estimates, AGES, ("town",))


def page_calls() -> Iterator[tuple[str, Callable[..., Any], dict[str, Any], dict[str, Any]]]:
    """Return functions that make pages, what they are given, and something else for each of that."""
    one, other = FOUND["age", 1], FOUND["age", 2]
    first = {"survey": AGES, "counts": one.counts, "outcomes": one.outcomes, "truth": one.truth, "band": one.band}
    second = {"survey": replace(AGES, title="Others"), "counts": other.counts, "outcomes": other.outcomes}
    second |= {"truth": other.truth, "band": other.band, "answers": other.answers, "windows": other.windows}
    second |= {"notes": ("a note",), "files": 5, "noisy": np.full(8, 1 / 8)}
    yield "estimate_page", pages.estimate_page, first | {"answers": one.answers, "windows": one.windows}, second
    groups, others = grouped(5), grouped(9)
    asked, less = (GroupAnswers(ask_groups(groups, [query], 0.8)) for query in ("age >= 5", "age <= 3"))
    yield "groups_page", pages.groups_page, {"groups": groups, "answers": asked}, {"groups": others, "answers": less}
    diagnoses = [cf.diagnose(found.counts, AGES.mechanism, name="age") for found in (one, other)]
    seen = [
        GroupReports({key: [(counts, AGES.mechanism)] for key, counts in {"a": some.counts, "b": COUNTS}.items()})
        for some in (one, other)
    ]
    listed = [[summarise_group_reports(some, ("town",), place)] for place, some in enumerate(seen)]
    plain = {"survey": AGES, "diagnosis": diagnoses[0], "answers": [diagnoses[0].query("age >= 5", "age")]}
    plain |= {"notes": ("note 1",), "groups": listed[0]}
    another = {"survey": replace(AGES, title="Others"), "diagnosis": diagnoses[1], "notes": ("note 2",)}
    another |= {"answers": [diagnoses[0].query("age <= 3", "age")], "groups": listed[1]}
    yield "diagnosis_page", pages.diagnosis_page, plain, another
    for is_page in (True, False):
        own, theirs = (some | {"source": f"source {n}"} for n, some in enumerate((plain, another)))
        silent = {"source"} if is_page else set()
        yield (
            f"summarise_diagnosis {is_page}",
            lambda is_page=is_page, **named: summarise_diagnosis(is_page=is_page, **named),
            own,
            {name: value for name, value in theirs.items() if name not in silent},
        )
        yield (
            f"summarise_groups {is_page}",
            lambda is_page=is_page, **named: summarise_groups(is_page=is_page, **named),
            {"groups": groups, "answers": asked, "rows": "rows 1", "promised": [("Promise", "1")]},
            {"groups": others, "answers": less, "rows": "rows 2", "promised": [("Promise", "2")]},
        )
    plan = given()
    survey = cf.Survey(plan.mechanism, "age", "Ages")
    yield "plan_page", pages.plan_page, {"survey": survey, "plan": plan}, {"survey": replace(survey, title="B")}


COUNTS = counts_of(AGES, 3, 300)


def test_every_argument_of_a_page_is_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "show_page", lambda summary: summary)  # which would draw it
    for name, function, usual, others in page_calls():
        made = function(**usual)
        assert isinstance(made, Summary)
        first = flat(made)
        for argument, value in others.items():
            now = flat(function(**(usual | {argument: value})))
            assert now != first, (name, argument)


@pytest.mark.parametrize("name", ["age", "both"])
def test_every_chart_of_a_terminal_has_its_own_shares_and_truth(name: str) -> None:
    found = FOUND[name, 1]
    assert found.truth is not None
    charts = [one for section in summarise_estimate(found).sections for one in section.parts if isinstance(one, Chart)]
    whole, *others = charts
    expected = [(found.survey.name, found.estimate.distribution, found.truth, found.windows)]
    for own, (marginal, windows) in (found.marginals or {}).items():
        attributes = found.alphabet.attributes
        assert attributes is not None
        expected.append((own, marginal.distribution, attributes.margin(found.truth, own), windows))
    for chart, parts in zip([whole, *others], expected, strict=True):
        assert flat(list(parts)) == flat([getattr(chart, one.name) for one in fields(Chart) if one.name in SHOWN])


SHOWN = ("name", "shares", "truth", "windows")
"""Fields of a chart that are compared, in their order."""
