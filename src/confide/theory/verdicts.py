"""An answer, and what it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Verdict(StrEnum):
    """What is known of a question."""

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
    """Return what is known of several questions together: yes if all are, no if one is.

    >>> all_of(Verdict.YES, Verdict.NO, Verdict.TOO_CLOSE)
    <Verdict.NO: 'no'>
    """
    for decisive in (Verdict.NO, Verdict.NOT_COVERED, Verdict.NOT_CHECKED, Verdict.TOO_CLOSE):
        if decisive in verdicts:
            return decisive
    return Verdict.YES
