"""Client of a collector.

Sends reports from an outbox, and reads the results.

It uses Python's own HTTP client, so that a device needs no other package.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import ipaddress
import json
import math
import os
import random
import re
import secrets
import shutil
import ssl
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from threading import local
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

import numpy as np

from confide.collector.wire import LIMITS, Wire, today
from confide.data.datasets import adult_ages
from confide.data.files import Account, CountsFile, Heading, Key, Privatized, Reason, privatize_file, whole_file
from confide.data.files.reading import csv_batches
from confide.data.files.sheets import Request
from confide.errors import ConfideError, DataFileError, InvalidParameterError
from confide.evidence.counts import Origin
from confide.mechanisms import TruncatedGeometric
from confide.surveys.ledgers import lock_file
from confide.surveys.survey import Survey
from confide.values import Integers, Values
from confide.values.wording import counted

STRANGE = "strange"
"""Code of an answer that is not a collector's, or not about the request."""

T = TypeVar("T")


class CollectorError(ConfideError):
    """An answer other than success, or no answer.

    Attributes
    ----------
    status, code
        The HTTP status, 0 without a valid answer, and the collector's code.
    """

    def __init__(self, message: str, status: int = 0, code: str = "") -> None:
        super().__init__(message)
        self.status, self.code = status, code


@dataclass(frozen=True)
class Receipt:
    """Result of a batch.

    Number of accepted reports, and rejected ones by position.
    """

    accepted: int
    rejected: tuple[tuple[int, str], ...] = ()

    def __add__(self, other: Receipt) -> Receipt:
        return Receipt(self.accepted + other.accepted, self.rejected + other.rejected)


class _StrangeError(Exception):
    """An answer that does not belong to the request."""


@dataclass
class Client(contextlib.AbstractContextManager["Client"]):
    """Connection of a device or a curator to a collector.

    Attributes
    ----------
    url
        Address of the collector, such as ``http://127.0.0.1:8000``.
    token
        Token to read, or to upload where that needs one. It is sent only to this machine or over https.
    patience
        Seconds for which a request is retried without an answer, or while the collector is busy; at most 15 if nobody
        ever answered.
    tell
        Called with a message if the client waits for more than a second or two.
    """

    url: str
    token: str | None = field(default=None, repr=False)
    patience: float = LIMITS.patience
    tell: Callable[[str], None] | None = field(default=None, repr=False)
    # Statuses of a collector or a proxy that is busy or away for now: the same request may succeed later.
    _passing: ClassVar[tuple[int, ...]] = (408, 425, 429, 500, 502, 503, 504)
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
        """Send reports of the survey's mechanism in batches; each is counted once."""
        lists = Wire.of(survey).to_lists(reports)
        found = Receipt(0)
        for start in range(0, len(lists), batch_size):
            body = write_message(survey, lists[start : start + batch_size], groups=groups, day=day)
            one = self.post(body, invitation)
            found += Receipt(one.accepted, tuple((start + place, reason) for place, reason in one.rejected))
        return found

    def post(self, message: bytes, invitation: str | None = None) -> Receipt:
        """Send one message, and retry until there is an answer."""
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
        """Return who may upload: ``open``, ``token`` or ``invited``; raise if closed."""
        self.survey(fingerprint)
        if self._admission == "closed":
            raise CollectorError("This survey is closed, and takes no more reports.", 410, "closed")
        return self._admission

    # Curators.

    def survey(self, fingerprint: str) -> Survey:
        """Return the survey of this fingerprint."""
        return self._ask("GET", f"/v1/surveys/{fingerprint}", read=lambda text: _read_survey(text, fingerprint))

    def surveys(self) -> list[dict[str, Any]]:
        """Return the surveys: fingerprint, name, title, admission, closed, simulated."""
        return self._ask("GET", "/v1/surveys", read=_read_surveys)

    def add(self, survey: Survey, admission: str = "open") -> str:
        """Add a survey, and return its fingerprint."""
        headers = {"Content-Type": "application/json", "Confide-Admission": admission}
        body = survey.to_json().encode()
        record = self._ask("POST", "/v1/surveys", body, headers, read=lambda text: _read_record(text, "survey"))
        return str(record["survey"])

    def close(self, fingerprint: str) -> None:
        """Close a survey."""
        self._ask("POST", f"/v1/surveys/{fingerprint}/close", read=lambda text: _read_record(text, "is_closed"))

    def read(self, fingerprint: str, what: str) -> str:
        """Return an ``estimate``, ``diagnosis`` or ``fit`` as JSON, or the ``page``."""
        self.hang_up()  # the answer does not name the request; on a new connection it cannot be an earlier one's
        return self.ask("GET", f"/v1/surveys/{fingerprint}/{what}").decode()

    def counts(self, fingerprint: str, by: Sequence[str] = ()) -> CountsFile:
        """Return the counts, or those by the survey's groups and ``day``."""
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
        """Send a request, and retry while the collector is busy or silent."""
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
        """Send a request until `read` accepts the answer."""
        sent = dict(headers or {}) | ({} if self.token is None else {"Authorization": f"Bearer {self.token}"})
        start, tries, strange = time.monotonic(), 0, 0
        while True:
            found, wait = self._try(method, path, body, sent, tries, read)
            if not isinstance(found, CollectorError):
                self._is_told = False
                return found
            # A proxy may report in its own words that the collector is down: wait for that.
            strange += found.code == STRANGE and found.status not in self._passing
            tries, now = tries + 1, time.monotonic()
            end = start + (self.patience if self._was_answered else min(self.patience, LIMITS.first_patience))
            if wait is None or strange == LIMITS.most_strange or now + wait > end:
                raise found
            # Be silent for a second or two, and about "come back later" (429); say everything else once.
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
        """Return the answer, or a failure and the wait before retrying."""
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
                # Later answers on this connection may be off by one as well.
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
        if answer.status not in self._passing:
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
    """Return a message with a fresh batch id.

    It may be sent repeatedly.
    """
    message = {"survey": survey.fingerprint, "batch": secrets.token_hex(16)}
    more: dict[str, Any] = {"day": day or today().isoformat(), "reports": reports}
    more |= {"groups": dict(groups)} if groups else {}
    return json.dumps(message | more, ensure_ascii=False, separators=(",", ":")).encode()


def to_counts_file(survey: Survey, record: Mapping[str, Any], by: Sequence[str] = ()) -> CountsFile:
    """Convert a collector's counts to a file of counts."""
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
    # A collector cannot know how often a person reported. Devices keep to the survey's limit, but with permanent noise
    # the same report may come again within every limit.
    most = math.inf if survey.most_reports is None or survey.is_permanent else survey.most_reports
    files, of_groups = max(1, min(days, most)), {key: int(min(len(of_key), most)) for key, of_key in days_of.items()}
    heading = Heading((survey,), tuple(by), account, (), (origin,), int(files), (), of_groups if by else {})
    return CountsFile(heading, groups)


def _read_record(text: bytes, *needs: str) -> dict[str, Any]:
    """Parse a JSON object with these keys.

    Anything else is not a collector's.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not set(needs) <= found.keys():
        raise _StrangeError("not as a collector does. Is it one?")
    return found


def _read_receipt(text: bytes, sent: tuple[str, str], reports: int) -> Receipt:
    """Parse the answer to a message; it must account for every report."""
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
    """Return the default survey of simulated devices: real people's ages."""
    # No template has this epsilon, so a survey from the studio does not mix with simulated reports.
    mechanism = TruncatedGeometric(Integers(0, 99, unit="year"), 0.06)
    return Survey(mechanism, name="age", title="How old are you?")


def simulated_values(survey: Survey, people: int) -> Values:
    """Return values of simulated people.

    Real ages, or a hump over other values.
    """
    generator = np.random.default_rng()
    if survey == simulated_survey():
        return generator.choice(adult_ages().values(), people)
    survey.alphabet.require_listable()
    places = (np.arange(survey.alphabet.size) + 0.5) / survey.alphabet.size
    weights = np.exp(-(((places - 0.4) / 0.2) ** 2)) + 0.05
    return survey.alphabet.decode(generator.choice(places.size, people, p=weights / weights.sum()))


def simulate(url: str, survey: Survey, people: int, tell: Callable[[int], None] | None = None) -> Receipt:
    """Simulate people whose devices each send one report, many at a time."""
    reports = Wire.of(survey).to_lists(survey.privatize(simulated_values(survey, people), taken=True))
    generator, done, own = np.random.default_rng(), Receipt(0), local()
    clients: list[Client] = []

    def send(report: object) -> Receipt:
        if not hasattr(own, "client"):
            own.client = Client(url)
            clients.append(own.client)
        groups = {name: str(generator.choice(values)) for name, values in survey.groups.items()}
        receipt: Receipt = own.client.post(write_message(survey, [report], groups=groups))
        return receipt

    with ThreadPoolExecutor(32) as pool:
        for receipt in pool.map(send, reports):
            done += receipt
            if tell is not None:
                tell(done.accepted)
    for client in clients:
        client.hang_up()
    return done


@dataclass(frozen=True)
class Outbox:
    """Unsent messages in a file, one per line, below their metadata.

    We add noise once: with new noise after an interruption, a person would send two reports. A file beside the outbox
    records what was sent. A message sent twice counts once.
    """

    path: Path
    survey: str
    messages: int
    reports: int
    to: str
    values: str
    """Digest of the file of values."""
    name: str
    """Random name, which ties the record of sent messages to this outbox."""

    @property
    def sent(self) -> int:
        """Number of answered messages."""
        try:
            name, number = receipts_of(self.path).read_text().split()
            return int(number) if name == self.name else 0
        except (OSError, ValueError):
            return 0

    @classmethod
    def open(cls, path: Path, survey: Survey, to: str = "") -> Outbox | None:
        """Open the outbox at a path for a collector.

        Return None if there is none.
        """
        if not path.exists():
            return None
        try:
            with path.open(encoding="utf-8") as stream:
                head = json.loads(stream.readline())
            found = cls(path, **head)
        except (ValueError, KeyError, TypeError, OSError, RecursionError):
            raise DataFileError(f"{path} is in the way, and no outbox. Move it away.") from None
        if found.survey != survey.fingerprint:
            said = f"{path} holds reports of another survey that were not all sent. Send them with that survey first."
            raise DataFileError(said)
        if found.to.rstrip("/") != to.rstrip("/"):
            raise DataFileError(
                f"{path} holds reports on their way to {found.to}, which may have counted some of them. Send them "
                f"there: confide send SURVEY VALUES {found.to}"
            )
        return found

    @classmethod
    def fill(  # noqa: PLR0913 - what privatize_file takes, and where it goes
        cls,
        path: Path,
        survey: Survey,
        values: Path,
        columns: Sequence[str] = (),
        *,
        to: str = "",
        force: bool = False,
        secret_column: str = "",
        batch_size: int = LIMITS.batch_size,
    ) -> tuple[Outbox, Privatized]:
        """Privatize a file of values into a whole outbox, in random order."""
        groups = tuple(survey.groups)
        with tempfile.TemporaryDirectory(dir=path.absolute().parent, prefix=".confide-") as folder:
            reports = Path(folder) / "reports.csv"
            settings: dict[str, Any] = {"force": force, "secret_column": secret_column}
            done = privatize_file(values, reports, survey, columns, keep=groups, **settings)
            messages, number = Path(folder) / "messages", 0
            with messages.open("wb") as stream:
                for message in _messages(reports, survey, groups, batch_size):
                    stream.write(message + b"\n")
                    number += 1
            digest, name = _digest(values), secrets.token_hex(16)
            found = cls(path, survey.fingerprint, number, done.account.people, to, digest, name)
            head = {key: value for key, value in asdict(found).items() if key != "path"}
            with whole_file(path, mode=0o600) as whole, messages.open("rb") as stream:
                whole.write(json.dumps(head).encode() + b"\n")
                shutil.copyfileobj(stream, whole)
        return found, done

    def send(
        self,
        client: Client,
        tell: Callable[[int], None] | None = None,
        receipts: Path | None = None,
        invitations: Sequence[str] = (),
    ) -> Receipt:
        """Send the rest, record it in `receipts`, and remove the outbox.

        The n-th message goes with the n-th invitation, also after an interruption: a repeated message spends none.
        """
        if invitations and len(invitations) < self.messages:
            raise DataFileError(
                f"There are {counted(len(invitations), 'invitation')} for {counted(self.messages, 'report')}, and each "
                f"is for one report. Ask the curator for {self.messages - len(invitations):,} more."
            )
        found, sent = Receipt(0), self.sent
        with self.path.open("rb") as stream:
            stream.readline()
            for number, message in enumerate(stream):
                if number >= sent:
                    try:
                        found += client.post(message.rstrip(b"\n"), invitations[number] if invitations else None)
                    except CollectorError as error:
                        if not (told := self._cure(error, number)):
                            raise
                        raise CollectorError(f"{error} {told}", error.status, error.code) from None
                    receipts_of(self.path).write_text(f"{self.name} {number + 1}")
                if tell is not None:
                    tell(number + 1)
        if receipts is not None:
            line: dict[str, object] = {"values": self.values, "survey": self.survey, "to": self.to}
            line |= {"reports": self.reports, "day": today().isoformat()}
            with os.fdopen(os.open(receipts, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600), "a") as stream_out:
                stream_out.write(json.dumps(line) + "\n")
        self.path.unlink()
        receipts_of(self.path).unlink(missing_ok=True)
        return found

    def _cure(self, error: CollectorError, number: int) -> str:
        """Say what to do about an error of this message.

        Empty if nothing helps.
        """
        if error.code == "day":
            return (
                f"These reports waited in {self.path} for too long. Ask the curator to let these days in again "
                f"(confide curate --window); or, if nothing was sent (so far {self.sent:,} of "
                f"{counted(self.messages, 'batch')}), remove the outbox and send the values anew."
            )
        if error.code == "spent":
            return (
                f"It is number {number + 1} of those that were named. Put another in its place, and give the same "
                f"command again: what was sent is not sent twice."
            )
        goes_on = error.status in (0, 429, 503) or error.code == STRANGE
        return f"The same command goes on: what was not sent waits in {self.path}." if goes_on else ""

    @staticmethod
    @contextlib.contextmanager
    def held(path: Path) -> Iterator[None]:
        """Lock an outbox while it is filled and sent.

        The lock ends with the process, even after kill -9.
        """
        beside = path.with_name(path.name + ".lock")
        while True:
            number = os.open(beside, os.O_CREAT | os.O_RDWR, 0o600)
            if not lock_file(number, waits=False):
                who = os.read(number, 20).decode("ascii", "replace")
                os.close(number)
                raise DataFileError(
                    f"{f'Process {who}' if who else 'Another process'} is sending {path} already. Wait until it is "
                    f"done: sent by two at once, everybody would be counted twice."
                )
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(beside.stat(), os.fstat(number)):
                    break
            os.close(number)  # its owner finished just now and removed the file
        try:
            os.ftruncate(number, 0)
            os.write(number, str(os.getpid()).encode())
            yield
        finally:
            with contextlib.suppress(OSError):  # Windows cannot remove an open file; it may stay
                beside.unlink()  # while we hold the lock, so that it is nobody else's
            os.close(number)


def receipts_of(values: Path) -> Path:
    """Return the file that records what was sent."""
    return values.with_name(values.name + ".sent")


def require_unsent(values: Path, survey: Survey) -> None:
    """Refuse a file of values that was sent before.

    Everybody would count twice.
    """
    try:
        lines = receipts_of(values).read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    digest = _digest(values)
    for line in lines:
        try:
            one = json.loads(line)
            known, place, day = (one["values"], one["survey"]), one["to"], one["day"]
        except (ValueError, KeyError, TypeError):
            continue  # not our line
        # With permanent noise a value may be reported every day, and reveals no more than on the first.
        if known == (digest, survey.fingerprint) and (day == today().isoformat() or not survey.needs_secret):
            raise DataFileError(
                f"{values} was sent to {place} before, says {receipts_of(values)}; sent again, everybody in it would "
                f"be counted twice. If that is meant, remove {receipts_of(values)}."
            )


def _digest(values: Path) -> str:
    if not values.is_file():  # a pipe is read once
        return ""
    with values.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _messages(path: Path, survey: Survey, groups: tuple[str, ...], batch_size: int) -> Iterator[bytes]:
    """Yield reports as messages, one group per message."""
    wire, day = Wire.of(survey), today().isoformat()
    waiting: dict[tuple[str, ...], list[object]] = {}
    for rows in csv_batches(str(path), Request(wire.alphabet, keep=groups)):
        keys = zip(*(column.tolist() for column in rows.kept), strict=True) if groups else [()] * len(rows.values)
        for key, report in zip(keys, wire.to_lists(rows.values), strict=True):
            own = waiting.setdefault(key, [])
            own.append(report)
            if len(own) == batch_size:
                yield write_message(survey, own, groups=dict(zip(groups, key, strict=True)), day=day)
                own.clear()
    for key, own in waiting.items():
        if own:
            yield write_message(survey, own, groups=dict(zip(groups, key, strict=True)), day=day)
