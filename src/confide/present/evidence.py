"""Evidence for a data protection officer, on one page."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import numpy as np

import confide
from confide.check.answers import Fit
from confide.estimates.explanations import describe_repetition, explain_guarantee
from confide.mechanisms.audits import Audit
from confide.mechanisms.randomized_response import UnaryEncoding
from confide.present.summary import Bullets, Lines, Listing, Note, Part, Section, Source, Summary
from confide.present.surveys import summarise_audit
from confide.surveys.survey import Survey
from confide.values.wording import counted, with_unit

MOST_VALUES = 1000
"""Values up to which we compute how often answers change; it takes the whole matrix."""


def summarise_evidence(survey: Survey, audit: Audit, fit: Fit | None = None, reports: int = 0) -> Summary:
    """Return promise, audit, fit, repetition, wording, readers and origin of a survey."""
    checked = summarise_audit(survey, audit)
    how = [part for section in checked.sections for part in section.parts]
    fitting = "No reports were given, so nothing was tested." if fit is None else f"{fit.headline} {fit}"
    sections = [
        Section("What is promised", [Bullets([*explain_guarantee(survey), *survey.mechanism.fine_print])]),
        Section("What was checked", [checked.headline, Lines(checked.facts), *how]),
        Section("Whether the reports fit", [fitting]),
        Section("What repetition reveals", [_sentence(describe_repetition(survey))]),
        Section("What people are told", [Bullets(wording(survey)), Note(_ABOUT_WORDING)]),
        Section("Who could read what", [_readers(survey)]),
    ]
    origin: list[Part] = [
        Lines([("Survey", survey.pin), ("Made by", f"confide {confide.__version__}")]),
        "Anybody with the survey file gets the same fingerprint, and repeats the audit: confide audit survey.toml",
        Source(survey.text()),
    ]
    asked = [f"fingerprint {survey.fingerprint}", counted(reports, "report"), f"confide {confide.__version__}"]
    return Summary(f"Evidence: {survey.title}", asked, checked.headline, sections=sections, origin=origin)


_ABOUT_WORDING = (
    "As the page to take part says it, in the survey's language. The phone computes the numbers by drawing reports, so "
    "they may differ by a few percent from these."
)


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + ("" if words.endswith(".") else ".")


def _readers(survey: Survey) -> Listing:
    """Return who could read what, as a table."""
    beside = ", ".join(survey.groups)
    groups = f" They read {beside} unblurred, beside each report." if survey.groups else ""
    result = "The result so far." if survey.results else "Nothing but how many have answered."
    rows = [
        ["The person's device", "The answer. It stays in the memory of the page, and is stored nowhere.", "not needed"],
        [
            "The network",
            "That a device talks to the collector, and when. With https not what it sends.",
            "https, and no access log",
        ],
        [
            "The collector and its curators",
            f"Blurred reports, counted for each day. No name, no address, no time finer than the day.{groups}",
            "the promise above",
        ],
        ["Who takes part", result, "the promise above"],
        ["The public", "What the curator publishes: the estimates.", "the promise above"],
    ]
    if survey.shuffler:
        rows.insert(2, [survey.shuffler, "Who sent which report, before they are mixed.", "the promise above"])
    return Listing(["Who", "reads", "protected by"], rows, (0, 1, 2), "stacked")


def wording(survey: Survey) -> list[str]:
    """Return what people read of chance, in the survey's language.

    >>> from confide import Categories, RandomizedResponse
    >>> print(wording(Survey(RandomizedResponse(Categories(["yes", "no", "unsure"]), 2.0)))[0])
    About 1 in 5 answers is changed at random, on your phone.
    """
    texts = _texts(survey.language)
    is_far, first = _changes(survey, texts)
    groups = "stays.groups" if survey.groups else "stays"
    said = [first, texts["explain.nobody.far" if is_far else "explain.nobody"], texts[groups]]
    if survey.most_reports is not None:
        said.append(texts["most"].format(reports=_fill(texts["reports"], survey.most_reports)))
    sent = "sent.groups" if survey.groups else "sent.what"
    kept = "kept.secret" if survey.needs_secret else "kept"
    return [*said, texts[sent], texts[kept], texts["explain.public" if survey.results else "explain.curator"]]


def _texts(language: str) -> dict[str, str]:
    """Return the texts that people read, in English if need be."""
    folder = files("confide").joinpath("studio", "static")
    found = [folder / f"{code}.json" for code in (language.lower().partition("-")[0], "en")]
    path = next(one for one in found if one.is_file())
    texts: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return texts


def _changes(survey: Survey, texts: dict[str, str]) -> tuple[bool, str]:
    """Return how often or how far reports lie away."""
    mechanism, alphabet = survey.mechanism, survey.alphabet
    if isinstance(mechanism, UnaryEncoding):
        marks = alphabet.size
        switched = float((1 - mechanism.keep) + (marks - 1) * mechanism.flip) / marks
        return False, _fill(texts["explain.marks"], *fraction(switched), marks=marks)
    if not alphabet.is_finite or alphabet.size > MOST_VALUES or mechanism.report_alphabet != alphabet:
        return False, texts["explain.most"]
    # As the phone does: answers spread over all there are.
    tried = ((np.arange(20) + 0.5) * alphabet.size / 20).astype(int)
    rows = mechanism.channel.dense()[tried]
    share = float(1 - rows[np.arange(20), tried].mean())
    if alphabet.grid is not None or alphabet.kind == "integers":
        far = alphabet.distances()[tried].ravel()
        order = np.argsort(far, kind="stable")
        half = far[order][np.searchsorted(np.cumsum(rows.ravel()[order]), rows.sum() / 2)]
        if half > 0:
            key = "explain.number" if alphabet.grid is None else "explain.place"
            unit = alphabet.unit or ("" if alphabet.grid is None else "cell")
            short = (1000 * half, "m") if unit == "km" and half < 1 else (half, unit)
            return True, texts[key].format(length=with_unit(float(f"{short[0]:.2g}"), short[1]).strip())
    if share > 0.95:
        return False, texts["explain.most"]
    return False, _fill(texts["explain.share"], *fraction(share))


def _fill(text: str, number: int, of: int = 0, **values: Any) -> str:
    """Return a text for one or for several, with its places filled."""
    one, _, several = text.partition("\N{BROKEN BAR}")
    return (one if number == 1 or not several else several).format(k=number, n=of or number, **values)


def fraction(share: float) -> tuple[int, int]:
    """Return a share as people say it: 1 in 5.

    >>> fraction(0.213), fraction(0.66), fraction(0.004)
    ((1, 5), (2, 3), (1, 100))
    """
    for people in range(2, 100):
        some = int(np.floor(share * people + 0.5))
        if 0 < some < people and abs(some / people - share) <= 0.07 * min(share, 1 - share):
            return some, people
    return max(1, int(np.floor(100 * share + 0.5))), 100
