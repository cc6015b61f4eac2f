"""Several reports of one person: what commands say where files of reports were counted together."""

from __future__ import annotations

from typing import Any

from confide.cli.terminal import warn
from confide.data.files import Heading
from confide.estimates.explanations import describe_files
from confide.values.wording import counted, listed


def describe_merged(heading: Heading) -> str:
    """Return what is promised to a person who reported in each of the files behind counts."""
    if heading.files == 1:
        return f"{heading.survey.mechanism.guarantee.terms}, for one report of each person"
    if heading.is_pooled:
        # Under two rounds, what any number of reports of a value promise: what each does by itself does not add up.
        every = [one.mechanism.lasting or one.mechanism.guarantee for one in heading.surveys]
        terms = list(dict.fromkeys(one.terms for one in every))
        return f"{listed(terms)}; to a person who reported in several of the {heading.files:,} files, their sum"
    return describe_files(heading.survey, heading.files)


def promise_line(heading: Heading) -> list[tuple[str, str]]:
    """Return a line for the list of facts, where there are several files of reports behind counts."""
    return [("Promise of the survey", describe_merged(heading))] if heading.files > 1 else []


def warn_over_limit(heading: Heading) -> None:
    """Warn where more files were counted together than the survey allows reports of one person."""
    if heading.is_over_limit:
        warn(
            f"{counted(heading.most_reports, 'file')} may hold as many reports of one person, and the survey allows "
            f"{heading.limit}. The limit is broken unless the files are of different people."
        )


def repetition_record(heading: Heading) -> dict[str, Any]:
    """Return for JSON how many files of reports there are, and what is promised to a person who is in each."""
    promise = heading.survey.mechanism.lasting or heading.survey.mechanism.guarantee
    return {
        "files": heading.files,
        "guarantee_of_one_report": [str(one.mechanism.guarantee) for one in heading.surveys],
        "guarantee_if_in_each_file": None if heading.is_pooled else str(promise.times(heading.files)),
        "words": describe_merged(heading),
        "most_reports_of_one_person": max(
            [heading.most_repeated(number) for number, known in enumerate(heading.origins) if known.permanent] or [1]
        ),
        "limit": heading.limit,
        "is_over_limit": heading.is_over_limit,
    }
