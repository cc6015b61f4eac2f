"""Drafts of surveys.

Validated input of a page, and the preview of each.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.data import datasets
from confide.data.files.profiles import FEWEST, Profile
from confide.data.files.records import alphabet_record
from confide.errors import ConfideError, InvalidParameterError, TooLargeError
from confide.estimates.explanations import describe_mechanism, describe_repetition, explain_guarantee, telling_pairs
from confide.evidence.counts import Origin
from confide.mechanisms import MECHANISMS, Mechanism
from confide.mechanisms.base import truncated
from confide.mechanisms.comparison import compare, suiting
from confide.mechanisms.guarantees import Guarantee, MetricPrivacy
from confide.plans import Guess, as_guess
from confide.plans.guesses import family_of
from confide.plans.levels import usual_epsilon
from confide.plans.proposals import WHY_ROUND, look_at, propose
from confide.plans.ranking import Ranking, gentle_epsilon, usual_mechanism
from confide.plans.simulations import epsilon_bounds, most_people
from confide.solve.methods import METHODS
from confide.surveys.survey import Survey, build_survey, declaration_of, json_of, refuse_files, toml_value
from confide.theory.identification import largest_bound
from confide.values import Alphabet, Bins, PlaneGeometry, RingGeometry, UnorderedGeometry
from confide.values.checks import MOST_PEOPLE, check_choice
from confide.values.wording import counted, with_unit

MOST_VALUES = 10_000
"""Most values of a draft: a screen has no room for more bars or cells."""

KEYS = {"survey", "mechanism", "epsilon", "people", "guess"}

KEPT = 32
"""Size of the caches: while a slider moves, only epsilon changes."""


@dataclass(frozen=True)
class Draft:
    """A survey in design, its people, and a guess of the truth."""

    survey: Survey
    people: int
    guess: str

    @property
    def alphabet(self) -> Alphabet:
        """The values."""
        return self.survey.alphabet

    @cached_property
    def truth(self) -> Guess:
        """The assumed distribution."""
        return as_guess(self.guess, self.survey.mechanism, self.survey.name)


def read_draft(draft: Any) -> Draft:
    """Read a draft from JSON, or raise with what is wrong."""
    if not isinstance(draft, Mapping) or not draft.keys() <= KEYS or not isinstance(draft.get("survey"), Mapping):
        raise InvalidParameterError(f"A draft has the keys {', '.join(sorted(KEYS))}, and a survey among them.")
    return _build(json.dumps(draft, sort_keys=True))


@lru_cache(KEPT)
def _build(text: str) -> Draft:
    survey_keys = ("name", "title", "language", "results", "alphabet", "groups", "limits", "shape")
    draft = json.loads(text)
    people, epsilon, guess = draft.get("people"), draft.get("epsilon"), draft.get("guess")
    if type(people) is not int or not 1 <= people <= MOST_PEOPLE:
        raise InvalidParameterError(f"people must be a whole number from 1 to {MOST_PEOPLE:,}; got {_shown(people)}.")
    if type(epsilon) not in (int, float) or not math.isfinite(epsilon) or epsilon <= 0:
        raise InvalidParameterError(f"epsilon must be a number above 0; got {_shown(epsilon)}.")
    document = {key: value for key, value in draft["survey"].items() if key in survey_keys}
    # A page of another version may send more than this one reads: better refused than ignored.
    if strange := next((key for key in draft["survey"] if key not in survey_keys), None):
        raise InvalidParameterError(f"A draft's survey has the unknown key {_shown(strange)}.")
    refuse_files(document)
    # One report a person unless the draft says otherwise: more of them tell more, and count a person twice.
    if not document.setdefault("limits", {"reports": 1}):
        del document["limits"]
    kind = draft.get("mechanism") or _usual(json.dumps(document.get("alphabet"), sort_keys=True), float(epsilon))
    survey = build_survey(document | {"mechanism": {"kind": kind, "epsilon": float(epsilon)}})
    _require_drawable(survey.alphabet)
    if guess is not None and not is_guess(guess):
        raise InvalidParameterError(f"There is no guess {_shown(guess)}. Choose one of those that are listed.")
    return Draft(survey, people, guess or family_of(survey.mechanism)[0].name)


def _usual(alphabet: str, epsilon: float) -> str:
    """Return the kind of the usual mechanism for these values."""
    values = _values_of(alphabet)
    # Else it is the same at any epsilon.
    at = epsilon if isinstance(values.geometry, UnorderedGeometry) else gentle_epsilon(values)
    return _usual_at(values, at)


@lru_cache(KEPT)
def _usual_at(values: Alphabet, epsilon: float) -> str:
    return usual_mechanism(values, epsilon).kind


@lru_cache(KEPT)
def _values_of(alphabet: str) -> Alphabet:
    table = {"alphabet": json.loads(alphabet), "mechanism": {"kind": "randomized-response", "epsilon": 1.0}}
    values = build_survey(table).alphabet
    _require_drawable(values)
    return values


def _require_drawable(alphabet: Alphabet) -> None:
    if not alphabet.is_finite:
        raise InvalidParameterError("The studio draws values that have an end. Say between which they lie.")
    if alphabet.size > MOST_VALUES:
        raise TooLargeError(
            f"The studio draws at most {MOST_VALUES:,} values; these are {alphabet.size:,}. Make them coarser, or "
            f"write the survey with confide new and use the command line, which takes millions."
        )


def is_guess(guess: object) -> bool:
    """Whether this names a bundled dataset or a shape, not a file."""
    from confide.plans import SHAPES

    return isinstance(guess, str) and guess in (*SHAPES, *datasets.names())


@lru_cache(KEPT)
def guesses_of(survey: Survey) -> list[dict[str, str]]:
    """Return possible truths of a survey.

    Bundled datasets of such values, then shapes.
    """
    found = []
    for name in datasets.names():
        try:
            as_guess(name, survey.mechanism, survey.name)
        except ConfideError:
            continue
        found.append({"name": name, "title": datasets.load(name).title})
    return found + [{"name": one.name, "title": one.name.capitalize()} for one in family_of(survey.mechanism)]


def values_record(alphabet: Alphabet) -> dict[str, Any]:
    """Return positions and labels of values, for a page."""
    known = alphabet_record(alphabet)
    return {
        "kind": known["kind"],
        "size": alphabet.size,
        "unit": alphabet.unit or None,
        "labels": labels_of(alphabet),
        "positions": _positions(alphabet),
        "plane": _plane(alphabet),
    }


def labels_of(alphabet: Alphabet, places: Sequence[int] | None = None) -> list[str]:
    """Return labels of values, without the brackets around several attributes.

    >>> from confide import Attributes, Categories
    >>> labels_of(Attributes(sex=Categories(["f", "m"]), old=Categories(["yes", "no"])), [1])
    ['f, no']
    """
    found = alphabet.labels(places)
    return [one[1:-1] for one in found] if alphabet.attributes is not None else list(found)


def _positions(alphabet: Alphabet) -> list[float] | None:
    if isinstance(alphabet, Bins):
        return [float(one) for one in alphabet.middles]
    if alphabet.geometry.dimensions == 1 or isinstance(alphabet.geometry, RingGeometry):
        if alphabet.positions is not None:
            return [float(one) for one in alphabet.positions]
        found: list[float] = alphabet.coordinates[:, 0].tolist()
        return found
    return None


def _plane(alphabet: Alphabet) -> dict[str, Any] | None:
    if alphabet.grid is None:
        return None
    cells = np.asarray(alphabet.coordinates) - (alphabet.grid.first_row, alphabet.grid.first_column)
    degrees = None
    if alphabet.bounds is not None:
        degrees = {side: float(getattr(alphabet.bounds, side)) for side in ("south", "north", "west", "east")}
    return {
        "rows": alphabet.grid.rows,
        "columns": alphabet.grid.columns,
        "cells": cells.astype(int).tolist(),
        "degrees": degrees,
        "spacing": float(alphabet.spacing),
    }


def python_text(text: str) -> str:
    r"""Return a text as Python source, on several lines if possible.

    >>> print(python_text("a\nb"))
    '''
    a
    b
    '''
    >>> python_text("it's\\")
    '"it\'s\\\\"'
    """
    is_plain = text.isprintable() or all(line.isprintable() for line in text.split("\n"))
    return f"'''\n{text.strip()}\n'''" if is_plain and "\\" not in text and "'''" not in text else repr(text)


def distance_words(amount: float, unit: str) -> str:
    """Return a distance in words, in metres below a kilometre.

    >>> distance_words(0.1012, "km"), distance_words(3.02, "km"), distance_words(0.364, "year")
    ('101 m', '3.02 km', '0.364 years')
    """
    return with_unit(1000 * amount, "m") if unit == "km" and amount < 0.9995 else with_unit(amount, unit)


def _shown(value: object) -> str:
    text = repr(value[:60] if isinstance(value, str | list) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def chosen_queries(queries: object) -> list[str]:
    """Return questions without repetitions, or refuse them."""
    if not isinstance(queries, list) or len(queries) > 20 or not all(isinstance(one, str) for one in queries):
        raise InvalidParameterError("queries must be a list of at most 20 questions, such as age >= 65.")
    longest = max(map(len, queries), default=0)
    if longest > 1000:
        raise InvalidParameterError(f"A question has at most 1,000 characters; this one has {longest:,}.")
    return list(dict.fromkeys(queries))


def chosen_districts(districts: object, size: int) -> dict[str, list[int]]:
    """Return named lists of values, or refuse them.

    >>> chosen_districts([{"name": "Old town", "cells": [0, 3]}], 4)
    {'Old town': [0, 3]}
    """
    given = [] if districts is None else districts
    if not isinstance(given, list) or len(given) > 60 or not all(isinstance(one, dict) for one in given):
        raise InvalidParameterError("districts must be a list of at most 60, each with a name and cells.")
    found: dict[str, list[int]] = {}
    for one in given:
        name, cells = one.get("name"), one.get("cells")
        are_cells = isinstance(cells, list) and all(type(cell) is int and 0 <= cell < size for cell in cells)
        if not isinstance(name, str) or not 0 < len(name) <= 80 or not are_cells or not cells:
            raise InvalidParameterError(f"A district has a name and cells from 0 to {size - 1:,}; got {_shown(name)}.")
        found[name] = sorted({*found.get(name, []), *cells})
    return found


def chosen_methods(names: object) -> list[str]:
    """Return names of methods without repetitions, or refuse them."""
    if not isinstance(names, list) or len(names) > len(METHODS):
        raise InvalidParameterError(f"methods must be a list of {', '.join(METHODS)}.")
    for name in names:
        check_choice("methods", name, tuple(METHODS))
    return list(dict.fromkeys(names))


@cache
def templates() -> list[dict[str, Any]]:
    """Return the templates of surveys."""
    found: list[dict[str, Any]] = tomllib.loads(
        files("confide").joinpath("studio", "templates.toml").read_text(encoding="utf-8")
    )["template"]
    return found


@cache
def dataset_records() -> list[dict[str, Any]]:
    """Return all bundled datasets with their values and citations."""
    found = [datasets.load(name) for name in datasets.names()]
    return [
        {
            "name": one.name,
            "title": one.title,
            "people": one.total,
            "alphabet": json_of(declaration_of(one.alphabet)),
            "credit": one.citation,
        }
        for one in found
    ]


DRAWN = 1000
"""Reports of one value in a preview."""

HALF = 0.5 - 1e-9
"""Half of the reports, less a margin for rounding."""


def preview(work: dict[str, Any], tell: Callable[..., None]) -> dict[str, Any]:  # noqa: ARG001 - too quick to be told
    """Return a draft's survey, promise, and possible reports of one value."""
    draft = read_draft(work.get("draft"))
    survey = draft.survey
    return {
        "survey": {"text": survey.text() + "\n", "json": survey.to_json(), "fingerprint": survey.fingerprint},
        "values": values_record(draft.alphabet),
        "mechanism": _mechanism_record(survey),
        **_best_first(draft.alphabet, survey.mechanism.guarantee, draft.people),
        "epsilon": _slider(survey),
        "promise": promise_of(survey),
        "odds": _odds(survey),
        **_reports(draft, work.get("value")),
        "guesses": guesses_of(survey),
        "warnings": warnings_of(draft),
        "code": design_code(draft),
    }


def proposal(work: dict[str, Any], tell: Callable[..., None]) -> dict[str, Any]:  # noqa: ARG001 - as above
    """Return a draft for the profile of a file."""
    look = look_at(Profile.from_record(work.get("profile")))
    names = work.get("columns")
    if not look.candidates:
        why = "; ".join(f"{name or 'a column without a name'}: {why}" for name, why in list(look.left_out.items())[:8])
        raise InvalidParameterError(f"No column of this file can be asked for. {why}")
    chosen = look.candidates[0] if names is None else look.candidate([str(one) for one in names])
    made = propose(look, chosen, is_ranked=False)
    survey, table = made.survey, made.table
    if table["kind"] == "dates":  # a page asks for days
        first, last = table["first"][:4], table["last"][:4]
        table |= {"first": f"{first}-01-01", "last": f"{last}-12-31"}
    facts = [chosen.unit_words] * bool(chosen.unit_words)
    facts += [f"The range has {WHY_ROUND}."] * (made.setting.kind in ("amounts", "dates", "places"))
    facts += [f"Words are those that {FEWEST} people or more share."] * (made.setting.kind == "words")
    return {
        "draft": {
            "survey": {"name": survey.name, "title": survey.title, "alphabet": table},
            "epsilon": float(getattr(survey.mechanism.guarantee, "epsilon", 1.0)),
            "people": min(made.people, MOST_PEOPLE),
            "guess": family_of(survey.mechanism)[0].name,
        },
        "columns": [one.name for one in chosen.columns],
        "others": [[column.name for column in one.columns] for one in look.candidates],
        "left_out": [{"name": name, "why": why} for name, why in look.left_out.items()],
        "facts": facts,
    }


def trial(work: dict[str, Any], tell: Callable[..., None]) -> dict[str, Any]:  # noqa: ARG001 - as above
    """Return a draft or survey as a simulated survey."""
    if "document" in work:
        survey = Survey.from_json(work["document"])
        guess = family_of(survey.mechanism)[0].name
    else:
        draft = read_draft(work.get("draft"))
        survey, guess = draft.survey, draft.guess
    document = replace(survey, simulated=guess).to_json()
    return {"document": document, "most": most_people(survey.mechanism)}


def _mechanism_record(survey: Survey) -> dict[str, str]:
    kind = survey.mechanism.kind
    return {"kind": kind, "name": describe_mechanism(survey), "remark": MECHANISMS[kind].about}


@lru_cache(KEPT)
def _suiting(alphabet: Alphabet) -> list[dict[str, str]]:
    return [_mechanism_record(Survey(one)) for one in suiting(alphabet, gentle_epsilon(alphabet))]


@lru_cache(KEPT)
def _best_first(alphabet: Alphabet, guarantee: Guarantee, people: int) -> dict[str, Any]:
    """Return the mechanisms that suit, best first, and why.

    A promise per unit of distance and one for every two values are two questions: only the draft's own is ranked.
    """
    ranked = compare(alphabet, guarantee, people)
    places = {one.mechanism.kind: place for place, one in enumerate(ranked)}
    found = sorted(_suiting(alphabet), key=lambda one: places.get(one["kind"], len(places)))
    winner = ranked[0].mechanism.kind if ranked else None
    return {"mechanisms": found, "winner": winner, "why": Ranking(ranked, people, "").reason if ranked else ""}


def promise_of(survey: Survey) -> list[str]:
    """Return the privacy promise in the sentences of `confide show`."""
    last = describe_repetition(survey)
    last = last[:1].upper() + last[1:] + ("" if last.endswith(".") else ".")
    return [*explain_guarantee(survey), *survey.mechanism.fine_print, last]


def _odds(survey: Survey) -> list[dict[str, Any]]:
    sentences, alphabet = explain_guarantee(survey), survey.alphabet
    found = []
    for (left, right), words in zip(telling_pairs(survey), sentences, strict=False):
        values = [_value(alphabet, place) for place in (left, right)]
        bound = survey.mechanism.guarantee.bound(*values)
        named = labels_of(alphabet, [left, right])
        likelier = 100 / (1 + math.exp(-bound))
        apart = "" if alphabet.grid is None else _length(alphabet.distance(*values), alphabet.unit)
        found.append({"words": words, "from": named[0], "to": named[1], "odds": round(likelier, 2), "apart": apart})
    return found


def _length(amount: float, unit: str) -> str:
    """Return a distance between places in words, to two digits.

    >>> _length(0.4996, "km"), _length(3.02, "km"), _length(2, "")
    ('500 m', '3 km', '2 cells')
    """
    return distance_words(float(f"{amount:.2g}"), unit or "cell")


def _value(alphabet: Alphabet, place: int) -> Any:
    value = alphabet.decode([place]).tolist()[0]
    return tuple(value) if isinstance(value, list) else value


def _slider(survey: Survey) -> dict[str, Any]:
    """Return epsilon, in words too, and its useful range."""
    from confide.present.summary import about_reports  # the server reads drafts too, and shows nothing

    mechanism, guarantee = survey.mechanism, survey.mechanism.guarantee
    usual, (least, most) = usual_epsilon(mechanism), epsilon_bounds(mechanism)
    is_metric = isinstance(guarantee, MetricPrivacy)
    ends = {"low": max(least, usual / 50), "high": min(most, 40 * usual)} if is_metric else {"low": 0.05}
    per = (guarantee.unit or "unit of distance") if isinstance(guarantee, MetricPrivacy) else ""
    words = about_reports(survey, 0, Origin())[1]
    value = float(getattr(guarantee, "epsilon", 1.0))
    return {"value": value, "high": min(10.0, most), "usual": usual, "per": per, "words": words} | ends


def _reports(draft: Draft, value: object) -> dict[str, Any]:
    """Return one true value and its possible reports."""
    survey, alphabet = draft.survey, draft.alphabet
    # Start with the most common value of the guess.
    place = int(np.argmax(draft.truth.vector)) if value is None else value
    if type(place) is not int or not 0 <= place < alphabet.size:
        raise InvalidParameterError(f"value must be a whole number from 0 to {alphabet.size - 1:,}; got {value!r:.60}.")
    # Draw from probabilities if there is a matrix: exact tables of all 140 values would take 130 ms.
    people = np.bincount([place], minlength=alphabet.size) * DRAWN
    from confide.present.estimates import summarise_reports  # the server reads drafts too, and draws nothing

    drawn = summarise_reports(survey, survey.mechanism.simulate_counts(people, rng=0))
    label = labels_of(alphabet, [place])[0]
    found: dict[str, Any] = {"value": {"index": place, "label": label}}
    if drawn is None:
        words = "These reports are too unlike values to be drawn."
        unlike = {"values": values_record(alphabet), "probabilities": [], "drawn": [], "words": words}
        return found | {"reports": unlike}
    chances = _chances(survey.mechanism, place)
    shown = {
        "values": values_record(drawn.alphabet),
        "probabilities": chances.tolist(),
        "drawn": np.rint(DRAWN * drawn.shares).astype(int).tolist(),
        "words": _report_words(survey, chances, place, label),
    }
    return found | {"reports": shown}


def _chances(mechanism: Mechanism, place: int) -> NDArray[np.float64]:
    """Return how often each report comes, or supports each value."""
    if mechanism.facts.rates is not None:
        keep, flip = mechanism.facts.rates
        supported = np.full(mechanism.alphabet.size, flip)
        supported[place] = keep
        return supported
    clamped = mechanism if mechanism.has_channel else truncated(mechanism)
    return np.asarray(clamped.channel.select(np.array([place]))[0], dtype=np.float64)


def _report_words(survey: Survey, chances: NDArray[np.float64], place: int, label: str) -> str:
    outputs, facts = survey.mechanism.report_alphabet, survey.mechanism.facts
    if facts.supports is not None:
        return (
            f"A report supports several values: {label} in {chances[place]:.0%} of reports, each other value in "
            f"{float(np.delete(chances, place).mean()):.0%}."
        )
    if outputs.bits is not None:
        return (
            f"A report has one bit for each value, each flipped at random: the bit of {label} is set in "
            f"{chances[place]:.0%} of reports, each other bit in {float(np.delete(chances, place).mean()):.0%}."
        )
    if chances.size != survey.alphabet.size:  # a report is not one of the values: it may lie beyond them, or be a code
        many = f"There are {chances.size:,} possible reports; half of such people send one of"
        bit = f"A report is one bit. It is 1 in {_share(chances[1])} of the reports of {label}."
        return bit if chances.size == 2 else f"{many} {_holding_half(chances):,} of them."
    if isinstance(survey.alphabet.geometry, PlaneGeometry):
        return _place_words(survey, chances, place)
    own = f"The true {survey.name} itself, {label}, is reported by {_share(chances[place])} of such people"
    if not outputs.is_listable:
        return f"{own}; reports may lie beyond all values, and are drawn at the nearest one."
    likely = _holding_half(chances)  # 1: the truth itself is half of them
    return f"{own}." if likely == 1 else f"{own}; half of their reports are spread over {counted(likely, 'value')}."


def _holding_half(chances: NDArray[np.float64]) -> int:
    """Return how many of the likeliest reports hold half of all."""
    return int(np.sum(np.cumsum(np.sort(chances)[::-1]) < HALF)) + 1


def _place_words(survey: Survey, chances: NDArray[np.float64], place: int) -> str:
    """Describe how near reports lie to a true place.

    Cells have no familiar names.
    """
    alphabet = survey.alphabet
    spots = np.asarray(alphabet.coordinates, dtype=np.float64) * float(getattr(alphabet, "spacing", 1.0))
    far = np.hypot(*(spots - spots[place]).T)
    order = np.argsort(far, kind="stable")
    half = float(far[order][np.searchsorted(np.cumsum(chances[order]), HALF)])
    own = f"The cell of the true {survey.name} itself is reported by {_share(chances[place])} of such people"
    near = f"; half of their reports lie within {_length(half, alphabet.unit)} of it" if half > 0 else ""
    is_held = survey.mechanism.report_alphabet.is_listable
    return f"{own}{near}." if is_held else f"{own}{near}. Reports may lie beyond the map, and are drawn at its edge."


def _share(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 else f"{share:.1%}" if share >= 0.001 else "less than 0.1%"


def warnings_of(draft: Draft) -> list[str]:
    """Warn about extreme settings of a draft."""
    survey, found = draft.survey, []
    pairs = telling_pairs(survey)
    bounds = [survey.mechanism.guarantee.bound(*(_value(draft.alphabet, place) for place in pair)) for pair in pairs]
    if bounds and min(bounds) >= math.log(99):  # even odds become 99 to 1
        found.append(
            f"Nearly the truth: one report all but reveals the {survey.name}, even among neighbours. Choose a smaller "
            f"epsilon."
        )
    # Even odds become 55 to 45 between the values farthest apart.
    if pairs and largest_bound(survey.mechanism.guarantee, draft.alphabet) <= math.log(55 / 45):
        found.append(
            "Nearly nothing: between any two values a report leaves the odds at 55 to 45 or closer to even, so the "
            "estimate will be little more than even shares. Choose a larger epsilon, or ask very many people."
        )
    if draft.people < 1000:  # under the usual noise
        found.append(f"{counted(draft.people, 'person')}: blurred reports of fewer than 1,000 people say very little.")
    elif draft.people < 5 * draft.alphabet.size:  # whatever the noise
        found.append(
            f"{counted(draft.people, 'person')} over {counted(draft.alphabet.size, 'value')}: fewer than 5 people "
            f"a value. Only wide ranges can be resolved. Make the values coarser, or ask more people."
        )
    return found


def design_code(draft: Draft) -> dict[str, str]:
    """Return commands and Python code that reproduce a draft."""
    survey, guess = draft.survey, draft.guess
    quoted = f"'{guess}'" if " " in guess else guess
    commands = (
        "# with the survey saved as survey.toml\n"
        "confide show survey.toml\n"
        f"confide plan survey.toml --people {draft.people} --guess {quoted}\n"
        "confide studio survey.toml\n"
    )
    python = (
        "import confide as cf\n"
        "import numpy as np\n"
        "from confide.plans import as_guess\n\n"
        f"survey = cf.parse_survey({python_text(survey.text())})\n"
        f"truth = as_guess({toml_value(guess)}, survey.mechanism).vector\n"
        f"people = np.random.default_rng(0).multinomial({draft.people}, truth)\n"
        "counts = survey.mechanism.simulate_counts(people, rng=0)\n"
        "estimate = cf.estimate(counts, survey.mechanism, shape=survey.shape)\n"
        "for label, share in zip(estimate.alphabet.labels(), estimate.distribution):\n"
        '    print(f"{label}: {share:.4f}")\n'
    )
    return {"commands": commands, "python": python}
