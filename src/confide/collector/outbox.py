"""Outbox: reports of a file of values, blurred once and kept until the collector has them all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from confide.collector.client import STRANGE, Client, CollectorError, Receipt, write_message
from confide.collector.wire import LIMITS, Wire
from confide.data.files import Privatized, privatize_file, whole_file
from confide.data.files.reading import csv_batches
from confide.data.files.sheets import Request
from confide.errors import DataFileError
from confide.surveys.ledgers import lock_file
from confide.surveys.survey import Survey
from confide.values.wording import counted


@dataclass(frozen=True)
class Outbox:
    """Messages on their way: one a line, below a line that says what they are.

    Values are blurred once: blurred again after an interruption, a person would have sent two reports. What was sent
    is written down beside the outbox; sent twice, it is counted once.
    """

    path: Path
    survey: str
    messages: int
    reports: int
    to: str
    values: str
    """Digest of the file of values."""
    name: str
    """Random, and written beside what was sent: what was sent of another outbox says nothing of this one."""

    @property
    def _mark(self) -> Path:
        return self.path.with_name(self.path.name + ".sent")

    @property
    def sent(self) -> int:
        """How many messages were answered."""
        try:
            name, number = self._mark.read_text().split()
            return int(number) if name == self.name else 0
        except (OSError, ValueError):
            return 0

    @classmethod
    def open(cls, path: Path, survey: Survey, to: str = "") -> Outbox | None:
        """Return the outbox at a path, on its way to a collector; None where there is none."""
        if not path.exists():
            return None
        try:
            with path.open(encoding="utf-8") as stream:
                head = json.loads(stream.readline())
            found = cls(path, **head)
        except (ValueError, KeyError, TypeError, OSError, RecursionError):
            raise DataFileError(f"{path} is in the way, and no outbox. Name another with --outbox.") from None
        if found.survey != survey.fingerprint:
            said = f"{path} holds reports of another survey that were not all sent. Send them with that survey first."
            raise DataFileError(said)
        if found.to.rstrip("/") != to.rstrip("/"):
            raise DataFileError(
                f"{path} holds reports on their way to {found.to}, which may have counted some of them. Send them "
                f"there: --to {found.to}"
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
        rejects: Path | None = None,
        force: bool = False,
        secret_column: str = "",
        batch_size: int = LIMITS.batch_size,
    ) -> tuple[Outbox, Privatized]:
        """Blur a file of values into an outbox, in a random order; a whole one or none."""
        groups = tuple(survey.groups)
        with tempfile.TemporaryDirectory(dir=path.absolute().parent, prefix=".confide-") as folder:
            reports = Path(folder) / "reports.csv"
            settings: dict[str, Any] = {"rejects": rejects, "force": force, "secret_column": secret_column}
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
        """Send what was not sent yet, and remove the outbox when all of it was answered, and that is written down.

        The n-th message goes with the n-th invitation, also after an interruption: one that was counted spends none.
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
                    self._mark.write_text(f"{self.name} {number + 1}")
                if tell is not None:
                    tell(number + 1)
        if receipts is not None:
            line: dict[str, object] = {"values": self.values, "survey": self.survey, "to": self.to}
            line |= {"reports": self.reports, "day": _today()}
            with os.fdopen(os.open(receipts, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600), "a") as stream_out:
                stream_out.write(json.dumps(line) + "\n")
        self.path.unlink()
        self._mark.unlink(missing_ok=True)
        return found

    def _cure(self, error: CollectorError, number: int) -> str:
        """Say what to do about an answer to the message of this number; nothing where nothing helps."""
        if error.code == "day":
            return (
                f"These reports waited in {self.path} for too long. Ask the curator to let these days in again "
                f"(confide curate --window and --horizon); or, if nothing was sent (so far {self.sent:,} of "
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
        """Hold the outbox at a path while it is filled and sent: two that send one file at once count everybody twice.

        The lock beside it ends with its process, also by kill -9.
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
            os.close(number)  # whoever had it was done in this moment, and took the file away
        try:
            os.ftruncate(number, 0)
            os.write(number, str(os.getpid()).encode())
            yield
        finally:
            with contextlib.suppress(OSError):  # of Windows, which removes no open file: it may lie there
                beside.unlink()  # while it is held, so that it is nobody else's
            os.close(number)


def receipts_of(values: Path) -> Path:
    """Return where it is written down what was sent of a file of values."""
    return values.with_name(values.name + ".sent")


def require_unsent(values: Path, survey: Survey) -> None:
    """Refuse a file of values that was sent before: blurred and sent again, everybody would be counted twice."""
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
            continue  # of somebody else's making
        # With permanent noise the same value is reported anew every day, and tells no more than on the first.
        if known == (digest, survey.fingerprint) and (day == _today() or not survey.needs_secret):
            raise DataFileError(
                f"{values} was sent to {place} before, says {receipts_of(values)}; sent again, everybody in it would "
                f"be counted twice. If that is meant: --again."
            )


def _digest(values: Path) -> str:
    if not values.is_file():  # a pipe is read once
        return ""
    with values.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _messages(path: Path, survey: Survey, groups: tuple[str, ...], batch_size: int) -> Iterator[bytes]:
    """Return reports as messages, those of one group together."""
    wire, day = Wire.of(survey), _today()
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
