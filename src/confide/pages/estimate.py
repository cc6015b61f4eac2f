"""The page that shows an estimate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from numpy.typing import ArrayLike

import confide
from confide.comparisons import Outcome
from confide.counts import Counts
from confide.explanations import CERTIFICATE_MEANING, FACTOR_MEANING, explain_choices, explain_guarantee
from confide.guarantees import LocalDP
from confide.intervals import Band, Interval
from confide.pages import words
from confide.pages.identification import remark_open, warn_not_identified
from confide.pages.markup import bullets, document, note, paragraph, section, text
from confide.pages.pictures import show_distributions, show_path
from confide.pages.provenance import survey_text
from confide.pages.story import Story, gather
from confide.pages.tables import show_certainty, show_methods, show_shares
from confide.surveys import Survey


def estimate_page(  # noqa: PLR0913 - all that a page may show
    survey: Survey,
    counts: Counts,
    outcomes: Sequence[Outcome],
    truth: ArrayLike | None = None,
    noisy: ArrayLike | None = None,
    seed: int | None = None,
    *,
    band: Band | None = None,
    answers: Sequence[Interval] = (),
) -> str:
    """Return one self-contained HTML document that shows estimates, what they rest on and how they were reached.

    Parameters
    ----------
    survey
        What was asked and how answers were blurred.
    counts
        The reports.
    outcomes
        What :func:`confide.assess` returned, one for each method.
    truth
        The true distribution over the alphabet, where it is known.
    noisy
        The share of each report; computed from the counts if left out.
    seed
        What the reports were drawn with, if they were simulated.
    band
        The intervals of all values of the first estimate, :meth:`confide.Estimate.interval`.
    answers
        What was asked of the first estimate, :meth:`confide.Estimate.query` and the like.

    >>> import confide as cf
    >>> survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0), "answer", "A question")
    >>> counts = cf.tally(["yes", "no"], counts=[600, 400])
    >>> page = estimate_page(survey, counts, [cf.assess(counts, survey.mechanism, cf.IBU())])
    >>> page.splitlines()[0]
    '<!DOCTYPE html>'
    """
    gathered = gather(survey, counts, outcomes, truth, noisy, seed)
    story = replace(gathered, band=band, answers=tuple(answers))
    known = story.outcomes[0].estimate.identification
    sections = (
        warn_not_identified(known),
        _promise(story),
        show_distributions(story),
        show_certainty(story),
        show_methods(story),
        _ways(story),
        show_shares(story),
    )
    return document(
        title=text(survey.title),
        summary=text(words.summarise(story)),
        facts=_facts(story),
        body="\n".join(sections),
        footer=_provenance(story),
    )


def _facts(story: Story) -> str:
    facts = words.list_facts(story).items()
    inner = "".join(f"<div><dt>{text(name)}</dt><dd>{text(fact)}</dd></div>" for name, fact in facts)
    return f'<dl class="facts">{inner}</dl>'


def _promise(story: Story) -> str:
    guarantee = story.survey.mechanism.guarantee
    is_bounded = not (isinstance(guarantee, LocalDP) and math.isinf(guarantee.epsilon))
    words_of_it = str(guarantee)
    return section(
        "What each person was promised",
        paragraph(f"{words_of_it[:1].upper()}{words_of_it[1:]}."),
        bullets(explain_guarantee(story.survey)),
        note(FACTOR_MEANING) if is_bounded else "",
    )


def _ways(story: Story) -> str:
    endings = [f"{name}: {outcome.estimate.ending}." for name, outcome in zip(story.names, story.outcomes, strict=True)]
    return section(
        "How the answer was reached",
        bullets(endings),
        remark_open(story.outcomes[0].estimate.identification),
        _looked_among(story),
        *_choices(story),
        show_path(story),
    ) + section("How to read the certificate", paragraph(CERTIFICATE_MEANING))


def _looked_among(story: Story) -> str:
    """Say among which values the answers were looked for, where not among all."""
    subsets = [outcome.estimate.considered for outcome in story.outcomes]
    return "".join(paragraph(subset.explain()) for subset in dict.fromkeys(subsets) if subset is not None)


def _choices(story: Story) -> list[str]:
    """Return what the answers were mixed from, for those that were."""
    return [
        paragraph(f"What {name} is mixed from:") + bullets(explain_choices(outcome.estimate.choices))
        for name, outcome in zip(story.names, story.outcomes, strict=True)
        if outcome.estimate.choices
    ]


def _provenance(story: Story) -> str:
    seed = "the operating system's secure generator" if story.seed is None else f"a simulation with seed {story.seed}"
    methods = words.listed([repr(outcome.estimate.method) for outcome in story.outcomes])
    return "\n".join(
        (
            "<h2>Where this comes from</h2>",
            paragraph(f"Made by confide {confide.__version__} with {methods}. Randomness of the reports: {seed}."),
            paragraph("The survey, which devices and curator both read:"),
            f"<pre>{text(survey_text(story.survey))}</pre>",
        )
    )
