"""Preview of a draft: its promise in odds, what one report may be, and warnings; no simulation but a thousand draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import InvalidParameterError
from confide.estimates.explanations import describe_mechanism, describe_repetition, explain_guarantee, telling_pairs
from confide.mechanisms import MECHANISMS, Mechanism
from confide.mechanisms.base import truncated
from confide.mechanisms.guarantees import LocalDP, MetricPrivacy
from confide.plans.settings import epsilon_bounds, most_people, suiting
from confide.present.estimates import summarise_reports
from confide.studio.drafts import Draft, distance_words, guesses_of, labels_of, python_text, read_draft, values_record
from confide.surveys.declarations import toml_value
from confide.surveys.survey import Survey
from confide.theory.identification import largest_bound
from confide.values import Alphabet, PlaneGeometry
from confide.values.wording import counted

DRAWN = 1000
"""Reports of one value that are drawn."""

HALF = 0.5 - 1e-9
"""Half of the reports, whatever their sum is rounded to."""


def preview(work: dict[str, Any], tell: Callable[..., None]) -> dict[str, Any]:  # noqa: ARG001 - too quick to be told
    """Return what a draft would be, and what may leave the phone of a person who has one of its values."""
    draft = read_draft(work.get("draft"))
    survey = draft.survey
    return {
        "survey": {"text": survey.text() + "\n", "json": survey.to_json(), "fingerprint": survey.fingerprint},
        "values": values_record(draft.alphabet),
        "mechanism": _named(survey.mechanism.kind, describe_mechanism(survey)),
        "mechanisms": [_named(kind, name) for kind, name in _suiting(draft.alphabet)],
        "epsilon": _slider(survey.mechanism),
        "promise": promise_of(survey),
        "odds": _odds(survey),
        **_reports(draft, work.get("value")),
        "guesses": guesses_of(survey),
        "warnings": warnings_of(draft),
        "code": design_code(draft),
    }


def trial(work: dict[str, Any], tell: Callable[..., None]) -> dict[str, Any]:  # noqa: ARG001 - as above
    """Return a draft as a survey that people made up from its guess answer: another one than that of real people."""
    draft = read_draft(work.get("draft"))
    document = replace(draft.survey, simulated=draft.guess).to_json()
    return {"document": document, "most": most_people(draft.survey.mechanism)}


def _named(kind: str, name: str) -> dict[str, str]:
    return {"kind": kind, "name": name, "remark": MECHANISMS[kind].about}


@lru_cache(32)
def _suiting(alphabet: Alphabet) -> list[tuple[str, str]]:
    return [(one.kind, describe_mechanism(Survey(one))) for one in suiting(alphabet, 1.0)]


def promise_of(survey: Survey) -> list[str]:
    """Return what is promised, in the sentences of `confide show`: examples in odds first."""
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
    """Return how far two places lie apart, as people say it.

    >>> _length(0.4996, "km"), _length(3.02, "km"), _length(2, "")
    ('500 m', '3 km', '2 cells')
    """
    return distance_words(float(f"{amount:.2g}"), unit or "cell")


def _value(alphabet: Alphabet, place: int) -> Any:
    value = alphabet.decode([place]).tolist()[0]
    return tuple(value) if isinstance(value, list) else value


def _slider(mechanism: Mechanism) -> dict[str, Any]:
    """Return where epsilon is, and between which ends it is worth moving."""
    guarantee, alphabet = mechanism.guarantee, mechanism.alphabet
    epsilon = float(getattr(guarantee, "epsilon", 1.0))
    least, most = epsilon_bounds(mechanism)
    if isinstance(guarantee, LocalDP) or not isinstance(guarantee, MetricPrivacy):
        ends = {"low": 0.05, "high": min(10.0, most), "usual": 2.0, "per": ""}
    else:
        span = _span(mechanism)
        steps = 10 if len(alphabet.field_names) > 1 else 5  # as `confide init` has it: 0.05 a year, 1 a kilometre
        low, high = max(least, _rounded(0.1 / span)), min(most, _rounded(200 / span))
        per = guarantee.unit or "unit of distance"
        ends = {"low": low, "high": high, "usual": min(max(low, _rounded(steps / span)), high), "per": per}
    return {"value": epsilon} | ends


def _span(mechanism: Mechanism) -> float:
    """Return how far values lie apart at most along an axis, in units of distance."""
    places, spacing = mechanism.alphabet.coordinates, float(getattr(mechanism.alphabet, "spacing", 1.0))
    return max(float((places.max(axis=0) - places.min(axis=0)).max()) * spacing, 1e-9) if len(places) else 1.0


def _rounded(amount: float) -> float:
    """Return the nearest of 1, 2, 5, 10, 20, ... and 0.5, 0.2, ..., by ratio.

    >>> _rounded(0.0505), _rounded(1.26), _rounded(7)
    (0.05, 1.0, 5.0)
    """
    power = 10.0 ** math.floor(math.log10(amount))
    near = min((1, 2, 5, 10), key=lambda digit: abs(math.log(digit * power / amount)))
    return float(f"{near * power:.1g}")


def _reports(draft: Draft, value: object) -> dict[str, Any]:
    """Return one true value and what may be reported of it."""
    survey, alphabet = draft.survey, draft.alphabet
    # The most common value of the guess is a good one to begin with.
    place = int(np.argmax(draft.truth.vector)) if value is None else value
    if type(place) is not int or not 0 <= place < alphabet.size:
        raise InvalidParameterError(f"value must be a whole number from 0 to {alphabet.size - 1:,}; got {value!r:.60}.")
    # By probabilities, where there is a matrix: exact tables of all values take 130 ms for 140 of them, to draw of one.
    people = np.bincount([place], minlength=alphabet.size) * DRAWN
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
    """Return how probable each report is; of bits, how probable it is that each is set."""
    if mechanism.facts.bits is not None:
        keep, flip = mechanism.facts.bits
        bits = np.full(mechanism.alphabet.size, float(flip))
        bits[place] = float(keep)
        return bits
    clamped = mechanism if mechanism.has_channel else truncated(mechanism)
    return np.asarray(clamped.channel.select(np.array([place]))[0], dtype=np.float64)


def _report_words(survey: Survey, chances: NDArray[np.float64], place: int, label: str) -> str:
    outputs = survey.mechanism.report_alphabet
    if outputs.bits is not None:
        return (
            f"A report has one bit for each value, each flipped at random: the bit of {label} is set in "
            f"{chances[place]:.0%} of reports, each other bit in {float(np.delete(chances, place).mean()):.0%}."
        )
    if isinstance(survey.alphabet.geometry, PlaneGeometry):
        return _place_words(survey, chances, place)
    own = f"The true {survey.name} itself, {label}, is reported by {_share(chances[place])} of such people"
    if not outputs.is_listable:
        return f"{own}; reports may lie beyond all values, and are drawn at the nearest one."
    likely = int(np.sum(np.cumsum(np.sort(chances)[::-1]) < HALF)) + 1  # the truth itself, where that is half of them
    return f"{own}." if likely == 1 else f"{own}; half of their reports are spread over {counted(likely, 'value')}."


def _place_words(survey: Survey, chances: NDArray[np.float64], place: int) -> str:
    """Return how near to a true place its reports lie: a cell has no name that people know."""
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
    """Return what is extreme in a draft."""
    survey, found = draft.survey, []
    pairs = telling_pairs(survey)
    bounds = [survey.mechanism.guarantee.bound(*(_value(draft.alphabet, place) for place in pair)) for pair in pairs]
    if bounds and min(bounds) >= math.log(99):  # even odds become 99 to 1
        found.append(
            f"Nearly the truth: one report all but tells the {survey.name}, even among neighbours. Choose a smaller "
            f"epsilon."
        )
    # Even odds become 55 to 45 between the values farthest apart.
    if pairs and largest_bound(survey.mechanism.guarantee, draft.alphabet) <= math.log(55 / 45):
        found.append(
            "Nearly nothing: between any two values a report leaves the odds at 55 to 45 or closer to even, so that "
            "the estimate will be little more than even shares. Choose a larger epsilon, or ask very many people."
        )
    if draft.people < 1000:  # under the usual noise
        found.append(f"{counted(draft.people, 'person')}: blurred reports of fewer than 1,000 people tell very little.")
    elif draft.people < 5 * draft.alphabet.size:  # whatever the noise
        found.append(
            f"{counted(draft.people, 'person')} over {counted(draft.alphabet.size, 'value')}: fewer than 5 people "
            f"a value. Only wide windows of values can be told; make the values coarser, or ask more people."
        )
    return found


def design_code(draft: Draft, seed: int = 0) -> dict[str, str]:
    """Return the commands and the Python that do what the studio did with a draft."""
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
        f"people = np.random.default_rng({seed}).multinomial({draft.people}, truth)\n"
        f"counts = survey.mechanism.simulate_counts(people, rng={seed})\n"
        "estimate = cf.estimate(counts, survey.mechanism, shape=survey.shape)\n"
        "for label, share in zip(estimate.alphabet.labels(), estimate.distribution):\n"
        '    print(f"{label}: {share:.4f}")\n'
    )
    return {"commands": commands, "python": python}
