"""What the command line says of an answer that is one of many: loudly if it is so for sure, in a line if it may be."""

from __future__ import annotations

from confide.cli.terminal import show_note, warn
from confide.theory.verdicts import Finding
from confide.theory.words import remark_on

TITLE = "Not identified"

CURE = (
    "confide diagnose says which values no report tells apart. --query and --interval give intervals that hold the "
    "answers of all of them. To settle it, merge values in the survey or use another mechanism."
)
CURE_FOR_GROUPS = (
    "confide diagnose says which values no report tells apart. To settle it, merge values in the survey or use another "
    "mechanism."
)


def identified_line(found: Finding) -> list[tuple[str, str]]:
    """Return a line for the list of facts where it is open whether reports can reveal the distribution."""
    return [] if found.is_yes or found.is_no else [("Identified", remark_on(found))]


def note_not_identified(found: Finding, title: str = TITLE, cure: str = CURE) -> None:
    """Show a note where the answer is one of many."""
    if found.is_no:
        show_note(title, f"{remark_on(found)} {cure}")


def warn_not_identified(found: Finding, title: str = TITLE, cure: str = CURE) -> None:
    """Say the same on standard error, for standard output belongs to a machine."""
    if found.is_no:
        warn(f"{title}. {remark_on(found)} {cure}")
