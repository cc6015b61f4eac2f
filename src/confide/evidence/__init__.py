"""Evidence: counts with their channel, and certificates of the maximum."""

from confide.evidence.counts import Accumulator, Noise, Origin
from confide.evidence.evidence import Evidence
from confide.evidence.shapes import Shape
