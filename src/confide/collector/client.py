"""Client of a collector: sends reports and reads what became of them, with Python's own HTTP."""

from __future__ import annotations

import http.client
import ipaddress
import json
import random
import secrets
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from confide.collector.wire import Wire
from confide.errors import ConfideError, DataFileError, InvalidParameterError
from confide.files import Account, CountsFile, Heading, Key, Reason
from confide.origins import Origin
from confide.surveys import Survey

PATIENCE = 60.0
"""Seconds for which a request is tried again."""

LONGEST_WAIT = 30.0
"""Seconds that the client waits at a time, whatever it is told."""

TIMEOUT = 30.0
AGAIN = (408, 425, 429, 500, 502, 503, 504)

DAY = "day"
"""Name of a group that every collector knows."""


class CollectorError(ConfideError):
    """An answer of a collector other than success.

    Attributes
    ----------
    status, code
        The status of HTTP, 0 where there was no answer; and the collector's word for it.
    """

    def __init__(self, message: str, status: int = 0, code: str = "") -> None:
        super().__init__(message)
        self.status, self.code = status, code


@dataclass(frozen=True)
class Receipt:
    """What became of a batch: how many reports were counted, and which were not, by position and reason."""

    accepted: int
    rejected: tuple[tuple[int, str], ...] = ()

    def __add__(self, other: Receipt) -> Receipt:
        return Receipt(self.accepted + other.accepted, self.rejected + other.rejected)


@dataclass
class Client:
    """A collector, as devices and curators reach it.

    Attributes
    ----------
    url
        Where it is, such as ``http://127.0.0.1:8000``.
    token
        What allows to read, or to upload where that needs one. It is sent to this machine or over https alone.
    patience
        Seconds for which a request is tried again when there is no answer, or when the collector says that it is busy.
    """

    url: str
    token: str | None = field(default=None, repr=False)
    patience: float = PATIENCE
    _connection: http.client.HTTPConnection | None = field(default=None, init=False, repr=False)
    _admission: str = field(default="", init=False, repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidParameterError(f"A collector is at a URL such as http://127.0.0.1:8000; got {self.url!r}.")
        if parts.username or parts.password or parts.query:
            raise InvalidParameterError("A token does not belong into a URL. Set CONFIDE_TOKEN, or name a file of it.")
        if self.token is not None and parts.scheme == "http" and not _is_here(parts.hostname):
            raise InvalidParameterError(
                f"A token sent to {parts.hostname} over http could be read on its way. Use https."
            )
        self._parts = parts

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.hang_up()

    # Devices.

    def send(
        self,
        survey: Survey,
        reports: Any,
        *,
        groups: Mapping[str, str] | None = None,
        day: str | None = None,
        batch_size: int = 1000,
        invitation: str | None = None,
    ) -> Receipt:
        """Send reports, made by the survey's mechanism, in batches; each is counted once however often it is sent."""
        lists = Wire.of(survey).to_lists(reports)
        found = Receipt(0)
        for start in range(0, len(lists), batch_size):
            body = write_message(survey, lists[start : start + batch_size], groups=groups, day=day)
            one = self.post(body, invitation)
            found += Receipt(one.accepted, tuple((start + place, reason) for place, reason in one.rejected))
        return found

    def post(self, message: bytes, invitation: str | None = None) -> Receipt:
        """Send one message, again and again until there is an answer."""
        headers = {"Content-Type": "application/json"}
        if invitation is not None:
            headers["Confide-Invitation"] = invitation
        answer = self._record("POST", "/v1/reports", message, headers, needs=("accepted", "rejected"))
        rejected = tuple((one["position"], one["reason"]) for one in answer["rejected"])
        return Receipt(answer["accepted"], rejected)

    def admission(self, fingerprint: str) -> str:
        """Return who may upload, ``open``, ``token`` or ``invited``; a survey that is closed is an error."""
        self.survey(fingerprint)
        if self._admission == "closed":
            raise CollectorError("This survey is closed, and takes no more reports.", 410, "closed")
        return self._admission

    # Curators.

    def survey(self, fingerprint: str) -> Survey:
        """Return the survey of this fingerprint."""
        return Survey.from_json(self.ask("GET", f"/v1/surveys/{fingerprint}").decode())

    def surveys(self) -> list[dict[str, Any]]:
        """Return the surveys: fingerprint, name, title, who may upload, whether it is closed or simulated."""
        found: list[dict[str, Any]] = self._record("GET", "/v1/surveys", needs=("surveys",))["surveys"]
        return found

    def add(self, survey: Survey, admission: str = "open") -> str:
        """Add a survey, and return its fingerprint."""
        headers = {"Content-Type": "application/json", "Confide-Admission": admission}
        body = survey.to_json().encode()
        return str(self._record("POST", "/v1/surveys", body, headers, needs=("survey",))["survey"])

    def close(self, fingerprint: str) -> None:
        """Let a survey take no more reports."""
        self.ask("POST", f"/v1/surveys/{fingerprint}/close")

    def read(self, fingerprint: str, what: str) -> str:
        """Return an ``estimate``, ``diagnosis`` or ``fit`` as JSON, or the ``page``, computed by the collector."""
        return self.ask("GET", f"/v1/surveys/{fingerprint}/{what}").decode()

    def counts(self, fingerprint: str, by: Sequence[str] = ()) -> CountsFile:
        """Return the counts, of all people together or by groups: the survey's, and ``day``."""
        survey = self.survey(fingerprint)
        needs = ("survey", "by", "days", "accepted", "rejected", "is_simulated")
        record = self._record("GET", f"/v1/surveys/{fingerprint}/counts", needs=needs)
        return to_counts_file(survey, record, by)

    def _record(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        needs: Sequence[str],
    ) -> dict[str, Any]:
        """Ask for JSON that holds this; whatever else answers is no collector."""
        try:
            found = json.loads(self.ask(method, path, body, headers))
        except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
            found = None
        if not isinstance(found, dict) or not set(needs) <= found.keys():
            raise CollectorError(f"{self.url} answers, but not as a collector does. Is it one?")
        return found

    def ask(self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
        """Ask, and ask again while there is no answer or a busy one; anything else but success is an error."""
        sent = dict(headers or {}) | ({} if self.token is None else {"Authorization": f"Bearer {self.token}"})
        end, tries = time.monotonic() + self.patience, 0
        while True:
            failure, wait = self._try(method, path, body, sent, tries)
            if isinstance(failure, bytes):
                return failure
            tries += 1
            if wait is None or time.monotonic() + wait > end:
                raise failure
            time.sleep(wait)

    def _try(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], tries: int
    ) -> tuple[bytes | CollectorError, float | None]:
        """Return the answer, or a failure and how long to wait before the next try; None where none would help."""
        pause = min(LONGEST_WAIT, 0.05 * 2**tries) * random.uniform(0.5, 1.5)  # noqa: S311 - to spread the crowd
        try:
            if self._connection is None:
                kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
                self._connection = kind(self._parts.netloc, timeout=TIMEOUT)
            self._connection.request(method, self._parts.path.rstrip("/") + path, body, dict(headers))
            answer = self._connection.getresponse()
            text, self._admission = answer.read(), answer.getheader("confide-admission", "")
        except (OSError, http.client.HTTPException) as error:
            self.hang_up()
            return CollectorError(f"There is no answer from {self.url}: {str(error) or type(error).__name__}."), pause
        if 200 <= answer.status < 300:
            return text, None
        if answer.getheader("connection") == "close":
            self.hang_up()
        failure = _explain(answer.status, text, self.url)
        if answer.status not in AGAIN:
            return failure, None
        stated = answer.getheader("retry-after", "")
        return failure, max(pause, min(float(stated), LONGEST_WAIT)) if stated.isdigit() else pause

    def hang_up(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def write_message(
    survey: Survey, reports: list[Any], *, groups: Mapping[str, str] | None = None, day: str | None = None
) -> bytes:
    """Return a message with a fresh batch id, ready to be sent as often as it takes."""
    message = {"survey": survey.fingerprint, "batch": secrets.token_hex(16)}
    more: dict[str, Any] = {"day": day or datetime.now(UTC).date().isoformat(), "reports": reports}
    more |= {"groups": dict(groups)} if groups else {}
    return json.dumps(message | more, ensure_ascii=False, separators=(",", ":")).encode()


def to_counts_file(survey: Survey, record: Mapping[str, Any], by: Sequence[str] = ()) -> CountsFile:
    """Return counts as a collector gives them as a file of counts holds them."""
    declared = [*record["by"], DAY]
    strange = next((name for name in by if name not in declared), None)
    if strange is not None:
        raise InvalidParameterError(f"Groups are {', '.join(declared)}; got {strange!r}.")
    if record["survey"] != survey.fingerprint:
        raise DataFileError("The collector sent counts of another survey.")
    sums: dict[Key, Counter[str]] = {}
    for part in record["days"]:
        known = dict(zip(declared, [*part["groups"], part["day"]], strict=True))
        own = sums.setdefault(tuple(known[name] for name in by), Counter())
        for report, number in part["counts"]:
            own[json.dumps(report, ensure_ascii=False, separators=(",", ":"))] += number
    wire, rejected = Wire.of(survey), {Reason(reason): number for reason, number in record["rejected"].items()}
    groups = {key: {0: wire.to_counts(numbers)} for key, numbers in sums.items()}
    accepted = record["accepted"]
    if sum(part[0].total for part in groups.values()) != accepted:
        raise DataFileError("The collector's counts do not add up to the reports that it accepted.")
    account = Account(accepted, rejected, source="the collector", columns=("report",), people=accepted)
    origin = Origin(permanent=accepted) if survey.needs_secret else Origin()
    origin = Origin(simulated=accepted) if record["is_simulated"] else origin
    days = len({part["day"] for part in record["days"]})
    # A collector cannot know how often one person reported. Where the survey says it, devices keep to it; but the same
    # report again, with permanent noise, is within every limit.
    files = days if survey.most_reports is None or survey.is_permanent else min(days, survey.most_reports)
    return CountsFile(Heading((survey,), tuple(by), account, origins=(origin,), files=max(1, files)), groups)


def _explain(status: int, text: bytes, url: str) -> CollectorError:
    try:
        error = json.loads(text)["error"]
        return CollectorError(str(error["message"]), status, str(error["code"]))
    except (ValueError, KeyError, TypeError):
        return CollectorError(f"{url} answered {status}, which no collector does. Is it one?", status)


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
