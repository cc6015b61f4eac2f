"""What a page says of answers that are some of many: in a box if it is so for sure, in a sentence if it may be."""

from __future__ import annotations

from confide.explanations import WHEN_NOT_IDENTIFIED
from confide.pages.markup import callout, note
from confide.theory.verdicts import Finding
from confide.theory.words import remark_on

HEADING = "Not identified: this answer is one of many"


def warn_not_identified(found: Finding, heading: str = HEADING, cure: str = WHEN_NOT_IDENTIFIED) -> str:
    """Return a box where the answer is one of many; nothing elsewhere."""
    return callout(heading, remark_on(found), cure) if found.is_no else ""


def remark_open(found: Finding) -> str:
    """Return a sentence where it is open whether reports can reveal the distribution; nothing elsewhere."""
    return "" if found.is_yes or found.is_no else note(remark_on(found))
