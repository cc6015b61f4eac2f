"""Verdicts with their reasons, and the paper's theorems by what they say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

NAMES = {
    "theorem identification": "Theorem on identification: as many independent columns as values",
    "theorem strictconcavity": "Theorem on strict concavity: the rank of the columns seen, and of ones",
    "theorem mlconsistencygen": "Theorem on consistency of maximum likelihood",
    "corollary strictlyConcave_one_mech": "Corollary on strict concavity under one mechanism",
    "corollary consistency1": "Corollary on consistency with finitely many reports",
    "corollary consistency2": "Corollary on consistency of the geometric mechanism",
    "corollary consistency3": "Corollary on consistency of the taxicab mechanism",
    "corollaries consistency2 and consistency3": "corollaries on consistency of the geometric and taxicab mechanisms",
    "definition id_cont_dom, section continuity": "Conditions of consistency: continuity",
    "definition id_cont_dom, section dominance": "Conditions of consistency: dominance",
    "lemma krrLinIndependence": "Lemma on the columns of k-RR",
    "lemma linearGeometricLinIndependence": "Lemma on the columns of the geometric mechanism",
    "lemma TLinearGeometricLinIndependence": "Lemma on the columns of the truncated geometric mechanism",
    "lemma taxicabLinIndependence": "Lemma on the columns of the taxicab mechanism",
    "lemma TTaxicabLinIndependence": "Lemma on the columns of the truncated taxicab mechanism",
    "lemma binarymatrix": "lemma on binary matrices",
    "proposition strictlyConcaverappor": "Proposition on strict concavity under RAPPOR",
    "proposition uniqueness": "Proposition: a strictly concave likelihood has one maximum",
    "proposition invKrrBound": "Proposition: a bound on inversion's error under k-RR",
    "proposition invTLinGeomBound": "Proposition: a bound on inversion's error under the truncated geometric mechanism",
    "proposition invTTaxicabBound": "Proposition: a bound on inversion's error under the truncated taxicab mechanism",
}
"""Theorems of the paper in a few words, by their kind and label there."""

_LABELS = re.compile("|".join(rf"{re.escape(label)}\b" for label in sorted(NAMES, key=len, reverse=True)))


class Verdict(StrEnum):
    """Answer to a question of theory."""

    YES = "yes"
    NO = "no"
    TOO_CLOSE = "too close to call"
    NOT_COVERED = "not covered by theory"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True)
class Finding:
    """A verdict with its reason.

    Attributes
    ----------
    verdict
        Yes, no, or why there is neither.
    reason
        Why, in a sentence.
    source
        The theorem or lemma, by its name in the paper, or how it was measured.
    numbers
        What was measured, by name.

    Examples
    --------
    >>> print(Finding(Verdict.NO, "There are 25 values and only 16 outputs.", "theorem identification"))
    no: There are 25 values and only 16 outputs. (theorem identification)
    """

    verdict: Verdict
    reason: str
    source: str
    numbers: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_yes(self) -> bool:
        """Whether the answer is a plain yes."""
        return self.verdict is Verdict.YES

    @property
    def is_no(self) -> bool:
        """Whether the answer is a plain no."""
        return self.verdict is Verdict.NO

    def __str__(self) -> str:
        return f"{self.verdict}: {self.reason} ({self.source})"


def all_of(*verdicts: Verdict) -> Verdict:
    """Combine verdicts: yes if all are, no if one is.

    >>> all_of(Verdict.YES, Verdict.NO, Verdict.TOO_CLOSE)
    <Verdict.NO: 'no'>
    """
    for decisive in (Verdict.NO, Verdict.NOT_COVERED, Verdict.NOT_CHECKED, Verdict.TOO_CLOSE):
        if decisive in verdicts:
            return decisive
    return Verdict.YES


def without_labels(words: str) -> str:
    """Return words with the paper's labels replaced by what they stand for.

    >>> without_labels("lemma krrLinIndependence")
    'Lemma on the columns of k-RR'
    """
    named = _LABELS.sub(lambda found: NAMES[found.group()], words)
    return named[:1].upper() + named[1:]


def labels_in(words: str) -> list[str]:
    """Return the paper's labels in words, in order.

    >>> labels_in("at most 277.3 / n (proposition invKrrBound)")
    ['proposition invKrrBound']
    """
    return _LABELS.findall(words)


def remark_on(identification: Finding) -> str:
    """Return an answer's caution about identification, or nothing.

    >>> remark_on(Finding(Verdict.YES, "Under k-RR all columns are linearly independent.", "lemma krrLinIndependence"))
    ''
    >>> remark_on(Finding(Verdict.NO, "There are 3 values and only 2 outputs.", "theorem identification"))[:47]
    'These reports cannot identify the distribution:'
    """
    question = "Whether these reports can reveal the distribution at all"
    match identification.verdict:
        case Verdict.YES:
            return ""
        case Verdict.NO:
            return (
                f"These reports cannot identify the distribution: different distributions give exactly the same ones, "
                f"so several may explain them equally well, however many people report. The answer is one of many, "
                f"favoured by what the method assumes. {identification.reason}"
            )
        case Verdict.NOT_CHECKED:
            closer = "confide.diagnose(None, mechanism) looks closer."
            return f"{question} was not checked. {identification.reason} {closer}"
        case verdict:
            return f"{question} is {verdict}. {identification.reason}"
