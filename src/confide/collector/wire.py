"""Reports on the wire.

The JSON form of a report, checked like rows of a file.

A report is a text, a number, ``[row, column]``, ``[latitude, longitude]``, a text of 0 and 1 for a vector of bits, or
the list of the reports of several attributes.

>>> from confide import Integers, Survey, TruncatedGeometric
>>> wire = Wire.of(Survey(TruncatedGeometric(Integers(0, 9), epsilon=1.0)))
>>> wire.judge([3, 3, 70, None])
Judged(counts={'3': 2}, rejected=[(2, <Reason.OUTSIDE: 'outside the alphabet'>), (3, <Reason.MISSING: 'missing'>)])
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, ClassVar, NamedTuple

import numpy as np

from confide.data.files.reading import as_text, find_fault, select_values
from confide.data.files.sheets import Reason, Request, fields_of
from confide.evidence.counts import Counts, tally
from confide.surveys.survey import Survey
from confide.values import Alphabet, BitVectors, Indices, LineGeometry, RingGeometry, Values


@dataclass(frozen=True)
class CollectorLimits:
    """Fixed limits of a collector and its clients; `Settings` has the operator's.

    Attributes
    ----------
    patience, first_patience
        Seconds for which a client retries a request, and for which it does so if nobody ever answered: then a wrong
        address is likelier than a collector that is down.
    longest_wait
        Longest wait of a client between two tries, whatever the collector says.
    most_strange
        Answers of something else than a collector, after which a client gives up.
    batch_size
        Reports in a message of `confide send`.
    window
        Days back that reports are taken by default.
    lock_seconds
        Seconds that a transaction waits for another process, and that connecting may take.
    database_seconds
        Time limit of a PostgreSQL statement, and of its silence: a lost link says nothing.
    most_known, longest_known
        Accepted reports whose canonical text we remember, at most 4 MB, and their longest text: vectors of bits are
        longer and hardly ever repeat.
    few
        Batches of at most this many reports are counted in Python: an array costs as much for one as for a hundred.
    light
        Largest message, in bytes, that we unpack and parse on the event loop, if it has few parts as well.
    free
        Bytes of a message that may arrive before there is room: the server reads as many at once anyway.
    most_together
        Batches in one transaction, so that the first does not wait long.
    most_waiting, most_waiting_each
        Clients that may wait for room, in total and per address: nothing else bounds those who send and leave at once.
    most_refused
        Refusals per second of one address before it must wait: devices are hardly ever refused.
    most_kept
        Answers that a collector keeps, the last of each kind and survey.
    refresh_seconds
        Seconds between two reloads of what other processes changed.
    most_header_bytes
        Bytes of all headers; browsers send a few thousand.
    header_seconds
        Seconds for headers to arrive after the last answer, and for the rest of a message that nobody reads.
    answer_seconds, ending_seconds
        Seconds for a client to read an answer, in general and when the server ends.
    most_pipelined
        Requests on one connection that wait for an earlier answer.
    spare_files
        Open files of the process beside the connections.
    """

    patience: float = 60.0
    first_patience: float = 15.0
    longest_wait: float = 30.0
    most_strange: int = 6
    batch_size: int = 1_000
    window: int = 7
    lock_seconds: float = 5.0
    database_seconds: float = 10.0
    most_known: int = 2**14
    longest_known: int = 64
    few: int = 32
    light: int = 2**15
    free: int = 2**16
    most_together: int = 1_000
    most_waiting: int = 1_024
    most_waiting_each: int = 256
    most_refused: int = 100
    most_kept: int = 64
    refresh_seconds: float = 1.0
    most_header_bytes: int = 32 * 1024
    header_seconds: float = 10.0
    answer_seconds: float = 60.0
    ending_seconds: float = 5.0
    most_pipelined: int = 16
    spare_files: int = 64


LIMITS = CollectorLimits()


try:  # only the collector needs it; clients do without
    import orjson

    _dumps: Callable[[Any], bytes] = orjson.dumps
except ImportError:  # pragma: no cover - there in every environment for development
    _dumps = lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()  # noqa: E731


class Judged(NamedTuple):
    """A judged batch.

    Counts of accepted reports, positions and reasons of rejected ones.

    Counts are by canonical text or, for many whole numbers, an array over the whole range.
    """

    counts: dict[str, int] | Indices
    rejected: list[tuple[int, Reason]]


def today() -> date:
    """Return the current day in UTC."""
    return datetime.now(UTC).date()


@dataclass(frozen=True, eq=False)
class Wire:
    """Converts a survey's reports between JSON, stored texts and arrays.

    Attributes
    ----------
    alphabet
        What a report may be.
    span
        The lowest and highest report, if reports are all whole numbers in between; else None.
    """

    alphabet: Alphabet
    span: tuple[int, int] | None = None
    _known: dict[object, str] = field(default_factory=dict, repr=False)

    # Texts and whole numbers never equal one another, as True and 1, or 1 and 1.0, do.
    _plain: ClassVar[frozenset[type]] = frozenset((int, str))

    @classmethod
    def of(cls, survey: Survey) -> Wire:
        """Return the wire form of a survey's reports."""
        alphabet = survey.mechanism.report_alphabet
        is_line = isinstance(alphabet.geometry, LineGeometry | RingGeometry)
        # Up to this size, a batch is counted by an array over the whole range.
        is_line = is_line and alphabet.is_finite and alphabet.size <= 2**14
        first = fields_of(alphabet)[0] if is_line else None
        return cls(alphabet, None if first is None else (first.low, first.high))

    def judge(self, reports: list[Any], packed: bytes | None = None) -> Judged:
        """Accept or reject each report of a batch, and count them.

        `packed` are the reports as JSON, if the caller has them already.
        """
        if self.span is not None and len(reports) > LIMITS.few:
            quick = self._histogram(reports, _dumps(reports) if packed is None else packed)
            if quick is not None:
                return Judged(quick, [])
        keys: list[Any] = reports if self._plain.issuperset(map(type, reports)) else list(map(_dumps, reports))
        seen, known = Counter(keys), self._known
        # Looked up once: while strange ones are read, another thread may empty what is remembered.
        texts = {key: known.get(key) for key in seen}
        strange = [key for key, text in texts.items() if text is None]
        accepted, rejected = self._read(strange) if strange else ({}, {})
        counts: dict[str, int] = {}
        for key, number in seen.items():
            text = texts[key] or accepted.get(key)
            if text is not None:  # two spellings of one report, such as 7 and "7", are one
                counts[text] = counts.get(text, 0) + number
        if len(known) + len(accepted) > LIMITS.most_known:
            known.clear()
        for key, text in list(accepted.items())[: LIMITS.most_known]:
            # Remember only the spelling of devices: an attacker could fill the memory with endless others.
            is_short = len(text) <= LIMITS.longest_known
            if is_short and (key if isinstance(key, bytes) else _dumps(key)) == text.encode():
                known[key] = text
        if not rejected:
            return Judged(counts, [])
        return Judged(counts, [(place, rejected[key]) for place, key in enumerate(keys) if key in rejected])

    def judge_at_once(self, reports: list[Any], packed: bytes) -> Judged | None:
        """Judge a batch if that is quick, else return None.

        It is quick for valid whole numbers, for known reports, and for very few reports: most devices send one.
        """
        if len(reports) == 1 and type(reports[0]) in self._plain:
            text = self._known.get(reports[0])
            if text is not None:
                return Judged({text: 1}, [])
        if len(packed) <= 128:
            return self.judge(reports, packed)
        found = self._histogram(reports, packed) if len(reports) > LIMITS.few else None
        if found is not None:
            return Judged(found, [])
        known, is_plain = self._known, self._plain.issuperset(map(type, reports))
        counts = Counter(reports if is_plain else map(_dumps, reports))
        texts = {key: known.get(key) for key in counts}
        if None in texts.values():
            return None
        return Judged({str(texts[key]): number for key, number in counts.items()}, [])

    def _histogram(self, reports: list[Any], packed: bytes) -> Indices | None:
        """Count whole numbers, several times as fast.

        Return None if any is something else.
        """
        # numpy would silently turn true, 1.0 and "1" into the number 1, so we check the text.
        if self.span is None or packed.translate(None, b"0123456789-,") != b"[]":
            return None
        low, high = self.span
        if low >= 0 and high <= 255:  # an array of bytes takes a third of the time
            try:
                counts = np.bincount(np.frombuffer(bytes(reports), np.uint8), minlength=high + 1)
            except ValueError:
                return None
            return None if len(counts) > high + 1 or counts[:low].any() else counts[low:]
        try:
            numbers = np.fromiter(reports, np.int64, len(reports))
        except OverflowError:
            return None
        numbers -= low  # numbers below become huge as unsigned ones, so that one test finds both kinds
        if np.maximum.reduce(numbers.view(np.uint64)) > high - low:
            return None
        return np.bincount(numbers, minlength=high - low + 1)

    def add_up(self, parts: Iterable[dict[str, int] | Indices]) -> dict[str, int]:
        """Add up the counts of several batches."""
        # A plain dictionary: Counter.update takes twice as long, and every transaction waits for this.
        sums: dict[str, int] = {}
        arrays: list[Indices] = []
        for part in parts:
            if isinstance(part, dict):
                for text, number in part.items():
                    sums[text] = sums.get(text, 0) + number
            else:
                arrays.append(part)
        if arrays and self.span is not None:
            for place, number in enumerate(np.add.reduce(arrays).tolist(), self.span[0]):
                if number:
                    text = str(place)
                    sums[text] = sums.get(text, 0) + number
        return sums

    def _read(self, keys: Iterable[Any]) -> tuple[dict[Any, str], dict[Any, Reason]]:
        """Read unknown reports all at once.

        An array of one costs as much as of thousands.
        """
        rejected: dict[Any, Reason] = {}
        entries: dict[Any, tuple[str, ...]] = {}
        for key in keys:
            fields = self._fields(json.loads(key) if isinstance(key, bytes) else key)
            if isinstance(fields, Reason):
                rejected[key] = fields
            else:
                entries[key] = fields
        request = Request(self.alphabet)  # as for files of reports
        values, is_good = select_values(self.alphabet, [request.parse(fields) for fields in entries.values()])
        judged = dict(zip(entries, is_good.tolist(), strict=True))
        rejected |= {key: find_fault(request, entries[key]) for key, one in judged.items() if not one}
        good = [key for key, one in judged.items() if one]
        return dict(zip(good, self.texts(values), strict=True)), rejected

    def _fields(self, report: Any) -> tuple[str, ...] | Reason:
        """Return the texts of a row in a file, or a reason."""
        if self.alphabet.bits is not None:
            is_text = isinstance(report, str) and len(report) == self.alphabet.bits.length and set(report) <= {"0", "1"}
            return tuple(map(str, _pack(self.alphabet.bits, [report])[0].tolist())) if is_text else Reason.NOT_BITS
        # Among several attributes, a cell may be a nested list.
        parts = report if isinstance(report, list) else [report]
        parts = [one for part in parts for one in (part if isinstance(part, list) else [part])]
        if len(parts) != self.alphabet.parts or any(isinstance(part, list | dict) for part in parts):
            return Reason.MISSHAPEN
        return tuple(map(as_text, parts))  # as a file has them, so that both are judged alike

    def to_lists(self, reports: Values) -> list[Any]:
        """Return an array of reports as JSON values.

        >>> from confide import Categories, Rappor, Survey
        >>> survey = Survey(Rappor(Categories(["a", "b", "c"]), epsilon=1.0))
        >>> Wire.of(survey).to_lists(np.array([5]))
        ['101']
        """
        if self.alphabet.bits is not None:
            marks = np.where(self.alphabet.bits.unpack(reports.astype(np.int64)), ord("1"), ord("0")).astype(np.uint8)
            return [row.tobytes().decode() for row in marks]
        lists: list[Any] = reports.tolist()
        return lists

    def texts(self, reports: Values) -> list[str]:
        """Return the canonical text of each report, which the store counts."""
        return [_dumps(one).decode() for one in self.to_lists(reports)]

    def to_counts(self, numbers: Mapping[str, int]) -> Counts:
        """Return counts by canonical texts as counts of reports."""
        if not numbers:
            return tally([])
        lists = [json.loads(text) for text in numbers]
        if self.alphabet.bits is not None:
            words = _pack(self.alphabet.bits, lists)
            return tally(words if self.alphabet.parts > 1 else words[:, 0], list(numbers.values()))
        return tally(self.alphabet.as_array(lists), list(numbers.values()))


def _pack(kind: BitVectors, texts: list[str]) -> Values:
    bits = np.frombuffer("".join(texts).encode(), dtype=np.uint8).reshape(len(texts), kind.length) == ord("1")
    return kind.pack(bits).reshape(len(texts), kind.parts)
