"""Panels: one distribution among several, its role and its colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from confide.errors import InvalidDistributionError
from confide.estimates.inference import Windows
from confide.present.figures import style
from confide.present.figures.style import colors_of

FloatArray = NDArray[np.float64]


class Role(Enum):
    """Part that a distribution plays: it decides colour and wording."""

    TRUTH = "truth"
    NOISY = "noisy"
    ESTIMATE = "estimate"


@dataclass(frozen=True, eq=False)
class Panel:
    """One distribution, with the truth behind it where that is known.

    Attributes
    ----------
    title, subtitle
        What stands above it, such as ``"IBU"`` and ``"EMD 0.52 years, TV 0.08"``.
    distribution
        One number for each value of the alphabet; only raw inversion has negative ones.
    reference
        The truth, drawn in grey behind it; maps show it in a panel of its own instead.
    role
        Whether this is the truth, the noisy reports, or an estimate.
    color
        The colour of an estimate; that of the method in its title if left out.
    reference_role
        What the reference is, if not the truth.
    band
        The lower and the upper ends of an interval for each value, drawn as a band where it says something, or as
        whiskers; not on maps.
    windows
        Windows with their intervals: boxes on a line, outlines on a map; they take the place of a band.
    background
        Lines on a map of places, as longitude and latitude.
    """

    title: str
    distribution: FloatArray
    subtitle: str = ""
    reference: FloatArray | None = None
    role: Role = Role.ESTIMATE
    color: str | None = None
    reference_role: Role = Role.TRUTH
    band: tuple[FloatArray, FloatArray] | None = None
    windows: Windows | None = None
    background: tuple[FloatArray, ...] = ()

    @property
    def layers(self) -> list[FloatArray]:
        """Everything that is drawn here."""
        return [self.distribution] if self.reference is None else [self.reference, self.distribution]

    @property
    def peak(self) -> float:
        """The largest number that is drawn here."""
        return max(float(layer.max()) for layer in self.layers)

    @property
    def trough(self) -> float:
        """The smallest drawn number; 0 if none is negative."""
        return min(0.0, *(float(layer.min()) for layer in self.layers))


def check_panels(panels: Sequence[Panel], size: int) -> tuple[Panel, ...]:
    """Refuse an empty sequence, and distributions of another alphabet."""
    if not panels:
        raise InvalidDistributionError("There is nothing to draw; give at least one panel.")
    for panel in panels:
        for layer in (*panel.layers, *(panel.band or ())):
            if np.shape(layer) != (size,):
                raise InvalidDistributionError(
                    f"{panel.title!r} must hold one number for each of {size} values; got shape {np.shape(layer)}."
                )
        if panel.windows is not None and panel.windows.alphabet.size != size:
            raise InvalidDistributionError(
                f"{panel.title!r} has windows over {panel.windows.alphabet.size} values, and is over {size}."
            )
    return tuple(panels)


def choose_colors(panels: Sequence[Panel]) -> list[str]:
    """Return one colour for each panel, that of its method."""
    fixed = {Role.TRUTH: style.TRUTH_EDGE, Role.NOISY: style.NOISY}
    estimates = [panel for panel in panels if panel.role is Role.ESTIMATE]
    own = dict(zip(map(id, estimates), colors_of([panel.title for panel in estimates]), strict=True))
    return [panel.color or fixed.get(panel.role) or own[id(panel)] for panel in panels]


def share_label(role: Role) -> str:
    """Return what a share is a share of."""
    return "share of reports" if role is Role.NOISY else "share of people"
