"""What a page says of answers that are some of many: in a box if it is so for sure, in a sentence if it may be."""

from __future__ import annotations

from confide.pages.markup import callout, note
from confide.theory.verdicts import Finding
from confide.theory.words import ONE_OF_MANY, remark_on

HEADING = "Not identified: this answer is one of many"
HEADING_FOR_GROUPS = "Not identified: these answers are each one of many"
CURE = (
    "confide diagnose says which values no report tells apart, and what can be known all the same. The intervals of "
    "--query and --interval hold the answers of all distributions that explain the reports best. To settle it, merge "
    "values in the survey or use another mechanism."
)


def warn_not_identified(found: Finding, heading: str = HEADING) -> str:
    """Return a box where the answer is one of many; nothing elsewhere."""
    return callout(heading, f"{ONE_OF_MANY} {found.reason}", CURE) if found.is_no else ""


def remark_open(found: Finding) -> str:
    """Return a sentence where it is open whether reports can reveal the distribution; nothing elsewhere."""
    return "" if found.is_yes or found.is_no else note(remark_on(found))
