"""Self-contained HTML pages: nothing is fetched when they are viewed."""

from __future__ import annotations

from collections.abc import Sequence

from confide.diagnosis import Diagnosis, QueryAnswer
from confide.files import GroupAnswers, SurveyGroups
from confide.pages.estimate import estimate_page
from confide.pages.markup import show_page
from confide.plans import Plan
from confide.present.diagnoses import summarise_diagnosis
from confide.present.groups import summarise_groups
from confide.present.plans import summarise_plan
from confide.present.summary import Section
from confide.surveys import Survey

__all__ = ["diagnosis_page", "estimate_page", "groups_page", "plan_page"]


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
