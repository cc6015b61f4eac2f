"""Cells of an experiment: one draw of reports, one method."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np

from confide import __version__
from confide.errors import ConfideError, InvalidParameterError, SolverError
from confide.estimates.estimate import Outcome, assess_pool
from confide.evidence.evidence import Evidence
from confide.mechanisms import Mechanism
from confide.solve.methods import IBU, MLE, BitInversion, Inversion, Method, Monitor, Solution, Stacked, Status
from confide.values import Alphabet
from reproduction.declarations import Blur, Source, fingerprint, seed_of

INCOMPATIBLE, FAILED = "incompatible", "failed"

# The paper states no delta for most of its figures. This one agrees with all that it says of its box plots: with 0.01
# IBU is not yet far better at the strongest metric privacy, with 0.001 it begins to fit the noise where privacy is
# weaker. `delta-sensitivity` shows what others give.
DELTA = 0.003
# RAPPOR at epsilon 0.1: a larger delta stops IBU long before it comes near RAPPOR's own estimator.
DELTA_FOR_BITS = 0.001
# Under very strong noise the search for the best held-out step goes on for minutes and changes little; RAPPOR's steps
# are the costliest of all.
HELD_OUT_LIMIT, HELD_OUT_LIMIT_FOR_BITS = 2_000, 1_000


@dataclass(frozen=True)
class Contender:
    """Method that takes part, and IBU's start if it varies."""

    method: Method
    start: float | None = None

    @property
    def delta(self) -> float | None:
        """IBU's delta, where delta is what stops it."""
        return self.method.delta if isinstance(self.method, IBU) and self.method.stop == "delta" else None


@dataclass(frozen=True)
class Unprocessed(Method):
    """The reports taken as values: a curator who estimates nothing."""

    @property
    def name(self) -> str:
        """See :attr:`Method.name`."""
        return "noisy"

    def solve(self, evidence: Evidence, monitor: Monitor | None = None) -> Solution:  # noqa: ARG002 (no steps to watch)
        """See :meth:`Method.solve`."""
        values, outputs = evidence.channel.shape
        if values != outputs:
            raise InvalidParameterError(f"Reports are no values here: {values} values, but {outputs} outputs.")
        return Solution(evidence.frequencies, 0, Status.CLOSED_FORM, "the shares of the reports as they came")


IBU_OF_PAPER = Contender(IBU(delta=DELTA))
IBU_FOR_BITS = Contender(IBU(delta=DELTA_FOR_BITS))
INVERSIONS = (Contender(Inversion("normalize")), Contender(Inversion("project")))
BIT_INVERSIONS = (Contender(BitInversion("normalize")), Contender(BitInversion("project")))
DEFAULT = Contender(Stacked())
OURS = (Contender(MLE()), Contender(IBU(stop="held-out", iteration_limit=HELD_OUT_LIMIT)), DEFAULT)
OURS_FOR_BITS = (Contender(MLE()), Contender(IBU(stop="held-out", iteration_limit=HELD_OUT_LIMIT_FOR_BITS)), DEFAULT)

USUAL = (IBU_OF_PAPER, *INVERSIONS, *OURS)
"""Methods for mechanisms with a square matrix: the paper's, then confide's own."""

FOR_BITS = (IBU_FOR_BITS, *BIT_INVERSIONS, *INVERSIONS, *OURS_FOR_BITS)
"""Methods for RAPPOR. Matrix inversion takes part too, and its rows say why it cannot."""


@dataclass(frozen=True)
class Draw:
    """People, their mechanism, and the number of the repeat.

    All methods of a draw see the same reports. Its seed is made of its declaration alone, so neither the order of work
    nor the number of processes nor the figure it belongs to changes it.
    """

    source: Source
    blur: Blur
    repeat: int

    @property
    def seed(self) -> int:
        """Seed of the generator that draws people and reports."""
        return seed_of(self.source, self.blur.kind, self.blur.epsilon, self.repeat)

    def key(self, contender: Contender, *, is_kept: bool) -> str:
        """Return a digest of the cell's declaration."""
        return fingerprint(__version__, self.source, self.blur, self.repeat, contender, is_kept)

    def setting(self, contender: Contender) -> str:
        """Return a digest that all repeats of a cell share."""
        return fingerprint(__version__, self.source, self.blur, contender)


@dataclass(frozen=True)
class Row:
    """Row of a table of results; None is unknown."""

    data: str
    values: int
    people: int
    mechanism: str
    epsilon: float
    repeat: int
    seed: int
    method: str
    delta: float | None
    start: float | None
    emd: float | None
    total_variation: float | None
    log_likelihood: float | None
    certificate: float | None
    iterations: int | None
    status: str
    note: str


@dataclass(frozen=True)
class Record:
    """Finished cell: its row, its time, and shares to draw."""

    key: str
    setting: str
    row: Row
    seconds: float
    work: float
    shares: tuple[float, ...] | None
    truth: tuple[float, ...] | None

    def to_plain(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Record:
        """Return what :meth:`to_plain` was made of."""
        shares, truth = (None if plain[name] is None else tuple(plain[name]) for name in ("shares", "truth"))
        return cls(**plain | {"row": Row(**plain["row"]), "shares": shares, "truth": truth})


def run_draw(draw: Draw, contenders: Sequence[Contender], *, is_kept: bool) -> list[Record]:
    """Draw the reports once, and let every method see them.

    A method that cannot be used here gives a row that says why.
    """
    began = time.process_time()
    try:
        mechanism = _build(draw.blur, draw.source.alphabet)
        generator = np.random.default_rng(draw.seed)
        people = draw.source.histogram(generator)
        counts = mechanism.simulate_counts(people, rng=generator)
    except InvalidParameterError as error:
        return [_refused(draw, contender, error, is_kept=is_kept) for contender in contenders]
    truth = people / people.sum()
    seen = draw.blur.build_for_methods(draw.source.alphabet) if draw.blur.is_stored else mechanism
    records = []
    for contender in contenders:
        try:
            outcome = assess_pool([(counts, seen)], contender.method, truth=truth)
        except ConfideError as error:
            records.append(_refused(draw, contender, error, is_kept=is_kept))
        else:
            work, began = time.process_time() - began, time.process_time()
            records.append(_finished(draw, contender, outcome, truth if is_kept else None, work))
    return records


@cache
def _build(blur: Blur, alphabet: Alphabet) -> Mechanism:
    """Build each mechanism once a process, with its costly parts."""
    return blur.build(alphabet)


def _finished(draw: Draw, contender: Contender, outcome: Outcome, truth: Any, work: float) -> Record:
    answer, is_kept = outcome.estimate, truth is not None
    row = _row(draw, contender, str(answer.status), "") | {
        "emd": outcome.emd,
        "total_variation": outcome.total_variation,
        "log_likelihood": answer.log_likelihood,
        "certificate": answer.certificate,
        "iterations": answer.iterations,
    }
    return Record(
        key=draw.key(contender, is_kept=is_kept),
        setting=draw.setting(contender),
        row=Row(**row),
        seconds=answer.seconds,
        work=work,
        shares=tuple(answer.distribution.tolist()) if is_kept else None,
        truth=tuple(truth.tolist()) if is_kept else None,
    )


def _refused(draw: Draw, contender: Contender, error: ConfideError, *, is_kept: bool) -> Record:
    status = FAILED if isinstance(error, SolverError) else INCOMPATIBLE
    row = Row(**_row(draw, contender, status, str(error)))
    return Record(draw.key(contender, is_kept=is_kept), draw.setting(contender), row, 0.0, 0.0, None, None)


def _row(draw: Draw, contender: Contender, status: str, note: str) -> dict[str, Any]:
    blank: dict[str, Any] = dict.fromkeys(Row.__dataclass_fields__)
    return blank | {
        "data": draw.source.label,
        "values": draw.source.alphabet.size,
        "people": draw.source.total,
        "mechanism": draw.blur.label,
        "epsilon": draw.blur.epsilon,
        "repeat": draw.repeat,
        "seed": draw.seed,
        "method": contender.method.name,
        "delta": contender.delta,
        "start": contender.start,
        "status": status,
        "note": note,
    }
