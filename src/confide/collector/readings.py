"""Readings of a collector: counts, estimate, diagnosis, fit and page, computed outside the loop and kept."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import time
import warnings
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from datetime import date
from typing import Any

import orjson

from confide.check.fit import fit
from confide.collector.client import to_counts_file
from confide.collector.service import Collector, Entry, Refusal
from confide.collector.stores import ACCEPTED, split_cell
from confide.collector.wire import LIMITS
from confide.data.files import diagnosis_record, estimate_record, to_json
from confide.data.files.records import plain
from confide.errors import ConfideError
from confide.estimates.diagnosis import diagnose
from confide.estimates.estimate import assess_pool
from confide.evidence.counts import Counts
from confide.solve.methods import Stacked
from confide.surveys.survey import Survey

Answered = tuple[int, bytes]
"""The version of the counts, and the answer."""


class Readings:
    """Answers to whoever may read, each computed once for each version of the counts."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self._kept: OrderedDict[tuple[str, str], Answered] = OrderedDict()
        self._under_way: dict[tuple[str, str, int], asyncio.Task[bytes]] = {}
        self._pool: ProcessPoolExecutor | None = None
        self._is_over = False

    async def get(self, entry: Entry, what: str) -> Answered:
        """Return an answer, and the version of the counts that it is of."""
        kinds = ("counts", "estimate", "diagnosis", "fit", "page")
        if what not in kinds:
            raise Refusal(404, "not-found", f"There are {', '.join(kinds)}; got {what[:20]!r}.")
        account = await asyncio.to_thread(self.collector.store.account, entry.stored.number)
        version = version_of(entry, account)
        key = entry.stored.fingerprint, what
        kept = self._kept.get(key)
        if kept is not None and kept[0] == version:
            self._kept.move_to_end(key)
            return kept
        task = self._under_way.get((*key, version))
        if task is None:
            if len(self._under_way) >= self.collector.settings.most_computing:
                raise Refusal(429, "busy", "Other answers are being computed. Ask again later.", retry_after=5)
            task = self._under_way[*key, version] = asyncio.create_task(self._compute(entry, what, account))
            task.add_done_callback(lambda _: self._under_way.pop((*key, version), None))
        # Whoever asked first may leave; others wait for the same.
        body = await asyncio.shield(task)
        self._kept[key] = version, body
        while len(self._kept) > LIMITS.most_kept:
            self._kept.popitem(last=False)
        return version, body

    async def _compute(self, entry: Entry, what: str, account: Mapping[str, int]) -> bytes:
        if what == "counts":
            return await asyncio.to_thread(counts_json, self.collector, entry)
        if not account.get(ACCEPTED):
            raise Refusal(409, "empty", "There are no reports yet.")
        if self._pool is None:
            # A process of its own, started anew: a copy of this one would hold its connections and its threads' locks.
            self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
        record = await asyncio.to_thread(counts_json, self.collector, entry)
        ended = Refusal(503, "unavailable", "The computation was ended. Ask again.", retry_after=5)
        if self._is_over:
            raise ended
        try:
            loop, document = asyncio.get_running_loop(), entry.stored.document
            is_answer, body = await loop.run_in_executor(self._pool, compute, what, document, record)
        except BrokenProcessPool:
            self._pool = None
            raise ended from None
        if not is_answer:
            raise Refusal(422, "no-answer", body.decode())
        return body

    def close(self) -> None:
        """End the process that computes, and begin no other."""
        self._is_over = True
        if self._pool is not None:
            for process in list((self._pool._processes or {}).values()):
                process.terminate()
            self._pool.shutdown(wait=False, cancel_futures=True)

    def metrics(self) -> str:
        """Return what this process did, as Prometheus reads it; of all surveys together."""
        done, commits = self.collector.commits.tallies, self.collector.commits
        lines: list[str] = []

        def tell(name: str, kind: str, meaning: str, values: Mapping[str, float]) -> None:
            lines.extend([f"# HELP confide_{name} {meaning}", f"# TYPE confide_{name} {kind}"])
            lines.extend(f"confide_{name}{label} {value:.16g}" for label, value in values.items())

        fates = {f'{{outcome="{name}"}}': number for name, number in sorted(done.batches.items())}
        tell("batches_total", "counter", "Batches, by what became of them.", fates)
        reports = {'{outcome="accepted"}': done.accepted, '{outcome="rejected"}': done.rejected}
        tell("reports_total", "counter", "Reports that were counted, and reports that were rejected.", reports)
        tell("commits_total", "counter", "Transactions.", {"": done.commits})
        tell("commit_failures_total", "counter", "Transactions that failed.", {"": done.failures})
        tell("commit_seconds_total", "counter", "Seconds in transactions.", {"": done.commit_seconds})
        tell("batches_waiting", "gauge", "Batches that wait to be counted.", {"": len(commits.waiting)})
        tell("surveys", "gauge", "Surveys.", {"": len(self.collector.entries)})
        strange = {f'{{survey="{name}"}}': 1 for name in sorted(self.collector.unreadable)}
        tell("surveys_unreadable", "gauge", "Surveys of the store that cannot be read.", strange)
        tell("store_up", "gauge", "Whether the last transaction succeeded.", {"": float(not commits.fault)})
        tell("up_seconds", "gauge", "Seconds since the start.", {"": time.time() - self.collector.began})
        return "\n".join(lines) + "\n"


def version_of(entry: Entry, account: Mapping[str, int]) -> int:
    """Return the version of the counts: twice the reports that came, accepted or not, and one more when it is closed.

    Counts only ever grow, and closing is for good.
    """
    return 2 * sum(account.values()) + entry.stored.is_closed


def counts_json(collector: Collector, entry: Entry) -> bytes:
    """Return all counts of a survey: by day and group, each report in its wire form, with the account."""
    rows, account = collector.store.balance(entry.stored.number)
    groups: dict[tuple[int, str], list[list[Any]]] = {}
    for row in rows:
        groups.setdefault((row.day, row.cell), []).append([orjson.Fragment(row.report), row.number])
    listed = [
        {"day": date.fromordinal(day).isoformat(), "groups": list(split_cell(cell)), "counts": own}
        for (day, cell), own in groups.items()
    ]
    record = {
        "survey": entry.stored.fingerprint,
        "by": list(entry.survey.groups),
        "accepted": account.get(ACCEPTED, 0),
        "rejected": {reason: number for reason, number in sorted(account.items()) if reason != ACCEPTED},
        "is_simulated": entry.stored.is_simulated,
        "is_closed": entry.stored.is_closed,
        "days": listed,
    }
    return orjson.dumps(record)


def compute(kind: str, document: str, record: bytes) -> tuple[bool, bytes]:
    """Return whether there is an answer to counts as a collector gives them, and it, or why there is none.

    A failure is returned rather than raised, for what an exception carries need not survive the way back.
    """
    try:
        survey = Survey.from_json(document)
        # As whoever pulls them: with permanent noise, several days may be of the same people.
        counts = to_counts_file(survey, json.loads(record)).groups[()][0]
        with warnings.catch_warnings(action="ignore"):  # what they say stands in the answer
            return True, _answer(kind, survey, counts).encode()
    except ConfideError as error:
        return False, str(error).encode()


def _answer(kind: str, survey: Survey, counts: Counts) -> str:
    if kind == "fit":
        return to_json(plain(fit(counts, survey.mechanism)))
    if kind == "diagnosis":
        found = diagnose(counts, survey.mechanism, name=survey.name, shape=survey.shape)
        return to_json(diagnosis_record(survey, found))
    outcome = assess_pool([(counts, survey.mechanism)], Stacked(), shape=survey.shape)
    if kind == "estimate":
        return to_json(estimate_record(survey, counts, outcome))
    from confide.present.pages import estimate_page

    return estimate_page(survey, counts, [outcome])
