"""Ledger on a person's device: counts each report before it exists.

Every entry is on the disk before its report exists, so that a crash, a kill or a power cut may lose a report and never
its price. Two processes wait for each other.
"""

from __future__ import annotations

import contextlib
import functools
import hmac
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from confide.errors import InvalidParameterError, LimitError
from confide.mechanisms.sampling import Permanent
from confide.surveys.survey import Survey
from confide.values.checks import check_count
from confide.values.portable import canonical_json
from confide.values.wording import counted


@dataclass(frozen=True)
class Page:
    """Reports of one survey.

    Attributes
    ----------
    reports
        How many have fresh noise.
    values
        How many have permanent noise, by a digest of their value under the person's secret.
    """

    reports: int
    values: dict[str, int]

    @property
    def drawn(self) -> int:
        """Number of independent noise draws: fresh reports plus distinct permanent values."""
        return self.reports + len(self.values)

    def total(self, survey: Survey) -> int:
        """Return the number of reports; an identical permanent report counts once."""
        has_fresh_round = survey.mechanism.lasting is not None
        return self.reports + sum(number if has_fresh_round else 1 for number in self.values.values())

    def spent(self, survey: Survey) -> Fraction | None:
        """Return the total epsilon; a permanent value costs once."""
        return None if survey.cost is None else self.drawn * survey.cost


@dataclass(frozen=True)
class Ledger:
    """File that counts one person's reports and enforces survey limits.

    >>> import tempfile
    >>> from confide import Categories, RandomizedResponse
    >>> survey = Survey(RandomizedResponse(Categories(["yes", "no"]), 1.0), most_reports=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/ledger.json")
    ...     report = ledger.privatize(survey, "yes")
    ...     try:
    ...         ledger.privatize(survey, "yes")
    ...     except LimitError as error:
    ...         print(str(error).split(";")[0])
    The survey allows 1 report of one person, and this ledger has as many

    Attributes
    ----------
    path
        The file, made with the first report. Its lock, ``ledger.json.lock``, stands beside it.
    most_reports
        Most reports over all surveys together. None leaves each survey to its own limits; a server can then ask again
        under another survey, with new noise. Repeating the same value with permanent noise costs no report.
    """

    path: str | Path
    most_reports: int | None = None

    def __post_init__(self) -> None:
        if self.most_reports is not None:
            check_count("most_reports", self.most_reports, 1)

    def privatize(self, survey: Survey, value: Any, *, rng: Permanent | None = None) -> Any:
        """Count a report, then privatize one value, within the survey's limits."""
        self.charge(survey, value, rng=rng)
        return survey.privatize(value, rng=rng)

    def charge(self, survey: Survey, value: Any, *, rng: Permanent | None = None, taken: bool = False) -> None:
        """Count a report before it is drawn, or raise LimitError."""
        if not survey.alphabet.is_single(value):
            raise InvalidParameterError("A ledger counts the reports of one person: give one value at a time.")
        number = survey.alphabet.encode([value] if taken else survey.alphabet.take([value]))
        if rng is not None and not isinstance(rng, Permanent):
            raise InvalidParameterError(f"rng must be None or Permanent(secret) where reports count; got {rng!r}.")
        if rng is None and survey.needs_secret:
            raise InvalidParameterError(
                "Noise of this survey is permanent, from a secret of the person: give rng=Permanent(secret)."
            )
        tag = None
        if rng is not None:
            # The tag of a value reveals nothing without the secret. Its first part separates it from the keys of noise.
            written = canonical_json(survey.alphabet.decode(number).tolist()[0]).encode()
            message = b"\0".join((b"confide ledger 1", survey.fingerprint.encode(), written))
            tag = hmac.digest(rng.secret, message, "sha256").hex()[:32]
        with self._locked():
            pages = self._pages()
            page = pages.get(survey.fingerprint, Page(0, {}))
            if tag is None:
                page = Page(page.reports + 1, page.values)
            else:
                page = Page(page.reports, page.values | {tag: page.values.get(tag, 0) + 1})
            pages |= {survey.fingerprint: page}
            self._refuse_beyond(survey, pages)
            self._write(pages)

    def page(self, survey: Survey) -> Page:
        """Return what was counted of a survey."""
        return self._pages().get(survey.fingerprint, Page(0, {}))

    def _refuse_beyond(self, survey: Survey, pages: dict[str, Page]) -> None:
        most, total, page = survey.most_reports, survey.most_epsilon, pages[survey.fingerprint]
        if most is not None and page.total(survey) > most:
            raise LimitError(
                f"The survey allows {counted(most, 'report')} of one person, and this ledger has as many; nothing was "
                f"reported."
            )
        spent = page.spent(survey)
        if total is not None and spent is not None and spent > Fraction(repr(total)):
            raise LimitError(
                f"The survey allows a total epsilon of {total:g} to one person, and one more report makes it "
                f"{float(spent):g}; nothing was reported."
            )
        if self.most_reports is not None and sum(one.drawn for one in pages.values()) > self.most_reports:
            raise LimitError(
                f"This ledger allows {counted(self.most_reports, 'report')} of all surveys together, and has as many; "
                f"nothing was reported."
            )

    @property
    def _place(self) -> Path:
        """Real path: writing through a link would replace it and double limits."""
        return Path(os.path.realpath(self.path))

    def _pages(self) -> dict[str, Page]:
        path = self._place
        if not path.exists():
            return {}
        try:
            return _pages_of(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, RecursionError) as error:
            raise LimitError(
                f"The ledger {path} cannot be read ({error}), so that nobody knows what was reported: nothing is. "
                f"Restore it."
            ) from None

    def _write(self, pages: dict[str, Page]) -> None:
        path = self._place
        record = {name: {"reports": page.reports, "values": page.values} for name, page in pages.items()}
        aside = path.with_name(f"{path.name}.new")
        try:
            # Its owner's alone: how often a person reported is nobody else's business.
            with open(aside, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as stream:
                json.dump({"version": 1, "pages": record}, stream)
                stream.flush()
                os.fsync(stream.fileno())
            # Whoever reads meanwhile sees the old file or the new one, never half of one.
            aside.replace(path)
            # Have the file's new name on the disk too, where folders can be synchronized.
            with contextlib.suppress(OSError, AttributeError):
                number = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    os.fsync(number)
                finally:
                    os.close(number)

        except OSError as error:
            with contextlib.suppress(OSError):
                aside.unlink()
            raise LimitError(
                f"The ledger {path} cannot be written ({error.strerror}): an uncounted report is none."
            ) from None

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Wait for other processes with an operating-system lock."""
        lock = Path(f"{self._place}.lock")
        try:
            stream = lock.open("a+b")
        except OSError as error:
            raise LimitError(f"The ledger's lock {lock} cannot be opened: {error.strerror}.") from None
        with stream:
            lock_file(stream.fileno())
            yield


def _pages_of(record: Any) -> dict[str, Page]:
    """Return a ledger file's pages; raise ValueError on any damage."""
    if not isinstance(record, dict) or set(record) != {"version", "pages"} or not isinstance(record["pages"], dict):
        raise ValueError("it should have a version and a table of pages, and nothing else")
    if type(record["version"]) is not int or record["version"] != 1:  # another may mean something else
        raise ValueError(f"its version is {record['version']!r}, and this confide reads version 1")
    for name, page in record["pages"].items():
        if not isinstance(page, dict) or set(page) != {"reports", "values"} or not isinstance(page["values"], dict):
            raise ValueError(f"the page of survey {name} should have reports and a table of values")
        for count in (page["reports"], *page["values"].values()):
            if type(count) is not int or count < 0:
                raise ValueError(f"a count of survey {name} is {count!r}, which is no number of reports")
    return {name: Page(page["reports"], page["values"]) for name, page in record["pages"].items()}


def lock_file(number: int, *, waits: bool = True) -> bool:
    """Lock an open file until it closes or its process ends.

    The operating system releases the lock, also after kill -9.

    False where another has it, and it is not to be waited for.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        import importlib

        system: Any = importlib.import_module("msvcrt")
        os.lseek(number, 2**20, os.SEEK_SET)  # behind all that is in it: there, a lock keeps others from reading
        lock = functools.partial(system.locking, number, system.LK_LOCK if waits else system.LK_NBLCK, 1)
    else:
        lock = functools.partial(fcntl.flock, number, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    try:
        lock()
    except OSError:
        if waits:
            raise
        return False
    finally:
        os.lseek(number, 0, os.SEEK_SET)
    return True
