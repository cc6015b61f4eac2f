"""The survey as a page shows it."""

from __future__ import annotations

from confide.surveys import Survey

MOST_ENTRIES = 40
"""Longer lists are shown in part; the survey file itself has the rest."""


def survey_text(survey: Survey) -> str:
    """Return a survey as TOML; lists that are too long to read are shortened, with a remark."""
    return survey.text(MOST_ENTRIES)
