"""What every mechanism is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.alphabets import Alphabet, Indices
from confide.channels import Channel
from confide.errors import ImpossibleReportError, ValueOutsideAlphabetError
from confide.evidence import Evidence
from confide.guarantees import Guarantee
from confide.reports import Counts
from confide.sampling import Bits, WeightRows, as_bits


class Mechanism(ABC):
    """A value of the alphabet in, a noisy report out.

    A mechanism is a row of integer weights for each value. Reports are drawn from exactly these weights, and the
    channel that estimates use is these weights divided by their sum, so the two cannot drift apart.
    """

    kind: ClassVar[str]
    """What the mechanism is called in a survey file."""

    alphabet: Alphabet

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What is promised to a person."""

    @property
    @abstractmethod
    def channel(self) -> Channel:
        """P(output | value) as an operator."""

    @abstractmethod
    def weights(self, index: int) -> Sequence[int]:
        """Return the exact weights of all outputs for the value with this number."""

    @property
    def report_alphabet(self) -> Alphabet:
        """What a report may be; the alphabet itself unless the mechanism says otherwise."""
        return self.alphabet

    def privatize(self, values: ArrayLike, *, rng: Any = None) -> Any:
        """Blur values, each on its own.

        Parameters
        ----------
        values
            One value, or a sequence of values of the alphabet.
        rng
            None draws from the operating system's cryptographic generator, as a deployment must. A seed or a
            :class:`numpy.random.Generator` gives reproducible reports for simulation, from the same exact sampler.

        Returns
        -------
        The report, or an array with one report for each value, in the same order.
        """
        if self.alphabet.is_single(values):
            report = self._privatize(np.asarray(values)[None], as_bits(rng))[0].tolist()
            return tuple(report) if isinstance(report, list) else report
        return self._privatize(values, as_bits(rng))

    def lay_out(self, counts: Counts) -> NDArray[np.float64]:
        """Return how often each output of the report alphabet was seen.

        Raises
        ------
        ImpossibleReportError
            If a report is none of the outputs.
        """
        per_output: NDArray[np.float64] = np.zeros(self.report_alphabet.size)
        per_output[self.locate_reports(counts)] = counts.counts  # distinct reports have distinct numbers
        return per_output

    def observe(self, counts: Counts) -> Evidence:
        """Lay counted reports against the channel, refusing reports that no value can produce."""
        per_output = self.lay_out(counts)
        self._refuse_impossible(per_output)
        return Evidence(self.channel, per_output)

    def locate_reports(self, counts: Counts) -> Indices:
        """Return the output number of each distinct report."""
        try:
            return self.report_alphabet.encode(counts.reports)
        except ValueOutsideAlphabetError as error:
            raise ImpossibleReportError(_stray_message(self, counts, list(error.positions))) from None

    def _privatize(self, values: ArrayLike, bits: Bits) -> NDArray[Any]:
        return self.report_alphabet.decode(self._draw(self.alphabet.encode(values), bits))

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        """Draw one output number for each value number."""
        return self._rows.draw(indices, bits)

    @cached_property
    def _rows(self) -> WeightRows:
        return WeightRows.of([self.weights(index) for index in range(self.alphabet.size)])

    def _refuse_impossible(self, per_output: NDArray[np.float64]) -> None:
        values = self.alphabet.size
        reachable = self.channel.push(np.full(values, 1.0 / values)) > 0
        impossible = np.flatnonzero((per_output > 0) & ~reachable)
        if impossible.size:
            first = self.report_alphabet.labels()[impossible[0]]
            raise ImpossibleReportError(
                f"Report {first} was seen {per_output[impossible[0]]:,.10g} times, but no value can produce it under "
                f"{self!r}. Were the reports made with another survey?"
            )


def _stray_message(mechanism: Mechanism, counts: Counts, stray: list[int]) -> str:
    first, times = counts.reports[stray[0]].tolist(), counts.counts[stray[0]]
    return (
        f"{counts.counts[stray].sum():,.10g} of {counts.total:,.10g} reports are none of the outputs "
        f"{mechanism.report_alphabet!r} of {mechanism!r}; first: {first!r}, seen {times:,.10g} times. "
        f"Were the reports made with another survey?"
    )
