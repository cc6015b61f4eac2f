"""Words about identification that go with every answer."""

from __future__ import annotations

from confide.theory.verdicts import Finding, Verdict

ONE_OF_MANY = (
    "These reports cannot identify the distribution: different distributions give exactly the same ones, so several "
    "may explain them equally well, however many people report. The answer is one of many, favoured by what the "
    "method assumes."
)
"""Worth of an answer where the mechanism does not identify the distribution."""

OPEN_QUESTION = "Whether these reports can reveal the distribution at all"


def remark_on(identification: Finding) -> str:
    """Return what an answer should say about identification; nothing where the mechanism identifies the distribution.

    >>> remark_on(Finding(Verdict.YES, "Under k-RR all columns are linearly independent.", "lemma krrLinIndependence"))
    ''
    >>> remark_on(Finding(Verdict.NO, "There are 3 values and only 2 outputs.", "theorem identification"))[:47]
    'These reports cannot identify the distribution:'
    """
    match identification.verdict:
        case Verdict.YES:
            return ""
        case Verdict.NO:
            return f"{ONE_OF_MANY} {identification.reason}"
        case Verdict.NOT_CHECKED:
            closer = "confide.diagnose(None, mechanism) looks closer."
            return f"{OPEN_QUESTION} was not checked. {identification.reason} {closer}"
        case verdict:
            return f"{OPEN_QUESTION} is {verdict}. {identification.reason}"
