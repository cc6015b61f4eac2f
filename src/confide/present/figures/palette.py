"""Colours by what they mean, for light and for dark pages; `pages/design.css` has the same ones as custom properties.

A method keeps its colour from figure to figure. Those of methods and of the reports can be told apart by people with
any common kind of colour blindness, and each stands out from its card by 3:1, words by 4.5:1, in both modes:
`tests/pages/test_design.py` measures all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import cycle

import numpy as np
from numpy.typing import NDArray

COLORS: dict[str, tuple[str, str]] = {
    "page": ("#F5F7F9", "#12161B"),
    "card": ("#FFFFFF", "#1B2027"),
    "ink": ("#20262D", "#E6EAEE"),
    "faint": ("#58626D", "#A3ADB8"),
    "rule": ("#DFE3E8", "#363E48"),
    "truth": ("#7D858E", "#8D96A0"),
    "truth-fill": ("#D5D9DE", "#3B434D"),
    "reports": ("#D55E00", "#F2803B"),
    "stacked": ("#0069AA", "#58AEEC"),
    "ibu": ("#159469", "#27E79A"),
    "held-out": ("#019DD7", "#4291B3"),
    "mle": ("#645300", "#FFB405"),
    "normalized": ("#561A4B", "#FCC5FC"),
    "projected": ("#A02C6A", "#AF4571"),
    "smooth": ("#3B238C", "#6E5FC8"),
    "hole": ("#E8EBEF", "#2B323A"),
    "negative": ("#F3C6AD", "#6B3A1E"),
    "good": ("#00684C", "#5CCBA4"),
    "warning": ("#A34600", "#F29A62"),
}
"""Each colour on a light and on a dark page."""

METHODS = {
    "Stacked": "stacked",
    "Stacked (default)": "stacked",
    "IBU": "ibu",
    "certified IBU": "ibu",
    "held-out IBU": "held-out",
    "MLE": "mle",
    "INV": "normalized",
    "RAP": "normalized",
    "INV-N": "normalized",
    "RAP-N": "normalized",
    "INV-P": "projected",
    "RAP-P": "projected",
    "Smooth": "smooth",
    "noisy": "reports",
    "Noisy": "reports",
}
"""Name of each method's colour. RAPPOR's own estimators repair as inversion does, and never stand beside it."""

# Methods of other people, and a method that stands twice with two settings, take what is left, in this order.
SPARE = ("stacked", "ibu", "projected", "mle", "held-out", "smooth", "normalized")

SCALES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # Shares on a map: the card for nobody. Its hues change, so that no shade of it passes for a method.
    "heat": (
        ("#FFFFFF", "#D9EFE2", "#7FCBC0", "#2F8FA9", "#1E4E8B", "#14174D"),
        ("#1B2027", "#24557A", "#2A7C9B", "#5DBDB2", "#C6EEC3", "#FBFFE8"),
    ),
    "doubt": (("#FFFFFF", "#D5D9DE", "#9AA2AB"), ("#1B2027", "#3B434D", "#5F6872")),
    "residuals": (("#58626D", "#FFFFFF", "#D55E00"), ("#A3ADB8", "#1B2027", "#F2803B")),
}
"""Colours that numbers on a map go through, from the lowest to the highest."""

# Colours of cells that cannot be told apart: words can be read on all, neighbours in number differ, and they come
# round again after eight.
CLASSES = (
    ("#8FBFDE", "#F3CF8A", "#8FD3BE", "#E4BCD3", "#C3E1F5", "#EFAE87", "#F6F1A6", "#C6BEDD"),
    ("#2C5A78", "#6E5319", "#22604E", "#6B3D58", "#3F6580", "#74421F", "#625D1C", "#4A4168"),
)

STEPS = 256


def light(name: str) -> str:
    """Return a colour as it is on a light page, and in a file.

    >>> light("ink")
    '#20262D'
    """
    return COLORS[name][0]


def colors_of(names: Sequence[str]) -> list[str]:
    """Return the colour of each method in one picture; where two would have the same one, the second takes another.

    >>> colors_of(["IBU", "Stacked"]) == [light("ibu"), light("stacked")]
    True
    >>> len(set(colors_of(["IBU(delta=1)", "IBU(delta=2)", "mine"])))
    3
    """
    own = [METHODS.get(name, METHODS.get(name.partition("(")[0], "")) for name in names]
    spare = cycle([one for one in SPARE if one not in own] or SPARE)
    taken: set[str] = set()
    for place, one in enumerate(own):
        if not one or one in taken:
            own[place] = next(spare)
        taken.add(own[place])
    return [light(one) for one in own]


def ordered(count: int) -> list[str]:
    """Return colours of settings that are numbers, from the least to the most: shades of a scale, none of a method.

    >>> ordered(2)
    ['#2F8FA9', '#14174D']
    """
    scale = _spread(SCALES["heat"][0])
    # The paler two fifths would not stand out from a card.
    chosen = scale[np.rint(np.linspace(0.6, 1.0, max(count, 2))[:count] * (STEPS - 1)).astype(int)]
    return ["#" + "".join(f"{int(part):02X}" for part in shade) for shade in chosen]


def on_dark(colors: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return what colours of a light picture are on a dark page: those of the nearest shade of a scale, row by row.

    >>> on_dark(np.array([[255, 255, 255]], dtype=np.uint8)).tolist()
    [[27, 32, 39]]
    """
    known, instead = _shades()
    away = ((known[:, None] - colors[None, :].astype(np.int64)) ** 2).sum(axis=2)
    return np.asarray(instead[away.argmin(axis=0)])


@cache
def _shades() -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return every shade of every scale on a light page, and the same on a dark one."""
    pairs = [(_spread(one), _spread(other)) for one, other in SCALES.values()]
    pairs += [(_numbers(one), _numbers(other)) for one, other in (CLASSES, tuple(zip(*COLORS.values(), strict=True)))]
    known, instead = (np.concatenate(part) for part in zip(*pairs, strict=True))
    return known.astype(np.int64), instead.astype(np.uint8)


def _spread(stops: Sequence[str]) -> NDArray[np.float64]:
    places = np.linspace(0, len(stops) - 1, STEPS)
    return np.stack([np.interp(places, np.arange(len(stops)), one) for one in _numbers(stops).T], axis=1).round()


def _numbers(colors: Sequence[str]) -> NDArray[np.float64]:
    return np.array([[int(one[place : place + 2], 16) for place in (1, 3, 5)] for one in colors], dtype=np.float64)
