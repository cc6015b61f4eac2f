"""Names of alphabets, mechanisms and methods in surveys and commands.

A kind is declared once, in its class: its name is ``kind``; a mechanism has a ``title``, one sentence ``about`` it and
an ``example`` besides, an alphabet an ``example`` and the mechanism that is ``usual`` for it. Everything that lists
kinds reads these. :func:`register` adds those of other people.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any, ClassVar, TypeVar

from confide.errors import InvalidParameterError

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Example:
    """A survey over values of one kind, to begin with.

    Attributes
    ----------
    name, title
        What a value is called, and a heading.
    text
        The settings of the alphabet beside its kind, in TOML, with comments.
    unit
        What epsilon is counted by, where it is counted by distance.
    epsilon
        A sensible one, per unit of distance.
    shape
        A shape that may be declared of it, in TOML; nothing where few know any.
    """

    name: str
    title: str
    text: str = ""
    unit: str = "unit of distance"
    epsilon: float = 1.0
    shape: str = ""


class Kinds(Mapping[str, Kind]):
    """All kinds of one sort by name: confide's, then registered ones."""

    tables: ClassVar[list[Kinds[Any]]] = []
    """The tables of all sorts."""

    _lock = threading.RLock()
    _are_all_here = False

    def __init__(self, base: type, known: Mapping[str, Kind]) -> None:
        self.base, self._known, self._ours = base, dict(known), frozenset(known)
        Kinds.tables.append(self)

    def __getitem__(self, name: str) -> Kind:
        Kinds._load()
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        Kinds._load()
        return iter(self._known)

    def __len__(self) -> int:
        Kinds._load()
        return len(self._known)

    def add(self, name: str, kind: Kind) -> None:
        """Add a kind, or replace a class that a notebook defined again."""
        before = self._known.get(name)
        if name in self._ours or (before is not None and _place(before) != _place(kind)):
            raise InvalidParameterError(
                f"There is a kind {name!r} already, {_place(before)}. Give {_place(kind)} another name."
            )
        self._known[name] = kind

    @staticmethod
    def _load() -> None:
        """Register what installed packages offer, once, when kinds are first asked for."""
        with Kinds._lock:  # other threads wait, and what a package itself asks meanwhile is answered without its own
            if Kinds._are_all_here:
                return
            from importlib import metadata  # which takes 20 ms to import

            Kinds._are_all_here = True
            for entry in metadata.entry_points(group="confide.kinds"):
                try:
                    register(entry.load())
                except Exception as error:  # a broken package must not keep anybody from surveys without its kinds
                    message = f"The kind {entry.name!r} of an installed package, {entry.value}, is left out: {error}"
                    warnings.warn(message, UserWarning, stacklevel=4)


def register(thing: Kind) -> Kind:
    """Register your own alphabet, mechanism or method by its name.

    Survey files, counts files and the command line then accept it.

    A package that is installed can offer its kinds under the entry point group ``confide.kinds``: ``confide`` on the
    command line then knows them too.

    Parameters
    ----------
    thing
        A class under :class:`~confide.Alphabet` or :class:`~confide.Mechanism` with a ``kind`` of its own; or a method,
        as a class or with its settings, whose name on the command line is its ``kind``, or its ``name`` with hyphens.

    Returns
    -------
    The same, so that it may stand above a class as ``@cf.register``.

    Examples
    --------
    ::

        @cf.register
        @dataclass(frozen=True, repr=False)
        class SquareWave(cf.Mechanism):
            kind = "square-wave"  # as in a survey: [mechanism] kind = "square-wave"
            ...
    """
    # A method may be registered with its settings, so as a thing rather than a class.
    own = thing if isinstance(thing, type) else type(thing)
    table = next((one for one in Kinds.tables if issubclass(own, one.base)), None)
    is_method = hasattr(own, "solve")
    if table is None or (not is_method and own is not thing):
        raise InvalidParameterError(
            f"register() takes a class under Alphabet or Mechanism, or a method; got {str(thing)[:60]}."
        )
    made: Any = thing() if is_method and own is thing else thing
    name = vars(own).get("kind") or (made.name.lower().replace(" ", "-") if is_method else None)
    if not isinstance(name, str) or re.fullmatch("[a-z][a-z0-9-]*", name) is None:
        raise InvalidParameterError(
            f'{own.__name__} needs a kind, its name in a survey: a line such as kind = "my-kind" in the class, of '
            f"small letters, digits and hyphens; got {name!r}."
        )
    if not is_method and not is_dataclass(own):
        raise InvalidParameterError(
            f"{own.__name__} must be a dataclass, for its fields are what a survey states: write "
            f"@dataclass(frozen=True, repr=False) above it."
        )
    table.add(name, made)
    return thing


def _place(kind: object) -> str:
    own = kind if isinstance(kind, type) else type(kind)
    return f"{own.__module__}.{own.__qualname__}"
