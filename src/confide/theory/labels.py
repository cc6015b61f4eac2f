"""The paper's theorems by what they say, for those who do not have its labels in their heads."""

from __future__ import annotations

import re

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
"""What each says in a few words, by its kind and its label in the paper."""

_LABELS = re.compile("|".join(rf"{re.escape(label)}\b" for label in sorted(NAMES, key=len, reverse=True)))


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
