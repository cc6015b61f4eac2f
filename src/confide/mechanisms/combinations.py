"""Mechanisms made of others: one per attribute, and post-processing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from confide.channels import Embedded, Kronecker
from confide.errors import InvalidParameterError
from confide.mechanisms.base import Facts, Mechanism, merge_weights, require_finite, require_mechanism
from confide.mechanisms.guarantees import Guarantee, ProductGuarantee
from confide.mechanisms.planar import hull, nearest_cells
from confide.mechanisms.sampling import Bits
from confide.values import Alphabet, Attributes, Indices, LineGeometry, PlaneGeometry
from confide.values.attributes import check_names


@dataclass(frozen=True, repr=False, init=False)
class Product(Mechanism):
    """Add noise to each attribute by its own mechanism; promises add up.

    >>> from confide import Categories, Integers, RandomizedResponse, TruncatedGeometric
    >>> age = TruncatedGeometric(Integers(0, 99), epsilon=0.05)
    >>> sex = RandomizedResponse(Categories(["f", "m"]), epsilon=1.0)
    >>> round(Product(age=age, sex=sex).guarantee.bound((30, "f"), (40, "m")), 6)
    1.5
    """

    kind = "product"
    about = "each attribute gets noise from its own mechanism"
    example: ClassVar[Mapping[str, str]] = {
        "attributes": """\

[mechanism.age]                # any mechanism for each attribute; their epsilons add up
kind = "truncated-geometric"
epsilon = 0.05

[mechanism.visits]
kind = "randomized-response"
epsilon = 1.0

[mechanism.region]
kind = "randomized-response"
epsilon = 1.0
"""
    }
    names: tuple[str, ...]
    mechanisms: tuple[Mechanism, ...]

    def __init__(self, /, **mechanisms: Mechanism) -> None:
        check_names("Product", tuple(mechanisms))
        for name, part in mechanisms.items():
            require_mechanism(name, part)
            require_finite(part.alphabet, "Product")
            if part.report_alphabet.bits is not None or part.report_alphabet.attributes is not None:
                raise InvalidParameterError(
                    f"{name} cannot be one attribute of several: a report of {part.title} is more than one value. "
                    f"Use a mechanism whose reports are values, such as RandomizedResponse or HadamardResponse."
                )
            require_finite(part.report_alphabet, "Product")
        object.__setattr__(self, "names", tuple(mechanisms))
        object.__setattr__(self, "mechanisms", tuple(mechanisms.values()))
        self.alphabet, self.report_alphabet  # noqa: B018 (fails now rather than at the first report)

    @cached_property
    def alphabet(self) -> Attributes:  # type: ignore[override]
        """All attributes together."""
        return Attributes(**{name: part.alphabet for name, part in zip(self.names, self.mechanisms, strict=True)})

    @property
    def declared(self) -> Mapping[str, Any]:
        return dict(zip(self.names, self.mechanisms, strict=True))

    @cached_property
    def report_alphabet(self) -> Attributes:
        return Attributes(**{name: one.report_alphabet for name, one in zip(self.names, self.mechanisms, strict=True)})

    @property
    def guarantee(self) -> ProductGuarantee:
        parts = tuple(part.guarantee for part in self.mechanisms)
        return ProductGuarantee(self.names, parts, self.alphabet.widths)

    @property
    def lasting(self) -> ProductGuarantee | None:
        """See :attr:`Mechanism.lasting`.

        With a secret, all noise of a part without rounds is permanent.
        """
        if all(part.lasting is None for part in self.mechanisms):
            return None
        return replace(self.guarantee, parts=tuple(part.lasting or part.guarantee for part in self.mechanisms))

    @property
    def facts(self) -> Facts:
        """See :attr:`Mechanism.facts`; everything follows from the parts."""
        return Facts(parts=dict(zip(self.names, self.mechanisms, strict=True)))

    def part(self, *names: str) -> Mechanism:
        """See :meth:`Mechanism.part`.

        >>> from confide import Categories, RandomizedResponse
        >>> one = RandomizedResponse(Categories(["yes", "no"]), 1.0)
        >>> Product(vote=one, car=one, dog=one).part("car") == one
        True
        """
        self.alphabet.part(*names)  # raises for unknown or repeated names
        chosen = {name: self.mechanisms[self.alphabet.axis(name)] for name in names}
        return chosen[names[0]] if len(names) == 1 else Product(**chosen)

    @cached_property
    def channel(self) -> Kronecker:
        if not self.has_channel:
            raise self._no_matrix()
        return Kronecker(tuple(part.channel for part in self.mechanisms))

    def weights(self, index: int) -> Sequence[int]:
        each = zip(self.mechanisms, self.alphabet.split(index), strict=True)
        return [math.prod(chosen) for chosen in itertools.product(*(part.weights(own) for part, own in each))]

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        # One attribute after the other, each for everybody: the order of bytes is specified (docs/device.md).
        each = zip(self.mechanisms, self.alphabet.split(indices), strict=True)
        drawn: Indices = self.report_alphabet.join([part._draw(own, bits) for part, own in each])
        return drawn

    def __repr__(self) -> str:
        named = zip(self.names, self.mechanisms, strict=True)
        return f"Product({', '.join(f'{name}={part!r}' for name, part in named)})"


@dataclass(frozen=True, repr=False)
class Remapped(Mechanism):
    """Replace each output of a mechanism by another report.

    The promise stays: post-processing cannot weaken it.

    Parameters
    ----------
    mechanism
        Makes the outputs.
    outputs
        Alphabet of the new reports.
    mapping
        Number of the new report for each output of the mechanism, in order. Optional. Default: the nearest of
        `outputs`.

    Examples
    --------
    >>> from confide import Grid, TruncatedPlanarGeometric
    >>> city = TruncatedPlanarGeometric(Grid(5, 5, unit="km"), epsilon=0.5)
    >>> Remapped(city, Grid(4, 4, unit="km")).channel.shape
    (25, 16)
    """

    kind = "remapped"
    about = "reports of another mechanism, each moved to the nearest allowed output"
    example: ClassVar[Mapping[str, str]] = {
        "integers": """\

[mechanism.mechanism]          # any mechanism of finitely many reports; what it promises stands
kind = "truncated-geometric"
epsilon = 0.05

[mechanism.outputs]            # a report beside these becomes the nearest of them
kind = "integers"
low = 18
high = 80
unit = "year"
""",
        "grid": """\

[mechanism.mechanism]          # any mechanism of finitely many reports; what it promises stands
kind = "truncated-planar-geometric"
epsilon = 1.0

[mechanism.outputs]            # a report beside these becomes the nearest of them
kind = "grid"
rows = 18
columns = 12
spacing = 0.5
unit = "km"
""",
    }
    mechanism: Mechanism
    outputs: Alphabet
    mapping: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        require_mechanism("mechanism", self.mechanism)
        require_finite(self.mechanism.report_alphabet, "Remapped")
        require_finite(self.outputs, "Remapped")
        if self.mapping is not None:
            try:
                numbers = np.asarray(self.mapping)
            except ValueError:  # a list among the numbers
                numbers = np.empty((0,))
            size, outputs = self.mechanism.report_alphabet.size, self.outputs
            if numbers.shape != (size,) or numbers.dtype.kind not in "iu":
                raise InvalidParameterError(
                    f"mapping must hold one whole number for each of {size} outputs; got {self.mapping!r}."
                )
            if (numbers < 0).any() or (numbers >= outputs.size).any():
                raise InvalidParameterError(
                    f"mapping must lead to 0 .. {outputs.size - 1}, the numbers of {outputs!r}."
                )
            object.__setattr__(self, "mapping", tuple(numbers.tolist()))
        self._remap  # noqa: B018 (fails now rather than at the first report)

    @property
    def alphabet(self) -> Alphabet:  # type: ignore[override]
        """The values."""
        return self.mechanism.alphabet

    @property
    def guarantee(self) -> Guarantee:
        return self.mechanism.guarantee

    @property
    def lasting(self) -> Guarantee | None:
        return self.mechanism.lasting

    @property
    def facts(self) -> Facts:
        """See :attr:`Mechanism.facts`; what is known follows from the original mechanism."""
        return Facts(origin=(self.mechanism, self._remap))

    @property
    def tables(self) -> dict[str, list[Any]]:
        """See :attr:`Mechanism.tables`; the nearest output of each cell, without a mapping."""
        is_told = self.mapping is not None or isinstance(self.outputs.geometry, LineGeometry)
        return {} if is_told else {"nearest": self._remap.tolist()}

    @cached_property
    def channel(self) -> Embedded:
        return Embedded(self.mechanism.channel, np.arange(self.alphabet.size), self._remap, self.outputs.size)

    def weights(self, index: int) -> Sequence[int]:
        return merge_weights(self._remap, self.mechanism.weights(index), self.outputs.size)

    @cached_property
    def _remap(self) -> Indices:
        """Number of the new report for each output of the mechanism."""
        if self.mapping is not None:
            return np.array(self.mapping, dtype=np.int64)
        reports, outputs = self.mechanism.report_alphabet, self.outputs
        if all(isinstance(one.geometry, LineGeometry | PlaneGeometry) for one in (reports, outputs)):
            # "Nearest" needs a common spacing and some overlap.
            reports.require_listable()
            if reports.spacing != outputs.spacing:
                raise InvalidParameterError(
                    f"Outputs must have the spacing of the reports, {reports.spacing:g}; got {outputs.spacing:g}. "
                    f"Give a mapping to merge cells."
                )
            if reports.parts == outputs.parts and not outputs.contains(reports.decode(np.arange(reports.size))).any():
                raise InvalidParameterError(
                    f"The outputs {outputs!r} miss {reports!r} altogether. Choose outputs that overlap, or give a "
                    f"mapping."
                )
        nearest: Indices
        if isinstance(reports.geometry, LineGeometry) and isinstance(outputs.geometry, LineGeometry):
            nearest = np.clip(reports.decode(np.arange(reports.size)) - outputs.span[0], 0, outputs.size - 1)
        elif reports.grid is not None and outputs.grid is not None:
            box = hull(reports.grid, outputs.grid)
            nearest = nearest_cells(box, outputs.grid)[box.encode(reports.decode(np.arange(reports.size)))]
        else:
            raise InvalidParameterError(
                f"Give a mapping: it is not known which of {outputs!r} is nearest to a {reports!r}."
            )
        return nearest

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        drawn: Indices = self._remap[self.mechanism._draw(indices, bits)]
        return drawn
