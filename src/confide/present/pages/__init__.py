"""Self-contained HTML pages: nothing is fetched when they are viewed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from numpy.typing import ArrayLike

from confide.data.files import GroupAnswers, SurveyGroups
from confide.errors import ConfideError
from confide.estimates.comparisons import Outcome
from confide.estimates.diagnosis import Diagnosis, QueryAnswer
from confide.estimates.estimate import Estimate
from confide.estimates.explanations import describe_mechanism
from confide.estimates.groups import GroupEstimates
from confide.estimates.inference import Band, CrossTable, Interval, Windows
from confide.evidence.counts import Counts
from confide.mechanisms.audits import Audit
from confide.mechanisms.base import Mechanism
from confide.plans import Plan
from confide.present.diagnoses import summarise_diagnosis
from confide.present.estimates import Findings, complete, summarise_estimate
from confide.present.figures.panels import FloatArray
from confide.present.groups import summarise_groups
from confide.present.pages.markup import show_page, text
from confide.present.plans import summarise_plan
from confide.present.summary import Listing, Section
from confide.present.surveys import summarise_audit
from confide.surveys.survey import Survey

__all__ = ["diagnosis_page", "estimate_page", "groups_page", "plan_page", "show_in_notebook"]


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


def show_in_notebook(answer: object) -> str | None:
    """Return the page of an answer in a frame, as a notebook shows it; None where only its text can be shown.

    >>> import confide as cf
    >>> mechanism = cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0)
    >>> show_in_notebook(cf.diagnose(None, mechanism))[:15]
    '<iframe srcdoc='
    """
    try:
        page = _page_of(answer)
    except ConfideError:  # matplotlib is missing, or no survey file can name a mechanism of one's own
        page = None
    # A frame, so that the page's style and the notebook's do not meet, and drawings are chosen by its width.
    style = "width:100%;height:40rem;border:0"
    return None if page is None else f'<iframe srcdoc="{text(page)}" title="confide" style="{style}"></iframe>'


def _page_of(answer: object) -> str | None:
    page = None
    match answer:
        case Estimate() if len(answer.groups) == 1:  # a pool has no survey that all of it is of
            ((mechanism, counts),) = answer.groups.items()
            page = estimate_page(_survey_of(mechanism), counts, [Outcome(answer, (), None, None)])
        case SurveyGroups():
            page = groups_page(answer)
        case GroupEstimates() if len(answer.first.groups) == 1:
            # In Python a group may have any key; in a survey its name has a word for each column.
            keys = [key if isinstance(key, tuple) else (key,) for key in answer]
            estimates = {tuple(map(str, key)): one for key, one in zip(keys, answer.values(), strict=True)}
            by = ("group",) if len(keys[0]) == 1 else tuple(f"group {place + 1}" for place in range(len(keys[0])))
            mechanism = next(iter(answer.first.groups))
            page = groups_page(SurveyGroups(estimates, _survey_of(mechanism), by))
        case Diagnosis():
            page = diagnosis_page(_survey_of(answer.mechanism, answer.name), answer)
        case Plan():
            page = plan_page(_survey_of(answer.mechanism), answer)
        case Audit():
            summary = summarise_audit(_survey_of(answer.mechanism), answer)
            found = Listing(["Audit", "Finding"], summary.opening, (0, 1), "stacked")
            page = show_page(replace(summary, headline=str(answer), sections=[Section("What was found", [found])]))
    return page


def _survey_of(mechanism: Mechanism, name: str = "value") -> Survey:
    """Return a survey that has no more to say than its mechanism, by which it is called."""
    described = describe_mechanism(Survey(mechanism))
    return Survey(mechanism, name, f"{described[:1].upper()}{described[1:]}")
