"""An estimate for each group of a file of counts, as one tidy table."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.channels.base import FloatArray
from confide.counting.files import CountsFile, Heading
from confide.counting.groups import Key, natural_order
from confide.errors import DataFileError
from confide.estimates import Estimate, recover, recover_groups
from confide.mechanisms import Mechanism
from confide.methods import Method, Progress
from confide.reports import Counts
from confide.surveys import Survey
from confide.tables import alphabet_record, finding_record, value_columns
from confide.theory.verdicts import Finding, all_of

Pool = list[tuple[Counts, Mechanism]]


@dataclass(frozen=True, eq=False)
class GroupEstimates:
    """What a method recovered for each group.

    Attributes
    ----------
    survey
        What was asked.
    by
        The columns that name a group.
    reports
        How many reports each group has.
    estimates
        What was recovered for each.
    """

    survey: Survey
    by: tuple[str, ...]
    reports: Mapping[Key, float]
    estimates: Mapping[Key, Estimate]

    @property
    def total(self) -> float:
        """How many reports there are in all."""
        return sum(self.reports.values())

    @property
    def largest(self) -> list[Key]:
        """The groups, the one with the most reports first."""
        return sorted(self.estimates, key=lambda key: (-self.reports[key], key))

    @property
    def identification(self) -> Finding:
        """What is known of the groups of which least is; in a pool each has the mechanisms that its people used."""
        findings = [one.identification for one in self.estimates.values()]
        worst = all_of(*(one.verdict for one in findings))
        return next(one for one in findings if one.verdict is worst)

    @property
    def least_identified(self) -> int:
        """Of how many groups that is known."""
        worst = self.identification.verdict
        return sum(one.identification.verdict is worst for one in self.estimates.values())

    @property
    def overall(self) -> FloatArray:
        """The distribution of all groups together: the mean of theirs, by their reports."""
        weights = np.array([self.reports[key] for key in self.estimates]) / self.total
        overall: FloatArray = weights @ np.array([one.distribution for one in self.estimates.values()])
        return overall


def require_survey(heading: Heading, survey: Survey, path: object) -> None:
    """Refuse counts that were made under another survey than this one."""
    if survey.fingerprint not in {one.fingerprint for one in heading.surveys}:
        known = " and ".join(repr(one.mechanism) for one in heading.surveys)
        raise DataFileError(
            f"{path} was counted under another survey, with {known}; this one has {survey.mechanism!r}. "
            f"Estimate with the survey that the reports were made with."
        )


def pools_of(counts: CountsFile) -> dict[Key, Pool]:
    """Return for each group its counts, each with the mechanism of its survey; groups without a report are left out."""
    mechanisms = [survey.mechanism for survey in counts.heading.surveys]
    pools = {
        key: [(part, mechanisms[number]) for number, part in sorted(parts.items()) if part.total > 0]
        for key, parts in counts.groups.items()
    }
    return {key: pools[key] for key in natural_order(key for key, pool in pools.items() if pool)}


def estimate_file(
    counts: CountsFile, survey: Survey, method: Method, *, progress: Progress | None = None
) -> GroupEstimates:
    """Recover the distribution of every group in a file of counts."""
    pools = pools_of(counts)
    if not pools:
        raise DataFileError("The counts add up to 0; an estimate needs at least one report.")
    if counts.heading.is_pooled:
        estimates = _estimate_pools(pools, method, progress)
    else:
        alone = {key: pool[0][0] for key, pool in pools.items()}
        estimates = recover_groups(alone, survey.mechanism, method, progress)
    reports = {key: sum(part.total for part, _ in pool) for key, pool in pools.items()}
    return GroupEstimates(survey, counts.heading.by, reports, estimates)


def _estimate_pools(pools: Mapping[Key, Pool], method: Method, progress: Progress | None) -> dict[Key, Estimate]:
    estimates = {}
    for number, (key, pool) in enumerate(pools.items(), start=1):
        estimates[key] = recover(pool, method)
        if progress is not None:
            progress(number)
    return estimates


def groups_csv(groups: GroupEstimates) -> str:
    """Return one tidy table: a row for each group and value, with its probability and the reports of the group."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*groups.by, *value_columns(groups.survey, (*groups.by, "reports")), "probability", "reports"))
    values = _value_lists(groups.survey)
    for key, one in groups.estimates.items():
        reports = f"{groups.reports[key]:.17g}"
        writer.writerows(
            (*key, *value, share, reports) for value, share in zip(values, one.distribution.tolist(), strict=True)
        )
    return text.getvalue()


def groups_record(groups: GroupEstimates) -> dict[str, Any]:
    """Return everything that is known about the estimates, ready for :func:`confide.tables.to_json`."""
    survey, first = groups.survey, next(iter(groups.estimates.values()))
    return {
        "survey": {"name": survey.name, "title": survey.title},
        "alphabet": alphabet_record(survey.alphabet) | {"values": _values(survey).tolist()},
        "mechanism": {"kind": survey.mechanism.kind, "description": repr(survey.mechanism)},
        "guarantee": str(survey.mechanism.guarantee),
        "reports": groups.total,
        "method": first.method.name,
        "settings": repr(first.method),
        "identification": finding_record(groups.identification),
        "by": list(groups.by),
        "groups": [_group_record(groups, key, one) for key, one in groups.estimates.items()],
    }


def _group_record(groups: GroupEstimates, key: Key, one: Estimate) -> dict[str, Any]:
    return {
        "group": dict(zip(groups.by, key, strict=True)),
        "reports": groups.reports[key],
        "status": str(one.status),
        "explanation": one.ending,
        "identified": str(one.identification.verdict),
        "iterations": one.iterations,
        "log_likelihood": one.log_likelihood,
        "certificate": one.certificate,
        "distribution": one.distribution.tolist(),
    }


def _values(survey: Survey) -> Any:
    return survey.alphabet.decode(np.arange(survey.alphabet.size))


def _value_lists(survey: Survey) -> Sequence[list[Any]]:
    values = _values(survey)
    lists: list[list[Any]] = values.reshape(values.shape[0], -1).tolist()
    return lists
