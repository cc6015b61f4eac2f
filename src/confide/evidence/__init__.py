"""Evidence: reports as they were counted, laid against a channel, and certificates of how near the maximum is."""

from confide.evidence.evidence import Evidence
from confide.evidence.origins import Noise, Origin

__all__ = ["Evidence", "Noise", "Origin"]
