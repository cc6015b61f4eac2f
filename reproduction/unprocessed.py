"""What a curator has who estimates nothing, as a method among others."""

from __future__ import annotations

from dataclasses import dataclass

from confide.errors import InvalidParameterError
from confide.evidence import Evidence
from confide.methods import Method, Monitor, Solution, Status


@dataclass(frozen=True)
class Unprocessed(Method):
    """Take the reports themselves for the values: what a curator has who estimates nothing."""

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
