"""Evidence: counts with their channel, and certificates of the maximum."""

from confide.evidence.counts import Noise, Origin
from confide.evidence.evidence import Evidence
