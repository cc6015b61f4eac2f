"""Self-contained HTML pages: nothing is fetched when they are viewed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from numpy.typing import ArrayLike

from confide.data.files import GroupAnswers, SurveyGroups
from confide.estimates.comparisons import Outcome
from confide.estimates.diagnosis import Diagnosis, QueryAnswer
from confide.estimates.estimate import Estimate
from confide.estimates.inference import Band, CrossTable, Interval, Windows
from confide.evidence.counts import Counts
from confide.plans import Plan
from confide.present.diagnoses import summarise_diagnosis
from confide.present.estimates import Findings, complete, summarise_estimate
from confide.present.figures.panels import FloatArray
from confide.present.groups import summarise_groups
from confide.present.pages.markup import show_page
from confide.present.plans import summarise_plan
from confide.present.summary import Section
from confide.surveys.survey import Survey

__all__ = ["diagnosis_page", "estimate_page", "groups_page", "plan_page"]


def estimate_page(  # noqa: PLR0913 - all that a page may show
    survey: Survey,
    counts: Counts,
    outcomes: Sequence[Outcome],
    truth: ArrayLike | None = None,
    noisy: ArrayLike | None = None,
    *,
    band: Band | None = None,
    answers: Sequence[Interval] = (),
    windows: Windows | None = None,
    marginals: Mapping[str, tuple[Estimate, Windows | None]] | None = None,
    crosses: Sequence[CrossTable] = (),
    background: Sequence[FloatArray] = (),
    notes: Sequence[str] = (),
    files: int = 1,
) -> str:
    """Return one self-contained HTML document that shows estimates, what they rest on and how they were reached.

    Parameters
    ----------
    survey
        What was asked and how answers were blurred.
    counts
        The reports; the page says of their noise what their `origin` states, and no more.
    outcomes
        What :func:`confide.assess` returned, one for each method.
    truth
        The true distribution over the alphabet, where it is known.
    noisy
        The share of each report; computed from the counts if left out.
    band
        The intervals of all values of the first estimate, :meth:`confide.Estimate.interval`.
    answers
        What was asked of the first estimate, :meth:`confide.Estimate.query` and the like.
    windows
        The windows of the first estimate, :meth:`confide.Estimate.windows`; found if left out, unless there are very
        many values or the reports certainly do not come from the mechanism.
    marginals, crosses
        Of several attributes, the estimate of each with its windows, :meth:`confide.Estimate.marginal`, and cross
        tables, :meth:`confide.Estimate.cross`.
    background
        Lines to draw on maps of places, as :func:`confide.values.geojson.read_lines` returns them.
    notes
        Which metadata are missing, :attr:`confide.data.counting.ReportInput.notes`.
    files
        How many files of reports were counted together; one person may be in each of them.

    >>> import confide as cf
    >>> survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0), "answer", "A question")
    >>> counts = cf.tally(["yes", "no"], counts=[600, 400])
    >>> page = estimate_page(survey, counts, [cf.assess(counts, survey.mechanism, cf.IBU())])
    >>> page.splitlines()[0]
    '<!DOCTYPE html>'
    """
    found = Findings(
        survey,
        counts,
        tuple(outcomes),
        truth,  # type: ignore[arg-type]  # it is checked, and then an array
        band=band,
        answers=tuple(answers),
        windows=windows,
        marginals=marginals,
        crosses=crosses,
        background=tuple(background),
        given=noisy,
        notes=notes,
        files=files,
    )
    return show_page(summarise_estimate(complete(found), is_page=True))


def groups_page(groups: SurveyGroups, answers: GroupAnswers | None = None) -> str:
    """Return one self-contained HTML document: what each group answers, which differ, and pictures of the largest.

    >>> import confide as cf
    >>> survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0), "answer", "A question")
    >>> counts = {("Oslo",): cf.tally(["yes", "no"], [60, 40]), ("Rome",): cf.tally(["yes", "no"], [30, 70])}
    >>> found = cf.estimate_groups(counts, survey.mechanism, cf.IBU())
    >>> page = groups_page(SurveyGroups(found.estimates, survey, ("town",)))
    >>> page.splitlines()[0]
    '<!DOCTYPE html>'
    """
    return show_page(summarise_groups(groups, answers or GroupAnswers(), is_page=True))


def diagnosis_page(
    survey: Survey,
    diagnosis: Diagnosis,
    answers: Sequence[QueryAnswer] = (),
    notes: Sequence[str] = (),
    *,
    groups: Sequence[Section] = (),
) -> str:
    """Return one self-contained HTML document that shows a diagnosis: the verdict, pictures, and what it rests on.

    The notes say which metadata of the reports are missing, the groups what each of them tells.

    >>> import confide as cf
    >>> survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0), "answer", "A question")
    >>> diagnosis_page(survey, cf.diagnose(None, survey.mechanism)).splitlines()[0]
    '<!DOCTYPE html>'
    """
    return show_page(summarise_diagnosis(survey, diagnosis, answers, notes=notes, groups=groups, is_page=True))


def plan_page(survey: Survey, plan: Plan) -> str:
    """Return one self-contained HTML document that shows a plan: the sentence, the trade-off, the mechanisms.

    >>> import confide as cf
    >>> survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0), "answer", "A question")
    >>> made = cf.plan(survey.mechanism, [0.7, 0.3], people=500, repeats=4, cache=False)
    >>> plan_page(survey, made).splitlines()[0]
    '<!DOCTYPE html>'
    """
    return show_page(summarise_plan(survey, plan))
