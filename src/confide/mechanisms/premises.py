"""What a mechanism declares about which values a report points to."""

from __future__ import annotations

from enum import Enum


class Premise(Enum):
    """A fact about P(report | value) on which a likely subset may rest; every one is tested for every mechanism.

    A peak of a report is a place from which it is as likely as from anywhere; :meth:`Mechanism.peaks` says where.
    """

    NOTHING = "nothing is known of which values make a report likely"
    OWN_VALUE = "a report is likeliest from the value that it names, and equally likely from all others"
    LINE = "on a line, a report gets no likelier as the value moves away from its peak, to either side"
    COORDINATES = "on a plane, a report gets no likelier as the row or the column moves away from its peak"
    DISTANCE = "on a plane, a report is the less likely the greater the Euclidean distance of the value from it"
