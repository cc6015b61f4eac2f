"""What the command line says of an answer that is one of many: loudly if it is so for sure, in a line if it may be."""

from __future__ import annotations

from confide.cli.terminal import show_note
from confide.explanations import WHEN_NOT_IDENTIFIED
from confide.theory.verdicts import Finding
from confide.theory.words import remark_on

TITLE = "Not identified"


def identified_line(found: Finding) -> list[tuple[str, str]]:
    """Return a line for the list of facts where it is open whether reports can reveal the distribution."""
    return [] if found.is_yes or found.is_no else [("Identified", remark_on(found))]


def note_not_identified(found: Finding, title: str = TITLE, cure: str = WHEN_NOT_IDENTIFIED) -> None:
    """Show a note where the answer is one of many; in JSON a field says it."""
    if found.is_no:
        show_note(title, remark_on(found), cure)
