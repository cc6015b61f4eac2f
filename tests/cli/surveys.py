"""A survey of every kind, small enough to run through files, pages and commands."""

from __future__ import annotations

from typing import Any

import numpy as np

import confide as cf
from confide.values import Values

AGES = '[alphabet]\nkind = "integers"\nlow = 0\nhigh = 9\nunit = "year"\n'
ALL_NUMBERS = '[alphabet]\nkind = "integers"\nunit = "year"\n'
ANSWERS = '[alphabet]\nkind = "categories"\nvalues = ["never", "some, times", "often"]\n'
YES_NO = '[alphabet]\nkind = "categories"\nvalues = ["yes", "no"]\n'
SCALE = (
    '[alphabet]\nkind = "scale"\nvalues = ["never", "now, and then", "often", "always"]\nunit = "step"\nfold = true\n'
)
CELLS = '[alphabet]\nkind = "grid"\nrows = 3\ncolumns = 4\nspacing = 0.5\nunit = "km"\n'
HOLED = CELLS + "holes = [[0, 0], [1, 2]]\n"
PLANE = '[alphabet]\nkind = "lattice"\nspacing = 0.5\nunit = "km"\n'
PAIRS = (
    '[alphabet]\nkind = "attributes"\n[alphabet.age]\nkind = "integers"\nlow = 18\nhigh = 27\n'
    '[alphabet.sex]\nkind = "categories"\nvalues = ["f", "m"]\n'
)
NUMBERS = (
    '[alphabet]\nkind = "attributes"\n[alphabet.rooms]\nkind = "integers"\nlow = 0\nhigh = 11\n'
    '[alphabet.cars]\nkind = "integers"\nlow = 0\nhigh = 2\n'
)
THREE = (
    '[alphabet]\nkind = "attributes"\n[alphabet.age]\nkind = "integers"\nlow = 18\nhigh = 20\nunit = "year"\n'
    '[alphabet.home]\nkind = "grid"\nrows = 2\ncolumns = 3\nspacing = 0.5\nunit = "km"\nholes = [[0, 1]]\n'
    '[alphabet.sex]\nkind = "categories"\nvalues = ["f", "m"]\n'
)


def _numbers(size: int) -> str:
    return f'[alphabet]\nkind = "integers"\nlow = 1\nhigh = {size}\n'


def _with_epsilon(kind: str) -> str:
    return f'[mechanism]\nkind = "{kind}"\nepsilon = 2.0\n'


MATRIX = "matrix = [[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]]"


def _rounds(permanent: str, fresh: str) -> str:
    return f'[mechanism]\nkind = "two-rounds"\n[mechanism.permanent]\n{permanent}\n[mechanism.fresh]\n{fresh}\n'


FINITE: dict[str, str] = {
    "randomized-response": ANSWERS + _with_epsilon("randomized-response"),
    "randomized-response with holes": HOLED + _with_epsilon("randomized-response"),
    "randomized-response of pairs": PAIRS + _with_epsilon("randomized-response"),
    "rappor": ANSWERS + _with_epsilon("rappor"),
    "rappor with holes": HOLED + _with_epsilon("rappor"),
    "rappor of pairs": PAIRS + _with_epsilon("rappor"),
    "rappor of 63 values": _numbers(63) + _with_epsilon("rappor"),
    "rappor of 64 values": _numbers(64) + _with_epsilon("rappor"),
    "rappor of 150 values": _numbers(150) + _with_epsilon("rappor"),
    "optimized-unary": ANSWERS + _with_epsilon("optimized-unary"),
    "subset-selection": ANSWERS + _with_epsilon("subset-selection"),
    "subset-selection of 150 values": _numbers(150) + _with_epsilon("subset-selection"),
    "hadamard-response": ANSWERS + _with_epsilon("hadamard-response"),
    "hadamard-response in one block": _numbers(12) + _with_epsilon("hadamard-response") + "blocks = 1\n",
    "projective-geometry": _numbers(14) + _with_epsilon("projective-geometry"),
    "local-hashing": ANSWERS + _with_epsilon("local-hashing"),
    "local-hashing with a pool": _numbers(12) + _with_epsilon("local-hashing") + "seeds = 60\n",
    "square-wave": _numbers(12) + _with_epsilon("square-wave"),
    "planar-square-wave": HOLED + _with_epsilon("planar-square-wave"),
    "one-bit-mean": _numbers(12) + _with_epsilon("one-bit-mean"),
    "unary": ANSWERS + '[mechanism]\nkind = "unary"\nkeep = 0.75\nflip = 0.25\n',
    "two-rounds": ANSWERS + _rounds('kind = "randomized-response"\nepsilon = 4.0', 'kind = "matrix"\n' + MATRIX),
    "two-rounds of bits": ANSWERS
    + _rounds('kind = "rappor"\nepsilon = 4.0', 'kind = "unary"\nkeep = 0.75\nflip = 0.25'),
    "two-rounds on a line": AGES
    + _rounds('kind = "truncated-geometric"\nepsilon = 2.0', 'kind = "truncated-geometric"\nepsilon = 1.5'),
    "truncated-geometric": AGES + _with_epsilon("truncated-geometric"),
    "truncated-geometric with outputs": AGES
    + _with_epsilon("truncated-geometric")
    + '[mechanism.outputs]\nkind = "integers"\nlow = -3\nhigh = 7\nunit = "year"\n',
    "truncated-geometric on a scale": SCALE + _with_epsilon("truncated-geometric"),
    "geometric": AGES + _with_epsilon("geometric"),
    "truncated-laplace": AGES + _with_epsilon("truncated-laplace"),
    "laplace": AGES + _with_epsilon("laplace"),
    "exponential": AGES + _with_epsilon("exponential"),
    "exponential with holes": HOLED + _with_epsilon("exponential"),
    "exponential of categories": ANSWERS + _with_epsilon("exponential"),
    "blahut-arimoto": HOLED + _with_epsilon("blahut-arimoto"),
    "wrapped-geometric": '[alphabet]\nkind = "circle"\nsteps = 7\n' + _with_epsilon("wrapped-geometric"),
    "truncated-geometric of bins": '[alphabet]\nkind = "bins"\nedges = [0, 1, 2, 3, 9]\nunit = "thousand"\n'
    + _with_epsilon("truncated-geometric"),
    "truncated-taxicab": HOLED + _with_epsilon("truncated-taxicab"),
    "taxicab": CELLS + _with_epsilon("taxicab"),
    "truncated-planar-geometric": HOLED + _with_epsilon("truncated-planar-geometric"),
    "planar-geometric": HOLED + _with_epsilon("planar-geometric"),
    "truncated-planar-laplace": HOLED + _with_epsilon("truncated-planar-laplace"),
    "planar-laplace": HOLED + _with_epsilon("planar-laplace"),
    "forced-response": ANSWERS + '[mechanism]\nkind = "forced-response"\nhonest = 0.7\nforced = [0.1, 0.1, 0.1]\n',
    "dice": ANSWERS + '[mechanism]\nkind = "dice"\ncommands = [[1], [2], [6]]\n',
    "crosswise": YES_NO + '[mechanism]\nkind = "crosswise"\nshare = 0.25\n',
    "crosswise with an anchor": YES_NO.replace('"no"]', '"no", "breaks the rules"]')
    + '[mechanism]\nkind = "crosswise"\nshare = 0.25\nbreakers = "random"\nanchor = "no"\n',
    "unrelated-question": YES_NO + '[mechanism]\nkind = "unrelated-question"\nhonest = "2/3"\nshare = 0.25\n',
    "kuk-cards": ANSWERS + '[mechanism]\nkind = "kuk-cards"\nred = [0.9, 0.5, 0.1]\ndraws = 3\n',
    "matrix": ANSWERS
    + '[mechanism]\nkind = "matrix"\nmatrix = [[0.7, 0.3], [0.5, 0.5], [0.2, 0.8]]\n'
    + '[mechanism.outputs]\nkind = "categories"\nvalues = ["no", "yes"]\n',
    "product": PAIRS
    + '[mechanism]\nkind = "product"\n[mechanism.age]\nkind = "truncated-geometric"\nepsilon = 0.5\n'
    + '[mechanism.sex]\nkind = "randomized-response"\nepsilon = 1.0\n',
    "product of three": THREE
    + '[mechanism]\nkind = "product"\n[mechanism.age]\nkind = "truncated-geometric"\nepsilon = 0.5\n'
    + '[mechanism.home]\nkind = "truncated-planar-geometric"\nepsilon = 2.0\n'
    + '[mechanism.sex]\nkind = "randomized-response"\nepsilon = 1.0\n',
    "product of numbers": NUMBERS
    + '[mechanism]\nkind = "product"\n[mechanism.rooms]\nkind = "truncated-laplace"\nepsilon = 0.5\n'
    + '[mechanism.cars]\nkind = "randomized-response"\nepsilon = 1.0\n',
    "remapped": CELLS
    + '[mechanism]\nkind = "remapped"\n[mechanism.mechanism]\nkind = "truncated-planar-geometric"\nepsilon = 2.0\n'
    + '[mechanism.outputs]\nkind = "grid"\nrows = 2\ncolumns = 3\nspacing = 0.5\nunit = "km"\n',
}
"""Surveys whose values have an end, by what they show."""

UNBOUNDED: dict[str, str] = {
    "geometric": ALL_NUMBERS + _with_epsilon("geometric"),
    "laplace": ALL_NUMBERS + _with_epsilon("laplace"),
    "taxicab": PLANE + _with_epsilon("taxicab"),
    "planar-geometric": PLANE + _with_epsilon("planar-geometric"),
    "planar-laplace": PLANE + _with_epsilon("planar-laplace"),
}
"""Surveys whose values have none."""


def survey(text: str) -> cf.Survey:
    """Return one of these, named and titled."""
    return cf.parse_survey(f'name = "thing"\ntitle = "Things"\n{text}')


def some_values(alphabet: cf.Alphabet, count: int = 300) -> Values:
    """Return people's own values, the first ones more often than the last."""
    size = alphabet.size if alphabet.is_finite else 10
    numbers = [(place * place) % size for place in range(count)]
    return np.array(alphabet.labels(numbers)) if isinstance(alphabet, cf.Scale) else alphabet.decode(numbers)


HALVES: dict[str, Any] = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature",
            "properties": {"name": name},
            "geometry": {
                "type": "Polygon",
                "coordinates": [[[-74.1, low], [-73.9, low], [-73.9, high], [-74.1, high], [-74.1, low]]],
            },
        }
        for name, low, high in (("South", 40.6, 40.745), ("North", 40.745, 40.9))
    ],
}
"""Two areas of a city, as GeoJSON has them."""
