"""Client of a collector: sends reports and reads what became of them, with Python's own HTTP."""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import json
import math
import random
import re
import secrets
import ssl
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Lock, local
from typing import Any, TypeVar
from urllib.parse import urlsplit

import numpy as np

from confide.collector.wire import LIMITS, Wire
from confide.data.datasets import adult_ages
from confide.data.files import Account, CountsFile, Heading, Key, Reason
from confide.errors import ConfideError, DataFileError, InvalidParameterError
from confide.evidence.origins import Origin
from confide.mechanisms import TruncatedGeometric
from confide.surveys.survey import Survey
from confide.values import Integers, Values

AGAIN = (408, 425, 429, 500, 502, 503, 504)

STRANGE = "strange"
"""Code of an answer that is no collector's, or about something else than what was asked."""

T = TypeVar("T")


class CollectorError(ConfideError):
    """An answer of a collector other than success.

    Attributes
    ----------
    status, code
        The status of HTTP, 0 where there was no answer, or none about what was asked; and the collector's word for it.
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


class _StrangeError(Exception):
    """An answer that is not about what was asked."""


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
        Seconds for which a request is tried again when there is no answer, or when the collector says that it is busy;
        at most 15 where nobody ever answered.
    tell
        Is told that the client waits, and for how long, when it does so for more than a second or two.
    """

    url: str
    token: str | None = field(default=None, repr=False)
    patience: float = LIMITS.patience
    tell: Callable[[str], None] | None = field(default=None, repr=False)
    _connection: http.client.HTTPConnection | None = field(default=None, init=False, repr=False)
    _admission: str = field(default="", init=False, repr=False)
    _was_answered: bool = field(default=False, init=False, repr=False)
    _is_told: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            host = parts.hostname or ""
            is_good = parts.scheme in ("http", "https") and bool(host) and parts.port != 0
            is_good = is_good and re.fullmatch("[!-~]*", parts.path) is not None
            host.encode("idna")
        except ValueError:  # also a port that is none, and a name that no machine has
            is_good = False
        if not is_good:
            raise InvalidParameterError(f"A collector is at a URL such as http://127.0.0.1:8000; got {self.url!r}.")
        if parts.username or parts.password or parts.query:
            raise InvalidParameterError("A token does not belong into a URL. Set CONFIDE_TOKEN, or name a file of it.")
        is_here = host == "localhost"
        with contextlib.suppress(ValueError):  # a name, and no address
            is_here = is_here or ipaddress.ip_address(host).is_loopback
        if self.token is not None and parts.scheme == "http" and not is_here:
            raise InvalidParameterError(f"A token sent to {host} over http could be read on its way. Use https.")
        if self.token is not None and not re.fullmatch("[!-~]+", self.token):
            raise InvalidParameterError(  # which it does not show
                "The token is empty, or holds a space, a line's end or a letter that no token has. Copy it again."
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
            if not re.fullmatch("[!-~]+", invitation):
                raise InvalidParameterError(f"{invitation!r} is no invitation: it has letters, digits and hyphens.")
            headers["Confide-Invitation"] = invitation
        try:
            said = json.loads(message)
            sent, reports = (said["survey"], said["batch"]), len(said["reports"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InvalidParameterError("A message is what write_message returns: survey, batch and reports.") from None
        return self._ask("POST", "/v1/reports", message, headers, read=lambda text: _read_receipt(text, sent, reports))

    def admission(self, fingerprint: str) -> str:
        """Return who may upload, ``open``, ``token`` or ``invited``; a survey that is closed is an error."""
        self.survey(fingerprint)
        if self._admission == "closed":
            raise CollectorError("This survey is closed, and takes no more reports.", 410, "closed")
        return self._admission

    # Curators.

    def survey(self, fingerprint: str) -> Survey:
        """Return the survey of this fingerprint."""
        return self._ask("GET", f"/v1/surveys/{fingerprint}", read=lambda text: _read_survey(text, fingerprint))

    def surveys(self) -> list[dict[str, Any]]:
        """Return the surveys: fingerprint, name, title, who may upload, whether it is closed or simulated."""
        return self._ask("GET", "/v1/surveys", read=_read_surveys)

    def add(self, survey: Survey, admission: str = "open") -> str:
        """Add a survey, and return its fingerprint."""
        headers = {"Content-Type": "application/json", "Confide-Admission": admission}
        body = survey.to_json().encode()
        record = self._ask("POST", "/v1/surveys", body, headers, read=lambda text: _read_record(text, "survey"))
        return str(record["survey"])

    def close(self, fingerprint: str) -> None:
        """Let a survey take no more reports."""
        self._ask("POST", f"/v1/surveys/{fingerprint}/close", read=lambda text: _read_record(text, "is_closed"))

    def read(self, fingerprint: str, what: str) -> str:
        """Return an ``estimate``, ``diagnosis`` or ``fit`` as JSON, or the ``page``, computed by the collector."""
        self.hang_up()  # nothing in it says what was asked: on a new connection no answer to anything else is waiting
        return self.ask("GET", f"/v1/surveys/{fingerprint}/{what}").decode()

    def counts(self, fingerprint: str, by: Sequence[str] = ()) -> CountsFile:
        """Return the counts, of all people together or by groups: the survey's, and ``day``."""
        survey = self.survey(fingerprint)
        needs = ("survey", "by", "days", "accepted", "rejected", "is_simulated")
        path = f"/v1/surveys/{fingerprint}/counts"
        record = self._ask("GET", path, read=lambda text: _read_record(text, *needs))
        try:
            return to_counts_file(survey, record, by)
        except ConfideError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError):
            raise CollectorError(f"{self.url} answers, but its counts are none. Is it a collector?") from None

    def ask(self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
        """Ask, and ask again while there is no answer or a busy one; anything else but success is an error."""
        return self._ask(method, path, body, headers, read=bytes)

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        read: Callable[[bytes], T],
    ) -> T:
        """Ask until there is an answer that can be read as one to this: any other one is none."""
        sent = dict(headers or {}) | ({} if self.token is None else {"Authorization": f"Bearer {self.token}"})
        start, tries, strange = time.monotonic(), 0, 0
        while True:
            found, wait = self._try(method, path, body, sent, tries, read)
            if not isinstance(found, CollectorError):
                self._is_told = False
                return found
            # A proxy says in words of its own that the collector is away: that is waited for.
            strange += found.code == STRANGE and found.status not in AGAIN
            tries, now = tries + 1, time.monotonic()
            end = start + (self.patience if self._was_answered else min(self.patience, LIMITS.first_patience))
            if wait is None or strange == LIMITS.most_strange or now + wait > end:
                raise found
            # A second or two pass in silence, and to be told to come later is no trouble; the rest is said once.
            if now + wait - start > 1.5 and found.status != 429:
                if self.tell is not None and not self._is_told:
                    until = datetime.now() + timedelta(seconds=end - now)
                    self.tell(f"{found} Trying again until {until:%H:%M:%S}.")
                self._is_told = True
            time.sleep(wait)

    def _try(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        tries: int,
        read: Callable[[bytes], T],
    ) -> tuple[T | CollectorError, float | None]:
        """Return the answer, or a failure and how long to wait before the next try; None where none would help."""
        pause = min(LIMITS.longest_wait, 0.05 * 2**tries) * random.uniform(0.5, 1.5)  # noqa: S311 - to spread the crowd
        try:
            if self._connection is None:
                kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
                self._connection = kind(self._parts.netloc, timeout=30.0)
            self._connection.request(method, self._parts.path.rstrip("/") + path, body, dict(headers))
            answer = self._connection.getresponse()
            text, self._admission = answer.read(), answer.getheader("confide-admission", "")
        except (OSError, http.client.HTTPException) as error:
            self.hang_up()
            failure = CollectorError(f"There is no answer from {self.url}: {str(error) or type(error).__name__}.")
            return failure, None if isinstance(error, ssl.SSLCertVerificationError) else pause
        self._was_answered = True
        if 200 <= answer.status < 300:
            try:
                return read(text), None
            except _StrangeError as error:
                # Whatever else comes on this connection may be late by one as well.
                self.hang_up()
                return CollectorError(f"{self.url} answers, but {error}", code=STRANGE), pause
        try:
            told = json.loads(text)["error"]
            code, message = str(told["code"]), str(told["message"])
        except (ValueError, KeyError, TypeError, RecursionError):
            code, message = STRANGE, f"{self.url} answered {answer.status}, which no collector does. Is it one?"
        if code == "not-found" and self._parts.path.strip("/"):
            message = (
                f"There is a collector, but not at {self.url}: name its address alone, without /v1 or another path."
            )
        failure = CollectorError(message, answer.status, code)
        if answer.getheader("connection") == "close" or failure.code == STRANGE:
            self.hang_up()
        if answer.status not in AGAIN:
            return failure, pause if failure.code == STRANGE else None
        stated = answer.getheader("retry-after", "")
        return failure, max(pause, min(float(stated), LIMITS.longest_wait)) if stated.isdigit() else pause

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
    declared = [*record["by"], "day"]
    strange = next((name for name in by if name not in declared), None)
    if strange is not None:
        raise InvalidParameterError(f"Groups are {', '.join(declared)}; got {strange!r}.")
    if record["survey"] != survey.fingerprint:
        raise DataFileError("The collector sent counts of another survey.")
    sums: dict[Key, Counter[str]] = {}
    days_of: dict[Key, set[str]] = {}
    for part in record["days"]:
        known = dict(zip(declared, [*part["groups"], part["day"]], strict=True))
        key = tuple(known[name] for name in by)
        days_of.setdefault(key, set()).add(part["day"])
        own = sums.setdefault(key, Counter())
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
    most = math.inf if survey.most_reports is None or survey.is_permanent else survey.most_reports
    files, of_groups = max(1, min(days, most)), {key: int(min(len(of_key), most)) for key, of_key in days_of.items()}
    heading = Heading((survey,), tuple(by), account, (), (origin,), int(files), (), of_groups if by else {})
    return CountsFile(heading, groups)


def _read_record(text: bytes, *needs: str) -> dict[str, Any]:
    """Read JSON that holds this; whatever else answers is no collector."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not set(needs) <= found.keys():
        raise _StrangeError("not as a collector does. Is it one?")
    return found


def _read_receipt(text: bytes, sent: tuple[str, str], reports: int) -> Receipt:
    """Read the answer to a message: it names its survey and its batch, and accounts for every report."""
    answer = _read_record(text, "survey", "batch", "accepted", "rejected")
    accepted, rejected = answer["accepted"], answer["rejected"]
    if (answer["survey"], answer["batch"]) != sent:
        raise _StrangeError("about another batch than was sent. Something on the way repeats or mixes up answers.")
    try:
        found = {one["position"]: one["reason"] for one in rejected}
        is_whole = all(type(place) is int and 0 <= place < reports for place in found) and (
            type(accepted) is int and accepted >= 0 and accepted + len(rejected) == reports
        )
    except (KeyError, TypeError):
        is_whole, found = False, {}
    if not is_whole or len(found) < len(rejected) or not all(isinstance(reason, str) for reason in found.values()):
        raise _StrangeError("accepted and rejected are not what was sent. Is it a collector?")
    return Receipt(accepted, tuple(found.items()))


def _read_survey(text: bytes, fingerprint: str) -> Survey:
    try:
        found = Survey.from_json(text.decode())
    except (UnicodeDecodeError, ConfideError) as error:
        raise _StrangeError(f"not with a survey. Is it a collector? {error}") from None
    if found.fingerprint != fingerprint:
        raise _StrangeError("with another survey than the one that was asked for.")
    return found


def _read_surveys(text: bytes) -> list[dict[str, Any]]:
    found = _read_record(text, "surveys")["surveys"]
    if not isinstance(found, list) or not all(
        isinstance(one, dict) and isinstance(one.get("survey"), str) and isinstance(one.get("title"), str)
        for one in found
    ):
        raise _StrangeError("not as a collector does. Is it one?")
    return found


def simulated_survey() -> Survey:
    """Return the survey of simulated devices where none is named: ages, as those of real people.

    Its epsilon is its own: reports of a survey that somebody starts from the studio's template are not mixed with them.
    """
    mechanism = TruncatedGeometric(Integers(0, 99, unit="year"), 0.06)
    return Survey(mechanism, name="age", title="How old are you?")


def simulated_values(survey: Survey, people: int) -> Values:
    """Return the values of made-up people: for ages real ones, anywhere else a hump over the values."""
    generator = np.random.default_rng()
    if survey == simulated_survey():
        return generator.choice(adult_ages().values(), people)
    survey.alphabet.require_listable()
    places = (np.arange(survey.alphabet.size) + 0.5) / survey.alphabet.size
    weights = np.exp(-(((places - 0.4) / 0.2) ** 2)) + 0.05
    return survey.alphabet.decode(generator.choice(places.size, people, p=weights / weights.sum()))


def simulate(url: str, survey: Survey, people: int, tell: Callable[[int], None] | None = None) -> Receipt:
    """Let each of made-up people's devices send one report, many at a time."""
    reports = Wire.of(survey).to_lists(survey.privatize(simulated_values(survey, people), taken=True))
    generator, done, lock, own = np.random.default_rng(), Receipt(0), Lock(), local()
    clients: list[Client] = []

    def send(report: object) -> None:
        nonlocal done
        if not hasattr(own, "client"):
            own.client = Client(url)
            clients.append(own.client)
        groups = {name: str(generator.choice(values)) for name, values in survey.groups.items()}
        found = own.client.post(write_message(survey, [report], groups=groups))
        with lock:
            done += found
            if tell is not None:
                tell(done.accepted)

    with ThreadPoolExecutor(32) as pool:
        for _ in pool.map(send, reports):
            pass
    for client in clients:
        client.hang_up()
    return done
