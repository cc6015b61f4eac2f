"""Evidence: reports as they were counted, laid against a channel, and certificates of how near the maximum is."""

from confide.evidence.counts import Noise, Origin
from confide.evidence.evidence import Evidence

__all__ = ["Evidence", "Noise", "Origin"]
